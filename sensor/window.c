// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/window.h"

#include "base/file.h"
#include "base/log.h"
#include "sensor/index.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_MAGIC UINT64_C(0x42455a454c574e31) /* "BEZELWN1" */

enum {
    WINDOW_VERSION = 1,
    WINDOW_ALIGN = 16,
    WINDOW_STREAM_PLACES = 4 * WINDOW_STREAMS, /* of the index: streams, and a key for each process */
    WINDOW_PROCESS_PLACES = 4 * WINDOW_PROCESSES,
};

struct saved_state {
    uint64_t next_seq, next_ordinal, discarded, last_ns;
    uint32_t closed, reserved;
};

/* A stream as its freed packets left it: state[current]. The other one is written first, then `current` changes. */
struct saved_stream {
    uint64_t instance;
    uint32_t ring, stream_id;
    uint32_t used, current;
    struct saved_state state[2];
};

struct saved_process {
    uint64_t instance;
    uint32_t stream_id; /* 0: free entry */
    uint32_t reserved;
};

struct window_file {
    uint64_t magic;
    uint32_t version, next_stream_id;
    uint64_t capacity;
    uint8_t run[16], uuid[16];
    uint32_t leaving, reserved;
    _Atomic uint64_t freed;   /* position of the oldest packet; positions only grow, modulo capacity is the place */
    _Atomic uint64_t written; /* position behind the newest */
    struct saved_process processes[WINDOW_PROCESSES];
    struct saved_stream streams[WINDOW_STREAMS];
    alignas(64) uint8_t bytes[];
};

struct window {
    struct window_file *file;
    int fd;
    size_t mapped;
    char path[PATH_MAX];
    uint64_t records;                             /* in its packets */
    uint64_t reserved_at;                         /* where the reserved packet starts, filler passed */
    struct window_stream streams[WINDOW_STREAMS]; /* the saved ones plus what waits in the window */
    /*
     * So that nothing is searched for: streams by process and ring, and the first one of each process, which leads to
     * its others; entries of processes; what is free, the lowest number last.
     */
    struct index stream_index, process_index;
    struct index_place stream_places[WINDOW_STREAM_PLACES], process_places[WINDOW_PROCESS_PLACES];
    uint16_t next_of_process[WINDOW_STREAMS]; /* number of the stream that follows, plus 1 */
    uint16_t free_streams[WINDOW_STREAMS], free_processes[WINDOW_PROCESSES];
    uint32_t free_stream_count, free_process_count;
};

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

int window_find(const struct window *w, uint64_t instance, uint32_t ring)
{
    int n = ring == INDEX_WHOLE ? -1 : index_find(&w->stream_index, instance, ring); /* a peer may ask for any number */
    return n < 0 ? BEZEL_ENOENT : n;
}

/* Makes stream `i` the first of its process. */
static void enlist(struct window *w, uint32_t i)
{
    const struct window_stream *s = &w->streams[i];
    w->next_of_process[i] = (uint16_t)(index_find(&w->stream_index, s->instance, INDEX_WHOLE) + 1);
    index_put(&w->stream_index, s->instance, INDEX_WHOLE, i);
    index_put(&w->stream_index, s->instance, s->ring, i);
}

static void enlist_all(struct window *w)
{
    w->stream_index = (struct index){w->stream_places, WINDOW_STREAM_PLACES - 1};
    w->process_index = (struct index){w->process_places, WINDOW_PROCESS_PLACES - 1};
    for (uint32_t i = WINDOW_STREAMS; i-- > 0;) {
        if (w->streams[i].used)
            enlist(w, i);
        else
            w->free_streams[w->free_stream_count++] = (uint16_t)i;
    }
    for (uint32_t i = WINDOW_PROCESSES; i-- > 0;) {
        const struct saved_process *p = &w->file->processes[i];
        if (p->stream_id)
            index_put(&w->process_index, p->instance, INDEX_WHOLE, i);
        else
            w->free_processes[w->free_process_count++] = (uint16_t)i;
    }
}

