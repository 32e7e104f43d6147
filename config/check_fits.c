// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/check_own.h"

#include "base/units.h"
#include "config/findings.h"

/* Doubts about sizes, times and rates that are right each by itself and do not fit each other. */

/* The value of `key` in map `t`, or where it is not there the fallback. */
static const struct tree *place(const struct tree *t, const char *key, const struct tree *fallback)
{
    const struct tree *value = tree_get(t, key);
    return value ? value : fallback;
}

/* ---- room -------------------------------------------------------------------------------------------------------- */

static void doubt_window(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *sensing = tree_get(root, "sensing"), *window = tree_get(sensing, "window");
    if (e->store.sync > 0 && e->sensing.window_bytes <= EXPERIMENT_SYNC_BYTES)
        reader_doubt(r, window,
                     "is no more than the %s that a store collects before it syncs early: once full, it stays full "
                     "until store.sync, %s, has passed",
                     units_exact_size(EXPERIMENT_SYNC_BYTES).s, units_exact_duration(e->store.sync).s);
    if (e->sensing.spool_bytes > 0 && e->sensing.spool_bytes < e->sensing.window_bytes)
        reader_doubt(r, tree_get(tree_get(sensing, "spool"), "size"),
                     "is less than sensing.window, %s: a window as much larger holds the same without a disk",
                     units_exact_size(e->sensing.window_bytes).s);
}

static void doubt_connections(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *limits = tree_get(tree_get(root, "store"), "limits");
    if (e->store.limits.connections < e->node_count)
        reader_doubt(r, tree_get(limits, "connections"), "is less than the %u nodes, each of which needs one",
                     e->node_count);
}

/* ---- rates ------------------------------------------------------------------------------------------------------- */

/* The longest time between two polls: a policy may have lengthened it. */
static int64_t longest_period(const struct experiment *e)
{
    return experiment_policy_moves(e->adapt.policy) ? e->adapt.period_max : e->sensing.period;
}

/* The slots of a ring: of a process that is started those of the file, of one that is attached to by default. */
static uint32_t ring_slots(const struct experiment *e)
{
    return experiment_starts(e) ? e->sensing.ring_records : schema_defaults.sensing.ring_records;
}

/* Whether no ring is polled: all processes are flight recorders. */
static bool polls_nothing(const struct experiment *e)
{
    return e->sensing.when_full == WHEN_FULL_OVERWRITE && !experiment_attaches(e);
}

/* A limit wants so many records a second that polls do not come by them all, or one thread's ring cannot hold them. */
static void doubt_rate(struct reader *r, const struct tree *root, const struct experiment *e, const struct tree *t,
                       const struct experiment_limit *l)
{
    const struct tree *sensing = tree_get(root, "sensing"), *poll = tree_get(sensing, "poll");
    const struct experiment_metric *m = &e->metrics[l->metric];
    int64_t longest = longest_period(e);
    double period = (double)longest / 1e9;
    uint32_t taken = e->sensing.forward == FORWARD_COLLECT ? 1 : e->sensing.batch;
    const char *taker = e->sensing.forward == FORWARD_COLLECT ? "forward" : "batch";
    if (taken > 0 && l->bound * period > taken)
        reader_doubt(r, tree_get(poll, taker),
                     "takes fewer records than limit %s (line %u) asks for, with %s between polls: rings fill up",
                     findings_quote(l->text).s, l->at.line, units_exact_duration(longest).s);
    else if (m->per_process && l->bound * period > ring_slots(e))
        reader_doubt(r, experiment_starts(e) ? place(tree_get(sensing, "ring"), "records", t) : t,
                     "%u records%s are fewer than one thread makes between two polls (%s) where it keeps limit %s "
                     "(line %u): some are lost",
                     ring_slots(e), experiment_starts(e) ? "" : ", what a ring holds without BEZEL_RING_RECORDS,",
                     units_exact_duration(longest).s, findings_quote(l->text).s, l->at.line);
}

