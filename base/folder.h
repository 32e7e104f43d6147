// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The folder of shared memory where processes and their bezeld meet: whether it may be trusted, and its files. A user
 * who can write there can read records, forge them, and end a program by truncating its segment. So a folder is opened
 * once, judged by that descriptor, and used through it. Nothing here allocates memory; nothing is a cancellation point
 * to rely on.
 */
#ifndef BEZEL_BASE_FOLDER_H
#define BEZEL_BASE_FOLDER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum { FOLDER_WHY_BYTES = 128 };

struct folder {
    const char *path;           /* as it was named; borrowed */
    int fd;                     /* O_PATH: for openat() and the like; -1: none */
    bool shared;                /* others may have made files in it: its group can write, or another user owns it */
    char why[FOLDER_WHY_BYTES]; /* why it was refused, and what to do; goes on behind its path; "": it was not */
};

/**
 * Opens folder `path` and judges it. It must be a directory and no symbolic link (its parents may be links); only its
 * owner and its group may write in it. The default folder, /dev/shm/bezel-UID, must belong to this user, and its group
 * must not write in it either. A folder of another name may also belong to root, or to another user if a group of this
 * process can write in it. UIDs are effective ones. Returns 0 with *f for folder_close(); f borrows `path`. BEZEL_EPERM
 * with f->why; or the error of open(2), with errno and f->why "".
 */
int folder_open(const char *path, struct folder *f) BEZEL_MUST_CHECK;

/** As folder_open(), of the folder that is open as `fd`, which is then f's; `path` is for messages. */
int folder_take(int fd, const char *path, struct folder *f) BEZEL_MUST_CHECK;

/** As folder_open(); first makes the folder and its parents, with mode 0700, where they are missing. */
int folder_make(const char *path, struct folder *f) BEZEL_MUST_CHECK;

/**
 * Whether only this user may enter the folder that `st` describes (a directory of this user's, 0700 or less): then no
 * other user reaches a socket or file in it, whatever its own rights are.
 */
bool folder_is_private(const struct stat *st);

/**
 * As folder_make(), for the sockets of a daemon that runs code on command: BEZEL_EPERM with f->why also where
 * folder_is_private() is false.
 */
int folder_make_private(const char *path, struct folder *f) BEZEL_MUST_CHECK;

/** Does nothing if the folder is not open. Keeps errno. */
void folder_close(struct folder *f);

/**
 * Opens file `name` of the folder with `flags`; O_CREAT makes it 0600. Follows no symbolic link and does not block.
 * Returns the descriptor, or -1 with errno: EPERM if it is no regular file, where another user owns it in a folder
 * that is not shared, or, with O_CREAT, where the file has a second name (a hard link), so that a write would change
 * another file.
 */
int folder_open_file(const struct folder *f, const char *name, int flags);

/** Opens the folder itself for reading its entries. Returns the descriptor, or -1 with errno. */
int folder_open_entries(const struct folder *f);

#endif
