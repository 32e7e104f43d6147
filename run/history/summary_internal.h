// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by the summary's files. */
#ifndef BEZEL_RUN_HISTORY_SUMMARY_INTERNAL_H
#define BEZEL_RUN_HISTORY_SUMMARY_INTERNAL_H

#include "base/saturate.h"
#include "run/history/summary.h"
#include "run/model/latency.h"
#include "run/rundb/rundb_sqlite.h"

#include <math.h>

/** The state of reading the CPU samples of one daemon (summary_node.c). */
struct summary_cost {
    uint32_t node;
    int64_t process;               /* its row; 0: none */
    int64_t begun_at, begun_cpu;   /* of the interval that is being read */
    int64_t before_at, before_cpu; /* the same of the one before it, where there is one */
    bool has_before;
    int64_t last_at, last_cpu;
};

/** Memory of a summary: a few hundred bytes for each process, aspect and decision. */
#define SUMMARY_BYTES_MAX ((size_t)1 << 30)

/** Rows of one kind: twice as many as a run may have processes. */
#define SUMMARY_ROWS_MAX ((size_t)1 << 21)

/** Pairs of rows that a report may have to compare. */
#define SUMMARY_PAIRS_MAX 1e10

struct summary_loading {
    struct summary summary; /* first: what callers hold */
    const char *run;        /* its directory */
    struct text *texts;     /* that the summary owns; freed with it */
    struct history history; /* of limits and metrics; its database is open while it is loaded */
    sqlite3 *db;
    int64_t *node_rows, *process_rows; /* of the database, by index */
    struct latency latency;            /* of the records of SUT processes */
    int64_t latency_bound;             /* the widest of its errors */
    size_t bytes;                      /* that it has allocated, of SUMMARY_BYTES_MAX */
    size_t last;                       /* index of the row that was found last */
    struct summary_cost cost;
    struct summary_rows { /* that summary_rows() appends to */
        enum builtin b;
        void *array;
        size_t *count;
    } rows;
    int err; /* the first error; nothing is read after it */
};

/** What the run's time is ahead of the run's clock, ns. */
int64_t summary_ahead(const struct summary *s);

/** Calls `take` with each row of `query`, until one sets l->err. */
void summary_each(struct summary_loading *l, const char *query,
                  void (*take)(struct summary_loading *l, sqlite3_stmt *s));

/** Counts `bytes` more of memory. False, with l->err set, beyond SUMMARY_BYTES_MAX. */
bool summary_charge(struct summary_loading *l, size_t bytes);

/** Grows an array by one zeroed element; NULL with l->err set where memory is short, or the summary too large. */
void *summary_grow(struct summary_loading *l, void *array, size_t *count, size_t size);

/** The text of column `at`, which belongs to the summary; "" for NULL. */
const char *summary_text(struct summary_loading *l, sqlite3_stmt *s, int at);

static inline uint64_t summary_u64(sqlite3_stmt *s, int at)
{
    return (uint64_t)sqlite3_column_int64(s, at);
}

/** A time or duration, clamped. */
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

/** Fills `row`, a struct builtin_<name> of aspect `b`, from the columns node, at, and its fields in their order. */
void summary_fill(struct summary_loading *l, sqlite3_stmt *s, enum builtin b, void *row);

/** Appends each row of `query`, whose columns are as above, to `array` of *count structs of aspect `b`. */
void summary_rows(struct summary_loading *l, const char *query, enum builtin b, void *array, size_t *count);

struct summary_latency summary_latency_of(const struct latency *l);

/** Loads the processes, with their books and streams. After the nodes. */
void summary_load_processes(struct summary_loading *l);

/** Loads what knobs processes have, and how they were set. After the processes. */
void summary_load_knobs(struct summary_loading *l);

/** Loads the notes about nodes and processes. After the processes. */
void summary_load_notes(struct summary_loading *l);

/** Loads costs, decisions and conclusions of nodes. After the processes. */
void summary_load_nodes(struct summary_loading *l);

#endif
