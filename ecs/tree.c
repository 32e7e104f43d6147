// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/tree.h"

#include "base/procstat.h"

#include <ctype.h>
#include <dirent.h>
#include <fnmatch.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct process {
    pid_t pid, parent;
    bool zombie, inside;
};

struct processes {
    struct process *list;
    size_t count, room;
};

/* The next process of an open /proc, or 0 at the end. */
static pid_t next_pid(DIR *proc)
{
    for (struct dirent *d; (d = readdir(proc));)
        if (isdigit((unsigned char)d->d_name[0]))
            return (pid_t)strtol(d->d_name, NULL, 10);
    return 0;
}

static bool read_stat(pid_t pid, struct process *p)
{
    struct procstat stat;
    if (!procstat_read(pid, &stat))
        return false;
    *p = (struct process){.pid = pid, .parent = stat.parent, .zombie = stat.ended};
    return true;
}

static bool append(struct processes *all, struct process p)
{
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 256;
        struct process *larger = realloc(all->list, room * sizeof *larger);
        if (!larger)
            return false;
        all->list = larger;
        all->room = room;
    }
    all->list[all->count++] = p;
    return true;
}

static void read_all(struct processes *all)
{
    DIR *proc = opendir("/proc");
    if (!proc)
        return;
    struct process p;
    for (pid_t pid; (pid = next_pid(proc)) > 0;)
        if (read_stat(pid, &p) && !append(all, p))
            break;
    closedir(proc);
}

static bool is_inside(const struct processes *all, pid_t pid)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].pid == pid)
            return all->list[i].inside;
    return false;
}

/* Pids do not grow from parent to child, so one pass does not do: repeat until nothing is added. */
static void mark_descendants(struct processes *all, pid_t root)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < all->count; i++) {
            struct process *p = &all->list[i];
            if (!p->inside && (p->parent == root || is_inside(all, p->parent)))
                p->inside = more = true;
        }
    }
}

size_t tree_signal(pid_t root, int signal)
{
    struct processes all = {0};
    size_t sent = 0;
    read_all(&all);
    mark_descendants(&all, root);
    for (size_t i = 0; i < all.count; i++)
        if (all.list[i].inside && !all.list[i].zombie && kill(all.list[i].pid, signal) == 0)
            sent++;
    free(all.list);
    return sent;
}

pid_t tree_find_executable(const char *pattern)
{
    char link[64], path[PATH_MAX];
    bool whole = strchr(pattern, '/') != NULL;
    DIR *proc = opendir("/proc");
    if (!proc)
        return 0;
    pid_t pid;
    while ((pid = next_pid(proc)) > 0) {
        snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
        ssize_t n = readlink(link, path, sizeof path - 1);
        if (n <= 0)
            continue;
        path[n] = '\0';
        const char *slash = strrchr(path, '/');
        if (fnmatch(pattern, whole || !slash ? path : slash + 1, 0) == 0)
            break;
    }
    closedir(proc);
    return pid;
}
