// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/near.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* Words are compared without case, and with '_' as '-'. */
static int folded(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

enum { NEAR_LENGTH_MAX = 63 }; /* longer texts are near to none */

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/*
 * The least number of insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`, both at most
 * NEAR_LENGTH_MAX long.
 */
static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned rows[3][NEAR_LENGTH_MAX + 1]; /* the row before the last one, the last one, this one */
    unsigned *oldest = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            int x = folded(a[i - 1]), y = folded(b[j - 1]);
            row[j] = smaller(last[j - 1] + (x != y), smaller(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == folded(b[j - 2]) && folded(a[i - 2]) == y)
                row[j] = smaller(row[j], oldest[j - 2] + 1);
        }
        unsigned *reused = oldest;
        oldest = last;
        last = row;
        row = reused;
    }
    return last[b_length];
}

void near_consider(struct near *near, const char *candidate)
{
    size_t a = strlen(near->wanted), b = strlen(candidate);
    if (a == 0 || a > NEAR_LENGTH_MAX || b > NEAR_LENGTH_MAX)
        return;
    unsigned distance = edit_distance(near->wanted, a, candidate, b);
    unsigned longest = (unsigned)(a > b ? a : b);
    if (distance * 3 > longest + 1 || (near->best && distance >= near->distance))
        return;
    near->best = candidate;
    near->distance = distance;
}
