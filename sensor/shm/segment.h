// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The segment: the shared memory of one instrumented process, a file `<BEZEL_DIR>/<instance>.seg`. The internal sensor
 * makes it under a temporary name, locks it, fills the head and links it into place; from then on the file's existence
 * means a complete head. It outlives its process, until the external sensor has drained it.
 *
 * Who writes what: the process writes the head, the dictionary, the ring states, heads and counters; the external
 * sensor writes `session`, `mode`, `enable`, `knob_shift`, the bases and the tails; processes forked from it add to
 * `unobserved`. Each side treats what the other
 * writes as hostile: it checks before use and never crashes on it.
 *
 * Two locks on the file (fcntl) say who lives: byte SEGMENT_LOCK_PROCESS is held by the process, byte
 * SEGMENT_LOCK_READER by the one external sensor that may read.
 */
#ifndef BEZEL_SENSOR_SEGMENT_H
#define BEZEL_SENSOR_SEGMENT_H

#include "sensor/ring.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SEGMENT_VERSION = 5,
    SEGMENT_RINGS = 128,
    SEGMENT_DICT_BYTES = 65536,
    SEGMENT_LOCK_PROCESS = 0,
    SEGMENT_LOCK_READER = 1,
    SEGMENT_NAME_BYTES = 64,
    SEGMENT_EXECUTABLE_BYTES = 256,
    SEGMENT_NOTICES = 16,
    SEGMENT_NOTICES_A_CODE = 4, /* of one code, so that there is room for others */
    SEGMENT_CODE_BYTES = 28,
    SEGMENT_NOTICE_BYTES = 160,
    SEGMENT_KNOBS = 16,
    SEGMENT_UNIT_BYTES = 20,
};

#define SEGMENT_MAGIC      UINT64_C(0x42455a454c534731) /* "BEZELSG1" */
#define SEGMENT_SUFFIX     ".seg"
#define SEGMENT_UNFINISHED ".new" /* behind a '.' and the instance, while it is made */

/**
 * A process that records and is not observed adds one, at its first record, to a count that it can reach without a
 * file: `unobserved` of the segment that it inherited from the process that forked it, or of a doorbell. Whoever reads
 * a segment for the first time sets SEGMENT_READ in its count: until then nobody may ever find it. Whoever stops
 * reading a count sets SEGMENT_UNREAD, by a read-modify-write: who finds the bit in what he added to goes on to the
 * next count. So each process is counted once, and none between the last look and the bit.
 */
#define SEGMENT_UNREAD (UINT32_C(1) << 31)
#define SEGMENT_READ   (UINT32_C(1) << 30)

/** Values of an enable word. */
enum segment_enable {
    SEGMENT_DISABLED = BEZEL_DISABLED, /* not recorded, not counted: a load and a branch */
    SEGMENT_RECORD = BEZEL_RECORD,
    SEGMENT_COUNT = BEZEL_COUNT, /* collection is off: attempts are counted and lost, with the cause "off" */
};

/** What the timestamps in the rings are; the external sensor makes nanoseconds of CLOCK_MONOTONIC of them. */
enum segment_clock {
    SEGMENT_CLOCK_MONOTONIC = 0, /* CLOCK_MONOTONIC, ns */
    SEGMENT_CLOCK_COUNTER = 1,   /* the processor's counter: TSC, CNTVCT */
    SEGMENT_CLOCK_USER = 2,      /* a function of the program, see `pair` */
};

/** What a ring does when it is full. */
enum segment_when_full {
    SEGMENT_DISCARD = 0,   /* the new record is lost */
    SEGMENT_OVERWRITE = 1, /* flight recorder: the oldest records are lost; the rings are read by snapshots */
};

enum segment_ring_state {
    SEGMENT_RING_FRESH = 0,    /* nobody had it; it may have no memory */
    SEGMENT_RING_OWNED = 1,    /* a thread's */
    SEGMENT_RING_RELEASED = 2, /* nobody's, records and all */
    SEGMENT_RING_CLAIMED = 3,  /* about to be a thread's; it may have no memory yet */
};

