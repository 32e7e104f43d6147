// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/run.h"

#include "base/exit_code.h"
#include "base/file.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/procstat.h"
#include "base/saturate.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "ecs/course/fetch.h"
#include "ecs/course/run_internal.h"
#include "run/rundb/rundb.h"
#include "views/report/report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Start: signals are blocked, folders made, the launcher forked (one thread, no ZeroMQ yet), then the daemons and their
 * links. End: processes that the state machine has not ended are killed; then run.db is completed and the report
 * printed.
 *
 * One turn of the loop: wait; then signals, launcher and daemons, in this order, so that a ctrl-C that also ended a
 * process is processed before that process's end; then the tick; then progress.
 */

#define STATUS_EVERY        (500 * CLOCK_MS)
#define STATUS_EVERY_DRAIN  (50 * CLOCK_MS)
#define UNRESPONSIVE_AFTER  (5 * CLOCK_S)
#define REREAD_LIMIT        (60 * CLOCK_S) /* for reading the complete trace once more */
#define SERVER_LIMIT        (12 * CLOCK_S) /* for consumers that take the end of the run */
#define REREAD_LIMIT_KILLED (2 * CLOCK_S)  /* the same after a second interrupt */

/* Open descriptors, as counted: of the run, with those of ZeroMQ, and of each node. */
enum { RUN_FILES = 24, RUN_FILES_NODE = 4 };

/* ---- The loop ---------------------------------------------------------------------------------------------------- */

