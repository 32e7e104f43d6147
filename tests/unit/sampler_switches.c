// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Context switches: of threads whose switches are made, and of kernels that refuse to record them. */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "mdr/parts.h"
#include "sensor/samplers/sampler.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

BEZEL_ASPECT(alive);

/* ---- What was recorded ------------------------------------------------------------------------------------------- */

enum { PROCESS, THREAD, DURATION, AGE, CPU, ENDED, OFF, READY_LEAST, READY_MOST };
enum { WAITED, PREEMPTED, EXITED, GOES_ON, ENDS };
enum { THREADS_MAX = 16 };

static struct seen {
    int64_t thread, intervals, end, ended[ENDS], running, ready;
    int64_t exact; /* intervals whose time ready is known */
} seen[THREADS_MAX];
static unsigned seen_count;
static uint64_t sums; /* records of thread_scheduling */

/* Times ready while another thread had the CPU. */
enum { RIVAL_PID = 6, RIVAL_THREAD, HAD };
static struct ready {
    int64_t thread, rival, pid, had;
} ready[THREADS_MAX * THREADS_MAX];
static unsigned ready_count;

static struct ready *ready_of(int64_t thread, int64_t rival)
{
    unsigned i = 0;
    while (i < ready_count && (ready[i].thread != thread || ready[i].rival != rival))
        i++;
    if (i == ready_count && ready_count < sizeof ready / sizeof *ready)
        ready[ready_count++] = (struct ready){.thread = thread, .rival = rival};
    return &ready[i < sizeof ready / sizeof *ready ? i : 0];
}

static void take_ready(const struct packet_record *r)
{
    int64_t v[HAD + 1];
    for (uint32_t i = 0; i <= HAD; i++)
        v[i] = (int64_t)packet_value(r, i);
    assert_true(v[AGE] >= 0 && v[HAD] > 0 && v[HAD] <= v[DURATION]);
    assert_int_not_equal(v[THREAD], v[RIVAL_THREAD]);
    struct ready *of = ready_of(v[THREAD], v[RIVAL_THREAD]);
    of->pid = v[RIVAL_PID];
    of->had += v[HAD];
}

/* Waits that had not ended when their recording did. */
enum { STATE = 4, WOKEN_BY, SLEEPS = 1, NOT_YET = 4 };
static struct {
    int64_t thread, duration, state;
} last_wait;

static int64_t longest_off; /* before an interval */

static void take_wait(const struct packet_record *r)
{
    if (packet_value(r, WOKEN_BY) != NOT_YET)
        return;
    last_wait.thread = (int64_t)packet_value(r, THREAD);
    last_wait.duration = (int64_t)packet_value(r, DURATION);
    last_wait.state = (int64_t)packet_value(r, STATE);
}

static struct seen *seen_of(int64_t thread)
{
    unsigned i = 0;
    while (i < seen_count && seen[i].thread != thread)
        i++;
    if (i == seen_count) {
        assert_true(seen_count < THREADS_MAX);
        seen[seen_count++] = (struct seen){.thread = thread};
    }
    return &seen[i];
}

static void take(struct fixture *f, const struct packet_header *h, const struct packet_record *r, const char *aspect)
{
    int64_t v[READY_MOST + 1];
    (void)f;
    (void)h;
    sums += strcmp(aspect, "thread_scheduling") == 0;
    if (strcmp(aspect, "thread_ready") == 0)
        take_ready(r);
    if (strcmp(aspect, "thread_wait") == 0)
        take_wait(r);
    if (strcmp(aspect, "thread_interval") != 0)
        return;
    for (uint32_t i = 0; i <= READY_MOST; i++)
        v[i] = (int64_t)packet_value(r, i);
    struct seen *s = seen_of(v[THREAD]);
    longest_off = v[OFF] > longest_off ? v[OFF] : longest_off;
    int64_t end = (int64_t)r->timestamp - v[AGE], begin = end - v[DURATION];
    assert_true(v[DURATION] >= 0 && v[AGE] >= 0 && begin >= s->end); /* they do not overlap */
    assert_in_range(v[ENDED], WAITED, GOES_ON);
    if (v[OFF] >= 0) {
        assert_true(v[READY_LEAST] >= 0 && v[READY_LEAST] <= v[READY_MOST] && v[READY_MOST] <= v[OFF]);
        assert_true(s->intervals == 0 || begin - v[OFF] <= s->end + CLOCK_MS); /* nothing is missing */
        s->exact += v[READY_LEAST] == v[READY_MOST];
        s->ready += v[READY_LEAST];
    }
    s->intervals++;
    s->ended[v[ENDED]]++;
    s->running += v[DURATION];
    s->end = end;
}

