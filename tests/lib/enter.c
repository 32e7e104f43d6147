// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * enter PID COMMAND [ARGUMENT...] executes a command on the host whose first process is PID: in all of its namespaces,
 * as a child, because a process cannot change its own pid namespace. To whoever started it, it is the command: it
 * passes signals on, ends as the command does, and if it is killed the command is too.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;

static void pass_on(int signal)
{
    kill(child, signal);
}

static int fail(const char *what)
{
    fprintf(stderr, "enter: %s: %s\n", what, strerror(errno));
    return 126;
}

static int wait_for_child(void)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return fail("waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    static const int passed[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};
    sigset_t blocked, before;
    if (argc < 3)
        return 2;
    int host = (int)syscall(SYS_pidfd_open, (pid_t)strtol(argv[1], NULL, 10), 0);
    if (host < 0 ||
        setns(host, CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWTIME) != 0)
        return fail("the host is off");
    sigfillset(&blocked);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    child = fork();
    if (child < 0)
        return fail("fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(argv[2], argv + 2);
        return fail(argv[2]);
    }
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        sigaction(passed[i], &(struct sigaction){.sa_handler = pass_on}, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return wait_for_child();
}
