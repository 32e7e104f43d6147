// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Stands where `bezel run` looks for bezeld and bezel-collector, puts a daemon on the host and under the conditions
 * that a fault test wants, and becomes it. By environment: FAULTS_PROGRAMS, the folder of the real ones;
 * FAULTS_NETWORK, the network namespace of bezeld; FAULTS_COLLECTOR, the collector's endpoint that a session gets;
 * FAULTS_SESSION, the endpoint that `bezel run` takes for a session's. For the last two a child of bezeld stands
 * between it and `bezel run`, changes BEGIN and its reply, and dies with bezeld.
 */
#include "base/clock.h"
#include "base/file.h"
#include "tests/lib/begin.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* ---- Between `bezel run` and bezeld ------------------------------------------------------------------------------ */

static struct link *bind_soon(const char *control)
{
    struct link *link;
    for (int64_t end = clock_now() + 5 * CLOCK_S; clock_now() < end;) {
        if (link_bind(control, MESSAGE_MAX_BYTES, NULL, &link) == 0)
            return link; /* the one of a killed bezeld may be there yet for a moment */
        clock_sleep_until(clock_now() + CLOCK_MS);
    }
    _exit(1);
}

/* Gives the BEGIN in *m to bezeld at `real`, and leaves the answer there. */
static bool ask(struct message *m, const char *real)
{
    static struct begin b;
    uint32_t id = m->command.id;
    b.message.begin = m->begin;
    if (variable("FAULTS_COLLECTOR"))
        snprintf(b.message.begin.collector, sizeof b.message.begin.collector, "%s", variable("FAULTS_COLLECTOR"));
    bool serves = begin_ask(&b, real, NULL) && begin_await(&b, 60 * CLOCK_S);
    begin_close(&b);
    *m = (struct message){.type = MESSAGE_REPLY};
    m->reply = b.message.reply;
    m->reply.id = id;
    if (serves && variable("FAULTS_SESSION"))
        snprintf(m->reply.session.endpoint, sizeof m->reply.session.endpoint, "%s", variable("FAULTS_SESSION"));
    return serves || m->reply.text[0] != '\0';
}

static void stand_between(const char *control, const char *real, int bound)
{
    static struct message m; /* too large for a stack */
    static uint8_t bytes[MESSAGE_MAX_BYTES];
    struct link_frame frame;
    struct link *link = bind_soon(control);
    close(bound);
    for (;;) {
        link_wait(&link, 1, NULL, 0, CLOCK_S);
        while (link_receive(link, &frame) == 0) {
            struct link_peer peer = frame.peer;
            int err = message_decode(frame.data, frame.size, &m);
            link_frame_free(&frame);
            if (err || m.type != MESSAGE_COMMAND || m.command.verb != VERB_BEGIN || !ask(&m, real))
                continue;
            int n = message_encode(&m, bytes, sizeof bytes);
            if (n < 0 || link_send(link, &peer, bytes, (size_t)n) != 0)
                _exit(1);
        }
    }
}

/* Returns where the real one is to serve instead, once somebody serves at `control`. */
static char *divert(const char *control)
{
    int bound[2];
    char dir[PATH_MAX], *real = malloc(PATH_MAX), byte;
    snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(control, '/') - control) - 6, control + 6); /* after ipc:// */
    snprintf(real, PATH_MAX, "ipc://%.4000s/real/control", dir);
    pid_t bezeld = getpid();
    if (file_make_dirs(dir, 0700) != 0 || pipe2(bound, O_CLOEXEC) != 0)
        _exit(1);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "between");
        for (int fd = 3; fd < 256; fd++) /* the pipes between `bezel run` and bezeld are not ours */
            if (fd != bound[1])
                close(fd);
        if (getppid() != bezeld)
            _exit(1);
        stand_between(control, real, bound[1]);
    }
    close(bound[1]);
    if (read(bound[0], &byte, 1) < 0)
        _exit(1);
    close(bound[0]);
    return real;
}

/* ---- Becoming it ------------------------------------------------------------------------------------------------- */

static void move(int argc, char **argv)
{
    const char *network = variable("FAULTS_NETWORK");
    int fd = network ? open(network, O_RDONLY | O_CLOEXEC) : -1;
    if (network && (fd < 0 || setns(fd, CLONE_NEWNET) != 0)) {
        perror(network);
        _exit(1);
    }
    for (int i = 1; (variable("FAULTS_COLLECTOR") || variable("FAULTS_SESSION")) && i + 1 < argc; i++)
        if (strcmp(argv[i], "--control") == 0)
            argv[i + 1] = divert(argv[i + 1]);
}

int main(int argc, char **argv)
{
    char path[PATH_MAX];
    const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    if (!variable("FAULTS_PROGRAMS"))
        return 2;
    snprintf(path, sizeof path, "%s/%s", variable("FAULTS_PROGRAMS"), name);
    if (strcmp(name, "bezeld") == 0)
        move(argc, argv);
    execv(path, argv);
    perror(path);
    return 1;
}
