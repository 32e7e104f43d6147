// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A stored run of a few processes with random records, of one node or of one each, the summary that a database has of
 * it, and an agent that was given all of them, or had times in which nobody judged. For test programs: it asserts.
 */
#ifndef BEZEL_TESTS_LIB_REJUDGE_SCENE_H
#define BEZEL_TESTS_LIB_REJUDGE_SCENE_H

#include "resmgr/agent/agent.h"
#include "run/verdict/rejudge.h"
#include "run/verdict/verdict.h"
#include "tests/lib/grown_run.h"
#include "tests/lib/one_record.h"
#include "tests/lib/test.h"

#include <math.h>

enum {
    RUNS = 60,
    RUNS_LIGHT = 15,
    WORKERS = 3,
    LIMITS = 5,
    RECORDS = 4000,
    GAPS = 4,
    METRICS = 14,
    ARRIVALS = 7,
    LEAST = 3,
    MOST = 4
};

#define EVERY  (100 * CLOCK_MS)
#define LENGTH (20 * CLOCK_S)

enum { INSTANTS = LENGTH / EVERY + 3 };

/* A process: it begins before its first record, just before it if nothing else is said, and ends behind its last one.
 */
struct worker {
    int64_t started, ends, closed; /* closed: bezeld found that it had ended */
    size_t count;
    int64_t times[RECORDS];
    int64_t values[RECORDS];
    bool lost[RECORDS];
    struct model_process *process;
    uint32_t losses;
};

/* An agent, and what it was given so far. */
struct watcher {
    struct agent *agent;
    const struct agent_outcome *out;
    int slot[WORKERS], watch[WORKERS];
    size_t taken[WORKERS];
};

struct scene {
    struct grown g;
    int64_t begin;
    struct experiment e;
    struct experiment_node nodes[1];
    struct experiment_metric metrics[METRICS];
    struct experiment_limit limits[LIMITS];
    struct worker workers[WORKERS];
    int64_t gap_begin[GAPS], gap_end[GAPS];
    struct summary s;
    struct summary_node node[WORKERS];
    struct summary_process processes[WORKERS + 1]; /* and bezeld, of a test that adds it */
    struct summary_book books[WORKERS];
    struct summary_field fields[WORKERS];
    struct summary_property property;
    struct history_gap gaps[INSTANTS * LIMITS];
    struct builtin_limit rows[LIMITS];
    enum limit_state states[INSTANTS][LIMITS]; /* of the interval before each instant, by the agent without gaps */
};

static bool apart; /* each worker has a node of its own, with one clock */
static char tick[] = "tick", number[] = "number", metric_name[] = "m", condition[] = "number > 500",
            limit_text[] = "limit", studio[] = "studio";

/* ---- what is drawn ----------------------------------------------------------------------------------------------- */

static double draw_bound(int metric)
{
    bool is_time = metric == ARRIVALS || metric == ARRIVALS + 1;
    return is_time ? (double)draw(CLOCK_S) : metric < 2 || metric > ARRIVALS ? (double)draw(40) : (double)draw(1000);
}

