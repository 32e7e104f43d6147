// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/own.h"

#include "base/clock.h"
#include "base/procstat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

void sensor_say(const char *format, ...)
{
    const char *debug = getenv("BEZEL_DEBUG");
    if (!debug || strcmp(debug, "1") != 0)
        return;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "libbezel: %s\n", text);
}

static uint32_t ring_slots_wanted(void)
{
    const char *set = getenv("BEZEL_RING_RECORDS");
    if (!set)
        return RING_SLOTS_DEFAULT;
    char *end;
    unsigned long n = strtoul(set, &end, 10);
    if (*end || n < RING_SLOTS_MIN || n > RING_SLOTS_MAX || (n & (n - 1))) {
        sensor_say("BEZEL_RING_RECORDS=%s is not a power of two from %d to %d: using %d", set, RING_SLOTS_MIN,
                   RING_SLOTS_MAX, RING_SLOTS_DEFAULT);
        return RING_SLOTS_DEFAULT;
    }
    return (uint32_t)n;
}

static void name_process(struct segment *s)
{
    char path[SEGMENT_EXECUTABLE_BYTES] = "";
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    memcpy(s->executable, path, sizeof s->executable);
    const char *name = getenv("BEZEL_PROCESS");
    if (!name || !*name)
        name = strrchr(path, '/') ? strrchr(path, '/') + 1 : "process";
    snprintf(s->name, sizeof s->name, "%s", name);
}

/* The doorbell of the folder, mapped; NULL where nobody listens. */
static struct doorbell *doorbell_map(const char *dir)
{
    char path[PATH_MAX];
    struct doorbell *bell = MAP_FAILED;
    struct stat st;
    if (snprintf(path, sizeof path, "%s/" DOORBELL_NAME, dir) >= (int)sizeof path)
        return NULL;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof *bell)
        bell = mmap(NULL, sizeof *bell, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (bell == MAP_FAILED)
        return NULL;
    if (bell->magic != DOORBELL_MAGIC) {
        munmap(bell, sizeof *bell);
        return NULL;
    }
    return bell;
}

static void fill_head(struct segment *s, uint32_t slots, uint64_t instance)
{
    s->version = SEGMENT_VERSION;
    s->head_bytes = sizeof *s;
    s->ring_offset = segment_ring_offset();
    s->ring_stride = segment_ring_stride(slots);
    s->ring_slots = slots;
    s->ring_max = SEGMENT_RINGS;
    s->total_bytes = s->ring_offset + SEGMENT_RINGS * s->ring_stride;
    s->clock = SEGMENT_CLOCK_MONOTONIC;
    s->pid = (uint32_t)getpid();
    s->instance = instance;
    s->started = (uint64_t)clock_now();
    struct procstat self;
    s->start_time = procstat_read(0, &self) ? self.start_time : 0;
    name_process(s);
    s->magic = SEGMENT_MAGIC;
}

/* Whether a file of so many bytes would outgrow the limit of this process, which raises a signal that ends it. */
static bool outgrows_limit(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

/* Reserves and maps a segment in the open, empty file `fd`. NULL with errno on failure. */
static struct segment *segment_map(int fd, uint32_t slots)
{
    uint64_t total = segment_ring_offset() + SEGMENT_RINGS * segment_ring_stride(slots);
    if (outgrows_limit(total))
        return errno = EFBIG, NULL;
    if (ftruncate(fd, (off_t)total) != 0)
        return NULL;
    if ((errno = posix_fallocate(fd, 0, (off_t)segment_ring_offset())) != 0) /* a sparse page of a full tmpfs kills */
        return NULL;
    struct segment *s = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return s == MAP_FAILED ? NULL : s;
}

static int lock_process(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SEGMENT_LOCK_PROCESS, .l_len = 1};
    return fcntl(fd, F_SETLK, &lock);
}

static bool remember_fd(struct own_segment *own, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return false;
    own->fd = fd;
    own->dev = st.st_dev;
    own->ino = st.st_ino;
    return true;
}

bool own_holds_fd(const struct own_segment *own)
{
    struct stat st;
    return fstat(own->fd, &st) == 0 && st.st_dev == own->dev && st.st_ino == own->ino;
}

/* Puts the finished file under its name; a name that is taken (another pid namespace) fails. */
static bool publish(struct own_segment *own, const char *temporary, uint64_t instance, const char *dir)
{
    if (snprintf(own->path, sizeof own->path, "%s/%016llx" SEGMENT_SUFFIX, dir, (unsigned long long)instance) >=
        (int)sizeof own->path)
        return errno = ENAMETOOLONG, false;
    return link(temporary, own->path) == 0;
}

bool own_make(struct own_segment *own, const char *dir)
{
    char temporary[PATH_MAX];
    uint32_t slots = ring_slots_wanted();
    /*
     * Microseconds since boot above a pid: unique in a boot for 50 days, and then only by a pid in the same
     * microsecond.
     */
    uint64_t instance = (uint64_t)(clock_now() / CLOCK_US) << 22 | ((uint64_t)getpid() & 0x3fffff);
    if (snprintf(temporary, sizeof temporary, "%s/.%016llx" SEGMENT_UNFINISHED, dir, (unsigned long long)instance) >=
        (int)sizeof temporary)
        return errno = ENAMETOOLONG, false;
    int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    /* Once it is not empty, a file without its lock is abandoned. */
    struct segment *s = remember_fd(own, fd) && lock_process(fd) == 0 ? segment_map(fd, slots) : NULL;
    struct doorbell *bell = s ? doorbell_map(dir) : NULL;
    bool done = false;
    if (s) {
        fill_head(s, slots, instance);
        if (bell) { /* somebody listens: record from the first record on */
            memcpy(s->session, bell->session, sizeof s->session);
            atomic_init(&s->mode, SEGMENT_RECORD);
        }
        own->segment = s;
        done = publish(own, temporary, instance, dir);
    }
    int saved = errno;
    unlink(temporary);
    if (!done) {
        own_forget(own);
    } else if (bell) {
        atomic_fetch_add_explicit(&bell->rung, 1,
                                  memory_order_release); /* B0 release: pairs B1, publishes the file's name */
    }
    if (bell)
        munmap(bell, sizeof *bell);
    errno = saved;
    return done;
}

void own_forget(struct own_segment *own)
{
    struct own_segment was = *own;
    *own = (struct own_segment){.fd = -1};
    atomic_signal_fence(memory_order_seq_cst); /* a signal handler finds none, or one that is mapped */
    if (was.segment)
        munmap(was.segment, was.segment->total_bytes);
    if (was.fd >= 0 && own_holds_fd(&was)) /* the number may be the program's by now */
        close(was.fd);
}
