// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A program that does to libbezel whatever programs do, at random, and counts its own records: what the test of the law
 * runs. law_sut PAGE LIFE SEED PROFILE WORK EXECS: the page is an inherited descriptor, WORK how many turns of its
 * threads make a life.
 */
#include "bezel/sensor.h"
#include "sensor/shm/segment.h"
#include "tests/lib/law.h"
#include "tests/lib/seed.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

BEZEL_ASPECT(v0);
BEZEL_ASPECT(v1, (int64, a, "1"));
BEZEL_ASPECT(v2, (int64, a, "1"), (int64, b, "1"));
BEZEL_ASPECT(v3, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"));
BEZEL_ASPECT(v4, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"));
BEZEL_ASPECT(v5, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"));
BEZEL_ASPECT(v6, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"), (int64, f, "1"));
BEZEL_ASPECT(v7, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"), (int64, f, "1"),
             (int64, g, "1"));
BEZEL_ASPECT(v8, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"), (int64, f, "1"),
             (int64, g, "1"), (int64, h, "1"));
BEZEL_ASPECT(v9, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"), (int64, f, "1"),
             (int64, g, "1"), (int64, h, "1"), (int64, i, "1"));
BEZEL_ASPECT(v10, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"), (int64, f, "1"),
             (int64, g, "1"), (int64, h, "1"), (int64, i, "1"), (int64, j, "1"));
BEZEL_ASPECT(v11, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"), (int64, f, "1"),
             (int64, g, "1"), (int64, h, "1"), (int64, i, "1"), (int64, j, "1"), (int64, k, "1"));
BEZEL_ASPECT(v12, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"), (int64, f, "1"),
             (int64, g, "1"), (int64, h, "1"), (int64, i, "1"), (int64, j, "1"), (int64, k, "1"), (int64, l, "1"));
BEZEL_SPAN(span, (int64, a, "1"));
BEZEL_ASPECT(switched, (int64, a, "1"));

enum {
    DEPTHS = 1 << LAW_DEPTH_BITS,
    SIGNALS = DEPTHS - 1, /* each handler may be interrupted by the others */
    WORKERS = 3,
    CHILD_TURNS = 40,
    ENVIRONMENT = 500,
    ALTERNATE_BYTES = 1 << 20 /* siglongjmp() lets waiting signals in while it still stands there */,
};

#ifdef __SANITIZE_THREAD__
enum { ENDS = 2 }; /* ThreadSanitizer takes leave of a thread earlier */
#else
enum { ENDS = PTHREAD_DESTRUCTOR_ITERATIONS + 1 };
#endif

/* What a thread knows of itself; its handlers too. */
static _Thread_local struct self {
    volatile uint32_t depth;  /* handlers on its stack */
    volatile uint32_t open;   /* calls of libbezel on its stack */
    volatile bool wild;       /* its handlers may jump and fork */
    volatile bool aims;       /* `start` is where they jump to */
    volatile bool counts;     /* handlers must not fork: parent and child would both count */
    uint32_t thread;          /* its number; 0: none yet */
    uint32_t number[DEPTHS];  /* records begun, at each depth */
    volatile uint64_t random; /* its seed */
    sigjmp_buf start;
} self;

static struct law_page *page;
static struct law_life *volatile life; /* ours */
static char process_name[32];          /* in the environment: BEZEL_PROCESS */
static const char *page_fd;
static uint32_t profile;
static volatile bool is_child;
static uint32_t execs_left;
static _Atomic uint64_t turns_left;
static pthread_key_t at_end;

/* A handler may draw between the two halves: then both have the same number, which is as random as another. */
static uint64_t draw(void)
{
    uint64_t seed = self.random, n = seed_next(&seed);
    self.random = seed;
    return n;
}

static bool one_in(uint32_t n)
{
    return draw() % n == 0;
}

static void write_name(char *name, uint32_t number)
{
    char *digits = strchr(name, '-') + 1;
    for (int i = 3; i >= 0; i--, number /= 10)
        digits[i] = (char)('0' + number % 10);
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static void (*_Atomic plugged)(int64_t); /* NULL: the library was never loaded */

#define V(i) (int64_t) v[i]
#define BY_COUNT(verb)                                                                                                 \
    switch (aspect) {                                                                                                  \
    case 0:                                                                                                            \
        bezel_##verb(v0);                                                                                              \
        break;                                                                                                         \
    case 1:                                                                                                            \
        bezel_##verb(v1, V(0));                                                                                        \
        break;                                                                                                         \
    case 2:                                                                                                            \
        bezel_##verb(v2, V(0), V(1));                                                                                  \
        break;                                                                                                         \
    case 3:                                                                                                            \
        bezel_##verb(v3, V(0), V(1), V(2));                                                                            \
        break;                                                                                                         \
    case 4:                                                                                                            \
        bezel_##verb(v4, V(0), V(1), V(2), V(3));                                                                      \
        break;                                                                                                         \
    case 5:                                                                                                            \
        bezel_##verb(v5, V(0), V(1), V(2), V(3), V(4));                                                                \
        break;                                                                                                         \
    case 6:                                                                                                            \
        bezel_##verb(v6, V(0), V(1), V(2), V(3), V(4), V(5));                                                          \
        break;                                                                                                         \
    case 7:                                                                                                            \
        bezel_##verb(v7, V(0), V(1), V(2), V(3), V(4), V(5), V(6));                                                    \
        break;                                                                                                         \
    case 8:                                                                                                            \
        bezel_##verb(v8, V(0), V(1), V(2), V(3), V(4), V(5), V(6), V(7));                                              \
        break;                                                                                                         \
    case 9:                                                                                                            \
        bezel_##verb(v9, V(0), V(1), V(2), V(3), V(4), V(5), V(6), V(7), V(8));                                        \
        break;                                                                                                         \
    case 10:                                                                                                           \
        bezel_##verb(v10, V(0), V(1), V(2), V(3), V(4), V(5), V(6), V(7), V(8), V(9));                                 \
        break;                                                                                                         \
    case 11:                                                                                                           \
        bezel_##verb(v11, V(0), V(1), V(2), V(3), V(4), V(5), V(6), V(7), V(8), V(9), V(10));                          \
        break;                                                                                                         \
    case 12:                                                                                                           \
        bezel_##verb(v12, V(0), V(1), V(2), V(3), V(4), V(5), V(6), V(7), V(8), V(9), V(10), V(11));                   \
        break;                                                                                                         \
    default:                                                                                                           \
        break;                                                                                                         \
    }

static void write_plain(uint32_t aspect, const uint64_t *v, bool again)
{
    if (again)
        BY_COUNT(again)
    else
        BY_COUNT(record)
}

static void write_record(uint32_t aspect, const uint64_t *v, bool again)
{
    if (aspect < LAW_PLAIN)
        write_plain(aspect, v, again);
    else if (aspect == LAW_PLUGGED)
        atomic_load (&plugged)(V(0));
    else if (aspect == LAW_SWITCHED)
        bezel_record(switched, V(0));
    else
        bezel_record(span, 1, V(0));
}

/* One record, counted before and after: in the life in which the call was begun. */
static void record(uint32_t aspect, bool again)
{
    uint64_t v[BEZEL_FIELDS_MAX];
    self.open = self.open + 1; /* from here on: a handler may fork */
    struct law_life *in = life;
    if (!self.thread)
        self.thread = atomic_fetch_add(&in->next_thread, 1);
    struct law_id id = {(uint32_t)(in - page->life), self.thread, self.depth, self.number[self.depth]++};
    v[0] = law_first(id, aspect);
    for (uint32_t i = 1; i < BEZEL_FIELDS_MAX; i++)
        v[i] = law_value(v[0], i);
    atomic_fetch_add(&in->before[aspect], 1);
    write_record(aspect, v, again);
    bool counted = self.counts; /* a handler's record may stand between two lines of another */
    self.counts = true;
    if (life == in)
        atomic_fetch_add(&in->after[aspect], 1);
    self.counts = counted;
    self.open = self.open - 1;
}

static void record_any(void)
{
    uint64_t r = draw();
    uint32_t aspect = (uint32_t)(r >> 8) % (r % 4 ? 3 : LAW_ASPECTS);
    if (aspect == LAW_PLUGGED && !atomic_load(&plugged))
        aspect = LAW_SPAN;
    record(aspect, r >> 40 & 1);
}

/* ---- Lives ------------------------------------------------------------------------------------------------------- */

static struct law_life *begin_life(uint32_t *number)
{
    *number = atomic_fetch_add(&page->starts, 1);
    return *number < LAW_LIVES ? &page->life[*number] : NULL;
}

static void end_life(void)
{
    if (self.open == 0)
        atomic_store(&life->ended, 1);
    _exit(0);
}

/* In the child, right after the fork. Async-signal-safe. */
static void become_child(struct law_life *own, uint32_t number)
{
    atomic_store(&own->profile, atomic_load(&life->profile));
    atomic_store(&own->inherited, self.open);
    atomic_store(&own->next_thread, atomic_load(&life->next_thread) + 1);
    write_name(process_name, number);
    life = own;
    is_child = true;
    atomic_store(&turns_left, CHILD_TURNS);
}

/* The child records on: from here, or from where its parent was interrupted. */
static void fork_now(bool in_handler)
{
    uint32_t number;
    struct law_life *own = is_child && one_in(4) ? NULL : begin_life(&number);
    if (!own)
        return;
    atomic_fetch_add(&life->forks, 1);
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask); /* the child knows who it is before it handles any */
    pid_t pid = fork();
    if (pid == 0)
        become_child(own, number);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (pid != 0)
        return; /* the test reaps it */
    if (in_handler && one_in(2))
        return;
    self.wild = false;
    self.open = 0; /* the calls that were open are the parent's */
    for (int i = 0; i < CHILD_TURNS; i++)
        record_any();
    end_life();
}

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

static void handle(int signal)
{
    (void)signal;
    if (self.depth + 1 >= DEPTHS)
        return;
    self.depth = self.depth + 1;
    atomic_fetch_add(&life->signals, 1);
    for (uint64_t n = draw() % 3; n > 0; n--)
        record_any();
    if (self.wild && !self.counts && (profile & LAW_FORKS) && one_in(500))
        fork_now(true);
    if (self.wild && self.aims && (profile & LAW_JUMPS) && one_in(8)) {
        atomic_fetch_add(&life->jumps, 1);
        siglongjmp(self.start, 1);
    }
    self.depth = self.depth - 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    if (profile & LAW_ALTERNATE)
        action.sa_flags |= SA_ONSTACK;
    for (int i = 0; i < SIGNALS; i++)
        sigaction(SIGRTMIN + i, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
}

static void *take_stack(void)
{
    if (!(profile & LAW_ALTERNATE) || !(profile & LAW_SIGNALS))
        return NULL;
    void *at = mmap(NULL, ALTERNATE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    stack_t stack = {.ss_sp = at, .ss_size = ALTERNATE_BYTES};
    sigaltstack(&stack, NULL);
    return at;
}

static void drop_stack(void *at)
{
    if (!at)
        return;
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    munmap(at, ALTERNATE_BYTES);
}

/* Now and then a signal of the next depth's, which no handler that runs has blocked. */
static void interrupt_self(void)
{
    if ((profile & LAW_SIGNALS) && self.depth + 1 < DEPTHS && one_in(self.depth ? 3 : 10))
        raise(SIGRTMIN + (int)self.depth);
}

/* ---- Clocks: they are read in the middle of a record ------------------------------------------------------------- */

static uint64_t read_system(clockid_t clock)
{
    struct timespec t;
    syscall(SYS_clock_gettime, clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t jumping_clock(void)
{
    static _Atomic int64_t offset;
    interrupt_self();
    if (one_in(100))
        atomic_store(&offset, (int64_t)(draw() % 20000000000) - 10000000000);
    return (read_system(CLOCK_MONOTONIC) + (uint64_t)atomic_load(&offset)) / 1000;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (self.open)
        interrupt_self();
    return (int)syscall(SYS_clock_gettime, clock, t);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static void record_at_end(void *left)
{
    intptr_t n = (intptr_t)left;
    record_any();
    if (n > 1)
        pthread_setspecific(at_end, (void *)(n - 1)); /* NOLINT: a number is all it needs */
}

static void *short_thread(void *seed)
{
    self.random = (uint64_t)(uintptr_t)seed;
    atomic_fetch_add(&life->threads, 1);
    if (one_in(2))
        pthread_setspecific(at_end, (void *)(intptr_t)(1 + draw() % ENDS)); /* NOLINT: likewise */
    if ((profile & LAW_INIT) && one_in(2)) {
        (void)!bezel_thread_init((unsigned)draw() % 4);
        atomic_fetch_add(&life->inits, 1);
    }
    for (uint64_t n = draw() % 20; n > 0; n--) {
        record_any();
        if (profile & LAW_CANCELS)
            pthread_testcancel();
    }
    return NULL;
}

static void thread_now(void)
{
    pthread_t t;
    uint64_t seed = draw() | 1;
    if (pthread_create(&t, NULL, short_thread, (void *)(uintptr_t)seed) != 0) /* NOLINT: a number is all it needs */
        return;
    if ((profile & LAW_CANCELS) && one_in(2)) {
        pthread_cancel(t);
        atomic_fetch_add(&life->cancels, 1);
    }
    pthread_join(t, NULL);
}

static void load_library(void)
{
    void *library = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
    void (*at)(int64_t) = NULL;
    if (!library)
        _exit(3);
    *(void **)&at = dlsym(library, "plugin_record");
    atomic_store(&plugged, at);
    dlclose(library); /* it stays, since it has aspects */
    atomic_fetch_add(&life->loads, 1);
}

/* What handlers must not jump out of, nor fork in: half-made threads, locks of the C library. */
static void do_something_tame(void)
{
    self.wild = false;
    if ((profile & LAW_THREADS) && one_in(2))
        thread_now();
    if ((profile & LAW_FORKS) && one_in(100))
        fork_now(false);
    if ((profile & LAW_LIBRARY) && one_in(50))
        load_library();
    self.wild = true;
}

static void turn(void)
{
    if (profile & LAW_CROWD) {
        thread_now();
        return;
    }
    for (uint64_t n = draw() % 50; n > 0; n--)
        record_any();
    interrupt_self();
    if (one_in(10) && (profile & LAW_INIT))
        bezel_intern("a text");
    if (!is_child && one_in(4))
        do_something_tame();
    if (one_in(20))
        usleep((useconds_t)(draw() % 2000));
}

/* Works until all turns are done, or until it finds itself a child that has done its own. */
static void work(void)
{
    volatile uint32_t open = self.open;
    if (sigsetjmp(self.start, 1)) {
        self.depth = 0;
        self.counts = false;
        self.open = open;
    }
    self.aims = self.wild = !(profile & LAW_CROWD);
    while (atomic_load(&turns_left) && !atomic_load(&page->stop)) {
        atomic_fetch_sub(&turns_left, 1);
        turn();
        if (atomic_load(&turns_left) > UINT64_MAX / 2) /* several took the last one */
            atomic_store(&turns_left, 0);
    }
    self.aims = self.wild = false;
    if (is_child)
        end_life();
}

static void *worker(void *seed)
{
    self.random = (uint64_t)(uintptr_t)seed;
    void *stack = take_stack();
    work();
    drop_stack(stack);
    return NULL;
}

/* Signals for whichever thread takes them. */
static void *storm(void *seed)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    self.random = (uint64_t)(uintptr_t)seed;
    while (atomic_load(&turns_left) && !atomic_load(&page->stop)) {
        for (uint64_t n = draw() % 5; n > 0; n--)
            kill(getpid(), SIGRTMIN + (int)(draw() % SIGNALS));
        usleep((useconds_t)(draw() % 300));
    }
    return NULL;
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

/* Makes the counts of all rings overflow soon: nobody has had one yet. */
static void set_rings_close_to_overflow(void)
{
    char path[256], line[512];
    unsigned long long from, to;
    FILE *maps = fopen("/proc/self/maps", "r");
    bezel_intern("a segment, and no ring");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%llx-%llx %*s %*s %*s %*s %255s", &from, &to, path) != 3 || !strstr(path, SEGMENT_SUFFIX) ||
            to - from <= segment_ring_offset()) /* its beginning, for children */
            continue;
        struct segment *s = (struct segment *)(uintptr_t)from; /* NOLINT: an address is all there is */
        for (uint32_t i = 0; i < s->ring_max; i++) {
            struct bezel_ring *ring = (struct bezel_ring *)(void *)((char *)s + s->ring_offset + i * s->ring_stride);
            ring->head = ring->tail = ring->oldest = 0u - 400 * BEZEL_SLOT_BYTES;
        }
    }
    if (maps)
        fclose(maps);
}

/* The environment with another name in it: threads that still run may read ours. */
static char **environment_of(uint32_t number)
{
    static char *all[ENVIRONMENT + 1], name[sizeof process_name];
    int n = 0;
    memcpy(name, process_name, sizeof name);
    write_name(name, number);
    for (; n < ENVIRONMENT && environ[n]; n++)
        all[n] = environ[n] == process_name ? name : environ[n];
    all[n] = NULL;
    return all;
}

static void exec_anew(void)
{
    char number_text[16], seed_text[24], profile_text[16], execs_text[16];
    uint32_t number;
    struct law_life *next = begin_life(&number);
    if (!next)
        return;
    snprintf(number_text, sizeof number_text, "%u", number);
    snprintf(seed_text, sizeof seed_text, "%llu", (unsigned long long)draw());
    snprintf(profile_text, sizeof profile_text, "%u", profile);
    snprintf(execs_text, sizeof execs_text, "%u", execs_left - 1);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {0, 0}}, NULL);
    for (int i = 0; i < SIGNALS; i++) /* what comes before the handlers stand again would end the process */
        signal(SIGRTMIN + i, SIG_IGN);
    signal(SIGALRM, SIG_IGN);
    execle("/proc/self/exe", "law_sut", page_fd, number_text, seed_text, profile_text, "300", execs_text, (char *)NULL,
           environment_of(number));
    _exit(4);
}

static void run(void)
{
    pthread_t threads[WORKERS], storms;
    struct itimerval timer = {.it_interval.tv_usec = 300, .it_value.tv_usec = 300};
    void *stack = take_stack();
    if (profile & LAW_SIGNALS) {
        setitimer(ITIMER_REAL, &timer, NULL);
        pthread_create(&storms, NULL, storm, (void *)(uintptr_t)draw()); /* NOLINT: a number is all it needs */
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, worker, (void *)(uintptr_t)draw()); /* NOLINT: likewise */
    if ((profile & LAW_EXECS) && execs_left) {
        usleep((useconds_t)(draw() % 100000));
        exec_anew(); /* in the middle of what the others do */
    }
    work();
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    if (profile & LAW_SIGNALS)
        pthread_join(storms, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {0, 0}}, NULL);
    drop_stack(stack);
}

static void start(char **arg)
{
    sigset_t none;
    sigemptyset(&none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    page_fd = arg[1];
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(arg[1]), 0);
    if (page == MAP_FAILED)
        _exit(2);
    life = &page->life[atoi(arg[2])];
    self.random = strtoull(arg[3], NULL, 0);
    profile = (uint32_t)atoi(arg[4]);
    atomic_store(&turns_left, strtoull(arg[5], NULL, 0));
    execs_left = (uint32_t)atoi(arg[6]);
    atomic_store(&life->profile, profile);
    atomic_store(&life->next_thread, 1);
    strcpy(process_name, "BEZEL_PROCESS=life-0000");
    write_name(process_name, (uint32_t)atoi(arg[2]));
    putenv(process_name);
    pthread_key_create(&at_end, record_at_end);
    catch_signals();
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}

int main(int count, char **arg)
{
    if (count != 7)
        return 2;
    start(arg);
    if ((profile & LAW_CLOCK) && bezel_clock(jumping_clock, 1000000) != 0)
        return 2;
    if (profile & LAW_WRAP)
        set_rings_close_to_overflow();
    run();
    end_life();
}
