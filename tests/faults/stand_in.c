// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Stands where `bezel run` looks for bezeld and bezel-collector, puts a daemon on the host and under the conditions
 * that a fault test wants, and becomes it. By environment: FAULTS_PROGRAMS, the folder of the real ones;
 * FAULTS_NETWORK, the network namespace of bezeld; FAULTS_COLLECTOR, the collector's endpoint that a session gets;
 * FAULTS_DEAF: bezeld hears nothing any more once a session serves. For the last two a child of bezeld stands between
 * it and those who command it, and dies with bezeld.
 */
#include "base/clock.h"
#include "base/file.h"
#include "mdr/link/link.h"
#include "mdr/message.h"
#include "tests/lib/patience.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { RELAYED_MAX = 32 };

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* ---- Between `bezel run` and bezeld ------------------------------------------------------------------------------ */

static struct link *bind_soon(const char *control)
{
    struct link *link;
    for (int64_t end = clock_now() + PATIENCE; clock_now() < end;) {
        if (link_bind(control, MESSAGE_MAX_BYTES, NULL, &link) == 0)
            return link; /* the one of a killed bezeld may be there yet for a moment */
        clock_sleep_until(clock_now() + CLOCK_MS);
    }
    _exit(1);
}

/* A peer that commands bezeld, and its link to the real one. */
struct relayed {
    struct link_peer peer;
    struct link *link;
};

static struct relayed relayed[RELAYED_MAX];
static bool deaf;

/* The link to the real one for `peer`; makes it where there is none. */
static struct link *link_of(const struct link_peer *peer, const char *real)
{
    struct relayed *r = relayed;
    while (r->link && (r->peer.size != peer->size || memcmp(r->peer.id, peer->id, peer->size) != 0))
        if (++r == relayed + RELAYED_MAX)
            _exit(1);
    r->peer = *peer;
    if (!r->link && link_connect(real, MESSAGE_MAX_BYTES, 64, NULL, &r->link) != 0)
        _exit(1);
    return r->link;
}

/* Names the collector's endpoint as the test wants it. Returns the size of what is in `bytes` then; 0: nothing changes.
 */
static int rewrite(const struct link_frame *frame, struct message *m, uint8_t *bytes)
{
    if (!variable("FAULTS_COLLECTOR") || message_decode(frame->data, frame->size, m) != 0 ||
        m->type != MESSAGE_COMMAND || m->command.verb != VERB_CONFIGURE)
        return 0;
    snprintf(m->configure.collector, sizeof m->configure.collector, "%s", variable("FAULTS_COLLECTOR"));
    return message_encode(m, bytes, MESSAGE_MAX_BYTES);
}

static void relay_down(struct link *bound, const char *real)
{
    static struct message m; /* too large for a stack */
    static uint8_t bytes[MESSAGE_MAX_BYTES];
    struct link_frame frame;
    while (link_receive(bound, &frame) == 0) {
        int n = deaf ? 0 : rewrite(&frame, &m, bytes);
        if (!deaf && link_send(link_of(&frame.peer, real), NULL, n > 0 ? bytes : frame.data,
                               n > 0 ? (size_t)n : frame.size) != 0)
            _exit(1);
        link_frame_free(&frame);
    }
}

static void relay_up(struct link *bound, const struct relayed *from)
{
    static struct message m; /* too large for a stack */
    struct link_frame frame;
    while (link_receive(from->link, &frame) == 0) {
        if (!deaf)
            (void)!link_send(bound, &from->peer, frame.data, frame.size); /* its receiver may be gone */
        deaf = deaf || (variable("FAULTS_DEAF") && message_decode(frame.data, frame.size, &m) == 0 &&
                        m.type == MESSAGE_REPLY && m.reply.answer == ANSWER_SESSION);
        link_frame_free(&frame);
    }
}

static void stand_between(const char *control, const char *real, int bound)
{
    struct link *links[1 + RELAYED_MAX] = {bind_soon(control)};
    close(bound);
    for (;;) {
        size_t n = 1;
        for (; n <= RELAYED_MAX && relayed[n - 1].link; n++)
            links[n] = relayed[n - 1].link;
        link_wait(links, n, NULL, 0, CLOCK_S);
        relay_down(links[0], real);
        for (size_t i = 0; i < RELAYED_MAX && relayed[i].link; i++)
            relay_up(links[0], &relayed[i]);
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
    for (int i = 1; (variable("FAULTS_COLLECTOR") || variable("FAULTS_DEAF")) && i + 1 < argc; i++)
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
