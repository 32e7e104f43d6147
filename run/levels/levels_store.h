// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Where levels are stored: in RUN/levels, or else in the user's cache. Each stream has a file of blocks, which only
 * grows, and beside it FILE.state, which is replaced in one step. The state has the rest of the tree, and the length of
 * the file of blocks: bytes behind that are cut off. One process writes, and holds a lock on the folder. The others
 * begin with what that process stored, and keep in memory what they add; so does a process that may write nowhere.
 * Files have checksums, and this machine's byte order. No file is needed: one that is missing or damaged is made again.
 */
#ifndef BEZEL_RUN_LEVELS_LEVELS_STORE_H
#define BEZEL_RUN_LEVELS_LEVELS_STORE_H

#include "base/folder_lock.h"
#include "run/levels/levels_tree.h"

#include <sys/types.h>

enum {
    LEVELS_BLOCK_BYTES = 8 << 10,
    LEVELS_CACHED = 64, /* blocks in memory */
    LEVELS_NAME_BYTES = 256,
};

struct levels_cached {
    const struct levels_tree *tree;
    uint64_t at;
    uint8_t *bytes;
};

struct levels_store {
    int folder; /* -1: there is none */
    struct folder_lock lock;
    bool writes;                    /* it is ours to write in */
    size_t block_bytes;             /* LEVELS_BLOCK_BYTES, but for tests */
    uint64_t kept;                  /* bytes of all its files, as they were when last measured, and blocks since */
    size_t in_memory;               /* bytes of blocks that could not be stored */
    const struct levels_tree *open; /* whose file is open as fd */
    int fd;
    uint8_t *block; /* that is being written */
    struct levels_cached cache[LEVELS_CACHED];
};

/** Opens the store of run directory `run`, whose number is `id` ("": it has none). Returns 0 or BEZEL_ENOMEM. */
int levels_store_open(struct levels_store *s, const char *run, const char *id) BEZEL_MUST_CHECK;
void levels_store_close(struct levels_store *s);

/** Closes the file that is open. */
void levels_store_rest(struct levels_store *s);

/** Forgets what it has of a tree that is freed. */
void levels_store_forget(struct levels_store *s, const struct levels_tree *t);

/** Measures the files in the folder, for `kept`. */
void levels_store_measure(struct levels_store *s);

/** How many rows a block has. */
size_t levels_store_block_rows(const struct levels_store *s, uint32_t row);

/** Stores the open rows of a list, which are a block, as the next one. Returns 0 with *at, or BEZEL_ENOMEM. */
int levels_store_block(struct levels_tree *t, struct levels_list *list, uint32_t track, unsigned level,
                       uint64_t *at) BEZEL_MUST_CHECK;

/** Where a block in memory is. */
static inline void *levels_block_memory(uint64_t at)
{
    return (void *)(uintptr_t)(at & ~LEVELS_IN_MEMORY);
}

/** Gives up the blocks of a list that are in memory, and all before them. */
void levels_store_drop(struct levels_tree *t, struct levels_list *list);

/**
 * Row `number` of a list; valid until the next call. NULL with t->damaged where it is not there as it must be, or not
 * readable; NULL without: it was given up.
 */
const void *levels_row(struct levels_tree *t, struct levels_list *list, uint32_t track, unsigned level,
                       uint64_t number);

/** What the state of a stream must agree with. */
struct levels_identity {
    const char *path;
    const struct dict *dict;
    uint8_t uuid[16];
    uint64_t instance;
    uint32_t ring;
};

/** Saves a tree. Returns 0 or an error: then the store does not write any more. */
int levels_store_save(struct levels_tree *t, const struct levels_identity *of) BEZEL_MUST_CHECK;

/**
 * Loads into tree `t`, which levels_tree_init() began. Returns 0; BEZEL_ENOENT: there is none that is right;
 * BEZEL_ENOMEM. levels_tree_fini() in any case.
 */
int levels_store_load(struct levels_tree *t, const struct levels_identity *of) BEZEL_MUST_CHECK;

/** Removes what is stored of a stream. */
void levels_store_remove(struct levels_store *s, const char *path);

/**
 * A state as bytes, for the caller to free, and back; see levels_store_save() and levels_store_load(). They do no I/O.
 */
int levels_state_write(const struct levels_tree *t, const struct levels_identity *of, uint8_t **bytes,
                       size_t *n) BEZEL_MUST_CHECK;
int levels_state_read(struct levels_tree *t, const struct levels_identity *of, const uint8_t *bytes,
                      size_t n) BEZEL_MUST_CHECK;

#endif
