// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The slow among many instances of the same work beside the usual ones: which they are, and what their paths
 * (analysis/path.h) have more of. An instance is a stretch of time that ends with a record of a thread: a span, a frame
 * from its first record to its last. Memory is bounded, however many there are. Pure. One owner.
 */
#ifndef BEZEL_ANALYSIS_SLOW_H
#define BEZEL_ANALYSIS_SLOW_H

#include "analysis/terms.h"

enum {
    SLOW_MOST = 1000,  /* instances of which the paths are compared, of either kind */
    SLOW_DRAWN = 4000, /* that stand for all, to find the usual ones */
};

struct slow_instance {
    int64_t from, until; /* ns of the run's time */
    int64_t process;     /* its row in the database */
    uint32_t thread;     /* that made the last record */
    bool open;           /* no record ends it: it went on until then, or its process ended */
    bool apart;          /* another thread may have begun it */
};

/** Which instances are slow. Set the first two, the rest zero. */
struct slow_choice {
    double share;   /* of all, above 0 and up to 1: so many of the slowest are slow ... */
    int64_t beyond; /* ... or, above 0, those that took longer than this, which may be none; ns */
    uint64_t count; /* that came */
    uint64_t over;  /* of these, longer than `beyond` */

    /* Made by slow_settle(): by how long they took, the longest first; the usual ones in the order of time. */
    size_t slow_count, usual_count;
    struct slow_instance *slow, *usual;
    struct activity_window *windows; /* all of them, in the order of time, joined */
    size_t window_count;

    /* Private. */
    size_t held, drawn_count;
    struct slow_instance *longest, *drawn;
    int64_t least; /* that is held when there is no more room */
    uint64_t random;
};

/** Adds an instance; one that ends before it begins is none. False: no memory. */
bool slow_add(struct slow_choice *c, const struct slow_instance *i);

/**
 * Chooses: the slow ones, at most SLOW_MOST of the longest, and as the usual ones such as lie in the middle half of
 * all by how long they took. Returns 0 or BEZEL_ENOMEM; slow_free() in both cases.
 */
int slow_settle(struct slow_choice *c) BEZEL_MUST_CHECK;
void slow_free(struct slow_choice *c);

/** What paths have of one class at one place. */
struct slow_term {
    enum path_class is;
    enum path_why why;
    uint32_t thread, span, peer, by; /* one of those that it stands for: all of their process, on their node */
    double slow, usual;              /* mean of the slow instances, and of the usual ones, ns */
    int64_t slow_least, slow_most;   /* of the slow ones */
};

/** What a record costs its thread, ns: in a hot loop on a fast CPU, and with nothing of it in a cache. */
#define SLOW_RECORD_LEAST 10
#define SLOW_RECORD_MOST  1800

/** What recording took of the time for which threads ran on paths, mean, ns. */
struct slow_recording {
    double least, most;
};

static inline struct slow_term slow_term_of(const struct term *t)
{
    return (struct slow_term){.is = t->is,
                              .why = t->why,
                              .thread = t->thread,
                              .span = t->span,
                              .peer = t->peer,
                              .by = t->by,
                              .slow_least = INT64_MAX};
}

struct slow_terms {
    size_t count;
    struct slow_term *terms; /* by what the slow have more, the most first */
    double slow, usual; /* mean of how long they took, ns; the sums of those of the terms. usual: NaN: there are none */
    double slow_unknown;                     /* of `slow`, what is PATH_UNKNOWN */
    struct slow_recording of_slow, of_usual; /* the records of spans, waits and messages */
    int64_t bound;                           /* the widest of their paths: path.bound */
    size_t lacking; /* instances whose thread is not known: they are PATH_UNKNOWN, and in no term */
};

/** Compares them. `a`: settled, of c->windows. Returns 0 or BEZEL_ENOMEM; slow_terms_free() in both cases. */
int slow_compare(const struct activity *a, const struct slow_choice *c, struct slow_terms *t) BEZEL_MUST_CHECK;
/**
 * Whether recording may be all that the slow have more than the usual ones, or, where there are none, half of what
 * they took.
 */
bool slow_may_be_recording(const struct slow_terms *t);

void slow_sort(struct slow_terms *t); /* by what the slow have more */
void slow_terms_free(struct slow_terms *t);

#endif
