// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Kinds of aspects, a part of <bezel/sensor.h>: aspects whose first fields have a fixed meaning. Each costs as much as
 * a record; a span or wait reads the clock once more.
 *
 *     BEZEL_SPAN(decode, (int64, frame, "1"));         bezel_span s = bezel_begin(decode);
 *                                                      ...
 *                                                      bezel_end(decode, s, frame);
 *     BEZEL_WAIT(queue_free, lock);                    bezel_span w = bezel_begin(queue_free);
 *                                                      pthread_mutex_lock(&mutex);
 *                                                      bezel_end(queue_free, w);
 *     BEZEL_COUNTER(dropped, "frames");                bezel_count(dropped, 1);
 *     BEZEL_GAUGE(queue, "frames");                    bezel_gauge(queue, length);
 *     BEZEL_SENT(ask, (int64, bytes, "B"));            bezel_sent(ask, peer, tag, bytes);
 *     BEZEL_RECEIVED(asked, (int64, waited, "ns"));    bezel_span w = bezel_receiving(asked);
 *                                                      recv(...);
 *                                                      bezel_received(asked, peer, tag, bezel_waited(w));
 *
 * All are declared like BEZEL_ASPECT(): at file scope, in C++ also inside a namespace; and used like bezel_record():
 * from any thread and signal handler. The fields of the kind come first, then those of the declaration; all count
 * towards the 12. Two aspects of the same name must have the same kind, as they must have the same fields.
 * bezel_record() takes all values, those of the kind's fields too: bezel_record(decode, duration, frame) records a span
 * that was measured by other means.
 *
 * Compiled with -DBEZEL_OFF all of it is empty, and arguments are still type-checked and evaluated.
 */
#ifndef BEZEL_KINDS_H
#define BEZEL_KINDS_H

#include <bezel/sensor.h>

/** Kind of an aspect, and the fields that its records begin with. The numbers never change. */
enum bezel_kind {
    BEZEL_KIND_event = 0,    /* none */
    BEZEL_KIND_span = 1,     /* (int64, duration, "ns") */
    BEZEL_KIND_counter = 2,  /* (int64, count) of any unit */
    BEZEL_KIND_gauge = 3,    /* (float64, value) of any unit */
    BEZEL_KIND_sent = 4,     /* (string, peer), (int64, tag) */
    BEZEL_KIND_received = 5, /* (string, peer), (int64, tag) */
    BEZEL_KIND_wait = 6 /* (int64, duration, "ns"), (enum, reason, "1", one or more of message|lock|io|timer|other) */
};

/** What a wait may wait for. BEZEL_WAIT() makes its reason the only label of its aspect: number 0. */
enum bezel_reason {
    BEZEL_REASON_message = 0,
    BEZEL_REASON_lock = 0,
    BEZEL_REASON_io = 0,
    BEZEL_REASON_timer = 0,
    BEZEL_REASON_other = 0
};

/**
 * A span that has begun; all zeros: no span, and its end records nothing. A plain value: keep it with the work, hand it
 * to the thread that ends it, or drop it if the work is abandoned. Spans of one aspect may overlap and nest.
 */
typedef struct {
    uint64_t ticks;
    uint32_t begun;
} bezel_span;

/**
 * BEZEL_SPAN(name, field, ...) declares work that takes time, with up to 11 fields of its own. bezel_begin(name) reads
 * the clock; bezel_end(name, span, value, ...) reads it again and writes one record, whose timestamp is the end and
 * whose duration, in ns, ends at that same reading. A span is recorded at its end: one that never ends, or is dropped,
 * is neither recorded nor counted as lost. The same holds for a span whose aspect was disabled when it began or when it
 * ended: that costs two loads and a branch at its begin, and a branch at its end. The end may be in another thread than
 * the begin, but not in another process.
 *
 * Duration is -1 where it is not known: the clock ran backwards meanwhile, or it is a counter whose rate is not
 * measured yet, as in the first milliseconds of a process, or before an external sensor reads it. Such spans count as
 * spans, but are left out of sums and quantiles.
 */
#define BEZEL_SPAN(...)  BEZEL_SPAN_(BEZEL_COUNT_(__VA_ARGS__), BEZEL_COUNT_(__VA_ARGS__, ~), __VA_ARGS__, ~)
#define bezel_begin(...) BEZEL_BEGIN_(__VA_ARGS__)
#define bezel_end(...)   BEZEL_END_(__VA_ARGS__, 0)

