// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Samplers on the real kernel's files: their records come out of the window like any others. */
#include "sensor/samplers/sampler.h"

#include "base/clock.h"
#include "bezel/sensor.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

BEZEL_ASPECT(alive);

enum { KINDS = EXPERIMENT_SAMPLERS };

static const char *const names[KINDS] = {"node_cpu",      "node_memory",      "node_network",      "node_disk",
                                         "node_pressure", "node_temperature", "node_frequency",    "process_usage",
                                         "process_perf",  "node_interrupts",  "thread_scheduling", "thread_interval"};

/* What the records said, by aspect. */
static struct seen {
    uint64_t count;
    int64_t first, last; /* of the value that rises */
    int64_t pid;
} seen[KINDS];

static void take(struct fixture *f, const struct packet_header *h, const struct packet_record *r, const char *aspect)
{
    /* idle, total, bytes, ..., running, task; those of interrupts and threads do not rise */
    static const uint32_t rises[KINDS] = {3, 0, 1, 2, 3, 1, 1, 4, 6, 2, 3, 0};
    (void)f;
    (void)h;
    for (int i = 0; i < KINDS; i++) {
        if (strcmp(aspect, names[i]) != 0)
            continue;
        int64_t value = (int64_t)packet_value(r, rises[i]);
        if (seen[i].count++ == 0)
            seen[i].first = value;
        seen[i].last = value;
        if (i == 7 || i == 8)
            seen[i].pid = (int64_t)packet_value(r, 1);
    }
}

/* ---- perf counters of a kernel that has some, to begin with none ------------------------------------------------- */

enum { FAKE_EVENTS = 7 };

static bool fake_perf;
static int fake_refused = -1;          /* the event that is refused, in the order of the record */
static int fake_error;                 /* how */
static bool fake_user_alone;           /* the kernel's own work may not be counted */
static unsigned fake_opens, fake_left; /* counters opened; that can be had */

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

/* A file whose first eight bytes are 100 and the number of the event. */
static long open_fake(const struct perf_event_attr *attr)
{
    static const uint64_t hardware[] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
                                        PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_BRANCH_MISSES};
    static const uint64_t software[] = {PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES,
                                        PERF_COUNT_SW_CPU_MIGRATIONS};
    int event = 0, ends[2];
    if (attr->type == PERF_TYPE_HARDWARE)
        while (hardware[event] != attr->config)
            event++;
    else
        for (event = 4; software[event - 4] != attr->config;)
            event++;
    assert_true(attr->inherit);
    errno = fake_left == 0 ? EMFILE : event == fake_refused ? fake_error : EACCES;
    if (fake_left == 0 || event == fake_refused || (fake_user_alone && !(attr->exclude_kernel && attr->exclude_hv)))
        return -1;
    uint64_t counts[64];
    for (int i = 0; i < 64; i++)
        counts[i] = 100 + (uint64_t)event;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], counts, sizeof counts), sizeof counts);
    close(ends[1]);
    fake_opens++;
    fake_left--;
    return ends[0];
}

long __wrap_syscall(long number, ...)
{
    uint64_t a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, uint64_t);
    va_end(args);
    if (number == SYS_perf_event_open && fake_perf)
        return open_fake((const struct perf_event_attr *)(uintptr_t)a[0]);
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int64_t perf[1 + FAKE_EVENTS]; /* the values of the last record */
static uint64_t perf_count;

static void take_perf(struct fixture *f, const struct packet_header *h, const struct packet_record *r,
                      const char *aspect)
{
    (void)f;
    (void)h;
    if (strcmp(aspect, "process_perf") != 0)
        return;
    for (uint32_t i = 0; i <= FAKE_EVENTS; i++)
        perf[i] = (int64_t)packet_value(r, i + 1);
    perf_count++;
}

static void burn(void *stop)
{
    bezel_record(alive);
    for (volatile uint64_t n = 0; !*(volatile int *)stop; n++)
        ;
}

static struct experiment_sensing all_at(int64_t period)
{
    struct experiment_sensing sensing = {0};
    for (int i = 0; i < EXPERIMENT_SAMPLERS; i++)
        sensing.sampler[i] = period;
    return sensing;
}

