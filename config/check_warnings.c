// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/check_internal.h"

#include "base/units.h"
#include "config/aspect_keep.h"
#include "config/collectors.h"
#include "config/diagnostics.h"
#include "config/knobs.h"
#include "config/triggers.h"

#include <string.h>

/* Where a metric names its aspect. */
static const struct tree *aspect_tree(const struct tree *t)
{
    for (int kind = METRIC_RATE; kind < METRIC_INTERVAL; kind++) {
        const struct tree *named = tree_get(t, experiment_metric_word((enum experiment_metric_kind)kind));
        if (named)
            return tree_get(t, "of") ? tree_get(t, "of") : named;
    }
    return t;
}

/* A sampler records what metric `m` reads: it must be on, and sample as often as the metric looks. */
static void warn_sampled_metric(struct reader *r, const struct tree *t, const struct experiment *e,
                                const struct experiment_metric *m, enum experiment_sampler by)
{
    const struct tree *at = aspect_tree(t);
    const char *key = schema_samplers[by].key;
    int64_t period = e->sensing.sampler[by];
    bool switches = by == EXPERIMENT_SAMPLER_SWITCHES;
    if (period && switches && e->sensing.switches.store == SWITCHES_STORE_SNAPSHOTS)
        reader_warn(r, at,
                    "the metric stays unknown: snapshots alone read what sampler 'switches' records; write 'switches: "
                    "all'");
    else if (!period)
        reader_warn(r, at,
                    "the metric stays unknown: sampler '%s', which records %s, is off; add 'sensing: {samplers: "
                    "{%s: %s}}'",
                    key, m->aspect, key, switches ? "all" : "100 ms");
    else if (m->window < 2 * period)
        reader_warn(r, at,
                    "the metric will be unknown at times: its window, %s, is shorter than two periods of sampler "
                    "'%s', %s",
                    units_exact_duration(m->window).s, key, units_exact_duration(period).s);
}

/* `t`: where the file names the aspect. */
static void warn_blind_aspect(struct reader *r, const struct tree *t, const struct experiment *e,
                              const struct experiment_metric *m, const char *aspect)
{
    const char *match = experiment_pattern_of(e->sensing.off, aspect);
    if (triggers_turn_on(e, aspect, !experiment_metric_reads_records(m)))
        return;
    if (!match && experiment_metric_reads_records(m) && (match = experiment_pattern_of(e->sensing.count, aspect)))
        reader_warn(r, t,
                    "the metric stays unknown: pattern %s in sensing.aspects.count leaves no records of this aspect",
                    diagnostics_quote(match).s);
    else if (match)
        reader_warn(r, t, "the metric stays unknown: pattern %s in sensing.aspects.off turns this aspect off",
                    diagnostics_quote(match).s);
}

/* Of an interval that takes the records of some processes at position `i`. */
static void warn_no_process(struct reader *r, const struct tree *t, const struct experiment *e,
                            const struct experiment_interval *interval, uint32_t i)
{
    char name[EXPERIMENT_NAME_MAX + sizeof ".1"];
    for (uint32_t p = 0; p < e->process_count; p++) {
        if (!e->processes[p].name)
            continue;
        snprintf(name, sizeof name, "%s%s", e->processes[p].name, e->processes[p].instances > 1 ? ".1" : "");
        if (experiment_interval_takes(interval, i, name))
            return;
    }
    reader_warn(r, t,
                "no process of this file is called %s: the metric stays unknown, unless one of these makes others",
                diagnostics_quote(interval->processes[i]).s);
}

/* Whether metric `m` knows records only by polling: the built-in ratios and the CPU use are known by counters. */
static bool needs_polls(const struct experiment_metric *m)
{
    return m->kind != METRIC_LOST && m->kind != METRIC_EN_ROUTE && experiment_metric_reads_records(m);
}

/* Flight recorders are not polled. */
static bool is_unpolled(const struct experiment *e, const struct experiment_metric *m)
{
    return e->sensing.when_full == WHEN_FULL_OVERWRITE && !experiment_attaches(e) && needs_polls(m);
}

