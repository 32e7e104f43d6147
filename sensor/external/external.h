// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The external sensor of a node: finds segments as processes come and go, polls their rings, builds packets in the
 * window, and keeps the books. It sends nothing itself (mdr/uplink/sender.h does), and decides nothing (bezeld does).
 * One owner, one thread; the caller passes the time, in ns of CLOCK_MONOTONIC. Nothing blocks. A poll neither allocates
 * nor logs, unless a dictionary has grown or bytes are invalid.
 *
 * Phases of a process: LIVE (read at every poll) -> CLOSING (it ended or is detached; its rings are drained) -> CLOSED
 * (its closing packets wait for acknowledgement) -> freed, once its final books are saved.
 */
#ifndef BEZEL_SENSOR_EXTERNAL_EXTERNAL_H
#define BEZEL_SENSOR_EXTERNAL_EXTERNAL_H

#include "base/timebase.h"
#include "mdr/bounds.h"
#include "mdr/builtin.h"
#include "mdr/parts.h"
#include "mdr/uplink/uplink.h"
#include "sensor/external/aspect_rules.h"
#include "sensor/external/attach.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct message_books;
struct message_note;

enum { EXTERNAL_PROCESSES = WINDOW_PROCESSES, EXTERNAL_PATTERNS = 64 };

enum external_phase { EXTERNAL_LIVE, EXTERNAL_CLOSING, EXTERNAL_CLOSED };

/** Totals: what became of the records of the SUT's processes in this run. `in_rings` and `in_window` are present
 * numbers. */
struct external_totals {
    uint64_t produced, full, off, no_ring, overwritten, window, spool;
    uint64_t reduced, reducer;    /* taken by the reducer; lost with one that was killed, of these */
    uint64_t in_rings, in_window; /* neither lost nor packetized; packetized, and not freed from the window */
};

/** A process that is read. */
struct external_process {
    struct attached *at;
    enum external_phase phase;
    enum message_process_state state; /* how it ended, or RUNNING */
    enum message_role role;
    bool own; /* it is this process */
    uint32_t stream_id;
    char name[MESSAGE_NAME_MAX + 1];
    uint32_t stuck_rings;     /* rings whose last packet found no room in the window */
    enum segment_cause cause; /* the cause of losses in its full rings now */
    int64_t cause_at;         /* when its losses were last booked to `cause` */
    bool truncated;           /* its segment was truncated: it is read no more */
    bool counters_noted;      /* the note about its impossible counters was added */
    bool goals_set;           /* for closing: the goal of each ring is set */
    uint32_t version;         /* of its dictionary: how often it has grown */
    bool books_saved;         /* the receiver has saved its final books */
    bool left_alive;          /* left as WINDOW_LEFT_ALIVE */
    int64_t closed_at;        /* since when all its packets are acknowledged; 0: not yet */
    int64_t closing_since;
    int64_t seen;     /* when it lived for certain, the latest; 0: not known */
    bool ending_told; /* the observer was told how it ended */
    uint64_t unfinished;
    struct message_books_row *closed_rows; /* of a detached process: its counters when its streams were closed ... */
    uint32_t closed_count;                 /* ... in so many rows; closed_rows is NULL where they stay as they are */
    uint32_t unobserved; /* processes forked from it that record and have no segment: their records are unknown */
    struct external_totals totals;    /* as its counters were when last read and possible */
    uint64_t earliest;                /* ns: nothing that it records in this run is from before */
    uint64_t clamped;                 /* its records whose times were made to fit */
    struct timebase *timebase;        /* of its clock; NULL: timestamps are ns of CLOCK_MONOTONIC */
    struct user_clock *user_clock;    /* its own clock; NULL: it has none */
    bool counter_left;                /* its clock was the counter, and is the kernel's now */
    bool wake_asked;                  /* its enable words ask it to set its wake bit, since wake_asked_at */
    int64_t active_at, wake_asked_at; /* active_at: time of its last records or wake, or when it was found */
    bool final_snapshot;              /* of a flight recorder: the last snapshot was taken */
    int slot;                         /* the observer's number for it; -1: none */
    int watch[RING_ASPECTS];          /* the observer's number for each aspect; negative: not watched */
    struct expiry *expiry;            /* of aspects with a latency bound; NULL: it has none */
    struct reduce *reduce;            /* of aspects whose records are reduced; NULL: it has none, and never had */
    struct open_spans *open;          /* of waits and long spans; NULL: none was seen yet */
    uint32_t watched;                 /* aspects below this number have their entry in `watch` */
    uint32_t steered;                 /* for bezeld: a bit for each knob that has its decided value */
    uint32_t knobs_told;              /* for bezeld: how many of its knobs the own trace has as declared */
};

