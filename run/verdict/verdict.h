// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The verdict on a run: a pure function of its database and its experiment (docs/REPORT.md has every rule).
 *
 * A limit is judged on each node: held or violated, if it is so whatever it was in the time that nobody judged; else
 * unknown. Then over all nodes: violated if one node violated it; else unknown if one node cannot tell because of time
 * that was not judged, or if no node could judge it; else held. A violated `hold` limit is infeasible if
 * there is proof that adaptation could not have held it: enum verdict_why.
 */
#ifndef BEZEL_RUN_VERDICT_VERDICT_H
#define BEZEL_RUN_VERDICT_VERDICT_H

#include "config/experiment.h"
#include "run/history/summary.h"

/** In order of weight: the run's verdict is the heaviest of its limits'. */
enum verdict_is { VERDICT_HELD = 0, VERDICT_UNKNOWN = 1, VERDICT_VIOLATED = 2, VERDICT_INFEASIBLE = 3 };

/** ENDED: in order. RUNNING: its `bezel run` lives. ABORTED: neither; its `bezel run` was killed. */
enum verdict_run { RUN_ENDED, RUN_RUNNING, RUN_ABORTED };

/**
 * The proof that a limit is infeasible. OFF: it was last in violation when collection had been off for long. BUDGET:
 * the policy had measured that monitoring needs more than its budget. NOT_THE_MONITORS: the policy had found that
 * polling less does not help. STARVED: it had found that polling more often is not possible. CONTRADICTION: another
 * limit excludes this one.
 */
enum verdict_why { WHY_NONE = 0, WHY_OFF, WHY_BUDGET, WHY_NOT_THE_MONITORS, WHY_STARVED, WHY_CONTRADICTION };

/** A limit on one node, or over all of them. */
struct verdict_limit {
    enum verdict_is is;
    enum verdict_why why;  /* of VERDICT_INFEASIBLE; over all nodes: of the first such node */
    double needed, budget; /* of WHY_BUDGET: percent of one CPU; else NaN */
    int contradicts;       /* of WHY_CONTRADICTION: the limit that excludes it */
    int64_t since;    /* start of the first violation since judgement began, on the node's clock; 0: none, or unknown */
    double share;     /* of the judged time that was in violation; over all nodes: the worst one's; NaN: not judged */
    int64_t violated; /* ns; over all nodes: that of the worst one */
    uint32_t node;    /* over all nodes: where the share was worst */
    int64_t judged, total;   /* ns, of so much of the run; over all nodes: where the least part was judged */
    int64_t unjudged, again; /* ns that nobody judged; that were judged from the stored records; over all nodes: most */
    uint32_t nodes;          /* over all nodes: how many could judge it */
    uint64_t missed;         /* over all nodes: lost records of its aspect, whose values nobody judged */
    int64_t before_end;      /* ns for which it was violated, and that do not count since a process ended; over all
                                nodes: most; 0: none, or too few to know */
    bool blurred;            /* its values do not tell this verdict: experiment_limit_is_blurred() */
    bool skips;              /* over all nodes: experiment_limit_skips(), and the records did not tell either */
    bool switched;           /* over all nodes: an operator turned its aspect off, so that nobody counted */
    int64_t killed;  /* over all nodes: for how long a process was silent before a signal killed it, which may break the
                        limit, and is not judged; most; 0: none was */
    int64_t perhaps; /* likewise: before one ended that no exit ended, and that perhaps was killed */
    int64_t silent;  /* likewise: for how long at least one was silent that still was when the run began to end, or is
                        now, as far as that is known by now */
    const struct summary_process *mute; /* that one; NULL: silent is 0 */
    bool unread;     /* these silences may have been shorter, or none: its records could not all be read */
    int64_t endless; /* of an interval: for how long, to the end of the run, first records came and no last one; 0 */
    const char *endless_of;            /* ... of that process, while others went on; NULL: of none */
    const struct summary_note *unseen; /* over all nodes: it says that records of its aspect are missing, which no
                                          books count; the first; NULL: none does */
    const struct builtin_open *open;   /* over all nodes: a wait or long span without an end, or none before the run
                                          began to end, that broke the limit, or may have; the longest; NULL: none ... */
    int64_t open_ns;                   /* ... and for how long before the run began to end: that counts; 0: none */
    bool open_breaks;                  /* ... and that is beyond the bound of a maximum, whatever else was judged */
    enum verdict_is lasts;             /* whether what lasts, or did at the end, and no instant judges lets it hold: may
                                          break it (UNKNOWN), or does (VIOLATED): verdict_now() */
    bool strays;       /* over all nodes: a stored record is beyond the bound of a maximum or minimum, or the value
                          at a process's last record is (verdict_has_end()), and worse than all that was judged ... */
    double stray;      /* ... by this value ... */
    int64_t stray_at;  /* ... at that last record, on the clock of ...; 0: not known */
    uint32_t stray_on; /* ... this node */
    bool unchosen;     /* ... of a record that may not meet the condition of the metric, or a bound of the times between
                          records */
};

