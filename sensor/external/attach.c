// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/external/attach.h"

#include "base/procstat.h"
#include "base/sigbus_guard.h"
#include "sensor/shm/segment_list.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* A text for people and patterns: printable ASCII, anything else becomes '?'. */
static void copy_text(char *to, size_t size, const char *from, size_t from_size)
{
    size_t n = 0;
    for (; n < from_size && from[n] && n + 1 < size; n++)
        to[n] = (char)(from[n] >= 0x20 && from[n] < 0x7f ? from[n] : '?');
    to[n] = '\0';
}

/*
 * Whether the head describes exactly the layout that this build reads, in a file of `size` bytes. *rings: how many. The
 * process can change these numbers at any time, so each is read once.
 */
static int check_head(struct attached *a, size_t size, uint32_t *rings)
{
    const struct segment *s = a->segment;
    if (s->magic != SEGMENT_MAGIC)
        return BEZEL_EMALFORMED;
    if (s->version != SEGMENT_VERSION)
        return BEZEL_EVERSION;
    uint32_t slots = __atomic_load_n(&s->ring_slots, __ATOMIC_RELAXED); /* relaxed: a number */
    *rings = __atomic_load_n(&s->ring_max, __ATOMIC_RELAXED);           /* relaxed: likewise */
    a->when_full = __atomic_load_n(&s->when_full, __ATOMIC_RELAXED);    /* relaxed: likewise */
    a->clock = __atomic_load_n(&s->clock, __ATOMIC_RELAXED);            /* relaxed: likewise */
    a->ring_slots = slots;
    if (s->head_bytes != sizeof *s || *rings < 1 || *rings > SEGMENT_RINGS_MAX || a->when_full > SEGMENT_OVERWRITE ||
        a->clock > SEGMENT_CLOCK_USER || slots < RING_SLOTS_MIN || slots > RING_SLOTS_MAX || (slots & (slots - 1)) ||
        s->ring_offset != segment_ring_offset() || s->ring_stride != segment_ring_stride(slots) ||
        size != segment_bytes(slots, *rings))
        return BEZEL_EMALFORMED;
    return 0;
}

static int lock_reader(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SEGMENT_LOCK_READER, .l_len = 1};
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return 0;
    return errno == EAGAIN || errno == EACCES ? BEZEL_EBUSY : err_from_errno(errno);
}

/* A file larger than any segment is refused: it could take the address space that other segments need. */
static int map_segment(struct attached *a, uint32_t *rings)
{
    struct stat st;
    uint64_t most = segment_bytes(RING_SLOTS_MAX, SEGMENT_RINGS_MAX);
    if (fstat(a->fd, &st) != 0)
        return err_from_errno(errno);
    if (!S_ISREG(st.st_mode) || (size_t)st.st_size < sizeof(struct segment) || (uint64_t)st.st_size > most)
        return BEZEL_EMALFORMED;
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
    if (at == MAP_FAILED)
        return err_from_errno(errno);
    a->segment = at;
    a->mapped = (size_t)st.st_size;
    a->guard = sigbus_guard_add(at, a->mapped);
    if (a->guard < 0) /* without the guard, a truncated file would kill this process */
        return BEZEL_EFULL;
    return check_head(a, a->mapped, rings);
}

static void copy_head(struct attached *a)
{
    const struct segment *s = a->segment;
    a->instance = s->instance;
    a->started = s->started;
    a->start_time = s->start_time;
    a->pid = s->pid;
    a->pid_namespace = s->pid_namespace;
    a->our_namespace = procstat_namespace();
    if (segment_pid_is_ours(a))
        a->start_time = segment_start_time(a->pid, a->start_time);
    a->doorbell_id = s->doorbell;
    a->clock_frequency = s->clock_frequency;
    memcpy(a->session, s->session, sizeof a->session);
    segment_copy_name(a->name, sizeof a->name, s->name, sizeof s->name);
    copy_text(a->executable, sizeof a->executable, s->executable, sizeof s->executable);
}

/* Room for the states of `rings` rings behind *a, which moves. */
static int make_rings(struct attached **a, uint32_t rings)
{
    struct attached *larger = realloc(*a, sizeof **a + rings * sizeof(*a)->rings[0]);
    if (!larger)
        return BEZEL_ENOMEM;
    larger->ring_max = rings;
    for (uint32_t i = 0; i < rings; i++)
        larger->rings[i] = (struct attached_ring){.stream = -1};
    *a = larger;
    return 0;
}

