// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/disk_calls.h"

#include "tests/lib/seed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static struct {
    struct disk_model *disk; /* NULL: nothing is watched */
    void (*before)(void *context);
    void *context;
    bool paused;
    uint64_t *split;
    unsigned kinds;
    uint64_t at, count, made, failed;
    int error;
    uint64_t size;
} watch;

void disk_calls_watch(struct disk_model *d, void (*before)(void *context), void *context)
{
    memset(&watch, 0, sizeof watch);
    watch.disk = d;
    watch.before = before;
    watch.context = context;
}

void disk_calls_end(void)
{
    watch.disk = NULL;
}

void disk_calls_pause(bool paused)
{
    watch.paused = paused;
}

void disk_calls_split(uint64_t *seed)
{
    watch.split = seed;
}

void disk_calls_fail(unsigned kinds, uint64_t at, uint64_t count, int error)
{
    watch.kinds = kinds;
    watch.at = at;
    watch.count = count;
    watch.error = error;
    watch.made = watch.failed = 0;
}

uint64_t disk_calls_made(void)
{
    return watch.made;
}

uint64_t disk_calls_failed(void)
{
    return watch.failed;
}

void disk_calls_size(uint64_t bytes)
{
    watch.size = bytes;
}

/* ---- a call ------------------------------------------------------------------------------------------------------ */

static bool is_open(const struct call *c)
{
#ifdef SYS_open
    if (c->number == SYS_open)
        return true;
#endif
    return c->number == SYS_openat;
}

static bool is_write(const struct call *c)
{
    return c->number == SYS_write || c->number == SYS_pwrite64;
}

static unsigned kinds_of(const struct call *c)
{
    uint64_t flags = c->number == SYS_openat ? c->args[2] : c->args[1];
    if (is_open(c))
        return flags & O_CREAT ? DISK_ROOM | DISK_CHANGES : (flags & O_ACCMODE) != O_RDONLY ? DISK_CHANGES : DISK_READS;
    if (c->number == SYS_read || c->number == SYS_pread64)
        return DISK_READS;
    if (!disk_changes(c->number))
        return 0;
    if (c->number == SYS_fsync || c->number == SYS_fdatasync)
        return DISK_SYNCS | DISK_CHANGES;
    if (is_write(c) || c->number == SYS_fallocate)
        return DISK_ROOM | DISK_WRITES | DISK_CHANGES;
    bool makes_folder = c->number == SYS_mkdirat;
#ifdef SYS_mkdir
    makes_folder = makes_folder || c->number == SYS_mkdir;
#endif
    return makes_folder ? DISK_ROOM | DISK_CHANGES : DISK_CHANGES;
}