/* As bezeld: what it records of its own is not what it observes. */
static struct samplers *open_samplers(const struct fixture *f, const struct experiment_sensing *sensing)
{
    struct samplers *s;
    setenv("BEZEL_PROCESS", "bezeld", 1);
    assert_int_equal(samplers_open(sensing, f->dir, f->external, &s), 0);
    setenv("BEZEL_PROCESS", "program", 1);
    return s;
}

static int count_descriptors(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* Until CPU and memory, and a process where there is one, were heard of `times` times more. */
static void sample(struct fixture *f, struct samplers *s, uint64_t times, bool process)
{
    int64_t deadline = clock_now() + PATIENCE;
    seen[0].count = seen[1].count = 0;
    while (seen[0].count < times || seen[1].count < times || (process && seen[7].count < times)) {
        assert_true(clock_now() < deadline);
        samplers_turn(s, clock_now());
        fixture_turn(f);
    }
}

TEST(samples_are_records_of_what_the_kernel_reports)
{
    struct fixture f = {.options = {.batch = true, .take_all = true, .window_bytes = 1 << 20}, .record = take};
    int *stop = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct experiment_sensing sensing = all_at(20 * CLOCK_MS);
    memset(seen, 0, sizeof seen);
    int before = count_descriptors();
    fixture_open(&f);
    struct samplers *s = open_samplers(&f, &sensing);
    pid_t pid = fixture_spawn(burn, stop);
    sample(&f, s, 10, true);
    for (int64_t deadline = clock_now() + PATIENCE; seen[7].last == seen[7].first && seen[7].last != -1;) {
        assert_true(clock_now() < deadline); /* beside others the program may not have run yet */
        sample(&f, s, 1, true);
    }
    assert_true(seen[0].last >= seen[0].first);
    assert_int_equal(seen[1].last, (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
    assert_int_equal(seen[7].pid, pid);
    assert_true(seen[7].last > seen[7].first || seen[7].last == -1);
    if (seen[8].count) {
        assert_int_equal(seen[8].pid, pid);
        assert_true(seen[8].last > seen[8].first);
    }
    *stop = 1;
    assert_int_equal(fixture_wait(pid), 0);
    sample(&f, s, 2, false); /* what was on its way */
    uint64_t ended = seen[7].count, ended_thread = seen[10].count;
    sample(&f, s, 10, false);
    assert_int_equal(seen[7].count, ended);
    assert_int_equal(seen[10].count, ended_thread);
    assert_true(seen[9].count > 0 && ended_thread > 0);
    for (int i = 0; i < KINDS; i++)
        assert_int_equal(experiment_sampler_of(names[i]), i);
    assert_int_equal(experiment_sampler_of("alive"), EXPERIMENT_SAMPLERS);
    samplers_close(s);
    fixture_end(&f);
    assert_int_equal(count_descriptors(), before);
    munmap(stop, 4096);
}

static void sleep_with_another(void *stop)
{
    bezel_record(alive);
    while (!*(volatile int *)stop)
        usleep(1000);
}

static bool was_told(const struct fixture *f, const char *words);

/* Runs samplers beside a process until it was sampled some times; `note`: what is said of it, NULL: nothing. */
static void sample_perf(const char *note)
{
    struct fixture f = {.options = {.batch = true, .take_all = true, .window_bytes = 1 << 20}, .record = take_perf};
    int *stop = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct experiment_sensing sensing = {.sampler = {[EXPERIMENT_SAMPLER_PERF] = 5 * CLOCK_MS}};
    int64_t deadline = clock_now() + PATIENCE;
    unsigned given = fake_left;
    fake_opens = 0;
    perf_count = 0;
    fixture_open(&f);
    struct samplers *s = open_samplers(&f, &sensing);
    pid_t pid = fixture_spawn(sleep_with_another, stop);
    fake_perf = true;
    while (given ? perf_count < 3 : !was_told(&f, "are not counted")) {
        assert_true(clock_now() < deadline);
        samplers_turn(s, clock_now());
        fixture_turn(&f);
    }
    fake_perf = false;
    if (perf_count)
        assert_int_equal(perf[0], pid);
    assert_true(!note == !was_told(&f, "are not counted"));
    assert_true(!note || was_told(&f, note));
    *stop = 1;
    assert_int_equal(fixture_wait(pid), 0);
    samplers_close(s);
    fixture_end(&f);
    munmap(stop, 4096);
}

static bool rights_suffice;

bool __wrap_perf_rights_suffice(int enough);
bool __wrap_perf_rights_suffice(int enough)
{
    (void)enough;
    return rights_suffice;
}

/* Switches and migrations (5, 6) happen in the kernel: without its part they would be 0, which is no count. */
static bool is_counted(int event, int refused)
{
    return event != refused && !(fake_user_alone && event >= 5);
}

TEST(perf_counters_that_the_kernel_refuses_are_unknown_and_the_others_count)
{
    int before = count_descriptors();
    for (int refused = -1; refused < FAKE_EVENTS; refused++) {
        fake_refused = refused;
        fake_error = refused % 2 ? EOPNOTSUPP : EACCES;
        fake_user_alone = refused % 3 == 0;
        fake_left = 1000;
        rights_suffice = refused == 0;
        sample_perf(refused < 0    ? NULL
                    : refused == 0 ? "(seccomp)"
                    : refused % 2  ? "this machine does not count it"
                                   : "give bezeld CAP_PERFMON");
        int counted = 0;
        for (int i = 0; i < FAKE_EVENTS; i++)
            counted += is_counted(i, refused);
        int64_t threads = fake_opens / counted;                       /* ThreadSanitizer has one of its own */
        assert_true(threads >= 1 && fake_opens == threads * counted); /* each is opened once */
        for (int i = 0; i < FAKE_EVENTS; i++)
            assert_int_equal(perf[1 + i], is_counted(i, refused) ? threads * (100 + i) : -1);
        assert_int_equal(count_descriptors(), before);
    }
    fake_user_alone = false;
    fake_refused = -1;
    fake_left = 2;
    sample_perf("raise the limit of open files");
    assert_int_equal(perf[2], 101);
    assert_int_equal(perf[3], -1);
    fake_refused = 0;
    fake_error = ESRCH; /* the thread is gone: no word */
    fake_left = 1000;
    sample_perf(NULL);
    assert_int_equal(perf[1], -1);
    assert_int_equal(perf[2], 101 * (fake_opens / (FAKE_EVENTS - 1)));
    fake_refused = -1;
    fake_left = 0;
    sample_perf("raise the limit of open files");
    assert_int_equal(perf_count, 0); /* nothing is known */
    assert_int_equal(count_descriptors(), before);
}

TEST(periods_can_be_stretched_and_come_back)
{
    struct fixture f = {.options = {.batch = true, .take_all = true, .window_bytes = 1 << 20}, .record = take};
    struct experiment_sensing sensing = {.sampler = {[EXPERIMENT_SAMPLER_CPU] = CLOCK_S}};
    fixture_open(&f);
    struct samplers *s = open_samplers(&f, &sensing);
    int64_t now = samplers_due(s);
    samplers_turn(s, now);
    assert_int_equal(samplers_due(s), now + CLOCK_S);
    samplers_stretch(s, 4, 0, now); /* what is due stays due */
    assert_int_equal(samplers_due(s), now + CLOCK_S);
    now += CLOCK_S;
    samplers_turn(s, now);
    assert_int_equal(samplers_due(s), now + 4 * CLOCK_S);
    samplers_stretch(s, 1000, 0, now);
    now += 4 * CLOCK_S;
    samplers_turn(s, now);
    assert_int_equal(samplers_due(s), now + SAMPLERS_STRETCH_MAX * CLOCK_S);
    samplers_stretch(s, 0.001, 0, now + 1); /* at once */
    assert_int_equal(samplers_due(s), now + 1 + CLOCK_S);
    samplers_stretch(NULL, 2, 0, now);
    samplers_close(s);
    fixture_end(&f);
}

TEST(what_is_needed_is_not_stretched)
{
    struct fixture f = {.options = {.batch = true, .take_all = true, .window_bytes = 1 << 20}, .record = take};
    struct experiment_sensing sensing = {
        .sampler = {[EXPERIMENT_SAMPLER_CPU] = CLOCK_S, [EXPERIMENT_SAMPLER_MEMORY] = 3 * CLOCK_S}};
    fixture_open(&f);
    struct samplers *s = open_samplers(&f, &sensing);
    int64_t now = samplers_due(s);
    samplers_stretch(s, 16, 1U << EXPERIMENT_SAMPLER_CPU, now);
    for (int i = 0; i < 3; i++, now += CLOCK_S) {
        samplers_turn(s, now);
        assert_int_equal(samplers_due(s), now + CLOCK_S);
    }
    samplers_turn(s, now);
    samplers_stretch(s, 16, 0, now); /* what is due stays due */
    assert_int_equal(samplers_due(s), now + CLOCK_S);
    now += CLOCK_S;
    samplers_turn(s, now);
    assert_int_equal(samplers_due(s), now + 16 * CLOCK_S);
    samplers_stretch(s, 16, 1U << EXPERIMENT_SAMPLER_CPU | 1U << EXPERIMENT_SAMPLER_MEMORY, now + 5); /* at once */
    assert_int_equal(samplers_due(s), now + 5 + CLOCK_S);
    samplers_close(s);
    fixture_end(&f);
}

TEST(what_is_not_wanted_is_not_sampled)
{
    struct fixture f = {.options = {.batch = true, .take_all = true, .window_bytes = 1 << 20}, .record = take};
    struct experiment_sensing sensing = {0};
    fixture_open(&f);
    struct samplers *s = open_samplers(&f, &sensing);
    assert_null(s);
    assert_true(samplers_due(s) == INT64_MAX);
    sensing.sampler[EXPERIMENT_SAMPLER_MEMORY] = 50 * CLOCK_MS;
    memset(seen, 0, sizeof seen);
    s = open_samplers(&f, &sensing);
    int64_t due = samplers_due(s);
    samplers_turn(s, due);
    assert_int_equal(samplers_due(s), due + 50 * CLOCK_MS);
    samplers_turn(s, due + 10 * CLOCK_MS); /* not yet */
    assert_int_equal(samplers_due(s), due + 50 * CLOCK_MS);
    samplers_turn(s, due + 60 * CLOCK_MS); /* late, which does not make the next one late */
    assert_int_equal(samplers_due(s), due + 100 * CLOCK_MS);
    samplers_turn(s, due + 500 * CLOCK_MS); /* what was missed is not made up for */
    assert_int_equal(samplers_due(s), due + 550 * CLOCK_MS);
    samplers_close(s);
    fixture_finish(&f);
    assert_int_equal(seen[1].count, 3);
    assert_int_equal(seen[0].count + seen[2].count + seen[3].count + seen[7].count, 0);
    fixture_close(&f);
}

static bool was_told(const struct fixture *f, const char *words)
{
    for (uint32_t i = 0; i < external_note_count(f->external); i++)
        if (strstr(external_note(f->external, i)->text, words))
            return true;
    return false;
}

/* Here a machine without temperatures, or without pressure; elsewhere there is nothing that fails. */
TEST(a_sampler_that_fails_says_so_once_and_the_others_go_on)
{
    struct fixture f = {.options = {.batch = true, .take_all = true, .window_bytes = 1 << 20}, .record = take};
    struct experiment_sensing sensing = all_at(CLOCK_MS);
    memset(seen, 0, sizeof seen);
    fixture_open(&f);
    struct samplers *s = open_samplers(&f, &sensing);
    sample(&f, s, 20, false);
    assert_true((access("/sys/class/thermal/thermal_zone0/temp", R_OK) != 0) == was_told(&f, "no temperatures") ||
                was_told(&f, "thermal"));
    assert_true((access("/proc/pressure/cpu", R_OK) == 0) != was_told(&f, "/proc/pressure/cpu"));
    uint32_t told = external_note_count(f.external);
    sample(&f, s, 20, false);
    assert_int_equal(external_note_count(f.external), told);
    samplers_close(s);
    fixture_end(&f);
}