static void warn_unpolled(struct reader *r, const struct tree *t)
{
    reader_warn(r, t,
                "stays unknown until a snapshot or the process's end saves records: the rings of flight recorders "
                "('when-full: overwrite') are not polled");
}

static void warn_blind_metric(struct reader *r, const struct tree *t, const struct experiment *e,
                              const struct experiment_metric *m)
{
    const struct tree *listed = tree_get(t, "interval"), *at = listed ? listed->first : aspect_tree(t);
    const char *aspect = experiment_metric_aspect(m, 0);
    enum experiment_sampler by = aspect ? experiment_sampler_of(aspect) : EXPERIMENT_SAMPLERS;
    if (by != EXPERIMENT_SAMPLERS)
        warn_sampled_metric(r, t, e, m, by);
    else if (is_unpolled(e, m))
        warn_unpolled(r, t);
    else
        for (uint32_t i = 0; (aspect = experiment_metric_aspect(m, i)); i++, at = at->next) {
            warn_blind_aspect(r, at, e, m, aspect);
            if (m->kind == METRIC_INTERVAL && m->interval.processes[i])
                warn_no_process(r, at, e, &m->interval, i);
        }
}

static void warn_blind_metrics(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "metrics"), e->metric_count);
    uint32_t defined = 0;
    for (; t; t = t->next, defined++)
        warn_blind_metric(r, t, e, &e->metrics[defined]);
    t = check_entries(tree_get(root, "limits"), e->limit_count); /* a built-in metric need not be defined */
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->text && l->metric >= (int)defined && is_unpolled(e, &e->metrics[l->metric]))
            warn_unpolled(r, tree_get(t, l->kind == LIMIT_HOLD ? "hold" : "expect"));
    }
}

/* In a stream of packets what was only counted is missing as what was lost is, of whatever aspect. */
static void warn_counted(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = tree_get(tree_get(tree_get(root, "sensing"), "aspects"), "count");
    bool any = false;
    for (uint32_t i = 0; i < e->limit_count; i++)
        any = any || experiment_limit_is_on_interval(e, &e->limits[i]);
    if (t && e->sensing.count && *e->sensing.count && any)
        reader_warn(r, t,
                    "the collector takes records that are only counted for lost ones: limits on intervals stay unknown "
                    "while a process makes such records and those of the interval; turn these aspects off instead");
}

static void warn_polling(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *poll = tree_get(tree_get(root, "sensing"), "poll");
    const struct tree *period = tree_get(poll, "period"), *batch = tree_get(poll, "batch");
    if (e->sensing.mode == POLL_BUSY_WAIT && period)
        reader_warn(r, period, "is not used in busy-wait mode");
    if (e->sensing.mode == POLL_BUSY_WAIT && e->sensing.doorbell)
        reader_warn(r, tree_get(poll, "doorbell"), "is not used in busy-wait mode, which never sleeps");
    if (e->limit_count == 0 && e->trigger_count > 0 && e->sensing.doorbell)
        reader_warn(r, tree_get(poll, "doorbell"), "has no effect: no node sleeps while triggers wait");
    if (e->limit_count > 0 && e->sensing.doorbell)
        reader_warn(r, tree_get(poll, "doorbell"), "has no effect: no node sleeps while limits are judged");
    if (e->sensing.forward == FORWARD_COLLECT && e->sensing.batch > 0)
        reader_warn(r, batch, "is not used with 'forward: collect', which takes one record per poll");
}

/* Only policies with POLICY_SETTLES shed load by importance. */
static void warn_importance(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = tree_get(tree_get(tree_get(root, "sensing"), "aspects"), "importance");
    if (!t || !e->sensing.importance || !e->sensing.importance[0].pattern)
        return;
    if (!experiment_policy_can(e->adapt.policy, POLICY_SETTLES))
        reader_warn(r, t, "has no effect with policy %s; use elastic, dpp-band, integral or aimd",
                    experiment_policy_word((int)e->adapt.policy));
}

