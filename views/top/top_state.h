// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What `bezel top` is asked to show, and how keys change that: a pure function of the state, what is shown, and the
 * key. No terminal in here.
 */
#ifndef BEZEL_VIEWS_TOP_TOP_STATE_H
#define BEZEL_VIEWS_TOP_TOP_STATE_H

#include "views/top/top_data.h"

enum { TOP_DEPTH = 8, TOP_FILTER_MAX = 64 };

/** Keys that are no characters; others are their characters. */
enum top_key {
    TOP_KEY_NONE,
    TOP_KEY_BACKSPACE = 8,
    TOP_KEY_ENTER = 10,
    TOP_KEY_ESCAPE = 27,
    TOP_KEY_UP = 256,
    TOP_KEY_DOWN,
    TOP_KEY_LEFT,
    TOP_KEY_RIGHT,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
};

/** A view on the way from the first one to the present one. */
struct top_place {
    enum top_view view;
    struct top_id scope;    /* what it is confined to */
    struct top_id selected; /* the row; where that is not there, row `at` is */
    bool any;               /* `selected` is meaningful; else the first row that is marked is selected, or the first */
    size_t at, first;       /* of the selected row and the first one that is visible, in the order shown */
};

struct top_sort {
    size_t column;
    bool down; /* the largest first */
};

#define TOP_SPAN_MOST (366 * 24 * 3600 * CLOCK_S) /* of a plot, and back in time: ns */

struct top_state {
    struct top_place stack[TOP_DEPTH];
    unsigned depth;
    struct top_sort sorts[TOP_VIEWS];
    char filter[TOP_FILTER_MAX];
    bool editing; /* keys go into the filter */
    bool help, quit;
    bool follow;         /* the shown time is the newest one */
    int64_t time;        /* else this one */
    int64_t interval;    /* ns: what is counted lies in (time - interval, time] */
    int64_t end, span;   /* the plot shows (end - span, end] */
    bool own;            /* the monitor's own processes are shown, too */
    const char *message; /* for the operator, until the next key; static, NULL: none */
};

/** A violation of a limit on a node, or over all of them. */
struct top_violation {
    uint32_t node;
    int32_t limit;
    int64_t begin, end; /* run's time; an open one: the last observation of it */
    bool open;
};

/** What is shown when a key is pressed: all borrowed. */
struct top_seen {
    const struct top_item *items;
    const uint32_t *order; /* `count` rows that are not filtered out, as they are shown */
    size_t count;
    size_t page;         /* rows that are visible at once */
    int64_t first, last; /* of what is stored */
    size_t steps;        /* characters that the plot is wide */
    size_t columns;      /* of the view, that it can be sorted by */
    size_t violation_count;
    const struct top_violation *violations; /* in the order of their begin */
};

/** The first state: view `view`, following, with a plot of `span` ns. */
void top_state_init(struct top_state *s, enum top_view view, int64_t interval, int64_t span);

/** The view that is shown. */
static inline struct top_place *top_state_place(struct top_state *s)
{
    return &s->stack[s->depth];
}

/** Changes the state by a key. */
void top_state_key(struct top_state *s, const struct top_seen *seen, int key);

/** Brings the state to what is there now: time and window while following, and the selected row. */
void top_state_settle(struct top_state *s, const struct top_seen *seen);

/** The violation at `time`, or the last one before it, of limit `limit` on `node`; NULL: none. -1, TOP_ANY: any. */
const struct top_violation *top_state_violation(const struct top_violation *list, size_t count, uint32_t node,
                                                int32_t limit, int64_t time);

#endif
