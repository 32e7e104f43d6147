// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/launcher.h"

#include "bezeld/launch/launch_environment.h"
#include "bezeld/launch/process_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    REAP_EVERY_MS = 10,    /* between two rounds of SIGKILL */
    REAP_SELDOM_MS = 1000, /* the same after LAUNCHER_FINISH: what is left probably cannot be killed */
};

/* The launcher's own state. `term_at` and `kill_at` are set when it has begun to end the tree. */
struct serving {
    const struct launch *launches;
    size_t n;
    pid_t *pids; /* of the launches; 0: not running */
    struct launch_environment launch_environment;
    int64_t grace;
    int socket, signals;
    bool ending, termed, sent_empty, socket_closed;
    int64_t term_at, kill_at;
};

/* A failure between fork and exec. The child reports it through a pipe, which a successful exec closes. */
struct failure {
    char stage[16];
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

/*
 * Turns the child into its program: default signals and mask, the shell's scheduling, the descriptors of `bezel`. The
 * child dies with the launcher, which may have died already.
 */
static _Noreturn void become(const struct launch *launch, const struct launch_environment *launch_environment,
                             pid_t launcher, int report)
{
    extern char **environ;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher)
        _exit(127);
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    enum launch_environment_part part;
    int error = launch_environment_give(launch_environment, &part);
    if (error)
        complain(report, launch_environment_word(part), error, false);
    if (!launch->foreground) {
        setsid();
        redirect(report, "stdin", "/dev/null", O_RDONLY, STDIN_FILENO, STDIN_FILENO);
    }
    if (launch->output)
        redirect(report, "output", launch->output, O_WRONLY | O_CREAT | O_APPEND, STDOUT_FILENO, STDERR_FILENO);
    else if (launch->aside && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        fail(report, "output");
    if (launch->directory && chdir(launch->directory) != 0)
        fail(report, "directory");
    for (char *const *v = launch->environment; v && *v; v++)
        putenv(*v);
    execve(launch->path, launch->argv, environ);
    fail(report, "exec");
}

static void send_event(struct serving *s, const struct launcher_event *event)
{
    /* Blocking, since events are few. If the receiver is gone, the event is dropped. */
    while (send(s->socket, event, sizeof *event, MSG_NOSIGNAL) < 0 && errno == EINTR)
        continue;
}

/* Reads the child's reports until its exec. Returns whether it reached the exec; *event has the last report. */
static bool await_exec(int report, struct launcher_event *event)
{
    struct failure f = {.fatal = false};
    for (;;) {
        ssize_t r = read(report, &f, sizeof f);
        if (r < 0 && errno == EINTR)
            continue;
        if (r != (ssize_t)sizeof f)
            return !f.fatal;
        event->error = f.error;
        memcpy(event->stage, f.stage, sizeof event->stage);
    }
}

static void start_one(struct serving *s, uint32_t i)
{
    struct launcher_event event = {.type = LAUNCHER_FAILED, .process = i, .stage = "fork"};
    int report[2];
    pid_t launcher = getpid(), pid = -1;
    if (pipe2(report, O_CLOEXEC) == 0) {
        pid = fork();
        if (pid == 0)
            become(&s->launches[i], &s->launch_environment, launcher, report[1]);
        event.error = errno;
        close(report[1]);
        if (pid > 0) {
            event = (struct launcher_event){.type = LAUNCHER_STARTED, .process = i, .pid = pid};
            if (!await_exec(report[0], &event))
                event.type = LAUNCHER_FAILED;
        }
        close(report[0]);
    } else {
        event.error = errno;
    }
    if (event.type == LAUNCHER_STARTED)
        s->pids[i] = pid;
    else if (pid > 0)
        waitpid(pid, NULL, 0);
    send_event(s, &event);
}

/* Waits for every child that ended, adopted ones too. Returns whether no process of the tree is left. */
static bool reap(struct serving *s)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (uint32_t i = 0; i < s->n; i++)
            if (s->pids[i] == pid) {
                s->pids[i] = 0;
                send_event(
                    s, &(struct launcher_event){.type = LAUNCHER_EXITED, .process = i, .pid = pid, .status = status});
                break;
            }
    return pid < 0 && errno == ECHILD;
}

/* Begins to end the tree; if that has begun, makes it end earlier if the new times are earlier. */
static void end(struct serving *s, int64_t term_in, int64_t kill_in)
{
    int64_t now = clock_now();
    if (!s->ending || now + term_in < s->term_at)
        s->term_at = now + term_in;
    if (!s->ending || now + kill_in < s->kill_at)
        s->kill_at = now + kill_in;
    s->ending = true;
}

static void receive_command(struct serving *s)
{
    enum launcher_verb verb;
    ssize_t r = recv(s->socket, &verb, sizeof verb, 0);
    if (r < 0 && errno == EINTR)
        return;
    if (r != (ssize_t)sizeof verb) {
        s->socket_closed = true;
        end(s, 0, s->grace);
    } else if (verb == LAUNCHER_START) {
        for (uint32_t i = 0; i < s->n && !s->ending; i++)
            start_one(s, i);
    } else if (verb == LAUNCHER_KILL) {
        s->termed = true; /* no SIGTERM is to be sent */
        end(s, 0, 0);
    } else {
        int64_t now = verb == LAUNCHER_INTERRUPT ? s->grace : 0;
        end(s, now, now + s->grace);
    }
}

