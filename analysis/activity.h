// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What the threads of a run did, made of its records in their order: the spans that each was in, the messages between
 * them, and when each had a CPU (sampler `switches`). All times are ns of the run's time. Only what lies in given
 * windows is kept, so memory grows with these and not with the run; of sendings ACTIVITY_SENT_MEMORY remembers the
 * latest, whenever they were. Pure. One owner.
 */
#ifndef BEZEL_ANALYSIS_ACTIVITY_H
#define BEZEL_ANALYSIS_ACTIVITY_H

#include "base/hash_index.h"
#include "run/read/record_item.h"
#include "run/read/record_messages.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ACTIVITY_NONE = INT32_MAX, ACTIVITY_SEVERAL = -1, ACTIVITY_SENT_MEMORY = 32 << 20, ACTIVITY_MEMORY = 512 << 20 };
enum { ACTIVITY_KNOWN = 128, ACTIVITY_PLENTY = 32 << 20 };

#define ACTIVITY_JOINED                                                                                                \
    INT64_C(1000) /* ns: times that are so near each other are one, but for the reading of clocks                      \
                   */

struct activity_window {
    int64_t from, until;
};

/** The number of the first of `count` windows, in order, that ends at `at` or later; `count`: none does. Pure. */
size_t activity_window_at(const struct activity_window *windows, size_t count, int64_t at);

/** What a span waits for, as BEZEL_WAIT() says; most do not wait. */
enum activity_reason {
    ACTIVITY_NO_WAIT,
    ACTIVITY_FOR_MESSAGE,
    ACTIVITY_FOR_LOCK,
    ACTIVITY_FOR_IO,
    ACTIVITY_FOR_TIMER,
    ACTIVITY_FOR_OTHER,
};

struct activity_span {
    int64_t begin, end;
    uint32_t name; /* an index in activity.names */
    enum activity_reason reason;
};

/** From `at` on, up to the next one, the innermost span is of this name; ACTIVITY_NONE: the thread is in none. */
struct activity_inner {
    int64_t at;
    uint32_t name;
    enum activity_reason reason;
};

/** How an interval on a CPU ended; the order is that of the labels of `thread_interval`. */
enum activity_ended { ACTIVITY_WAITED, ACTIVITY_PREEMPTED, ACTIVITY_EXITED, ACTIVITY_GOES_ON };

/** A thread had a CPU. `off`: for how long it had none before, since the interval before; -1: that is not known. */
struct activity_interval {
    int64_t begin, end, off;
    int64_t ready_least, ready_most; /* of `off`, at its end, the thread was ready to run for so long */
    enum activity_ended ended;
};

/** While the thread was ready to run, `name` had the CPU: a process of the run, or else a command. */
struct activity_rival {
    int64_t begin, end;
    uint32_t name; /* an index in activity.names */
    bool monitor;  /* it is of the monitor */
};

/** What the kernel says of a wait; the order is that of the labels of `thread_wait`. */
enum activity_state { ACTIVITY_UNSEEN, ACTIVITY_SLEEP, ACTIVITY_DISK, ACTIVITY_STOPPED };
enum activity_woken {
    ACTIVITY_BY_UNKNOWN,
    ACTIVITY_BY_THREAD,
    ACTIVITY_BY_SOFTIRQ,
    ACTIVITY_BY_INTERRUPT,
    ACTIVITY_NOT_YET
};

struct activity_wait {
    int64_t begin, end;
    enum activity_state state;
    enum activity_woken woken;
    uint32_t name;  /* who ended it, as struct activity_rival has it; ACTIVITY_NONE: that is not known */
    uint32_t waker; /* its thread; ACTIVITY_NONE: that has recorded nothing */
};

enum activity_event_kind {
    ACTIVITY_SENT,
    ACTIVITY_RECEIVED,
    ACTIVITY_LOST, /* between `from` and `at` records of the thread were lost */
};

struct activity_event {
    int64_t at;
    int64_t from;   /* RECEIVED: when it was sent, if `peer` is known */
    int64_t bound;  /* RECEIVED: of the error between both times; 0: of one clock; INT64_MAX: not known */
    uint32_t peer;  /* RECEIVED: the thread that sent it; ACTIVITY_NONE: its sending is not known */
    uint32_t kind;  /* enum activity_event_kind */
    int64_t bytes;  /* SENT, RECEIVED: the size of the message, field `bytes`; -1: it has none */
    int64_t waited; /* RECEIVED: for how long its thread had waited for it, field `waited`, ns; 0: it does not say */
};

