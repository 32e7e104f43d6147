// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The segment of this process, from its making to a fork. A failure is final for the process (until a fork makes a new
 * one): retrying on every record would cost the host.
 */
#include "base/clock.h"
#include "base/file.h"
#include "sensor/internal/internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct sensor_process sensor_process = {.lock = PTHREAD_MUTEX_INITIALIZER, .own = {.fd = -1}};

static sigset_t fork_mask; /* signals that the forking thread had blocked, while the lock is held for the fork */

void sensor_block(sigset_t *mask)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, mask);
}

void sensor_unblock(const sigset_t *mask)
{
    pthread_sigmask(SIG_SETMASK, mask, NULL);
}

void sensor_lock(sigset_t *mask)
{
    sensor_block(mask);
    sensor_thread.inside = true;
    pthread_mutex_lock(&sensor_process.lock);
}

void sensor_unlock(const sigset_t *mask)
{
    pthread_mutex_unlock(&sensor_process.lock);
    sensor_thread.inside = sensor_thread.forks = false;
    sensor_unblock(mask);
}

/* ---- Whose memory this is ---------------------------------------------------------------------------------------- */

/* Pid of the process whose memory this is; a fork, however it is made, has it 0. NULL: it is not known. */
static pid_t *home;

void sensor_find_home(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return;
    if (madvise(at, page, MADV_WIPEONFORK) != 0) {
        munmap(at, page);
        return;
    }
    home = at;
    *home = getpid();
}

/*
 * Whether this process only borrows its memory, as the child of vfork(). A segment that it made would be its parent's
 * as well, and would be taken for ended at the child's end.
 */
static bool is_borrowed(void)
{
    if (home && !*home)
        *home = getpid();
    return home && *home != getpid();
}

/* Tells that the process ends by itself. Removes the segment if no external sensor has read it: it would be litter. */
static void leave_at_exit(void)
{
    static const uint8_t none[16];
    struct segment *s = sensor_process.own.segment;
    if (!s || sensor_process.pid != getpid())
        return;
    atomic_store_explicit(&s->exits, (uint64_t)clock_now(),
                          memory_order_relaxed); /* relaxed: read when the process has ended */
    if (memcmp(s->session, none, sizeof none) != 0)
        return;
    unlink(sensor_process.own.path);
    atomic_fetch_or_explicit(&s->unobserved, SEGMENT_UNREAD,
                             memory_order_relaxed); /* relaxed: this word alone decides who reads it */
}

/* ---- Fork -------------------------------------------------------------------------------------------------------- */

static void fork_prepare(void)
{
    sigset_t mask;
    sensor_lock(&mask);
    sensor_thread.forks = true;
    fork_mask = mask;
}

static void fork_parent(void)
{
    sigset_t mask = fork_mask;
    sensor_unlock(&mask);
}

/*
 * If a signal handler forked, the child may continue an interrupted record, which is the parent's: anonymous memory
 * takes the segment's place, and the record goes there. The head is always replaced, because a record that is not yet
 * marked as busy may still read its enable word there: 0, disabled. The memory stays mapped for ever, because there is
 * no way to know when such a record has ended.
 */
static void detach_child(bool busy)
{
    void *at = sensor_process.own.segment;
    size_t bytes = busy ? sensor_process.own.bytes : segment_ring_offset();
    if (busy)
        sensor_process.own.doorbell = NULL; /* it stays mapped: the interrupted record may set its wake bit */
    segment_forget(&sensor_process.own);
    if (at)
        (void)mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* The child never writes its parent's rings: it drops the segment, and makes its own at its first record. */
static void fork_child(void)
{
    if (sensor_process.own.segment)
        sensor_strings_bequeath();
    for (struct bezel_aspect *a = sensor_process.aspects; a; a = a->next) {
        a->id = a->early = 0;
        a->enable = &bezel_enable_unset;
    }
    sensor_knobs_forget();
    sensor_unobserved_inherit();
    detach_child(sensor_forget_rings());
    if (home)
        *home = getpid(); /* an emulator may not have it 0 */
    sensor_process.failed = false;
    memset((void *)sensor_process.reserved, 0, sizeof sensor_process.reserved);
    sensor_process.aspect_count = sensor_process.undeclared = sensor_process.dict_used = 0;
    sigset_t mask = fork_mask;
    sensor_unlock(&mask); /* ours since fork_prepare(); the child has no other thread */
}

bool sensor_hook(void)
{
    if (sensor_process.hooked)
        return true;
    if (pthread_key_create(&sensor_process.thread_end, sensor_thread_end) != 0)
        return false;
    if (pthread_atfork(fork_prepare, fork_parent, fork_child) != 0)
        return false;
    atexit(leave_at_exit);
    at_quick_exit(leave_at_exit);
    return sensor_process.hooked = true;
}

/* ---- Segment ----------------------------------------------------------------------------------------------------- */

const char *sensor_dir(void)
{
    static char dir[PATH_MAX];
    file_bezel_dir(dir, sizeof dir);
    return dir;
}

bool sensor_open(void)
{
    if (sensor_process.own.segment || sensor_process.failed ||
        !atomic_load_explicit(&sensor_process.loaded, memory_order_relaxed)) /* relaxed: under the lock */
        return sensor_process.own.segment != NULL;
    if (is_borrowed()) {
        snprintf(sensor_process.own.why_not, sizeof sensor_process.own.why_not,
                 "it shares the memory of another process, as after vfork(2), which has recorded nothing yet");
        return false;
    }
    sensor_process.failed = true;
    if (!sensor_hook())
        snprintf(sensor_process.own.why_not, sizeof sensor_process.own.why_not,
                 "cannot install the hooks for forks and ends of threads");
    else {
        sensor_process.own.user_frequency = sensor_user_frequency();
        sensor_process.failed = !segment_create(&sensor_process.own, sensor_dir());
    }
    if (!sensor_process.failed) {
        sensor_process.pid = getpid();
        bezel_clock_is_counter = sensor_process.own.clock == SEGMENT_CLOCK_COUNTER;
        sensor_strings_inherit();
        sensor_unobserved_made(sensor_dir());
    }
    return !sensor_process.failed;
}