static void warn_adapt(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *adapt = tree_get(root, "adapt"), *policy = tree_get(adapt, "policy"), *at;
    const struct tree *every = tree_get(adapt, "every");
    const struct experiment_limit *hold = check_first_hold(root, e, 0, &at);
    if (!experiment_policy_can(e->adapt.policy, POLICY_ADAPTS) && e->adapt.knob_count == 0) {
        if (e->adapt.by == ADAPT_BY_MANAGER)
            reader_warn(r, tree_get(adapt, "by"), "has no effect: with policy none there is nothing to decide");
        if (hold)
            reader_warn(r, policy, "with policy none nothing is adapted: 'hold' limits (line %u) are only judged",
                        hold->at.line);
        return;
    }
    if (!hold)
        reader_warn(r, policy, "has no effect: no limit says 'hold', so there is nothing to adapt to");
    hold = every ? check_first_hold(root, e, 2 * e->adapt.every, &at) : NULL;
    if (hold)
        reader_warn(r, every,
                    "%s is less than half the window (%s) of metric %s: the effect of a decision shows only after the "
                    "next ones, and adaptation may oscillate; shorten the window, or lengthen adapt.every",
                    units_exact_duration(e->adapt.every).s, units_exact_duration(e->metrics[hold->metric].window).s,
                    diagnostics_quote(e->metrics[hold->metric].name).s);
}

/* Attached processes may be flight recorders; started ones are if the file says so, and so are context switches. */
static void warn_snapshots(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    bool switches =
        e->sensing.sampler[EXPERIMENT_SAMPLER_SWITCHES] != 0 && e->sensing.switches.store == SWITCHES_STORE_SNAPSHOTS;
    bool may = e->sensing.when_full == WHEN_FULL_OVERWRITE || experiment_attaches(e) || switches;
    for (uint32_t i = 0; t && !may; t = t->next, i++)
        if (e->limits[i].snapshot > 0)
            reader_warn(r, tree_get(t, "on-violation"),
                        "saves nothing: no process is a flight recorder (sensing.ring.when-full: overwrite)");
}

/* ---- Processes that are attached to ------------------------------------------------------------------------------ */

/* Writes the attached processes as "'nav' (line 5)" or "'nav' (line 5) and 2 more". There is at least one. */
static void name_attached(const struct experiment *e, char *text, size_t size)
{
    const struct experiment_process *first = NULL;
    unsigned more = 0;
    for (uint32_t i = 0; i < e->process_count; i++) {
        if (!e->processes[i].attach)
            continue;
        more += first != NULL;
        first = first ? first : &e->processes[i];
    }
    int n = snprintf(text, size, "'%s' (line %u)", first ? first->name : "", first ? first->at.line : 0);
    if (more > 0)
        snprintf(text + n, size - (size_t)n, " and %u more", more);
}

/* The environment of an attached process decided on its rings when it started. */
static void warn_ring(struct reader *r, const struct tree *t, const struct experiment *e, const char *variable)
{
    char names[EXPERIMENT_NAME_MAX + 64];
    if (!t)
        return;
    name_attached(e, names, sizeof names);
    reader_warn(
        r, t, "%s: attached processes make their rings themselves, here %s; start them with %s=%s in their environment",
        experiment_starts(e) ? "applies to started processes only" : "has no effect", names, variable, t->text);
}

/* If two entries of a node have the same pattern, the first one takes all matches. */
static void warn_patterns(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "processes"), e->process_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_process *p = &e->processes[i], *q = e->processes;
        while (q < p && !(p->attach && q->attach && p->node == q->node && strcmp(p->attach, q->attach) == 0))
            q++;
        if (q < p)
            reader_warn(r, tree_get(t, "attach"),
                        "is also the pattern of process '%s' (line %u), which takes all programs that match", q->name,
                        q->at.line);
    }
}

