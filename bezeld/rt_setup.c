// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/placement.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; EINVAL before: the pages then come at first use */
#endif
#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif

enum { RESET_ON_FORK = 1, STACK_BYTES = 128 << 10, PAGE = 4096 };

/* As the kernel has it since 3.14; the C library has no name for it. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

_Static_assert(sizeof(struct attributes) == 48, "version 0 of sched_attr");

/* ---- CPUs -------------------------------------------------------------------------------------------------------- */

_Static_assert((int)EXPERIMENT_CPUS_MAX <= CPU_SETSIZE, "a cpu_set_t holds what a file can say");

static cpu_set_t to_set(const struct experiment_cpus *cpus)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (uint32_t i = 0; i < EXPERIMENT_CPUS_MAX; i++)
        if (experiment_has_cpu(cpus, i))
            CPU_SET(i, &set);
    return set;
}

/* Moves thread `tid`. What of the set cannot be is left out by the system without a word: *missing counts it. */
static int move(pid_t tid, const struct experiment_cpus *cpus, uint32_t *missing)
{
    cpu_set_t set = to_set(cpus), got;
    if (sched_setaffinity(tid, sizeof set, &set) != 0)
        return errno;
    if (sched_getaffinity(tid, sizeof got, &got) == 0)
        *missing = experiment_cpu_count(cpus) - (uint32_t)CPU_COUNT(&got);
    return 0;
}

/* Default scheduling, whatever this process was started with, and their own CPUs where they are given some. */
static int place_link_thread(pid_t tid, const struct experiment_real_time *want, uint32_t *missing)
{
    if (want->policy != REAL_TIME_UNCHANGED)
        sched_setscheduler(tid, SCHED_OTHER, &(struct sched_param){0});
    return experiment_cpu_count(&want->io_cpu) > 0 ? move(tid, &want->io_cpu, missing) : 0;
}

/* All threads but this one: they are ZeroMQ's. By their names they could be missed, which they give themselves later.
 */
static int place_link_threads(const struct experiment_real_time *want, uint32_t *missing)
{
    pid_t self = (pid_t)syscall(SYS_gettid);
    int found = 0, error = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks)
        return errno;
    for (struct dirent *d; (d = readdir(tasks));) {
        pid_t tid = (pid_t)strtol(d->d_name, NULL, 10);
        if (tid <= 0 || tid == self)
            continue;
        int e = place_link_thread(tid, want, missing);
        error = e ? e : error;
        found++;
    }
    closedir(tasks);
    return found || experiment_cpu_count(&want->io_cpu) == 0 ? error : ESRCH;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static void raise_limit(int resource, struct rlimit *limit)
{
    *limit = (struct rlimit){0};
    if (getrlimit(resource, limit) != 0 || limit->rlim_cur == limit->rlim_max)
        return;
    limit->rlim_cur = limit->rlim_max;
    setrlimit(resource, limit);
}

static bool is_capable(unsigned capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capget, &header, data) == 0 && data[capability / 32].effective >> capability % 32 & 1;
}

/* The pages that the loop will use of the stack. */
static void touch_stack(void)
{
    volatile char stack[STACK_BYTES];
    for (size_t i = 0; i < sizeof stack; i += PAGE)
        stack[i] = 0;
}

/*
 * Pages are locked when they are first touched (MCL_ONFAULT): a process's segment is mapped whole and mostly empty, and
 * filling it would use up the memory of its folder. What the loop itself writes is made present here.
 *
 * Memory that will be mapped is locked only where no limit can stand against it: under one, a later mapping would fail
 * instead of being unlocked.
 */
