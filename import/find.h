// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Finds what is to be imported. */
#ifndef BEZEL_IMPORT_FIND_H
#define BEZEL_IMPORT_FIND_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct find {
    char **folders; /* of CTF traces, by name */
    size_t count, room;
    const char *ctf_2; /* one of these whose metadata is CTF 2; NULL: none is */
};

/**
 * Finds the CTF traces in folder `path`, or in folders below it: those with a file `metadata`. Returns 0, also where
 * there is none, BEZEL_ENOMEM, or an error with errno. Free with find_fini().
 */
int find_traces(const char *path, struct find *f) BEZEL_MUST_CHECK;
void find_fini(struct find *f);

#endif
