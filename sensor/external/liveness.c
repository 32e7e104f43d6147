// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/lives.h"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LIVES_OTHER_FILES = 64, LIVES_EVENTS = 64 };

void lives_open(struct lives *l)
{
    struct rlimit files;
    *l = (struct lives){.epoll = -1};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur >= 2 * WINDOW_PROCESSES + LIVES_OTHER_FILES)
        l->epoll = epoll_create1(EPOLL_CLOEXEC);
}

void lives_close(struct lives *l)
{
    if (l->epoll >= 0)
        close(l->epoll);
    l->epoll = -1;
}

/* The pid may be another's by now: the process is asked once more at the next look, behind this. */
void lives_watch(struct lives *l, uint32_t i, struct attached *a)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u32 = i};
    places_add(&l->doubtful, i);
    if (l->epoll < 0 || !segment_pid_is_ours(a))
        return;
    a->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)a->pid, 0);
    if (a->pidfd >= 0)
        (void)epoll_ctl(l->epoll, EPOLL_CTL_ADD, a->pidfd, &event);
}

static void take_ends(struct lives *l, const struct places *present)
{
    struct epoll_event events[LIVES_EVENTS];
    int n = LIVES_EVENTS;
    while (l->epoll >= 0 && n == LIVES_EVENTS) {
        n = epoll_wait(l->epoll, events, LIVES_EVENTS, 0);
        for (int i = 0; i < n; i++)
            if (places_has(present, events[i].data.u32))
                places_add(&l->doubtful, events[i].data.u32);
    }
}

struct places lives_look(struct lives *l, const struct places *present)
{
    take_ends(l, present);
    struct places doubtful = l->doubtful;
    l->doubtful = (struct places){{0}};
    for (uint32_t asked = 0; asked < LIVES_ASKED; asked++) {
        int i = places_next(present, l->next);
        if (i < 0 && (i = places_next(present, 0)) < 0)
            break;
        places_add(&doubtful, (uint32_t)i);
        l->next = (uint32_t)i + 1;
    }
    return doubtful;
}
