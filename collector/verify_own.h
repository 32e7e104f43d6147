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
    struct model *model;
    struct model_node *node; /* whose trace is walked */
};

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
