// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Files and folders, for all layers. Functions that can fail return 0 or a negative BEZEL_E* with errno set, unless
 * they say otherwise.
 */
#ifndef BEZEL_BASE_FILE_H
#define BEZEL_BASE_FILE_H

#include "base/err.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/** What stands behind the last slash of `path`; all of it where that is nothing, or there is none. Pure. */
const char *file_name(const char *path);

/** Makes directory `path` and its parents with `mode`; an existing directory is success. */
int file_make_dirs(const char *path, mode_t mode) BEZEL_MUST_CHECK;

/**
 * Replaces `path` by `n` bytes at `data` in one step: writes a dot-file beside it, then renames. Readers see the old
 * file or the new one, never a part.
 */
int file_replace(const char *path, const void *data, size_t n) BEZEL_MUST_CHECK;

/** As file_replace(), for file `name` in directory `dir`. */
int file_replace_in(const char *dir, const char *name, const void *data, size_t n) BEZEL_MUST_CHECK;

/** As file_replace(), with the bytes in stable storage before the rename. The rename itself is not synced. */
int file_replace_lasting(const char *path, const void *data, size_t n) BEZEL_MUST_CHECK;

/** As file_replace(), for file `name` in the open folder `folder`, shared with the folder's group by file_share(). */
int file_replace_shared(int folder, const char *name, const void *data, size_t n) BEZEL_MUST_CHECK;

/**
 * As file_replace_lasting(), with `mode`: BEZEL_EPERM where the file system gives others more rights than that. `new`:
 * BEZEL_EBUSY where there is a file.
 */
int file_replace_exact(const char *path, const void *data, size_t n, mode_t mode, bool new) BEZEL_MUST_CHECK;

/** Writes all `n` bytes at the descriptor's position, repeating after short writes and EINTR. */
int file_write_all(int fd, const void *data, size_t n) BEZEL_MUST_CHECK;

/**
 * Opens `path` for reading, without blocking: a regular file, or with `folder` a folder; anything else is EINVAL.
 * Symbolic links among the last `plain` names of the path are refused (ELOOP); 0: all links are followed. Use it for
 * the names below a folder in which other users can write. Returns a descriptor, for the caller to close.
 */
int file_open_plain(const char *path, unsigned plain, bool folder) BEZEL_MUST_CHECK;

/** As file_open_plain(), of a folder, for readdir() and closedir(). NULL with errno on failure. */
DIR *file_open_dir(const char *path, unsigned plain) BEZEL_MUST_CHECK;

/**
 * Opens file `path` below the open folder `folder` for reading and writing, and makes it, and its folders, where they
 * are missing. Follows no symbolic link, and refuses (EPERM) what is no regular file, or has another name, too. Returns
 * a descriptor, for the caller to close, or -1 with errno.
 */
int file_open_below(int folder, const char *path) BEZEL_MUST_CHECK;

/**
 * Reads a regular file of at most `max` bytes into *data (caller frees; a NUL is appended), its length into *n. A
 * longer file is BEZEL_EINVAL. Never blocks for data: EAGAIN if there is none yet, as in /proc/kmsg.
 */
int file_read(const char *path, size_t max, char **data, size_t *n) BEZEL_MUST_CHECK;

/** As file_read(), but refuses symbolic links among the last `plain` names of the path: see file_open_plain(). */
int file_read_plain(const char *path, unsigned plain, size_t max, char **data, size_t *n) BEZEL_MUST_CHECK;

/** As file_read(), from the position of descriptor `fd`, of any kind, to its end; blocks until then. `fd` stays open.
 */
int file_read_stream(int fd, size_t max, char **data, size_t *n) BEZEL_MUST_CHECK;

/** Whether a process has an exclusive lock of an open file description (fcntl(2)) on file `path`. */
bool file_is_locked(const char *path);

/**
 * Gives the new file `fd` in the open folder `folder` to the folder's group, with the read and write permissions that
 * the folder grants its group (2770 makes 0660). Others get none, whatever the umask. If the group cannot be set, the
 * file stays 0600.
 */
void file_share(int fd, int folder);

/** As file_share(), with the right to read alone: what is written there, its maker believes. */
void file_show(int fd, int folder);

/**
 * The next entry of `dir`, valid as long as readdir()'s. NULL with *err 0: there are no more. NULL with *err negative:
 * the folder cannot be read any further, so what was read is incomplete.
 */
struct dirent *file_next(DIR *dir, int *err);

/** Removes `path` and everything below it; a missing path is success. Follows no symbolic link. */
int file_remove_tree(const char *path) BEZEL_MUST_CHECK;

/**
 * What to do where writing `path`, a file or folder that may be missing yet, failed with `sys`, for behind its reason:
 * ": make room there" where the disk is full, another text where it has no room for further files alone, "" for another
 * reason. Leaves errno as it is. Thread-safe.
 */
const char *file_room(const char *path, int sys);

/**
 * Closes what open_memstream() opened for *text, if it did; NULL: there was no memory. Returns 0 with the text, which
 * the caller frees; or BEZEL_ENOMEM, *text then freed and NULL.
 */
int file_text_end(FILE *out, char **text) BEZEL_MUST_CHECK;

/**
 * Opens /dev/null for each of the descriptors 0 to 2 that is closed, so that no file or socket of the program gets the
 * number of standard input, output or error. Reading and writing them fails (EBADF), as if they were closed. Call first
 * in main().
 */
void file_hold_standard(void);

/** Raises this process's limit of open files to its hard limit. */
void file_raise_limit(void);

enum { FILE_DEFAULT_DIR_BYTES = sizeof "/dev/shm/bezel-4294967295" };

/** Writes the default folder of segments, windows and sockets: /dev/shm/bezel-<effective uid>. */
void file_default_dir(char path[FILE_DEFAULT_DIR_BYTES]);

/**
 * Writes the folder of segments, windows and sockets that this process uses into `path`: $BEZEL_DIR, else the default.
 * A program with more rights than its caller (set-user-ID, set-group-ID, file capabilities) takes nothing from the
 * caller's environment: secure_getenv(3).
 */
void file_bezel_dir(char *path, size_t size);

/**
 * The folder for files and sockets of this session, $XDG_RUNTIME_DIR. NULL if it is not set, or is none that only
 * this user can write in: sudo and su keep the name of another user's folder, and a container that of a missing one.
 * The text is that of the environment.
 */
const char *file_runtime_dir(void);

#endif
