// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/daemon.h"

#include "bezeld/launch/launch_collector.h"
#include "mdr/message.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACE_ASK_EVERY (200 * CLOCK_MS) /* a collector on a node, until it answers */

enum { STOP_LINGER_MS = 100 /* for a SHUTDOWN that is still in the queue */ };

extern char **environ;

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Starts the program. dup2() of a descriptor onto itself lets the child inherit it. */
static int spawn(struct daemon *d, char **args, int log, int ready, int parent_pipe)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, log, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, log, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&files, ready, ready);
    posix_spawn_file_actions_adddup2(&files, parent_pipe, parent_pipe);
    if (d->keep >= 0)
        posix_spawn_file_actions_adddup2(&files, d->keep, d->keep);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    int error = posix_spawn(&d->pid, d->program, &files, &attributes, args, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return errno = error;
}

bool daemon_is_session(const struct daemon *d)
{
    return !d->program && d->session.address;
}

static int start_child(struct daemon *d)
{
    d->session.phase = REMOTE_SESSION_NONE;
    d->session.why[0] = '\0';
    d->stop_sent = false;
    int log = open(d->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int ready[2] = {-1, -1}, parent_pipe[2] = {-1, -1}, error = 0;
    if (log < 0 || pipe2(ready, O_CLOEXEC) != 0 || pipe2(parent_pipe, O_CLOEXEC) != 0)
        error = errno;
    if (!error) {
        char ready_text[16], pipe_text[16], *args[DAEMON_ARGS_MAX + 5];
        size_t n = 0;
        while (d->args[n]) {
            args[n] = d->args[n];
            n++;
        }
        snprintf(ready_text, sizeof ready_text, "%d", ready[1]);
        snprintf(pipe_text, sizeof pipe_text, "%d", parent_pipe[0]);
        char *more[] = {(char[]){"--ready"}, ready_text, (char[]){"--parent-pipe"}, pipe_text, NULL};
        memcpy(args + n, more, sizeof more);
        d->log_start = lseek(log, 0, SEEK_END);
        error = spawn(d, args, log, ready[1], parent_pipe[0]);
    }
    close_fd(&log);
    close_fd(&ready[1]);
    close_fd(&parent_pipe[0]);
    d->ready = ready[0];
    d->parent_pipe = parent_pipe[1];
    if (error) {
        d->pid = 0;
        close_fd(&d->ready);
        close_fd(&d->parent_pipe);
        return errno = error, err_from_errno(error);
    }
    fcntl(d->ready, F_SETFL, O_NONBLOCK);
    return 0;
}

/* Connects to the daemon that serves at `endpoint`, and asks what it has to know of it. */
static int call(struct daemon *d, const char *endpoint)
{
    if (d->caller.link)
        return 0;
    int err = command_caller_open(&d->caller, endpoint, d->access, d->run, d->node);
    d->caller.owner = d->owner;
    if (!err && !d->session.address)
        (void)!daemon_ask(d, VERB_QUERY);
    return err;
}

/* On an error the session is over, with the reason. */
static int start_session(struct daemon *d)
{
    int err = call(d, d->session.address);
    remote_session_start(&d->session, &d->caller, err);
    return 0;
}

/* Its output is appended to its log; lines of an earlier start are not the reason why it ends. */
static int start_place(struct daemon *d)
{
    struct stat log;
    command_caller_close(&d->caller, 0);
    d->log_start = stat(d->log, &log) == 0 ? log.st_size : 0;
    remote_collector_start(d->place, LAUNCH_COLLECTOR);
    return 0;
}

int daemon_start(struct daemon *d)
{
    d->serves = false;
    if (d->place)
        return start_place(d);
    return daemon_is_session(d) ? start_session(d) : start_child(d);
}

/* Takes answers until the session serves. Lines that a bezeld logged before are not the reason why it ends later. */
static int serves_session(struct daemon *d)
{
    static struct message m; /* one thread; too large for a stack */
    struct stat log;
    int err = 0;
    if (!d->session.address)
        return 0;
    while (d->session.phase == REMOTE_SESSION_ASKED && (err = command_caller_receive(&d->caller, &m)) != BEZEL_EAGAIN)
        if (!err || err == BEZEL_EVERSION)
            (void)remote_session_take(&d->session, &d->caller, &m);
    remote_session_tick(&d->session, &d->caller);
    if (d->serves || d->session.phase != REMOTE_SESSION_SERVED)
        return 0;
    if (d->program && stat(d->log, &log) == 0)
        d->log_start = log.st_size;
    d->serves = true;
    return 1;
}

/* Asks the collector until it answers, with the port at which it takes packets. */
static int serves_place(struct daemon *d, char *line, size_t size)
{
    static struct message m; /* one thread; too large for a stack */
    remote_collector_turn(d->place);
    if (d->serves || d->place->phase != REMOTE_COLLECTOR_RUNS)
        return 0;
    if (call(d, d->control) != 0)
        return 0;
    while (command_caller_receive(&d->caller, &m) == 0)
        if (m.type == MESSAGE_REPLY && m.reply.answer == ANSWER_COLLECTOR) {
            remote_collector_bound(d->place, m.reply.collector.port, line);
            d->serves = d->place->served = true;
            return (void)size, 1;
        }
    if (link_is_refused(d->caller.link) || clock_now() - d->place->started > PLACE_ASK_EVERY) {
        d->place->started = clock_now();
        (void)!daemon_ask(d, VERB_QUERY);
    }
    return 0;
}

int daemon_serves(struct daemon *d, char *line, size_t size)
{
    if (d->place)
        return serves_place(d, line, size);
    if (d->ready < 0)
        return serves_session(d);
    /* One line, written at once and shorter than PIPE_BUF, arrives in one piece. */
    ssize_t n = read(d->ready, line, size - 1);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    close_fd(&d->ready);
    if (n <= 0)
        return BEZEL_EUNREACH;
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (d->session.address)
        return start_session(d);
    int err = d->control[0] ? call(d, d->control) : 0;
    d->serves = !err;
    return err ? err : 1;
}

int daemon_command(struct daemon *d, const struct message_command *command)
{
    static struct message m; /* one thread; too large for a stack */
    m.command = *command;
    int sent = command_caller_send(&d->caller, &m);
    if (sent > 0 && command->verb == VERB_SHUTDOWN && d->session.address)
        remote_session_stopped(&d->session, sent);
    if (sent > 0 && command->verb == VERB_SHUTDOWN && d->place)
        d->place->hurry = true;
    return sent > 0 ? 0 : sent == 0 ? BEZEL_EAGAIN : sent;
}

int daemon_ask(struct daemon *d, enum message_verb verb)
{
    return daemon_command(d, &(struct message_command){.verb = verb});
}

int daemon_answer(struct daemon *d, struct message *m)
{
    int err;
    while ((err = command_caller_receive(&d->caller, m)) != BEZEL_EAGAIN) {
        bool own =
            (!err || err == BEZEL_EVERSION) && d->session.address && remote_session_take(&d->session, &d->caller, m);
        if (!err && !own && m->type == MESSAGE_REPLY)
            return 0;
    }
    return BEZEL_EAGAIN;
}

pid_t daemon_pid(const struct daemon *d)
{
    return d->place ? (d->place->known ? (pid_t)d->place->row.pid : 0) : d->pid;
}

bool daemon_ended(struct daemon *d, int *status)
{
    if (d->place) {
        remote_collector_turn(d->place);
        if (!remote_collector_ended(d->place, status))
            return false;
        command_caller_close(&d->caller, 0);
        d->serves = false;
        return true;
    }
    bool over = d->session.address && d->session.phase == REMOTE_SESSION_OVER;
    if (daemon_is_session(d)) {
        if (over)
            daemon_close(d);
        return over;
    }
    if (over && d->session.why[0] && !d->stop_sent) { /* a bezeld whose session was stopped ends by itself */
        d->stop_sent = true;
        daemon_signal(d, SIGTERM);
    }
    if (d->pid <= 0 || waitpid(d->pid, status, WNOHANG) != d->pid)
        return false;
    d->pid = 0;
    daemon_close(d);
    return true;
}

void daemon_last_messages(const struct daemon *d, char *text, size_t size)
{
    char tail[2048];
    text[0] = '\0';
    if (d->place && d->place->why[0]) {
        snprintf(text, size, "%s", d->place->why);
        return;
    }
    if (d->session.why[0] || daemon_is_session(d)) {
        snprintf(text, size, "%s", d->session.why);
        return;
    }
    int fd = open(d->log, O_RDONLY | O_CLOEXEC);
    off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    off_t from = end - d->log_start < (off_t)sizeof tail ? d->log_start : end - (off_t)sizeof tail;
    ssize_t n = fd < 0 ? 0 : pread(fd, tail, sizeof tail - 1, from);
    close_fd(&fd);
    tail[n > 0 ? n : 0] = '\0';
    for (char *line = strtok(tail, "\n"); line; line = strtok(NULL, "\n"))
        if (strncmp(line, "Try '", 5) != 0) /* the line before it has the reason */
            snprintf(text, size, "%s", line);
}

const char *daemon_trouble(const struct daemon *d)
{
    const struct command_caller *caller = d->place && !d->caller.link ? &d->place->caller : &d->caller;
    const char *why = caller->link ? link_trouble(caller->link) : NULL;
    if (d->place && d->place->phase < REMOTE_COLLECTOR_RUNS && d->place->why[0])
        return d->place->why;
    if (d->place && caller->life == 0)
        return why ? why : "nothing answers there: is the machine up, does a firewall let its ports through?";
    if (d->session.why[0] || !daemon_is_session(d) || d->caller.life != 0)
        return d->session.why;
    if (why)
        return why;
    return command_caller_is_met(&d->caller)
               ? "a program listens there that does not answer as a bezeld does: check address and port, that bezeld "
                 "is not stopped, and that `bezeld --version` there is that of this bezel"
               : "nothing answers there: is the machine up, does a bezeld serve at that port, does a firewall let it "
                 "through?";
}

const char *daemon_log(const struct daemon *d)
{
    return daemon_is_session(d) ? "that of the bezeld that serves there" : d->log;
}

void daemon_signal(struct daemon *d, int signal)
{
    if (d->place && signal == SIGKILL)
        remote_collector_kill(d->place);
    else if (d->place)
        remote_collector_end(d->place);
    if (daemon_is_session(d) && d->session.phase != REMOTE_SESSION_OVER) {
        (void)!daemon_ask(d, VERB_SHUTDOWN);
        remote_session_stopped(&d->session, 0);
    }
    if (d->pid > 0)
        kill(d->pid, signal);
}

void daemon_close(struct daemon *d)
{
    daemon_signal(d, SIGKILL);
    while (d->pid > 0 && waitpid(d->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    d->pid = 0;
    close_fd(&d->ready);
    close_fd(&d->parent_pipe);
    command_caller_close(&d->caller, daemon_is_session(d) ? STOP_LINGER_MS : 0);
    d->serves = false;
}
