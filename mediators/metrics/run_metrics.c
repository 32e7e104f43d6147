// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mediators/metrics/run_metrics.h"

#include "base/saturate.h"
#include "mdr/manage.h"
#include "run/read/run_reader.h"
#include "views/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Instances of one process name on a node are one group: their books and latencies are added, so that a program that
 * starts again and again does not make series without end.
 */
struct run_metrics_group {
    uint32_t node;
    enum message_role role;
    const char *name;
    struct verdict_books books;
    uint64_t steps[LATENCY_STEPS + 1];
};

#define SECONDS(ns) ((double)(ns) / 1e9)

/* ---- reading a run ----------------------------------------------------------------------------------------------- */

static int compare_nodes(const void *a, const void *b, void *nodes)
{
    const struct summary_node *all = nodes;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = strcmp(all[x].name, all[y].name);
    return order ? order : (x > y) - (x < y);
}

/* A machine that was booted anew is a new node with its old name. */
static int find_newest(struct run_metrics *r)
{
    struct summary_node *nodes = r->summary->nodes;
    size_t count = r->summary->node_count;
    uint32_t *order = calloc(count + 1, sizeof *order);
    r->newest = calloc(count + 1, sizeof *r->newest);
    for (uint32_t i = 0; order && i < count; i++)
        order[i] = i;
    if (order)
        qsort_r(order, count, sizeof *order, compare_nodes, nodes);
    for (size_t i = count; order && r->newest && i-- > 0;) { /* of one name the last comes last */
        bool older = i + 1 < count && strcmp(nodes[order[i]].name, nodes[order[i + 1]].name) == 0;
        r->newest[order[i]] = older ? r->newest[order[i + 1]] : order[i];
    }
    free(order);
    return order && r->newest ? 0 : BEZEL_ENOMEM;
}

/* The number of a node, the same for all of one name; node_count: there is none. */
static uint32_t node_of(const struct run_metrics *r, uint32_t node)
{
    return node < r->summary->node_count ? r->newest[node] : (uint32_t)r->summary->node_count;
}

static int compare_processes(const void *a, const void *b, void *run)
{
    const struct run_metrics *r = run;
    const struct summary *s = r->summary;
    const struct summary_process *p = &s->processes[*(const size_t *)a], *q = &s->processes[*(const size_t *)b];
    if (node_of(r, p->node) != node_of(r, q->node))
        return node_of(r, p->node) < node_of(r, q->node) ? -1 : 1;
    if (p->role != q->role)
        return p->role < q->role ? -1 : 1;
    return strcmp(p->name, q->name);
}

static void add_to_group(struct run_metrics *r, size_t process)
{
    const struct summary_process *p = &r->summary->processes[process];
    struct run_metrics_group *g = r->group_count ? &r->groups[r->group_count - 1] : NULL;
    uint32_t node = node_of(r, p->node);
    if (!g || g->node != node || g->role != p->role || strcmp(g->name, p->name) != 0) {
        g = &r->groups[r->group_count++];
        *g = (struct run_metrics_group){.node = node, .role = p->role, .name = p->name};
    }
    verdict_add_books(&g->books, &r->verdict->books[process]);
    for (size_t i = 0; i <= LATENCY_STEPS; i++)
        g->steps[i] += p->latency.steps[i];
}

static int group(struct run_metrics *r)
{
    size_t n = r->summary->process_count, *order = calloc(n + 1, sizeof *order);
    r->groups = calloc(n + 1, sizeof *r->groups);
    if (!order || !r->groups) {
        free(order);
        return BEZEL_ENOMEM;
    }
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof *order, compare_processes, r);
    for (size_t i = 0; i < n; i++)
        add_to_group(r, order[i]);
    free(order);
    return 0;
}

/*
 * Finds the rows that tell of a limit last. A node has a row for each life of its bezeld, all nodes one for each
 * manager: the latest one's is the last. The rows of a limit on a node follow one another.
 */
