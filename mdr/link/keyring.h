// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The keys that a daemon admits: the files *.pub of a folder, each with its roles and nodes. keyring_look() checks the
 * folder for changes, at most once in KEYRING_LOOK; a change takes effect from then on.
 *
 * Where the folder cannot be read, or others than its owner can write it, no key is admitted; where only this process
 * has no descriptor or no memory for it, the keys stay as they are. A wrong file is logged when the folder is read, and
 * ignored. Functions are thread-safe; all but keyring_find() block on the file system.
 */
#ifndef BEZEL_MDR_LINK_KEYRING_H
#define BEZEL_MDR_LINK_KEYRING_H

#include "mdr/link/key.h"

enum { KEYRING_KEYS_MAX = 1024 }; /* of a folder; further ones are logged and ignored */

#define KEYRING_LOOK INT64_C(1000000000) /* ns */

struct keyring;

struct keyring_key {
    char name[KEY_NAME_MAX + 1];
    struct key_public key;
};

/**
 * Opens folder `dir` and reads it. Returns 0 with *ring for keyring_free(), or logs the reason and returns
 * BEZEL_ENOENT, BEZEL_EPERM, BEZEL_ENOMEM or BEZEL_ESYS. A folder without keys is no error.
 */
int keyring_open(const char *dir, struct keyring **ring) BEZEL_MUST_CHECK;
void keyring_free(struct keyring *ring);

/** Reads the folder again where it has changed, if at time `now` (ns) it is time for that. */
void keyring_look(struct keyring *ring, int64_t now);

/** Finds public key `bytes`, as of the last look: 0 with *found, or BEZEL_ENOENT. */
int keyring_find(struct keyring *ring, const uint8_t bytes[KEY_BYTES], struct keyring_key *found) BEZEL_MUST_CHECK;

/**
 * Reads folder `dir` once, and calls `report` for each wrong file (`file` is the name of its key; "": the folder
 * itself) with the reason. Returns the number of keys, or an error.
 */
int keyring_examine(const char *dir, void (*report)(void *context, const char *file, const char *why), void *context);

#endif
