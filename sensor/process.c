// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The segment of this process. One lock guards everything here but the write path, which only reads what was published
 * before. A failure is final for the process (until a fork makes a new one): retrying on every record would cost the host.
 */
#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "mdr/dict.h"
#include "sensor/internal.h"
#include "sensor/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    struct segment *segment; /* NULL: none */
    bool failed;             /* and there will be none */
    int fd;                  /* holds SEGMENT_LOCK_PROCESS */
    dev_t dev;               /* of fd, to know it again: the host may close it and reuse the number */
    ino_t ino;
    pid_t pid; /* whose segment it is */
    uint32_t mask;
    uint32_t string_count;
    uint16_t string_at[DICT_STRINGS_MAX];
    uint32_t aspect_count;
    _Atomic uint32_t released; /* rings released so far */
    struct bezel_aspect *aspects, **aspects_end;
    pthread_key_t thread_end;
    bool hooked; /* fork and thread-end hooks are in place */
    char path[PATH_MAX];
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

BEZEL_PRINTF(1, 2) static void say(const char *format, ...)
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

/* ---- Making the segment ------------------------------------------------------------------------------------------- */

static uint32_t ring_slots_wanted(void)
{
    const char *set = getenv("BEZEL_RING_RECORDS");
    if (!set)
        return RING_SLOTS_DEFAULT;
    char *end;
    unsigned long n = strtoul(set, &end, 10);
    if (*end || n < RING_SLOTS_MIN || n > RING_SLOTS_MAX || (n & (n - 1))) {
        say("BEZEL_RING_RECORDS=%s is not a power of two from %d to %d: using %d", set, RING_SLOTS_MIN, RING_SLOTS_MAX,
            RING_SLOTS_DEFAULT);
        return RING_SLOTS_DEFAULT;
    }
    return (uint32_t)n;
}

static uint64_t process_start_time(void)
{
    char *text;
    size_t n;
    unsigned long long start = 0;
    if (file_read("/proc/self/stat", 4096, &text, &n) != 0)
        return 0;
    const char *p = strrchr(text, ')'); /* field 2 may hold anything, ')' included */
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    if (p)
        sscanf(p, "%llu", &start);
    free(text);
    return start;
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
    s->start_time = process_start_time();
    name_process(s);
    s->magic = SEGMENT_MAGIC;
}

