// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/ulimit.h"
#include "base/units.h"
#include "bezeld/launch/process_tree.h"
#include "ecs/course/run_internal.h"
#include "mdr/message.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

enum { SNAPSHOTS_SHOWN = 20 }; /* on the console; the report lists all */

/* ---- Actions ----------------------------------------------------------------------------------------------------- */

static void start_daemon(struct run *r, uint32_t d)
{
    r->daemons.daemons[d].up = true; /* even if the start fails: run_take_daemons() then finds it ended */
    if (daemons_start(&r->daemons, d) != 0)
        console_error(&r->console, "BEZEL-RUN-DAEMON", "cannot start %s: %s", r->daemons.daemons[d].process.program,
                      ulimit_reason(err_from_errno(errno)));
}

static void drain_nodes(struct run *r)
{
    for (uint32_t d = 0; d < r->daemons.count; d++) /* the collector too: it then syncs without delay */
        if (r->daemons.daemons[d].process.serves && !r->daemons.daemons[d].status.drain_sent)
            daemons_ask(&r->daemons, d, VERB_STOP);
    r->next_status = 0;
}

/*
 * Makes nodes expect that processes fall silent: one that is being stopped does not hang. A remote node ends those that
 * its launcher started.
 */
static void send_ending(struct run *r, uint32_t d)
{
    struct message_command ending = {.verb = VERB_ENDING, .ending = r->ending};
    if (r->daemons.daemons[d].process.serves)
        (void)!daemon_command(&r->daemons.daemons[d].process, &ending); /* run_ask_launchers() repeats it if need be */
}

static void end_programs(struct run *r, enum message_ending how)
{
    run_end_programs(r, how);
    for (uint32_t d = 1; d <= r->daemons.nodes; d++)
        send_ending(r, d);
}

static void stop_daemons(struct run *r, uint32_t from, uint32_t to)
{
    for (uint32_t d = from; d < to; d++)
        if (r->daemons.daemons[d].up)
            daemons_ask(&r->daemons, d, VERB_SHUTDOWN);
}

/* Ends inner collectors of a level. What is said to those below them is said before. */
static void stop_inner(struct run *r, uint32_t level)
{
    daemons_forget_inner(&r->daemons, level);
    for (uint32_t d = 1 + r->daemons.nodes; run_state_is_inner(&r->state, d); d++)
        if (r->state.daemons[d].level == level)
            stop_daemons(r, d, d + 1);
}

static void kill_daemons(struct run *r, uint32_t from, uint32_t to)
{
    for (uint32_t d = from; d < to; d++)
        daemon_signal(&r->daemons.daemons[d].process, SIGKILL);
}

/* Reports, for each process to attach to, that no such program runs, or that it has no segment at its node. */
static void report_unmatched(struct run *r)
{
    const char *and_now = r->state.phase == PHASE_RUNNING ? "; still waiting" : "";
    for (uint32_t i = 0; i < r->e->process_count; i++) {
        const struct experiment_process *p = &r->e->processes[i];
        bool remote = experiment_is_remote(&r->e->nodes[p->node]);
        pid_t pid = p->attach && !remote ? process_tree_find_executable(p->attach) : 0;
        if (p->attach && remote)
            console_error(
                &r->console, "BEZEL-RUN-ATTACH",
                "process '%s': no program that matches '%s' has a segment on node %s (does it run there, does "
                "it use libbezel, has it recorded anything, does it run as the user of that bezeld?)%s",
                p->name, p->attach, r->e->nodes[p->node].name, and_now);
        else if (p->attach && pid == 0 && access("/proc/self", F_OK) != 0)
            console_error(&r->console, "BEZEL-RUN-ATTACH",
                          "process '%s': no running program is found, as /proc is not mounted here: mount -t proc proc "
                          "/proc%s",
                          p->name, and_now);
        else if (p->attach && pid == 0)
            console_error(&r->console, "BEZEL-RUN-ATTACH", "process '%s': no running program matches '%s'%s", p->name,
                          p->attach, and_now);
        else if (p->attach)
            console_error(&r->console, "BEZEL-RUN-ATTACH",
                          "process '%s': pid %d matches '%s', but has no segment in %s (does it use libbezel, has it "
                          "recorded anything, is its BEZEL_DIR the same?)%s",
                          p->name, (int)pid, p->attach, r->daemons.node_dirs[p->node], and_now);
    }
}

