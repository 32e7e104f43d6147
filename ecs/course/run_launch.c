// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The programs of a run: the launcher of their machine gets the order to start them, and reports what becomes of them.
 */
#include "base/file.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "ecs/course/run_internal.h"
#include "mdr/message.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ASK_AGAIN CLOCK_S /* where a launcher elsewhere has not answered for so long */

/* ---- Starting ---------------------------------------------------------------------------------------------------- */

static struct daemon *daemon_of(struct run *r, const struct sut_process *p)
{
    return &r->daemons.daemons[1 + p->of->node].process;
}

static const char *name_of(const struct sut_process *p)
{
    return p->program.launch.of.process;
}

/* " on node desk1", for one elsewhere. */
static const char *place_of(const struct run *r, const struct sut_process *p, char text[EXPERIMENT_NAME_MAX + 16])
{
    text[0] = '\0';
    if (p->remote)
        snprintf(text, EXPERIMENT_NAME_MAX + 16, " on node %s", r->e->nodes[p->of->node].name);
    return text;
}

static size_t number_of(const struct run *r, const struct sut_process *p)
{
    return (size_t)(p - r->sut.processes);
}

static void count_end(struct run *r, struct sut_process *p, bool failed)
{
    if (p->counted)
        return;
    p->counted = true;
    run_feed(r, &(struct state_event){
                    .type = EVENT_PROCESS_ENDED, .failed = failed, .stops = p->of->on_exit == ON_EXIT_STOP});
}

static void give_up(struct run *r, struct sut_process *p)
{
    start_plan_give_up(&r->plan, number_of(r, p));
    count_end(r, p, true);
}

/* What was not fetched of its output is missing. */
static void give_up_output(struct sut_process *p)
{
    if (p->known && !p->home && p->row.output > p->fetched)
        p->missing += p->row.output - p->fetched;
    p->home = true;
}