struct window_stream *window_stream(struct window *w, uint32_t i)
{
    return &w->streams[i];
}

int window_add_stream(struct window *w, uint64_t instance, uint32_t ring, uint32_t stream_id, uint64_t ordinal)
{
    if (w->free_stream_count == 0)
        return BEZEL_EFULL;
    uint32_t i = w->free_streams[--w->free_stream_count];
    struct saved_stream *saved = &w->file->streams[i];
    *saved = (struct saved_stream){
        .instance = instance, .ring = ring, .stream_id = stream_id, .state = {{.next_ordinal = ordinal}}};
    atomic_signal_fence(memory_order_seq_cst); /* a kill between the two leaves the entry unused */
    saved->used = 1;
    w->streams[i] = (struct window_stream){
        .instance = instance, .ring = ring, .stream_id = stream_id, .next_ordinal = ordinal, .used = true};
    enlist(w, i);
    return (int)i;
}

int window_stream_id(struct window *w, uint64_t instance, uint32_t *stream_id)
{
    int known = index_find(&w->process_index, instance, INDEX_WHOLE);
    if (known >= 0)
        return *stream_id = w->file->processes[known].stream_id, 0;
    if (w->free_process_count == 0)
        return BEZEL_EFULL;
    uint32_t i = w->free_processes[--w->free_process_count];
    struct saved_process *entry = &w->file->processes[i];
    *stream_id = w->file->next_stream_id++;
    atomic_signal_fence(memory_order_seq_cst); /* a kill between the two skips a number, which is never given twice */
    entry->instance = instance;
    atomic_signal_fence(memory_order_seq_cst); /* a kill between the two leaves the entry free */
    entry->stream_id = *stream_id;
    index_put(&w->process_index, instance, INDEX_WHOLE, i);
    return 0;
}

void window_forget(struct window *w, uint64_t instance)
{
    for (int i = index_find(&w->stream_index, instance, INDEX_WHOLE); i >= 0; i = w->next_of_process[i] - 1) {
        w->file->streams[i].used = w->streams[i].used = false;
        index_remove(&w->stream_index, instance, w->streams[i].ring);
        w->free_streams[w->free_stream_count++] = (uint16_t)i;
    }
    index_remove(&w->stream_index, instance, INDEX_WHOLE);
    int entry = index_find(&w->process_index, instance, INDEX_WHOLE);
    if (entry < 0)
        return;
    w->file->processes[entry].stream_id = 0;
    index_remove(&w->process_index, instance, INDEX_WHOLE);
    w->free_processes[w->free_process_count++] = (uint16_t)entry;
}

/* What packet `h` does to the state of its stream: the one rule, for cutting, for freeing and for recovery. */
static void stream_apply(struct window_stream *s, const struct packet_header *h)
{
    uint64_t lost = h->discarded - s->discarded;
    s->next_seq = h->seq + 1;
    s->next_ordinal = h->first_ordinal + h->records + lost;
    s->discarded = h->discarded;
    s->last_ns = h->timestamp_end;
    s->closed = h->kind == PACKET_CLOSE;
}

static struct window_stream stream_from(const struct saved_stream *saved)
{
    const struct saved_state *state = &saved->state[saved->current & 1];
    return (struct window_stream){.instance = saved->instance,
                                  .ring = saved->ring,
                                  .stream_id = saved->stream_id,
                                  .next_seq = state->next_seq,
                                  .next_ordinal = state->next_ordinal,
                                  .discarded = state->discarded,
                                  .last_ns = state->last_ns,
                                  .acked_seq = state->next_seq,
                                  .sent_seq = state->next_seq,
                                  .used = saved->used,
                                  .closed = state->closed};
}

bool window_holds(const struct window *w, uint32_t i)
{
    const struct saved_stream *saved = &w->file->streams[i];
    const struct window_stream *s = &w->streams[i];
    return saved->state[saved->current & 1].next_seq < s->next_seq || s->acked_seq < s->next_seq;
}