static void report_undrained(struct run *r)
{
    for (uint32_t d = 1; d <= r->daemons.nodes; d++) {
        const struct daemons_status *s = &r->daemons.daemons[d].status;
        if (r->state.daemons[d].drained)
            continue;
        if (s->state == DAEMON_DRAINED && !s->unresponsive_reported)
            console_error(&r->console, "BEZEL-RUN-UNDRAINED",
                          "gave up waiting for the output of programs on node %s: its launcher does not answer",
                          r->e->nodes[d - 1].name);
        else if (s->known && !s->unresponsive_reported)
            console_error(&r->console, "BEZEL-RUN-UNDRAINED",
                          "gave up draining node %s: the collector has not stored %s that its bezeld holds in packets",
                          r->e->nodes[d - 1].name, units_bytes(s->waiting).s);
        else
            console_error(&r->console, "BEZEL-RUN-UNDRAINED",
                          "gave up draining node %s: its bezeld does not answer; what its rings hold is not stored",
                          r->e->nodes[d - 1].name);
    }
}

/* A session's `why` is what its bezeld waits for, if that sent it; of others it is what the log says last. */
static void report_unready(struct run *r, const struct daemon *daemon)
{
    const char *why = daemon_trouble(daemon), *at = daemon_is_session(daemon) ? daemon->session.address : "";
    char words[CONSOLE_TEXT_MAX / 2];
    daemon_last_messages(daemon, words, sizeof words);
    why = why[0] ? why : words;
    console_error(&r->console, "BEZEL-RUN-LATE", "%s%s%s%s did not get ready within %s%s%s; its log: %s", daemon->name,
                  at[0] ? " (" : "", at, at[0] ? ")" : "", units_duration(STATE_START_LIMIT).s, why[0] ? ": " : "", why,
                  daemon_log(daemon));
}

/* Some are left on this machine where no node is named. */
static void report_left_running(struct run *r)
{
    bool named = false;
    for (uint32_t n = 0; n < r->sut.nodes; n++)
        if (r->sut.launchers[n].programs > 0 && !r->sut.launchers[n].empty && !r->state.daemons[1 + n].lost) {
            console_error(
                &r->console, "BEZEL-RUN-LATE",
                "not all processes could be ended on node %s: its launcher does not answer, and ends them when "
                "it has had no command for as long as `silence` says",
                r->e->nodes[n].name);
            named = true;
        }
    if (!r->launcher_lost && !r->sut.local.empty)
        console_error(
            &r->console, "BEZEL-RUN-LATE",
            "the launcher has not ended the processes of this machine in time: it is killed, and they with it");
    else if (!named)
        console_error(&r->console, "BEZEL-RUN-LATE", "not all processes could be ended");
}

static void report_late(struct run *r, unsigned what, enum state_phase phase)
{
    for (uint32_t d = 0; d < r->daemons.count; d++) {
        bool starting = phase == PHASE_STARTING && r->daemons.daemons[d].up && !r->daemons.daemons[d].process.serves;
        bool closing = (what & ACTION_KILL_NODES && run_state_is_node(&r->state, d)) ||
                       (what & ACTION_KILL_INNER && run_state_is_inner(&r->state, d)) ||
                       (what & ACTION_KILL_COLLECTOR && d == STATE_COLLECTOR);
        if (starting)
            report_unready(r, &r->daemons.daemons[d].process);
        else if (closing && r->daemons.daemons[d].up)
            console_error(&r->console, "BEZEL-RUN-LATE", "%s did not stop and is killed; its log: %s",
                          r->daemons.daemons[d].process.name, daemon_log(&r->daemons.daemons[d].process));
    }
    if (phase == PHASE_STOPPING)
        report_left_running(r);
}

