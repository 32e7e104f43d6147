// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/file.h"
#include "base/perf_rights.h"
#include "base/procstat.h"
#include "base/program.h"
#include "base/table.h"
#include "base/tracefs.h"
#include "ecs/cli/doctor.h"
#include "sensor/shm/counter_proof.h"
#include "sensor/shm/cpu_counter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- clock ---- */

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/"

enum { READ_SLOW_NS = 200, SLEEP_LONG_NS = 1000000, SLEEPS = 31 };

static void check_resolution(struct doctor *d)
{
    struct timespec t = {0};
    clock_getres(CLOCK_MONOTONIC, &t);
    int64_t ns = clock_ns(t);
    if (ns <= 1)
        doctor_add(d, DOCTOR_OK, "clock", "resolution", NULL, "%s", units_duration(ns).s);
    else
        doctor_add(d, DOCTOR_WARNING, "clock", "resolution",
                   "boot without highres=off and nohz=off on the kernel's command line",
                   "%s: the kernel runs without high-resolution timers", units_duration(ns).s);
}

/* Reads the first line of a file of sysfs; empty if it cannot be read. */
static void read_line(const char *path, char *line, size_t size)
{
    char *text;
    size_t n;
    line[0] = '\0';
    if (file_read(path, 4096, &text, &n) != 0)
        return;
    snprintf(line, size, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
}

/* Clock sources that user space reads without a system call. */
static bool is_fast_source(const char *source)
{
    static const char *const fast[] = {"tsc", "arch_sys_counter", "riscv_clocksource", "kvm-clock",
                                       "hyperv_clocksource_tsc_page"};
    for (size_t i = 0; i < sizeof fast / sizeof *fast; i++)
        if (strcmp(source, fast[i]) == 0)
            return true;
    return false;
}

static void check_source(struct doctor *d)
{
    char source[128], available[256];
    read_line(CLOCKSOURCE "current_clocksource", source, sizeof source);
    read_line(CLOCKSOURCE "available_clocksource", available, sizeof available);
    if (!source[0])
        doctor_add(d, DOCTOR_WARNING, "clock", "source", "ls " CLOCKSOURCE, "unknown: it cannot be read from sysfs");
    else if (is_fast_source(source))
        doctor_add(d, DOCTOR_OK, "clock", "source", NULL, "%s", source);
    else if (strstr(available, "tsc"))
        doctor_add(d, DOCTOR_WARNING, "clock", "source", "echo tsc | sudo tee " CLOCKSOURCE "current_clocksource",
                   "%s: each reading is a system call, although the faster tsc is available", source);
    else
        doctor_add(d, DOCTOR_WARNING, "clock", "source", "sudo dmesg | grep -i -e tsc -e clocksource",
                   "%s: each reading is a system call; the kernel offers no faster clock, and its log has the reason",
                   source);
}

/* On a guest whose kernel uses its hypervisor's clock: what bezeld's proof comes to. */
static void add_guests_stamps(struct doctor *d)
{
    struct counter_proof proof;
    counter_proof_begin(&proof);
    if (proof.proven)
        doctor_add(d, DOCTOR_OK, "clock", "stamps", NULL,
                   "the processor's counter, which bezeld proves: processors are apart by %s at most; a program that "
                   "starts before bezeld takes CLOCK_MONOTONIC",
                   units_duration(proof.apart).s);
    else
        doctor_add(d, DOCTOR_WARNING, "clock", "stamps", "echo tsc | sudo tee " CLOCKSOURCE "current_clocksource",
                   "CLOCK_MONOTONIC: %s", proof.why);
}

/* Whether records of a process that is started here are stamped with the processor's counter (libbezel's rule). */
static bool check_stamps(struct doctor *d)
{
    const char *set = getenv("BEZEL_CLOCK"), *why_not;
    char available[256];
    enum cpu_counter_trust trust = cpu_counter_trust(&why_not);
    bool trusted = trust == CPU_COUNTER_TRUSTED;
    read_line(CLOCKSOURCE "available_clocksource", available, sizeof available);
    if (trusted && set && strcmp(set, "monotonic") == 0)
        doctor_add(d, DOCTOR_OK, "clock", "stamps", NULL,
                   "CLOCK_MONOTONIC, because BEZEL_CLOCK is set to it; the processor's counter could be used");
    else if (trusted)
        doctor_add(
            d, DOCTOR_OK, "clock", "stamps", NULL,
            "the processor's counter (for CLOCK_MONOTONIC set BEZEL_CLOCK=monotonic in a process's environment)");
    else if (trust == CPU_COUNTER_PROVABLE)
        add_guests_stamps(d);
    else
        doctor_add(d, strstr(available, "tsc") ? DOCTOR_WARNING : DOCTOR_OK, "clock", "stamps",
                   "echo tsc | sudo tee " CLOCKSOURCE "current_clocksource", "CLOCK_MONOTONIC: %s", why_not);
    return trusted && !(set && strcmp(set, "monotonic") == 0);
}

static uint64_t read_kernel(void)
{
    return (uint64_t)clock_now();
}

/* ns per reading: the best of some batches. */
static double read_cost(uint64_t (*clock)(void))
{
    enum { BATCHES = 16, READS = 512 };
    int64_t best = INT64_MAX;
    for (int b = 0; b < BATCHES; b++) {
        int64_t start = clock_now();
        for (int i = 0; i < READS; i++)
            (void)clock();
        int64_t took = clock_now() - start;
        best = took < best ? took : best;
    }
    return (double)best / READS;
}

static void check_read_cost(struct doctor *d, bool counter)
{
    double ns = read_cost(counter ? cpu_counter_read : read_kernel);
    doctor_add(d, ns > READ_SLOW_NS ? DOCTOR_WARNING : DOCTOR_OK, "clock", "reading",
               "use a clock source that needs no system call: see 'source'", "takes %.1f ns, once for each record", ns);
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void check_sleep(struct doctor *d)
{
    int64_t took[SLEEPS];
    for (int i = 0; i < SLEEPS; i++) {
        int64_t start = clock_now();
        clock_sleep_until(start + CLOCK_US);
        took[i] = clock_now() - start;
    }
    qsort(took, SLEEPS, sizeof *took, compare_times);
    int64_t median = took[SLEEPS / 2];
    doctor_add(d, median > SLEEP_LONG_NS ? DOCTOR_WARNING : DOCTOR_OK, "clock", "shortest sleep",
               "end other programs on this machine, or use busy-wait for short polling periods",
               "%s; polling periods below it busy-wait", units_duration(median).s);
}

void doctor_clock(struct doctor *d)
{
    check_resolution(d);
    check_source(d);
    check_read_cost(d, check_stamps(d));
    check_sleep(d);
}

/* ---- privileges ---- */

#define LOCKED_ENOUGH (UINT64_C(64) << 20)

enum { FILES_ENOUGH = 1024 };

static void check_locked_memory(struct doctor *d)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur == RLIM_INFINITY)
        doctor_add(d, DOCTOR_OK, "privileges", "locked memory", NULL, "unlimited");
    else
        doctor_add(
            d, limit.rlim_cur < LOCKED_ENOUGH ? DOCTOR_WARNING : DOCTOR_OK, "privileges", "locked memory",
            "echo \"$USER - memlock unlimited\" | sudo tee -a /etc/security/limits.d/bezel.conf, then log in again",
            "%s", units_bytes(limit.rlim_cur).s);
}