/* Counts a packet that is about to be freed into the saved stream; once, however often a crash makes us come here. */
static void stream_save(struct saved_stream *saved, const struct packet_header *h)
{
    struct window_stream s = stream_from(saved);
    if (h->seq < s.next_seq)
        return;
    stream_apply(&s, h);
    saved->state[!saved->current] = (struct saved_state){.next_seq = s.next_seq,
                                                         .next_ordinal = s.next_ordinal,
                                                         .discarded = s.discarded,
                                                         .last_ns = s.last_ns,
                                                         .closed = s.closed};
    atomic_signal_fence(memory_order_seq_cst); /* a kill between the two leaves the old state in force */
    saved->current = !saved->current;
}

/* ---- Packets ----------------------------------------------------------------------------------------------------- */

static struct window_packet *packet_at(const struct window *w, uint64_t position)
{
    return (struct window_packet *)(w->file->bytes + position % w->file->capacity);
}

static uint64_t packet_span(uint32_t bytes)
{
    return (sizeof(struct window_packet) + bytes + WINDOW_ALIGN - 1) & ~(uint64_t)(WINDOW_ALIGN - 1);
}

/* Bytes from `position` to the end of the buffer. */
static uint64_t to_end(const struct window *w, uint64_t position)
{
    return w->file->capacity - position % w->file->capacity;
}

uint64_t window_oldest(const struct window *w)
{
    return atomic_load_explicit(&w->file->freed, memory_order_relaxed); /* relaxed: one owner */
}

static uint64_t window_written(const struct window *w)
{
    return atomic_load_explicit(&w->file->written, memory_order_relaxed); /* relaxed: one owner */
}

void window_leave(struct window *w)
{
    w->file->leaving = 1;
}

bool window_leaving(const struct window *w)
{
    return w->file->leaving != 0;
}

uint64_t window_records(const struct window *w)
{
    return w->records;
}

uint64_t window_waiting(const struct window *w)
{
    return window_written(w) - window_oldest(w);
}

void *window_memory(struct window *w, size_t *size)
{
    *size = w->mapped;
    return w->file;
}

struct window_packet *window_next(struct window *w, uint64_t *at)
{
    while (*at < window_written(w)) {
        struct window_packet *p = packet_at(w, *at);
        if (p->bytes != 0) {
            *at += packet_span(p->bytes);
            return p;
        }
        *at += to_end(w, *at);
    }
    return NULL;
}

uint8_t *window_reserve(struct window *w, uint32_t bytes)
{
    uint64_t written = window_written(w), span = packet_span(bytes);
    uint64_t filler = to_end(w, written) < span ? to_end(w, written) : 0;
    if (written + filler + span - window_oldest(w) > w->file->capacity)
        return NULL;
    if (filler)
        packet_at(w, written)->bytes = 0; /* not visible before the commit that follows it */
    w->reserved_at = written + filler;
    return packet_at(w, w->reserved_at)->data;
}

bool window_shares(const struct window *w, uint32_t i, uint32_t bytes)
{
    uint64_t held = w->streams[i].held, free_bytes = w->file->capacity - window_waiting(w), span = packet_span(bytes);
    return held == 0 || (free_bytes > span && held + span <= WINDOW_SHARE * (free_bytes - span));
}

void window_commit(struct window *w, uint32_t i, const struct packet_header *h)
{
    struct window_packet *p = packet_at(w, w->reserved_at);
    atomic_store_explicit(&p->references, 0, memory_order_relaxed); /* relaxed: no queue has it yet */
    p->stream = i;
    p->bytes = (uint32_t)h->size_bytes;
    atomic_store_explicit(&w->file->written, w->reserved_at + packet_span(p->bytes),
                          memory_order_release); /* W0 release: pairs W1, publishes the packet to our next life */
    w->records += h->records;
    stream_apply(&w->streams[i], h);
    w->streams[i].held += packet_span(p->bytes);
    if (w->streams[i].torn)
        window_tear(w, i);
}