static void lock_memory(struct placement_result *result, void *memory, size_t bytes)
{
    struct rlimit limit;
    raise_limit(RLIMIT_MEMLOCK, &limit);
    bool later = limit.rlim_cur == RLIM_INFINITY || is_capable(CAP_IPC_LOCK);
    if (mlockall(MCL_CURRENT | MCL_ONFAULT | (later ? MCL_FUTURE : 0)) != 0) {
        result->error[PLACEMENT_MEMORY] = errno;
        return;
    }
    result->error[PLACEMENT_LATER] = later ? 0 : EPERM;
    mallopt(M_TRIM_THRESHOLD, -1); /* what was freed stays, and stays locked */
    mallopt(M_MMAP_MAX, 0);
    touch_stack();
    if (memory)
        madvise(memory, bytes, MADV_POPULATE_WRITE);
}

/* ---- Policy ------------------------------------------------------------------------------------------------------ */

static int set_policy(struct attributes *a)
{
    a->size = sizeof *a;
    return syscall(SYS_sched_setattr, 0, a, 0) == 0 ? 0 : errno;
}

/* Without the privilege RLIMIT_RTPRIO may allow it, or a lower priority. */
static int become_fifo(uint32_t priority, uint32_t *got)
{
    struct rlimit limit;
    raise_limit(RLIMIT_RTPRIO, &limit);
    struct attributes a = {.policy = SCHED_FIFO, .flags = RESET_ON_FORK, .priority = priority};
    int error = set_policy(&a);
    if (error == EPERM && limit.rlim_cur > 0 && limit.rlim_cur < priority) {
        a.priority = (uint32_t)limit.rlim_cur;
        if (set_policy(&a) == 0)
            *got = a.priority;
    }
    return error;
}

static int become(const struct experiment_real_time *want, uint32_t *got)
{
    if (want->policy == REAL_TIME_FIFO)
        return become_fifo(want->priority, got);
    struct attributes a = {.policy = SCHED_OTHER};
    if (want->policy == REAL_TIME_DEADLINE)
        a = (struct attributes){.policy = SCHED_DEADLINE,
                                .flags = RESET_ON_FORK,
                                .runtime = (uint64_t)want->runtime,
                                .deadline = (uint64_t)want->deadline,
                                .period = (uint64_t)want->period};
    else
        return sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0}) == 0 ? 0 : errno; /* nice stays */
    return set_policy(&a);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

struct placement_result placement_apply(const struct experiment_real_time *want, void *memory, size_t bytes)
{
    struct placement_result result = {.priority = 0};
    if (prctl(PR_SET_TIMERSLACK, (unsigned long)want->timer_slack, 0, 0, 0) != 0) /* real-time threads have none */
        result.error[PLACEMENT_SLACK] = errno;
    result.error[PLACEMENT_IO_CPU] = place_link_threads(want, &result.missing_io_cpus);
    if (experiment_cpu_count(&want->cpu) > 0)
        result.error[PLACEMENT_CPU] = move(0, &want->cpu, &result.missing_cpus);
    if (want->lock_memory)
        lock_memory(&result, memory, bytes);
    if (want->policy != REAL_TIME_UNCHANGED)
        result.error[PLACEMENT_POLICY] = become(want, &result.priority);
    return result;
}

static uint64_t read_locked(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmLck: %llu", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib * 1024;
}

static void read_cpus(struct placement_state *state)
{
    cpu_set_t set;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    state->cpu_count = online > 0 ? (uint32_t)online : 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    for (uint32_t i = 0; i < EXPERIMENT_CPUS_MAX; i++)
        if (CPU_ISSET(i, &set))
            state->cpus.bits[i / 64] |= UINT64_C(1) << i % 64;
}

struct placement_state placement_read(void)
{
    struct attributes a = {.size = sizeof a};
    struct placement_state state = {.locked_bytes = read_locked(), .timer_slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)};
    read_cpus(&state);
    if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) != 0)
        return state;
    state.policy = (int)a.policy;
    state.priority = a.priority;
    if (a.policy != SCHED_DEADLINE) /* where these may say something else: the slice, of policy other */
        return state;
    state.runtime = (int64_t)a.runtime;
    state.deadline = (int64_t)a.deadline;
    state.period = (int64_t)a.period;
    return state;
}
