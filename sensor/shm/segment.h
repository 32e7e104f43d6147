// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The segment: the shared memory of one instrumented process, a file `<BEZEL_DIR>/<instance>.seg`. The internal sensor
 * makes it under a temporary name, locks it, fills the head and links it into place; so a file under its final name has
 * a complete head. It outlives its process, until the external sensor has drained it.
 *
 * The process writes the head, the dictionary, the ring states, heads, counters, open spans and `exits`. The external
 * sensor writes `seen`, `session`, `mode`, `enable`, `wake_bit` (which the process clears), `tick_ns`, `counter_left`,
 * `knob_shift`, the bases, the loss causes, the reductions, `open_told`, the tails, and words of slots that it has
 * read, as they are. Processes forked from it add to `unobserved`. Each side treats the other's words as hostile: it
 * checks them before use, and no content makes it crash.
 *
 * Two locks on the file (fcntl) show who is alive: the process holds byte SEGMENT_LOCK_PROCESS, and the one external
 * sensor that may read holds byte SEGMENT_LOCK_READER.
 */
#ifndef BEZEL_SENSOR_SHM_SEGMENT_H
#define BEZEL_SENSOR_SHM_SEGMENT_H

#include "sensor/shm/ring_reader.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SEGMENT_VERSION = 8,
    SEGMENT_RINGS_DEFAULT = 128,
    SEGMENT_RINGS_MAX = 1024,
    SEGMENT_DICT_BYTES = 65536,
    SEGMENT_LOCK_PROCESS = 0,
    SEGMENT_LOCK_READER = 1,
    SEGMENT_NAME_BYTES = 64,
    SEGMENT_EXECUTABLE_BYTES = 256,
    SEGMENT_NOTICES = 16,
    SEGMENT_NOTICES_A_CODE = 4, /* of one code, so that others find room */
    SEGMENT_CODE_BYTES = 28,
    SEGMENT_NOTICE_BYTES = 160,
    SEGMENT_KNOBS = 16,
    SEGMENT_UNIT_BYTES = 20,
    SEGMENT_OPEN_PLACES = 256,
};

#define SEGMENT_MAGIC      UINT64_C(0x42455a454c534731) /* "BEZELSG1" */
#define SEGMENT_SUFFIX     ".seg"
#define SEGMENT_UNFINISHED ".new" /* while it is made: '.', the instance, and this */

/**
 * Bits of a count of processes that record and are not observed. Such a process adds one, at its first record, to a
 * count that it can reach without a file: `unobserved` of the segment that it inherited from the process that forked
 * it, or of a doorbell. An external sensor that reads a segment for the first time sets SEGMENT_READ in its count;
 * a count without that bit may never be read. An external sensor that stops reading a count sets
 * SEGMENT_UNREAD by a read-modify-write. A process that finds this bit in the count that it added to goes on to the
 * next count. So each process is counted once, and none is missed between the last read and the bit.
 */
#define SEGMENT_UNREAD (UINT32_C(1) << 31)
#define SEGMENT_READ   (UINT32_C(1) << 30)

/** Values of an enable word. */
enum segment_enable {
    SEGMENT_DISABLED = BEZEL_DISABLED, /* neither recorded nor counted: a load and a branch */
    SEGMENT_RECORD = BEZEL_RECORD,
    SEGMENT_COUNT = BEZEL_COUNT, /* collection is off: attempts are counted and lost, with the cause "off" */
};

/** Clock of the timestamps in the rings; the external sensor converts them to nanoseconds of CLOCK_MONOTONIC. */
enum segment_clock {
    SEGMENT_CLOCK_MONOTONIC = 0, /* CLOCK_MONOTONIC, ns */
    SEGMENT_CLOCK_COUNTER = 1,   /* the processor's counter: TSC, CNTVCT */
    SEGMENT_CLOCK_USER = 2,      /* a function of the program, see `pair` */
};

/** Which record is lost when a ring is full. */
enum segment_when_full {
    SEGMENT_DISCARD = 0,   /* the new record is lost */
    SEGMENT_OVERWRITE = 1, /* flight recorder: the oldest records are lost; the rings are read by snapshots */
};

