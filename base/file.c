// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* A umask that takes away our own rights, of a program that is observed, would make a folder that nobody can use. */
static int make_dir(const char *path, mode_t mode)
{
    struct stat st;
    int made = mkdir(path, mode), before = errno;
    if (made == 0 && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0700) != (mode & 0700))
        made = chmod(path, (st.st_mode & 07777) | (mode & 0700));
    else
        errno = before;
    return made;
}

/* Apart, as the stack of a program's thread may be too small for it. */
static __attribute__((noinline)) int make_each(const char *path, mode_t mode)
{
    char part[PATH_MAX];
    memcpy(part, path, strlen(path) + 1);
    for (char *p = part + 1;; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char end = *p;
        *p = '\0';
        if (make_dir(part, mode) != 0 && errno != EEXIST)
            return err_from_errno(errno);
        *p = end;
        if (end == '\0')
            return 0;
    }
}

int file_make_dirs(const char *path, mode_t mode)
{
    struct stat st;
    int err = 0;
    if (strlen(path) >= PATH_MAX)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    if (make_dir(path, mode) != 0 && errno != EEXIST)
        err = errno == ENOENT ? make_each(path, mode) : err_from_errno(errno);
    if (err)
        return err;
    if (stat(path, &st) != 0)
        return err_from_errno(errno);
    if (!S_ISDIR(st.st_mode))
        return errno = ENOTDIR, BEZEL_ESYS;
    return 0;
}

int file_write_all(int fd, const void *data, size_t n)
{
    const char *p = data;
    while (n > 0) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return err_from_errno(errno);
        p += w;
        n -= (size_t)w;
    }
    return 0;
}

static void share(int fd, int folder, mode_t group)
{
    struct stat with, file;
    mode_t mode = 0600;
    if (fstat(folder, &with) == 0 && (with.st_mode & group) && fstat(fd, &file) == 0 &&
        (file.st_gid == with.st_gid || fchown(fd, (uid_t)-1, with.st_gid) == 0))
        mode |= with.st_mode & group;
    (void)fchmod(fd, mode);
}

void file_share(int fd, int folder)
{
    share(fd, folder, 060);
}

void file_show(int fd, int folder)
{
    share(fd, folder, 040);
}

struct how {
    mode_t mode;
    bool lasting, exact, new; /* see file_replace_lasting() and file_replace_exact() */
};

/*
 * `path` is relative to `folder`; unless that is AT_FDCWD, the file is shared with the folder's group. A file that
 * already has the temporary name is removed, never written through: in a group's folder it may be another user's link.
 * link() does not replace, rename() does.
 */
static int replace(int folder, const char *path, const void *data, size_t n, struct how how)
{
    char temporary[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int dir_len = slash ? (int)(slash - path) + 1 : 0;
    int len = snprintf(temporary, sizeof temporary, "%.*s.%s.tmp", dir_len, path, path + dir_len);
    if (len < 0 || (size_t)len >= sizeof temporary)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    unlinkat(folder, temporary, 0);
    int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, how.mode);
    if (fd < 0)
        return err_from_errno(errno);
    if (folder != AT_FDCWD)
        file_share(fd, folder);
    struct stat st; /* FAT and the like give everybody all rights */
    bool open_to_others = how.exact && fstat(fd, &st) == 0 && (st.st_mode & 0777 & ~how.mode);
    int err = open_to_others ? (errno = EPERM, BEZEL_EPERM) : file_write_all(fd, data, n);
    if (!err && how.lasting && fsync(fd) != 0)
        err = err_from_errno(errno);
    if (close(fd) != 0 && !err)
        err = err_from_errno(errno);
    if (!err && (how.new ? linkat(folder, temporary, folder, path, 0) : renameat(folder, temporary, folder, path)) != 0)
        err = errno == EEXIST ? BEZEL_EBUSY : err_from_errno(errno);
    if (err || how.new) {
        int saved = errno;
        unlinkat(folder, temporary, 0);
        errno = saved;
    }
    return err;
}

int file_replace(const char *path, const void *data, size_t n)
{
    return replace(AT_FDCWD, path, data, n, (struct how){.mode = 0666});
}

int file_replace_in(const char *dir, const char *name, const void *data, size_t n)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    return file_replace(path, data, n);
}

