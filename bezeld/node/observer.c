// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/log.h"
#include "bezeld/node/node_internal.h"
#include "bezeld/node/own_trace.h"
#include "sensor/external/notes.h"

/*
 * The number of an aspect of a process: its slot, and the number by which the agent and the triggers know it, each plus
 * 1; 0: it does not read the aspect.
 */
enum { WATCH_BITS = 8, WATCH_MASK = (1 << WATCH_BITS) - 1 };
_Static_assert((int)TRIGGER_ASPECTS_MAX < (int)WATCH_MASK && (int)AGENT_WATCH_BITS < (int)WATCH_BITS &&
                   (int)AGENT_PROCESSES_MAX <= (int)TRIGGER_PROCESSES_MAX,
               "a number holds both");

static int watch_slot(int watch)
{
    return watch >> 2 * WATCH_BITS;
}

/* Of the agent, and of the triggers; negative: none. */
static int watch_agent(int watch)
{
    int aspect = (watch >> WATCH_BITS & WATCH_MASK) - 1;
    return aspect < 0 ? -1 : watch_slot(watch) << AGENT_WATCH_BITS | aspect;
}

static int watch_trigger(int watch)
{
    return (watch & WATCH_MASK) - 1;
}

/* Of a daemon's records, only those of its samplers are observed, where a metric or trigger reads them. */
static bool reads_samplers(const struct experiment *e)
{
    if (experiment_trigger_reads_samplers(e))
        return true;
    for (uint32_t i = 0; i < e->metric_count; i++)
        if (e->metrics[i].aspect && experiment_sampler_of(e->metrics[i].aspect) != EXPERIMENT_SAMPLERS)
            return true;
    return false;
}

/* One that is older than the node may have recorded for others before; those that are there at its start are older. */
static int observe_begin(void *context, const char *name, enum message_role role, uint64_t started)
{
    struct node *n = context;
    if (role == ROLE_DAEMON && !reads_samplers(n->options.experiment))
        return BEZEL_ENOENT;
    int slot = agent_process_add(n->agent, name);
    bool is_new = n->clock.began > 0 && started >= (uint64_t)n->clock.began;
    if (slot >= 0 && is_new)
        agent_process_began(n->agent, slot, (int64_t)started);
    if (role == ROLE_SUT && is_new)
        agent_judges_since(n->agent, (int64_t)started, false);
    return slot;
}

/* A misspelt field, or one that is compared with what it cannot be, must not pass for a condition that is never met. */
static int watch_for_triggers(struct node *n, int slot, const struct dict_aspect *aspect)
{
    const char *when = n->triggers.set ? trigger_lacking(n->triggers.set, aspect) : NULL;
    const char *process = agent_process_name(n->agent, slot);
    if (when && process)
        notes_record(n->external, NULL, clock_now(), "BEZEL-TRIGGER-FIELD",
                     "trigger '%.100s' cannot fire for process %.60s: its aspect has no such field, or none that "
                     "'where' can be compared with",
                     when, process);
    return n->triggers.set ? trigger_watch(n->triggers.set, slot, aspect) : BEZEL_ENOENT;
}

/* Of the daemon only the samplers' aspects are observed; their names count from nobody else. */
static int observe_watch(void *context, int slot, enum message_role role, const struct dict_aspect *aspect)
{
    struct node *n = context;
    if ((role == ROLE_DAEMON) != (experiment_sampler_of(aspect->name) != EXPERIMENT_SAMPLERS))
        return BEZEL_ENOENT;
    const char *metric = agent_lacking(n->agent, aspect), *process = agent_process_name(n->agent, slot);
    if (metric && process)
        log_warn(
            "BEZEL-METRIC",
            "metric %s stays unknown for process %s: its aspect %s does not have a field that the metric reads, or the "
            "field is not a number, or not a time, or 'where' cannot be compared with it",
            metric, process, aspect->name);
    if (role == ROLE_SUT)
        agent_received_from(n->agent, aspect->name);
    int read = agent_watch(n->agent, slot, aspect), waits = watch_for_triggers(n, slot, aspect);
    if (read < 0 && waits < 0)
        return read;
    int number = read < 0 ? 0 : 1 + (read & ((1 << AGENT_WATCH_BITS) - 1));
    return (slot << WATCH_BITS | number) << WATCH_BITS | (waits < 0 ? 0 : waits + 1);
}

