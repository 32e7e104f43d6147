// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/shm/journal.h"

#include "base/clock.h"
#include "sensor/shm/cpu_counter.h"
#include "sensor/shm/ring_writer.h"
#include "sensor/shm/segment_create.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { JOURNAL_STRINGS = 1024 };

struct journal {
    struct segment_owned own;
    struct bezel_writer writer;
    uint32_t dict_used, string_count;
    uint8_t field_counts[DICT_ASPECTS_MAX + 1];
    char *strings[JOURNAL_STRINGS]; /* of the dictionary, by id minus 1 */
};

static void publish_dict(struct journal *j, uint32_t used)
{
    j->dict_used = used;
    atomic_store_explicit(&j->own.segment->dict_used, used,
                          memory_order_release); /* D0 release: pairs D1, publishes the entry */
}

static int declare(struct journal *j, const struct dict_aspect *aspects, uint32_t count)
{
    struct segment *s = j->own.segment;
    uint32_t mode = atomic_load_explicit(&s->mode, memory_order_relaxed); /* relaxed: a word of its own */
    for (uint32_t i = 0; i < count; i++) {
        struct dict_aspect a = aspects[i];
        a.id = i + 1;
        int n = i < DICT_ASPECTS_MAX ? dict_append_aspect(s->dict, j->dict_used, SEGMENT_DICT_BYTES, &a) : BEZEL_EFULL;
        if (n < 0)
            return n;
        j->field_counts[a.id] = (uint8_t)a.field_count;
        atomic_store_explicit(&s->enable[a.id], mode, memory_order_relaxed); /* relaxed: the reader has its own word */
        publish_dict(j, (uint32_t)n);
    }
    return 0;
}

/* Takes the first ring. No other thread claims it, so it is OWNED as soon as it has its memory. */
static int take_ring(struct journal *j)
{
    struct segment *s = j->own.segment;
    struct bezel_ring *ring = (struct bezel_ring *)(void *)((char *)s + segment_ring_offset());
    int err = segment_reserve(&j->own, segment_ring_offset(), j->own.ring_stride);
    if (err)
        return err;
    __atomic_store_n(&ring->thread[0], (uint32_t)gettid(), __ATOMIC_RELAXED); /* relaxed: published by the first R0 */
    atomic_store_explicit(&s->ring_state[0], SEGMENT_RING_OWNED,
                          memory_order_release); /* H0 release: pairs H1, the ring's memory is there */
    atomic_fetch_add_explicit(&s->ring_changes, 1,
                              memory_order_release); /* T0 release: pairs T1, publishes the state */
    writer_hold(&j->writer, ring, j->own.ring_slots, 0, false);
    return 0;
}

int journal_open_as(const char *dir, const struct segment_form *form, const struct dict_aspect *aspects, uint32_t count,
                    struct journal **out)
{
    struct journal *j = calloc(1, sizeof *j);
    if (!j)
        return BEZEL_ENOMEM;
    j->own.fd = -1;
    j->own.form = form;
    int err = segment_create(&j->own, dir) ? 0 : BEZEL_ESYS, sys = j->own.why_errno; /* errno is kept as it was */
    if (!err)
        err = declare(j, aspects, count);
    if (!err)
        err = take_ring(j);
    if (err) {
        journal_close(j);
        errno = sys;
        return err;
    }
    *out = j;
    return 0;
}

int journal_open(const char *dir, const struct dict_aspect *aspects, uint32_t count, struct journal **j)
{
    return journal_open_as(dir, NULL, aspects, count, j);
}

void journal_close(struct journal *j)
{
    if (!j)
        return;
    segment_forget(&j->own);
    for (uint32_t i = 0; i < j->string_count; i++)
        free(j->strings[i]);
    free(j);
}

static uint64_t ticks_of(const struct segment_owned *own)
{
    if (own->clock != SEGMENT_CLOCK_COUNTER)
        return (uint64_t)clock_now();
    bool left = atomic_load_explicit(&own->segment->counter_left, memory_order_relaxed); /* relaxed: as above */
    return left ? (uint64_t)clock_now() | BEZEL_KERNEL_TIME : cpu_counter_read();
}

/* Whether records of aspect `id` are to be written; those that are not are counted, if that is wanted. */
static bool is_wanted(struct journal *j, uint32_t id)
{
    uint32_t wanted = atomic_load_explicit(&j->own.segment->enable[id],
                                           memory_order_relaxed) & /* relaxed: late by a record is in time */
                      ~(uint32_t)BEZEL_LEAVE_COUNTER;
    if (wanted != SEGMENT_DISABLED && wanted != SEGMENT_RECORD)
        writer_drop(&j->writer, id, j->writer.ring->off);
    return wanted == SEGMENT_RECORD;
}

static void put(struct journal *j, uint32_t id, uint64_t ticks, const uint64_t *values)
{
    struct bezel_writer *w = &j->writer;
    uint32_t count = j->field_counts[id];
    if (j->own.when_full == SEGMENT_OVERWRITE)
        writer_put_over(w, id, ticks, values, count);
    else if (writer_has_room(w, writer_bytes(count)))
        writer_put(w, id, ticks, values, count);
    else
        writer_drop(w, id, w->ring->full);
}

void journal_record(struct journal *j, uint32_t id, const uint64_t *values)
{
    if (j && is_wanted(j, id))
        put(j, id, ticks_of(&j->own), values);
}

void journal_record_at(struct journal *j, uint32_t id, int64_t ns, const uint64_t *values)
{
    if (j && is_wanted(j, id))
        put(j, id, (uint64_t)ns, values);
}

void journal_lose(struct journal *j, uint32_t id, uint64_t count)
{
    while (j && count-- > 0)
        if (is_wanted(j, id))
            writer_drop(&j->writer, id, j->writer.ring->full);
}

uint64_t journal_lost(const struct journal *j)
{
    uint64_t lost = 0;
    for (uint32_t id = 1; id < RING_ASPECTS; id++)
        lost += bezel_tally_get(&j->writer.ring->full[id]);
    return lost;
}

uint32_t journal_string(struct journal *j, const char *text)
{
    for (uint32_t i = 0; j && i < j->string_count; i++)
        if (strcmp(j->strings[i], text) == 0)
            return i + 1;
    char *copy = j && j->string_count < JOURNAL_STRINGS ? strdup(text) : NULL;
    int n = copy ? dict_append_string(j->own.segment->dict, j->dict_used, SEGMENT_DICT_BYTES, j->string_count + 1, text)
                 : BEZEL_ENOMEM;
    if (n < 0) {
        free(copy);
        return 0;
    }
    j->strings[j->string_count++] = copy;
    publish_dict(j, (uint32_t)n);
    return j->string_count;
}
