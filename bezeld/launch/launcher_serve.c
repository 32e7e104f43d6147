// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/launcher_serve.h"

#include "base/grow.h"
#include "bezeld/launch/launched.h"
#include "bezeld/launch/process_tree.h"
#include "bezeld/launch/spawn.h"
#include "bezeld/launch/unix_socket.h"
#include "mdr/message.h"
#include "sensor/shm/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 4, /* of bezelds that were restarted; a further one replaces the first */
    FDS_FIXED = 2 + CONNECTIONS_MAX,
    REAP_EVERY_MS = 10,    /* between two rounds of SIGKILL */
    REAP_SELDOM_MS = 1000, /* the same after LAUNCHER_FINISH: what is left probably cannot be killed */
    PORTS_EVERY_MS = 50,   /* between two looks for ports */
    SIGNALS_A_TURN = 16,   /* who sends more of them does not keep us from the rest */
};

struct connection {
    int fd;        /* -1: none */
    uint64_t told; /* the owner: the last change that it was told */
};

/* `term_at` and `kill_at` are set when it has begun to end the tree. */
struct serving {
    const struct launcher_serving *how;
    struct launched all;
    struct connection connections[CONNECTIONS_MAX];
    int signals, home;             /* home: the working directory of programs; -1: it may not be entered */
    int64_t grace, silence, heard; /* heard: when the last command came */
    bool ending, termed, leaving, terminated;
    int64_t term_at, kill_at;
    struct pollfd *fds;
    size_t fd_room;
};

static struct message message; /* one thread; too large for a stack */
static uint8_t bytes[MESSAGE_MAX_BYTES];
static struct marks_callers callers;

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

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

static void end_as_told(struct serving *s, enum message_ending how)
{
    int64_t from = how == END_INTERRUPTED ? s->grace : 0;
    if (how == END_KILL)
        s->termed = true; /* no SIGTERM is to be sent */
    end(s, from, how == END_KILL ? 0 : from + s->grace);
}

/* `n` processes are ended behind the end of those that were launched, unless so many were noted before. */
static void note_left(struct serving *s, size_t n)
{
    if (n > s->all.left && !launched_runs(&s->all))
        launched_note_left(&s->all, (uint32_t)n);
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
        note_left(s, process_tree_terminate());
        now = clock_now();
        if (s->kill_at < now + s->grace)
            s->kill_at = now + s->grace;
    }
    if (s->termed && now >= s->kill_at) {
        note_left(s, process_tree_kill(NULL, 0, &dead)); /* also who came while SIGTERM was sent, and never got it */
        return now - s->kill_at < LAUNCHER_FINISH ? REAP_EVERY_MS : REAP_SELDOM_MS;
    }
    int64_t next = s->termed ? s->kill_at : s->term_at;
    return (int)((next - now) / CLOCK_MS) + 1;
}