static int find_latest(struct run_metrics *r)
{
    const struct summary *s = r->summary;
    uint32_t count = r->experiment->limit_count;
    uint64_t *seen = calloc(count + 1, sizeof *seen); /* by limit: the node of the row behind, plus 1 */
    r->latest = calloc(s->limit_count + 1, sizeof *r->latest);
    int err = seen && r->latest ? 0 : BEZEL_ENOMEM;
    for (size_t i = err ? 0 : s->limit_count; i-- > 0;) {
        const struct builtin_limit *l = &s->limits[i];
        uint64_t of = l->epoch ? UINT64_MAX : (uint64_t)l->node + 1;
        if (l->limit < 0 || l->limit >= count || seen[l->limit] == of)
            continue;
        seen[l->limit] = of;
        r->latest[i] = l->epoch || node_of(r, l->node) == l->node;
    }
    free(seen);
    return err;
}

int run_metrics_load(struct run_metrics *r)
{
    struct interval_table intervals;
    r->running = run_reader_goes_on(r->path);
    r->now = clock_now() + clock_realtime_offset();
    int err = report_load_experiment(r->path, &r->experiment);
    if (err)
        r->experiment = NULL;
    if (!err && (err = report_load_summary(r->path, r->running, &r->summary)) != 0)
        r->summary = NULL;
    if (!err &&
        (err = report_judge(r->path, r->running, r->summary, r->experiment, REPORT_DATA, &intervals, &r->verdict)) != 0)
        r->verdict = NULL;
    if (!err)
        interval_table_free(&intervals);
    if (!err)
        err = find_newest(r);
    if (!err)
        err = find_latest(r);
    if (!err)
        err = group(r);
    if (err) {
        run_metrics_free(r);
        return err;
    }
    r->running = r->verdict->run == RUN_RUNNING;
    return 0;
}

