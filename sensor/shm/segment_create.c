// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/shm/segment_create.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/procstat.h"
#include "sensor/shm/cpu_counter.h"
#include "sensor/shm/litter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    ANCESTORS_MAX = 64,
    USER_WITHOUT_NAME = 65534, /* the kernel's, for users that a user namespace does not have */
    INSTANCE_TRIES = 32,       /* instances to try, if others have taken them */
    OWN_DESCRIPTOR = 200,      /* the segment's, or the next free one: beyond those that programs number */
    RESERVE_INTERRUPTS = 64    /* tries of a posix_fallocate() that signals interrupt */
};

/* ---- Environment ------------------------------------------------------------------------------------------------- */

/* The number from `min` to `max` in `set`; 0: it is none. */
static uint32_t parse_number(const char *set, uint32_t min, uint32_t max)
{
    char *end;
    unsigned long n = strtoul(set, &end, 10);
    bool fits = *set >= '0' && *set <= '9' && !*end && n >= min && n <= max;
    return fits ? (uint32_t)n : 0;
}

static uint32_t parse_ring_slots(const char *set)
{
    uint32_t n = parse_number(set, RING_SLOTS_MIN, RING_SLOTS_MAX);
    return (n & (n - 1)) == 0 ? n : 0;
}

static uint32_t parse_ring_threads(const char *set)
{
    return parse_number(set, 1, SEGMENT_RINGS_MAX);
}

static uint32_t ring_slots_wanted(void)
{
    const char *set = secure_getenv("BEZEL_RING_RECORDS");
    uint32_t slots = set ? parse_ring_slots(set) : 0;
    return slots ? slots : RING_SLOTS_DEFAULT;
}

static uint32_t ring_threads_wanted(void)
{
    const char *set = secure_getenv("BEZEL_RING_THREADS");
    uint32_t threads = set ? parse_ring_threads(set) : 0;
    return threads ? threads : SEGMENT_RINGS_DEFAULT;
}

static void note_ring_variables(struct segment *s)
{
    const char *records = secure_getenv("BEZEL_RING_RECORDS"), *threads = secure_getenv("BEZEL_RING_THREADS");
    if (records && !parse_ring_slots(records))
        sensor_notice(s, "BEZEL-RING-RECORDS", "BEZEL_RING_RECORDS=%s is not a power of two from %d to %d: using %d",
                      records, RING_SLOTS_MIN, RING_SLOTS_MAX, RING_SLOTS_DEFAULT);
    if (threads && !parse_ring_threads(threads))
        sensor_notice(s, "BEZEL-RING-THREADS", "BEZEL_RING_THREADS=%s is not a number from 1 to %d: using %d", threads,
                      SEGMENT_RINGS_MAX, SEGMENT_RINGS_DEFAULT);
}

static uint32_t when_full_wanted(struct segment *s)
{
    const char *set = secure_getenv("BEZEL_WHEN_FULL");
    if (!set || strcmp(set, "discard") == 0)
        return SEGMENT_DISCARD;
    if (strcmp(set, "overwrite") == 0)
        return SEGMENT_OVERWRITE;
    sensor_notice(s, "BEZEL-WHEN-FULL",
                  "BEZEL_WHEN_FULL=%s is neither discard nor overwrite: new records are discarded", set);
    return SEGMENT_DISCARD;
}

/* `proven`: a bezeld has proven the counter, as the doorbell says. */
static uint32_t clock_wanted(struct segment *s, uint64_t user_frequency, bool proven)
{
    const char *set = secure_getenv("BEZEL_CLOCK"), *why_not;
    bool counter = !set || strcmp(set, "monotonic") != 0;
    if (user_frequency)
        return SEGMENT_CLOCK_USER;
    if (set && counter && strcmp(set, "counter") != 0)
        sensor_notice(s, "BEZEL-CLOCK", "BEZEL_CLOCK=%s is neither counter nor monotonic: using the default, counter",
                      set);
    enum cpu_counter_trust trust = counter ? cpu_counter_trust(&why_not) : CPU_COUNTER_NOT_TRUSTED;
    if (trust == CPU_COUNTER_TRUSTED || (trust == CPU_COUNTER_PROVABLE && proven))
        return SEGMENT_CLOCK_COUNTER;
    if (set && counter)
        sensor_notice(s, "BEZEL-CLOCK", "records are stamped with CLOCK_MONOTONIC: %s", why_not);
    return SEGMENT_CLOCK_MONOTONIC;
}