/** Losses of records that had no ring: any thread may add, so these are read-modify-write (off the fast path). */
struct segment_unringed {
    _Atomic uint64_t lost;
};

/**
 * A reading of the program's own clock beside CLOCK_MONOTONIC. The external sensor asks by adding to `wanted`; the next
 * record that reads the clock answers: it makes `begun` what was wanted, writes the pair, then makes `given` the same.
 * Both sides stand in sensor/pair.h.
 */
struct segment_pair {
    _Atomic uint32_t wanted; /* the external sensor's */
    _Atomic uint32_t begun, given;
    _Atomic uint32_t uncertainty; /* ns: how far `ns` may be from when the clock said `ticks` */
    _Atomic uint64_t ticks, ns;
};

/** Something that the operator should know: a code as in docs/NOTICES.md, and a sentence. Written once, see `ready`. */
struct segment_notice {
    _Atomic uint32_t ready; /* 0: free, or being written; 1: code and text stand for ever */
    char code[SEGMENT_CODE_BYTES];
    char text[SEGMENT_NOTICE_BYTES];
};

/** A knob, as the process declares it: min <= initial <= max. Written once, ahead of `knob_count`. */
struct segment_knob {
    int32_t min, max, initial;
    char name[SEGMENT_NAME_BYTES];
    char unit[SEGMENT_UNIT_BYTES];
};

/** Counters of an aspect, summed over rings. */
struct segment_tally {
    uint64_t attempts, full, off, reserved;
};

/** To what the loss of records is put down that found their ring full. */
enum segment_cause {
    SEGMENT_CAUSE_RING = 0,   /* it was not read in time */
    SEGMENT_CAUSE_WINDOW = 1, /* it could not be read: the window was full */
    SEGMENT_CAUSE_SPOOL = 2,  /* likewise, and the spool too */
};

/** Of an aspect's losses in full rings, `seen` of which are put down to causes: those that are not the ring's. */
struct segment_blame {
    uint64_t seen, window, spool;
};

/** state[current] counts; the other one is written first, then `current` changes: a kill leaves one of the two. */
struct segment_blames {
    struct segment_blame state[2];
    uint64_t current;
};

struct segment {
    uint64_t magic;
    uint32_t version;
    uint32_t head_bytes; /* sizeof(struct segment): rings start behind it, rounded up to a page */
    uint64_t total_bytes;
    uint64_t ring_offset, ring_stride;
    uint32_t ring_slots; /* of each ring; a power of two */
    uint32_t ring_max;   /* SEGMENT_RINGS */
    uint32_t clock;      /* enum segment_clock */
    uint32_t pid;        /* as the process saw itself */
    uint64_t instance;   /* unique in a boot */
    uint64_t started;    /* ns, CLOCK_MONOTONIC */
    uint64_t
        start_time; /* field 22 of /proc/<pid>/stat: tells this process from a later one of the same pid; 0: unknown */
    uint64_t pid_namespace;   /* inode of /proc/self/ns/pid: what `pid` is a number of; 0: unknown */
    uint64_t clock_frequency; /* ticks a second of a user clock, as the program states it */
    uint64_t bell;            /* id of the doorbell on which the process can knock; 0: none */
    uint32_t when_full;       /* enum segment_when_full */
    char name[SEGMENT_NAME_BYTES];
    char executable[SEGMENT_EXECUTABLE_BYTES];

    alignas(RING_LINE) uint8_t session[16]; /* run that reads, or last read; zeros: none yet */
    _Atomic uint32_t mode;                  /* enum segment_enable: with what new aspects start */
    _Atomic uint32_t quiet;                 /* 1 + the place at which it is to knock; 0: none, or it has knocked */
    _Atomic uint64_t tick_ns;               /* nanoseconds a tick of the clock, times 2^32: for durations; 0: unknown */
    _Atomic uint32_t unobserved;            /* how many of its children record and have no segment, see below */

    alignas(RING_LINE) _Atomic uint32_t dict_used; /* bytes of the dictionary that are complete */
    _Atomic uint32_t ring_changes;                 /* how often a ring was claimed or released */
    _Atomic uint32_t ring_state[SEGMENT_RINGS];

