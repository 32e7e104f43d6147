// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Why and where time was spent: a search through hypotheses, each a share of the time against a threshold, over the
 * run, its nodes, processes and spans (the W3 search: Hollingsworth, Miller 1993). A hypothesis is looked at more
 * closely only where it is true, one step at a time: at a node, a process, a span, or with one other (a sender, or who
 * had the CPU). Time of which the cause is not known is a bound: with it a hypothesis may be true, may be false, or
 * neither is known. Pure. One owner.
 */
#ifndef BEZEL_ANALYSIS_SEARCH_H
#define BEZEL_ANALYSIS_SEARCH_H

#include "analysis/slow.h"

/** What the time is spent on; the order is that of the table in search.c. */
enum search_why {
    SEARCH_RUNNING,
    SEARCH_READY,
    SEARCH_MONITOR, /* it has the CPU, or recording takes the time */
    SEARCH_MESSAGE,
    SEARCH_LOCK,
    SEARCH_IO,
    SEARCH_SMALL, /* where SEARCH_IO is true: waits of few bytes each */
    SEARCH_SLEEP,
    SEARCH_STOPPED,
    SEARCH_WHYS
};

enum search_is { SEARCH_FALSE, SEARCH_OPEN, SEARCH_TRUE };

enum search_place { SEARCH_RUN, SEARCH_NODE, SEARCH_PROCESS, SEARCH_SPAN };

/** A hypothesis at a place. */
struct search_node {
    enum search_why why;
    enum search_place place;
    bool with;   /* of one peer, or of one that had the CPU */
    size_t term; /* one that it stands for: its place, and the other one, are those of the term */
    enum search_is is;
    double least, most; /* share of the time; of SEARCH_SMALL bytes of a wait, NaN: not known */
    bool leaf;          /* it is true, and nothing closer is */
};

/** Begins as zeros, but for the first three. */
struct search {
    double recording_least, recording_most; /* of the time, ns: what recording took */
    double missing;                         /* ns of the time that the terms lack */
    double all;                             /* the time, ns */
    size_t count;
    struct search_node *nodes;

    /* Private. */
    size_t capacity, node_count, place_count;
    const struct activity *a;
    const struct slow_terms *terms;
    struct search_term *of; /* of each term */
    struct hash_index by_place, by_node;
};

/**
 * Searches what `t`, of `a`, has more in the slow instances than in the usual ones, or all that it has where there are
 * no usual ones. None has more: nothing is found. Returns 0 or BEZEL_ENOMEM; search_fini() in both cases.
 */
int search_find(const struct activity *a, const struct slow_terms *t, struct search *s) BEZEL_MUST_CHECK;
void search_fini(struct search *s);

/** Whether something is true, or everything is false. */
bool search_is_known(const struct search *s);

/** Above which a share, or below which the bytes of a wait, make it true. */
double search_threshold(enum search_why why);

/** What it is called in JSON; static. */
const char *search_why_name(enum search_why why);

#endif
