// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The segment that a process makes of its own, from both sides: who is found alive, row by row of the truth table of
 * segment_alive(); memory with and without the descriptor; whose the files are; what is said where it cannot be made.
 */
#include "sensor/shm/segment_create.h"
#include "base/clock.h"
#include "base/procstat.h"
#include "base/sigbus_guard.h"
#include "sensor/external/attach.h"
#include "sensor/internal/internal.h"
#include "tests/lib/attach_scratch.h"
#include "tests/lib/namespaces.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static bool clock_stands; /* as if two processes came at the same moment */

int64_t __wrap_clock_now(void);
int64_t __real_clock_now(void);

int64_t __wrap_clock_now(void)
{
    return clock_stands ? 5000 * CLOCK_US : __real_clock_now();
}

static int interruptions; /* of the reservations to come */

int __wrap_posix_fallocate64(int fd, off_t offset, off_t bytes);
int __real_posix_fallocate64(int fd, off_t offset, off_t bytes);

int __wrap_posix_fallocate64(int fd, off_t offset, off_t bytes)
{
    return interruptions > 0 && interruptions-- > 0 ? EINTR : __real_posix_fallocate64(fd, offset, bytes);
}

/* ---- A process that has a segment -------------------------------------------------------------------------------- */

struct child {
    pid_t pid;
    int say, hear; /* a byte in either direction */
};

typedef void body(struct segment_owned *own, struct child *c);

static void say(int fd, char what)
{
    assert_int_equal(write(fd, &what, 1), 1);
}

static char hear(int fd)
{
    char what = '\0';
    return read(fd, &what, 1) == 1 ? what : '\0';
}

/* Starts a child that runs `run` with a segment of its own in `dir`; it is there when this returns. */
static struct child start(body *run)
{
    int up[2], down[2];
    struct child c;
    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    c.pid = fork();
    assert_true(c.pid >= 0);
    if (c.pid == 0) {
        static struct segment_owned own = {.fd = -1};
        struct child self = {.say = up[1], .hear = down[0]};
        close(up[0]);
        close(down[1]);
        run(&own, &self);
        _exit(0);
    }
    close(up[1]);
    close(down[0]);
    c.hear = up[0];
    c.say = down[1];
    return c;
}

