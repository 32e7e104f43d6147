// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/whatif_internal.h"

#include "base/grow.h"
#include "base/hash.h"

#include <math.h>

/* The number of the times of `key`, or -1. */
static int find(const struct whatif_times *t, struct whatif_key key, uint64_t *of, uint32_t *class)
{
    const int64_t words[] = {(int64_t)key.of, key.row, key.sender, key.span};
    *of = hash_fnv64(HASH_FNV64_START, words, sizeof words);
    *class = (uint32_t)key.is;
    return hash_index_find(&t->index, *of, *class);
}

bool whatif_note(struct whatif_times *t, struct whatif_key key, int half, double ns, double per)
{
    uint64_t of;
    uint32_t class;
    int found = find(t, key, &of, &class);
    if (found < 0) {
        if (!grow_list(&t->times, &t->capacity, t->count, sizeof *t->times) || !grow_index(&t->index, t->count))
            return false;
        found = (int)t->count;
        t->times[t->count] = (struct whatif_time){0};
        hash_index_put(&t->index, of, class, (uint32_t)t->count++);
    }
    t->times[found].ns[half] += ns;
    t->times[found].per[half] += per;
    return true;
}

void whatif_sum(const struct whatif_times *t, struct whatif_key key, int half, double *ns, double *per)
{
    uint64_t of;
    uint32_t class;
    int found = find(t, key, &of, &class);
    for (int i = 0; i < WHATIF_HALVES && found >= 0; i++)
        if (i == half || half == WHATIF_HALVES) {
            *ns += t->times[found].ns[i];
            *per += t->times[found].per[i];
        }
}

double whatif_typical(const struct whatif_times *t, struct whatif_key key, int half)
{
    double ns = 0, per = 0;
    whatif_sum(t, key, half, &ns, &per);
    return per > 0 ? ns / per : (double)NAN;
}