static void draw_experiment(struct scene *s)
{
    static const enum experiment_metric_kind kinds[METRICS] = {
        METRIC_RATE, METRIC_RATE, METRIC_MEAN,   METRIC_MIN,   METRIC_MAX,     METRIC_LAST,      METRIC_QUANTILE,
        METRIC_MAX,  METRIC_MEAN, METRIC_MISSES, METRIC_COUNT, METRIC_PERCENT, METRIC_TIME_MEAN, METRIC_FIRST};
    static const enum experiment_arrivals arrivals[METRICS] = {
        [ARRIVALS] = ARRIVALS_TIME, [ARRIVALS + 1] = ARRIVALS_JITTER, [METRICS - 1] = ARRIVALS_NONE};
    for (int i = 0; i < METRICS; i++)
        s->metrics[i] =
            (struct experiment_metric){.name = metric_name,
                                       .kind = kinds[i],
                                       .aspect = tick,
                                       .field = i < 2 || (i >= ARRIVALS && i < METRICS - 2) ? NULL : number,
                                       .arrivals = arrivals[i],
                                       .period = i == ARRIVALS + 2 ? (int64_t)(1 + draw(60)) * 5 * CLOCK_MS : 0,
                                       .where = draw(3) ? NULL : condition,
                                       .share = 0.9,
                                       .window = EVERY + (int64_t)draw(12 * EVERY),
                                       .per_process = i != 1 && draw(3) > 0 && !apart};
    for (int i = 0; i < METRICS; i++)
        s->metrics[i].tumbles = !experiment_metric_is_of_arrivals(&s->metrics[i]) && draw(2);
    for (int i = 0; i < LIMITS; i++) {
        int metric = (int)draw(METRICS);
        s->limits[i] = (struct experiment_limit){.kind = draw(4) ? LIMIT_EXPECT : LIMIT_HOLD,
                                                 .metric = metric,
                                                 .compare = draw(2) ? COMPARE_AT_LEAST : COMPARE_AT_MOST,
                                                 .bound = draw_bound(metric),
                                                 .tolerance = (double)draw(3) / 100,
                                                 .text = limit_text};
    }
    s->nodes[0].name = studio;
    s->e = (struct experiment){
        .node_count = 1,
        .nodes = s->nodes,
        .metric_count = METRICS,
        .metrics = s->metrics,
        .limit_count = LIMITS,
        .limits = s->limits,
        .sensing = {.period = CLOCK_MS},
        .adapt = {.policy = POLICY_NONE, .every = EVERY, .period_min = CLOCK_US, .period_max = CLOCK_S}};
}

/* Stretches of one rate each, with silences between them; the last one is never silent, unless it hangs. */
static void draw_records(const struct scene *s, struct worker *w, bool lossy)
{
    int64_t at = s->begin + (int64_t)draw(4 * CLOCK_S), last = s->begin + LENGTH - (int64_t)draw(8 * CLOCK_S);
    w->count = 0;
    while (at < last && w->count < RECORDS) {
        int64_t until = at + (int64_t)draw(3 * CLOCK_S), pause = CLOCK_S / (int64_t)(1 + draw(60));
        int64_t base = (int64_t)draw(1000);
        bool loses = lossy && draw(6) == 0;
        for (; at < until && at < last && w->count < RECORDS; at += pause / 2 + (int64_t)draw((uint64_t)pause)) {
            w->times[w->count] = at;
            w->values[w->count] = base + (int64_t)draw(50);
            w->lost[w->count++] = loses;
        }
        at += draw(3) ? 1 : (int64_t)draw(4 * CLOCK_S);
    }
    w->started = w->times[0] - 1;
}

static void draw_gaps(struct scene *s)
{
    int64_t at = s->begin;
    for (int i = 0; i < GAPS; i++) {
        s->gap_begin[i] = at += (int64_t)(1 + draw(40)) * EVERY;
        s->gap_end[i] = at += (int64_t)(1 + draw(40)) * EVERY;
    }
}

/* ---- the run that is stored -------------------------------------------------------------------------------------- */

static void store_packet(struct scene *s, struct worker *w, enum packet_kind kind, size_t from, size_t until)
{
    static uint8_t packet[PACKET_MAX_BYTES];
    struct model_stream *stream = model_stream(w->process, 0);
    struct packet_header h = {.stream_id = w->process->stream_id,
                              .seq = stream->at.next_seq,
                              .kind = kind,
                              .instance = w->process->instance,
                              .thread = 7,
                              .dictionary = w->process->dict->hash,
                              .discarded = stream->at.discarded + (kind == PACKET_LOSS ? until - from : 0),
                              .first_ordinal = stream->at.next_ordinal,
                              .timestamp_begin = stream->last_end,
                              .timestamp_end = (uint64_t)(kind == PACKET_CLOSE ? w->closed : w->times[until - 1])};
    memcpy(h.uuid, w->process->node->uuid, sizeof h.uuid);
    uint8_t *at = packet + PACKET_HEADER_BYTES;
    if (kind == PACKET_OPEN || kind == PACKET_DATA)
        h.timestamp_begin = (uint64_t)w->times[from];
    for (size_t i = from; i < until && kind == PACKET_DATA; i++, h.records++) {
        at = packet_put_record(at, 1, (uint64_t)w->times[i]);
        bytes_put_u64(at, (uint64_t)w->values[i]);
        at += 8;
    }
    store(&s->g, w->process, 0, &h, packet, (size_t)(at - packet));
}

