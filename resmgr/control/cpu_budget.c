// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/control/cpu_budget.h"

#include "base/clock.h"
#include <math.h>

#define FILLED  0.96 /* of the budget: the rest is for work that follows an admitted poll */
#define BURST   0.3  /* of that: available at once */
#define USED_UP 0.98 /* of that: less stays unused between two readings of the clock */

/* A deferred poll has a wake-up of its own, which may use at most WAKE_UP_PART of the budget of its wait. */
#define WAKE_UP      10000 /* ns */
#define WAKE_UP_PART 0.1

enum { WAITS = 8 }; /* in an interval, at least: limits a wait where the budget is small */

#define LOOK_MIN (CLOCK_MS / 4)
#define LOOK_MAX CLOCK_MS

enum { LOOKS = 200 }; /* in an interval: little of any budget is used between two */

void cpu_budget_start(struct cpu_budget *b, const struct experiment *e)
{
    *b = (struct cpu_budget){.every = e->adapt.every};
    double least = INFINITY;
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->kind == LIMIT_HOLD && l->metric == LIMIT_ON_SENSOR_CPU && l->compare == COMPARE_AT_MOST && !l->global)
            least = fmin(least, l->bound);
    }
    if (experiment_policy_can(e->adapt.policy, POLICY_RATIONS) && isfinite(least))
        b->share = FILLED * least / 100;
}

void cpu_budget_begin(struct cpu_budget *b, int64_t now, int64_t cpu, uint64_t polls)
{
    if (polls > 0)
        b->poll = (double)(cpu - b->cpu) / (double)polls;
    b->begun = b->look = now;
    b->cpu = cpu;
    b->deferred = false;
}

static int64_t looks_apart(const struct cpu_budget *b)
{
    int64_t apart = b->every / LOOKS;
    return apart < LOOK_MIN ? LOOK_MIN : apart > LOOK_MAX ? LOOK_MAX : apart;
}

static int64_t wait_at_least(const struct cpu_budget *b)
{
    double worth = (double)WAKE_UP / (WAKE_UP_PART * b->share), most = (double)b->every / WAITS;
    return (int64_t)fmin(worth, most);
}

/* When the budget has room. A poll that fits no more waits for the next interval, however late this one ends. */
static int64_t room_for(const struct cpu_budget *b, int64_t cpu)
{
    double every = (double)b->every, used = (double)(cpu - b->cpu) / (b->share * every);
    if (used > BURST && used + b->poll / (b->share * every) > 1)
        return b->begun + 2 * b->every;
    return b->begun + (int64_t)((used - BURST) / (1 - BURST) * every);
}

int64_t cpu_budget_look(struct cpu_budget *b, int64_t now, int64_t cpu)
{
    int64_t room = room_for(b, cpu), least = now + wait_at_least(b);
    if (room <= now) {
        b->look = b->deferred ? now : now + looks_apart(b); /* near the end of the budget every poll counts */
        return now;
    }
    b->deferred = true;
    b->look = now;
    return room > least ? room : least;
}

bool cpu_budget_is_used_up(const struct cpu_budget *b, double percent)
{
    return b->share > 0 && percent >= USED_UP * 100 * b->share;
}
