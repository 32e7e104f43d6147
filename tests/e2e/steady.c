// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The thread of bezeld that polls, while data flow: what it allocates, and which system calls it makes. Nothing is
 * allocated, nothing logged or read from disk, poll by poll; what ZeroMQ takes for what is sent is counted, and
 * printed.
 */
#include "base/clock.h"
#include "base/file.h"
#include "bezel/sensor.h"
#include "tests/lib/begin.h"
#include "tests/lib/collector_process.h"
#include "tests/lib/count_calls.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

#ifdef __SANITIZE_ADDRESS__ /* also where the build's flags do not say so */
#undef COUNTS
#define COUNTS 0
#endif

enum { POLLS = 1000, WARM = 500, CALLS_MAX = 512 };

static const char experiment[] = "experiment: steady\ncommand: [unused]\nsensing: {poll: {period: 1 ms}}\n"
                                 "metrics: {most: {quantile: number, of: step, window: 100 ms}}\n"
                                 "limits: [{expect: most >= 0}]\n";
static const char run_id[] = "b0e1d2c3-0000-4000-8000-0000000057ea";

BEZEL_ASPECT(step, (int64, number, "1"), (int64, twice, "1"));

static struct scene {
    struct collector_process collector;
    char dir[SCRATCH_PATH], control[96], counts[96], log[96];
    pid_t bezeld, sut;
    struct count_calls *calls;
    struct page {
        _Atomic uint64_t bursts; /* that the recording process has made, one a millisecond */
        _Atomic int records;     /* of each */
    } * page;
} scene;

/* ---- Who records, and bezeld ------------------------------------------------------------------------------------- */

static void record(struct scene *s)
{
    int64_t due = clock_now(), n = 0;
    for (;;) {
        for (int i = s->page->records; i > 0; i--, n++)
            bezel_record(step, n, 2 * n);
        s->page->bursts++;
        clock_sleep_until(due += CLOCK_MS);
    }
}

