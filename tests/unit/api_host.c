// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * libbezel in programs that do what programs do: handle signals, end threads, load libraries, close descriptors, run
 * out of memory. None of it harms the program, and no record is lost without being counted.
 */
#include "base/file.h"
#include "bezel/sensor.h"
#include "mdr/parts.h"
#include "sensor/shm/segment.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

BEZEL_ASPECT(outer, (int64, number, "1"));
BEZEL_ASPECT(inner, (int64, number, "1"));
BEZEL_ASPECT(late, (int64, number, "1"));

/* Shared with the recording processes: what they did, as they count it. */
static struct page {
    _Atomic int64_t outer, inner, late;
} * page;

static struct message_books_row books_of(struct fixture *f, const char *aspect)
{
    struct message_books_row sum;
    assert_int_equal(fixture_books(f, aspect, &sum), 0);
    return sum;
}

static void observe(struct fixture *f, void (*body)(void *context))
{
    memset(page, 0, sizeof *page);
    fixture_observe(f, body);
}

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupt_next; /* the next look at the clock, which is in the middle of a record */

/* libbezel's clock too: the one place within a record that a test can get hold of. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (interrupt_next) {
        interrupt_next = 0;
        raise(SIGUSR1);
    }
#ifdef SYS_clock_gettime64 /* a 32-bit machine */
    return (int)syscall(SYS_clock_gettime64, clock, t);
#else
    return (int)syscall(SYS_clock_gettime, clock, t);
#endif
}

static void record_in_handler(int signal)
{
    (void)signal;
    page->inner++;
    bezel_record(inner, page->inner);
}

static void record_within_a_record(void *unused)
{
    (void)unused;
    setenv("BEZEL_CLOCK", "monotonic", 1); /* the one that a test can interrupt */
    signal(SIGUSR1, record_in_handler);
    for (int i = 0; i < 100; i++) {
        page->outer++;
        interrupt_next = i % 2;
        bezel_record(outer, i);
        interrupt_next = 0;
    }
}

TEST(a_handlers_record_within_a_record_goes_into_a_ring_of_its_own)
{
    struct fixture f = {.dir = ""};
    observe(&f, record_within_a_record);
    assert_int_equal(page->inner, 50);
    assert_int_equal(f.records, 150);
    assert_int_equal(books_of(&f, "inner").attempts, 50);
    assert_int_equal(books_of(&f, "outer").attempts, 100);
    fixture_end(&f);
}

/* A storm of signals from the very first record on: claiming a ring, declaring and interning are interrupted too. */
static void record_in_a_storm(void *unused)
{
    (void)unused;
    struct itimerval storm = {.it_interval.tv_usec = 50, .it_value.tv_usec = 50};
    signal(SIGALRM, record_in_handler);
    setitimer(ITIMER_REAL, &storm, NULL);
    for (int64_t i = 0; i < 200000 && page->inner < 3000; i++) {
        page->outer++;
        bezel_record(outer, i);
        if (i % 1000 == 0)
            bezel_intern("a text");
        if (i % 100 == 0)
            sched_yield();
    }
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    signal(SIGALRM, SIG_IGN);
}