/* Keys that have no effect on attached processes. */
static void warn_attached(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *sensing = tree_get(root, "sensing"), *ring = tree_get(sensing, "ring");
    if (!experiment_attaches(e))
        return;
    warn_ring(r, tree_get(ring, "records"), e, "BEZEL_RING_RECORDS");
    warn_ring(r, tree_get(ring, "threads"), e, "BEZEL_RING_THREADS");
    warn_ring(r, tree_get(ring, "when-full"), e, "BEZEL_WHEN_FULL");
    warn_patterns(r, root, e);
    if (tree_get(root, "grace") && !experiment_starts(e))
        reader_warn(r, tree_get(root, "grace"), "has no effect: Bezel starts no process here, so it ends none");
    if (e->sensing.doorbell && e->sensing.mode == POLL_POLLING && e->limit_count == 0)
        reader_warn(r, tree_get(tree_get(sensing, "poll"), "doorbell"),
                    "may have no effect: a process that started before bezeld cannot wake the node, which keeps "
                    "polling while such a process lives");
}

/* ---- Values that are valid alone and do not fit together --------------------------------------------------------- */

/* The value of `key` in map `t`; `fallback` if there is none. */
static const struct tree *value_or(const struct tree *t, const char *key, const struct tree *fallback)
{
    const struct tree *value = tree_get(t, key);
    return value ? value : fallback;
}

static void warn_window(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *sensing = tree_get(root, "sensing"), *window = tree_get(sensing, "window");
    if (e->store.sync > 0 && e->sensing.window_bytes <= EXPERIMENT_SYNC_BYTES)
        reader_warn(r, window,
                    "is not larger than the %s after which the collector syncs early: once full, the window stays full "
                    "until the next sync (store.sync, %s); make it larger",
                    units_exact_size(EXPERIMENT_SYNC_BYTES).s, units_exact_duration(e->store.sync).s);
    if (e->sensing.spool_bytes > 0 && e->sensing.spool_bytes < e->sensing.window_bytes)
        reader_warn(r, tree_get(tree_get(sensing, "spool"), "size"),
                    "is smaller than sensing.window, %s: a window enlarged by this size holds as much without a disk",
                    units_exact_size(e->sensing.window_bytes).s);
}

static void warn_connections(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *limits = tree_get(tree_get(root, "store"), "limits");
    if (e->store.limits.connections < e->node_count)
        reader_warn(r, tree_get(limits, "connections"),
                    "is less than the number of nodes, %u: each node needs a connection", e->node_count);
}

/* The longest time between two polls, ns; a policy may lengthen it. */
static int64_t longest_period(const struct experiment *e)
{
    return experiment_policy_can(e->adapt.policy, POLICY_MOVES) ? e->adapt.period_max : e->sensing.period;
}

/* Slots of a ring: as in the file for started processes, the default for attached ones. */
static uint32_t ring_slots(const struct experiment *e)
{
    return experiment_starts(e) ? e->sensing.ring_records : schema_defaults.sensing.ring_records;
}

/* Whether no ring is polled, because all processes are flight recorders. */
static bool polls_nothing(const struct experiment *e)
{
    return e->sensing.when_full == WHEN_FULL_OVERWRITE && !experiment_attaches(e);
}

/* Whether records wait for others in their rings. */
static bool accumulates(const struct experiment *e)
{
    return e->sensing.accumulate > 1 && !polls_nothing(e);
}

/* A record counts as waiting from the poll before the first that saw it. */
static bool has_waited_at_any_poll(const struct experiment *e)
{
    bool moves = experiment_policy_can(e->adapt.policy, POLICY_MOVES);
    return e->sensing.mode == POLL_POLLING &&
           (moves ? e->adapt.period_min : e->sensing.period) >= e->sensing.accumulate_or;
}

/* A limit that records break while they wait for others. */
static void warn_waiting(struct reader *r, const struct experiment *e, const struct tree *t,
                         const struct experiment_limit *l)
{
    enum experiment_metric_kind kind = l->metric < 0 ? METRIC_RATE : e->metrics[l->metric].kind;
    bool is_latency =
        kind == METRIC_LATENCY || kind == METRIC_LATENCY_MAX || kind == METRIC_STORING || kind == METRIC_STORING_MAX;
    if (is_latency && l->compare == COMPARE_AT_MOST && l->bound <= (double)e->sensing.accumulate_or)
        reader_warn(r, t,
                    "is not longer than the time that records may wait for others, %s (sensing.forward.or): a shorter "
                    "polling period does not help; make 'or' shorter",
                    units_exact_duration(e->sensing.accumulate_or).s);
}

