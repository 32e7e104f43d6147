// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/run.h"

#include "base/limit.h"
#include "base/log.h"
#include "base/units.h"
#include "collector/facts.h"
#include "ecs/commands.h"
#include "ecs/experiment_state.h"
#include "ecs/fleet.h"
#include "ecs/operator.h"
#include "ecs/report.h"
#include "ecs/run_impl.h"
#include "ecs/rundir.h"
#include "ecs/sut.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/*
 * Order at the start: signals blocked, folders made, launcher forked (one thread, no ZeroMQ yet), then the daemons and
 * their links. Order at the end: whatever the state machine has not ended in good order is ended by force; then facts,
 * then report.
 *
 * One turn of the loop: wait; signals, launcher, daemons, in this order, so that a ctrl-C that also ended a process is
 * known before that process's end; then time; then progress.
 */

#define STATUS_EVERY       (500 * CLOCK_MS)
#define STATUS_EVERY_DRAIN (50 * CLOCK_MS)
#define MUTE_AFTER         (5 * CLOCK_S)
#define TAKE_UP_LIMIT      (60 * CLOCK_S) /* for reading the whole trace once more */
#define TAKE_UP_HURRY      (2 * CLOCK_S)  /* the same where the operator wants an end at once */

/* Files that are open at once here, as they were counted: of the run, ZeroMQ's among them, and more for each node. */
enum { RUN_FILES = 24, RUN_FILES_NODE = 4 };

/* ---- The loop ---------------------------------------------------------------------------------------------------- */

