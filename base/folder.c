// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/folder.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_GROUPS = 1024 }; /* a process in more groups counts as a member of its first group alone */

/* ---- Trust ------------------------------------------------------------------------------------------------------- */

static bool is_default(const char *path)
{
    char expected[FILE_DEFAULT_DIR_BYTES];
    file_default_dir(expected);
    return strcmp(path, expected) == 0;
}

static bool is_member(gid_t group)
{
    gid_t all[FOLDER_GROUPS];
    int n = getegid() == group ? 0 : getgroups(FOLDER_GROUPS, all);
    while (n > 0 && all[n - 1] != group)
        n--;
    return n > 0 || getegid() == group;
}

/* Whether the folder may be trusted; if not, writes why into f->why. */
static bool judge(struct folder *f, const struct stat *st, bool standard)
{
    unsigned mode = (unsigned)st->st_mode & 07777, owner = (unsigned)st->st_uid, self = (unsigned)geteuid();
    bool group_writes = (mode & S_IWGRP) != 0;
    if (S_ISLNK(st->st_mode))
        snprintf(f->why, sizeof f->why, "is a symbolic link: remove it, or name the folder itself");
    else if (!S_ISDIR(st->st_mode))
        snprintf(f->why, sizeof f->why, "is not a directory: remove it, or name a folder");
    else if (standard && owner != self)
        snprintf(f->why, sizeof f->why,
                 "belongs to user %u, not to user %u: have it removed, or set BEZEL_DIR to a folder of your own", owner,
                 self);
    else if (mode & S_IWOTH)
        snprintf(f->why, sizeof f->why, "may be written by all users (mode %04o): chmod o-w, or name another folder",
                 mode);
    else if (standard && group_writes)
        snprintf(f->why, sizeof f->why,
                 "may be written by its group (mode %04o): chmod g-w, or let BEZEL_DIR name a folder of the group",
                 mode);
    else if (owner == self && (mode & 0500) != 0500)
        snprintf(f->why, sizeof f->why, "lacks rights of its owner (mode %04o): chmod u+rwx", mode);
    else if (owner != self && owner != 0 && !(group_writes && is_member(st->st_gid)))
        snprintf(f->why, sizeof f->why,
                 "belongs to user %u, and no group of user %u may write in it: name a folder of your own", owner, self);
    return f->why[0] == '\0';
}

static int take(int fd, struct folder *f, bool standard)
{
    struct stat st;
    int err = 0;
    f->fd = fd;
    if (fd < 0)
        return err_from_errno(errno);
    if (fstat(f->fd, &st) != 0)
        err = err_from_errno(errno);
    else if (!judge(f, &st, standard))
        errno = EPERM, err = BEZEL_EPERM;
    f->shared = !err && (st.st_uid != geteuid() || (st.st_mode & S_IWGRP));
    if (err)
        folder_close(f);
    return err;
}

int folder_take(int fd, const char *path, struct folder *f)
{
    *f = (struct folder){.path = path, .fd = -1};
    return take(fd, f, false);
}

static int open_named(const char *name, struct folder *f)
{
    return take(open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC), f, is_default(name));
}

/* `path` without what follows its first `n` bytes. Apart, as the stack of a program's thread may be too small for it.
 */
static __attribute__((noinline)) int open_cut(const char *path, size_t n, struct folder *f)
{
    char name[PATH_MAX];
    memcpy(name, path, n);
    name[n] = '\0';
    return open_named(name, f);
}

/* A slash at the end would follow a symbolic link. */
int folder_open(const char *path, struct folder *f)
{
    size_t n = strlen(path);
    *f = (struct folder){.path = path, .fd = -1};
    if (n >= PATH_MAX)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    while (n > 1 && (path[n - 1] == '/' || (path[n - 1] == '.' && path[n - 2] == '/')))
        n--;
    return path[n] ? open_cut(path, n, f) : open_named(path, f);
}

int folder_make(const char *path, struct folder *f)
{
    int err = folder_open(path, f);
    if (err != BEZEL_ENOENT)
        return err;
    err = file_make_dirs(path, 0700);
    return err ? err : folder_open(path, f); /* judged again: another process may have made it meanwhile */
}

bool folder_is_private(const struct stat *st)
{
    return S_ISDIR(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & (S_IRWXG | S_IRWXO));
}

int folder_make_private(const char *path, struct folder *f)
{
    struct stat st;
    int err = folder_make(path, f);
    if (!err && fstat(f->fd, &st) != 0)
        err = err_from_errno(errno);
    else if (!err && !folder_is_private(&st)) {
        snprintf(
            f->why, sizeof f->why,
            "others can enter it (mode %04o, user %u): give it to user %u alone, mode 0700, or name another folder",
            (unsigned)st.st_mode & 07777, (unsigned)st.st_uid, (unsigned)geteuid());
        errno = EPERM, err = BEZEL_EPERM;
    }
    if (err)
        folder_close(f);
    return err;
}

void folder_close(struct folder *f)
{
    int before = errno;
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    errno = before;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

int folder_open_file(const struct folder *f, const char *name, int flags)
{
    struct stat st;
    int fd = openat(f->fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (f->shared || st.st_uid == geteuid()) &&
        (!(flags & O_CREAT) || st.st_nlink == 1))
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

int folder_open_entries(const struct folder *f)
{
    return openat(f->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
