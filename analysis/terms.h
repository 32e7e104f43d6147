// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What pieces of paths count for: a class at a place, where all threads of the processes of one name on a node are one
 * place. Pure. One owner.
 */
#ifndef BEZEL_ANALYSIS_TERMS_H
#define BEZEL_ANALYSIS_TERMS_H

#include "analysis/path.h"

struct term {
    enum path_class is;
    enum path_why why;
    uint32_t thread, span, peer, by; /* as of the first piece that counts for it */
};

/** Begins as zeros. */
struct terms {
    size_t count;
    struct term *list;

    /* Private. */
    size_t capacity, element_count, element_capacity, name_count;
    uint32_t *element; /* of each thread: the first one of the same process and node */
    struct hash_index by_name, by_key;
};

/** The number of the term that piece `p` counts for, made if it is new; -1: no memory. */
int terms_number(struct terms *t, const struct activity *a, const struct path_piece *p) BEZEL_MUST_CHECK;
void terms_fini(struct terms *t);

#endif
