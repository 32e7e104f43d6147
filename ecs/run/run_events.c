// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/limit.h"
#include "base/units.h"
#include "ecs/run_impl.h"
#include "ecs/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* ---- Actions ----------------------------------------------------------------------------------------------------- */

static void start_daemon(struct run *r, uint32_t d)
{
    r->up[d] = true; /* even where it fails: run_take_daemons() finds it ended */
    if (fleet_start(&r->fleet, d) != 0)
        operator_error(&r->operator, "BEZEL-RUN-DAEMON", "cannot start %s: %s", r->fleet.daemons[d].program,
                       limit_reason(err_from_errno(errno)));
}

static void tell_launcher(struct run *r, enum launcher_verb verb)
{
    if (!r->launcher_lost && launcher_tell(&r->launcher, verb) != 0)
        return; /* run_take_launcher() finds out */
}

static void drain_nodes(struct run *r)
{
    for (uint32_t d = 0; d < r->fleet.count; d++) /* the collector too: it then syncs without delay */
        if (r->fleet.daemons[d].link && !r->fleet.status[d].told_drain)
            fleet_ask(&r->fleet, d, VERB_DRAIN);
    r->next_status = 0;
}

/* The processes are told to end: who falls silent from now on is not hung. */
static void tell_ending(struct run *r)
{
    for (uint32_t d = 1; d < r->fleet.count; d++)
        if (r->fleet.daemons[d].link)
            fleet_ask(&r->fleet, d, VERB_ENDING);
}

static void stop_nodes(struct run *r)
{
    for (uint32_t d = 1; d < r->fleet.count; d++)
        if (r->up[d])
            fleet_ask(&r->fleet, d, VERB_STOP);
}

static void kill_daemons(struct run *r, uint32_t from, uint32_t to)
{
    for (uint32_t d = from; d < to && d < r->fleet.count; d++)
        daemon_signal(&r->fleet.daemons[d], SIGKILL);
}

/* For each process to attach to: is it that no such program runs, or that it does not speak to this node? */
static void tell_unmatched(struct run *r)
{
    const char *and_now = r->state.phase == PHASE_RUNNING ? "; still waiting" : "";
    for (uint32_t i = 0; i < r->e->process_count; i++) {
        const struct experiment_process *p = &r->e->processes[i];
        pid_t pid = p->attach ? tree_find_executable(p->attach) : 0;
        if (p->attach && pid == 0)
            operator_error(&r->operator, "BEZEL-RUN-ATTACH", "process '%s': no running program matches '%s'%s", p->name,
                           p->attach, and_now);
        else if (p->attach)
            operator_error(&r->operator, "BEZEL-RUN-ATTACH",
                           "process '%s': pid %d matches '%s', but has no segment in %s (does it use libbezel, has it "
                           "recorded anything, is its BEZEL_DIR the same?)%s",
                           p->name, (int)pid, p->attach, r->fleet.node_dirs[p->node], and_now);
    }
}

static void tell_undrained(struct run *r)
{
    for (uint32_t d = 1; d < r->fleet.count; d++) {
        const struct fleet_status *s = &r->fleet.status[d];
        if (r->state.daemons[d].drained)
            continue;
        if (s->known && !s->told_mute)
            operator_error(&r->operator, "BEZEL-RUN-UNDRAINED",
                           "gave up draining node %s: the collector has not stored %s that its bezeld holds in packets",
                           r->e->nodes[d - 1].name, units_bytes(s->waiting).s);
        else
            operator_error(&r->operator, "BEZEL-RUN-UNDRAINED",
                           "gave up draining node %s: its bezeld does not answer; what its rings hold is not stored",
                           r->e->nodes[d - 1].name);
    }
}

