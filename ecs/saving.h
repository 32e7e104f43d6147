// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A snapshot that a limit asked for, as a node takes part in it: until its time is over the rings that overwrite are
 * saved again and again. Here is when. Pure: the caller brings the time, does what is due and says what it took.
 */
#ifndef BEZEL_ECS_SAVING_H
#define BEZEL_ECS_SAVING_H

#include "base/clock.h"
#include "mdr/message.h"

#define SAVING_EVERY_MAX (100 * CLOCK_MS) /* however long the polling period */
#define SAVING_COST      50 /* times what saving takes, at least, from one time to the next: 2 % of a CPU */

struct saving {
    struct message_save cause;
    bool on, last; /* under way; its last copy was taken: what is left finds no room yet */
    int64_t due, until;
    int64_t tell_due; /* when its progress is to be told */
};

enum saving_step { SAVING_NOTHING, SAVING_COPY, SAVING_LAST_COPY, SAVING_REST };

/** Begins at `now` what `cause` says; where it is under way already, its end stays. Returns whether it began. */
bool saving_begin(struct saving *s, const struct message_save *cause, int64_t now);

/** What is due at `now`. */
enum saving_step saving_step(const struct saving *s, int64_t now);

/**
 * `step` was done; it took `took` ns, and left something that found no room where `rest`. `period`: of polling. Returns
 * whether it was the end.
 */
bool saving_done(struct saving *s, enum saving_step step, int64_t now, int64_t took, int64_t period, bool rest);

/** When something is due; INT64_MAX: nothing is under way. */
int64_t saving_due(const struct saving *s);

#endif
