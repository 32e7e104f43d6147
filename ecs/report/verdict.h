// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The verdict on a run: a pure function of what its database says and of its experiment (docs/REPORT.md has every
 * rule).
 *
 * A limit is judged on each node, then as a whole: violated where one node violated it; held where at least one node
 * could judge it and none violated it; unknown where none could judge it. A violated `hold` limit is infeasible where
 * something proves that adaptation could not have held it: enum verdict_why.
 */
#ifndef BEZEL_ECS_VERDICT_H
#define BEZEL_ECS_VERDICT_H

#include "collector/summary.h"
#include "config/experiment.h"

/** In order of weight: the whole is the heaviest of its parts. */
enum verdict_is { VERDICT_HELD = 0, VERDICT_UNKNOWN = 1, VERDICT_VIOLATED = 2, VERDICT_INFEASIBLE = 3 };

/** ENDED: in order. RUNNING: somebody runs it. CUT: neither; who ran it was killed. */
enum verdict_run { RUN_ENDED, RUN_RUNNING, RUN_CUT };

/**
 * What proves that a limit cannot hold: it was last in violation when collection had been off for long; when the policy
 * had measured that monitoring needs more than its budget; had found that polling less does not help; had found that
 * polling more often is not possible; or another limit excludes it.
 */
enum verdict_why { WHY_NONE = 0, WHY_OFF, WHY_BUDGET, WHY_BLAMELESS, WHY_STARVED, WHY_CONTRADICTION };

/** A limit on one node, or over all of them. */
struct verdict_limit {
    enum verdict_is is;
    enum verdict_why why;  /* of VERDICT_INFEASIBLE; over all nodes: of the first such node */
    double needed, budget; /* of WHY_BUDGET: percent of one CPU; else NaN */
    int contradicts;       /* of WHY_CONTRADICTION: the limit that excludes it */
    int64_t since; /* when it was first in violation since it is judged, on the node's clock; 0: never, or unknown */
    double share;  /* of the judged time that was in violation; over all nodes: the worst one's; NaN: not judged */
    uint32_t node; /* over all nodes: where the share was worst */
};

/**
 * Sums of books. attempts = stored + full + window + spool + off + overwritten + no_ring + unfinished + unstored +
 * rest, exactly. Unstored is what a node still held when draining was given up; and of a process that could not be read
 * or stored to its end, what its counters say beyond what is known: these are not believed to say too little, and its
 * end is unknown. What a process overwrote is counted by the gaps between its records' ordinals, apart from the
 * counters of attempts: the two must agree.
 */
struct verdict_books {
    uint32_t processes;
    uint64_t attempts, stored, full, window, spool, off, overwritten, no_ring, unfinished, unstored;
    int64_t rest; /* 0 where the books balance; else in flight while the run lives, and unexplained after it */
};

struct verdict {
    enum verdict_is whole;
    enum verdict_run run;
    bool failed;            /* it ended because something that it needs could not go on, or a process of it failed */
    int outcome;            /* the run's exit code as far as limits do not decide it; 0: done, or unknown */
    int64_t started, ended; /* CLOCK_REALTIME; 0: unknown, not yet */
    int64_t duration;       /* ns, to its end, or to the last sign of life */
    size_t limit_count;
    struct verdict_limit *limits; /* in the order of the experiment */
    struct verdict_limit *rows;   /* in the order of the summary's limits */
    struct verdict_books *books;  /* in the order of the summary's processes */
    struct verdict_books sut, daemons;
    bool balanced;       /* of every process, the rest is 0, nothing is unknown, and no process was unobserved */
    uint64_t unobserved; /* processes that recorded and were not observed: nothing is known of their records */
    size_t unknown;      /* processes of which the end is unknown; of a run that lives none is */
    size_t vanished;     /* nodes that did not say that all they had is stored, nor what is not; likewise */
    bool behind;         /* the trace may hold more than the database tells; likewise */
    bool overwrites;     /* full rings of some process do */
    bool given_up;       /* a node gave up what it held */
};

/**
 * Judges `s`; `running`: somebody runs it still, as far as it has no end. Returns 0 with *v for verdict_free,
 * BEZEL_ENOMEM. Pure.
 */
int verdict_new(const struct summary *s, const struct experiment *e, bool running, struct verdict **v) BEZEL_MUST_CHECK;
void verdict_free(struct verdict *v);

/**
 * The books of one aspect of process `p` of `s`: what was overwritten or not finished of it is in the rest. Until the
 * last books of a process are there, or where these cannot be believed, its packets may tell of more records than its
 * counters do: produced is then what is known of at least, here and in verdict_process(), so that the rest is never
 * negative. Pure.
 */
struct verdict_books verdict_aspect(const struct summary *s, const struct summary_process *p,
                                    const struct summary_book *book);

/** The books of process `p` of `s`. Pure. */
struct verdict_books verdict_process(const struct summary *s, const struct summary_process *p);

/** Whether what is missing of each aspect of `p`, whose sums are `b`, was overwritten, all of it. Pure. */
bool verdict_explains_aspects(const struct summary_process *p, const struct verdict_books *b);

/**
 * Whether the end of what `p` recorded is not in the store: its last books are not, or the closing packet of a stream.
 * While a run lives that is in flight; then it is unknown, however well the numbers agree, but where its node gave up
 * and told by last books what it had. Pure.
 */
bool verdict_is_open(const struct summary *s, const struct summary_process *p);

/** Whether node `node` gave up what it held, and told by the last books of all its processes how much. Pure. */
bool verdict_gave_up(const struct summary *s, uint32_t node);

/** Lost records of all causes. */
uint64_t verdict_lost(const struct verdict_books *b);

/**
 * Exit code: that of the run's own course where it failed (1) or did not reach something (4); else 3 violated or
 * infeasible; else 1 where the run was cut, a limit could not be judged, or the books of an ended run do not
 * balance; else 0.
 */
int verdict_exit_code(const struct verdict *v);

/** "held", "unknown", "violated", "infeasible". */
const char *verdict_name(enum verdict_is is);

/** "off", "budget", "blameless", "starved", "contradiction"; NULL for WHY_NONE. */
const char *verdict_why_name(enum verdict_why why);

/** "ended", "running", "cut". */
const char *verdict_run_name(enum verdict_run run);

/** The rate of an aspect in records/s: (n - 1) / (t_last - t_first); NaN below two records. Pure. */
double verdict_rate(const struct summary_book *b);

#endif
