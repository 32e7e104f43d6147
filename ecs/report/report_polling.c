// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "ecs/json.h"
#include "ecs/report.h"
#include "ecs/table.h"

enum { CHANGES_SHOWN = 20 }; /* unless all is asked for */

static const char *word(const char *const *words, int count, int value)
{
    return value >= 0 && value < count ? words[value] : "?";
}

static const char *cause_word(int cause)
{
    static const char *const words[] = {"file", "operator", "operator, kept"};
    return word(words, 3, cause);
}

static const char *mode_word(int mode)
{
    static const char *const words[] = {"polling", "busy-wait"};
    return word(words, 2, mode);
}

static const char *forward_word(int forward)
{
    static const char *const words[] = {"batch", "collect"};
    return word(words, 2, forward);
}

/* ---- How nodes polled -------------------------------------------------------------------------------------------- */

static void pace_rows(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"node",       "time between polls: mean", "worst", "en route: mean", "most",
                                        "window full"};
    struct table *t = table_with_heads("lrrrrr", heads);
    for (size_t i = 0; i < r->summary->node_count; i++) {
        const struct summary_node *n = &r->summary->nodes[i];
        table_cell(t, "%s", n->name);
        table_cell(t, "%s", n->period_mean ? units_duration(n->period_mean).s : "-");
        table_cell(t, "%s", n->period_worst ? units_duration(n->period_worst).s : "-");
        table_cell(t, "%s", figure_share(n->en_route_mean).s);
        table_cell(t, "%s", figure_share(n->en_route_max).s);
        table_cell(t, "%s", figure_signed(n->backpressure).s);
    }
    table_print(t, 2, out);
}

static void change_row(const struct report *r, struct table *t, const struct summary_polling *p)
{
    table_cell(t, "%.3f s", (double)report_run_time(r, p->node, p->at) / (double)CLOCK_S);
    table_cell(t, "%s", report_node_name(r, p->node));
    table_cell(t, "%s", cause_word(p->cause));
    table_cell(t, "%s", mode_word(p->mode));
    table_cell(t, "%s", units_exact_duration(p->period).s);
    table_cell(t, "%s", forward_word(p->forward));
    table_cell(t, "%s", p->batch > 0 ? units_count((uint64_t)p->batch).s : "all");
}

/* What the file says is no change. */
static bool is_change(const struct summary_polling *p)
{
    return p->cause != 0;
}

static void change_rows(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"time", "node", "by", "mode", "period", "forward", "batch"};
    const struct summary *s = r->summary;
    size_t changes = 0, seen = 0;
    for (size_t i = 0; i < s->polling_count; i++)
        changes += is_change(&s->polling[i]);
    if (changes == 0)
        return;
    bool cut = changes > CHANGES_SHOWN && !r->all;
    fprintf(out, "  Changed %s time%s:\n", units_count(changes).s, changes == 1 ? "" : "s");
    struct table *t = table_with_heads("rllllll", heads);
    for (size_t i = 0; i < s->polling_count; i++) {
        if (!is_change(&s->polling[i]))
            continue;
        if (!cut || seen < CHANGES_SHOWN / 2 || seen >= changes - CHANGES_SHOWN / 2)
            change_row(r, t, &s->polling[i]);
        seen++;
    }
    table_print(t, 2, out);
    if (cut)
        fprintf(out, "  (%zu more between them: --all shows them)\n", changes - CHANGES_SHOWN);
}

void report_polling(const struct report *r, FILE *out)
{
    if (r->summary->polling_count == 0)
        return;
    report_title(r, "Polling", out);
    pace_rows(r, out);
    change_rows(r, out);
}

void report_json_polling(const struct report *r, struct json *j)
{
    static const char *const causes[] = {"file", "operator", "kept"};
    json_array(j, "polling");
    for (size_t i = 0; i < r->summary->polling_count; i++) {
        const struct summary_polling *p = &r->summary->polling[i];
        json_object(j, NULL);
        json_int(j, "time_ns", report_run_time(r, p->node, p->at));
        json_text(j, "node", report_node_name(r, p->node));
        json_text(j, "by", word(causes, 3, p->cause));
        json_text(j, "mode", mode_word(p->mode));
        json_int(j, "period_ns", p->period);
        json_text(j, "forward", forward_word(p->forward));
        json_int(j, "batch", p->batch);
        json_object_end(j);
    }
    json_array_end(j);
}

void report_json_pace(struct json *j, const struct summary_node *n)
{
    if (n->period_mean)
        json_int(j, "period_mean_ns", n->period_mean);
    else
        json_text(j, "period_mean_ns", NULL);
    if (n->period_worst)
        json_int(j, "period_worst_ns", n->period_worst);
    else
        json_text(j, "period_worst_ns", NULL);
    json_double(j, "en_route_ratio_mean", n->en_route_mean);
    json_double(j, "en_route_ratio_max", n->en_route_max);
    json_int(j, "backpressure", n->backpressure);
}

/* ---- What expired ------------------------------------------------------------------------------------------------ */

void report_expired(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"process", "aspect", "bound", "taken", "expired", "share"};
    const struct summary *s = r->summary;
    if (s->expired_count == 0)
        return;
    report_title(r, "Expired", out);
    struct table *t = table_with_heads("llrrrr", heads);
    for (size_t i = 0; i < s->expired_count; i++) {
        const struct summary_expired *e = &s->expired[i];
        struct summary_process p = {.node = e->node, .name = e->process};
        char name[REPORT_PROCESS_SIZE];
        report_process_name(r, &p, name, sizeof name);
        table_cell(t, "%s", name);
        table_cell(t, "%s", e->aspect);
        table_cell(t, "%s", units_exact_duration(e->bound).s);
        table_cell(t, "%s", units_count((uint64_t)e->taken).s);
        table_cell(t, "%s", units_count((uint64_t)e->expired).s);
        table_cell(t, "%s", figure_share(e->taken > 0 ? (double)e->expired / (double)e->taken : 0).s);
    }
    table_print(t, 2, out);
    fputs("  Older than their bound when they were taken from their rings: stored, and not used for control.\n", out);
}

void report_json_expired(const struct report *r, struct json *j)
{
    json_array(j, "expired");
    for (size_t i = 0; i < r->summary->expired_count; i++) {
        const struct summary_expired *e = &r->summary->expired[i];
        json_object(j, NULL);
        json_text(j, "node", report_node_name(r, e->node));
        json_text(j, "process", e->process);
        json_uint_text(j, "instance", e->instance);
        json_text(j, "aspect", e->aspect);
        json_int(j, "bound_ns", e->bound);
        json_int(j, "taken", e->taken);
        json_int(j, "expired", e->expired);
        json_object_end(j);
    }
    json_array_end(j);
}
