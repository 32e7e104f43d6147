// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Samples of threads and interrupts: of real threads, and of kernels that the test mounts over /proc. */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "sensor/samplers/sampler.h"
#include "tests/lib/namespaces.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

BEZEL_ASPECT(alive);

/* ---- What the samples said --------------------------------------------------------------------------------------- */

enum {
    PROCESS,
    THREAD,
    INTERVAL,
    RUNNING,
    WAITING,
    VOLUNTARY,
    INVOLUNTARY,
    FAULTS,
    CPU,
    IRQS,
    SOFTIRQS,
    STEAL,
    FIELDS
};
enum { OF_CPU, OF_INTERVAL, OF_IRQS, OF_SOURCE, OF_MOST, OF_SOFTIRQS, OF_SOFTIRQ, OF_MOST_SOFT, OF_STEAL, OF_FIELDS };
enum { THREADS_MAX = 64, CPUS_MAX = 4 };

static struct seen {
    int64_t thread, samples, sum[FIELDS], last[FIELDS];
} seen[THREADS_MAX];
static unsigned seen_count;

static struct interrupts {
    unsigned samples;
    int64_t last[OF_FIELDS];
    char source[64], softirq[64];
} interrupts[CPUS_MAX];

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

static void take_interrupts(struct fixture *f, const struct packet_header *h, const struct packet_record *r)
{
    const struct dict *d = external_find(f->external, h->instance)->at->dict;
    int64_t cpu = (int64_t)packet_value(r, OF_CPU);
    if (cpu >= CPUS_MAX)
        return;
    struct interrupts *i = &interrupts[cpu];
    i->samples++;
    for (uint32_t n = 0; n < OF_FIELDS; n++)
        i->last[n] = (int64_t)packet_value(r, n);
    snprintf(i->source, sizeof i->source, "%s", d->strings[packet_value(r, OF_SOURCE) - 1]);
    snprintf(i->softirq, sizeof i->softirq, "%s", d->strings[packet_value(r, OF_SOFTIRQ) - 1]);
}

static void take(struct fixture *f, const struct packet_header *h, const struct packet_record *r, const char *aspect)
{
    if (strcmp(aspect, "node_interrupts") == 0)
        take_interrupts(f, h, r);
    if (strcmp(aspect, "thread_scheduling") != 0)
        return;
    struct seen *s = seen_of((int64_t)packet_value(r, THREAD));
    s->samples++;
    for (uint32_t i = THREAD; i < FIELDS; i++)
        s->sum[i] += s->last[i] = (int64_t)packet_value(r, i);
}

/* ---- The fixture ------------------------------------------------------------------------------------------------- */

static const struct experiment_sensing both = {
    .sampler = {[EXPERIMENT_SAMPLER_INTERRUPTS] = CLOCK_S, [EXPERIMENT_SAMPLER_SCHEDULING] = CLOCK_S}};
static const struct experiment_sensing of_threads = {.sampler = {[EXPERIMENT_SAMPLER_SCHEDULING] = CLOCK_S}};

static void open_all(struct fixture *f, const struct experiment_sensing *sensing, struct samplers **s)
{
    *f = (struct fixture){.options = {.batch = true, .take_all = true, .window_bytes = 1 << 20}, .record = take};
    seen_count = 0;
    memset(interrupts, 0, sizeof interrupts);
    fixture_open(f);
    setenv("BEZEL_PROCESS", "bezeld", 1); /* what it records of its own is not what it observes */
    assert_int_equal(samplers_open(sensing, f->dir, f->external, s), 0);
    setenv("BEZEL_PROCESS", "program", 1);
}

/* The samplers' clock: as it is, or it stands, or each look at it takes two milliseconds. */
static enum { CLOCK_GOES, CLOCK_STANDS, CLOCK_LEAPS } samplers_clock, clock_is;
static int64_t clock_stood;

int64_t __wrap_clock_now(void);
int64_t __real_clock_now(void);

int64_t __wrap_clock_now(void)
{
    if (clock_is == CLOCK_GOES)
        return __real_clock_now();
    return clock_stood += clock_is == CLOCK_LEAPS ? 2 * CLOCK_MS : 0;
}

