// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Processes that record and are not observed: each is counted once, at its first record and not before, whatever it
 * inherited, and whoever reads that by then.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/procstat.h"
#include "bezel/sensor.h"
#include "mdr/parts.h"
#include "sensor/external/notes.h"
#include "sensor/shm/marks.h"
#include "sensor/shm/segment_create.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

BEZEL_ASPECT(plain, (int64, number, "1"));
BEZEL_SPAN(work);

/* ---- What processes do ------------------------------------------------------------------------------------------- */

static int go[2], done[2]; /* a byte to the process that waits; one from it */

static void must(bool is)
{
    if (!is)
        _exit(1);
}

static void wait_to_go(void)
{
    char c;
    must(read(go[0], &c, 1) == 1);
}

static void say_done(void)
{
    must(write(done[1], "d", 1) == 1);
}

static void have_no_room(void)
{
    struct rlimit small = {4096, 4096};
    must(setrlimit(RLIMIT_FSIZE, &small) == 0);
}

static void record_without_room(void)
{
    have_no_room();
    for (int i = 0; i < 100; i++)
        bezel_record(plain, i);
}

static void work_without_room(void)
{
    have_no_room();
    for (int i = 0; i < 100; i++)
        bezel_end(work, bezel_begin(work));
}

/* Runs `body` in a child, to its end. */
static void in_a_child(void (*body)(void))
{
    pid_t pid = fork();
    must(pid >= 0);
    if (pid == 0) {
        body();
        _exit(0);
    }
    must(fixture_wait(pid) == 0);
}

static void record_and_have_a_child(void)
{
    record_without_room();
    in_a_child(record_without_room);
}

static void intern_without_room(void)
{
    have_no_room();
    (void)bezel_intern("a text");
    (void)!bezel_thread_init(0);
}

static void intern_and_record_without_room(void)
{
    intern_without_room();
    bezel_record(plain, 1);
}

static void do_nothing(void) {}

static void *have_a_child_in_a_thread(void *unused)
{
    in_a_child(record_without_room);
    return unused;
}

static void have_a_child_in_a_handler(int signal)
{
    (void)signal;
    in_a_child(record_without_room);
}

/* Nine processes that record without a room of their own, and some that do not. */
static void have_all_kinds_of_children(void *unused)
{
    (void)unused;
    pthread_t thread;
    bezel_record(plain, 0);
    in_a_child(do_nothing);
    in_a_child(intern_without_room);
    in_a_child(record_without_room);
    in_a_child(intern_and_record_without_room);
    in_a_child(record_and_have_a_child);
    must(pthread_create(&thread, NULL, have_a_child_in_a_thread, NULL) == 0);
    must(pthread_join(thread, NULL) == 0);
    signal(SIGUSR1, have_a_child_in_a_handler);
    raise(SIGUSR1);
    in_a_child(record_without_room);
    in_a_child(work_without_room);
    in_a_child(work_without_room);
    bezel_record(plain, 1);
}

/* ---- What is known of them --------------------------------------------------------------------------------------- */

static uint64_t counted; /* what the test waits for */

static bool is_counted(struct fixture *f)
{
    return external_unobserved(f->external) == counted;
}

static void await_count(struct fixture *f, uint64_t count)
{
    counted = count;
    fixture_until(f, is_counted);
}

static uint64_t node_books(struct fixture *f)
{
    static struct message_books b;
    external_node_books(f->external, clock_now(), &b);
    assert_int_equal(b.instance, 0);
    assert_int_equal(b.row_count, 0);
    return b.unobserved;
}

/* What the books of the processes that are there tell. */
static uint64_t books_of_processes(struct fixture *f)
{
    static struct message_books b;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < external_process_count(f->external); i++)
        if (external_process(f->external, i)) {
            external_books(external_process(f->external, i), clock_now(), &b);
            sum += b.unobserved;
        }
    return sum;
}

static bool says(const struct fixture *f, const char *text)
{
    for (uint32_t i = 0; i < external_note_count(f->external); i++)
        if (strcmp(external_note(f->external, i)->code, "BEZEL-NO-SEGMENT") == 0 &&
            strstr(external_note(f->external, i)->text, text))
            return true;
    return false;
}

static void open_pipes(void)
{
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(done), 0);
}

static void close_pipes(void)
{
    for (int i = 0; i < 2; i++)
        close(go[i]), close(done[i]);
}

static void let_go(void)
{
    assert_int_equal(write(go[1], "g", 1), 1);
}

static void hear_done(void)
{
    char c;
    assert_int_equal(read(done[0], &c, 1), 1);
}

/* ---- Children ---------------------------------------------------------------------------------------------------- */