/* Waits for every child that ended, adopted ones too. Returns whether no process of the tree is left. */
static bool reap(struct serving *s)
{
    int status;
    struct rusage usage;
    pid_t pid;
    while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
        launched_end(&s->all, pid, status, &usage, clock_now());
    return pid < 0 && errno == ECHILD;
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

static void hang_up(struct serving *s, struct connection *c)
{
    close(c->fd);
    c->fd = -1;
    if (s->how->owned) {
        s->leaving = true;
        end(s, 0, s->grace);
    }
}

/* Sends `message`. Returns whether it was sent. If the peer is gone, what it has sent before is still to be carried
 * out. */
static bool send_message(const struct connection *c)
{
    int n = message_encode(&message, bytes, sizeof bytes);
    return n > 0 && send(c->fd, bytes, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) == n;
}

/* Answers the command in `message`, whose envelope the answer keeps. */
static void begin_reply(uint32_t id, enum message_answer answer)
{
    message.type = MESSAGE_REPLY;
    message.envelope.life = 0;
    message.reply =
        (struct message_reply){.id = id, .at = (uint64_t)clock_now(), .state = DAEMON_ACTIVE, .answer = answer};
}

static void refuse(const struct connection *c, uint32_t id, const char *why)
{
    begin_reply(id, ANSWER_REFUSED);
    snprintf(message.reply.text, sizeof message.reply.text, "%s", why);
    (void)send_message(c);
}

static void reply_list(struct serving *s, struct connection *c, uint32_t id, uint64_t since)
{
    begin_reply(id, ANSWER_PROCESSES);
    launched_list(&s->all, since, &message.launched);
    if (send_message(c) && s->how->owned)
        c->told = message.launched.change;
}

static void reply_one(const struct connection *c, uint32_t id, const struct job *job)
{
    begin_reply(id, ANSWER_PROCESSES);
    message.launched = (struct message_launched_list){.count = 1};
    message.launched.rows[0] = job->row;
    (void)send_message(c);
}

/* The file in which the launcher spools the output of `of`, and by which a later one knows that it was started. */
static void name_file(const struct message_start *of, char name[LAUNCHED_FILE_MAX])
{
    snprintf(name, LAUNCHED_FILE_MAX, "%s.%u.out", of->process, of->incarnation);
}

static void start(struct serving *s, struct job *job, const struct launch *l)
{
    char name[LAUNCHED_FILE_MAX];
    struct spawned child = {.stage = "output"};
    int input = -1;
    int64_t now = clock_now(); /* its CPU time counts from its fork, so it must not run for less */
    name_file(&l->of, name);
    if (s->how->folder >= 0 && output_spool_open(&job->output, s->how->folder, name, s->how->output_bytes, &input) != 0)
        child.error = errno;
    else
        child = spawn(l, &(struct spawning){.environment = s->how->environment, .home = s->home, .output = input});
    if (input >= 0)
        close(input);
    launched_begin(&s->all, job, &child, l->port, now);
    job->due = l->timeout > 0 && !l->foreground ? now + l->timeout : 0;
    if (l->grace > 0)
        s->grace = l->grace;
    s->silence = l->silence;
}

/*
 * Whether the peer has hung up. What it asked for last is then not carried out: nobody would observe the program, or
 * know of it. A bezeld that only died is followed by another one, which asks again.
 */
static bool is_gone(const struct connection *c)
{
    struct pollfd fd = {.fd = c->fd, .events = POLLRDHUP};
    return poll(&fd, 1, 0) == 1 && (fd.revents & (POLLHUP | POLLRDHUP | POLLERR));
}

static void launch(struct serving *s, struct connection *c)
{
    static struct message_launch asked; /* the answer takes the place of the message */
    struct launch l;
    char **pointers = NULL;
    asked = message.launch;
    struct job *job = launched_find(&s->all, &asked.of);
    const char *why = job ? NULL : launched_forbids(&s->all, &asked.of);
    if (job)
        reply_one(c, asked.id, job);
    else if (why || s->ending || is_gone(c))
        refuse(c, asked.id, why ? why : "the programs of this run are being ended");
    else if (launch_from_message(&asked, &l, &pointers) != 0 || !(job = launched_add(&s->all, &asked.of)))
        refuse(c, asked.id, "the launcher has no memory");
    else {
        l.foreground = l.foreground && s->how->owned;
        start(s, job, &l);
        if (!s->how->owned) /* else the change is sent anyway */
            reply_one(c, asked.id, job);
    }
    free(pointers);
}

static void reply_output(struct serving *s, struct connection *c, const struct message_command *asked)
{
    const struct job *job = launched_find(&s->all, &asked->start);
    if (!job || job->output.file < 0) {
        refuse(c, asked->id, "the launcher has no output of this program");
        return;
    }
    begin_reply(asked->id, ANSWER_OUTPUT);
    output_spool_read(&job->output, asked->offset, &message.output);
    (void)send_message(c);
}

static void carry_out(struct serving *s, struct connection *c)
{
    struct message_command asked = message.command; /* the answer takes its place */
    switch (asked.verb) {
    case VERB_QUERY:
        if (asked.subject == SUBJECT_OUTPUT)
            reply_output(s, c, &asked);
        else
            reply_list(s, c, asked.id, asked.since);
        return;
    case VERB_ENDING:
        end_as_told(s, asked.ending);
        break;
    case VERB_SHUTDOWN:
        s->leaving = true;
        end(s, 0, s->grace);
        break;
    case VERB_CONFIGURE: /* the service has carried it out */
        break;
    default:
        refuse(c, asked.id, "a launcher does not carry out this command");
        return;
    }
    if (!s->how->owned)
        reply_list(s, c, asked.id, s->all.change);
}

static void receive(struct serving *s, struct connection *c)
{
    ssize_t n = recv(c->fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC);
    /* A peer that left answers unread: the kernel says so once, and then gives what the peer had sent before. */
    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == ECONNRESET))
        return;
    if (n <= 0) {
        hang_up(s, c);
        return;
    }
    int err = (size_t)n > sizeof bytes ? BEZEL_EMALFORMED : message_decode(bytes, (size_t)n, &message);
    s->heard = clock_now();
    if (err == BEZEL_EVERSION)
        (void)send_message(c);
    else if (!err && message.type == MESSAGE_LAUNCH)
        launch(s, c);
    else if (!err && message.type == MESSAGE_COMMAND)
        carry_out(s, c);
    /* else it is nothing for a launcher */
}

