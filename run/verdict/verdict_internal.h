// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by verdict_*.c; verdict.h is the interface. Pure. */
#ifndef BEZEL_RUN_VERDICT_VERDICT_INTERNAL_H
#define BEZEL_RUN_VERDICT_VERDICT_INTERNAL_H

#include "run/verdict/verdict.h"

/** Judges limit `i` by what hangs: verdict_hung.c. */
void verdict_judge_hung(struct verdict *v, const struct summary *s, const struct experiment *e, uint32_t i);

/** Judges limit `i` by records that no books of their aspect count: verdict_unseen.c. */
void verdict_judge_unseen(struct verdict *v, const struct summary *s, const struct experiment *e, uint32_t i);

/** Doubts the rows of nodes whose records may not all have been judged: verdict_lacks.c. */
void verdict_doubt_rows(struct verdict *v, const struct summary *s, const struct experiment *e);

/**
 * The row of a limit at `at` of the clock of `node`: of several managers' rows, the first that goes on behind it, by
 * whichever node. NULL: there is none.
 */
struct builtin_limit *verdict_row_at(const struct summary *s, uint32_t node, uint32_t limit, int64_t at);

/**
 * How long all states of a row last together: up to the last instant, behind which the row is recorded up to
 * adapt.every later.
 */
int64_t verdict_row_total(const struct builtin_limit *row);

/**
 * The sums of a limit on all nodes over all its managers, which each counted their own times; between two, nobody
 * judged it. `epoch` is 0 if none did.
 */
struct builtin_limit verdict_row_of_all(const struct summary *s, uint32_t limit);

/**
 * Whether lost records count against a limit on metric `m`. Of a maximum with <= and a minimum with >= they do; in the
 * other direction one more record can but help. So it is with the number of those that meet a condition; without one
 * the counters know it. Of times between records, a further one makes the longest only shorter.
 */
bool verdict_counts_lost(const struct experiment_metric *m, bool at_most);

/** Limit `i` is not known to have held, because of a process of `node`; `lasts`: nor does it hold now. */
void verdict_doubt_on(struct verdict *v, const struct summary *s, uint32_t i, uint32_t node, bool lasts);

/** The worst value of limit `i` that was judged on `node`; NaN: none. */
double verdict_judged_worst(const struct summary *s, const struct experiment *e, uint32_t node, uint32_t i);

/** What a rate or count is at most with `n` records in its window. */
double verdict_most(const struct experiment_metric *m, uint64_t n);

/** Whether a single record can break limit `l`. While adaptation settles it may. */
bool verdict_one_breaks(const struct experiment *e, const struct experiment_limit *l);

/**
 * The least and largest value that metric `m` of limit `i` may have of process `p`, or on its node, or on all: of a
 * field, that of all its values; of a number, as many records as there are.
 */
struct summary_field verdict_range(const struct summary *s, const struct experiment *e, uint32_t i,
                                   const struct experiment_metric *m, size_t p);

/** What was read of the records of process `p` that meet the condition of limit `i`; NULL: nothing was. */
const struct summary_chosen *verdict_chosen(const struct summary *s, uint32_t i, size_t p);

/**
 * verdict_end(), also of a run that goes on, in the run's time; where the metric of limit `i` has a condition, of the
 * records that meet it, if they were looked for. INT64_MIN: there is none. *is_read gets false if not all of them could
 * be read.
 */
int64_t verdict_last_chosen(const struct summary *s, const struct experiment *e, uint32_t i, size_t p, bool *is_read);

/**
 * Whether verdict_last_chosen() may be too early in a run that goes on: records are on their way, or were counted since
 * then and not wanted.
 */
bool verdict_goes_on(const struct summary *s, const struct experiment *e, uint32_t i, size_t p);

/** Whether limit `i` was judged again since its window is shorter than `adapt.every`: rejudge_windows() had its
 * records. */
bool verdict_is_sparse(const struct summary *s, uint32_t i);

/** Whether records of metric `m` that process `p` made ended at a reducer. */
bool verdict_is_reduced(const struct experiment_metric *m, const struct summary_process *p);

#endif
