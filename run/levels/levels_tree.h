// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The levels of one stream: a tree of nodes for each of its aspects, for all aspects together, and for its losses (each
 * a *track*). A node stands for consecutive records of the track: the times of the first and the last, their number,
 * and of each field minimum, maximum and last. Nodes lie in cells of time, on absolute powers of two: 1, 8, 64 ns and
 * so on; none crosses a cell of the width at which it is a child.
 *
 * A leaf stands for records that are read from the stream where more must be known of them. Its cell is as wide as the
 * present rate of records needs, and it is cut within the cell where there are many at once; so to read a leaf is cheap
 * whatever the distribution. Where the leaves of a wider cell have few records, they become one. A cell with one child
 * is no node of its own. All this bounds the bytes: an allowance in proportion to the stream's bytes says how many
 * records a leaf has.
 *
 * Nodes are rows. The children of a node are consecutive rows in the list of their level, and lists are stored in
 * blocks (levels_store.h). What is not complete yet, the *pending* nodes along the right edge of the tree, is in
 * memory. One thread.
 */
#ifndef BEZEL_RUN_LEVELS_LEVELS_TREE_H
#define BEZEL_RUN_LEVELS_LEVELS_TREE_H

#include "base/err.h"
#include "mdr/dict.h"
#include "run/store/trace_reader.h"

#include <stdbool.h>

enum {
    LEVELS_DEPTH = 21,   /* levels, of cells of 1, 8, 64, ... ns: all times are in one cell of the width above */
    LEVELS_PENDING = 12, /* nodes that can wait in a level: of 8 cells, and of leaves that were cut */
    LEVELS_ALL = 0,      /* track of all aspects */
    LEVELS_LOSSES = DICT_ASPECTS_MAX + 1,
    LEVELS_TRACKS,
    LEVELS_MARK_EVERY = 4096, /* bytes of the stream, from one mark to the next */
    LEVELS_CUT = 2,           /* a leaf is cut at this many times the records up to which leaves are merged */
};

/** A place in a stream file from which records can be read: it is a packet's begin, or lies in it. */
struct levels_mark {
    uint64_t time;           /* of all records before it, none is later */
    uint64_t packet, record; /* offsets in the file; the same: at the packet's header */
    uint64_t discarded;      /* of the packet before */
};

/** A node: the beginning of a row. For each field {min, max, last} follow as doubles, of losses their number. */
struct levels_node {
    uint64_t first, last, count;
    uint64_t child; /* of a leaf, LEVELS_LEAF plus the number of a mark before it; else level, count, number of a row */
};

#define LEVELS_LEAF (UINT64_C(1) << 63)

struct levels_values {
    double min, max, last; /* NaN: none was a number */
};

static inline bool levels_is_leaf(const struct levels_node *n)
{
    return n->child & LEVELS_LEAF;
}

static inline uint64_t levels_child(unsigned level, unsigned count, uint64_t row)
{
    return (uint64_t)level << 56 | (uint64_t)count << 48 | row;
}

static inline unsigned levels_child_level(const struct levels_node *n)
{
    return (unsigned)(n->child >> 56);
}

static inline unsigned levels_child_count(const struct levels_node *n)
{
    return (unsigned)(n->child >> 48 & 0xff);
}

static inline uint64_t levels_child_row(const struct levels_node *n)
{
    return n->child & ((UINT64_C(1) << 48) - 1);
}

/** Rows of one kind, in blocks of equal numbers of rows. */
struct levels_list {
    uint32_t row, block_rows; /* bytes of a row; rows of a block */
    uint64_t rows;            /* in all */
    uint64_t dropped;         /* of these, the first ones, that were given up */
    size_t blocks, capacity;  /* that are full */
    uint64_t *at;             /* of each: offset in the file; or LEVELS_IN_MEMORY plus its address */
    size_t open_capacity;     /* rows */
    uint8_t *open;            /* rows behind the full blocks */
    unsigned pending;         /* nodes that wait for their parent */
    uint8_t *waiting;         /* these; room for LEVELS_PENDING */
};