struct activity_thread {
    char node[MESSAGE_NAME_MAX + 1], process[MESSAGE_NAME_MAX + 1], name[THREAD_NAME_MAX + 1];
    int64_t node_row, process_row;
    uint64_t cpus; /* a bit for each CPU, modulo 64, that it was seen on */
    uint32_t id;   /* of the kernel, on its node */
    uint32_t pid;  /* of its process; 0: not known */
    int64_t first; /* time of its first record of a kind that is wanted; INT64_MAX: none yet */
    int64_t event; /* private: of its last message that was sent or received */
    size_t older;  /* of the thread that had its stream before, plus 1; 0: none */
    size_t span_count, span_capacity, inner_count, inner_capacity, interval_count, interval_capacity, event_count,
        event_capacity, rival_count, rival_capacity, wait_count, wait_capacity;
    struct activity_span *spans;
    struct activity_inner *inner;        /* in the order of time; made by activity_settle() */
    struct activity_interval *intervals; /* in the order of time, which do not overlap */
    struct activity_event *events;       /* in the order of time, as the next two */
    struct activity_rival *rivals;
    struct activity_wait *waits;
    struct activity_near { /* private: where each list was looked up last */
        size_t spans, inner, intervals, events, rivals, waits;
    } * near;
};

/** Intervals of threads of a node were lost. */
struct activity_gap {
    int64_t until, from, node_row;
};

/** Waits for input or output of one name (BEZEL_WAIT) in a thread. */
struct activity_io {
    uint32_t thread, name;
    uint64_t waits, unsaid; /* unsaid: of these, without a field `bytes` */
    int64_t bytes;          /* of all others */
};

struct activity {
    size_t thread_count, name_count, gap_count, io_count;
    struct activity_thread *threads;
    char (*names)[DICT_NAME_MAX + 1]; /* of spans, processes and commands, each once */
    int64_t *pids; /* of each name: that of who had the CPU, or ended a wait; 0: not known; ACTIVITY_SEVERAL */
    struct activity_gap *gaps; /* in the order of their ends */
    struct activity_io *io;
    uint64_t intervals, wakings; /* that came, in windows or not; wakings: waits with who, or what, ended them */
    uint64_t unsent, forgotten;  /* receivings without a known sending; sendings that memory was too small for */

    /* Private. */
    size_t thread_capacity, name_capacity, pid_capacity, gap_capacity, io_capacity, window_count, stream_capacity,
        aspect_count, aspect_capacity, near; /* the window that was found last */
    const struct activity_window *windows;
    struct record_messages *messages;
    struct hash_index by_thread, by_key, by_name; /* threads by process and id; aspects by process and id; names */
    struct hash_index by_io;                      /* by name and thread */
    size_t left;                                  /* bytes that what is kept may still take */
    struct activity_aspect {
        uint32_t name; /* of those that last */
        int bytes;     /* its field with the size; -1: it has none */
        int waited;    /* its field of that name; -1: it has none */
        int switches;  /* which of sampler `switches` it is */
    } * aspects;
    struct activity_known { /* whom a text and numbers in a record of the sampler stand for */
        uint64_t text;
        int64_t row, pid;
        uint32_t id, processes;
        size_t threads;
        uint32_t name, thread;
        bool monitor;
    } known[ACTIVITY_KNOWN];
    struct activity_stream {
        size_t thread; /* that has it now, plus 1 */
        uint32_t id;
        int64_t last; /* time of its last record or loss */
    } * streams;
};

/**
 * Begins one for `windows`, which are borrowed, in the order of time, and do not overlap; 0 of them: all is kept.
 * Returns 0 or BEZEL_ENOMEM; activity_fini() in both cases.
 */
int activity_init(struct activity *a, const struct activity_window *windows, size_t window_count) BEZEL_MUST_CHECK;
void activity_fini(struct activity *a);

/** The fields by which a record of `thread_interval` names its thread: a string, and the kernel's number. */
enum { ACTIVITY_OF_PROCESS, ACTIVITY_OF_THREAD };

/** Whether records of this aspect are of intervals on a CPU, and what such a record says. */
bool activity_is_interval(const struct dict_aspect *aspect);
struct activity_interval activity_interval_of(const struct record_item *item);

/** The same of who had the CPU while a thread was ready: what such a record says. Its command is the dictionary's. */
struct activity_ready {
    int64_t begin, end; /* the thread was ready */
    int64_t had;        /* of this time the other one had the CPU, ns */
    const char *rival;  /* its command, or "idle", "quota", "unknown" */
    int64_t pid;        /* 0 and less: it has none */
};
bool activity_is_ready(const struct dict_aspect *aspect);
struct activity_ready activity_ready_of(const struct record_item *item);