TEST(handlers_may_record_whenever_they_interrupt)
{
    struct fixture f = {.dir = ""};
    observe(&f, record_in_a_storm);
    struct message_books_row o = books_of(&f, "outer"), i = books_of(&f, "inner");
    assert_int_equal(o.attempts, page->outer);
    assert_int_equal(i.attempts, page->inner);
    assert_int_equal(o.no_ring, 0);
    assert_int_equal(f.records, o.attempts + i.attempts - o.full - i.full - i.no_ring);
    fixture_end(&f);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static pthread_key_t before, after; /* made before and after libbezel's own */

/* A destructor that records, and has itself called again as often as one may. */
static void record_at_the_end(void *left)
{
    intptr_t n = (intptr_t)left;
    page->late++;
    bezel_record(late, n);
    if (n > 1)
        pthread_setspecific(n % 2 ? before : after, (void *)(n - 1)); /* NOLINT: a number is all it needs */
}

static void *short_thread(void *unused)
{
    bezel_record(outer, 1);
    pthread_setspecific(before, (void *)(intptr_t)2); /* NOLINT: likewise */
    pthread_setspecific(after, (void *)(intptr_t)1);  /* NOLINT: likewise */
    return unused;
}

static void end_many_threads(void *unused)
{
    (void)unused;
    pthread_key_create(&before, record_at_the_end);
    bezel_record(outer, 0); /* libbezel makes its key */
    pthread_key_create(&after, record_at_the_end);
    for (int i = 0; i < 2 * SEGMENT_RINGS_DEFAULT; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, short_thread, NULL) != 0)
            _exit(1);
        pthread_join(t, NULL);
    }
}

TEST(destructors_of_threads_record_and_give_their_rings_back)
{
    struct fixture f = {.dir = ""};
    observe(&f, end_many_threads);
    assert_int_equal(f.stream_count, 2); /* the main thread's, and the one that went round */
    assert_int_equal(books_of(&f, "outer").attempts, 1 + 2 * SEGMENT_RINGS_DEFAULT);
    assert_int_equal(books_of(&f, "late").attempts, page->late);
    assert_int_equal(f.records, 1 + 2 * SEGMENT_RINGS_DEFAULT + page->late);
    fixture_end(&f);
}

static void *allocate_nothing(void *unused)
{
    size_t used = mallinfo2().uordblks;
    bezel_record(outer, 2);
    page->inner = (int64_t)(mallinfo2().uordblks - used);
    return unused;
}

static void make_many_keys(void *unused)
{
    (void)unused;
    pthread_key_t key;
    pthread_t t;
    for (int i = 0; i < 100; i++)
        if (pthread_key_create(&key, NULL) != 0)
            _exit(1);
    bezel_record(outer, 1);
    if (pthread_create(&t, NULL, allocate_nothing, NULL) != 0)
        _exit(1);
    pthread_join(t, NULL);
}

/* A handler that interrupts malloc() may be the first in its thread that records. */
TEST(a_threads_first_record_allocates_nothing_however_many_keys_there_are)
{
    struct fixture f = {.dir = ""};
    observe(&f, make_many_keys);
    assert_int_equal(f.records, 2);
    assert_int_equal(page->inner, 0);
    fixture_end(&f);
}

/* The words of BEZEL_ASPECTS are copied at the first record, and not by malloc(): see unit/first_record. */
__attribute__((visibility("default"))) char *strdup(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = malloc(n);
    if (page)
        page->late++;
    errno = ENOMEM;
    return copy ? memcpy(copy, text, n) : NULL;
}

static void record_after_a_failure(void *unused)
{
    (void)unused;
    setenv("BEZEL_ASPECTS", "on:*", 1);
    errno = EXDEV;
    bezel_record(outer, 1);
    page->outer = errno;
}

TEST(a_first_record_leaves_errno_alone)
{
    struct fixture f = {.dir = ""};
    observe(&f, record_after_a_failure);
    assert_int_equal(f.records, 1);
    assert_int_equal(page->late, 0);
    assert_int_equal(page->outer, EXDEV);
    fixture_end(&f);
}

static void claim_ahead(void *unused)
{
    (void)unused;
    if (bezel_thread_init(0) != 0 || bezel_thread_init(0) != 0)
        _exit(1);
    bezel_record(outer, 1);
}

