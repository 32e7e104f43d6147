// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Attaching: the external sensor's hold on one segment. Everything in a segment is hostile; what passed
 * segment_attach() is copied into struct attached and the segment is asked again only for what changes. One owner; no
 * function blocks.
 */
#ifndef BEZEL_SENSOR_ATTACH_H
#define BEZEL_SENSOR_ATTACH_H

#include "base/err.h"
#include "base/folder.h"
#include "mdr/dict.h"
#include "mdr/message.h"
#include "sensor/segment.h"

#include <stdbool.h>

/** A notice, or why a process has no segment, as it is told on: printable. */
struct attached_notice {
    char code[SEGMENT_CODE_BYTES];
    char text[SEGMENT_NOTICE_BYTES];
};

/** Why a process has no segment. */
struct attached_refusal {
    uint32_t pid;
    bool foreign; /* a number of another pid namespace than ours, as far as is known */
    char name[MESSAGE_NAME_MAX + 1];
    char text[SEGMENT_NOTICE_BYTES];
};

/** The reader's side of one ring. */
struct attached_ring {
    struct ring_reader reader;  /* .ring NULL: nobody ever had it */
    struct ring_reader copy;    /* of an overwriting ring: what the last snapshot found; .ring NULL: none was taken */
    int stream;                 /* its stream in the window; -1: not opened yet */
    uint64_t base_ordinal;      /* attempts when its session began: a copy, the ring's may change under our eyes */
    uint32_t generation;        /* of the last record */
    uint32_t generation_thread; /* thread id that goes with it */
    uint32_t goal; /* up to here the poll that is under way takes; where its end began, all it is to take */
    bool stuck;    /* the last cut of it found no room */
    bool broken;   /* its bytes made no sense: not read any further */
};

struct knobs;

struct attached {
    struct segment *segment;
    size_t mapped;
    int fd;
    int guard; /* of the mapping; -1: none */
    int pidfd; /* tells of the end of the process; -1: none */
    const struct folder *folder;
    char file[32]; /* its name there */
    uint64_t instance, started, start_time;
    uint64_t pid_namespace;
    uint64_t our_namespace; /* as procstat_namespace() says */
    uint32_t pid, ring_slots;
    uint64_t bell;                   /* id of its doorbell */
    uint32_t when_full;              /* enum segment_when_full */
    uint32_t clock;                  /* enum segment_clock */
    uint64_t clock_frequency;        /* of a user clock, Hz, as the process says */
    char name[MESSAGE_NAME_MAX + 1]; /* fit for a file name */
    char executable[MESSAGE_TEXT_MAX + 1];
    uint8_t session[16];
    uint32_t notices_seen; /* a bit for each */
    uint32_t untold_seen;  /* notices that found no place, when that was told; 0: not told */
    /* dictionary */
    struct dict *dict;   /* NULL while there is none */
    uint8_t *dict_bytes; /* what it was read from: a copy, for the receiver */
    uint32_t dict_used;  /* how many */
    bool dict_broken;    /* it grew by what makes no sense: not looked at any further */
    bool disbelieved;    /* its counters hold what cannot be: they are asked no more, and what it did is unknown */
    struct knobs *knobs; /* NULL while there are none */
    /* rings 0 .. ring_count - 1; of some the reader's ring may be NULL */
    uint32_t ring_count, ring_changes;
    uint32_t live_count; /* rings that may be written, or hold something: their numbers */
    uint8_t live[SEGMENT_RINGS];
    bool leaving; /* some of them are nobody's: once drained they are passed over */
    struct attached_ring rings[SEGMENT_RINGS];
};

/**
 * Opens, checks and maps segment `file` of `folder`, which it borrows, and takes its reading end. Returns 0 with *a for
 * segment_detach(); BEZEL_EMALFORMED, BEZEL_EVERSION; BEZEL_EBUSY where another external sensor reads it; BEZEL_ENOENT,
 * BEZEL_ENOMEM, ...
 */
int segment_attach(const struct folder *folder, const char *file, struct attached **a) BEZEL_MUST_CHECK;

/** Lets go of it; with `remove` the file goes too, and its `unobserved` is read no more. */
void segment_detach(struct attached *a, bool remove);

/** Whether the process lives, by its lock and, where its pid is a number of our namespace, by its pid: see there. */
bool segment_alive(const struct attached *a);

/** Whether its pid is a number of our namespace, and the start time is known that tells it from a later process's. */
bool segment_pid_is_ours(const struct attached *a);

/** Takes the next thing that the process has to say. Returns 1 with *n, or 0. At most SEGMENT_NOTICES + 1 in a life. */
int segment_next_notice(struct attached *a, struct attached_notice *n);

/**
 * Takes the next word in doorbell `bell` of a process without a segment that `seen`, zero at first, has no bit of.
 * Returns 1 with *r, or 0.
 */
int doorbell_next_refusal(struct doorbell *bell, uint32_t *seen, struct attached_refusal *r);

/** More than Linux has numbers for at a time: what a count says beyond is damage. */
enum { UNOBSERVED_MAX = 1 << 22 };

/**
 * How many unobserved processes `count`, a segment's or a doorbell's, tells of: at most UNOBSERVED_MAX, whatever it
 * holds. ..._stop() reads it for the last time: whoever comes from now on finds out, and leaves word elsewhere.
 * ..._begin() says that a segment's is read from now on.
 */
void unobserved_begin(_Atomic uint32_t *count);
uint32_t unobserved_read(_Atomic uint32_t *count);
uint32_t unobserved_stop(_Atomic uint32_t *count);

/** Takes in what the dictionary grew by. Returns 1 where it grew, 0, or BEZEL_EMALFORMED. */
int segment_refresh_dict(struct attached *a) BEZEL_MUST_CHECK;

/**
 * Takes in rings that were claimed since, and tells the live ones: where the process says that something changed, at
 * the cost of a load else; or in any case. A reader of a new one starts at the tail that the ring shows.
 */
void segment_refresh_rings(struct attached *a);
void segment_search_rings(struct attached *a);

/** Sets every enable word, and that of aspects to come. */
void segment_set_mode(struct attached *a, enum segment_enable mode);

/**
 * Begins session `run` of a segment that ran before: what it counted so far is not ours, what its rings hold is
 * skipped. The segment must be disabled, as it is while nobody reads it.
 */
void segment_begin_session(struct attached *a, const uint8_t run[16]);

/**
 * Puts down to `cause` what the rings have counted as lost in full rings since the last call, for each aspect. A kill
 * at any instruction leaves the sum over causes what the rings counted.
 */
void segment_blame(struct attached *a, enum segment_cause cause);

/**
 * Sums the counters of aspect `id` of this session over all rings; `attempts` includes those that had no ring. A
 * counter that is less than it was when the session began, or grew by more than one for each nanosecond since the
 * machine started and each ring, makes the process `disbelieved`. Of such a process all is 0.
 */
struct message_books_row segment_tally(struct attached *a, uint32_t id);

/** Attempts in `ring` so far, of all aspects; makes the process `disbelieved` where they cannot be so many. */
uint64_t segment_attempts(struct attached *a, const struct attached_ring *ring);

#endif