/** The same of waits, and the time that a record of any of the three is about. */
bool activity_is_wait(const struct dict_aspect *aspect);
struct activity_window activity_time_of(const struct record_item *item);

/** Whether records of this aspect say what threads did. */
bool activity_wants(const struct dict_aspect *aspect);

/** Takes a record or a loss; they come in order. Others than those wanted are allowed. False: no memory, of which it
 * takes at most ACTIVITY_MEMORY for what lies in the windows. */
bool activity_take(struct activity *a, const struct record_item *item);

/** Makes what was taken ready to be looked at. Returns 0 or BEZEL_ENOMEM. */
int activity_settle(struct activity *a) BEZEL_MUST_CHECK;

/**
 * Forgets what `thread` did before `before`, but for the last of each kind, and gives back its memory; the activity is
 * settled. The next: the same of gaps of all threads.
 */
void activity_forget(struct activity *a, uint32_t thread, int64_t before);
void activity_forget_gaps(struct activity *a, int64_t before);

/** The thread `id` of the process in row `process_row`; ACTIVITY_NONE: it is not known. */
uint32_t activity_find(const struct activity *a, int64_t process_row, uint32_t id);

/** What the innermost span is just before `at`, since when; NULL: nothing is known yet. */
const struct activity_inner *activity_innermost(const struct activity_thread *t, int64_t at);

/** The name of the innermost span that thread `t` was in just before `at`, and since when that is so; ACTIVITY_NONE. */
uint32_t activity_inner_before(const struct activity_thread *t, int64_t at, int64_t *since);

/** What the innermost span just before `at` waits for. */
enum activity_reason activity_reason_before(const struct activity_thread *t, int64_t at);

/**
 * Whether a wait for a message is the last span that ended before `at`, or up to it, with nothing recorded since: then
 * it is *wait.
 */
bool activity_message_wait(const struct activity_thread *t, int64_t at, struct activity_window *wait);

/** Whether thread `t` is in a span of that name just behind `at`: the innermost one, or one of 64 around it. */
bool activity_is_in_span(const struct activity *a, const struct activity_thread *t, const char *name, int64_t at);

/** When the innermost span is another one, at `at` or later; INT64_MAX: never. */
int64_t activity_inner_until(const struct activity_thread *t, int64_t at);

/** Whether intervals of thread `t` may have been lost from `from` to `until`. */
bool activity_lost_intervals(const struct activity *a, const struct activity_thread *t, int64_t from, int64_t until);

/** The number of the first event at `at` or later. */
size_t activity_event_at(const struct activity_thread *t, int64_t at);

/** The number of the last interval that begins before `at`, plus 1; 0: none does. */
size_t activity_interval_before(const struct activity_thread *t, int64_t at);

/** ns that thread `t` had a CPU from `from` to `until`, of its intervals that are kept. */
int64_t activity_cpu(const struct activity_thread *t, int64_t from, int64_t until);

/** The number of the last rival of thread `t` that had the CPU before `at`, plus 1; 0: none did. */
size_t activity_rival_before(const struct activity_thread *t, int64_t at);

/** The wait of thread `t` that ended last, behind `begin` and up to `end`; NULL: none is known. */
const struct activity_wait *activity_wait_in(const struct activity_thread *t, int64_t begin, int64_t end);

/** Whether thread `t` is known to have been woken `ready_most` before its interval `next`, and so waited until then. */
bool activity_is_woken(const struct activity_thread *t, const struct activity_interval *next);

/** Adds a span that no record ends, of thread `is` (its names and numbers): it lasts until `span.end`. False: no
 * memory. */
bool activity_add_open(struct activity *a, const struct activity_thread *is, const char *name, const char *reason,
                       struct activity_span span);

/** Makes 0 <= ready_least <= ready_most <= off; what the kernel does not say of `off` may be either. */
void activity_settle_ready(struct activity_interval *i);

/** For tests: adds a thread, and what it did, as activity_take() does. ACTIVITY_NONE or false: no memory. */
uint32_t activity_add_thread(struct activity *a, const struct activity_thread *is);
uint32_t activity_name(struct activity *a, const char *name);
bool activity_add_span(struct activity *a, uint32_t thread, struct activity_span span);
bool activity_add_io(struct activity *a, uint32_t thread, uint32_t name, int64_t bytes); /* -1: it does not say */
bool activity_add_interval(struct activity *a, uint32_t thread, struct activity_interval interval);
bool activity_add_event(struct activity *a, uint32_t thread, struct activity_event event);
bool activity_add_rival(struct activity *a, uint32_t thread, struct activity_rival rival);
bool activity_add_wait(struct activity *a, uint32_t thread, struct activity_wait wait);

#endif