/* Of a session its bezeld may have said what it waits for. */
static void tell_unready(struct run *r, const struct daemon *daemon)
{
    char why[OPERATOR_TEXT_MAX / 2] = "";
    if (daemon_is_session(daemon))
        daemon_last_words(daemon, why, sizeof why);
    operator_error(&r->operator, "BEZEL-RUN-LATE", "%s did not get ready within %s%s%s; its log: %s", daemon->name,
                   units_duration(STATE_START_LIMIT).s, why[0] ? ": " : "", why, daemon_log(daemon));
}

static void tell_late(struct run *r, enum state_phase phase)
{
    for (uint32_t d = 0; d < r->fleet.count; d++) {
        bool starting = phase == PHASE_STARTING && r->up[d] && !r->fleet.daemons[d].link;
        bool closing = (phase == PHASE_CLOSING_NODES && d > 0) || (phase == PHASE_CLOSING_COLLECTOR && d == 0);
        if (starting)
            tell_unready(r, &r->fleet.daemons[d]);
        else if (closing && r->up[d])
            operator_error(&r->operator, "BEZEL-RUN-LATE", "%s did not stop and is killed; its log: %s",
                           r->fleet.daemons[d].name, daemon_log(&r->fleet.daemons[d]));
    }
    if (phase == PHASE_STOPPING)
        operator_error(&r->operator, "BEZEL-RUN-LATE", "not all processes could be ended");
}

static void tell(struct run *r, unsigned what, enum state_phase phase)
{
    if (what & ACTION_TELL_LATE)
        tell_late(r, phase);
    if (what & ACTION_TELL_UNMATCHED)
        tell_unmatched(r);
    if (what & ACTION_TELL_UNDRAINED) {
        r->undrained = true;
        tell_undrained(r);
    }
}

void run_act(struct run *r, struct state_actions actions)
{
    unsigned what = actions.what;
    if (what & ACTION_START_COLLECTOR)
        start_daemon(r, STATE_COLLECTOR);
    for (uint32_t d = 1; d < r->fleet.count && what & ACTION_START_NODES; d++)
        start_daemon(r, d);
    if (what & ACTION_RESTART)
        start_daemon(r, actions.daemon);
    if (what & ACTION_START_MANAGER)
        run_manager_start(r);
    if (what & (ACTION_STOP_MANAGER | ACTION_KILL))
        run_manager_stop(r, what & ACTION_KILL ? SIGKILL : SIGTERM);
    if (what & ACTION_START_PROCESSES)
        tell_launcher(r, LAUNCHER_START);
    if (what & (ACTION_STOP_PROCESSES | ACTION_INTERRUPT_PROCESSES))
        tell_ending(r);
    if (what & (ACTION_STOP_PROCESSES | ACTION_INTERRUPT_PROCESSES))
        tell_launcher(r, what & ACTION_STOP_PROCESSES ? LAUNCHER_STOP : LAUNCHER_INTERRUPT);
    if (what & ACTION_DRAIN)
        drain_nodes(r);
    if (what & ACTION_STOP_NODES)
        stop_nodes(r);
    if (what & ACTION_STOP_COLLECTOR)
        fleet_ask(&r->fleet, STATE_COLLECTOR, VERB_STOP);
    if (what & ACTION_KILL)
        tell_launcher(r, LAUNCHER_KILL);
    if (what & (ACTION_KILL | ACTION_KILL_NODES))
        kill_daemons(r, 1, r->fleet.count);
    if (what & (ACTION_KILL | ACTION_KILL_COLLECTOR))
        kill_daemons(r, STATE_COLLECTOR, 1);
}

void run_feed(struct run *r, const struct state_event *event)
{
    enum state_phase before = r->state.phase;
    struct state_actions actions = experiment_state_step(&r->state, event, clock_now());
    tell(r, actions.what, before);
    run_act(r, actions);
}

/* ---- The launcher ------------------------------------------------------------------------------------------------ */

