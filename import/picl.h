// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Traces in PICL (version 2), text lines in order of time. One thread. */
#ifndef BEZEL_IMPORT_PICL_H
#define BEZEL_IMPORT_PICL_H

#include "import/fill.h"

struct picl_import {
    struct fill *in;
    uint64_t skipped;   /* lines whose types have no place in a run, such as statistics */
    uint64_t unmatched; /* entries without an exit */
    uint64_t data;      /* that have no place in a record */
};

/** Whether file `path` begins as a PICL trace does. */
bool picl_is(const char *path);

/**
 * Reads the trace into p->in. Returns 0; BEZEL_EMALFORMED where a line is none of PICL, after a line on stderr: what
 * was before is taken; or an error of fill.
 */
int picl_read(struct picl_import *p, const char *path) BEZEL_MUST_CHECK;

#endif
