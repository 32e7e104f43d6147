// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A record of a run with its context, or a loss, and a record's values as people and other tools read them. Pure. */
#ifndef BEZEL_RUN_READ_RECORD_ITEM_H
#define BEZEL_RUN_READ_RECORD_ITEM_H

#include "run/model/run_model.h"

/**
 * Whether all records of other clocks that stand before a record were made before it: their times are apart by more
 * than the bounds of their errors. If not, why it stands where it does.
 */
enum record_proof {
    RECORD_UNORDERED, /* records are not in order */
    RECORD_UNKNOWN,
    RECORD_PROVEN,
    RECORD_LATE,    /* a later record was given before: its node was not waited for, or its clock is better known now */
    RECORD_TACHYON, /* a message's receiving whose time is before that of its sending: it stands behind that */
    RECORD_MOVED,   /* stands behind records of later times, as a tachyon of its node, or a moved sending, does */
    RECORD_CONTRARY, /* a message's sending that stands behind its receiving: their clocks contradict their bounds */
};

enum { RECORD_PROOFS = RECORD_CONTRARY + 1 };

struct record_item {
    const struct model_process *process;
    const struct packet_header *packet;
    const struct packet_record *r;    /* NULL: `lost` records of the stream were lost up to then */
    const struct dict_aspect *aspect; /* of the record */
    uint64_t lost;
    uint64_t missing; /* records of its stream that were lost up to then, but for a constant; not of remote ones */
    size_t stream;    /* its number */
    uint64_t time;    /* on the node's clock, ns */
    struct clock_reading at; /* the same in the run's time (run/model/run_clock.h) */
    int64_t arrived;         /* when it was stored, ns of CLOCK_REALTIME; 0: before its reader began */
    int64_t logical;         /* logical time, ns: see record_logical(); of who gives the order */
    enum record_proof proof;
    uint32_t key_count; /* of a message its keys, if who gives the order looked for them (run/model/message_keys.h) */
    uint64_t keys[2];
};

/**
 * The logical time of what comes next in an order: the run's time `ns`, but later than that of what stands before,
 * `last`. So it grows along each node, and from each sending to its receiving, and stays as near to the run's time as
 * that allows (hybrid logical clocks: Kulkarni et al. 2014).
 */
static inline int64_t record_logical(int64_t last, int64_t ns)
{
    return ns > last ? ns : last < INT64_MAX ? last + 1 : last;
}

enum record_shown {
    RECORD_TEXT,
    RECORD_ABSENT, /* a string that its process had no room for */
    RECORD_INT,
    RECORD_FLOAT,
};

/** A value, ready to be written. */
struct record_value {
    enum record_shown as;
    const char *text; /* of the dictionary: `length` bytes, not NUL-terminated */
    size_t length;
    int64_t integer;
    double real;
};

/** Value `i` of record `r` of a process with dictionary `d`, with i below the number of its aspect's fields. */
struct record_value record_item_value(const struct dict *d, const struct packet_record *r, uint32_t i);

/** A run of its one record, as an evaluator takes it; lasts as long as the item. */
static inline struct packet_run record_item_run(const struct record_item *item)
{
    return (struct packet_run){.aspect = item->r->aspect,
                               .count = 1,
                               .stride = PACKET_RECORD_BYTES + 8 * item->r->value_count,
                               .value_count = item->r->value_count,
                               .first = item->r->values - PACKET_RECORD_BYTES,
                               .stream = (uint32_t)item->stream,
                               .missing = item->missing,
                               .dict = item->process->dict};
}

/**
 * The process that a sample of `bezeld` is about, if the sample begins with the name of a process and the number of a
 * thread: of those with that name one whose thread has a name then, *called, else the latest, and *called is NULL.
 * NULL: it is no such record, or there is no such process.
 */
const struct model_process *record_item_about(const struct record_item *item, uint32_t *thread, const char **called);

/**
 * The name of the thread that a record is about: of a sample of a thread that one, else that which recorded it. NULL if
 * it is not known.
 */
const char *record_item_thread(const struct record_item *item);

/** What an order holds already: the latest time that a record of some clock may have, and the latest of the others. */
struct record_front {
    const void *latest; /* the clock, by any address that stands for it; NULL: no record yet */
    int64_t until, until_of_others;
};

/** Whether the next record, of `clock` at `at`, was made after all of other clocks that the order holds; adds it. */
enum record_proof record_front_add(struct record_front *front, const void *clock, struct clock_reading at);

#endif