static void report_lost(struct run *r, uint32_t d)
{
    const struct daemon *daemon = &r->daemons.daemons[d].process;
    bool goes_on = r->state.daemons[d].on_loss == ON_LOSS_CONTINUE;
    console_error(
        &r->console, "BEZEL-RUN-LOST",
        "%s is lost: the run %s (on-loss: %s); what the node has not sent is in its window, and stored if the "
        "node comes back in time",
        daemon->name, goes_on ? "goes on without it" : "ends",
        goes_on                                       ? "continue"
        : r->state.daemons[d].on_loss == ON_LOSS_STOP ? "stop"
                                                      : "wait");
    run_lose_programs(r, d - 1);
}

static void report(struct run *r, struct state_actions actions, enum state_phase phase)
{
    unsigned what = actions.what;
    if (what & ACTION_REPORT_LOST)
        report_lost(r, actions.daemon);
    if (what & ACTION_REPORT_LATE)
        report_late(r, what, phase);
    if (what & ACTION_REPORT_UNMATCHED)
        report_unmatched(r);
    if (what & ACTION_REPORT_UNDRAINED) {
        r->undrained = true;
        report_undrained(r);
    }
}

void run_act(struct run *r, struct state_actions actions)
{
    unsigned what = actions.what;
    for (uint32_t d = 1; d <= r->daemons.nodes && what & ACTION_START_NODES; d++)
        start_daemon(r, d);
    for (uint32_t d = 1; run_state_is_inner(&r->state, d + r->daemons.nodes) && what & ACTION_START_INNER; d++)
        if (r->state.daemons[d + r->daemons.nodes].level == actions.level)
            start_daemon(r, d + r->daemons.nodes);
    if (what & ACTION_START_DAEMON)
        start_daemon(r, actions.daemon);
    if (what & ACTION_STOP_MANAGER)
        daemon_signal(&r->daemons.daemons[r->daemons.manager].process, SIGTERM);
    if (what & ACTION_START_PROCESSES)
        r->launching = true;
    if (what & (ACTION_STOP_PROCESSES | ACTION_INTERRUPT_PROCESSES))
        end_programs(r, what & ACTION_STOP_PROCESSES ? END_TERM : END_INTERRUPTED);
    if (what & ACTION_KILL_LAUNCHER)
        run_kill_launcher(r);
    if (what & ACTION_DRAIN)
        drain_nodes(r);
    if (what & ACTION_STOP_NODES)
        stop_daemons(r, 1, 1 + r->daemons.nodes);
    if (what & ACTION_STOP_INNER)
        stop_inner(r, actions.level);
    if (what & ACTION_STOP_COLLECTOR)
        daemons_ask(&r->daemons, STATE_COLLECTOR, VERB_SHUTDOWN);
    if (what & ACTION_KILL) {
        end_programs(r, END_KILL);
        kill_daemons(r, 0, r->daemons.count);
    }
    if (what & ACTION_KILL_NODES)
        kill_daemons(r, 1, 1 + r->daemons.nodes);
    if (what & ACTION_KILL_INNER)
        kill_daemons(r, daemons_of_inner(&r->daemons, 0), daemons_of_inner(&r->daemons, r->daemons.inner_count));
    if (what & ACTION_KILL_COLLECTOR)
        kill_daemons(r, STATE_COLLECTOR, 1);
}

/* Whether it is known now, and was not before, which programs were never started. */
static bool has_stopped(const struct run *r, enum state_phase before)
{
    bool was_said = r->taken && r->taken->state.phase >= PHASE_DRAINING;
    return before < PHASE_DRAINING && r->state.phase >= PHASE_DRAINING && r->state.started != 0 && !r->state.killed &&
           !r->state.taken && !was_said;
}

