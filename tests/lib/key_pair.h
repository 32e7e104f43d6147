// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Keys of those who take part in a test, as `bezel keygen` leaves them in a folder. */
#ifndef BEZEL_TESTS_LIB_KEY_PAIR_H
#define BEZEL_TESTS_LIB_KEY_PAIR_H

#include "mdr/link/link.h"
#include "tests/lib/test.h"

#include <limits.h>

/** Makes a pair of keys with `roles` (KEY_...), and writes it into folder `dir` as `name`'s. Returns the secret one. */
static inline struct key_secret key_pair_new(const char *dir, const char *name, unsigned roles)
{
    struct key_secret secret;
    struct key_public public = {.roles = roles};
    char path[PATH_MAX];
    assert_int_equal(link_key_write_pair(dir, name, true, &secret, &public, path, sizeof path), 0);
    return secret;
}

#endif
