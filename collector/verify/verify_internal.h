// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the verifier's files share. verify.h is the others' view of it. */
#ifndef BEZEL_COLLECTOR_VERIFY_OWN_H
#define BEZEL_COLLECTOR_VERIFY_OWN_H

#include "collector/model.h"
#include "collector/verify.h"

extern const char verify_remedy_restart[], verify_remedy_foreign[];

struct verify_walk {
    struct verify *v;
    const char *run;
    struct facts *facts;     /* of the run; NULL: only what the model has is known */
    struct facts *rows;      /* what the trace makes, for comparison; NULL: it is not compared */
    struct model *model;     /* the database as it was before any file was read */
    struct model *newer;     /* as it was later; NULL: not looked yet */
    bool newer_stale;        /* a dictionary was taken from it */
    struct model_node *node; /* whose trace is walked */
    bool settled;            /* a collector had finished it, and none has begun since, as far as was looked */
};

/**
 * Whether database and files must agree to the byte: a collector had finished with them before the first look, and none
 * has begun on them up to now. Asked behind what does not agree, it says which of the two it is: damage, or somebody
 * who is at work or was killed.
 */
bool verify_is_settled(struct verify_walk *w);

/**
 * Looks at the database again, since something was read that is newer than the first look. Returns the node of the walk
 * as it is now, or NULL with *err, 0 where it is not there.
 */
struct model_node *verify_look_again(struct verify_walk *w, int *err);

/** Whether nobody serves the run, neither when its verification began nor now. */
bool verify_is_left(struct verify_walk *w);

/**
 * Verifies stream file `path` of the walk's node; its packets are counted in the model. For reader_list(): `context` is
 * the walk. Returns 0 or BEZEL_ENOMEM.
 */
int verify_file(const char *path, void *context);

/** Tells up to where process `p`, which nobody saw end, is known. */
void verify_unknown(struct verify_walk *w, const struct model_process *p);

/** Tells of the streams of the node that the database has and no file. */
void verify_missing(struct verify_walk *w);

#endif
