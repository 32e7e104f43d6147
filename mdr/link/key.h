// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Keys of CURVE (Curve25519), and the two small text files that hold them. A secret key is a file NAME.key that its
 * owner alone can read:
 *
 *     bezel-secret-key 1
 *     secret: 40 characters of Z85
 *
 * A public key is a file NAME.pub, whose roles say what its holder may do to those who know it:
 *
 *     bezel-public-key 1
 *     public: 40 characters of Z85
 *     roles: observe control launch
 *
 * The name of a key is its file's; it does not stand inside. Nothing here needs ZeroMQ: making a pair, and the public
 * part of a secret one, are link.h's. Pure or blocking on the file system only; thread-safe.
 */
#ifndef BEZEL_MDR_KEY_H
#define BEZEL_MDR_KEY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KEY_BYTES = 32,
    KEY_Z85 = 40, /* characters of a key in Z85, without the NUL */
    KEY_NAME_MAX = 63,
    KEY_FILE_MAX = 1024, /* bytes of a file; a longer one is no key */
};

enum key_role {
    KEY_OBSERVE = 1, /* send packets to a collector */
    KEY_CONTROL = 2, /* command a daemon */
    KEY_LAUNCH = 4,  /* have programs started */
};

#define KEY_ALL_ROLES ((unsigned)(KEY_OBSERVE | KEY_CONTROL | KEY_LAUNCH))

struct key_secret {
    uint8_t bytes[KEY_BYTES];
};

struct key_public {
    uint8_t bytes[KEY_BYTES];
    unsigned roles; /* of enum key_role, at least one */
};

/** Z85 of a key, NUL-terminated, and back: 0, or BEZEL_EMALFORMED where 40 characters at `text` are no Z85. */
void key_to_z85(const uint8_t bytes[KEY_BYTES], char text[KEY_Z85 + 1]);
int key_from_z85(const char *text, uint8_t bytes[KEY_BYTES]) BEZEL_MUST_CHECK;

/** The role called `name` (`n` bytes), 0 where there is none. */
unsigned key_role(const char *name, size_t n);

/** "observe control", as it stands in a file; `text` has room for KEY_ROLES_TEXT bytes. Returns `text`. */
enum { KEY_ROLES_TEXT = 32 };
const char *key_roles_text(unsigned roles, char text[KEY_ROLES_TEXT]);

/** Whether `name` may name a key: 1 to KEY_NAME_MAX letters, digits, '_', '-', '.', opening with neither '.' nor '-'.
 */
bool key_name_ok(const char *name);

/**
 * Reads the text of a key's file. Return 0; BEZEL_EVERSION where its first line names another version; BEZEL_EMALFORMED
 * otherwise, with *why a static sentence. What they accept they would have written, but for blanks in `roles:`.
 */
int key_parse_secret(const char *text, size_t n, struct key_secret *key, const char **why) BEZEL_MUST_CHECK;
int key_parse_public(const char *text, size_t n, struct key_public *key, const char **why) BEZEL_MUST_CHECK;

/** Writes the text of a key's file, NUL-terminated: KEY_FILE_MAX bytes are enough. Return its length. */
int key_print_secret(const struct key_secret *key, char text[KEY_FILE_MAX]);
int key_print_public(const struct key_public *key, char text[KEY_FILE_MAX]);

/**
 * Reads a key's file. Errors as of parsing, and BEZEL_ENOENT; BEZEL_EPERM where it may not be read, or, of a secret
 * key, others than its owner can read it, or, of a public key, others can write it; BEZEL_ESYS. *why is a static
 * sentence, or errno's. A FIFO or device is no file.
 */
int key_read_secret(const char *path, struct key_secret *key, const char **why) BEZEL_MUST_CHECK;
int key_read_public(const char *path, struct key_public *key, const char **why) BEZEL_MUST_CHECK;

/**
 * Writes both files of key `name` into folder `dir`, each whole or not at all, the secret one of mode 0600. Without
 * `replace` nothing is written where one of them is there: BEZEL_EBUSY. Other errors with errno set; the path that it
 * is about is in `path`.
 */
int key_write_pair(const char *dir, const char *name, const struct key_secret *secret, const struct key_public *public,
                   bool replace, char *path, size_t size) BEZEL_MUST_CHECK;

/** Overwrites a secret key that is not needed any more. */
void key_forget(struct key_secret *key);

#endif
