// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What stable storage holds of a directory tree, by the calls of the one process that writes it: POSIX's word and no
 * more. A file's bytes are there when it was synced, a name when its directory was. What was not synced may be there,
 * in part, or not: names of a directory in their order, appended bytes from the front, others in any order.
 */
#ifndef BEZEL_TESTS_LIB_DISK_MODEL_H
#define BEZEL_TESTS_LIB_DISK_MODEL_H

#include "tests/lib/calls.h"

struct disk_model;

/** Begins with the empty directory `root` (borrowed), all of it in stable storage. */
struct disk_model *disk_new(const char *root);
void disk_free(struct disk_model *d);

/** Takes a call, at entry and end. */
void disk_see(struct disk_model *d, const struct call *call);

/** Whether `number` is of a call that changes, or syncs, files. */
bool disk_changes(long number);

/**
 * Makes in the empty directory `into` what a power loss now leaves: what is certain alone where `seed` is NULL, else
 * what luck adds.
 */
bool disk_leave(const struct disk_model *d, const char *into, uint64_t *seed);

#endif
