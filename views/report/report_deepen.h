// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What to record of a run that goes on, so that `bezel why --search` comes to know more (analysis/deepen.h): reads the
 * run's books, costs and paths, and decides. The caller turns the aspects at the nodes. One thread; blocks on the disk.
 */
#ifndef BEZEL_VIEWS_REPORT_REPORT_DEEPEN_H
#define BEZEL_VIEWS_REPORT_REPORT_DEEPEN_H

#include "views/why/why.h"

struct report_deepen;

/**
 * Begins with run directory `run`, borrowed, and the limit on sensor_cpu of its experiment. Returns 0 with *d for
 * report_deepen_free(); BEZEL_ENOENT: it has no such limit; or an error, after a message.
 */
int report_deepen_new(const char *run, struct report_deepen **d) BEZEL_MUST_CHECK;
void report_deepen_free(struct report_deepen *d);

/** Looks at the run, and from the second time on decides what to turn. Returns 0 or an error, after a message. */
int report_deepen_look(struct report_deepen *d) BEZEL_MUST_CHECK;

/** The next aspect to turn, and whether it is to be recorded; NULL: there is none. It counts as turned. */
const char *report_deepen_next(struct report_deepen *d, bool *on);

/** Whether nothing more will be turned while nothing changes. */
bool report_deepen_is_done(const struct report_deepen *d);

/** An aspect that is recorded since it was turned on, and counts as turned off now; NULL: there is none. */
const char *report_deepen_undo(struct report_deepen *d);

/** What was turned by now; borrowed. */
const struct why_turns *report_deepen_turns(const struct report_deepen *d);

#endif