/* A sample now, whatever the period is; of samplers that nobody asked for, which wake nobody, an hour behind the last.
 */
static void sample(struct fixture *f, struct samplers *s)
{
    static int64_t hours;
    int64_t due = samplers_due(s);
    clock_stood = clock_now();
    clock_is = samplers_clock;
    samplers_turn(s, due < INT64_MAX ? due : clock_stood + ++hours * 3600 * CLOCK_S);
    clock_is = CLOCK_GOES;
    fixture_turn(f);
}

static bool was_told(const struct fixture *f, const char *words)
{
    for (uint32_t i = 0; i < external_note_count(f->external); i++)
        if (strstr(external_note(f->external, i)->text, words))
            return true;
    return false;
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

/* What a child and the test share: `go` counts the steps that the test lets it take, `at` those it took. */
static struct shared {
    _Atomic int go, at, cpu;
    _Atomic pid_t thread;
} * shared;

static int begin(void **state)
{
    (void)state;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED;
}

static int end(void **state)
{
    (void)state;
    return munmap(shared, 4096);
}

static void wait_for_step(int step)
{
    while (atomic_load(&shared->go) < step)
        usleep(200);
}

static void await_step(struct fixture *f, int step)
{
    for (int64_t deadline = clock_now() + PATIENCE; atomic_load(&shared->at) < step;) {
        assert_true(clock_now() < deadline);
        fixture_turn(f);
    }
}

/* ---- Real threads ------------------------------------------------------------------------------------------------ */

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

static void burn(void *unused)
{
    (void)unused;
    pin(atomic_load(&shared->cpu));
    bezel_record(alive);
    atomic_store(&shared->at, 1);
    for (volatile uint64_t n = 0; atomic_load(&shared->go) == 0; n++)
        ;
}

/* The oracle: what the kernel says of the only thread of process `pid`. */
struct oracle {
    long long running, waiting, slices, voluntary, involuntary;
};

static struct oracle ask(pid_t pid)
{
    struct oracle o = {0};
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
    FILE *in = fopen(path, "re");
    assert_non_null(in);
    assert_int_equal(fscanf(in, "%lld %lld %lld", &o.running, &o.waiting, &o.slices), 3);
    fclose(in);
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    assert_non_null(in = fopen(path, "re"));
    while (fgets(line, sizeof line, in)) {
        (void)sscanf(line, "voluntary_ctxt_switches: %lld", &o.voluntary);
        (void)sscanf(line, "nonvoluntary_ctxt_switches: %lld", &o.involuntary);
    }
    fclose(in);
    return o;
}

/* A sample, and what the kernel says at the same time: of a thread that is stopped, nothing changes soon. */
static struct oracle sample_and_ask(struct fixture *f, struct samplers *s, pid_t pid)
{
    struct oracle before, after;
    int64_t deadline = clock_now() + PATIENCE;
    do {
        assert_true(clock_now() < deadline);
        before = ask(pid);
        sample(f, s);
        after = ask(pid);
    } while (memcmp(&before, &after, sizeof before) != 0);
    return after;
}

static void stop(pid_t pid)
{
    int status;
    kill(pid, SIGSTOP);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
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

/* A program that is not observed, and wants the same CPU. */
static pid_t start_rival(int cpu)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid)
        return pid;
    pin(cpu);
    for (volatile uint64_t n = 0;; n++)
        ;
}

