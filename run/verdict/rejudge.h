// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Judges an ended run where it was not judged while it ran: from its stored records, with the agent that a node has.
 * Where these do not suffice the gap stays unknown, and has a reason.
 */
#ifndef BEZEL_RUN_VERDICT_REJUDGE_H
#define BEZEL_RUN_VERDICT_REJUDGE_H

#include "config/experiment.h"
#include "run/history/summary.h"
#include "run/read/interval_statistics.h"

/**
 * Joins the rows that a limit has of several lives of a node's bezeld; the time between two lives becomes a gap. Then
 * each limit has one row for each node, or manager. Pure.
 */
void rejudge_join(struct summary *s, const struct experiment *e);

/** Removes from `s` what refers to limits, by their number in the file that the run had. Pure. */
void rejudge_forget_limits(struct summary *s);

/**
 * Removes what was judged of limits from `s`, of an ended run, and makes gaps of its nodes' times, for the limits of
 * `e`, which may be others: rejudge_gaps() and rejudge_intervals() then judge these. Of the metrics that the run
 * recorded, whose experiment is `own`, those stay that mean the same in `e`. Returns 0 or BEZEL_ENOMEM.
 */
int rejudge_anew(struct summary *s, const struct experiment *e, const struct experiment *own) BEZEL_MUST_CHECK;

/**
 * Judges the gaps of `s`, of run directory `run`, and adds what it finds to the rows and violations of `s`, which
 * rejudge_join() has joined. It reads the trace, of which only the records near gaps. Nothing is judged while the run
 * goes on. Behind gaps of rejudge_anew(), a silence before the end of a process that may have violated the limit is
 * added as time that is not judged. Returns 0, also where gaps stay, or BEZEL_ENOMEM.
 */
int rejudge_gaps(const char *run, struct summary *s, const struct experiment *e) BEZEL_MUST_CHECK;

/**
 * The books do not tell records that meet the condition of a metric from others. Where a value of any record would
 * leave a limit of such a metric unknown (verdict_stray()), reads those records of the ended run into `s->chosen`. It
 * stays as it was where they cannot all be read. Of limits on times between records, `s->waiters` gets when threads
 * that wait in another aspect recorded last. Returns 0 or BEZEL_ENOMEM.
 */
int rejudge_chosen(const char *run, struct summary *s, const struct experiment *e) BEZEL_MUST_CHECK;

/**
 * Reads what the intervals of `e` came to into *t, for interval_table_free(); of a run that goes on for at most
 * `budget` ns. Of an ended run it judges the limits on them that nobody judged while it went on, and the gaps of the
 * others, and adds their rows, gaps and violations to `s`. Returns 0, also where records cannot be read, or
 * BEZEL_ENOMEM.
 */
int rejudge_intervals(const char *run, struct summary *s, const struct experiment *e, int64_t budget,
                      struct interval_table *t) BEZEL_MUST_CHECK;

/** Whether the daemon of its node was there when process `p` began, and has seen it from then on. Pure. */
bool rejudge_saw_begin(const struct summary *s, const struct summary_process *p);

/**
 * Judges limits whose windows are shorter than `adapt.every` at instants that are a window apart, and those of a bezeld
 * that was started again, where the ended run has all of their records; else the former stay as they were, and of the
 * latter a window behind the restart is not known. rejudge_gaps() calls it. Returns 0 or BEZEL_ENOMEM.
 */
int rejudge_windows(const char *run, struct summary *s, const struct experiment *e) BEZEL_MUST_CHECK;

/** Why the stored records do not tell what gap `g` would have been judged; static; NULL: they may. Pure. */
const char *rejudge_why_not(const struct summary *s, const struct experiment *e, const struct history_gap *g);

/**
 * When programs of node `node` recorded, on its clock: where the limit is of one aspect, from the first record of it to
 * the last one, of whatever aspect, of those that have it. Who goes on with another one is silent in it, and has not
 * ended. A single record stands for the time since its process began. Where all records are missing: until the run
 * ended. Of a number of records that may be 0, from the first window of a process on at the latest. False: never. Pure.
 */
bool rejudge_recorded(const struct summary *s, const struct experiment *e, uint32_t limit, uint32_t node,
                      int64_t *begin, int64_t *end);

/** The same of all nodes, on the clock of the first one. Pure. */
bool rejudge_recorded_by_any(const struct summary *s, const struct experiment *e, uint32_t limit, int64_t *begin,
                             int64_t *end);

/** Removes the gaps and violations of `limit`, or the latter alone; rejudge_drop(): its rows as well. */
void rejudge_forget(struct summary *s, uint32_t limit);
void rejudge_forget_violations(struct summary *s, uint32_t limit);
void rejudge_drop(struct summary *s, uint32_t limit);

/** Adds a row of a limit, and the gap that is all of its time. Returns 0 or BEZEL_ENOMEM. */
int rejudge_add(struct summary *s, const struct builtin_limit *row, const struct history_gap *gap) BEZEL_MUST_CHECK;

/** Whether nobody judged `limit` while the run went on. Pure. */
bool rejudge_is_unjudged(const struct summary *s, uint32_t limit);

/** Whether gap `g` is all of the time of its limit, up to the last record: nobody judged what is behind that. Pure. */
bool rejudge_is_all(const struct summary *s, const struct history_gap *g);

/** Adds to the row of its limit what was found of gap `g`, which is judged. Pure. */
void rejudge_take_gap(struct summary *s, const struct experiment *e, const struct history_gap *g);

/**
 * Whether a gap that reaches back to what its node had recorded before holds what another node recorded meanwhile: that
 * was judged, and is not known apart from what was not. Pure.
 */
bool rejudge_is_recorded_elsewhere(const struct summary *s, const struct history_gap *g);

/**
 * The manager measures a gap, and the node that records it knows where it is: they differ by what messages took. Where
 * all gaps of a limit are judged, less than a sampling period that is left is that, and goes. Pure.
 */
void rejudge_drop_rest(struct summary *s, const struct experiment *e, uint32_t limit);

/** Adds `count` violations to `s`; those of a limit that touch are one. Returns 0 or BEZEL_ENOMEM. */
int rejudge_add_violations(struct summary *s, const struct experiment *e, const struct history_violation *found,
                           size_t count) BEZEL_MUST_CHECK;

#endif
