// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The monitor's own records of a run, as its database has them: how limits and metrics went, what violated a
 * limit, when nobody judged it, decisions and other events, losses. Each row is taken once, also while the run grows.
 * Memory is bounded: values are kept as columns, and of events, losses, violations and gaps the newest. Times are of
 * the clock of their node, which is named by its number in the order of nodes in the database. One owner; blocks on the
 * disk.
 */
#ifndef BEZEL_RUN_HISTORY_HISTORY_H
#define BEZEL_RUN_HISTORY_HISTORY_H

#include "run/history/history_columns.h"
#include "run/history/history_rows.h"

enum {
    HISTORY_COLUMNS = 4096,           /* of a series, where there are few series, ... */
    HISTORY_COLUMNS_OF_ALL = 1 << 18, /* ... of all together, ... */
    HISTORY_COLUMNS_LEAST = 128,      /* ... but so many of each ... */
    HISTORY_SERIES_PLOTTED = 4096,    /* ... of these; the others have none */
    HISTORY_NEWEST = 1 << 15,         /* rows of a kind that programs keep that follow a run */
};

/** What a history is wanted of: bits of tables, 1 << enum builtin or 1 << HISTORY_LOSSES. */
#define HISTORY_OF_LIMITS  (UINT32_C(1) << BUILTIN_OBSERVATION)
#define HISTORY_OF_METRICS (UINT32_C(1) << BUILTIN_METRIC)
#define HISTORY_OF_EVENTS                                                                                              \
    (UINT32_C(1) << BUILTIN_DECISION | UINT32_C(1) << BUILTIN_KNOB | UINT32_C(1) << BUILTIN_CONCLUSION |               \
     UINT32_C(1) << BUILTIN_POLLING | UINT32_C(1) << BUILTIN_TRIGGER)
#define HISTORY_OF_OPEN   (UINT32_C(1) << BUILTIN_OPEN) /* among the events */
#define HISTORY_OF_LOSSES (UINT32_C(1) << HISTORY_LOSSES)

/** The values of a limit on a node, or of a metric. */
struct history_series {
    uint32_t node, limit;         /* the latter of a limit */
    const char *metric, *process; /* of a metric; of a limit NULL */
    int64_t begin, end;           /* times of the first and the last value */
    uint64_t count;               /* of values that are numbers */
    double mean, min, max, last;  /* of these; NaN: there is none */
    double sum;
    struct history_columns columns;
    int64_t known_at;    /* the time of `last` */
    int64_t last_at;     /* of a limit: of the value that came last ... */
    bool last_known;     /* ... whether the limit was held or violated then ... */
    size_t open;         /* ... and the number of its open violation, from 1; 0: none */
    int64_t judged_from; /* of a limit: the first value that was held or violated, or the gap before it; 0: none */
};

/** From the first observation that found it to the first that did not, or the last one. */
struct history_violation {
    uint32_t node, limit;
    int64_t begin, end;
    bool open;       /* no observation ended it */
    double min, max; /* of the values */
};

/**
 * A time in which a limit was not judged; times that touch, between which it was never known, are one. The members
 * behind `restarted` are of who judges it again from the stored records (run/verdict/rejudge.h).
 */
struct history_gap {
    uint32_t node, limit;
    int64_t begin, end;
    int64_t cut;    /* ns before `begin` that are counted as well, of a time in which the limit was observed */
    int64_t seen;   /* ns within, between gaps that were joined, in which the limit was observed, and unknown */
    int64_t again;  /* ns at the end of one that is `restarted`, in which bezeld was running again, and counted */
    bool restarted; /* bezeld was not running; else it did not come to judge */
    bool early;     /* programs recorded, and the manager did not judge yet */
    bool never;     /* the limit was not judged at any time of the run */
    bool sparse;    /* all of the limit's time: records lay between its windows, which are short */
    bool brief;     /* all of the limit's time: its `for` is as short as few sampling periods */
    bool late;      /* most of it was unknown, as records came behind the windows that had them */
    bool judged;    /* the next three are known, and are the gap */
    int64_t held, violated, unknown; /* unknown: there was no value, or: */
    int64_t doubtful;                /* part of unknown that still counts as not judged */
    int64_t settling;                /* another part, in which adaptation settled */
    double worst;                    /* of a judged one: the worst value while the limit held; NaN: not known */
    const char *why; /* it is not judged, or in part doubtful; static; NULL: it is judged, or nobody tried */
};

struct history_event {
    enum builtin table; /* BUILTIN_DECISION, _KNOB, _CONCLUSION, _POLLING, _TRIGGER or _OPEN */
    union {
        struct {
            uint32_t node;
            int64_t at;
        }; /* of all of them */
        struct builtin_decision decision;
        struct builtin_knob knob; /* its texts belong to the history */
        struct builtin_conclusion conclusion;
        struct builtin_polling polling;
        struct builtin_trigger trigger; /* likewise */
        struct builtin_open open;       /* likewise */
    };
};

struct history {
    struct history_rows *rows;
    uint32_t tables;
    size_t most; /* events, losses, violations and gaps: of each the newest that fit */
    size_t limit_count, metric_count, violation_count, gap_count, event_count, loss_count;
    struct history_series *limits, *metrics;
    struct history_violation *violations; /* in the order in which they began, of each node */
    struct history_gap *gaps;
    struct history_event *events; /* in the order of the rows of each kind */
    struct history_loss *losses;
    uint64_t left_out; /* that were too many */
    size_t last_limit, last_metric;
    char **texts; /* of events, each once */
    size_t text_count;
    bool settled;    /* all rows that are committed are in */
    int64_t read_at; /* clock_now() when the database was opened last */
    int err;         /* the first one of taking rows */
};

/**
 * Opens run directory `run` for `tables`, of whose rows the newest `most` of a kind are kept. Its database stays open
 * until the next update. Returns 0, or an error, which rundb_why() explains; history_close() is for both.
 */
int history_open(struct history *h, const char *run, uint32_t tables, size_t most) BEZEL_MUST_CHECK;
void history_close(struct history *h);

/** Reads all rows of the database that history_open() has opened. Returns 0 or an error. */
int history_read(struct history *h) BEZEL_MUST_CHECK;

/**
 * Takes in what is new for some `budget` ns; once all is in, every other second. Returns 1: there is more; 0; or an
 * error, which rundb_why() explains.
 */
int history_update(struct history *h, int64_t budget) BEZEL_MUST_CHECK;

/** The series of a limit on a node, or of a metric of a process; NULL: there is none. */
const struct history_series *history_limit(const struct history *h, uint32_t node, uint32_t limit);
const struct history_series *history_metric(const struct history *h, uint32_t node, const char *metric,
                                            const char *process);

/** Adds an observation; for tests, and for the rows of the database. */
void history_observe(struct history *h, const struct builtin_observation *o);

#endif
