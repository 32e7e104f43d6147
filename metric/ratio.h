// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The growth of one counter over a sliding window in relation to another's: records lost, in percent of those produced.
 * Or a level in relation to a counter's growth: records under way. Readings come at any times; those closer than window
 * / RATIO_MARKS are merged, so that memory is bounded. Pure: the caller brings the time. One owner.
 */
#ifndef BEZEL_METRIC_RATIO_H
#define BEZEL_METRIC_RATIO_H

#include <stdbool.h>
#include <stdint.h>

enum { RATIO_MARKS = 64 };

/** A reading of both counters, cumulative. */
struct ratio_mark {
    int64_t time;
    uint64_t whole, part;
};

struct ratio {
    int64_t window; /* ns, above 0 */
    uint64_t count; /* of marks, ever; mark i stands at i modulo their number */
    struct ratio_mark newest;
    struct ratio_mark marks[RATIO_MARKS + 2];
};

void ratio_start(struct ratio *r, int64_t window);

/** A reading at `now`. Counters or a time that run backwards start it anew. */
void ratio_read(struct ratio *r, int64_t now, uint64_t whole, uint64_t part);

/**
 * The growth of `part` in the window, in percent (0 .. 100) of the growth of `whole`, at the last reading. False where
 * `whole` did not grow, or no full window has passed.
 */
bool ratio_value(const struct ratio *r, double *percent);

/** `level` in percent of the growth of `whole` in the window, at most 100; 0 where both are 0. False as above. */
bool ratio_level(const struct ratio *r, uint64_t level, double *percent);

/** The growth of both counters in the window, at the last reading. False where no full window has passed. */
bool ratio_growth(const struct ratio *r, uint64_t *whole, uint64_t *part);

/** The same; where no full window has passed, since the first reading. False if `whole` did not grow since then. */
bool ratio_growth_so_far(const struct ratio *r, uint64_t *whole, uint64_t *part);

#endif
