// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** CTF 1.8 traces, read by libbabeltrace2. Where Bezel was built without it, ctf_is_here() is false. One thread. */
#ifndef BEZEL_IMPORT_CTF_H
#define BEZEL_IMPORT_CTF_H

#include "import/fill.h"

enum { CTF_SOURCE_MAX = 128 };

struct ctf_import {
    struct fill *in;
    uint64_t trace;                     /* how many were read before */
    char source[CTF_SOURCE_MAX];        /* by whom the first trace was written; "": not known */
    uint64_t skipped;                   /* fields of classes of events that have no place in a record */
    char skipped_first[CTF_SOURCE_MAX]; /* the first of these */
    uint64_t wrapped;                   /* integers beyond INT64_MAX, which are stored as they are less 2^64 */
    uint64_t own;                       /* the monitor's own records, of a trace of Bezel's, which are left out */
};

bool ctf_is_here(void);

/** Whether the library reads CTF 2 as well. */
bool ctf_reads_2(void);

/**
 * Reads the trace in `folder`, in order of time, into c->in. Returns 0; BEZEL_EMALFORMED where it is damaged, after a
 * line on stderr: what was read until then is taken; or an error of fill.
 */
int ctf_read(struct ctf_import *c, const char *folder) BEZEL_MUST_CHECK;

#endif
