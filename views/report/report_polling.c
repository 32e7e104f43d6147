// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/json.h"
#include "base/table.h"
#include "mdr/message.h"
#include "views/report/report.h"

static const char *word(const char *const *words, int count, int value)
{
    return value >= 0 && value < count ? words[value] : "?";
}

static const char *const modes[] = {"polling", "busy-wait"}, *const forwards[] = {"batch", "collect"};

/* ---- How nodes polled -------------------------------------------------------------------------------------------- */

void report_polling(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"node",       "time between polls: mean", "worst", "en route: mean", "most",
                                        "window full"};
    if (r->summary->polling_count == 0)
        return;
    report_title(r, "Polling", out);
    struct table *t = table_with_heads("lrrrrr", heads);
    for (size_t i = 0; i < r->summary->node_count; i++) {
        const struct summary_node *n = &r->summary->nodes[i];
        table_cell(t, "%s", n->name);
        table_cell(t, "%s", n->period_mean ? units_duration(n->period_mean).s : "-");
        table_cell(t, "%s", n->period_worst ? units_duration(n->period_worst).s : "-");
        table_cell(t, "%s", number_percent(n->en_route_mean).s);
        table_cell(t, "%s", number_percent(n->en_route_max).s);
        table_cell(t, "%s", number_signed(n->backpressure).s);
    }
    table_print(t, 2, out);
    const struct experiment_sensing *wanted = &r->experiment->sensing;
    if (wanted->period_quiet > wanted->period)
        fprintf(out, "  The file gives no sensing.poll.period: it is %s, and up to %s while little is recorded.\n",
                units_duration(wanted->period).s, units_duration(wanted->period_quiet).s);
}

void report_polling_change(struct table *t, const struct builtin_polling *p)
{
    struct units_text most = {"all"};
    if (p->forward == POLL_FORWARD_COLLECT)
        most = (struct units_text){"one"};
    else if (p->batch > 0)
        most = units_count((uint64_t)p->batch);
    table_cell(t, "%s: %s, period %s, %s%s record%s a poll", p->cause == 2 ? "operator, kept" : "operator",
               word(modes, 2, p->mode), units_brief_duration(p->period).s,
               p->forward != POLL_FORWARD_COLLECT && p->batch > 0 ? "at most " : "", most.s,
               p->forward == POLL_FORWARD_COLLECT || p->batch == 1 ? "" : "s");
}

void report_json_polling(const struct report *r, struct json *j)
{
    static const char *const causes[] = {"file", "operator", "kept"};
    json_array(j, "polling");
    for (size_t i = 0; i < r->summary->polling_count; i++) {
        const struct builtin_polling *p = &r->summary->polling[i];
        json_object(j, NULL);
        json_int(j, "time_ns", report_run_time(r, p->node, p->at));
        json_text(j, "node", report_node_name(r, p->node));
        json_text(j, "by", word(causes, 3, p->cause));
        json_text(j, "mode", word(modes, 2, p->mode));
        json_int(j, "period_ns", p->period);
        json_text(j, "forward", word(forwards, 2, p->forward));
        json_int(j, "batch", p->batch);
        json_object_end(j);
    }
    json_array_end(j);
}

void report_json_poll_stats(struct json *j, const struct summary_node *n)
{
    json_known_int(j, "period_mean_ns", n->period_mean != 0, n->period_mean);
    json_known_int(j, "period_worst_ns", n->period_worst != 0, n->period_worst);
    json_double(j, "en_route_ratio_mean", n->en_route_mean);
    json_double(j, "en_route_ratio_max", n->en_route_max);
    json_int(j, "backpressure", n->backpressure);
}

/* ---- Expired records --------------------------------------------------------------------------------------------- */

void report_expired(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"process", "aspect", "bound", "taken", "expired", "share"};
    const struct summary *s = r->summary;
    if (s->expired_count == 0)
        return;
    report_title(r, "Expired", out);
    struct table *t = table_with_heads("llrrrr", heads);
    for (size_t i = 0; i < s->expired_count; i++) {
        const struct builtin_expired *e = &s->expired[i];
        struct summary_process p = {.node = e->node, .name = e->process};
        char name[REPORT_PROCESS_SIZE];
        report_process_name(r, &p, name, sizeof name);
        table_cell(t, "%s", name);
        table_cell(t, "%s", e->aspect);
        table_cell(t, "%s", units_brief_duration(e->bound).s);
        table_cell(t, "%s", units_count((uint64_t)e->taken).s);
        table_cell(t, "%s", units_count((uint64_t)e->expired).s);
        table_cell(t, "%s", number_percent(e->taken > 0 ? (double)e->expired / (double)e->taken : 0).s);
    }
    table_print(t, 2, out);
    fputs(
        "  Expired records were older than their bound when taken from their rings. They are stored, but not used for "
        "control.\n",
        out);
}

void report_json_expired(const struct report *r, struct json *j)
{
    json_array(j, "expired");
    for (size_t i = 0; i < r->summary->expired_count; i++) {
        const struct builtin_expired *e = &r->summary->expired[i];
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