static void tell_end(struct run *r, const struct sut_process *p, const struct launcher_event *event)
{
    char end[128];
    sut_describe_end(event->status, end, sizeof end);
    if (!p->output[0]) {
        operator_error(&r->operator, "BEZEL-RUN-PROCESS", "process '%s' (pid %d) %s", p->name, (int)event->pid, end);
        return;
    }
    operator_error(&r->operator, "BEZEL-RUN-PROCESS", "process '%s' (pid %d) %s; its output: %s", p->name,
                   (int)event->pid, end, p->output);
    operator_show_tail(&r->operator, p->output);
}

static void on_exited(struct run *r, const struct launcher_event *event)
{
    struct sut_process *p = &r->sut.processes[event->process];
    bool unasked = r->state.phase <= PHASE_RUNNING, failed = unasked && event->status != 0;
    if (failed)
        tell_end(r, p, event);
    else if (!unasked && WIFSIGNALED(event->status) && WTERMSIG(event->status) == SIGKILL && !r->state.killed)
        operator_event(&r->operator, "BEZEL-RUN-GRACE", "process '%s' (pid %d) did not end within %s and was killed",
                       p->name, (int)event->pid, units_duration(r->e->grace).s);
    p->pid = 0;
    run_feed(r, &(struct state_event){.type = EVENT_PROCESS_ENDED, .failed = failed});
}

static void on_launch_failed(struct run *r, const struct launcher_event *event)
{
    const struct sut_process *p = &r->sut.processes[event->process];
    const struct launch *l = &r->sut.launches[event->process];
    bool of_output = strcmp(event->stage, "output") == 0, of_directory = strcmp(event->stage, "directory") == 0;
    const char *on = of_output ? l->output : of_directory ? l->directory : l->path;
    operator_error(&r->operator, "BEZEL-RUN-LAUNCH", "process '%s' could not be started: %s: %s: %s", p->name,
                   event->stage, on, strerror(event->error));
    run_feed(r, &(struct state_event){.type = EVENT_PROCESS_ENDED, .failed = true});
}

/* A daemon, or what a script put into the background: it ends with the experiment, which may be a surprise. */
static void tell_left(struct run *r, int count)
{
    if (r->state.ended_by == ENDED_BY_PROCESSES)
        operator_event(&r->operator, "BEZEL-RUN-LEFT",
                       "the processes that were started have ended; %d that they left behind %s ended too", count,
                       count == 1 ? "is" : "are");
}

void run_finish_tree(struct run *r)
{
    pid_t spare[STATE_DAEMONS_MAX + 1];
    size_t n = 0;
    if (r->manager.daemon.pid > 0)
        spare[n++] = r->manager.daemon.pid;
    for (uint32_t d = 0; d < r->fleet.count; d++)
        if (r->fleet.daemons[d].pid > 0)
            spare[n++] = r->fleet.daemons[d].pid;
    if (!launcher_finish(spare, n))
        operator_error(&r->operator, "BEZEL-RUN-LATE", "not all processes could be ended");
}

static void on_launcher_lost(struct run *r)
{
    r->launcher_lost = true;
    operator_error(&r->operator, "BEZEL-RUN-LAUNCHER",
                   "the launcher was killed: the processes that it started are killed");
    run_finish_tree(r);
    run_feed(r, &(struct state_event){.type = EVENT_LAUNCHER_LOST});
}

static void on_started(struct run *r, const struct launcher_event *event)
{
    struct sut_process *p = &r->sut.processes[event->process];
    p->pid = p->launched = event->pid;
    if (event->error)
        operator_event(&r->operator, "BEZEL-RUN-INHERITED",
                       "process '%s' keeps the %s that 'bezel run' was started with: %s", p->name, event->stage,
                       strerror(event->error));
}