/**
 * By how much limit row `l` was in violation for longer by the timeline than counts, ns: adaptation settled, or a
 * process ended. Both measure from instant to instant, and may differ by one for each violation; 0: not by more. Pure.
 */
int64_t verdict_more_violated(const struct summary *s, const struct experiment *e, const struct builtin_limit *l);

/** The same, however little it is. Pure. */
int64_t verdict_taken_back(const struct summary *s, const struct builtin_limit *l);

/**
 * Whether limit `i` is looked at as it stood at the last record that each process made for it: nobody judged it there,
 * if the next sampling instant never came. So are limits on values of records which no record breaks by itself, or
 * which may be broken for a while, as those of `hold`; on too many records; and on two metrics. Pure.
 */
bool verdict_has_end(const struct experiment *e, uint32_t i);

/**
 * Whether limit `l` is broken by any record that meets the condition of its metric, and windows are so short that
 * sampling instants may see too few of them: a count, rate or percentage <= 0. Pure.
 */
bool verdict_forbids(const struct experiment *e, const struct experiment_limit *l);

/**
 * The last record that process `p` made for limit `i` of verdict_has_end(), on its node's clock; of a metric of the
 * node, if it is the last one there, and of one of all nodes, if it is the last of all; also if the limit was found
 * violated around it, which was taken back as the process ended. INT64_MIN: there is none, or the run has no end. Pure.
 */
int64_t verdict_end(const struct summary *s, const struct experiment *e, uint32_t i, size_t p);

/**
 * The value of a stored record of process number `p` that breaks limit `i` by itself, or of limit `i` at the last one
 * (verdict_has_end()), and is worse than all that was judged; NaN: none. *is_chosen: it is of a record that meets the
 * metric's condition, if it has one; of times between records, that they were read, and the value is no mere bound.
 * Pure.
 */
double verdict_stray(const struct summary *s, const struct experiment *e, uint32_t i, size_t p, bool *is_chosen);

/**
 * Sums of books. attempts = stored + reduced + full + window + spool + off + overwritten + no_ring + reducer +
 * unfinished + unstored + rest, exactly. Reduced are those whose values their reducer has handed on; lost by `reducer`
 * those that it took, and had not when it was killed. Unstored are records that a node still held when draining was
 * given up. If a process could not be read or stored to its end, they are the records by which its counters exceed the
 * known ones. Overwritten records are counted by the gaps between ordinals, not by the counters of attempts: the two
 * must agree.
 */
struct verdict_books {
    uint32_t processes;
    uint64_t before; /* of the lost ones, those that were begun before the run observed their process */
    uint64_t attempts, stored, reduced, full, window, spool, off, overwritten, no_ring, reducer, unfinished, unstored;
    int64_t rest; /* 0: the books balance; else in flight while the run goes on, unexplained after its end */
};

/**
 * What is not known of a run, or lacks, in the order in which a report says it. While the run goes on BEHIND, ABSENT,
 * VANISHED, UNJOINED, UNKNOWN and UNENDED are not looked for: what they are about may still come.
 */
