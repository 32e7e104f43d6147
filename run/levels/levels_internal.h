// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by levels*.c; levels.h is the interface. */
#ifndef BEZEL_RUN_LEVELS_LEVELS_INTERNAL_H
#define BEZEL_RUN_LEVELS_LEVELS_INTERNAL_H

#include "run/levels/levels.h"
#include "run/levels/levels_store.h"
#include "run/read/run_streams.h"
#include "run/store/trace_reader.h"

#include "base/clock.h"

enum {
    LEVELS_PART_BYTES = PACKET_MAX_BYTES,
    LEVELS_TAIL_BYTES = 256 << 10,  /* at the end of a stream, that are read without levels */
    LEVELS_TREES_BYTES = 14 << 20,  /* of trees in memory; one more may be there */
    LEVELS_BLOCKS_BYTES = 16 << 20, /* of blocks in memory, where they cannot be stored */
};

#define LEVELS_SAVE_EVERY (60 * CLOCK_S)

/** A stream, as far as it was taken in. */
struct levels_ring {
    struct levels_stream is;  /* path is owned */
    uint64_t size;            /* of the file when it was last looked at; of a damaged one, up to there */
    struct trace_position at; /* all before it was checked */
    struct levels_tree *tree; /* NULL: it is not in memory */
    uint64_t built;           /* bytes that have levels, in the tree or stored; 0: none */
    bool raw;                 /* it gets none: there was no room */
};

struct levels {
    struct run_streams found;
    struct levels_store store;
    struct trace_part part; /* LEVELS_PART_BYTES; its file is open until an update or a query ends */
    size_t count, capacity;
    struct levels_ring **rings;
    bool in_round; /* streams from number `next` on may have more; below `measured` their sizes are known */
    size_t next, measured;
    bool looks_on; /* there may be streams that were not found yet */
    int64_t cpu_ns, saved_at;
    uint64_t uses;                          /* of trees */
    size_t tail, trees_bytes, blocks_bytes; /* as the LEVELS_ limits, but for tests */
    size_t memory;                          /* of trees, without blocks */
    uint8_t clock[16];                      /* clock_identity() */
    int64_t deadline;                       /* of queries */
    bool was_cut;
};

/* ---- levels_trees.c: which trees are in memory ------------------------------------------------------------------- */

/** Tells the users of a stream how far it was taken in. */
void levels_ring_publish(struct levels_ring *ring);

/**
 * The tree of a stream, loaded if it was stored, new if `make`. Returns 0 with *t, NULL: it has none; or an error.
 * Trees that were used less lately may go.
 */
int levels_tree_get(struct levels *l, struct levels_ring *ring, bool make, struct levels_tree **t) BEZEL_MUST_CHECK;

/** Keeps trees within their memory, but for that of `ring`. */
void levels_trees_fit(struct levels *l, const struct levels_ring *ring);

/** Frees the tree without saving it: as far as it is stored, it may be loaded again. */
void levels_tree_drop(struct levels *l, struct levels_ring *ring);

/** Frees the tree, and removes what is stored of it. */
void levels_tree_remove(struct levels *l, struct levels_ring *ring);

/** Saves trees that have changed, those that were not for a while; or all. */
void levels_trees_save(struct levels *l, bool all);

/* ---- levels_walk.c: stream files --------------------------------------------------------------------------------- */

struct levels_walk {
    uint64_t from, until; /* times, both included */
    uint64_t end;         /* offset in the file */
    uint32_t aspect;      /* of records; LEVELS_ALL: all; LEVELS_LOSSES: none. Losses come in any case */
    levels_take *take;
    void *context;
};

/**
 * Walks over what was taken in of `ring`, from `mark` on. Returns 0, what `take` returned, 1 at the deadline of
 * queries, or an error.
 */
int levels_walk(struct levels *l, const struct levels_ring *ring, const struct levels_mark *mark,
                const struct levels_walk *walk) BEZEL_MUST_CHECK;

/** Where what follows the tree begins; NULL: where the stream does. */
struct levels_mark levels_tail(const struct levels_tree *t);

/* ---- levels_visit.c: trees --------------------------------------------------------------------------------------- */

/** What wants to know of a track: of whole columns. */
struct levels_visitor {
    uint64_t from, until; /* times, both included */
    unsigned width;       /* a node within a column of 1 << width ns is taken as a whole */
    int (*take_node)(const struct levels_node *row, void *context);
    levels_take *take; /* of what must be read from the stream: its records, and losses whatever the track */
    void *context;
};

/**
 * Visits track `number` of the tree of `ring` in the order of time. Returns 0, what a function returned, or an error;
 * with t->damaged, BEZEL_EMALFORMED.
 */
int levels_visit(struct levels *l, const struct levels_ring *ring, struct levels_tree *t, uint32_t number,
                 const struct levels_visitor *visitor) BEZEL_MUST_CHECK;

/** The last mark that all records of `time` and later lie behind. Returns 0 or BEZEL_EMALFORMED with t->damaged. */
int levels_seek(struct levels_tree *t, uint64_t time, struct levels_mark *mark) BEZEL_MUST_CHECK;

#endif
