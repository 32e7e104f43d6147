// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The output of a program, from a pipe into a file, so that the program never waits for who reads it. The file keeps
 * the last bytes; older ones are given back to the file system as holes, so that an offset in the file is an offset in
 * the output. One thread.
 */
#ifndef BEZEL_BEZELD_LAUNCH_OUTPUT_SPOOL_H
#define BEZEL_BEZELD_LAUNCH_OUTPUT_SPOOL_H

#include "base/err.h"

#include <stdint.h>

struct message_output;

enum { OUTPUT_SPOOL_STEP = 1 << 20 /* holes are made in steps of so many bytes */ };

struct output_spool {
    int pipe, file;   /* -1: closed */
    uint64_t kept;    /* how many bytes at least stay in the file */
    uint64_t size;    /* bytes that were written into the file */
    uint64_t hole;    /* its first bytes, which it does not keep any more */
    uint64_t dropped; /* bytes for which the file system had no space */
};

/** One that is closed. */
#define OUTPUT_SPOOL_NONE ((struct output_spool){.pipe = -1, .file = -1})

/**
 * Makes file `name` in `folder`, which must not exist, and a pipe. Returns 0 with *s for output_spool_close() and
 * *input, the end for the program; or an error with errno, EEXIST where there is such a file.
 */
int output_spool_open(struct output_spool *s, int folder, const char *name, uint64_t kept, int *input) BEZEL_MUST_CHECK;

/** Opens the file that an earlier launcher has left; nothing is added to it. Returns 0, or an error with errno. */
int output_spool_take_up(struct output_spool *s, int folder, const char *name) BEZEL_MUST_CHECK;

/** Takes what is in the pipe, up to 1 MiB. At its end the pipe is closed. Does not block. */
void output_spool_take(struct output_spool *s);

/** Copies output from byte `from` on. `last` where the pipe is closed and nothing follows. */
void output_spool_read(const struct output_spool *s, uint64_t from, struct message_output *out);

void output_spool_close(struct output_spool *s);

#endif
