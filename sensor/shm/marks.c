// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/shm/marks.h"

#include "base/file.h"
#include "base/procstat.h"
#include "sensor/shm/litter.h"
#include "sensor/shm/segment_create.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct taking {
    char name[SEGMENT_MARKS_NAME_BYTES];
    uint64_t pid_namespace;
    struct doorbell *doorbell;
    struct marks_callers *callers;
    size_t holes; /* each may be of a caller */
    int room;     /* for entries in folders that are no default ones */
};

/* Whether `pid` descends from us, or did: it, or one between, is gone. */
static bool descends(pid_t pid)
{
    struct procstat p;
    for (; pid > 1 && pid != getpid(); pid = p.parent)
        if (!procstat_read(pid, &p))
            return true;
    return pid == getpid();
}

static struct segment_mark *find_caller(struct marks_callers *callers, uint32_t pid)
{
    for (size_t i = 0; i < callers->count; i++)
        if (callers->list[i].pid == pid)
            return &callers->list[i];
    return NULL;
}

void marks_add_caller(struct marks_callers *callers, pid_t pid)
{
    char link[32], path[PATH_MAX];
    if (callers->count == MARKS_CALLERS_MAX || find_caller(callers, (uint32_t)pid) || !descends(pid))
        return;
    struct segment_mark *caller = &callers->list[callers->count++];
    *caller = (struct segment_mark){.pid = (uint32_t)pid};
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    procstat_program(link, path, sizeof path);
    snprintf(caller->name, sizeof caller->name, "%s", file_name(path));
}

static void take_callers(struct taking *t)
{
    char why[SEGMENT_NOTICE_BYTES];
    for (const struct segment_mark *c = t->callers->list; c < t->callers->list + t->callers->count; c++) {
        if (!c->pid)
            continue;
        if (t->holes > 0) {
            t->holes--;
            continue;
        }
        snprintf(why, sizeof why,
                 "%s is of another user than the launcher, or in a user namespace with another /dev/shm (bwrap: bind "
                 "it). There may be more",
                 c->name[0] ? "it" : "a program that ended at once");
        (void)sensor_refuse(t->doorbell, c->pid, c->name, t->pid_namespace, why);
    }
    t->callers->count = 0;
}

/* At most *room entries, which it reduces. */
static void take_file(struct taking *t, int fd, uid_t user, int *room)
{
    struct segment_mark mark, *caller;
    char why[SEGMENT_NOTICE_BYTES];
    for (; *room > 0 && read(fd, &mark, sizeof mark) == (ssize_t)sizeof mark; --*room) {
        mark.name[sizeof mark.name - 1] = '\0';
        snprintf(why, sizeof why,
                 "%s of user %u, who may not write in the node's folder, or does not know it: BEZEL_DIR is unset",
                 mark.pid ? "it is" : "a program (/dev/shm had no room for its name) is", (unsigned)user);
        (void)sensor_refuse(t->doorbell, mark.pid, mark.name, t->pid_namespace, why);
        if (!mark.pid)
            t->holes++;
        else if ((caller = find_caller(t->callers, mark.pid)))
            caller->pid = 0;
    }
}

static void take_marks(struct taking *t, int at, uid_t owner, int *room)
{
    struct stat st;
    int fd = openat(at, t->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == owner)
        take_file(t, fd, owner, room);
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
 * ones have t->room together, as one user can make many.
 */
static void take_folder(struct taking *t, int shm, const char *folder)
{
    char path[FILE_DEFAULT_DIR_BYTES];
    struct stat st;
    int own = SEGMENT_MARKS_MAX, at = openat(shm, folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0)
        return;
    if (fstat(at, &st) == 0) {
        snprintf(path, sizeof path, "bezel-%u", (unsigned)st.st_uid);
        bool is_default = strcmp(path, folder) == 0;
        bool has_marks = faccessat(at, t->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        if (has_marks) {
            take_marks(t, at, st.st_uid, is_default ? &own : &t->room);
            unlinkat(at, t->name, 0);
        }
        if (!is_default && (clear(at) || has_marks))
            unlinkat(shm, folder, AT_REMOVEDIR);
    }
    close(at);
}

void marks_take(struct marks_callers *callers)
{
    struct procstat self;
    struct taking t = {.callers = callers, .room = SEGMENT_MARKS_MAX, .pid_namespace = procstat_namespace()};
    t.doorbell = procstat_read(0, &self) ? segment_map_doorbell(".") : NULL;
    DIR *shm = t.doorbell ? opendir("/dev/shm") : NULL;
    if (shm) {
        struct segment_launcher launcher = {getpid(), geteuid(), self.start_time, t.pid_namespace};
        segment_name_marks(&launcher, t.name);
        for (struct dirent *d; (d = readdir(shm));)
            if (strncmp(d->d_name, "bezel-", 6) == 0)
                take_folder(&t, dirfd(shm), d->d_name);
        closedir(shm);
    }
    if (t.doorbell) {
        take_callers(&t);
        segment_wake(t.doorbell);
        munmap(t.doorbell, sizeof *t.doorbell);
    }
}