TEST_WITH(begin, end, a_thread_that_shares_its_cpu_waits_as_long_as_the_kernel_says)
{
    enum { WAIT = 20 * CLOCK_MS };
    struct fixture f;
    struct samplers *s;
    if (ask(getpid()).slices == 0)
        skip(); /* a kernel that does not count */
    atomic_store(&shared->cpu, any_cpu());
    open_all(&f, &both, &s);
    pid_t pid = fixture_spawn(burn, NULL);
    await_step(&f, 1);
    stop(pid);
    sample(&f, s); /* the first one says nothing: there is none before */
    struct oracle first = sample_and_ask(&f, s, pid);
    struct seen before = *seen_of(pid);
    pid_t rival = start_rival(atomic_load(&shared->cpu));
    kill(pid, SIGCONT);
    struct oracle now = first;
    for (int64_t deadline = clock_now() + PATIENCE;
         now.waiting < first.waiting + WAIT || now.involuntary < first.involuntary + 3; now = ask(pid))
        assert_true(clock_now() < deadline);
    sample(&f, s); /* in the middle */
    stop(pid);
    struct oracle last = sample_and_ask(&f, s, pid);
    const struct seen *t = seen_of(pid);
    assert_true(t->sum[WAITING] - before.sum[WAITING] >= WAIT);
    assert_int_equal(t->sum[WAITING] - before.sum[WAITING], last.waiting - first.waiting);
    assert_int_equal(t->sum[RUNNING] - before.sum[RUNNING], last.running - first.running);
    assert_int_equal(t->sum[VOLUNTARY] - before.sum[VOLUNTARY], last.voluntary - first.voluntary);
    assert_int_equal(t->sum[INVOLUNTARY] - before.sum[INVOLUNTARY], last.involuntary - first.involuntary);
    assert_true(t->sum[INVOLUNTARY] > before.sum[INVOLUNTARY]);
    assert_int_equal(t->last[CPU], atomic_load(&shared->cpu));
    assert_true(t->last[INTERVAL] > 0 && t->last[FAULTS] >= 0);
    assert_true(t->last[IRQS] >= 0 && t->last[SOFTIRQS] >= 0 &&
                t->last[STEAL] >= 0); /* known, as interrupts are sampled, too */
    int64_t samples = t->samples;
    sample(&f, s); /* nothing happened to it, and that is said */
    assert_int_equal(seen_of(pid)->samples, samples + 1);
    assert_int_equal(seen_of(pid)->last[WAITING] + seen_of(pid)->last[RUNNING] + seen_of(pid)->last[INVOLUNTARY], 0);
    atomic_store(&shared->go, 1);
    kill(rival, SIGKILL);
    fixture_wait(rival);
    kill(pid, SIGCONT);
    assert_int_equal(fixture_wait(pid), 0);
    samplers_close(s);
    fixture_end(&f);
}

/* At a time of its own, so that what is due does not depend on how long the test takes. */
static int64_t sample_unasked(struct fixture *f, struct samplers *s, int64_t now)
{
    samplers_turn(s, now);
    fixture_turn(f);
    return seen_count ? seen[0].samples : 0;
}

TEST_WITH(begin, end, what_nobody_asked_for_wakes_nobody_and_records_what_ran)
{
    struct fixture f;
    struct samplers *s;
    const struct experiment_sensing unasked = {.sampler = {[EXPERIMENT_SAMPLER_SCHEDULING] = CLOCK_MS},
                                               .sampled_unasked = true};
    if (ask(getpid()).slices == 0)
        skip(); /* a kernel that does not count */
    atomic_store(&shared->cpu, any_cpu());
    open_all(&f, &unasked, &s);
    int64_t now = clock_now(), step = 100 * CLOCK_S;
    assert_int_equal(samplers_due(s), INT64_MAX);
    pid_t pid = fixture_spawn(burn, NULL);
    await_step(&f, 1);
    stop(pid);
    struct oracle first = ask(pid);
    for (int i = 0; i < 5; i++)
        assert_int_equal(sample_unasked(&f, s, now += step), 0);
    kill(pid, SIGCONT);
    for (int64_t deadline = clock_now() + PATIENCE; ask(pid).running == first.running;)
        assert_true(clock_now() < deadline);
    stop(pid);
    struct oracle last = ask(pid);
    assert_int_equal(sample_unasked(&f, s, now += step), 1);
    assert_int_equal(seen[0].sum[RUNNING],
                     last.running - first.running); /* it is about all the time since the first one */
    kill(pid, SIGCONT);
    assert_int_equal(sample_unasked(&f, s, now + CLOCK_MS),
                     1); /* the period is over, but not 500 times what a turn took */
    for (int64_t deadline = clock_now() + PATIENCE; sample_unasked(&f, s, now += step) == 1;)
        assert_true(clock_now() < deadline);
    assert_int_equal(samplers_due(s), INT64_MAX);
    atomic_store(&shared->go, 1);
    assert_int_equal(fixture_wait(pid), 0);
    samplers_close(s);
    fixture_end(&f);
}