/**
 * BEZEL_WAIT(name, reason, field, ...) declares a span whose time is waiting, with up to 10 fields of its own. `reason`
 * is what it waits for: message, lock, io, timer, or other. It is used like a span: bezel_begin(name) just before the
 * call that may block, bezel_end(name, span, value, ...) as soon as it has returned. The time that a span lasted, less
 * the waits in it, is the time in which its thread worked, or was ready and another had the CPU. A wait is recorded
 * also where the call did not block: its duration is then that of the call.
 */
#define BEZEL_WAIT(...) BEZEL_WAIT_(BEZEL_COUNT_(__VA_ARGS__, ~), __VA_ARGS__, ~)

/**
 * BEZEL_COUNTER(name, unit) declares something that is counted; bezel_count(name, n) says that there are `n` more
 * (int64_t; not negative, if sums are to grow). A record has the increment, not the sum: so threads and processes can
 * count the same thing independently, and the sum over any interval is a sum of records. A lost record loses its
 * increment: where the books have losses, the sum is short by their increments. To count more often than you want to
 * record, add up in a variable of the thread and count that now and then.
 */
#define BEZEL_COUNTER(name, unit) BEZEL_TYPED_(count, counter, 1, name, (int64, count, unit), ~)
#define bezel_count(...)          BEZEL_COUNT_MORE_(__VA_ARGS__, 0)

/**
 * BEZEL_GAUGE(name, unit) declares something that has a level; bezel_gauge(name, value) records its present level
 * (double). The level is valid until the next record: if a record is lost, the level before it is taken for valid too
 * long.
 */
#define BEZEL_GAUGE(name, unit) BEZEL_TYPED_(gauge, gauge, 1, name, (float64, value, unit), ~)
#define bezel_gauge(...)        BEZEL_GAUGE_NOW_(__VA_ARGS__, 0)

/**
 * BEZEL_SENT(name, field, ...) and BEZEL_RECEIVED(name, field, ...) declare the two ends of messages between processes,
 * with up to 10 fields of their own: bezel_sent(name, peer, tag, value, ...) just before a message is handed on,
 * bezel_received(name, peer, tag, value, ...) as soon as it has arrived. A message is sent before it is received: such
 * pairs put the records of different processes and clocks in order, and give the time that a message took.
 *
 * The two records of a message have the same tag, and
 *   - either each names the other process as `peer`, as the experiment names it (BEZEL_PROCESS), interned once;
 *   - or, if a process has many peers or does not know them, both name the channel: a multicast group, a topic, a
 *     connection. A channel must not have the name of a process.
 * A tag is unique among all messages that go from one process to the other, or through one channel, in a run: a number
 * that the message carries anyway, as a sequence number or frame number, together with the sender's number where
 * several send into one channel. Times, addresses and descriptors are no tags, because they repeat. A message that is
 * received more than once, by several receivers or because it was sent again, has several records of one tag: the first
 * one at each receiver counts. A record without a partner, because a record or the message was lost, orders nothing and
 * does no harm.
 *
 * Two fields of their own have a meaning by their names. `bytes`, an int64, is the size of the message. `waited`, an
 * int64 in "ns" of a message that was received, is how long the receiver had waited for it: bezel_receiving(name) reads
 * the clock just before the call that may block, and bezel_waited(span) gives the time from then to now, -1 if it is
 * not known. With it the report tells a message that came late from one that lay there because its receiver was busy.
 */
#define BEZEL_SENT(...) BEZEL_MESSAGE_(sent, BEZEL_COUNT_(__VA_ARGS__, ~, ~), __VA_ARGS__, ~)
#define BEZEL_RECEIVED(...)                                                                                            \
    BEZEL_MESSAGE_(received, BEZEL_COUNT_(__VA_ARGS__, ~, ~), __VA_ARGS__, ~);                                         \
    BEZEL_RECEIVING_(BEZEL_FIRST_(__VA_ARGS__, ~))
#define bezel_sent(...)      BEZEL_SENT_NOW_(__VA_ARGS__, 0)
#define bezel_received(...)  BEZEL_RECEIVED_NOW_(__VA_ARGS__, 0)
#define bezel_receiving(...) BEZEL_RECEIVING_NOW_(__VA_ARGS__)

