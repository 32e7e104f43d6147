// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The candidate that a misspelt word was probably meant to be. Pure. */
#ifndef BEZEL_BASE_NEAR_H
#define BEZEL_BASE_NEAR_H

/** Search for the candidate that is most similar to `wanted`; start with {.wanted = text}. `best` NULL: none. */
struct near {
    const char *wanted, *best; /* borrowed */
    unsigned distance;         /* steps from `wanted` to `best` */
};

/** Makes `candidate` the best one if `wanted` may be a misspelling of it, and no earlier candidate is as similar. */
void near_consider(struct near *near, const char *candidate);

#endif