static void *record_and_wait(void *step)
{
    bezel_record(alive);
    atomic_fetch_add(&shared->at, 1);
    wait_for_step((int)(intptr_t)step);
    return NULL;
}

static void run_a_thread_that_ends(void *unused)
{
    (void)unused;
    pthread_t t;
    bezel_record(alive);
    pthread_create(&t, NULL, record_and_wait, (void *)(intptr_t)1);
    pthread_join(t, NULL);
    atomic_store(&shared->at, 2);
    wait_for_step(2);
}

/* The process of `pid`, as soon as it is observed; external_process() has the samplers' own journal, too. */
static struct external_process *await_process(struct fixture *f, pid_t pid)
{
    for (int64_t deadline = clock_now() + PATIENCE;; fixture_turn(f)) {
        assert_true(clock_now() < deadline);
        for (uint32_t i = 0; i < external_process_count(f->external); i++) {
            struct external_process *p = external_process(f->external, i);
            if (external_is_living(p) && p->at->pid == (uint32_t)pid)
                return p;
        }
    }
}

TEST_WITH(begin, end, what_nobody_asked_for_notes_only_what_it_lacks)
{
    struct fixture f;
    struct samplers *s;
    struct rlimit before;
    const struct experiment_sensing unasked = {
        .sampler = {[EXPERIMENT_SAMPLER_CPU] = CLOCK_MS, [EXPERIMENT_SAMPLER_SCHEDULING] = CLOCK_MS},
        .sampled_unasked = true};
    open_all(&f, &unasked, &s);
    pid_t pid = fixture_spawn(burn, NULL);
    struct external_process *p = await_process(&f, pid);
    p->at->our_namespace++;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max}), 0); /* /proc/stat is not opened */
    samplers_turn(s, clock_now());
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(external_note_count(f.external), 1);
    assert_true(was_told(&f, "it is not sampled, nor are others like it"));
    p->at->our_namespace--;
    atomic_store(&shared->go, 1);
    assert_int_equal(fixture_wait(pid), 0);
    samplers_close(s);
    fixture_end(&f);
}

TEST_WITH(begin, end, a_thread_that_ends_is_no_error_and_the_others_are_sampled)
{
    struct fixture f;
    struct samplers *s;
    int before = count_descriptors();
    open_all(&f, &of_threads, &s);
    pid_t pid = fixture_spawn(run_a_thread_that_ends, NULL);
    await_step(&f, 1);
    for (int64_t deadline = clock_now() + PATIENCE; seen_count < 2 || seen_of(pid)->samples == 0;) {
        assert_true(clock_now() < deadline);
        sample(&f, s);
    }
    atomic_store(&shared->go, 1);
    await_step(&f, 2);
    sample(&f, s); /* its files are still open */
    int64_t other = seen[0].thread == pid ? seen[1].thread : seen[0].thread, samples = seen_of(other)->samples;
    int64_t living = seen_of(pid)->samples;
    for (int64_t deadline = clock_now() + PATIENCE; seen_of(pid)->samples < living + 3;) {
        assert_true(clock_now() < deadline);
        sample(&f, s);
    }
    assert_int_equal(seen_of(other)->samples, samples);
    assert_true(seen_of(pid)->last[IRQS] == -1 && seen_of(pid)->last[STEAL] == -1); /* interrupts are not sampled */
    assert_int_equal(external_note_count(f.external), 0);
    atomic_store(&shared->go, 2);
    assert_int_equal(fixture_wait(pid), 0);
    samplers_close(s);
    fixture_end(&f);
    assert_int_equal(count_descriptors(), before);
}

enum { MANY = 40 };