static void store_worker(struct scene *s, struct worker *w)
{
    size_t from = 0, until;
    store_packet(s, w, PACKET_OPEN, 0, 1);
    for (; from < w->count; from = until) {
        size_t most = from + 1 + draw(100);
        for (until = from; until < w->count && until < most && w->lost[until] == w->lost[from]; until++) {
        }
        store_packet(s, w, w->lost[from] ? PACKET_LOSS : PACKET_DATA, from, until);
    }
    store_packet(s, w, PACKET_CLOSE, 0, 0);
}

/* What the database tells of a process. */
static void summarize(struct scene *s, int i)
{
    struct worker *w = &s->workers[i];
    struct summary_book *b = &s->books[i];
    struct summary_field *f = &s->fields[i];
    *b = (struct summary_book){.aspect = 1, .name = tick, .attempts = w->count, .field_count = 1, .fields = f};
    *f = (struct summary_field){.name = number, .unit = "1", .min = {.d = INFINITY}, .max = {.d = -INFINITY}};
    for (size_t r = 0; r < w->count; r++) {
        b->full += w->lost[r];
        b->first_ns = b->stored == 0 && !w->lost[r] ? w->times[r] : b->first_ns;
        b->last_ns = w->lost[r] ? b->last_ns : w->times[r];
        b->stored += !w->lost[r];
        if (w->lost[r])
            continue;
        f->count++;
        f->min.d = fmin(f->min.d, (double)w->values[r]);
        f->max.d = fmax(f->max.d, (double)w->values[r]);
    }
    s->processes[i] = (struct summary_process){.node = apart ? (uint32_t)i : 0,
                                               .row = w->process->row,
                                               .name = w->process->name,
                                               .role = ROLE_SUT,
                                               .state = PROCESS_ENDED,
                                               .discarded = b->full,
                                               .book_count = 1,
                                               .books = b};
}

static struct model_node *node_of(struct scene *s, int i)
{
    struct message_hello hello = {.uuid = {(uint8_t)(i + 1)}, .clock = {1}, .realtime_offset = 1700000000 * CLOCK_S};
    if (!apart || i == 0)
        return get_node(&s->g, 0);
    snprintf(hello.node, sizeof hello.node, "n%d", i);
    struct model_node *node = model_add_node(s->g.model, &hello);
    assert_int_equal(rundb_add_node(s->g.rundb, node), 0);
    return node;
}

static void store_scene(struct scene *s)
{
    static char names[WORKERS][8];
    struct dict_aspect a = {.id = 1, .name = tick, .field_count = 1};
    a.fields[0] = (struct dict_field){DICT_INT64, number, "1", ""};
    s->g.dictionary_bytes = 0;
    s->g.intact = true;
    add_aspect(&s->g, &a);
    for (int i = 0; i < WORKERS; i++) {
        snprintf(names[i], sizeof names[i], "w%d", i);
        s->workers[i].process = add_process(&s->g, node_of(s, i), names[i], (uint32_t)i + 1);
        store_worker(s, &s->workers[i]);
        summarize(s, i);
    }
    assert_int_equal(rundb_commit(s->g.rundb), 0);
    for (int i = 0; i < WORKERS; i++) {
        s->node[i] = (struct summary_node){.name = s->workers[i].process->node->name, .ahead = 1700000000 * CLOCK_S};
        run_clock_init(&s->node[i].run_clock, RUN_CLOCK_SAME, 1700000000 * CLOCK_S);
    }
    s->property = (struct summary_property){"ended", "1700000100000000000"};
    s->s = (struct summary){.node_count = apart ? WORKERS : 1,
                            .process_count = WORKERS,
                            .limit_count = LIMITS,
                            .property_count = 1,
                            .nodes = s->node,
                            .processes = s->processes,
                            .limits = s->rows,
                            .gaps = s->gaps,
                            .properties = &s->property};
}

