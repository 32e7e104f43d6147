// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/limit.h"
#include "base/log.h"
#include "base/units.h"
#include "ecs/run_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/*
 * The resource manager of a run: a daemon beside the fleet, for the run goes on without it. It has no control link of
 * its own: the end of its lease, or SIGTERM, ends it.
 */

#define ARG(text) ((char *)(text)) /* argv is not const by tradition; nobody writes to it */

int run_manager_make(struct run *r)
{
    struct run_manager *m = &r->manager;
    struct daemon *d = &m->daemon;
    d->ready = d->lease = d->keep = -1;
    if (!experiment_has_manager(r->e))
        return 0;
    int err = daemon_find_program("bezel-resmgr", m->program, sizeof m->program);
    if (err) {
        log_error("BEZEL-RUN-PROGRAM",
                  "bezel-resmgr is neither beside this program nor in PATH: is Bezel installed whole?");
        return err;
    }
    snprintf(d->name, sizeof d->name, "bezel-resmgr");
    snprintf(d->log, sizeof d->log, "%.*s/log/resmgr.log", PATH_MAX - 32, r->dir.path);
    d->program = m->program;
    d->keep = r->dir.lock;
    char *const args[] = {ARG("bezel-resmgr"), ARG("--experiment"), r->fleet.experiment, ARG("--sockets"),
                          r->dir.private,      ARG("--epoch"),      m->epoch_text,       NULL};
    memcpy(d->args, args, sizeof args);
    return 0;
}

void run_manager_start(struct run *r)
{
    struct run_manager *m = &r->manager;
    snprintf(m->epoch_text, sizeof m->epoch_text, "%" PRIu64, ++m->epoch);
    m->up = true; /* even where it fails: run_take_manager() finds it ended */
    if (daemon_start(&m->daemon) != 0)
        operator_error(&r->operator, "BEZEL-RUN-DAEMON", "cannot start %s: %s", m->program,
                       limit_reason(err_from_errno(errno)));
}

void run_manager_stop(struct run *r, int signal)
{
    daemon_signal(&r->manager.daemon, signal);
}

void run_manager_close(struct run *r)
{
    if (r->manager.daemon.program)
        daemon_close(&r->manager.daemon);
}

static void tell_end(struct run *r, pid_t pid, int status)
{
    const struct daemon *d = &r->manager.daemon;
    char end[128], words[OPERATOR_TEXT_MAX / 2];
    bool again = r->state.manager.phase != DAEMON_GONE;
    if (r->state.phase >= PHASE_DRAINING)
        return; /* as it was told */
    r->manager.given_up = !again;
    sut_describe_end(status, end, sizeof end);
    daemon_last_words(d, words, sizeof words);
    if (again && pid != 0)
        operator_event(&r->operator, "BEZEL-RUN-DAEMON", "%s (pid %d) %s%s%s; it is started again", d->name, (int)pid,
                       end, words[0] ? ", its last words: " : "", words);
    else if (!again)
        operator_error(
            &r->operator, "BEZEL-RUN-MANAGER",
            "%s ended %d times within %s and is given up: the nodes keep their polling periods, and limits on "
            "the whole are judged no more; its log: %s",
            d->name, STATE_RESTARTS + 1, units_duration(STATE_RESTART_SPAN).s, d->log);
}

void run_take_manager(struct run *r)
{
    struct run_manager *m = &r->manager;
    char line[LINK_ENDPOINT_MAX];
    int status = 0;
    pid_t pid = m->daemon.pid;
    if (!m->up)
        return;
    (void)!daemon_serves(&m->daemon, line, sizeof line); /* nobody waits for it */
    if (pid != 0 && !daemon_ended(&m->daemon, &status))
        return;
    m->up = false;
    run_feed(r, &(struct state_event){.type = EVENT_MANAGER_ENDED});
    tell_end(r, pid, status);
}
