// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/run_state.h"

#include "base/exit_code.h"
#include "base/saturate.h"

#include <string.h>

#define RESTART_PAUSE (100 * CLOCK_MS) /* before the second restart in a row; doubled with each further one */

static void enter(struct run_state *s, enum state_phase phase, int64_t now)
{
    s->phase = phase;
    s->since = now;
}

static bool is_manager(const struct run_state *s, uint32_t daemon)
{
    return daemon != STATE_COLLECTOR && daemon == s->manager;
}

bool run_state_is_node(const struct run_state *s, uint32_t daemon)
{
    return daemon != STATE_COLLECTOR && daemon <= s->e->node_count;
}

bool run_state_is_inner(const struct run_state *s, uint32_t daemon)
{
    return daemon > s->e->node_count && daemon <= s->e->node_count + s->e->inner_count;
}

static bool all_nodes(const struct run_state *s, bool (*is)(const struct state_daemon *d))
{
    for (uint32_t d = 1; run_state_is_node(s, d); d++)
        if (!is(&s->daemons[d]))
            return false;
    return true;
}

/* All of `level`; 0: of every level. */
static bool all_inner(const struct run_state *s, uint32_t level, bool (*is)(const struct state_daemon *d))
{
    for (uint32_t d = 1 + s->e->node_count; run_state_is_inner(s, d); d++)
        if ((level == 0 || s->daemons[d].level == level) && !is(&s->daemons[d]))
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

/* ---- The end of a run: each step goes on to the next at once where there is nothing to wait for ------------------ */

/* Whether each node has a way to the collector without inner collectors that are gone. */
static bool is_joined(const struct run_state *s)
{
    uint64_t gone = 0;
    for (uint32_t i = 0; i < s->e->inner_count; i++)
        gone |= is_gone(&s->daemons[1 + s->e->node_count + i]) ? UINT64_C(1) << i : 0;
    return gone == 0 || experiment_reaches_root(s->e, gone);
}

/* The level of those inner collectors that are there and have none below them; 0: all are gone. */
static uint32_t lowest_level(const struct run_state *s)
{
    uint32_t level = 0;
    for (uint32_t d = 1 + s->e->node_count; run_state_is_inner(s, d); d++)
        if (!is_gone(&s->daemons[d]) && s->daemons[d].level > level)
            level = s->daemons[d].level;
    return level;
}

/* Inner collectors end from below: commands to one may pass through that above it. */
static void close_collector(struct run_state *s, int64_t now, struct state_actions *a)
{
    enter(s, PHASE_CLOSING_COLLECTOR, now);
    s->level = a->level = lowest_level(s);
    if (s->level > 0)
        a->what |= ACTION_STOP_INNER;
    else if (is_gone(&s->daemons[STATE_COLLECTOR]))
        enter(s, PHASE_DONE, now);
    else
        a->what |= ACTION_STOP_COLLECTOR;
}

static void close_nodes(struct run_state *s, int64_t now, struct state_actions *a)
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

static void stop_manager(struct run_state *s, struct state_actions *a)
{
    if (!s->manager || s->daemons[s->manager].phase == DAEMON_GONE)
        return;
    s->daemons[s->manager].phase = DAEMON_GONE;
    a->what |= ACTION_STOP_MANAGER;
}

static void drain(struct run_state *s, int64_t now, struct state_actions *a)
{
    enter(s, PHASE_DRAINING, now);
    stop_manager(s, a);
    if (is_gone(&s->daemons[STATE_COLLECTOR])) {
        a->what |= ACTION_REPORT_UNDRAINED;
        close_nodes(s, now, a);
    } else if (all_nodes(s, holds_nothing))
        close_nodes(s, now, a);
    else
        a->what |= ACTION_DRAIN;
}

/* A run that is being taken over ends once its nodes serve, so that what they hold is stored. */
static void stop_resumed(struct run_state *s, enum state_ended_by by, int64_t now)
{
    if (s->resumes != PHASE_RUNNING)
        return;
    s->resumes = PHASE_STOPPING;
    s->ended_by = by;
    s->ended = now;
}

static void stop(struct run_state *s, enum state_ended_by by, int64_t now, struct state_actions *a)
{
    if (s->phase > PHASE_RUNNING)
        return;
    if (s->phase == PHASE_STARTING && s->resumes) {
        stop_resumed(s, by, now);
        return;
    }
    s->ended_by = by;
    if (s->phase == PHASE_STARTING) {
        s->failed = true;
        close_nodes(s, now, a);
        return;
    }
    s->ended = now;
    enter(s, PHASE_STOPPING, now);
    if (s->launched == 0)
        drain(s, now, a);
    else
        a->what |= s->interrupt_reached_sut ? ACTION_INTERRUPT_PROCESSES : ACTION_STOP_PROCESSES;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static void start(struct run_state *s, uint32_t daemon, int64_t now, struct state_actions *a)
{
    struct state_daemon *d = &s->daemons[daemon];
    d->phase = DAEMON_STARTS;
    d->started = now;
    d->restart_at = 0;
    a->what |= ACTION_START_DAEMON;
    a->daemon = daemon;
}

/* A part is gone for good: the run ends, failed. */
static void fail(struct run_state *s, int64_t now, struct state_actions *a)
{
    s->failed = true;
    if (s->phase == PHASE_RUNNING)
        stop(s, ENDED_BY_FAILURE, now, a);
    else if (s->phase == PHASE_DRAINING)
        drain(s, now, a);
}

/* ---- A run that was taken over ----------------------------------------------------------------------------------- */

static bool is_settled(const struct state_daemon *d)
{
    return serves(d) || is_gone(d);
}

/* Whether the run cannot go on without a node or an inner collector that is gone. */
static bool misses_node(const struct run_state *s)
{
    if (!is_joined(s))
        return true;
    for (uint32_t i = 1; run_state_is_node(s, i); i++) {
        const struct state_daemon *d = &s->daemons[i];
        if (is_gone(d) && !d->was_drained && d->on_loss != ON_LOSS_CONTINUE)
            return true;
    }
    return false;
}

/* All nodes serve, or are gone: the run goes on where it was. */
static void go_on(struct run_state *s, int64_t now, struct state_actions *a)
{
    enum state_phase to = s->resumes;
    if (!all_nodes(s, is_settled) || !is_settled(&s->daemons[STATE_COLLECTOR]))
        return;
    s->resumes = PHASE_STARTING;
    s->failed |= misses_node(s);
    if (to == PHASE_DRAINING) {
        drain(s, now, a);
        return;
    }
    enter(s, to, now);
    if (to == PHASE_STOPPING && s->launched == 0)
        drain(s, now, a);
    else if (to == PHASE_STOPPING)
        a->what |= ACTION_STOP_PROCESSES;
    else if (misses_node(s))
        stop(s, ENDED_BY_FAILURE, now, a);
    else if (s->resumes_stopped || (s->launched > 0 && s->launched_left == 0))
        stop(s, ENDED_BY_PROCESSES, now, a);
    else {
        a->what |= s->launched > 0 ? ACTION_START_PROCESSES : 0;
        if (s->manager) { /* with the next tick, as actions hold one daemon */
            s->daemons[s->manager].phase = DAEMON_DOWN;
            s->daemons[s->manager].restart_at = now;
        }
    }
}

/* Starts the next level of inner collectors, or after the last one the nodes. */
static void start_next(struct run_state *s, int64_t now, struct state_actions *a)
{
    bool any = false;
    s->level++;
    for (uint32_t d = 1 + s->e->node_count; run_state_is_inner(s, d); d++) {
        if (s->daemons[d].level != s->level)
            continue;
        s->daemons[d].phase = DAEMON_STARTS;
        s->daemons[d].started = now;
        any = true;
    }
    a->what |= any ? ACTION_START_INNER : ACTION_START_NODES;
    a->level = s->level;
    for (uint32_t d = 1; !any && run_state_is_node(s, d); d++)
        s->daemons[d].phase = DAEMON_STARTS, s->daemons[d].started = now;
}

/* An inner collector serves, or is done without. */
static void settle_inner(struct run_state *s, uint32_t daemon, int64_t now, struct state_actions *a)
{
    if (s->daemons[daemon].level == s->level && all_inner(s, s->level, is_settled))
        start_next(s, now, a);
}

/* A node that cannot be had is lost; without a collector nothing can go on. */
static void miss(struct run_state *s, uint32_t daemon, int64_t now, struct state_actions *a)
{
    struct state_daemon *d = &s->daemons[daemon];
    d->phase = DAEMON_GONE;
    if (daemon == STATE_COLLECTOR) {
        s->failed = true;
        s->resumes = PHASE_STARTING;
        stop(s, ENDED_BY_FAILURE, now, a);
        return;
    }
    if (run_state_is_inner(s, daemon)) {
        s->since = now;
        settle_inner(s, daemon, now, a);
        return;
    }
    d->lost = true;
    s->since = now;
    if (!d->was_drained) {
        a->what |= ACTION_REPORT_LOST;
        a->daemon = daemon;
    }
    go_on(s, now, a);
}

static void on_serves(struct run_state *s, uint32_t daemon, int64_t now, struct state_actions *a)
{
    struct state_daemon *d = &s->daemons[daemon];
    if (is_manager(s, daemon) && d->phase == DAEMON_GONE) /* it was stopped meanwhile */
        return;
    d->phase = DAEMON_SERVES;
    d->lost = false;
    d->silent_since = 0;
    if (is_manager(s, daemon))
        return;
    if (s->phase == PHASE_DRAINING) {
        s->since = now;
        a->what |= ACTION_DRAIN;
    }
    if (s->phase != PHASE_STARTING)
        return;
    s->since = now;
    if (daemon == STATE_COLLECTOR && s->level == 0)
        start_next(s, now, a);
    else if (daemon == STATE_COLLECTOR) /* again: what sends to it starts already */
        return;
    else if (run_state_is_inner(s, daemon))
        settle_inner(s, daemon, now, a);
    else if (s->resumes)
        go_on(s, now, a);
    else if (all_nodes(s, serves)) {
        s->started = now;
        enter(s, PHASE_RUNNING, now);
        if (s->launched > 0)
            a->what |= ACTION_START_PROCESSES;
        if (s->manager)
            start(s, s->manager, now, a);
    }
}

/* Goes on without the node, or ends the run. */
static void lose(struct run_state *s, uint32_t daemon, int64_t now, struct state_actions *a)
{
    struct state_daemon *d = &s->daemons[daemon];
    bool was_lost = d->lost;
    d->lost = true;
    d->silent_since = 0;
    d->phase = DAEMON_GONE;
    if (!was_lost) {
        a->what |= ACTION_REPORT_LOST;
        a->daemon = daemon;
    }
    if (d->on_loss != ON_LOSS_CONTINUE)
        fail(s, now, a);
    else if (s->phase == PHASE_DRAINING)
        drain(s, now, a);
}

static void on_silent(struct run_state *s, uint32_t daemon, int64_t now, struct state_actions *a)
{
    struct state_daemon *d = &s->daemons[daemon];
    if (!d->persistent || d->phase != DAEMON_SERVES || d->drained || s->phase < PHASE_RUNNING ||
        s->phase > PHASE_DRAINING)
        return;
    d->silent_since = now;
    if (d->on_loss != ON_LOSS_WAIT || d->loss_wait == 0)
        lose(s, daemon, now, a);
}

static void on_heard(struct run_state *s, uint32_t daemon)
{
    struct state_daemon *d = &s->daemons[daemon];
    d->silent_since = 0;
    if (d->lost && s->phase == PHASE_RUNNING) {
        d->lost = false;
        d->phase = DAEMON_SERVES;
    }
}

static void tick_silent(struct run_state *s, int64_t now, struct state_actions *a)
{
    for (uint32_t d = 1; run_state_is_node(s, d); d++) {
        if (s->daemons[d].silent_since == 0 || now - s->daemons[d].silent_since < s->daemons[d].loss_wait)
            continue;
        lose(s, d, now, a);
        return; /* actions hold one daemon */
    }
}

static uint32_t recent_restarts(const struct state_daemon *d, int64_t now)
{
    uint32_t recent = 0;
    for (uint32_t i = 0; i < STATE_RESTARTS && i < d->restart_count; i++)
        recent += now - d->restarts[i] < STATE_RESTART_SPAN;
    return recent;
}

bool run_state_gives_up(const struct run_state *s, uint32_t daemon, int64_t now)
{
    const struct state_daemon *d = &s->daemons[daemon];
    return s->phase <= PHASE_DRAINING && !d->drained && recent_restarts(d, now) == STATE_RESTARTS;
}

static bool plan_restart(struct state_daemon *d, int64_t now)
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

/* A daemon that dies once more after STATE_RESTARTS restarts is given up, and the experiment with it. */
static void restart(struct run_state *s, uint32_t daemon, int64_t now, struct state_actions *a)
{
    if (plan_restart(&s->daemons[daemon], now))
        return;
    if (s->daemons[daemon].persistent && s->daemons[daemon].on_loss == ON_LOSS_CONTINUE) {
        lose(s, daemon, now, a);
        return;
    }
    if (is_manager(s, daemon)) { /* the nodes keep their polling periods */
        s->unmanaged = true;
        return;
    }
    if (!run_state_is_inner(s, daemon) || !is_joined(s)) /* else its children go to their next parents */
        fail(s, now, a);
}

static void on_daemon_ended(struct run_state *s, uint32_t daemon, bool unreachable, bool killed, int64_t now,
                            struct state_actions *a)
{
    struct state_daemon *d = &s->daemons[daemon];
    if (daemon == STATE_COLLECTOR) /* the disk may have room when it is restarted */
        s->failing = false;
    if (is_manager(s, daemon) && d->phase == DAEMON_GONE) /* it was stopped */
        return;
    if (s->phase >= PHASE_RUNNING && s->phase <= PHASE_DRAINING && !d->drained) {
        restart(s, daemon, now, a);
        return;
    }
    if (s->phase == PHASE_STARTING && s->resumes) {
        /* One that had other parents ends, to be started again. */
        if (!run_state_is_inner(s, daemon) || !plan_restart(d, now))
            miss(s, daemon, now, a);
        return;
    }
    if (s->phase == PHASE_STARTING && killed && plan_restart(d, now))
        return;
    d->phase = DAEMON_GONE;
    s->unreachable |= unreachable && s->phase == PHASE_STARTING;
    if (s->phase == PHASE_STARTING)
        stop(s, ENDED_BY_FAILURE, now, a);
    else if (s->phase == PHASE_CLOSING_NODES && all_nodes(s, is_gone))
        close_collector(s, now, a);
    else if (s->phase == PHASE_CLOSING_COLLECTOR &&
             (run_state_is_inner(s, daemon) ? lowest_level(s) != s->level
                                            : daemon == STATE_COLLECTOR && lowest_level(s) == 0))
        close_collector(s, now, a);
}

static void on_process_ended(struct run_state *s, bool failed, bool stops, int64_t now, struct state_actions *a)
{
    s->failed |= failed;
    if (s->launched_left > 0)
        s->launched_left--;
    if (s->launched_left == 0 || stops)
        stop(s, ENDED_BY_PROCESSES, now, a);
}

static void on_launcher_lost(struct run_state *s, uint64_t elsewhere, int64_t now, struct state_actions *a)
{
    s->launched = s->launched_left = (uint32_t)elsewhere;
    s->failed = true;
    if (s->phase != PHASE_STOPPING)
        stop(s, ENDED_BY_FAILURE, now, a);
    else if (elsewhere == 0)
        drain(s, now, a);
}

static void on_attached(struct run_state *s, const struct state_event *event, int64_t now)
{
    s->attached_seen |= event->seen > 0;
    if (event->living > 0)
        s->absent_since = 0;
    else if (s->attached_seen && s->absent_since == 0)
        s->absent_since = now;
}

static void on_interrupt(struct run_state *s, bool terminal, int64_t now, struct state_actions *a)
{
    if (!s->interrupted) {
        s->interrupted = true;
        s->interrupt_reached_sut = terminal && s->interactive;
        stop(s, ENDED_BY_INTERRUPT, now, a);
        return;
    }
    s->killed = s->failed = true;
    if (s->ended == 0)
        s->ended = now;
    enter(s, PHASE_DONE, now);
    a->what |= ACTION_KILL;
}

/* ---- Time -------------------------------------------------------------------------------------------------------- */

static bool awaits_attached(const struct run_state *s)
{
    return s->attaches && !s->attached_seen && !s->unmatched_reported;
}

/* With a duration the run goes on: a service that restarts may be away for longer than STATE_ABSENCE. */
static bool awaits_return(const struct run_state *s)
{
    return s->attaches && s->launched == 0 && s->duration == 0 && s->absent_since != 0;
}

/* Hundreds of daemons may take longer than the limit, as long as one after the other serves. */
static int64_t start_deadline(const struct run_state *s, const struct state_daemon *d)
{
    return (d->started > s->since ? d->started : s->since) + STATE_START_LIMIT;
}

/* Daemons that are to start or to end were ready for so long, and others had the CPU: that time does not count. */
static void on_starved(struct run_state *s, int64_t starved, int64_t now)
{
    s->since = s->phase > PHASE_RUNNING ? saturate_least(now, s->since + starved) : s->since;
    for (uint32_t d = 0; d < s->daemon_count && s->phase == PHASE_STARTING; d++)
        s->daemons[d].started = saturate_least(now, start_deadline(s, &s->daemons[d]) - STATE_START_LIMIT + starved);
}

static void tick_starting(struct run_state *s, int64_t now, struct state_actions *a)
{
    for (uint32_t d = 0; d < s->daemon_count; d++)
        if (s->daemons[d].phase == DAEMON_STARTS && now >= start_deadline(s, &s->daemons[d])) {
            a->what |= ACTION_REPORT_LATE;
            if (s->resumes) {
                miss(s, d, now, a);
                return;
            }
            s->unreachable = true;
            stop(s, ENDED_BY_FAILURE, now, a);
            return;
        }
}

static void tick_running(struct run_state *s, int64_t now, struct state_actions *a)
{
    if (awaits_attached(s) && now - s->started >= STATE_ATTACH_LIMIT) {
        s->unmatched_reported = true;
        a->what |= ACTION_REPORT_UNMATCHED;
    }
    if (s->duration > 0 && now - s->started >= s->duration) {
        if (awaits_attached(s)) /* a run shorter than STATE_ATTACH_LIMIT: not reported so far */
            a->what |= ACTION_REPORT_UNMATCHED;
        stop(s, ENDED_BY_DURATION, now, a);
    } else if (awaits_return(s) && now - s->absent_since >= STATE_ABSENCE)
        stop(s, ENDED_BY_PROCESSES, now, a);
}

/* The present phase, one after RUNNING, has exceeded its time. */
static void give_up_waiting(struct run_state *s, int64_t now, struct state_actions *a)
{
    switch (s->phase) {
    case PHASE_STOPPING:
        s->failed = true; /* the nodes observe until the launcher cannot start anything more */
        a->what |= ACTION_REPORT_LATE | ACTION_KILL_LAUNCHER;
        drain(s, now, a);
        break;
    case PHASE_DRAINING:
        s->unreachable = !s->store_failed;
        a->what |= ACTION_REPORT_UNDRAINED;
        close_nodes(s, now, a);
        break;
    case PHASE_CLOSING_NODES:
        s->failed = true;
        s->since = now;
        a->what |= ACTION_REPORT_LATE | ACTION_KILL_NODES;
        break;
    case PHASE_CLOSING_COLLECTOR:
        s->failed |= all_inner(s, 0, is_gone); /* an inner collector has nothing any more */
        s->since = now;
        a->what |= ACTION_REPORT_LATE | (all_inner(s, 0, is_gone) ? ACTION_KILL_COLLECTOR : ACTION_KILL_INNER);
        break;
    default:
        break;
    }
}

/* How long the present phase may last without progress; INT64_MAX: for ever. */
static int64_t patience(const struct run_state *s)
{
    switch (s->phase) {
    case PHASE_STOPPING: /* an interrupted process gets the grace period twice */
        return 2 * s->grace + STATE_CLOSE_LIMIT;
    case PHASE_DRAINING:
        return s->failing ? STATE_FAILING_LIMIT : STATE_DRAIN_LIMIT;
    case PHASE_CLOSING_NODES:
    case PHASE_CLOSING_COLLECTOR:
        return STATE_CLOSE_LIMIT;
    default:
        return INT64_MAX;
    }
}

/* Makes one restart a tick, as actions hold one daemon. Others that are due keep run_state_deadline() in the past. */
static void tick_restarts(struct run_state *s, int64_t now, struct state_actions *a)
{
    for (uint32_t i = 0; i < s->daemon_count; i++) {
        const struct state_daemon *d = &s->daemons[i];
        if (d->phase != DAEMON_DOWN || d->restart_at == 0 || now < d->restart_at)
            continue;
        start(s, i, now, a);
        return;
    }
}

static void tick(struct run_state *s, int64_t now, struct state_actions *a)
{
    if (s->phase == PHASE_STARTING)
        tick_starting(s, now, a);
    else if (s->phase == PHASE_RUNNING)
        tick_running(s, now, a);
    else if (patience(s) != INT64_MAX && now - s->since >= patience(s))
        give_up_waiting(s, now, a);
    if (s->phase >= PHASE_RUNNING && s->phase <= PHASE_DRAINING && a->what == 0)
        tick_silent(s, now, a);
    if (!(a->what & ACTION_REPORT_LOST))
        tick_restarts(s, now, a);
}

int64_t run_state_deadline(const struct run_state *s)
{
    int64_t at = INT64_MAX;
    for (uint32_t i = 0; i < s->daemon_count; i++) {
        const struct state_daemon *d = &s->daemons[i];
        if (s->phase == PHASE_STARTING && d->phase == DAEMON_STARTS)
            at = saturate_least(at, start_deadline(s, d));
        if (d->phase == DAEMON_DOWN && d->restart_at != 0)
            at = saturate_least(at, d->restart_at);
        if (d->silent_since != 0 && s->phase >= PHASE_RUNNING && s->phase <= PHASE_DRAINING)
            at = saturate_least(at, d->silent_since + d->loss_wait);
    }
    if (s->phase == PHASE_RUNNING) {
        if (awaits_attached(s))
            at = saturate_least(at, s->started + STATE_ATTACH_LIMIT);
        if (awaits_return(s))
            at = saturate_least(at, s->absent_since + STATE_ABSENCE);
        if (s->duration > 0)
            at = saturate_least(at, s->started + s->duration);
    }
    return saturate_least(at, saturate_add(s->since, patience(s)));
}

/* ---- Interface --------------------------------------------------------------------------------------------------- */

struct state_actions run_state_begin(struct run_state *s, const struct experiment *e, bool interactive, int64_t now)
{
    memset(s, 0, sizeof *s);
    s->e = e;
    s->interactive = interactive;
    s->duration = e->duration;
    s->grace = e->grace;
    s->manager = experiment_has_manager(e) ? 1 + e->node_count + e->inner_count : 0;
    s->daemon_count = 1 + e->node_count + e->inner_count + (s->manager != 0);
    for (uint32_t i = 0; i < e->process_count; i++) {
        if (e->processes[i].attach)
            s->attaches = true;
        else
            s->launched += e->processes[i].instances;
    }
    for (uint32_t i = 0; e->nodes && i < e->node_count; i++)
        s->daemons[1 + i] = (struct state_daemon){.persistent = e->nodes[i].address != NULL,
                                                  .on_loss = e->nodes[i].on_loss.action,
                                                  .loss_wait = e->nodes[i].on_loss.wait};
    for (uint32_t i = 0; i < e->inner_count; i++)
        s->daemons[1 + e->node_count + i].level = experiment_inner_level(e, i);
    s->launched_left = s->launched;
    enter(s, PHASE_STARTING, now);
    struct state_actions a = {0};
    start(s, STATE_COLLECTOR, now, &a);
    return a;
}

struct state_saved run_state_save(const struct run_state *s)
{
    struct state_saved saved = {.phase = s->phase == PHASE_STARTING ? s->resumes : s->phase,
                                .ended_by = s->ended_by,
                                .failed = s->failed,
                                .unreachable = s->unreachable,
                                .store_failed = s->store_failed,
                                .interrupted = s->interrupted,
                                .unmanaged = s->unmanaged,
                                .attached_seen = s->attached_seen,
                                .unmatched_reported = s->unmatched_reported,
                                .started = s->started,
                                .ended = s->ended};
    for (uint32_t i = 0; i < s->daemon_count; i++)
        saved.drained[i] = s->daemons[i].drained || s->daemons[i].was_drained;
    return saved;
}

struct state_actions run_state_resume(struct run_state *s, const struct experiment *e, const struct state_saved *saved,
                                      uint32_t ended, bool stops, int64_t now)
{
    struct state_actions a = run_state_begin(s, e, false, now);
    if (saved->phase == PHASE_STARTING)
        return a;
    s->resumes = saved->phase > PHASE_DRAINING ? PHASE_DRAINING : saved->phase;
    s->resumes_stopped = stops;
    s->ended_by = saved->ended_by;
    s->failed = saved->failed;
    s->unreachable = saved->unreachable;
    s->store_failed = saved->store_failed;
    s->interrupted = saved->interrupted;
    s->unmanaged = saved->unmanaged;
    s->attached_seen = saved->attached_seen;
    s->unmatched_reported = saved->unmatched_reported;
    s->started = saved->started;
    s->ended = saved->ended;
    s->launched_left = s->launched - (ended < s->launched ? ended : s->launched);
    for (uint32_t i = 0; i < s->daemon_count; i++)
        s->daemons[i].was_drained = saved->drained[i];
    if (saved->phase != PHASE_DONE)
        return a;
    s->daemons[STATE_COLLECTOR].phase = DAEMON_DOWN;
    enter(s, PHASE_DONE, now);
    return (struct state_actions){0};
}

struct state_actions run_state_step(struct run_state *s, const struct state_event *event, int64_t now)
{
    struct state_actions a = {0};
    if (s->phase == PHASE_DONE)
        return a;
    switch (event->type) {
    case EVENT_TICK:
        tick(s, now, &a);
        break;
    case EVENT_SERVES:
        s->failed |= event->failed;
        on_serves(s, event->daemon, now, &a);
        break;
    case EVENT_DAEMON_ENDED:
        s->failed |= event->failed;
        on_daemon_ended(s, event->daemon, event->unreachable, event->killed, now, &a);
        break;
    case EVENT_PROCESS_ENDED:
        on_process_ended(s, event->failed, event->stops, now, &a);
        break;
    case EVENT_UNREADY:
        fail(s, now, &a);
        break;
    case EVENT_UNSTARTED:
        s->failed = true;
        break;
    case EVENT_TREE_EMPTY:
        if (s->phase == PHASE_STOPPING)
            drain(s, now, &a);
        break;
    case EVENT_LAUNCHER_LOST:
        on_launcher_lost(s, event->living, now, &a);
        break;
    case EVENT_ATTACHED:
        on_attached(s, event, now);
        break;
    case EVENT_PROGRESS:
        if (s->phase == PHASE_DRAINING)
            s->since = now;
        break;
    case EVENT_STARVED:
        on_starved(s, event->starved, now);
        break;
    case EVENT_DRAINED:
        s->daemons[event->daemon].drained = true;
        if (s->phase == PHASE_DRAINING)
            drain(s, now, &a);
        break;
    case EVENT_STORE_FAILED:
        s->failing = s->store_failed = s->failed = true;
        stop(s, ENDED_BY_FAILURE, now, &a);
        break;
    case EVENT_SILENT:
        on_silent(s, event->daemon, now, &a);
        break;
    case EVENT_HEARD:
        on_heard(s, event->daemon);
        break;
    case EVENT_INTERRUPT:
        on_interrupt(s, event->terminal, now, &a);
        break;
    case EVENT_TAKEN_OVER:
        s->taken = true;
        enter(s, PHASE_DONE, now);
        break;
    }
    return a;
}

int run_state_exit_code(const struct run_state *s, int report)
{
    bool nothing_seen = s->attaches && !s->attached_seen && s->launched == 0;
    if (s->taken)
        return EXIT_FAILED;
    if (s->unreachable)
        return EXIT_UNREACHABLE;
    if (s->failed)
        return EXIT_FAILED;
    if (nothing_seen)
        return EXIT_UNREACHABLE;
    return report < 0 ? EXIT_FAILED : report;
}