bool window_take_back(struct window *w, uint32_t i, uint64_t seq)
{
    struct window_stream *s = &w->streams[i];
    if (seq >= s->next_seq || seq < s->spooled_seq)
        return false;
    if (s->spooled_seq == 0 ? seq < s->acked_seq : seq > s->spooled_seq)
        s->acked_seq = seq; /* what is between went from the window itself: it was acknowledged, and all before it */
    s->spooled_seq = seq + 1;
    return true;
}

void window_spooled(struct window *w, uint32_t i, uint64_t next_seq)
{
    w->streams[i].spooled_seq = next_seq;
}

void window_tear(struct window *w, uint32_t i)
{
    struct window_stream *s = &w->streams[i];
    s->torn = true;
    s->acked_seq = s->sent_seq = s->next_seq;
}

uint64_t window_first(const struct window *w, uint32_t i)
{
    const struct saved_stream *saved = &w->file->streams[i];
    return saved->state[saved->current & 1].next_seq;
}

uint64_t window_capacity(const struct window *w)
{
    return w->file->capacity;
}

void window_sent(struct window *w, uint32_t i, uint64_t next_seq)
{
    struct window_stream *s = &w->streams[i];
    if (next_seq > s->sent_seq && next_seq <= s->next_seq)
        s->sent_seq = next_seq;
}

void window_acknowledge(struct window *w, uint32_t i, uint64_t next_seq)
{
    struct window_stream *s = &w->streams[i];
    if (next_seq > s->acked_seq && next_seq <= s->next_seq)
        s->acked_seq = next_seq;
}

void window_free_acknowledged(struct window *w)
{
    for (uint64_t at = window_oldest(w), next = at;; at = next) {
        struct packet_header h;
        struct window_packet *p = window_next(w, &next);
        if (!p || atomic_load_explicit(&p->references, memory_order_acquire) != 0) /* F1 acquire: pairs F0 */
            break;
        const struct window_stream *s = &w->streams[p->stream];
        if (packet_get_header(p->data, p->bytes, &h) != 0 || (h.seq >= s->acked_seq && h.seq >= s->spooled_seq))
            break;
        w->records -= h.records;
        stream_save(&w->file->streams[p->stream], &h);
        w->streams[p->stream].held -= packet_span(p->bytes);
        atomic_store_explicit(&w->file->freed, next, memory_order_release); /* W2 release: pairs W3, after the saving */
    }
}