static void observe_records(void *context, int watch, const struct packet_run *run)
{
    struct node *n = context;
    if (watch_agent(watch) >= 0)
        agent_records(n->agent, watch_agent(watch), run, n->schedule.turned);
    if (watch_trigger(watch) >= 0)
        trigger_records(n->triggers.set, watch_slot(watch), watch_trigger(watch), run, n->schedule.turned);
}

static void observe_taken(void *context, uint32_t records, int64_t first, int64_t last, int64_t now)
{
    agent_taken(((struct node *)context)->agent, records, first, last, now);
}

static void observe_stored(void *context, uint32_t records, int64_t first, int64_t last, int64_t now)
{
    agent_stored(((struct node *)context)->agent, records, first, last, now);
}

/* Where a metric cannot be evaluated, a record would leave nothing. */
static bool observe_reduces(void *context, const struct dict_aspect *aspect)
{
    const struct node *n = context;
    return node_reduces(n, aspect->name) && !agent_lacking(n->agent, aspect);
}

/* What a span of `aspect` waits for; "": it does not wait. */
static const char *reason_of(const struct dict_aspect *aspect)
{
    return aspect->kind == DICT_RECEIVED ? "message" : dict_reason(aspect);
}

static void observe_open_span(void *context, const struct external_process *p, const struct external_open_span *span)
{
    static const int states[] = {
        [EXTERNAL_SPAN_OPEN] = OPEN_NOW, [EXTERNAL_SPAN_ENDED] = OPEN_ENDED, [EXTERNAL_SPAN_LEFT] = OPEN_LEFT};
    const struct dict_aspect *aspect = &p->at->dict->aspects[span->aspect - 1];
    own_trace_record_open(((struct node *)context)->own_trace,
                          &(struct builtin_open){.process = p->name,
                                                 .instance = (int64_t)p->at->instance,
                                                 .place = span->place,
                                                 .thread = span->thread,
                                                 .aspect = aspect->name,
                                                 .reason = reason_of(aspect),
                                                 .since = span->since,
                                                 .state = states[span->state]});
}

static void observe_ending(void *context, const struct external_process *p, enum builtin_ending_way way)
{
    own_trace_record_ending(
        ((struct node *)context)->own_trace,
        &(struct builtin_ending){
            .process = p->name, .instance = (int64_t)p->at->instance, .seen = p->seen, .way = (int)way});
}

static bool is_blind(const struct node *n, const struct external_process *p, uint32_t id)
{
    return p->at->disbelieved || aspect_steering_blinds(&n->aspect_steering, p->at->dict->aspects[id - 1].name);
}

static void count_for_triggers(struct node *n, const struct external_process *p, uint32_t id, int64_t now)
{
    int waits = watch_trigger(p->watch[id]);
    if (waits >= 0 && is_blind(n, p, id))
        trigger_blind(n->triggers.set, p->slot, waits);
    else if (waits >= 0)
        trigger_count(n->triggers.set, p->slot, waits, segment_tally(p->at, id).attempts, now);
}

static void count_aspect(struct node *n, const struct external_process *p, uint32_t id, int64_t now)
{
    int read = watch_agent(p->watch[id]);
    if (read >= 0 && is_blind(n, p, id))
        agent_blind(n->agent, read);
    else if (read >= 0)
        agent_count(n->agent, read, segment_tally(p->at, id).attempts, now);
    count_for_triggers(n, p, id, now);
}

#define TOTALS_EVERY (10 * CLOCK_MS) /* seldom, because it reads the counters of all rings and aspects */