enum verdict_lack_kind {
    LACK_BEHIND,     /* the trace may hold more than the database counts */
    LACK_ABSENT,     /* processes of the file to attach to, of which none ever came */
    LACK_MISSING,    /* stream files that are gone or damaged: what was stored in them is lost by now */
    LACK_CHANGED,    /* run.db was, since its last writer closed it: no limit is known to have held */
    LACK_EXPERIMENT, /* experiment.yaml is not the run's own: no limit is known to have held */
    LACK_VANISHED,   /* nodes that confirmed neither that all is stored nor what is not */
    LACK_UNJOINED,   /* nodes of the file of which the database has nothing */
    LACK_LEFT_OUT,   /* processes that the collector refused: none of their records is stored */
    LACK_UNKNOWN,    /* processes whose end is unknown */
    LACK_LEFT,       /* processes that went on when their bezeld had ended */
    LACK_REJOINED,  /* lives of a bezeld behind one that had ended in order, where a program had begun by then: what was
                       recorded in between is in no books */
    LACK_UNENDED,   /* where programs of the run may live on, as RUNDB_UNENDED */
    LACK_CLOCK_GAP, /* times in which a node did not observe its processes, since its clock had jumped: likewise */
    LACK_UNCOUNTED, /* notes by which there may be records that no books count, and nothing else here says so */
    LACK_UNOBSERVED, /* processes that recorded and were not observed: their records are unknown */
    VERDICT_LACKS
};

/** Of these no limit is known to have held. */
#define VERDICT_DOUBTS                                                                                                 \
    (1U << LACK_LEFT | 1U << LACK_VANISHED | 1U << LACK_UNJOINED | 1U << LACK_UNOBSERVED | 1U << LACK_REJOINED |       \
     1U << LACK_CLOCK_GAP | 1U << LACK_UNCOUNTED)

/** Of these nor does one hold now: what somebody did not observe for a time is over. */
#define VERDICT_LASTS (VERDICT_DOUBTS & ~(1U << LACK_REJOINED | 1U << LACK_CLOCK_GAP))

/** The books may balance though these lack. */
#define VERDICT_NOT_OF_BOOKS (1U << LACK_ABSENT | 1U << LACK_BEHIND | 1U << LACK_EXPERIMENT)

#define VERDICT_ANYWHERE UINT32_MAX

struct verdict_lack {
    enum verdict_lack_kind is;
    uint32_t node;                         /* VERDICT_ANYWHERE: it is of none, or not known of which */
    const struct summary_process *process; /* NULL: it is of none */
    const struct summary_note *note;       /* which says it; NULL: none does */
    const char *what;                      /* of UNENDED the places, of UNJOINED the node, of UNCOUNTED the code */
    uint64_t count;
};

typedef void verdict_take_lack(void *context, const struct verdict_lack *l);

struct verdict {
    enum verdict_is is;
    enum verdict_run run;
    bool failed;            /* it ended because something that it needs, or one of its processes, failed */
    int outcome;            /* exit code of the run, limits left aside; 0: success, or unknown */
    int64_t started, ended; /* CLOCK_REALTIME; 0: unknown, not yet */
    int64_t duration;       /* ns, to its end, or to the last sign of life */
    int64_t now;            /* CLOCK_REALTIME; of a run that has ended 0 */
    int64_t known_until;    /* ns: of a run that was aborted: its books have all records up to there, if they balance */
    size_t limit_count;
    struct verdict_limit *limits; /* in the order of the experiment */
    struct verdict_limit *rows;   /* in the order of the summary's limits */
    struct verdict_books *books;  /* in the order of the summary's processes */
    struct verdict_books sut, daemons;
    bool balanced;                      /* of every process the rest is 0, and nothing but VERDICT_NOT_OF_BOOKS lacks */
    uint64_t lacks[VERDICT_LACKS];      /* how many there are of each: processes, nodes, files, or times */
    const char *lacking[VERDICT_LACKS]; /* struct verdict_lack.what of the first */
    bool partial;                       /* the run directory is a mirror that is not complete */
    bool overwrites;                    /* the full rings of some process overwrite */
    bool given_up;                      /* a node gave up draining, and lost the records that it held */
};

/**
 * Judges `s`. `running`: the run's `bezel run` lives; without effect once the run has an end. Returns 0 with *v for
 * verdict_free(), or BEZEL_ENOMEM. Pure.
 */