TEST(a_ring_claimed_ahead_is_the_one_that_is_used)
{
    struct fixture f = {.dir = ""};
    observe(&f, claim_ahead);
    assert_int_equal(f.records, 1);
    assert_int_equal(f.stream_count, 1);
    fixture_end(&f);
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

static void interrupt(void)
{
    raise(SIGUSR1);
}

/*
 * Handlers of fork that were there before libbezel's: they run while it holds its lock, and before the child is its
 * own.
 */
static void fork_and_record(void *unused)
{
    (void)unused;
    signal(SIGUSR1, record_in_handler);
    if (pthread_atfork(interrupt, interrupt, interrupt) != 0)
        _exit(1);
    bezel_string parents = bezel_intern("the parent's");
    for (int i = 0; i < 20; i++) {
        page->outer++;
        bezel_record(outer, i);
        pid_t child = fork();
        if (child == 0) {
            page->outer++;
            bezel_record(outer, 1000);
            bezel_string childs = bezel_intern("the child's");
            _exit(childs.id == 2 && bezel_intern("the parent's").id == parents.id ? 0 : 1);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0)
            _exit(2);
    }
}

TEST(a_fork_may_be_interrupted_and_its_child_keeps_the_strings)
{
    struct fixture f = {.dir = ""};
    observe(&f, fork_and_record);
    assert_int_equal(books_of(&f, "outer").attempts, page->outer);
    assert_int_equal(books_of(&f, "inner").attempts, page->inner);
    assert_int_equal(f.records, page->outer + page->inner);
    for (uint32_t i = 0; i < external_process_count(f.external); i++)
        if (external_process(f.external, i))
            assert_string_equal(external_process(f.external, i)->at->dict->strings[0], "the parent's");
    fixture_end(&f);
}

/* ---- Libraries --------------------------------------------------------------------------------------------------- */

static void load_and_unload(void *unused)
{
    (void)unused;
    bezel_record(outer, 0);
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            _exit(1);
        void (*record)(int64_t) = NULL;
        *(void **)&record = dlsym(library, "plugin_record");
        record(i);
        dlclose(library);
        static struct bezel_aspect more[3]; /* to be compared with all that were declared before, the library's too */
        static const char *const names[] = {"plugged", "second", "third"};
        more[i] =
            (struct bezel_aspect){.enable = &bezel_enable_unset, .name = names[i], .field_count = 0, .fields = NULL};
        bezel_aspect_register(&more[i]);
        bezel_emit(&more[i], (uint64_t[]){0});
    }
}

TEST(a_library_that_records_may_be_unloaded)
{
    struct fixture f = {.dir = ""};
    observe(&f, load_and_unload);
    assert_int_equal(books_of(&f, "plugged").attempts, 3);
    assert_int_equal(f.records, 1 + 3 + 2); /* the second "plugged" has other fields */
    fixture_end(&f);
}

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

static void *record_outer(void *unused)
{
    page->outer++;
    bezel_record(outer, 2);
    return unused;
}

