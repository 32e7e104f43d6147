// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/report/report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- What a trigger did ------------------------------------------------------------------------------------------ */

struct tally {
    uint64_t fired, suppressed, looked, nodes; /* nodes: whose daemons have recorded their counts, at their ends */
    int64_t *latencies;                 /* of firings, ascending; owned; NULL: there is no memory, or no firing */
    const struct builtin_trigger *last; /* NULL: it never fired */
};

static int compare_ns(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static struct tally tally_of(const struct summary *s, int64_t trigger)
{
    struct tally t = {.latencies = calloc(s->firing_count + 1, sizeof *t.latencies)};
    for (size_t i = 0; i < s->firing_count; i++) {
        const struct builtin_trigger *f = &s->firings[i];
        if (f->trigger != trigger || f->event != TRIGGER_FIRED)
            continue;
        if (t.latencies)
            t.latencies[t.fired] = f->latency;
        t.fired++;
        t.suppressed += (uint64_t)f->suppressed;
        t.last = f;
    }
    if (t.latencies)
        qsort(t.latencies, t.fired, sizeof *t.latencies, compare_ns);
    for (size_t i = 0; i < s->watched_count; i++)
        if (s->watched[i].trigger == trigger) {
            t.nodes++;
            t.suppressed += (uint64_t)s->watched[i].suppressed;
            t.looked += (uint64_t)s->watched[i].looked;
        }
    return t;
}

/* The `share` of the latencies is at most so long. There is a firing. */
static int64_t latency_at(const struct tally *t, double share)
{
    uint64_t number = (uint64_t)ceil(share * (double)t->fired);
    return t->latencies ? t->latencies[number > 0 ? number - 1 : 0] : 0;
}

/* A silence is known by counters. */
static bool reads_aspect(const struct experiment_trigger *of, const char *aspect)
{
    const char *first = of->first.aspect, *then = of->then.aspect;
    return of->condition != WHEN_SILENT &&
           ((first && strcmp(first, aspect) == 0) || (then && strcmp(then, aspect) == 0));
}

static bool triggers_read(const struct experiment *e, const char *aspect)
{
    bool any = false;
    for (uint32_t i = 0; i < e->trigger_count; i++)
        any |= reads_aspect(&e->triggers[i], aspect);
    return any;
}

static void print_expired(const struct report *r, FILE *out)
{
    struct rows w = {.report = r, .bare = true};
    report_expired_lines(&w, triggers_read, "triggers on records ignore them");
    rows_print_table(&w, out);
}

/* What is known of a trigger that has not fired. */
static const char *silence_of(const struct report *r, const struct experiment_trigger *of, const struct tally *t)
{
    int64_t taken;
    if (t->nodes == 0 && r->verdict->run == RUN_RUNNING)
        return "has not fired so far";
    if (t->nodes == 0)
        return "unknown: no bezeld has recorded its counts, so firings may be missing";
    if (t->looked == 0 && of->condition == WHEN_VIOLATED)
        return "never fired: its limit was never known";
    if (t->looked == 0 && of->condition != WHEN_SILENT) /* counters tell of a silence as well */
        return report_expired_of(r, of->first.aspect, &taken) + report_expired_of(r, of->then.aspect, &taken) > 0
                   ? "never fired: all that was seen of its aspect had expired (sensing.expire)"
                   : "never fired: no record of its aspect was seen";
    return t->nodes < r->summary->node_count
               ? "never fired, as far as is known: not all nodes have recorded their counts"
               : "never fired";
}

static void trigger_row(struct rows *w, const struct report *r, const void *item)
{
    const struct experiment_trigger *of = item;
    struct tally t = tally_of(r->summary, of - r->experiment->triggers);
    const char *silence = t.fired == 0 ? silence_of(r, of, &t) : NULL;
    rows_text(w, "trigger", "when", of->when);
    rows_count(w, "fired", "fired", t.fired);
    rows_count(w, "suppressed", "suppressed", t.suppressed);
    rows_known_ns(w, "latency", "latency_median_ns", t.fired > 0, t.fired ? latency_at(&t, 0.5) : 0);
    rows_known_ns(w, "99 %", "latency_p99_ns", t.fired > 0, t.fired ? latency_at(&t, 0.99) : 0);
    json_uint(w->json, "looked", t.looked);
    json_text(w->json, "silence", silence);
    rows_text(w, "", NULL, silence ? silence : t.last->done);
    free(t.latencies);
}

/* A trigger that stands for `on-violation` has a row if it has fired: its snapshots are listed elsewhere. */
static void add_triggers(struct rows *w, const struct report *r)
{
    for (uint32_t i = 0; i < r->experiment->trigger_count; i++) {
        const struct experiment_trigger *of = &r->experiment->triggers[i];
        bool shown = !of->is_short;
        for (size_t k = 0; k < r->summary->firing_count && !shown; k++)
            shown = r->summary->firings[k].trigger == i;
        if (shown)
            rows_add(w, trigger_row, of);
    }
}

const struct rows_section report_triggers = {
    .title = "Triggers",
    .key = "triggers",
    .add = add_triggers,
    .text = print_expired,
    .remark = "Latency: from the record, or from when a violation or silence had lasted long enough, until the node's "
              "actions were done: the median, and what 99 % of the firings do not exceed. Where the limit is on an "
              "interval, from the newest record of its value, over collector and manager.",
};

/* ---- Firings, one by one ----------------------------------------------------------------------------------------- */

static void firing_row(struct rows *w, const struct report *r, const void *item)
{
    const struct builtin_trigger *f = item;
    const char *when = report_trigger_text(r, f->trigger), *mark = f->mark && f->mark[0] ? f->mark : NULL;
    const char *process = f->process && f->process[0] ? f->process : NULL;
    bool undone = f->event == TRIGGER_UNDONE;
    json_int(w->json, "time_ns", report_run_time(r, f->node, f->moment));
    json_text(w->json, "node", report_node_name(r, f->node));
    json_text(w->json, "trigger", when);
    json_bool(w->json, "undone", undone);
    json_text(w->json, "process", process);
    json_double(w->json, "value", f->value);
    json_int(w->json, "latency_ns", f->latency);
    json_int(w->json, "suppressed", f->suppressed);
    json_text(w->json, "done", f->done);
    json_text(w->json, "mark", mark);
    rows_says(w, "trigger %s%s%s%s: %s%s%s%s", when, process ? " by " : "", process ? process : "",
              undone ? ", undone" : "", f->done, mark ? " \"" : "", mark ? mark : "", mark ? "\"" : "");
}

const struct rows_section report_firings = {ROWS_LIST(NULL, "firings", firings, firing_count, firing_row)};
