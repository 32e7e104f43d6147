// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Progress on stderr while a run goes on: one refreshed line on a terminal, a plain line every second elsewhere,
 * nothing where quiet. One thread.
 */
#ifndef BEZEL_ECS_COURSE_PROGRESS_H
#define BEZEL_ECS_COURSE_PROGRESS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *out;
    bool quiet, terminal, color;
    bool shown;      /* a line is on the terminal, and must be cleared before anything else is written */
    bool shared;     /* the SUT writes to the terminal too */
    int64_t next;    /* when the next line is due */
    int64_t rate_at; /* of the last rate */
    uint64_t rate_records;
};

/** The content of a line. */
struct progress_view {
    const char *phase;      /* "running", "draining" */
    int64_t left;           /* ns until the duration is over; -1: it has no end */
    int64_t elapsed;        /* ns since the SUT was started; shown where `left` is -1 */
    uint64_t records, lost; /* stored, and lost by any cause, so far */
    const char *periods;    /* polling periods that were adapted: "desk1 polls every 4 ms"; "": none */
};

/** Starts to show progress on `out`: refreshed and coloured where it is a terminal and TERM and NO_COLOR allow. */
void progress_init(struct progress *p, FILE *out, bool quiet, bool shared);

/** Shows `view` if a line is due; `now` in ns. */
void progress_show(struct progress *p, const struct progress_view *view, int64_t now);

/** Shows `text` instead, if a line is due. */
void progress_text(struct progress *p, const char *text, int64_t now);

/** Clears the line from the terminal, so that something else can be written. */
void progress_clear(struct progress *p);

/** Formats `view` into `line`, without a newline; `rate` in records per second. Pure. */
void progress_format(const struct progress_view *view, double rate, bool color, char *line, size_t size);

#endif
