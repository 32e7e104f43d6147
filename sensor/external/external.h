// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The external sensor of a node: finds segments as processes come and go, polls their rings, cuts packets into the
 * window, keeps the books. It sends nothing itself (sensor/forward.h) and decides nothing (bezeld does). One owner, one
 * thread; the caller brings the time. Nothing blocks; the poll neither allocates nor logs unless a dictionary grew or
 * bytes are wrong.
 *
 * Life of a process here: LIVE (read at every poll) -> DEAD or DETACHING (one last drain) -> CLOSED (closing packets
 * cut, waiting for acknowledgement) -> gone, its books told.
 */
#ifndef BEZEL_SENSOR_EXTERNAL_H
#define BEZEL_SENSOR_EXTERNAL_H

#include "mdr/message.h"
#include "sensor/attach.h"
#include "sensor/steer.h"
#include "sensor/timebase.h"
#include "sensor/window.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { EXTERNAL_PROCESSES = WINDOW_PROCESSES, EXTERNAL_PATTERNS = 64 };

enum external_phase { EXTERNAL_LIVE, EXTERNAL_CLOSING, EXTERNAL_CLOSED };

/** What became of the records of the SUT's processes in this run; what is in rings and window is so now. */
struct external_flow {
    uint64_t produced, full, off, no_ring, overwritten, window, spool;
    uint64_t in_rings, in_window; /* neither lost nor cut yet; cut, and not freed from the window */
};

/** A process that is read. */
struct external_process {
    struct attached *at;
    enum external_phase phase;
    enum message_process_state state; /* how it ended, or RUNNING */
    enum message_role role;
    uint32_t stream_id;
    char name[MESSAGE_NAME_MAX + 1];
    uint32_t stuck_rings;     /* whose last cut found no room */
    enum segment_cause cause; /* of what its full rings lose now */
    int64_t blamed_at;        /* when its losses were last put down to it */
    bool truncated;           /* its segment lost bytes under our reads: nothing in it is believed any more */
    bool doubt_told;          /* that its counters are not believed */
    bool goals_set;           /* each ring of one that is left was told how far it is read */
    bool announce;            /* the receiver must hear of it (again) before its next packet; the forwarder clears it */
    bool books_final;         /* its final books were sent on this connection; the forwarder's */
    bool books_saved;         /* the receiver has said that it has saved them; the forwarder's */
    uint64_t books_at;        /* `at` of its final books */
    int64_t closed_at;        /* since when nothing of it waits; 0: not yet */
    int64_t closing_since;
    uint64_t unfinished;
    uint32_t unobserved;       /* processes forked from it that record and have no segment: their records are unknown */
    struct external_flow flow; /* what it did, when its counters were last read and believed */
    uint64_t clamped;          /* times of its records that were made to fit */
    struct timebase *timebase; /* of the clock of its records; NULL: they are stamped in ns of CLOCK_MONOTONIC */
    struct timebase *user_clock;  /* of a clock of the program's; else NULL */
    bool knocks;                  /* it was asked to: its enable words say so, at asked_at */
    int64_t stirred_at, asked_at; /* when something of it came, or it was taken in */
    bool final_snapshot;          /* of an ended or left process that overwrites: it was taken */
    int slot;                     /* the observer's number for it; -1: none */
    int watch[RING_ASPECTS];      /* the observer's number for each aspect; negative: nobody looks */
    struct expiry *expiry;        /* of aspects with a latency bound; NULL: it has none */
    uint32_t watched;             /* aspects below this number have their watch */
    uint32_t steered;             /* the reader's: its knobs that have what was decided for them, a bit each */
};

/** In the place of an observer's number: its records are attended to (sensor/expire.h), but not by the observer. */
enum { EXTERNAL_ATTENDED = INT_MAX };

/** Who is told of processes and of records that are watched; every function may be NULL. */
struct external_observer {
    void *context;
    int (*process_begin)(void *context, const char *name); /* the observer's number for it, or negative */
    void (*process_end)(void *context, int slot);
    int (*watch)(void *context, int slot, const struct dict_aspect *aspect); /* its number for it, or negative */
    /** Records, which a poll took one after the other; the run lasts until it returns. */
    void (*records)(void *context, int watch, const struct packet_run *run);
    /** A poll took so many records of a process of the SUT, in the order of time; watched or not, but
     * for those of snapshots. */
    void (*taken)(void *context, uint32_t records, int64_t first, int64_t last, int64_t now);
    /** The receiver has so many records of a process of the SUT, and has said so; likewise. */
    void (*stored)(void *context, uint32_t records, int64_t first, int64_t last, int64_t now);
};

struct external_options {
    const char *dir;
    uint8_t run[16];
    uint8_t uuid[16]; /* of the trace; in external_options() with the birth of its window worked in */
    uint32_t birth;   /* of the window, where a new one is made: ms since the machine started; 0: as `uuid` says */
    uint64_t window_bytes;
    uint64_t spool_bytes;  /* of the disk, for packets that the window has no room for; 0: no spool */
    const char *spool_dir; /* where; borrowed */
    bool batch; /* BF: at each poll all that waits, or up to batch_limit records; else CF: one record a poll */
    uint32_t batch_limit; /* 0: all */
    bool take_all;        /* every segment of the folder, else only those of this run and those that a pattern names */
    uint32_t pattern_count;
    struct {
        const char *glob, *name; /* on the executable's path, or file name where it holds no '/'; name of the process */
    } patterns[EXTERNAL_PATTERNS];
    struct external_observer observer;
    const struct experiment_rule *expire; /* latency bounds of aspects, ends with pattern NULL; borrowed; may be NULL */
    bool doorbell;                        /* it may sleep until somebody knocks: external_sleep() */
    const struct steer *rules; /* what is wanted of each aspect; borrowed; external_steer() where they change */
};

