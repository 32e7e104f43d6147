// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/lifetime.h"

#include "base/clock.h"
#include "base/inherited.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

int lifetime_signals(const int *also)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    if (!inherited_ignored(SIGHUP)) /* nohup */
        sigaddset(&set, SIGHUP);
    for (; *also; also++)
        sigaddset(&set, *also);
    if (!sigismember(&set, SIGINT))
        signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    return sigprocmask(SIG_BLOCK, &set, NULL) == 0 ? signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC) : -1;
}

volatile sig_atomic_t lifetime_stop;

static void on_stop(int sig)
{
    lifetime_stop = sig;
}

void lifetime_catch(int flags)
{
    const struct sigaction action = {.sa_handler = on_stop, .sa_flags = flags};
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction before;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
}

void lifetime_catch_all(void)
{
    const struct sigaction action = {.sa_handler = on_stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (!inherited_ignored(SIGHUP))
        sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

void lifetime_step_back(const char *id, const char *what, int by)
{
    mallopt(M_ARENA_MAX, 1);
    errno = 0;
    if (nice(by) == -1 && errno)
        log_warn(id, "cannot lower the priority of this %s: %s: it competes with the programs of the run for the CPU",
                 what, strerror(errno));
}

unsigned lifetime_terms(int signals)
{
    struct signalfd_siginfo info;
    unsigned count = 0;
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info)
        count++;
    return count;
}

/* If the last look was within the time of the order before, the signal may have come within it. */
bool lifetime_is_order(struct lifetime_orders *o, bool came, int64_t now)
{
    bool same = o->given && o->looked - o->given < LIFETIME_ORDER;
    o->looked = now;
    if (came && !same)
        o->given = now;
    return came && !same;
}

static int64_t end_from; /* written before the handler is installed */

static void end_at_once(int sig)
{
    if (clock_now() < end_from)
        return;
    signal(sig, SIG_DFL);
    raise(sig);
}

void lifetime_end_on_next(void)
{
    const struct sigaction action = {.sa_handler = end_at_once, .sa_flags = SA_RESTART};
    sigset_t set;
    if (end_from)
        return;
    end_from = clock_now() + LIFETIME_ORDER;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaction(SIGTERM, &action, NULL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void lifetime_parent_pipe(int pipe)
{
    if (pipe >= 0)
        fcntl(pipe, F_SETFL, fcntl(pipe, F_GETFL) | O_NONBLOCK);
}

bool lifetime_is_deserted(int pipe)
{
    char byte;
    return pipe >= 0 && read(pipe, &byte, 1) == 0;
}

void lifetime_ready(int *fd, const char *line)
{
    if (*fd < 0)
        return;
    if (dprintf(*fd, "%s\n", line) < 0)
        log_warn("BEZEL-READY", "cannot report that this daemon is ready: %s; it serves all the same", strerror(errno));
    close(*fd);
    *fd = -1;
}
