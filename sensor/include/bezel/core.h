// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * <bezel/core.h>: the ring, and the write path that <bezel/sensor.h> puts into a program. It is part of the binary
 * interface of this version, not of the programming interface: include <bezel/sensor.h>. It needs a C11, C++11 or
 * freestanding compiler with GCC's builtins, and no library.
 *
 * A ring is a bounded buffer in shared memory with one writing thread and one reader. The writer is wait-free with a
 * bounded number of instructions, no loop and no read-modify-write of memory that another writes; the reader never
 * makes it wait. A record takes as many 32-byte slots as its values need. `head`, `tail` and `oldest` count slots and
 * wrap at 2^32: compare them by unsigned difference only.
 *
 * Crash: the release store of `head` is the last store of a record, so a writer that is killed anywhere loses at most
 * the record that it was writing. Every attempt has an ordinal, also that of a lost record: a gap between the ordinals
 * of two records is the number of records lost between them. Counters of each aspect show which aspects lost records,
 * and why; the sum of all aspects' attempts is the next ordinal. A record's stores are ordered slots, attempts, head;
 * those of a lost record attempts, drop counter. A record that was counted and not published shows as an attempt that
 * is neither stored nor dropped.
 *
 * Slot words: 0 = ordinal's low 44 bits, generation's low 8, number of values (4 bits), aspect (8 bits); 1 = timestamp
 * in ticks of the segment's clock; then values.
 *
 * Memory order (labels: each release names the acquire that it pairs with; docs/MEMORY-MODEL.md has all of them):
 *   R0 head   writer -> reader   publishes the slots, and every counter stored before them
 *   R2 tail   reader -> writer   gives slots back: the reader's loads from them, and stores into them, are done
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
    BEZEL_HEAD_SHIFT = BEZEL_ORDINAL_SHIFT - 5, /* a position counts 32 bytes for an ordinal */
    BEZEL_GENERATION_SHIFT = 12,
    BEZEL_COUNT_SHIFT = 8,
    BEZEL_INLINE_VALUES = 2, /* records of more values are written out of line */
    BEZEL_AHEAD_WORDS = 64,  /* the ring is prefetched so far ahead of a record: the time of some ten records */
    BEZEL_RING_OWNERS = 16,  /* thread ids that a ring keeps, by generation */
};

/** Source of a record's time: the clock, the caller, the record before it. */
enum bezel_time { BEZEL_TIME_NOW, BEZEL_TIME_GIVEN, BEZEL_TIME_AGAIN };

/** Values of an enable word; the write path treats all but the first two alike. */
enum { BEZEL_DISABLED = 0, BEZEL_RECORD = 1, BEZEL_COUNT = 2, BEZEL_UNSET = 3 };

/** A bit beside BEZEL_RECORD or BEZEL_COUNT in an enable word: the process is idle, and its next record sets its wake
 * bit. */
enum { BEZEL_WAKE = 4 };

/** Likewise: the processor's counter is not trusted any more, and records have the kernel's clock (BEZEL_KERNEL_TIME).
 */
enum { BEZEL_LEAVE_COUNTER = 8 };

/**
 * Bit of a time in a ring whose clock is the counter: the rest is no ticks but ns of CLOCK_MONOTONIC. Neither clock
 * comes so far: at 5 GHz a counter needs 58 years.
 */
#define BEZEL_KERNEL_TIME (UINT64_C(1) << 63)

#define BEZEL_ALIGNED_(n) __attribute__((aligned(n)))

struct bezel_slot {
    uint64_t word[BEZEL_SLOT_WORDS] BEZEL_ALIGNED_(8);
};

/** The ring; its slots follow it. Counters have one writer, and an element for each aspect. */
struct bezel_ring {
    uint32_t head BEZEL_ALIGNED_(BEZEL_LINE); /* writer's: slots before this position are written */
    uint32_t oldest;                          /* writer's, of an overwriting ring: first slot that still has a record */
    uint32_t generation;                      /* writer's: how often the ring changed its owner */
    uint32_t thread[BEZEL_RING_OWNERS];       /* writer's: thread id by generation modulo BEZEL_RING_OWNERS */

