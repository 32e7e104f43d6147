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
 * The command of a trigger, which fired on node `node` as `f` says, with the event in its environment; an incarnation
 * is to be given to it. Its output is the launcher's standard error. Returns as above.
 */
int launch_program_trigger(const struct experiment *e, uint32_t node, const struct message_firing *f,
                           struct launch_program *program) BEZEL_MUST_CHECK;

/** The name by which START asks for it, "trigger:3", which no process can have; and the trigger of a name, -1: none. */
void launch_program_trigger_name(uint32_t trigger, char name[MESSAGE_NAME_MAX + 1]);
int launch_program_trigger_find(const struct experiment *e, const char *name);

/** Finds the process, and its instance, that has `name` on node `node` and a command. Returns NULL if there is none. */
const struct experiment_process *launch_program_find(const struct experiment *e, uint32_t node, const char *name,
                                                     uint32_t *instance);

#endif