/* ---- A kernel that refuses --------------------------------------------------------------------------------------- */

static int refused;            /* the error with which events are refused; 0: they are not */
static _Atomic pid_t *foreign; /* the thread that is, as one of another user's; NULL: none */
static int cpus_refused;       /* likewise, those of CPUs alone */
static unsigned refusals;      /* of these */

enum { CPUS_MAX = 256 };
static int cpus[CPUS_MAX]; /* descriptors of the events of CPUs that were opened */
static unsigned cpu_count;

static bool other_namespace; /* ours is not the machine's first one of pids */
static unsigned wakings;     /* events of tracepoints that were asked for */

bool __wrap_procstat_is_first_namespace(void);
bool __real_procstat_is_first_namespace(void);
bool __wrap_procstat_is_first_namespace(void)
{
    return !other_namespace && __real_procstat_is_first_namespace();
}

static bool rights_suffice; /* what perf_rights_suffice() returns */

bool __wrap_perf_rights_suffice(int enough);
bool __wrap_perf_rights_suffice(int enough)
{
    (void)enough;
    return rights_suffice;
}

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
    uint64_t a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, uint64_t);
    va_end(args);
    if (number == SYS_perf_event_open && refused) {
        errno = refused;
        return -1;
    }
    if (number == SYS_perf_event_open && foreign && (pid_t)a[1] == atomic_load(foreign)) {
        errno = EACCES;
        return -1;
    }
    if (number == SYS_perf_event_open && cpus_refused && (pid_t)a[1] == -1) {
        errno = cpus_refused;
        refusals++;
        return -1;
    }
    if (number == SYS_perf_event_open)
        wakings += ((const struct perf_event_attr *)a[0])->type == PERF_TYPE_TRACEPOINT;
    long result = __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_perf_event_open && (pid_t)a[1] == -1 && result >= 0 && cpu_count < CPUS_MAX)
        cpus[cpu_count++] = (int)result;
    return result;
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

static struct shared {
    _Atomic int stop;
    _Atomic pid_t busy[2], sleeper;
    _Atomic int64_t ran; /* when one of the busy ones had the CPU last */
} * shared;

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

static int any_cpu(void)
{
    cpu_set_t set;
    int cpu = 0;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    while (!CPU_ISSET(cpu, &set))
        cpu++;
    return cpu;
}

static void *burn(void *thread)
{
    pin(any_cpu());
    atomic_store((_Atomic pid_t *)thread, gettid());
    bezel_record(alive);
    while (!atomic_load(&shared->stop))
        atomic_store(&shared->ran, clock_now());
    return NULL;
}

static void *doze(void *thread)
{
    bezel_record(alive);
    atomic_store((_Atomic pid_t *)thread, gettid());
    while (!atomic_load(&shared->stop))
        usleep(2000);
    return NULL;
}

/* Two threads that want one CPU, and one that sleeps. */
static void three_threads(void *unused)
{
    pthread_t t[3];
    (void)unused;
    pthread_create(&t[0], NULL, burn, &shared->busy[0]);
    pthread_create(&t[1], NULL, burn, &shared->busy[1]);
    pthread_create(&t[2], NULL, doze, &shared->sleeper);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
}

static int until_end[2]; /* a pipe that is closed then */