static void doubt_rates(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    if (e->sensing.mode == POLL_BUSY_WAIT || polls_nothing(e))
        return;
    for (uint32_t i = 0; t; t = t->next, i++)
        if (!e->limits[i].whole && e->limits[i].unit == UNIT_PER_SECOND && e->limits[i].compare == COMPARE_AT_LEAST)
            doubt_rate(r, root, e, t, &e->limits[i]);
}

/* Between two polls no record is seen; a shorter window is empty most of the time. */
static void doubt_metric_windows(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "metrics"), e->metric_count);
    if (e->sensing.mode == POLL_BUSY_WAIT || polls_nothing(e))
        return;
    for (uint32_t i = 0; t; t = t->next, i++)
        if (e->metrics[i].window < e->sensing.period)
            reader_doubt(r, place(t, "window", t),
                         "%s is shorter than the polling period, %s: it is empty at most times",
                         units_exact_duration(e->metrics[i].window).s, units_exact_duration(e->sensing.period).s);
}

/* The polling period alone may use up a bound, now or where the policy has lengthened it. */
static void doubt_expiries(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct experiment_sensing *s = &e->sensing;
    const struct tree *expire = tree_get(tree_get(root, "sensing"), "expire"), *t = expire ? expire->first : NULL;
    if (s->mode == POLL_BUSY_WAIT || polls_nothing(e) || !s->expire)
        return;
    for (const struct experiment_rule *x = s->expire; x->pattern && t; x++, t = t->next) {
        if (x->value > 0 && x->value <= s->period)
            reader_doubt(r, t, "is not above the polling period, %s: most records are older when they are taken",
                         units_exact_duration(s->period).s);
        else if (x->value > 0 && x->value <= longest_period(e))
            reader_doubt(r, t,
                         "is not above the period that policy %s may come to, %s: most records are older then when "
                         "they are taken; a lower end of adapt.period avoids it",
                         experiment_policy_word((int)e->adapt.policy), units_exact_duration(longest_period(e)).s);
    }
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

/* From when on a limit is judged, after the start; ecs/verdict.h. */
static int64_t judged_from(const struct experiment *e, const struct experiment_limit *l)
{
    return l->kind == LIMIT_HOLD ? experiment_limit_window(e, l) + EXPERIMENT_SETTLING * e->adapt.every : 0;
}

static void doubt_duration(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    for (uint32_t i = 0; t && e->duration > 0; t = t->next, i++) {
        int64_t from = judged_from(e, &e->limits[i]);
        if (from >= e->duration)
            reader_doubt(r, t, "is judged after %s (window and %d decisions), which is not before the end, after %s",
                         units_exact_duration(from).s, EXPERIMENT_SETTLING, units_exact_duration(e->duration).s);
        else if (e->limits[i].persistence >= e->duration)
            reader_doubt(r, tree_get(t, "for"), "is not shorter than the duration, %s: it cannot be violated",
                         units_exact_duration(e->duration).s);
    }
}

static void doubt_limits(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_limit *a = &e->limits[i];
        if (a->tolerance >= 1)
            reader_doubt(r, tree_get(t, "tolerance"), "is all the time: it cannot fail the run");
        int other = experiment_limit_contradicts(e, i);
        if (other >= 0 && other < (int)i)
            reader_doubt(r, t, "cannot hold together with limit %s (line %u)", findings_quote(e->limits[other].text).s,
                         e->limits[other].at.line);
    }
}

void check_doubt_fits(struct reader *r, const struct tree *root, const struct experiment *e)
{
    doubt_window(r, root, e);
    doubt_connections(r, root, e);
    doubt_rates(r, root, e);
    doubt_metric_windows(r, root, e);
    doubt_expiries(r, root, e);
    doubt_duration(r, root, e);
    doubt_limits(r, root, e);
}
