// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/json.h"
#include "views/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPORT_FORMAT = 3 }; /* grows when a field changes its meaning; new fields leave it as it is */

/* CLOCK_REALTIME nanoseconds as RFC 3339 in UTC with microseconds; null for 0. */
static void put_realtime(struct json *j, const char *key, int64_t ns)
{
    char text[64] = "";
    time_t seconds = (time_t)(ns / CLOCK_S);
    struct tm utc;
    if (ns <= 0 || !gmtime_r(&seconds, &utc)) {
        json_text(j, key, NULL);
        return;
    }
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + n, sizeof text - n, ".%06dZ", (int)(ns % CLOCK_S / CLOCK_US));
    json_text(j, key, text);
}

/* ---- run and verdict ---- */

static void put_run(const struct report *r, struct json *j)
{
    const struct summary *s = r->summary;
    json_object(j, "run");
    json_text(j, "directory", r->run);
    json_text(j, "id", summary_property(s, "run"));
    json_text(j, "experiment", report_experiment_name(r));
    json_text(j, "state", verdict_run_name(r->verdict->run));
    put_realtime(j, "started", r->verdict->started);
    put_realtime(j, "ended", r->verdict->ended);
    json_text(j, "ended_by", summary_property(s, "ended_by"));
    json_int(j, "duration_ns", r->verdict->duration);
    json_object_end(j);
}

static void put_verdict(const struct report *r, struct json *j)
{
    char *sentence = report_sentence_text(r);
    json_object(j, "verdict");
    json_text(j, "is", verdict_name(r->verdict->is));
    json_text(j, "sentence", sentence);
    json_int(j, "exit_code", verdict_exit_code(r->verdict));
    json_uint(j, "absent", r->verdict->absent);
    json_object_end(j);
    free(sentence);
}

static void put_limit_on_node(const struct report *r, struct json *j, size_t row)
{
    static const char *const states[] = {"unknown", "held", "violated"};
    const struct builtin_limit *l = &r->summary->limits[row];
    const struct verdict_limit *v = &r->verdict->rows[row];
    json_object(j, NULL);
    json_text(j, "node", l->epoch ? NULL : report_node_name(r, l->node));
    json_int(j, "epoch", l->epoch);
    json_text(j, "is", verdict_name(v->is));
    report_json_why(r, v, j);
    json_text(j, "state", l->state >= 0 && l->state <= 2 ? states[l->state] : NULL);
    json_double(j, "value", l->value);
    json_double(j, "worst", l->worst);
    json_double(j, "share_violated", v->share);
    json_int(j, "settling_ns", l->settling);
    json_int(j, "held_ns", l->held);
    json_int(j, "violated_ns", l->violated);
    json_int(j, "unknown_ns", l->unknown);
    json_int(j, "unjudged_ns", v->unjudged);
    json_int(j, "from_records_ns", v->again);
    json_known_int(j, "last_violated_ns", l->last_violated != 0, report_run_time(r, l->node, l->last_violated));
    json_known_int(j, "violated_since_ns", v->since != 0, report_run_time(r, l->node, v->since));
    json_object_end(j);
}

static void put_limits(const struct report *r, struct json *j)
{
    static const char *const units[] = {
        [UNIT_NUMBER] = NULL, [UNIT_PER_SECOND] = "1/s", [UNIT_PERCENT] = "%", [UNIT_DURATION] = "ns"};
    json_array(j, "limits");
    for (size_t i = 0; i < r->verdict->limit_count; i++) {
        const struct experiment_limit *l = &r->experiment->limits[i];
        json_object(j, NULL);
        json_text(j, "text", l->text);
        json_text(j, "kind", l->kind == LIMIT_HOLD ? "hold" : "expect");
        json_text(j, "metric",
                  l->metric == LIMIT_ON_SENSOR_CPU ? "sensor_cpu" : r->experiment->metrics[l->metric].name);
        if (l->metric != LIMIT_ON_SENSOR_CPU && r->experiment->metrics[l->metric].aspect) {
            json_text(j, "aspect", r->experiment->metrics[l->metric].aspect);
            json_text(j, "field", r->experiment->metrics[l->metric].field);
            json_int(j, "window_ns", r->experiment->metrics[l->metric].window);
        }
        json_text(j, "per", l->global ? "global" : "metric");
        json_text(j, "compare", l->compare == COMPARE_AT_LEAST ? ">=" : "<=");
        json_double(j, "bound", l->bound);
        json_text(j, "unit", units[l->unit]);
        json_int(j, "persistence_ns", l->persistence);
        json_double(j, "tolerance", l->tolerance);
        json_uint(j, "priority", l->priority);
        json_text(j, "is", verdict_name(r->verdict->limits[i].is));
        report_json_why(r, &r->verdict->limits[i], j);
        json_double(j, "share_violated", r->verdict->limits[i].share);
        json_int(j, "unjudged_ns", r->verdict->limits[i].unjudged);
        json_int(j, "from_records_ns", r->verdict->limits[i].again);
        json_double(j, "stray", r->verdict->limits[i].strays ? r->verdict->limits[i].stray : (double)NAN);
        json_array(j, "nodes");
        for (size_t row = 0; row < r->summary->limit_count; row++)
            if (r->summary->limits[row].limit == (int64_t)i)
                put_limit_on_node(r, j, row);
        json_array_end(j);
        json_object_end(j);
    }
    json_array_end(j);
}

