// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The launch of a program of an experiment, with the variables that libbezel reads in it. */
#ifndef BEZEL_BEZELD_LAUNCH_LAUNCH_PROGRAM_H
#define BEZEL_BEZELD_LAUNCH_LAUNCH_PROGRAM_H

#include "bezeld/launch/launch.h"
#include "config/experiment.h"

struct launch_program {
    struct launch
        launch;         /* of the first incarnation, with LAUNCH_OUTPUT_SPOOL, or no output; borrows from the others */
    char **environment; /* owned */
};

/**
 * Describes instance `instance` of process `p`, which is one with a command, on a node whose folder of segments is
 * `dir`. Borrows `e` until launch_program_free(). Returns 0, or BEZEL_ENOMEM.
 */
int launch_program_make(const struct experiment *e, const struct experiment_process *p, uint32_t instance,
                        const char *dir, struct launch_program *program) BEZEL_MUST_CHECK;
void launch_program_free(struct launch_program *program);

/**
 * Finds the process, and its instance, that has `name` on node `node` and a command. Returns NULL if there is none.
 */
const struct experiment_process *launch_program_find(const struct experiment *e, uint32_t node, const char *name,
                                                     uint32_t *instance);

#endif