static void warn_forward(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct experiment_sensing *s = &e->sensing;
    const struct tree *forward = tree_get(tree_get(root, "sensing"), "forward");
    const struct tree *accumulate = tree_get(forward, "accumulate");
    if (s->accumulate > 1 && !accumulates(e))
        reader_warn(r, accumulate,
                    "has no effect: the rings of flight recorders ('when-full: overwrite') are not polled");
    if (!accumulates(e))
        return;
    if (has_waited_at_any_poll(e)) {
        reader_warn(r, value_or(forward, "or", accumulate),
                    "records wait for others no longer than %s, and polls are no more frequent: each takes all, as "
                    "without 'forward'; make 'or' longer than the polling period",
                    units_exact_duration(s->accumulate_or).s);
        return;
    }
    if (s->accumulate > ring_slots(e) / 2)
        reader_warn(r, accumulate,
                    "a thread alone does not accumulate so many: its ring of %u slots is read when half of them are "
                    "full; make sensing.ring.records larger",
                    ring_slots(e));
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    for (uint32_t i = 0; t; t = t->next, i++)
        warn_waiting(r, e, t, &e->limits[i]);
}

/* The rate that limit `l` requires may exceed what polls take, or what the ring of one thread holds between polls. */
static void warn_rate(struct reader *r, const struct tree *root, const struct experiment *e, const struct tree *t,
                      const struct experiment_limit *l)
{
    const struct tree *sensing = tree_get(root, "sensing"), *poll = tree_get(sensing, "poll");
    const struct experiment_metric *m = &e->metrics[l->metric];
    int64_t longest = longest_period(e);
    double period = (double)longest / 1e9;
    uint32_t taken = e->sensing.forward == FORWARD_COLLECT ? 1 : e->sensing.batch;
    const char *taker = e->sensing.forward == FORWARD_COLLECT ? "forward" : "batch";
    if (taken > 0 && l->bound * period > taken)
        reader_warn(r, tree_get(poll, taker),
                    "takes fewer records per poll than limit %s (line %u) requires with %s between polls: rings fill "
                    "up, and records are lost",
                    diagnostics_quote(l->text).s, l->at.line, units_exact_duration(longest).s);
    else if (m->per_process && l->bound * period > ring_slots(e))
        reader_warn(r, experiment_starts(e) ? value_or(tree_get(sensing, "ring"), "records", t) : t,
                    "a ring holds %u records%s, fewer than one thread writes between two polls (%s) if it keeps limit "
                    "%s (line %u): some are lost",
                    ring_slots(e), experiment_starts(e) ? "" : " (unless BEZEL_RING_RECORDS is set)",
                    units_exact_duration(longest).s, diagnostics_quote(l->text).s, l->at.line);
}

static void warn_rates(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    if (e->sensing.mode == POLL_BUSY_WAIT || polls_nothing(e))
        return;
    for (uint32_t i = 0; t; t = t->next, i++)
        if (!e->limits[i].global && e->limits[i].unit == UNIT_PER_SECOND && e->limits[i].compare == COMPARE_AT_LEAST)
            warn_rate(r, root, e, t, &e->limits[i]);
}

/*
 * Whether there are records that no window of a limit's metric has at a sampling instant. Counters know all of a number
 * of records without a condition.
 */
static bool is_sampled_sparsely(const struct experiment *e, uint32_t metric)
{
    const struct experiment_metric *m = &e->metrics[metric];
    bool of_records = m->kind == METRIC_INTERVAL || (m->aspect && experiment_metric_reads_records(m)), any = false;
    for (uint32_t i = 0; i < e->limit_count; i++)
        any = any || e->limits[i].metric == (int)metric;
    return any && of_records && m->window < e->adapt.every;
}