/* Whether a further order to end has come by signals. *terminal: of the first of them, whether a terminal sent it. */
static bool takes_order(struct run *r, bool *terminal)
{
    struct signalfd_siginfo info;
    bool came = false;
    while (read(r->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD && !came) { /* that wakes the loop; daemon_ended() then checks each daemon */
            came = true;
            *terminal = info.ssi_code == SI_KERNEL;
        }
    return lifetime_is_order(&r->orders, came, clock_now());
}

static void take_signals(struct run *r)
{
    bool terminal = false;
    if (!takes_order(r, &terminal))
        return;
    if (!r->state.interrupted)
        console_note(&r->console, "stopping and draining; a second interrupt ends everything at once");
    run_feed(r, &(struct state_event){.type = EVENT_INTERRUPT, .terminal = terminal});
}

static void wait_for_something(struct run *r)
{
    struct link *links[LINK_WAIT_MAX];
    int fds[LINK_WAIT_MAX];
    size_t link_count = 0, fd_count = 0;
    bool all = true;
    fds[fd_count++] = r->signals;
    fds[fd_count++] = r->launcher_lost ? -1 : r->launcher.fd;
    for (uint32_t d = 0; d < r->daemons.count; d++) {
        const struct daemon *daemon = &r->daemons.daemons[d].process;
        if (link_count + fd_count + 3 > LINK_WAIT_MAX) {
            all = false;
            break;
        }
        if (daemon->ready >= 0)
            fds[fd_count++] = daemon->ready;
        if (daemon->caller.link)
            links[link_count++] = daemon->caller.link;
        if (daemon->place)
            links[link_count++] = daemon->place->caller.link;
    }
    int64_t now = clock_now(), until = run_state_deadline(&r->state);
    if (r->launching && r->state.phase == PHASE_RUNNING && until > start_plan_deadline(&r->plan))
        until = start_plan_deadline(&r->plan);
    if (until > r->next_status)
        until = r->next_status;
    bool waits = daemons_hurry(&r->daemons, r->state.phase == PHASE_STARTING);
    if ((!all || r->launch_pending || waits) && until > now + STATUS_EVERY_DRAIN)
        until = now + STATUS_EVERY_DRAIN;
    link_wait(links, link_count, fds, fd_count, until > now ? until - now : 0);
}

static void report_unresponsive(struct run *r, uint32_t d)
{
    const struct daemon *daemon = &r->daemons.daemons[d].process;
    if (daemon_is_session(daemon))
        console_error(&r->console, "BEZEL-RUN-UNRESPONSIVE",
                      "%s has not answered for %s: is it stopped, or gone? A bezeld that is started again at %s takes "
                      "over the node",
                      daemon->name, units_duration(UNRESPONSIVE_AFTER).s, daemon->session.address);
    else if (run_state_is_inner(&r->state, d))
        console_error(&r->console, "BEZEL-RUN-UNRESPONSIVE",
                      "%s has not answered for %s: is it stopped, or the line cut? What is connected to it goes to its "
                      "next parent, or keeps its packets until it answers",
                      daemon->name, units_duration(UNRESPONSIVE_AFTER).s);
    else if (daemon->place)
        console_error(&r->console, "BEZEL-RUN-UNRESPONSIVE",
                      "%s (%s) has not answered for %s: is it stopped, or the line cut? The nodes keep their packets "
                      "until it answers, or another one is started there",
                      daemon->name, daemon->control, units_duration(UNRESPONSIVE_AFTER).s);
    else
        console_error(&r->console, "BEZEL-RUN-UNRESPONSIVE",
                      "%s (pid %d) has not answered for %s: is it stopped? 'kill -CONT %d' continues it", daemon->name,
                      (int)daemon->pid, units_duration(UNRESPONSIVE_AFTER).s, (int)daemon->pid);
}

static bool drains(const struct daemons_status *s)
{
    return s->state == DAEMON_DRAINING || s->state == DAEMON_DRAINED;
}

/* For how long `pid` was ready without a CPU since the last look, which was at `*before`. */
static int64_t starved_since(pid_t pid, int64_t *before)
{
    int64_t was = *before;
    *before = pid > 0 ? procstat_queued(pid) : 0;
    return was > 0 && *before > was ? *before - was : 0;
}

/* On a busy machine what is to start or to end may just have no CPU, and is not hung. */
static void look_for_starved(struct run *r)
{
    int64_t now = clock_now(), most = starved_since(r->launcher.pid, &r->launcher_queued);
    for (uint32_t d = 0; d < r->daemons.count; d++) {
        struct daemons_member *m = &r->daemons.daemons[d];
        most = saturate_most(most, starved_since(m->up ? m->process.pid : 0, &m->queued));
    }
    most = saturate_least(most, now - r->looked); /* its threads wait at the same time */
    r->looked = now;
    if (most > 0)
        run_feed(r, &(struct state_event){.type = EVENT_STARVED, .starved = most});
}

static void ask_status(struct run *r, int64_t now)
{
    if (now < r->next_status)
        return;
    look_for_starved(r);
    bool was_stopped = now - r->next_status > CLOCK_S; /* this process was stopped: answers wait to be read */
    bool soon = r->state.phase == PHASE_DRAINING || r->state.phase == PHASE_STOPPING;
    r->next_status = now + (soon ? STATUS_EVERY_DRAIN : STATUS_EVERY);
    if (r->state.phase > PHASE_DRAINING)
        return;
    run_ask_launchers(r);
    for (uint32_t d = 0; d < r->daemons.count; d++) {
        struct daemons_status *s = &r->daemons.daemons[d].status;
        if (!r->daemons.daemons[d].process.serves)
            continue;
        bool undrained = r->state.phase == PHASE_DRAINING && !drains(s); /* STOP may not have arrived */
        daemons_ask(&r->daemons, d, undrained ? VERB_STOP : VERB_QUERY);
        if (s->answered && was_stopped)
            s->answered = now;
        if (s->answered && now - s->answered >= UNRESPONSIVE_AFTER && !s->unresponsive_reported) {
            s->unresponsive_reported = true;
            report_unresponsive(r, d);
            run_feed(r, &(struct state_event){.type = EVENT_SILENT, .daemon = d});
        }
    }
}

/* The polling periods that differ from the experiment file. */
static void describe_periods(const struct run *r, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < r->e->node_count && n < size; i++) {
        const struct daemons_status *s = &r->daemons.daemons[1 + i].status;
        if (!s->known || s->period < 0 || s->period == r->e->sensing.period || r->e->sensing.mode == POLL_BUSY_WAIT)
            continue;
        const char *comma = n ? ", " : "", *name = r->e->nodes[i].name;
        if (s->period == 0)
            n += (size_t)snprintf(text + n, size - n, "%s%s is off", comma, name);
        else
            n += (size_t)snprintf(text + n, size - n, "%s%s polls every %s", comma, name, units_duration(s->period).s);
    }
}

