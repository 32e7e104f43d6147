// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Small file-system work that several layers need. Every function returns 0 or a negative BEZEL_E* with errno set. */
#ifndef BEZEL_BASE_FILE_H
#define BEZEL_BASE_FILE_H

#include "base/err.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** Makes directory `path` and its parents with `mode`; an existing directory is success. */
int file_make_dirs(const char *path, mode_t mode) BEZEL_MUST_CHECK;

/**
 * Replaces `path` by `n` bytes at `data` in one step: a dot-file beside it, then rename. Readers see old or new, whole.
 */
int file_replace(const char *path, const void *data, size_t n) BEZEL_MUST_CHECK;

/** The same with the bytes in stable storage before they get the name; the name itself gets there with its folder. */
int file_replace_lasting(const char *path, const void *data, size_t n) BEZEL_MUST_CHECK;

/** The same as file_replace() for file `name` of the open folder, whose group may use it, and nobody else: see
 * file_share(). */
int file_replace_shared(int folder, const char *name, const void *data, size_t n) BEZEL_MUST_CHECK;

/** Writes all `n` bytes at the descriptor's position, repeating after short writes and EINTR. */
int file_write_all(int fd, const void *data, size_t n) BEZEL_MUST_CHECK;

/**
 * Opens `path` for reading, without waiting for anything: a regular file, or a folder where `folder` says so; of
 * anything else EINVAL. The last `plain` names of the path, 1 or more, are followed through no symbolic link (ELOOP):
 * of the path of a file in a folder that may be anybody's, those that are below it. 0: all links are followed. Returns
 * a descriptor, for the caller to close.
 */
int file_open_plain(const char *path, unsigned plain, bool folder) BEZEL_MUST_CHECK;

/** The same of a folder, for readdir(): NULL with errno where it cannot be; for closedir(). */
DIR *file_open_dir(const char *path, unsigned plain) BEZEL_MUST_CHECK;

/**
 * Reads a whole regular file of at most `max` bytes into *data (caller frees; a NUL is appended), its length into *n.
 * What has nothing to say yet, such as /proc/kmsg, is not waited for: EAGAIN.
 */
int file_read(const char *path, size_t max, char **data, size_t *n) BEZEL_MUST_CHECK;

/** The same of a file of a folder that may be anybody's: no link among the last `plain` names of its path is followed.
 */
int file_read_plain(const char *path, unsigned plain, size_t max, char **data, size_t *n) BEZEL_MUST_CHECK;

/** The same of descriptor `fd`, of anything, from where it stands to its end, which is waited for. It stays open. */
int file_read_stream(int fd, size_t max, char **data, size_t *n) BEZEL_MUST_CHECK;

/**
 * Gives the new file `fd` in the open folder `folder` to the folder's group, with the reading and writing that the
 * folder grants it (2770 makes 0660); to nobody else, ever, whatever the umask. Where that group is not ours to give,
 * it stays ours alone.
 */
void file_share(int fd, int folder);

/**
 * The next entry of `dir`, for which it is valid as readdir()'s. NULL: there is none left, *err being 0; or the folder
 * cannot be read any further, *err being negative. Who takes the first for the second takes a part for the whole.
 */
struct dirent *file_next(DIR *dir, int *err);

/** Removes `path` and everything below it; a missing path is success. Follows no symbolic link. */
int file_remove_tree(const char *path) BEZEL_MUST_CHECK;

/**
 * Opens /dev/null for each of the descriptors 0 to 2 that is closed, so that no file or socket of the program gets the
 * number of standard input, output or error. Reading and writing them fails (EBADF), as if they were closed. Call first
 * in main().
 */
void file_hold_standard(void);

/** Raises how many files this process may open to what it is allowed to raise it to. */
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

#endif
