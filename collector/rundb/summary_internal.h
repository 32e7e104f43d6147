// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the summary's files share. summary.h is the others' view of it. */
#ifndef BEZEL_COLLECTOR_SUMMARY_OWN_H
#define BEZEL_COLLECTOR_SUMMARY_OWN_H

#include "base/saturate.h"
#include "collector/facts_db.h"
#include "collector/summary.h"
#include "metric/histogram.h"

#include <math.h>

/** How far the samples of what one daemon cost are read (summary_node.c). */
struct summary_cost {
    uint32_t node;
    int64_t process;               /* its row; 0: none */
    int64_t begun_at, begun_cpu;   /* of the interval that is being read */
    int64_t before_at, before_cpu; /* the same of the one before it, where there is one */
    bool has_before;
    int64_t last_at, last_cpu;
};

/** A run's report takes a few hundred bytes for each process, aspect and decision. */
#define SUMMARY_BYTES_MAX ((size_t)1 << 30)

/** Rows of one kind: twice the processes that a run may have. */
#define SUMMARY_ROWS_MAX ((size_t)1 << 21)

/** Of pairs of rows that a report may have to look at together. */
#define SUMMARY_PAIRS_MAX 1e10

struct summary_loading {
    struct summary summary; /* first: what callers hold */
    const char *run;        /* its directory */
    struct text *texts;     /* that the summary owns; freed with it */
    sqlite3 *db;
    int64_t *node_rows, *process_rows; /* of the database, by index */
    struct histogram latency;          /* of the records of SUT processes */
    size_t bytes;                      /* that it takes, of SUMMARY_BYTES_MAX */
    size_t last;                       /* index that was found last */
    size_t last_series;                /* the same of a series */
    struct summary_cost cost;
    int err; /* of the first thing that failed; nothing is read from then on */
};

/** Calls `take` with each row of `query`, until one sets l->err. */
void summary_each(struct summary_loading *l, const char *query,
                  void (*take)(struct summary_loading *l, sqlite3_stmt *s));

/** Counts `bytes` more that the summary takes. False, with l->err set, where that is more than one may take. */
bool summary_charge(struct summary_loading *l, size_t bytes);

/** Grows an array by one zeroed element; NULL with l->err set where memory is short, or the summary too large. */
void *summary_grow(struct summary_loading *l, void *array, size_t *count, size_t size);

/** The text of column `at`, "" for NULL; of the summary. */
const char *summary_text(struct summary_loading *l, sqlite3_stmt *s, int at);

static inline uint64_t summary_u64(sqlite3_stmt *s, int at)
{
    return (uint64_t)sqlite3_column_int64(s, at);
}

/** A time or duration that may be anything, cut. */
static inline int64_t summary_ns(sqlite3_stmt *s, int at)
{
    return saturate_ns(sqlite3_column_int64(s, at));
}

/** NaN for NULL. */
static inline double summary_real(sqlite3_stmt *s, int at)
{
    return sqlite3_column_type(s, at) == SQLITE_NULL ? NAN : sqlite3_column_double(s, at);
}

/** The index of the node whose row column `at` names; 0 with l->err set where it names none that was loaded. */
uint32_t summary_node_index(struct summary_loading *l, sqlite3_stmt *s, int at);

/** The node or process whose row column `at` names; NULL with l->err set where it names none that was loaded. */
struct summary_node *summary_node_at(struct summary_loading *l, sqlite3_stmt *s, int at);
struct summary_process *summary_process_at(struct summary_loading *l, sqlite3_stmt *s, int at);

struct summary_latency summary_latency_of(const struct histogram *h);

/** Loads the processes, with their books and streams; behind the nodes. */
void summary_load_processes(struct summary_loading *l);

/** Loads what was noted of nodes and processes; behind the processes. */
void summary_load_notes(struct summary_loading *l);

/** Loads what nodes cost, what they decided and found; behind the processes. */
void summary_load_nodes(struct summary_loading *l);

/** Loads what makes the run's story; behind the processes. */
void summary_load_story(struct summary_loading *l);

#endif