/* Whether a limit on a rate or number of records, or on two such, cannot be told to have held or not. */
static bool is_blurred(const struct experiment *e, uint32_t metric)
{
    const struct experiment_metric *m = &e->metrics[metric];
    bool any = false;
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        const struct experiment_metric *of = l->metric == LIMIT_ON_SENSOR_CPU ? NULL : &e->metrics[l->metric];
        bool is = of && (of == m || experiment_metric_operand(e, of, 0) == (int)metric ||
                         experiment_metric_operand(e, of, 1) == (int)metric);
        any = any || (is && (experiment_limit_is_blurred(e, l, false) || experiment_limit_is_blurred(e, l, true)));
    }
    return any && experiment_metric_is_counted(m) && m->window < e->adapt.every;
}

/* Of a limit on a sliding rate: the time that its values are of, up to a decision, where that is much more than the
 * window; else 0. */
static int64_t span_beyond(const struct experiment *e, uint32_t metric)
{
    const struct experiment_metric *m = &e->metrics[metric];
    int64_t every = e->adapt.every, span = (m->window - m->window / 100 + every - 1) / every * every;
    bool any = false;
    for (uint32_t i = 0; i < e->limit_count; i++)
        any = any || e->limits[i].metric == (int)metric;
    return any && m->kind == METRIC_RATE && !m->tumbles && m->window > every && span - m->window > m->window / 10 ? span
                                                                                                                  : 0;
}

/* Records arrive in polls only, so a window shorter than the polling period is empty most of the time. */
static void warn_metric_windows(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "metrics"), e->metric_count);
    if (e->sensing.mode == POLL_BUSY_WAIT || polls_nothing(e))
        return;
    for (uint32_t i = 0; t; t = t->next, i++)
        if (e->metrics[i].window < e->sensing.period)
            reader_warn(r, value_or(t, "window", t),
                        "%s is shorter than the polling period, %s: the window is empty most of the time",
                        units_exact_duration(e->metrics[i].window).s, units_exact_duration(e->sensing.period).s);
        else if (e->metrics[i].tumbles && e->metrics[i].window < e->adapt.every)
            reader_warn(r, value_or(t, "window", t),
                        "%s is shorter than adapt.every, %s: windows that end between two decisions are looked at "
                        "after the run, if at all",
                        units_exact_duration(e->metrics[i].window).s, units_exact_duration(e->adapt.every).s);
        else if (accumulates(e) && e->metrics[i].window < e->sensing.accumulate_or)
            reader_warn(r, value_or(t, "window", t),
                        "%s is shorter than the time that records may wait for others, %s (sensing.forward.or): the "
                        "window may be empty most of the time",
                        units_exact_duration(e->metrics[i].window).s, units_exact_duration(e->sensing.accumulate_or).s);
        else if (is_blurred(e, i))
            reader_warn(r, value_or(t, "window", t),
                        "%s is shorter than adapt.every, %s: its values are of so long each, and may not tell whether "
                        "limits hold; lengthen the window, or shorten adapt.every",
                        units_exact_duration(e->metrics[i].window).s, units_exact_duration(e->adapt.every).s);
        else if (span_beyond(e, i) > 0)
            reader_warn(r, value_or(t, "window", t),
                        "%s is no multiple of adapt.every, %s: its values are of %s each; choose another window, or "
                        "another adapt.every",
                        units_exact_duration(e->metrics[i].window).s, units_exact_duration(e->adapt.every).s,
                        units_exact_duration(span_beyond(e, i)).s);
        else if (is_sampled_sparsely(e, i))
            reader_warn(
                r, value_or(t, "window", t),
                "%s is shorter than adapt.every, %s: records between the windows are judged after the run, if at all; "
                "lengthen the window, or shorten adapt.every",
                units_exact_duration(e->metrics[i].window).s, units_exact_duration(e->adapt.every).s);
}

