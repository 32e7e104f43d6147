// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * <bezel/sensor.h>: internal sensors for C11 and C++11 programs.
 *
 *     BEZEL_ASPECT(frame_shown, (int64, frame, "1"), (float64, latency, "ms"));
 *     ...
 *     bezel_record(frame_shown, frame, latency);
 *
 * An aspect is a kind of event of interest: a name and 0 to 12 fields. A field is a tuple (type, name, unit) with type
 * one of
 *
 *     int64     a signed number           parameter type int64_t
 *     float64   an IEEE 754 double        parameter type double
 *     enum      a number with labels      parameter type int64_t; (enum, name, unit, "idle|busy|off") count from 0
 *     string    an interned string        parameter type bezel_string, made by bezel_intern()
 *     cpu       an int64 with unit "ns": CPU time of the thread so far, read by the record; its argument is BEZEL_CPU
 *
 * The unit is text for people, "1" for a plain number. A record is written into a ring in shared memory at the cost of
 * one clock read: no system call, no lock, no allocation, never blocking; the calling thread's first record also claims
 * its ring (see bezel_thread_init()). A disabled aspect costs two loads and a branch. If the shared memory cannot be
 * made, the program runs on unharmed without it; with BEZEL_DEBUG=1 in the environment the library prints the reason on
 * stderr.
 *
 * Compiled with -DBEZEL_OFF, every record is an empty function: arguments are still type-checked, nothing is linked.
 *
 * Everything here is thread-safe. bezel_record() may be called from a signal handler, also from one that interrupts
 * another record: the handler's record goes into a ring of its own (three levels deep; deeper ones are counted as lost,
 * with the cause "no-ring"). A handler may leave by longjmp(). It must not change to another user-level context
 * (swapcontext()) and come back later, nor run on an alternate stack that disarms itself (SS_AUTODISARM). After fork(),
 * from a handler too, the child records into a segment of its own, and a record that the fork interrupted is its
 * parent's; a child made by a bare clone or _Fork() must not record before it calls exec. Constructors and destructors
 * may record, in any order; records from before all constructors (.preinit_array, ifunc) are counted as lost.
 *
 * Environment, read once at the process's first record:
 *     BEZEL_DIR            folder of the shared memory; default /dev/shm/bezel-<uid>
 *     BEZEL_PROCESS        name of this process in the experiment; default the program's file name
 *     BEZEL_RING_RECORDS   slots of a ring (one holds two values), a power of two from 64 to 1048576; default 4096
 *     BEZEL_RING_THREADS   rings of the process: so many threads record at once, from 1 to 1024; default 128
 *     BEZEL_WHEN_FULL      which records a full ring loses: discard, the new one (default); overwrite, the oldest ones
 *     BEZEL_CLOCK          clock of the records: counter, the processor's, where it is trusted (default); monotonic
 *     BEZEL_ASPECTS        first state of aspects: on:PATTERN, count:PATTERN, off:PATTERN, with blanks between them
 *     BEZEL_DEBUG          1: print on stderr why nothing is recorded
 *
 * When the program is loaded, libbezel maps the doorbell of the folder, if a bezeld serves it. A process that cannot
 * make shared memory later, for example because it gave up its user, counts itself there as one whose records are
 * unknown.
 */
#ifndef BEZEL_SENSOR_H
#define BEZEL_SENSOR_H

#include <bezel/core.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BEZEL_VERSION_MAJOR 0
#define BEZEL_VERSION_MINOR 1
#define BEZEL_VERSION_PATCH 0

#if defined(__GNUC__)
#define BEZEL_API __attribute__((visibility("default")))
#else
#error "<bezel/sensor.h> needs GCC or Clang"
#endif

enum { BEZEL_FIELDS_MAX = 12 };

/** Types of a field. The numbers stand in dictionaries on the wire (mdr.x) and never change. */
enum bezel_type {
    BEZEL_TYPE_int64 = 0,
    BEZEL_TYPE_float64 = 1,
    BEZEL_TYPE_enum = 2,
    BEZEL_TYPE_string = 3,
    BEZEL_TYPE_cpu = BEZEL_TYPE_int64
};

/** The argument of a field of type cpu. */
typedef enum { BEZEL_CPU = 0 } bezel_cpu;

