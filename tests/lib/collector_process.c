// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/collector_process.h"
#include "tests/lib/patience.h"

#include "base/file.h"
#include "mdr/message.h"
#include "tests/lib/begin.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

bool collector_make(struct collector_process *c)
{
    snprintf(c->dir, sizeof c->dir, "/tmp/bezel-collector-XXXXXX");
    c->parent_pipe = -1;
    if (!mkdtemp(c->dir))
        return false;
    snprintf(c->run, sizeof c->run, "%s/run", c->dir);
    snprintf(c->control, sizeof c->control, "ipc://%s/control", c->dir);
    return mkdir(c->run, 0777) == 0;
}

void collector_remove(struct collector_process *c)
{
    (void)!file_remove_tree(c->dir);
}

/* In the child: stderr goes to the log, limits are set, the program is executed. */
static void become(const struct collector_process *c, const char *const argv[])
{
    char log[96];
    snprintf(log, sizeof log, "%s/log", c->dir);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    dup2(fd, 2);
    if (c->file_limit)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){c->file_limit, c->file_limit});
    execv(BEZEL_COLLECTOR, (char *const *)(uintptr_t)argv);
    _exit(127);
}

/* Reads the line that the program writes when it serves. */
static bool read_endpoint(struct collector_process *c, int fd)
{
    size_t used = 0;
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    while (used < sizeof c->endpoint - 1 && poll(&poll_fd, 1, (int)(PATIENCE / CLOCK_MS)) > 0) {
        ssize_t n = read(fd, c->endpoint + used, sizeof c->endpoint - 1 - used);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    c->endpoint[used] = '\0';
    char *end = strchr(c->endpoint, '\n');
    if (end)
        *end = '\0';
    return end != NULL;
}

bool collector_start(struct collector_process *c, const char *listen)
{
    int ready[2], parent_pipe[2];
    char ready_text[12], pipe_text[12];
    if (pipe2(ready, 0) != 0 || pipe2(parent_pipe, 0) != 0)
        return false;
    fcntl(ready[0], F_SETFD, FD_CLOEXEC);
    fcntl(parent_pipe[1], F_SETFD, FD_CLOEXEC);
    snprintf(ready_text, sizeof ready_text, "%d", ready[1]);
    snprintf(pipe_text, sizeof pipe_text, "%d", parent_pipe[0]);
    const char *argv[40] = {"bezel-collector", "--listen", listen,          "--control", c->control,
                            "--ready",         ready_text, "--parent-pipe", pipe_text};
    size_t n = 9;
    for (const char *const *parent = c->parents; parent && *parent && n < 24; parent++) {
        argv[n++] = "--parent";
        argv[n++] = *parent;
    }
    if (!c->parents) {
        argv[n++] = "--run";
        argv[n++] = c->run;
    }
    if (c->sync) {
        argv[n++] = "--sync";
        argv[n++] = c->sync;
    }
    for (const char *const *more = c->more; more && *more && n < 39; more++)
        argv[n++] = *more;
    c->pid = fork();
    if (c->pid == 0)
        become(c, argv);
    close(ready[1]);
    close(parent_pipe[0]);
    c->parent_pipe = parent_pipe[1];
    bool served = c->pid > 0 && read_endpoint(c, ready[0]);
    close(ready[0]);
    return served;
}

int collector_wait(struct collector_process *c)
{
    int status = -1;
    int64_t deadline = clock_now() + PATIENCE;
    pid_t ended = 0;
    while ((ended = waitpid(c->pid, &status, WNOHANG)) == 0 && clock_now() < deadline)
        clock_sleep_until(clock_now() + 5 * CLOCK_MS);
    if (ended == 0) {
        kill(c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
        status = -1;
    }
    if (c->parent_pipe >= 0)
        close(c->parent_pipe);
    c->parent_pipe = -1;
    c->pid = 0;
    return status;
}

int collector_end(struct collector_process *c, int signal)
{
    kill(c->pid, signal);
    return collector_wait(c);
}

int collector_try(struct collector_process *c, const char *const argv[])
{
    c->pid = fork();
    if (c->pid == 0)
        become(c, argv);
    int status = collector_wait(c);
    return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool collector_command(struct collector_process *c, enum message_verb verb)
{
    static const uint8_t run[16];
    static struct message m; /* too large for a stack */
    struct command_caller caller;
    c->message = &m;
    if (command_caller_open(&caller, c->control, (struct command_caller_access){0}, run, "") != 0)
        return false;
    m.command = (struct message_command){.verb = verb};
    bool answered = begin_command(&caller, &m, PATIENCE);
    command_caller_close(&caller, 0);
    return answered && m.type == MESSAGE_REPLY;
}

int64_t collector_status(struct collector_process *c, const char *name)
{
    if (!collector_command(c, VERB_QUERY) || c->message->reply.answer != ANSWER_COLLECTOR)
        return -1;
    const struct message_collector_status *s = &c->message->reply.collector;
    const struct {
        const char *name;
        uint64_t value;
    } values[] = {{"records", s->records},     {"processes", s->processes},
                  {"nodes", s->nodes},         {"refused", s->refused},
                  {"over_rate", s->over_rate}, {"unidentified", s->unidentified},
                  {"peers", s->peers},         {"expired_records", s->expired_records}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(values[i].name, name) == 0)
            return (int64_t)values[i].value;
    return -1;
}

bool collector_said(const struct collector_process *c, const char *text)
{
    char path[96], *log;
    size_t n;
    snprintf(path, sizeof path, "%s/log", c->dir);
    if (file_read(path, 1 << 24, &log, &n) != 0)
        return false;
    const char *said = strstr(log, text);
    if (said)
        fprintf(stderr, "the collector says: %.*s\n", (int)strcspn(said, "\n"), said);
    free(log);
    return said != NULL;
}