    uint32_t tail BEZEL_ALIGNED_(BEZEL_LINE); /* reader's: slots before this position are given back */
    uint64_t base_ordinal BEZEL_ALIGNED_(8);  /* reader's: attempts when its session began */

    uint64_t attempts[BEZEL_ASPECTS] BEZEL_ALIGNED_(BEZEL_LINE);
    uint64_t full[BEZEL_ASPECTS] BEZEL_ALIGNED_(8);
    uint64_t off[BEZEL_ASPECTS] BEZEL_ALIGNED_(8);
};

/**
 * The state of a ring's writer: private to its thread, or to its context. The inline path runs if `busy` is 0 and
 * `head` is below `limit`; every other case (no ring yet, a full ring, another clock than the counter, overwriting, a
 * signal handler inside a record) goes out of line. There, positions have 64 bits and do not wrap: high + head. The
 * ordinal of the next attempt is its position / 32 + skew.
 */
struct bezel_writer {
    uintptr_t busy;          /* stack pointer of the record being written; 0: none */
    uint32_t limit;          /* the inline path may write while head is below; 0: never */
    uint32_t mask;           /* position & mask is an offset: bytes of all slots but one; 0: there is no ring */
    uint64_t base;           /* slot word 0 minus (head << BEZEL_HEAD_SHIFT), without count and aspect */
    struct bezel_ring *ring; /* never NULL: a dummy where there is no ring */
    /* out of line */
    uint64_t high; /* multiple of 2^32; the inline path stops short of the next */
    uint64_t skew;
    uint64_t room;         /* last tail read plus size: the end of the free slots */
    uint64_t oldest;       /* of an overwriting ring */
    uint64_t previous_end; /* position after a record that did not begin one slot before it ... */
    uint64_t previous;     /* ... but here; UINT64_MAX: no record whose time can be used again */
    uint32_t generation;
    uint32_t inlined;     /* the inline path may be used */
    uint32_t usual;       /* library's: as inlined, for the kernel's clock ... */
    uint32_t usual_limit; /* ... and as limit */
};

/* ---- Clock ------------------------------------------------------------------------------------------------------- */

/** The processor's counter, not serialised with the instructions around it; 0 on processors without a counter for
 * programs. */
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
#define BEZEL_UNCONST_(ring)     const_cast<struct bezel_ring *>(ring)
#define BEZEL_AS_(type, value)   static_cast<type>(value)
#define BEZEL_ADDRESS_(at)       reinterpret_cast<uintptr_t>(at)
#else
#define BEZEL_POINTER_(type, at) ((type *)(at))
#define BEZEL_UNCONST_(ring)     ((struct bezel_ring *)(ring))
#define BEZEL_AS_(type, value)   ((type)(value))
#define BEZEL_ADDRESS_(at)       ((uintptr_t)(at))
#endif

/** Slots of a record of `values` values. */
static inline uint32_t bezel_record_slots(uint32_t values)
{
    return (2 + values + BEZEL_SLOT_WORDS - 1) / BEZEL_SLOT_WORDS;
}

/**
 * Sets a counter that has one writer. On 32-bit machines the halves are stored one after the other, the high one first,
 * without exclusive access or loop. A read between the two stores, once in 2^32 records, is too large by 2^32.
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

/** Reads a counter that has one writer; the caller is the writer or not. */
static inline uint64_t bezel_tally_get(const uint64_t *counter)
{
#if UINTPTR_MAX > 0xffffffffu
    return __atomic_load_n(counter, __ATOMIC_RELAXED); /* relaxed: own, or exact once R1 has seen the records */
#else
    const uint32_t *half = BEZEL_POINTER_(const uint32_t, counter);
    enum { LOW = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, HIGH = 1 - LOW };
    uint64_t low = __atomic_load_n(&half[LOW], __ATOMIC_RELAXED); /* relaxed: as above; the low half first, see there */
    return BEZEL_AS_(uint64_t, __atomic_load_n(&half[HIGH], __ATOMIC_RELAXED)) << 32 | low; /* relaxed: as above */
#endif
}

