// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/serve_child.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "base/ulimit.h"
#include "collector/serve/serve_server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIPE_FD = 3 }; /* its parent pipe */

#define EVERY     CLOCK_S
#define PATIENCE  (SERVE_GRACE_MOST + 2 * CLOCK_S) /* until it is killed */
#define ARG(text) ((char *)(text)) /* posix_spawn() takes argv without const, and does not write to it */

extern char **environ;

static int spawn(struct serve_child *c, int pipe)
{
    const struct collector_daemon_options *o = c->options;
    char *const args[] = {ARG("bezel-serve"), ARG("--run"),         ARG(o->run), ARG("--listen"),
                          ARG(o->serve),      ARG("--parent-pipe"), ARG("3"),    o->keys ? ARG("--keys") : NULL,
                          ARG(o->keys),       ARG("--key"),         ARG(o->key), NULL};
    posix_spawn_file_actions_t actions;
    int sys = posix_spawn_file_actions_init(&actions);
    if (sys)
        return sys;
    sys = posix_spawn_file_actions_adddup2(&actions, pipe, PIPE_FD);
    if (!sys)
        sys = posix_spawn_file_actions_addclosefrom_np(&actions, PIPE_FD + 1);
    if (!sys)
        sys = posix_spawn(&c->pid, c->program, &actions, NULL, args, environ);
    posix_spawn_file_actions_destroy(&actions);
    return sys;
}

static void start(struct serve_child *c)
{
    int ends[2];
    int sys = pipe2(ends, O_CLOEXEC) != 0 ? errno : 0;
    c->look_at = clock_now() + EVERY;
    if (!sys) {
        sys = spawn(c, ends[0]);
        close(ends[0]);
        c->pipe = ends[1];
    }
    if (!sys)
        return;
    if (c->pipe >= 0)
        close(c->pipe);
    c->pipe = -1;
    c->pid = 0;
    c->look_at = INT64_MAX;
    errno = sys;
    log_error("BEZEL-SERVE", "%s cannot be started: %s; the run goes on, and is not served to consumers", c->program,
              ulimit_reason(BEZEL_ESYS));
}

void serve_child_open(struct serve_child *c, const struct collector_daemon_options *options)
{
    *c = (struct serve_child){.pipe = -1};
    if (!options->serve)
        return;
    c->options = options;
    if (program_find_own("bezel-serve", c->program, sizeof c->program) == 0) {
        start(c);
        return;
    }
    c->look_at = INT64_MAX;
    log_error("BEZEL-SERVE",
              "there is no bezel-serve beside this program, nor in $PATH: install it; the run goes on, and "
              "is not served to consumers");
}

void serve_child_look(struct serve_child *c, int64_t now)
{
    int status;
    if (!c->options || now < c->look_at)
        return;
    c->look_at = now + EVERY;
    if (c->pid && waitpid(c->pid, &status, WNOHANG) != c->pid)
        return;
    if (c->pid) {
        close(c->pipe);
        c->pipe = -1;
        c->pid = 0;
    }
    if (c->restarts++ < SERVE_CHILD_RESTARTS) {
        log_warn("BEZEL-SERVE-DIED", "bezel-serve has ended: it is started again");
        start(c);
        return;
    }
    c->look_at = INT64_MAX;
    log_error("BEZEL-SERVE-DIED",
              "bezel-serve has ended for the %uth time: the run goes on, and is not served to consumers "
              "any more",
              c->restarts);
}

void serve_child_close(struct serve_child *c)
{
    int64_t deadline = clock_now() + PATIENCE;
    if (!c->pid)
        return;
    close(c->pipe);
    while (c->options->parent_pipe < 0 && waitpid(c->pid, NULL, WNOHANG) == 0)
        if (clock_now() < deadline)
            clock_sleep_until(clock_now() + 5 * CLOCK_MS);
        else
            kill(c->pid, SIGKILL);
    c->pid = 0;
}
