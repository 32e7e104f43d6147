// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where it is mounted; -1: nowhere. */
static int open_mounted(void)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent entry;
    char text[4096];
    int dir = -1;
    while (mounts && dir < 0 && getmntent_r(mounts, &entry, text, sizeof text))
        if (strcmp(entry.mnt_type, "tracefs") == 0)
            dir = open(entry.mnt_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (mounts)
        endmntent(mounts);
    return dir;
}

/* A mount that has no place in the file system: it ends with its descriptor. */
static int mount_own(void)
{
    int fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC), dir = -1;
    if (fs >= 0 && syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        dir = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID);
    if (fs >= 0)
        close(fs);
    return dir;
}

bool tracefs_read(const char *name, char *text, size_t size)
{
    int dir = open_mounted(), fd = -1;
    if (dir < 0)
        dir = mount_own();
    if (dir >= 0)
        fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    else
        errno = ENODEV;
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
    errno = error;
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}
