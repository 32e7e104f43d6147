// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a thread did in a window of time, as views draw it: it ran, was ready to run, or waited. The window is divided
 * into pieces. An interval that is wide enough is a piece of its own; narrower ones share one, which says how long the
 * thread was in each state. So the number of pieces follows the width of the picture, however many intervals there
 * are. Where there is no piece, nothing is known. Pure; one owner.
 */
#ifndef BEZEL_VIEWS_PICTURE_STRIP_H
#define BEZEL_VIEWS_PICTURE_STRIP_H

#include "analysis/activity.h"
#include "base/err.h"

enum strip_state {
    STRIP_RUNNING,
    STRIP_READY,   /* other threads had the CPU */
    STRIP_WAITING, /* for something else */
    STRIP_EITHER,  /* ready or waiting: the kernel does not say which */
    STRIP_STATES
};

/** What is missing of `until` - `from` in the sum of `ns` is not known. */
struct strip_piece {
    int64_t from, until;
    int64_t ns[STRIP_STATES];
};

struct strip {
    size_t count, capacity;
    struct strip_piece *pieces; /* in the order of time, which do not overlap */
    int64_t from, until, least; /* an interval of `least` ns has a piece of its own */
    int64_t last;               /* the end of what was added */
};

/** Of the time `from` to `until`, drawn in `parts` parts. Returns 0 or BEZEL_ENOMEM. */
int strip_init(struct strip *s, int64_t from, int64_t until, size_t parts) BEZEL_MUST_CHECK;
void strip_fini(struct strip *s);

/** Adds an interval, and the time without a CPU before it. They come in order; what contradicts that is cut off. */
void strip_add(struct strip *s, struct activity_interval i);

/**
 * Adds a wait, after all intervals; what they tell of its time stays. So a wait that has not ended, which no interval
 * follows, is seen.
 */
void strip_add_wait(struct strip *s, int64_t from, int64_t until);

/** The state in which the thread was longest in `piece`; STRIP_STATES: for most of it, that is not known. */
enum strip_state strip_most(const struct strip_piece *piece);

#endif