static void accept_connection(struct serving *s)
{
    int fd = unix_socket_accept(s->how->listening);
    if (fd < 0)
        return;
    struct connection *c = s->connections;
    for (int i = CONNECTIONS_MAX - 1; i >= 0; i--)
        if (s->connections[i].fd < 0)
            c = &s->connections[i];
    if (c->fd >= 0)
        close(c->fd);
    c->fd = fd;
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */

static void take_signals(struct serving *s)
{
    struct signalfd_siginfo info;
    for (int i = 0; i < SIGNALS_A_TURN && read(s->signals, &info, sizeof info) == (ssize_t)sizeof info; i++)
        if (info.ssi_signo == SIGURG && info.ssi_code == SI_USER && info.ssi_pid > 0) {
            marks_add_caller(&callers, (pid_t)info.ssi_pid);
        } else if (info.ssi_signo == SIGTERM) {
            end(s, 0, s->grace);
            s->terminated = true;
            s->leaving |= !s->how->owned;
        }
}

static int earlier(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Milliseconds until `at`, ns; 0: it is due. */
static int until(int64_t at)
{
    int64_t left = at - clock_now();
    return left <= 0 ? 0 : left / CLOCK_MS >= 3600000 ? 3600000 : (int)(left / CLOCK_MS) + 1;
}

/* Ends the programs, and later leaves, if nobody has sent a command for long. Returns the milliseconds to wait. */
static int watch_silence(struct serving *s)
{
    if (s->how->owned || s->silence == 0)
        return -1;
    int left = until(s->heard + s->silence);
    if (left == 0 && !s->ending) {
        launched_note_silence(&s->all);
        end(s, 0, s->grace);
    }
    int more = until(s->heard + s->silence + (s->all.count > 0 ? LAUNCHER_KEEP : 0));
    s->leaving = s->leaving || more == 0;
    return left > 0 ? left : more;
}

/* The descriptors to wait for: signals, listening socket, connections, then the outputs in the order of the jobs. */
static size_t gather(struct serving *s)
{
    if (s->fd_room < FDS_FIXED + s->all.count) {
        size_t room = FDS_FIXED + 2 * s->all.count;
        if (grow_to(&s->fds, room, sizeof *s->fds))
            s->fd_room = room;
    }
    s->fds[0] = (struct pollfd){.fd = s->signals, .events = POLLIN};
    s->fds[1] = (struct pollfd){.fd = s->how->listening, .events = POLLIN};
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        bool tell = s->how->owned && s->connections[i].told < s->all.change;
        s->fds[2 + i] = (struct pollfd){.fd = s->connections[i].fd, .events = (short)(POLLIN | (tell ? POLLOUT : 0))};
    }
    size_t n = FDS_FIXED;
    for (; n < s->fd_room && n - FDS_FIXED < s->all.count; n++)
        s->fds[n] = (struct pollfd){.fd = s->all.jobs[n - FDS_FIXED]->output.pipe, .events = POLLIN};
    return n;
}

static void attend(struct serving *s, size_t n)
{
    if (s->fds[0].revents)
        take_signals(s);
    for (size_t i = FDS_FIXED; i < n; i++)
        if (s->fds[i].revents)
            output_spool_take(&s->all.jobs[i - FDS_FIXED]->output);
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        struct connection *c = &s->connections[i];
        if (c->fd >= 0 && s->fds[2 + i].revents & ~POLLOUT)
            receive(s, c);
        if (c->fd >= 0 && s->fds[2 + i].revents & POLLOUT)
            reply_list(s, c, 0, c->told);
    }
    if (s->fds[1].revents)
        accept_connection(s);
}

static void turns(struct serving *s)
{
    for (;;) {
        bool empty = reap(s);
        if (empty && s->ending) {
            take_signals(s); /* of who has ended since the last look */
            if (!s->all.empty && s->home >= 0)
                marks_take(&callers);
            launched_note_empty(&s->all);
        }
        bool told = !s->how->owned || s->connections[0].fd < 0;
        if (empty && s->leaving && s->ending && told)
            return;
        int wait = watch_silence(s);
        if (s->ending && !empty)
            wait = earlier(wait, end_some(s));
        int64_t late = launched_end_late(&s->all, s->grace, clock_now());
        if (late != INT64_MAX)
            wait = earlier(wait, until(late));
        if (launched_look_at_ports(&s->all))
            wait = earlier(wait, PORTS_EVERY_MS);
        size_t n = gather(s);
        poll(s->fds, n, wait);
        attend(s, n);
    }
}

bool launcher_serve(const struct launcher_serving *how)
{
    sigset_t all, read_here;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&read_here);
    sigaddset(&read_here, SIGCHLD);
    sigaddset(&read_here, SIGTERM);
    sigaddset(&read_here, SIGURG); /* segment_leave_mark() */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct serving s = {
        .how = how, .grace = how->grace, .silence = LAUNCHER_SILENCE, .heard = clock_now(), .fd_room = FDS_FIXED};
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        s.connections[i].fd = i == 0 ? how->connection : -1;
    s.home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    s.signals = signalfd(-1, &read_here, SFD_CLOEXEC | SFD_NONBLOCK);
    s.fds = calloc(s.fd_room, sizeof *s.fds);
    if (s.signals >= 0 && s.fds && launched_init(&s.all, how->folder) == 0)
        turns(&s);
    launched_free(&s.all);
    free(s.fds);
    if (s.home >= 0) {
        (void)!fchdir(s.home);
        close(s.home);
    }
    if (s.signals >= 0)
        close(s.signals);
    return !s.terminated;
}