/**
 * CPU time that the calling thread has used (CLOCK_THREAD_CPUTIME_ID), ns; -1 if the kernel does not tell. A system
 * call, of some 100 ns to 1 us. Thread-safe, async-signal-safe; keeps errno.
 */
#ifndef BEZEL_OFF
BEZEL_API int64_t bezel_cpu_ns(void);
#else
static inline int64_t bezel_cpu_ns(void)
{
    return -1;
}
#endif

/** The id of an interned string; 0: there was no room for the string. A plain value: copy it freely. */
typedef struct {
    uint64_t id;
} bezel_string;

/** One field of an aspect. `labels` is NULL but for enum: label texts separated by '|', counted from 0. */
struct bezel_field {
    enum bezel_type type;
    const char *name;
    const char *unit;
    const char *labels;
};

/**
 * An aspect: storage and texts belong to the program and must outlive it. Fill name, field_count and fields; `enable`
 * starts as &bezel_enable_unset, the rest as zeros. BEZEL_ASPECT() does all this; fill one by hand only to declare at
 * run time.
 */
struct bezel_aspect {
    const uint32_t *enable; /* library's: the enable word */
    const char *name;       /* 1 to 63 bytes: letters, digits, '_', '.', ':'; not bezel_undeclared */
    uint32_t field_count;
    uint32_t id; /* library's: number in this process's dictionary, from 1; 0 while not declared */
    const struct bezel_field *fields;
    struct bezel_aspect *next; /* library's */
    uint32_t early;            /* library's: records lost before it was declared */
    uint32_t kind;             /* enum bezel_kind; 0: an event */
};

/** `enable` points here before the aspect is declared: not zero, so that the first record goes to the library. */
extern BEZEL_API const uint32_t bezel_enable_unset;

/**
 * Registers `aspect`; BEZEL_ASPECT() calls this before main(). Borrows `aspect` for ever: a library that contains it
 * stays in memory when it is unloaded. Two aspects of the same name and the same fields are one. If the fields differ,
 * records of the later aspect are lost, and counted under the aspect bezel_undeclared. The same happens to aspects that
 * exceed a limit, find no room, or are named bezel_undeclared: the notice BEZEL-ASPECT-REFUSED has the reason. A record
 * before this registers the aspect, too, but does not keep its library in memory. Not async-signal-safe.
 */
BEZEL_API void bezel_aspect_register(struct bezel_aspect *aspect);

/** The writer of the calling thread's ring. The library's. */
extern BEZEL_API __thread struct bezel_writer bezel_thread __attribute__((tls_model("initial-exec")));

/** Whether this process's records are stamped with the processor's counter. The library's. */
extern BEZEL_API uint32_t bezel_clock_is_counter;

/**
 * Writes one record of `aspect` with `aspect->field_count` values of 8 bytes, stamped now, or with `ticks`, or with the
 * time of the record that this thread wrote before (now, where that one was lost or is none). Use bezel_record() and
 * bezel_again(), which check types and do the usual case without a call.
 */
BEZEL_API void bezel_emit(struct bezel_aspect *aspect, const uint64_t *values);
BEZEL_API void bezel_emit_at(struct bezel_aspect *aspect, uint64_t ticks, const uint64_t *values);
BEZEL_API void bezel_emit_again(struct bezel_aspect *aspect, const uint64_t *values);

/** For bezel_thread_init(): keep the ring in memory (mlock). Its memory is reserved and mapped in any case. */
#define BEZEL_LOCK 1u
/** For bezel_thread_init(): also claim the ring of signal handlers that interrupt a record. */
#define BEZEL_SIGNALS 2u

/**
 * Claims the calling thread's ring now, so that its first record costs no more than later ones: call it before the
 * real-time phase of the thread. `options`: 0, BEZEL_LOCK, BEZEL_SIGNALS, or both. May block, allocate and fault.
 * Returns 0, or a negative number if there is no shared memory or no free ring, or if RLIMIT_MEMLOCK does not allow the
 * lock. The program may ignore an error: records without a ring are counted as lost. Not async-signal-safe.
 */
