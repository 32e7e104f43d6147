// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/rt_setup.h"

#include "base/units.h"

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

_Static_assert((int)EXPERIMENT_CPUS_MAX <= CPU_SETSIZE, "a cpu_set_t has every CPU that a file can name");

static cpu_set_t to_set(const struct experiment_cpus *cpus)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (uint32_t i = 0; i < EXPERIMENT_CPUS_MAX; i++)
        if (experiment_has_cpu(cpus, i))
            CPU_SET(i, &set);
    return set;
}

/* Moves thread `tid` to `cpus`. The system silently leaves out CPUs that it cannot use: *missing is their number. */
static int move(pid_t tid, const struct experiment_cpus *cpus, uint32_t *missing)
{
    cpu_set_t set = to_set(cpus), got;
    if (sched_setaffinity(tid, sizeof set, &set) != 0)
        return errno;
    if (sched_getaffinity(tid, sizeof got, &got) == 0)
        *missing = experiment_cpu_count(cpus) - (uint32_t)CPU_COUNT(&got);
    return 0;
}

/* Gives a thread of ZeroMQ default scheduling, and its own CPUs if the file names some. */
static int place_link_thread(pid_t tid, const struct experiment_real_time *want, uint32_t *missing)
{
    if (want->policy != REAL_TIME_UNCHANGED)
        sched_setscheduler(tid, SCHED_OTHER, &(struct sched_param){0});
    return experiment_cpu_count(&want->io_cpu) > 0 ? move(tid, &want->io_cpu, missing) : 0;
}

/* All threads but this one are ZeroMQ's. Their names, which they set only after they start, are no help. */
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

/* Touches the pages of the stack that the loop will use. */
static void touch_stack(void)
{
    volatile char stack[STACK_BYTES];
    for (size_t i = 0; i < sizeof stack; i += PAGE)
        stack[i] = 0;
}

/*
 * Pages are locked when they are first touched (MCL_ONFAULT): a process's segment is mapped completely and mostly
 * empty, and filling it would use up the memory of its folder. The pages that the loop itself writes are made present
 * here.
 *
 * Later mappings are locked only if no limit applies: under a limit, a later mapping would fail instead of staying
 * unlocked.
 */
static void lock_memory(struct rt_setup_result *result, void *memory, size_t bytes)
{
    struct rlimit limit;
    raise_limit(RLIMIT_MEMLOCK, &limit);
    bool later = limit.rlim_cur == RLIM_INFINITY || is_capable(CAP_IPC_LOCK);
    if (mlockall(MCL_CURRENT | MCL_ONFAULT | (later ? MCL_FUTURE : 0)) != 0) {
        result->error[RT_SETUP_MEMORY] = errno;
        return;
    }
    result->error[RT_SETUP_LATER] = later ? 0 : EPERM;
    mallopt(M_TRIM_THRESHOLD, -1); /* freed memory stays mapped and locked */
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

/* Without the privilege, RLIMIT_RTPRIO may still allow this or a lower priority. */
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

struct rt_setup_result rt_setup_apply(const struct experiment_real_time *want, void *memory, size_t bytes)
{
    struct rt_setup_result result = {.priority = 0};
    if (prctl(PR_SET_TIMERSLACK, (unsigned long)want->timer_slack, 0, 0, 0) != 0) /* real-time threads have none */
        result.error[RT_SETUP_SLACK] = errno;
    result.error[RT_SETUP_IO_CPU] = place_link_threads(want, &result.missing_io_cpus);
    if (experiment_cpu_count(&want->cpu) > 0)
        result.error[RT_SETUP_CPU] = move(0, &want->cpu, &result.missing_cpus);
    if (want->lock_memory)
        lock_memory(&result, memory, bytes);
    if (want->policy != REAL_TIME_UNCHANGED)
        result.error[RT_SETUP_POLICY] = become(want, &result.priority);
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

static void read_cpus(struct rt_setup_state *state)
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

struct rt_setup_state rt_setup_read(void)
{
    struct attributes a = {.size = sizeof a};
    struct rt_setup_state state = {.locked_bytes = read_locked(), .timer_slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)};
    read_cpus(&state);
    if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) != 0)
        return state;
    state.policy = (int)a.policy;
    state.priority = a.priority;
    if (a.policy != SCHED_DEADLINE) /* for policy other they hold its slice */
        return state;
    state.runtime = (int64_t)a.runtime;
    state.deadline = (int64_t)a.deadline;
    state.period = (int64_t)a.period;
    return state;
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

enum { CPUS_TEXT = 64, TEXT = RT_SETUP_TEXT_MAX + 1 };

/* "CPU 1", "CPUs 0, 2-5"; what does not fit is left out. */
static void list_cpus(const struct experiment_cpus *cpus, char text[CPUS_TEXT])
{
    size_t n = (size_t)snprintf(text, CPUS_TEXT, "CPU%s", experiment_cpu_count(cpus) == 1 ? "" : "s");
    const char *comma = " ";
    for (uint32_t i = 0; i < EXPERIMENT_CPUS_MAX; i++) {
        uint32_t last = i;
        if (!experiment_has_cpu(cpus, i))
            continue;
        while (experiment_has_cpu(cpus, last + 1))
            last++;
        if (n > CPUS_TEXT - 20) {
            snprintf(text + n, CPUS_TEXT - n, ", ...");
            return;
        }
        n += (size_t)snprintf(text + n, CPUS_TEXT - n, last > i ? "%s%u-%u" : "%s%u", comma, i, last);
        comma = ", ";
        i = last;
    }
}