static void run_many_threads(void *unused)
{
    (void)unused;
    pthread_t t[MANY];
    for (int i = 0; i < MANY; i++)
        pthread_create(&t[i], NULL, record_and_wait, (void *)(intptr_t)1);
    for (int i = 0; i < MANY; i++)
        pthread_join(t[i], NULL);
}

TEST_WITH(begin, end, every_thread_is_sampled_or_the_limit_is_told_once)
{
    enum { FEW = 10, FILES = 2 * 3 * FEW };
    char told[256];
    struct fixture f;
    struct samplers *s;
    struct rlimit before, few;
    for (int round = 0; round < 3; round++) {
        bool limited = round > 0;
        struct experiment_sensing sensing = of_threads;
        sensing.sampled_unasked = round == 2; /* then it takes a quarter, and the limit is the cause all the same */
        const unsigned most = !limited ? MANY : sensing.sampled_unasked ? FEW / 4 : FEW;
        memset(shared, 0, sizeof *shared);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        few = (struct rlimit){FILES + 5, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, limited ? &few : &before), 0);
        open_all(&f, &sensing, &s);
        pid_t pid = fixture_spawn(run_many_threads, NULL);
        await_step(&f, MANY);
        for (int64_t deadline = clock_now() + PATIENCE; seen_count < most;) {
            assert_true(clock_now() < deadline);
            sample(&f, s);
        }
        for (int i = 0; i < 3; i++)
            sample(&f, s);
        assert_int_equal(seen_count, most);
        assert_int_equal(external_note_count(f.external), limited);
        snprintf(told, sizeof told,
                 "more than %u threads run at once: the scheduling of the others is not sampled: raise the limit of "
                 "open files (ulimit -n)",
                 most);
        assert_true(!limited || was_told(&f, told));
        atomic_store(&shared->go, 1);
        assert_int_equal(fixture_wait(pid), 0);
        samplers_close(s);
        fixture_end(&f);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    }
}

static int64_t all_samples(void)
{
    int64_t n = 0;
    for (unsigned i = 0; i < seen_count; i++)
        n += seen[i].samples;
    return n;
}

static void expect_interrupts_known(unsigned threads)
{
    unsigned known = 0;
    for (unsigned i = 0; i < seen_count; i++)
        known += seen[i].last[IRQS] >= 0;
    assert_int_equal(known, threads);
}

TEST_WITH(begin, end, threads_for_which_there_was_no_time_come_first_in_the_next_sample)
{
    static struct seen then[THREADS_MAX];
    struct fixture f;
    struct samplers *s;
    samplers_clock = CLOCK_STANDS;
    open_all(&f, &both, &s);
    pid_t pid = fixture_spawn(run_many_threads, NULL);
    await_step(&f, MANY);
    for (int64_t deadline = clock_now() + PATIENCE; seen_count < MANY; sample(&f, s))
        assert_true(clock_now() < deadline);
    int64_t before = all_samples();
    for (int i = 0; i < 2; i++)
        sample(&f, s);
    assert_int_equal(all_samples(), before + 2 * MANY);
    expect_interrupts_known(MANY);
    samplers_clock = CLOCK_LEAPS;
    before = all_samples();
    memcpy(then, seen, sizeof then);
    for (int i = 1; i <= MANY; i++) {
        sample(&f, s);
        assert_int_equal(all_samples(), before + i);
    }
    for (int i = 0; i < MANY; i++)
        assert_int_equal(seen[i].samples, then[i].samples + 1);
    expect_interrupts_known(1); /* of the others this sample is not the next one after theirs */
    samplers_clock = CLOCK_GOES;
    atomic_store(&shared->go, 1);
    assert_int_equal(fixture_wait(pid), 0);
    samplers_close(s);
    fixture_end(&f);
}

/* ---- Kernels of the test's own ----------------------------------------------------------------------------------- */

static size_t piece; /* bytes that the kernel gives at a time; 0: all */

ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at);
ssize_t __real_pread64(int fd, void *to, size_t n, off_t at);

ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at)
{
    return __real_pread64(fd, to, piece && n > piece ? piece : n, at);
}

static char folder[64];

static void put(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static bool mount_over(const char *name, const char *target)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return mount(path, target, NULL, MS_BIND, NULL) == 0;
}