int verdict_new(const struct summary *s, const struct experiment *e, bool running, struct verdict **v) BEZEL_MUST_CHECK;

/**
 * Until when process `p` was there, on its node's clock: exactly, if the run started it, else as it was seen for
 * certain; INT64_MIN: it is not known. Of a run that does not know when it started it (struct summary_program.started),
 * the latest that it may have been there: its silence is doubted for longer rather than for less. Pure.
 */
int64_t verdict_there_until(const struct summary *s, const struct summary_process *p);

/**
 * When process `p` ended, likewise: a program of the run is waited for. Where it executed another one, or it is not
 * known when it was started, and of other processes, its bezeld found the end to `within` ns. INT64_MAX: that is not
 * known, or it recorded behind that. Pure.
 */
int64_t verdict_ended(const struct summary *s, const struct summary_process *p, int64_t within);

/** For how long nothing may come of a node while nothing is amiss, ns: it records at every second or sampling instant,
 * and that is stored and read a little later. Pure. */
int64_t verdict_unheard_after(const struct experiment *e);

/**
 * For how long nothing has come of `n` of `s`, to now: longer than nothing may come; else 0, as of a run that does not
 * go on. Of a mirror now is the latest that came of any node, as clocks of two machines may differ. Pure.
 */
int64_t verdict_unheard(const struct verdict *v, const struct summary *s, const struct experiment *e,
                        const struct summary_node *n);

/** The node of which nothing has come for longest, likewise; NULL: there is none. Pure. */
const struct summary_node *verdict_unheard_node(const struct verdict *v, const struct summary *s,
                                                const struct experiment *e);

/**
 * For how long the row of a limit tells nothing new, likewise. A global one tells of all nodes, and is not new either
 * if its manager is not heard. Pure.
 */
int64_t verdict_row_unheard(const struct verdict *v, const struct summary *s, const struct experiment *e,
                            const struct builtin_limit *row);

/** Whether a node of a run that goes on has told nothing of limits yet, and is not heard, or never joined. Pure. */
bool verdict_lacks_node(const struct verdict *v, const struct summary *s, const struct experiment *e);

/**
 * From when on records of `aspect` that process `p` made were only counted, to the end, as notes of operators tell; on
 * its node's clock. INT64_MAX: they were not, as far as notes tell. Pure.
 */
int64_t verdict_counted_since(const struct summary *s, const struct summary_process *p, const char *aspect);

/**
 * Until when `o` was open, run's time: to the end of its process, or to the last that is known of its node; until the
 * run began to end, at most, since the end is no violation. Its node is one of `s`. Pure.
 */
int64_t verdict_open_until(const struct summary *s, const struct builtin_open *o);

/** For how long, ns; 0: since when is not known. Pure. */
int64_t verdict_open_ns(const struct summary *s, const struct builtin_open *o);

/**
 * Whether a note is about a command by which an operator gave `aspect` mode "on", "count" or "off" (aspect_steering.c):
 * not even counted. One that is cut off may be about any that is off.
 */
bool verdict_switches(const struct summary_note *note, const char *mode, const char *aspect);

/** The worst value of row `l` with verdict `v`: of a wait that broke it without an end, which no instant saw, too.
 * Pure. */
double verdict_worst(const struct summary *s, const struct verdict_limit *v, const struct builtin_limit *l);

/** The field that has how long `o` was open, had it an end: of a receiver, which waits, `waited`; static. Pure. */
const char *verdict_open_field(const struct summary *s, const struct builtin_open *o);

/** Takes back that limit `l` held, if it did: it is not known. `lasts`: nor does it hold now. Pure. */
void verdict_doubt(struct verdict_limit *l, bool lasts);

/**
 * What a limit is now, or was at the end of the run: `state` (enum message_limit_state), as it was judged last, but for
 * what lasts and no instant judges. Everything that shows how limits stand shows this. Pure.
 */
enum verdict_is verdict_now(const struct verdict_limit *l, int64_t state);

