// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "mdr/link/key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/*
 * Reads the file into `text`. Returns its length, or an error: BEZEL_EPERM where its mode has one of the bits
 * `forbidden`. The mode is that of the open file, so that it cannot be another file's.
 */
static int read_small(const char *path, mode_t forbidden, const char *forbidden_why, char text[KEY_FILE_MAX],
                      const char **why)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) != 0) {
        int sys = errno;
        if (fd >= 0)
            close(fd);
        *why = strerror(sys);
        errno = sys;
        return err_from_errno(sys);
    }
    ssize_t n = 0;
    int err = 0;
    if (!S_ISREG(st.st_mode) || st.st_size >= KEY_FILE_MAX) {
        *why = "not a key file";
        err = BEZEL_EMALFORMED;
    } else if (st.st_mode & forbidden) {
        *why = forbidden_why;
        err = BEZEL_EPERM;
    } else {
        n = read(fd, text, KEY_FILE_MAX);
        if (n < 0 || n == KEY_FILE_MAX) {
            *why = n < 0 ? strerror(errno) : "not a key file";
            err = n < 0 ? err_from_errno(errno) : BEZEL_EMALFORMED;
        }
    }
    close(fd);
    return err ? err : (int)n;
}

int key_read_secret(const char *path, struct key_secret *key, const char **why)
{
    char text[KEY_FILE_MAX];
    int n = read_small(path, 077,
                       "others can read this secret key: chmod 600 it, and make a new one if somebody may have read it",
                       text, why);
    int err = n < 0 ? n : key_parse_secret(text, (size_t)n, key, why);
    explicit_bzero(text, sizeof text);
    return err;
}

int key_read_public(const char *path, struct key_public *key, const char **why)
{
    char text[KEY_FILE_MAX];
    int n = read_small(path, 022, "others can write this file and so give themselves roles: chmod go-w it", text, why);
    return n < 0 ? n : key_parse_public(text, (size_t)n, key, why);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static int set_path(char *path, size_t size, const char *dir, const char *name, const char *suffix)
{
    if (snprintf(path, size, "%s/%s%s", dir, name, suffix) >= (int)size)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    return 0;
}

int key_write_pair(const char *dir, const char *name, const struct key_secret *secret, const struct key_public *public,
                   bool replace, char *path, size_t size)
{
    char text[KEY_FILE_MAX], first[PATH_MAX];
    struct stat st;
    int err = set_path(path, size, dir, name, ".pub");
    if (!err && !replace && lstat(path, &st) == 0)
        err = BEZEL_EBUSY;
    if (!err)
        err = set_path(path, size, dir, name, ".key");
    if (err)
        return err;
    int n = key_print_secret(secret, text);
    err = file_replace_exact(path, text, (size_t)n, 0600, !replace);
    explicit_bzero(text, sizeof text);
    if (err)
        return err;
    snprintf(first, sizeof first, "%s", path);
    err = set_path(path, size, dir, name, ".pub");
    n = key_print_public(public, text);
    if (!err)
        err = file_replace_exact(path, text, (size_t)n, 0644, !replace);
    if (err && !replace) { /* both or none */
        int sys = errno;
        unlink(first);
        errno = sys;
    }
    return err;
}
