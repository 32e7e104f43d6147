// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/experiment_state_own.h"

#include "ecs/commands.h"

#include <string.h>

#define RESTART_PAUSE (100 * CLOCK_MS) /* before the second restart in a row; doubled with each further one */

static void enter(struct experiment_state *s, enum state_phase phase, int64_t now)
{
    s->phase = phase;
    s->since = now;
}

static bool all_nodes(const struct experiment_state *s, bool (*is)(const struct state_daemon *d))
{
    for (uint32_t d = 1; d < s->daemon_count; d++)
        if (!is(&s->daemons[d]))
            return false;
    return true;
}

static bool serves(const struct state_daemon *d)
{
    return d->phase == DAEMON_SERVES;
}

static bool is_gone(const struct state_daemon *d)
{
    return d->phase == DAEMON_GONE;
}

static bool holds_nothing(const struct state_daemon *d)
{
    return d->drained || is_gone(d);
}

/* ---- The way down: each step takes the next at once where there is nothing to wait for --------------------------- */

static void close_collector(struct experiment_state *s, int64_t now, struct state_actions *a)
{
    enter(s, PHASE_CLOSING_COLLECTOR, now);
    if (is_gone(&s->daemons[STATE_COLLECTOR]))
        enter(s, PHASE_DONE, now);
    else
        a->what |= ACTION_STOP_COLLECTOR;
}

void state_close_nodes(struct experiment_state *s, int64_t now, struct state_actions *a)
{
    enter(s, PHASE_CLOSING_NODES, now);
    for (uint32_t d = 0; d < s->daemon_count; d++)
        if (s->daemons[d].phase == DAEMON_DOWN)
            s->daemons[d].phase = DAEMON_GONE;
    if (all_nodes(s, is_gone))
        close_collector(s, now, a);
    else
        a->what |= ACTION_STOP_NODES;
}

void state_drain(struct experiment_state *s, int64_t now, struct state_actions *a)
{
    enter(s, PHASE_DRAINING, now);
    if (s->managed && s->manager.phase != DAEMON_GONE)
        a->what |= ACTION_STOP_MANAGER;
    s->manager.phase = DAEMON_GONE;
    if (is_gone(&s->daemons[STATE_COLLECTOR])) {
        a->what |= ACTION_TELL_UNDRAINED;
        state_close_nodes(s, now, a);
    } else if (all_nodes(s, holds_nothing))
        state_close_nodes(s, now, a);
    else
        a->what |= ACTION_DRAIN;
}