int file_replace_lasting(const char *path, const void *data, size_t n)
{
    return replace(AT_FDCWD, path, data, n, (struct how){.mode = 0666, .lasting = true});
}

int file_replace_shared(int folder, const char *name, const void *data, size_t n)
{
    return replace(folder, name, data, n, (struct how){.mode = 0600});
}

int file_replace_exact(const char *path, const void *data, size_t n, mode_t mode, bool new)
{
    return replace(AT_FDCWD, path, data, n, (struct how){.mode = mode, .lasting = true, .exact = true, .new = new});
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Where the last `plain` names of `path` begin. */
static const char *plain_part(const char *path, unsigned plain)
{
    const char *at = path + strlen(path);
    for (; plain > 0 && at > path; plain--) {
        while (at > path && at[-1] == '/')
            at--;
        while (at > path && at[-1] != '/')
            at--;
    }
    return at;
}

/* Opens the folder that `path` names up to `end`, links and all. */
static int open_front(const char *path, const char *end)
{
    char front[PATH_MAX];
    size_t n = (size_t)(end - path);
    if (n >= sizeof front)
        return errno = ENAMETOOLONG, -1;
    memcpy(front, path, n);
    front[n] = '\0';
    return open(n ? front : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool is_link(int at, const char *name)
{
    struct stat st;
    return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/* Opens `path` below folder `at`, which it closes, name by name, with `flags` for the last one. */
static int open_below(int at, const char *path, int flags)
{
    while (at >= 0) {
        char name[NAME_MAX + 1];
        size_t n = strcspn(path, "/");
        const char *rest = path + n + strspn(path + n, "/");
        int fd = -1;
        if (n > NAME_MAX)
            errno = ENAMETOOLONG;
        else {
            snprintf(name, sizeof name, "%.*s", (int)n, path);
            fd = openat(at, name, O_CLOEXEC | O_NOFOLLOW | (*rest ? O_PATH | O_DIRECTORY : flags));
            if (fd < 0 && errno == ENOTDIR && is_link(at, name))
                errno = ELOOP;
        }
        int saved = errno;
        close(at);
        errno = saved;
        if (fd < 0 || !*rest)
            return fd;
        at = fd;
        path = rest;
    }
    return -1;
}

int file_open_plain(const char *path, unsigned plain, bool folder)
{
    struct stat st = {0};
    const char *part = plain_part(path, plain);
    int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (folder ? O_DIRECTORY : 0);
    int fd = *part ? open_below(open_front(path, part), part, flags) : open(path, flags);
    if (fd < 0)
        return err_from_errno(errno);
    if (folder || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
        return fd;
    bool is_folder = S_ISDIR(st.st_mode);
    close(fd);
    errno = is_folder ? EISDIR : EINVAL;
    return BEZEL_EINVAL;
}

/* The folder in which `path` lies below `folder`, made where it is missing; *last is its name there. -1 with errno. */
static int open_folder_below(int folder, const char *path, const char **last)
{
    char part[PATH_MAX];
    int at = dup(folder);
    if (at < 0 || snprintf(part, sizeof part, "%s", path) >= (int)sizeof part) {
        if (at >= 0)
            close(at);
        return errno = at < 0 ? errno : ENAMETOOLONG, -1;
    }
    *last = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    for (char *p = part, *slash; at >= 0 && (slash = strchr(p, '/')); p = slash + 1) {
        *slash = '\0';
        int next = mkdirat(at, p, 0777) == 0 || errno == EEXIST
                       ? openat(at, p, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                       : -1;
        int saved = errno;
        close(at);
        errno = saved;
        at = next;
    }
    return at;
}

int file_open_below(int folder, const char *path)
{
    const char *last;
    struct stat st;
    int at = open_folder_below(folder, path, &last);
    int fd = at < 0 ? -1 : openat(at, last, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    int saved = errno;
    if (at >= 0)
        close(at);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)) {
        close(fd);
        fd = -1;
        saved = EPERM;
    }
    errno = saved;
    return fd;
}

DIR *file_open_dir(const char *path, unsigned plain)
{
    int fd = file_open_plain(path, plain, true);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !dir)
        close(fd);
    return dir;
}

/* Reads once. With `wait` it blocks until there is something to read. */
static ssize_t read_some(int fd, char *to, size_t n, bool wait)
{
    for (;;) {
        ssize_t r = read(fd, to, n);
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (r >= 0 || (errno != EINTR && (errno != EAGAIN || !wait || (poll(&p, 1, -1) < 0 && errno != EINTR))))
            return r;
    }
}

static int read_all(int fd, size_t max, bool wait, char **data, size_t *n)
{
    size_t capacity = 4096, used = 0;
    char *buffer = malloc(capacity + 1);
    while (buffer) {
        ssize_t r = read_some(fd, buffer + used, capacity - used, wait);
        used += r > 0 ? (size_t)r : 0;
        if (r < 0 || used > max) {
            int sys = r < 0 ? errno : EFBIG;
            free(buffer);
            errno = sys;
            return r < 0 ? err_from_errno(sys) : BEZEL_EINVAL;
        }
        if (r == 0) {
            buffer[used] = '\0';
            *data = buffer;
            *n = used;
            return 0;
        }
        if (used < capacity)
            continue;
        char *larger = realloc(buffer, (capacity *= 2) + 1);
        if (!larger)
            free(buffer);
        buffer = larger;
    }
    return BEZEL_ENOMEM;
}

int file_read_plain(const char *path, unsigned plain, size_t max, char **data, size_t *n)
{
    int fd = file_open_plain(path, plain, false);
    if (fd < 0)
        return fd;
    int err = read_all(fd, max, false, data, n), saved = errno;
    close(fd);
    errno = saved;
    return err;
}

int file_read(const char *path, size_t max, char **data, size_t *n)
{
    return file_read_plain(path, 0, max, data, n);
}

int file_read_stream(int fd, size_t max, char **data, size_t *n)
{
    return read_all(fd, max, true, data, n);
}

struct dirent *file_next(DIR *dir, int *err)
{
    errno = 0; /* readdir() leaves it at the end */
    struct dirent *entry = readdir(dir);
    *err = entry ? 0 : err_from_errno(errno);
    return entry;
}

static int file_remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

int file_remove_tree(const char *path)
{
    if (nftw(path, file_remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        return err_from_errno(errno);
    return 0;
}

/* Of a folder above it where `path` is missing. */
static bool find_room(const char *path, struct statvfs *room)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash; statvfs(folder, room) != 0; *slash = '\0')
        if (!(slash = strrchr(folder, '/')) || slash == folder)
            return statvfs(slash ? "/" : ".", room) == 0;
    return true;
}

const char *file_room(const char *path, int sys)
{
    struct statvfs room;
    if (sys != ENOSPC && sys != EDQUOT)
        return "";
    int before = errno;
    bool files = sys == ENOSPC && find_room(path, &room) && room.f_files > 0 && room.f_favail == 0 && room.f_bavail > 0;
    errno = before;
    return files ? ", for further files alone (inodes, `df -i`): remove files there" : ": make room there";
}

void file_hold_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return; /* no /dev: the lowest free number stays free */
}

void file_raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

void file_default_dir(char path[FILE_DEFAULT_DIR_BYTES])
{
    snprintf(path, FILE_DEFAULT_DIR_BYTES, "/dev/shm/bezel-%u", (unsigned)geteuid());
}

void file_bezel_dir(char *path, size_t size)
{
    char standard[FILE_DEFAULT_DIR_BYTES];
    const char *set = secure_getenv("BEZEL_DIR");
    file_default_dir(standard);
    snprintf(path, size, "%s", set && *set ? set : standard);
}

const char *file_runtime_dir(void)
{
    const char *dir = secure_getenv("XDG_RUNTIME_DIR");
    struct stat st;
    bool ours = dir && dir[0] == '/' && stat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
                (st.st_mode & 022) == 0;
    return ours ? dir : NULL;
}

bool file_is_locked(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK};
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool locked = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return locked;
}

int file_text_end(FILE *out, char **text)
{
    bool bad = out && ferror(out);
    if (out && fclose(out) == 0 && !bad)
        return 0;
    if (out)
        free(*text);
    *text = NULL;
    return BEZEL_ENOMEM;
}
