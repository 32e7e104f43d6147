// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * <bezel/consumer.h>: the records of a run in other programs, while it goes on or later. For C11 and C++11; link
 * libbezel-consumer (pkg-config bezel-consumer, or the CMake target bezel::consumer).
 *
 *     struct bezel_consumer_options options = {.size = sizeof options, .aspect = "frame_*", .where = "latency > 5 ms"};
 *     struct bezel_consumer_item item = {.size = sizeof item};
 *     struct bezel_consumer *c;
 *     int got = bezel_consumer_open("runs/latest", &options, &c);
 *     while (got >= 0 && (got = bezel_consumer_next(c, &item, -1)) > 0)
 *         ... item.node, item.process, item.aspect, item.run_time_ns ...
 *     if (got < 0)
 *         fprintf(stderr, "%s\n", bezel_consumer_reason());
 *     bezel_consumer_close(c);
 *
 * The monitor's own records are in aspects bezel_*: metrics, limits, decisions, costs (docs/REPORT.md).
 *
 * The run is read from its files: here, or on another machine by a server, `bezel serve RUN` or the collector with
 * `store: {serve: ...}`, whose endpoint stands in place of the directory. So a consumer slows nobody, and misses
 * nothing, however slow it is. Records of a node come in the order of its clock. Records of several nodes come in the
 * order of the run's time, up to the time at which all nodes are complete. A node that is silent for 5 s, or for as
 * long as the experiment says (order.wait), is not waited for. Losses come in their place. A record is marked as late
 * if a later one was given before it. What a process received (BEZEL_RECEIVED) comes after it was sent, also where
 * their times say otherwise, within the bounds of their clocks; the times stay, and the records are marked.
 *
 * Structs begin with their size, which the program sets to sizeof before each use: a later library knows by it which
 * members the program has. A member that is 0 or NULL has its default. A consumer belongs to one thread at a time;
 * several consumers are independent. Functions block on the disk, and bezel_consumer_next() as long as its argument
 * says; with a server bezel_consumer_open() waits for its answer, up to 5 s while it is silent. Then the library has
 * threads of ZeroMQ, and is not to be used across fork(). Nothing is written to the run, and nothing to standard output
 * or error. The library uses the process's libsqlite3: it limits SQLite's memory to 512 MiB, and has it open regular
 * files and folders only. This interface is experimental until 1.0: a program is to be compiled for the library's minor
 * version.
 */
#ifndef BEZEL_CONSUMER_H
#define BEZEL_CONSUMER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__
#define BEZEL_CONSUMER_API __attribute__((visibility("default")))
#else
#define BEZEL_CONSUMER_API
#endif

struct bezel_consumer;

enum bezel_consumer_result {
    BEZEL_CONSUMER_END = 0,         /* the run has ended, or without `follow`: all that was stored is given */
    BEZEL_CONSUMER_ITEM = 1,        /* an item is there */
    BEZEL_CONSUMER_LATER = 2,       /* there was none in the given time */
    BEZEL_CONSUMER_EINVAL = -1,     /* an option or a size makes no sense */
    BEZEL_CONSUMER_ENOMEM = -2,     /* memory is short */
    BEZEL_CONSUMER_EMALFORMED = -3, /* the run is damaged */
    BEZEL_CONSUMER_EVERSION = -4,   /* the run is of another version of Bezel */
    BEZEL_CONSUMER_ENOENT = -8,     /* there is no such run, or it has no database yet */
    BEZEL_CONSUMER_EUNREACH = -11,  /* the server is gone, was restarted, or is not reached: open it again */
    BEZEL_CONSUMER_EPERM = -12,     /* the server refuses */
    /* Other negative numbers are errors too: bezel_consumer_reason() says what is wrong. */
};

/** Which records are wanted; all that is given must hold. Globs are fnmatch(3)'s. */
struct bezel_consumer_options {
    size_t size;                         /* sizeof(struct bezel_consumer_options) */
    const char *node, *process, *aspect; /* globs on names; NULL: all */
    const char *where;                   /* a condition on a field, as of `bezel tail --where`; NULL: none */
    int64_t from_ns, until_ns;           /* ns of the run's time, since 1970; 0: from its start, to its end */
    uint64_t last;                       /* begin with the last so many records; 0: with the first */
    int follow;                          /* not 0: go on until the run ends */
    /* Of a server; programs may have been compiled without the members from here on: */
    const char *keys;       /* folder of keys; NULL: without, on this machine alone */
    const char *key;        /* name of the own key there, KEY.key, with the role read; NULL: "reader" */
    const char *server_key; /* name of the server's public key there, KEY.pub; NULL: "collector" */
};

enum bezel_consumer_kind { BEZEL_CONSUMER_RECORD = 0, BEZEL_CONSUMER_LOSS = 1 };

