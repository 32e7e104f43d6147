// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Real-time placement with the system's own answers: each case in a process of its own, which may lose privileges. */
#include "bezeld/node/rt_setup.h"
#include "base/clock.h"
#include "mdr/link/link.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEADLINE_POLICY = 6, SKIP = 77 };

/* In the process of a case, where cmocka's assertions would go on with the next test. */
#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                              \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { LOCKS = 0 }; /* sanitizers ignore mlockall() */
#else
enum { LOCKS = 1 };
#endif

static void in_a_process(void (*body)(void))
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIP)
        skip();
    assert_int_equal(status, 0);
}

/* Gives up a capability, so that what it allows is refused from here on. */
static void drop(unsigned capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    MUST(syscall(SYS_capget, &header, data) == 0);
    data[capability / 32].effective &= ~(1u << capability % 32);
    data[capability / 32].permitted &= ~(1u << capability % 32);
    MUST(syscall(SYS_capset, &header, data) == 0);
}

/*
 * Limits that stand between all and nothing cannot be had without the privilege to raise them: here they are played.
 * What is asked of the system is kept, and refused where such a limit would.
 */
static struct {
    rlim_t rtprio, memlock; /* 0: as it really is */
    int lock_flags;
} played;

int __real_getrlimit64(__rlimit_resource_t resource, struct rlimit *limit);
int __wrap_getrlimit64(__rlimit_resource_t resource, struct rlimit *limit);
int __wrap_getrlimit64(__rlimit_resource_t resource, struct rlimit *limit)
{
    rlim_t value = resource == RLIMIT_RTPRIO ? played.rtprio : resource == RLIMIT_MEMLOCK ? played.memlock : 0;
    *limit = (struct rlimit){value, value};
    return value ? 0 : __real_getrlimit64(resource, limit);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    va_list args;
    va_start(args, number);
    long a = va_arg(args, long), b = va_arg(args, long), c = va_arg(args, long), d = va_arg(args, long);
    va_end(args);
    if (number == SYS_sched_setattr && played.rtprio && ((const uint32_t *)b)[5] > played.rtprio)
        return errno = EPERM, -1;
    return __real_syscall(number, a, b, c, d);
}

int __real_mlockall(int flags);
int __wrap_mlockall(int flags);
int __wrap_mlockall(int flags)
{
    played.lock_flags = flags;
    return played.memlock ? 0 : __real_mlockall(flags);
}

static void limit(int resource, rlim_t value)
{
    struct rlimit l = {value, value};
    MUST(setrlimit(resource, &l) == 0);
}

/* Skips where this process may not become what the case is about. */
static void need(int policy)
{
    if (policy == SCHED_FIFO && sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){1}) != 0) {
        printf("skipped: this process may not become real-time: %s\n", strerror(errno));
        _exit(SKIP);
    }
    sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
}

static struct experiment_real_time plain(void)
{
    return (struct experiment_real_time){.priority = 10, .timer_slack = CLOCK_US};
}

