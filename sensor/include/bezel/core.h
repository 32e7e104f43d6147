// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * <bezel/core.h>: the ring, and the write path that <bezel/sensor.h> puts into a program. Part of the binary interface
 * of this version, not of the programming interface: include <bezel/sensor.h>. Needs a C11, C++11 or freestanding
 * compiler with GCC's builtins; no library.
 *
 * A ring is a bounded buffer in shared memory with one writing thread and one reader. The writer is wait-free with a
 * bounded number of instructions, no loop and no read-modify-write of memory that another writes; the reader never
 * makes it wait. A record takes as many 32-byte slots as its values need. `head`, `tail` and `oldest` count slots and
 * wrap at 2^32: compare them by unsigned difference only.
 *
 * Crash: the release store of `head` is the last store of a record, so a writer that is killed anywhere loses at most
 * the record that it was writing. Every attempt has an ordinal, whether it finds a place or not: a gap between the
 * ordinals of two records says how many were lost between them. Counters of each aspect say of what, and why; the sum
 * of all aspects' attempts is the ordinal that comes next. Order of a record's stores: attempts, [drop counter | slots,
 * head]. What was begun and not published shows as an attempt that is neither stored nor dropped.
 *
 * Slot words: 0 = ordinal's low 44 bits, generation's low 8, number of values (4 bits), aspect (8 bits); 1 = timestamp
 * in ticks of the segment's clock; then values.
 *
 * Memory order (labels: each release names the acquire that it pairs with; docs/MEMORY-MODEL.md has all of them):
 *   R0 head   writer -> reader   publishes the slots, and every counter stored before them
 *   R2 tail   reader -> writer   gives slots back: the reader's loads from them are done
 */
#ifndef BEZEL_CORE_H
#define BEZEL_CORE_H

#include <stddef.h>
#include <stdint.h>

#ifndef BEZEL_ASPECTS
#define BEZEL_ASPECTS 256 /* counters in a ring; fewer only where no other program reads the ring */
#endif

enum {
    BEZEL_LINE = 128, /* two cache lines: adjacent-line prefetch must not couple writer and reader */
    BEZEL_SLOT_WORDS = 4,
    BEZEL_SLOT_BYTES = 8 * BEZEL_SLOT_WORDS,
    BEZEL_ORDINAL_SHIFT = 20,
    BEZEL_GENERATION_SHIFT = 12,
    BEZEL_COUNT_SHIFT = 8,
    BEZEL_INLINE_VALUES = 2, /* records of more values are written out of line */
    BEZEL_RING_THREADS = 16, /* thread ids remembered, by generation */
};

/** Where the time of a record comes from: the clock, the caller, the record before it. */
enum bezel_time { BEZEL_TIME_NOW, BEZEL_TIME_GIVEN, BEZEL_TIME_AGAIN };

/** Values of an enable word; the write path treats all but the first two alike. */
enum { BEZEL_DISABLED = 0, BEZEL_RECORD = 1, BEZEL_COUNT = 2, BEZEL_UNSET = 3 };

#define BEZEL_ALIGNED_(n) __attribute__((aligned(n)))

/** Counters of one aspect in one ring; one writer. */
struct bezel_tally {
    uint64_t attempts BEZEL_ALIGNED_(8);
    uint64_t full BEZEL_ALIGNED_(8);
    uint64_t off BEZEL_ALIGNED_(8);
    uint64_t reserved BEZEL_ALIGNED_(8);
};

struct bezel_slot {
    uint64_t word[BEZEL_SLOT_WORDS] BEZEL_ALIGNED_(8);
};

/** The ring; its slots follow it. */
struct bezel_ring {
    uint32_t head BEZEL_ALIGNED_(BEZEL_LINE); /* writer's: slots written */
    uint32_t oldest;                     /* writer's, of an overwriting ring: first slot that still holds a record */
    uint64_t ordinal BEZEL_ALIGNED_(8);  /* writer's: attempts up to its last drop, or its end */
    uint32_t generation;                 /* writer's: how often the ring changed hands */
    uint32_t thread[BEZEL_RING_THREADS]; /* writer's: thread id by generation modulo BEZEL_RING_THREADS */

    uint32_t tail BEZEL_ALIGNED_(BEZEL_LINE); /* reader's: slots given back */
    uint64_t base_ordinal BEZEL_ALIGNED_(8);  /* reader's: attempts when its session began */

    struct bezel_tally tally[BEZEL_ASPECTS] BEZEL_ALIGNED_(BEZEL_LINE);
};