static void show_progress(struct run *r, int64_t now)
{
    const struct run_state *s = &r->state;
    char periods[128];
    if (s->started == 0 || s->phase > PHASE_DRAINING || (r->taken && !r->daemons.daemons[STATE_COLLECTOR].status.known))
        return;
    bool running = s->phase == PHASE_RUNNING;
    int64_t since = running ? s->started : s->ended;
    struct progress_view view = {.phase = running                      ? "running"
                                          : s->phase == PHASE_STOPPING ? "stopping"
                                                                       : "draining",
                                 .left = running && s->duration > 0 ? s->started + s->duration - now : -1,
                                 .elapsed = since == 0 || since > now ? 0 : now - since, /* 0: of a run taken up */
                                 .records = r->daemons.daemons[STATE_COLLECTOR].status.records,
                                 .periods = periods};
    if (view.left < 0 && running && s->duration > 0)
        view.left = 0;
    for (uint32_t d = 1; d <= r->daemons.nodes; d++)
        view.lost += r->daemons.daemons[d].status.lost;
    describe_periods(r, periods, sizeof periods);
    progress_show(&r->console.progress, &view, now);
}

static void loop(struct run *r, struct state_actions actions)
{
    int64_t now = clock_now();
    run_save(r, false);
    run_act(r, actions);
    while (r->state.phase != PHASE_DONE) {
        wait_for_something(r);
        take_signals(r);
        run_take_launcher(r);
        run_take_daemons(r);
        now = clock_now();
        ask_status(r, now);
        run_feed(r, &(struct state_event){.type = EVENT_TICK});
        r->launch_pending = run_launch(r);
        run_save_changes(r);
        run_look_for_names(r, now);
        show_progress(r, now);
    }
    progress_clear(&r->console.progress);
}

/* ---- Before and after -------------------------------------------------------------------------------------------- */

/* Opens run.db; writes to it are as durable as those of the collector. */
static int open_rundb(const struct run *r, struct rundb **f)
{
    int err = rundb_open(r->dir.path, f);
    if (err || r->e->store.sync == EXPERIMENT_SYNC_NEVER)
        return err;
    err = rundb_lasting(*f);
    if (err)
        (void)!rundb_close(*f);
    return err;
}

/* Writing takes time, on a busy machine more than a short run: the run goes on for longer by that. */
void run_put_start(struct run *r)
{
    struct rundb *f;
    int64_t before = clock_now();
    int err = open_rundb(r, &f);
    if (!err) {
        err = rundb_put_int(f, RUNDB_STARTED, r->state.started + r->console.realtime_offset);
        int closed = rundb_close(f);
        err = err ? err : closed;
    }
    if (err)
        log_warn("BEZEL-RUN-DATABASE",
                 "cannot write the run's start to %s/run.db: %s%s; it is written at the run's end", r->dir.path,
                 rundb_why(err), file_room(r->dir.path, errno));
    if (r->state.duration > 0)
        r->state.duration += clock_now() - before;
}

static int put_first_properties(const struct run *r)
{
    struct rundb *f;
    struct stat st;
    char value[256], sum[RUNDB_EXPERIMENT_MAX];
    const char *key;
    int err = rundb_sum_experiment(r->dir.path, sum);
    if (!err)
        err = open_rundb(r, &f);
    if (err)
        return err;
    err = rundb_put(f, "run", r->dir.uuid);
    if (!err)
        err = rundb_put(f, "name", r->e->name);
    if (!err)
        err = rundb_put(f, RUNDB_EXPERIMENT, sum);
    if (!err)
        err = rundb_put_int(f, RUNDB_BEGUN, clock_now() + r->console.realtime_offset);
    if (!err && stat(r->dir.path, &st) == 0)
        err = rundb_put_int(f, RUNDB_INODE, (int64_t)st.st_ino);
    for (unsigned i = 0; !err && rundir_version(i, &key, value, sizeof value); i++)
        err = rundb_put(f, key, value);
    int closed = rundb_close(f);
    return err ? err : closed;
}