void run_take_launcher(struct run *r)
{
    struct launcher_event event;
    int err = BEZEL_EAGAIN;
    while (!r->launcher_lost && (err = launcher_receive(&r->launcher, &event)) == 0) {
        if (event.type == LAUNCHER_EMPTY)
            run_feed(r, &(struct state_event){.type = EVENT_TREE_EMPTY});
        else if (event.type == LAUNCHER_LEFT)
            tell_left(r, event.status);
        else if (event.process >= r->sut.count)
            continue;
        else if (event.type == LAUNCHER_STARTED)
            on_started(r, &event);
        else if (event.type == LAUNCHER_FAILED)
            on_launch_failed(r, &event);
        else
            on_exited(r, &event);
    }
    if (!r->launcher_lost && err == BEZEL_EUNREACH)
        on_launcher_lost(r);
}

/* ---- The daemons ------------------------------------------------------------------------------------------------- */

/* A session needs no process id, and no exit status: it has a reason, or was told to stop. */
static void tell_session_end(struct run *r, uint32_t d, bool served)
{
    const struct daemon *daemon = &r->fleet.daemons[d];
    char why[OPERATOR_TEXT_MAX / 2];
    daemon_last_words(daemon, why, sizeof why);
    if (!why[0])
        return;
    if (r->state.phase == PHASE_STARTING || !served)
        operator_error(&r->operator, "BEZEL-RUN-SESSION", "%s (%s): %s", daemon->name, daemon->standing.address, why);
    else if (r->state.phase <= PHASE_DRAINING)
        operator_event(&r->operator, "BEZEL-RUN-SESSION", "%s: %s", daemon->name, why);
}

static void tell_daemon_end(struct run *r, uint32_t d, pid_t pid, int status, bool served)
{
    const struct daemon *daemon = &r->fleet.daemons[d];
    char end[128], words[OPERATOR_TEXT_MAX / 2];
    if (daemon_is_session(daemon))
        tell_session_end(r, d, served);
    if (pid == 0)
        return; /* it never was: that has been told */
    sut_describe_end(status, end, sizeof end);
    daemon_last_words(daemon, words, sizeof words);
    if (r->state.phase == PHASE_STARTING || !served)
        operator_error(&r->operator, "BEZEL-RUN-DAEMON", "%s could not start: %s", daemon->name,
                       words[0] ? words : end);
    else if (r->state.phase <= PHASE_DRAINING)
        operator_event(&r->operator, "BEZEL-RUN-DAEMON", "%s (pid %d) %s%s%s%s", daemon->name, (int)pid, end,
                       words[0] ? ", its last words: " : "", words,
                       experiment_state_gives_up(&r->state, d, clock_now()) ? "" : "; it is started again");
    else if (status != 0 && !r->state.killed)
        operator_error(&r->operator, "BEZEL-RUN-DAEMON", "%s (pid %d) %s; its log: %s", daemon->name, (int)pid, end,
                       daemon->log);
}

/*
 * Whether bezeld `d` ended in good order though the run goes on: somebody told it to. It let go of its processes, which
 * then record nothing, and count nothing, until its next life has found them: how much that is nobody knows.
 */
static bool has_left(const struct run *r, uint32_t d, int status)
{
    return d != STATE_COLLECTOR && !daemon_is_session(&r->fleet.daemons[d]) && status == 0 &&
           (r->state.phase == PHASE_RUNNING || r->state.phase == PHASE_STOPPING);
}