/**
 * A thread's hold on a ring, or a context's; private to it. The inline path works where nothing is `busy` and `head`
 * has not reached `limit`; everything else (no ring yet, a full one, another clock than the counter, overwriting, a
 * signal handler inside a record) goes out of line. The ordinal of the next attempt is head + skew.
 */
struct bezel_writer {
    uintptr_t busy; /* stack pointer of the record being written; 0: none */
    uint64_t head;  /* slots written */
    uint64_t limit; /* the inline path may write up to here; 0: nothing */
    uint64_t base;  /* what (head << BEZEL_ORDINAL_SHIFT) lacks to be slot word 0, but for count and aspect */
    uint64_t mask;  /* bytes of all slots but one */
    char *slots;
    struct bezel_ring *ring; /* NULL: none */
    /* out of line */
    uint64_t skew;
    uint64_t room;         /* last seen tail plus size: head may go up to here */
    uint64_t oldest;       /* of an overwriting ring */
    uint64_t previous_end; /* where head stands behind a record that did not begin one slot before ... */
    uint64_t previous;     /* ... but here; UINT64_MAX: there was none whose time could be used again */
    uint32_t generation;   /* low BEZEL_GENERATION_BITS count */
    uint32_t inlined;      /* the inline path may be used */
};

/* ---- Clock ------------------------------------------------------------------------------------------------------- */

/** The processor's counter, not serialised with what stands around it; 0 where there is none that programs may read. */
static inline uint64_t bezel_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

/* ---- Steps of a record ------------------------------------------------------------------------------------------- */

#ifdef __cplusplus
#define BEZEL_POINTER_(type, at) reinterpret_cast<type *>(at)
#define BEZEL_AS_(type, value)   static_cast<type>(value)
#define BEZEL_ADDRESS_(at)       reinterpret_cast<uintptr_t>(at)
#else
#define BEZEL_POINTER_(type, at) ((type *)(at))
#define BEZEL_AS_(type, value)   ((type)(value))
#define BEZEL_ADDRESS_(at)       ((uintptr_t)(at))
#endif

/** Slots of a record of `values` values. */
static inline uint32_t bezel_record_slots(uint32_t values)
{
    return (2 + values + BEZEL_SLOT_WORDS - 1) / BEZEL_SLOT_WORDS;
}

/**
 * Sets a counter that has one writer. On 32-bit machines the halves are stored one after the other, the high one first:
 * no exclusive access, no loop; a reader that looks between the two, once in 2^32, sees a value too large by that.
 */
static inline void bezel_tally_set(uint64_t *counter, uint64_t value)
{
#if UINTPTR_MAX > 0xffffffffu
    __atomic_store_n(counter, value, __ATOMIC_RELAXED); /* relaxed: published by the next R0 */
#else
    uint32_t *half = BEZEL_POINTER_(uint32_t, counter);
    enum { LOW = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, HIGH = 1 - LOW };
    uint32_t high = BEZEL_AS_(uint32_t, value >> 32);
    if (__atomic_load_n(&half[HIGH], __ATOMIC_RELAXED) != high) /* relaxed: own counter, this thread alone writes */
        __atomic_store_n(&half[HIGH], high, __ATOMIC_RELAXED);  /* relaxed: published by the next R0 */
    __atomic_store_n(&half[LOW], BEZEL_AS_(uint32_t, value), __ATOMIC_RELAXED); /* relaxed: likewise */
#endif
}

/** A counter that has one writer, read by it or by another. */
static inline uint64_t bezel_tally_get(const uint64_t *counter)
{
#if UINTPTR_MAX > 0xffffffffu
    return __atomic_load_n(counter, __ATOMIC_RELAXED); /* relaxed: own, or exact once R1 has seen the records */
#else
    const uint32_t *half = BEZEL_POINTER_(const uint32_t, counter);
    enum { LOW = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, HIGH = 1 - LOW };
    uint64_t high = __atomic_load_n(&half[HIGH], __ATOMIC_RELAXED);    /* relaxed: as above */
    return high << 32 | __atomic_load_n(&half[LOW], __ATOMIC_RELAXED); /* relaxed: as above */
#endif
}

static inline void bezel_tally_add(uint64_t *counter)
{
    bezel_tally_set(counter, bezel_tally_get(counter) + 1);
}