/* Limits and capabilities both decide, so this tries it, and switches back at once. */
static void check_real_time(struct doctor *d)
{
    struct sched_param before = {0}, wanted = {.sched_priority = 1};
    int policy = sched_getscheduler(0);
    sched_getparam(0, &before);
    if (policy == SCHED_FIFO || policy == SCHED_RR) {
        doctor_add(d, DOCTOR_OK, "privileges", "real-time scheduling", NULL, "in use already");
        return;
    }
    if (sched_setscheduler(0, SCHED_FIFO, &wanted) == 0) {
        int back = sched_setscheduler(0, policy, &before);
        doctor_add(d, DOCTOR_OK, "privileges", "real-time scheduling", NULL, "permitted%s",
                   back == 0 ? "" : " (but switching back failed)");
        return;
    }
    doctor_add(d, DOCTOR_WARNING, "privileges", "real-time scheduling",
               "echo \"$USER - rtprio 50\" | sudo tee -a /etc/security/limits.d/bezel.conf, then log in again",
               "not permitted (%s): a loaded machine delays the external sensor", strerror(errno));
}

static void check_files(struct doctor *d)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    doctor_add(d, limit.rlim_cur < FILES_ENOUGH ? DOCTOR_WARNING : DOCTOR_OK, "privileges", "open files",
               "ulimit -n 4096", "%s", limit.rlim_cur == RLIM_INFINITY ? "unlimited" : units_count(limit.rlim_cur).s);
}