#define LEVELS_IN_MEMORY (UINT64_C(1) << 63)

/** A field of the open leaf. Floating-point numbers are ordered integers here: levels_key(). */
struct levels_field {
    int64_t min, max, last; /* min > max: none was a number */
};

static inline int64_t levels_key(int64_t bits)
{
    return bits ^ ((bits >> 63) & INT64_MAX);
}

struct levels_track {
    uint32_t number, fields;
    uint32_t row;         /* bytes */
    uint32_t record;      /* bytes, of one of its records */
    uint32_t floats;      /* bit of each field that is one */
    unsigned base, wider; /* level of the open leaf; bits by which its cell is wider than those of the level: 0 to 2 */
    uint64_t end;         /* of the open leaf's cell; 0: no leaf is open */
    uint64_t cut, left;   /* records at which it is cut; those until then: the rest it has */
    uint64_t records;     /* in closed leaves */
    uint64_t spent;       /* bytes of rows */
    struct levels_node leaf; /* open; its count is levels_leaf_count() */
    uint64_t lost;           /* of the open leaf */
    struct levels_field values[DICT_FIELDS_MAX];
    struct levels_list *lists[LEVELS_DEPTH]; /* NULL: nothing of that level yet */
};

static inline uint64_t levels_leaf_count(const struct levels_track *k)
{
    return k->cut - k->left;
}

struct levels_store;

struct levels_tree {
    struct trace_position at; /* how far the stream was taken in */
    uint64_t mark_at;         /* offset from which the next mark is due */
    uint64_t time;            /* of the last record or loss */
    struct levels_list marks;
    unsigned count; /* of tracks */
    struct levels_track *tracks[LEVELS_TRACKS];

    /* Of the store. */
    struct levels_store *store;
    const char *path;           /* of the stream; borrowed */
    void *ring;                 /* whose levels these are */
    size_t memory;              /* bytes, without blocks */
    uint64_t used;              /* when it was used last; a number that grows */
    uint64_t nonce, file_bytes; /* of the file */
    bool changed, damaged;      /* since it was saved; what the store has is not what it must be */
    int64_t saved_at;
};

/** Makes room for a track of `d`'s aspect `number`, of LEVELS_ALL, or LEVELS_LOSSES. NULL: memory is short. */
struct levels_track *levels_track_new(struct levels_tree *t, const struct dict *d, uint32_t number);

/** The list of a level; NULL: memory is short. */
struct levels_list *levels_track_list(struct levels_tree *t, struct levels_track *k, unsigned level);

/** Appends `n` rows; *first is the number of the first. Returns 0 or an error. */
int levels_append(struct levels_tree *t, struct levels_list *list, uint32_t track, unsigned level, const void *rows,
                  unsigned n, uint64_t *first) BEZEL_MUST_CHECK;

/** Begins a tree that is otherwise all zeros. */
void levels_tree_init(struct levels_tree *t, struct levels_store *store);

/** Frees what is in the tree. */
void levels_tree_fini(struct levels_tree *t);

/** Closes the open leaf of a track, and opens one at `time`, which is not before. Returns 0 or an error. */
int levels_open_leaf(struct levels_tree *t, struct levels_track *k, uint64_t time) BEZEL_MUST_CHECK;

/** Writes the row of the open leaf, which has records, at `row`. */
void levels_leaf_row(const struct levels_track *k, void *row);

/**
 * Takes in the packet behind t->at, up to position `to`: `bytes` are all of it. Returns 0 with t->at moved there;
 * BEZEL_EMALFORMED if it does not fit `d`; or another error. After an error the tree must not be used any more.
 */
int levels_build_packet(struct levels_tree *t, const struct dict *d, const struct trace_position *to,
                        const uint8_t *bytes) BEZEL_MUST_CHECK;

#endif