static void start_recording(struct scene *s)
{
    s->sut = fork();
    assert_true(s->sut >= 0);
    if (s->sut != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("BEZEL_DIR", s->dir, 1);
    setenv("BEZEL_PROCESS", "sut", 1);
    record(s);
}

static void become_bezeld(const struct scene *s, int ready)
{
    char ready_text[12];
    snprintf(ready_text, sizeof ready_text, "%d", ready);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(open(s->log, O_WRONLY | O_CREAT | O_APPEND, 0666), 2);
    setenv("COUNT_CALLS", s->counts, 1);
    if (COUNTS)
        setenv("LD_PRELOAD", COUNT_CALLS, 1);
    execl(BEZELD, "bezeld", "--control", s->control, "--idle-timeout", "1 h", "--ready", ready_text, (char *)NULL);
    _exit(127);
}

static void start_bezeld(struct scene *s)
{
    int ready[2];
    char line[16];
    assert_int_equal(pipe(ready), 0);
    s->bezeld = fork();
    assert_true(s->bezeld >= 0);
    if (s->bezeld == 0)
        become_bezeld(s, ready[1]);
    close(ready[1]);
    assert_int_equal(poll(&(struct pollfd){.fd = ready[0], .events = POLLIN}, 1, PATIENCE / CLOCK_MS), 1);
    assert_int_equal(read(ready[0], line, sizeof line), strlen("ready\n"));
    close(ready[0]);
    static struct begin b;
    assert_true(begin_fill(&b, experiment, "local", s->dir, run_id, s->collector.endpoint));
    assert_true(begin_ask(&b, s->control, (struct command_caller_access){0}) && begin_await(&b, PATIENCE));
    begin_close(&b);
}

static void await_bursts(const struct scene *s, uint64_t more)
{
    uint64_t until = s->page->bursts + more;
    int64_t deadline = clock_now() + PATIENCE;
    while (s->page->bursts < until) {
        assert_true(clock_now() < deadline);
        clock_sleep_until(clock_now() + 10 * CLOCK_MS);
    }
}

static int open_scene(void **state)
{
    struct scene *s = &scene;
    (void)state;
    char listen[96];
    scratch_make(s->dir);
    if (!collector_make(&s->collector))
        return -1;
    scratch_add(s->collector.dir);
    snprintf(listen, sizeof listen, "ipc://%.63s/data", s->collector.dir);
    snprintf(s->control, sizeof s->control, "ipc://%.63s/bezeld", s->collector.dir);
    snprintf(s->counts, sizeof s->counts, "%.63s/counts", s->collector.dir);
    snprintf(s->log, sizeof s->log, "%.63s/bezeld.log", s->collector.dir);
    struct count_calls none = {0};
    if (file_replace(s->counts, &none, sizeof none) != 0 || !collector_start(&s->collector, listen))
        return -1;
    int fd = open(s->counts, O_RDWR | O_CLOEXEC);
    s->calls = mmap(NULL, sizeof *s->calls, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    s->page = mmap(NULL, sizeof *s->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s->calls == MAP_FAILED || s->page == MAP_FAILED)
        return -1;
    s->page->records = 20;
    start_bezeld(s);
    start_recording(s);
    await_bursts(s, WARM);
    return 0;
}

static int close_scene(void **state)
{
    struct scene *s = &scene;
    (void)state;
    kill(s->sut, SIGKILL);
    kill(s->bezeld, SIGKILL);
    waitpid(s->sut, NULL, 0);
    waitpid(s->bezeld, NULL, 0);
    int ended = collector_end(&s->collector, SIGTERM);
    scratch_remove(s->collector.dir);
    scratch_remove(s->dir);
    return ended;
}

/* ---- A busy machine ---------------------------------------------------------------------------------------------- */

/* How often the collector was silent for so long that bezeld connected again, which it does not do poll by poll. */
static unsigned count_silences(const struct scene *s)
{
    char *text;
    size_t n;
    unsigned count = 0;
    assert_int_equal(file_read(s->log, 1 << 20, &text, &n), 0);
    for (const char *at = text; (at = strstr(at, "BEZEL-COLLECTOR-SILENT")); at++)
        count++;
    free(text);
    return count;
}

/*
 * What each poll does is in every thousand of them. On a busy machine bezeld comes to its first polls late, and its
 * collector has no CPU for seconds: if these were not `clean`, another thousand is looked at until `deadline`.
 */
static bool looks_again(const struct scene *s, unsigned silences, bool clean, int64_t deadline)
{
    if (clean || clock_now() < deadline)
        return !clean;
    if (count_silences(s) == silences)
        return false;
    printf("skipped: machine busy: the collector had no CPU for seconds, again and again\n");
    skip();
    return false;
}

/* ---- Allocations ------------------------------------------------------------------------------------------------- */

/* With bursts of so many records: a packet for each, copied for the link while it is short, else shared with it. */
static void count_allocations(struct scene *s, int records)
{
    int64_t deadline = clock_now() + PATIENCE;
    uint64_t program, libraries, polls;
    unsigned silences;
    s->page->records = records;
    await_bursts(s, WARM);
    do {
        uint64_t from = s->page->bursts;
        silences = count_silences(s);
        program = s->calls->program;
        libraries = s->calls->libraries;
        assert_true(program > 0 && libraries > 0); /* it counts: there were some at the start */
        await_bursts(s, POLLS);
        program = s->calls->program - program;
        libraries = s->calls->libraries - libraries;
        polls = s->page->bursts - from;
    } while (looks_again(s, silences, program == 0, deadline));
    printf("%llu bursts of %d records: %llu allocations of bezeld, %llu of its libraries\n", (unsigned long long)polls,
           records, (unsigned long long)program, (unsigned long long)libraries);
    assert_int_equal(program, 0);
    assert_in_range(libraries, 0, 3 * polls); /* ZeroMQ's, for what is sent: see docs/ARCHITECTURE.md */
}

TEST(a_poll_allocates_nothing_of_its_own)
{
    if (!COUNTS) {
        printf("skipped: a sanitizer's own allocator is in the way\n");
        skip();
    }
    count_allocations(&scene, 20);
    count_allocations(&scene, 400);
}

/* ---- System calls ------------------------------------------------------------------------------------------------ */

struct traced {
    uint64_t calls[CALLS_MAX], log_writes;
};

/* Lets the thread run to its next entry into the kernel, or exit from it, and counts entries. False: it has ended. */
static bool count_call(pid_t pid, struct traced *t)
{
    int status;
    struct ptrace_syscall_info info;
    if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) != 0 || waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
        return false;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80))
        return true;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return true;
    if (info.entry.nr < CALLS_MAX)
        t->calls[info.entry.nr]++;
    t->log_writes += info.entry.nr == SYS_write && info.entry.args[0] <= 2;
    return true;
}