/** In place of an observer's number: records have a latency bound (sensor/external/expiry.h), and the observer does not
 * watch them. */
enum { EXTERNAL_ATTENDED = INT_MAX };

/** A wait or long span of a process (sensor/external/open_spans.h). */
enum external_open_state {
    EXTERNAL_SPAN_OPEN,
    EXTERNAL_SPAN_ENDED, /* it was open, and is not any more */
    EXTERNAL_SPAN_LEFT   /* it was open when its process ended */
};
struct external_open_span {
    uint32_t place, aspect, thread; /* place: no two that are open at a time have the same */
    enum external_open_state state;
    int64_t since; /* ns; 0: not known */
};

/** Callbacks about processes and watched records; every function may be NULL. */
struct external_observer {
    void *context;
    /** The observer's number for it, or negative. `started`: when it made its segment, CLOCK_MONOTONIC. */
    int (*process_begin)(void *context, const char *name, enum message_role role, uint64_t started);
    void (*process_end)(void *context, int slot);
    /** Its number for an aspect of that process, or negative. */
    int (*watch)(void *context, int slot, enum message_role role, const struct dict_aspect *aspect);
    /** Consecutive records that a poll took; `run` is valid until the function returns. */
    void (*records)(void *context, int watch, const struct packet_run *run);
    /** A poll took so many records of a process of the SUT, in order of time, watched or not. Not called for snapshots.
     */
    void (*taken)(void *context, uint32_t records, int64_t first, int64_t last, int64_t now);
    /** The receiver has acknowledged so many records of a process of the SUT. Not called for snapshots. */
    void (*stored)(void *context, uint32_t records, int64_t first, int64_t last, int64_t now);
    /** Whether records of `aspect`, which it watches, end at it: it then calls external_hand_on() once it has
     * recorded values of all that it was passed, and in process_end(). */
    bool (*reduces)(void *context, const struct dict_aspect *aspect);
    /** The state of a wait or long span of `p` that lasts, or lasted, for a second, or was left. */
    void (*open_span)(void *context, const struct external_process *p, const struct external_open_span *span);
    /** How observing `p` of the SUT ends: once, before its streams are closed. */
    void (*ending)(void *context, const struct external_process *p, enum builtin_ending_way way);
};

struct external_options {
    const char *dir;
    const char *reader; /* who reads the folder, for external_reader(); borrowed; NULL: unknown */
    uint8_t run[16];
    uint8_t uuid[16]; /* of the trace; external_uplink() returns it combined with the birth of the window */
    uint32_t birth;   /* of a new window: ms since the machine started; 0: `uuid` stays as it is */
    uint64_t window_bytes;
    bool batch; /* batch-and-forward: a poll takes all records, or batch_limit; else collect-and-forward: one */
    uint32_t batch_limit;       /* 0: all */
    uint32_t accumulate;        /* polls take records once so many wait in all rings together; 0 and 1: always ... */
    int64_t accumulate_longest; /* ... or once one has waited for so many ns (accumulate.h) */
    bool take_all; /* every segment of the folder; else those of this run, and those that match a pattern */
    uint32_t pattern_count;
    struct {
        const char *glob,
            *name; /* glob: on the executable's path, or on its file name if it has no '/'; name: of the process */
    } patterns[EXTERNAL_PATTERNS];
    struct external_observer observer;
    const struct experiment_rule *expire; /* latency bounds of aspects, ends with pattern NULL; borrowed; may be NULL */
    bool doorbell;                        /* external_sleep() may be used, ... */
    bool sleeps_beside_idle;              /* ... also beside idle programs: the next record of one then wakes it */
    const struct aspect_rules
        *rules; /* the operator's rules; borrowed; may be NULL; call external_set_rules() after a change */
};

/** Counts since external_open(). */
struct external_counts {
    uint64_t records, bytes, packets; /* taken from rings, with the monitor's own */
    uint64_t sut_records;             /* of these: the programs' */
    uint64_t clamped, broken_rings, broken_segments, processes_seen;
    uint64_t clocks[SEGMENT_CLOCK_USER + 1]; /* processes of the SUT by enum segment_clock */
    int64_t clock_error_ns; /* largest error bound of times from clocks other than the kernel's; 0: none */
    uint64_t clock_jumps;   /* of the clocks that were in use */
    uint64_t expired;       /* records older than their bound when they were taken */
    uint64_t backpressure;  /* how often records stayed in a ring because the window was full */
    uint64_t unread;        /* processes without a place until the end: their records are lost */
    char unread_why[160];   /* what there was no room for, and the remedy */
};