void state_stop(struct experiment_state *s, enum state_ended_by by, int64_t now, struct state_actions *a)
{
    if (s->phase > PHASE_RUNNING)
        return;
    s->ended_by = by;
    if (s->phase == PHASE_STARTING) {
        s->failed = true;
        state_close_nodes(s, now, a);
        return;
    }
    s->ended = now;
    enter(s, PHASE_STOPPING, now);
    if (s->launched == 0)
        state_drain(s, now, a);
    else
        a->what |= s->interrupt_reached_sut ? ACTION_INTERRUPT_PROCESSES : ACTION_STOP_PROCESSES;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static void on_serves(struct experiment_state *s, uint32_t daemon, int64_t now, struct state_actions *a)
{
    struct state_daemon *d = &s->daemons[daemon];
    d->phase = DAEMON_SERVES;
    if (s->phase == PHASE_DRAINING) {
        s->since = now;
        a->what |= ACTION_DRAIN;
    }
    if (s->phase != PHASE_STARTING)
        return;
    if (daemon == STATE_COLLECTOR) {
        for (uint32_t i = 1; i < s->daemon_count; i++)
            s->daemons[i] = (struct state_daemon){.phase = DAEMON_STARTS, .started = now};
        a->what |= ACTION_START_NODES;
    } else if (all_nodes(s, serves)) {
        s->started = now;
        enter(s, PHASE_RUNNING, now);
        if (s->launched > 0)
            a->what |= ACTION_START_PROCESSES;
        if (s->managed)
            a->what |= ACTION_START_MANAGER;
        s->manager.phase = DAEMON_STARTS;
    }
}

static uint32_t recent_restarts(const struct state_daemon *d, int64_t now)
{
    uint32_t recent = 0;
    for (uint32_t i = 0; i < STATE_RESTARTS && i < d->restart_count; i++)
        recent += now - d->restarts[i] < STATE_RESTART_SPAN;
    return recent;
}

bool experiment_state_gives_up(const struct experiment_state *s, uint32_t daemon, int64_t now)
{
    const struct state_daemon *d = &s->daemons[daemon];
    return s->phase >= PHASE_RUNNING && s->phase <= PHASE_DRAINING && !d->drained &&
           recent_restarts(d, now) == STATE_RESTARTS;
}

bool state_plan_restart(struct state_daemon *d, int64_t now)
{
    int64_t *oldest = &d->restarts[d->restart_count % STATE_RESTARTS];
    uint32_t recent = recent_restarts(d, now);
    if (recent == STATE_RESTARTS) {
        d->phase = DAEMON_GONE;
        return false;
    }
    d->phase = DAEMON_DOWN;
    d->restart_at = recent == 0 ? now : now + (RESTART_PAUSE << (recent - 1));
    *oldest = now;
    d->restart_count++;
    return true;
}

/* At its sixth death in a row a daemon is given up, and the experiment with it. */
static void restart(struct experiment_state *s, uint32_t daemon, int64_t now, struct state_actions *a)
{
    if (state_plan_restart(&s->daemons[daemon], now))
        return;
    s->failed = true;
    if (s->phase == PHASE_RUNNING)
        state_stop(s, ENDED_BY_FAILURE, now, a);
    else if (s->phase == PHASE_DRAINING)
        state_drain(s, now, a);
}

static void on_daemon_ended(struct experiment_state *s, uint32_t daemon, bool unreachable, int64_t now,
                            struct state_actions *a)
{
    struct state_daemon *d = &s->daemons[daemon];
    if (daemon == STATE_COLLECTOR) /* its next life may have room */
        s->failing = false;
    if (s->phase >= PHASE_RUNNING && s->phase <= PHASE_DRAINING && !d->drained) {
        restart(s, daemon, now, a);
        return;
    }
    d->phase = DAEMON_GONE;
    s->unreachable |= unreachable && s->phase == PHASE_STARTING;
    if (s->phase == PHASE_STARTING)
        state_stop(s, ENDED_BY_FAILURE, now, a);
    else if (s->phase == PHASE_CLOSING_NODES && all_nodes(s, is_gone))
        close_collector(s, now, a);
    else if (s->phase == PHASE_CLOSING_COLLECTOR && daemon == STATE_COLLECTOR)
        enter(s, PHASE_DONE, now);
}

/* The nodes keep how they poll while there is none, so one that is given up fails nothing. */
static void on_manager_ended(struct experiment_state *s, int64_t now)
{
    if (s->manager.phase == DAEMON_STARTS)
        (void)state_plan_restart(&s->manager, now);
}

static void on_process_ended(struct experiment_state *s, bool failed, int64_t now, struct state_actions *a)
{
    s->failed |= failed;
    if (s->launched_left > 0)
        s->launched_left--;
    if (s->launched_left == 0)
        state_stop(s, ENDED_BY_PROCESSES, now, a);
}

static void on_launcher_lost(struct experiment_state *s, int64_t now, struct state_actions *a)
{
    s->launched = s->launched_left = 0;
    s->failed = true;
    if (s->phase == PHASE_STOPPING)
        state_drain(s, now, a);
    else
        state_stop(s, ENDED_BY_FAILURE, now, a);
}

static void on_attached(struct experiment_state *s, const struct state_event *event, int64_t now)
{
    s->attached_seen |= event->seen > 0;
    if (event->living > 0)
        s->absent_since = 0;
    else if (s->attached_seen && s->absent_since == 0)
        s->absent_since = now;
}

static void on_interrupt(struct experiment_state *s, bool terminal, int64_t now, struct state_actions *a)
{
    if (!s->interrupted) {
        s->interrupted = true;
        s->interrupt_reached_sut = terminal && s->interactive;
        state_stop(s, ENDED_BY_INTERRUPT, now, a);
        return;
    }
    s->killed = s->failed = true;
    if (s->ended == 0)
        s->ended = now;
    enter(s, PHASE_DONE, now);
    a->what |= ACTION_KILL;
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

struct state_actions experiment_state_begin(struct experiment_state *s, const struct experiment *e, bool interactive,
                                            int64_t now)
{
    memset(s, 0, sizeof *s);
    s->interactive = interactive;
    s->duration = e->duration;
    s->grace = e->grace;
    s->daemon_count = 1 + e->node_count;
    s->managed = experiment_has_manager(e);
    for (uint32_t i = 0; i < e->process_count; i++) {
        if (e->processes[i].attach)
            s->attaches = true;
        else
            s->launched += e->processes[i].instances;
    }
    s->launched_left = s->launched;
    s->daemons[STATE_COLLECTOR] = (struct state_daemon){.phase = DAEMON_STARTS, .started = now};
    enter(s, PHASE_STARTING, now);
    return (struct state_actions){.what = ACTION_START_COLLECTOR};
}

struct state_actions experiment_state_step(struct experiment_state *s, const struct state_event *event, int64_t now)
{
    struct state_actions a = {0};
    if (s->phase == PHASE_DONE)
        return a;
    switch (event->type) {
    case EVENT_TICK:
        state_tick(s, now, &a);
        break;
    case EVENT_SERVES:
        on_serves(s, event->daemon, now, &a);
        break;
    case EVENT_DAEMON_ENDED:
        s->failed |= event->failed;
        on_daemon_ended(s, event->daemon, event->unreachable, now, &a);
        break;
    case EVENT_PROCESS_ENDED:
        on_process_ended(s, event->failed, now, &a);
        break;
    case EVENT_TREE_EMPTY:
        if (s->phase == PHASE_STOPPING)
            state_drain(s, now, &a);
        break;
    case EVENT_LAUNCHER_LOST:
        on_launcher_lost(s, now, &a);
        break;
    case EVENT_ATTACHED:
        on_attached(s, event, now);
        break;
    case EVENT_PROGRESS:
        if (s->phase == PHASE_DRAINING)
            s->since = now;
        break;
    case EVENT_DRAINED:
        s->daemons[event->daemon].drained = true;
        if (s->phase == PHASE_DRAINING)
            state_drain(s, now, &a);
        break;
    case EVENT_STORE_FAILED:
        s->failing = s->store_failed = s->failed = true;
        state_stop(s, ENDED_BY_FAILURE, now, &a);
        break;
    case EVENT_MANAGER_ENDED:
        on_manager_ended(s, now);
        break;
    case EVENT_INTERRUPT:
        on_interrupt(s, event->terminal, now, &a);
        break;
    }
    return a;
}

int experiment_state_exit_code(const struct experiment_state *s, int report)
{
    bool nothing_seen = s->attaches && !s->attached_seen && s->launched == 0;
    if (s->unreachable)
        return EXIT_UNREACHABLE;
    if (s->failed)
        return EXIT_FAILED;
    if (nothing_seen)
        return EXIT_UNREACHABLE;
    return report < 0 ? EXIT_FAILED : report;
}
