// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/near.h"

#include "base/plain.h"

#include <ctype.h>
#include <stdio.h>
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

/* ---- for a message ----------------------------------------------------------------------------------------------- */

struct near_names near_names(const char *wanted)
{
    return (struct near_names){.near = {{.wanted = wanted}, {.wanted = wanted}}};
}

void near_names_consider(struct near_names *n, bool own, const char *name, const char *of)
{
    const char *before = n->near[own].best;
    near_consider(&n->near[own], name);
    if (n->near[own].best != before)
        n->of[own] = of;
    n->any = true;
    size_t i = 0;
    while (i < n->count && strcmp(n->first[i], name) != 0)
        i++;
    if (own || i < n->count)
        return;
    if (i == NEAR_NAMES_SHOWN)
        n->more = true;
    else
        n->first[n->count++] = name;
}

const char *near_names_best(const struct near_names *n, const char **of)
{
    int own = n->near[0].best ? 0 : 1;
    if (of)
        *of = n->of[own];
    return n->near[own].best;
}

void near_names_write(const struct near_names *n, const char *subject, char *text, size_t size)
{
    char list[NEAR_NAMES_SHOWN * (NEAR_LENGTH_MAX + 4) + 1] = "";
    const char *of, *best = near_names_best(n, &of), *wanted = n->near[0].wanted;
    int used = 0;
    for (size_t i = 0; i < n->count; i++)
        used += snprintf(list + used, sizeof list - (size_t)used, "%s\"%.*s\"", i ? ", " : "", NEAR_LENGTH_MAX,
                         n->first[i]);
    if (best)
        snprintf(text, size, "%s \"%s\"; the nearest is \"%s\"%s%s", subject, wanted, best, of ? " of " : "",
                 of ? of : "");
    else
        snprintf(text, size, "%s \"%s\"%s%s%s", subject, wanted, used ? "; there is " : "", list,
                 n->more ? " and more" : "");
    plain_text(text);
}