    alignas(RING_LINE) _Atomic uint32_t enable[RING_ASPECTS];

    alignas(RING_LINE) struct segment_unringed unringed[RING_ASPECTS];

    /* The external sensor's: counters as they stood when this session began; its books start from there. */
    alignas(RING_LINE) struct segment_tally base[RING_ASPECTS];
    uint64_t base_unringed[RING_ASPECTS];
    struct segment_blames blames[RING_ASPECTS];

    alignas(RING_LINE) struct segment_pair pair; /* of a user clock */

    /*
     * The process's: what it has to say. Any thread or signal handler claims the next place by `notice_count`; what
     * finds none is counted in `notices_untold`.
     */
    alignas(RING_LINE) _Atomic uint32_t notice_count;
    _Atomic uint32_t notices_untold;
    struct segment_notice notices[SEGMENT_NOTICES];

    alignas(RING_LINE) _Atomic uint32_t knob_count; /* places of `knobs` that stand */
    struct segment_knob knobs[SEGMENT_KNOBS];

    /*
     * The external sensor's: how far each knob is turned, its value minus its initial one modulo 2^32. So zeros are
     * initial values: in a fresh segment, and in what takes a segment's place under a read in the middle of a fork.
     */
    alignas(RING_LINE) _Atomic uint32_t knob_shift[SEGMENT_KNOBS];

    alignas(RING_LINE) uint8_t dict[SEGMENT_DICT_BYTES];
};

/** Bytes from one ring to the next, for rings of `slots` slots. */
static inline uint64_t segment_ring_stride(uint32_t slots)
{
    return (sizeof(struct bezel_ring) + (uint64_t)slots * RING_SLOT_BYTES + 4095) & ~UINT64_C(4095);
}

static inline uint64_t segment_ring_offset(void)
{
    return (sizeof(struct segment) + 4095) & ~UINT64_C(4095);
}

/** Bytes from the segment's beginning in which other processes leave word: up to its notices, in whole pages. */
static inline uint64_t segment_word_bytes(void)
{
    return (offsetof(struct segment, knob_count) + 4095) & ~UINT64_C(4095);
}

/**
 * The doorbell: `<BEZEL_DIR>/reader`, made by an external sensor that listens in this folder. A process that finds it
 * records from its first record on, belongs to run `session`, and rings once its segment stands, so that the external
 * sensor looks for it at its next poll. It stays there if the external sensor crashes: its next life will read.
 *
 * A process keeps the doorbell mapped, and knocks where it is asked to (`quiet`): it sets the bit of its place.
 * Everybody in the folder may set and clear all bits, so a knock is a hint.
 *
 * A process that cannot make its segment counts itself in `unobserved` (SEGMENT_UNREAD), and says why in a place of
 * `refusals`, as long as there are places. Neither needs room of the file system: the doorbell's memory is there
 * already. Places are claimed and written like notices.
 */
#define DOORBELL_NAME  "reader"
#define DOORBELL_MAGIC UINT64_C(0x42455a454c424c34) /* "BEZELBL4" */

enum { DOORBELL_REFUSALS = 16, DOORBELL_PLACES = 1024 };

struct doorbell_refusal {
    _Atomic uint32_t ready;
    uint32_t pid; /* as the process saw itself, a number of pid_namespace */
    uint64_t pid_namespace;
    char name[SEGMENT_NAME_BYTES];
    char text[SEGMENT_NOTICE_BYTES];
};

struct doorbell {
    uint64_t magic;
    uint8_t session[16];
    uint64_t id; /* tells it from the doorbells that hung here before */
    _Atomic uint32_t rung;
    _Atomic uint32_t refusal_count;
    _Atomic uint64_t tick_ns; /* of the processor's counter, for segments that are made now; as there */
    struct doorbell_refusal refusals[DOORBELL_REFUSALS];
    _Atomic uint32_t knocks[DOORBELL_PLACES / 32];
    _Atomic uint32_t asleep; /* a futex; not 0: the external sensor sleeps, and is to be woken */
    _Atomic uint32_t unobserved;
};

_Static_assert(sizeof(struct doorbell) <= 4096, "one page");

#endif
