// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/folder.h"
#include "base/table.h"
#include "ecs/cli/doctor.h"
#include "sensor/shm/segment_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { STALE_NAMED = 8, FOLDERS_DEEP = 3 };

#define SPACE_LITTLE (UINT64_C(64) << 20) /* a window and some tens of rings */
#define SPACE_NONE   (UINT64_C(16) << 20)

static const char *const area = "shared memory";

/* The nearest ancestor of `path`, itself included, that exists. */
static void existing_part(const char *path, char part[PATH_MAX])
{
    snprintf(part, PATH_MAX, "%s", path);
    while (access(part, F_OK) != 0) {
        char *slash = strrchr(part, '/');
        if (!slash) {
            snprintf(part, PATH_MAX, ".");
            return;
        }
        slash[slash == part] = '\0';
    }
}

static void check_missing_folder(struct doctor *d, const char *dir)
{
    char part[PATH_MAX];
    struct stat st;
    existing_part(dir, part);
    bool may = access(part, W_OK | X_OK) == 0;
    int sys = errno;
    bool is_dir = stat(part, &st) == 0 && S_ISDIR(st.st_mode);
    if (may && is_dir)
        doctor_add(d, DOCTOR_OK, area, "folder", NULL, "%s does not exist yet and can be made", dir);
    else
        doctor_add(d, DOCTOR_PROBLEM, area, "folder", "export BEZEL_DIR=<a folder in a tmpfs that you may write to>",
                   "%s cannot be made: %s: %s", dir, part, strerror(is_dir ? sys : ENOTDIR));
}

/* The command that repairs a folder which is not trusted. */
static void distrust_remedy(char *remedy, size_t size, const char *dir)
{
    struct stat st;
    bool own = lstat(dir, &st) == 0 && st.st_uid == geteuid();
    if (own && S_ISDIR(st.st_mode))
        snprintf(remedy, size, "chmod 700 %s", dir);
    else if (own)
        snprintf(remedy, size, "rm %s", dir);
    else
        snprintf(remedy, size, "export BEZEL_DIR=<a folder of your own in a tmpfs>, or: sudo rm -r %s", dir);
}

static void check_folder(struct doctor *d, const char *dir)
{
    char remedy[2 * PATH_MAX];
    struct folder f;
    struct stat st;
    int err = folder_open(dir, &f);
    if (err && lstat(dir, &st) != 0) {
        check_missing_folder(d, dir);
    } else if (err && !f.why[0]) {
        doctor_add(d, DOCTOR_PROBLEM, area, "folder", "export BEZEL_DIR=<a folder of your own in a tmpfs>", "%s: %s",
                   dir, strerror(errno));
    } else if (err) {
        distrust_remedy(remedy, sizeof remedy, dir);
        doctor_add(d, DOCTOR_PROBLEM, area, "folder", remedy, "%s %s", dir, f.why);
    } else if (fstat(f.fd, &st) != 0 || access(dir, R_OK | W_OK | X_OK) != 0) {
        doctor_add(d, DOCTOR_PROBLEM, area, "folder", "export BEZEL_DIR=<a folder of your own in a tmpfs>",
                   "you may not write to %s: %s", dir, strerror(errno));
    } else if (f.shared) {
        doctor_add(d, DOCTOR_OK, area, "folder", NULL,
                   "%s, yours and group %u's, whose members can end programs that record there", dir,
                   (unsigned)st.st_gid);
    } else if (st.st_mode & 077) {
        snprintf(remedy, sizeof remedy, "chmod 700 %s", dir);
        doctor_add(d, DOCTOR_PROBLEM, area, "folder", remedy, "%s is open to others (mode %03o)", dir,
                   (unsigned)st.st_mode & 0777);
    } else {
        doctor_add(d, DOCTOR_OK, area, "folder", NULL, "%s, yours alone", dir);
    }
    folder_close(&f);
}

static void check_space(struct doctor *d, const char *dir)
{
    char part[PATH_MAX];
    struct statfs fs;
    existing_part(dir, part);
    if (statfs(part, &fs) != 0) {
        doctor_add(d, DOCTOR_PROBLEM, area, "space", "ls -ld /dev/shm", "%s: %s", part, strerror(errno));
        return;
    }
    bool in_memory = fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC;
    if (!in_memory)
        doctor_add(d, DOCTOR_WARNING, area, "kind", "unset BEZEL_DIR, or let it name a folder in /dev/shm",
                   "%s is not in memory, so the kernel writes every ring to disk", part);
    uint64_t block = (uint64_t)fs.f_bsize, size = block * fs.f_blocks, left = block * fs.f_bavail;
    enum doctor_level level = left < SPACE_NONE ? DOCTOR_PROBLEM : left < SPACE_LITTLE ? DOCTOR_WARNING : DOCTOR_OK;
    const char *remedy = in_memory ? "sudo mount -o remount,size=1G /dev/shm (a container: docker run --shm-size=1g)"
                                   : "unset BEZEL_DIR, or make room there";
    doctor_add(d, level, area, "space", remedy, "%s free of %s", units_bytes(left).s, units_bytes(size).s);
}

/* ---- segments that no process uses ---- */

struct stale {
    unsigned count, segments;
    uint64_t bytes;
    char remedy[PATH_MAX];
};

static void check_segment(struct stale *s, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    struct stat st;
    s->segments++;
    if (!segment_is_locked(fd, SEGMENT_LOCK_PROCESS) && !segment_is_locked(fd, SEGMENT_LOCK_READER) &&
        fstat(fd, &st) == 0) {
        size_t used = strlen(s->remedy);
        if (s->count++ < STALE_NAMED)
            snprintf(s->remedy + used, sizeof s->remedy - used, " %s", path);
        s->bytes += (uint64_t)st.st_blocks * 512;
    }
    close(fd);
}

static void scan_folder(struct stale *s, const char *dir, int depth)
{
    DIR *folder = opendir(dir);
    if (!folder)
        return;
    for (struct dirent *e; (e = readdir(folder));) {
        char path[PATH_MAX];
        size_t n = strlen(e->d_name), suffix = sizeof SEGMENT_SUFFIX - 1;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name) >= (int)sizeof path)
            continue;
        if (e->d_type == DT_DIR && depth > 0)
            scan_folder(s, path, depth - 1);
        else if (e->d_type == DT_REG && n > suffix && strcmp(e->d_name + n - suffix, SEGMENT_SUFFIX) == 0)
            check_segment(s, path);
    }
    closedir(folder);
}

static void check_segments(struct doctor *d, const char *dir)
{
    struct stale s = {.remedy = "rm"};
    scan_folder(&s, dir, FOLDERS_DEEP);
    if (s.count == 0)
        doctor_add(d, DOCTOR_OK, area, "segments", NULL, "%u, none left behind by a dead process", s.segments);
    else
        doctor_add(
            d, DOCTOR_WARNING, area, "segments", s.remedy,
            "%u of %u were left behind by dead processes (%s); an experiment that reads this folder collects them",
            s.count, s.segments, units_bytes(s.bytes).s);
}

void doctor_memory(struct doctor *d)
{
    char dir[PATH_MAX];
    file_bezel_dir(dir, sizeof dir);
    check_folder(d, dir);
    check_space(d, dir);
    check_segments(d, dir);
    const struct passwd *user = getpwuid(geteuid());
    if (user)
        doctor_logout(d, "", dir, user->pw_name, user->pw_uid);
}