static long execute(struct call *c)
{
    const uint64_t *a = c->args;
    long result = syscall(c->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    int saved = errno;
    c->result = result < 0 ? -saved : result;
    disk_see(watch.disk, c);
    errno = saved;
    return result;
}

static long fail(struct call *c, int error)
{
    c->result = -error;
    disk_see(watch.disk, c);
    errno = error;
    return -1;
}

static void show(void)
{
    int saved = errno;
    watch.paused = true;
    if (watch.before)
        watch.before(watch.context);
    watch.paused = false;
    errno = saved;
}

/* A write of which only the first `n` bytes are to be done. */
static long execute_part(const struct call *c, uint64_t n)
{
    struct call part = *c;
    part.args[2] = n;
    return execute(&part);
}

static long execute_split(struct call *c)
{
    uint64_t n = c->args[2];
    long first = execute_part(c, 1 + seed_next(watch.split) % (n - 1));
    if (first < 0 || (uint64_t)first == n)
        return first;
    struct call rest = *c;
    show();
    rest.args[1] += (uint64_t)first;
    rest.args[2] -= (uint64_t)first;
    if (c->number == SYS_pwrite64)
        rest.args[3] += (uint64_t)first;
    long second = execute(&rest);
    return second < 0 ? first : first + second;
}

enum { SECTOR = 512 };

/* Whether a write has parts that a kill may come between. The kernel copies at once what lies in one sector. */
static bool has_parts(const struct call *c)
{
    bool within = c->number == SYS_pwrite64 && c->args[3] / SECTOR == (c->args[3] + c->args[2] - 1) / SECTOR;
    return is_write(c) && c->args[2] > 1 && !within;
}

/* What a full disk makes of it. */
static long execute_within_size(struct call *c)
{
    uint64_t growth = watch.size ? disk_growth(watch.disk, c) : 0, used = growth ? disk_bytes(watch.disk) : 0;
    uint64_t room = used < watch.size ? watch.size - used : 0;
    if (growth > room && (!is_write(c) || c->args[2] <= growth - room))
        return fail(c, ENOSPC);
    if (growth > room)
        return execute_part(c, c->args[2] - (growth - room));
    return watch.split && has_parts(c) ? execute_split(c) : execute(c);
}

static bool is_to_fail(unsigned kinds)
{
    if (!(kinds & watch.kinds))
        return false;
    watch.made++;
    bool fails = watch.at && watch.made >= watch.at && watch.made - watch.at < watch.count;
    watch.failed += fails;
    return fails;
}

static long make(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    struct call call = {.number = number, .args = {a, b, c, d}};
    if (!watch.disk || watch.paused || !disk_has(watch.disk, &call))
        return syscall(number, a, b, c, d);
    unsigned kinds = kinds_of(&call);
    if (disk_changes(number))
        show();
    if (is_to_fail(kinds)) {
        if (watch.error)
            return fail(&call, watch.error);
        if (is_write(&call) && c > 1)
            return execute_part(&call, 1 + c / 3);
    }
    return execute_within_size(&call);
}

/* ---- the functions ----------------------------------------------------------------------------------------------- */

#define SEEN __attribute__((visibility("default"))) /* by libraries */

/* Function `function`, under the names `name` and `twin`; some of them are macros or redirected in their headers. */
#define INTERPOSE(type, function, name, twin, ...)                                                                     \
    type our_##function(__VA_ARGS__) __asm__(name) SEEN;                                                               \
    type our_##function##_twin(__VA_ARGS__) __asm__(twin) __attribute__((alias(name))) SEEN;                           \
    type our_##function(__VA_ARGS__)
#define INTERPOSE_ONE(type, function, name, ...)                                                                       \
    type our_##function(__VA_ARGS__) __asm__(name) SEEN;                                                               \
    type our_##function(__VA_ARGS__)
#define ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))
#define NUMBER(fd)       ((uint64_t)(int64_t)(fd))

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

INTERPOSE(int, open, "open", "open64", const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return (int)make(SYS_openat, NUMBER(AT_FDCWD), ADDRESS(path), NUMBER(flags), mode);
}

INTERPOSE(int, openat, "openat", "openat64", int dir, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return (int)make(SYS_openat, NUMBER(dir), ADDRESS(path), NUMBER(flags), mode);
}

INTERPOSE_ONE(int, close, "close", int fd)
{
    return (int)make(SYS_close, NUMBER(fd), 0, 0, 0);
}

INTERPOSE(off_t, lseek, "lseek", "lseek64", int fd, off_t offset, int whence)
{
    return make(SYS_lseek, NUMBER(fd), NUMBER(offset), NUMBER(whence), 0);
}

INTERPOSE_ONE(ssize_t, read, "read", int fd, void *to, size_t n)
{
    return make(SYS_read, NUMBER(fd), ADDRESS(to), n, 0);
}

INTERPOSE(ssize_t, pread, "pread", "pread64", int fd, void *to, size_t n, off_t at)
{
    return make(SYS_pread64, NUMBER(fd), ADDRESS(to), n, NUMBER(at));
}

INTERPOSE_ONE(ssize_t, write, "write", int fd, const void *from, size_t n)
{
    return make(SYS_write, NUMBER(fd), ADDRESS(from), n, 0);
}

INTERPOSE(ssize_t, pwrite, "pwrite", "pwrite64", int fd, const void *from, size_t n, off_t at)
{
    return make(SYS_pwrite64, NUMBER(fd), ADDRESS(from), n, NUMBER(at));
}

/* As one write of all parts. */
INTERPOSE(ssize_t, pwritev, "pwritev", "pwritev64", int fd, const struct iovec *parts, int count, off_t at)
{
    size_t n = 0;
    for (int i = 0; i < count; i++)
        n += parts[i].iov_len;
    uint8_t *all = malloc(n + 1), *end = all;
    if (!all)
        abort();
    for (int i = 0; i < count; end += parts[i++].iov_len)
        memcpy(end, parts[i].iov_base, parts[i].iov_len);
    ssize_t done = make(SYS_pwrite64, NUMBER(fd), ADDRESS(all), n, NUMBER(at));
    int saved = errno;
    free(all);
    errno = saved;
    return done;
}

INTERPOSE(int, ftruncate, "ftruncate", "ftruncate64", int fd, off_t size)
{
    return (int)make(SYS_ftruncate, NUMBER(fd), NUMBER(size), 0, 0);
}

INTERPOSE(int, truncate, "truncate", "truncate64", const char *path, off_t size)
{
    return (int)make(SYS_truncate, ADDRESS(path), NUMBER(size), 0, 0);
}

INTERPOSE(int, fallocate, "posix_fallocate", "posix_fallocate64", int fd, off_t at, off_t n)
{
    return make(SYS_fallocate, NUMBER(fd), 0, NUMBER(at), NUMBER(n)) < 0 ? errno : 0;
}

INTERPOSE(int, punch, "fallocate", "fallocate64", int fd, int mode, off_t at, off_t n)
{
    return (int)make(SYS_fallocate, NUMBER(fd), NUMBER(mode), NUMBER(at), NUMBER(n));
}

INTERPOSE_ONE(int, fsync, "fsync", int fd)
{
    return (int)make(SYS_fsync, NUMBER(fd), 0, 0, 0);
}

INTERPOSE_ONE(int, fdatasync, "fdatasync", int fd)
{
    return (int)make(SYS_fdatasync, NUMBER(fd), 0, 0, 0);
}

INTERPOSE_ONE(int, rename, "rename", const char *from, const char *to)
{
    return (int)make(SYS_renameat, NUMBER(AT_FDCWD), ADDRESS(from), NUMBER(AT_FDCWD), ADDRESS(to));
}

INTERPOSE_ONE(int, renameat, "renameat", int from_dir, const char *from, int to_dir, const char *to)
{
    return (int)make(SYS_renameat, NUMBER(from_dir), ADDRESS(from), NUMBER(to_dir), ADDRESS(to));
}

INTERPOSE_ONE(int, unlink, "unlink", const char *path)
{
    return (int)make(SYS_unlinkat, NUMBER(AT_FDCWD), ADDRESS(path), 0, 0);
}

INTERPOSE_ONE(int, unlinkat, "unlinkat", int dir, const char *path, int flags)
{
    return (int)make(SYS_unlinkat, NUMBER(dir), ADDRESS(path), NUMBER(flags), 0);
}

INTERPOSE_ONE(int, mkdir, "mkdir", const char *path, mode_t mode)
{
    return (int)make(SYS_mkdirat, NUMBER(AT_FDCWD), ADDRESS(path), mode, 0);
}