static void add_cpu(struct experiment_cpus *set, uint32_t cpu)
{
    set->bits[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

static bool complains(const struct experiment_real_time *want, const struct rt_setup_result *result,
                      enum rt_setup_step step, const char *of)
{
    char text[RT_SETUP_TEXT_MAX + 1] = "";
    bool is = rt_setup_complaint(want, result, step, text);
    if (is && (!of || !strstr(text, of)))
        printf("said: %s\n", text);
    return of ? is && strstr(text, of) : is;
}

static bool complains_at_all(const struct experiment_real_time *want, const struct rt_setup_result *result)
{
    for (int step = 0; step < RT_SETUP_STEPS; step++)
        if (complains(want, result, (enum rt_setup_step)step, NULL))
            return true;
    return false;
}

/* ---- With the privilege ------------------------------------------------------------------------------------------ */

static void *tell_policy(void *to)
{
    *(int *)to = sched_getscheduler(0);
    return NULL;
}

static void become_fifo(void)
{
    struct experiment_real_time want = plain();
    int policy_of_thread = -1;
    pthread_t thread;
    need(SCHED_FIFO);
    want.policy = REAL_TIME_FIFO;
    want.priority = 7;
    struct rt_setup_result result = rt_setup_apply(&want, NULL, 0);
    MUST(!complains_at_all(&want, &result));
    struct rt_setup_state state = rt_setup_read();
    MUST(state.policy == SCHED_FIFO && state.priority == 7);
    MUST(pthread_create(&thread, NULL, tell_policy, &policy_of_thread) == 0);
    pthread_join(thread, NULL);
    MUST(policy_of_thread == SCHED_OTHER); /* threads made later are no real-time ones */
    pid_t child = fork();
    if (child == 0)
        _exit(sched_getscheduler(0));
    int status;
    MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == SCHED_OTHER);
}

TEST(fifo_has_its_priority_and_is_not_inherited)
{
    in_a_process(become_fifo);
}

static void become_deadline(void)
{
    struct experiment_real_time want = plain();
    need(SCHED_FIFO);
    want.policy = REAL_TIME_DEADLINE;
    want.runtime = 200 * CLOCK_US;
    want.deadline = CLOCK_MS;
    want.period = 2 * CLOCK_MS;
    struct rt_setup_result result = rt_setup_apply(&want, NULL, 0);
    if (result.error[RT_SETUP_POLICY]) {
        printf("skipped: no SCHED_DEADLINE here: %s\n", strerror(result.error[RT_SETUP_POLICY]));
        _exit(SKIP);
    }
    struct rt_setup_state state = rt_setup_read();
    MUST(state.policy == DEADLINE_POLICY && state.runtime == 200 * CLOCK_US && state.deadline == CLOCK_MS &&
         state.period == 2 * CLOCK_MS);
    pthread_t thread;
    int policy_of_thread = -1;
    MUST(pthread_create(&thread, NULL, tell_policy, &policy_of_thread) == 0); /* would be refused without the reset */
    pthread_join(thread, NULL);
    MUST(policy_of_thread == SCHED_OTHER);
    want.policy = REAL_TIME_OTHER;
    result = rt_setup_apply(&want, NULL, 0);
    MUST(!complains_at_all(&want, &result));
    state = rt_setup_read();
    MUST(state.policy == SCHED_OTHER && state.runtime == 0);
}

TEST(deadline_has_its_reservation)
{
    in_a_process(become_deadline);
}

/* More than the processors have is refused with what to change; the thread stays what it was. */
static void overbook(void)
{
    struct experiment_real_time want = plain();
    need(SCHED_FIFO);
    want.policy = REAL_TIME_DEADLINE;
    want.runtime = want.deadline = want.period = CLOCK_MS;
    for (long i = 0; i <= sysconf(_SC_NPROCESSORS_ONLN); i++) {
        int ready[2];
        char byte;
        MUST(pipe(ready) == 0);
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            struct experiment_real_time most = want;
            most.runtime = CLOCK_MS / 100 * 94;
            rt_setup_apply(&most, NULL, 0);
            MUST(write(ready[1], "x", 1) == 1);
            for (;;)
                pause();
        }
        MUST(read(ready[0], &byte, 1) == 1);
    }
    struct rt_setup_result result = rt_setup_apply(&want, NULL, 0);
    MUST(complains(&want, &result, RT_SETUP_POLICY, "shorter runtime"));
    MUST(rt_setup_read().policy == SCHED_OTHER);
}

TEST(a_reservation_that_does_not_fit_is_reported)
{
    in_a_process(overbook);
}

