// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/history/summary_internal.h"

#include "base/clock.h"
#include "base/uuid.h"

/* ---- costs of a node, over its daemons --------------------------------------------------------------------------- */

static const char usage_query[] = "SELECT daemon, min(at), max(at), max(cpu), max(wakeups), max(records), max(bytes)"
                                  " FROM usage GROUP BY daemon ORDER BY max(at)";
static const char cost_query[] = "SELECT daemon, at, cpu FROM usage ORDER BY daemon, at, cpu";
static const char clock_query[] =
    "SELECT node, max(at), max(kernel), max(counter), max(program), max(error), sum(jumps), sum(clamped)"
    " FROM clocks JOIN processes ON processes.id = daemon GROUP BY node";
static const char exchange_query[] =
    "SELECT node, clock, sent, arrived, answered, received, own, own_error, peer, peer_error FROM exchanges"
    " ORDER BY node, sent";
static const char period_query[] =
    "SELECT node, avg(nullif(period, 0)), max(worst) FROM usage JOIN processes ON processes.id = daemon"
    " GROUP BY node";
static const char flow_query[] =
    "SELECT node, avg(mean), max(most), sum(backpressure) FROM (SELECT daemon,"
    " avg(1.0 * (in_rings + in_window) / nullif(produced, 0)) AS mean,"
    " max(1.0 * (in_rings + in_window) / nullif(produced, 0)) AS most, max(backpressure) AS backpressure"
    " FROM totals GROUP BY daemon) JOIN processes ON processes.id = daemon GROUP BY node";

/* Adds the costs of one of a node's daemons. */
static void take_usage(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_process *p = summary_process_at(l, s, 0);
    if (!p)
        return;
    struct summary_node *n = &l->summary.nodes[p->node];
    n->first_at = n->first_at ? n->first_at : summary_ns(s, 1);
    n->last_at = summary_ns(s, 2);
    n->cpu_ns = saturate_add(n->cpu_ns, summary_ns(s, 3));
    n->wakeups = saturate_add(n->wakeups, sqlite3_column_int64(s, 4));
    n->records = saturate_add(n->records, sqlite3_column_int64(s, 5));
    n->bytes = saturate_add(n->bytes, sqlite3_column_int64(s, 6));
}

/*
 * CPU use is CPU time over time between two samples of a daemon. Samples closer than COST_INTERVAL, as the last ones
 * may be, are merged with the interval beside them, so that a single poll does not make up an interval. The intervals
 * together are the time of the mean, so the mean is never above the maximum.
 */
#define COST_INTERVAL (50 * CLOCK_MS)

static void take_interval(struct summary_node *n, int64_t begun_at, int64_t begun_cpu, int64_t at, int64_t cpu)
{
    if (at > begun_at)
        n->sensor_cpu_max = fmax(n->sensor_cpu_max, 100.0 * (double)(cpu - begun_cpu) / (double)(at - begun_at));
}

/* Takes the interval before the present one, which is long enough not to need it. */
static void settle_cost(struct summary_loading *l)
{
    const struct summary_cost *c = &l->cost;
    if (c->has_before)
        take_interval(&l->summary.nodes[c->node], c->before_at, c->before_cpu, c->begun_at, c->begun_cpu);
}

static void end_cost(struct summary_loading *l)
{
    const struct summary_cost *c = &l->cost;
    if (c->process == 0)
        return;
    if (c->has_before && c->last_at > c->begun_at)
        take_interval(&l->summary.nodes[c->node], c->before_at, c->before_cpu, c->last_at, c->last_cpu);
    else if (c->has_before)
        settle_cost(l);
    else
        take_interval(&l->summary.nodes[c->node], c->begun_at, c->begun_cpu, c->last_at, c->last_cpu);
}

static void take_cost(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_cost *c = &l->cost;
    int64_t process = sqlite3_column_int64(s, 0), at = summary_ns(s, 1), cpu = summary_ns(s, 2);
    if (process != c->process) {
        const struct summary_process *p = summary_process_at(l, s, 0);
        end_cost(l);
        *c = (struct summary_cost){0};
        if (!p)
            return;
        *c = (struct summary_cost){.node = p->node, .process = process, .begun_at = at, .begun_cpu = cpu};
    } else {
        struct summary_node *n = &l->summary.nodes[c->node];
        n->cost_ns = saturate_add(n->cost_ns, cpu - c->last_cpu);
        n->sampled_ns = saturate_add(n->sampled_ns, at - c->last_at);
    }
    c->last_at = at;
    c->last_cpu = cpu;
    if (at - c->begun_at < COST_INTERVAL)
        return;
    settle_cost(l);
    c->has_before = true;
    c->before_at = c->begun_at;
    c->before_cpu = c->begun_cpu;
    c->begun_at = at;
    c->begun_cpu = cpu;
}

static void load_costs(struct summary_loading *l)
{
    summary_each(l, cost_query, take_cost);
    end_cost(l);
    for (size_t i = 0; i < l->summary.node_count; i++) {
        struct summary_node *n = &l->summary.nodes[i];
        if (n->sampled_ns > 0)
            n->sensor_cpu_mean = 100.0 * (double)n->cost_ns / (double)n->sampled_ns;
        n->sensor_cpu_max = fmax(n->sensor_cpu_max, n->sensor_cpu_mean); /* else rounding could make it less */
    }
}