static bool complain_cpus(const struct experiment_cpus *cpus, const char *who, int error, uint32_t missing, char *text)
{
    char list[CPUS_TEXT];
    list_cpus(cpus, list);
    if (error == ESRCH)
        snprintf(text, TEXT, "%s: no thread of ZeroMQ is found, so none is moved there", list);
    else if (error)
        snprintf(text, TEXT,
                 "%s stay%s off %s: %s; /proc/self/status lists the CPUs that are allowed (Cpus_allowed_list)", who,
                 who[0] == 'Z' ? "" : "s", list,
                 error == EINVAL ? "none of them exists, or is allowed" : strerror(error));
    else if (missing)
        snprintf(text, TEXT, "%u of %s missing, or not allowed: %s may use the others", missing, list, who);
    return error || missing;
}

static bool complain_policy(const struct experiment_real_time *want, const struct rt_setup_result *result, char *text)
{
    static const char remedy[] =
        "it needs CAP_SYS_NICE (setcap cap_sys_nice+ep bezeld; a container: --cap-add SYS_NICE)";
    int error = result->error[RT_SETUP_POLICY];
    if (error == 0)
        return false;
    if (want->policy == REAL_TIME_FIFO && result->priority)
        snprintf(text, TEXT, "policy fifo has priority %u, not %u: %s, or ulimit -r %u", result->priority,
                 want->priority, remedy, want->priority);
    else if (want->policy == REAL_TIME_FIFO)
        snprintf(text, TEXT, "policy fifo is refused (%s): %s, or ulimit -r %u", strerror(error), remedy,
                 want->priority);
    else if (want->policy == REAL_TIME_DEADLINE && error == EBUSY)
        snprintf(text, TEXT,
                 "policy deadline is refused: %s in %s exceed what the CPUs have left: set a shorter runtime, or a "
                 "longer period",
                 units_duration(want->runtime).s, units_duration(want->period).s);
    else if (want->policy == REAL_TIME_DEADLINE)
        snprintf(text, TEXT, "policy deadline is refused (%s): %s, and all CPUs of its cpuset", strerror(error),
                 remedy);
    else
        snprintf(text, TEXT, "policy other is refused (%s): %s", strerror(error), remedy);
    return true;
}

bool rt_setup_complaint(const struct experiment_real_time *want, const struct rt_setup_result *result,
                        enum rt_setup_step step, char *text)
{
    int error = result->error[step];
    switch (step) {
    case RT_SETUP_CPU:
        return complain_cpus(&want->cpu, "the thread that polls", error, result->missing_cpus, text);
    case RT_SETUP_IO_CPU:
        return complain_cpus(&want->io_cpu, "ZeroMQ's threads", error, result->missing_io_cpus, text);
    case RT_SETUP_MEMORY:
        snprintf(text, TEXT,
                 "memory is not locked (%s): it needs CAP_IPC_LOCK (setcap cap_ipc_lock+ep bezeld; a container: "
                 "--cap-add IPC_LOCK), or ulimit -l unlimited",
                 error == ENOMEM ? "more is mapped than the limit allows" : strerror(error));
        break;
    case RT_SETUP_LATER:
        snprintf(text, TEXT,
                 "only memory that was mapped at the start is locked: to lock later mappings too, bezeld needs "
                 "CAP_IPC_LOCK, or ulimit -l unlimited");
        break;
    case RT_SETUP_SLACK:
        snprintf(text, TEXT, "the timer slack stays as it was: %s", strerror(error));
        break;
    case RT_SETUP_POLICY:
        return complain_policy(want, result, text);
    case RT_SETUP_STEPS:
        return false;
    }
    return error != 0;
}

/* ---- What is in force -------------------------------------------------------------------------------------------- */

static const char *policy_name(int policy)
{
    static const char *const names[] = {"other", "fifo", "rr", "batch", "?", "idle", "deadline"};
    return policy >= 0 && policy < (int)(sizeof names / sizeof *names) ? names[policy] : "?";
}

void rt_setup_describe(const struct rt_setup_state *s, char *text, size_t size)
{
    char list[CPUS_TEXT];
    int n = snprintf(text, size, "policy %s", policy_name(s->policy));
    if (s->runtime)
        n += snprintf(text + n, size - (size_t)n, " (%s within %s, each %s)", units_duration(s->runtime).s,
                      units_duration(s->deadline).s, units_duration(s->period).s);
    else if (s->priority)
        n += snprintf(text + n, size - (size_t)n, ", priority %u", s->priority);
    list_cpus(&s->cpus, list);
    if (experiment_cpu_count(&s->cpus) == s->cpu_count)
        n += snprintf(text + n, size - (size_t)n, ", any CPU of %u", s->cpu_count);
    else
        n += snprintf(text + n, size - (size_t)n, ", %s of %u", list, s->cpu_count);
    n += snprintf(text + n, size - (size_t)n, ", memory %slocked", s->locked_bytes ? "" : "not ");
    if (s->timer_slack > 0) /* a real-time thread has none */
        snprintf(text + n, size - (size_t)n, ", timer slack %s", units_duration(s->timer_slack).s);
}

bool rt_setup_wanted(const struct experiment_real_time *want)
{
    return want->policy != REAL_TIME_UNCHANGED || experiment_cpu_count(&want->cpu) > 0 ||
           experiment_cpu_count(&want->io_cpu) > 0 || want->lock_memory;
}
