// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "ecs/report.h"
#include "ecs/table.h"

#include <inttypes.h>

/* What the text leaves out of the middle unless all is asked for. */
enum { DECISIONS_SHOWN = 20 };

/* ---- verdict and limits ---- */

static void print_sentence(const struct report *r, FILE *out)
{
    static const char *const colors[] = {"\033[1;32m", "\033[1;33m", "\033[1;31m", "\033[1;31m"};
    if (r->color)
        fputs(colors[r->verdict->whole], out);
    report_sentence(r, out);
    fputs(r->color ? "\033[0m\n" : "\n", out);
}

/* "of the limit on one node": a row of the table of limits. `text` is empty behind the row of the whole limit. */
static void limit_row(const struct report *r, struct table *t, const char *text, size_t row)
{
    const struct summary_limit *l = &r->summary->limits[row];
    const struct verdict_limit *v = &r->verdict->rows[row];
    table_cell(t, "%s", verdict_name(v->is));
    table_cell(t, "%s", text);
    if (l->epoch > 1)
        table_cell(t, "all, manager %" PRId64, l->epoch);
    else
        table_cell(t, "%s", l->epoch ? "all" : report_node_name(r, l->node));
    table_cell(t, "%s", report_limit_value(r, l->index, l->value).s);
    table_cell(t, "%s", report_limit_value(r, l->index, l->worst).s);
    table_cell(t, "%s", figure_share(v->share).s);
    table_cell(t, "%s", units_duration(l->held).s);
    table_cell(t, "%s", units_duration(l->violated).s);
    table_cell(t, "%s", units_duration(l->unknown).s);
    table_cell(t, "%s", units_duration(l->settling).s);
}

static void empty_cells(struct table *t, int count)
{
    for (int i = 0; i < count; i++)
        table_cell(t, "%s", "");
}

static void limit_rows(const struct report *r, struct table *t, size_t limit)
{
    const struct summary *s = r->summary;
    const struct verdict_limit *whole = &r->verdict->limits[limit];
    const char *text = r->experiment->limits[limit].text;
    size_t nodes = 0;
    for (size_t i = 0; i < s->limit_count; i++)
        nodes += s->limits[i].index == limit;
    if (nodes != 1) {
        table_cell(t, "%s", verdict_name(whole->is));
        table_cell(t, "%s", text);
        table_cell(t, "%s", nodes ? "all" : "none");
        empty_cells(t, 2);
        table_cell(t, "%s", figure_share(whole->share).s);
        empty_cells(t, 4);
    }
    for (size_t i = 0; i < s->limit_count; i++)
        if (s->limits[i].index == limit)
            limit_row(r, t, nodes == 1 ? text : "", i);
}

static void print_limits(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"verdict",      "limit", "node",     "last",    "worst",
                                        "in violation", "held",  "violated", "unknown", "settling"};
    if (r->verdict->limit_count == 0)
        return;
    report_title(r, "Limits", out);
    struct table *t = table_with_heads("lllrrrrrrr", heads);
    for (size_t i = 0; i < r->verdict->limit_count; i++)
        limit_rows(r, t, i);
    table_print(t, 2, out);
}

/* ---- decisions ---- */

static struct units_text figure_period(int64_t ns)
{
    return ns == 0 ? (struct units_text){"off"} : units_exact_duration(ns);
}

static void decision_row(const struct report *r, struct table *t, const struct summary_decision *d)
{
    table_cell(t, "%.3f s", (double)report_run_time(r, d->node, d->at) / (double)CLOCK_S);
    table_cell(t, "%s", report_node_name(r, d->node));
    table_cell(t, "%s", report_action_name(d->action));
    table_cell(t, "%s -> %s", figure_period(d->before).s, figure_period(d->after).s);
    if (d->cause >= 0)
        table_cell(t, "(%s)", report_limit_text(r, d->cause));
    else
        table_cell(t, "%s", "(no limit broken)");
    if (experiment_is_managed(r->experiment))
        table_cell(t, "by the %s", report_decider_name(d->by));
}

static void print_decisions(const struct report *r, FILE *out)
{
    size_t count = r->summary->decision_count;
    if (count == 0 && r->experiment->adapt.policy == POLICY_NONE)
        return;
    char head[96];
    snprintf(head, sizeof head, "Decisions of policy %s: %s", report_policy_name((int)r->experiment->adapt.policy),
             count ? units_count(count).s : "none");
    report_title(r, head, out);
    bool cut = count > DECISIONS_SHOWN && !r->all;
    struct table *t = table_new(experiment_is_managed(r->experiment) ? "rlllll" : "rllll");
    for (size_t i = 0; i < count; i++) {
        if (cut && i == DECISIONS_SHOWN / 2) {
            size_t left_out = count - DECISIONS_SHOWN;
            table_cell(t, "%s", "...");
            table_cell(t, "%s", "");
            table_cell(t, "%s", "");
            table_cell(t, "%zu more", left_out);
            table_cell(t, "%s", "(--all shows them)");
            if (experiment_is_managed(r->experiment))
                table_cell(t, "%s", "");
            i += left_out;
        }
        decision_row(r, t, &r->summary->decisions[i]);
    }
    table_print(t, 2, out);
}

/* ---- rates and metrics ---- */

static void rate_rows(const struct report *r, struct table *t, const struct summary_process *p)
{
    char name[REPORT_PROCESS_SIZE];
    report_process_pid(r, p, name, sizeof name);
    for (size_t i = 0; i < p->book_count; i++) {
        const struct summary_book *b = &p->books[i];
        if (b->stored == 0)
            continue;
        table_cell(t, "%s", name);
        table_cell(t, "%s", b->name);
        table_cell(t, "%s", figure_number(verdict_rate(b)).s);
        table_cell(t, "%s", units_duration(b->last_ns - b->first_ns).s);
    }
}