/* Reserves and maps a segment in the open, empty file `fd`. NULL with errno on failure. */
static struct segment *segment_map(int fd, uint32_t slots)
{
    uint64_t total = segment_ring_offset() + SEGMENT_RINGS * segment_ring_stride(slots);
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

static bool remember_fd(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return false;
    self.fd = fd;
    self.dev = st.st_dev;
    self.ino = st.st_ino;
    return true;
}

/* Puts the finished file under its name; a name that is taken (another pid namespace) fails. */
static bool publish(const char *temporary, uint64_t instance, const char *dir)
{
    if (snprintf(self.path, sizeof self.path, "%s/%016llx" SEGMENT_SUFFIX, dir, (unsigned long long)instance) >=
        (int)sizeof self.path)
        return errno = ENAMETOOLONG, false;
    return link(temporary, self.path) == 0;
}

static struct segment *segment_make(const char *dir)
{
    char temporary[PATH_MAX];
    uint32_t slots = ring_slots_wanted();
    /* Microseconds since boot above a pid: unique in a boot for 50 days, and then only by a pid in the same microsecond. */
    uint64_t instance = (uint64_t)(clock_now() / CLOCK_US) << 22 | ((uint64_t)getpid() & 0x3fffff);
    if (snprintf(temporary, sizeof temporary, "%s/.%016llx.tmp", dir, (unsigned long long)instance) >=
        (int)sizeof temporary)
        return errno = ENAMETOOLONG, NULL;
    int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return NULL;
    struct segment *s = segment_map(fd, slots);
    struct doorbell *bell = s ? doorbell_map(dir) : NULL;
    bool done = false;
    if (s) {
        fill_head(s, slots, instance);
        if (bell) { /* somebody listens: record from the first record on */
            memcpy(s->session, bell->session, sizeof s->session);
            atomic_init(&s->mode, SEGMENT_RECORD);
        }
        done = lock_process(fd) == 0 && remember_fd(fd) && publish(temporary, instance, dir);
    }
    int saved = errno;
    unlink(temporary);
    if (!done) {
        if (s)
            munmap(s, s->total_bytes);
        close(fd);
        self.fd = -1;
        s = NULL;
    } else if (bell) {
        atomic_fetch_add_explicit(&bell->rung, 1,
                                  memory_order_release); /* B0 release: pairs B1, publishes the file's name */
    }
    if (bell)
        munmap(bell, sizeof *bell);
    errno = saved;
    return s;
}

/* A segment that no external sensor ever read is litter once its process ends. */
static void forget_at_exit(void)
{
    static const uint8_t none[16];
    if (self.segment && self.pid == getpid() && memcmp(self.segment->session, none, sizeof none) == 0)
        unlink(self.path);
}

/* ---- Fork and thread end ------------------------------------------------------------------------------------------ */

static void fork_prepare(void)
{
    pthread_mutex_lock(&self.lock);
}

static void fork_parent(void)
{
    pthread_mutex_unlock(&self.lock);
}

/* The child never writes its parent's rings: it forgets the segment, and makes its own at its first record. */
static void fork_child(void)
{
    if (self.segment)
        munmap(self.segment, self.segment->total_bytes);
    if (self.fd >= 0)
        close(self.fd);
    self.segment = NULL;
    self.failed = false;
    self.fd = -1;
    self.aspect_count = self.string_count = 0;
    for (struct bezel_aspect *a = self.aspects; a; a = a->next) {
        a->id = 0;
        a->enable = &bezel_enable_unset;
    }
    sensor_thread = (struct sensor_thread){.busy = sensor_thread.busy};
    self.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

/* The ring of a thread that ends goes to the next thread that needs one, records and all. */
static void thread_end(void *unused)
{
    (void)unused;
    struct sensor_thread *t = &sensor_thread;
    t->busy = true;
    atomic_signal_fence(memory_order_seq_cst); /* as in bezel_emit() */
    if (t->writer.ring && self.segment) {
        t->writer.ring = NULL;
        atomic_store_explicit(&self.segment->ring_state[t->ring], SEGMENT_RING_RELEASED,
                              memory_order_release); /* C0 release: pairs C1, hands over head, ordinal and counters */
        atomic_fetch_add_explicit(&self.released, 1, memory_order_relaxed); /* relaxed: a hint to look again */
    }
    atomic_signal_fence(memory_order_seq_cst); /* as in bezel_emit() */
    t->busy = false;
}

static bool hook(void)
{
    if (self.hooked)
        return true;
    if (pthread_key_create(&self.thread_end, thread_end) != 0)
        return false;
    if (pthread_atfork(fork_prepare, fork_parent, fork_child) != 0)
        return false;
    atexit(forget_at_exit);
    return self.hooked = true;
}

/* ---- Declaring ---------------------------------------------------------------------------------------------------- */

/* Whether there is a segment, made now if need be. Under the lock. */
static bool segment_open(void)
{
    char dir[PATH_MAX];
    if (self.segment || self.failed)
        return self.segment != NULL;
    file_bezel_dir(dir, sizeof dir);
    self.failed = true;
    if (!hook())
        say("no hooks for fork and thread end: nothing is recorded");
    else if (file_make_dirs(dir, 0700) != 0)
        say("cannot make %s: %s: nothing is recorded; set BEZEL_DIR to a folder that this user may write", dir,
            strerror(errno));
    else if (!(self.segment = segment_make(dir)))
        say("cannot make a segment in %s: %s: nothing is recorded; `bezel doctor` tells more", dir, strerror(errno));
    if (!self.segment)
        return false;
    self.failed = false;
    self.mask = self.segment->ring_slots - 1;
    self.pid = getpid();
    return true;
}

static bool same_fields(const struct bezel_aspect *a, const struct bezel_aspect *b)
{
    if (a->field_count != b->field_count)
        return false;
    for (uint32_t i = 0; i < a->field_count; i++) {
        const struct bezel_field *f = &a->fields[i], *g = &b->fields[i];
        if (f->type != g->type || strcmp(f->name, g->name) != 0 || strcmp(f->unit, g->unit) != 0 ||
            strcmp(f->labels ? f->labels : "", g->labels ? g->labels : "") != 0)
            return false;
    }
    return true;
}

static int append_to_dict(const struct bezel_aspect *a, uint32_t id)
{
    struct dict_aspect entry = {.id = id, .name = a->name, .field_count = a->field_count};
    if (a->field_count > BEZEL_FIELDS_MAX)
        return BEZEL_EINVAL;
    for (uint32_t i = 0; i < a->field_count; i++) {
        const struct bezel_field *f = &a->fields[i];
        entry.fields[i] = (struct dict_field){(enum dict_type)f->type, f->name, f->unit, f->labels ? f->labels : ""};
    }
    uint32_t used = atomic_load_explicit(&self.segment->dict_used, memory_order_relaxed); /* relaxed: under our lock */
    int n = dict_append_aspect(self.segment->dict, used, SEGMENT_DICT_BYTES, &entry);
    if (n > 0)
        atomic_store_explicit(&self.segment->dict_used, (uint32_t)n,
                              memory_order_release); /* D0 release: pairs D1, publishes the entry */
    return n;
}

static void enable_from(struct bezel_aspect *a, uint32_t id, const uint32_t *enable)
{
    a->id = id;
    __atomic_store_n(&a->enable, enable, __ATOMIC_RELEASE); /* E0 release: pairs E1, publishes id and segment */
}

static void declare_one(struct bezel_aspect *a)
{
    for (struct bezel_aspect *b = self.aspects; b; b = b->next) {
        if (b == a || b->id == 0 || strcmp(a->name, b->name) != 0)
            continue;
        if (same_fields(a, b)) {
            enable_from(a, b->id, b->enable);
        } else {
            say("aspect %s is declared twice with different fields: the later one is not recorded", a->name);
            enable_from(a, 0, &sensor_enable_never);
        }
        return;
    }
    uint32_t id = self.aspect_count + 1;
    int n = id < RING_ASPECTS ? append_to_dict(a, id) : BEZEL_EFULL;
    if (n < 0) {
        say("aspect %s cannot be declared: %s", a->name, err_text(n));
        enable_from(a, 0, &sensor_enable_never);
        return;
    }
    self.aspect_count = id;
    uint32_t mode = atomic_load_explicit(&self.segment->mode, memory_order_relaxed); /* relaxed: a word of its own */
    atomic_store_explicit(&self.segment->enable[id], mode, memory_order_relaxed);    /* relaxed: E0 publishes it */
    enable_from(a, id, (const uint32_t *)&self.segment->enable[id]);
}

void sensor_declare(struct bezel_aspect *aspect)
{
    pthread_mutex_lock(&self.lock);
    bool open = segment_open();
    for (struct bezel_aspect *a = self.aspects; a; a = a->next) {
        if (a->enable != &bezel_enable_unset)
            continue;
        if (open)
            declare_one(a);
        else
            enable_from(a, 0, &sensor_enable_never);
    }
    if (aspect && aspect->enable == &bezel_enable_unset) /* filled in by hand and never registered */
        enable_from(aspect, 0, &sensor_enable_never);
    pthread_mutex_unlock(&self.lock);
}

void bezel_aspect_register(struct bezel_aspect *aspect)
{
    bool was_busy = sensor_thread.busy;
    sensor_thread.busy = true;
    pthread_mutex_lock(&self.lock);
    if (!self.aspects_end)
        self.aspects_end = &self.aspects;
    aspect->next = NULL;
    *self.aspects_end = aspect;
    self.aspects_end = &aspect->next;
    if (self.segment)
        declare_one(aspect);
    pthread_mutex_unlock(&self.lock);
    sensor_thread.busy = was_busy;
}

/* ---- Strings ------------------------------------------------------------------------------------------------------ */

/* An entry of a string is its kind, id, length and text (mdr.x); string_at holds where the entries begin, in words. */
enum { STRING_ENTRY_LENGTH = 8, STRING_ENTRY_TEXT = 12 };

/* The id of `text` among the strings of the dictionary, or 0. */
static uint32_t find_string(const char *text)
{
    size_t length = strlen(text);
    for (uint32_t i = 0; i < self.string_count; i++) {
        const uint8_t *entry = self.segment->dict + 4u * self.string_at[i];
        if (bytes_get_u32(entry + STRING_ENTRY_LENGTH) == length &&
            memcmp(entry + STRING_ENTRY_TEXT, text, length) == 0)
            return i + 1;
    }
    return 0;
}

static uint32_t add_string(const char *text)
{
    uint32_t used = atomic_load_explicit(&self.segment->dict_used, memory_order_relaxed); /* relaxed: under our lock */
    uint32_t id = self.string_count + 1;
    int n = id > DICT_STRINGS_MAX ? BEZEL_EFULL
                                  : dict_append_string(self.segment->dict, used, SEGMENT_DICT_BYTES, id, text);
    if (n < 0) {
        say("no room for string \"%s\": its id is 0", text);
        return 0;
    }
    self.string_at[self.string_count++] = (uint16_t)(used / 4);
    atomic_store_explicit(&self.segment->dict_used, (uint32_t)n,
                          memory_order_release); /* D0 release: pairs D1, publishes the entry */
    return id;
}

bezel_string bezel_intern(const char *text)
{
    char cut[DICT_TEXT_MAX + 1];
    bezel_string string = {0};
    if (sensor_thread.busy)
        return string;
    snprintf(cut, sizeof cut, "%s", text);
    cut[dict_text_fit(cut, DICT_TEXT_MAX)] = '\0'; /* no half character at the end */
    sensor_thread.busy = true;
    atomic_signal_fence(memory_order_seq_cst); /* as in bezel_emit() */
    pthread_mutex_lock(&self.lock);
    if (segment_open()) {
        string.id = find_string(cut);
        if (!string.id)
            string.id = add_string(cut);
    }
    pthread_mutex_unlock(&self.lock);
    atomic_signal_fence(memory_order_seq_cst); /* as in bezel_emit() */
    sensor_thread.busy = false;
    return string;
}

/* ---- Rings -------------------------------------------------------------------------------------------------------- */

/* Reserves the memory of ring `i`. The host may have closed our descriptor and opened something else under its number. */
static int reserve_ring(uint32_t i)
{
    struct stat st;
    if (fstat(self.fd, &st) != 0 || st.st_dev != self.dev || st.st_ino != self.ino) {
        say("the program has closed libbezel's descriptor: no further ring");
        return BEZEL_ENOENT;
    }
    uint64_t stride = self.segment->ring_stride;
    int sys = posix_fallocate(self.fd, (off_t)(self.segment->ring_offset + i * stride), (off_t)stride);
    if (sys)
        say("no memory for a ring of %llu bytes: %s; enlarge the file system of BEZEL_DIR", (unsigned long long)stride,
            strerror(sys));
    return sys ? BEZEL_ENOSPC : 0;
}

/* Takes a released ring, else a fresh one: the number, or a negative error. Under the lock. */
static int take_ring(void)
{
    uint32_t high = atomic_load_explicit(&self.segment->ring_high, memory_order_relaxed); /* relaxed: under our lock */
    for (uint32_t i = 0; i < high && i < SEGMENT_RINGS; i++) {
        uint32_t state =
            atomic_load_explicit(&self.segment->ring_state[i], memory_order_acquire); /* C1 acquire: pairs C0 */
        if (state == SEGMENT_RING_RELEASED)
            return (int)i;
    }
    if (high >= SEGMENT_RINGS)
        return BEZEL_EFULL;
    int err = reserve_ring(high);
    return err ? err : (int)high;
}

static void hold_ring(struct sensor_thread *t, uint32_t i)
{
    struct segment *s = self.segment;
    struct ring *ring = (struct ring *)((char *)s + s->ring_offset + i * s->ring_stride);
    bool fresh =
        atomic_load_explicit(&s->ring_state[i], memory_order_relaxed) == SEGMENT_RING_FRESH; /* relaxed: locked */
    uint32_t generation =
        atomic_load_explicit(&ring->generation, memory_order_relaxed) + !fresh;    /* relaxed: ours now */
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);       /* relaxed: ours now */
    uint64_t ordinal = atomic_load_explicit(&ring->ordinal, memory_order_relaxed); /* relaxed: ours now */
    atomic_store_explicit(&ring->thread[generation % RING_THREADS], (uint32_t)syscall(SYS_gettid),
                          memory_order_relaxed); /* relaxed: published by the first R0 of this hold */
    atomic_store_explicit(&ring->generation, generation, memory_order_relaxed);         /* relaxed: likewise */
    atomic_store_explicit(&s->ring_state[i], SEGMENT_RING_OWNED, memory_order_relaxed); /* relaxed: for ourselves */
    uint32_t high = atomic_load_explicit(&s->ring_high, memory_order_relaxed);          /* relaxed: under our lock */
    if (i >= high)
        atomic_store_explicit(&s->ring_high, i + 1,
                              memory_order_release); /* H0 release: pairs H1, the memory is there */
    t->ring = i;
    t->writer =
        (struct ring_writer){.ring = ring,
                             .head = head,
                             .tail = atomic_load_explicit(&ring->tail, memory_order_acquire), /* R3 acquire: pairs R2 */
                             .ordinal = ordinal,
                             .mask = self.mask,
                             .generation = generation};
    if (head - t->writer.tail > (uint64_t)self.mask + 1) /* hostile: full until a tail makes sense */
        t->writer.tail = head - self.mask - 1;
    pthread_setspecific(self.thread_end, t);
}

int sensor_claim(struct sensor_thread *t)
{
    uint32_t released = atomic_load_explicit(&self.released, memory_order_relaxed); /* relaxed: a hint to look again */
    if (t->refused && t->released_seen == released)
        return BEZEL_EFULL;
    int ring = BEZEL_ENOENT;
    pthread_mutex_lock(&self.lock);
    if (self.segment && (ring = take_ring()) >= 0)
        hold_ring(t, (uint32_t)ring);
    pthread_mutex_unlock(&self.lock);
    t->refused = ring < 0;
    t->released_seen = released;
    return ring < 0 ? ring : 0;
}

void sensor_count_unringed(uint32_t id)
{
    struct segment *s = self.segment;
    if (s && id < RING_ASPECTS)
        atomic_fetch_add_explicit(&s->unringed[id].lost, 1,
                                  memory_order_relaxed); /* relaxed: a counter, nothing hangs on it */
}