static uint64_t size_of(const char *file)
{
    struct stat st;
    return file[0] && stat(file, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Prepares for incarnation `wanted`, of which nothing is known. */
static void begin_incarnation(struct run *r, struct sut_process *p, uint32_t wanted)
{
    (void)!sut_processes_note(&r->sut, p); /* without memory the report lacks it */
    p->program.launch.of.incarnation = p->sent = wanted;
    p->known = false;
    p->begun = size_of(p->output);
    p->fetched = p->missing = 0;
    r->save_due = true;
    p->fetch_id = p->look_id = 0;
    p->home = !p->remote || p->of->output == OUTPUT_NONE;
    p->restarts = wanted - 1;
}

/* An incarnation elsewhere is started once the output of the one before is home. */
static void tell_remote(struct run *r, struct sut_process *p, uint32_t wanted, int64_t now)
{
    struct daemon *d = daemon_of(r, p);
    bool again = p->sent == wanted, waits = p->sent && !again && !p->home;
    if (!d->serves || waits || (again && (p->known || now - p->sent_at < ASK_AGAIN)))
        return;
    struct message_command start = {.verb = VERB_START, .start = p->program.launch.of};
    start.start.incarnation = wanted;
    if (daemon_command(d, &start) != 0)
        return;
    if (!again)
        begin_incarnation(r, p, wanted);
    p->sent_id = d->caller.id;
    p->sent_at = now;
}

static void tell_local(struct run *r, struct sut_process *p, uint32_t wanted, int64_t now)
{
    if (p->sent == wanted || r->launcher_lost)
        return;
    p->program.launch.of.incarnation = wanted;
    int err = launcher_start(&r->launcher, &p->program.launch);
    if (err == BEZEL_EAGAIN || err == BEZEL_EUNREACH)
        return; /* the next turn tries again, or finds that the launcher is gone */
    begin_incarnation(r, p, wanted);
    p->sent_id = r->launcher.id;
    p->sent_at = now;
    if (!err)
        return;
    console_error(&r->console, "BEZEL-RUN-LAUNCH", "process '%s' could not be started: %s", name_of(p),
                  err == BEZEL_EFULL ? "its command and environment are too long" : ulimit_reason(err));
    give_up(r, p);
}

/* Reports programs that were not ready in time, and those that wait for such as failed. */
static void report_unready(struct run *r, int64_t now)
{
    size_t failed;
    for (int i; (i = start_plan_late(&r->plan, now)) >= 0;) {
        const struct sut_process *p = &r->sut.processes[i];
        console_error(&r->console, "BEZEL-RUN-READY", "process '%s' did not get ready within %s: the run ends",
                      name_of(p), units_duration(p->of->ready.within).s);
        run_feed(r, &(struct state_event){.type = EVENT_UNREADY});
    }
    for (int i; (i = start_plan_stuck(&r->plan, &failed)) >= 0;) {
        console_error(&r->console, "BEZEL-RUN-READY",
                      "process '%s' is not started: '%s', which it waits for, has failed",
                      name_of(&r->sut.processes[i]), name_of(&r->sut.processes[failed]));
        r->sut.processes[i].stuck = true;
        count_end(r, &r->sut.processes[i], true);
    }
}

bool run_launch(struct run *r)
{
    int64_t now = clock_now();
    bool pending = false;
    if (!r->launching || r->state.phase != PHASE_RUNNING)
        return false;
    start_plan_step(&r->plan, now);
    report_unready(r, now);
    for (size_t i = 0; i < r->sut.count && r->state.phase == PHASE_RUNNING; i++) {
        struct sut_process *p = &r->sut.processes[i];
        const struct start_plan_program *plan = &r->plan.programs[i];
        if (plan->phase == START_RUNS)
            pending |= run_look_whether_ready(r, i, now);
        if (plan->phase != START_TOLD || p->counted)
            continue;
        if (p->remote)
            tell_remote(r, p, plan->wanted, now);
        else
            tell_local(r, p, plan->wanted, now);
        pending |= p->sent != plan->wanted;
    }
    return pending;
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

static void report_end(struct run *r, const struct sut_process *p, bool again)
{
    char end[128], place[EXPERIMENT_NAME_MAX + 16];
    sut_processes_describe_end(p->row.status, end, sizeof end);
    if (again) {
        console_event(&r->console, "BEZEL-RUN-RESTART",
                      "process '%s'%s (pid %u) %s, and is started again in %s (%u of %u)", name_of(p),
                      place_of(r, p, place), p->row.pid, end, units_duration(p->of->restart_pause).s, p->restarts + 1,
                      p->of->restarts);
        return;
    }
    console_error(&r->console, "BEZEL-RUN-PROCESS", "process '%s'%s (pid %u) %s%s%s", name_of(p), place_of(r, p, place),
                  p->row.pid, end, p->output[0] ? "; its output: " : "", p->output);
    if (p->output[0] && p->home)
        console_show_tail(&r->console, p->output);
}

/* Its launcher starts nothing again after that. */
static void on_silence(struct run *r, struct sut_process *p)
{
    char place[EXPERIMENT_NAME_MAX + 16];
    console_error(
        &r->console, "BEZEL-RUN-SILENCE",
        "process '%s'%s (pid %u) was ended by its launcher, which had no command for as long as `silence` says",
        name_of(p), place_of(r, p, place), p->row.pid);
    give_up(r, p);
}

static void on_exited(struct run *r, struct sut_process *p)
{
    bool unasked = r->state.phase <= PHASE_RUNNING, failed = unasked && p->row.status != 0;
    bool again = start_plan_ends(&r->plan, number_of(r, p), failed, clock_now());
    if (failed)
        report_end(r, p, again);
    else if (!unasked && WIFSIGNALED(p->row.status) && WTERMSIG(p->row.status) == SIGKILL && !r->state.killed)
        console_event(&r->console, "BEZEL-RUN-GRACE", "process '%s' (pid %u) did not end within %s and was killed",
                      name_of(p), p->row.pid, units_duration(r->e->grace).s);
    if (!again)
        count_end(r, p, failed);
}

/* What to do about a program that could not be executed; `file`: where it is, on this machine, or NULL. */
static const char *remedy_of(const struct message_launched *row, const char *file)
{
    if (strcmp(row->stage, "exec") != 0)
        return "";
    if (row->error == ENOEXEC)
        return "; it is no program of this kind of machine, nor has it a first line such as #!/bin/sh";
    if (row->error != ENOENT)
        return "";
    return !file ? "; install it there, or name its path on that machine"
           : access(file, F_OK) == 0
               ? "; the file is there: what its first line, or the program, names as interpreter is not"
               : "";
}

static void on_failed(struct run *r, struct sut_process *p)
{
    char place[EXPERIMENT_NAME_MAX + 16];
    const struct launch *l = &p->program.launch;
    bool of_output = strcmp(p->row.stage, "output") == 0, of_directory = strcmp(p->row.stage, "directory") == 0;
    const char *on = of_output      ? (p->remote ? "its spool" : l->file)
                     : of_directory ? l->directory
                     : p->remote    ? l->argv[0]
                                    : l->path;
    console_error(&r->console, "BEZEL-RUN-LAUNCH", "process '%s'%s could not be started: %s: %s: %s%s", name_of(p),
                  place_of(r, p, place), p->row.stage, on ? on : "", strerror(p->row.error),
                  remedy_of(&p->row, p->remote ? NULL : l->path));
    p->home = true;
    if (!start_plan_ends(&r->plan, number_of(r, p), true, clock_now()))
        count_end(r, p, true);
}

/* What is known of one that ended before stays known. */
static void on_lost(struct run *r, struct sut_process *p)
{
    if (!p->counted)
        console_error(&r->console, "BEZEL-RUN-PROCESS",
                      "process '%s' on node %s has ended, because the launcher there has: how it ended is unknown",
                      name_of(p), r->e->nodes[p->of->node].name);
    if (p->row.state == LAUNCHED_RUNS)
        p->row.state = LAUNCHED_LOST;
    give_up(r, p);
}

static void on_started(struct run *r, const struct sut_process *p)
{
    if (p->row.error)
        console_event(&r->console, "BEZEL-RUN-INHERITED", "process '%s' keeps the %s that %s was started with: %s",
                      name_of(p), p->row.stage, p->remote ? "its launcher" : "'bezel run'", strerror(p->row.error));
}

/* Processes in the background, of a daemon or a script, end with the experiment: the operator may not expect it. */
static void report_left(struct run *r, uint32_t count)
{
    if (r->state.ended_by == ENDED_BY_PROCESSES)
        console_event(&r->console, "BEZEL-RUN-LEFT",
                      "the launched processes have ended; %u more that they left behind %s ended too", count,
                      count == 1 ? "is" : "are");
}

static void take_row(struct run *r, struct sut_process *p, const struct message_launched *row)
{
    /* The `bezel run` before was killed when it had had it started, and before its journal said so. */
    if (r->taken && p->remote && p->sent == 0 && r->state.phase > PHASE_RUNNING)
        begin_incarnation(r, p, row->of.incarnation);
    if (row->of.incarnation != p->sent)
        return; /* an earlier one, whose end is known */
    bool news = !p->known;
    bool ended = !news && p->row.state != LAUNCHED_RUNS;
    size_t i = number_of(r, p);
    if (ended && row->state == LAUNCHED_LOST)
        return; /* how it ended is known: it is still in the spool of the next launcher */
    p->row = *row;
    p->known = true;
    if (news && row->pid) {
        start_plan_runs(&r->plan, i, clock_now());
        on_started(r, p);
    }
    if (row->ready)
        start_plan_ready(&r->plan, i);
    bool silenced = row->state == LAUNCHED_ENDED && strcmp(row->stage, MESSAGE_STAGE_SILENCE) == 0;
    if (silenced && !ended && !p->counted)
        on_silence(r, p);
    else if (row->state == LAUNCHED_ENDED && !ended && !p->counted)
        on_exited(r, p);
    else if (row->state == LAUNCHED_FAILED && !ended && !p->counted)
        on_failed(r, p);
    else if (row->state == LAUNCHED_LOST)
        on_lost(r, p);
}

static void take_list(struct run *r, int node, const struct message_launched_list *list)
{
    struct sut_launcher *l = node < 0 ? &r->sut.local : &r->sut.launchers[node];
    for (uint32_t i = 0; i < list->count; i++) {
        struct sut_process *p = sut_processes_find(&r->sut, node, list->rows[i].of.process);
        if (!p)
            (void)run_command_take(r, &list->rows[i]);
        if (p)
            take_row(r, p, &list->rows[i]);
    }
    if (list->change > l->since)
        l->since = list->change;
    if (list->left > l->left)
        report_left(r, list->left);
    l->left = list->left;
    l->empty |= list->empty; /* then nothing is started any more, nor by a launcher that takes its place */
}

static bool is_lost(const void *of, uint32_t node)
{
    return ((const struct run *)of)->state.daemons[1 + node].lost;
}

static void look_for_empty(struct run *r)
{
    if (r->state.phase == PHASE_STOPPING && sut_processes_all_ended(&r->sut, is_lost, r))
        run_feed(r, &(struct state_event){.type = EVENT_TREE_EMPTY});
}

/* ---- Programs that were never started ---------------------------------------------------------------------------- */

/* Not one for which another message gives the reason: what it waits for has failed, or its node is lost and done
 * without. */
static bool is_missed(const struct run *r, size_t i)
{
    const struct sut_process *p = &r->sut.processes[i];
    const struct state_daemon *d = &r->state.daemons[1 + p->of->node];
    return sut_processes_is_unstarted(p) && !p->stuck && !(d->lost && d->on_loss == ON_LOSS_CONTINUE);
}

/* How the run ended before its programs were started, and what to do about it. */
static const char *why_unstarted(const struct run *r)
{
    static const char *const whys[] = {
        [ENDED_BY_NOTHING] = "before it could start them",
        [ENDED_BY_DURATION] = "when its duration was over, before they were started: give it a longer one, or see what "
                              "they waited for (`after`, `ready`)",
        [ENDED_BY_PROCESSES] = "with other programs, before they were started: see `on-exit` of those, and `after`",
        [ENDED_BY_INTERRUPT] = "by an interrupt before they were started: run it again, for longer",
        [ENDED_BY_FAILURE] = "because something failed before they were started: see the events before this one",
    };
    if (r->taken && r->state.ended_by == ENDED_BY_PROCESSES) /* those of this machine are not started again */
        return "because its `bezel run` was killed before it had noted their start: run it again";
    return whys[r->state.ended_by];
}

void run_report_unstarted(struct run *r)
{
    enum { NAMED_MAX = 3 };
    char names[NAMED_MAX * (MESSAGE_NAME_MAX + EXPERIMENT_NAME_MAX + 32)] = "", place[EXPERIMENT_NAME_MAX + 16],
                                                                     more[32] = "";
    size_t count = 0, at = 0;
    for (size_t i = 0; i < r->sut.count; i++) {
        if (!is_missed(r, i) || count++ >= NAMED_MAX)
            continue;
        const struct sut_process *p = &r->sut.processes[i];
        at += (size_t)snprintf(names + at, sizeof names - at, "%s'%s'%s", at ? ", " : "", name_of(p),
                               place_of(r, p, place));
    }
    if (count == 0)
        return;
    if (count > NAMED_MAX)
        snprintf(more, sizeof more, " and %zu more", count - NAMED_MAX);
    console_error(&r->console, "BEZEL-RUN-UNSTARTED",
                  "%zu program%s of the file %s not reported as started, so the run fails: %s%s; it ended %s", count,
                  count == 1 ? "" : "s", count == 1 ? "was" : "were", names, more, why_unstarted(r));
    run_feed(r, &(struct state_event){.type = EVENT_UNSTARTED});
}

/* ---- The launcher of this machine -------------------------------------------------------------------------------- */

void run_end_programs(struct run *r, enum message_ending how)
{
    r->ending = how;
    if (!r->launcher_lost)
        (void)!launcher_end(&r->launcher, how); /* run_take_launcher() detects a failure */
}

bool run_finish_tree(struct run *r)
{
    pid_t spare[STATE_DAEMONS_MAX];
    size_t n = 0;
    for (uint32_t d = 0; d < r->daemons.count; d++)
        if (r->daemons.daemons[d].process.pid > 0)
            spare[n++] = r->daemons.daemons[d].process.pid;
    bool ended = launcher_finish(spare, n);
    if (!ended)
        console_error(&r->console, "BEZEL-RUN-LATE", "not all processes could be ended");
    return ended;
}

/* Nothing that the launcher started lives any longer, though it has not said how these programs ended. */
static void lose_local(struct run *r)
{
    r->launcher_lost = true;
    r->sut.local.empty = run_finish_tree(r);
    for (size_t i = 0; i < r->sut.count && r->sut.local.empty; i++) {
        struct sut_process *p = &r->sut.processes[i];
        if (!p->remote && p->known && p->row.state == LAUNCHED_RUNS)
            p->row.state = LAUNCHED_LOST;
    }
}

void run_kill_launcher(struct run *r)
{
    if (r->launcher_lost || r->sut.local.empty)
        return;
    launcher_kill(&r->launcher);
    lose_local(r);
}

static void on_launcher_lost(struct run *r)
{
    console_error(&r->console, "BEZEL-RUN-LAUNCHER",
                  "the launcher was killed: the processes that it started are killed");
    lose_local(r);
    uint64_t elsewhere = 0;
    for (size_t i = 0; i < r->sut.count; i++)
        elsewhere += r->sut.processes[i].remote && !r->sut.processes[i].counted;
    run_feed(r, &(struct state_event){.type = EVENT_LAUNCHER_LOST, .living = elsewhere});
}

/* A START that was refused is not sent again. */
static void take_refusal(struct run *r, struct sut_process *p, const char *why)
{
    console_error(&r->console, "BEZEL-RUN-LAUNCH", "process '%s' on node %s could not be started: %s", name_of(p),
                  r->e->nodes[p->of->node].name, why);
    give_up_output(p);
    give_up(r, p);
}

/* Of the launcher of this machine, which may have been told to end, or lack memory. */
static void take_local_refusal(struct run *r, const struct message_reply *reply)
{
    for (size_t i = 0; i < r->sut.count; i++) {
        struct sut_process *p = &r->sut.processes[i];
        if (!p->remote && p->sent && !p->known && p->sent_id == reply->id) {
            take_refusal(r, p, reply->text);
            return;
        }
    }
    (void)run_command_refused(r, -1, reply);
}

void run_take_launcher(struct run *r)
{
    static struct message m; /* one thread; too large for a stack */
    int err = BEZEL_EAGAIN;
    while (!r->launcher_lost && (err = launcher_receive(&r->launcher, &m)) == 0)
        if (m.type == MESSAGE_REPLY && m.reply.answer == ANSWER_PROCESSES)
            take_list(r, -1, &m.launched);
        else if (m.type == MESSAGE_REPLY && m.reply.answer == ANSWER_REFUSED)
            take_local_refusal(r, &m.reply);
    if (!r->launcher_lost && err == BEZEL_EUNREACH)
        on_launcher_lost(r);
    look_for_empty(r);
}

/* ---- Launchers of remote nodes ----------------------------------------------------------------------------------- */

static void ask_for_output(struct run *r, struct sut_process *p, int64_t now)
{
    struct daemon *d = daemon_of(r, p);
    bool more = p->row.output > p->fetched || (p->row.state != LAUNCHED_RUNS && !p->home);
    if (!d->serves || !p->known || p->home || !more || (p->fetch_id && now - p->fetch_at < ASK_AGAIN))
        return;
    struct message_command ask = {.verb = VERB_QUERY, .subject = SUBJECT_OUTPUT, .offset = p->fetched};
    ask.start = p->row.of;
    if (daemon_command(d, &ask) != 0)
        return;
    p->fetch_id = d->caller.id;
    p->fetch_at = now;
}

/* A launcher that may not have the order to end its programs gets it again. */
void run_ask_launchers(struct run *r)
{
    run_commands_ask(r);
    for (uint32_t i = 0; i < r->sut.nodes; i++) {
        struct sut_launcher *l = &r->sut.launchers[i];
        struct daemon *d = &r->daemons.daemons[1 + i].process;
        struct message_command ask = {.verb = VERB_QUERY, .subject = SUBJECT_PROCESSES, .since = l->since};
        if (l->programs == 0 || !d->serves || r->state.phase < PHASE_RUNNING || r->state.phase > PHASE_DRAINING)
            continue;
        l->asked_id = daemon_command(d, &ask) == 0 ? d->caller.id : 0; /* the next round asks again */
        if (r->state.phase == PHASE_STOPPING && !l->empty) {
            ask = (struct message_command){.verb = VERB_ENDING, .ending = r->ending};
            (void)!daemon_command(d, &ask);
        }
    }
    for (size_t i = 0; i < r->sut.count; i++)
        if (r->sut.processes[i].remote)
            ask_for_output(r, &r->sut.processes[i], clock_now());
}

/* Where the output of a remote process goes here: its file, or the terminal. */
static void put_output(struct run *r, struct sut_process *p, const struct message_output *part)
{
    int fd = p->of->output == OUTPUT_TERMINAL
                 ? dup(r->options->json ? STDERR_FILENO : STDOUT_FILENO)
                 : open(p->output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0 || file_write_all(fd, part->bytes, part->count) != 0) {
        if (p->missing == 0)
            console_error(&r->console, "BEZEL-RUN-OUTPUT", "cannot write the output of process '%s': %s: %s",
                          name_of(p), p->output[0] ? p->output : "the terminal", strerror(errno));
        p->missing += part->count;
    }
    if (fd >= 0)
        close(fd);
}

static void take_output(struct run *r, struct sut_process *p, const struct message_output *part)
{
    p->fetch_id = 0;
    if (part->offset < p->fetched) /* of a question that was repeated */
        return;
    p->missing += part->offset - p->fetched;
    if (part->count > 0)
        put_output(r, p, part);
    p->fetched = part->offset + part->count;
    p->home = part->last;
    if (r->state.phase == PHASE_DRAINING && part->count > 0)
        run_feed(r, &(struct state_event){.type = EVENT_PROGRESS});
    if (part->count == MESSAGE_OUTPUT_MAX)
        ask_for_output(r, p, clock_now());
}

/* No launcher serves the node any more, so none of its programs runs. */
static void lose_launcher(struct run *r, struct sut_launcher *l, uint32_t node)
{
    l->empty = true;
    for (size_t i = 0; i < r->sut.count; i++) {
        struct sut_process *p = &r->sut.processes[i];
        if (!p->remote || p->of->node != node || !p->sent)
            continue;
        give_up_output(p);
        on_lost(r, p);
    }
    look_for_empty(r);
}

bool run_take_launched(void *run, uint32_t d, const struct message *m)
{
    struct run *r = run;
    const struct message_reply *reply = &m->reply;
    if (reply->answer == ANSWER_PROCESSES) {
        take_list(r, (int)d - 1, &m->launched);
        look_for_empty(r);
        return true;
    }
    if (run_take_records(r, d, reply))
        return true;
    bool of_node = d >= 1 && d <= r->sut.nodes && reply->id != 0;
    if (of_node && reply->answer == ANSWER_REFUSED && reply->id == r->sut.launchers[d - 1].asked_id) {
        lose_launcher(r, &r->sut.launchers[d - 1], d - 1);
        return true;
    }
    if (of_node && run_command_refused(r, (int)d - 1, reply))
        return true;
    for (size_t i = 0; i < r->sut.count && of_node; i++) {
        struct sut_process *p = &r->sut.processes[i];
        if (!p->remote || p->of->node != d - 1)
            continue;
        bool of_output = p->fetch_id == reply->id, of_start = p->sent_id == reply->id && !p->known;
        if (of_output && reply->answer == ANSWER_OUTPUT)
            take_output(r, p, &m->output);
        else if (of_output)
            p->fetch_id = 0;
        else if (of_start && reply->answer == ANSWER_REFUSED)
            take_refusal(r, p, reply->text);
        else
            continue;
        return true;
    }
    return false;
}

void run_lose_programs(struct run *r, uint32_t node)
{
    for (size_t i = 0; i < r->sut.count; i++) {
        struct sut_process *p = &r->sut.processes[i];
        if (!p->remote || p->of->node != node)
            continue;
        start_plan_give_up(&r->plan, i);
        count_end(r, p, r->state.daemons[1 + node].on_loss != ON_LOSS_CONTINUE);
    }
}