static bool saw_begin; /* an agent knows since when it has seen a worker, and not only from its first instant on */

/* ---- agents ------------------------------------------------------------------------------------------------------ */

static void watcher_start(struct watcher *w, const struct scene *s)
{
    *w = (struct watcher){0};
    assert_int_equal(agent_new(&s->e, 0, &w->agent), 0);
    for (int i = 0; i < WORKERS; i++)
        w->slot[i] = -1;
}

/* A sampling instant, as bezeld has it: all rings are empty, and who ended is gone. */
static void watcher_step(struct watcher *w, const struct scene *s, int64_t now)
{
    struct dict_aspect a = {.id = 1, .name = tick, .field_count = 1};
    a.fields[0] = (struct dict_field){DICT_INT64, number, "1", ""};
    for (int i = 0; i < WORKERS; i++) {
        const struct worker *of = &s->workers[i];
        if (of->count == 0 || (saw_begin ? of->started : of->times[0]) > now ||
            (w->taken[i] == of->count && w->slot[i] < 0))
            continue;
        if (w->slot[i] < 0) {
            w->slot[i] = agent_process_add(w->agent, of->process->name);
            assert_true(w->slot[i] >= 0);
            if (saw_begin)
                agent_process_began(w->agent, w->slot[i], of->started);
            w->watch[i] = agent_watch(w->agent, w->slot[i], &a);
        }
        for (; w->taken[i] < of->count && of->times[w->taken[i]] <= now; w->taken[i]++)
            if (!of->lost[w->taken[i]])
                agent_records(w->agent, w->watch[i],
                              ONE_RECORD(of->times[w->taken[i]], 1, (uint64_t[]){(uint64_t)of->values[w->taken[i]]}),
                              of->times[w->taken[i]]);
        if (of->ends <= now - s->e.adapt.every) {
            agent_process_remove(w->agent, w->slot[i]);
            w->slot[i] = -1;
        } else {
            agent_count(w->agent, w->watch[i], w->taken[i], now);
            agent_count_all(w->agent, w->slot[i], w->taken[i]);
        }
    }
    w->out = agent_step(w->agent, now, &(struct policy_measure){.cpu = NAN, .polls = NAN, .records = NAN});
}

static void watcher_end(struct watcher *w, struct builtin_limit rows[LIMITS])
{
    const struct agent_outcome *out = agent_end(w->agent);
    for (uint32_t i = 0; i < LIMITS; i++)
        rows[i] = (struct builtin_limit){.limit = i,
                                         .state = (int)out->limits[i].state,
                                         .worst = out->limits[i].worst,
                                         .settling = out->limits[i].settling,
                                         .held = out->limits[i].held,
                                         .violated = out->limits[i].violated,
                                         .unknown = out->limits[i].unknown,
                                         .unjudged = out->limits[i].unjudged,
                                         .last_violated = out->limits[i].last_violated};
    agent_free(w->agent);
}

static void add_gaps(struct scene *s, const struct watcher *w, int64_t now)
{
    for (uint32_t i = 0; i < LIMITS; i++)
        if (w->out->limits[i].gap > 0)
            s->gaps[s->s.gap_count++] =
                (struct history_gap){.limit = i, .begin = now - w->out->limits[i].gap, .end = now};
}

/* The interval that ends with `now`; and of what was said before, violations may have become unknown. */
static void follow(struct scene *s, const struct watcher *all, const struct agent_limit was[LIMITS], int64_t now)
{
    int instant = (int)((now - s->begin) / EVERY);
    for (int i = 0; i < LIMITS; i++) {
        const struct agent_limit *is = &all->out->limits[i];
        int64_t violated = is->violated - was[i].violated;
        if (is->settling > was[i].settling)
            s->states[instant][i] = LIMIT_UNKNOWN;
        else
            s->states[instant][i] = is->state;
        violated -= s->states[instant][i] == LIMIT_VIOLATED ? EVERY : 0;
        for (int before = instant - 1; violated < 0 && before >= 0; before--)
            if (s->states[before][i] == LIMIT_VIOLATED) {
                s->states[before][i] = LIMIT_UNKNOWN;
                violated += EVERY;
            }
    }
}