void run_metrics_free(struct run_metrics *r)
{
    free(r->newest);
    free(r->latest);
    free(r->groups);
    if (r->verdict)
        verdict_free(r->verdict);
    if (r->summary)
        summary_free(r->summary);
    if (r->experiment)
        experiment_free(r->experiment);
    r->newest = NULL;
    r->latest = NULL;
    r->groups = NULL;
    r->verdict = NULL;
    r->summary = NULL;
    r->experiment = NULL;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

#define LABELS(...) ((const struct exposition_label[]){__VA_ARGS__, {0}})

static const char *const run_states[] = {"ended", "running", "aborted", NULL};
static const char *const verdicts[] = {"held", "unknown", "violated", "infeasible", NULL};
static const char *const states[] = {"held", "unknown", "violated", NULL}; /* of verdict_now() */

static const char *node_name(const struct run_metrics *r, uint32_t node)
{
    return node < r->summary->node_count ? r->summary->nodes[node].name : "?";
}

static void add_run(struct exposition *x, const struct run_metrics *r)
{
    const char *name = summary_property(r->summary, "name");
    exposition_number(
        x, LABELS({"experiment", name ? name : r->experiment->name}, {"id", summary_property(r->summary, "run")}), 1);
}

static void add_state(struct exposition *x, const struct run_metrics *r)
{
    exposition_states(x, NULL, run_states, (size_t)r->verdict->run);
}

/* A run without limits has no verdict on them. */
static void add_verdict(struct exposition *x, const struct run_metrics *r)
{
    if (r->verdict->limit_count > 0)
        exposition_states(x, NULL, verdicts, (size_t)r->verdict->is);
}

static void add_complete(struct exposition *x, const struct run_metrics *r)
{
    static const char *const names[] = {"balanced", "unknown", "unbalanced", NULL};
    const struct verdict *v = r->verdict;
    bool known = v->run == RUN_ENDED && !v->partial &&
                 !verdict_lacks(v, 1U << LACK_BEHIND | 1U << LACK_MISSING | 1U << LACK_CHANGED);
    bool never = v->run == RUN_RUNNING && verdict_lacks(v, ~VERDICT_NOT_OF_BOOKS); /* will they balance */
    exposition_states(x, NULL, names, never ? 2 : !known ? 1 : v->balanced ? 0 : 2);
}

static void add_unobserved(struct exposition *x, const struct run_metrics *r)
{
    exposition_count(x, NULL, r->verdict->lacks[LACK_UNOBSERVED]);
}

static void add_started(struct exposition *x, const struct run_metrics *r)
{
    if (!summary_is_unstarted(r->summary))
        exposition_number(x, NULL, SECONDS(r->verdict->started));
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

enum { LIMIT_MAX = EXPOSITION_LABEL_MAX };

/* The text of limit `i`; where an earlier one has the same, with its number among these. Returns `text`. */
static const char *limit_text(const struct run_metrics *r, int64_t i, char text[LIMIT_MAX])
{
    const struct experiment *e = r->experiment;
    unsigned same = 1;
    if (i < 0 || i >= e->limit_count)
        return "?";
    for (int64_t k = 0; k < i; k++)
        same += strcmp(e->limits[k].text, e->limits[i].text) == 0;
    if (same == 1)
        return e->limits[i].text;
    snprintf(text, LIMIT_MAX, "%s (%u)", e->limits[i].text, same);
    return text;
}

static void add_limits(struct exposition *x, const struct run_metrics *r)
{
    char text[LIMIT_MAX];
    for (size_t i = 0; i < r->verdict->limit_count; i++)
        exposition_states(x, LABELS({"limit", limit_text(r, (int64_t)i, text)}), verdicts,
                          (size_t)r->verdict->limits[i].is);
}

/* Whether row `l` tells of a limit as it is now, or was at the end. */
static bool is_known(const struct run_metrics *r, const struct builtin_limit *l)
{
    const struct summary *s = r->summary;
    bool is_heard = s->nodes[l->node].open && verdict_row_unheard(r->verdict, s, r->experiment, l) == 0;
    return !r->running || is_heard;
}

typedef void add_row(struct exposition *x, const struct run_metrics *r, const struct builtin_limit *l,
                     const struct exposition_label *labels);

static void add_rows(struct exposition *x, const struct run_metrics *r, add_row *add)
{
    char text[LIMIT_MAX];
    for (size_t i = 0; i < r->summary->limit_count; i++) {
        const struct builtin_limit *l = &r->summary->limits[i];
        const char *node = l->epoch ? NULL : node_name(r, l->node); /* without the label: over all nodes */
        if (r->latest[i])
            add(x, r, l, LABELS({"limit", limit_text(r, l->limit, text)}, {"node", node}));
    }
}

static void add_limit_state(struct exposition *x, const struct run_metrics *r, const struct builtin_limit *l,
                            const struct exposition_label *labels)
{
    const struct verdict_limit *v = &r->verdict->rows[l - r->summary->limits];
    bool has_left = r->running && !r->summary->nodes[l->node].open;
    exposition_states(x, labels, states, verdict_now(v, has_left ? MESSAGE_LIMIT_UNKNOWN : l->state));
}

static void add_limit_value(struct exposition *x, const struct run_metrics *r, const struct builtin_limit *l,
                            const struct exposition_label *labels)
{
    exposition_number(x, labels, is_known(r, l) ? l->value : (double)NAN);
}

static void add_limit_violated(struct exposition *x, const struct run_metrics *r, const struct builtin_limit *l,
                               const struct exposition_label *labels)
{
    (void)r;
    exposition_number(x, labels, SECONDS(l->violated));
}

static void add_bounds(struct exposition *x, const struct run_metrics *r)
{
    char text[LIMIT_MAX];
    for (uint32_t i = 0; i < r->experiment->limit_count; i++) {
        const struct experiment_limit *l = &r->experiment->limits[i];
        const char *metric = l->metric == LIMIT_ON_SENSOR_CPU ? "sensor_cpu" : r->experiment->metrics[l->metric].name;
        exposition_number(x,
                          LABELS({"limit", limit_text(r, i, text)}, {"metric", metric},
                                 {"compare", l->compare == COMPARE_AT_LEAST ? ">=" : "<="}),
                          l->bound);
    }
}

/* ---- books ------------------------------------------------------------------------------------------------------- */

enum { LABELS_OF_GROUP = 4 };

static void label_group(const struct run_metrics *r, const struct run_metrics_group *g, const char *cause,
                        struct exposition_label labels[LABELS_OF_GROUP + 1])
{
    const struct exposition_label all[LABELS_OF_GROUP + 1] = {{"node", node_name(r, g->node)},
                                                              {"process", g->name},
                                                              {"role", g->role == ROLE_SUT ? "program" : "monitor"},
                                                              {"cause", cause}};
    memcpy(labels, all, sizeof all);
}

static void add_count(struct exposition *x, const struct run_metrics *r, size_t at)
{
    struct exposition_label labels[LABELS_OF_GROUP + 1];
    for (size_t i = 0; i < r->group_count; i++) {
        label_group(r, &r->groups[i], NULL, labels);
        exposition_count(x, labels, verdict_count(&r->groups[i].books, at));
    }
}

static void add_lost(struct exposition *x, const struct run_metrics *r)
{
    struct exposition_label labels[LABELS_OF_GROUP + 1];
    for (size_t i = 0; i < r->group_count; i++)
        for (size_t k = 0; k < VERDICT_LOSSES; k++) {
            label_group(r, &r->groups[i], verdict_losses[k].name, labels);
            exposition_count(x, labels, verdict_count(&r->groups[i].books, verdict_losses[k].at));
        }
}

static void add_rest(struct exposition *x, const struct run_metrics *r)
{
    struct exposition_label labels[LABELS_OF_GROUP + 1];
    for (size_t i = 0; i < r->group_count; i++) {
        label_group(r, &r->groups[i], NULL, labels);
        exposition_number(x, labels, (double)r->groups[i].books.rest);
    }
}

static void add_latencies(struct exposition *x, const struct run_metrics *r)
{
    struct exposition_label labels[LABELS_OF_GROUP + 1];
    double edges[LATENCY_STEPS];
    for (int i = 0; i < LATENCY_STEPS; i++) /* a step has the latencies below its end, in whole ns */
        edges[i] = SECONDS(ldexp(1, LATENCY_STEP_FIRST + LATENCY_STEP_BITS * i) - 1);
    for (size_t i = 0; i < r->group_count; i++) {
        label_group(r, &r->groups[i], NULL, labels);
        if (r->groups[i].role == ROLE_SUT)
            exposition_histogram(x, labels, edges, r->groups[i].steps, LATENCY_STEPS, (double)NAN);
    }
}

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

/* Whether series `name` is a bucket of a histogram, which has a family of its own. */
static bool is_bucket(const struct experiment *e, const char *name)
{
    char bucket[EXPERIMENT_BUCKET_NAME_SIZE];
    for (uint32_t i = 0; i < e->metric_count; i++)
        for (uint32_t b = 0; e->metrics[i].kind == METRIC_HISTOGRAM && b <= e->metrics[i].edges.count; b++) {
            experiment_bucket_name(&e->metrics[i], b, bucket, sizeof bucket);
            if (strcmp(bucket, name) == 0)
                return true;
        }
    return false;
}

static bool is_fresh(const struct run_metrics *r, const struct history_series *m)
{
    const struct summary *s = r->summary;
    return !r->running ||
           (m->node < s->node_count && saturate_sub(r->now, saturate_add(m->known_at, s->nodes[m->node].ahead)) <=
                                           verdict_unheard_after(r->experiment));
}

static void add_metrics(struct exposition *x, const struct run_metrics *r)
{
    const struct report of = {.summary = r->summary, .experiment = r->experiment};
    for (size_t i = 0; i < r->summary->metric_count; i++) {
        const struct history_series *m = &r->summary->metrics[i];
        if (node_of(r, m->node) == m->node && !is_bucket(r->experiment, m->metric))
            exposition_number(x,
                              LABELS({"metric", m->metric}, {"node", node_name(r, m->node)}, {"process", m->process},
                                     {"unit", report_metric_unit(&of, m->metric)}),
                              is_fresh(r, m) ? m->last : (double)NAN);
    }
}

static void add_buckets(struct exposition *x, const struct run_metrics *r, const struct experiment_metric *m,
                        const struct history_series *like)
{
    const struct report of = {.summary = r->summary, .experiment = r->experiment};
    char bucket[EXPERIMENT_BUCKET_NAME_SIZE];
    uint64_t counts[EXPERIMENT_EDGES_MAX + 1];
    for (uint32_t b = 0; b <= m->edges.count; b++) {
        experiment_bucket_name(m, b, bucket, sizeof bucket);
        counts[b] = (uint64_t)report_bucket_count(r->summary, like, bucket);
    }
    exposition_histogram(x,
                         LABELS({"metric", m->name}, {"node", node_name(r, like->node)}, {"process", like->process},
                                {"unit", report_metric_unit(&of, m->name)}),
                         m->edges.at, counts, m->edges.count, (double)NAN);
}

static void add_histograms(struct exposition *x, const struct run_metrics *r)
{
    char first[EXPERIMENT_BUCKET_NAME_SIZE];
    for (uint32_t i = 0; i < r->experiment->metric_count; i++) {
        const struct experiment_metric *m = &r->experiment->metrics[i];
        if (m->kind != METRIC_HISTOGRAM)
            continue;
        experiment_bucket_name(m, 0, first, sizeof first);
        for (size_t k = 0; k < r->summary->metric_count; k++)
            if (strcmp(r->summary->metrics[k].metric, first) == 0 &&
                node_of(r, r->summary->metrics[k].node) == r->summary->metrics[k].node)
                add_buckets(x, r, m, &r->summary->metrics[k]);
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void add_nodes(struct exposition *x, const struct run_metrics *r, double (*value)(const struct summary_node *n))
{
    for (uint32_t i = 0; i < r->summary->node_count; i++)
        if (node_of(r, i) == i)
            exposition_number(x, LABELS({"node", r->summary->nodes[i].name}), value(&r->summary->nodes[i]));
}

static double heard_of(const struct summary_node *n)
{
    return n->last_at ? SECONDS(saturate_add(n->last_at, n->ahead)) : (double)NAN;
}

static double sensor_cpu_of(const struct summary_node *n)
{
    return n->sensor_cpu_mean / 100;
}

static double cpu_of(const struct summary_node *n)
{
    return SECONDS(n->cpu_ns);
}

/* A bound of 0 of a node that has converted no time says nothing. */
static double clock_error_of(const struct summary_node *n)
{
    const struct builtin_clocks *c = &n->clock;
    return c->counter + c->kernel + c->program > 0 ? SECONDS(c->error) : (double)NAN;
}

static double run_clock_error_of(const struct summary_node *n)
{
    int64_t worst = run_clock_worst(&n->run_clock);
    return worst < 0 ? (double)NAN : SECONDS(worst);
}

static double jumps_of(const struct summary_node *n)
{
    return (double)n->clock.jumps;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* The first ones are kept where not all have room. */
static const struct {
    struct exposition_family family;
    void (*add)(struct exposition *x, const struct run_metrics *r); /* NULL: of each of what is not NULL here ... */
    double (*of_node)(const struct summary_node *n);
    add_row *of_row;
    size_t of_books; /* ... or the count at this place of books */
} families[] = {
    {{"bezel_run", EXPOSITION_INFO, NULL, "A run."}, .add = add_run},
    {{"bezel_run_state", EXPOSITION_STATES, NULL, "Whether the run goes on."}, .add = add_state},
    {{"bezel_run_verdict", EXPOSITION_STATES, NULL, "The verdict on all limits, so far or at the end."},
     .add = add_verdict},
    {{"bezel_run_books", EXPOSITION_STATES, NULL, "Whether each record is stored, or lost with a known cause."},
     .add = add_complete},
    {{"bezel_run_unobserved_processes", EXPOSITION_GAUGE, NULL,
      "Processes that recorded and were not observed: their records are unknown."},
     .add = add_unobserved},
    {{"bezel_run_started_timestamp_seconds", EXPOSITION_GAUGE, "seconds", "When the run started."}, .add = add_started},
    {{"bezel_limit_verdict", EXPOSITION_STATES, NULL, "The verdict on a limit over all nodes, so far or at the end."},
     .add = add_limits},
    {{"bezel_limit_state", EXPOSITION_STATES, NULL, "The state of a limit on a node now, or at the end."},
     .of_row = add_limit_state},
    {{"bezel_limit_bound", EXPOSITION_GAUGE, NULL, "The bound of a limit, in its unit; times are in ns."},
     .add = add_bounds},
    {{"bezel_limit_value", EXPOSITION_GAUGE, NULL, "The value that a limit was judged by last; NaN: it is unknown."},
     .of_row = add_limit_value},
    {{"bezel_limit_violated_seconds", EXPOSITION_COUNTER, "seconds", "For how long a limit was violated on a node."},
     .of_row = add_limit_violated},
    {{"bezel_records_lost", EXPOSITION_COUNTER, NULL, "Records lost, by their cause."}, .add = add_lost},
    {{"bezel_records_produced", EXPOSITION_COUNTER, NULL, "Records that programs tried to write."},
     .of_books = offsetof(struct verdict_books, attempts)},
    {{"bezel_records_stored", EXPOSITION_COUNTER, NULL, "Records stored."},
     .of_books = offsetof(struct verdict_books, stored)},
    {{"bezel_records_reduced", EXPOSITION_COUNTER, NULL, "Records in whose place a value of a metric was stored."},
     .of_books = offsetof(struct verdict_books, reduced)},
    {{"bezel_records_rest", EXPOSITION_GAUGE, NULL,
      "Records that are neither stored nor lost: under way, or at the end unexplained."},
     .add = add_rest},
    {{"bezel_node_heard_timestamp_seconds", EXPOSITION_GAUGE, "seconds", "When the node has recorded itself last."},
     .of_node = heard_of},
    {{"bezel_sensor_cpu_ratio", EXPOSITION_GAUGE, "ratio", "The part of a CPU that bezeld used, over the run."},
     .of_node = sensor_cpu_of},
    {{"bezel_sensor_cpu_seconds", EXPOSITION_COUNTER, "seconds", "CPU time of bezeld."}, .of_node = cpu_of},
    {{"bezel_clock_error_seconds", EXPOSITION_GAUGE, "seconds",
      "Bound of the error of times on the node's clock; NaN: it is unknown."},
     .of_node = clock_error_of},
    {{"bezel_run_clock_error_seconds", EXPOSITION_GAUGE, "seconds",
      "Bound of the error of the node's clock against that of the run; NaN: it is unknown."},
     .of_node = run_clock_error_of},
    {{"bezel_clock_jumps", EXPOSITION_COUNTER, NULL, "Jumps of clocks that were in use."}, .of_node = jumps_of},
    {{"bezel_metric_value", EXPOSITION_GAUGE, NULL,
      "The last value of a metric, in its unit; NaN: it is unknown, or nobody has said it lately."},
     .add = add_metrics},
    {{"bezel_metric_distribution", EXPOSITION_HISTOGRAM, NULL, "A metric that is a histogram, in its unit."},
     .add = add_histograms},
    {{"bezel_monitoring_latency_seconds", EXPOSITION_HISTOGRAM, "seconds",
      "Time from a record's timestamp to its receipt by the collector."},
     .add = add_latencies},
};

static void add_family(struct exposition *x, const struct run_metrics *r, size_t f)
{
    if (families[f].of_node)
        add_nodes(x, r, families[f].of_node);
    else if (families[f].of_row)
        add_rows(x, r, families[f].of_row);
    else if (families[f].add)
        families[f].add(x, r);
    else
        add_count(x, r, families[f].of_books);
}

void run_metrics_write(struct exposition *x, struct run_metrics *runs, size_t count)
{
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        exposition_begin(x, &families[f].family);
        for (size_t i = 0; i < count; i++) {
            x->run = runs[i].name;
            x->left_out = &runs[i].left_out;
            if (runs[i].verdict)
                add_family(x, &runs[i], f);
        }
    }
    x->run = NULL;
    x->left_out = NULL;
}