/* False where that is not permitted. */
static bool make_kernel(void)
{
    snprintf(folder, sizeof folder, "/tmp");
    if (!namespaces_enter() || mount("none", folder, "tmpfs", 0, NULL) != 0)
        return false;
    put("interrupts",
        "           CPU0       CPU2\n 31:          10     4294967290  edge      eth0\nLOC: 5 5 timer\nERR: 1\n");
    put("softirqs", "      CPU0       CPU1       CPU2\nTIMER: 1 1 1\nNET_RX: 2 2 2\n");
    put("stat", "cpu 1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 10\ncpu2 1 2 3 4 5 6 7 8\nintr 5\n");
    put("diskstats", " 254 0 vda 10 1 20 30 40 2 50 60 1 70 80\n 254 1 vdb 10 1 20 30 40 2 50 60 1 70 80\n");
    put("none", "0 0 0\n");
    return mount_over("interrupts", "/proc/interrupts") && mount_over("softirqs", "/proc/softirqs") &&
           mount_over("stat", "/proc/stat") && mount_over("diskstats", "/proc/diskstats");
}

static void expect_interrupts(int64_t cpu, unsigned samples, const int64_t *values, const char *source,
                              const char *softirq)
{
    const struct interrupts *i = &interrupts[cpu];
    assert_int_equal(i->samples, samples);
    assert_int_equal(i->last[OF_IRQS], values[0]);
    assert_int_equal(i->last[OF_MOST], values[1]);
    assert_int_equal(i->last[OF_SOFTIRQS], values[2]);
    assert_int_equal(i->last[OF_MOST_SOFT], values[3]);
    assert_int_equal(i->last[OF_STEAL], values[4] < 0 ? -1 : values[4] * (CLOCK_S / sysconf(_SC_CLK_TCK)));
    assert_string_equal(i->source, source);
    assert_string_equal(i->softirq, softirq);
}

TEST_WITH(begin, end, interrupts_are_counted_by_cpu_with_the_busiest_source)
{
    static const struct experiment_sensing sensing = {.sampler = {[EXPERIMENT_SAMPLER_INTERRUPTS] = CLOCK_S}};
    struct fixture f;
    struct samplers *s;
    if (sysconf(_SC_NPROCESSORS_CONF) < 1 || !make_kernel())
        skip();
    piece = 16;
    open_all(&f, &sensing, &s);
    sample(&f, s);
    assert_int_equal(interrupts[0].samples, 0);
    /* CPU 0's timer ticks; a counter wraps; a source is new. */
    put("interrupts",
        "           CPU0       CPU1\n 31:          12     4  edge      eth0\n99: 7 7 edge new\nLOC: 15 5 timer\n");
    put("softirqs", "      CPU0       CPU1       CPU2\nTIMER: 2 1 1\nNET_RX: 6 2 2\n");
    put("stat", "cpu 1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 13\nintr 5\n");
    sample(&f, s);
    expect_interrupts(0, 1, (int64_t[]){12, 10, 5, 4, 3}, "LOC", "NET_RX");
    put("interrupts",
        "           CPU0\n 31:          3  edge      eth0\n99: 8 edge new\nLOC: 15 timer\n"); /* began anew */
    put("softirqs", "cut");
    sample(&f, s);
    expect_interrupts(0, 2, (int64_t[]){4, 3, -1, -1, 0}, "31:eth0", "none");
    put("softirqs", "      CPU0\nTIMER: 2\nNET_RX: 6\n");
    sample(&f, s); /* a CPU without any is left out */
    assert_int_equal(interrupts[0].samples, 2);
    assert_int_equal(external_note_count(f.external), 0);
    samplers_close(s);
    fixture_end(&f);
    piece = 0;
}

/* Interrupts of CPU 0, and ticks that were stolen from it. */
static void put_counts(int interrupts_so_far, int softirqs, int steal)
{
    char text[128];
    snprintf(text, sizeof text, "     CPU0\nLOC: %d timer\n", interrupts_so_far);
    put("interrupts", text);
    snprintf(text, sizeof text, "     CPU0\nTIMER: %d\n", softirqs);
    put("softirqs", text);
    snprintf(text, sizeof text, "cpu0 1 2 3 4 5 6 7 %d\n", steal);
    put("stat", text);
}

