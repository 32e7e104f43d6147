// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/external/liveness.h"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LIVENESS_OTHER_FILES = 64, LIVENESS_EVENTS = 64 };

void liveness_open(struct liveness *l)
{
    struct rlimit files;
    *l = (struct liveness){.epoll = -1};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur >= 2 * BITSET_MAX + LIVENESS_OTHER_FILES)
        l->epoll = epoll_create1(EPOLL_CLOEXEC);
}

void liveness_close(struct liveness *l)
{
    if (l->epoll >= 0)
        close(l->epoll);
    l->epoll = -1;
}

/* The pid may have been reused before the pidfd was opened: then the process of that pid is another one. */
void liveness_watch(struct liveness *l, uint32_t i, struct attached *a)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u32 = i};
    bitset_add(&l->doubtful, i);
    if (l->epoll < 0 || !segment_pid_is_ours(a))
        return;
    int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)a->pid, 0);
    if (pidfd < 0)
        return;
    if (!segment_alive(a)) {
        close(pidfd);
        return;
    }
    a->pidfd = pidfd;
    (void)epoll_ctl(l->epoll, EPOLL_CTL_ADD, pidfd, &event);
}

static void take_ends(struct liveness *l, const struct bitset *present)
{
    struct epoll_event events[LIVENESS_EVENTS];
    int n = LIVENESS_EVENTS;
    while (l->epoll >= 0 && n == LIVENESS_EVENTS) {
        n = epoll_wait(l->epoll, events, LIVENESS_EVENTS, 0);
        for (int i = 0; i < n; i++)
            if (bitset_has(present, events[i].data.u32))
                bitset_add(&l->doubtful, events[i].data.u32);
    }
}

struct bitset liveness_look(struct liveness *l, const struct bitset *present)
{
    take_ends(l, present);
    struct bitset doubtful = l->doubtful;
    l->doubtful = (struct bitset){{0}};
    for (uint32_t asked = 0; asked < LIVENESS_ASKED; asked++) {
        int i = bitset_next(present, l->next);
        if (i < 0 && (i = bitset_next(present, 0)) < 0)
            break;
        bitset_add(&doubtful, (uint32_t)i);
        l->next = (uint32_t)i + 1;
    }
    return doubtful;
}