TEST(each_child_that_records_is_counted_and_no_other)
{
    struct fixture f = {.dir = ""};
    fixture_observe(&f, have_all_kinds_of_children);
    assert_int_equal(f.records, 2);
    assert_int_equal(external_unobserved(f.external), 9);
    assert_int_equal(books_of_processes(&f) + node_books(&f), 9); /* the first may come before their parent is found */
    assert_true(says(&f, "cannot make a segment in "));
    fixture_end(&f);
}

static void have_a_child_when_told(void *unused)
{
    (void)unused;
    bezel_record(plain, 0);
    say_done();
    wait_to_go();
    in_a_child(record_without_room);
    say_done();
    wait_to_go();
}

/* Its parent was there before anybody listened: it has no doorbell, and nobody could tell it of one. */
TEST(a_child_of_a_process_that_was_there_before_is_counted)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    open_pipes();
    scratch_make(f.dir);
    setenv("BEZEL_DIR", f.dir, 1);
    pid_t pid = fixture_spawn(have_a_child_when_told, NULL);
    hear_done();
    fixture_reopen(&f);
    assert_int_equal(external_process_count(f.external), 1);
    let_go();
    hear_done();
    await_count(&f, 1);
    assert_int_equal(books_of_processes(&f), 1);
    assert_true(says(&f, " is not observed: cannot make a segment in "));
    external_close(f.external, false); /* killed: its next life counts the same */
    fixture_reopen(&f);
    await_count(&f, 1);
    let_go();
    assert_int_equal(fixture_wait(pid), 0);
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(books_of_processes(&f), 1);
    fixture_end(&f);
    close_pipes();
}

static void record_and_have_a_child_at_once(void *unused)
{
    (void)unused;
    bezel_record(plain, 0);
    in_a_child(record_without_room);
}

/* Nobody has found it yet, and nobody may ever do so. */
TEST(a_child_of_a_process_that_nobody_has_found_is_counted_by_the_node)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    fixture_open(&f);
    assert_int_equal(fixture_wait(fixture_spawn(record_and_have_a_child_at_once, NULL)), 0);
    notes_take_refusals(f.external, clock_now());
    assert_int_equal(external_process_count(f.external), 0);
    assert_int_equal(node_books(&f), 1);
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(external_unobserved(f.external), 1); /* and once, though it is found after all */
    fixture_end(&f);
}

static void leave_a_child_behind(void *unused)
{
    (void)unused;
    bezel_record(plain, 0);
    pid_t pid = fork();
    must(pid >= 0);
    if (pid > 0)
        _exit(0);
    wait_to_go();
    record_without_room();
    say_done();
}

/* A daemon: who started it has ended, and its books are closed, when it finds that it cannot record. */
TEST(who_outlives_its_parent_is_counted_by_the_node)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    open_pipes();
    fixture_open(&f);
    assert_int_equal(fixture_wait(fixture_spawn(leave_a_child_behind, NULL)), 0);
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(external_unobserved(f.external), 0);
    let_go();
    hear_done();
    await_count(&f, 1);
    assert_int_equal(node_books(&f), 1);
    assert_int_equal(books_of_processes(&f), 0);
    fixture_end(&f);
    close_pipes();
}

enum { BORROWED = 3, OWN = 100 };

static bool borrowed;

static int only_borrow(void *unused)
{
    (void)unused;
    borrowed = true;
    _exit(0);
}

static int borrow_and_record(void *unused)
{
    (void)unused;
    for (int i = 0; i < BORROWED; i++)
        bezel_record(plain, i);
    _exit(0);
}

/* Runs `body` in a child as of vfork(). */
static void lend(int (*body)(void *unused))
{
    static _Alignas(64) char stack[1 << 17];
    pid_t pid = clone(body, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    must(pid > 0);
    must(fixture_wait(pid) == 0);
}

static void lend_memory(void *unused)
{
    (void)unused;
    lend(borrow_and_record);
}

/* Emulators make it a fork, and no memory is shared. */
static void need_lending(void)
{
    lend(only_borrow);
    if (!*(volatile bool *)&borrowed)
        skip();
}

static void lend_memory_and_record(void *unused)
{
    lend_memory(unused);
    for (int i = 0; i < OWN; i++)
        bezel_record(plain, i);
}

TEST(a_child_that_shares_memory_is_counted_and_leaves_its_parent_observed)
{
    struct message_books_row sum;
    struct fixture f = {.dir = ""};
    need_lending();
    fixture_observe(&f, lend_memory_and_record);
    assert_int_equal(f.records, OWN);
    assert_int_equal(fixture_books(&f, "plain", &sum), 0);
    assert_int_equal(sum.attempts, OWN + BORROWED);
    assert_int_equal(sum.no_ring, BORROWED);
    assert_int_equal(external_unobserved(f.external), 1);
    fixture_end(&f);
}

TEST(a_child_that_shares_memory_is_counted_where_its_parent_never_records)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    need_lending();
    fixture_open(&f);
    assert_int_equal(fixture_wait(fixture_spawn(lend_memory, NULL)), 0);
    await_count(&f, 1);
    assert_int_equal(node_books(&f), 1);
    assert_true(says(&f, "vfork(2)"));
    fixture_end(&f);
}

