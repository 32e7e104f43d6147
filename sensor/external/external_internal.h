// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * State and functions that the files of the external sensor share: external.c (processes), external_open.c (opening and
 * closing), discover.c, poll.c (order of rings), packetize.c (packets), ...
 */
#ifndef BEZEL_SENSOR_EXTERNAL_EXTERNAL_INTERNAL_H
#define BEZEL_SENSOR_EXTERNAL_EXTERNAL_INTERNAL_H

#include "base/hash_index.h"
#include "resmgr/pace/accumulate.h"
#include "sensor/external/doorbell_wait.h"
#include "sensor/external/external.h"
#include "sensor/external/liveness.h"
#include "sensor/external/notes.h"
#include "sensor/shm/counter_proof.h"

#include <time.h>

enum { EXTERNAL_INDEX = 4 * EXTERNAL_PROCESSES };
_Static_assert((int)EXTERNAL_PROCESSES == (int)BITSET_MAX, "sets of processes are `struct bitset`");

/** Hashes of a process's name and of its program, to find two programs with one name. */
struct external_mark {
    uint32_t name, program;
};

/**
 * What a look compares, side by side (poll.c): the heads of all rings that a poll reads, as they were when nothing
 * waited in them, and the counts of changed rings of their processes. Any other use of the external sensor may change
 * what is to be seen there, so it makes the lists unknown.
 */
enum {
    EXTERNAL_HEADS = 4096,    /* of more rings there is no list */
    EXTERNAL_HEADS_WORTH = 16 /* records of a poll: where there were more, the next one finds some, too */
};

struct external_heads {
    bool known;
    bool worth; /* the last poll found nothing or little, so the next one may find nothing: lists are made then alone */
    uint32_t count, change_count;
    struct {
        const _Atomic uint32_t *changes;
        uint32_t seen;
    } changes[EXTERNAL_PROCESSES];
    struct {
        const uint32_t *head;
        uint32_t seen;
    } list[EXTERNAL_HEADS];
};

struct external {
    struct external_options options;
    struct folder folder; /* options.dir */
    struct window *window;
    struct doorbell *doorbell;
    int doorbell_guard;
    struct doorbell_wait *doorbell_wait; /* NULL: the external sensor never sleeps */
    struct timebase counter;             /* of the processor's counter */
    struct counter_proof proof;          /* that it may be used on this guest */
    struct timebase_store *store;        /* keeps `counter` for the next bezeld; NULL: not possible */
    uint8_t clock_identity[16];
    bool user_clocks;  /* a process has, or had, one */
    int lock;          /* descriptor of the folder's lock */
    uint32_t arrivals; /* the doorbell's count when it was last read */
    int64_t scan_due;
    struct timespec folder_changed; /* modification time at the last look at the folder */
    bool folder_known;              /* every file in it at that time has been dealt with */
    uint32_t looks;                 /* number of looks at the folder */
    uint32_t segments_seen;         /* at the last look */
    int64_t looked_at;              /* when the last look began that found every segment; until then, run_started */
    int64_t arrivals_due;           /* arrivals are not looked for before this time */
    bool collecting, finishing;
    bool run_goes_on; /* external_keep_processes() was called */
    bool goes_on;     /* external_go_on() */
    bool run_ends;    /* external_end_run() was called */
    bool resumed;     /* external_resumed() */
    int64_t since;    /* external_since() */
    bool spool_full;
    uint32_t left_out; /* segments without a place at the last look; at least 1 if it could not read the whole folder */
    int folder_error; /* errno if the last look could not read the whole folder, unless files or memory were short; else
                         0 */
    uint64_t doorbell_id;
    struct bitset polled; /* living processes that a poll reads: all but ... */
    struct bitset idle;   /* ... idle ones, which will set their wake bit (idle.c) */
    uint32_t next_place;  /* process at which the next poll begins, and its ring */
    uint32_t next_ring;
    struct accumulate accumulate;
    bool took_sut;        /* the last poll took records of the SUT */
    uint32_t fill;        /* gap_fill() of the fullest ring at the last poll */
    uint32_t least_slots; /* external_least_slots() */
    int64_t polled_at;    /* ns: begin of the last poll that took all that waited */
    int64_t polled_low;   /* ns: the same of the one before; or what is left is later */
    int64_t low, low_at;  /* ns: what external_low() returned last, and when; low_due: next look at what is left */
    int64_t low_due;
    uint64_t run_started; /* ns; streams of processes that started before begin here */
    struct external_counts counts;
    struct external_totals gone; /* of processes that were freed */
    uint64_t gone_unobserved;    /* unobserved children of these */
    struct external_saved saved, saved_lately;
    struct notes notes;
    uint32_t refusals_seen; /* refusals in the doorbell: a bit for each that was taken */
    uint32_t unobserved;    /* the largest count read from the doorbell */
    char self_executable[MESSAGE_TEXT_MAX + 1];
    struct liveness liveness;
    uint32_t process_count; /* places used so far */
    struct external_process *processes[EXTERNAL_PROCESSES];
    struct bitset present;
    struct external_heads heads;
    struct external_mark marks[EXTERNAL_PROCESSES];
    struct hash_index index;  /* processes by instance */
    struct hash_index passed; /* instances of living processes that this run does not read */
    uint32_t passed_count;
    struct hash_index_slot index_places[EXTERNAL_INDEX], passed_places[EXTERNAL_INDEX];
};

