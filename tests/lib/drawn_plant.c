// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/drawn_plant.h"

#include "base/clock.h"
#include "resmgr/agent/agent.h"
#include "resmgr/pace/cpu_budget.h"
#include "tests/lib/seed.h"

#include <math.h>
#include <stdlib.h>

enum {
    LIMITS = 6,
    STRICT = 2,
    LAX = 4,
    CPU = 0,
    LOST = 1
}; /* those of the file, then both stricter, then both laxer */

/* ---- Drawing ----------------------------------------------------------------------------------------------------- */

static double between(uint64_t *seed, double least, double most)
{
    return least + (most - least) * seed_unit(seed);
}

static double poll_cost(const struct drawn_plant *p, const struct drawn_load *l, double found)
{
    return (p->turn + p->ring * l->rings + p->record * l->busy * found) * l->speed;
}

/*
 * Of nine tenths of the budget, records alone take a part, whatever the period; the rest pays for turns. A ring
 * overflows in `spare` times what these are apart, so that about half of the plants are feasible, at any speed.
 */
static void draw_load(struct drawn_plant *p, struct drawn_load *l, uint64_t *seed)
{
    double spare = seed_between(seed, 0.4, 10), of_records = seed_between(seed, 0.02, 0.9);
    double room = fmax(0.1 * p->budget, 0.9 * p->budget - p->base) / 100;
    l->rings = floor(seed_between(seed, 1, 500));
    l->busy = ceil(l->rings * between(seed, 0.1, 1));
    double apart = (p->turn + p->ring * l->rings) / (room * (1 - of_records));
    l->rate = of_records * room / (l->busy * p->record) * 1e9;
    p->capacity = exp2(fmin(fmax(6, round(log2(l->rate / 1e9 * apart * spare))), 16));
    if (seed_next(seed) % 2) {
        l->burst_each = seed_between(seed, 100e6, 3e9);
        l->burst_from = between(seed, 0, l->burst_each);
        l->burst_long = fmin(seed_between(seed, 2e6, 300e6), l->burst_each / 2);
        l->burst = l->rate * seed_between(seed, 0.5, 5);
        l->rate *= between(seed, 0.2, 0.8);
    }
}

struct drawn_plant drawn_plant_any(uint64_t *seed, int64_t length)
{
    static const int64_t everys[] = {20 * CLOCK_MS, 100 * CLOCK_MS, 100 * CLOCK_MS, 500 * CLOCK_MS};
    double speed = seed_between(seed, 0.3, 3);
    struct drawn_plant p = {.seed = seed_next(seed),
                            .every = everys[seed_next(seed) % 4],
                            .start = (int64_t)seed_between(seed, 100e3, 50e6),
                            .budget = seed_between(seed, 1, 20),
                            .lost = seed_between(seed, 0.1, 5),
                            .turn = speed * seed_between(seed, 3e3, 20e3),
                            .ring = speed * seed_between(seed, 30, 300),
                            .record = speed * seed_between(seed, 15, 120),
                            .noise = between(seed, 0, 0.3),
                            .wander = between(seed, 0, 0.15),
                            .first = speed * seed_between(seed, 1e5, 2e7),
                            .late = seed_between(seed, 1e3, 300e3),
                            .phases = 1 + (int)(seed_next(seed) % DRAWN_PHASES_MAX)};
    p.base = p.budget * (seed_next(seed) % 10 ? between(seed, 0.01, 0.3) : between(seed, 0.5, 2));
    for (int i = 0; i < p.phases; i++) {
        struct drawn_load *l = &p.load[i];
        *l = i > 0 ? p.load[i - 1] : (struct drawn_load){.speed = 1};
        if (i == 0)
            draw_load(&p, l, seed);
        else if (seed_next(seed) % 3 == 0)
            l->speed = between(seed, 0.7, 1.5);
        else if (seed_next(seed) % 2)
            l->rate *= between(seed, 0.1, 1.5);
        else
            l->rings = fmax(l->busy, floor(l->rings * between(seed, 0.2, 1.5)));
        l->until = length * (i + 1) / p.phases;
    }
    uint64_t other = p.seed; /* so that the plants are what they were without a dead time */
    p.dead = seed_next(&other) % 2 ? (int64_t)seed_between(&other, 1e6, 300e6) : 0;
    return p;
}

/* ---- The experiment of a run ------------------------------------------------------------------------------------- */

enum { SETPOINTS = 32 };

