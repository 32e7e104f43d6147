// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What the run database tells of the whole run, read once, and kept within bounds: decisions and other events, losses,
 * violations of limits, and the values of limits for their plots. What is older than the bounds allow is counted. One
 * owner; blocks on the disk.
 */
#ifndef BEZEL_VIEWS_TOP_TOP_HISTORY_H
#define BEZEL_VIEWS_TOP_TOP_HISTORY_H

#include "run/rundb/rundb_rows.h"
#include "views/top/top_index.h"
#include "views/top/top_state.h"

enum {
    TOP_EVENTS_MAX = 1 << 15,
    TOP_LOSSES_MAX = 1 << 15,
    TOP_VIOLATIONS_MAX = 1 << 13,
    TOP_SERIES_MAX = 256, /* limits on nodes that have a plot */
    TOP_SERIES_COLUMNS = 1024,
};

/** An event; `owner` is the row of its node. Its texts belong to the history. */
struct top_event {
    int64_t owner;
    int table; /* BUILTIN_DECISION, _KNOB, _CONCLUSION or _POLLING */
    union {
        struct builtin_decision decision;
        struct builtin_knob knob;
        struct builtin_conclusion conclusion;
        struct builtin_polling polling;
    };
};

struct top_loss {
    int64_t owner; /* row of its process */
    struct rundb_loss loss;
};

/** A violation; times are of the node's clock. */
struct top_history_violation {
    int64_t owner; /* row of the node */
    int32_t limit;
    int64_t begin, end;
    bool open;
};

struct top_series_column {
    int64_t index; /* of the time, in units of 1 << width ns of the node's clock */
    double min, max;
    bool violated;
};

struct top_series {
    int64_t owner;
    int32_t limit;
    size_t open; /* number of its open violation, from 1; 0: none */
    unsigned width;
    size_t count;
    struct top_series_column *columns; /* TOP_SERIES_COLUMNS of them; NULL: it has no plot */
};

struct top_history {
    struct rundb_rows *rows;
    size_t event_count, loss_count, violation_count, series_count;
    uint64_t left_out; /* events, losses and violations that were too many */
    struct top_event *events;
    struct top_loss *losses;
    struct top_history_violation *violations;
    struct top_series *series;
    size_t last_series;
    char **texts; /* each once */
    size_t text_count;
    bool settled; /* all rows that are committed are in */
    int err;      /* the first one of taking rows */
};

/** Opens run directory `run`. Returns 0, or an error as rundb_rows_open(). */
int top_history_open(struct top_history *h, const char *run) BEZEL_MUST_CHECK;
void top_history_close(struct top_history *h);

/** Takes in what is new for some `budget` ns. Returns 1: there is more; 0; or an error, which rundb_why() explains. */
int top_history_update(struct top_history *h, int64_t budget) BEZEL_MUST_CHECK;

/** The series of a limit on a node; NULL: none. */
const struct top_series *top_history_series(const struct top_history *h, int64_t owner, int32_t limit);

/** Adds an observation; for tests, and for the rows of the database. */
void top_history_observe(struct top_history *h, int64_t owner, const struct builtin_observation *o);

#endif
