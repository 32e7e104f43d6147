// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/faults/bed.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child. */
static _Noreturn void become(const struct bed *b, const char *said, const char *const argv[])
{
    char path[PATH_MAX];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("BEZEL_DIR", b->node, 1);
    snprintf(path, sizeof path, "%s/%s", b->dir, said);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

int bed_program(struct bed *b, const char *said, const char *const argv[])
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become(b, said, argv);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        bed_fail(b, "%s cannot be run", argv[0]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
