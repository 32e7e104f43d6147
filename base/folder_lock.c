// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/folder_lock.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

/*
 * Whoever has the lock of the file has that of the folder: else a process of this machine would be taken for one of
 * another. So the folder is locked first, and unlocked last, also where the process is killed: the kernel closes the
 * lower descriptor first.
 */
int folder_lock(int folder, struct folder_lock *l)
{
    l->file = openat(folder, FOLDER_LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    l->folder = fcntl(folder, F_DUPFD_CLOEXEC, l->file + 1);
    bool locked = flock(folder, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno == EWOULDBLOCK)
        return BEZEL_EBUSY;
    if (l->file >= 0 && fcntl(l->file, F_OFD_SETLK, &(struct flock){.l_type = F_WRLCK}) == 0)
        return 0;
    if (l->file >= 0 && (errno == EAGAIN || errno == EACCES))
        return BEZEL_EBUSY;
    return locked ? 0 : BEZEL_ESYS;
}

void folder_unlock(struct folder_lock *l)
{
    if (l->file >= 0) {
        (void)fcntl(l->file, F_OFD_SETLK, &(struct flock){.l_type = F_UNLCK}); /* FUSE closes files some time later */
        close(l->file);
    }
    if (l->folder >= 0)
        close(l->folder);
    l->file = l->folder = -1;
}

enum folder_holder folder_holder(const char *path)
{
    char file[PATH_MAX + sizeof FOLDER_LOCK_FILE];
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return FOLDER_FREE;
    bool free = flock(fd, LOCK_SH | LOCK_NB) == 0, held = !free && errno == EWOULDBLOCK;
    snprintf(file, sizeof file, "%.*s/" FOLDER_LOCK_FILE, PATH_MAX - 1, path);
    bool file_held = !held && file_is_locked(file);
    close(fd);
    return file_held && free ? FOLDER_HELD_ELSEWHERE : held || file_held ? FOLDER_HELD : FOLDER_FREE;
}
