// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by the fill's files. */
#ifndef BEZEL_IMPORT_FILL_INTERNAL_H
#define BEZEL_IMPORT_FILL_INTERNAL_H

#include "import/fill.h"
#include "run/model/run_model.h"
#include "run/rundb/rundb_save.h"
#include "run/store/store.h"

enum {
    FILL_BUCKETS = 1024,      /* of processes; a power of two */
    FILL_RING_BUCKETS = 64,   /* of rings of a process; likewise */
    FILL_TEXT_BUCKETS = 8192, /* of its texts; likewise, more than DICT_STRINGS_MAX */
    FILL_DOMAIN_MAX = 32,
    FILL_PACKET_BYTES = 32 << 10,
};

struct fill_shape {
    struct dict_aspect a; /* its texts are the shape's own */
    char *source;         /* the names of aspect and fields as the source has them, each with its end */
    size_t source_bytes;
    uint32_t number;
    struct fill_shape *next;
};

struct fill_node {
    struct fill *in;
    struct model_node *node;
    struct fill_node *next;
};

/* A stream of the run. */
struct fill_ring {
    struct fill_process *process;
    struct model_stream *stream;
    uint64_t key, trace;
    uint32_t number, thread; /* thread: of the records that wait */
    int64_t last;            /* time of its last record or loss */
    uint8_t *bytes;          /* room for a packet's header, then the records that wait */
    size_t used, room;
    uint32_t records;
    int64_t begin; /* time of the first of these */
    struct fill_ring *next;
};

struct fill_process {
    struct fill *in;
    struct model_process *process;
    int64_t pid;
    char domain[FILL_DOMAIN_MAX];
    uint8_t *dictionary; /* `bytes` of `room`; `grown`: there is more than the run has */
    size_t bytes, room;
    bool grown;
    uint32_t aspect_count, string_count;
    char *names[DICT_ASPECTS_MAX]; /* of aspects, by id minus 1 */
    uint8_t *of_shape;             /* ids of aspects by the number of their shape; 0: none */
    uint32_t shape_room;
    uint32_t *texts; /* FILL_TEXT_BUCKETS offsets into `dictionary` plus 1 */
    struct fill_ring *rings[FILL_RING_BUCKETS], *numbered[PACKET_RINGS_MAX];
    uint32_t ring_count;
    struct fill_process *next, *next_bucket;
};

struct fill {
    const char *run, *id;
    struct rundb *rundb;
    struct store *store;
    struct model *model;
    struct fill_shape *shapes;
    uint32_t shape_count;
    struct fill_node *nodes, **last_node;
    struct fill_process *processes, *buckets[FILL_BUCKETS];
    size_t waiting; /* bytes that rings have allocated */
    uint64_t packets;
    struct fill_totals totals;
    int err; /* that ended the import */
    char why[256];
};

/** Notes the error that ends the import; the first one counts. Returns it. */
int fill_fail(struct fill *in, int err, const char *what);

/** Stores the records that wait in a ring, and the closing packet. */
int fill_close_ring(struct fill_ring *ring) BEZEL_MUST_CHECK;

/** Gives the run what the dictionary of a process has more than it. */
int fill_publish(struct fill_process *p) BEZEL_MUST_CHECK;

void fill_free_shapes(struct fill *in);

#endif