/* ---- Others ------------------------------------------------------------------------------------------------------ */

static void be_many_without_room(void *unused)
{
    (void)unused;
    for (int i = 0; i < 3 * DOORBELL_REFUSALS; i++)
        in_a_child(record_without_room);
    in_a_child(intern_without_room);
}

TEST(who_has_no_parent_with_a_segment_is_counted_by_the_node)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    fixture_open(&f);
    assert_int_equal(fixture_wait(fixture_spawn(be_many_without_room, NULL)), 0);
    await_count(&f, 3 * DOORBELL_REFUSALS);
    external_close(f.external, false);
    fixture_reopen(&f);
    await_count(&f, 3 * DOORBELL_REFUSALS);
    assert_int_equal(node_books(&f), 3 * DOORBELL_REFUSALS);
    fixture_end(&f);
}

static void record_in_another_folder(void)
{
    char other[SCRATCH_PATH];
    scratch_make(other);
    setenv("BEZEL_DIR", other, 1);
    bezel_record(plain, 1);
    in_a_child(record_without_room); /* and one whose parent is read by nobody */
    scratch_remove(other);
}

/* As after chroot(), or where somebody removed the folder: a segment can be made, and is found by nobody. */
static void record_where_nobody_reads(void *unused)
{
    (void)unused;
    bezel_record(plain, 0);
    in_a_child(record_in_another_folder);
}

TEST(who_makes_its_segment_where_nobody_reads_is_counted)
{
    struct fixture f = {.dir = ""};
    fixture_observe(&f, record_where_nobody_reads);
    assert_int_equal(external_unobserved(f.external), 2);
    assert_true(says(&f, "is not what bezeld reads"));
    fixture_end(&f);
}

/* ---- Without room ------------------------------------------------------------------------------------------------ */

static bool nobody_is_looked_for(struct fixture *f)
{
    return external_finished(f->external);
}

static void record_once(void *unused)
{
    (void)unused;
    bezel_record(plain, 0);
}

/* A process that this one has no room for, since it may not have more of `which`. */
static void leave_out(__rlimit_resource_t which, const char *why)
{
    struct fixture f = {.dir = ""};
    struct rlimit before, small;
    fixture_open(&f);
    fixture_turn(&f);
    assert_int_equal(fixture_wait(fixture_spawn(record_once, NULL)), 0);
    assert_int_equal(getrlimit(which, &before), 0);
    small = (struct rlimit){1, before.rlim_max};
    assert_int_equal(setrlimit(which, &small), 0);
    external_finish(f.external, clock_now());
    fixture_until(&f, nobody_is_looked_for);
    assert_int_equal(setrlimit(which, &before), 0);
    assert_true(external_counts(f.external)->unread > 0);
    const struct message_note *n = external_note(f.external, external_note_count(f.external) - 1);
    assert_string_equal(n->code, "BEZEL-UNREAD");
    if (!strstr(n->text, why) || !strstr(external_counts(f.external)->unread_why, why))
        fail_msg("of a limit for which %s is raised it is said: %s", why, n->text);
    fixture_discard(&f);
}

/* Whether memory can be limited: not that of a sanitizer, which needs more itself, nor under some emulators. */
static bool memory_can_be_limited(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    return false;
#else
    const size_t size = 1 << 20;
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    small = (struct rlimit){1, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &small), 0);
    void *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    return at == MAP_FAILED || munmap(at, size) != 0;
#endif
}

TEST(what_there_was_no_room_for_is_named)
{
    leave_out(RLIMIT_NOFILE, "ulimit -n");
    if (memory_can_be_limited())
        leave_out(RLIMIT_AS, "ulimit -v");
}

/* ---- Marks ------------------------------------------------------------------------------------------------------- */

static struct marks_callers callers;
static struct segment_launcher launcher; /* the test's process */
static char marks[128];                  /* the file of its marks */
static int before;