static void end(struct child *c, int signal)
{
    if (signal)
        kill(c->pid, signal);
    close(c->say);
    close(c->hear);
    assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

/* Waits until the reader finds it ended, ten seconds at most. */
static bool ends(const struct attached *a)
{
    for (int i = 0; i < 1000; i++) {
        if (!segment_alive(a))
            return true;
        usleep(10000);
    }
    return false;
}

static void must_make(struct segment_owned *own)
{
    if (!segment_create(own, scratch_dir))
        _exit(1);
}

static void live(struct segment_owned *own, struct child *c)
{
    must_make(own);
    say(c->say, 'm');
    hear(c->hear);
}

static void close_everything(struct segment_owned *own, struct child *c)
{
    must_make(own);
    for (int fd = 3; fd < 256; fd++)
        if (fd != c->say && fd != c->hear)
            close(fd);
    say(c->say, segment_holds_fd(own) ? 'h' : 'm');
    hear(c->hear);
}

static void become_another_program(struct segment_owned *own, struct child *c)
{
    must_make(own);
    say(c->say, 'm');
    hear(c->hear);
    execlp("sleep", "sleep", "100", (char *)NULL);
}

/* A fork that libbezel hears nothing of: the child keeps mapping and descriptor, and with them the lock. */
static void fork_behind_its_back(struct segment_owned *own, struct child *c)
{
    must_make(own);
    if (_Fork() == 0) {
        say(c->say, 'm');
        hear(c->hear);
        _exit(0);
    }
    for (;;)
        pause();
}

/* ---- The truth table --------------------------------------------------------------------------------------------- */

TEST_WITH(scratch_begin, scratch_end, a_living_process_lives_and_a_killed_one_does_not)
{
    struct child c = start(live);
    assert_int_equal(hear(c.hear), 'm');
    struct attached *a = attach_scratch();
    assert_true(segment_alive(a));
    assert_int_equal(a->pid_namespace, procstat_namespace());
    end(&c, SIGKILL);
    assert_false(segment_alive(a));
    segment_detach(a, true);
}

TEST_WITH(scratch_begin, scratch_end, a_process_that_closes_its_descriptors_lives)
{
    struct child c = start(close_everything);
    assert_int_equal(hear(c.hear), 'm');
    struct attached *a = attach_scratch();
    assert_true(segment_alive(a));
    a->pid_namespace++; /* as seen from another namespace */
    assert_true(segment_alive(a));
    end(&c, SIGKILL);
    assert_false(segment_alive(a));
    segment_detach(a, true);
}

TEST_WITH(scratch_begin, scratch_end, a_process_that_became_another_program_is_found_ended)
{
    struct child c = start(become_another_program);
    assert_int_equal(hear(c.hear), 'm');
    struct attached *a = attach_scratch();
    assert_true(segment_alive(a));
    say(c.say, 'g');
    assert_true(ends(a));
    assert_int_equal(kill(c.pid, 0), 0); /* though it lives */
    end(&c, SIGKILL);
    segment_detach(a, true);
}

TEST_WITH(scratch_begin, scratch_end, a_child_does_not_keep_its_dead_parent_alive)
{
    struct child c = start(fork_behind_its_back);
    assert_int_equal(hear(c.hear), 'm');
    struct attached *a = attach_scratch();
    assert_true(segment_alive(a));
    kill(c.pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)c.pid, &info, WEXITED | WNOWAIT), 0);
    assert_false(segment_alive(a)); /* a zombie */
    assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
    assert_false(segment_alive(a)); /* gone; its child holds the lock */
    a->pid_namespace++;
    assert_true(segment_alive(a)); /* a pid of another namespace tells nothing: the lock decides */
    a->pid_namespace = 0;
    assert_true(segment_alive(a)); /* nor does one of a namespace that is not known */
    close(c.say);
    assert_true(ends(a));
    close(c.hear);
    segment_detach(a, true);
}

TEST_WITH(scratch_begin, scratch_end, a_later_process_of_the_same_pid_is_another)
{
    struct child c = start(fork_behind_its_back);
    assert_int_equal(hear(c.hear), 'm');
    struct attached *a = attach_scratch();
    assert_true(segment_alive(a));
    a->start_time--;
    assert_false(segment_alive(a));
    a->start_time = 0; /* not known */
    assert_true(segment_alive(a));
    kill(c.pid, SIGKILL);
    end(&c, 0);
    segment_detach(a, true);
}

/* ---- Namespaces -------------------------------------------------------------------------------------------------- */

/* Enters new namespaces of the kinds in `flags`, as root or, where we are not, as root of a user namespace. */
static bool enter(int flags)
{
    return unshare(flags) == 0 || unshare(CLONE_NEWUSER | flags) == 0;
}

static void live_in_another_pid_namespace(struct segment_owned *own, struct child *c)
{
    pid_t init = enter(CLONE_NEWPID) ? fork() : -1;
    if (init < 0) {
        say(c->say, 's');
        _exit(0);
    }
    if (init == 0) { /* pid 1: its own view of /proc is not of its namespace */
        must_make(own);
        say(c->say, getpid() == 1 ? 'm' : '?');
        hear(c->hear);
        _exit(0);
    }
    waitpid(init, NULL, 0);
}

TEST_WITH(scratch_begin, scratch_end, a_process_of_another_pid_namespace_is_told_by_its_lock)
{
    struct child c = start(live_in_another_pid_namespace);
    char said = hear(c.hear);
    if (said == 's') {
        print_message("skipped: this kernel allows no pid namespace\n");
        end(&c, 0);
        skip();
    }
    assert_int_equal(said, 'm');
    struct attached *a = attach_scratch();
    assert_int_equal(a->pid, 1);
    assert_int_not_equal(a->pid_namespace, procstat_namespace());
    assert_true(segment_alive(a)); /* though our pid 1 is another process */
    end(&c, 0);
    assert_false(segment_alive(a));
    segment_detach(a, true);
}