static void apply_environment(struct segment *s, uint64_t user_frequency, bool proven)
{
    if (getauxval(AT_SECURE))
        sensor_notice(
            s, "BEZEL-SECURE",
            "the program has more rights than its caller: BEZEL_ variables are ignored, and records go to the default "
            "folder");
    note_ring_variables(s);
    s->when_full = when_full_wanted(s);
    s->clock = clock_wanted(s, user_frequency, proven);
    s->clock_frequency = user_frequency;
    if (s->clock_frequency)
        atomic_init(&s->tick_ns, (UINT64_C(1000000000) << 32) / s->clock_frequency);
    atomic_init(&s->pair.wanted, s->clock == SEGMENT_CLOCK_USER); /* the first record gives a pair, without a request */
}

/* ---- Identity ---------------------------------------------------------------------------------------------------- */

struct identity {
    uint64_t pid_namespace, user_frequency;
    char executable[SEGMENT_EXECUTABLE_BYTES], name[SEGMENT_NAME_BYTES];
};

static void identify(struct identity *id)
{
    memset(id, 0, sizeof *id);
    procstat_program("/proc/self/exe", id->executable, sizeof id->executable);
    const char *slash = strrchr(id->executable, '/'), *name = secure_getenv("BEZEL_PROCESS");
    if (!name || !*name)
        name = slash ? slash + 1 : "process";
    snprintf(id->name, sizeof id->name, "%s", name);
    id->pid_namespace = procstat_namespace();
}

/* ---- Doorbell ---------------------------------------------------------------------------------------------------- */

/* Maps the doorbell of the folder; NULL if there is none. */
static struct doorbell *doorbell_map(const struct folder *folder)
{
    struct doorbell *doorbell = MAP_FAILED;
    struct stat st;
    int fd = folder_open_file(folder, DOORBELL_NAME, O_RDWR);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof *doorbell)
        doorbell = mmap(NULL, sizeof *doorbell, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (doorbell == MAP_FAILED)
        return NULL;
    if (doorbell->magic != DOORBELL_MAGIC) {
        munmap(doorbell, sizeof *doorbell);
        return NULL;
    }
    return doorbell;
}