enum segment_ring_state {
    SEGMENT_RING_FRESH = 0,    /* never used; it may have no memory */
    SEGMENT_RING_OWNED = 1,    /* a thread's */
    SEGMENT_RING_RELEASED = 2, /* without owner; its records and counters stay */
    SEGMENT_RING_CLAIMED = 3,  /* being claimed by a thread; it may have no memory yet */
};

/** Losses of records that had no ring. Any thread may add: a read-modify-write, outside of the fast path. */
struct segment_unringed {
    _Atomic uint64_t lost;
};

/**
 * A pair of readings of the program's own clock and CLOCK_MONOTONIC. The external sensor requests one by adding to
 * `wanted`. The next record that reads the clock answers: it sets `begun` to the request's number, writes the pair, and
 * sets `given` to the number. Both sides are in sensor/shm/segment_pair.h.
 */
struct segment_pair {
    _Atomic uint32_t wanted; /* the external sensor's */
    _Atomic uint32_t begun, given;
    _Atomic uint32_t uncertainty; /* ns: largest distance of `ns` from the moment of `ticks` */
    _Atomic uint64_t ticks, ns;
};

/** A message to the operator: a code of docs/NOTICES.md, and a sentence. Written once, see `ready`. */
struct segment_notice {
    _Atomic uint32_t ready; /* 0: free, or being written; 1: code and text are final */
    char code[SEGMENT_CODE_BYTES];
    char text[SEGMENT_NOTICE_BYTES];
};

/** A knob, as the process declares it: min <= initial <= max. Written once, before `knob_count`. */
struct segment_knob {
    int32_t min, max, initial;
    char name[SEGMENT_NAME_BYTES];
    char unit[SEGMENT_UNIT_BYTES];
};

/** Counters of an aspect, summed over rings. */
struct segment_tally {
    uint64_t attempts, full, off, reserved;
};

/** Why records were lost in a full ring. */
enum segment_cause {
    SEGMENT_CAUSE_RING = 0,   /* it was not read in time */
    SEGMENT_CAUSE_WINDOW = 1, /* it could not be read, because the window was full */
    SEGMENT_CAUSE_SPOOL = 2,  /* likewise, and the spool was full too */
};

/** Causes of an aspect's losses in full rings: `seen` losses in all, of them so many for window and spool. */
struct segment_loss_cause {
    uint64_t seen, window, spool;
};

/** state[current] is valid; the other one is written, then `current` changes: after a kill one of the two is valid. */
struct segment_loss_causes {
    struct segment_loss_cause state[2];
    uint64_t current;
};

/**
 * The records of an aspect that a reducer took, which is in the reader's memory: all of them; those whose values it has
 * handed on since; and those that were lost with a reader that had not handed them on. It goes for the records that the
 * window says were taken: the state is in force once the stream of `ring` there goes on at `ordinal`.
 */
struct segment_reduction {
    uint64_t taken, handed, lost;
    uint64_t ordinal;
    uint64_t ring;
};

/** As struct segment_loss_causes. */
struct segment_reductions {
    struct segment_reduction state[2];
    uint64_t current;
};

/** A place for a wait or long span that is open: sensor/shm/open_place.h, with both sides. */
struct segment_open {
    _Atomic uint32_t word, thread;
    _Atomic uint64_t ticks;
};

