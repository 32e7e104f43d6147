// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* How each node polled, what that cost, and its clocks: a table for each of these, and one object in the JSON. */
#include "run/rundb/rundb.h"
#include "views/report/report.h"

#include <math.h>

static const char *const clock_kinds[] = {"same", "exchanges", "wall"};

static void polling_row(struct rows *w, const struct report *r, const void *item)
{
    const struct summary_node *n = item;
    (void)r;
    rows_text(w, "node", NULL, n->name);
    rows_known_ns(w, "time between polls: mean", "period_mean_ns", n->period_mean != 0, n->period_mean);
    rows_known_ns(w, "worst", "period_worst_ns", n->period_worst != 0, n->period_worst);
    rows_share(w, "en route: mean", "en_route_ratio_mean", n->en_route_mean);
    rows_share(w, "most", "en_route_ratio_max", n->en_route_max);
    rows_int(w, "window full", "backpressure", n->backpressure);
}

static void cost_row(struct rows *w, const struct report *r, const void *item)
{
    static const char *const ways[] = {"unknown", "by the link", "directly", "both ways"};
    static const char *const keys[] = {NULL, "link", "direct", "both"};
    const struct summary_node *n = item;
    (void)r;
    rows_text(w, "node", NULL, n->name);
    rows_cell(w, "sensor_cpu mean", 'r', "%s", number_percent(n->sensor_cpu_mean / 100).s);
    rows_cell(w, "max", 'r', "%s", number_percent(n->sensor_cpu_max / 100).s);
    json_double(w->json, "sensor_cpu_mean", n->sensor_cpu_mean);
    json_double(w->json, "sensor_cpu_max", n->sensor_cpu_max);
    json_int(w->json, "cpu_ns", n->cpu_ns);
    rows_int(w, "wake-ups", "wakeups", n->wakeups);
    rows_int(w, "records", "records", n->records);
    rows_bytes(w, "bytes", "bytes", (uint64_t)n->bytes);
    rows_text(w, "packets came", NULL, ways[n->ways & 3]);
    json_text(w->json, "packets_came", n->ways & 3 ? keys[n->ways & 3] : NULL);
}

/* "counter (3), kernel (1)": the clocks that stamped the records, each with its number of processes. */
static void clock_row(struct rows *w, const struct report *r, const void *item)
{
    const struct builtin_clocks *c = &((const struct summary_node *)item)->clock;
    static const char *const names[] = {"counter", "kernel", "program's own"},
                             *keys[] = {"counter", "kernel", "program"};
    const int64_t counts[] = {c->counter, c->kernel, c->program};
    char text[160] = "";
    size_t n = 0;
    (void)r;
    rows_text(w, "node", NULL, ((const struct summary_node *)item)->name);
    json_object(w->json, "clocks");
    for (size_t i = 0; i < 3; i++) {
        json_int(w->json, keys[i], counts[i]);
        if (counts[i])
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s (%s)", n ? ", " : "", names[i],
                                  number_signed(counts[i]).s);
    }
    json_object_end(w->json);
    rows_text(w, "clock (processes)", NULL, n ? text : "unknown");
    rows_cell(w, "error up to", 'r', "%s", n ? units_duration(c->error).s : "unknown");
    json_int(w->json, "clock_error_ns", c->error);
    rows_int(w, "jumps", "clock_jumps", c->jumps);
    rows_int(w, "times made to fit", "clamped", c->clamped);
}

/* How well the node's times compare with others'. */
static void run_clock_row(struct rows *w, const struct report *r, const void *item)
{
    static const char *const words[] = {"the same clock", "exchanges", "wall clock"};
    const struct run_clock *c = &((const struct summary_node *)item)->run_clock;
    int64_t worst = run_clock_worst(c);
    double drift = 1e6 * run_clock_drift(c);
    char ppm[32];
    (void)r;
    snprintf(ppm, sizeof ppm, "%.2f ppm", drift);
    rows_text(w, "node", NULL, ((const struct summary_node *)item)->name);
    if (c->exchanges)
        rows_cell(w, "compared by", 'l', "%s%s (%s)", words[c->kind], c->relation.kept ? " and kept clocks" : "",
                  units_count(c->exchanges).s);
    else
        rows_text(w, "compared by", NULL, words[c->kind]);
    rows_cell(w, "error up to", 'r', "%s", worst < 0 ? "unknown" : units_duration(worst).s);
    rows_cell(w, "drift", 'r', "%s", isnan(drift) ? "unknown" : ppm);
    rows_cell(w, "round trip", 'r', "%s", c->exchanges ? units_duration(c->round_trip).s : "");
    rows_cell(w, "jumps", 'r', "%s", c->exchanges ? units_count(c->relation.jumps).s : "");
    json_object(w->json, "run_clock");
    json_text(w->json, "by", clock_kinds[c->kind]);
    json_known_int(w->json, "error_ns", worst >= 0, worst);
    json_double(w->json, "drift_ppm", drift);
    json_uint(w->json, "exchanges", c->exchanges);
    json_int(w->json, "round_trip_ns", c->round_trip);
    json_uint(w->json, "jumps", c->relation.jumps);
    json_uint(w->json, "kept", c->relation.kept);
    json_uint(w->json, "contradicted", c->relation.contradicted);
    json_object_end(w->json);
}