void segment_wake(struct doorbell *doorbell)
{
    int before = errno;
    if (atomic_exchange_explicit(&doorbell->asleep, 0,
                                 memory_order_acq_rel)) /* A0 acq_rel: pairs A0, after the wake bit */
        syscall(SYS_futex, (void *)&doorbell->asleep, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    errno = before;
}

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static void remember_head(struct segment_owned *own)
{
    const struct segment *s = own->segment;
    own->ring_stride = s->ring_stride;
    own->ring_slots = s->ring_slots;
    own->ring_max = s->ring_max;
    own->clock = s->clock;
    own->when_full = s->when_full;
}

static void fill_head(struct segment *s, uint32_t slots, uint32_t rings, uint64_t instance, const struct identity *id,
                      const struct doorbell *doorbell)
{
    bool proven =
        doorbell && atomic_load_explicit(&doorbell->counter_proven, memory_order_relaxed); /* relaxed: a flag */
    s->version = SEGMENT_VERSION;
    s->head_bytes = sizeof *s;
    s->ring_offset = segment_ring_offset();
    s->ring_stride = segment_ring_stride(slots);
    s->ring_slots = slots;
    s->ring_max = rings;
    s->total_bytes = segment_bytes(slots, rings);
    s->pid = (uint32_t)getpid();
    s->pid_namespace = id->pid_namespace;
    s->instance = instance;
    s->started = (uint64_t)clock_now();
    struct procstat self;
    s->start_time = procstat_read(0, &self) ? self.start_time : 0;
    memcpy(s->executable, id->executable, sizeof s->executable);
    memcpy(s->name, id->name, sizeof s->name);
    apply_environment(s, id->user_frequency, proven);
    s->magic = SEGMENT_MAGIC;
}

/* Whether a file of so many bytes exceeds RLIMIT_FSIZE: growing it would raise a signal that ends the process. */
static bool outgrows_limit(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

/*
 * Reserves the head's memory: touching a sparse page of a full tmpfs would kill the process. The call is interrupted
 * and undone also where no handler runs: by SIGSTOP, a debugger, the freezer of a control group. Returns 0 or an errno.
 */
static int reserve_head(int fd)
{
    int sys, tries = RESERVE_INTERRUPTS;
    do
        sys = posix_fallocate(fd, 0, (off_t)segment_ring_offset());
    while (sys == EINTR && --tries > 0);
    return sys;
}

/* Reserves and maps a segment of `total` bytes in the open, empty file `fd`. NULL with errno on failure. */
static struct segment *segment_map(int fd, uint64_t total)
{
    if (outgrows_limit(total))
        return errno = EFBIG, NULL;
    if (total != (size_t)total) /* more than 32 bits can address */
        return errno = ENOMEM, NULL;
    if (ftruncate(fd, (off_t)total) != 0)
        return NULL;
    if ((errno = reserve_head(fd)) != 0)
        return NULL;
    struct segment *s = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return s == MAP_FAILED ? NULL : s;
}

/*
 * The lock belongs to the open file description, which our mapping keeps open. So it stays if the program closes all
 * its descriptors, and ends with exec or the process.
 */
static int lock_process(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SEGMENT_LOCK_PROCESS, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &lock);
}

static bool remember_fd(struct segment_owned *own, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return false;
    own->fd = fd;
    own->dev = st.st_dev;
    own->ino = st.st_ino;
    return true;
}

bool segment_holds_fd(const struct segment_owned *own)
{
    struct stat st;
    return own->fd >= 0 && fstat(own->fd, &st) == 0 && st.st_dev == own->dev && st.st_ino == own->ino;
}

/*
 * The program may take the lowest numbers for its own: shell scripts write to 3 to 9 if these are open. Where so high a
 * number is not to be had, the segment keeps its own, but for that of a standard stream that the program runs without:
 * its output would overwrite the segment's head.
 */
static int keep_off_low(int fd)
{
    if (fd < 0)
        return fd;
    int other = fcntl(fd, F_DUPFD_CLOEXEC, OWN_DESCRIPTOR);
    if (other < 0 && fd > STDERR_FILENO)
        return fd;
    if (other < 0)
        other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int saved = errno;
    close(fd);
    errno = saved;
    return other;
}

/*
 * Makes the segment `instance` under a temporary name, fills it and links it into place. errno is EEXIST if either name
 * is taken: by a process with our pid in another pid namespace, in the same microsecond.
 */
static bool make_instance(struct segment_owned *own, const struct folder *folder, uint64_t instance,
                          const struct identity *id, const struct doorbell *doorbell)
{
    char temporary[32], name[32];
    uint32_t slots = own->form ? own->form->ring_slots : ring_slots_wanted();
    uint32_t rings = own->form ? own->form->rings : ring_threads_wanted();
    snprintf(temporary, sizeof temporary, ".%016llx" SEGMENT_UNFINISHED, (unsigned long long)instance);
    snprintf(name, sizeof name, "%016llx" SEGMENT_SUFFIX, (unsigned long long)instance);
    if (snprintf(own->path, sizeof own->path, "%s/%s", folder->path, name) >= (int)sizeof own->path)
        return errno = ENAMETOOLONG, false;
    int fd = folder_open_file(folder, temporary, O_RDWR | O_CREAT | O_EXCL);
    if (fd < 0)
        return false;
    fd = keep_off_low(fd);
    /* Locked before it grows: a file that is not empty and not locked counts as abandoned. */
    own->bytes = segment_bytes(slots, rings);
    bool done = fd >= 0 && remember_fd(own, fd) && lock_process(fd) == 0 &&
                (own->segment = segment_map(fd, own->bytes)) != NULL;
    if (done) {
        fill_head(own->segment, slots, rings, instance, id, doorbell);
        if (own->form) {
            own->segment->when_full = own->form->when_full;
            own->segment->clock = own->form->clock;
        }
        remember_head(own);
        if (doorbell) { /* a bezeld serves the folder: collection is on from the start */
            memcpy(own->segment->session, doorbell->session, sizeof own->segment->session);
            own->segment->doorbell = doorbell->id;
            if (own->segment->clock == SEGMENT_CLOCK_COUNTER)
                atomic_init(&own->segment->tick_ns,
                            atomic_load_explicit(&doorbell->tick_ns, memory_order_relaxed)); /* relaxed: a number */
            atomic_init(&own->segment->mode, SEGMENT_RECORD);
        }
        file_share(fd, folder->fd);
        done = linkat(folder->fd, temporary, folder->fd, name, 0) == 0;
    }
    int saved = errno;
    unlinkat(folder->fd, temporary, 0);
    if (!done)
        segment_forget(own);
    errno = saved;
    return done;
}

/*
 * An instance is the microseconds since boot, and the pid in the low 22 bits. It is unique for 50 days after boot;
 * later it could repeat only for the same pid in the same microsecond. A process that finds it taken by one of another
 * pid namespace tries the next microsecond.
 */
static bool make_in(struct segment_owned *own, const struct folder *folder, const struct identity *id,
                    const struct doorbell *doorbell)
{
    uint64_t us = (uint64_t)(clock_now() / CLOCK_US), pid = (uint64_t)getpid() & 0x3fffff;
    bool done = false;
    for (uint32_t i = 0; i < INSTANCE_TRIES && !done && (i == 0 || errno == EEXIST); i++)
        done = make_instance(own, folder, (us + i) << 22 | pid, id, doorbell);
    return done;
}

/* Keeps the reason why there is no segment: `err` is folder_make()'s, errno that of the failed call. */
static void keep_reason(struct segment_owned *own, const struct folder *folder, int err)
{
    own->why_errno = errno;
    if (err && folder->why[0])
        snprintf(own->why_not, sizeof own->why_not, "%s %s", folder->path, folder->why);
    else
        snprintf(own->why_not, sizeof own->why_not,
                 err ? "cannot make folder %s: %s" : "cannot make a segment in %s: %s", folder->path,
                 errno == EAGAIN ? "'ulimit -l' is too small for mlockall(): raise it" : strerror(errno));
}

bool segment_create(struct segment_owned *own, const char *dir)
{
    int cancel, before = errno;
    struct folder folder;
    struct identity id;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    identify(&id);
    id.user_frequency = own->user_frequency;
    int err = folder_make(dir, &folder);
    struct doorbell *doorbell = err ? NULL : doorbell_map(&folder);
    bool done = !err && make_in(own, &folder, &id, doorbell);
    if (!done)
        keep_reason(own, &folder, err);
    else if (doorbell)
        atomic_fetch_add_explicit(&doorbell->arrivals, 1,
                                  memory_order_release); /* B0 release: pairs B1, publishes the file's name */
    if (done && doorbell)
        segment_wake(doorbell);
    if (done)
        own->doorbell = doorbell;
    else if (doorbell)
        munmap(doorbell, sizeof *doorbell);
    if (done)
        litter_remove(&folder);
    folder_close(&folder);
    pthread_setcancelstate(cancel, &cancel);
    errno = before;
    return done;
}

struct doorbell *segment_map_doorbell(const char *dir)
{
    int cancel, before = errno;
    struct folder folder;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    struct doorbell *doorbell = folder_open(dir, &folder) == 0 ? doorbell_map(&folder) : NULL;
    folder_close(&folder);
    pthread_setcancelstate(cancel, &cancel);
    errno = before;
    return doorbell;
}

/* Whether a launcher of `user` may read our mark. */
static bool reads_marks(uid_t user)
{
    return user == geteuid() || user == 0 || user == USER_WITHOUT_NAME;
}

/*
 * A program of another kind may have such a name; a launcher stands where a doorbell is. Of another user, and from a
 * user namespace of our own, that cannot be seen.
 */
static bool is_launcher(const struct procstat *p, pid_t pid, uid_t user)
{
    char path[32 + sizeof DOORBELL_NAME];
    if (strcmp(p->name, SEGMENT_LAUNCHER) != 0 && strcmp(p->name, SEGMENT_LAUNCHER_HERE) != 0)
        return false;
    snprintf(path, sizeof path, "/proc/%d/cwd/" DOORBELL_NAME, (int)pid);
    return (reads_marks(user) || kill(pid, 0) == 0) && (access(path, F_OK) == 0 || errno == EACCES);
}

struct segment_launcher segment_find_launcher(void)
{
    char path[32];
    struct procstat p;
    struct stat st;
    int cancel, before = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    uint64_t space = procstat_namespace();
    pid_t pid = space ? getpid() : 0;
    struct segment_launcher found = {0};
    for (int i = 0; !found.pid && pid > 0 && i < ANCESTORS_MAX && procstat_read(pid, &p); pid = p.parent, i++) {
        snprintf(path, sizeof path, "/proc/%d", (int)pid);
        if (i > 0 && stat(path, &st) == 0 && is_launcher(&p, pid, st.st_uid))
            found = (struct segment_launcher){pid, st.st_uid, p.start_time, space};
    }
    pthread_setcancelstate(cancel, &cancel);
    errno = before;
    return found;
}

struct doorbell *segment_map_launchers_doorbell(const struct segment_launcher *launcher)
{
    int cancel, before = errno;
    char path[32];
    struct folder folder;
    struct doorbell *doorbell = NULL;
    if (!launcher->pid || launcher->user != geteuid() || getauxval(AT_SECURE))
        return NULL;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)launcher->pid); /* the node's folder: bezeld/launch/spawn.c */
    if (folder_take(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), path, &folder) == 0) {
        doorbell = doorbell_map(&folder);
        folder_close(&folder);
    }
    pthread_setcancelstate(cancel, &cancel);
    errno = before;
    return doorbell;
}