/** Whether what stands before a record, of nodes with other clocks, was made before it. */
enum bezel_consumer_order {
    BEZEL_CONSUMER_UNKNOWN = 1,
    BEZEL_CONSUMER_PROVEN = 2,
    BEZEL_CONSUMER_LATE = 3,     /* later records of its node, or of others while it was silent, were given before it */
    BEZEL_CONSUMER_TACHYON = 4,  /* a message's receiving, with a time before that of its sending: comes after that */
    BEZEL_CONSUMER_MOVED = 5,    /* comes after records of later times, as a tachyon of its node did before it */
    BEZEL_CONSUMER_CONTRARY = 6, /* a message's sending that comes after its receiving: clocks or tags are wrong */
};

/** A record or a loss. Texts are valid until the next call with the same consumer. */
struct bezel_consumer_item {
    size_t size; /* sizeof(struct bezel_consumer_item) */
    int kind;    /* enum bezel_consumer_kind */
    int order;   /* enum bezel_consumer_order; 0: a loss */
    const char *node, *process;
    const char *aspect;         /* NULL: a loss */
    uint32_t pid, ring, thread; /* thread 0: unknown */
    uint32_t fields;            /* how many: see bezel_consumer_get() */
    int64_t time_ns;            /* of the node's monotonic clock */
    int64_t run_time_ns;        /* the same in the run's time, since 1970 */
    int64_t error_ns;           /* that is wrong by at most so much; -1: unknown */
    uint64_t lost;              /* of a loss: how many records of the ring were lost up to then */
    /* Programs may have been compiled without the members from here on: */
    int64_t logical_ns; /* logical time: grows from item to item; the run's time, where that does */
};

enum bezel_consumer_type {
    BEZEL_CONSUMER_INT64 = 0,
    BEZEL_CONSUMER_FLOAT64 = 1,
    BEZEL_CONSUMER_ENUM = 2,
    BEZEL_CONSUMER_STRING = 3,
};

/** A field of a record. Texts are valid until the next call with the same consumer. */
struct bezel_consumer_field {
    size_t size;             /* sizeof(struct bezel_consumer_field) */
    int type;                /* enum bezel_consumer_type */
    const char *name, *unit; /* unit "1": a plain number; "": none is declared */
    int64_t integer;         /* of an int64; of an enum the number of its label */
    double real;             /* of a float64 */
    const char *text;        /* of a string, or of an enum's label; NULL: there was no room for it, or it has none */
};

/** What was given so far, and what could not be. */
struct bezel_consumer_totals {
    size_t size;            /* sizeof(struct bezel_consumer_totals) */
    uint64_t records, lost; /* lost: records, in the losses that were given */
    uint64_t late;          /* of the records */
    uint64_t cut;           /* streams that are damaged, and given up to there; of a server: known at the end */
    uint64_t behind;        /* bytes of the run's packets that are stored, wanted or not, and were not read yet for this
                               consumer; of a server as of its last message */
    /* Programs may have been compiled without the members from here on: */
    uint64_t tachyons, moved, contrary;  /* of the records: enum bezel_consumer_order. (tachyons + moved) / records is
                                            the hold-back ratio: the part that had to wait for its turn */
    int64_t latency_ns, latency_most_ns; /* from when records were stored until they had their place in the order: mean
                                            and most, of a run that grows; 0: none did, or of a server */
    /* Likewise: */
    uint64_t expired; /* records, wanted or not, that expired from the store (`store.keep`) before they were read; of a
                         server not known */
};

/**
 * Opens run directory `run`, or what the server at endpoint `run` serves: "tcp://HOST:PORT", "ipc:///PATH". `options`
 * may be NULL: all records that are stored now. Returns 0 with *consumer for bezel_consumer_close(), or an error, with
 * *consumer NULL.
 */
BEZEL_CONSUMER_API int bezel_consumer_open(const char *run, const struct bezel_consumer_options *options,
                                           struct bezel_consumer **consumer);

/** Frees it; NULL is allowed. */
BEZEL_CONSUMER_API void bezel_consumer_close(struct bezel_consumer *consumer);

/**
 * Gives the next item, and waits for it up to `timeout_ms`; 0: not at all, -1: until there is one, or the run ends.
 * Returns enum bezel_consumer_result. What is new is given within half a second after it was stored.
 */
BEZEL_CONSUMER_API int bezel_consumer_next(struct bezel_consumer *consumer, struct bezel_consumer_item *item,
                                           int timeout_ms);

/** Field `i` of the record that bezel_consumer_next() gave last. Returns 0, or BEZEL_CONSUMER_EINVAL. */
BEZEL_CONSUMER_API int bezel_consumer_get(struct bezel_consumer *consumer, uint32_t i,
                                          struct bezel_consumer_field *field);

/** Returns 0, or BEZEL_CONSUMER_EINVAL. */
BEZEL_CONSUMER_API int bezel_consumer_totals(const struct bezel_consumer *consumer,
                                             struct bezel_consumer_totals *totals);

/** A sentence about this thread's last error, without its dot; valid until its next call. Never NULL. */
BEZEL_CONSUMER_API const char *bezel_consumer_reason(void);

#ifdef __cplusplus
}
#endif

#endif
