// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Open spans: the segment has a place for each wait or long span that has begun and not ended. The program takes a
 * place at the begin, and frees it after the record of the end; so a kill at any instruction leaves the place, the
 * record, or both. The external sensor reads the places now and then.
 *
 * Word of a place: bits 0 to 7 the aspect, 0 while there is no span; bits 8 to 31 how often the place was taken or
 * freed, odd while it is taken. The program takes a place by a compare-and-exchange, stores time and thread, and then
 * the word with the aspect. A reader that finds the same word before and after has read one span. Both sides are
 * wait-free.
 */
#ifndef BEZEL_SENSOR_SHM_OPEN_PLACE_H
#define BEZEL_SENSOR_SHM_OPEN_PLACE_H

#include "sensor/shm/segment.h"

#include <stdbool.h>

enum {
    OPEN_ASPECT = 0xff, /* mask of the aspect in a word */
    OPEN_STEP = 1 << 8, /* the place is taken, or freed */
    OPEN_NUMBER_BITS = 24,
};

static inline bool open_place_is_taken(uint32_t word)
{
    return word & OPEN_STEP;
}

/* ---- The program's side ------------------------------------------------------------------------------------------ */

/** Takes place `p` for a span of `aspect`, unless it is taken. Returns its word; 0: it is taken. */
static inline uint32_t open_place_take(struct segment_open *p, uint32_t aspect, uint64_t ticks, uint32_t thread)
{
    uint32_t word = atomic_load_explicit(&p->word, memory_order_relaxed), taken; /* relaxed: the exchange decides */
    if (open_place_is_taken(word))
        return 0;
    taken = word + OPEN_STEP;
    /* relaxed: published by Y2 and Y0 */
    if (!atomic_compare_exchange_strong_explicit(&p->word, &word, taken, memory_order_relaxed, memory_order_relaxed))
        return 0;
    atomic_store_explicit(&p->ticks, ticks, memory_order_release);   /* Y2 release: pairs Y3, publishes the taking */
    atomic_store_explicit(&p->thread, thread, memory_order_release); /* Y2 release: pairs Y3, publishes the taking */
    atomic_store_explicit(&p->word, taken | aspect,
                          memory_order_release); /* Y0 release: pairs Y1, publishes the span */
    return taken | aspect;
}

/** Frees `p` if it is still taken for the span whose taking had `number`: for nobody else's, and once. */
static inline void open_place_free(struct segment_open *p, uint32_t number)
{
    uint32_t word = atomic_load_explicit(&p->word, memory_order_relaxed); /* relaxed: the exchange decides */
    if (word / OPEN_STEP == number && open_place_is_taken(word))
        /* Y0 release: pairs Y1, publishes the record of the end (the failure's order is for a place that is not ours)
         */
        (void)atomic_compare_exchange_strong_explicit(&p->word, &word, (word & ~(uint32_t)OPEN_ASPECT) + OPEN_STEP,
                                                      memory_order_release, memory_order_relaxed);
}

/* ---- The external sensor's side ---------------------------------------------------------------------------------- */

/** A span that is open. */
struct open_span {
    uint32_t word, aspect, thread; /* thread: id in the process's pid namespace */
    uint64_t ticks;
};

/** Copies the span in `p` into *span. False: there is none, or it begins or ends right now. */
static inline bool open_place_read(const struct segment_open *p, struct open_span *span)
{
    span->word = atomic_load_explicit(&p->word, memory_order_acquire); /* Y1 acquire: pairs Y0 */
    span->aspect = span->word & OPEN_ASPECT;
    if (!open_place_is_taken(span->word) || span->aspect == 0)
        return false;
    span->ticks = atomic_load_explicit(&p->ticks, memory_order_acquire);       /* Y3 acquire: pairs Y2 */
    span->thread = atomic_load_explicit(&p->thread, memory_order_acquire);     /* Y3 acquire: pairs Y2 */
    return atomic_load_explicit(&p->word, memory_order_relaxed) == span->word; /* relaxed: Y3 ordered it */
}

#endif
