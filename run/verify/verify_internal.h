// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by the verifier's files. */
#ifndef BEZEL_RUN_VERIFY_VERIFY_INTERNAL_H
#define BEZEL_RUN_VERIFY_VERIFY_INTERNAL_H

#include "run/model/run_model.h"
#include "run/verify/verify.h"

extern const char verify_remedy_restart[], verify_remedy_foreign[];

struct verify_walk {
    struct verify *v;
    const char *run;
    struct rundb *rundb;     /* of the run; NULL: there is only the model */
    struct rundb *rows;      /* rows made from the trace, for comparison; NULL: they are not compared */
    struct model *model;     /* the database as it was before any file was read */
    struct model *newer;     /* as it was later; NULL: not read again yet */
    bool newer_stale;        /* a dictionary was taken from it */
    struct model_node *node; /* whose trace is walked */
    bool settled;            /* a collector had finished the run, and none had begun on it again at the last look */
};

/**
 * Whether database and files must agree to the byte: a collector had finished with them before the first look, and none
 * has begun on them up to now. Call it after a difference was found: if true, the difference is damage; if false, a
 * collector is at work, or was killed.
 */
bool verify_is_settled(struct verify_walk *w);

/**
 * Reads the database again, after something was found that is newer than the first look. Returns the node of the walk
 * as it is now; or NULL with *err, which is 0 if the database does not have the node.
 */
struct model_node *verify_look_again(struct verify_walk *w, int *err);

/** Whether no collector served the run when its verification began, nor serves it now. */
bool verify_is_left(struct verify_walk *w);

/**
 * Verifies stream file `path` of the walk's node; its packets are counted in the model. For trace_reader_list():
 * `context` is the walk. Returns 0 or BEZEL_ENOMEM.
 */
int verify_file(const char *path, void *context);

/** Reports up to where process `p`, whose end was not seen, is known. */
void verify_unknown(struct verify_walk *w, const struct model_process *p);

/** Reports the streams of the node that the database has, and that have no file. */
void verify_missing(struct verify_walk *w);

#endif