/* Records that no process matched `attach` of `p`. */
static int put_absent(const struct run *r, const struct experiment_process *p, struct rundb *f)
{
    char text[512];
    const char *dir = r->daemons.node_dirs[p->node];
    snprintf(text, sizeof text,
             "was not observed: no process that matches '%.120s' had a segment in %.120s. Did it run, does it use "
             "libbezel, is its BEZEL_DIR the same? Is that the name of its file, by readlink /proc/PID/exe?",
             p->attach, dir[0] ? dir : "the folder of its node");
    return rundb_silent(f, r->e->nodes[p->node].name, p->name, 0, text);
}

/*
 * Records each process that was launched, or was to be attached to, and had no segment that bezeld found, with possible
 * reasons. rundb_silent() skips one that recorded, or that left its own reason.
 */
static int put_silent(const struct run *r, struct rundb *f)
{
    int err = 0;
    for (uint32_t i = 0, at = 0; i < r->e->process_count && !err; i++) {
        const struct experiment_process *p = &r->e->processes[i];
        if (p->attach)
            err = put_absent(r, p, f);
        for (uint32_t k = 0; p->argv && k < p->instances && at < r->sut.count && !err; k++, at++) {
            const struct sut_process *s = &r->sut.processes[at];
            const char *dir = r->daemons.node_dirs[p->node];
            char text[512];
            snprintf(text, sizeof text,
                     "recorded nothing: no segment of it was read in %.120s. Does it use libbezel, did it reach a "
                     "record, may it write there? With BEZEL_DEBUG=1 in its environment, libbezel prints the reason",
                     dir[0] ? dir : "the folder of its node");
            if (s->row.pid && !p->plain)
                err =
                    rundb_silent(f, r->e->nodes[p->node].name, s->program.launch.of.process, (int64_t)s->row.pid, text);
        }
    }
    return err;
}

/* Records how programs ended. */
static int put_programs(struct run *r, struct rundb *f)
{
    int err = 0;
    for (size_t i = 0; i < r->sut.count && !err; i++)
        err = sut_processes_note(&r->sut, &r->sut.processes[i]);
    for (size_t i = 0; i < r->sut.ended_count && !err; i++) {
        const struct sut_ended *ended = &r->sut.ended[i];
        err = rundb_program(f, r->e->nodes[ended->process->of->node].name, &ended->row, ended->missing);
    }
    return err;
}

/* Adds `place` to the places where programs may live. */
static void add_place(char *text, size_t size, const char *before, const char *place)
{
    size_t n = strlen(text);
    snprintf(text + n, size - n, "%s%s%s", n ? ", " : "", before, place);
}

/* Records the places whose launcher has not said that all programs have ended, except for launchers that began none. */
static int put_unended(const struct run *r, struct rundb *f)
{
    char text[1024] = "";
    bool sent = false;
    for (size_t i = 0; i < r->sut.count; i++)
        sent |= !r->sut.processes[i].remote && r->sut.processes[i].sent > 0;
    if (sent && !r->sut.local.empty && !r->taken)
        add_place(text, sizeof text, "on this machine", "");
    for (uint32_t i = 0; i < r->sut.nodes; i++)
        if (r->sut.launchers[i].programs > 0 && !r->sut.launchers[i].empty)
            add_place(text, sizeof text, "on node ", r->e->nodes[i].name);
    return text[0] ? rundb_put(f, RUNDB_UNENDED, text) : 0;
}