static void check_cores(struct doctor *d)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    doctor_add(d, cores < 2 ? DOCTOR_WARNING : DOCTOR_OK, "privileges", "cores",
               "taskset -pc 0-1 $$ (where the machine has a second one)", "%d%s", cores,
               cores < 2 ? ": the monitor and the system under test share it" : "");
}

void doctor_privileges(struct doctor *d)
{
    check_locked_memory(d);
    check_real_time(d);
    check_files(d);
    check_cores(d);
}

/* ---- samplers ---- */

#define SCHEDSTAT "/proc/self/schedstat"

/* Whether the kernel keeps the times that threads run and wait: we have been on a CPU at least once. */
static void check_scheduling(struct doctor *d)
{
    char line[128];
    long long slices = 0;
    bool there = access(SCHEDSTAT, R_OK) == 0;
    if (procstat_namespace() == 0) {
        doctor_add(d, DOCTOR_WARNING, "samplers", "processes", "mount -t proc proc /proc",
                   "there is no /proc of this pid namespace: processes and threads are not sampled, and programs to "
                   "attach to are not found");
        return;
    }
    read_line(SCHEDSTAT, line, sizeof line);
    if (sscanf(line, "%*d %*d %lld", &slices) == 1 && slices > 0)
        doctor_add(d, DOCTOR_OK, "samplers", "scheduling", NULL,
                   "the kernel keeps the times that threads run and wait");
    else
        doctor_add(d, DOCTOR_WARNING, "samplers", "scheduling",
                   there ? "boot with delayacct on the kernel's command line"
                         : "use a kernel with CONFIG_SCHEDSTATS or CONFIG_TASK_DELAY_ACCT",
                   "the kernel does not keep the times that threads run and wait (" SCHEDSTAT ")");
}

/* What helps where perf_event_open(2) fails: `right`, if it is a right that is missing. */
static const char *perf_remedy(int error, const char *right)
{
    return error != EACCES && error != EPERM ? "use a kernel with CONFIG_PERF_EVENTS, outside of containers"
           : perf_rights_suffice(2)          ? PERF_RIGHTS_FILTERED
                                             : right;
}

static void check_perf(struct doctor *d)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC), error = errno;
    if (fd >= 0) {
        close(fd);
        doctor_add(d, DOCTOR_OK, "samplers", "perf", NULL, "the counters of one's own programs may be read");
    } else
        doctor_add(d, DOCTOR_WARNING, "samplers", "perf",
                   perf_remedy(error, "sudo sysctl kernel.perf_event_paranoid=1"),
                   "the counters of one's own programs may not be read (%s)", strerror(error));
}