void run_feed(struct run *r, const struct state_event *event)
{
    enum state_phase before = r->state.phase;
    bool had_started = r->state.started != 0;
    struct state_actions actions = run_state_step(&r->state, event, clock_now());
    if (has_stopped(r, before))
        run_report_unstarted(r);
    if (r->state.phase != before) /* before anything is done that a successor would have to know */
        run_save(r, r->e->store.sync != EXPERIMENT_SYNC_NEVER);
    if (!had_started && r->state.started != 0)
        run_put_start(r);
    report(r, actions, before);
    run_act(r, actions);
}

/* ---- Triggers: snapshots, for which all nodes save what their flight recorders hold, and the end ----------------- */

/* Sends the snapshot under way, if there is one, to daemon `d`. */
static void send_snapshot(struct run *r, uint32_t d)
{
    struct message_command command = {.verb = VERB_SAVE, .save = r->save};
    struct daemon *daemon = &r->daemons.daemons[d].process;
    command.save.left = (uint64_t)snapshot_trigger_left(&r->trigger, clock_now());
    if (command.save.left > 0 && daemon->serves && daemon_command(daemon, &command) != 0)
        console_error(&r->console, "BEZEL-RUN-SNAPSHOT",
                      "cannot send the snapshot command to %s: its flight recorders may overwrite the records",
                      daemon->name);
}

/* Has all nodes save their flight recorders, if no snapshot is under way. */
static void begin_snapshot(struct run *r, uint32_t d, const struct message_firing *f, uint64_t times, int64_t now)
{
    const struct experiment_trigger *t = &r->e->triggers[f->trigger];
    if (!snapshot_trigger_take(&r->trigger, r->e, f->trigger, times, now - f->age, now))
        return;
    r->save = (struct message_save){
        .number = r->trigger.number, .trigger = f->trigger, .at = (uint64_t)f->at, .value = f->value};
    snprintf(r->save.node, sizeof r->save.node, "%s", r->e->nodes[d - 1].name);
    for (uint32_t i = 1; i <= r->daemons.nodes; i++)
        send_snapshot(r, i);
    if (r->trigger.number > SNAPSHOTS_SHOWN)
        return;
    console_event(&r->console, "BEZEL-RUN-SNAPSHOT",
                  "snapshot %u: %s on node %s; flight recorders save what they hold and what follows for %s%s",
                  r->trigger.number, t->when, r->save.node,
                  units_exact_duration(experiment_trigger_action(t, ACT_SNAPSHOT)->snapshot).s,
                  r->trigger.number == SNAPSHOTS_SHOWN ? "; the report lists further snapshots" : "");
}

/* What a trigger asks for that fired `times` times, while this `bezel run` had the run, or before that. */
static void take_firing(struct run *r, uint32_t d, const struct message_firing *f, uint64_t times)
{
    const struct experiment_trigger *t = &r->e->triggers[f->trigger];
    const char *node = r->e->nodes[d - 1].name;
    int64_t now = clock_now();
    bool before_us = now - f->age < r->begun; /* the `bezel run` that this one follows may have seen it */
    if (before_us) {
        console_event(
            &r->console, "BEZEL-RUN-TRIGGER",
            "trigger %s fired on node %s before this command took the run over; it does nothing for that firing, which "
            "was carried out only if another command had the run then",
            t->when, node);
        return;
    }
    begin_snapshot(r, d, f, times, now);
    if (experiment_trigger_action(t, ACT_COMMAND))
        run_command_fire(r, d - 1, f, times);
    if (!experiment_trigger_action(t, ACT_STOP))
        return;
    console_event(&r->console, "BEZEL-RUN-STOP", "stopped by a trigger: %s on node %s", t->when, node);
    r->by_trigger = !r->state.interrupted;
    run_feed(r, &(struct state_event){.type = EVENT_INTERRUPT});
}

