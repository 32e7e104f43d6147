// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/experiment_state_own.h"

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t drain_limit(const struct experiment_state *s)
{
    return s->failing ? STATE_FAILING_LIMIT : STATE_DRAIN_LIMIT;
}

static bool awaits_attached(const struct experiment_state *s)
{
    return s->attaches && !s->attached_seen && !s->unmatched_told;
}

/* With a duration whoever comes meanwhile is observed: a service that restarts may be away for longer. */
static bool awaits_return(const struct experiment_state *s)
{
    return s->attaches && s->launched == 0 && s->duration == 0 && s->absent_since != 0;
}

static void tick_starting(struct experiment_state *s, int64_t now, struct state_actions *a)
{
    for (uint32_t d = 0; d < s->daemon_count; d++)
        if (s->daemons[d].phase == DAEMON_STARTS && now - s->daemons[d].started >= STATE_START_LIMIT) {
            s->unreachable = true;
            a->what |= ACTION_TELL_LATE;
            state_stop(s, ENDED_BY_FAILURE, now, a);
            return;
        }
}

static void tick_running(struct experiment_state *s, int64_t now, struct state_actions *a)
{
    if (awaits_attached(s) && now - s->started >= STATE_ATTACH_LIMIT) {
        s->unmatched_told = true;
        a->what |= ACTION_TELL_UNMATCHED;
    }
    if (s->duration > 0 && now - s->started >= s->duration) {
        if (awaits_attached(s)) /* a short run: nobody has told so far why it is empty */
            a->what |= ACTION_TELL_UNMATCHED;
        state_stop(s, ENDED_BY_DURATION, now, a);
    } else if (awaits_return(s) && now - s->absent_since >= STATE_ABSENCE)
        state_stop(s, ENDED_BY_PROCESSES, now, a);
}

/* What the phases after RUNNING do when their time is over. */
static void give_up_waiting(struct experiment_state *s, int64_t now, struct state_actions *a)
{
    switch (s->phase) {
    case PHASE_STOPPING:
        s->failed = true;
        a->what |= ACTION_TELL_LATE;
        state_drain(s, now, a);
        break;
    case PHASE_DRAINING:
        s->unreachable = !s->store_failed;
        a->what |= ACTION_TELL_UNDRAINED;
        state_close_nodes(s, now, a);
        break;
    case PHASE_CLOSING_NODES:
    case PHASE_CLOSING_COLLECTOR:
        s->failed = true;
        s->since = now;
        a->what |= ACTION_TELL_LATE | (s->phase == PHASE_CLOSING_NODES ? ACTION_KILL_NODES : ACTION_KILL_COLLECTOR);
        break;
    default:
        break;
    }
}

/* How long the present phase may last without news; INT64_MAX: for ever. */
static int64_t patience(const struct experiment_state *s)
{
    switch (s->phase) {
    case PHASE_STOPPING: /* an interrupted process has the grace twice */
        return 2 * s->grace + STATE_CLOSE_LIMIT;
    case PHASE_DRAINING:
        return drain_limit(s);
    case PHASE_CLOSING_NODES:
    case PHASE_CLOSING_COLLECTOR:
        return STATE_CLOSE_LIMIT;
    default:
        return INT64_MAX;
    }
}

/* One restart each time: its pause over, the deadline stays past until all are done. */
static void tick_restarts(struct experiment_state *s, int64_t now, struct state_actions *a)
{
    for (uint32_t i = 0; i < s->daemon_count; i++) {
        struct state_daemon *d = &s->daemons[i];
        if (d->phase != DAEMON_DOWN || d->restart_at == 0 || now < d->restart_at)
            continue;
        d->phase = DAEMON_STARTS;
        d->started = now;
        d->restart_at = 0;
        a->what |= ACTION_RESTART;
        a->daemon = i;
        return;
    }
}

static void tick_manager(struct experiment_state *s, int64_t now, struct state_actions *a)
{
    if (!s->managed || s->manager.phase != DAEMON_DOWN || s->manager.restart_at == 0 || now < s->manager.restart_at)
        return;
    s->manager.phase = DAEMON_STARTS;
    s->manager.restart_at = 0;
    a->what |= ACTION_START_MANAGER;
}

void state_tick(struct experiment_state *s, int64_t now, struct state_actions *a)
{
    if (s->phase == PHASE_STARTING)
        tick_starting(s, now, a);
    else if (s->phase == PHASE_RUNNING)
        tick_running(s, now, a);
    else if (patience(s) != INT64_MAX && now - s->since >= patience(s))
        give_up_waiting(s, now, a);
    tick_restarts(s, now, a);
    tick_manager(s, now, a);
}

int64_t experiment_state_deadline(const struct experiment_state *s)
{
    int64_t at = INT64_MAX;
    for (uint32_t i = 0; i < s->daemon_count; i++) {
        const struct state_daemon *d = &s->daemons[i];
        if (s->phase == PHASE_STARTING && d->phase == DAEMON_STARTS)
            at = earlier(at, d->started + STATE_START_LIMIT);
        if (d->phase == DAEMON_DOWN && d->restart_at != 0)
            at = earlier(at, d->restart_at);
    }
    if (s->manager.phase == DAEMON_DOWN && s->manager.restart_at != 0)
        at = earlier(at, s->manager.restart_at);
    if (s->phase == PHASE_RUNNING) {
        if (awaits_attached(s))
            at = earlier(at, s->started + STATE_ATTACH_LIMIT);
        if (awaits_return(s))
            at = earlier(at, s->absent_since + STATE_ABSENCE);
        if (s->duration > 0)
            at = earlier(at, s->started + s->duration);
    }
    if (patience(s) != INT64_MAX)
        at = earlier(at, s->since + patience(s));
    return at;
}
