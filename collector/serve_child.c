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
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIPE_FD = 3 }; /* its parent pipe */

#define EVERY    CLOCK_S
#define PATIENCE (SERVE_GRACE_MOST + 2 * CLOCK_S) /* until it is killed */

extern char **environ;

static size_t serve_arguments(const struct collector_daemon_options *o, const char **arguments)
{
    const char *const all[] = {"--run", o->run,  "--listen", o->serve, o->keys ? "--keys" : NULL,
                               o->keys, "--key", o->key};
    size_t n = o->keys ? 8 : 4;
    memcpy(arguments, all, n * sizeof *all);
    return o->serve ? n : 0;
}

static size_t metrics_arguments(const struct collector_daemon_options *o, const char **arguments)
{
    size_t n = 0;
    if (o->metrics)
        arguments[n++] = "--listen", arguments[n++] = o->metrics;
    if (o->push)
        arguments[n++] = "--push", arguments[n++] = o->push;
    if (n > 0)
        arguments[n++] = o->run;
    return n;
}

static size_t engine_arguments(const struct collector_daemon_options *o, const char **arguments)
{
    const char *const all[] = {"--to", o->engine, o->run};
    memcpy(arguments, all, sizeof all);
    return o->engine ? sizeof all / sizeof *all : 0;
}

const struct serve_child_kind serve_child_serve = {"bezel-serve", "is not served to consumers", serve_arguments},
                              serve_child_metrics = {"bezel-metrics", "its metrics are not given to tools",
                                                     metrics_arguments},
                              serve_child_engine = {"bezel-engine", "is not handed on", engine_arguments};

static int spawn(struct serve_child *c, int pipe)
{
    const char *args[SERVE_CHILD_ARGUMENTS + 4] = {c->kind->program, "--parent-pipe", "3"};
    (void)c->kind->arguments(c->options, args + 3);
    posix_spawn_file_actions_t actions;
    int sys = posix_spawn_file_actions_init(&actions);
    if (sys)
        return sys;
    sys = posix_spawn_file_actions_adddup2(&actions, pipe, PIPE_FD);
    if (!sys)
        sys = posix_spawn_file_actions_addclosefrom_np(&actions, PIPE_FD + 1);
    if (!sys)
        sys = posix_spawn(&c->pid, c->program, &actions, NULL, (char **)(uintptr_t)args, environ);
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
    log_error("BEZEL-SERVE", "%s cannot be started: %s; the run goes on, and %s", c->program, ulimit_reason(BEZEL_ESYS),
              c->kind->follows);
}

void serve_child_open(struct serve_child *c, const struct serve_child_kind *kind,
                      const struct collector_daemon_options *options)
{
    const char *arguments[SERVE_CHILD_ARGUMENTS];
    *c = (struct serve_child){.kind = kind, .pipe = -1};
    if (kind->arguments(options, arguments) == 0)
        return;
    c->options = options;
    if (program_find_own(kind->program, c->program, sizeof c->program) == 0) {
        start(c);
        return;
    }
    c->look_at = INT64_MAX;
    log_error("BEZEL-SERVE", "there is no %s beside this program, nor in $PATH: install it; the run goes on, and %s",
              kind->program, kind->follows);
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
        log_warn("BEZEL-SERVE-DIED", "%s has ended: it is started again", c->kind->program);
        start(c);
        return;
    }
    c->look_at = INT64_MAX;
    log_error("BEZEL-SERVE-DIED", "%s has ended for the %uth time: the run goes on, and %s any more", c->kind->program,
              c->restarts, c->kind->follows);
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
