// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/quota.h"

#include "base/clock.h"
#include <math.h>

#define FILLED                                                                                                         \
    0.96 /* of the budget: what a poll, and the thread that sends, use after they were let through fits in the rest */
#define BURST   0.3  /* of that may be used at once */
#define USED_UP 0.98 /* of that: what looks at the clock leaves unused is less */

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

void quota_begin(struct quota *q, int64_t now, int64_t cpu)
{
    q->begun = q->look = now;
    q->cpu = cpu;
    q->put_off = false;
}

static int64_t looks_apart(const struct quota *q)
{
    int64_t apart = q->every / LOOKS;
    return apart < LOOK_MIN ? LOOK_MIN : apart > LOOK_MAX ? LOOK_MAX : apart;
}

int64_t quota_look(struct quota *q, int64_t now, int64_t cpu)
{
    double in_time = (double)(cpu - q->cpu) / q->share; /* what was used is the quota of so much time */
    int64_t room = q->begun + (int64_t)((in_time - BURST * (double)q->every) / (1 - BURST));
    q->put_off = q->put_off || room > now;
    q->look = q->put_off ? now : now + looks_apart(q); /* near the end of it every poll counts */
    return room > now ? room : now;
}

bool quota_is_used_up(const struct quota *q, double percent)
{
    return q->share > 0 && percent >= USED_UP * 100 * q->share;
}