#ifndef BEZEL_OFF
BEZEL_API int bezel_thread_init(unsigned options);
#else
static inline int bezel_thread_init(unsigned options)
{
    (void)options;
    return 0;
}
#endif

/**
 * Stamps this process's records with a clock of the program: `now` returns ticks that never run backwards, `frequency`
 * is their rate (Hz, above 0). Call it before the first record. Returns 0, or a negative number if it is too late,
 * `now` is NULL or `frequency` is 0. `now` is called in the write path, from any thread and signal handler that
 * records. The external sensor relates this clock to CLOCK_MONOTONIC by pairs of readings, which it requests now and
 * then.
 */
#ifndef BEZEL_OFF
BEZEL_API int bezel_clock(uint64_t (*now)(void), uint64_t frequency);
#else
static inline int bezel_clock(uint64_t (*now)(void), uint64_t frequency)
{
    (void)now, (void)frequency;
    return 0;
}
#endif

/** As bezel_ticks(), out of line. */
BEZEL_API uint64_t bezel_ticks_now(void);

/**
 * Converts a duration in ticks, the difference of two bezel_ticks(), to nanoseconds; 0 while the clock's rate is not
 * known, as before an external sensor reads this process. On a guest that leaves the processor's counter in mid-run the
 * two may be of different clocks: bezel_span_ns() finds that. Thread-safe, async-signal-safe.
 */
BEZEL_API int64_t bezel_ticks_ns(uint64_t ticks);

/** Reads the clock that stamps records, in its ticks. */
static inline uint64_t bezel_ticks(void)
{
    /* relaxed: set before the first record, and changed by a fork, or if the counter is left (BEZEL_KERNEL_TIME) */
    return __atomic_load_n(&bezel_clock_is_counter, __ATOMIC_RELAXED) ? bezel_counter() : bezel_ticks_now();
}

/**
 * Returns the id of `text` (cut at 255 bytes) in this process; the same text has the same id. A byte that is not UTF-8
 * is stored as \xHH, its hexadecimal digits. There is room for some thousands of strings. The id is 0 if there is no
 * room left, or no shared memory. Takes a lock: intern before the real-time phase, and keep the id. Not
 * async-signal-safe.
 */
#ifndef BEZEL_OFF
BEZEL_API bezel_string bezel_intern(const char *text);
#else
static inline bezel_string bezel_intern(const char *text)
{
    bezel_string none = {0};
    (void)text;
    return none;
}
#endif

/** The library's version as "major.minor.patch"; static storage. */
BEZEL_API const char *bezel_version(void);

/* Values in transit: how each type of parameter becomes the 8 bytes of a slot. */
static inline uint64_t bezel_value_int64(int64_t v)
{
#ifdef __cplusplus
    return static_cast<uint64_t>(v);
#else
    return (uint64_t)v;
#endif
}