static void take_end(struct run *r, uint32_t d)
{
    struct daemon *daemon = &r->fleet.daemons[d];
    pid_t pid = daemon->pid;
    bool served = daemon->link != NULL;
    int status = 0;
    if ((pid != 0 || daemon_is_session(daemon)) && !daemon_ended(daemon, &status))
        return;
    r->up[d] = false;
    r->fleet.status[d].known = r->fleet.status[d].told_drain = false;
    r->fleet.status[d].heard = 0;
    r->fleet.status[d].store_errno = 0;
    if (d == STATE_COLLECTOR)
        r->store_cut = pid == 0 || status != 0;
    tell_daemon_end(r, d, pid, status, served);
    enum state_phase before = r->state.phase;
    bool left = pid != 0 && has_left(r, d, status);
    if (left)
        operator_error(&r->operator, "BEZEL-RUN-LEFT",
                       "%s was told to end (SIGTERM?) while the run goes on: what its processes record until another "
                       "one has found them is unknown, and in no books",
                       daemon->name);
    run_feed(r, &(struct state_event){
                    .type = EVENT_DAEMON_ENDED, .daemon = d, .failed = left, .unreachable = daemon_is_session(daemon)});
    if (r->state.daemons[d].phase == DAEMON_GONE && before > PHASE_STARTING && before <= PHASE_DRAINING &&
        !r->state.daemons[d].drained)
        operator_error(&r->operator, "BEZEL-RUN-DAEMON",
                       "%s ended %d times within %s and is given up, with what it had not passed on; its log: %s",
                       daemon->name, STATE_RESTARTS + 1, units_duration(STATE_RESTART_SPAN).s, daemon_log(daemon));
}

static void take_answers(struct run *r, uint32_t d)
{
    char before[sizeof r->fleet.status[d].text];
    struct fleet_status *s = &r->fleet.status[d];
    memcpy(before, s->text, sizeof before);
    if (fleet_listen(&r->fleet, d) == 0)
        return;
    if (s->text[0] && strcmp(before, s->text) != 0)
        operator_error(&r->operator, "BEZEL-RUN-TROUBLE", "%s: %s", r->fleet.daemons[d].name, s->text);
    if (d == STATE_COLLECTOR && s->store_errno != 0 && !r->state.failing) {
        errno = s->store_errno;
        if (!r->state.store_failed)
            operator_error(&r->operator, "BEZEL-RUN-STORE", "%s cannot be written: %s; the experiment is stopped",
                           r->dir.path, limit_reason(err_from_errno(errno)));
        run_feed(r, &(struct state_event){.type = EVENT_STORE_FAILED});
    }
    if (d != STATE_COLLECTOR && s->told_drain && s->state == DAEMON_DRAINED && !r->state.daemons[d].drained)
        run_feed(r, &(struct state_event){.type = EVENT_DRAINED, .daemon = d});
}

/*
 * What changes when the node takes something from its rings, or has it stored: progress, once it drains. Before, it
 * records of itself, without end: were what the collector stores progress, a node that hears no more would be waited
 * for as long as it lives.
 */
static uint64_t progress_of(const struct fleet_status *s)
{
    return s->state == DAEMON_DRAINING ? s->records - s->waiting : 0;
}

/* Counts say nothing while a daemon that was just started has not answered yet. */
static void take_counts(struct run *r)
{
    uint64_t mark = 0, living = 0, seen = 0;
    bool known = true;
    for (uint32_t d = 1; d < r->fleet.count; d++) {
        const struct fleet_status *s = &r->fleet.status[d];
        mark = 31 * mark + progress_of(s); /* wraps, which is no harm: it is compared for equality only */
        living += s->living;
        seen += s->seen;
        known &= s->known;
    }
    if (r->state.attaches && known)
        run_feed(r, &(struct state_event){.type = EVENT_ATTACHED, .living = living, .seen = seen});
    if (mark != r->drain_mark)
        run_feed(r, &(struct state_event){.type = EVENT_PROGRESS});
    r->drain_mark = mark;
}

void run_take_daemons(struct run *r)
{
    for (uint32_t d = 0; d < r->fleet.count; d++) {
        if (!r->up[d])
            continue;
        if (fleet_serves(&r->fleet, d) == 1) {
            run_feed(r, &(struct state_event){.type = EVENT_SERVES, .daemon = d});
            fleet_ask(&r->fleet, d, VERB_STATUS);
            if (d != STATE_COLLECTOR && r->state.phase == PHASE_STOPPING)
                fleet_ask(&r->fleet, d, VERB_ENDING);
            run_snapshot_again(r, d);
        }
        take_answers(r, d);
        run_take_broken(r, d);
        take_end(r, d);
    }
    take_counts(r);
}