static void put_decisions(const struct report *r, struct json *j)
{
    json_array(j, "decisions");
    for (size_t i = 0; i < r->summary->decision_count; i++) {
        const struct builtin_decision *d = &r->summary->decisions[i];
        json_object(j, NULL);
        json_int(j, "time_ns", report_run_time(r, d->node, d->at));
        json_text(j, "node", report_node_name(r, d->node));
        json_text(j, "policy", report_policy_name(d->policy));
        json_text(j, "action", report_action_name(d->action));
        json_int(j, "before_ns", d->before);
        json_int(j, "after_ns", d->after);
        json_text(j, "limit", d->cause < 0 ? NULL : report_limit_text(r, d->cause));
        json_text(j, "by", report_decider_name(d->by));
        json_int(j, "epoch", d->epoch);
        json_int(j, "sequence", d->sequence);
        json_object_end(j);
    }
    json_array_end(j);
}

/* ---- books ---- */

/* Leaves the object `lost` open. */
static void put_causes(struct json *j, const struct verdict_books *b)
{
    json_uint(j, "produced", b->attempts);
    json_uint(j, "stored", b->stored);
    json_object(j, "lost");
    json_uint(j, "full", b->full);
    json_uint(j, "window", b->window);
    json_uint(j, "spool", b->spool);
    json_uint(j, "off", b->off);
    json_uint(j, "overwritten", b->overwritten);
    json_uint(j, "no_ring", b->no_ring);
}

static void put_counts(struct json *j, const struct verdict_books *b)
{
    put_causes(j, b);
    json_uint(j, "unfinished", b->unfinished);
    json_uint(j, "unstored", b->unstored);
    json_object_end(j);
    json_int(j, "rest", b->rest);
}

static void put_sum(struct json *j, const char *key, const struct verdict_books *b)
{
    json_object(j, key);
    json_uint(j, "processes", b->processes);
    put_counts(j, b);
    json_object_end(j);
}

static void put_latency(struct json *j, const struct summary_latency *l)
{
    json_object(j, "latency");
    json_uint(j, "records", l->count);
    json_int(j, "median_ns", l->median);
    json_int(j, "p99_ns", l->p99);
    json_int(j, "max_ns", l->max);
    json_int(j, "error_ns", l->bound);
    json_object_end(j);
}

static void put_aspect(struct json *j, const struct report *r, const struct summary_process *p,
                       const struct summary_book *b, bool overwritten)
{
    struct verdict_books row = verdict_aspect(r->summary, p, b);
    if (overwritten) {
        row.overwritten = (uint64_t)row.rest;
        row.rest = 0;
    }
    json_object(j, NULL);
    json_text(j, "aspect", b->name);
    put_causes(j, &row);
    json_object_end(j);
    json_int(j, "rest", row.rest);
    json_double(j, "rate_per_s", verdict_rate(b));
    report_json_values(j, p, b);
    report_json_labels(r, j, p, b);
    report_json_messages(r, j, p, b);
    json_object_end(j);
}