static int put_last_properties(struct run *r)
{
    static const char *const ended_by[] = {"failure", "duration", "processes", "interrupt", "failure"};
    const struct run_state *s = &r->state;
    struct rundb *f;
    int64_t offset = r->console.realtime_offset;
    int err = open_rundb(r, &f);
    if (err)
        return err;
    if (s->started)
        err = rundb_put_int(f, RUNDB_STARTED, s->started + offset); /* it may not have been written then */
    if (!err)
        err = rundb_put_int(f, RUNDB_ENDED, (s->ended ? s->ended : clock_now()) + offset);
    if (!err)
        err = rundb_put(f, "ended_by",
                        s->ended_by == ENDED_BY_INTERRUPT && r->by_trigger ? "trigger" : ended_by[s->ended_by]);
    if (!err)
        err = rundb_put_int(f, "outcome", run_state_exit_code(s, EXIT_OK));
    if (!err && r->undrained)
        err = rundb_put_int(f, RUNDB_UNDRAINED, 1);
    if (!err && s->started)
        err = put_unended(r, f);
    if (!err && r->state.unmanaged)
        err = rundb_put_int(f, RUNDB_UNMANAGED, 1);
    if (!err && r->behind)
        err = rundb_put_int(f, RUNDB_BEHIND, 1);
    if (!err && r->trigger.number)
        err = rundb_put_int(f, RUNDB_SNAPSHOTS_REFUSED, (int64_t)r->trigger.refused);
    if (!err)
        err = put_programs(r, f);
    if (!err)
        err = run_commands_put(r, f);
    if (!err)
        err = put_silent(r, f);
    if (!err)
        err = console_keep(&r->console, f);
    int closed = rundb_close(f);
    return err ? err : closed;
}

/* Whether a further order to end has come, after the loop. */
static bool is_interrupted(struct run *r)
{
    bool terminal;
    return takes_order(r, &terminal);
}

/* Starts the collector once more, which reads the stored trace, and stops it when it serves. Returns its status as of
 * waitpid(); -1: it did not start, or was killed at `until`. */
static int run_collector_once(struct run *r, int64_t until)
{
    struct daemon *d = &r->daemons.daemons[STATE_COLLECTOR].process;
    int status = -1;
    if (daemons_start(&r->daemons, STATE_COLLECTOR) != 0)
        return -1;
    while (!daemon_ended(d, &status) && clock_now() < until && !is_interrupted(r)) {
        int fds[] = {r->signals, d->ready};
        link_wait(NULL, 0, fds, 2, STATUS_EVERY_DRAIN);
        if (daemons_serves(&r->daemons, STATE_COLLECTOR) == 1)
            daemons_ask(&r->daemons, STATE_COLLECTOR, VERB_SHUTDOWN);
    }
    daemon_close(d);
    return status;
}

/*
 * A collector that was killed may have stored more than run.db accounts for. Another one adds the rest, now that no
 * node sends any more: the report must not contradict the trace.
 */
static void read_stored_trace(struct run *r)
{
    struct daemon *d = &r->daemons.daemons[STATE_COLLECTOR].process;
    char words[CONSOLE_TEXT_MAX / 2] = "it could not be started, or was not done in time";
    bool unclean = r->store_unclean || d->pid > 0 || (d->place && d->place->phase == REMOTE_COLLECTOR_RUNS);
    daemon_close(d);
    if (!unclean || !r->state.started)
        return;
    int status = run_collector_once(r, clock_now() + (r->state.killed ? REREAD_LIMIT_KILLED : REREAD_LIMIT));
    if (status == 0) {
        console_event(
            &r->console, "BEZEL-RUN-TAKEN-UP",
            "the collector did not end in order; another one has read the stored trace: run.db accounts for all that "
            "the trace holds");
        return;
    }
    r->behind = true;
    if (status > 0)
        daemon_last_messages(d, words, sizeof words);
    if (!words[0])
        sut_processes_describe_end(status, words, sizeof words);
    console_error(
        &r->console, "BEZEL-RUN-BEHIND",
        "run.db may account for less than the trace holds: the collector did not end in order, and another one "
        "failed to read the stored trace: %s; to repeat this: bezel-collector --run %s",
        words, r->dir.path);
}

