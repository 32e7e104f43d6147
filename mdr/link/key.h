// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Keys of CURVE (Curve25519), and the two small text files that hold them. A secret key is a file NAME.key that its
 * owner alone can read:
 *
 *     bezel-secret-key 1
 *     secret: 40 characters of Z85
 *
 * A public key is a file NAME.pub. Its roles are what the holder of the key may do with daemons that admit it:
 *
 *     bezel-public-key 1
 *     public: 40 characters of Z85
 *     roles: observe control launch
 *     nodes: desk1 studio*
 *
 * The last line is optional: the nodes in whose name the holder may send packets, as patterns of glob(7); without it
 * the one node that has the key's name. The name of a key is its file's; it is not in the text. Nothing here needs
 * ZeroMQ; link.h makes pairs, and the public part of a secret key. Pure or blocking on the file system only;
 * thread-safe.
 */
#ifndef BEZEL_MDR_LINK_KEY_H
#define BEZEL_MDR_LINK_KEY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KEY_BYTES = 32,
    KEY_Z85 = 40, /* characters of a key in Z85, without the NUL */
    KEY_NAME_MAX = 63,
    KEY_NODES_MAX = 255, /* bytes of the patterns of nodes */
    KEY_FILE_MAX = 1024, /* bytes of a file; a longer one is no key */
};

enum key_role {
    KEY_OBSERVE = 1, /* send packets to a collector */
    KEY_CONTROL = 2, /* command a daemon */
    KEY_LAUNCH = 4,  /* have programs started */
    KEY_READ = 8,    /* read the records of a run */
};

#define KEY_ALL_ROLES ((unsigned)(KEY_OBSERVE | KEY_CONTROL | KEY_LAUNCH | KEY_READ))

struct key_secret {
    uint8_t bytes[KEY_BYTES];
};

struct key_public {
    uint8_t bytes[KEY_BYTES];
    unsigned roles;                /* of enum key_role, at least one */
    char nodes[KEY_NODES_MAX + 1]; /* patterns, separated by one blank; "": the key's own name */
};

/** Z85 of a key, NUL-terminated, and back: 0, or BEZEL_EMALFORMED if 40 characters at `text` are no Z85. */
void key_to_z85(const uint8_t bytes[KEY_BYTES], char text[KEY_Z85 + 1]);
int key_from_z85(const char *text, uint8_t bytes[KEY_BYTES]) BEZEL_MUST_CHECK;

/** The role called `name` (`n` bytes); 0: there is none. */
unsigned key_role(const char *name, size_t n);

/** "observe control", as it stands in a file; `text` has room for KEY_ROLES_TEXT bytes. Returns `text`. */
enum { KEY_ROLES_TEXT = 32 };
const char *key_roles_text(unsigned roles, char text[KEY_ROLES_TEXT]);

/** Whether `name` may name a key: 1 to KEY_NAME_MAX letters, digits, '_', '-', '.'; no '.' or '-' first. */
bool key_name_ok(const char *name);

/** Whether `pattern` may be one of the patterns: a name of a key, in which `*`, `?`, `[` and `]` may stand, too. */
bool key_pattern_ok(const char *pattern);

/** Whether the holder of `key`, which is called `name`, may send packets in the name of `node`. */
bool key_speaks_for(const struct key_public *key, const char *name, const char *node);

/**
 * Read the text of a key's file. Return 0; BEZEL_EVERSION where its first line names another version, or
 * BEZEL_EMALFORMED, both with *why a static sentence. Accepted texts differ from printed ones only by blanks in
 * `roles:` and `nodes:`.
 */
int key_parse_secret(const char *text, size_t n, struct key_secret *key, const char **why) BEZEL_MUST_CHECK;
int key_parse_public(const char *text, size_t n, struct key_public *key, const char **why) BEZEL_MUST_CHECK;

/** Write the text of a key's file, NUL-terminated: KEY_FILE_MAX bytes are enough. Return its length. */
int key_print_secret(const struct key_secret *key, char text[KEY_FILE_MAX]);
int key_print_public(const struct key_public *key, char text[KEY_FILE_MAX]);

/**
 * Read a key's file. Errors of the parsers; BEZEL_ENOENT; BEZEL_ESYS; BEZEL_EPERM where the file may not be read, where
 * others can read a secret key, or where others can write a public key. *why is a static sentence, or the text of
 * errno. A FIFO or device is not a key file.
 */
int key_read_secret(const char *path, struct key_secret *key, const char **why) BEZEL_MUST_CHECK;
int key_read_public(const char *path, struct key_public *key, const char **why) BEZEL_MUST_CHECK;

/**
 * Writes both files of key `name` into folder `dir`, each completely or not at all, the secret one with mode 0600.
 * Without `replace`, where one of them exists, nothing is written: BEZEL_EBUSY. Other errors set errno. `path`, of
 * `size` bytes, gets the path that an error is about.
 */
int key_write_pair(const char *dir, const char *name, const struct key_secret *secret, const struct key_public *public,
                   bool replace, char *path, size_t size) BEZEL_MUST_CHECK;

/** Overwrites a secret key with zeros, once it is no longer needed. */
void key_forget(struct key_secret *key);

#endif