/** What happened so far; cumulative. */
struct external_counts {
    uint64_t records, bytes, packets, clamped, broken_rings, broken_segments, processes_seen, dropped_foreign;
    uint64_t clocks[SEGMENT_CLOCK_USER + 1]; /* processes of the SUT by enum segment_clock */
    int64_t clock_error_ns; /* bound of the error of times that were made of other clocks than the kernel's; 0: none */
    uint64_t clock_jumps;   /* of the clocks that were in use */
    uint64_t expired;       /* records older than their bound when they were taken */
    uint64_t backpressure;  /* how often records were left in a ring because the window was full */
    uint64_t unread;        /* processes for which there was no room to the end: what they recorded is lost */
};

/** Records of flight recorders that were saved, and the times of the first and the last of them; all 0: none. */
struct external_saved {
    uint64_t records;
    int64_t first_ns, last_ns;
};

struct expiry;
struct experiment_rule;
struct external;

/**
 * Starts sensing in folder `dir` (made 0700 where it is missing): takes over what a crashed predecessor of this run
 * left. Returns 0 with *x for external_close(); BEZEL_EBUSY where another bezeld reads this folder; BEZEL_ENOSPC;
 * BEZEL_EPERM; ...
 */
int external_open(const struct external_options *options, struct external **x) BEZEL_MUST_CHECK;

/** Ends it; with `clean` removes window, doorbell and the segments of ended processes. */
void external_close(struct external *x, bool clean);

/** One poll of all rings: returns the number of records cut. */
uint32_t external_poll(struct external *x, int64_t now);

/**
 * Sleeps, with `doorbell`: true where nothing waits and all processes rest, so that external_poll() has nothing to do
 * before external_bell() is readable, or external_sleeps() says no. Housekeeping goes on, once a second will do.
 * external_wake() ends it.
 */
bool external_sleep(struct external *x);
bool external_sleeps(const struct external *x);
void external_wake(struct external *x);
int external_bell(const struct external *x); /* -1: it never sleeps */

/** What need not happen at every poll: new and ended processes, closing, forgetting. Every 100 ms or so. */
void external_housekeep(struct external *x, int64_t now);

/** What a poll takes from now on, as in the options. What waits goes on waiting: nothing is missed. */
void external_batch(struct external *x, bool batch, uint32_t limit);

/** Collection on or off: off, attempts are counted and lost with the cause "off". */
void external_collect(struct external *x, bool on);

/**
 * Saves what the rings of all living processes hold that overwrite: copies them, and cuts the copies, what the window
 * does not take at later polls. Returns the number of records cut. Allocates at the first snapshot of a ring.
 */
uint32_t external_snapshot(struct external *x, int64_t now);

/** What of a snapshot found no room so far, polling or not. Returns whether some of it still finds none. */
bool external_snapshot_rest(struct external *x, int64_t now);

/** What the latest snapshot saved so far; and all of them, with those of ended processes, since ..._begin(). */
struct external_saved external_saved_lately(const struct external *x);
struct external_saved external_saved(const struct external *x);
void external_saved_begin(struct external *x);

/** Whether what a full window loses from now on is put down to the spool: it has no room either. */
void external_spool_full(struct external *x, bool full);

/** Lets every process follow the rules as they are now. */
void external_steer(struct external *x);

/** Ends sensing: aspects are disabled, living processes detached once their rings are still (at most 200 ms later). */
void external_finish(struct external *x, int64_t now);

/** Whether external_finish() came to its end: every stream is closed. */
bool external_finished(const struct external *x);

struct window *external_window(struct external *x);
const struct external_options *external_options(const struct external *x);
const struct external_counts *external_counts(const struct external *x);

/** The processes: number `i` below external_process_count(), NULL where the place is free. */
uint32_t external_process_count(const struct external *x);
struct external_process *external_process(struct external *x, uint32_t i);

/** The number from `from` on of a process that does not rest, and so may have news; -1 where there is none. */
int external_next(const struct external *x, uint32_t from);

/** Has news of every process again. */
void external_stir(struct external *x, int64_t now);

/** The process with instance `instance`, or NULL. */
struct external_process *external_find(struct external *x, uint64_t instance);

/** What there is to tell the operator: note `i` below external_note_count(), which only grows. */
uint32_t external_note_count(const struct external *x);
const struct message_note *external_note(const struct external *x, uint32_t i);

/** Sums over all processes, the ended ones included. Reads the counters of every ring: for once a second. */
struct external_flow external_flow(struct external *x);

/**
 * The books of `p` as they stand, into *books. Of a process whose counters are not believed they have no rows: those
 * that were told before stand.
 */
void external_books(const struct external_process *p, int64_t now, struct message_books *books);

/** The books of the node: instance 0, and the processes that nobody but the node knows to be unobserved. */
void external_node_books(const struct external *x, int64_t now, struct message_books *books);

/**
 * Processes that recorded so far and were not observed: nothing is known of their records. Those that are in the books
 * of the node alone; and all of it.
 */
uint64_t external_node_unobserved(const struct external *x);
uint64_t external_unobserved(const struct external *x);

#endif
