// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Attaching: the external sensor's view of one segment. One owner; no function blocks.
 *
 * The process may write anything, anywhere in its segment, at any time. So nothing there is checked in place and used
 * afterwards. segment_attach() reads each number of the head once, and copies the head into struct attached. Later only
 * what changes is read again: states of rings, counters, dictionary, notices. Each is copied, then checked, then used
 * from the copy. A longer dictionary must contain the one before. A counter that says more than one event for each
 * nanosecond since the machine started is impossible; then no counter of the process is believed any more. The process
 * may also truncate the file: a guard puts zeros under such a read (base/sigbus_guard.h), and the owner asks whether
 * that has happened.
 *
 * Two locks on the file, of open file descriptions, show who is there. The process holds one: segment_alive() looks at
 * it, and at the pid. The reader holds the other one from segment_attach() to segment_detach(), so a second reader gets
 * BEZEL_EBUSY, and a killed one keeps nobody out.
 *
 * All that has to outlive a reader is in the segment or the window, not here: the tails of rings, the causes of losses,
 * the session. The next reader attaches and goes on. The process may end at any moment; its file stays until the reader
 * has drained its rings, and removes it.
 */
#ifndef BEZEL_SENSOR_EXTERNAL_ATTACH_H
#define BEZEL_SENSOR_EXTERNAL_ATTACH_H

#include "base/err.h"
#include "base/folder.h"
#include "mdr/bounds.h"
#include "mdr/dict.h"
#include "mdr/parts.h"
#include "sensor/shm/segment.h"

#include <stdbool.h>

/** A notice that a process left in its segment, made printable. */
struct attached_notice {
    char code[SEGMENT_CODE_BYTES];
    char text[SEGMENT_NOTICE_BYTES];
};

/** Why a process has no segment. */
struct attached_refusal {
    uint32_t pid;
    bool foreign; /* `pid` is of another pid namespace than ours, or of an unknown one */
    char name[MESSAGE_NAME_MAX + 1];
    char text[SEGMENT_NOTICE_BYTES];
};

/** The reader's side of one ring. */
struct attached_ring {
    struct ring_reader reader; /* .ring NULL: no thread ever had it */
    struct ring_reader copy; /* of an overwriting ring: its content at the last snapshot; .ring NULL: no snapshot yet */
    int stream;              /* its stream in the window; -1: not opened yet */
    uint64_t
        base_ordinal; /* attempts when the session began; a copy, because the process can change the one in the ring */
    uint32_t generation;        /* of the last record */
    uint32_t generation_thread; /* thread id that goes with it */
    uint32_t goal;              /* position at which the current poll ends; of a detached process: where reading ends */
    uint32_t counted, counted_bytes; /* records that wait, as far as they were counted, and their bytes ... */
    uint32_t counted_from;           /* ... from this position on, the tail then */
    bool stuck;                      /* the window had no room for its last packet */
    bool broken;                     /* it holds invalid bytes: it is read no further */
};

struct knobs;

struct attached {
    struct segment *segment;
    size_t mapped;
    int fd;
    int guard; /* of the mapping; -1: none */
    int pidfd; /* becomes readable when the process ends; -1: none */
    const struct folder *folder;
    char file[32]; /* its name there */
    uint64_t instance, started, start_time;
    uint64_t pid_namespace;
    uint64_t our_namespace; /* as procstat_namespace() says */
    uint32_t pid, ring_slots, ring_max;
    uint64_t doorbell_id;            /* id of its doorbell */
    uint32_t when_full;              /* enum segment_when_full */
    uint32_t clock;                  /* enum segment_clock */
    uint64_t clock_frequency;        /* of a user clock, in Hz, as the process states it */
    char name[MESSAGE_NAME_MAX + 1]; /* fit for a file name */
    char executable[MESSAGE_TEXT_MAX + 1];
    uint8_t session[16];
    bool begun;                    /* its session began at this look: all that it records is from later */
    uint32_t notices_seen;         /* a bit for each */
    uint32_t notices_dropped_seen; /* notices without a place, when that was noted; 0: not noted */
    /* dictionary */
    struct dict *dict;           /* NULL while there is none */
    uint8_t *dict_bytes;         /* the bytes that it was parsed from, to be sent to the receiver */
    uint32_t dict_used;          /* bytes */
    bool dict_broken;            /* it has grown by invalid bytes: it is read no further */
    uint32_t late[RING_ASPECTS]; /* records behind the closing packets of its streams, by aspect: in no books */
    bool disbelieved;    /* its counters contain impossible numbers: they are read no more, and its books are unknown */
    struct knobs *knobs; /* NULL while there are none */
    /* rings 0 .. ring_count - 1; of some the reader's ring may be NULL */
    uint32_t ring_count, ring_changes;
    uint32_t live_count; /* rings that have a thread, or contain records; their numbers are in `live` */
    uint16_t live[SEGMENT_RINGS_MAX];
    bool leaving;                 /* some of them have no thread any more: they leave `live` once drained */
    struct attached_ring rings[]; /* ring_max of them */
};

