// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What `bezel top` shows of a moment: plain data, which top_source.h fills from a run and tests fill by hand. Times are
 * ns of the run's time (run/model/run_clock.h). A number that is unknown is NaN.
 */
#ifndef BEZEL_VIEWS_TOP_TOP_DATA_H
#define BEZEL_VIEWS_TOP_TOP_DATA_H

#include "base/units.h"
#include "run/store/mirror_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum top_view {
    TOP_NODES,
    TOP_PROCESSES,
    TOP_ASPECTS,
    TOP_RECORDS,
    TOP_LIMITS,
    TOP_DECISIONS,
    TOP_LOSSES,
    TOP_MESSAGES,
    TOP_THREADS,
    TOP_INTERVALS,
    TOP_WAITS,
    TOP_PATH,
    TOP_VIEWS
};

enum { TOP_TEXTS = 5, TOP_VALUES = 8, TOP_DOTS_MAX = 1024, TOP_TEXT_MAX = 256 };

#define TOP_ANY   UINT32_MAX /* as node, field: all */
#define TOP_NEVER INT64_MIN

/** What a row is, or what a view is confined to: 0 as instance or aspect, TOP_ANY as node or field, -1 as limit: all.
 */
struct top_id {
    uint32_t node;     /* index in the model */
    uint64_t instance; /* of a process; of decisions and losses: a number in their list, from 1 */
    uint32_t aspect, field;
    int32_t limit; /* index in the experiment */
};
#define TOP_ALL ((struct top_id){.node = TOP_ANY, .field = TOP_ANY, .limit = -1})

static inline bool top_id_same(struct top_id a, struct top_id b)
{
    return a.node == b.node && a.instance == b.instance && a.aspect == b.aspect && a.field == b.field &&
           a.limit == b.limit;
}

/** A row. Texts are borrowed and foreign. What its columns are top_table.h says. */
struct top_item {
    struct top_id id;
    const char *texts[TOP_TEXTS];
    double values[TOP_VALUES];
    const char *unit;   /* of the columns in the row's unit; NULL: none */
    int64_t at;         /* what Enter moves the shown time to; TOP_NEVER: it stays */
    enum top_view into; /* where Enter leads, confined to `scope`; TOP_VIEWS: nowhere */
    struct top_id scope;
    char mark;    /* '!': a limit is violated there, or by it; ' ' */
    size_t index; /* of what its text is made of, when it is shown */
};

/** A part of the time that the plot shows. */
struct top_dot {
    double min, max;
    bool lost, violated, decided;
    char did; /* what a thread did: '#' it ran, '+' was ready, '.' waited, '~' ready or waiting; 0: not known */
};

enum top_unit { TOP_IN_NUMBER, TOP_IN_NS, TOP_IN_RATE, TOP_IN_PERCENT };

struct top_plot {
    char title[TOP_TEXT_MAX]; /* "": there is no plot */
    enum top_unit unit;
    double bound; /* of the limit that is plotted; NaN: none */
    size_t count;
    struct top_dot dots[TOP_DOTS_MAX];
};

struct top_data {
    const char *run;       /* its name */
    bool growing, damaged; /* it goes on; some streams cannot be read to their end */
    bool aborted, copied;  /* it neither goes on nor has an end; its directory is a copy */
    struct mirror_look mirror;
    int64_t first, last;    /* of what is stored; first > last: nothing */
    int64_t time, interval; /* shown: (time - interval, time] */
    int64_t refresh;        /* ns between two refreshes, where that is more than asked for; else 0 */
    size_t node_count, process_count;
    double records, bytes, lost; /* records and bytes a second, and records lost, of the SUT's processes */
    uint64_t unobserved;         /* processes that recorded and were not observed: nothing else here is about them */
    bool incomplete;             /* of the newest moment: verdict_is_complete() is not so */
    char lasts[256]; /* "; n0 NOT HEARD for 7.10 s; h SILENT for at least 4.00 s; grab of camera OPEN for 3.20 s", of
                        the longest each; "": none */
    size_t limit_count, violated, unknown;
    bool judged; /* these are of the verdict on a run that has ended; else of states at the shown time */
    char controller[TOP_TEXT_MAX]; /* a sentence */
    double own_cpu;                /* percent of one CPU */
    uint64_t own_memory;           /* bytes */
    bool reading;                  /* more is stored than was taken in so far */

    enum top_view view; /* of `items` */
    struct top_id scope;
    char title[TOP_TEXT_MAX]; /* what they are confined to; "": nothing */
    char note[TOP_TEXT_MAX];  /* what is left out; "": nothing */
    size_t count, capacity;
    struct top_item *items;
    /* Writes the text that the view makes of an item when it is shown: of a decision, the values of a record. */
    void (*make)(const void *context, const struct top_item *item, char *text, size_t size);
    const void *context;

    struct top_plot plot;
};

#endif