TEST_WITH(begin, end, a_threads_sample_has_what_its_cpu_took_in_the_same_time_or_says_that_it_is_unknown)
{
    static const struct experiment_sensing apart = {
        .sampler = {[EXPERIMENT_SAMPLER_INTERRUPTS] = CLOCK_S, [EXPERIMENT_SAMPLER_SCHEDULING] = CLOCK_S / 2}};
    struct fixture f;
    struct samplers *s;
    int64_t tick = CLOCK_S / sysconf(_SC_CLK_TCK);
    if (any_cpu() != 0 || !make_kernel())
        skip();
    for (int differ = 0; differ < 2; differ++) {
        memset(shared, 0, sizeof *shared);
        put_counts(10, 20, 30);
        open_all(&f, differ ? &apart : &both, &s);
        pid_t pid = fixture_spawn(burn, NULL);
        await_step(&f, 1);
        for (int i = 0; i < 4; i++)
            sample(&f, s);
        for (int i = 1; i <= 4; i++) {
            put_counts(10 + 7 * i, 20 + 5 * i, 30 + 3 * i);
            sample(&f, s);
            const struct seen *t = seen_of(pid);
            assert_int_equal(t->last[CPU], 0);
            assert_int_equal(t->last[IRQS], differ ? -1 : 7);
            assert_int_equal(t->last[SOFTIRQS], differ ? -1 : 5);
            assert_int_equal(t->last[STEAL], differ ? -1 : 3 * tick);
        }
        atomic_store(&shared->go, 1);
        assert_int_equal(fixture_wait(pid), 0);
        samplers_close(s);
        fixture_end(&f);
    }
}

static unsigned disks;

static void count_disks(struct fixture *f, const struct packet_header *h, const struct packet_record *r,
                        const char *aspect)
{
    (void)f;
    (void)h;
    (void)r;
    disks += strcmp(aspect, "node_disk") == 0;
}

TEST_WITH(begin, end, a_table_is_read_to_its_end_though_the_kernel_gives_it_in_pieces)
{
    static const struct experiment_sensing sensing = {.sampler = {[EXPERIMENT_SAMPLER_DISK] = CLOCK_S}};
    struct fixture f;
    struct samplers *s;
    if (!make_kernel())
        skip();
    piece = 45; /* one of its lines, and some of the next */
    open_all(&f, &sensing, &s);
    f.record = count_disks;
    sample(&f, s);
    fixture_finish(&f);
    assert_int_equal(disks, 2);
    samplers_close(s);
    fixture_close(&f);
    piece = 0;
}

static void record_and_stay(void *unused)
{
    (void)unused;
    (void)record_and_wait((void *)(intptr_t)1);
}

TEST_WITH(begin, end, times_that_the_kernel_does_not_keep_are_unknown_and_told_with_the_remedy)
{
    char path[64];
    struct fixture f;
    struct samplers *s;
    if (!make_kernel())
        skip();
    open_all(&f, &of_threads, &s);
    pid_t pid = fixture_spawn(record_and_stay, NULL);
    await_step(&f, 1);
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", pid, pid);
    if (mount_over("none", path)) {
        for (int i = 0; i < 4; i++)
            sample(&f, s);
        const struct seen *t = seen_of(pid);
        assert_true(t->samples >= 2);
        assert_true(t->last[RUNNING] == -1 && t->last[WAITING] == -1);
        assert_true(t->last[VOLUNTARY] >= 0 && t->last[INVOLUNTARY] >= 0 && t->last[CPU] >= 0);
        assert_int_equal(external_note_count(f.external), 1);
        assert_true(was_told(&f, "boot it with delayacct"));
        assert_int_equal(umount2(path, MNT_DETACH), 0);
    }
    atomic_store(&shared->go, 1);
    assert_int_equal(fixture_wait(pid), 0);
    samplers_close(s);
    fixture_end(&f);
}