static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    signal(SIGPIPE, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void take_signals(struct run *r)
{
    struct signalfd_siginfo info;
    while (read(r->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue; /* only to wake up: daemons are asked one by one */
        if (!r->state.interrupted)
            operator_note(&r->operator, "stopping and draining; once more ends everything at once");
        run_feed(r, &(struct state_event){.type = EVENT_INTERRUPT, .terminal = info.ssi_code == SI_KERNEL});
    }
}

static void wait_for_something(struct run *r)
{
    struct link *links[LINK_WAIT_MAX];
    int fds[LINK_WAIT_MAX];
    size_t link_count = 0, fd_count = 0;
    bool all = true;
    fds[fd_count++] = r->signals;
    fds[fd_count++] = r->launcher_lost ? -1 : r->launcher.fd;
    for (uint32_t d = 0; d < r->fleet.count; d++) {
        const struct daemon *daemon = &r->fleet.daemons[d];
        if (link_count + fd_count + 2 > LINK_WAIT_MAX) {
            all = false;
            break;
        }
        if (daemon->ready >= 0)
            fds[fd_count++] = daemon->ready;
        if (daemon->link)
            links[link_count++] = daemon->link;
        if (daemon->standing.desk)
            links[link_count++] = daemon->standing.desk;
    }
    int64_t now = clock_now(), until = experiment_state_deadline(&r->state);
    if (until > r->next_status)
        until = r->next_status;
    if (!all && until > now + STATUS_EVERY_DRAIN)
        until = now + STATUS_EVERY_DRAIN;
    link_wait(links, link_count, fds, fd_count, until > now ? until - now : 0);
}

static void tell_mute(struct run *r, uint32_t d)
{
    const struct daemon *daemon = &r->fleet.daemons[d];
    if (daemon_is_session(daemon))
        operator_error(&r->operator, "BEZEL-RUN-MUTE",
                       "%s has not answered for %s: is it stopped, or gone? One that is started again at %s takes the "
                       "node up again",
                       daemon->name, units_duration(MUTE_AFTER).s, daemon->standing.address);
    else
        operator_error(&r->operator, "BEZEL-RUN-MUTE", "%s (pid %d) has not answered for %s: is it stopped?",
                       daemon->name, (int)daemon->pid, units_duration(MUTE_AFTER).s);
}

static bool drains(const struct fleet_status *s)
{
    return s->state == DAEMON_DRAINING || s->state == DAEMON_DRAINED;
}

static void ask_status(struct run *r, int64_t now)
{
    if (now < r->next_status)
        return;
    bool was_stopped = now - r->next_status > CLOCK_S; /* this process: the answers to it are still to be read */
    r->next_status = now + (r->state.phase == PHASE_DRAINING ? STATUS_EVERY_DRAIN : STATUS_EVERY);
    if (r->state.phase > PHASE_DRAINING)
        return;
    for (uint32_t d = 0; d < r->fleet.count; d++) {
        struct fleet_status *s = &r->fleet.status[d];
        if (!r->fleet.daemons[d].link)
            continue;
        bool undrained = r->state.phase == PHASE_DRAINING && !drains(s); /* that it was told is not that it heard */
        fleet_ask(&r->fleet, d, undrained ? VERB_DRAIN : VERB_STATUS);
        if (s->heard && was_stopped)
            s->heard = now;
        if (s->heard && now - s->heard >= MUTE_AFTER && !s->told_mute) {
            s->told_mute = true;
            tell_mute(r, d);
        }
    }
}

/* The polling periods that are not as the file has them. */
static void describe_periods(const struct run *r, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < r->e->node_count && n < size; i++) {
        const struct fleet_status *s = &r->fleet.status[1 + i];
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
    const struct experiment_state *s = &r->state;
    char periods[128];
    if (s->started == 0 || s->phase > PHASE_DRAINING)
        return;
    bool running = s->phase == PHASE_RUNNING;
    struct progress_view view = {.phase = running                      ? "running"
                                          : s->phase == PHASE_STOPPING ? "stopping"
                                                                       : "draining",
                                 .left = running && s->duration > 0 ? s->started + s->duration - now : -1,
                                 .elapsed = now - (running ? s->started : s->ended),
                                 .records = r->fleet.status[STATE_COLLECTOR].records,
                                 .periods = periods};
    if (view.left < 0 && running && s->duration > 0)
        view.left = 0;
    for (uint32_t d = 1; d < r->fleet.count; d++)
        view.lost += r->fleet.status[d].lost;
    describe_periods(r, periods, sizeof periods);
    progress_show(&r->operator.progress, &view, now);
}

static void loop(struct run *r)
{
    int64_t now = clock_now();
    run_act(r, experiment_state_begin(&r->state, r->e, r->options->interactive, now));
    while (r->state.phase != PHASE_DONE) {
        wait_for_something(r);
        take_signals(r);
        run_take_launcher(r);
        run_take_daemons(r);
        run_take_manager(r);
        now = clock_now();
        ask_status(r, now);
        run_feed(r, &(struct state_event){.type = EVENT_TICK});
        show_progress(r, now);
    }
    progress_clear(&r->operator.progress);
}

/* ---- Before and after -------------------------------------------------------------------------------------------- */

/* The run's database; what is written there is as lasting as what the collector will write. */
static int open_facts(const struct run *r, struct facts **f)
{
    int err = facts_open(r->dir.path, f);
    if (err || r->e->store.sync == EXPERIMENT_SYNC_NEVER)
        return err;
    err = facts_lasting(*f);
    if (err)
        (void)!facts_close(*f);
    return err;
}

static int put_first_facts(const struct run *r)
{
    struct facts *f;
    char value[256];
    const char *key;
    int err = open_facts(r, &f);
    if (err)
        return err;
    err = facts_put(f, "run", r->dir.uuid);
    if (!err)
        err = facts_put(f, "name", r->e->name);
    if (!err)
        err = facts_put_int(f, "started", clock_now() + r->operator.realtime_offset);
    for (unsigned i = 0; !err && rundir_version(i, &key, value, sizeof value); i++)
        err = facts_put(f, key, value);
    int closed = facts_close(f);
    return err ? err : closed;
}

/* An entry to attach to that met nobody, beside others that did. */
static int put_absent(const struct run *r, const struct experiment_process *p, struct facts *f)
{
    char text[512];
    snprintf(text, sizeof text,
             "was not observed: no process that matches '%.120s' had a segment in %.120s. Did it run, does it use "
             "libbezel, is its BEZEL_DIR the same?",
             p->attach, r->fleet.node_dirs[p->node]);
    return facts_silent(f, r->e->nodes[p->node].name, p->name, 0, text);
}

/*
 * What was launched and never had a segment that bezeld found is told, with what may be the reason; a process that
 * could not make its segment has told the reason itself. Likewise what was to be attached to and never came.
 */
static int put_silent(const struct run *r, struct facts *f)
{
    int err = 0;
    for (uint32_t i = 0, at = 0; i < r->e->process_count && !err; i++) {
        const struct experiment_process *p = &r->e->processes[i];
        if (p->attach)
            err = put_absent(r, p, f);
        for (uint32_t k = 0; p->argv && k < p->instances && at < r->sut.count && !err; k++, at++) {
            const struct sut_process *s = &r->sut.processes[at];
            char text[512];
            snprintf(text, sizeof text,
                     "recorded nothing: no segment of it was read in %.120s. Does it use libbezel, did it come to a "
                     "record, may it write there? BEZEL_DEBUG=1 in its environment tells",
                     r->fleet.node_dirs[p->node]);
            if (s->launched)
                err = facts_silent(f, r->e->nodes[p->node].name, s->name, s->launched, text);
        }
    }
    return err;
}

static int put_last_facts(const struct run *r)
{
    static const char *const ended_by[] = {"failure", "duration", "processes", "interrupt", "failure"};
    const struct experiment_state *s = &r->state;
    struct facts *f;
    int64_t offset = r->operator.realtime_offset;
    int err = open_facts(r, &f);
    if (err)
        return err;
    if (s->started)
        err = facts_put_int(f, "started", s->started + offset);
    if (!err)
        err = facts_put_int(f, "ended", (s->ended ? s->ended : clock_now()) + offset);
    if (!err)
        err = facts_put(f, "ended_by", ended_by[s->ended_by]);
    if (!err)
        err = facts_put_int(f, "outcome", experiment_state_exit_code(s, EXIT_HELD));
    if (!err && r->undrained)
        err = facts_put_int(f, FACTS_UNDRAINED, 1);
    if (!err && r->manager.given_up)
        err = facts_put_int(f, FACTS_UNMANAGED, 1);
    if (!err && r->trigger.number)
        err = facts_put_int(f, FACTS_SNAPSHOTS_REFUSED, (int64_t)r->trigger.refused);
    if (!err)
        err = put_silent(r, f);
    if (!err)
        err = operator_keep(&r->operator, f);
    int closed = facts_close(f);
    return err ? err : closed;
}

/* Whether the operator has asked for an end while nothing else is left to do. */
static bool is_interrupted(const struct run *r)
{
    struct signalfd_siginfo info;
    bool interrupted = false;
    while (read(r->signals, &info, sizeof info) == (ssize_t)sizeof info)
        interrupted = interrupted || info.ssi_signo != SIGCHLD;
    return interrupted;
}

/* One more life of the collector, which ends once it serves. Returns its status as of waitpid(); -1: it had to be
 * killed, or was not even started. */
static int run_collector_once(struct run *r, int64_t until)
{
    struct daemon *d = &r->fleet.daemons[STATE_COLLECTOR];
    int status = -1;
    if (fleet_start(&r->fleet, STATE_COLLECTOR) != 0)
        return -1;
    while (!daemon_ended(d, &status) && clock_now() < until && !is_interrupted(r)) {
        int fds[] = {r->signals, d->ready};
        link_wait(NULL, 0, fds, 2, STATUS_EVERY_DRAIN);
        if (fleet_serves(&r->fleet, STATE_COLLECTOR) == 1)
            fleet_ask(&r->fleet, STATE_COLLECTOR, VERB_STOP);
    }
    daemon_close(d);
    return status;
}

/*
 * A collector that was killed may have stored more than it told run.db. Another one takes that up, now that no node
 * sends any more: no report may contradict the trace.
 */
static void take_up(struct run *r)
{
    struct daemon *d = &r->fleet.daemons[STATE_COLLECTOR];
    char words[OPERATOR_TEXT_MAX / 2] = "it could not be started, or was not done in time";
    bool cut = r->store_cut || d->pid > 0;
    daemon_close(d);
    if (!cut || !r->state.started)
        return;
    int status = run_collector_once(r, clock_now() + (r->state.killed ? TAKE_UP_HURRY : TAKE_UP_LIMIT));
    if (status == 0) {
        operator_event(
            &r->operator, "BEZEL-RUN-TAKEN-UP",
            "the collector did not end in order; another one has taken up what is stored: run.db tells of all "
            "that the trace holds");
        return;
    }
    if (status > 0)
        daemon_last_words(d, words, sizeof words);
    if (!words[0])
        sut_describe_end(status, words, sizeof words);
    operator_error(&r->operator, "BEZEL-RUN-BEHIND",
                   "run.db may tell of less than the trace holds: the collector did not end in order, and the one that "
                   "was to take up what is stored did not, either: %s; bezel-collector --run %s ... takes it up later",
                   words, r->dir.path);
}

/* Folders, launcher, facts; the run directory after what fails more often. Returns 0 or an error after saying why. */
static int prepare(struct run *r, const char *text, size_t n)
{
    int err = limit_check_files(RUN_FILES + RUN_FILES_NODE * r->e->node_count);
    if (!err)
        err = limit_check_file_size(r->e->sensing.window_bytes + UNITS_MIB);
    if (!err)
        err = fleet_find(r->e, &r->fleet);
    if (!err)
        err = rundir_init(&r->dir);
    if (!err)
        err = rundir_make_private(&r->dir);
    if (!err)
        err = rundir_make(r->options->runs, r->e->name, text, n, &r->dir);
    if (!err)
        err = rundir_publish(&r->dir);
    if (!err)
        err = fleet_make(r->e, &r->dir, &r->fleet);
    if (!err)
        err = run_manager_make(r);
    if (err)
        return err;
    err = sut_make(r->e, r->dir.path, r->fleet.node_dirs, r->options->interactive, &r->sut);
    for (size_t i = 0; i < r->sut.count; i++)
        r->sut.launches[i].aside = r->options->json;
    if (!err)
        err = launcher_fork(r->sut.launches, r->sut.count, r->e->grace, &r->launcher);
    if (err) {
        log_error("BEZEL-RUN-LAUNCHER", "cannot make ready to launch the processes: %s", limit_reason(err));
        return err;
    }
    rundir_mark_running(&r->dir); /* which the launcher, forked above, does not inherit */
    err = put_first_facts(r);
    if (err)
        log_error("BEZEL-RUN-FACTS", "cannot write %s/run.db: %s", r->dir.path, facts_why(err));
    return err;
}

static int conclude(struct run *r)
{
    take_up(r);
    int err = put_last_facts(r), report = BEZEL_ESYS;
    if (err)
        log_error("BEZEL-RUN-FACTS", "cannot write %s/run.db: %s", r->dir.path, facts_why(err));
    if (r->state.killed)
        log_error("BEZEL-RUN-KILLED",
                  "ended at once: what was stored is in %s ('bezel report' tells how much), what was still on its way "
                  "there is lost",
                  r->dir.path);
    else if (r->state.started)
        report = report_print(r->dir.path, r->options->json ? REPORT_JSON : REPORT_TEXT, stdout);
    if (report >= 0 && fflush(stdout) == EOF)
        report = BEZEL_ESYS;
    int code = experiment_state_exit_code(&r->state, report);
    return err && (code == EXIT_HELD || code == EXIT_VIOLATED) ? EXIT_FAILED : code;
}

static void close_launcher(struct run *r)
{
    if (!launcher_close(&r->launcher))
        run_finish_tree(r);
}

int run_experiment(const struct experiment *e, const char *text, size_t n, const struct run_options *options)
{
    struct run *r = calloc(1, sizeof *r);
    if (!r)
        return EXIT_FAILED;
    *r = (struct run){.e = e, .options = options, .dir = {.lock = -1, .running = -1}, .launcher.fd = -1};
    operator_init(&r->operator, options->quiet, options->interactive);
    r->signals = open_signals();
    int code = EXIT_FAILED;
    if (r->signals < 0)
        log_error("BEZEL-RUN-SIGNALS", "cannot read signals: %s", strerror(errno));
    else if (prepare(r, text, n) == 0) {
        operator_note(&r->operator, "%s: the run directory is %s", e->name, r->dir.path);
        loop(r);
        close_launcher(r);
        code = conclude(r);
    }
    close_launcher(r);
    run_manager_close(r);
    fleet_free(&r->fleet);
    sut_free(&r->sut);
    rundir_close(&r->dir);
    operator_free(&r->operator);
    if (r->signals >= 0)
        close(r->signals);
    free(r);
    return code;
}