/** Records that snapshots saved, and the times of the first and the last; all 0: none. */
struct external_saved {
    uint64_t records;
    int64_t first_ns, last_ns;
};

struct expiry;
struct reduce;
struct user_clock;
struct experiment_rule;
struct external;

/**
 * Starts the external sensor in folder `dir`, which is made with mode 0700 if it is missing. Takes over the window,
 * doorbell and segments that a crashed bezeld of this run left. Returns 0 with *x, which the caller passes to
 * external_close(); BEZEL_EBUSY if another bezeld reads this folder; BEZEL_ENOSPC; BEZEL_EPERM; or another error of the
 * system.
 */
int external_open(const struct external_options *options, struct external **x) BEZEL_MUST_CHECK;

/** Tells who reads folder `dir`, or read it last, in that one's own words; "": unknown. */
enum { EXTERNAL_READER_MAX = 399 };
void external_reader(const char *dir, char reader[EXTERNAL_READER_MAX + 1]);

/**
 * Whether it continues what a killed external sensor of this run left, with every process that recorded until then. If
 * not, it is the run's first one, or its predecessor has released processes, whose records since then are unknown.
 */
bool external_resumed(const struct external *x);

/** When the run's first external sensor began here; 0: this is it. */
int64_t external_since(const struct external *x);

/**
 * Makes a clean external_close() leave the living processes to the run, which goes on: its next external sensor finds
 * them again, and begins its session anew in them. Without it nobody is expected to read them for this run.
 */
void external_keep_processes(struct external *x);

/**
 * Whether its successor follows at once, in this process and for this run: if so, external_finish() and a clean
 * external_close() leave it knobs as they are, and the doorbell. Call it before external_finish().
 */
void external_go_on(struct external *x, bool goes_on);

/**
 * The run ends in order: living processes are released, and what they record from now on is not the run's. Without it
 * their last books have state LEFT, which a call after external_finish() does not change.
 */
void external_end_run(struct external *x);

/**
 * The observer has handed on values of all records that it was passed of the process in `slot`; of all processes: -1.
 * ..._reduces(): some are not handed on yet.
 */
void external_hand_on(struct external *x, int slot);
bool external_reduces(const struct external *x);

/** Closes and frees it; with `clean`, removes window, doorbell and the segments of ended processes. */
void external_close(struct external *x, bool clean);

/** One poll of all rings. Returns the number of records that were packetized: 0 also while they accumulate. */
uint32_t external_poll(struct external *x, int64_t now);

/**
 * Looks in a row, by one thread that does nothing else meanwhile, so nothing of its own changes: what each look reads
 * of what others write is listed here. A look often finds cold caches, and then each line that it touches counts.
 */
enum { EXTERNAL_ROW_HEADS = 8 };
struct external_row {
    const _Atomic uint32_t *arrivals, *wake_bits;
    uint32_t arrived, wake_words, count;
    struct {
        const _Atomic uint32_t *head; /* a ring's, or the count of a process's rings that changed */
        uint32_t seen;
    } heads[EXTERNAL_ROW_HEADS];
    int64_t until;             /* the sensor has something else to do then */
    int64_t at, before;        /* the last two looks */
    struct timebase_line line; /* of the processor's counter; span 0: it is not trusted */
};

/** Begins a row after a poll at `now`. False: the poll found something, or there is too much to look at. */
bool external_row_begin(const struct external *x, int64_t now, struct external_row *row);

/**
 * The time for a look that was due at `due`: by the counter where that is trusted and the look not late, else by the
 * kernel's clock, which touches some lines more.
 */
int64_t external_row_now(const struct external_row *row, int64_t due);

/** A look. False: something was found, and the row is over. */
bool external_row_is_still(struct external_row *row, int64_t now);

/** The row is over: its looks count as polls. */
void external_row_end(struct external *x, const struct external_row *row);

/** Whether the last poll took records of others than daemons. */
bool external_took_sut(const struct external *x);

/** How full the fullest ring was that the last poll looked at, as gap_fill() says. */
uint32_t external_fill(const struct external *x);

/** Slots of the smallest ring that is polled, of the SUT's living processes; UINT32_MAX: there is none. */
uint32_t external_least_slots(const struct external *x);