static void node_row(struct rows *w, const struct report *r, const void *item)
{
    const struct summary_node *n = item;
    size_t i = (size_t)(n - r->summary->nodes);
    json_text(w->json, "node", n->name);
    json_bool(w->json, "vanished",
              n->open && r->verdict->run != RUN_RUNNING && !verdict_gave_up(r->summary, (uint32_t)i));
    int64_t unheard = verdict_unheard(r->verdict, r->summary, r->experiment, n);
    json_known_int(w->json, "unheard_ns", unheard > 0, unheard);
    json_uint(w->json, "unobserved", n->unobserved);
    cost_row(w, r, item);
    polling_row(w, r, item);
    clock_row(w, r, item);
    run_clock_row(w, r, item);
}

const struct rows_section report_nodes = {ROWS_LIST(NULL, "nodes", nodes, node_count, node_row)};

/* ---- Polling ----------------------------------------------------------------------------------------------------- */

static int polling_rank(const struct report *r, const void *item)
{
    (void)item;
    return r->summary->polling_count > 0 ? 0 : -1;
}

static void print_default_period(const struct report *r, FILE *out)
{
    const struct experiment_sensing *wanted = &r->experiment->sensing;
    if (r->summary->polling_count > 0 && wanted->period_quiet > wanted->period)
        fprintf(out, "  The file gives no sensing.poll.period: it is %s, and up to %s while little is recorded.\n",
                units_duration(wanted->period).s, units_duration(wanted->period_quiet).s);
}

const struct rows_section report_polling = {ROWS_LIST("Polling", NULL, nodes, node_count, polling_row),
                                            .rank = polling_rank, .text = print_default_period};

/* ---- Monitor ----------------------------------------------------------------------------------------------------- */

void report_json_latency(const struct summary_latency *l, struct json *j)
{
    json_object(j, "latency");
    json_uint(j, "records", l->count);
    json_int(j, "median_ns", l->median);
    json_int(j, "p99_ns", l->p99);
    json_int(j, "max_ns", l->max);
    json_int(j, "error_ns", l->bound);
    json_object_end(j);
}

static void print_latency(const struct report *r, FILE *out)
{
    const struct summary_latency *l = &r->summary->latency;
    if (l->count > 0)
        fprintf(out, "  Monitoring latency: median %s, p99 %s, max %s%s%s.\n", units_duration(l->median).s,
                units_duration(l->p99).s, units_duration(l->max).s, l->bound ? ", each wrong by at most " : "",
                l->bound ? units_duration(l->bound).s : "");
    else if (r->summary->node_count > 0)
        fputs("  Monitoring latency: unknown, because no record arrived.\n", out);
}

static void put_latency(const struct report *r, struct json *j)
{
    report_json_latency(&r->summary->latency, j);
}

const struct rows_section report_monitor = {ROWS_LIST("Monitor", NULL, nodes, node_count, cost_row),
                                            .text = print_latency, .json = put_latency};

/* ---- Clocks ------------------------------------------------------------------------------------------------------ */

const struct rows_section report_clocks = {ROWS_LIST("Clocks", NULL, nodes, node_count, clock_row)};

/* In the full text, if nodes have different clocks. */
static int run_clock_rank(const struct report *r, const void *item)
{
    const struct summary *s = r->summary;
    size_t others = 0;
    (void)item;
    for (size_t i = 0; i < s->node_count; i++)
        others += s->nodes[i].run_clock.kind != RUN_CLOCK_SAME;
    return r->all && others > 0 && summary_property(s, RUNDB_CLOCK) ? 0 : -1;
}

/* Wall clocks that the file declares to be kept. */
static void print_contradictions(const struct report *r, FILE *out)
{
    for (size_t i = 0; i < r->summary->node_count; i++) {
        const struct summary_node *n = &r->summary->nodes[i];
        const struct clock_relation *c = &n->run_clock.relation;
        if (c->contradicted)
            fprintf(out,
                    "  %s: %s exchange%s of times contradicted its wall clock and the collector's, which the file says "
                    "are kept; %s agreed with them.\n",
                    n->name, units_count(c->contradicted).s, c->contradicted == 1 ? "" : "s",
                    c->kept ? units_count(c->kept).s : "none");
    }
}

const struct rows_section report_run_clocks = {ROWS_LIST("Clocks compared", NULL, nodes, node_count, run_clock_row),
                                               .rank = run_clock_rank, .text = print_contradictions};
