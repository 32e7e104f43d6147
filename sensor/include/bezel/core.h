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
 * of all aspects' attempts is the ordinal that comes next. Order of a record's stores: slots, attempts, head;
 * of one that is lost: attempts, drop counter. What was counted and not published shows as an attempt that is neither
 * stored nor dropped.
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
    BEZEL_HEAD_SHIFT = BEZEL_ORDINAL_SHIFT - 5, /* a position counts 32 bytes for an ordinal */
    BEZEL_GENERATION_SHIFT = 12,
    BEZEL_COUNT_SHIFT = 8,
    BEZEL_INLINE_VALUES = 2, /* records of more values are written out of line */
    BEZEL_AHEAD_WORDS = 64,  /* so far ahead of a record the ring is fetched: the time of some ten records */
    BEZEL_RING_THREADS = 16, /* thread ids remembered, by generation */
};

/** Where the time of a record comes from: the clock, the caller, the record before it. */
enum bezel_time { BEZEL_TIME_NOW, BEZEL_TIME_GIVEN, BEZEL_TIME_AGAIN };

/** Values of an enable word; the write path treats all but the first two alike. */
enum { BEZEL_DISABLED = 0, BEZEL_RECORD = 1, BEZEL_COUNT = 2, BEZEL_UNSET = 3 };

/** Beside BEZEL_RECORD or BEZEL_COUNT in an enable word: nobody polls this process, its next record is to knock. */
enum { BEZEL_KNOCK = 4 };

#define BEZEL_ALIGNED_(n) __attribute__((aligned(n)))

struct bezel_slot {
    uint64_t word[BEZEL_SLOT_WORDS] BEZEL_ALIGNED_(8);
};

/** The ring; its slots follow it. Counters have one writer, and an element for each aspect. */
struct bezel_ring {
    uint32_t head BEZEL_ALIGNED_(BEZEL_LINE); /* writer's: up to here slots are written */
    uint32_t oldest;                     /* writer's, of an overwriting ring: first slot that still holds a record */
    uint32_t generation;                 /* writer's: how often the ring changed hands */
    uint32_t thread[BEZEL_RING_THREADS]; /* writer's: thread id by generation modulo BEZEL_RING_THREADS */

    uint32_t tail BEZEL_ALIGNED_(BEZEL_LINE); /* reader's: up to here slots are given back */
    uint64_t base_ordinal BEZEL_ALIGNED_(8);  /* reader's: attempts when its session began */

    uint64_t attempts[BEZEL_ASPECTS] BEZEL_ALIGNED_(BEZEL_LINE);
    uint64_t full[BEZEL_ASPECTS] BEZEL_ALIGNED_(8);
    uint64_t off[BEZEL_ASPECTS] BEZEL_ALIGNED_(8);
};

/**
 * A thread's hold on a ring, or a context's; private to it. The inline path works where nothing is `busy` and `head` is
 * below `limit`; everything else (no ring yet, a full one, another clock than the counter, overwriting, a signal
 * handler inside a record) goes out of line. There, positions have 64 bits and do not wrap: high + head. The ordinal of
 * the next attempt is its position / 32 + skew.
 */
struct bezel_writer {
    uintptr_t busy;          /* stack pointer of the record being written; 0: none */
    uint32_t limit;          /* the inline path may write while head is below; 0: never */
    uint32_t mask;           /* makes an offset of a position: bytes of all slots but one; 0: there is no ring */
    uint64_t base;           /* what head << BEZEL_HEAD_SHIFT lacks to be slot word 0, but for count and aspect */
    struct bezel_ring *ring; /* always readable, if only a dummy */
    /* out of line */
    uint64_t high; /* multiple of 2^32; the inline path stops short of the next */
    uint64_t skew;
    uint64_t room;         /* last seen tail plus size: may be written up to here */
    uint64_t oldest;       /* of an overwriting ring */
    uint64_t previous_end; /* position behind a record that did not begin one slot before ... */
    uint64_t previous;     /* ... but here; UINT64_MAX: there was none whose time could be used again */
    uint32_t generation;
    uint32_t inlined;     /* the inline path may be used */
    uint32_t usual;       /* the library's: as inlined, but for the kernel's clock ... */
    uint32_t usual_limit; /* ... and as limit */
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
    uint64_t low = __atomic_load_n(&half[LOW], __ATOMIC_RELAXED); /* relaxed: as above; the low half first, see there */
    return BEZEL_AS_(uint64_t, __atomic_load_n(&half[HIGH], __ATOMIC_RELAXED)) << 32 | low; /* relaxed: as above */
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
        sum += bezel_tally_get(&ring->attempts[id]);
    return sum;
}

/** Counts an attempt at aspect `id`. One instruction where there is one: nothing is locked, there is one writer. */
static inline __attribute__((always_inline)) void bezel_attempt(struct bezel_ring *ring, uint32_t id)
{
#if defined(__x86_64__)
    __asm__("incq %0" : "+m"(ring->attempts[id]));
#else
    bezel_tally_add(&ring->attempts[id]);
#endif
}

/** The slot at `position` of `ring`; `mask` keeps any number inside. */
static inline uint64_t *bezel_slot_at(const struct bezel_ring *ring, uint32_t mask, uint32_t position)
{
    char *slots = BEZEL_POINTER_(char, BEZEL_UNCONST_(ring) + 1);
    return BEZEL_POINTER_(uint64_t, slots + (position & mask));
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

/** What slot word 0 says of a record of `count` values of aspect `id`, beside ordinal and generation. */
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
    __builtin_prefetch(at + BEZEL_AHEAD_WORDS, 1); /* the reader had it: fetch it back in time */
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
 * The inline path: a record that fits one slot, `ticks` given, or read here. False, with nothing done, where it is for
 * the path out of line. What stands in `w` is read behind the mark: a handler's record before that is one of the past.
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
