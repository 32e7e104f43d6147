// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/spawn.h"

#include "base/inherited.h"
#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A failure between fork and exec. The child reports it through a pipe, which a successful exec closes. */
struct failure {
    char stage[MESSAGE_STAGE_MAX + 1];
    int error;
    bool fatal; /* else the child went on to exec */
};

static void complain(int report, const char *stage, int error, bool fatal)
{
    struct failure f = {.error = error, .fatal = fatal};
    strncpy(f.stage, stage, sizeof f.stage - 1);
    ssize_t ignored = write(report, &f, sizeof f);
    (void)ignored;
}

static _Noreturn void fail(int report, const char *stage)
{
    complain(report, stage, errno, true);
    _exit(127);
}

static void redirect(int report, const char *stage, const char *path, int flags, int to, int also_to)
{
    int fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0 || dup2(fd, to) < 0 || dup2(fd, also_to) < 0)
        fail(report, stage);
}

static void set_limits(int report, const int64_t limits[RLIMITS_OF])
{
    static const int resources[RLIMITS_OF] = {
        [RLIMIT_OF_CPU] = RLIMIT_CPU,         [RLIMIT_OF_MEMORY] = RLIMIT_AS,
        [RLIMIT_OF_FILES] = RLIMIT_NOFILE,    [RLIMIT_OF_FILE_SIZE] = RLIMIT_FSIZE,
        [RLIMIT_OF_CORE] = RLIMIT_CORE,       [RLIMIT_OF_STACK] = RLIMIT_STACK,
        [RLIMIT_OF_LOCKED] = RLIMIT_MEMLOCK,  [RLIMIT_OF_PROCESSES] = RLIMIT_NPROC,
        [RLIMIT_OF_REAL_TIME] = RLIMIT_RTPRIO};
    for (int i = 0; i < RLIMITS_OF; i++) {
        struct rlimit limit = {.rlim_cur = (rlim_t)limits[i], .rlim_max = (rlim_t)limits[i]}, ours;
        if (i == RLIMIT_OF_CPU && getrlimit(RLIMIT_CPU, &ours) == 0 && ours.rlim_max > limit.rlim_max)
            limit.rlim_max++; /* SIGXCPU comes a second before SIGKILL */
        if (limits[i] >= 0 && setrlimit((__rlimit_resource_t)resources[i], &limit) != 0)
            fail(report, "limits");
    }
}

static void set_output(int report, const struct launch *l, int output)
{
    if (l->output == LAUNCH_OUTPUT_FILE && l->file)
        redirect(report, "output", l->file, O_WRONLY | O_CREAT | O_APPEND, STDOUT_FILENO, STDERR_FILENO);
    else if (l->output == LAUNCH_OUTPUT_SPOOL && (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0))
        fail(report, "output");
    else if (l->output == LAUNCH_OUTPUT_STDERR && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        fail(report, "output");
}

/* Turns the child into its program. It dies with the launcher, which may have died already. */
static _Noreturn void become(const struct launch *l, const struct spawning *how, const char *path, pid_t launcher,
                             int report)
{
    extern char **environ;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher)
        _exit(127);
    inherited_give_signals();
    enum launch_environment_part part;
    int error = launch_environment_give(&how->environment, &part);
    if (error)
        complain(report, launch_environment_word(part), error, false);
    if (!l->foreground) {
        setsid();
        redirect(report, "stdin", "/dev/null", O_RDONLY, STDIN_FILENO, STDIN_FILENO);
    }
    set_output(report, l, how->output);
    if (how->home >= 0 && fchdir(how->home) != 0)
        fail(report, "directory");
    if (l->directory && chdir(l->directory) != 0)
        fail(report, "directory");
    for (char *const *v = l->environment; v && *v; v++)
        putenv(*v);
    inherited_give_umask();        /* after the files of ours were made */
    set_limits(report, l->limits); /* last: they may leave no room for the steps above */
    execve(path, l->argv, environ);
    fail(report, "exec");
}

/* Reads the child's reports until its exec. Returns whether it reached the exec; *s has the last report. */
static bool await_exec(int report, struct spawned *s)
{
    struct failure f = {.fatal = false};
    for (;;) {
        ssize_t r = read(report, &f, sizeof f);
        if (r < 0 && errno == EINTR)
            continue;
        if (r != (ssize_t)sizeof f)
            return !f.fatal;
        s->error = f.error;
        memcpy(s->stage, f.stage, sizeof s->stage);
    }
}

/* The executable file: 0, or errno's value. */
static int find(const struct launch *l, char path[PATH_MAX])
{
    const char *list = NULL, *name = l->path ? l->path : l->argv[0];
    char here[PATH_MAX];
    for (char *const *v = l->environment; v && *v; v++)
        if (strncmp(*v, "PATH=", 5) == 0)
            list = *v + 5;
    if (name[0] == '/') /* whatever has become of the present directory */
        return program_join("/", name, path, PATH_MAX) ? 0 : ENAMETOOLONG;
    if (!getcwd(here, sizeof here))
        return errno;
    if (l->directory && !program_join(here, l->directory, path, PATH_MAX))
        return ENAMETOOLONG;
    const char *directory = l->directory ? path : here;
    char from[PATH_MAX];
    memcpy(from, directory, strlen(directory) + 1);
    if (!strchr(name, '/'))
        return program_find(list, from, name, path, PATH_MAX);
    return program_join(from, name, path, PATH_MAX) ? 0 : ENAMETOOLONG;
}

/* As find(), in the working directory that programs get. The launcher keeps its own. */
static int find_from(int home, const struct launch *l, char path[PATH_MAX])
{
    int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int error = here < 0 || fchdir(home) != 0 ? errno : find(l, path);
    if (here >= 0) {
        (void)!fchdir(here);
        close(here);
    }
    return error;
}

/*
 * Stands in the folder of the program's node: there a process finds its doorbell that the environment no longer leads
 * to (segment_map_launchers_doorbell()). A program without BEZEL_DIR, as the command of a trigger, leaves us where we
 * are.
 */
static void stand_in_folder(const struct launch *l)
{
    for (char *const *v = l->environment; v && *v; v++)
        if (strncmp(*v, "BEZEL_DIR=", 10) == 0)
            (void)!chdir(*v + 10);
}

struct spawned spawn(const struct launch *l, const struct spawning *how)
{
    char path[PATH_MAX];
    struct spawned s = {.stage = "exec", .error = how->home >= 0 ? find_from(how->home, l, path) : find(l, path)};
    int report[2];
    pid_t launcher = getpid();
    if (s.error)
        return s;
    if (how->home >= 0)
        stand_in_folder(l);
    s = (struct spawned){.stage = "fork"};
    if (pipe2(report, O_CLOEXEC) != 0) {
        s.error = errno;
        return s;
    }
    pid_t pid = fork();
    if (pid == 0)
        become(l, how, path, launcher, report[1]);
    s.error = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0) {
        s = (struct spawned){.pid = pid};
        if (!await_exec(report[0], &s)) {
            waitpid(pid, NULL, 0);
            s.pid = 0;
        }
    }
    close(report[0]);
    return s;
}