static void put_process(const struct report *r, struct json *j, size_t i)
{
    static const char *const states[] = {"running", "ended", "detached", "left"};
    const struct summary_process *p = &r->summary->processes[i];
    json_object(j, NULL);
    json_text(j, "node", report_node_name(r, p->node));
    json_text(j, "process", p->name);
    json_uint(j, "pid", p->pid);
    json_uint_text(j, "instance", p->instance);
    json_text(j, "role", p->role == ROLE_SUT ? "sut" : "daemon");
    json_text(j, "executable", p->executable);
    json_text(j, "state", (unsigned)p->state <= PROCESS_LEFT ? states[p->state] : NULL);
    json_int(j, "started_ns", report_run_time(r, p->node, p->started));
    put_counts(j, &r->verdict->books[i]);
    json_uint(j, "discarded", p->discarded);
    json_uint(j, "unobserved", p->unobserved);
    json_text(j, "when_full", p->overwrites ? "overwrite" : "discard");
    put_latency(j, &p->latency);
    report_json_streams(r, j, p);
    json_array(j, "aspects");
    for (size_t b = 0; b < p->book_count; b++)
        put_aspect(j, r, p, &p->books[b], verdict_explains_aspects(p, &r->verdict->books[i]));
    json_array_end(j);
    json_object_end(j);
}

static void put_expired_counts(struct json *j, const struct summary_expired *e)
{
    json_uint(j, "records", e->records);
    json_uint(j, "packets", e->packets);
    json_uint(j, "bytes", e->bytes);
}

/* What `store.keep` let go: in all, and of each stream of which it let something go. */
static void put_expired_from_store(const struct report *r, struct json *j)
{
    struct summary_expired all = report_expired_from_store(r, ROLE_SUT),
                           daemons = report_expired_from_store(r, ROLE_DAEMON);
    json_object(j, "expired_from_store");
    json_object(j, "sut");
    put_expired_counts(j, &all);
    json_object_end(j);
    json_object(j, "daemons");
    put_expired_counts(j, &daemons);
    json_object_end(j);
    json_array(j, "streams");
    for (size_t i = 0; i < r->summary->process_count && (r->most == 0 || i < r->most); i++) {
        const struct summary_process *p = &r->summary->processes[i];
        for (size_t k = 0; k < p->stream_count; k++) {
            if (p->streams[k].expired.packets == 0)
                continue;
            json_object(j, NULL);
            json_text(j, "node", report_node_name(r, p->node));
            json_text(j, "process", p->name);
            json_uint(j, "pid", p->pid);
            json_uint(j, "ring", p->streams[k].ring);
            put_expired_counts(j, &p->streams[k].expired);
            json_object_end(j);
        }
    }
    json_array_end(j);
    json_object_end(j);
}

static void put_books(const struct report *r, struct json *j)
{
    json_object(j, "books");
    json_bool(j, "balanced", r->verdict->balanced);
    json_uint(j, "unknown", r->verdict->unknown);
    json_uint(j, "left", r->verdict->left);
    json_text(j, "unended", r->verdict->unended);
    json_uint(j, "vanished", r->verdict->vanished);
    json_uint(j, "unjoined", r->verdict->unjoined);
    json_bool(j, "behind", r->verdict->behind);
    json_uint(j, "unobserved", r->verdict->unobserved);
    json_uint(j, "clock_gaps", r->verdict->clock_gaps);
    json_uint(j, "uncounted", r->verdict->uncounted);
    put_sum(j, "sut", &r->verdict->sut);
    put_sum(j, "daemons", &r->verdict->daemons);
    json_uint(j, "refused", r->summary->refused);
    json_bool(j, "left_out", r->summary->left_out);
    json_uint(j, "left_out_processes", r->summary->untaken);
    json_uint(j, "left_out_records", r->summary->untaken_records);
    put_expired_from_store(r, j);
    report_json_remedies(r, j);
    json_array(j, "processes");
    for (size_t i = 0; i < r->summary->process_count && (r->most == 0 || i < r->most); i++)
        put_process(r, j, i);
    json_array_end(j);
    json_object_end(j);
}

/* ---- metrics, nodes, events, properties ---- */

static void put_metrics(const struct report *r, struct json *j)
{
    json_array(j, "metrics");
    for (size_t i = 0; i < r->summary->metric_count; i++) {
        const struct history_series *m = &r->summary->metrics[i];
        json_object(j, NULL);
        json_text(j, "metric", m->metric);
        json_text(j, "node", report_node_name(r, m->node));
        json_text(j, "process", m->process);
        json_text(j, "unit", report_metric_unit(r, m->metric));
        json_uint(j, "values", m->count);
        json_double(j, "mean", m->mean);
        json_double(j, "min", m->min);
        json_double(j, "max", m->max);
        json_double(j, "last", m->last);
        json_object_end(j);
    }
    json_array_end(j);
}

