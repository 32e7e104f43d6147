// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What this process declares, interns and claims. One lock guards everything here but the write path, which only reads
 * what was published before. A failure is final for the process (until a fork makes a new one): retrying on every
 * record would cost the host.
 */
#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "mdr/dict.h"
#include "sensor/internal.h"
#include "sensor/own.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    struct own_segment own;
    bool failed; /* there is no segment, and there will be none */
    pid_t pid;   /* whose segment it is */
    uint32_t mask;
    uint32_t string_count;
    uint16_t string_at[DICT_STRINGS_MAX];
    uint8_t *inherited; /* after a fork: the parent's dictionary, with string_at; NULL: nothing is inherited */
    uint32_t inherited_count;
    bool forker_was_busy; /* while the lock is held for a fork */
    uint32_t aspect_count;
    uint32_t undeclared;       /* id of the aspect that stands for those that cannot be declared; 0: not needed yet */
    _Atomic uint32_t released; /* rings released so far */
    struct bezel_aspect *aspects, **aspects_end;
    pthread_key_t thread_end;
    bool hooked; /* fork and thread-end hooks are in place */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .own = {.fd = -1}};

/* A segment that no external sensor reads, or is still to drain, is litter once its process ends. */
static void forget_at_exit(void)
{
    static const uint8_t none[16];
    if (self.own.segment && self.pid == getpid() && memcmp(self.own.segment->session, none, sizeof none) == 0)
        unlink(self.own.path);
}

/* ---- Fork and thread end ----------------------------------------------------------------------------------------- */

/* Busy from here to the fork's end: a handler's record must neither wait for the lock nor write a parent's ring. */
static void fork_prepare(void)
{
    bool was_busy = sensor_thread.busy;
    sensor_thread.busy = true;
    atomic_signal_fence(memory_order_seq_cst); /* as in bezel_emit() */
    pthread_mutex_lock(&self.lock);
    self.forker_was_busy = was_busy;
}

static void fork_parent(void)
{
    bool was_busy = self.forker_was_busy;
    pthread_mutex_unlock(&self.lock);
    atomic_signal_fence(memory_order_seq_cst); /* as in bezel_emit() */
    sensor_thread.busy = was_busy;
}

/* Keeps a copy of the strings for the segment that the child will have, if it ever records. */
static void bequeath_strings(void)
{
    if (self.string_count == 0)
        return;
    uint32_t used = atomic_load_explicit(&self.own.segment->dict_used, memory_order_relaxed); /* relaxed: locked */
    self.inherited = malloc(used);
    self.inherited_count = self.inherited ? self.string_count : 0;
    if (self.inherited)
        memcpy(self.inherited, self.own.segment->dict, used);
}

/* The child never writes its parent's rings: it forgets the segment, and makes its own at its first record. */
static void fork_child(void)
{
    if (self.own.segment)
        bequeath_strings();
    for (struct bezel_aspect *a = self.aspects; a; a = a->next) {
        a->id = a->early = 0;
        a->enable = &bezel_enable_unset;
    }
    own_forget(&self.own);
    self.failed = false;
    self.aspect_count = self.string_count = self.undeclared = 0;
    sensor_thread = (struct sensor_thread){.busy = true};
    self.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    atomic_signal_fence(memory_order_seq_cst); /* as in bezel_emit() */
    sensor_thread.busy = self.forker_was_busy;
}