/* Who commands the run: of several, daemons follow the one with the greatest epoch. */
static int become_owner(struct run *r)
{
    struct message_leadership *owner = &r->daemons.owner;
    owner->epoch = r->taken ? r->taken->epoch + 1 : 1;
    r->daemons.epoch = (owner->epoch - 1) << 16; /* its resource managers are above those before */
    if (getrandom(&owner->holder, sizeof owner->holder, 0) == sizeof owner->holder)
        return 0;
    int err = err_from_errno(errno);
    log_error("BEZEL-RUN-ID", "no random numbers: %s", strerror(errno));
    return err;
}

static int make_directory(struct run *r, const char *text, size_t n)
{
    int err = rundir_init(&r->dir);
    if (!err)
        err = rundir_make_private(&r->dir);
    return err ? err : rundir_make(r->options->runs, r->e->name, text, n, &r->dir);
}

/* A collector of a run that is taken over listens where the last one did: nodes connect there. */
static void keep_endpoint(struct run *r)
{
    const char *before = r->taken ? r->taken->data : "";
    if (strncmp(before, "tcp://", 6) == 0)
        snprintf(r->daemons.data, sizeof r->daemons.data, "%s", before);
    for (uint32_t i = 0; r->taken && i < r->daemons.inner_count; i++)
        daemons_inner_keep(&r->daemons, i, r->taken->inner[i]);
}

/* Notes where the run lies. */
static int note_away(const struct run *r)
{
    char text[PATH_MAX + 256];
    snprintf(text, sizeof text, "on node %s (%s), in %s", r->e->collector.node, r->daemons.place.node->address,
             r->daemons.place.directory);
    return rundir_note_away(r->dir.path, text);
}

/* Makes folders, launcher and run.db. Steps that fail more often come before the run directory. Returns 0, or a logged
 * error. */
static int prepare(struct run *r, const char *text, size_t n)
{
    int err = ulimit_check_files(RUN_FILES + RUN_FILES_NODE * (r->e->node_count + r->e->inner_count));
    if (!err)
        err = ulimit_check_file_size(r->e->sensing.window_bytes + UNITS_MIB);
    if (!err)
        err = daemons_find(r->e, &r->daemons);
    if (!err)
        err = become_owner(r);
    if (!err)
        err = r->taken ? run_take_directory(r) : make_directory(r, text, n);
    if (!err)
        err = rundir_publish(&r->dir);
    if (!err)
        err = daemons_make(r->e, &r->dir, &r->daemons);
    if (err)
        return err;
    r->daemons.launched = run_take_launched;
    r->daemons.of = r;
    keep_endpoint(r);
    err = sut_processes_make(r->e, r->dir.path, r->daemons.node_dirs, r->options->interactive, r->options->json,
                             r->taken && r->taken->state.phase > PHASE_STARTING, &r->sut);
    if (!err)
        err = start_plan_make(r->e, &r->plan);
    if (!err && !r->taken)
        err = launcher_fork(r->e->grace, &r->launcher);
    if (err) {
        log_error("BEZEL-RUN-LAUNCHER", "cannot prepare the launch of the processes: %s", ulimit_reason(err));
        return err;
    }
    if (r->taken)
        return 0;
    rundir_mark_running(&r->dir); /* after the fork: the launcher must not inherit the lock */
    err = put_first_properties(r);
    if (!err && r->e->collector.node)
        err = note_away(r);
    if (err)
        log_error("BEZEL-RUN-DATABASE", "cannot write %s/run.db: %s%s", r->dir.path, rundb_why(err),
                  file_room(r->dir.path, errno));
    return err ? err : rundir_point_latest(&r->dir);
}

static bool is_given_up(void *context)
{
    return is_interrupted(context);
}

static void show_fetched(void *context, uint64_t done, uint64_t total)
{
    struct run *r = context;
    char text[128];
    snprintf(text, sizeof text, "fetching the run: %s of %s", units_bytes(done).s, units_bytes(total).s);
    progress_text(&r->console.progress, text, clock_now());
}

