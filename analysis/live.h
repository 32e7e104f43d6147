// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The path to what a run did last, while it grows: how much of each class it has at each place, since `from`, as
 * path_walk() over all of the run gives it, in memory that does not grow with the run. Pure. One owner.
 *
 * Each thread has marks: times up to which what it did is known, with what the path to it has then. A walk from a later
 * time ends at the first mark that it comes to, and adds what stands there. What threads did before their marks is
 * forgotten. A walk that leads there all the same (a message that was under way for longer than that, another thread
 * that ended a longer wait) ends as PATH_UNKNOWN, PATH_FORGOTTEN. A mark is LIVE_LATE behind the latest record,
 * since a span, a wait and an interval on a CPU are recorded when they end; of a span that ended later than that,
 * `late_spans` counts that the time before the mark was counted as if the thread had not been in it.
 */
#ifndef BEZEL_ANALYSIS_LIVE_H
#define BEZEL_ANALYSIS_LIVE_H

#include "analysis/slow.h"

#define LIVE_LATE   INT64_C(300000000)  /* ns */
#define LIVE_STEP   INT64_C(1000000000) /* ns between marks */
#define LIVE_MEMORY (64 << 20)          /* bytes for what threads did behind their marks */

enum { LIVE_TERMS_MOST = 1024 }; /* more are PATH_FORGOTTEN */

struct live_mark {
    int64_t at; /* INT64_MIN: none */
    size_t count;
    int64_t *ns; /* of each of the first `count` terms */
};

struct live {
    struct activity activity; /* behind the marks; tests add to it */
    int64_t from, newest;     /* newest: the latest time of a record */
    struct terms terms;
    uint64_t late_spans;
    int64_t bound; /* the widest of all walks: path.bound */
    bool is_ahead; /* what the latest walk led to will be known better */

    /* Private. */
    int64_t marked, kept, seen; /* of the latest marks; that before; `newest` when it was settled */
    int64_t cpu;                /* since `from`, of what is forgotten */
    bool has_intervals;         /* some thread has */
    size_t thread_count;
    struct live_thread {
        struct live_mark older, newer, next;
        int64_t since; /* all that it did since then is kept */
        int64_t known; /* up to which all is known that it did */
        size_t last;   /* piece of a path that is of it */
    } * threads;
    int64_t *sums; /* of each term */
    struct path path;
};

/** Begins at `from`, but not before the first record. Returns 0 or BEZEL_ENOMEM; live_fini() in both cases. */
int live_init(struct live *f, int64_t from) BEZEL_MUST_CHECK;
void live_fini(struct live *f);

/** Takes a record or a loss as activity_take() does. Returns 0 or BEZEL_ENOMEM. */
int live_take(struct live *f, const struct record_item *item) BEZEL_MUST_CHECK;

/** Sets marks at `until` or before; live_take() does so. Returns 0 or BEZEL_ENOMEM. */
int live_mark(struct live *f, int64_t until) BEZEL_MUST_CHECK;

/**
 * The thread of which the latest time up to `until` is known, and *at, that time; ACTIVITY_NONE: there is none. The
 * activity is settled. From `newest` on nothing more is to come.
 */
uint32_t live_latest(const struct live *f, int64_t until, int64_t *at);

/**
 * What the path to `thread` at `until`, not before its marks, has: as the slow part of *t, whose terms are of `f`.
 * Returns 0 or BEZEL_ENOMEM; slow_terms_free() in both cases.
 */
int live_terms(struct live *f, uint32_t thread, int64_t until, struct slow_terms *t) BEZEL_MUST_CHECK;

/** ns on CPUs of all threads from `from` to `until`, which is not before the marks. The activity is settled. */
int64_t live_cpu(const struct live *f, int64_t until);

#endif
