// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/plant.h"

#include "tests/lib/seed.h"

#include <math.h>

/* The setting in force: what was decided `delay` steps ago, or at the start. */
static void take_decision(struct plant *p, struct plant_node *n, const struct policy_member *m)
{
    struct plant_setting now = {m->on, m->period};
    if (p->step == 0)
        for (int i = 0; i < PLANT_DELAY_MAX; i++)
            n->decided[i] = now;
    n->decided[p->step % PLANT_DELAY_MAX] = now;
    struct plant_setting then = n->decided[(p->step + PLANT_DELAY_MAX - p->delay) % PLANT_DELAY_MAX];
    n->on = then.on;
    n->period = then.period;
}

/* CPU that polls may use in a step, ns. */
static double room_of(const struct plant *p, const struct plant_node *n)
{
    double every = (double)p->every, base = n->base / 100 * every;
    return p->keeps && p->budget > 0 ? fmax(0, PLANT_KEPT * p->budget / 100 * every - base) : every;
}

/* Polls that happened, and what they cost. */
static double poll(struct plant *p, struct plant_node *n)
{
    double noise = 1 + p->noise * (2 * seed_unit(&p->seed) - 1);
    double gap = fmax((double)n->period + n->late, n->cost), found = fmin(PLANT_RING, n->flow * gap / 1e9);
    double each = (n->cost + PLANT_RECORD * found) * noise, room = room_of(p, n);
    n->phase += n->on ? (double)p->every / gap : 0;
    if (p->starved > 0 && seed_unit(&p->seed) < p->starved)
        n->phase /= 10;
    double polls = floor(n->phase), fit = floor(room / each);
    n->deferred = p->keeps && polls > fit;
    if (n->deferred) {
        polls = fit;
        n->phase = 0;
    } else {
        n->phase -= polls;
    }
    n->records = polls * found;
    n->owed += polls * each;
    double done = fmin(n->owed, (double)p->every);
    n->owed = n->on ? n->owed - done : 0;
    n->use = fmin(100, n->base + 100 * done / (double)p->every);
    return polls;
}

static double show(struct plant *p, struct plant_node *n)
{
    double left = fmax(0, 100 - n->load - n->use), sum = 0;
    n->fps = PLANT_FPS * fmin(1, p->need > 0 ? left / p->need : 1);
    if (p->window == 0)
        return PLANT_FPS;
    n->shown[p->step % p->window] = n->fps;
    uint64_t count = p->step + 1 < p->window ? p->step + 1 : p->window;
    for (uint64_t i = 0; i < count; i++)
        sum += n->shown[i];
    return sum / (double)count;
}

static void limit(struct policy_observation *seen, struct policy_limit l)
{
    bool holds = l.compare == COMPARE_AT_LEAST ? l.value >= l.bound : l.value <= l.bound;
    l.state = holds ? LIMIT_HELD : LIMIT_VIOLATED;
    seen->limits[seen->limit_count++] = l;
}

static void observe(struct plant *p, uint32_t i, const struct policy_member *m, struct policy_observation *seen)
{
    struct plant_node *n = &p->nodes[i];
    take_decision(p, n, m);
    double polls = poll(p, n), fps = show(p, n);
    bool late = p->confirms && (n->on != m->on || n->period != m->period);
    seen->members[i] = (struct policy_measure){.cpu = n->use,
                                               .polls = p->blind_polls ? (double)NAN : polls,
                                               .records = n->records,
                                               .elapsed = p->every,
                                               .kept = p->keeps,
                                               .deferred = n->deferred,
                                               .unconfirmed = late};
    if (p->budget > 0)
        limit(seen,
              (struct policy_limit){
                  .on_cpu = true, .compare = COMPARE_AT_MOST, .member = (int)i, .bound = p->budget, .value = n->use});
    if (p->window > 0)
        limit(seen, (struct policy_limit){.compare = COMPARE_AT_LEAST,
                                          .member = (int)i,
                                          .bound = PLANT_FPS_LEAST,
                                          .value = fps,
                                          .window = p->window * p->every});
}

void plant_step(struct plant *p, const struct policy_state *state, struct policy_observation *seen)
{
    double sum = 0;
    seen->dead_time = p->delay * p->every;
    seen->limit_count = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        observe(p, i, &state->members[i], seen);
        sum += p->nodes[i].use;
    }
    if (p->global > 0)
        limit(seen,
              (struct policy_limit){
                  .on_cpu = true, .compare = COMPARE_AT_MOST, .member = POLICY_ALL, .bound = p->global, .value = sum});
    p->step++;
}