/**
 * Opens, checks and maps segment `file` of `folder`, which it borrows, and locks it for reading. Returns 0 with *a,
 * which the caller passes to segment_detach(); BEZEL_EMALFORMED; BEZEL_EVERSION; BEZEL_EBUSY if another external sensor
 * reads it; BEZEL_EFULL if too many mappings are guarded; BEZEL_ENOENT, BEZEL_ENOMEM, or another error of the system.
 */
int segment_attach(const struct folder *folder, const char *file, struct attached **a) BEZEL_MUST_CHECK;

/** Unmaps and frees it. With `remove`, also removes the file, and ends the reading of its `unobserved`. */
void segment_detach(struct attached *a, bool remove);

/** Whether the process lives: by its lock and, if its pid is of our namespace, by its pid (table in attach.c). */
bool segment_alive(const struct attached *a);

/** Whether the process, which is not segment_alive(), executes another program, as far as /proc shows it. */
bool segment_has_executed(const struct attached *a);

/** Whether its pid is of our namespace, and its start time is known, which distinguishes it from a later process of
 * that pid. */
bool segment_pid_is_ours(const struct attached *a);

/** The id of the thread that has ring `i`, below ring_count, or had it last; 0: none, or a context without a thread. */
uint32_t segment_ring_thread(const struct attached *a, uint32_t i);

/** Takes the next notice of the process. Returns 1 with *n, or 0 if there is none. At most SEGMENT_NOTICES + 1 of a
 * process. */
int segment_next_notice(struct attached *a, struct attached_notice *n);

/**
 * Takes the next refusal in doorbell `bell`: a process that has no segment, and why. `seen` has a bit for each that was
 * taken, and is 0 at first. Returns 1 with *r, or 0 if there is none.
 */
int doorbell_next_refusal(struct doorbell *bell, uint32_t *seen, struct attached_refusal *r);

/** Linux has no more processes at a time than this: a larger count is damage. */
enum { UNOBSERVED_MAX = 1 << 22 };

/**
 * The count of unobserved processes in a segment or doorbell. ..._begin() marks a segment's count as one that is read.
 * ..._read() returns it: at most UNOBSERVED_MAX, whatever its bytes are. ..._stop() returns it for the last time, and
 * marks it: a process that comes later sees the mark, and counts itself elsewhere. ..._taken() takes `taken` of them
 * away, which are in the books of a trace that ends here.
 */
void unobserved_begin(_Atomic uint32_t *count);
uint32_t unobserved_read(_Atomic uint32_t *count);
uint32_t unobserved_stop(_Atomic uint32_t *count);
void unobserved_taken(_Atomic uint32_t *count, uint32_t taken);

/** Reads the dictionary again if it has grown. Returns 1 if it has, 0 if not; BEZEL_EMALFORMED, once; BEZEL_ENOMEM. */
int segment_refresh_dict(struct attached *a) BEZEL_MUST_CHECK;

/**
 * Finds new rings, and lists the live ones in `live`. ..._refresh_rings() does so only if the process has counted a
 * change, and costs one load otherwise; ..._search_rings() always does. The reader of a new ring starts at the ring's
 * tail.
 */
void segment_refresh_rings(struct attached *a);
void segment_search_rings(struct attached *a);

/** Sets the enable word of every aspect, declared or not. */
void segment_set_mode(struct attached *a, enum segment_enable mode);

/**
 * Begins session `run` in a segment that recorded before: counts start at their present values, and the records in its
 * rings are skipped. The segment must be disabled, as it is while no external sensor reads it.
 */
void segment_begin_session(struct attached *a, const uint8_t run[16]);

/**
 * Books the losses of full rings since the last call to `cause`, for each aspect. If it is killed at any instruction,
 * the sum over all causes is still what the rings counted.
 */
void segment_loss_cause(struct attached *a, enum segment_cause cause);

/**
 * Sums the counters of aspect `id` in this session over all rings; `attempts` includes those without a ring, but not
 * those of `late` records. A counter is impossible if it is less than when the session began, or has grown by more than
 * one for each nanosecond since the machine started and each ring; the process is `disbelieved` then, and all its sums
 * are 0.
 */
struct message_books_row segment_tally(struct attached *a, uint32_t id);

/** Attempts in `ring` so far, of all aspects. The process becomes `disbelieved` if the number is impossible. */
uint64_t segment_attempts(struct attached *a, const struct attached_ring *ring);

#endif