static inline void bezel_tally_add(uint64_t *counter)
{
    bezel_tally_set(counter, bezel_tally_get(counter) + 1);
}

/** Attempts of all aspects in `ring` so far: the next ordinal. Exact while its writer does nothing. */
static inline uint64_t bezel_ring_attempts(const struct bezel_ring *ring)
{
    uint64_t sum = 0;
    for (uint32_t id = 0; id < BEZEL_ASPECTS; id++)
        sum += bezel_tally_get(&ring->attempts[id]);
    return sum;
}

/** Counts an attempt of aspect `id`: on x86-64 by one instruction, without a lock, as there is one writer. */
static inline __attribute__((always_inline)) void bezel_attempt(struct bezel_ring *ring, uint32_t id)
{
#if defined(__x86_64__)
    __asm__("incq %0" : "+m"(ring->attempts[id]));
#else
    bezel_tally_add(&ring->attempts[id]);
#endif
}

/** The slot at `position` of `ring`; `mask` keeps any position within the ring. */
static inline uint64_t *bezel_slot_at(const struct bezel_ring *ring, uint32_t mask, uint32_t position)
{
    char *slots = BEZEL_POINTER_(char, BEZEL_UNCONST_(ring) + 1);
    return BEZEL_POINTER_(uint64_t, slots + (position & mask));
}

/** Marks `w` as busy: from here on a signal handler's record takes another ring. */
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

/** Slot word 0 of a record of `count` values of aspect `id`, without ordinal and generation. */
static inline uint32_t bezel_record_word(uint32_t id, uint32_t count)
{
    return count << BEZEL_COUNT_SHIFT | id;
}

/** Writes and publishes a record of up to BEZEL_INLINE_VALUES values (`count` is a constant) into the slot at `head`.
 */
static inline __attribute__((always_inline)) void bezel_store_one(const struct bezel_writer *w, struct bezel_ring *ring,
                                                                  uint32_t head, uint32_t id, uint64_t ticks,
                                                                  uint32_t count, uint64_t value0, uint64_t value1)
{
    uint64_t *at = bezel_slot_at(ring, w->mask, head);
    __builtin_prefetch(at + BEZEL_AHEAD_WORDS, 1); /* the line is in the reader's cache */
    at[0] = (BEZEL_AS_(uint64_t, head) << BEZEL_HEAD_SHIFT) + w->base + bezel_record_word(id, count);
    at[1] = ticks;
    if (count > 0)
        at[2] = value0;
    if (count > 1)
        at[3] = value1;
    bezel_attempt(ring, id);
    /* R0 release: pairs R1, publishes the record and its attempt */
    __atomic_store_n(&ring->head, head + BEZEL_SLOT_BYTES, __ATOMIC_RELEASE);
}

/**
 * The inline path: a record that fits one slot, with `ticks` given, or read here. Returns 0, with nothing done, if the
 * record must go out of line. `w` is read only after it is marked busy, because a handler's record before that may
 * change it.
 */
static inline __attribute__((always_inline)) int bezel_put_inline(struct bezel_writer *w, uint32_t id,
                                                                  enum bezel_time time, uint64_t ticks, uint32_t count,
                                                                  uint64_t value0, uint64_t value1)
{
    bezel_enter(w);
    struct bezel_ring *ring = w->ring;
    uint32_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED); /* relaxed: own word */
    if (__builtin_expect(head >= w->limit, 0) ||
        (time == BEZEL_TIME_AGAIN && BEZEL_AS_(uint32_t, w->previous_end) == head)) {
        bezel_leave(w);
        return 0;
    }
    if (time == BEZEL_TIME_NOW)
        ticks = bezel_counter();
    else if (time == BEZEL_TIME_AGAIN)
        ticks = bezel_slot_at(ring, w->mask, head - BEZEL_SLOT_BYTES)[1];
    bezel_store_one(w, ring, head, id, ticks, count, value0, value1);
    bezel_leave(w);
    return 1;
}

#endif
