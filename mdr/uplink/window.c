// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/uplink/window_internal.h"

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

int window_find(const struct window *w, uint64_t instance, uint32_t ring)
{
    int n = ring == HASH_INDEX_NO_RING
                ? -1
                : hash_index_find(&w->stream_index, instance, ring); /* a peer may send any number */
    return n < 0 ? BEZEL_ENOENT : n;
}

/* Makes stream `i` the first of its process. */
static void enlist(struct window *w, uint32_t i)
{
    const struct window_stream *s = &w->streams[i];
    w->torn += s->torn;
    w->next_of_process[i] = (uint16_t)(hash_index_find(&w->stream_index, s->instance, HASH_INDEX_NO_RING) + 1);
    hash_index_put(&w->stream_index, s->instance, HASH_INDEX_NO_RING, i);
    hash_index_put(&w->stream_index, s->instance, s->ring, i);
}

void window_enlist(struct window *w)
{
    w->stream_index = (struct hash_index){w->stream_places, WINDOW_STREAM_SLOTS - 1};
    w->process_index = (struct hash_index){w->process_places, WINDOW_PROCESS_SLOTS - 1};
    for (uint32_t i = WINDOW_STREAMS; i-- > 0;) {
        if (w->streams[i].used)
            enlist(w, i);
        else
            w->free_streams[w->free_stream_count++] = (uint16_t)i;
    }
    for (uint32_t i = WINDOW_PROCESSES; i-- > 0;) {
        const struct saved_process *p = &w->file->processes[i];
        if (p->stream_id)
            hash_index_put(&w->process_index, p->instance, HASH_INDEX_NO_RING, i);
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
    int known = hash_index_find(&w->process_index, instance, HASH_INDEX_NO_RING);
    if (known >= 0)
        return *stream_id = w->file->processes[known].stream_id, 0;
    if (w->free_process_count == 0)
        return BEZEL_EFULL;
    uint32_t i = w->free_processes[--w->free_process_count];
    struct saved_process *entry = &w->file->processes[i];
    *stream_id = w->file->next_stream_id++;
    atomic_signal_fence(memory_order_seq_cst); /* a kill between the two skips a number, which is never given twice */
    entry->instance = instance;
    entry->left = 0;
    atomic_signal_fence(memory_order_seq_cst); /* a kill between the two leaves the entry free */
    entry->stream_id = *stream_id;
    hash_index_put(&w->process_index, instance, HASH_INDEX_NO_RING, i);
    return 0;
}

void window_forget(struct window *w, uint64_t instance)
{
    for (int i = hash_index_find(&w->stream_index, instance, HASH_INDEX_NO_RING); i >= 0;
         i = w->next_of_process[i] - 1) {
        w->torn -= w->streams[i].torn;
        w->file->streams[i].used = w->streams[i].used = false;
        hash_index_remove(&w->stream_index, instance, w->streams[i].ring);
        w->free_streams[w->free_stream_count++] = (uint16_t)i;
    }
    hash_index_remove(&w->stream_index, instance, HASH_INDEX_NO_RING);
    int entry = hash_index_find(&w->process_index, instance, HASH_INDEX_NO_RING);
    if (entry < 0)
        return;
    w->file->processes[entry].stream_id = 0;
    hash_index_remove(&w->process_index, instance, HASH_INDEX_NO_RING);
    w->free_processes[w->free_process_count++] = (uint16_t)entry;
}

bool window_holds(const struct window *w, uint32_t i)
{
    const struct saved_stream *saved = &w->file->streams[i];
    const struct window_stream *s = &w->streams[i];
    return saved->state[saved->current & 1].next_seq < s->next_seq || s->acked_seq < s->next_seq;
}

/* Adds a packet that is about to be freed to the saved stream; once, even if a crash repeats the call. */
static void stream_save(struct saved_stream *saved, const struct packet_header *h)
{
    struct window_stream s = stream_from(saved);
    if (h->seq < s.next_seq)
        return;
    stream_apply(&s, h);
    saved->state[!saved->current] = (struct saved_state){.next_seq = s.next_seq,
                                                         .next_ordinal = s.next_ordinal,
                                                         .discarded = s.discarded,
                                                         .reduced = s.reduced,
                                                         .last_ns = s.last_ns,
                                                         .closed = s.closed};
    atomic_signal_fence(memory_order_seq_cst); /* a kill between the two leaves the old state in force */
    saved->current = !saved->current;
}

/* ---- Packets ----------------------------------------------------------------------------------------------------- */

uint64_t window_oldest(const struct window *w)
{
    return atomic_load_explicit(&w->file->freed, memory_order_relaxed); /* relaxed: one owner */
}

uint64_t window_end(const struct window *w)
{
    return atomic_load_explicit(&w->file->written, memory_order_relaxed); /* relaxed: one owner */
}

void window_leave(struct window *w, uint64_t instance, enum window_left how)
{
    int entry = hash_index_find(&w->process_index, instance, HASH_INDEX_NO_RING);
    if (entry >= 0)
        w->file->processes[entry].left = how;
}

enum window_left window_left(const struct window *w, uint64_t instance)
{
    int entry = hash_index_find(&w->process_index, instance, HASH_INDEX_NO_RING);
    return entry >= 0 ? (enum window_left)w->file->processes[entry].left : WINDOW_NOT_LEFT;
}

uint64_t window_records(const struct window *w)
{
    return w->records;
}

uint64_t window_waiting(const struct window *w)
{
    return window_end(w) - window_oldest(w);
}

void *window_memory(struct window *w, size_t *size)
{
    *size = w->mapped;
    return w->file;
}

struct window_packet *window_next(struct window *w, uint64_t *at)
{
    while (*at < window_end(w)) {
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
    uint64_t written = window_end(w), span = packet_span(bytes);
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
                          memory_order_release); /* W0 release: pairs W1, publishes the packet to the next daemon */
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
    if (!s->torn && (s->spooled_seq == 0 ? seq < s->acked_seq : seq > s->spooled_seq))
        s->acked_seq = seq; /* the packets between were freed from the window, so they were acknowledged */
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
    w->torn += !s->torn;
    w->file->streams[i].torn = s->torn = true;
    s->acked_seq = s->sent_seq = s->next_seq;
}

bool window_is_torn(const struct window *w)
{
    return w->torn > 0;
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

uint32_t window_packet_bytes(const struct window *w)
{
    uint64_t share = w->file->capacity / WINDOW_PACKETS;
    return share < WINDOW_PACKET_BYTES ? (uint32_t)share : WINDOW_PACKET_BYTES;
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

void window_free_each(struct window *w, void (*gone)(void *context, const struct packet_header *h), void *context)
{
    for (uint64_t next = window_oldest(w);;) {
        struct packet_header h;
        struct window_packet *p = window_next(w, &next);
        if (!p || atomic_load_explicit(&p->references, memory_order_acquire) != 0) /* F1 acquire: pairs F0 */
            break;
        const struct window_stream *s = &w->streams[p->stream];
        if (packet_get_header(p->data, p->bytes, &h) != 0 || (h.seq >= s->acked_seq && h.seq >= s->spooled_seq))
            break;
        if (gone && h.seq < s->acked_seq && h.seq >= s->spooled_seq && !s->torn)
            gone(context, &h);
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
