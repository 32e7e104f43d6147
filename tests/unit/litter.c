// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* What killed programs leave in a folder: what of it the next program removes, and what it leaves alone. */
#include "sensor/shm/litter.h"
#include "base/procstat.h"
#include "base/sigbus_guard.h"
#include "sensor/external/attach.h"
#include "sensor/shm/segment_create.h"
#include "tests/lib/attach_scratch.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KILLED = 30, MANY = 200 };

static bool no_mapping;

void *__wrap_mmap64(void *at, size_t n, int access, int flags, int fd, off_t offset);
void *__real_mmap64(void *at, size_t n, int access, int flags, int fd, off_t offset);

void *__wrap_mmap64(void *at, size_t n, int access, int flags, int fd, off_t offset)
{
    return no_mapping ? MAP_FAILED : __real_mmap64(at, n, access, flags, fd, offset);
}

/* A process that makes its segment while another one looks: it goes on whenever a lock was asked for; -1: none does. */
static int maker = -1;

int __wrap_fcntl64(int fd, int command, ...);
int __real_fcntl64(int fd, int command, ...);

static void make_on(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SEGMENT_LOCK_PROCESS, .l_len = 1};
    assert_int_equal(__real_fcntl64(maker, F_OFD_SETLK, &lock), 0);
    assert_int_equal(ftruncate(maker, 4096), 0);
}

int __wrap_fcntl64(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    int result = __real_fcntl64(fd, command, argument);
    if (maker >= 0 && command == F_OFD_GETLK)
        make_on();
    return result;
}