/* Takes what triggers on the node of daemon `d` ask for, which waits while the run starts. */
static void take_firings(struct run *r, uint32_t d)
{
    struct daemons_status *s = &r->daemons.daemons[d].status;
    for (uint32_t i = 0; run_state_is_node(&r->state, d) && r->state.phase >= PHASE_RUNNING && i < s->firing_count;
         i++) {
        const struct message_firing f = s->firings[i];
        if (f.trigger >= r->e->trigger_count || f.count <= s->firings_taken[f.trigger])
            continue;
        uint64_t times = f.count - s->firings_taken[f.trigger];
        s->firings_taken[f.trigger] = f.count;
        const struct experiment_trigger *t = &r->e->triggers[f.trigger];
        if (r->state.phase == PHASE_RUNNING)
            take_firing(r, d, &f, times);
        else if (experiment_trigger_action(t, ACT_COMMAND) || experiment_trigger_action(t, ACT_SNAPSHOT))
            r->commands[f.trigger].late += times;
    }
}

/* ---- The daemons ------------------------------------------------------------------------------------------------- */

/* A session has no process id and no exit status. It ended for a reason, or was sent STOP. */
static void report_session_end(struct run *r, uint32_t d, bool served)
{
    const struct daemon *daemon = &r->daemons.daemons[d].process;
    char why[CONSOLE_TEXT_MAX / 2];
    daemon_last_messages(daemon, why, sizeof why);
    if (!why[0])
        return;
    if (r->state.phase == PHASE_STARTING || !served)
        console_error(&r->console, "BEZEL-RUN-SESSION", "%s (%s): %s", daemon->name, daemon->session.address, why);
    else if (r->state.phase <= PHASE_DRAINING)
        console_event(&r->console, "BEZEL-RUN-SESSION", "%s: %s", daemon->name, why);
}

static void report_daemon_end(struct run *r, uint32_t d, pid_t pid, int status, bool served)
{
    const struct daemon *daemon = &r->daemons.daemons[d].process;
    char end[128], words[CONSOLE_TEXT_MAX / 2];
    bool killed = status >= 0 && WIFSIGNALED(status);               /* then its last words are not the reason */
    bool ended_by_run = !served && r->state.phase > PHASE_DRAINING; /* because another one could not start */
    if ((r->state.interrupted && !r->state.started) || ended_by_run)
        return;
    if (daemon_is_session(daemon))
        report_session_end(r, d, served);
    if (pid == 0 && !daemon->place)
        return; /* it was never started: that has been logged */
    sut_processes_describe_end(status, end, sizeof end);
    daemon_last_messages(daemon, words, sizeof words);
    if (run_state_is_inner(&r->state, d) && r->state.resumes && status == 0)
        console_event(&r->console, "BEZEL-RUN-DAEMON",
                      "%s (pid %d) has ended, because its parents listen elsewhere now, and is started again",
                      daemon->name, (int)pid);
    else if (r->state.phase == PHASE_STARTING && pid != 0 && WIFSIGNALED(status) &&
             !run_state_gives_up(&r->state, d, clock_now()))
        console_event(&r->console, "BEZEL-RUN-DAEMON", "%s (pid %d) %s before it was ready, and is started again",
                      daemon->name, (int)pid, end);
    else if (r->state.phase == PHASE_STARTING || !served)
        console_error(&r->console, "BEZEL-RUN-DAEMON", "%s could not start: %s%s%s", daemon->name,
                      killed || !words[0] ? end : "", killed && words[0] ? "; its last message: " : "", words);
    else if (r->state.phase <= PHASE_DRAINING)
        console_event(&r->console, "BEZEL-RUN-DAEMON", "%s (pid %d) %s%s%s%s", daemon->name, (int)pid, end,
                      run_state_gives_up(&r->state, d, clock_now()) ? "" : ", and is started again",
                      words[0] ? "; its last message: " : "", words);
    else if (status != 0 && !r->state.killed)
        console_error(&r->console, "BEZEL-RUN-DAEMON", "%s (pid %d) %s; its log: %s", daemon->name, (int)pid, end,
                      daemon->log);
}

/*
 * A bezeld that ends in order though the run goes on has been stopped by somebody. It has released its processes, which
 * then neither record nor count until a restarted bezeld finds them. How much that is cannot be known.
 */