static bool begin_tracing(pid_t pid)
{
    int status;
    struct ptrace_syscall_info info;
    if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD) != 0) {
        printf("skipped: this process may not be traced: %s\n", strerror(errno));
        return false;
    }
    assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
    assert_int_equal(waitpid(pid, &status, __WALL), pid);
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) > 0)
        return true;
    printf("skipped: this kernel does not tell of system calls\n");
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return false;
}

/* Calls that a thread does not make which polls: for memory, and what waits for a disk. */
static const int never[] = {SYS_brk,       SYS_mmap,      SYS_munmap, SYS_mremap, SYS_fsync,
                            SYS_fdatasync, SYS_fallocate, SYS_fork,   SYS_clone,  SYS_execve};

/* The wait, and what ZeroMQ does to queue a packet and to look for answers. */
static const int each_poll[] = {SYS_clock_nanosleep, SYS_read, SYS_write, SYS_poll, SYS_getpid, SYS_gettid, SYS_futex};

static bool is_clean(const struct traced *t)
{
    uint64_t calls = t->log_writes;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        calls += t->calls[never[i]];
    return calls == 0;
}

static void check_calls(const struct traced *t, int64_t elapsed)
{
    uint64_t seldom = 0, often = 0;
    for (int i = 0; i < CALLS_MAX; i++)
        seldom += t->calls[i];
    for (size_t i = 0; i < sizeof each_poll / sizeof *each_poll; i++)
        often += t->calls[each_poll[i]];
    seldom -= often;
    printf("%llu polls: %llu writes, %llu reads, %llu polls of descriptors; in %lld ms %llu calls for housekeeping\n",
           (unsigned long long)t->calls[SYS_clock_nanosleep], (unsigned long long)t->calls[SYS_write],
           (unsigned long long)t->calls[SYS_read], (unsigned long long)t->calls[SYS_poll],
           (long long)(elapsed / CLOCK_MS), (unsigned long long)seldom);
    assert_int_equal(t->log_writes, 0);
    if (!COUNTS)
        return; /* a sanitizer makes calls of its own */
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        assert_int_equal(t->calls[never[i]], 0);
    assert_in_range(seldom, 0, (uint64_t)(elapsed / CLOCK_MS + 1000)); /* each 100 ms, not each poll: some ten calls */
}

TEST(a_poll_waits_and_sends_and_calls_for_nothing_else)
{
    struct scene *s = &scene;
    static struct traced t;
    s->page->records = 20;
    if (!begin_tracing(s->bezeld))
        skip();
    int64_t begun, deadline = clock_now() + PATIENCE;
    unsigned silences;
    do {
        silences = count_silences(s);
        t = (struct traced){.log_writes = 0};
        begun = clock_now();
        while (t.calls[SYS_clock_nanosleep] < POLLS && clock_now() - begun < PATIENCE)
            assert_true(count_call(s->bezeld, &t));
        assert_true(t.calls[SYS_clock_nanosleep] > 0);                    /* fewer than wanted tell as well */
    } while (COUNTS && looks_again(s, silences, is_clean(&t), deadline)); /* a sanitizer makes calls of its own */
    int64_t elapsed = clock_now() - begun;
    assert_int_equal(ptrace(PTRACE_DETACH, s->bezeld, NULL, NULL), 0);
    check_calls(&t, elapsed);
}

int main(void)
{
    return test_run(open_scene, close_scene);
}