static void print_rates(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"process (pid)", "aspect", "records/s", "over"};
    const struct summary *s = r->summary;
    if (r->verdict->sut.stored == 0 || !report_opens_processes(r))
        return;
    report_title(r, "Rates", out);
    struct table *t = table_with_heads("llrr", heads);
    for (size_t i = 0; i < s->process_count; i++)
        if (report_shows(r, &s->processes[i]))
            rate_rows(r, t, &s->processes[i]);
    table_print(t, 2, out);
}

static void print_metrics(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"metric", "node", "process", "mean", "min", "max", "last", "values"};
    const struct summary *s = r->summary;
    if (s->metric_count == 0)
        return;
    report_title(r, "Metrics", out);
    struct table *t = table_with_heads("lllrrrrr", heads);
    for (size_t i = 0; i < s->metric_count; i++) {
        const struct summary_metric *m = &s->metrics[i];
        table_cell(t, "%s", m->metric);
        table_cell(t, "%s", report_node_name(r, m->node));
        table_cell(t, "%s", m->process);
        table_cell(t, "%s", figure_number(m->mean).s);
        table_cell(t, "%s", figure_number(m->min).s);
        table_cell(t, "%s", figure_number(m->max).s);
        table_cell(t, "%s", figure_number(m->last).s);
        table_cell(t, "%s", units_count(m->count).s);
    }
    table_print(t, 2, out);
}

/* ---- the monitor itself ---- */

static void print_monitor(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"node", "sensor_cpu mean", "max", "wake-ups", "records", "bytes"};
    const struct summary *s = r->summary;
    if (s->node_count == 0)
        return;
    report_title(r, "Monitor", out);
    if (s->latency.count > 0)
        fprintf(out, "  Monitoring latency: median %s, p99 %s, max %s.\n", units_duration(s->latency.median).s,
                units_duration(s->latency.p99).s, units_duration(s->latency.max).s);
    else
        fputs("  Monitoring latency: unknown, no record arrived.\n", out);
    struct table *t = table_with_heads("lrrrrr", heads);
    for (size_t i = 0; i < s->node_count; i++) {
        const struct summary_node *n = &s->nodes[i];
        table_cell(t, "%s", n->name);
        table_cell(t, "%s", figure_share(n->sensor_cpu_mean / 100).s);
        table_cell(t, "%s", figure_share(n->sensor_cpu_max / 100).s);
        table_cell(t, "%s", figure_signed(n->wakeups).s);
        table_cell(t, "%s", figure_signed(n->records).s);
        table_cell(t, "%s", units_bytes((uint64_t)n->bytes).s);
    }
    table_print(t, 2, out);
}

/* "counter (3), kernel (1)": what stamped the records of how many processes. */
static void clock_cell(struct table *t, const struct summary_clock *c)
{
    const int64_t counts[] = {c->counter, c->kernel, c->program};
    static const char *const names[] = {"counter", "kernel", "program's own"};
    char text[160] = "";
    size_t n = 0;
    for (size_t i = 0; i < 3; i++)
        if (counts[i])
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s (%s)", n ? ", " : "", names[i],
                                  figure_signed(counts[i]).s);
    table_cell(t, "%s", n ? text : "unknown");
}

static void print_clocks(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"node", "clock (processes)", "error up to", "jumps", "times made to fit"};
    const struct summary *s = r->summary;
    if (s->node_count == 0)
        return;
    report_title(r, "Clocks", out);
    struct table *t = table_with_heads("llrrr", heads);
    for (size_t i = 0; i < s->node_count; i++) {
        const struct summary_clock *c = &s->nodes[i].clock;
        table_cell(t, "%s", s->nodes[i].name);
        clock_cell(t, c);
        table_cell(t, "%s", units_duration(c->error_ns).s);
        table_cell(t, "%s", figure_signed(c->jumps).s);
        table_cell(t, "%s", figure_signed(c->clamped).s);
    }
    table_print(t, 2, out);
}

static void print_events(const struct report *r, FILE *out)
{
    const struct summary *s = r->summary;
    if (s->event_count == 0)
        return;
    report_title(r, "Events", out);
    struct table *t = table_new("rll");
    for (size_t i = 0; i < s->event_count; i++) {
        table_cell(t, "%.3f s", (double)(s->events[i].at - r->verdict->started) / (double)CLOCK_S);
        table_cell(t, "%s", s->events[i].error ? "error" : "");
        table_cell(t, "%s", s->events[i].text);
    }
    table_print(t, 2, out);
}

static void print_next(const struct report *r, FILE *out)
{
    fprintf(out, "\nRun directory: %s\n", r->run);
    if (r->verdict->sut.stored == 0 && r->verdict->daemons.stored == 0)
        return;
    if (r->verdict->run == RUN_ENDED)
        fprintf(out, "Every record:  babeltrace2 %s/trace\n", r->run);
    else
        fprintf(out, "Every record so far:  bezel export %s | xargs babeltrace2\n", r->run);
}

void report_text(const struct report *r, FILE *out)
{
    print_sentence(r, out);
    print_limits(r, out);
    report_story(r, out);
    print_decisions(r, out);
    report_polling(r, out);
    report_findings(r, out);
    report_obeyed(r, out);
    report_knobs(r, out);
    report_snapshots(r, out);
    report_books(r, out);
    report_expired(r, out);
    print_rates(r, out);
    report_kinds(r, out);
    print_metrics(r, out);
    print_monitor(r, out);
    print_clocks(r, out);
    report_notes(r, out);
    print_events(r, out);
    print_next(r, out);
}