/* Brings the run home from the node of its collector. Returns 0 with *home: whether it is here; or an error. */
static int fetch(struct run *r, bool *home)
{
    struct fetch_result result = {.home = false};
    struct remote_collector *place = &r->daemons.place;
    *home = true;
    if (!r->e->collector.node)
        return 0;
    if (!place->served && !(place->known && place->row.state == LAUNCHED_RUNS)) { /* then it has left nothing there */
        remote_collector_forget(place);
        return rundir_note_away(r->dir.path, NULL);
    }
    struct fetch_options o = {
        .run = r->dir.path, .place = place, .stop = is_given_up, .progress = show_fetched, .context = r};
    int err = r->state.killed ? BEZEL_ETIMEDOUT : fetch_run(&o, &result);
    progress_clear(&r->console.progress);
    *home = result.home;
    if (err && *home)
        log_error("BEZEL-RUN-LACKS", "the run is here, but %s; its copy stays on node %s, in %s", result.why,
                  r->e->collector.node, place->directory);
    else if (err)
        log_error("BEZEL-RUN-AWAY", "the run is not here: it lies on node %s, in %s%s%s; fetch it with: bezel fetch %s",
                  r->e->collector.node, place->directory, r->state.killed ? "" : ": ",
                  r->state.killed ? "" : result.why, r->dir.path);
    return err;
}

/* The run is over, but not here. */
static int conclude_away(const struct run *r)
{
    int code = run_state_exit_code(&r->state, EXIT_OK);
    return code == EXIT_OK ? EXIT_UNREACHABLE : code;
}

/* Whether the run directory is there, though perhaps under another name than at the start. */
static bool follow_directory(struct run *r)
{
    char was[PATH_MAX];
    memcpy(was, r->dir.path, sizeof was);
    int moved = rundir_follow(&r->dir);
    if (moved > 0)
        console_event(&r->console, "BEZEL-RUN-MOVED", "%s was moved to %s while the run went on", was, r->dir.path);
    else if (moved < 0)
        log_error("BEZEL-RUN-MOVED",
                  "%s was removed while the run went on, and its records with it; if it was moved, end it where it is "
                  "now: bezel attach DIR",
                  was);
    return moved >= 0;
}

static int conclude(struct run *r)
{
    bool there = follow_directory(r);
    if (there)
        read_stored_trace(r);
    if (!r->state.killed)
        daemons_forget_inner(&r->daemons, 0);
    if (!there)
        return EXIT_FAILED;
    int err = put_last_properties(r), report = BEZEL_ESYS;
    if (err)
        log_error("BEZEL-RUN-DATABASE", "cannot write %s/run.db: %s%s", r->dir.path, rundb_why(err),
                  file_room(r->dir.path, errno));
    else
        run_journal_remove(r->dir.path);
    bool home = true;
    if (!err)
        err = fetch(r, &home);
    if (!home)
        return conclude_away(r);
    if (r->state.interrupted && !r->state.started)
        log_error("BEZEL-RUN-INTERRUPTED", "interrupted before the experiment began: nothing is recorded");
    else if (r->state.killed)
        log_error(
            "BEZEL-RUN-KILLED",
            "ended at once: the stored records are in %s ('bezel report' counts them); records that were still on "
            "their way there are lost",
            r->dir.path);
    else if (r->state.started) {
        run_tell_names(r);
        report = report_print(r->dir.path, false, NULL, r->options->json ? REPORT_JSON : REPORT_TEXT, stdout);
    }
    if (report >= 0 && fflush(stdout) == EOF)
        report = BEZEL_ESYS;
    int code = run_state_exit_code(&r->state, report);
    return err && (code == EXIT_OK || code == EXIT_VIOLATED) ? EXIT_FAILED : code;
}

/* Programs that hand the run on write to the collector's log: what one says last of what it could not is for the
 * operator. */