struct segment {
    uint64_t magic;
    uint32_t version;
    uint32_t head_bytes; /* sizeof(struct segment); the rings follow, at the next page */
    uint64_t total_bytes;
    uint64_t ring_offset, ring_stride;
    uint32_t ring_slots; /* of each ring; a power of two */
    uint32_t ring_max;   /* 1 .. SEGMENT_RINGS_MAX: rings for which the file has room */
    uint32_t clock;      /* enum segment_clock */
    uint32_t pid;        /* in the process's own pid namespace */
    uint64_t instance;   /* unique in a boot */
    uint64_t started;    /* ns, CLOCK_MONOTONIC */
    uint64_t
        start_time; /* field 22 of /proc/<pid>/stat: differs from that of a later process of the same pid; 0: unknown */
    uint64_t pid_namespace;   /* inode of /proc/self/ns/pid, to which `pid` belongs; 0: unknown */
    uint64_t clock_frequency; /* of a user clock, as the program declares it, Hz; 0: there is none */
    uint64_t doorbell;        /* id of the doorbell where the process can set its wake bit; 0: none */
    uint32_t when_full;       /* enum segment_when_full */
    char name[SEGMENT_NAME_BYTES];
    char executable[SEGMENT_EXECUTABLE_BYTES];
    _Atomic uint64_t seen; /* the external sensor's, ns, CLOCK_MONOTONIC: when the process lived for certain, the
                              latest; 0: not known. Here no record touches its line */

    alignas(RING_LINE) uint8_t session[16]; /* run that reads it, or read it last; zeros: none yet */
    _Atomic uint32_t mode;                  /* enum segment_enable: first state of new aspects */
    _Atomic uint32_t wake_bit;              /* 1 + number of the bit to set in the doorbell; 0: none, or it is set */
    _Atomic uint64_t tick_ns;               /* ns per tick of the clock, times 2^32: for durations; 0: unknown */
    _Atomic uint32_t unobserved;   /* children that record and have no segment, with SEGMENT_READ and _UNREAD */
    _Atomic uint32_t counter_left; /* of clock COUNTER: 1: it is not trusted any more (BEZEL_KERNEL_TIME), for good */
    _Atomic uint64_t exits; /* ns, CLOCK_MONOTONIC: since when the process is in exit() or quick_exit(); 0: it is not,
                               or its libbezel does not tell */

    alignas(RING_LINE) _Atomic uint32_t dict_used; /* bytes of the dictionary that are complete */
    _Atomic uint32_t ring_changes;                 /* how many times a ring was claimed or released */
    _Atomic uint32_t ring_state[SEGMENT_RINGS_MAX];

    alignas(RING_LINE) _Atomic uint32_t enable[RING_ASPECTS];

    alignas(RING_LINE) struct segment_unringed unringed[RING_ASPECTS];

    /* The external sensor's: the counters when this session began; its books start from there. */
    alignas(RING_LINE) struct segment_tally base[RING_ASPECTS];
    uint64_t base_unringed[RING_ASPECTS];
    struct segment_loss_causes loss_causes[RING_ASPECTS];

    alignas(RING_LINE) struct segment_pair pair; /* of a user clock */

    /*
     * The process's notices. Any thread or signal handler claims the next place by `notice_count`; a notice that finds
     * none is counted in `notices_dropped`.
     */
    alignas(RING_LINE) _Atomic uint32_t notice_count;
    _Atomic uint32_t notices_dropped;
    struct segment_notice notices[SEGMENT_NOTICES];

    alignas(RING_LINE) _Atomic uint32_t knob_count; /* declared knobs in `knobs` */
    struct segment_knob knobs[SEGMENT_KNOBS];

    /*
     * The external sensor's: each knob's value minus its initial value, modulo 2^32. So zeros are initial values: in a
     * fresh segment, and in the memory that replaces a segment during a fork.
     */
    alignas(RING_LINE) _Atomic uint32_t knob_shift[SEGMENT_KNOBS];

    alignas(RING_LINE) uint8_t dict[SEGMENT_DICT_BYTES];

    alignas(RING_LINE) struct segment_reductions reductions[RING_ASPECTS]; /* the external sensor's */

    /* The process's: waits and long spans that are open; whether any place was ever taken; spans that found none. */
    alignas(RING_LINE) struct segment_open open[SEGMENT_OPEN_PLACES];
    _Atomic uint32_t open_used, open_missed;
    uint32_t open_told[SEGMENT_OPEN_PLACES]; /* the external sensor's: words of the spans that this run was told of */
};

/** The names of launcher processes: sessions of a service, and that of `bezel run`. */
#define SEGMENT_LAUNCHER      "bezel-launch"
#define SEGMENT_LAUNCHER_HERE "bezel-launcher"

