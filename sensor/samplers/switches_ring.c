// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/samplers/switches_ring.h"

#include "base/clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int open_event(struct perf_event_attr *attr, int32_t thread, int cpu)
{
    return (int)syscall(SYS_perf_event_open, attr, (pid_t)thread, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The kernel lets a user lock so much memory, and refuses more with EPERM. */
static bool map(struct switches_ring *r, uint64_t pages)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    void *at = MAP_FAILED;
    for (; pages > 0 && at == MAP_FAILED; pages /= 2) {
        r->bytes = (pages + 1) * page;
        at = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    }
    r->page = at == MAP_FAILED ? NULL : at;
    return r->page != NULL;
}

int switches_ring_open(struct switches_ring *r, int32_t thread, int cpu, uint64_t pages, bool *memory)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1,
                                   .context_switch = 1,
                                   .task = thread >= 0,
                                   .comm = thread < 0,
                                   .sample_id_all = 1,
                                   .use_clockid = 1,
                                   .clockid = CLOCK_MONOTONIC};
    int64_t shift = clock_namespace_shift(); /* first: errno is to say why the event is refused */
    *r = (struct switches_ring){.fd = open_event(&attr, thread, cpu), .shift = shift};
    *memory = r->fd >= 0;
    if (r->fd >= 0 && map(r, pages))
        return 0;
    int error = errno;
    switches_ring_close(r);
    errno = error;
    return -1;
}

void switches_ring_close(struct switches_ring *r)
{
    if (r->page)
        munmap(r->page, r->bytes);
    if (r->fd >= 0)
        close(r->fd);
    *r = (struct switches_ring){.fd = -1};
}

int switches_ring_add(const struct switches_ring *r, int cpu, uint64_t id)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT,
                                   .size = sizeof attr,
                                   .config = id,
                                   .sample_period = 1,
                                   .sample_type =
                                       PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW,
                                   .sample_id_all = 1,
                                   .use_clockid = 1,
                                   .clockid = CLOCK_MONOTONIC};
    int fd = open_event(&attr, -1, cpu);
    if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* perf_event_open(2) asks for the barrier between reading the head and the records. */
uint64_t switches_ring_head(const struct switches_ring *r)
{
    uint64_t head = *(const volatile __u64 *)&r->page->data_head;
    __sync_synchronize();
    return head;
}

uint64_t switches_ring_tail(const struct switches_ring *r)
{
    return r->page->data_tail;
}

struct switches_bytes switches_ring_bytes(const struct switches_ring *r, uint64_t head)
{
    return (struct switches_bytes){.ring = (const uint8_t *)r->page + r->page->data_offset,
                                   .size = r->page->data_size,
                                   .at = r->page->data_tail,
                                   .head = head,
                                   .shift = r->shift};
}

void switches_ring_free_up(const struct switches_ring *r, uint64_t head)
{
    __sync_synchronize();
    *(volatile __u64 *)&r->page->data_tail = head;
}