/** A poll that takes all that waits, whatever is accumulated, limited or off. */
uint32_t external_flush(struct external *x, int64_t now);

/**
 * The low watermark: every record of the node before it, ns, is in the window, but for one that was published more than
 * a polling period after its time, one in a process that was not found yet, and snapshots. It never falls; 0: not
 * known.
 */
int64_t external_low(struct external *x, int64_t now);

/**
 * Sleep; needs the option `doorbell`. external_sleep() begins it, and returns true if no program is there, or
 * (`sleeps_beside_idle`) all are idle, and no packet waits: external_poll() then has nothing to do until
 * external_doorbell() is readable or external_sleeps() is false. Housekeeping continues; once a second is enough.
 * external_wake() ends it.
 */
bool external_sleep(struct external *x);
bool external_sleeps(const struct external *x);
void external_wake(struct external *x);
int external_doorbell(const struct external *x); /* -1: it never sleeps */

/** Work that is not needed at every poll: finds new and ended processes, closes and frees processes. Call it about
 * every 100 ms. */
void external_housekeep(struct external *x, int64_t now);

/** Sets how much a poll takes, as in the options. Records that wait stay in their rings. */
void external_batch(struct external *x, bool batch, uint32_t limit);

/**
 * Turns collection on or off. While it is off, attempts are counted and lost with the cause *off*. Returns whether that
 * is a change.
 */
bool external_collect(struct external *x, bool on);

/**
 * Takes a snapshot: copies the overwriting rings of all living processes, and packetizes the copies. What finds no room
 * in the window is packetized by later polls. The next poll takes also what accumulates in other rings. Returns the
 * number of records that were packetized. Allocates at the first snapshot of a ring.
 */
uint32_t external_snapshot(struct external *x, int64_t now);

/** Packetizes the rest of a snapshot, also while collection is off. Returns whether some of it still finds no room. */
bool external_snapshot_rest(struct external *x, int64_t now);

/** Records saved by the latest snapshot so far; and by all, final ones of ended processes included, since ..._begin().
 */
struct external_saved external_saved_lately(const struct external *x);
struct external_saved external_saved(const struct external *x);
void external_saved_begin(struct external *x);

/** Applies the present rules to every process. */
void external_set_rules(struct external *x);

/** Ends collection: disables all aspects, and detaches living processes once they write no more: at most 200 ms later,
 * or 1 s for one that keeps writing. */
void external_finish(struct external *x, int64_t now);

/** Whether external_finish() is complete: every stream is closed. */
bool external_finished(const struct external *x);

/** The source of this node's uplink; it borrows `x`. */
struct uplink_source external_uplink(struct external *x);

struct window *external_window(struct external *x);
const struct external_counts *external_counts(const struct external *x);

/** Whether `p`, which may be NULL, is a program's process that lives. */
static inline bool external_is_living(const struct external_process *p)
{
    return p && p->role == ROLE_SUT && p->phase == EXTERNAL_LIVE;
}

/** Process number `i`, below external_process_count(); NULL if the place is free. */
uint32_t external_process_count(const struct external *x);
struct external_process *external_process(struct external *x, uint32_t i);

/** The number of the first process from `from` on that is not idle; -1 if there is none. */
int external_next(const struct external *x, uint32_t from);

/** The process with instance `instance`, or NULL. */
struct external_process *external_find(struct external *x, uint64_t instance);

/** Note `i` for the operator, below external_note_count(), which only grows. */
uint32_t external_note_count(const struct external *x);
const struct message_note *external_note(const struct external *x, uint32_t i);

/** Totals over all processes, also ended ones. Reads the counters of every ring: call it once a second at most. */
struct external_totals external_totals(struct external *x);

/**
 * Fills *books with the present books of `p`. If its counters are impossible, they have no rows, and the rows of
 * earlier books stay valid. The state is PROCESS_RUNNING until all packets of `p` are acknowledged: a collector may
 * drop a process that has ended, and refuses its later packets.
 */
void external_books(const struct external_process *p, int64_t now, struct message_books *books);

/** The books of the node: instance 0, with the unobserved processes that are in no process's books. */
void external_node_books(const struct external *x, int64_t now, struct message_books *books);

/**
 * The number of processes that recorded and were not observed, so that their records are unknown: those in the books of
 * the node only; and all.
 */
uint64_t external_node_unobserved(const struct external *x);
uint64_t external_unobserved(const struct external *x);

#endif