TEST_WITH(scratch_begin, scratch_end, two_processes_of_one_number_and_moment_have_two_segments)
{
    struct segment_owned one = {.fd = -1}, two = {.fd = -1};
    clock_stands = true;
    bool made = segment_create(&one, scratch_dir) && segment_create(&two, scratch_dir);
    clock_stands = false;
    assert_true(made);
    assert_int_not_equal(one.segment->instance, two.segment->instance);
    assert_string_not_equal(one.path, two.path);
    unlink(one.path);
    unlink(two.path);
    segment_forget(&one);
    segment_forget(&two);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static uint64_t allocated(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

TEST_WITH(scratch_begin, scratch_end, memory_is_there_once_it_is_reserved)
{
    struct segment_owned own = {.fd = -1};
    errno = EXDEV;
    assert_true(segment_create(&own, scratch_dir));
    assert_int_equal(errno, EXDEV);
    const struct segment *s = own.segment;
    uint64_t before = allocated(own.path);
    errno = EXDEV;
    assert_int_equal(segment_reserve(&own, s->ring_offset, s->ring_stride), 0);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(allocated(own.path), before + s->ring_stride);
    close(own.fd); /* as the program may */
    int err = segment_reserve(&own, s->ring_offset + 3 * s->ring_stride, s->ring_stride);
    if (err == BEZEL_EINVAL)
        print_message("this kernel knows no MADV_POPULATE_WRITE\n");
    else
        assert_int_equal(err, 0);
    assert_int_equal(allocated(own.path), before + (err ? 1 : 2) * s->ring_stride);
    unlink(own.path);
    segment_forget(&own);
}

static long locked_kib(void)
{
    long kib = -1;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    assert_non_null(f);
    while (kib < 0 && fgets(line, sizeof line, f))
        sscanf(line, "VmLck: %ld", &kib);
    fclose(f);
    return kib;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool mlock_works = false; /* sanitizers make nothing of it */
#else
static const bool mlock_works = true;
#endif

TEST_WITH(scratch_begin, scratch_end, memory_can_be_locked_or_the_limit_is_told)
{
    struct segment_owned own = {.fd = -1};
    struct rlimit limit;
    assert_true(segment_create(&own, scratch_dir));
    const struct segment *s = own.segment;
    assert_int_equal(segment_reserve(&own, s->ring_offset, s->ring_stride), 0);
    long before = locked_kib();
    errno = EXDEV;
    int err = segment_lock(&own, s->ring_offset, s->ring_stride);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
    if (err)
        assert_true(limit.rlim_cur < s->ring_stride);
    else if (mlock_works)
        assert_int_equal(locked_kib() - before, s->ring_stride / 1024);
    unlink(own.path);
    segment_forget(&own);
}

/* The number of our descriptor may be a file of the program's by now: that one is not touched. */
TEST_WITH(scratch_begin, scratch_end, a_file_of_the_program_in_our_descriptors_place_is_left_alone)
{
    struct segment_owned own = {.fd = -1};
    char path[SCRATCH_PATH + 16];
    struct stat st;
    assert_true(segment_create(&own, scratch_dir));
    snprintf(path, sizeof path, "%s/theirs", scratch_dir);
    int theirs = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_int_equal(dup2(theirs, own.fd), own.fd);
    (void)!segment_reserve(&own, own.segment->ring_offset, own.segment->ring_stride);
    assert_int_equal(fstat(theirs, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(st.st_blocks, 0);
    unlink(own.path);
    int copy = own.fd;
    segment_forget(&own);
    assert_int_equal(fstat(copy, &st), 0);
    close(copy);
    close(theirs);
    unlink(path);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
    (void)signal;
    alarms++;
}

TEST_WITH(scratch_begin, scratch_end, signals_do_not_keep_memory_from_being_reserved)
{
    struct segment_owned own = {.fd = -1};
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    struct sigaction on = {.sa_handler = on_alarm}, was;
    assert_true(segment_create(&own, scratch_dir));
    const struct segment *s = own.segment;
    sigaction(SIGALRM, &on, &was);
    setitimer(ITIMER_REAL, &often, NULL);
    int err = 0;
    for (uint32_t i = 0; i < 64 && !err; i++)
        err = segment_reserve(&own, s->ring_offset + i * s->ring_stride, s->ring_stride);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &was, NULL);
    assert_int_equal(err, 0);
    unlink(own.path);
    segment_forget(&own);
}

/* No mask keeps out what stops a process: SIGSTOP, a debugger, the freezer of a control group. */
/* A program prints to a standard stream that it does not have, a shell script to 3 to 9 if one is open. */
TEST_WITH(scratch_begin, scratch_end, the_segment_gets_no_number_that_a_program_may_take_for_its_own)
{
    static const struct {
        rlim_t files; /* that may be open: up to here a number is to be had */
        int least;
    } cases[] = {{1024, 200}, {201, 200}, {200, STDERR_FILENO + 1}, {64, STDERR_FILENO + 1}};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct segment_owned own = {.fd = -1};
        int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
        close(STDIN_FILENO);
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){cases[i].files, before.rlim_max});
        bool made = segment_create(&own, scratch_dir);
        setrlimit(RLIMIT_NOFILE, &before);
        int low = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_int_equal(low, STDIN_FILENO); /* nothing keeps the number that it had at first */
        close(low);
        if (in >= 0) {
            dup2(in, STDIN_FILENO);
            close(in);
        }
        assert_true(made);
        assert_true(own.fd >= cases[i].least && segment_holds_fd(&own));
        assert_true(fcntl(own.fd, F_GETFD) & FD_CLOEXEC);
        unlink(own.path);
        segment_forget(&own);
    }
}

TEST_WITH(scratch_begin, scratch_end, stops_do_not_keep_a_segment_from_being_made)
{
    struct segment_owned own = {.fd = -1};
    interruptions = 3;
    bool made = segment_create(&own, scratch_dir);
    assert_int_equal(interruptions, 0);
    assert_true(made);
    unlink(own.path);
    segment_forget(&own);
    interruptions = INT_MAX; /* it does not wait for ever */
    made = segment_create(&own, scratch_dir);
    interruptions = 0;
    assert_false(made);
}

/* On a file system of `megabytes`: 's' where we may not mount one, else what segment_reserve() says with and without
 * fd. */
static void fill_a_small_file_system(struct segment_owned *own, struct child *c)
{
    char path[SCRATCH_PATH + 8];
    snprintf(path, sizeof path, "%s/small", scratch_dir);
    if (mkdir(path, 0700) != 0 || !namespaces_enter() || mount("small", path, "tmpfs", 0, "size=1m,mode=0700") != 0) {
        say(c->say, 's');
        return;
    }
    if (!segment_create(own, path)) {
        say(c->say, '?');
        return;
    }
    const struct segment *s = own->segment;
    uint32_t held = 0;
    int err = 0;
    while (held < SEGMENT_RINGS_DEFAULT &&
           (err = segment_reserve(own, s->ring_offset + held * s->ring_stride, s->ring_stride)) == 0)
        held++;
    say(c->say, held > 0 && err == BEZEL_ENOSPC ? 'f' : '?');
    close(own->fd);
    err = segment_reserve(own, s->ring_offset + held * s->ring_stride, s->ring_stride);
    say(c->say, err == BEZEL_ENOSPC || err == BEZEL_EINVAL ? 'f' : '?');
    memset((char *)own->segment + s->ring_offset, 1, held * s->ring_stride); /* what is reserved is there */
    say(c->say, 'd');
}

TEST_WITH(scratch_begin, scratch_end, a_full_file_system_is_an_error_and_no_signal)
{
    struct child c = start(fill_a_small_file_system);
    char said = hear(c.hear);
    if (said == 's') {
        print_message("skipped: no file system may be mounted here\n");
        end(&c, 0);
        skip();
    }
    assert_int_equal(said, 'f');
    assert_int_equal(hear(c.hear), 'f');
    assert_int_equal(hear(c.hear), 'd');
    end(&c, 0);
}

/* ---- Whose the files are ----------------------------------------------------------------------------------------- */

static unsigned mode_made(mode_t of_folder, mode_t mask)
{
    struct segment_owned own = {.fd = -1};
    struct stat st;
    char folder[SCRATCH_PATH];
    scratch_make(folder);
    assert_int_equal(chmod(folder, of_folder), 0);
    mode_t was = umask(mask);
    assert_true(segment_create(&own, folder));
    umask(was);
    assert_int_equal(stat(own.path, &st), 0);
    segment_forget(&own);
    scratch_remove(folder);
    return st.st_mode & 07777;
}

TEST_WITH(scratch_begin, scratch_end, files_are_the_folders_groups_as_far_as_the_folder_says_and_never_the_worlds)
{
    assert_int_equal(mode_made(0700, 022), 0600);
    assert_int_equal(mode_made(0700, 0), 0600);
    assert_int_equal(mode_made(02770, 077), 0660);
    assert_int_equal(mode_made(0770, 022), 0660);
    assert_int_equal(mode_made(02750, 0), 0640);
}

/* ---- What is said ------------------------------------------------------------------------------------------------ */

static struct doorbell *hang_doorbell(void)
{
    static struct doorbell bell;
    char path[SCRATCH_PATH + 16];
    bell = (struct doorbell){.magic = DOORBELL_MAGIC};
    snprintf(path, sizeof path, "%s/" DOORBELL_NAME, scratch_dir);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, &bell, sizeof bell), sizeof bell);
    void *at = mmap(NULL, sizeof bell, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(at != MAP_FAILED);
    close(fd);
    return at;
}