static void take_signals(struct serving *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo == SIGTERM)
            end(s, 0, s->grace);
}

/* Sends SIGTERM to the complete tree. */
static void terminate(struct serving *s)
{
    size_t n = process_tree_terminate(getpid());
    for (uint32_t i = 0; i < s->n; i++)
        if (s->pids[i] != 0)
            return;
    if (n > 0)
        send_event(s, &(struct launcher_event){.type = LAUNCHER_LEFT, .status = (int)n});
}

/*
 * One step of ending the tree. Returns the milliseconds to wait for the next. The grace begins when SIGTERM is sent,
 * even if a busy machine delayed that.
 */
static int end_some(struct serving *s)
{
    int64_t now = clock_now();
    size_t dead;
    if (now >= s->term_at && !s->termed) {
        s->termed = true;
        terminate(s);
        now = clock_now();
        if (s->kill_at < now + s->grace)
            s->kill_at = now + s->grace;
    }
    if (s->termed && now >= s->kill_at) {
        process_tree_kill(getpid(), NULL, 0, &dead);
        return now - s->kill_at < LAUNCHER_FINISH ? REAP_EVERY_MS : REAP_SELDOM_MS;
    }
    int64_t next = s->termed ? s->kill_at : s->term_at;
    return (int)((next - now) / CLOCK_MS) + 1;
}

static _Noreturn void serve(struct serving *s)
{
    for (;;) {
        bool empty = reap(s);
        if (empty && s->ending && !s->sent_empty) {
            s->sent_empty = true;
            send_event(s, &(struct launcher_event){.type = LAUNCHER_EMPTY});
        }
        if (empty && s->socket_closed)
            _exit(0);
        struct pollfd fds[] = {{.fd = s->socket_closed ? -1 : s->socket, .events = POLLIN},
                               {.fd = s->signals, .events = POLLIN}};
        poll(fds, 2, s->ending && !empty ? end_some(s) : -1);
        if (fds[1].revents)
            take_signals(s);
        if (fds[0].revents)
            receive_command(s);
    }
}

static _Noreturn void become_launcher(const struct launch *launches, size_t n, int64_t grace,
                                      const struct launch_environment *launch_environment, int socket, pid_t parent)
{
    sigset_t all, read_here;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&read_here);
    sigaddset(&read_here, SIGCHLD);
    sigaddset(&read_here, SIGTERM);
    signal(SIGCHLD, SIG_DFL); /* if it were ignored, children would vanish without a status */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGCONT); /* a stopped launcher must continue when its parent dies */
    prctl(PR_SET_NAME, "bezel-launcher");
    struct serving s = {
        .launches = launches, .n = n, .launch_environment = *launch_environment, .grace = grace, .socket = socket};
    s.pids = calloc(n + 1, sizeof *s.pids);
    s.signals = signalfd(-1, &read_here, SFD_CLOEXEC | SFD_NONBLOCK);
    if (!s.pids || s.signals < 0 || getppid() != parent)
        _exit(1);
    serve(&s);
}

int launcher_fork(const struct launch *launches, size_t n, int64_t grace, struct launcher *l)
{
    int ends[2];
    struct launch_environment launch_environment = launch_environment_read();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return err_from_errno(errno);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        close(ends[0]);
        become_launcher(launches, n, grace, &launch_environment, ends[1], parent);
    }
    int saved = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return errno = saved, err_from_errno(saved);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* see launcher_finish() */
    *l = (struct launcher){.pid = pid, .fd = ends[0], .grace = grace};
    return 0;
}

int launcher_send(struct launcher *l, enum launcher_verb verb)
{
    ssize_t r;
    do
        r = send(l->fd, &verb, sizeof verb, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (r < 0 && errno == EINTR);
    return r == (ssize_t)sizeof verb ? 0 : BEZEL_EUNREACH;
}

int launcher_receive(struct launcher *l, struct launcher_event *event)
{
    if (l->fd < 0)
        return BEZEL_EUNREACH;
    ssize_t r = recv(l->fd, event, sizeof *event, MSG_DONTWAIT);
    if (r == (ssize_t)sizeof *event)
        return 0;
    return r < 0 && (errno == EAGAIN || errno == EINTR) ? BEZEL_EAGAIN : BEZEL_EUNREACH;
}

bool launcher_close(struct launcher *l)
{
    bool ended = true;
    if (l->pid <= 0)
        return true;
    close(l->fd);
    int64_t deadline = clock_now() + l->grace + LAUNCHER_FINISH;
    pid_t got;
    while ((got = waitpid(l->pid, NULL, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        kill(l->pid, SIGCONT);
        if (ended && clock_now() > deadline) {
            kill(l->pid, SIGKILL);
            ended = false;
        }
        clock_sleep_until(clock_now() + CLOCK_MS);
    }
    *l = (struct launcher){.fd = -1};
    return ended;
}

bool launcher_finish(const pid_t *spare, size_t spare_count)
{
    int64_t deadline = clock_now() + LAUNCHER_FINISH;
    for (size_t alive = 1, dead = SIZE_MAX, before = 0; alive > 0 || dead != before;) {
        before = dead;
        alive = process_tree_kill(getpid(), spare, spare_count, &dead);
        if (alive > 0 && clock_now() > deadline)
            return false;
        clock_sleep_until(clock_now() + REAP_EVERY_MS * CLOCK_MS);
    }
    return true;
}