static void report_totals(struct node *n, int64_t now)
{
    if (!schedule_takes(&n->schedule.totals_due, now, TOTALS_EVERY))
        return;
    struct external_totals f = external_totals(n->external);
    agent_totals(n->agent, f.produced, f.full + f.no_ring + f.overwritten + f.window + f.spool + f.reducer,
                 f.in_rings + f.in_window, now);
}

/* Passes the time of the SUT's oldest unacknowledged packet in the window (not in the spool) to the agent. */
static void report_waiting(struct node *n, int64_t now)
{
    struct window *w = external_window(n->external);
    uint64_t at = window_oldest(w);
    struct packet_header h;
    for (struct window_packet *p; (p = window_next(w, &at)) != NULL;) {
        if (packet_get_header(p->data, p->bytes, &h) != 0 || h.records == 0 ||
            h.seq < window_stream(w, p->stream)->acked_seq)
            continue;
        const struct external_process *of = external_find(n->external, h.instance);
        if (!of || of->role != ROLE_SUT || of->at->when_full == SEGMENT_OVERWRITE)
            continue;
        agent_waits(n->agent, (int64_t)h.timestamp_begin, now);
        return;
    }
}

/* Records without a ring are in no ring's counter: they do not show that the process goes on. */
static void count_all(struct node *n, const struct external_process *p)
{
    uint64_t attempts = 0;
    for (uint32_t i = 0; i < p->at->ring_count && !p->at->disbelieved; i++)
        if (p->at->rings[i].reader.ring)
            attempts += segment_attempts(p->at, &p->at->rings[i]);
    if (!p->at->disbelieved)
        agent_count_all(n->agent, p->slot, attempts);
}

typedef void count_it(struct node *n, const struct external_process *p, uint32_t id, int64_t now);

static void count_aspects(struct node *n, const struct external_process *p, count_it *count, int64_t now)
{
    for (uint32_t id = 1; id < p->watched; id++)
        if (p->watch[id] >= 0 && p->watch[id] != EXTERNAL_ATTENDED)
            count(n, p, id, now);
}

static void count_process(struct node *n, const struct external_process *p, int64_t now)
{
    count_all(n, p);
    count_aspects(n, p, count_aspect, now);
}

void node_count_attempts(struct node *n, int64_t now)
{
    if (agent_wants_stored(n->agent))
        report_waiting(n, now);
    if (agent_wants_totals(n->agent))
        report_totals(n, now);
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        if (p && p->slot >= 0)
            count_process(n, p, now);
    }
}

void node_count_for_triggers(struct node *n, int64_t now)
{
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        if (p && p->slot >= 0)
            count_aspects(n, p, count_for_triggers, now);
    }
}

void node_processes_end(struct node *n)
{
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        if (p && p->slot >= 0)
            count_all(n, p);
    }
    agent_processes_end(n->agent);
    if (n->triggers.set)
        trigger_processes_end(n->triggers.set);
}

/* Nobody reads its counters behind this, and its node counts its last records, too. */
static void count_last(struct node *n, int slot)
{
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        if (p && p->slot == slot)
            count_process(n, p, n->schedule.turned);
    }
}

static void observe_end(void *context, int slot)
{
    struct node *n = context;
    knob_steering_declare(n);
    count_last(n, slot);
    node_hand_on_last(n, slot);
    node_record_last_buckets(n, slot);
    node_triggers_turn(n, n->schedule.turned); /* its last records fire while its name is known */
    agent_process_remove(n->agent, slot);
    if (n->triggers.set)
        trigger_remove(n->triggers.set, slot);
}

struct external_observer node_observer(struct node *n)
{
    return (struct external_observer){n,
                                      observe_begin,
                                      observe_end,
                                      observe_watch,
                                      observe_records,
                                      observe_taken,
                                      agent_wants_stored(n->agent) ? observe_stored : NULL,
                                      observe_reduces,
                                      observe_open_span,
                                      observe_ending};
}