/* A decision on its way to the node. */
struct setpoint {
    int64_t at, period;
    bool on, lossless;
};

struct world {
    const struct drawn_plant *p;
    struct setpoint setpoints[SETPOINTS]; /* from `applied` to `decided`, modulo their number */
    unsigned decided, applied;
    bool changed; /* one came since the last sampling instant */
    uint64_t seed;
    struct experiment_node node;
    struct experiment_metric metric;
    struct experiment_limit limits[LIMITS];
    struct experiment experiment;
    struct agent *agent;
    struct cpu_budget cpu_budget;
    int64_t now, due, step_due, begun;
    double cpu, cpu_begun; /* ns */
    double polls, records, polls_begun, records_begun;
    double produced, lost;
    double drift; /* ln, of the cost */
    int phase;
    double phase_begun; /* ns */
    double last;        /* ns: when the rings were emptied last */
    bool on;
    int64_t period;
};

static void limit(struct world *w, int i, int metric, double bound)
{
    w->limits[i] = (struct experiment_limit){
        .kind = LIMIT_HOLD, .metric = metric, .compare = COMPARE_AT_MOST, .bound = bound, .tolerance = 0.01};
}

static void world_start(struct world *w, const struct drawn_plant *p, enum experiment_policy policy, int64_t period,
                        double near)
{
    static char lost_ratio[] = "lost_ratio";
    *w = (struct world){.p = p, .seed = p->seed, .on = true, .period = period, .due = 0, .step_due = p->every};
    w->metric = (struct experiment_metric){.name = lost_ratio, .kind = METRIC_LOST, .window = CLOCK_S};
    for (int i = 0; i < LIMITS; i += 2) {
        double scale = i == 0 ? 1 : i == 2 ? 1 - near : 1 + near;
        limit(w, i, LIMIT_ON_SENSOR_CPU, scale * p->budget);
        limit(w, i + 1, 0, scale * p->lost);
    }
    w->experiment = (struct experiment){
        .node_count = 1,
        .nodes = &w->node,
        .metric_count = 1,
        .metrics = &w->metric,
        .sensor_cpu_window = CLOCK_S,
        .limit_count = policy == POLICY_NONE ? LIMITS : 2,
        .limits = w->limits,
        .sensing = {.period = period, .ring_records = (uint32_t)p->capacity},
        .adapt = {.policy = policy, .every = p->every, .period_min = CLOCK_US, .period_max = CLOCK_S}};
    if (agent_new(&w->experiment, 0, &w->agent) != 0)
        abort();
    agent_loop(w->agent, p->dead);
    cpu_budget_start(&w->cpu_budget, &w->experiment);
}

/* ---- Its course -------------------------------------------------------------------------------------------------- */

static const struct drawn_load *load_of(const struct world *w)
{
    return &w->p->load[w->phase];
}

/* Records that a busy ring got since the phase began, `at` ns after that. */
static double arrived(const struct drawn_load *l, double at)
{
    double sum = l->rate * at / 1e9;
    if (l->burst <= 0)
        return sum;
    double since = at + l->burst_from, whole = floor(since / l->burst_each), rest = since - whole * l->burst_each;
    return sum + l->burst * (whole * l->burst_long + fmin(rest, l->burst_long)) / 1e9;
}

/* Records that a poll finds in each busy ring; counts what was lost since the last one. */
static double empty_rings(struct world *w)
{
    const struct drawn_load *l = load_of(w);
    double now = (double)w->now - w->phase_begun, came = arrived(l, now) - arrived(l, w->last - w->phase_begun);
    double found = fmin(came, w->p->capacity);
    w->last = (double)w->now;
    w->produced += l->busy * came;
    w->lost += l->busy * (came - found);
    return found;
}

static void next_phase(struct world *w)
{
    if (w->phase + 1 >= w->p->phases || w->now < load_of(w)->until)
        return;
    w->phase++; /* what came since the last poll counts as of the phase that begins */
    w->phase_begun = w->last;
}

static double exponential(uint64_t *seed, double mean)
{
    return -mean * log(1 - seed_unit(seed));
}

static void pass(struct world *w, int64_t ns)
{
    w->now += ns;
    w->cpu += w->p->base / 100 * load_of(w)->speed * (double)ns;
}