static void report_left(struct run *r, const struct daemon *daemon)
{
    console_error(&r->console, "BEZEL-RUN-LEFT",
                  "%s was ended from outside (SIGTERM?) while the run goes on: the number of records that its "
                  "processes make until another bezeld finds them is unknown, and missing in the books",
                  daemon->name);
}

/* Whether the bezeld `d` that `bezel run` started has ended so. */
static bool has_left(const struct run *r, uint32_t d, int status)
{
    const struct daemon *daemon = &r->daemons.daemons[d].process;
    return run_state_is_node(&r->state, d) && !daemon_is_session(daemon) && status == 0 && !daemon->stop_sent &&
           (r->state.phase == PHASE_RUNNING || r->state.phase == PHASE_STOPPING);
}

static void report_given_up(struct run *r, uint32_t d, enum state_phase before)
{
    const struct daemon *daemon = &r->daemons.daemons[d].process;
    const struct state_daemon *s = &r->state.daemons[d];
    if (s->phase != DAEMON_GONE || s->drained || before <= PHASE_STARTING || before > PHASE_DRAINING)
        return;
    console_error(&r->console, "BEZEL-RUN-DAEMON", "%s ended %d times within %s and is given up%s; its log: %s",
                  daemon->name, STATE_RESTARTS + 1, units_duration(STATE_RESTART_SPAN).s,
                  run_state_is_inner(&r->state, d) ? ": what was connected to it goes to its next parent, if it has one"
                                                   : ", with the records that it had not passed on",
                  daemon_log(daemon));
}

/* Another one commands the run. It goes on there; here nothing of it is ended. */
static void take_taken(struct run *r, const struct daemon *daemon)
{
    if (!r->state.taken)
        console_error(&r->console, "BEZEL-RUN-TAKEN-OVER", "%s: %s: this `bezel run` ends, and the run goes on there",
                      daemon->name, daemon->session.why);
    run_feed(r, &(struct state_event){.type = EVENT_TAKEN_OVER});
}

static void take_end(struct run *r, uint32_t d)
{
    struct daemon *daemon = &r->daemons.daemons[d].process;
    if (daemon->session.taken) {
        take_taken(r, daemon);
        return;
    }
    pid_t pid = daemon_pid(daemon);
    bool is_manager = r->daemons.manager && d == r->daemons.manager, served = daemon->serves;
    int status = 0;
    if ((pid != 0 || daemon_is_session(daemon) || daemon->place) && !daemon_ended(daemon, &status))
        return;
    r->daemons.daemons[d].up = false;
    r->daemons.daemons[d].status.known = r->daemons.daemons[d].status.drain_sent = false;
    r->daemons.daemons[d].status.answered = 0;
    r->daemons.daemons[d].status.store_errno = 0;
    if (d == STATE_COLLECTOR)
        r->store_unclean = pid == 0 || status != 0;
    if (!is_manager || r->state.phase < PHASE_DRAINING) /* else it was stopped */
        report_daemon_end(r, d, pid, status, served);
    enum state_phase before = r->state.phase;
    pid = pid ? pid : daemon_pid(daemon);
    bool left = pid != 0 && has_left(r, d, status);
    if (left)
        report_left(r, daemon);
    run_feed(r, &(struct state_event){.type = EVENT_DAEMON_ENDED,
                                      .daemon = d,
                                      .failed = left,
                                      .killed = pid != 0 && WIFSIGNALED(status),
                                      .unreachable = daemon_is_session(daemon) || daemon->place});
    if (is_manager && before < PHASE_DRAINING && r->state.unmanaged)
        console_error(
            &r->console, "BEZEL-RUN-MANAGER",
            "%s ended %d times within %s and is given up: the nodes keep their polling periods, and global limits "
            "are no longer judged; its log: %s",
            daemon->name, STATE_RESTARTS + 1, units_duration(STATE_RESTART_SPAN).s, daemon_log(daemon));
    else if (!is_manager)
        report_given_up(r, d, before);
}

