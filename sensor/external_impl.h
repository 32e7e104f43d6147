// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The inside of the external sensor: external.c (processes), external_open.c (its life), find.c, poll.c (whose turn it
 * is), cut.c (packets), ...
 */
#ifndef BEZEL_SENSOR_EXTERNAL_IMPL_H
#define BEZEL_SENSOR_EXTERNAL_IMPL_H

#include "sensor/bell.h"
#include "sensor/external.h"
#include "sensor/index.h"
#include "sensor/lives.h"
#include "sensor/notes.h"

#include <time.h>

enum { EXTERNAL_INDEX = 4 * EXTERNAL_PROCESSES };

/** What tells whether two processes bear the same name and are of the same program: hashes. */
struct external_mark {
    uint32_t name, program;
};

struct external {
    struct external_options options;
    struct folder folder; /* options.dir */
    struct window *window;
    struct doorbell *doorbell;
    int doorbell_guard;
    struct bell *bell;            /* NULL: we never sleep */
    struct timebase counter;      /* of the processor's counter */
    struct timebase_store *store; /* keeps it for our next life; NULL where it cannot */
    uint8_t boot[16];
    bool user_clocks; /* a process has, or had, one */
    int lock;         /* descriptor of the folder's lock */
    uint32_t rung;    /* doorbell as last seen */
    int64_t scan_due;
    struct timespec folder_changed; /* as the last look at the folder found it */
    bool folder_known;              /* ... and all that stands in it is taken in, or not for us */
    uint32_t looks;                 /* at the folder */
    uint32_t segments_seen;         /* by the last one */
    int64_t find_rests;             /* until then nobody who rings is looked for */
    bool collecting, finishing;
    bool spool_full;
    uint32_t
        left_out;     /* segments that the last look at the folder found no room for; at least 1 where it saw not all */
    int folder_error; /* errno where the last look could not read the folder to its end, but for want of room; else 0 */
    uint64_t doorbell_id;
    struct places polled;  /* processes that a poll looks at: the living, but for */
    struct places resting; /* ... those of which nothing comes, who will knock (quiet.c) */
    uint32_t look_next;    /* who of them is looked at next */
    int64_t looked_at;
    uint32_t next_place; /* process and ring at which the next poll begins */
    uint32_t next_ring;
    uint64_t run_started; /* ns: attached processes are heard from here on */
    struct external_counts counts;
    struct external_flow gone; /* of processes that are forgotten */
    uint64_t gone_unobserved;  /* of their children */
    struct external_saved saved, saved_lately;
    struct notes notes;
    uint32_t refusals_seen; /* of the doorbell, a bit for each */
    uint32_t unobserved;    /* as the doorbell said, at most; it never falls */
    char self_executable[MESSAGE_TEXT_MAX + 1];
    struct lives lives;
    uint32_t process_count; /* places used so far */
    struct external_process *processes[EXTERNAL_PROCESSES];
    struct places present;
    struct external_mark marks[EXTERNAL_PROCESSES];
    struct index index;  /* of the processes, by instance */
    struct index passed; /* instances of living processes that are not ours to read */
    uint32_t passed_count;
    struct index_place index_places[EXTERNAL_INDEX], passed_places[EXTERNAL_INDEX];
};

/**
 * Looks the folder through for new segments, and takes in those that are ours to read. Where there is no room for all
 * (file descriptors, memory, places), or the folder cannot be read, it counts the rest in `left_out` and looks again
 * soon.
 */
void find_processes(struct external *x, int64_t now);

/** As find_processes(), where the folder may have changed since the last look, or nobody has looked for long. */
void find_again(struct external *x, int64_t now);

/** Looks for processes whose bell rang; not more often than a look costs where there are many. */
void find_rung(struct external *x, int64_t now);

/** What the aspects of `p` may do now: record, count what is lost while collection is off, or nothing. */
enum segment_enable external_mode(const struct external *x, const struct external_process *p);

/** Frees `p` and lets go of its segment; with `remove` the file goes too. */
void external_release(struct external_process *p, bool remove);

/** The clocks of this node's processes (clocks.c): opens, feeds at each poll, closes the store that outlives us. */
void external_clock_open(struct external *x);
void external_clock_poll(struct external *x, int64_t now);
void external_clock_close(struct external *x, bool clean);

/**
 * Whether times can be made of the ticks of `p`. A program's clock that never told the time, because its process ended
 * before, is taken to have been at its first record sometime in the life of the process: the error says so.
 */
bool external_clock_ready(struct external *x, struct external_process *p, int64_t now);

/** Finds the timebase of `p`, new here. False: no memory. */
bool external_clock_adopt(struct external *x, struct external_process *p);

/** Sets the enable words of `p`, and that of aspects to come, as external_mode() and the rules have it. */
void steer_process(const struct external *x, struct external_process *p);

/** Takes in what the dictionary of `p` grew by: tells the observer, and the receiver before the next packet. */
void external_refresh(struct external *x, struct external_process *p);

/** Takes in new rings of `p`. False: times cannot be made of its ticks yet, nothing is to be cut. */
bool cut_ready(struct external *x, struct external_process *p, int64_t now);

/** Bytes that wait to be cut in ring `ring` of `p`, as the ring says. */
uint32_t cut_waiting(const struct external_process *p, uint32_t ring);

/**
 * Cuts what waits in ring `i` of `p`, or of an overwriting one in its copy, at most `limit` records. Returns the number
 * of records: 0 where something waits means that the window has no room for it, or that it makes no sense.
 */
uint32_t cut_ring(struct external *x, struct external_process *p, uint32_t i, int64_t now, uint32_t limit);

/** Whether something waits in any ring of `p`. */
bool cut_waits(const struct external_process *p);

/** Cuts all that waits in the rings of `p`. Returns the number of records. */
uint32_t cut_process(struct external *x, struct external_process *p, int64_t now);

/** Something came of process `i`, or it knocked: it is polled, and need not knock. */
void quiet_stir(struct external *x, uint32_t i, int64_t now);

/** Stirs who knocked. */
void quiet_listen(struct external *x, int64_t now);

/** Takes the next step to rest with living process `i` of which nothing comes; finds what no knock told of. */
void quiet_look(struct external *x, uint32_t i, int64_t now);

/** Whose turn it is to be looked at though they rest. */
struct places quiet_share(struct external *x, int64_t now);

/** Tells process `p` how long a tick of its clock is. */
void external_clock_tell(struct external_process *p);

/** After a cut of `ring` of `p` that found no room, or had found none before: puts losses down to their cause
 * (blame.c). */
void blame_losses(const struct external *x, struct external_process *p, struct attached_ring *ring, bool stuck,
                  int64_t now);

/** Copies what the overwriting rings of `p` hold now, but for those whose last copy still waits to be cut. */
void cut_snapshot(struct external *x, struct external_process *p, int64_t now);

/** Cuts the closing packets of `p`: true once every stream of it is closed (false: the window is full). */
bool cut_close(struct external *x, struct external_process *p, int64_t now);

/** Records of `p` that were cut in this session. */
uint64_t cut_records(struct external *x, const struct external_process *p);

#endif