int segment_attach(const struct folder *folder, const char *file, struct attached **out)
{
    uint32_t rings = 0;
    struct attached *a = calloc(1, sizeof *a);
    if (!a)
        return BEZEL_ENOMEM;
    a->guard = a->pidfd = -1;
    a->folder = folder;
    snprintf(a->file, sizeof a->file, "%s", file);
    a->fd = folder_open_file(folder, file, O_RDWR);
    int err = a->fd < 0 ? err_from_errno(errno) : lock_reader(a->fd);
    if (!err)
        err = map_segment(a, &rings);
    if (!err)
        err = make_rings(&a, rings);
    if (!err) {
        copy_head(a);
        char expected[32];
        snprintf(expected, sizeof expected, "%016llx" SEGMENT_SUFFIX, (unsigned long long)a->instance);
        bool named = a->instance != 0 && strcmp(expected, file) == 0; /* 0 stands for the node itself */
        err = sigbus_guard_hit(a->guard) || !named ? BEZEL_EMALFORMED : 0;
    }
    if (err) {
        segment_detach(a, false);
        return err;
    }
    segment_search_rings(a);
    *out = a;
    return 0;
}

void segment_detach(struct attached *a, bool remove)
{
    if (remove)
        unlinkat(a->folder->fd, a->file, 0);
    if (remove && a->segment)
        (void)unobserved_stop(&a->segment->unobserved);
    if (a->segment) {
        sigbus_guard_remove(a->guard);
        munmap(a->segment, a->mapped);
    }
    if (a->fd >= 0)
        close(a->fd);
    if (a->pidfd >= 0)
        close(a->pidfd);
    for (uint32_t i = 0; i < a->ring_max; i++)
        free(a->rings[i].copy.ring);
    dict_free(a->dict);
    free(a->dict_bytes);
    free(a->knobs);
    free(a);
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

bool segment_pid_is_ours(const struct attached *a)
{
    return a->pid_namespace != 0 && a->start_time != 0 && a->pid != 0 && a->pid_namespace == a->our_namespace;
}

/* Its pidfd became readable: none of its threads runs any more. */
static bool has_ended(const struct attached *a)
{
    struct pollfd end = {.fd = a->pidfd, .events = POLLIN};
    return poll(&end, 1, 0) == 1;
}

/* A pidfd says what the process's entry in /proc says, for a tenth of the time. */
bool segment_alive(const struct attached *a)
{
    if (a->pidfd >= 0)
        return segment_is_locked(a->fd, SEGMENT_LOCK_PROCESS) && !has_ended(a);
    return segment_process_lives(a->fd, a->pid, a->start_time, segment_pid_is_ours(a));
}

/* The lock outlasts the old image, and an end takes that before it: then there is none that /proc could name. */
bool segment_has_executed(const struct attached *a)
{
    char path[40], image[1];
    struct procstat now;
    snprintf(path, sizeof path, "/proc/%u/exe", (unsigned)a->pid);
    return segment_pid_is_ours(a) && !segment_is_locked(a->fd, SEGMENT_LOCK_PROCESS) &&
           readlink(path, image, sizeof image) > 0 && procstat_read((pid_t)a->pid, &now) && !now.ended &&
           now.start_time == a->start_time;
}

/* ---- Notices and counts ------------------------------------------------------------------------------------------ */

/* Whether all claimed notices were seen, so that none has to be looked at. */
static bool all_seen(const struct attached *a)
{
    uint32_t claimed =
        atomic_load_explicit(&a->segment->notice_count, memory_order_relaxed); /* relaxed: late by a look is in time */
    return claimed == (uint32_t)__builtin_popcount(a->notices_seen);
}

int segment_next_notice(struct attached *a, struct attached_notice *n)
{
    for (uint32_t i = 0; i < SEGMENT_NOTICES && !all_seen(a); i++) {
        const struct segment_notice *from = &a->segment->notices[i];
        if ((a->notices_seen >> i & 1) ||
            !atomic_load_explicit(&from->ready, memory_order_acquire)) /* N1 acquire: pairs N0 */
            continue;
        a->notices_seen |= UINT32_C(1) << i;
        copy_text(n->code, sizeof n->code, from->code, sizeof from->code);
        copy_text(n->text, sizeof n->text, from->text, sizeof from->text);
        return 1;
    }
    uint32_t dropped =
        atomic_load_explicit(&a->segment->notices_dropped, memory_order_relaxed); /* relaxed: a counter */
    if (!dropped || a->notices_dropped_seen)
        return 0;
    a->notices_dropped_seen = dropped;
    snprintf(n->code, sizeof n->code, "BEZEL-NOTICES");
    snprintf(n->text, sizeof n->text,
             "it left more notices than there is room for, and the rest is dropped: run it with BEZEL_DEBUG=1 to see "
             "all on its stderr");
    return 1;
}

int doorbell_next_refusal(struct doorbell *bell, uint32_t *seen, struct attached_refusal *r)
{
    for (uint32_t i = 0; i < DOORBELL_REFUSALS; i++) {
        const struct doorbell_refusal *from = &bell->refusals[i];
        if ((*seen >> i & 1) || !atomic_load_explicit(&from->ready, memory_order_acquire)) /* N3 acquire: pairs N2 */
            continue;
        *seen |= UINT32_C(1) << i;
        r->pid = from->pid;
        r->foreign = from->pid_namespace != procstat_namespace();
        segment_copy_name(r->name, sizeof r->name, from->name, sizeof from->name);
        copy_text(r->text, sizeof r->text, from->text, sizeof from->text);
        return 1;
    }
    return 0;
}

static uint32_t believable(uint32_t count)
{
    count &= ~(SEGMENT_UNREAD | SEGMENT_READ);
    return count < UNOBSERVED_MAX ? count : UNOBSERVED_MAX;
}

void unobserved_begin(_Atomic uint32_t *count)
{
    /* relaxed: a process that adds to it sees the bit or not, and is counted either way */
    atomic_fetch_or_explicit(count, SEGMENT_READ, memory_order_relaxed);
}

uint32_t unobserved_read(_Atomic uint32_t *count)
{
    return believable(atomic_load_explicit(count, memory_order_relaxed)); /* relaxed: late by a look is in time */
}

uint32_t unobserved_stop(_Atomic uint32_t *count)
{
    /* relaxed: this word alone decides which daemon reads it */
    return believable(atomic_fetch_or_explicit(count, SEGMENT_UNREAD, memory_order_relaxed));
}

void unobserved_taken(_Atomic uint32_t *count, uint32_t taken)
{
    uint32_t old = atomic_load_explicit(count, memory_order_relaxed), next; /* relaxed: as above */
    do {
        uint32_t children = believable(old);
        next = (old & (SEGMENT_UNREAD | SEGMENT_READ)) | (children > taken ? children - taken : 0);
        /* relaxed: a process that adds to it meanwhile makes this try fail */
    } while (!atomic_compare_exchange_weak_explicit(count, &old, next, memory_order_relaxed, memory_order_relaxed));
}

/* ---- Dictionary -------------------------------------------------------------------------------------------------- */

/* Parses a copy of the first `used` bytes, since the process may change the original meanwhile. */
static int read_dict(const struct attached *a, uint32_t used, uint8_t **copy, struct dict **d)
{
    if (used < a->dict_used || used > SEGMENT_DICT_BYTES)
        return BEZEL_EMALFORMED;
    if (!(*copy = malloc(used)))
        return BEZEL_ENOMEM;
    memcpy(*copy, a->segment->dict, used);
    int err = dict_parse(*copy, used, d);
    if (!err && a->dict && !dict_includes(*d, a->dict->hash)) { /* earlier declarations must stay */
        dict_free(*d);
        err = BEZEL_EMALFORMED;
    }
    if (err)
        free(*copy);
    return err;
}

int segment_refresh_dict(struct attached *a)
{
    uint32_t used = atomic_load_explicit(&a->segment->dict_used, memory_order_acquire); /* D1 acquire: pairs D0 */
    struct dict *d;
    uint8_t *copy;
    if (used == a->dict_used || a->dict_broken)
        return 0;
    int err = read_dict(a, used, &copy, &d);
    a->dict_broken = err == BEZEL_EMALFORMED;
    if (err)
        return err;
    dict_free(a->dict);
    free(a->dict_bytes);
    a->dict = d;
    a->dict_bytes = copy;
    a->dict_used = used;
    return 1;
}