static inline uint64_t bezel_value_float64(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline uint64_t bezel_value_enum(int64_t v)
{
    return bezel_value_int64(v);
}
static inline uint64_t bezel_value_string(bezel_string v)
{
    return v.id;
}

/* Evaluated where the record is written, and so only if it is. */
static inline uint64_t bezel_value_cpu(bezel_cpu v)
{
    (void)v;
    return bezel_value_int64(bezel_cpu_ns());
}

typedef int64_t bezel_param_int64;
typedef double bezel_param_float64;
typedef int64_t bezel_param_enum;
typedef bezel_string bezel_param_string;
typedef bezel_cpu bezel_param_cpu;

/** Records an aspect that BEZEL_ASPECT() declared: bezel_record(name, value of field 1, value of field 2, ...). */
#define bezel_record(...)        BEZEL_RECORD_(__VA_ARGS__, 0)
#define BEZEL_RECORD_(name, ...) name##_bezel_record(__VA_ARGS__)

/**
 * As bezel_record(), with the time of this thread's previous record: in a burst, only the first record reads the clock.
 */
#define bezel_again(...)        BEZEL_AGAIN_(__VA_ARGS__, 0)
#define BEZEL_AGAIN_(name, ...) name##_bezel_again(__VA_ARGS__)

/**
 * Declares an aspect at file scope: BEZEL_ASPECT(name, field, field, ...); in C++ also inside a namespace, and
 * elsewhere it is used as bezel_record(space::name, ...).
 */
#define BEZEL_ASPECT(...) BEZEL_DECLARE_(BEZEL_COUNT_(__VA_ARGS__), BEZEL_KIND_event, __VA_ARGS__, ~)

/* Below: macros. Every list ends with an item of ours, so that an empty list needs no special case. */
#ifndef BEZEL_OFF

/** The enable word of `aspect`: BEZEL_DISABLED and so on; BEZEL_UNSET before the library has declared it. */
static inline __attribute__((always_inline)) uint32_t bezel_wanted(const struct bezel_aspect *aspect)
{
    const uint32_t *enable = __atomic_load_n(&aspect->enable, __ATOMIC_ACQUIRE); /* E1 acquire: pairs E0 */
    return __atomic_load_n(enable, __ATOMIC_RELAXED); /* relaxed: a word of its own, late by a record is in time */
}

static inline void bezel_write_slow(struct bezel_aspect *aspect, enum bezel_time time, uint64_t ticks,
                                    const uint64_t *values)
{
    if (time == BEZEL_TIME_NOW)
        bezel_emit(aspect, values);
    else if (time == BEZEL_TIME_GIVEN)
        bezel_emit_at(aspect, ticks, values);
    else
        bezel_emit_again(aspect, values);
}

/**
 * Writes a record of an aspect that is not disabled; `wanted` comes from bezel_wanted(), `count` and `time` are
 * constants. A record that fits one slot and has the processor's counter as its clock is written here; every other goes
 * to the library. A macro, so that values stay in registers unless the library is called.
 */
#define BEZEL_WRITE_(aspect, wanted, count, time, ticks, ...)                                                          \
    do {                                                                                                               \
        struct bezel_writer *bezel_writer_ = &bezel_thread;                                                            \
        if (count > BEZEL_INLINE_VALUES || (wanted) != BEZEL_RECORD || bezel_writer_->busy ||                          \
            !bezel_put_inline(bezel_writer_, (aspect)->id, time, ticks, count, BEZEL_FIRST_(__VA_ARGS__, 0, 0),        \
                              BEZEL_SECOND_(__VA_ARGS__, 0, 0))) {                                                     \
            const uint64_t bezel_values_[] = {__VA_ARGS__};                                                            \
            bezel_write_slow(aspect, time, ticks, bezel_values_);                                                      \
        }                                                                                                              \
    } while (0)

#define BEZEL_DEFINE_KIND_(name, kind, count, params, descriptions, values_)                                           \
    static const struct bezel_field bezel_fields_##name[] = {descriptions{BEZEL_TYPE_int64, 0, 0, 0}};                 \
    static struct bezel_aspect bezel_aspect_##name = {&bezel_enable_unset, #name, count, 0,                            \
                                                      bezel_fields_##name, 0,     0,     kind};                        \
    __attribute__((constructor)) static void bezel_register_##name(void)                                               \
    {                                                                                                                  \
        bezel_aspect_register(&bezel_aspect_##name);                                                                   \
    }                                                                                                                  \
    __attribute__((unused, always_inline)) static inline void name##_bezel_record(params int bezel_end_)               \
    {                                                                                                                  \
        (void)bezel_end_;                                                                                              \
        const uint32_t bezel_wanted_ = bezel_wanted(&bezel_aspect_##name);                                             \
        if (__builtin_expect(bezel_wanted_ != BEZEL_DISABLED, 0))                                                      \
            BEZEL_WRITE_(&bezel_aspect_##name, bezel_wanted_, count, BEZEL_TIME_NOW, 0, values_ 0);                    \
    }                                                                                                                  \
    __attribute__((unused, always_inline)) static inline void name##_bezel_again(params int bezel_end_)                \
    {                                                                                                                  \
        (void)bezel_end_;                                                                                              \
        const uint32_t bezel_wanted_ = bezel_wanted(&bezel_aspect_##name);                                             \
        if (__builtin_expect(bezel_wanted_ != BEZEL_DISABLED, 0))                                                      \
            BEZEL_WRITE_(&bezel_aspect_##name, bezel_wanted_, count, BEZEL_TIME_AGAIN, 0, values_ 0);                  \
    }                                                                                                                  \
    struct bezel_semicolon_##name
#else
#define BEZEL_DEFINE_KIND_(name, kind, count, params, descriptions, values_)                                           \
    __attribute__((unused)) static inline void name##_bezel_record(params int bezel_end_)                              \
    {                                                                                                                  \
        const uint64_t bezel_values_[] = {values_ 0};                                                                  \
        (void)bezel_end_, (void)bezel_values_;                                                                         \
    }                                                                                                                  \
    __attribute__((unused)) static inline void name##_bezel_again(params int bezel_end_)                               \
    {                                                                                                                  \
        const uint64_t bezel_values_[] = {values_ 0};                                                                  \
        (void)bezel_end_, (void)bezel_values_;                                                                         \
    }                                                                                                                  \
    struct bezel_semicolon_##name
#endif

#define BEZEL_PARAM_(type, name, ...) bezel_param_##type name
#define BEZEL_VALUE_(type, name, ...) bezel_value_##type(name)
#define BEZEL_DESCRIBE_(type, name, ...)                                                                               \
    {                                                                                                                  \
        BEZEL_TYPE_##type, #name, BEZEL_SECOND_(0, __VA_ARGS__, 0), BEZEL_THIRD_(0, __VA_ARGS__, 0, 0)                 \
    }
#define BEZEL_FIRST_(a, ...)       a
#define BEZEL_SECOND_(a, b, ...)   b
#define BEZEL_THIRD_(a, b, c, ...) c

/*
 * BEZEL_DECLARE_(n, kind, name, n fields, ~); BEZEL_COUNT_(name, fields) counts the fields, and BEZEL_LIST_n() puts `m`
 * before each and a comma after it.
 */
#define BEZEL_DECLARE_(n, ...) BEZEL_DECLARE_N_(n, __VA_ARGS__)
#define BEZEL_DECLARE_N_(n, kind, name, ...)                                                                           \
    BEZEL_DEFINE_KIND_(name, kind, n, BEZEL_LIST_##n(BEZEL_PARAM_, __VA_ARGS__),                                       \
                       BEZEL_LIST_##n(BEZEL_DESCRIBE_, __VA_ARGS__), BEZEL_LIST_##n(BEZEL_VALUE_, __VA_ARGS__))

#define BEZEL_COUNT_(...)                                            BEZEL_NTH_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, ~)
#define BEZEL_NTH_(name, a, b, c, d, e, f, g, h, i, j, k, l, n, ...) n

#define BEZEL_LIST_0(m, ...)
#define BEZEL_LIST_1(m, a, ...)                                m a,
#define BEZEL_LIST_2(m, a, b, ...)                             m a, m b,
#define BEZEL_LIST_3(m, a, b, c, ...)                          m a, m b, m c,
#define BEZEL_LIST_4(m, a, b, c, d, ...)                       m a, m b, m c, m d,
#define BEZEL_LIST_5(m, a, b, c, d, e, ...)                    m a, m b, m c, m d, m e,
#define BEZEL_LIST_6(m, a, b, c, d, e, f, ...)                 m a, m b, m c, m d, m e, m f,
#define BEZEL_LIST_7(m, a, b, c, d, e, f, g, ...)              m a, m b, m c, m d, m e, m f, m g,
#define BEZEL_LIST_8(m, a, b, c, d, e, f, g, h, ...)           m a, m b, m c, m d, m e, m f, m g, m h,
#define BEZEL_LIST_9(m, a, b, c, d, e, f, g, h, i, ...)        m a, m b, m c, m d, m e, m f, m g, m h, m i,
#define BEZEL_LIST_10(m, a, b, c, d, e, f, g, h, i, j, ...)    m a, m b, m c, m d, m e, m f, m g, m h, m i, m j,
#define BEZEL_LIST_11(m, a, b, c, d, e, f, g, h, i, j, k, ...) m a, m b, m c, m d, m e, m f, m g, m h, m i, m j, m k,
#define BEZEL_LIST_12(m, a, b, c, d, e, f, g, h, i, j, k, l, ...)                                                      \
    m a, m b, m c, m d, m e, m f, m g, m h, m i, m j, m k, m l,

#ifdef __cplusplus
}
#endif

#include <bezel/kinds.h>
#include <bezel/knob.h>

#endif