/** Takes back that limits held which a record may have broken that nobody judged. Of verdict_new(). */
void verdict_by_records(struct verdict *v, const struct summary *s, const struct experiment *e);
void verdict_free(struct verdict *v);

/**
 * The books of one aspect of process `p` of `s`; its overwritten and unfinished records are in the rest. Until the last
 * books of a process have arrived, or if these are wrong, its packets may contain more records than its counters count.
 * Then the attempts are the number of known records, here and in verdict_process(), so that the rest is never negative.
 * Pure.
 */
struct verdict_books verdict_aspect(const struct summary *s, const struct summary_process *p,
                                    const struct summary_book *book);

/**
 * Calls `take` with each thing that lacks to `s`, but ABSENT, BEHIND, MISSING and CHANGED. `over`: the run does not go
 * on. `e`: NULL: no node of its file is looked for. Pure.
 */
void verdict_each_lack(const struct summary *s, const struct experiment *e, bool over, verdict_take_lack *take,
                       void *context);

/** Whether any of these lack, as bits of enum verdict_lack_kind. Pure. */
bool verdict_lacks(const struct verdict *v, unsigned any);

/** Whether the database has nothing of a node of that name: it never joined the run. Pure. */
bool verdict_is_unjoined(const struct summary *s, const char *node);

/** Whether all that is recorded is known to be stored, or counted as lost: "none lost" is said only then. Pure. */
bool verdict_is_complete(const struct verdict *v);

/** The books of process `p` of `s`. Pure. */
struct verdict_books verdict_process(const struct summary *s, const struct summary_process *p);

/**
 * Lost records of `p` whose attempts were counted before the run observed it: a thread had begun one, was held up, and
 * counted it as lost afterwards, at most one in each ring. They are known where the drop counters exceed both what the
 * ordinals say and, aspect by aspect, the attempts, by the same number. They count as produced. Pure.
 */
uint64_t verdict_begun_before(const struct summary_process *p);

/** Whether the missing records of each aspect of `p` count as overwritten; `b`: the books of `p`. Pure. */
bool verdict_explains_aspects(const struct summary_process *p, const struct verdict_books *b);

/**
 * Whether the end of the records of `p` is missing from the store: its last books, or the closing packet of a stream;
 * or it recorded on when its bezeld had ended.
 * While a run goes on it is in flight. After the run it is unknown, even if the numbers agree, unless its node gave up
 * draining and sent last books. Pure.
 */
bool verdict_is_open(const struct summary *s, const struct summary_process *p);

/** Whether node `node` gave up draining, and sent the last books of all its processes. Pure. */
bool verdict_gave_up(const struct summary *s, uint32_t node);

/** The causes of losses, in the order of reports. */
enum { VERDICT_LOSSES = 9 };
extern const struct verdict_loss {
    const char *name, *head, *words; /* for programs, of a column, in a sentence */
    size_t at;                       /* of the count, in struct verdict_books */
    bool rare, of_process;           /* shown where it occurs; not known of aspects */
} verdict_losses[VERDICT_LOSSES];

/** The count at such a place. */
uint64_t verdict_count(const struct verdict_books *b, size_t at);

/** Lost records of all causes. */
uint64_t verdict_lost(const struct verdict_books *b);

/** Adds `b` to `sum`. */
void verdict_add_books(struct verdict_books *sum, const struct verdict_books *b);

/**
 * Exit code: that of the run's own course where it failed (1) or did not reach something (4); else 4 if a process to
 * attach to never came; else 3 violated or infeasible; else 1 where the run was aborted, a limit could not be judged,
 * or the books of an ended run do not balance; else 0.
 */
int verdict_exit_code(const struct verdict *v);

/** "held", "unknown", "violated", "infeasible". */
const char *verdict_name(enum verdict_is is);

/** "off", "budget", "not-the-monitors", "starved", "contradiction"; NULL for WHY_NONE. */
const char *verdict_why_name(enum verdict_why why);

/** "ended", "running", "aborted". */
const char *verdict_run_name(enum verdict_run run);

/** The rate of an aspect in records/s: (n - 1) / (t_last - t_first); NaN below two records. Pure. */
double verdict_rate(const struct summary_book *b);

#endif
