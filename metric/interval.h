// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Times between records that belong together: from the record of the first aspect of a chain to that of the last, and
 * of each stage between two neighbours. Records have a position in the chain, from 0, and belong together by equal
 * keys. They may come in any order, from any processes and nodes.
 *
 * A record at the last position is an *end*. It belongs to the records with its key of its own process; at a position
 * where its process made none, to that of the only process that made one. Where several made one, it is ambiguous; but
 * of several at position 0 it belongs to one that is later than what its process has ended of that key, and to the only
 * one that is left without those that another process has ended and its own has passed: it was started behind them, or
 * has ended a later one. At positions between the first and the last at which several processes record, that is known,
 * and their stages have values, when the key is forgotten. Of several records with one key of one process at one
 * position the latest counts. One at position 0 begins anew: records that came before it belong to it only if their
 * times are not before its own.
 *
 * Of two records of one clock that clock gives the time between them, without error. Else it is the difference of their
 * times in the run's time, and the bounds of both errors are added. A whole time that is negative by more than its
 * bound is counted, and no value; a stage may be negative. The statistic of a window is that of the ends whose times
 * lie in it, and is known up to the largest bound among these, and 1/32 of a quantile (metric/statistic.h). Windows
 * slide, or follow one another in the run's time; of the last one that has ended all ends without a beginning count.
 *
 * An end without a first record had one that was lost, forgotten, or not yet here, or never had one. As long as a loss
 * at position 0 or a forgotten beginning may explain it, it counts as a value that might be any: so it widens what is
 * known. So does an end that is known to be lost.
 *
 * Keys are remembered for `window` + `wait` after the last record at position 0 came, or the first record of all; at
 * most `memory` of them: then the oldest is forgotten. What was then still without its counterpart is counted with the
 * cause.
 *
 * Memory is bounded: for each key some 100 bytes and 72 for each position, all of it taken by interval_new(); later,
 * for each of at most INTERVAL_ENDS_MAX ends, two statistics, and two for each stage. Pure: the caller brings the time.
 * One owner.
 */
#ifndef BEZEL_METRIC_INTERVAL_H
#define BEZEL_METRIC_INTERVAL_H

#include "base/clock_relation.h"
#include "base/err.h"
#include "config/experiment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    INTERVAL_POSITIONS_MAX = EXPERIMENT_STAGES_MAX,
    INTERVAL_WHOLE = INTERVAL_POSITIONS_MAX - 1, /* the part from the first record to the last */
    INTERVAL_PARTS,                              /* stage i, from position i to the next one, is part i */
    INTERVAL_ENDS_MAX = 256,
    INTERVAL_SAME_KEY_MAX = 256, /* records of one key */
};

/** A value of the field by which records match. */
struct interval_key {
    uint64_t bits;
    uint32_t more; /* 0: it matches none, as a number that is none */
};

/** Whole numbers, floats and texts never equal each other. Texts differ but for a chance of one in 2^94. */
struct interval_key interval_key_of_integer(int64_t value);
struct interval_key interval_key_of_float(double value);
struct interval_key interval_key_of_text(const char *text, size_t length);

struct interval_event {
    uint32_t position;
    struct interval_key key;
    uint32_t source;         /* number of the process that made the record */
    uint32_t clock;          /* number of the clock of `own` */
    uint32_t end;            /* at the last position: number of that which has a value of its own */
    int64_t own;             /* ns */
    struct clock_reading at; /* the same in the run's time; bound INT64_MAX: unknown */
    int64_t started;         /* ns of the same clock as `own`: when the process was started; 0: nobody knows */
};

/** Why a record was forgotten without its counterpart. */
enum interval_cause {
    INTERVAL_LOST,      /* a record at the other end of the chain was lost meanwhile */
    INTERVAL_LATE,      /* none came within `window` + `wait` */
    INTERVAL_EVICTED,   /* memory was short: for this record, or at an end for its beginning */
    INTERVAL_AMBIGUOUS, /* several processes made one */
    INTERVAL_CAUSES
};

struct interval_counts {
    uint64_t records;  /* that came */
    uint64_t matched;  /* ends with a value */
    uint32_t answers;  /* the most of them that one beginning had */
    uint64_t negative; /* ends whose time is before that of their beginning, beyond the bound */
    uint64_t keyless;  /* records whose key matches none; where they match by a field, they count as lost, too */
    uint64_t crowded;  /* records that INTERVAL_SAME_KEY_MAX or INTERVAL_ENDS_MAX, or want of memory, left out */
    uint64_t repeated[INTERVAL_POSITIONS_MAX];
    uint64_t beginnings[INTERVAL_CAUSES], ends[INTERVAL_CAUSES]; /* forgotten without their counterpart */
    uint64_t open, waiting; /* beginnings and ends without counterpart that are still remembered */
    uint64_t unkept; /* times that were told, and found no memory; counted by whom they were told (interval_times.h) */
};