void segment_name_marks(const struct segment_launcher *launcher, char name[SEGMENT_MARKS_NAME_BYTES])
{
    snprintf(name, SEGMENT_MARKS_NAME_BYTES, "%d-%llu-%llu" SEGMENT_MARKS, (int)launcher->pid,
             (unsigned long long)launcher->start_time, (unsigned long long)launcher->pid_namespace);
}

/* An entry of zeros, which takes no room: the file's length alone counts. One process at a time finds where it ends. */
static bool append_hole(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const off_t mark = sizeof(struct segment_mark);
    struct stat st;
    (void)!fcntl(fd, F_SETLKW, &lock);
    return fstat(fd, &st) == 0 && ftruncate(fd, (st.st_size / mark + 1) * mark) == 0;
}

/* Appends in one step, so that processes can do so at the same time. Beyond SEGMENT_MARKS_MAX none is needed. */
static bool append_mark(const struct folder *folder, const struct segment_launcher *launcher)
{
    char name[SEGMENT_MARKS_NAME_BYTES];
    struct stat st;
    struct identity id;
    struct segment_mark mark = {.pid = (uint32_t)getpid()};
    identify(&id);
    memcpy(mark.name, id.name, sizeof mark.name);
    segment_name_marks(launcher, name);
    int fd = folder_open_file(folder, name, O_WRONLY | O_APPEND | O_CREAT);
    bool left = fd >= 0 && fstat(fd, &st) == 0 &&
                (st.st_size >= (off_t)(SEGMENT_MARKS_MAX * sizeof mark) ||
                 (!outgrows_limit((uint64_t)st.st_size + sizeof mark) &&
                  (write(fd, &mark, sizeof mark) == (ssize_t)sizeof mark || append_hole(fd))));
    if (fd >= 0)
        close(fd);
    return left;
}