static void only_wait(void *unused)
{
    char c;
    (void)unused;
    close(until_end[1]);
    bezel_record(alive);
    atomic_store(&shared->sleeper, gettid());
    (void)!read(until_end[0], &c, 1);
}

/* ---- The fixture ------------------------------------------------------------------------------------------------- */

struct bed {
    struct fixture f;
    struct samplers *s;
    int descriptors;
    pid_t pid;
};

static int count_descriptors(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void bed_open(struct bed *b, enum experiment_switches_store store, double budget)
{
    struct experiment_sensing sensing = {.sampler[EXPERIMENT_SAMPLER_SWITCHES] = 2 * CLOCK_MS,
                                         .switches = {.store = store, .budget = budget}};
    *b = (struct bed){.f = {.options = {.batch = true, .take_all = true, .window_bytes = 1 << 22}, .record = take}};
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    memset(seen, 0, sizeof seen);
    seen_count = 0;
    sums = ready_count = cpu_count = refusals = wakings = 0;
    last_wait.thread = longest_off = 0;
    b->descriptors = count_descriptors();
    fixture_open(&b->f);
    setenv("BEZEL_PROCESS", "bezeld", 1); /* what it records of its own is not what it observes */
    assert_int_equal(samplers_open(&sensing, b->f.dir, b->f.external, &b->s), 0);
    setenv("BEZEL_PROCESS", "program", 1);
}

static void bed_begin(struct bed *b, enum experiment_switches_store store, double budget)
{
    bed_open(b, store, budget);
    b->pid = fixture_spawn(three_threads, NULL);
}

static void turn(struct bed *b)
{
    samplers_turn(b->s, clock_now());
    fixture_turn(&b->f);
    usleep(500);
}

/* Turns until `done` says so. */
static void bed_until(struct bed *b, bool (*done)(const struct bed *b))
{
    for (int64_t deadline = clock_now() + PATIENCE; !done(b); turn(b))
        assert_true(clock_now() < deadline);
}

static void bed_stop(struct bed *b)
{
    atomic_store(&shared->stop, 1);
    assert_int_equal(fixture_wait(b->pid), 0);
}

static void bed_end(struct bed *b)
{
    samplers_close(b->s);
    fixture_end(&b->f);
    munmap(shared, 4096);
    assert_int_equal(count_descriptors(), b->descriptors);
}

static bool was_told(const struct bed *b, const char *words)
{
    for (uint32_t i = 0; i < external_note_count(b->f.external); i++)
        if (strstr(external_note(b->f.external, i)->text, words))
            return true;
    return false;
}

/* Whether the kernel does not say who else had the CPU; that is told. */
static bool others_are_unknown(const struct bed *b)
{
    return was_told(b, "who had the CPU while a thread was ready");
}

/* Skips where the kernel does not let this user record switches. */
static void need_perf(const struct bed *b)
{
    if (!was_told(b, "are not recorded"))
        return;
    print_message("skipped: the kernel does not record context switches for us\n");
    skip();
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static bool all_have_switched(const struct bed *b)
{
    pid_t sleeper = atomic_load(&shared->sleeper), one = atomic_load(&shared->busy[0]),
          other = atomic_load(&shared->busy[1]);
    if (was_told(b, "are not recorded"))
        return true;
    return one && other && sleeper && seen_of(one)->ended[PREEMPTED] > 3 && seen_of(other)->ended[PREEMPTED] > 3 &&
           seen_of(sleeper)->ended[WAITED] > 20 && seen_of(one)->exact > 3 &&
           (others_are_unknown(b) || (ready_of(one, other)->had > 0 && ready_of(other, one)->had > 0));
}

static bool all_have_exited(const struct bed *b)
{
    (void)b;
    unsigned exited = 0;
    for (unsigned i = 0; i < seen_count; i++)
        exited += seen[i].ended[EXITED] == 1;
    return exited >= 3;
}

TEST(threads_that_share_a_cpu_are_preempted_and_a_sleeper_waits)
{
    struct bed b;
    bed_begin(&b, SWITCHES_STORE_ALL, 1);
    bed_until(&b, all_have_switched);
    need_perf(&b);
    for (int i = 0; i < 2; i++) {
        const struct seen *busy = seen_of(atomic_load(&shared->busy[i]));
        assert_true(busy->ready > 0);
    }
    for (unsigned i = 0; i < ready_count; i++)
        assert_true(ready[i].rival != atomic_load(&shared->busy[0]) || ready[i].pid == b.pid);
    bed_stop(&b);
    bed_until(&b, all_have_exited); /* the last interval of each, too */
    assert_int_equal(sums, 0);
    bed_end(&b);
}

static bool is_refused(const struct bed *b)
{
    return was_told(b, "are not recorded") && sums > 3;
}

TEST(where_the_kernel_refuses_sums_serve_and_a_remedy_is_told)
{
    static const struct {
        int error;
        bool suffice;
        const char *remedy;
    } ways[] = {{EACCES, false, "kernel.perf_event_paranoid=2"},
                {EPERM, false, "CAP_PERFMON"},
                {EPERM, true, "(seccomp)"},
                {EMFILE, true, "ulimit -n"},
                {ENOSYS, true, "this kernel does not record them"}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct bed b;
        refused = ways[i].error;
        rights_suffice = ways[i].suffice;
        bed_begin(&b, SWITCHES_STORE_ALL, 1);
        bed_until(&b, is_refused);
        assert_true(was_told(&b, ways[i].remedy));
        assert_true(was_told(&b, "summed by 'scheduling'"));
        assert_int_equal(external_note_count(b.f.external), 1); /* and nothing more of the same */
        bed_stop(&b);
        bed_end(&b);
        refused = 0;
        rights_suffice = false;
    }
}

static bool both_had_intervals(const struct bed *b)
{
    pid_t one = atomic_load(&shared->busy[0]), other = atomic_load(&shared->busy[1]);
    return was_told(b, "are not recorded") ||
           (one && other && seen_of(one)->ended[PREEMPTED] > 3 && seen_of(other)->ended[PREEMPTED] > 3);
}

/* The note may come behind the first intervals. */
static bool own_alone_had_intervals(const struct bed *b)
{
    return both_had_intervals(b) && others_are_unknown(b);
}

TEST(where_others_are_refused_own_threads_are_recorded_and_a_remedy_is_told)
{
    static const struct {
        int error;
        const char *remedy;
    } ways[] = {{EACCES, "CAP_PERFMON"}, {EPERM, "CAP_PERFMON"}, {EMFILE, "ulimit -n"}, {ENOSYS, "this kernel"}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct bed b;
        cpus_refused = ways[i].error;
        bed_begin(&b, SWITCHES_STORE_ALL, 1);
        bed_until(&b, own_alone_had_intervals);
        assert_true(was_told(&b, ways[i].remedy));
        assert_int_equal(external_note_count(b.f.external), 1);
        assert_int_equal(ready_count, 0);
        bed_stop(&b);
        bed_end(&b);
        cpus_refused = 0;
    }
}

static bool namespace_is_told(const struct bed *b)
{
    return others_are_unknown(b) || was_told(b, "has the pids of the machine's first pid namespace");
}

/* By the kernel's pids a sleeper of ours would have been woken when another thread was. */
TEST(in_a_pid_namespace_wakers_are_unknown_and_that_is_told)
{
    struct bed b;
    other_namespace = true;
    bed_begin(&b, SWITCHES_STORE_ALL, 1);
    bed_until(&b, both_had_intervals);
    bed_until(&b, namespace_is_told);
    assert_int_equal(wakings, 0);
    bed_stop(&b);
    bed_end(&b);
    other_namespace = false;
}

static bool rivals_are_named(const struct bed *b)
{
    return others_are_unknown(b) || ready_count > 0;
}

static bool the_other_had_intervals(const struct bed *b)
{
    pid_t other = atomic_load(&shared->busy[1]);
    return was_told(b, "this program's threads are not recorded") && other && seen_of(other)->ended[PREEMPTED] > 3 &&
           sums > 3;
}

TEST(a_thread_that_is_refused_keeps_no_other_from_being_recorded)
{
    struct bed b;
    bed_begin(&b, SWITCHES_STORE_ALL, 1);
    foreign = &shared->busy[0];
    bed_until(&b, rivals_are_named);
    if (!was_told(&b, "context switches of threads are not recorded")) {
        bed_until(&b, the_other_had_intervals);
        assert_int_equal(seen_of(atomic_load(&shared->busy[0]))->intervals, 0);
        assert_true(was_told(&b, "bezeld needs the rights of its user"));
    }
    foreign = NULL;
    bed_stop(&b);
    bed_end(&b);
}

/* A CPU that is off is opened when it comes up. */
TEST(a_cpu_that_comes_up_is_recorded_without_a_word)
{
    struct bed b;
    cpus_refused = ENODEV;
    bed_begin(&b, SWITCHES_STORE_ALL, 1);
    bed_until(&b, both_had_intervals);
    need_perf(&b);
    assert_false(others_are_unknown(&b));
    assert_int_equal(ready_count, 0);
    cpus_refused = 0;
    bed_until(&b, rivals_are_named);
    bed_stop(&b);
    bed_end(&b);
}

static int64_t had_by_all(void)
{
    int64_t had = 0;
    for (unsigned i = 0; i < ready_count; i++)
        had += ready[i].had;
    return had;
}

static uint64_t lost_of(const struct bed *b, const char *aspect)
{
    struct message_books_row sum;
    (void)fixture_books(&b->f, aspect, &sum);
    return sum.full;
}

static unsigned cpus_at_first;
static int64_t had_before;
static uint64_t lost_before;

static bool cpus_are_found_off(const struct bed *b)
{
    (void)b;
    return refusals >= cpus_at_first;
}

static bool times_are_lost(const struct bed *b)
{
    return lost_of(b, "thread_ready") > lost_before + 3;
}

static bool rivals_are_named_again(const struct bed *b)
{
    (void)b;
    return had_by_all() > had_before;
}

/* Its events write nothing any more, and it has no others until it comes back. Who had it then is lost, in the books.
 */
TEST(a_cpu_that_goes_off_and_comes_back_is_recorded_again)
{
    struct bed b;
    bed_begin(&b, SWITCHES_STORE_ALL, 1);
    bed_until(&b, both_had_intervals);
    bed_until(&b, rivals_are_named);
    if (cpu_count > 0) {
        for (cpus_at_first = 0; cpus_at_first < cpu_count; cpus_at_first++)
            (void)ioctl(cpus[cpus_at_first], PERF_EVENT_IOC_DISABLE, 0);
        cpus_refused = ENODEV;
        bed_until(&b, cpus_are_found_off);
        had_before = had_by_all();
        lost_before = lost_of(&b, "thread_ready");
        bed_until(&b, times_are_lost);
        assert_int_equal(had_by_all(), had_before);
        cpus_refused = 0;
        bed_until(&b, rivals_are_named_again);
        assert_int_equal(lost_of(&b, "thread_interval"), 0);
        assert_false(others_are_unknown(&b)); /* nothing is wrong: there is no word of it */
    }
    bed_stop(&b);
    bed_end(&b);
}

static bool is_summed(const struct bed *b)
{
    return was_told(b, "are not recorded") || (was_told(b, "sensing.samplers.switches.budget") && sums > 3);
}

TEST(beyond_the_budget_the_busiest_threads_have_sums)
{
    struct bed b;
    bed_begin(&b, SWITCHES_STORE_ALL, 0.0001);
    bed_until(&b, is_summed);
    need_perf(&b);
    bed_stop(&b);
    bed_end(&b);
}

static bool both_have_run(const struct bed *b)
{
    pid_t one = atomic_load(&shared->busy[0]), other = atomic_load(&shared->busy[1]);
    return was_told(b, "are not recorded") ||
           (one && other && seen_of(one)->intervals > 3 && seen_of(other)->intervals > 3);
}

/* Of two threads that share a CPU one is on it; it has no record yet, or little of it. */
TEST(at_the_end_what_goes_on_is_recorded)
{
    struct bed b;
    bed_begin(&b, SWITCHES_STORE_ALL, 1);
    bed_until(&b, both_have_run);
    need_perf(&b);
    usleep(20000);
    int64_t ran = atomic_load(&shared->ran), last = 0;
    samplers_end(b.s);
    samplers_turn(b.s, clock_now()); /* no recording begins anew */
    for (int i = 0; i < 20; i++)
        fixture_turn(&b.f);
    for (int i = 0; i < 2; i++) {
        const struct seen *busy = seen_of(atomic_load(&shared->busy[i]));
        last = busy->end > last ? busy->end : last;
    }
    assert_true(last > ran - 20 * CLOCK_MS);
    bed_stop(&b);
    bed_end(&b);
}

static int64_t turns_left;

static bool turns_are_over(const struct bed *b)
{
    return was_told(b, "are not recorded") || turns_left-- == 0;
}

/* Whether the only thread of process `pid` sleeps. */
static bool sleeps(pid_t pid)
{
    char path[32], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "re");
    (void)!(f && fgets(text, sizeof text, f));
    if (f)
        fclose(f);
    const char *name_end = strrchr(text, ')');
    return name_end && strncmp(name_end, ") S", 3) == 0;
}

/* Begins with a thread that sleeps already, and records it while it does. */
static void bed_begin_asleep(struct bed *b)
{
    bed_open(b, SWITCHES_STORE_ALL, 1);
    assert_int_equal(pipe2(until_end, O_CLOEXEC), 0);
    b->pid = fixture_spawn(only_wait, NULL);
    close(until_end[0]);
    for (int64_t deadline = clock_now() + PATIENCE; !atomic_load(&shared->sleeper) || !sleeps(b->pid); usleep(1000))
        assert_true(clock_now() < deadline);
    turns_left = 300;
    bed_until(b, turns_are_over);
}

static bool has_exited(const struct bed *b)
{
    return was_told(b, "are not recorded") || seen_of(atomic_load(&shared->sleeper))->ended[EXITED] == 1;
}

TEST(a_wait_that_began_before_the_recording_is_known_from_then_on)
{
    struct bed b;
    bed_begin_asleep(&b);
    close(until_end[1]);
    bed_stop(&b);
    bed_until(&b, has_exited);
    assert_true(was_told(&b, "are not recorded") || longest_off > 20 * CLOCK_MS);
    bed_end(&b);
}

/* No switch tells of it: it slept before its recording began, and sleeps still. */
TEST(a_thread_that_only_waits_has_waited_all_along)
{
    struct bed b;
    bed_begin_asleep(&b);
    samplers_end(b.s);
    for (int i = 0; i < 20; i++)
        fixture_turn(&b.f);
    if (!was_told(&b, "are not recorded")) {
        assert_int_equal(seen_count, 0);
        assert_int_equal(last_wait.thread, atomic_load(&shared->sleeper));
        assert_int_equal(last_wait.state, SLEEPS);
        assert_true(last_wait.duration > 20 * CLOCK_MS);
    }
    close(until_end[1]);
    bed_stop(&b);
    bed_end(&b);
}

static bool any_was_saved(const struct bed *b)
{
    return was_told(b, "are not recorded") || seen_count > 0;
}

TEST(what_snapshots_save_is_in_memory_alone_until_one_is_taken)
{
    struct bed b;
    bed_begin(&b, SWITCHES_STORE_SNAPSHOTS, 1);
    turns_left = 300;
    bed_until(&b, turns_are_over);
    need_perf(&b);
    assert_int_equal(seen_count, 0);
    for (int64_t deadline = clock_now() + PATIENCE; !any_was_saved(&b); turn(&b)) {
        assert_true(clock_now() < deadline);
        external_snapshot(b.f.external, clock_now());
    }
    bed_stop(&b);
    bed_end(&b);
}
