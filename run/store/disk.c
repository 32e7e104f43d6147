// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/store/disk.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int disk_write(int fd, const void *bytes, size_t n, uint64_t at)
{
    const uint8_t *p = bytes;
    size_t done = 0;
    while (done < n) {
        ssize_t w = pwrite(fd, p + done, n - done, (off_t)(at + done));
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0) {
            int sys = w < 0 ? errno : EIO;
            /* If this fails, too, the torn tail stays: the next packet overwrites it, or a restart removes it. */
            (void)!ftruncate(fd, (off_t)at);
            return sys;
        }
        done += (size_t)w;
    }
    return 0;
}

int disk_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno;
    int sys = fsync(fd) != 0 ? errno : 0;
    close(fd);
    return sys;
}

int disk_sync_parent(const char *path)
{
    char parent[PATH_MAX + 8];
    const char *end = path + strlen(path);
    while (end > path + 1 && end[-1] == '/')
        end--;
    while (end > path && end[-1] != '/')
        end--;
    if (end - path >= PATH_MAX)
        return ENAMETOOLONG;
    memcpy(parent, path, (size_t)(end - path));
    memcpy(parent + (end - path), ".", 2); /* "a/b" gives "a/.", "b" gives "." */
    return disk_sync(parent);
}

static int copy(int from, int to, uint64_t at)
{
    enum { PART = 1 << 16 };
    char *part = malloc(PART);
    int sys = part ? 0 : ENOMEM;
    while (!sys) {
        ssize_t n = pread(from, part, PART, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            sys = n < 0 ? errno : 0;
            break;
        }
        if (file_write_all(to, part, (size_t)n) != 0)
            sys = errno;
        at += (uint64_t)n;
    }
    free(part);
    return sys;
}

int disk_keep_tail(const char *from, uint64_t at, const char *into, bool sync)
{
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (in < 0)
        return errno;
    int out = open(into, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    int sys = out < 0 ? errno : copy(in, out, at);
    if (!sys && sync && fsync(out) != 0)
        sys = errno;
    if (out >= 0)
        close(out);
    close(in);
    return sys;
}

void disk_hidden(const char *path, char hidden[PATH_MAX + 1])
{
    size_t dir = (size_t)(strrchr(path, '/') - path) + 1;
    memcpy(hidden, path, dir);
    hidden[dir] = '.';
    memcpy(hidden + dir + 1, path + dir, strlen(path + dir) + 1);
}