/* A later daemon counts processes that live on again, so the rows are not summed. */
static void take_clock(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_node *n = summary_node_at(l, s, 0);
    if (!n)
        return;
    summary_fill(l, s, BUILTIN_CLOCKS, &n->clock);
}

static void take_period(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_node *n = summary_node_at(l, s, 0);
    if (!n)
        return;
    n->period_mean = summary_ns(s, 1);
    n->period_worst = summary_ns(s, 2);
}

static void take_flow(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_node *n = summary_node_at(l, s, 0);
    if (!n)
        return;
    n->en_route_max = summary_real(s, 2);
    n->en_route_mean = fmin(summary_real(s, 1), n->en_route_max);
    n->backpressure = sqlite3_column_int64(s, 3);
}

/* ---- decisions and conclusions ----------------------------------------------------------------------------------- */

#define WATCHED "2" /* TRIGGER_ENDS */
_Static_assert(TRIGGER_ENDS == 2, "as in the queries");

static const char expired_query[] =
    "SELECT node, max(at), process, aspect, expired.instance, max(bound), sum(taken), sum(expired)"
    " FROM expired JOIN processes ON processes.id = daemon"
    " GROUP BY node, expired.instance, aspect ORDER BY node, process, expired.instance, aspect";
static const char setpoints_query[] =
    "SELECT node, max(at), max(epoch), sum(applied), sum(expired), sum(outdated), sum(repeated), sum(clamped), "
    "sum(lost),"
    " sum(unsent) FROM setpoints JOIN processes ON processes.id = daemon GROUP BY node ORDER BY node";
static const char open_query[] =
    "SELECT * FROM open_spans WHERE rowid IN (SELECT max(rowid) FROM open_spans GROUP BY node, instance, place)"
    " ORDER BY since, rowid";
static const char limit_query[] =
    "SELECT node, limits.at, \"limit\", limits.state, value, worst, settling, held, violated, unknown, last_violated,"
    " unjudged, epoch FROM limits JOIN processes ON processes.id = daemon"
    " ORDER BY epoch, (epoch > 0) * (settling + held + violated + unknown), node, \"limit\", limits.at";

/*
 * Several nodes, or lives of a bezeld, may record the same global limit of one manager (epoch). Its times are the
 * manager's, so only the row with the longest time is kept, which comes last. What was not judged each counts for
 * itself, and with it all that was unknown before it was told: of that only what has become unknown since the row
 * before adds to it, or all where that row may not have counted yet what it had as unknown. Returns whether `limit`,
 * the row after the first `count`, is a copy of one of these, and takes its place.
 */
static bool is_copy(struct builtin_limit *limits, size_t count, const struct builtin_limit *limit)
{
    for (size_t i = 0; i < count && limit->epoch > 0; i++) {
        struct builtin_limit *other = &limits[i];
        if (other->limit != limit->limit || other->epoch != limit->epoch)
            continue;
        int64_t unjudged = other->unjudged, counted = other->state == 0 ? unjudged : other->unknown;
        int64_t since = saturate_sub(limit->unknown, counted);
        *other = *limit;
        other->unjudged = saturate_add(unjudged, since < 0 ? 0 : since < limit->unjudged ? since : limit->unjudged);
        return true;
    }
    return false;
}

static void drop_copies(struct summary_loading *l)
{
    struct summary *s = &l->summary;
    size_t kept = 0;
    for (size_t i = 0; i < s->limit_count && !l->err; i++) {
        if (!is_copy(s->limits, kept, &s->limits[i]))
            s->limits[kept++] = s->limits[i];
        if (rundb_is_too_long())
            l->err = BEZEL_ETIMEDOUT;
    }
    s->limit_count = kept;
}

/* Marks the process of the note as refused; one that is not in the database was left out. */
static void take_refusal(struct summary *s, const struct summary_note *n)
{
    struct summary_process *p = summary_process_of(s, n->node, n->instance);
    s->left_out = s->left_out || !p;
    if (p)
        p->refused = true;
}

static void take_note(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_note *n = summary_grow(l, &l->summary.notes, &l->summary.note_count, sizeof *n);
    if (!n)
        return;
    n->node = (uint32_t)l->summary.node_count;
    if (sqlite3_column_type(s, 0) != SQLITE_NULL)
        n->node = summary_node_index(l, s, 0);
    n->instance = summary_u64(s, 1);
    n->pid = (uint32_t)summary_u64(s, 2);
    n->name = summary_text(l, s, 3);
    n->at = summary_ns(s, 4);
    n->code = summary_text(l, s, 5);
    n->text = summary_text(l, s, 6);
    if (strcmp(n->code, RUNDB_PROCESS_REFUSED) == 0)
        take_refusal(&l->summary, n);
}

void summary_load_notes(struct summary_loading *l)
{
    summary_each(l, "SELECT node, instance, pid, name, at, code, text FROM notes ORDER BY at, rowid", take_note);
}

