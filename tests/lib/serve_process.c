// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/serve_process.h"

#include "tests/lib/patience.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reads the line that the program writes when it serves. */
static bool read_endpoint(struct serve_process *s, int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    size_t used = 0;
    while (used < sizeof s->endpoint - 1 && poll(&ready, 1, (int)(PATIENCE / CLOCK_MS)) > 0) {
        ssize_t n = read(fd, s->endpoint + used, sizeof s->endpoint - 1 - used);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    s->endpoint[used] = '\0';
    char *end = strchr(s->endpoint, '\n');
    if (end)
        *end = '\0';
    return end != NULL;
}

bool serve_process_start(struct serve_process *s, const char *run, const char *listen, const char *const *more)
{
    int ready[2], parent[2];
    char ready_text[12], parent_text[12];
    const char *args[24] = {"bezel-serve", "--run",         run,        "--listen", listen, "--ready",
                            ready_text,    "--parent-pipe", parent_text};
    if (pipe2(ready, 0) != 0 || pipe2(parent, 0) != 0)
        return false;
    fcntl(ready[0], F_SETFD, FD_CLOEXEC);
    fcntl(parent[1], F_SETFD, FD_CLOEXEC);
    snprintf(ready_text, sizeof ready_text, "%d", ready[1]);
    snprintf(parent_text, sizeof parent_text, "%d", parent[0]);
    for (size_t n = 9; more && *more && n < 23; n++)
        args[n] = *more++;
    s->pid = fork();
    if (s->pid == 0) {
        execv(BEZEL_SERVE, (char *const *)(uintptr_t)args);
        _exit(127);
    }
    close(ready[1]);
    close(parent[0]);
    s->parent_pipe = parent[1];
    bool serves = s->pid > 0 && read_endpoint(s, ready[0]);
    close(ready[0]);
    return serves;
}

int serve_process_end(struct serve_process *s, int signal)
{
    int status = -1;
    int64_t deadline = clock_now() + PATIENCE;
    pid_t ended;
    if (signal)
        kill(s->pid, signal);
    else
        close(s->parent_pipe);
    while ((ended = waitpid(s->pid, &status, WNOHANG)) == 0 && clock_now() < deadline)
        clock_sleep_until(clock_now() + 5 * CLOCK_MS);
    if (ended == 0) {
        kill(s->pid, SIGKILL);
        waitpid(s->pid, NULL, 0);
        status = -1;
    }
    if (signal)
        close(s->parent_pipe);
    s->pid = 0;
    return status;
}
