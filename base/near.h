// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The names that a misspelt one was probably meant to be. Pure; texts are borrowed. */
#ifndef BEZEL_BASE_NEAR_H
#define BEZEL_BASE_NEAR_H

#include <stdbool.h>
#include <stddef.h>

/** Search for the candidate that is most similar to `wanted`; start with {.wanted = text}. `best` NULL: none. */
struct near {
    const char *wanted, *best;
    unsigned distance; /* steps from `wanted` to `best` */
};

/** Makes `candidate` the best one if `wanted` may be a misspelling of it, and no earlier candidate is as similar. */
void near_consider(struct near *near, const char *candidate);

/**
 * The same for a message to the operator: where no candidate is similar, it shows the first few. Start with
 * near_names().
 */
enum { NEAR_NAMES_SHOWN = 5 };
struct near_names {
    struct near near[2]; /* among names of programs, and among the monitor's own */
    const char *of[2];   /* to whom the best one belongs; NULL: nobody */
    const char *first[NEAR_NAMES_SHOWN];
    size_t count;   /* in `first`: names of programs alone */
    bool any, more; /* there are candidates; more than in `first` */
};

struct near_names near_names(const char *wanted);

/** A candidate: the monitor's (`own`) are named only where no program has a similar one. */
void near_names_consider(struct near_names *n, bool own, const char *name, const char *of);

/** The best candidate; NULL: none is similar. Its owner in *of, which may be NULL. */
const char *near_names_best(const struct near_names *n, const char **of);

/**
 * Writes "SUBJECT "WANTED"; the nearest is "NAME" of OWNER", or "...; there is "NAME", "NAME" and more", or the
 * beginning alone where there are no candidates. Control characters become '?'.
 */
void near_names_write(const struct near_names *n, const char *subject, char *text, size_t size);

#endif
