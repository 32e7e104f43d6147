// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by ctf.c, which reads traces, and ctf_plan.c, which makes records of their events. */
#ifndef BEZEL_IMPORT_CTF_INTERNAL_H
#define BEZEL_IMPORT_CTF_INTERNAL_H

#include "import/ctf.h"
#include "import/pairs.h"

#include <babeltrace2/babeltrace.h>

enum { CLASS_BUCKETS = 1024, CLOCKS_MAX = 16, NO_FIELD = -1 };

enum { OF_PAYLOAD, OF_SPECIFIC, OF_COMMON, SCOPES };
enum value_as { AS_INTEGER, AS_UNSIGNED, AS_BOOL, AS_BITS, AS_SINGLE, AS_DOUBLE, AS_TEXT, AS_LABEL };

/* Where the value of a field of an aspect comes from. */
struct origin {
    int scope;
    enum value_as as;
    uint64_t index;
};

/* How events of a class become records. */
struct event_plan {
    const bt_event_class *class;
    const struct fill_shape *shape;
    struct origin origins[DICT_FIELDS_MAX];
    uint32_t count;
    bool own;                    /* the monitor's */
    bool exit;                   /* they end a span, whose duration is the first value */
    const bt_event_class *entry; /* those that begin it, itself or another class; NULL: they are events of their own */
    struct event_plan *next;
};

/* Indexes of fields that say whose a record is; NO_FIELD: there is none. */
struct whose {
    int pid, tid, name, of_instance, of_ring; /* in the common context of events; the last two: of Bezel's own traces */
    int cpu, instance, thread, kind;          /* in the context of packets; the last three: likewise */
};

struct ctf_stream {
    const bt_stream *stream;
    struct whose whose;
    struct fill_node *node; /* NULL: without a clock */
    int64_t offset;         /* ns since 1970 of its clock's 0 */
    uint32_t number, cpu;
    bool counts_losses, numbers_packets, is_own;
    struct fill_process *of_packet; /* of all records of the packet, where that says it */
    uint32_t thread;
    bool reduces;                        /* what the packet counts as discarded ended at a reducer */
    uint64_t held;                       /* discarded events whose packet was not seen yet, between ... */
    int64_t from, until;                 /* ... these */
    uint64_t behind;                     /* by so much the counter of discarded events is below where it was */
    uint64_t lost_packets, lost_unknown; /* whose number of records is not known */
    int64_t lost_from, lost_until, seen; /* seen: time of the latest record */
    int64_t last_pid, last_tid;          /* of these are ... */
    struct fill_process *last_process;
    struct fill_ring *last_ring;
    struct ctf_stream *next;
};

struct reading {
    struct ctf_import *c;
    const char *folder;
    const bt_trace *trace;
    char host[64], domain[64], name[64]; /* of the environment; domain and name may be of the folder */
    int64_t pid;                         /* of all records, by the environment; -1: not said */
    struct ctf_stream *streams, *recent;
    uint32_t stream_count;
    struct event_plan *plans[CLASS_BUCKETS];
    struct {
        const bt_clock_class *class;
        struct fill_node *node;
        int64_t offset;
    } clocks[CLOCKS_MAX];
    size_t clock_count;
    struct pairs pairs;
    uint64_t lost_of_any; /* lost records of which the process and thread are not known */
    uint64_t timeless;    /* records of streams without a clock */
    bool is_bezel;
    int err;
};

/** Whether events of a class are the monitor's own: aspects of programs have other names. */
bool ctf_is_own(const bt_event_class *class);

int64_t ctf_integer(const bt_field *f);

/** How events of `class`, of stream `s`, become records; made once. NULL where memory is short. */
const struct event_plan *ctf_plan(struct reading *r, const struct ctf_stream *s, const bt_event_class *class);

/** The values of event `e` of process `p`. */
void ctf_values(struct reading *r, struct fill_process *p, const struct event_plan *plan, const bt_event *e,
                uint64_t values[DICT_FIELDS_MAX]);

void ctf_free_plans(struct reading *r);

#endif
