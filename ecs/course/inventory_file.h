// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The inventory of this user (config/inventory.h) as a file, and its folder: $XDG_CONFIG_HOME/bezel, or
 * ~/.config/bezel, with `nodes`, the inventory, and `keys`, the keys with which these nodes are reached. Messages go to
 * stderr. One thread.
 */
#ifndef BEZEL_ECS_COURSE_INVENTORY_FILE_H
#define BEZEL_ECS_COURSE_INVENTORY_FILE_H

#include "config/inventory.h"

#include <limits.h>

/** Writes the path of file `name` of the folder. Returns `path`. */
const char *inventory_file_path(const char *name, char path[PATH_MAX]);

/** Reads the inventory; a missing one is empty. Returns 0 with *inventory to be freed, or an error, printed. */
int inventory_file_read(struct inventory *inventory) BEZEL_MUST_CHECK;

/**
 * Takes the right to change the inventory, until the process ends; makes the folder. Returns a descriptor, or an error,
 * printed: BEZEL_EBUSY where another process has it.
 */
int inventory_file_lock(void) BEZEL_MUST_CHECK;

/** Replaces the inventory in one step, by one in stable storage. Returns 0, or an error, printed. */
int inventory_file_write(const struct inventory *inventory) BEZEL_MUST_CHECK;

/**
 * Writes into the text of experiment file `file`, which is replaced by another to be freed, what the inventory knows.
 * Returns 0 with *resolved, for the places of diagnostics and inventory_resolved_free(), or an error, printed.
 */
int inventory_file_resolve(const char *file, char **text, size_t *n,
                           struct inventory_resolved *resolved) BEZEL_MUST_CHECK;

/** Prints of each node of `e` that the inventory knows, whether the experiment means that one. */
void inventory_file_print_use(const struct experiment *e, FILE *out);

#endif
