// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Preloaded: a file system that lacks something, below folder BEZEL_TEST_LACKS_IN. BEZEL_TEST_LACKS names it:
 * `exchange` (renameat2() with flags), `folders` (renameat2() of folders), `links` (symlink()), `flock`, `locks`
 * (fcntl()), `rights` (all files are everybody's), `maps` (mmap()), `capitals` (a file Tick.csv is there, which is
 * tick.csv too).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static int lacks(const char *what, const char *path)
{
    const char *lacking = getenv("BEZEL_TEST_LACKS"), *folder = getenv("BEZEL_TEST_LACKS_IN");
    return lacking && folder && strstr(lacking, what) && strncmp(path, folder, strlen(folder)) == 0;
}

static int file_lacks(const char *what, int fd)
{
    char name[64], path[4096];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    return lacks(what, path);
}

EXPORTED int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    if (flags && lacks("exchange", to))
        return errno = EINVAL, -1;
    struct stat st;
    if (lacks("folders", to) && fstatat(from_folder, from, &st, 0) == 0 && S_ISDIR(st.st_mode))
        return errno = EXDEV, -1;
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

EXPORTED int symlink(const char *target, const char *path)
{
    if (lacks("links", path))
        return errno = EPERM, -1;
    return (int)syscall(SYS_symlinkat, target, AT_FDCWD, path);
}

EXPORTED int flock(int fd, int operation)
{
    if (file_lacks("flock", fd))
        return errno = ENOLCK, -1;
    return (int)syscall(SYS_flock, fd, operation);
}

static int is_lock(int command)
{
    return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}

static int control(int fd, int command, void *argument)
{
    if (is_lock(command) && file_lacks("locks", fd))
        return errno = ENOLCK, -1;
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

EXPORTED int fcntl64(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return control(fd, command, argument);
}

#ifdef fcntl
#undef fcntl
#endif
int old_fcntl(int fd, int command, ...) __asm__("fcntl");
EXPORTED int old_fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return control(fd, command, argument);
}

/* ---- With the names that the programs of Bezel call, which are compiled alike
 * ---------------------------------------- */

EXPORTED int fstat(int fd, struct stat *st)
{
    int err = fstatat(fd, "", st, AT_EMPTY_PATH);
    if (err == 0 && file_lacks("rights", fd))
        st->st_mode |= 0777;
    return err;
}

EXPORTED void *mmap(void *at, size_t n, int rights, int flags, int fd, off_t from)
{
    if (fd >= 0 && (flags & MAP_SHARED) && file_lacks("maps", fd))
        return errno = ENODEV, MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, n, rights, flags, fd, from);
}

EXPORTED FILE *fopen(const char *path, const char *mode)
{
    FILE *(*next)(const char *, const char *);
    const char *name = strrchr(path, '/');
    if (name && strcmp(name, "/tick.csv") == 0 && strchr(mode, 'x') && lacks("capitals", path))
        return errno = EEXIST, NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "fopen64");
    return next(path, mode);
}