static unsigned segments(void)
{
    unsigned n = 0;
    DIR *d = opendir(scratch_dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += strstr(e->d_name, SEGMENT_SUFFIX) != NULL || strstr(e->d_name, SEGMENT_UNFINISHED) != NULL;
    closedir(d);
    return n;
}

/* As a killed program leaves its segment, `seconds` ago, of session `session`. */
static void leave_segment(char session, int seconds)
{
    struct segment_owned own = {.fd = -1};
    struct timespec then[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};
    assert_true(segment_create(&own, scratch_dir));
    own.segment->session[0] = (uint8_t)session;
    assert_int_equal(futimens(own.fd, then), 0);
    segment_forget(&own);
}

/* Locks the folder as a bezeld does, whose last sign of life there is `seconds` old. */
static int hold_folder(int seconds)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    struct timespec then[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};
    int fd = openat(scratch_folder.fd, LITTER_LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
    assert_int_equal(futimens(fd, then), 0);
    return fd;
}

/* How many segments there are after a look. */
static unsigned left(void)
{
    errno = EXDEV;
    litter_remove(&scratch_folder);
    assert_int_equal(errno, EXDEV);
    return segments();
}

/* Starts a program with a segment; it is there when this returns. */
static pid_t start(void)
{
    int made[2];
    char what;
    assert_int_equal(pipe(made), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        static struct segment_owned own = {.fd = -1};
        if (!segment_create(&own, scratch_dir) || write(made[1], "m", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(made[1]);
    assert_int_equal(read(made[0], &what, 1), 1);
    close(made[0]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST_WITH(scratch_begin, scratch_end, the_next_program_removes_what_killed_ones_left)
{
    struct segment_owned own = {.fd = -1};
    pid_t killed[KILLED], living = start();
    for (int i = 0; i < KILLED; i++)
        killed[i] = start();
    for (int i = 0; i < KILLED; i++)
        end(killed[i]);
    assert_int_equal(segments(), KILLED + 1);
    assert_true(segment_create(&own, scratch_dir));
    assert_int_equal(segments(), 2); /* its own, and that of the one that lives */
    assert_int_equal(access(own.path, F_OK), 0);
    assert_int_equal(unlink(own.path), 0);
    segment_forget(&own);
    assert_int_equal(left(), 1);
    end(living);
    assert_int_equal(left(), 0);
}

TEST_WITH(scratch_begin, scratch_end, what_a_bezeld_reads_or_may_come_back_for_is_no_litter)
{
    leave_segment(0, 0);
    int held = hold_folder(2 * LITTER_KEPT_S);
    assert_int_equal(left(), 1); /* a bezeld has the folder: it is its own */
    close(held);
    struct attached *a = attach_scratch();
    assert_int_equal(left(), 1); /* it is being read */
    segment_detach(a, false);
    assert_int_equal(left(), 0);

    leave_segment(1, 2 * LITTER_KEPT_S);
    close(hold_folder(LITTER_KEPT_S / 2));
    assert_int_equal(left(), 1); /* of a run whose bezeld was there lately */
    close(hold_folder(2 * LITTER_KEPT_S));
    assert_int_equal(left(), 0);
    leave_segment(1, LITTER_KEPT_S / 2);
    assert_int_equal(left(), 1); /* it began lately */
    unlinkat(scratch_folder.fd, LITTER_LOCK_NAME, 0);
    assert_int_equal(left(), 1);
}

TEST_WITH(scratch_begin, scratch_end, who_would_leave_word_there_is_told_that_nobody_reads_it)
{
    leave_segment(0, 0);
    struct attached *a = attach_scratch();
    char name[sizeof a->file];
    memcpy(name, a->file, sizeof name);
    segment_detach(a, false);
    int fd = folder_open_file(&scratch_folder, name, O_RDWR);
    const struct segment *s = mmap(NULL, segment_word_bytes(), PROT_READ, MAP_SHARED, fd, 0);
    assert_true(s != MAP_FAILED);
    assert_int_equal(s->unobserved & SEGMENT_UNREAD, 0);
    assert_int_equal(left(), 0);
    assert_int_equal(s->unobserved & SEGMENT_UNREAD, SEGMENT_UNREAD);
    munmap((void *)s, segment_word_bytes());
    close(fd);
}

/* Nobody can be told then; the segment is litter all the same. */
TEST_WITH(scratch_begin, scratch_end, litter_that_cannot_be_mapped_is_removed)
{
    leave_segment(0, 0);
    no_mapping = true;
    unsigned after = left();
    no_mapping = false;
    assert_int_equal(after, 0);
}

TEST_WITH(scratch_begin, scratch_end, a_segment_that_nobody_finished_is_litter_and_what_is_no_segment_is_not)
{
    static const char text[] = "not a segment";
    int at = scratch_folder.fd;
    int fd = openat(at, ".0000000000000001" SEGMENT_UNFINISHED, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(left(), 1); /* about to be locked */
    assert_int_equal(write(fd, text, sizeof text), sizeof text);
    close(fd);
    assert_int_equal(left(), 0);
    fd = openat(at, "0000000000000001" SEGMENT_SUFFIX, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, sizeof text), sizeof text);
    close(fd);
    assert_int_equal(mkfifoat(at, "0000000000000002" SEGMENT_SUFFIX, 0600), 0);
    assert_int_equal(symlinkat("/dev/zero", at, "0000000000000003" SEGMENT_SUFFIX), 0);
    assert_int_equal(mkdirat(at, "0000000000000004" SEGMENT_SUFFIX, 0700), 0);
    assert_int_equal(left(), 4);
}

TEST_WITH(scratch_begin, scratch_end, a_look_is_bounded_and_looks_reach_everything)
{
    char first[64], name[32];
    leave_segment(0, 0);
    struct attached *a = attach_scratch();
    snprintf(first, sizeof first, "%s", a->file);
    segment_detach(a, false);
    for (int i = 1; i < MANY; i++) {
        snprintf(name, sizeof name, "%016x" SEGMENT_SUFFIX, i);
        assert_int_equal(linkat(scratch_folder.fd, first, scratch_folder.fd, name, 0), 0);
    }
    int looks = 0;
    for (unsigned was = MANY, now; was > 0; was = now, looks++) {
        now = left();
        assert_true(was - now <= 64);
        assert_true(now < was);
    }
    assert_true(looks >= MANY / 64);
}

TEST_WITH(scratch_begin, scratch_end, a_segment_that_is_being_made_stays)
{
    static const char name[] = ".0123456789abcdef" SEGMENT_UNFINISHED;
    unsigned before = segments();
    maker = openat(scratch_folder.fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(maker >= 0);
    litter_remove_unfinished(&scratch_folder, name); /* empty at first, and maybe locked and larger in between */
    assert_int_equal(segments(), before + 1);
    make_on();
    litter_remove_unfinished(&scratch_folder, name);
    assert_int_equal(segments(), before + 1);
    close(maker);
    maker = -1;
    litter_remove_unfinished(&scratch_folder, name);
    assert_int_equal(segments(), before);
}

int main(void)
{
    sigbus_guard_init();
    return test_run(NULL, NULL);
}

static void leave_marks(pid_t launcher, uint64_t start_time, uint64_t pid_namespace, char path[PATH_MAX])
{
    char name[SEGMENT_MARKS_NAME_BYTES];
    segment_name_marks(&(struct segment_launcher){launcher, 0, start_time, pid_namespace}, name);
    snprintf(path, PATH_MAX, "%s/%s", scratch_dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

TEST_WITH(scratch_begin, scratch_end, marks_are_litter_when_their_launcher_is_gone)
{
    char gone[PATH_MAX], another[PATH_MAX], alive[PATH_MAX], elsewhere[PATH_MAX];
    uint64_t space = procstat_namespace();
    struct folder folder;
    struct procstat self;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(procstat_read(0, &self));
    leave_marks(pid, self.start_time, space, gone);
    leave_marks(getpid(), self.start_time + 1, space, another);
    leave_marks(getpid(), self.start_time, space, alive);
    leave_marks(pid, self.start_time, space + 1, elsewhere); /* of a container that has this folder, too */
    assert_int_equal(folder_open(scratch_dir, &folder), 0);
    litter_remove(&folder);
    folder_close(&folder);
    assert_int_not_equal(access(gone, F_OK), 0);
    assert_int_not_equal(access(another, F_OK), 0);
    assert_int_equal(access(alive, F_OK), 0);
    assert_int_equal(access(elsewhere, F_OK), 0);
    assert_int_equal(unlink(alive), 0);
    assert_int_equal(unlink(elsewhere), 0);
}
