// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/faults/remote.h"
#include "tests/lib/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The two networks -------------------------------------------------------------------------------------------- */

#define IP(...) (bed_program(b, "ip", (const char *const[]){"ip", __VA_ARGS__, NULL}) == 0)

/* A process that keeps the host's network, until the bed ends. -1: not permitted. */
static pid_t keep_network(void)
{
    int ends[2];
    char ready;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!namespaces_new_network() || write(ends[1], "r", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    bool made = pid > 0 && read(ends[0], &ready, 1) == 1;
    close(ends[0]);
    if (!made && pid > 0)
        waitpid(pid, NULL, 0);
    return made ? pid : -1;
}

static bool join_networks(struct bed *b)
{
    char path[64], pid[16];
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)b->remote.keeper);
    snprintf(pid, sizeof pid, "%d", (int)b->remote.keeper);
    b->remote.home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    b->remote.network = open(path, O_RDONLY | O_CLOEXEC);
    if (b->remote.home < 0 || b->remote.network < 0 ||
        !IP("link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", pid) ||
        !IP("addr", "add", "198.51.100.1/24", "dev", "cable") || !IP("link", "set", "cable", "up") ||
        setns(b->remote.network, CLONE_NEWNET) != 0)
        return false;
    bool joined = IP("addr", "add", "198.51.100.2/24", "dev", "cable") && IP("link", "set", "cable", "up");
    return setns(b->remote.home, CLONE_NEWNET) == 0 && joined;
}

static void set_cable(struct bed *b, const char *how)
{
    if (setns(b->remote.network, CLONE_NEWNET) != 0 || !IP("link", "set", "cable", how) ||
        setns(b->remote.home, CLONE_NEWNET) != 0)
        bed_fail(b, "the cable cannot be set %s", how);
}

void remote_cut(struct bed *b)
{
    set_cable(b, "down");
}

void remote_mend(struct bed *b)
{
    set_cable(b, "up");
}

/* ---- Its daemons ------------------------------------------------------------------------------------------------- */

static pid_t start(struct bed *b, const char *const argv[])
{
    char path[PATH_MAX];
    fflush(NULL);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setns(b->remote.network, CLONE_NEWNET) != 0)
        _exit(126);
    snprintf(path, sizeof path, "%s/remote", b->node);
    setenv("BEZEL_DIR", path, 1);
    snprintf(path, sizeof path, "%s/remote.log", b->dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

void remote_start_bezeld(struct bed *b)
{
    char keys[PATH_MAX], key[PATH_MAX], launcher[PATH_MAX];
    snprintf(keys, sizeof keys, "%s/keys", b->dir);
    snprintf(key, sizeof key, "%s/keys/remote.key", b->dir);
    snprintf(launcher, sizeof launcher, "%s/launcher", b->dir);
    b->remote.bezeld = start(b, (const char *const[]){FAULTS_BUILD "/bezeld", "--control", "tcp://*:7767", "--keys",
                                                      keys, "--key", key, "--launcher", launcher, NULL});
}

static bool service_serves(struct bed *b)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/launcher/socket", b->dir);
    return access(path, F_OK) == 0;
}

void remote_start_service(struct bed *b)
{
    char folder[PATH_MAX], path[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/launcher", b->dir);
    snprintf(path, sizeof path, "%s/launcher/socket", b->dir);
    unlink(path);
    b->remote.service =
        start(b, (const char *const[]){FAULTS_BUILD "/bezel-launcher", "--dir", folder, "--allow-root", NULL});
    bed_await(b, service_serves, "bezel-launcher serves");
}

static void end(pid_t *pid, int signal)
{
    if (*pid > 0) {
        kill(*pid, signal);
        waitpid(*pid, NULL, 0);
    }
    *pid = 0;
}

void remote_kill_bezeld(struct bed *b)
{
    bed_spare(b, BED_BEZELD);
    end(&b->remote.bezeld, SIGKILL);
}

/* The session's launcher is a child of the service, and later of whoever adopts it. */
static pid_t launcher_of(const struct bed *b)
{
    pid_t supervisor = atomic_load(&b->truth->supervisor), parent = 0;
    char name[64];
    return supervisor > 0 && bed_describe(supervisor, &parent, name) ? parent : 0;
}

void remote_kill_service(struct bed *b)
{
    b->remote.orphan = launcher_of(b);
    end(&b->remote.service, SIGKILL);
}

void remote_kill_launcher(struct bed *b)
{
    pid_t pid = launcher_of(b);
    if (pid <= 1 || kill(pid, SIGKILL) != 0)
        bed_fail(b, "the session has no launcher");
}

void remote_power_off(struct bed *b)
{
    pid_t launcher = launcher_of(b);
    remote_cut(b);
    bed_await_records(b, 100);
    remote_kill_bezeld(b);
    remote_kill_service(b);
    if (launcher > 1)
        kill(launcher, SIGKILL);
    kill(atomic_load(&b->truth->supervisor), SIGKILL); /* before it starts what is killed again */
    bed_signal(b, BED_SUT, SIGKILL);
}

bool remote_is_idle(struct bed *b)
{
    pid_t pids[TRUTH_CHILDREN + 1], parent;
    char name[64];
    bool idle = true;
    for (int i = 0; i < TRUTH_CHILDREN; i++)
        pids[i] = atomic_load(&b->truth->children[i]);
    pids[TRUTH_CHILDREN] = atomic_load(&b->truth->supervisor);
    for (size_t i = 0; i < sizeof pids / sizeof *pids; i++)
        idle = idle && (pids[i] <= 0 || !bed_describe(pids[i], &parent, name));
    return idle;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static void make_keys(struct bed *b)
{
    char keys[PATH_MAX];
    snprintf(keys, sizeof keys, "%s/keys", b->dir);
    bed_make_key(b, "keys", "remote");
    if (bed_program(b, "keygen",
                    (const char *const[]){FAULTS_BUILD "/bezel", "keygen", "--dir", keys, "--role", "control", "--role",
                                          "launch", "operator", NULL}) != 0)
        bed_fail(b, "no keys of the operator in %s", keys);
}

bool remote_make(struct bed *b)
{
    char path[PATH_MAX];
    if (!namespaces_new_network() || (b->remote.keeper = keep_network()) < 0 || !join_networks(b))
        return false;
    snprintf(path, sizeof path, "%s/remote", b->node);
    if (mkdir(path, 0700) != 0)
        bed_fail(b, "%s: %s", path, strerror(errno));
    make_keys(b);
    remote_start_service(b);
    remote_start_bezeld(b);
    return true;
}

void remote_end(struct bed *b)
{
    char name[64];
    pid_t parent, orphan = b->remote.orphan;
    if (orphan > 1 && bed_describe(orphan, &parent, name) && strcmp(name, "bezel-launch") == 0)
        kill(orphan, SIGTERM); /* its service was killed */
    b->remote.orphan = 0;
    end(&b->remote.service, SIGTERM); /* its launchers end what they have started */
    end(&b->remote.bezeld, SIGKILL);
    end(&b->remote.keeper, SIGKILL);
}
