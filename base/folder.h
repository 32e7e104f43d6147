// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The folder of shared memory where processes and their bezeld meet: whether it may be trusted, and its files. Who may
 * write there could read records, forge them, and end a program by cutting its segment short; so a folder is opened
 * once, judged by that descriptor, and used through it. Nothing here allocates memory; nothing is a cancellation point
 * to rely on.
 */
#ifndef BEZEL_BASE_FOLDER_H
#define BEZEL_BASE_FOLDER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { FOLDER_WHY_BYTES = 128 };

struct folder {
    const char *path;           /* as it was named; borrowed */
    int fd;                     /* O_PATH: for openat() and the like; -1: none */
    bool shared;                /* others may have made files in it: a group's, or its owner's who is somebody else */
    char why[FOLDER_WHY_BYTES]; /* why it was refused, and what to do, to be put behind its path; "": it was not */
};

/**
 * Opens folder `path` and judges it. It has to be a directory, and no symbolic link (its parents may be); nobody but
 * its owner and its group may write in it. The default folder, /dev/shm/bezel-UID, has to be this user's, and its group
 * may not write in it either. One of another name may belong to root as well, or to another user where it is writable
 * for a group of this process. UIDs are effective ones. Returns 0 with *f for folder_close(), which borrows `path`;
 * BEZEL_EPERM with f->why; or what open(2) said, with errno and f->why "".
 */
int folder_open(const char *path, struct folder *f) BEZEL_MUST_CHECK;

/** The same, after making it and its parents with mode 0700 where it is missing. */
int folder_make(const char *path, struct folder *f) BEZEL_MUST_CHECK;

/** May be called of a folder that is not open. Keeps errno. */
void folder_close(struct folder *f);

/**
 * Opens file `name` of the folder with `flags`; O_CREAT makes it 0600. Follows no symbolic link and waits for nobody.
 * Returns the descriptor, or -1 with errno: EPERM where it is no regular file, or somebody else made it in a folder
 * that is not shared; or, with O_CREAT, where it has another name too, and what is done to it would be done to
 * something else.
 */
int folder_open_file(const struct folder *f, const char *name, int flags);

/** Opens the folder itself for reading its entries. Returns the descriptor, or -1 with errno. */
int folder_open_entries(const struct folder *f);

#endif
