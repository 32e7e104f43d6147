// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/external/expiry.h"

#include "config/experiment.h"
#include "sensor/external/external_internal.h"

#include <fnmatch.h>
#include <stdlib.h>

int64_t expiry_bound(const struct experiment_rule *rules, const char *name)
{
    int64_t bound = 0;
    for (; rules && rules->pattern; rules++)
        if (fnmatch(rules->pattern, name, 0) == 0)
            bound = rules->value;
    return bound;
}

int expiry_watch(const struct external *x, struct external_process *p, uint32_t id)
{
    int64_t bound = p->role == ROLE_SUT ? expiry_bound(x->options.expire, p->at->dict->aspects[id - 1].name) : 0;
    if (bound == 0)
        return 0;
    if (!p->expiry && !(p->expiry = calloc(1, sizeof *p->expiry)))
        return BEZEL_ENOMEM;
    p->expiry->bound[id] = bound;
    if (p->watch[id] < 0)
        p->watch[id] = EXTERNAL_ATTENDED;
    return 0;
}

void expiry_unwatch(struct external_process *p)
{
    for (uint32_t i = 0; i < RING_ASPECTS; i++)
        p->watch[i] = p->expiry && p->expiry->bound[i] ? EXTERNAL_ATTENDED : -1;
}

void expiry_take(struct external *x, struct external_process *p, const struct packet_run *run, int64_t now)
{
    const struct external_observer *o = &x->options.observer;
    struct expiry *e = p->expiry;
    struct packet_run young = *run;
    young.dict = p->at->dict;
    if (e && e->bound[run->aspect]) {
        uint32_t old = packet_run_seek(run, 0, now - e->bound[run->aspect]);
        e->taken[run->aspect] += run->count;
        e->expired[run->aspect] += old;
        x->counts.expired += old;
        young.first += (size_t)old * run->stride;
        young.count -= old;
        young.missing += e->expired[run->aspect];
    }
    if (young.count > 0 && p->watch[run->aspect] != EXTERNAL_ATTENDED)
        o->records(o->context, p->watch[run->aspect], &young);
}

bool expiry_is_reported(const struct external_process *p)
{
    for (uint32_t i = 0; p->expiry && i < RING_ASPECTS; i++)
        if (p->expiry->reported[i] != p->expiry->taken[i])
            return false;
    return true;
}
