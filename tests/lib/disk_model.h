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

/** Begins with the empty directory `root`, all of it in stable storage. */
struct disk_model *disk_new(const char *root);
void disk_free(struct disk_model *d);

/**
 * Takes a call, at entry and end. A sync that failed has dropped what it was to write: later syncs confirm the file
 * without it, until it is written again.
 */
void disk_see(struct disk_model *d, const struct call *call);

/** Whether `number` is of a call that changes, or syncs, files; whether a call is about something in the tree. */
bool disk_changes(long number);
bool disk_has(const struct disk_model *d, const struct call *call);

/** The bytes by which a write or an allocation makes its file longer, and those of all files. */
uint64_t disk_growth(const struct disk_model *d, const struct call *call);
uint64_t disk_bytes(const struct disk_model *d);

/**
 * What is left when everything ends now: by a kill, all; by a loss of power what is certain, or with what luck adds,
 * appended bytes from the front (DISK_ORDERED, as file systems do it) or each sector for itself (DISK_TORN).
 */
enum disk_left { DISK_KILLED, DISK_CERTAIN, DISK_ORDERED, DISK_TORN };

/** The model of what is left, for the caller to put somewhere. `seed` is for luck. */
struct disk_model *disk_left(const struct disk_model *d, enum disk_left how, uint64_t *seed);

/** Makes the files and folders of the model in the empty directory `root`, which the model is of from then on. */
bool disk_put(struct disk_model *d, const char *root);

/** Both in one: makes in directory `into` what a power loss leaves, what is certain alone where `seed` is NULL. */
bool disk_leave(const struct disk_model *d, const char *into, uint64_t *seed);

#endif