static void close_everything(void *unused)
{
    (void)unused;
    page->outer++;
    bezel_record(outer, 0);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    int last = -1;
    for (int i = 0; i < 20; i++) /* the program's own files have the numbers now */
        last = open("/dev/null", O_RDWR);
    for (int i = 0; i < 1000; i++) {
        page->outer++;
        bezel_record(outer, 1);
    }
    pthread_t t;
    if (pthread_create(&t, NULL, record_outer, NULL) != 0)
        _exit(1);
    pthread_join(t, NULL);
    pid_t child = fork();
    if (child == 0) { /* the library lets go of nothing that it does not hold */
        for (int fd = 3; fd <= last; fd++)
            if (fcntl(fd, F_GETFD) < 0)
                _exit(1);
        _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        _exit(2);
}

/* Whether this kernel, and no emulator in its name, gives a mapping its memory without a descriptor (Linux 5.14). */
static bool memory_can_be_populated(void)
{
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    bool can = madvise(at, 4096, 23 /* MADV_POPULATE_WRITE */) == 0 && madvise(at, 4096, 0x7fff) != 0;
    munmap(at, 4096);
    return can;
}

TEST(a_process_that_closed_all_its_descriptors_is_read_on)
{
    struct fixture f = {.dir = ""};
    observe(&f, close_everything);
    struct message_books_row row = books_of(&f, "outer");
    assert_int_equal(row.no_ring, memory_can_be_populated() ? 0 : 1); /* the thread that came later */
    assert_int_equal(f.records + row.no_ring, page->outer);
    assert_int_equal(row.attempts, page->outer);
    fixture_end(&f);
}

/* ---- No room ----------------------------------------------------------------------------------------------------- */

static void record_with_many_threads(void *unused)
{
    (void)unused;
    pthread_t t[20];
    for (int i = 0; i < 20; i++)
        if (pthread_create(&t[i], NULL, record_outer, NULL) != 0)
            _exit(1);
    for (int i = 0; i < 20; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 10000; i++)
        bezel_record(outer, i);
    bezel_intern("a text");
}

/* Alone in a namespace of mounts, with `context` bytes of shared memory. */
static void record_in_little_memory(void *context)
{
    char size[48];
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        _exit(77);
    snprintf(size, sizeof size, "mode=0700,size=%zu", *(const size_t *)context);
    if (mount("tmpfs", getenv("BEZEL_DIR"), "tmpfs", 0, size) != 0)
        _exit(77);
    record_with_many_threads(NULL);
}

TEST(full_shared_memory_never_harms_the_program)
{
    char dir[SCRATCH_PATH];
    scratch_make(dir);
    setenv("BEZEL_DIR", dir, 1);
    for (size_t bytes = 4096; bytes <= 4 << 20; bytes += bytes / 4096 / 2 * 4096 + 4096) {
        int status = fixture_wait(fixture_spawn(record_in_little_memory, &bytes));
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
            printf("skipped: no private mounts here\n");
            skip();
        }
        assert_int_equal(status, 0);
    }
    scratch_remove(dir);
}

static void record_under_a_file_limit(void *context)
{
    rlim_t limit = *(const rlim_t *)context;
    if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit, limit}) != 0)
        _exit(1);
    record_with_many_threads(NULL);
}

TEST(a_limit_of_file_sizes_never_harms_the_program)
{
    char dir[SCRATCH_PATH];
    scratch_make(dir);
    setenv("BEZEL_DIR", dir, 1);
    for (rlim_t limit = 1; limit <= (rlim_t)1 << 26; limit *= 16)
        assert_int_equal(fixture_wait(fixture_spawn(record_under_a_file_limit, &limit)), 0);
    scratch_remove(dir);
}

/* ---- Telling why ------------------------------------------------------------------------------------------------- */

/* What a process that cannot record says on stderr; the caller frees it. */
static char *said(const char *debug)
{
    char dir[SCRATCH_PATH], path[SCRATCH_PATH + 8], *text;
    size_t n;
    scratch_make(dir);
    snprintf(path, sizeof path, "%s/stderr", dir);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(open(path, O_RDWR | O_CREAT, 0600), STDERR_FILENO);
        setenv("BEZEL_DEBUG", debug, 1);
        setenv("BEZEL_DIR", "/proc/no-such-folder", 1);
        bool refused = bezel_thread_init(0) < 0;
        bezel_record(outer, 1);
        _exit(refused && bezel_intern("text").id == 0 ? 0 : 1);
    }
    assert_int_equal(fixture_wait(pid), 0);
    assert_int_equal(file_read(path, 1 << 20, &text, &n), 0);
    scratch_remove(dir);
    return text;
}

TEST(it_says_why_nothing_is_recorded_if_asked)
{
    char *text = said("1");
    assert_non_null(strstr(text, "libbezel: "));
    assert_non_null(strstr(text, "/proc/no-such-folder"));
    assert_non_null(strstr(text, "cannot make"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* once */
    free(text);
    text = said("0");
    assert_string_equal(text, "");
    free(text);
}

int main(void)
{
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 1;
    return test_run(NULL, NULL);
}
