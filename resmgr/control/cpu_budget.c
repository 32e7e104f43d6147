// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/quota.h"

#include "base/clock.h"
#include <math.h>

#define FILLED                                                                                                         \
    0.96 /* of the budget: what a poll, and the thread that sends, use after they were let through fits in the rest */
#define BURST   0.3  /* of that may be used at once */
#define USED_UP 0.98 /* of that: what looks at the clock leaves unused is less */

/* A poll that waited woke up for itself alone: what that costs is to be no more than a part of the budget of the wait.
 */
#define WAKE_UP      10000 /* ns */
#define WAKE_UP_PART 0.1

enum { WAITS = 8 }; /* in an interval, at least: a small budget must not make one wait longer */

#define LOOK_MIN (CLOCK_MS / 4)
#define LOOK_MAX CLOCK_MS

enum { LOOKS = 200 }; /* in an interval: what is used between two is then a small part of any budget */

void quota_start(struct quota *q, const struct experiment *e)
{
    *q = (struct quota){.every = e->adapt.every};
    double least = INFINITY;
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->kind == LIMIT_HOLD && l->metric == LIMIT_ON_SENSOR_CPU && l->compare == COMPARE_AT_MOST && !l->whole)
            least = fmin(least, l->bound);
    }
    if (e->adapt.policy == POLICY_ELASTIC && isfinite(least))
        q->share = FILLED * least / 100;
}

void quota_begin(struct quota *q, int64_t now, int64_t cpu, uint64_t polls)
{
    if (polls > 0)
        q->poll = (double)(cpu - q->cpu) / (double)polls;
    q->begun = q->look = now;
    q->cpu = cpu;
    q->put_off = false;
}

static int64_t looks_apart(const struct quota *q)
{
    int64_t apart = q->every / LOOKS;
    return apart < LOOK_MIN ? LOOK_MIN : apart > LOOK_MAX ? LOOK_MAX : apart;
}

static int64_t wait_at_least(const struct quota *q)
{
    double worth = (double)WAKE_UP / (WAKE_UP_PART * q->share), most = (double)q->every / WAITS;
    return (int64_t)fmin(worth, most);
}

/* Of a poll that does not fit in any more, room is where the next interval has begun, whenever this one ends. */
static int64_t room_for(const struct quota *q, int64_t cpu)
{
    double every = (double)q->every, used = (double)(cpu - q->cpu) / (q->share * every);
    if (used > BURST && used + q->poll / (q->share * every) > 1)
        return q->begun + 2 * q->every;
    return q->begun + (int64_t)((used - BURST) / (1 - BURST) * every);
}

int64_t quota_look(struct quota *q, int64_t now, int64_t cpu)
{
    int64_t room = room_for(q, cpu), least = now + wait_at_least(q);
    if (room <= now) {
        q->look = q->put_off ? now : now + looks_apart(q); /* near the end of it every poll counts */
        return now;
    }
    q->put_off = true;
    q->look = now;
    return room > least ? room : least;
}

bool quota_is_used_up(const struct quota *q, double percent)
{
    return q->share > 0 && percent >= USED_UP * 100 * q->share;
}
