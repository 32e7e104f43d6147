// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Finds the streams of a run, while it grows or when it has ended, and keeps the model that explains them: nodes,
 * processes, dictionaries, clocks. The caller looks again and again; each file is given once. It writes nothing, and
 * the run may be hostile: what is no stream is left out with a warning. One thread; blocks on the disk.
 */
#ifndef BEZEL_RUN_READ_RUN_STREAMS_H
#define BEZEL_RUN_READ_RUN_STREAMS_H

#include "base/hash_index.h"
#include "run/model/run_model.h"

#include <limits.h>

/** A folder below trace/. */
struct run_streams_folder {
    char name[NAME_MAX + 1];
    uint8_t uuid[16];        /* of its node */
    bool left_out;           /* it is no folder, no node of the run, or not wanted */
    int64_t changed, listed; /* ns of CLOCK_REALTIME: when its entries last changed; when they were last listed */
};

/** Who wants the streams. */
struct run_streams_owner {
    /* Whether the streams of a node are wanted; NULL: all are. */
    bool (*wants)(void *context, const struct model_node *node);
    /* Takes stream file `path` of process `p`, whose first packet has header `first`. Returns 0 or an error. */
    int (*add)(void *context, const char *path, const struct model_process *p, const struct packet_header *first);
    /* Gives all that refers to the model its place in `m`, which takes its place. False: `m` lacks something. */
    bool (*move)(void *context, const struct model *m);
    void *context;
};

struct run_streams {
    char run[PATH_MAX];
    struct model *model;
    uint64_t age;      /* of the model: another number for each */
    uint64_t left_out; /* files and folders that were left out with a warning */
    int64_t until;     /* of clock_now(): a look ends there, behind one new file at least; 0: with the last one */

    /* Private. */
    struct run_streams_owner owner;
    unsigned renewals;          /* how often the model was loaded since the last look */
    uint64_t looks, renewed_at; /* how many there were; the one at which the model was loaded last */
    size_t folder_count, folder_capacity;
    struct run_streams_folder *folders;
    struct hash_index known; /* files that were found, by the hash of their paths */
    size_t known_count;
};

/**
 * Loads the model of run directory `run`; `s` is otherwise all zeros. Returns 0, or an error of the database, which
 * rundb_why() explains: BEZEL_ENOENT if there is none (yet). run_streams_fini() in either case.
 */
int run_streams_init(struct run_streams *s, const char *run, const struct run_streams_owner *owner) BEZEL_MUST_CHECK;
void run_streams_fini(struct run_streams *s);

/**
 * Looks for new nodes and streams. Returns 0; 1: it ended at s->until, look again; or an error: of the disk, of the
 * database, or of the owner.
 */
int run_streams_look(struct run_streams *s) BEZEL_MUST_CHECK;

/**
 * Loads the model anew, for the struct run_streams at `streams`. What a look found was explained by the database
 * before, so loading once after it will do, but for packets that replaced a torn one since: after RUN_STREAMS_RENEWALS
 * it does nothing, as nothing would come of it. Returns 0 or an error.
 */
enum { RUN_STREAMS_RENEWALS = 16 };
int run_streams_renew(void *streams) BEZEL_MUST_CHECK;

/**
 * Loads nodes, processes and dictionaries from the database of `run`, and the positions of streams if `streams`; not
 * what processes counted.
 * Returns the model for model_free(), or NULL with *err.
 */
struct model *run_streams_load(const char *run, bool streams, int *err) BEZEL_MUST_CHECK;

#endif