static void become_launcher(struct fixture *f)
{
    char folder[FILE_DEFAULT_DIR_BYTES], name[SEGMENT_MARKS_NAME_BYTES];
    struct procstat self;
    *f = (struct fixture){.options = {.batch = true, .take_all = true}};
    fixture_open(f);
    assert_true(procstat_read(0, &self));
    launcher = (struct segment_launcher){getpid(), geteuid(), self.start_time, procstat_namespace()};
    file_default_dir(folder);
    segment_name_marks(&launcher, name);
    snprintf(marks, sizeof marks, "%s/%s", folder, name);
    before = open(".", O_PATH | O_CLOEXEC);
    assert_int_equal(chdir(f->dir), 0);
}

static void be_no_launcher(struct fixture *f)
{
    assert_int_equal(fchdir(before), 0);
    close(before);
    fixture_end(f);
}

TEST(marks_are_counted_once_and_no_link_is_followed)
{
    struct fixture f;
    char target[PATH_MAX + 8];
    become_launcher(&f);
    for (int i = 0; i < 3; i++)
        assert_true(segment_leave_mark(&launcher));
    marks_take(&callers);
    await_count(&f, 3);
    assert_int_equal(node_books(&f), 3);
    assert_true(says(&f, "who may not write in the node's folder"));
    assert_int_not_equal(access(marks, F_OK), 0);
    snprintf(target, sizeof target, "%s/target", f.dir);
    assert_int_equal(file_replace(target, (char[sizeof(struct segment_mark)]){0}, sizeof(struct segment_mark)), 0);
    assert_int_equal(symlink(target, marks), 0);
    assert_true(segment_leave_mark(&launcher)); /* elsewhere */
    marks_take(&callers);
    assert_int_not_equal(lstat(marks, &(struct stat){0}), 0);
    fixture_turn(&f);
    assert_int_equal(external_unobserved(f.external), 4);
    assert_int_equal(unlink(target), 0);
    be_no_launcher(&f);
}

static void leave_a_mark(void *unused)
{
    (void)unused;
    must(segment_leave_mark(&launcher));
}

static void wait_for_ever(void *unused)
{
    (void)unused;
    for (;;)
        pause();
}

TEST(who_signals_the_launcher_counts_once_whether_its_mark_is_seen_or_not)
{
    struct fixture f;
    sigset_t urgent;
    siginfo_t info;
    become_launcher(&f);
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    assert_int_equal(sigprocmask(SIG_BLOCK, &urgent, NULL), 0);
    pid_t marked = fixture_spawn(leave_a_mark, NULL), unmarked = fixture_spawn(wait_for_ever, NULL);
    assert_int_equal(fixture_wait(marked), 0);
    assert_int_equal(sigtimedwait(&urgent, &info, &(struct timespec){0}), SIGURG);
    assert_int_equal(info.si_pid, marked);
    for (int i = 0; i < 2; i++) {
        marks_add_caller(&callers, marked); /* which is gone */
        marks_add_caller(&callers, unmarked);
        marks_add_caller(&callers, getppid()); /* no descendant */
    }
    assert_int_equal(callers.count, 2);
    marks_take(&callers);
    await_count(&f, 2);
    assert_true(says(&f, "it is of another user than the launcher, or in a user namespace with another /dev/shm"));
    assert_int_equal(callers.count, 0);
    /* An entry without a name may be its. */
    assert_int_equal(file_replace(marks, (char[sizeof(struct segment_mark)]){0}, sizeof(struct segment_mark)), 0);
    marks_add_caller(&callers, unmarked);
    marks_take(&callers);
    await_count(&f, 3);
    assert_int_equal(kill(unmarked, SIGKILL), 0);
    (void)fixture_wait(unmarked);
    assert_int_equal(sigprocmask(SIG_UNBLOCK, &urgent, NULL), 0);
    be_no_launcher(&f);
}

/* ---- Hostile counts ---------------------------------------------------------------------------------------------- */

TEST(a_count_that_is_scribbled_on_never_falls_and_stays_in_bounds)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    open_pipes();
    fixture_open(&f);
    pid_t pid = fixture_spawn(have_a_child_when_told, NULL);
    hear_done();
    fixture_turn(&f);
    while (external_process_count(f.external) == 0)
        fixture_turn(&f);
    _Atomic uint32_t *count = &external_process(f.external, 0)->at->segment->unobserved;
    atomic_store(count, UINT32_MAX);
    await_count(&f, UNOBSERVED_MAX);
    atomic_store(count, 0);
    fixture_turn(&f);
    assert_int_equal(external_unobserved(f.external), UNOBSERVED_MAX);
    let_go();
    hear_done();
    let_go();
    assert_int_equal(fixture_wait(pid), 0);
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(books_of_processes(&f), UNOBSERVED_MAX);
    fixture_end(&f);
    close_pipes();
}
