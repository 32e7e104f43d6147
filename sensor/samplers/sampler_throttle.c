// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * CPU quotas of cgroups: a thread whose group has used up its quota is no longer run, and the kernel counts that time
 * for the group, when it ends. To the scheduler's records such a thread was preempted.
 */
#include "base/clock.h"
#include "sensor/samplers/sampler_switches.h"

#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUPS = 4 }; /* with a quota, of one process: its own, and those around it */

#define THROTTLE_FIND (10 * CLOCK_S) /* between two looks for a process's groups */

struct sampler_throttle {
    uint32_t count;
    int fds[GROUPS];       /* cpu.stat of each */
    int64_t found;         /* when they were looked for; 0: not yet */
    int64_t last, earlier; /* their sum at the beginning of this turn, and of the one before */
};

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

/* Where the groups with controller cpu are mounted; `second`: of version 2. */
static bool find_mount(bool second, char *dir, size_t size)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent entry;
    char text[4096];
    bool found = false;
    while (mounts && !found && getmntent_r(mounts, &entry, text, sizeof text))
        found = strcmp(entry.mnt_type, second ? "cgroup2" : "cgroup") == 0 && (second || hasmntopt(&entry, "cpu")) &&
                (size_t)snprintf(dir, size, "%s", entry.mnt_dir) < size;
    if (mounts)
        endmntent(mounts);
    return found;
}

static int open_file(const char *group, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", group, name);
    return n > 0 && (size_t)n < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

/* Whether a group has a quota: a number of us; "max" or -1 is none. */
static bool is_bounded(const char *group, bool second)
{
    char text[32] = "";
    int fd = open_file(group, second ? "cpu.max" : "cpu.cfs_quota_us");
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    return n > 0 && strtoll(text, NULL, 10) > 0;
}

static void close_groups(struct sampler_throttle *q)
{
    while (q->count > 0)
        close(q->fds[--q->count]);
}

/* Opens the groups with a quota, from the one at `path` below `dir` to the outermost. */
static void open_groups(struct sampler_throttle *q, const char *dir, const char *path, bool second)
{
    char group[PATH_MAX];
    size_t least = strlen(dir);
    if ((size_t)snprintf(group, sizeof group, "%s%s", dir, path) >= sizeof group)
        return;
    for (char *end; strlen(group) > least + 1 && q->count < GROUPS; *end = '\0') {
        int fd = is_bounded(group, second) ? open_file(group, "cpu.stat") : -1;
        if (fd >= 0)
            q->fds[q->count++] = fd;
        end = strrchr(group, '/');
    }
}

/* A line of /proc/PID/cgroup: "4:cpu,cpuacct:/path", or "0::/path" of version 2. */
static bool read_group(char *line, bool second, char **path)
{
    char *controllers = strchr(line, ':');
    *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!*path)
        return false;
    *(*path)++ = '\0';
    (*path)[strcspn(*path, "\n")] = '\0';
    if (second)
        return controllers[1] == '\0';
    for (char *rest = NULL, *c = strtok_r(controllers + 1, ",", &rest); c; c = strtok_r(NULL, ",", &rest))
        if (strcmp(c, "cpu") == 0)
            return true;
    return false;
}

static void find_groups(struct sampler_throttle *q, uint32_t pid)
{
    char name[32], dir[PATH_MAX / 2], line[PATH_MAX], *path;
    close_groups(q);
    for (int second = 0; second < 2; second++) {
        snprintf(name, sizeof name, "/proc/%u/cgroup", pid);
        FILE *groups = find_mount(second, dir, sizeof dir) ? fopen(name, "re") : NULL;
        while (groups && fgets(line, sizeof line, groups))
            if (read_group(line, second, &path))
                open_groups(q, dir, path, second);
        if (groups)
            fclose(groups);
    }
}

/* ---- Time without a CPU ------------------------------------------------------------------------------------------ */

/* For how long the groups were not run, so far. */
static int64_t read_throttled(const struct sampler_throttle *q)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < q->count; i++) {
        char text[512];
        ssize_t n = pread(q->fds[i], text, sizeof text - 1, 0);
        text[n > 0 ? n : 0] = '\0';
        const char *ns = strstr(text, "throttled_time "), *us = strstr(text, "throttled_usec ");
        if (ns || us)
            sum += ns ? strtoll(strchr(ns, ' '), NULL, 10) : strtoll(strchr(us, ' '), NULL, 10) * CLOCK_US;
    }
    return sum;
}

void sampler_begin_throttle(struct samplers *s, struct sampler_process_state *place, uint32_t pid, int64_t now)
{
    struct sampler_throttle *q = place->throttle;
    if (!q && !(q = place->throttle = calloc(1, sizeof *q)))
        return;
    s->switches->throttle = q;
    if (q->found && now - q->found < THROTTLE_FIND) {
        q->earlier = q->last;
        q->last = read_throttled(q);
        return;
    }
    find_groups(q, pid);
    q->found = now;
    q->earlier = q->last = read_throttled(q);
}

int64_t sampler_throttled(struct samplers *s, int64_t *taken)
{
    const struct sampler_throttle *q = s->switches->throttle;
    if (!q || q->count == 0)
        return 0;
    int64_t sum = read_throttled(q), grown = sum - (*taken > q->earlier ? *taken : q->earlier);
    *taken = sum;
    return grown > 0 ? grown : 0;
}

void sampler_close_throttle(struct sampler_process_state *place)
{
    if (place->throttle)
        close_groups(place->throttle);
    free(place->throttle);
    place->throttle = NULL;
}