bool window_is_read(const struct window *w)
{
    uint64_t at = window_oldest(w);
    for (struct window_packet *p; (p = window_next((struct window *)w, &at)) != NULL;) /* reads only */
        if (atomic_load_explicit(&p->references, memory_order_acquire) != 0)           /* F1 acquire: pairs F0 */
            return true;
    return false;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* Reads back what a crashed daemon left: false where it does not add up. */
static bool recover(struct window *w)
{
    struct window_file *f = w->file;
    uint64_t freed = atomic_load_explicit(&f->freed, memory_order_acquire);     /* W3 acquire: pairs W2 */
    uint64_t written = atomic_load_explicit(&f->written, memory_order_acquire); /* W1 acquire: pairs W0 */
    if (written < freed || written - freed > f->capacity || freed % WINDOW_ALIGN || written % WINDOW_ALIGN)
        return false;
    for (uint32_t i = 0; i < WINDOW_STREAMS; i++)
        w->streams[i] = stream_from(&f->streams[i]);
    for (uint64_t at = freed; at < written;) {
        struct packet_header h;
        struct window_packet *p = packet_at(w, at);
        uint64_t room = to_end(w, at) < written - at ? to_end(w, at) : written - at;
        if (p->bytes == 0) {
            at += to_end(w, at);
            continue;
        }
        if (p->bytes > room || packet_span(p->bytes) > room || p->stream >= WINDOW_STREAMS ||
            packet_get_header(p->data, p->bytes, &h) != 0 || h.size_bytes != p->bytes)
            return false;
        atomic_store_explicit(&p->references, 0, memory_order_relaxed); /* relaxed: who held them is gone */
        w->records += h.records;
        if (h.seq >= w->streams[p->stream].next_seq) /* else it was saved, and the crash came before it was freed */
            stream_apply(&w->streams[p->stream], &h);
        w->streams[p->stream].held += packet_span(p->bytes);
        at += packet_span(p->bytes);
    }
    for (uint32_t i = 0; i < WINDOW_STREAMS; i++)
        w->streams[i].sent_seq = w->streams[i].next_seq; /* what our former life sent nobody knows */
    return true;
}

static uint64_t count_packets(struct window *w)
{
    uint64_t n = 0;
    for (uint64_t at = window_oldest(w); window_next(w, &at);)
        n++;
    return n;
}

static int window_map(struct window *w, size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
    if (at == MAP_FAILED)
        return err_from_errno(errno);
    w->file = at;
    w->mapped = bytes;
    return 0;
}

/* Maps and reads back the window that is in the open file: whether it is whole, and of which run. */
static bool window_adopt(struct window *w, const uint8_t run[16], const uint8_t uuid[16], uint64_t *left)
{
    struct stat st;
    if (fstat(w->fd, &st) != 0 || (size_t)st.st_size < sizeof(struct window_file) ||
        window_map(w, (size_t)st.st_size) != 0)
        return false;
    struct window_file *f = w->file;
    bool whole = f->magic == WINDOW_MAGIC && f->version == WINDOW_VERSION && f->capacity >= WINDOW_BYTES_MIN &&
                 f->capacity % WINDOW_ALIGN == 0 && f->capacity == (size_t)st.st_size - sizeof *f && recover(w);
    if (whole && memcmp(f->run, run, 16) == 0 && memcmp(f->uuid, uuid, 16) == 0)
        return true;
    *left = whole ? count_packets(w) : 0;
    munmap(w->file, w->mapped);
    w->file = NULL;
    return false;
}

static int window_create(struct window *w, const uint8_t run[16], const uint8_t uuid[16], uint64_t bytes)
{
    uint64_t capacity = (bytes + 4095) & ~UINT64_C(4095);
    size_t total = sizeof(struct window_file) + capacity;
    if (ftruncate(w->fd, 0) != 0 || ftruncate(w->fd, (off_t)total) != 0)
        return err_from_errno(errno);
    if ((errno = posix_fallocate(w->fd, 0, (off_t)total)) != 0)
        return err_from_errno(errno);
    int err = window_map(w, total);
    if (err)
        return err;
    memset(w->streams, 0, sizeof w->streams);
    w->file->version = WINDOW_VERSION;
    w->file->next_stream_id = 1;
    w->file->capacity = capacity;
    memcpy(w->file->run, run, 16);
    memcpy(w->file->uuid, uuid, 16);
    atomic_signal_fence(memory_order_seq_cst); /* a kill before the magic leaves no window */
    w->file->magic = WINDOW_MAGIC;
    return 0;
}

int window_open(const char *dir, const uint8_t run[16], const uint8_t uuid[16], uint64_t bytes, struct window **out,
                uint64_t *left)
{
    *left = 0;
    struct window *w = calloc(1, sizeof *w);
    if (!w)
        return BEZEL_ENOMEM;
    snprintf(w->path, sizeof w->path, "%s/window", dir);
    w->fd = open(w->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int err = w->fd < 0 ? err_from_errno(errno) : 0;
    if (!err)
        file_share(w->fd, dir);
    if (!err && flock(w->fd, LOCK_EX | LOCK_NB) != 0)
        err = errno == EWOULDBLOCK ? BEZEL_EBUSY : err_from_errno(errno);
    if (!err && !window_adopt(w, run, uuid, left))
        err = window_create(w, run, uuid, bytes);
    if (err) {
        int saved = errno;
        if (w->fd >= 0)
            close(w->fd);
        free(w);
        errno = saved;
        return err;
    }
    enlist_all(w);
    *out = w;
    return 0;
}

void window_close(struct window *w, bool remove)
{
    if (!w)
        return;
    if (remove)
        unlink(w->path);
    munmap(w->file, w->mapped);
    close(w->fd);
    free(w);
}