static void lock_memory(void)
{
    struct experiment_real_time want = plain();
    size_t bytes = 1 << 20, later = 1 << 16;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(memory != MAP_FAILED);
    want.lock_memory = true;
    struct rt_setup_result result = rt_setup_apply(&want, memory, bytes);
    if (!LOCKS || result.error[RT_SETUP_MEMORY]) {
        printf("skipped: memory cannot be locked here: %s\n", strerror(result.error[RT_SETUP_MEMORY]));
        _exit(SKIP);
    }
    struct rt_setup_state state = rt_setup_read();
    MUST(state.locked_bytes >= bytes);
    unsigned char present[256];
    MUST(mincore(memory, bytes, present) == 0);
    for (size_t i = 0; i < bytes / 4096; i++)
        MUST(present[i] & 1);
    MUST(mmap(NULL, later, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    MUST(rt_setup_read().locked_bytes >= state.locked_bytes + later); /* what is mapped later is locked too */
}

TEST(locked_memory_is_present_and_grows)
{
    in_a_process(lock_memory);
}

static void place_on_cpu(void)
{
    struct experiment_real_time want = plain();
    cpu_set_t allowed;
    uint32_t cpu = 0;
    MUST(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    while (!CPU_ISSET(cpu, &allowed))
        cpu++;
    add_cpu(&want.cpu, cpu);
    want.timer_slack = 12345;
    struct rt_setup_result result = rt_setup_apply(&want, NULL, 0);
    MUST(!complains_at_all(&want, &result));
    struct rt_setup_state state = rt_setup_read();
    MUST(experiment_cpu_count(&state.cpus) == 1 && experiment_has_cpu(&state.cpus, cpu));
    MUST(state.timer_slack == 12345);
    add_cpu(&want.cpu, EXPERIMENT_CPUS_MAX - 1); /* one of two is not there: the other is used, and it is told */
    result = rt_setup_apply(&want, NULL, 0);
    MUST(complains(&want, &result, RT_SETUP_CPU, "1 of CPUs"));
    state = rt_setup_read();
    MUST(experiment_cpu_count(&state.cpus) == 1);
}

TEST(a_thread_gets_its_cpu_and_slack)
{
    in_a_process(place_on_cpu);
}

/* Reads field `name` of thread `tid`'s status. */
static void thread_field(const char *tid, const char *name, char *value, size_t size)
{
    char path[192], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", tid);
    FILE *f = fopen(path, "r");
    MUST(f);
    value[0] = '\0';
    while (fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0)
            snprintf(value, size, "%.*s", (int)size - 1, line + strlen(name) + 2);
    fclose(f);
    value[strcspn(value, "\n")] = '\0';
}

/* As if the daemon had been started real-time: ZeroMQ's threads have inherited that, and are given back. */
static void place_link_threads(void)
{
    struct experiment_real_time want = plain();
    struct link *link;
    char endpoint[64], list[64], tids[128] = "";
    cpu_set_t allowed;
    uint32_t last = 0;
    need(SCHED_FIFO);
    MUST(sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){5}) == 0);
    snprintf(endpoint, sizeof endpoint, "ipc:///tmp/bezel-placement-%d", (int)getpid());
    MUST(link_bind(endpoint, 1024, NULL, &link) == 0);
    MUST(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    for (uint32_t i = 0; i < CPU_SETSIZE; i++)
        last = CPU_ISSET(i, &allowed) ? i : last;
    want.policy = REAL_TIME_FIFO;
    add_cpu(&want.io_cpu, last);
    struct rt_setup_result result = rt_setup_apply(&want, NULL, 0);
    MUST(!complains_at_all(&want, &result));
    FILE *ls = popen("ls /proc/$PPID/task | grep -vx $PPID | tr '\\n' ' '", "r");
    MUST(ls && fgets(tids, sizeof tids, ls));
    pclose(ls);
    int seen = 0;
    for (char *tid = strtok(tids, " \n"); tid; tid = strtok(NULL, " \n"), seen++) {
        thread_field(tid, "Cpus_allowed_list", list, sizeof list);
        MUST(strtoul(list, NULL, 10) == last && !strpbrk(list, ",-"));
        MUST(sched_getscheduler((pid_t)atoi(tid)) == SCHED_OTHER);
    }
    MUST(seen >= 2); /* the reaper, and one that moves bytes */
    MUST(rt_setup_read().policy == SCHED_FIFO);
    link_close(link, 0);
}

TEST(the_threads_of_the_link_stay_ordinary)
{
    in_a_process(place_link_threads);
}

/* ---- Without it -------------------------------------------------------------------------------------------------- */

static void lose_all(void)
{
    limit(RLIMIT_RTPRIO, 0);
    limit(RLIMIT_MEMLOCK, 4096);
    drop(CAP_SYS_NICE);
    drop(CAP_IPC_LOCK);
}

static void degrade(void)
{
    struct experiment_real_time want = plain();
    lose_all();
    want.policy = REAL_TIME_FIFO;
    want.lock_memory = true;
    want.timer_slack = 2000;
    add_cpu(&want.cpu, EXPERIMENT_CPUS_MAX - 1);
    add_cpu(&want.io_cpu, EXPERIMENT_CPUS_MAX - 1);
    struct rt_setup_result result = rt_setup_apply(&want, NULL, 0);
    MUST(complains(&want, &result, RT_SETUP_POLICY, "CAP_SYS_NICE"));
    MUST(complains(&want, &result, RT_SETUP_POLICY, "ulimit -r 10"));
    MUST(!LOCKS || complains(&want, &result, RT_SETUP_MEMORY, "CAP_IPC_LOCK"));
    MUST(complains(&want, &result, RT_SETUP_CPU, "none of them exists"));
    MUST(complains(&want, &result, RT_SETUP_IO_CPU, NULL)); /* there is no such thread; a sanitizer may have one */
    MUST(!complains(&want, &result, RT_SETUP_SLACK, NULL));
    struct rt_setup_state state = rt_setup_read();
    MUST(state.policy == SCHED_OTHER && state.timer_slack == 2000 && state.locked_bytes == 0);
    want.policy = REAL_TIME_DEADLINE;
    want.runtime = want.deadline = want.period = CLOCK_MS;
    result = rt_setup_apply(&want, NULL, 0);
    MUST(complains(&want, &result, RT_SETUP_POLICY, "CAP_SYS_NICE"));
}

TEST(what_is_refused_is_reported_and_the_rest_is_done)
{
    in_a_process(degrade);
}

static void be_limited(void)
{
    struct experiment_real_time want = plain();
    need(SCHED_FIFO);
    played.rtprio = 3;
    want.policy = REAL_TIME_FIFO;
    struct rt_setup_result result = rt_setup_apply(&want, NULL, 0);
    MUST(complains(&want, &result, RT_SETUP_POLICY, "priority 3, not 10"));
    struct rt_setup_state state = rt_setup_read();
    MUST(state.policy == SCHED_FIFO && state.priority == 3);
}

TEST(a_limit_allows_a_lower_priority)
{
    in_a_process(be_limited);
}

/* Under a limit a later mapping that is to be locked would fail instead: so it is not to be, and that is told. */
static void lock_under_a_limit(void)
{
    struct experiment_real_time want = plain();
    played.memlock = 1 << 30;
    want.lock_memory = true;
    struct rt_setup_result result = rt_setup_apply(&want, NULL, 0); /* with the privilege no limit counts */
    MUST(!complains_at_all(&want, &result));
    MUST(played.lock_flags == (MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT));
    drop(CAP_IPC_LOCK);
    result = rt_setup_apply(&want, NULL, 0);
    MUST(complains(&want, &result, RT_SETUP_LATER, "later mappings"));
    MUST(played.lock_flags == (MCL_CURRENT | MCL_ONFAULT));
    played.memlock = RLIM_INFINITY;
    result = rt_setup_apply(&want, NULL, 0);
    MUST(!complains_at_all(&want, &result));
    MUST(played.lock_flags == (MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT));
}

TEST(a_limit_of_locked_memory_does_not_stop_later_mappings)
{
    if (getuid() != 0)
        skip();
    in_a_process(lock_under_a_limit);
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

#define NICE "it needs CAP_SYS_NICE (setcap cap_sys_nice+ep bezeld; a container: --cap-add SYS_NICE)"

TEST(what_was_refused_is_said_with_its_remedy)
{
    struct experiment_real_time fifo = {.policy = REAL_TIME_FIFO, .priority = 10}, other = {.policy = REAL_TIME_OTHER},
                                deadline = {
                                    .policy = REAL_TIME_DEADLINE, .runtime = 500 * CLOCK_US, .period = CLOCK_MS};
    add_cpu(&fifo.cpu, 3);
    add_cpu(&fifo.io_cpu, 0);
    add_cpu(&fifo.io_cpu, 4);
    add_cpu(&fifo.io_cpu, 5);
    const struct {
        const struct experiment_real_time *want;
        enum rt_setup_step step;
        int error;
        uint32_t priority, missing;
        const char *text; /* NULL: none */
    } cases[] = {
        {&fifo, RT_SETUP_CPU, 0, 0, 0, NULL},
        {&fifo, RT_SETUP_CPU, EINVAL, 0, 0,
         "the thread that polls stays off CPU 3: none of them exists, or is allowed; /proc/self/status lists the CPUs "
         "that "
         "are allowed (Cpus_allowed_list)"},
        {&fifo, RT_SETUP_IO_CPU, EPERM, 0, 2,
         "ZeroMQ's threads stay off CPUs 0, 4-5: Operation not permitted; /proc/self/status lists the CPUs that are "
         "allowed (Cpus_allowed_list)"},
        {&fifo, RT_SETUP_IO_CPU, ESRCH, 0, 0, "CPUs 0, 4-5: no thread of ZeroMQ is found, so none is moved there"},
        {&fifo, RT_SETUP_IO_CPU, 0, 0, 2,
         "2 of CPUs 0, 4-5 missing, or not allowed: ZeroMQ's threads may use the others"},
        {&fifo, RT_SETUP_MEMORY, 0, 0, 0, NULL},
        {&fifo, RT_SETUP_MEMORY, ENOMEM, 0, 0,
         "memory is not locked (more is mapped than the limit allows): it needs CAP_IPC_LOCK (setcap cap_ipc_lock+ep "
         "bezeld; a container: --cap-add IPC_LOCK), or ulimit -l unlimited"},
        {&fifo, RT_SETUP_MEMORY, EPERM, 0, 0,
         "memory is not locked (Operation not permitted): it needs CAP_IPC_LOCK (setcap cap_ipc_lock+ep bezeld; a "
         "container: --cap-add IPC_LOCK), or ulimit -l unlimited"},
        {&fifo, RT_SETUP_LATER, EPERM, 0, 0,
         "only memory that was mapped at the start is locked: to lock later mappings too, bezeld needs CAP_IPC_LOCK, "
         "or "
         "ulimit -l unlimited"},
        {&fifo, RT_SETUP_SLACK, EINVAL, 0, 0, "the timer slack stays as it was: Invalid argument"},
        {&fifo, RT_SETUP_POLICY, 0, 0, 0, NULL},
        {&fifo, RT_SETUP_POLICY, EPERM, 7, 0, "policy fifo has priority 7, not 10: " NICE ", or ulimit -r 10"},
        {&fifo, RT_SETUP_POLICY, EPERM, 0, 0,
         "policy fifo is refused (Operation not permitted): " NICE ", or ulimit -r 10"},
        {&deadline, RT_SETUP_POLICY, EBUSY, 0, 0,
         "policy deadline is refused: 500 us in 1.00 ms exceed what the CPUs have left: set a shorter runtime, or a "
         "longer "
         "period"},
        {&deadline, RT_SETUP_POLICY, EPERM, 7, 0,
         "policy deadline is refused (Operation not permitted): " NICE ", and all CPUs of its cpuset"},
        {&other, RT_SETUP_POLICY, EBUSY, 0, 0, "policy other is refused (Device or resource busy): " NICE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[RT_SETUP_TEXT_MAX + 1] = "";
        struct rt_setup_result result = {.priority = cases[i].priority, .missing_io_cpus = cases[i].missing};
        result.error[cases[i].step] = cases[i].error;
        assert_int_equal(rt_setup_complaint(cases[i].want, &result, cases[i].step, text), cases[i].text != NULL);
        if (cases[i].text)
            assert_string_equal(text, cases[i].text);
    }
    assert_false(rt_setup_wanted(&(struct experiment_real_time){.timer_slack = 1, .priority = 3}));
    assert_true(rt_setup_wanted(&(struct experiment_real_time){.lock_memory = true}));
    assert_true(rt_setup_wanted(&other));
    struct experiment_real_time cpu = {.lock_memory = false}, io = {.lock_memory = false};
    add_cpu(&cpu.cpu, 2);
    add_cpu(&io.io_cpu, 2);
    assert_true(rt_setup_wanted(&cpu) && rt_setup_wanted(&io));
}

TEST(what_is_in_force_is_said_in_a_line)
{
    char text[RT_SETUP_TEXT_MAX + 1];
    struct rt_setup_state s = {.policy = SCHED_FIFO, .priority = 12, .cpu_count = 4, .locked_bytes = 1};
    add_cpu(&s.cpus, 1);
    add_cpu(&s.cpus, 2);
    rt_setup_describe(&s, text, sizeof text);
    assert_string_equal(text, "policy fifo, priority 12, CPUs 1-2 of 4, memory locked");
    s = (struct rt_setup_state){.cpu_count = 1, .timer_slack = CLOCK_US};
    add_cpu(&s.cpus, 0);
    rt_setup_describe(&s, text, sizeof text);
    assert_string_equal(text, "policy other, any CPU of 1, memory not locked, timer slack 1.00 us");
    s.policy = DEADLINE_POLICY;
    s.runtime = 500 * CLOCK_US;
    s.deadline = s.period = CLOCK_MS;
    s.cpu_count = 1024;
    for (uint32_t i = 0; i < 1024; i += 2) /* as many CPUs as the line has no room for */
        add_cpu(&s.cpus, i);
    rt_setup_describe(&s, text, sizeof text);
    assert_string_equal(text, "policy deadline (500 us within 1.00 ms, each 1.00 ms), CPUs 0, 2, 4, 6, 8, 10, 12, 14, "
                              "16, 18, 20, 22, ... of 1024, memory not locked, timer slack 1.00 us");
}