/* An event of context switches: of one's own thread (0), or of all of a CPU (-1). Returns 0, or an errno. */
static int try_switches(pid_t of)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1,
                                   .context_switch = 1};
    int fd = (int)syscall(SYS_perf_event_open, &attr, of, of < 0 ? sched_getcpu() : -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

/* Whether the kernel says what sampler `switches` asks it for. */
static void check_switches(struct doctor *d)
{
    int own = try_switches(0), others = own ? own : try_switches(-1);
    char id[24];
    bool first = procstat_is_first_namespace(), waking = tracefs_read("events/sched/sched_waking/id", id, sizeof id);
    if (own)
        doctor_add(
            d, DOCTOR_WARNING, "samplers", "switches", perf_remedy(own, "sudo sysctl kernel.perf_event_paranoid=2"),
            "context switches of one's own programs may not be recorded (%s); sampler 'scheduling' has their sums",
            strerror(own));
    else if (others)
        doctor_add(d, DOCTOR_WARNING, "samplers", "switches", "sudo setcap cap_perfmon+ep $(command -v bezeld)",
                   "context switches of one's own programs may be recorded, but not those of others (%s): who had the "
                   "CPU while a thread was ready is not known",
                   strerror(others));
    else if (!waking || !first)
        doctor_add(d, DOCTOR_OK, "samplers", "switches", NULL,
                   "context switches of all programs may be recorded, but not who wakes threads (%s)",
                   first ? "root may" : "root may, outside of this pid namespace");
    else
        doctor_add(d, DOCTOR_OK, "samplers", "switches", NULL,
                   "context switches of all programs may be recorded, and who wakes threads");
}

void doctor_samplers(struct doctor *d)
{
    check_scheduling(d);
    check_perf(d);
    check_switches(d);
}

/* ---- tools ---- */

enum { MULTICAST_WAIT_MS = 500 };

/* Sends a datagram to a group on the loopback interface and waits for it. Returns NULL, or what failed. */
static const char *try_multicast(int fd)
{
    struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
    struct sockaddr_in to = {.sin_family = AF_INET};
    to.sin_addr.s_addr = htonl(0xefff4265); /* 239.255.66.101, of the range for private use */
    struct ip_mreq group = {.imr_multiaddr = to.sin_addr, .imr_interface = loopback};
    socklen_t n = sizeof to;
    struct sockaddr_in bound = to;
    if (bind(fd, (struct sockaddr *)&bound, sizeof bound) != 0 || getsockname(fd, (struct sockaddr *)&bound, &n) != 0)
        return "bind";
    to.sin_port = bound.sin_port;
    if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group) != 0)
        return "join the group";
    if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof loopback) != 0)
        return "choose the interface";
    if (sendto(fd, "bezel", 5, 0, (struct sockaddr *)&to, sizeof to) != 5)
        return "send";
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    if (poll(&wait, 1, MULTICAST_WAIT_MS) == 0)
        errno = ETIMEDOUT;
    return wait.revents & POLLIN ? NULL : "receive";
}

static void check_multicast(struct doctor *d)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const char *failed = fd < 0 ? "make a socket" : try_multicast(fd);
    if (!failed)
        doctor_add(d, DOCTOR_OK, "tools", "multicast", NULL, "works on loopback (the video example needs it)");
    else
        doctor_add(d, DOCTOR_WARNING, "tools", "multicast",
                   "sudo ip link set lo up multicast on && sudo ip route add 239.0.0.0/8 dev lo",
                   "does not work on loopback (the video example needs it): cannot %s: %s", failed, strerror(errno));
    if (fd >= 0)
        close(fd);
}

void doctor_tools(struct doctor *d)
{
    char path[PATH_MAX];
    check_multicast(d);
    if (program_find(NULL, ".", "babeltrace2", path, sizeof path) == 0)
        doctor_add(d, DOCTOR_OK, "tools", "babeltrace2", NULL, "found: it reads the traces of runs");
    else
        doctor_add(d, DOCTOR_WARNING, "tools", "babeltrace2", "sudo apt-get install babeltrace2",
                   "not in PATH: it reads the traces of runs");
}
