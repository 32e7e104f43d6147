// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Waits and long spans that are open, in places of the segment. `begun` of such a span is 256 times the number of the
 * place's taking, with a salt of this process, plus the number of the place: so the end of a span that a forked child
 * has from its parent frees nothing there.
 */
#include "sensor/internal/internal.h"
#include "sensor/shm/notice.h"
#include "sensor/shm/open_place.h"

#include <sys/syscall.h>
#include <unistd.h>

enum {
    OPEN_OF_THREAD = 4 /* a thread begins its search at its own: 64 bytes, which no other thread writes as a rule */
};

__thread uint32_t bezel_receives;

static uint32_t salted(uint32_t number, uint32_t salt)
{
    return (number + salt) & ((UINT32_C(1) << OPEN_NUMBER_BITS) - 1);
}

/* Even, so that a number stays odd, which no `begun` without a place is. */
static uint32_t salt(void)
{
    return (uint32_t)sensor_process.pid << 1;
}

/*
 * The thread's id, as its ring has it. A thread without a ring claims one, as at its first record, because the hook at
 * its end then frees the place of its bezel_receiving().
 */
static uint32_t thread_id(void)
{
    const struct bezel_writer *w = &bezel_thread;
    if (!w->mask && (w->busy || sensor_claim(0) != 0))
        return (uint32_t)syscall(SYS_gettid);
    return __atomic_load_n(&w->ring->thread[w->generation % BEZEL_RING_OWNERS], __ATOMIC_RELAXED); /* relaxed: own */
}

static void note_missed(struct segment *s)
{
    if (atomic_fetch_add_explicit(&s->open_missed, 1, memory_order_relaxed) == 0) /* relaxed: a counter */
        sensor_notice(s, "BEZEL-OPEN-SPANS",
                      "%d waits and long spans were open at once: further ones are recorded at their ends, and not "
                      "seen while they are open; one that is abandoned needs bezel_drop()",
                      SEGMENT_OPEN_PLACES);
}

uint32_t bezel_span_open(const struct bezel_aspect *aspect, uint64_t ticks)
{
    struct segment *s = sensor_process.own.segment; /* a handler that forks may take it away */
    uint32_t id = aspect->id;
    if (!s || id == 0 || id >= RING_ASPECTS) /* or it cannot be declared */
        return BEZEL_SPAN_UNSEEN_;
    uint32_t thread = thread_id();
    if (!atomic_load_explicit(&s->open_used, memory_order_relaxed))    /* relaxed: a hint, for a look once a second */
        atomic_store_explicit(&s->open_used, 1, memory_order_relaxed); /* relaxed: likewise */
    uint32_t first = sensor_thread.ring[0] * OPEN_OF_THREAD;
    for (uint32_t i = 0; i < SEGMENT_OPEN_PLACES; i++) {
        uint32_t place = (first + i) % SEGMENT_OPEN_PLACES;
        uint32_t word = open_place_take(&s->open[place], id, ticks, thread);
        if (word)
            return salted(word / OPEN_STEP, salt()) * OPEN_STEP + place;
    }
    note_missed(s);
    return BEZEL_SPAN_UNSEEN_;
}

void bezel_span_close(uint32_t begun)
{
    struct segment *s = sensor_process.own.segment;
    if (s && begun >= OPEN_STEP)
        open_place_free(&s->open[begun % SEGMENT_OPEN_PLACES], salted(begun / OPEN_STEP, 0u - salt()));
}

/*
 * The first place from *from on with a wait of thread `thread` that has no fields of its own, with its aspect; NULL:
 * there is none. Under the lock.
 */
static struct bezel_aspect *find_wait(struct segment *s, uint32_t thread, uint32_t *from, struct open_span *wait)
{
    for (; *from < SEGMENT_OPEN_PLACES; ++*from)
        if (open_place_read(&s->open[*from], wait) && wait->thread == thread)
            for (struct bezel_aspect *a = sensor_process.aspects; a; a = a->next)
                if (a->id == wait->aspect && a->kind == BEZEL_KIND_wait && a->field_count == 2)
                    return a;
    return NULL;
}

void sensor_waits_end(void)
{
    struct segment *s = sensor_process.own.segment;
    if (!s || !bezel_thread.mask || !atomic_load_explicit(&s->open_used, memory_order_relaxed)) /* relaxed: our own */
        return;
    uint32_t thread = thread_id();
    for (uint32_t place = 0; place < SEGMENT_OPEN_PLACES; place++) {
        struct open_span wait;
        sigset_t mask;
        sensor_lock(&mask);
        struct bezel_aspect *a = find_wait(s, thread, &place, &wait);
        sensor_unlock(&mask);
        if (!a)
            return;
        uint64_t now = bezel_ticks(), values[] = {bezel_value_int64(bezel_span_ns(wait.ticks, now)), 0};
        if (bezel_span_wanted(a))
            bezel_emit_at(a, now, values);
        open_place_free(&s->open[place], wait.word / OPEN_STEP);
    }
}

uint32_t bezel_span_receiving(const struct bezel_aspect *aspect, uint64_t ticks)
{
    if (bezel_receives)
        bezel_span_close(bezel_receives);
    return bezel_receives = bezel_span_open(aspect, ticks);
}
