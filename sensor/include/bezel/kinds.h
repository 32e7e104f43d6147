// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Kinds of aspects, a part of <bezel/sensor.h>: aspects whose first fields have a fixed meaning. Each costs as much as
 * a record; a span or wait reads the clock once more, and a wait or long span notes in shared memory that it is open.
 *
 *     BEZEL_SPAN(decode, (int64, frame, "1"));         bezel_span s = bezel_begin(decode);
 *                                                      ...
 *                                                      bezel_end(decode, s, frame);
 *     BEZEL_WAIT(queue_free, lock);                    bezel_span w = bezel_begin(queue_free);
 *                                                      pthread_mutex_lock(&mutex);
 *                                                      bezel_end(queue_free, w);
 *     BEZEL_LONG_SPAN(backup);                         bezel_begin(backup), bezel_end(backup, s): as of BEZEL_SPAN
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
#define BEZEL_SPAN(...)  BEZEL_SPAN_(plain, BEZEL_COUNT_(__VA_ARGS__), BEZEL_COUNT_(__VA_ARGS__, ~), __VA_ARGS__, ~)
#define bezel_begin(...) BEZEL_BEGIN_(__VA_ARGS__)
#define bezel_end(...)   BEZEL_END_(__VA_ARGS__, 0)

/**
 * BEZEL_LONG_SPAN(name, field, ...) declares a span that may last for seconds: one that has lasted for a second is
 * visible while it is open, also where it never ends because its process was killed, or the run is over. So are waits,
 * and receivers that wait (bezel_receiving()). Its begin and its end cost a call each, of some 10 ns together. A
 * process has places for 256 such spans that are open at once; further ones are spans as any others. One that is
 * abandoned shows as open unless bezel_drop(span) says that it is: that ends it without a record. bezel_drop() may be
 * called for any span.
 */
#define BEZEL_LONG_SPAN(...) BEZEL_SPAN_(long, BEZEL_COUNT_(__VA_ARGS__), BEZEL_COUNT_(__VA_ARGS__, ~), __VA_ARGS__, ~)

/**
 * BEZEL_WAIT(name, reason, field, ...) declares a span whose time is waiting, with up to 10 fields of its own. `reason`
 * is what it waits for: message, lock, io, timer, or other. It is used like a span: bezel_begin(name) just before the
 * call that may block, bezel_end(name, span, value, ...) as soon as it has returned. The time that a span lasted, less
 * the waits in it, is the time in which its thread worked, or was ready and another had the CPU. A wait is recorded
 * also where the call did not block: its duration is then that of the call. It is visible while it is open, as a
 * BEZEL_LONG_SPAN(); bezel_drop(span) ends one whose record is not wanted. A wait is of its thread: one without fields
 * of its own that is open when its thread ends, as by pthread_cancel(), ends and is recorded then.
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
 * The thread is seen to wait from bezel_receiving() until its next bezel_received() or bezel_receiving() of any aspect,
 * its end, or bezel_drop(span).
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
#define BEZEL_RECEIVING_(name)         BEZEL_ONLY_BEGIN_(receiving, name)

/* What a record of a kind is followed by. */
#define BEZEL_THEN_count_
#define BEZEL_THEN_gauge_
#define BEZEL_THEN_sent_
#define BEZEL_THEN_received_ bezel_received_end_();

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
        BEZEL_THEN_##verb##_                                                                                           \
    }                                                                                                                  \
    struct bezel_semicolon_##verb##_##name