/** The statistic of a window. */
struct interval_value {
    double value;
    double low, high;        /* it lies within these; infinite: nobody knows */
    int64_t newest;          /* run's time of the latest end in it */
    uint64_t count, unknown; /* ends in the window: with a value; that may have had any */
};

struct interval;

/** A record that was added: its process and its time there. */
struct interval_record {
    uint32_t source;
    int64_t own;
};

/** A time that is known: of `part` of `end`, between two records. */
struct interval_time {
    uint32_t end, part;
    struct clock_reading took; /* bound INT64_MAX: unknown */
    struct interval_record from, to;
    bool late; /* they were further apart than `window` + `wait`: see interval_keep_late() */
};

/** Called for each time that is known, when it is. */
typedef void interval_told(void *context, const struct interval_time *time);

/**
 * For the interval of `metric`, which is not needed any more afterwards. `wait`: ns that records may come later than
 * others. Returns 0 with *i to be freed by interval_free(), or BEZEL_ENOMEM.
 */
int interval_new(const struct experiment_metric *metric, int64_t wait, struct interval **i) BEZEL_MUST_CHECK;
void interval_free(struct interval *i);

/** Before the first record: `told` is to be called, with `context`. */
void interval_tell(struct interval *i, interval_told *told, void *context);

/**
 * Before the first record: of as many keys the latest beginning that was forgotten is remembered besides, so that an
 * end that comes later is told of, when it is forgotten itself, by its whole time alone; or is ambiguous. Returns 0 or
 * BEZEL_ENOMEM.
 */
int interval_keep_late(struct interval *i) BEZEL_MUST_CHECK;

/** Takes in a record that came at `now`, ns of the run's time, which does not go back. */
void interval_add(struct interval *i, const struct interval_event *event, int64_t now);

/** The same of `count` records, in their order: sooner done, as memory is fetched for several at a time. */
void interval_add_all(struct interval *i, const struct interval_event *events, uint32_t count, int64_t now);

/**
 * Takes in that `count` records at `position` were lost that were made from `from` to `until`, run's time; at the last
 * position those of `end`. From INT64_MIN to INT64_MAX: nobody knows when.
 */
void interval_lost(struct interval *i, uint32_t position, uint32_t end, int64_t from, int64_t until, uint64_t count,
                   int64_t now);

/** Forgets what is to be forgotten at `now`. */
void interval_advance(struct interval *i, int64_t now);

/**
 * No record follows: all is forgotten, and stages get their values. What was remembered for less than its time is open
 * or waiting, as its counterpart may be under way; `ended`: unless that was lost.
 */
void interval_finish(struct interval *i, int64_t now, bool ended);

/**
 * The statistic of `part` (a stage, or INTERVAL_WHOLE) of `end`, of the window that ends at `now`. Ends of the last
 * `settle` ns without a beginning do not widen it: their beginnings may be under way. Where `unknown` ends are all that
 * the window has, `value` is NaN. False, and nothing written, where it has none.
 */
bool interval_value(struct interval *i, uint32_t end, uint32_t part, int64_t settle, int64_t now,
                    struct interval_value *v);

/** Whether `v` decides the comparison with `bound`, whatever the value is within its bounds; *holds: the answer. */
static inline bool interval_decides(const struct interval_value *v, enum experiment_compare compare, double bound,
                                    bool *holds)
{
    bool at_most = compare == COMPARE_AT_MOST;
    *holds = at_most ? v->high <= bound : v->low >= bound;
    return *holds || (at_most ? v->low > bound : v->high < bound);
}

/** Records that match what nobody knows: without a value of the field of `metric`, and ends that are ambiguous. */
static inline uint64_t interval_counts_unclear(const struct interval_counts *c, const struct experiment_metric *metric)
{
    return (metric->interval.match ? c->keyless : 0) + c->ends[INTERVAL_AMBIGUOUS];
}

/** The ends that have made records, in the order in which they came first; *count of them. */
const uint32_t *interval_ends(const struct interval *i, uint32_t *count);

/** What was counted so far. Takes time in proportion to the keys that are remembered. */
struct interval_counts interval_counts(const struct interval *i);

#endif