/**
 * A process that records and is not observed, and whose launcher is root, or its own user, and has a doorbell that it
 * cannot reach: an entry of file `<pid>-<start time>-<pid namespace of the launcher>.unobserved` in the default folder
 * of its user, or in a new one /dev/shm/bezel-XXXXXX if that is somebody else's. The launcher counts the entries when
 * all that it started has ended (sensor/shm/marks.h), and those who sent it SIGURG and whose entry it does not see.
 * Where there was no room, an entry is a hole: all zeros. A file whose launcher is gone is litter. Fields are hostile.
 */
struct segment_mark {
    uint32_t pid;
    char name[SEGMENT_NAME_BYTES];
};

#define SEGMENT_MARKS ".unobserved"

enum { SEGMENT_MARKS_MAX = 65536, SEGMENT_MARKS_NAME_BYTES = 64 }; /* of one user, for one launcher */

/** Bytes from one ring to the next, for rings of `slots` slots. */
static inline uint64_t segment_ring_stride(uint32_t slots)
{
    return (sizeof(struct bezel_ring) + (uint64_t)slots * RING_SLOT_BYTES + 4095) & ~UINT64_C(4095);
}

static inline uint64_t segment_ring_offset(void)
{
    return (sizeof(struct segment) + 4095) & ~UINT64_C(4095);
}

/** Bytes of a segment of `rings` rings: a hole, except for its head and the rings that were ever used. */
static inline uint64_t segment_bytes(uint32_t slots, uint32_t rings)
{
    return segment_ring_offset() + rings * segment_ring_stride(slots);
}

/** Bytes from the segment's beginning where other processes write: up to its notices, in whole pages. */
static inline uint64_t segment_word_bytes(void)
{
    return (offsetof(struct segment, knob_count) + 4095) & ~UINT64_C(4095);
}

/**
 * The doorbell: `<BEZEL_DIR>/reader`, made by the external sensor that serves this folder. A process that finds it
 * records from its first record on, belongs to run `session`, and adds to `arrivals` when its segment is complete, so
 * that the external sensor finds it at its next poll. The doorbell stays if the external sensor crashes: its successor
 * will read the segments.
 *
 * A process keeps the doorbell mapped. The first record after the process was idle sets its wake bit in `wake_bits`, as
 * `wake_bit` of its segment says. Every process in the folder can set and clear all bits, so a wake bit is a hint.
 *
 * A process that cannot make its segment counts itself in `unobserved` (SEGMENT_UNREAD), and writes the reason into a
 * place of `refusals`, as long as there are places. Neither needs room in the file system, because the doorbell has its
 * memory already. Places are claimed and written like notices.
 */
#define DOORBELL_NAME  "reader"
#define DOORBELL_MAGIC UINT64_C(0x42455a454c424c34) /* "BEZELBL4" */

enum { DOORBELL_REFUSALS = 16, DOORBELL_SLOTS = 1024 };

struct doorbell_refusal {
    _Atomic uint32_t ready;
    uint32_t pid; /* in the process's own pid_namespace */
    uint64_t pid_namespace;
    char name[SEGMENT_NAME_BYTES];
    char text[SEGMENT_NOTICE_BYTES];
};

struct doorbell {
    uint64_t magic;
    uint8_t session[16];
    uint64_t id;               /* differs from those of earlier doorbells of this folder */
    _Atomic uint32_t arrivals; /* segments that were made, and refusals, so far */
    _Atomic uint32_t refusal_count;
    _Atomic uint64_t tick_ns; /* of the processor's counter: new segments copy it */
    struct doorbell_refusal refusals[DOORBELL_REFUSALS];
    _Atomic uint32_t wake_bits[DOORBELL_SLOTS / 32];
    _Atomic uint32_t asleep; /* a futex; not 0: the external sensor sleeps, and must be woken */
    _Atomic uint32_t unobserved;
    _Atomic uint32_t counter_proven; /* 1: the counter is proven here, though the kernel does not use it itself */
};

_Static_assert(sizeof(struct doorbell) <= 4096, "one page");

#endif