/* Exchanges with another collector's clock than the run's say nothing of the run's time. */
static void take_exchange(struct summary_loading *l, sqlite3_stmt *s)
{
    uint8_t run[16];
    uint32_t node = summary_node_index(l, s, 0);
    const char *identity = summary_property(&l->summary, RUNDB_CLOCK);
    struct clock_exchange x = {.sent = summary_ns(s, 2),
                               .arrived = summary_ns(s, 3),
                               .answered = summary_ns(s, 4),
                               .received = summary_ns(s, 5),
                               .own = {sqlite3_column_int64(s, 6), sqlite3_column_int64(s, 7)},
                               .peer = {sqlite3_column_int64(s, 8), sqlite3_column_int64(s, 9)}};
    if (l->err || !identity || !uuid_read(identity, run) || sqlite3_column_int64(s, 1) != clock_identity_short(run))
        return;
    struct run_clock *c = &l->summary.nodes[node].run_clock;
    size_t before = c->capacity;
    run_clock_add(c, &x, summary_ahead(&l->summary));
    (void)summary_charge(l, (c->capacity - before) * sizeof *c->pieces);
}

/* The longest that a stored record of the aspect of `o` lasted, or waited, in its process, ns; 0: there is none. */
static int64_t longest_stored(const struct summary *s, const struct builtin_open *o)
{
    int64_t longest = 0;
    const struct summary_book *book = summary_book_of(summary_process_of(s, o->node, (uint64_t)o->instance), o->aspect);
    for (size_t f = 0; book && f < book->field_count; f++) {
        const struct summary_field *is = &book->fields[f];
        bool lasts = strcmp(is->name, "duration") == 0 || strcmp(is->name, "waited") == 0;
        longest = lasts && is->count > 0 && is->max.i > longest ? is->max.i : longest;
    }
    return longest;
}

/*
 * Whether `o` was not open when the run began to end: it began behind that, or ended before. One that ended behind that
 * was open until then. Its end was seen up to a second late, and it was no longer than the longest that is stored.
 */
static bool is_outside(const struct summary *s, const struct builtin_open *o)
{
    int64_t ended = summary_ended(s);
    if (ended == 0 || o->since <= 0 || o->node >= s->node_count)
        return o->state == OPEN_ENDED;
    const struct run_clock *clock = &s->nodes[o->node].run_clock;
    bool ended_before = run_clock_at(clock, o->at).ns < ended ||
                        run_clock_at(clock, saturate_add(o->since, longest_stored(s, o))).ns < ended;
    return run_clock_at(clock, o->since).ns >= ended || (o->state == OPEN_ENDED && ended_before);
}

/* The last span of each place is there, or none if it was not open at the run's end. */
static void load_open_spans(struct summary_loading *l)
{
    struct summary *s = &l->summary;
    size_t kept = 0;
    summary_rows(l, open_query, BUILTIN_OPEN, &s->open_spans, &s->open_count);
    for (size_t i = 0; i < s->open_count; i++)
        if (!is_outside(s, &s->open_spans[i]))
            s->open_spans[kept++] = s->open_spans[i];
    s->open_count = kept;
}

void summary_load_nodes(struct summary_loading *l)
{
    struct summary *s = &l->summary;
    summary_each(l, usage_query, take_usage);
    load_costs(l);
    summary_each(l, clock_query, take_clock);
    summary_each(l, exchange_query, take_exchange);
    for (size_t i = 0; i < s->node_count; i++)
        s->nodes[i].ahead = saturate_ns(run_clock_line(&s->nodes[i].run_clock).offset);
    summary_each(l, period_query, take_period);
    summary_each(l, flow_query, take_flow);
    summary_rows(l, limit_query, BUILTIN_LIMIT, &s->limits, &s->limit_count);
    drop_copies(l);
    summary_rows(l, "SELECT * FROM decisions ORDER BY at, rowid", BUILTIN_DECISION, &s->decisions, &s->decision_count);
    summary_rows(l, "SELECT * FROM triggers WHERE event <> " WATCHED " ORDER BY at, rowid", BUILTIN_TRIGGER,
                 &s->firings, &s->firing_count);
    summary_rows(
        l,
        "SELECT node, max(at), trigger, event, process, moment, value, latency, sum(suppressed), sum(looked), done,"
        " mark FROM triggers WHERE event = " WATCHED " GROUP BY node, trigger ORDER BY trigger, node",
        BUILTIN_TRIGGER, &s->watched, &s->watched_count);
    load_open_spans(l);
    summary_rows(l, "SELECT * FROM polling ORDER BY at, rowid", BUILTIN_POLLING, &s->polling, &s->polling_count);
    summary_rows(l, "SELECT * FROM conclusions ORDER BY at, rowid", BUILTIN_CONCLUSION, &s->conclusions,
                 &s->conclusion_count);
    summary_rows(l, expired_query, BUILTIN_EXPIRED, &s->expired, &s->expired_count);
    summary_rows(l, setpoints_query, BUILTIN_SETPOINTS, &s->setpoints, &s->setpoints_count);
}
