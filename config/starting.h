// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * How a process is started: after which others, when it counts as ready, whether again, within which limits. Keys
 * and checks. Internal to config/.
 */
#ifndef BEZEL_CONFIG_STARTING_H
#define BEZEL_CONFIG_STARTING_H

#include "config/schema.h"

extern const struct schema_field starting_ready_fields[], starting_limits_fields[];
extern const struct schema_word starting_restarts[], starting_exits[];

/** Nothing is limited. */
#define STARTING_NO_LIMITS                                                                                             \
    {                                                                                                                  \
        .memory = EXPERIMENT_NO_SIZE, .file_size = EXPERIMENT_NO_SIZE, .core = EXPERIMENT_NO_SIZE,                     \
        .stack = EXPERIMENT_NO_SIZE, .locked = EXPERIMENT_NO_SIZE, .files = EXPERIMENT_NO_COUNT,                       \
        .processes = EXPERIMENT_NO_COUNT, .real_time = EXPERIMENT_NO_COUNT                                             \
    }

/** char **, ending with NULL: the names of other processes. */
void starting_read_after(struct reader *r, const struct tree *t, void *to);

/** After all keys are read: checks those of the processes in the list that begins with `t`. */
void starting_check(struct reader *r, const struct tree *t, const struct experiment *e);

/** Frees what they own. */
void starting_free(struct experiment_process *p);

#endif