/* `open`: plain or long; `n`: fields of the user; `all`: with the duration. */
#define BEZEL_SPAN_(open, n, all, ...) BEZEL_SPAN_N_(open, n, all, __VA_ARGS__)
#define BEZEL_SPAN_N_(open, n, all, name, ...)                                                                         \
    BEZEL_DECLARE_(all, BEZEL_KIND_span, name, (int64, duration, "ns"), __VA_ARGS__);                                  \
    BEZEL_BEGIN_END_(open, name, all, BEZEL_LIST_##n(BEZEL_PARAM_, __VA_ARGS__),                                       \
                     BEZEL_LIST_##n(BEZEL_VALUE_, __VA_ARGS__))

/* `all`: fields of the user, duration and reason. A wait's own values open with the number of its reason. */
#define BEZEL_WAIT_(all, name, reason_, ...)      BEZEL_WAIT_N_(BEZEL_COUNT_(__VA_ARGS__), all, name, reason_, __VA_ARGS__)
#define BEZEL_WAIT_N_(n, all, name, reason_, ...) BEZEL_WAIT_M_(n, all, name, reason_, __VA_ARGS__)
#define BEZEL_WAIT_M_(n, all, name, reason_, ...)                                                                      \
    BEZEL_DECLARE_(all, BEZEL_KIND_wait, name, (int64, duration, "ns"), (enum, reason, "1", #reason_), __VA_ARGS__);   \
    BEZEL_BEGIN_END_(long, name, all, BEZEL_LIST_##n(BEZEL_PARAM_, __VA_ARGS__),                                       \
                     BEZEL_REASON_NUMBER_(reason_) BEZEL_LIST_##n(BEZEL_VALUE_, __VA_ARGS__))
#define BEZEL_REASON_NUMBER_(reason_) BEZEL_REASON_##reason_,

#ifndef BEZEL_OFF

/**
 * Time from `begun` to `ended` in ns; -1 if it is not known: also where one is of the counter and the other of the
 * kernel's clock (BEZEL_KERNEL_TIME). Such a difference is far above any span.
 */
static inline int64_t bezel_span_ns(uint64_t begun, uint64_t ended)
{
    uint64_t ticks = ended - begun;
    int64_t ns = bezel_ticks_ns(ticks | (begun & ended & BEZEL_KERNEL_TIME));
    if (__builtin_expect(ns == 0 && ticks > 0, 0)) /* below 1 ns, or the length of a tick was not known yet */
        ns = bezel_ticks_ns(UINT64_C(1) << 32) ? bezel_ticks_ns(ticks) : -1;
    return ticks >> 62 ? -1 : ns;
}

/** Time from `begun`, of bezel_receiving(), to now, ns; -1 if it is not known. Reads the clock. */
static inline int64_t bezel_waited(bezel_span begun)
{
    return begun.begun ? bezel_span_ns(begun.ticks, bezel_ticks()) : -1;
}

#ifdef __cplusplus
extern "C" {
#endif

/* `begun` of a span that has no place: it is plain, or there was none. */
enum { BEZEL_SPAN_UNSEEN_ = 1 };

/**
 * Declares `aspect`, and takes a ring for the thread, as its first record would, before a span begins: so the span has
 * none of that in it, and both readings of it are of the clock that is chosen then.
 */
BEZEL_API void bezel_span_declare(struct bezel_aspect *aspect);

/**
 * Takes a place for the open span of `aspect` that began at `ticks`. Returns its `begun`: where the place is, or
 * BEZEL_SPAN_UNSEEN_. ..._receiving() frees that of the thread's bezel_receiving() before. ..._close() frees the place
 * in `begun`, if there is one and it is still this span's. Wait-free, async-signal-safe.
 */
BEZEL_API uint32_t bezel_span_open(const struct bezel_aspect *aspect, uint64_t ticks);
BEZEL_API uint32_t bezel_span_receiving(const struct bezel_aspect *aspect, uint64_t ticks);
BEZEL_API void bezel_span_close(uint32_t begun);

/** `begun` of the thread's last bezel_receiving(), while it waits; else 0. The library's. */
extern BEZEL_API __thread uint32_t bezel_receives __attribute__((tls_model("initial-exec")));

#ifdef __cplusplus
}
#endif

/** Whether a span of `aspect` is to be recorded, or counted as lost: also where it cannot be declared yet. */
static inline int bezel_span_wanted(struct bezel_aspect *aspect)
{
    const uint32_t *enable = __atomic_load_n(&aspect->enable, __ATOMIC_ACQUIRE); /* E1 acquire: pairs E0 */
    if (__builtin_expect(enable == &bezel_enable_unset, 0)) {
        bezel_span_declare(aspect);
        enable = __atomic_load_n(&aspect->enable, __ATOMIC_ACQUIRE); /* E1 acquire: pairs E0 */
    }
    return __atomic_load_n(enable, __ATOMIC_RELAXED) != BEZEL_DISABLED; /* relaxed: late by a record is in time */
}

static inline void bezel_received_end_(void)
{
    if (__builtin_expect(bezel_receives != 0, 0)) {
        bezel_span_close(bezel_receives);
        bezel_receives = 0;
    }
}

/* A plain span reads the clock at its end before its record takes a ring. */
static inline void bezel_ready_plain_(struct bezel_aspect *aspect)
{
    (void)aspect;
}

static inline void bezel_ready_long_(struct bezel_aspect *aspect)
{
    if (__builtin_expect(!bezel_thread.mask, 0))
        bezel_span_declare(aspect);
}

static inline void bezel_ready_receiving_(struct bezel_aspect *aspect)
{
    bezel_ready_long_(aspect);
}

static inline void bezel_drop(bezel_span span)
{
    if (span.begun > BEZEL_SPAN_UNSEEN_)
        bezel_span_close(span.begun);
}

#define BEZEL_OPEN_plain_(aspect, ticks)     BEZEL_SPAN_UNSEEN_
#define BEZEL_OPEN_long_(aspect, ticks)      bezel_span_open(aspect, ticks)
#define BEZEL_OPEN_receiving_(aspect, ticks) bezel_span_receiving(aspect, ticks)
#define BEZEL_CLOSE_plain_(span)
#define BEZEL_CLOSE_long_(span) bezel_drop(span);

#define BEZEL_ONLY_BEGIN_(open, name)                                                                                  \
    __attribute__((unused)) static inline bezel_span name##_bezel_begin(void)                                          \
    {                                                                                                                  \
        bezel_span bezel_span_ = {0, 0};                                                                               \
        if (bezel_span_wanted(&bezel_aspect_##name)) {                                                                 \
            bezel_ready_##open##_(&bezel_aspect_##name);                                                               \
            bezel_span_.ticks = bezel_ticks();                                                                         \
            bezel_span_.begun = BEZEL_OPEN_##open##_(&bezel_aspect_##name, bezel_span_.ticks);                         \
        }                                                                                                              \
        return bezel_span_;                                                                                            \
    }                                                                                                                  \
    struct bezel_semicolon_begin_##name

#define BEZEL_BEGIN_END_(open, name, count, params, values_)                                                           \
    BEZEL_ONLY_BEGIN_(open, name);                                                                                     \
    __attribute__((unused)) static inline void name##_bezel_end(bezel_span bezel_span_, params int bezel_end_)         \
    {                                                                                                                  \
        (void)bezel_end_;                                                                                              \
        if (bezel_span_.begun && bezel_span_wanted(&bezel_aspect_##name)) {                                            \
            const uint64_t bezel_ended_ = bezel_ticks();                                                               \
            const uint64_t bezel_ns_ = bezel_value_int64(bezel_span_ns(bezel_span_.ticks, bezel_ended_));              \
            BEZEL_WRITE_(&bezel_aspect_##name, bezel_wanted(&bezel_aspect_##name), count, BEZEL_TIME_GIVEN,            \
                         bezel_ended_, bezel_ns_, values_ 0);                                                          \
        }                                                                                                              \
        BEZEL_CLOSE_##open##_(bezel_span_)                                                                             \
    }                                                                                                                  \
    struct bezel_semicolon_span_##name
#else
static inline int64_t bezel_waited(bezel_span begun)
{
    (void)begun;
    return -1;
}

static inline void bezel_drop(bezel_span span)
{
    (void)span;
}

static inline void bezel_received_end_(void) {}

#define BEZEL_ONLY_BEGIN_(open, name)                                                                                  \
    __attribute__((unused)) static inline bezel_span name##_bezel_begin(void)                                          \
    {                                                                                                                  \
        bezel_span bezel_span_ = {0, 0};                                                                               \
        return bezel_span_;                                                                                            \
    }                                                                                                                  \
    struct bezel_semicolon_begin_##name

#define BEZEL_BEGIN_END_(open, name, count, params, values_)                                                           \
    BEZEL_ONLY_BEGIN_(open, name);                                                                                     \
    __attribute__((unused)) static inline void name##_bezel_end(bezel_span bezel_span_, params int bezel_end_)         \
    {                                                                                                                  \
        const uint64_t bezel_values_[] = {values_ 0};                                                                  \
        (void)bezel_span_, (void)bezel_end_, (void)bezel_values_;                                                      \
    }                                                                                                                  \
    struct bezel_semicolon_span_##name
#endif

#endif