TEST_WITH(scratch_begin, scratch_end, a_process_that_cannot_make_its_segment_says_why_in_the_doorbell)
{
    struct segment_owned own = {.fd = -1};
    struct attached_refusal r;
    uint32_t seen = 0;
    struct doorbell *bell = hang_doorbell();
    struct rlimit was, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    small = (struct rlimit){4096, was.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    setenv("BEZEL_PROCESS", "without.1", 1);
    for (uint32_t i = 1; i <= 2 * DOORBELL_REFUSALS; i++) {
        errno = EXDEV; /* it is called inside the program's own code, and in its signal handlers */
        assert_false(segment_create(&own, scratch_dir));
        assert_int_equal(unobserved_read(&bell->unobserved), i - 1); /* it may never record */
        assert_true(segment_refuse(bell, own.why_not));
        assert_int_equal(errno, EXDEV);
        assert_int_equal(unobserved_read(&bell->unobserved), i); /* also of whom there is no place to say more */
    }
    unsetenv("BEZEL_PROCESS");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    for (int i = 0; i < DOORBELL_REFUSALS; i++) {
        assert_int_equal(doorbell_next_refusal(bell, &seen, &r), 1);
        assert_string_equal(r.name, "without.1");
        assert_int_equal(r.pid, getpid());
        assert_false(r.foreign);
        assert_non_null(strstr(r.text, "cannot make a segment in "));
        assert_non_null(strstr(r.text, "File too large"));
    }
    assert_int_equal(doorbell_next_refusal(bell, &seen, &r), 0);
    munmap(bell, sizeof *bell);
}

TEST_WITH(scratch_begin, scratch_end, who_comes_after_the_last_look_is_told_that_nobody_reads)
{
    struct doorbell *bell = hang_doorbell();
    assert_true(segment_refuse(bell, "one"));
    assert_int_equal(unobserved_stop(&bell->unobserved), 1);
    assert_false(segment_refuse(bell, "two"));
    assert_int_equal(unobserved_stop(&bell->unobserved), 2); /* nobody looks at it any more: it may be anything */
    assert_false(segment_refuse(bell, "three"));
    munmap(bell, sizeof *bell);
}

TEST_WITH(scratch_begin, scratch_end, a_scribbled_doorbell_is_read_in_bounds)
{
    struct attached_refusal r;
    uint32_t seen = 0;
    struct doorbell *bell = hang_doorbell();
    memset((void *)bell->refusals, 0xff, sizeof bell->refusals);
    int n = 0;
    while (doorbell_next_refusal(bell, &seen, &r)) {
        assert_true(strlen(r.name) < sizeof r.name && strlen(r.text) < sizeof r.text);
        for (const char *c = r.text; *c; c++)
            assert_int_equal(*c, '?');
        n++;
    }
    assert_int_equal(n, DOORBELL_REFUSALS);
    munmap(bell, sizeof *bell);
}

TEST_WITH(scratch_begin, scratch_end, notices_are_told_once_each_and_bounded)
{
    struct segment_owned own = {.fd = -1};
    struct attached_notice n;
    setenv("BEZEL_RING_RECORDS", "3", 1);
    setenv("BEZEL_WHEN_FULL", "explode", 1);
    assert_true(segment_create(&own, scratch_dir));
    unsetenv("BEZEL_RING_RECORDS");
    unsetenv("BEZEL_WHEN_FULL");
    struct attached *a = attach_scratch();
    assert_int_equal(segment_next_notice(a, &n), 1);
    assert_string_equal(n.code, "BEZEL-RING-RECORDS");
    assert_non_null(strstr(n.text, "BEZEL_RING_RECORDS=3 is not a power of two from 64 to 1048576: using 4096"));
    assert_int_equal(segment_next_notice(a, &n), 1);
    assert_string_equal(n.code, "BEZEL-WHEN-FULL");
    assert_int_equal(own.segment->when_full, SEGMENT_DISCARD);
    assert_int_equal(segment_next_notice(a, &n), 0);
    errno = EXDEV;
    for (int i = 0; i < 5; i++)
        sensor_notice(own.segment, "BEZEL-TEST", "%s: %d of %llu, %lu, %zu%% %ld %u %lld", "text", -7,
                      (unsigned long long)UINT64_MAX, 5ul, sizeof(int), -1l, 9u, (long long)INT64_MIN);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(segment_next_notice(a, &n), 1);
    assert_string_equal(n.text, "text: -7 of 18446744073709551615, 5, 4% -1 9 -9223372036854775808");
    assert_int_equal(segment_next_notice(a, &n), 0);
    for (unsigned i = 0; i < 100; i++)
        sensor_notice(own.segment, "BEZEL-TEST", "number %u", i);
    for (unsigned i = 0; i < SEGMENT_NOTICES_A_CODE - 1; i++) {
        char text[32];
        snprintf(text, sizeof text, "number %u", i);
        assert_int_equal(segment_next_notice(a, &n), 1);
        assert_string_equal(n.text, text);
    }
    assert_int_equal(segment_next_notice(a, &n), 1);
    assert_string_equal(n.code, "BEZEL-NOTICES");
    unsigned told = 2 + SEGMENT_NOTICES_A_CODE; /* one code does not take another's place */
    for (; told < SEGMENT_NOTICES; told++) {
        char code[32];
        snprintf(code, sizeof code, "BEZEL-%u", told);
        sensor_notice(own.segment, code, "another");
        assert_int_equal(segment_next_notice(a, &n), 1);
        assert_string_equal(n.code, code);
    }
    sensor_notice(own.segment, "BEZEL-LAST", "finds no place");
    assert_int_equal(segment_next_notice(a, &n), 0);
    segment_detach(a, true);
    segment_forget(&own);
}

TEST_WITH(scratch_begin, scratch_end, a_long_sentence_and_scribbled_notices_stay_in_bounds)
{
    struct segment_owned own = {.fd = -1};
    struct attached_notice n;
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_true(segment_create(&own, scratch_dir));
    struct attached *a = attach_scratch();
    sensor_notice(own.segment, "BEZEL-LONG", "%s", text);
    assert_int_equal(segment_next_notice(a, &n), 1);
    assert_int_equal(strlen(n.text), SEGMENT_NOTICE_BYTES - 1);
    memset((void *)own.segment->notices, 0x81, sizeof own.segment->notices);
    own.segment->notices_dropped = 7;
    own.segment->notice_count = UINT32_MAX;
    sensor_notice(own.segment, "BEZEL-LATE", "there is no place: %s", "nothing is written");
    int told = 0;
    for (; segment_next_notice(a, &n); told++) {
        assert_true(strlen(n.code) < sizeof n.code);
        assert_true(strlen(n.text) < sizeof n.text);
    }
    assert_int_equal(told, SEGMENT_NOTICES - 1 + 1);
    segment_detach(a, true);
    segment_forget(&own);
}

int main(void)
{
    sigbus_guard_init();
    return test_run(NULL, NULL);
}