static inline void watch(struct scene *s)
{
    struct agent_limit was[LIMITS] = {0};
    struct watcher all, some;
    int64_t end = s->begin + LENGTH + 2 * EVERY;
    watcher_start(&all, s);
    watcher_start(&some, s);
    for (int64_t now = s->begin; now <= end; now += EVERY) {
        bool stopped = false;
        watcher_step(&all, s, now);
        follow(s, &all, was, now);
        memcpy(was, all.out->limits, sizeof was);
        for (int i = 0; i < GAPS; i++)
            stopped = stopped || (now > s->gap_begin[i] && now < s->gap_end[i]);
        if (stopped)
            continue;
        watcher_step(&some, s, now);
        add_gaps(s, &some, now);
    }
    agent_free(all.agent);
    watcher_end(&some, s->rows);
    for (int i = 0; i < LIMITS; i++)
        s->limits[i].global = apart;
}

/* ---- scenes ------------------------------------------------------------------------------------------------------ */

/* A process that hangs ends some time behind its last record, before the run does, and nobody sees that in a gap. */
static void draw_end(const struct scene *s, struct worker *w, bool hangs)
{
    w->ends = w->closed = w->times[w->count - 1];
    if (!hangs)
        return;
    w->ends += draw(2) ? (int64_t)draw((uint64_t)(s->begin + LENGTH - w->ends)) : 0;
    w->closed = w->ends + (int64_t)draw(EVERY);
    for (int i = 0; i < GAPS; i++)
        if (w->closed > s->gap_begin[i] && w->closed < s->gap_end[i])
            w->closed = s->gap_end[i];
}

/* A run whose limits nobody has judged. */
static void scene_draw(struct scene *s, bool lossy, bool hangs)
{
    memset(s, 0, sizeof *s);
    grown_open(&s->g, "rejudge");
    s->begin = (int64_t)s->g.begin;
    draw_experiment(s);
    draw_gaps(s);
    for (int i = 0; i < WORKERS; i++) {
        draw_records(s, &s->workers[i], lossy);
        draw_end(s, &s->workers[i], hangs);
    }
}

static void scene_store(struct scene *s)
{
    store_scene(s);
    for (int i = 0; i < LIMITS; i++)
        s->rows[i] = (struct builtin_limit){.limit = (uint32_t)i, .worst = NAN};
}

static inline void scene_begin(struct scene *s, bool lossy, bool hangs)
{
    scene_draw(s, lossy, hangs);
    scene_store(s);
}

static int runs(void)
{
    return getenv("BEZEL_TEST_LIGHT") ? RUNS_LIGHT : RUNS;
}

static void scene_end(struct scene *s)
{
    apart = false;
    free(s->s.violations);
    grown_close(&s->g);
}

/* What the agent without gaps says of a gap. */
static inline struct history_gap expected(const struct scene *s, const struct history_gap *g)
{
    struct history_gap sum = {0};
    for (int64_t at = g->begin + EVERY; at <= g->end; at += EVERY) {
        enum limit_state state = s->states[(at - s->begin) / EVERY][g->limit];
        sum.held += state == LIMIT_HELD ? EVERY : 0;
        sum.violated += state == LIMIT_VIOLATED ? EVERY : 0;
        sum.unknown += state == LIMIT_UNKNOWN ? EVERY : 0;
    }
    return sum;
}

/*
 * How much of a gap may be judged otherwise. A quantile is right to a thirty-second, and within that its value depends
 * on what came before: where it is that near to the bound, an agent that began later may see an instant differently.
 */
static inline int64_t slack(const struct scene *s, const struct history_gap *g)
{
    return s->metrics[s->limits[g->limit].metric].kind == METRIC_QUANTILE ? 2 * EVERY : 0;
}

#endif
