// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Knobs, a part of <bezel/sensor.h>: integers of the program that an operator or the resource manager can change while
 * it runs.
 *
 *     BEZEL_KNOB(quality, "%", 10, 100, 75);
 *     ...
 *     encoder_set_quality(encoder, bezel_knob(quality));
 *
 * A knob has a name (as an aspect's), a unit (text for people, "1" for a plain number, at most BEZEL_KNOB_UNIT_MAX
 * bytes), a range min..max and an initial value within it, all int32_t. The program reads it at a safe point, where a
 * change does no harm: once a frame, once a round. Bezel calls nothing in the program, and runs no thread or signal
 * handler there.
 *
 * Reading costs two loads, of which one is of shared memory and relaxed, an addition and a comparison with each end of
 * the range: wait-free, no system call, no lock, no allocation; from any thread and signal handler, also before main().
 * A knob orders nothing: two reads may see a new value and then, on another thread, the old one; two knobs that are
 * changed together are not read together. If one value must stay the same for a while, read it once and keep it.
 *
 * Whatever the shared memory contains, the value read lies within min..max as the program was compiled. It is the
 * initial value while the process is not observed, where there is no shared memory, after fork() in the child until the
 * child's own knob is changed, and with -DBEZEL_OFF, which makes it a constant. The external sensor finds a process and
 * its knobs from its first record, bezel_intern() or bezel_thread_init() on. When observation ends, every knob gets its
 * initial value back. An external sensor that is killed leaves the knobs as they are, and its next life continues from
 * there.
 *
 * A process has room for BEZEL_KNOBS_MAX knobs; those beyond, and those that break a rule, keep their initial values,
 * and a notice says so (docs/NOTICES.md). Two knobs of the same name, unit, range and initial value are one.
 */
#ifndef BEZEL_KNOB_H
#define BEZEL_KNOB_H

#include <bezel/sensor.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BEZEL_KNOBS_MAX = 16, BEZEL_KNOB_UNIT_MAX = 19 };

/**
 * A knob: storage and texts belong to the program and must outlive it. BEZEL_KNOB() fills it; by hand, fill name, unit,
 * min, max and initial, let `shift` be &bezel_knob_unset and the rest zeros, and register it.
 */
struct bezel_knob {
    const uint32_t *shift; /* library's: how far the value lies from `initial`, modulo 2^32 */
    const char *name, *unit;
    int32_t min, max, initial;
    uint32_t place;          /* library's: 1 + its place in the segment; 0: not declared yet */
    struct bezel_knob *next; /* library's */
};

/** `shift` points here while the knob cannot be changed: 0. */
extern BEZEL_API const uint32_t bezel_knob_unset;

/**
 * Registers `knob`; BEZEL_KNOB() calls this before main(). Borrows `knob` for ever: a library that contains it stays in
 * memory when it is unloaded. Not async-signal-safe.
 */
BEZEL_API void bezel_knob_register(struct bezel_knob *knob);

/** The knob's present value, like bezel_knob(), but out of line: for knobs that were filled by hand. */
BEZEL_API int32_t bezel_knob_value(const struct bezel_knob *knob);

/** The value `shift` away from `initial`, within min..max. */
static inline int32_t bezel_knob_within(uint32_t shift, int32_t min, int32_t max, int32_t initial)
{
    uint32_t sum = BEZEL_AS_(uint32_t, initial) + shift;
    int32_t value = BEZEL_AS_(int32_t, sum);
    return value < min ? min : value > max ? max : value;
}

/** Does the work of bezel_knob(). The range comes as constants, so that no memory that others write can widen it. */
static inline __attribute__((always_inline)) int32_t bezel_knob_load(const struct bezel_knob *knob, int32_t min,
                                                                     int32_t max, int32_t initial)
{
    const uint32_t *shift = __atomic_load_n(&knob->shift, __ATOMIC_ACQUIRE); /* V3 acquire: pairs V2 */
    /* relaxed: a number, nothing hangs on it */
    return bezel_knob_within(__atomic_load_n(shift, __ATOMIC_RELAXED), min, max, initial);
}

/** The present value of a knob that BEZEL_KNOB() declared: int32_t. */
#define bezel_knob(name) name##_bezel_knob_read()

#ifdef __cplusplus
#define BEZEL_STATIC_ASSERT_ static_assert
#else
#define BEZEL_STATIC_ASSERT_ _Static_assert
#endif

/** Declares a knob at file scope: BEZEL_KNOB(name, unit, min, max, initial); in C++ also inside a namespace. */
#ifndef BEZEL_OFF
#define BEZEL_KNOB(name, unit, min, max, initial)                                                                      \
    BEZEL_KNOB_RANGE_(min, max, initial);                                                                              \
    static struct bezel_knob bezel_knob_##name = {&bezel_knob_unset, #name, unit, min, max, initial, 0, 0};            \
    __attribute__((constructor)) static void bezel_knob_register_##name(void)                                          \
    {                                                                                                                  \
        bezel_knob_register(&bezel_knob_##name);                                                                       \
    }                                                                                                                  \
    __attribute__((unused, always_inline)) static inline int32_t name##_bezel_knob_read(void)                          \
    {                                                                                                                  \
        return bezel_knob_load(&bezel_knob_##name, min, max, initial);                                                 \
    }                                                                                                                  \
    struct bezel_semicolon_knob_##name
#else
#define BEZEL_KNOB(name, unit, min, max, initial)                                                                      \
    BEZEL_KNOB_RANGE_(min, max, initial);                                                                              \
    __attribute__((unused)) static inline int32_t name##_bezel_knob_read(void)                                         \
    {                                                                                                                  \
        return initial;                                                                                                \
    }                                                                                                                  \
    struct bezel_semicolon_knob_##name
#endif

#define BEZEL_KNOB_RANGE_(min, max, initial)                                                                           \
    BEZEL_STATIC_ASSERT_((min) >= INT32_MIN && (max) <= INT32_MAX && (min) <= (initial) && (initial) <= (max),         \
                         "a knob has a range of int32_t, and its initial value lies in it")

#ifdef __cplusplus
}
#endif

#endif
