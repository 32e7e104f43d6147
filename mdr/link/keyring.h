// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The keys that a daemon knows: the files *.pub of a folder, each with its roles. What is changed there holds from the
 * next look on: a key that is added is admitted, one that is removed, or has lost a role, is not, or not for that; of
 * new connections. The folder is looked at when a key is asked for, at most once in KEYRING_LOOK.
 *
 * Where the folder cannot be read, or others than its owner can write it, nobody is known. A file that is wrong is told
 * once on stderr and left out. Functions are thread-safe, and block on the file system.
 */
#ifndef BEZEL_MDR_KEYRING_H
#define BEZEL_MDR_KEYRING_H

#include "mdr/key.h"

enum { KEYRING_KEYS_MAX = 1024 }; /* of a folder; the others are left out, which is told */

#define KEYRING_LOOK INT64_C(1000000000) /* ns */

struct keyring;

struct keyring_key {
    char name[KEY_NAME_MAX + 1];
    struct key_public key;
};

/**
 * Opens folder `dir` and reads it. Returns 0 with *ring for keyring_free(); on failure says why on stderr:
 * BEZEL_ENOENT, BEZEL_EPERM, BEZEL_ENOMEM, BEZEL_ESYS. A folder without keys is none.
 */
int keyring_open(const char *dir, struct keyring **ring) BEZEL_MUST_CHECK;
void keyring_free(struct keyring *ring);

/** Finds public key `bytes` at time `now` (ns): 0 with *found, or BEZEL_ENOENT. */
int keyring_find(struct keyring *ring, const uint8_t bytes[KEY_BYTES], int64_t now,
                 struct keyring_key *found) BEZEL_MUST_CHECK;

/**
 * Reads folder `dir` once, and tells what is wrong with a file ("" for the folder itself) and why. Returns the number
 * of keys, or an error.
 */
int keyring_examine(const char *dir, void (*tell)(void *context, const char *file, const char *why), void *context);

#endif