static void report_store(struct run *r)
{
    const char *node = r->e->collector.node;
    console_error(&r->console, "BEZEL-RUN-STORE", "%s%s%s cannot be written: %s; the experiment is stopped",
                  node ? r->daemons.place.directory : r->dir.path, node ? " on node " : "", node ? node : "",
                  ulimit_reason(err_from_errno(errno)));
}

static void take_answers(struct run *r, uint32_t d)
{
    char before[sizeof r->daemons.daemons[d].status.text];
    struct daemons_status *s = &r->daemons.daemons[d].status;
    memcpy(before, s->text, sizeof before);
    if (daemons_listen(&r->daemons, d) == 0)
        return;
    if (r->state.daemons[d].silent_since || r->state.daemons[d].lost)
        run_feed(r, &(struct state_event){.type = EVENT_HEARD, .daemon = d});
    bool closing = r->state.phase > PHASE_DRAINING; /* then a session that ends is no trouble */
    if (s->text[0] && strcmp(before, s->text) != 0 && !closing)
        console_error(&r->console, "BEZEL-RUN-TROUBLE", "%s: %s", r->daemons.daemons[d].process.name, s->text);
    if (d == STATE_COLLECTOR && s->store_errno != 0 && !r->state.failing) {
        errno = s->store_errno;
        if (!r->state.store_failed)
            report_store(r);
        run_feed(r, &(struct state_event){.type = EVENT_STORE_FAILED});
    }
    if (s->stop_wanted && r->state.phase <= PHASE_RUNNING) {
        console_event(&r->console, "BEZEL-RUN-STOP", "stopped by `bezel stop` at %s",
                      r->daemons.daemons[d].process.name);
        run_feed(r, &(struct state_event){.type = EVENT_INTERRUPT});
    }
    bool is_node = run_state_is_node(&r->state, d), is_home = is_node && sut_processes_output_is_home(&r->sut, d - 1);
    if (is_node && s->drain_sent && s->state == DAEMON_DRAINED && !r->state.daemons[d].drained && is_home)
        run_feed(r, &(struct state_event){.type = EVENT_DRAINED, .daemon = d});
}

/*
 * A number that changes when the draining node takes records from its rings or has them stored. Before it drains, a
 * node keeps recording about itself: if that counted as progress, a node that does not receive STOP would be waited
 * for without end.
 */
static uint64_t progress_of(const struct daemons_status *s)
{
    return s->state == DAEMON_DRAINING ? s->records - s->waiting : 0;
}

/* The counts of attached processes are complete only when every node has answered since its start. */
static void take_counts(struct run *r)
{
    uint64_t mark = 0, living = 0, seen = 0;
    bool known = true;
    for (uint32_t d = 1; d <= r->daemons.nodes; d++) {
        const struct daemons_status *s = &r->daemons.daemons[d].status;
        if (r->state.daemons[d].lost)
            continue;
        mark = 31 * mark + progress_of(s); /* may wrap: it is only compared for equality */
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

/* Whether a persistent bezeld has ended so, as its successor reports when it serves the session again. */
static bool take_left(struct run *r, uint32_t d)
{
    struct daemon *daemon = &r->daemons.daemons[d].process;
    if (!daemon_is_session(daemon) || !daemon->session.left)
        return false;
    daemon->session.left = false;
    report_left(r, daemon);
    return true;
}

void run_take_daemons(struct run *r)
{
    for (uint32_t d = 0; d < r->daemons.count; d++) {
        if (!r->daemons.daemons[d].up)
            continue;
        if (daemons_serves(&r->daemons, d) == 1) {
            run_feed(r, &(struct state_event){.type = EVENT_SERVES, .daemon = d, .failed = take_left(r, d)});
            daemons_ask(&r->daemons, d, VERB_QUERY);
            if (run_state_is_node(&r->state, d))
                send_snapshot(r, d);
            if (run_state_is_node(&r->state, d) && r->state.phase == PHASE_STOPPING)
                send_ending(r, d);
        }
        take_answers(r, d);
        take_firings(r, d);
        take_end(r, d);
    }
    take_counts(r);
}