static void poll(struct world *w)
{
    const struct drawn_plant *p = w->p;
    int64_t since = (int64_t)w->last;
    int64_t earliest = cpu_budget_polled(&w->cpu_budget, w->now);
    double noise = 1 + p->noise * (2 * seed_unit(&w->seed) - 1), found = empty_rings(w);
    double cost = poll_cost(p, load_of(w), found) * noise * exp(w->drift) + (w->polls == 0 ? p->first : 0);
    w->polls++;
    agent_taken(w->agent, (uint32_t)found, since, w->now, w->now);
    w->records += floor(load_of(w)->busy * found);
    w->cpu += cost;
    pass(w, (int64_t)cost);
    w->due += w->period;
    if (w->due <= w->now)
        w->due += ((w->now - w->due) / w->period + 1) * w->period;
    if (w->due < earliest)
        w->due = earliest;
}

static bool is_deferred(struct world *w)
{
    if (!cpu_budget_asks(&w->cpu_budget, w->now))
        return false;
    int64_t room = cpu_budget_look(&w->cpu_budget, w->now, (int64_t)w->cpu);
    if (room <= w->now) /* a node asks before it looks for records, and again before it takes them */
        room = cpu_budget_look(&w->cpu_budget, w->now, (int64_t)w->cpu);
    if (room <= w->now)
        return false;
    w->due = room;
    w->cpu += w->p->turn; /* a look costs as much as a poll of no rings */
    return true;
}

/* What is lost shows when it is: the writers count it. */
static double lost_by_now(const struct world *w)
{
    const struct drawn_load *l = load_of(w);
    double came = arrived(l, (double)w->now - w->phase_begun) - arrived(l, w->last - w->phase_begun);
    return w->lost + l->busy * fmax(0, came - w->p->capacity);
}

static double produced_by_now(const struct world *w)
{
    const struct drawn_load *l = load_of(w);
    return w->produced + l->busy * (arrived(l, (double)w->now - w->phase_begun) - arrived(l, w->last - w->phase_begun));
}

/* The node polls as it was decided. */
static void apply(struct world *w, const struct setpoint *s)
{
    w->changed = w->changed || s->period != w->period || s->on != w->on;
    if (s->period != w->period && w->due > w->now + s->period)
        w->due = w->now + s->period;
    if (s->on && !w->on)
        w->due = w->now;
    w->on = s->on;
    w->cpu_budget.lossless = s->lossless;
    w->period = s->period;
}

static void apply_due(struct world *w)
{
    for (; w->applied != w->decided && w->setpoints[w->applied % SETPOINTS].at <= w->now; w->applied++)
        apply(w, &w->setpoints[w->applied % SETPOINTS]);
}

/* Of more than fit the oldest one is lost. */
static void send(struct world *w, const struct agent_outcome *o)
{
    w->applied += w->decided - w->applied == SETPOINTS;
    w->setpoints[w->decided++ % SETPOINTS] =
        (struct setpoint){w->now + w->p->dead, o->after.period, o->after.on, o->lossless};
    apply_due(w);
    w->changed = false; /* what is in force from here on is so all of the next interval */
}

static const struct agent_outcome *sample(struct world *w)
{
    int64_t elapsed = w->now - w->begun, cpu = (int64_t)w->cpu;
    bool deferred = w->cpu_budget.deferred;
    struct policy_measure m = {.cpu = 100 * ((double)cpu - w->cpu_begun) / (double)elapsed,
                               .polls = w->polls - w->polls_begun,
                               .records = w->records - w->records_begun,
                               .elapsed = elapsed,
                               .kept = w->cpu_budget.share > 0,
                               .deferred = deferred,
                               .unconfirmed = w->changed || w->applied != w->decided};
    cpu_budget_begin(&w->cpu_budget, w->now, cpu, (uint64_t)(w->polls - w->polls_begun));
    w->begun = w->now;
    w->cpu_begun = (double)cpu;
    w->polls_begun = w->polls;
    w->records_begun = w->records;
    if (deferred && w->due > w->now)
        w->due = w->now;
    agent_totals(w->agent, (uint64_t)produced_by_now(w), (uint64_t)lost_by_now(w), 0, w->now);
    const struct agent_outcome *o = agent_step(w->agent, w->now, &m);
    send(w, o);
    double share = (double)elapsed / 300e6;
    w->drift = w->drift * exp(-share) + w->p->wander * sqrt(1 - exp(-2 * share)) * 1.73 * (2 * seed_unit(&w->seed) - 1);
    w->step_due += w->p->every;
    if (w->step_due <= w->now)
        w->step_due = w->now + w->p->every;
    return o;
}