static void tell_servers(const struct run *r)
{
    static const struct {
        const char *begin, *over; /* a line that begins so, unless one that begins so came behind it */
    } wanted[] = {{"bezel-serve: error: ", NULL},
                  {"bezel-metrics: error: ", NULL},
                  {"bezel-metrics: warning: BEZEL-METRICS-PUSH: ", "bezel-metrics: BEZEL-METRICS-PUSH: "},
                  {"bezel-engine: error: ", NULL}};
    enum { WANTED = sizeof wanted / sizeof *wanted };
    char path[PATH_MAX + 32], line[CONSOLE_TEXT_MAX], last[WANTED][CONSOLE_TEXT_MAX] = {""};
    snprintf(path, sizeof path, "%s/log/collector.log", r->dir.path);
    FILE *log = fopen(path, "re");
    while (log && fgets(line, sizeof line, log))
        for (int i = 0; i < WANTED; i++)
            if (strncmp(line, wanted[i].begin, strlen(wanted[i].begin)) == 0)
                memcpy(last[i], line, sizeof line);
            else if (wanted[i].over && strncmp(line, wanted[i].over, strlen(wanted[i].over)) == 0)
                last[i][0] = '\0';
    if (log)
        fclose(log);
    for (int i = 0; i < WANTED; i++)
        if (last[i][0])
            log_warn("BEZEL-RUN-SERVED", "%.*s", (int)strcspn(last[i], "\n"), last[i]);
}

/* The collector has left its server to us, a subreaper: mirrors take the last rows of the run from it. */
static void wait_for_server(struct run *r)
{
    int64_t until = clock_now() + SERVER_LIMIT;
    if ((!r->e->store.serve && !r->e->store.metrics && !r->e->store.push && !r->e->store.engine) || r->state.killed)
        return;
    while (waitpid(-1, NULL, WNOHANG) >= 0 && clock_now() < until && !is_interrupted(r))
        link_wait(NULL, 0, &r->signals, 1, STATUS_EVERY_DRAIN);
    tell_servers(r);
}

static void close_launcher(struct run *r)
{
    if (!launcher_close(&r->launcher))
        (void)run_finish_tree(r);
}

/* The first actions of a new run, or of one that is taken over. */
static int begin(struct run *r, struct state_actions *actions)
{
    if (!r->taken) {
        *actions = run_state_begin(&r->state, r->e, r->options->interactive, clock_now());
        return 0;
    }
    int err = run_restore(r, actions);
    if (err)
        log_error("BEZEL-ATTACH-JOURNAL", "%s: the journal does not fit the experiment's file: %s", r->dir.path,
                  ulimit_reason(err));
    return err;
}

/* The end of a `bezel run` whose run another one has taken over: nothing is changed that belongs to the run. */
static int leave(struct run *r)
{
    daemons_leave(&r->daemons);
    rundir_leave(&r->dir);
    return EXIT_FAILED;
}

int run_drive(const struct run_start *start)
{
    struct run *r = calloc(1, sizeof *r);
    struct state_actions actions;
    if (!r)
        return EXIT_FAILED;
    *r = (struct run){.e = start->e,
                      .options = start->options,
                      .path = start->path,
                      .taken = start->taken,
                      .begun = clock_now(),
                      .dir = {.lock = -1, .running = -1},
                      .launcher.fd = -1};
    console_init(&r->console, r->options->quiet, r->options->interactive);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* see wait_for_server() */
    r->signals = lifetime_signals((const int[]){SIGINT, SIGCHLD, 0});
    int code = EXIT_FAILED;
    if (r->signals < 0)
        log_error("BEZEL-RUN-SIGNALS", "cannot read signals: %s", strerror(errno));
    else if (prepare(r, start->text, start->text_bytes) == 0 && begin(r, &actions) == 0) {
        console_note(&r->console, "%s: the run directory is %s", r->e->name, r->dir.path);
        loop(r, actions);
        close_launcher(r);
        code = r->state.taken ? leave(r) : conclude(r);
    }
    close_launcher(r);
    daemons_free(&r->daemons);
    sut_processes_free(&r->sut);
    free(r->command_rows);
    start_plan_free(&r->plan);
    rundir_close(&r->dir);
    if (r->signals >= 0)
        wait_for_server(r);
    console_free(&r->console);
    if (r->signals >= 0)
        close(r->signals);
    free(r);
    return code;
}

int run_experiment(const struct experiment *e, const char *text, size_t n, const struct run_options *options)
{
    return run_drive(&(struct run_start){.e = e, .options = options, .text = text, .text_bytes = n});
}
