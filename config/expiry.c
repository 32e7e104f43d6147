// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/expiry.h"

#include "base/clock.h"
#include "base/units.h"
#include "config/findings.h"

#include <stdlib.h>

#define BOUND_MAX (3600 * CLOCK_S)

/* True where the entry is right, and stored in *e. */
static bool read_entry(struct reader *r, const struct tree *t, struct experiment_expiry *e)
{
    const char *why, *text = reader_text(r, t, "a latency bound such as 100 ms");
    if (!experiment_pattern_ok(t->key)) {
        reader_wrong_key(r, t,
                         "matches no aspect: 1 to %d letters, digits, '_', '.', ':', '*', '?' or sets such as [a-z]",
                         EXPERIMENT_NAME_MAX);
        return false;
    }
    if (!text)
        return false;
    if (units_read_duration(text, &e->bound, &why) != 0)
        reader_wrong(r, t, "%s is no duration: %s", findings_quote(text).s, why);
    else if (e->bound > BOUND_MAX)
        reader_wrong(r, t, "%s is out of range; allowed: 0 .. %s, 0 for none", findings_quote(text).s,
                     units_exact_duration(BOUND_MAX).s);
    else
        return (e->pattern = reader_copy(r, t->key)) != NULL;
    return false;
}

void expiry_read(struct reader *r, const struct tree *t, void *to)
{
    if (t->refused)
        return;
    if (t->kind != TREE_MAP) {
        reader_wrong(r, t, "a map of patterns and bounds is expected, such as {\"frame_*\": 100 ms}");
        return;
    }
    if (t->children > EXPERIMENT_PATTERNS_MAX) {
        reader_wrong(r, t, "has %u entries; allowed: up to %d", t->children, EXPERIMENT_PATTERNS_MAX);
        return;
    }
    struct experiment_expiry *expiries = calloc(t->children + 1, sizeof *expiries), *next = expiries;
    if (!expiries) {
        r->out_of_memory = true;
        return;
    }
    for (const struct tree *child = t->first; child; child = child->next)
        if (!child->refused && read_entry(r, child, next))
            next++;
    next->bound = 0; /* one that was wrong may have left it */
    *(struct experiment_expiry **)to = expiries;
}

void expiry_free(struct experiment_expiry *expiries)
{
    for (struct experiment_expiry *e = expiries; e && e->pattern; e++)
        free(e->pattern);
    free(expiries);
}