/* A turn; returns what the agent concluded if it was a sampling instant, else NULL. */
static const struct agent_outcome *turn(struct world *w)
{
    int64_t due = w->on && w->due < w->step_due ? w->due : w->step_due;
    double late = exponential(&w->seed, w->p->late);
    pass(w, (due > w->now ? due - w->now : 0) + (int64_t)late);
    next_phase(w);
    apply_due(w);
    if (w->on && w->now >= w->due && !is_deferred(w))
        poll(w);
    return w->now >= w->step_due ? sample(w) : NULL;
}

static double violated(const struct agent_limit *l)
{
    double judged = (double)(l->held + l->violated);
    return judged > 0 ? (double)l->violated / judged : 0;
}

static struct drawn_run conclude(const struct agent_outcome *o, int first, double tolerance)
{
    struct drawn_run r = {.cpu = violated(&o->limits[first + CPU]), .lost = violated(&o->limits[first + LOST])};
    r.held = r.cpu <= tolerance && r.lost <= tolerance;
    return r;
}

struct drawn_run drawn_plant_elastic(const struct drawn_plant *p, int64_t since)
{
    struct world w;
    const struct agent_outcome *o = NULL, *last = NULL;
    int64_t told = -1;
    bool ever = false;
    world_start(&w, p, POLICY_ELASTIC, p->start, 0);
    while (w.now < p->load[p->phases - 1].until) {
        o = turn(&w);
        if (!o)
            continue;
        last = o;
        bool says = o->actions.infeasible || o->own.starved;
        ever = ever || says;
        told = told < 0 && says && w.now >= since ? w.now - since : told;
    }
    struct drawn_run r = conclude(last, 0, 0.01);
    r.told = told;
    r.ever_told = ever;
    r.polls = w.polls;
    agent_free(w.agent);
    return r;
}

/* ---- The oracle -------------------------------------------------------------------------------------------------- */

/* Of a fixed period. */
struct fixed {
    bool strict;                /* the stricter limits hold */
    bool lax[DRAWN_PHASES_MAX]; /* in this phase the laxer ones do */
    bool too_dear;              /* the laxest budget is broken all the time: shorter periods are dearer */
};

static struct fixed run_fixed(const struct drawn_plant *p, int64_t period, double near)
{
    struct world w;
    struct fixed f = {0};
    const struct agent_outcome *o, *last = NULL;
    double steps[DRAWN_PHASES_MAX] = {0}, broken[DRAWN_PHASES_MAX] = {0}, dear[DRAWN_PHASES_MAX] = {0};
    int64_t settling = CLOCK_S + AGENT_SETTLING * p->every;
    world_start(&w, p, POLICY_NONE, period, near);
    while (w.now < p->load[p->phases - 1].until) {
        o = turn(&w);
        if (!o)
            continue;
        last = o;
        if ((double)w.now < w.phase_begun + (double)settling)
            continue;
        steps[w.phase]++;
        bool too_dear = o->limits[LAX + CPU].state == LIMIT_VIOLATED;
        dear[w.phase] += too_dear;
        broken[w.phase] += too_dear || o->limits[LAX + LOST].state == LIMIT_VIOLATED;
    }
    f.strict = conclude(last, STRICT, 0.01).held;
    f.too_dear = true;
    for (int i = 0; i < p->phases; i++) {
        f.lax[i] = broken[i] <= 0.01 * steps[i];
        f.too_dear = f.too_dear && dear[i] >= 0.99 * steps[i];
    }
    agent_free(w.agent);
    return f;
}

struct drawn_oracle drawn_plant_oracle(const struct drawn_plant *p, double near, double step)
{
    struct drawn_oracle oracle = {.is = DRAWN_NEAR};
    bool lax[DRAWN_PHASES_MAX] = {0};
    for (double period = CLOCK_S; period >= 10 * CLOCK_US; period /= step) {
        struct fixed f = run_fixed(p, (int64_t)period, near);
        if (f.strict)
            oracle.period = (int64_t)period;
        for (int i = 0; i < p->phases; i++)
            lax[i] = lax[i] || f.lax[i];
        if (f.too_dear || oracle.period)
            break;
    }
    if (oracle.period)
        oracle.is = DRAWN_FEASIBLE;
    for (int i = p->phases; i-- > 0 && !oracle.period;)
        if (!lax[i]) {
            oracle.is = DRAWN_INFEASIBLE;
            oracle.since = i > 0 ? p->load[i - 1].until : 0;
        }
    return oracle;
}
