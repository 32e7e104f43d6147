// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/shm/marks.h"

#include "base/file.h"
#include "base/procstat.h"
#include "sensor/shm/litter.h"
#include "sensor/shm/segment_create.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* At most *room entries, which it reduces. */
static void take_file(int fd, uid_t user, int *room, struct doorbell *doorbell)
{
    struct segment_mark mark;
    char why[SEGMENT_NOTICE_BYTES];
    uint64_t pid_namespace = procstat_namespace();
    for (; *room > 0 && read(fd, &mark, sizeof mark) == (ssize_t)sizeof mark; --*room) {
        mark.name[sizeof mark.name - 1] = '\0';
        snprintf(why, sizeof why,
                 "%s of user %u, who may not write in the node's folder, or does not know it: BEZEL_DIR is unset",
                 mark.pid ? "it is" : "a program (/dev/shm had no room for its name) is", (unsigned)user);
        (void)sensor_refuse(doorbell, mark.pid, mark.name, pid_namespace, why);
    }
}

static void take_marks(int at, const char *name, uid_t owner, int *room, struct doorbell *doorbell)
{
    struct stat st;
    int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == owner)
        take_file(fd, owner, room, doorbell);
    if (fd >= 0)
        close(fd);
}

/* Whether the folder had marks for launchers that were killed, which nobody takes. */
static bool clear(int at)
{
    enum { LOOKS = 16 };
    bool cleared = false;
    int entries = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = entries >= 0 ? fdopendir(entries) : NULL;
    struct dirent *d;
    for (int i = 0; list && i < LOOKS && (d = readdir(list)); i++) {
        const char *dot = strchr(d->d_name, '.');
        if (dot && strcmp(dot, SEGMENT_MARKS) == 0)
            cleared = litter_remove_marks(at, d->d_name) || cleared;
    }
    if (list)
        closedir(list);
    else if (entries >= 0)
        close(entries);
    return cleared;
}

/*
 * `folder`, as /dev/shm has it. One that is not the default folder of its owner may have been made for the mark; such
 * ones have *room together, as one user can make many.
 */
static void take_folder(int shm, const char *folder, const char *name, int *room, struct doorbell *doorbell)
{
    char path[FILE_DEFAULT_DIR_BYTES];
    struct stat st;
    int own = SEGMENT_MARKS_MAX, at = openat(shm, folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0)
        return;
    if (fstat(at, &st) == 0) {
        snprintf(path, sizeof path, "bezel-%u", (unsigned)st.st_uid);
        bool is_default = strcmp(path, folder) == 0;
        bool has_marks = faccessat(at, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        if (has_marks) {
            take_marks(at, name, st.st_uid, is_default ? &own : room, doorbell);
            unlinkat(at, name, 0);
        }
        if (!is_default && (clear(at) || has_marks))
            unlinkat(shm, folder, AT_REMOVEDIR);
    }
    close(at);
}

void marks_take(void)
{
    char name[SEGMENT_MARKS_NAME_BYTES];
    int room = SEGMENT_MARKS_MAX;
    struct procstat self;
    struct doorbell *doorbell = procstat_read(0, &self) ? segment_map_doorbell(".") : NULL;
    DIR *shm = doorbell ? opendir("/dev/shm") : NULL;
    if (shm) {
        struct segment_launcher launcher = {getpid(), geteuid(), self.start_time, procstat_namespace()};
        segment_name_marks(&launcher, name);
        for (struct dirent *d; (d = readdir(shm));)
            if (strncmp(d->d_name, "bezel-", 6) == 0)
                take_folder(dirfd(shm), d->d_name, name, &room, doorbell);
        closedir(shm);
        segment_wake(doorbell);
    }
    if (doorbell)
        munmap(doorbell, sizeof *doorbell);
}