static bool append_mark_in(const char *dir, const struct segment_launcher *launcher)
{
    struct folder folder;
    bool left = folder_make(dir, &folder) == 0 && append_mark(&folder, launcher);
    folder_close(&folder);
    return left;
}

/*
 * The launcher notes who has sent SIGURG: nothing else reaches it from a user namespace of our own with another
 * /dev/shm, or from root, as behind sudo, where it is another user's. A process of another kind that has its name, or
 * number by now, ignores that by default.
 */
static bool call_launcher(const struct segment_launcher *launcher)
{
    struct procstat p;
    return (!procstat_read(launcher->pid, &p) || p.start_time == launcher->start_time) &&
           kill(launcher->pid, SIGURG) == 0;
}

bool segment_leave_mark(const struct segment_launcher *launcher)
{
    int cancel, before = errno;
    char dir[FILE_DEFAULT_DIR_BYTES], other[] = "/dev/shm/bezel-XXXXXX";
    bool is_read = reads_marks(launcher->user);
    if (!launcher->pid)
        return false;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    file_default_dir(dir);
    bool left = is_read && append_mark_in(dir, launcher);
    if (is_read && !left && mkdtemp(other)) { /* the default folder is somebody else's */
        left = append_mark_in(other, launcher);
        if (!left)
            rmdir(other);
    }
    left = call_launcher(launcher) || left;
    pthread_setcancelstate(cancel, &cancel);
    errno = before;
    return left;
}

bool segment_refuse(struct doorbell *doorbell, const char *why)
{
    int cancel, before = errno;
    struct identity id;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    identify(&id);
    bool counted = sensor_refuse(doorbell, (uint32_t)getpid(), id.name, id.pid_namespace, why);
    if (counted)
        segment_wake(doorbell);
    pthread_setcancelstate(cancel, &cancel);
    errno = before;
    return counted;
}

struct segment *segment_map_word(const struct segment_owned *own)
{
    int cancel, before = errno;
    struct stat st;
    void *at = MAP_FAILED;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int fd = open(own->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == own->dev && st.st_ino == own->ino)
        at = mmap(NULL, segment_word_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    pthread_setcancelstate(cancel, &cancel);
    errno = before;
    return at == MAP_FAILED ? NULL : at;
}

void segment_forget(struct segment_owned *own)
{
    int before = errno;
    struct segment_owned was = *own;
    *own = (struct segment_owned){.fd = -1};
    atomic_signal_fence(memory_order_seq_cst); /* a signal handler finds no segment, or a mapped one */
    if (was.segment)
        munmap(was.segment, was.bytes);
    if (was.doorbell)
        munmap(was.doorbell, sizeof *was.doorbell);
    if (was.fd >= 0 && segment_holds_fd(&was)) /* the program may have reused the number */
        close(was.fd);
    errno = before;
}