/**
 * Searches the folder for new segments, and attaches to those of this run. If there is no room for all (descriptors,
 * memory, places), or the folder cannot be read, it counts the rest in `left_out`, and the next look comes soon.
 */
void discover_processes(struct external *x, int64_t now);

/** discover_processes() if the folder may have changed since the last look, or the last full look is long ago. */
void discover_again(struct external *x, int64_t now);

/**
 * Whether a poll would find nothing and do nothing, which then counts as done. False also where that cannot be told so
 * cheaply. external_poll() begins with that.
 */
bool external_is_still(struct external *x, int64_t now);

/** Looks for new processes if the doorbell has counted arrivals; less often if the folder has many segments. */
void discover_arrivals(struct external *x, int64_t now);

/** What the aspects of `p` may do at most now: record; count, while collection is off; or nothing. */
enum segment_enable external_mode(const struct external *x, const struct external_process *p);

/** Takes living process `p` into external_least_slots(). */
void external_note_slots(struct external *x, const struct external_process *p);

/** Detaches from the segment of `p` and frees it; with `remove`, removes the file. */
void external_release(struct external_process *p, bool remove);

/** The clocks of this node's processes (clocks.c): opened once, fed at each poll. With `clean`, close removes the saved
 * timebase. */
void external_clock_open(struct external *x);
void external_clock_poll(struct external *x, int64_t now);
void external_clock_close(struct external *x, bool clean);

/**
 * Whether the ticks of `p` can be converted. If its process ended before its own clock gave a pair, the first record is
 * assumed to be in the middle of the process's life, and the error bound covers all of it.
 */
bool external_clock_ready(struct external *x, struct external_process *p, int64_t now);

/** Sets the timebase of `p`, which is new. False: no memory. */
bool external_clock_adopt(struct external *x, struct external_process *p);

/** Sets the enable words of `p`, also of aspects to come, by external_mode() and the rules. */
void aspect_rules_apply(const struct external *x, struct external_process *p);

/** Reads new aspects of `p`, and passes them to the observer. The uplink sends them before the next packet. */
void external_refresh(struct external *x, struct external_process *p);

/** Finds new rings of `p`. False: its ticks cannot be converted yet, so that nothing can be packetized. */
bool packetize_ready(struct external *x, struct external_process *p, int64_t now);

/** Bytes that wait in ring `ring` of `p`, as the ring states them. */
uint32_t packetize_waiting(const struct external_process *p, uint32_t ring);

/**
 * Packetizes the records that wait in ring `i` of `p`, or in the copy of an overwriting ring: at most `limit`. Returns
 * their number. If records wait and it returns 0, the window has no room, or the ring is broken.
 */
uint32_t packetize_ring(struct external *x, struct external_process *p, uint32_t i, int64_t now, uint32_t limit);

/** Whether records wait in any ring of `p`. */
bool packetize_waits(const struct external_process *p);

/** Packetizes all records that wait in the rings of `p`. Returns their number. */
uint32_t packetize_process(struct external *x, struct external_process *p, int64_t now);

/** Activates process `i`, which recorded or woke us: it is polled, and need not set its wake bit. */
void idle_activate(struct external *x, uint32_t i, int64_t now);

/**
 * Activates the processes whose wake bit is set. ..._words(): of the doorbell's words, those of places that processes
 * have; bits beyond wake nobody.
 */
uint32_t idle_wake_words(const struct external *x);
void idle_wake(struct external *x, int64_t now);

/** Takes the next step towards idle with living process `i`, if it records nothing; finds records whose wake was lost.
 */
void idle_detect(struct external *x, uint32_t i, int64_t now);

/** `ticks` of a record of `p` as ns of CLOCK_MONOTONIC; and the line on which they lie, as timebase_line(). */
uint64_t external_clock_ns(const struct external_process *p, uint64_t ticks);
struct timebase_line external_clock_line(const struct external_process *p, uint64_t ticks);

/** Has all programs take the kernel's clock from now on, if the counter was proven: it is wrong, as `why` says. */
void external_clock_leave(struct external *x, int64_t now, const char *why);

/** Writes the length of a tick into the segment of `p`. */
void external_clock_report(struct external_process *p);

/** Books losses of `p` to their cause, after `ring` found no room in the window (`stuck`) or had found none before
 * (loss_cause.c). */
void loss_cause_assign(const struct external *x, struct external_process *p, struct attached_ring *ring, bool stuck,
                       int64_t now);

/** Copies the overwriting rings of `p`, except those whose last copy is not packetized yet. */
void packetize_snapshot(struct external *x, struct external_process *p, int64_t now);

/** Builds the closing packets of `p`. True: every stream of it is closed; false: the window is full. */
bool packetize_close(struct external *x, struct external_process *p, int64_t now);

/** Records of `p` that were packetized in this session; *discarded: those that its streams recorded as lost. */
uint64_t packetize_records(struct external *x, const struct external_process *p, uint64_t *discarded);

/** Adds the totals of `p` to `sum`, unless it is a daemon. Reads the counters of each ring and aspect. */
void totals_add(struct external *x, struct external_process *p, struct external_totals *sum);

#endif