/* The ring of a thread that ends goes to the next thread that needs one, records and all. */
static void thread_end(void *unused)
{
    (void)unused;
    struct sensor_thread *t = &sensor_thread;
    t->busy = true;
    atomic_signal_fence(memory_order_seq_cst); /* as in bezel_emit() */
    if (t->writer.ring && self.own.segment) {
        t->writer.ring = NULL;
        atomic_store_explicit(&self.own.segment->ring_state[t->ring], SEGMENT_RING_RELEASED,
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

/* ---- Counting without a ring ------------------------------------------------------------------------------------- */

static void count_unringed(uint32_t id, uint32_t n)
{
    struct segment *s = self.own.segment;
    id &= ~SENSOR_UNDECLARED;
    if (s && id < RING_ASPECTS)
        atomic_fetch_add_explicit(&s->unringed[id].lost, n,
                                  memory_order_relaxed); /* relaxed: a counter, nothing hangs on it */
}

/* Counts for `a`, which may be declared at the same time: whoever comes to `early` second moves what stands there. */
static void count_early(struct bezel_aspect *a, uint32_t n)
{
    __atomic_fetch_add(&a->early, n, __ATOMIC_ACQ_REL);      /* L2 acq_rel: pairs L2, publishes id and segment */
    uint32_t id = __atomic_load_n(&a->id, __ATOMIC_RELAXED); /* relaxed: L2 ordered it */
    if (id)
        count_unringed(id, __atomic_exchange_n(&a->early, 0, __ATOMIC_RELAXED)); /* relaxed: a counter */
}

void sensor_count_unringed(struct bezel_aspect *aspect)
{
    uint32_t id = __atomic_load_n(&aspect->id, __ATOMIC_ACQUIRE); /* L1 acquire: pairs L0 */
    if (id)
        count_unringed(id, 1);
    else
        count_early(aspect, 1);
}

/* ---- Strings ----------------------------------------------------------------------------------------------------- */

/* An entry of a string is its kind, id, length and text (mdr.x); string_at holds where the entries begin, in words. */
enum {
    STRING_ENTRY_LENGTH = 8,
    STRING_ENTRY_TEXT = 12,
    STRING_ROOM_BYTES = SEGMENT_DICT_BYTES - 16384, /* the rest is for aspects of libraries that come later */
};

/* The id of `text` among the strings of the dictionary, or 0. */
static uint32_t find_string(const char *text)
{
    size_t length = strlen(text);
    for (uint32_t i = 0; i < self.string_count; i++) {
        const uint8_t *entry = self.own.segment->dict + 4u * self.string_at[i];
        if (bytes_get_u32(entry + STRING_ENTRY_LENGTH) == length &&
            memcmp(entry + STRING_ENTRY_TEXT, text, length) == 0)
            return i + 1;
    }
    return 0;
}

static uint32_t add_string(const char *text)
{
    uint32_t used =
        atomic_load_explicit(&self.own.segment->dict_used, memory_order_relaxed); /* relaxed: under our lock */
    uint32_t id = self.string_count + 1;
    int n = id > DICT_STRINGS_MAX ? BEZEL_EFULL
                                  : dict_append_string(self.own.segment->dict, used, STRING_ROOM_BYTES, id, text);
    if (n < 0) {
        sensor_say("no room for string \"%s\": its id is 0", text);
        return 0;
    }
    self.string_at[self.string_count++] = (uint16_t)(used / 4);
    atomic_store_explicit(&self.own.segment->dict_used, (uint32_t)n,
                          memory_order_release); /* D0 release: pairs D1, publishes the entry */
    return id;
}

/* A child goes on with its parent's strings under the same ids, for its program may hold those. Under the lock. */
static void inherit_strings(void)
{
    for (uint32_t i = 0; i < self.inherited_count; i++) {
        char text[DICT_TEXT_MAX + 1];
        const uint8_t *entry = self.inherited + 4u * self.string_at[i];
        uint32_t length = bytes_get_u32(entry + STRING_ENTRY_LENGTH);
        memcpy(text, entry + STRING_ENTRY_TEXT, length);
        text[length] = '\0';
        add_string(text); /* moves string_at[i] to its new place */
    }
    free(self.inherited);
    self.inherited = NULL;
    self.inherited_count = 0;
}

/* ---- Declaring --------------------------------------------------------------------------------------------------- */

enum { DECLARE_KEPT_BYTES = 64 }; /* of the dictionary, for the aspect that stands for those without room */

/* Whether there is a segment, made now if need be. Under the lock. */
static bool segment_open(void)
{
    char dir[PATH_MAX];
    if (self.own.segment || self.failed)
        return self.own.segment != NULL;
    file_bezel_dir(dir, sizeof dir);
    self.failed = true;
    if (!hook())
        sensor_say("no hooks for fork and thread end: nothing is recorded");
    else if (file_make_dirs(dir, 0700) != 0)
        sensor_say("cannot make %s: %s: nothing is recorded; set BEZEL_DIR to a folder that this user may write", dir,
                   strerror(errno));
    else if (!own_make(&self.own, dir))
        sensor_say("cannot make a segment in %s: %s: nothing is recorded; `bezel doctor` tells more", dir,
                   strerror(errno));
    if (!self.own.segment)
        return false;
    self.failed = false;
    self.mask = self.own.segment->ring_slots - 1;
    self.pid = getpid();
    inherit_strings();
    return true;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_fields(const struct bezel_aspect *a, const struct bezel_aspect *b)
{
    if (a->field_count != b->field_count)
        return false;
    for (uint32_t i = 0; i < a->field_count; i++) {
        const struct bezel_field *f = &a->fields[i], *g = &b->fields[i];
        if (f->type != g->type || strcmp(f->name, g->name) != 0 || !same_text(f->unit, g->unit) ||
            !same_text(f->labels, g->labels))
            return false;
    }
    return true;
}

static int append_to_dict(const struct bezel_aspect *a, uint32_t id, uint32_t capacity)
{
    struct dict_aspect entry = {.id = id, .name = a->name, .field_count = a->field_count};
    if (a->field_count > BEZEL_FIELDS_MAX)
        return BEZEL_EINVAL;
    for (uint32_t i = 0; i < a->field_count; i++) {
        const struct bezel_field *f = &a->fields[i];
        entry.fields[i] = (struct dict_field){(enum dict_type)f->type, f->name, f->unit, f->labels ? f->labels : ""};
    }
    uint32_t used =
        atomic_load_explicit(&self.own.segment->dict_used, memory_order_relaxed); /* relaxed: under our lock */
    int n = dict_append_aspect(self.own.segment->dict, used, capacity, &entry);
    if (n > 0)
        atomic_store_explicit(&self.own.segment->dict_used, (uint32_t)n,
                              memory_order_release); /* D0 release: pairs D1, publishes the entry */
    return n;
}

static void enable_from(struct bezel_aspect *a, uint32_t id, const uint32_t *enable)
{
    __atomic_store_n(&a->id, id, __ATOMIC_RELEASE);         /* L0 release: pairs L1, publishes the segment */
    __atomic_store_n(&a->enable, enable, __ATOMIC_RELEASE); /* E0 release: pairs E1, publishes id and segment */
    count_early(a, 0);
}

/* Puts `a` into the dictionary as its next aspect, but for what is kept for another. Returns its id, or an error. */
static int declare_next(const struct bezel_aspect *a, uint32_t kept_ids, uint32_t kept_bytes)
{
    uint32_t id = self.aspect_count + 1;
    int n = id + kept_ids < RING_ASPECTS ? append_to_dict(a, id, SEGMENT_DICT_BYTES - kept_bytes) : BEZEL_EFULL;
    if (n < 0)
        return n;
    self.aspect_count = id;
    uint32_t mode =
        atomic_load_explicit(&self.own.segment->mode, memory_order_relaxed);          /* relaxed: a word of its own */
    atomic_store_explicit(&self.own.segment->enable[id], mode, memory_order_relaxed); /* relaxed: E0 publishes it */
    return (int)id;
}

/*
 * An aspect that cannot be declared is not lost without a word: its records count as lost, without a ring, of an aspect
 * that stands for all such. An id and some room in the dictionary are kept for it.
 */
static void declare_undeclared(struct bezel_aspect *a)
{
    static const struct bezel_aspect stands_for = {.enable = &bezel_enable_unset, .name = "bezel_undeclared"};
    if (!self.undeclared) {
        int id = declare_next(&stands_for, 0, 0);
        if (id < 0) {
            enable_from(a, 0, &sensor_enable_never);
            return;
        }
        self.undeclared = (uint32_t)id;
    }
    enable_from(a, SENSOR_UNDECLARED | self.undeclared, (const uint32_t *)&self.own.segment->enable[self.undeclared]);
}

static void declare_one(struct bezel_aspect *a)
{
    for (struct bezel_aspect *b = self.aspects; b; b = b->next) {
        if (b == a || b->id == 0 || strcmp(a->name, b->name) != 0)
            continue;
        if (same_fields(a, b)) {
            enable_from(a, b->id, b->enable);
        } else {
            sensor_say("aspect %s is declared twice with different fields: records of the later one are lost", a->name);
            declare_undeclared(a);
        }
        return;
    }
    bool keep = !self.undeclared;
    int id = declare_next(a, keep, keep ? DECLARE_KEPT_BYTES : 0);
    if (id < 0) {
        sensor_say("aspect %s cannot be declared: %s: its records are lost", a->name, err_text(id));
        declare_undeclared(a);
        return;
    }
    enable_from(a, (uint32_t)id, (const uint32_t *)&self.own.segment->enable[id]);
}

/* Declares what is registered and not declared yet; false where there is no segment. Under the lock. */
static bool declare_all(void)
{
    bool open = segment_open();
    for (struct bezel_aspect *a = self.aspects; a; a = a->next) {
        if (a->enable != &bezel_enable_unset)
            continue;
        if (open)
            declare_one(a);
        else
            enable_from(a, 0, &sensor_enable_never);
    }
    return open;
}

void sensor_declare(struct bezel_aspect *aspect)
{
    pthread_mutex_lock(&self.lock);
    declare_all();
    if (aspect && aspect->enable == &bezel_enable_unset) /* filled in by hand and never registered */
        enable_from(aspect, 0, &sensor_enable_never);
    pthread_mutex_unlock(&self.lock);
}

/* Keeps the library that `aspect` is a part of, for it is borrowed for ever: unloading it is then without effect. */
static void pin_library(const struct bezel_aspect *aspect)
{
    Dl_info info;
    void *map = NULL;
    if (!dladdr1(aspect, &info, &map, RTLD_DL_LINKMAP) || !map)
        return;
    const char *name = ((const struct link_map *)map)->l_name;
    if (*name) /* else the program itself */
        (void)dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void bezel_aspect_register(struct bezel_aspect *aspect)
{
    bool was_busy = sensor_thread.busy;
    pin_library(aspect); /* ahead of the lock: the loader, which may call us, has one too */
    sensor_thread.busy = true;
    pthread_mutex_lock(&self.lock);
    if (!self.aspects_end)
        self.aspects_end = &self.aspects;
    aspect->next = NULL;
    *self.aspects_end = aspect;
    self.aspects_end = &aspect->next;
    if (self.own.segment)
        declare_one(aspect);
    pthread_mutex_unlock(&self.lock);
    sensor_thread.busy = was_busy;
}

/* ---- Interning --------------------------------------------------------------------------------------------------- */

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
    if (declare_all()) { /* aspects first: strings may take all the room there is */
        string.id = find_string(cut);
        if (!string.id)
            string.id = add_string(cut);
    }
    pthread_mutex_unlock(&self.lock);
    atomic_signal_fence(memory_order_seq_cst); /* as in bezel_emit() */
    sensor_thread.busy = false;
    return string;
}

/* ---- Rings ------------------------------------------------------------------------------------------------------- */

/* Reserves the memory of ring `i`. */
static int reserve_ring(uint32_t i)
{
    if (!own_holds_fd(&self.own)) {
        sensor_say("the program has closed libbezel's descriptor: no further ring");
        return BEZEL_ENOENT;
    }
    uint64_t stride = self.own.segment->ring_stride;
    int sys = posix_fallocate(self.own.fd, (off_t)(self.own.segment->ring_offset + i * stride), (off_t)stride);
    if (sys)
        sensor_say("no memory for a ring of %llu bytes: %s; enlarge the file system of BEZEL_DIR",
                   (unsigned long long)stride, strerror(sys));
    return sys ? BEZEL_ENOSPC : 0;
}

/* Takes a released ring, else a fresh one: the number, or a negative error. Under the lock. */
static int take_ring(void)
{
    uint32_t high =
        atomic_load_explicit(&self.own.segment->ring_high, memory_order_relaxed); /* relaxed: under our lock */
    for (uint32_t i = 0; i < high && i < SEGMENT_RINGS; i++) {
        uint32_t state =
            atomic_load_explicit(&self.own.segment->ring_state[i], memory_order_acquire); /* C1 acquire: pairs C0 */
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
    struct segment *s = self.own.segment;
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
    if (self.own.segment && (ring = take_ring()) >= 0)
        hold_ring(t, (uint32_t)ring);
    pthread_mutex_unlock(&self.lock);
    t->refused = ring < 0;
    t->released_seen = released;
    return ring < 0 ? ring : 0;
}