/* Below: the preprocessor's side, as in <bezel/sensor.h>. */
#define BEZEL_BEGIN_(name)             name##_bezel_begin()
#define BEZEL_END_(name, ...)          name##_bezel_end(__VA_ARGS__)
#define BEZEL_COUNT_MORE_(name, ...)   name##_bezel_count(__VA_ARGS__)
#define BEZEL_GAUGE_NOW_(name, ...)    name##_bezel_gauge(__VA_ARGS__)
#define BEZEL_SENT_NOW_(name, ...)     name##_bezel_sent(__VA_ARGS__)
#define BEZEL_RECEIVED_NOW_(name, ...) name##_bezel_received(__VA_ARGS__)
#define BEZEL_RECEIVING_NOW_(name)     name##_bezel_begin()
#define BEZEL_RECEIVING_(name)         BEZEL_ONLY_BEGIN_(name)

#define BEZEL_MESSAGE_(kind, n, ...) BEZEL_MESSAGE_N_(kind, n, __VA_ARGS__)
#define BEZEL_MESSAGE_N_(kind, n, name, ...)                                                                           \
    BEZEL_TYPED_(kind, kind, n, name, (string, peer, "1"), (int64, tag, "1"), __VA_ARGS__)

/* An aspect of `kind` with `n` fields, and bezel_VERB_NAME(), which is bezel_record_NAME() for this kind alone. */
#define BEZEL_TYPED_(verb, kind, n, ...) BEZEL_TYPED_N_(verb, kind, n, __VA_ARGS__)
#define BEZEL_TYPED_N_(verb, kind, n, name, ...)                                                                       \
    BEZEL_DECLARE_(n, BEZEL_KIND_##kind, name, __VA_ARGS__);                                                           \
    BEZEL_VERB_(verb, name, BEZEL_LIST_##n(BEZEL_PARAM_, __VA_ARGS__), BEZEL_LIST_##n(BEZEL_NAME_, __VA_ARGS__))
#define BEZEL_NAME_(type, name, ...) name
#define BEZEL_VERB_(verb, name, params, names_)                                                                        \
    __attribute__((unused)) static inline void name##_bezel_##verb(params int bezel_end_)                              \
    {                                                                                                                  \
        name##_bezel_record(names_ bezel_end_);                                                                        \
    }                                                                                                                  \
    struct bezel_semicolon_##verb##_##name

/* `n`: fields of the user; `all`: with the duration. */
#define BEZEL_SPAN_(n, all, ...) BEZEL_SPAN_N_(n, all, __VA_ARGS__)
#define BEZEL_SPAN_N_(n, all, name, ...)                                                                               \
    BEZEL_DECLARE_(all, BEZEL_KIND_span, name, (int64, duration, "ns"), __VA_ARGS__);                                  \
    BEZEL_BEGIN_END_(name, all, BEZEL_LIST_##n(BEZEL_PARAM_, __VA_ARGS__), BEZEL_LIST_##n(BEZEL_VALUE_, __VA_ARGS__))

/* `all`: fields of the user, duration and reason. A wait's own values open with the number of its reason. */
#define BEZEL_WAIT_(all, name, reason_, ...)      BEZEL_WAIT_N_(BEZEL_COUNT_(__VA_ARGS__), all, name, reason_, __VA_ARGS__)
#define BEZEL_WAIT_N_(n, all, name, reason_, ...) BEZEL_WAIT_M_(n, all, name, reason_, __VA_ARGS__)
#define BEZEL_WAIT_M_(n, all, name, reason_, ...)                                                                      \
    BEZEL_DECLARE_(all, BEZEL_KIND_wait, name, (int64, duration, "ns"), (enum, reason, "1", #reason_), __VA_ARGS__);   \
    BEZEL_BEGIN_END_(name, all, BEZEL_LIST_##n(BEZEL_PARAM_, __VA_ARGS__),                                             \
                     BEZEL_REASON_NUMBER_(reason_) BEZEL_LIST_##n(BEZEL_VALUE_, __VA_ARGS__))
#define BEZEL_REASON_NUMBER_(reason_) BEZEL_REASON_##reason_,

#ifndef BEZEL_OFF

/**
 * Whether a span of `aspect` is to be recorded. The clock is chosen at the process's first record; if there was none,
 * it is chosen now, because both readings of a span must be of one clock. In a signal handler, which cannot wait for
 * that, the answer is no.
 */
static inline int bezel_span_wanted(const struct bezel_aspect *aspect)
{
    const uint32_t *enable = __atomic_load_n(&aspect->enable, __ATOMIC_ACQUIRE); /* E1 acquire: pairs E0 */
    if (__builtin_expect(enable == &bezel_enable_unset, 0)) {
        (void)bezel_thread_init(0);
        enable = __atomic_load_n(&aspect->enable, __ATOMIC_ACQUIRE); /* E1 acquire: pairs E0 */
        if (enable == &bezel_enable_unset)
            return 0;
    }
    return __atomic_load_n(enable, __ATOMIC_RELAXED) != BEZEL_DISABLED; /* relaxed: late by a record is in time */
}

/**
 * Time from `begun` to `ended` in ns; -1 if it is not known: also where one is of the counter and the other of the
 * kernel's clock (BEZEL_KERNEL_TIME). Such a difference is far above any span.
 */
static inline int64_t bezel_span_ns(uint64_t begun, uint64_t ended)
{
    uint64_t ticks = ended - begun;
    int64_t ns = bezel_ticks_ns(ticks | (begun & ended & BEZEL_KERNEL_TIME));
    return ticks >> 62 || (ns == 0 && ticks > 0) ? -1 : ns;
}

/** Time from `begun`, of bezel_receiving(), to now, ns; -1 if it is not known. Reads the clock. */
static inline int64_t bezel_waited(bezel_span begun)
{
    return begun.begun ? bezel_span_ns(begun.ticks, bezel_ticks()) : -1;
}

#define BEZEL_ONLY_BEGIN_(name)                                                                                        \
    __attribute__((unused)) static inline bezel_span name##_bezel_begin(void)                                          \
    {                                                                                                                  \
        bezel_span bezel_span_ = {0, 0};                                                                               \
        if (bezel_span_wanted(&bezel_aspect_##name)) {                                                                 \
            bezel_span_.begun = 1;                                                                                     \
            bezel_span_.ticks = bezel_ticks();                                                                         \
        }                                                                                                              \
        return bezel_span_;                                                                                            \
    }                                                                                                                  \
    struct bezel_semicolon_begin_##name

#define BEZEL_BEGIN_END_(name, count, params, values_)                                                                 \
    BEZEL_ONLY_BEGIN_(name);                                                                                           \
    __attribute__((unused)) static inline void name##_bezel_end(bezel_span bezel_span_, params int bezel_end_)         \
    {                                                                                                                  \
        (void)bezel_end_;                                                                                              \
        if (bezel_span_.begun && bezel_span_wanted(&bezel_aspect_##name)) {                                            \
            const uint64_t bezel_ended_ = bezel_ticks();                                                               \
            const uint64_t bezel_ns_ = bezel_value_int64(bezel_span_ns(bezel_span_.ticks, bezel_ended_));              \
            BEZEL_WRITE_(&bezel_aspect_##name, bezel_wanted(&bezel_aspect_##name), count, BEZEL_TIME_GIVEN,            \
                         bezel_ended_, bezel_ns_, values_ 0);                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    struct bezel_semicolon_span_##name
#else
static inline int64_t bezel_waited(bezel_span begun)
{
    (void)begun;
    return -1;
}

#define BEZEL_ONLY_BEGIN_(name)                                                                                        \
    __attribute__((unused)) static inline bezel_span name##_bezel_begin(void)                                          \
    {                                                                                                                  \
        bezel_span bezel_span_ = {0, 0};                                                                               \
        return bezel_span_;                                                                                            \
    }                                                                                                                  \
    struct bezel_semicolon_begin_##name

#define BEZEL_BEGIN_END_(name, count, params, values_)                                                                 \
    BEZEL_ONLY_BEGIN_(name);                                                                                           \
    __attribute__((unused)) static inline void name##_bezel_end(bezel_span bezel_span_, params int bezel_end_)         \
    {                                                                                                                  \
        const uint64_t bezel_values_[] = {values_ 0};                                                                  \
        (void)bezel_span_, (void)bezel_end_, (void)bezel_values_;                                                      \
    }                                                                                                                  \
    struct bezel_semicolon_span_##name
#endif

#endif
