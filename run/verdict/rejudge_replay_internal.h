// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A replay of stored records into an agent, which judges gaps (rejudge_spans.c) or one last record (rejudge_end.c).
 */
#ifndef BEZEL_RUN_VERDICT_REJUDGE_REPLAY_INTERNAL_H
#define BEZEL_RUN_VERDICT_REJUDGE_REPLAY_INTERNAL_H

#include "resmgr/agent/agent.h"
#include "run/read/run_reader.h"
#include "run/verdict/rejudge_replay.h"

enum { REPLAY_STEPS_MOST = 2000000 };

struct replay_process {
    const struct summary_process *p;
    int64_t begin, end; /* its first and last record */
    int64_t there;      /* since when it is in the agent: its begin, where its bezeld saw that, else its first record */
    int64_t ended;      /* a program that the run waited for; INT64_MAX: not known */
    int64_t closed;     /* the latest of its streams; INT64_MIN: not known yet */
    bool lossy;
    int slot; /* of the agent; -1: it is not there */
    int watch[DICT_ASPECTS_MAX + 1];
    uint64_t attempts[DICT_ASPECTS_MAX + 1];
    uint64_t records; /* of all aspects, since the span began */
};

/* Some of a gap's time that is not judged, whatever the value is there. */
struct replay_hole {
    int64_t begin, end; /* of the replay's clock: records of that time are missing */
    int64_t until;      /* a value may lack one of them */
    const char *why;
};

/* A gap, while it is judged. */
struct replay_gap {
    struct history_gap *gap;
    int64_t begin, end; /* of the replay's clock, which is ahead of the gap's by: */
    int64_t ahead;
    size_t open;      /* its violation that goes on, plus 1; 0: none */
    int64_t violated; /* ns: the limit's sum in the agent, at the latest instant of the gap */
    struct replay_hole *holes;
    size_t hole_count, hole_room, hole; /* hole: the first that does not lie before the instant */
    const char *why_open; /* in the agent the value was open, or may have been broken for too long; NULL: none was so */
};

/* A time that an instant at its end has judged. */
struct replay_time {
    int64_t from, until; /* of the replay's clock */
    enum limit_state state;
    bool settles;  /* adaptation does, and the state does not count */
    bool doubtful; /* it still counts as not judged, whatever the state */
    double value;
};

struct replay {
    const char *run;
    struct summary *s;
    const struct experiment *file;
    struct experiment e; /* with its limits alone: nothing is adapted */
    struct replay_found *found;
    uint32_t node;
    bool all; /* of the nodes, at times of the first one's clock; else of `node` alone, at its own */
    const struct summary_process *of; /* that process alone; NULL: all processes */
    bool looks;                       /* at the value at `until`, and judges no gaps */
    bool again;                       /* holes are known from a first reading */
    bool gave_up;
    int64_t begun;                /* the run did */
    int64_t told;                 /* when all programs were told to end: silence is no violation from then on */
    bool ends;                    /* the agent has been told that */
    int64_t from, until, stepped; /* of the present span, and the latest instant in it */
    struct replay_gap *gaps;      /* of the node, in the order of `begin`; [first, last) are of the span */
    size_t count, first, last;
    struct run_reader *reader;
    struct agent *agent;
    struct agent_limit was[EXPERIMENT_LIMITS_MAX];
    const struct agent_outcome *out;
    struct replay_process *processes; /* of the node, in the order of their rows */
    size_t process_count;
    int64_t *stream_ends; /* by stream: the end of the latest packet seen */
    size_t stream_count;
    int err;
};

/** Time `at` of the clock of node `node`, as times are compared in `r`. */
int64_t replay_time(const struct replay *r, uint32_t node, int64_t at);

/** None of the span's gaps is judged, for this reason. */
void replay_give_up(struct replay *r, const char *why);

/** So long before gaps of limit `l` their span begins: sampling periods, so that its instants are those of the gap. */
int64_t replay_lead(const struct experiment *e, const struct experiment_limit *l);

/** Fills r->processes, for free(). Returns 0 or BEZEL_ENOMEM. */
int replay_find_processes(struct replay *r) BEZEL_MUST_CHECK;

/** The records of the span from r->from to r->until. */
struct record_filter replay_filter(const struct replay *r);

/** Reads the span from `reader`, which has looked, up to its last instant. What went wrong is in r->err, r->gave_up and
 * the reasons of its gaps. */
void replay_read(struct replay *r, struct run_reader *reader);

/** Adds what time `t` has of gap `g`, and its violations to *f. Returns 0 or BEZEL_ENOMEM. */
int replay_take(struct replay_found *f, struct replay_gap *g, const struct experiment_limit *l,
                struct replay_time t) BEZEL_MUST_CHECK;

/**
 * Whether limit `l` depends on all records before: whether adaptation had settled does, and what times between records
 * are compared with.
 */
bool replay_looks_further(const struct replay *r, const struct experiment_limit *l);

/**
 * Adds a hole to a gap: records of that time are missing, and the values of two windows behind it may lack them. `why`
 * is one text for all of its kind. Returns 0 or BEZEL_ENOMEM.
 */
int replay_add_hole(const struct replay *r, struct replay_gap *g, int64_t begin, int64_t end,
                    const char *why) BEZEL_MUST_CHECK;

/** Adds to the gaps of the span those in which an operator had turned the aspect off. Returns 0 or BEZEL_ENOMEM. */
int replay_find_all_switched(struct replay *r) BEZEL_MUST_CHECK;

/**
 * A gap that is all of its limit's time has the records of that limit. Lengthens it, when it has been judged, by the
 * holes before its first record and behind its last one, which nobody judged either.
 */
void replay_lengthen(struct replay_gap *g);

/** Puts the holes of the span in order. Returns whether there are any. */
bool replay_sort_holes(struct replay *r);

/** Whether a hole has some of that time. Times are asked for in their order. */
bool replay_is_in_hole(struct replay_gap *g, int64_t from, int64_t until);

/** Orders struct replay_gap by their begins. */
int replay_by_begin(const void *a, const void *b);

/** Gives the agent the counters as they stand at `now`. */
void replay_count(struct replay *r, int64_t now);

/** The value that is further from holding; both may be NaN. */
double replay_worse(const struct experiment_limit *l, double a, double b);

#endif