/* The polling period alone may reach a latency bound, at the start or after the policy has lengthened it. */
static void warn_expiries(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct experiment_sensing *s = &e->sensing;
    const struct tree *expire = tree_get(tree_get(root, "sensing"), "expire"), *t = expire ? expire->first : NULL;
    if (s->mode == POLL_BUSY_WAIT || polls_nothing(e) || !s->expire)
        return;
    for (const struct experiment_rule *x = s->expire; x->pattern && t; x++, t = t->next) {
        if (x->value > 0 && x->value <= s->period)
            reader_warn(r, t,
                        "is not longer than the polling period, %s: most records have expired when a poll takes them",
                        units_exact_duration(s->period).s);
        else if (x->value > 0 && x->value <= longest_period(e))
            reader_warn(r, t,
                        "is not longer than the polling period that policy %s may choose, %s: most records then have "
                        "expired when a poll takes them; give adapt.period a lower upper end",
                        experiment_policy_word((int)e->adapt.policy), units_exact_duration(longest_period(e)).s);
    }
}

/* ns after the start from which on a limit is judged; as in run/verdict/verdict.h. */
static int64_t judged_from(const struct experiment *e, const struct experiment_limit *l)
{
    return l->kind == LIMIT_HOLD ? experiment_limit_window(e, l) + EXPERIMENT_SETTLING * e->adapt.every : 0;
}

static void warn_duration(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    for (uint32_t i = 0; t && e->duration > 0; t = t->next, i++) {
        int64_t from = judged_from(e, &e->limits[i]);
        if (from >= e->duration)
            reader_warn(r, t,
                        "is never judged: judging begins after %s (window and %d decisions), and the run ends after %s",
                        units_exact_duration(from).s, EXPERIMENT_SETTLING, units_exact_duration(e->duration).s);
        else if (e->limits[i].persistence >= e->duration)
            reader_warn(r, tree_get(t, "for"),
                        "is not shorter than the duration of the run, %s: the limit cannot be violated",
                        units_exact_duration(e->duration).s);
    }
}

static void warn_limits(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_limit *a = &e->limits[i];
        if (a->tolerance >= 1)
            reader_warn(r, tree_get(t, "tolerance"), "allows violation all the time: the limit cannot fail the run");
        int other = experiment_limit_contradicts(e, i);
        if (other >= 0 && other < (int)i)
            reader_warn(r, t, "contradicts limit %s (line %u): both cannot hold",
                        diagnostics_quote(e->limits[other].text).s, e->limits[other].at.line);
    }
}

/* Both ends of a comparison must be kept. */
static void warn_clocks(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "nodes"), e->node_count);
    const struct tree *collectors = tree_get(tree_get(root, "collector"), "clock");
    bool any = false;
    for (uint32_t i = 0; t; t = t->next, i++) {
        any = any || e->nodes[i].clock.by;
        if (e->nodes[i].clock.by && !e->collector.clock.by)
            reader_warn(r, tree_get(t, "clock"),
                        "has no effect: what keeps the wall clock of the collector's machine is not declared; add "
                        "'collector: {clock: ...}'");
    }
    if (e->collector.clock.by && !any)
        reader_warn(r, collectors, "has no effect: no node has a 'clock'");
}

static void warn_order(struct reader *r, const struct tree *root, const struct experiment *e)
{
    if (e->order.wait <= EXPERIMENT_ALIVE)
        reader_warn(r, tree_get(tree_get(root, "order"), "wait"),
                    "is not longer than the %s after which a node is heard that has nothing to send: such nodes are "
                    "not waited for, and what they record next is late",
                    units_exact_duration(EXPERIMENT_ALIVE).s);
}

void check_warn(struct reader *r, const struct tree *root, const struct experiment *e)
{
    warn_blind_metrics(r, root, e);
    warn_counted(r, root, e);
    warn_polling(r, root, e);
    warn_adapt(r, root, e);
    warn_importance(r, root, e);
    warn_snapshots(r, root, e);
    warn_attached(r, root, e);
    knobs_warn(r, root, e);
    triggers_warn(r, root, e);
    warn_window(r, root, e);
    warn_connections(r, root, e);
    warn_rates(r, root, e);
    warn_forward(r, root, e);
    warn_metric_windows(r, root, e);
    warn_expiries(r, root, e);
    aspect_keep_warn(r, root, e);
    warn_duration(r, root, e);
    warn_clocks(r, root, e);
    warn_order(r, root, e);
    collectors_warn(r, root, e);
    warn_limits(r, root, e);
}