/** Attempts of all aspects in `ring` so far: the ordinal of the next. Exact where its writer stands still. */
static inline uint64_t bezel_ring_attempts(const struct bezel_ring *ring)
{
    uint64_t sum = 0;
    for (uint32_t id = 0; id < BEZEL_ASPECTS; id++)
        sum += bezel_tally_get(&ring->tally[id].attempts);
    return sum;
}

/** Where slot number `slot` of the ring of `w` is. */
static inline uint64_t *bezel_slot_at(const struct bezel_writer *w, uint64_t slot)
{
    return BEZEL_POINTER_(uint64_t, w->slots + (slot * BEZEL_SLOT_BYTES & w->mask));
}

/** Marks `w` as inside a record: a signal handler's record, from here on, takes another ring. */
static inline __attribute__((always_inline)) void bezel_enter(struct bezel_writer *w)
{
#if defined(__x86_64__) && defined(__LP64__)
    __asm__ volatile("mov %%rsp, %0" : "=m"(w->busy));
#else
    w->busy = BEZEL_ADDRESS_(__builtin_frame_address(0));
#endif
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* a handler on this thread sees `busy` before anything we touch */
}

static inline __attribute__((always_inline)) void bezel_leave(struct bezel_writer *w)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);         /* and finds it clear only after everything is in place */
    __atomic_store_n(&w->busy, 0, __ATOMIC_RELAXED); /* relaxed: for this thread alone */
}

/** Counts an attempt at the aspect whose counters stand `tally` bytes into the ring. */
static inline void bezel_attempt(struct bezel_writer *w, uint32_t tally)
{
    bezel_tally_add(BEZEL_POINTER_(uint64_t, BEZEL_POINTER_(char, w->ring) + tally));
}

/** Where the counters of aspect `id` stand, in bytes into the ring. */
static inline uint32_t bezel_tally_offset(uint32_t id)
{
    return BEZEL_AS_(uint32_t, offsetof(struct bezel_ring, tally) + id * sizeof(struct bezel_tally));
}

/** Slot word 0 of the next record of `count` values of aspect `id`; `word` is bezel_record_word(id, count). */
static inline uint64_t bezel_slot_word(const struct bezel_writer *w, uint32_t word)
{
    return (w->head << BEZEL_ORDINAL_SHIFT) + w->base + word;
}

static inline uint32_t bezel_record_word(uint32_t id, uint32_t count)
{
    return count << BEZEL_COUNT_SHIFT | id;
}

/**
 * The inline path: a record of `count` (a constant) up to BEZEL_INLINE_VALUES values into one slot, `ticks` given, or
 * read here. False, with nothing done, where it is for the path out of line. What stands in `w` is read behind the
 * mark: a handler's record before that is one of the past.
 */
static inline __attribute__((always_inline)) int bezel_put_inline(struct bezel_writer *w, uint32_t tally, uint32_t word,
                                                                  enum bezel_time time, uint64_t ticks, uint32_t count,
                                                                  uint64_t value0, uint64_t value1)
{
    bezel_enter(w);
    uint64_t head = w->head;
    struct bezel_ring *ring = w->ring;
    if (__builtin_expect(head >= w->limit || (time == BEZEL_TIME_AGAIN && w->previous_end == head), 0)) {
        bezel_leave(w);
        return 0;
    }
    uint64_t first = (head << BEZEL_ORDINAL_SHIFT) + w->base + word;
    uint64_t *at = BEZEL_POINTER_(uint64_t, w->slots + (head * BEZEL_SLOT_BYTES & w->mask));
    if (time == BEZEL_TIME_AGAIN)
        ticks = bezel_slot_at(w, head - 1)[1];
    bezel_tally_add(BEZEL_POINTER_(uint64_t, BEZEL_POINTER_(char, ring) + tally));
    if (time == BEZEL_TIME_NOW)
        ticks = bezel_counter();
    at[0] = first;
    at[1] = ticks;
    if (count > 0)
        at[2] = value0;
    if (count > 1)
        at[3] = value1;
    w->head = head + 1;
    __atomic_store_n(&ring->head, BEZEL_AS_(uint32_t, head + 1),
                     __ATOMIC_RELEASE); /* R0 release: pairs R1, publishes the record */
    bezel_leave(w);
    return 1;
}

/** Where the time of the record before stands; NULL where there is none. */
static inline const uint64_t *bezel_previous_time(const struct bezel_writer *w)
{
    uint64_t slot = w->previous_end == w->head ? w->previous : w->head - 1;
    return slot == UINT64_MAX ? NULL : bezel_slot_at(w, slot) + 1;
}

#endif
