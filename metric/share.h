// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Which share of what a counter counted over a sliding window another one counted too: records lost of those produced.
 * Or how large a level is beside it: records under way. From readings of both, at any times; those closer than window /
 * SHARE_MARKS are merged, so that memory is bounded. Pure: the caller brings the time. One owner.
 */
#ifndef BEZEL_METRIC_SHARE_H
#define BEZEL_METRIC_SHARE_H

#include <stdbool.h>
#include <stdint.h>

enum { SHARE_MARKS = 64 };

/** A reading of both counters, cumulative. */
struct share_mark {
    int64_t time;
    uint64_t whole, part;
};

struct share {
    int64_t window; /* ns, above 0 */
    uint64_t count; /* of marks, ever; mark i stands at i modulo their number */
    struct share_mark newest;
    struct share_mark marks[SHARE_MARKS + 2];
};

void share_start(struct share *s, int64_t window);

/** A reading at `now`. Counters or a time that run backwards start it anew. */
void share_read(struct share *s, int64_t now, uint64_t whole, uint64_t part);

/**
 * In percent, 0 .. 100, at the last reading: of what `whole` grew by in the window the part that `part` did. False
 * where it did not grow, or no full window has passed.
 */
bool share_value(const struct share *s, double *percent);

/** In percent: `level` of what `whole` grew by in the window, 100 where it is more; 0 where both are 0. */
bool share_level(const struct share *s, uint64_t level, double *percent);

/** What share_value() divides, at the last reading. False where no full window has passed. */
bool share_growth(const struct share *s, uint64_t *whole, uint64_t *part);

#endif