static void put_clock(const struct builtin_clocks *c, struct json *j)
{
    json_object(j, "clocks");
    json_int(j, "kernel", c->kernel);
    json_int(j, "counter", c->counter);
    json_int(j, "program", c->program);
    json_object_end(j);
    json_int(j, "clock_error_ns", c->error);
    json_int(j, "clock_jumps", c->jumps);
    json_int(j, "clamped", c->clamped);
}

static void put_run_clock(const struct run_clock *c, struct json *j)
{
    static const char *const kinds[] = {"same", "exchanges", "wall"};
    int64_t worst = run_clock_worst(c);
    json_object(j, "run_clock");
    json_text(j, "by", kinds[c->kind]);
    if (worst >= 0)
        json_int(j, "error_ns", worst);
    else
        json_text(j, "error_ns", NULL);
    json_double(j, "drift_ppm", 1e6 * run_clock_drift(c));
    json_uint(j, "exchanges", c->exchanges);
    json_int(j, "round_trip_ns", c->round_trip);
    json_uint(j, "jumps", c->relation.jumps);
    json_uint(j, "kept", c->relation.kept);
    json_uint(j, "contradicted", c->relation.contradicted);
    json_object_end(j);
}

static void put_nodes(const struct report *r, struct json *j)
{
    json_array(j, "nodes");
    for (size_t i = 0; i < r->summary->node_count; i++) {
        const struct summary_node *n = &r->summary->nodes[i];
        json_object(j, NULL);
        json_text(j, "node", n->name);
        json_bool(j, "vanished",
                  n->open && r->verdict->run != RUN_RUNNING && !verdict_gave_up(r->summary, (uint32_t)i));
        json_uint(j, "unobserved", n->unobserved);
        json_double(j, "sensor_cpu_mean", n->sensor_cpu_mean);
        json_double(j, "sensor_cpu_max", n->sensor_cpu_max);
        json_int(j, "cpu_ns", n->cpu_ns);
        json_int(j, "wakeups", n->wakeups);
        json_int(j, "records", n->records);
        json_int(j, "bytes", n->bytes);
        report_json_poll_stats(j, n);
        put_clock(&n->clock, j);
        put_run_clock(&n->run_clock, j);
        json_object_end(j);
    }
    json_array_end(j);
}

static void put_events(const struct report *r, struct json *j)
{
    json_array(j, "events");
    for (size_t i = 0; i < r->summary->event_count && (r->most == 0 || i < r->most); i++) {
        const struct summary_event *e = &r->summary->events[i];
        json_object(j, NULL);
        json_int(j, "time_ns", e->at - r->verdict->started);
        json_bool(j, "error", e->error);
        json_text(j, "text", e->text);
        json_object_end(j);
    }
    json_array_end(j);
}

static void put_properties(const struct report *r, struct json *j)
{
    json_object(j, "properties");
    for (size_t i = 0; i < r->summary->property_count; i++)
        json_text(j, r->summary->properties[i].key, r->summary->properties[i].value);
    json_object_end(j);
}

void report_json(const struct report *r, FILE *out)
{
    struct json j = {.out = out, .compact = r->compact};
    json_object(&j, NULL);
    json_int(&j, "format", REPORT_FORMAT);
    put_run(r, &j);
    put_verdict(r, &j);
    put_limits(r, &j);
    report_json_names(r, &j);
    report_json_violations(r, &j);
    report_json_gaps(r, &j);
    report_json_looks(r, &j);
    put_decisions(r, &j);
    report_json_polling(r, &j);
    report_json_conclusions(r, &j);
    report_json_setpoints(r, &j);
    report_json_knobs(r, &j);
    report_json_snapshots(r, &j);
    put_books(r, &j);
    report_json_expired(r, &j);
    put_metrics(r, &j);
    report_json_counters(r, &j);
    put_latency(&j, &r->summary->latency);
    put_nodes(r, &j);
    report_json_programs(r, &j);
    report_json_notes(r, &j);
    put_events(r, &j);
    put_properties(r, &j);
    json_object_end(&j);
}
