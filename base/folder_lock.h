// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The lock of a folder that one process fills, such as a run directory. It is two locks: one of the folder itself,
 * which a network file system keeps to this machine, and one of file `.lock` in it, which such a file system hands on
 * to its server. So another machine sees the second one alone. Both end with the process, however that ends.
 */
#ifndef BEZEL_BASE_FOLDER_LOCK_H
#define BEZEL_BASE_FOLDER_LOCK_H

#include "base/err.h"

#include <stdbool.h>

#define FOLDER_LOCK_FILE ".lock"

struct folder_lock {
    int file, folder; /* descriptors; -1: none */
};

enum folder_holder {
    FOLDER_FREE, /* or its file system has no locks */
    FOLDER_HELD,
    FOLDER_HELD_ELSEWHERE, /* by a process of another machine, or behind another mount of the same files */
};

/**
 * Locks the open directory `folder`, which the caller may close afterwards. Returns 0; BEZEL_EBUSY: another process has
 * it; BEZEL_ESYS with errno: nobody can lock it here, so nobody is kept away. In any case *l is for folder_unlock().
 */
int folder_lock(int folder, struct folder_lock *l) BEZEL_MUST_CHECK;

void folder_unlock(struct folder_lock *l);

/** Who has folder `path`. Looking takes its lock for a moment. */
enum folder_holder folder_holder(const char *path);

/** Whether somebody has it: a collector serves the run directory, say. */
static inline bool folder_is_held(const char *path)
{
    return folder_holder(path) != FOLDER_FREE;
}

#endif
