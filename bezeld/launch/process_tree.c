// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/process_tree.h"

#include "base/procstat.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct process {
    pid_t pid, parent, group, session;
    bool zombie, stopped, inside;
};

struct processes {
    struct process *list;
    size_t count, room;
};

/* The descendants of `root`, without the processes of `spare` and their descendants. */
struct family {
    pid_t root;
    const pid_t *spare;
    size_t spare_count;
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
    *p = (struct process){.pid = pid,
                          .parent = stat.parent,
                          .group = stat.group,
                          .session = stat.session,
                          .zombie = stat.ended,
                          .stopped = stat.stopped};
    return true;
}

static struct process *append(struct processes *all, const struct process *p)
{
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 256;
        struct process *larger = realloc(all->list, room * sizeof *larger);
        if (!larger)
            return NULL;
        all->list = larger;
        all->room = room;
    }
    all->list[all->count] = *p;
    return &all->list[all->count++];
}

static int by_pid(const void *a, const void *b)
{
    const struct process *p = a, *q = b;
    return (p->pid > q->pid) - (p->pid < q->pid);
}

static const struct process *find(const struct processes *all, pid_t pid)
{
    struct process key = {.pid = pid};
    return all->count ? bsearch(&key, all->list, all->count, sizeof *all->list, by_pid) : NULL;
}

static bool is_spare(const struct family *f, pid_t pid)
{
    for (size_t i = 0; i < f->spare_count; i++)
        if (f->spare[i] == pid)
            return true;
    return false;
}

static bool belongs(const struct processes *all, const struct family *f, const struct process *p)
{
    const struct process *parent = p->parent == f->root ? NULL : find(all, p->parent);
    if (p->parent != f->root && !(parent && parent->inside))
        return false;
    return !is_spare(f, p->pid);
}

/* ---- Stopping ---------------------------------------------------------------------------------------------------- */

/*
 * A signal to a process group also reaches a child that is forked meanwhile, unlike a signal to a process; a zombie's
 * group can still be read. A session other than ours was begun by a descendant, so all its groups are descendants; the
 * groups of our own session may contain others.
 */
static void stop(const struct process *p)
{
    if (p->session != getsid(0) && p->group > 1) /* -1 would be everybody */
        kill(-p->group, SIGSTOP);
    if (!p->zombie)
        kill(p->pid, SIGSTOP);
}

/* A zombie that was not seen alive counts too: it may have left a child. */
static bool is_news(const struct process *p, const struct processes *before)
{
    const struct process *known = find(before, p->pid);
    return p->inside && !(known && known->inside);
}

enum { PIDS_MAX = 1 << 22 /* the kernel's */, CHILD_ROUNDS = 64, CHILDREN_BYTES = 4096 /* that it gives at once */ };

/* Stops child `pid`, unless that was done before. Returns whether it stopped it. */
static bool stop_child(const struct family *f, pid_t pid, uint8_t *seen)
{
    struct process p;
    if (pid <= 0 || pid >= PIDS_MAX || seen[pid / 8] >> pid % 8 & 1 || is_spare(f, pid))
        return false;
    seen[pid / 8] |= (uint8_t)(1 << pid % 8);
    kill(pid, SIGSTOP); /* at once: it may be about to fork and end */
    if (read_stat(pid, &p))
        stop(&p);
    return true;
}

/*
 * Stops the root's own children, until none is new. A process that forks and ends leaves its child to the root, a
 * subreaper: here that child is found within a few system calls, however many processes are in /proc. If the kernel
 * does not list children (CONFIG_PROC_CHILDREN), only read_family() finds it.
 */
static void stop_children(const struct family *f)
{
    char path[64], text[CHILDREN_BYTES];
    uint8_t *seen = calloc(PIDS_MAX / 8, 1); /* no child is waited for meanwhile, so no pid is reused */
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)f->root, (int)f->root);
    int fd = seen ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool news = fd >= 0;
    for (int round = 0; news && round < CHILD_ROUNDS; round++) {
        pid_t pid = 0;
        ssize_t n;
        news = false;
        for (lseek(fd, 0, SEEK_SET); (n = read(fd, text, sizeof text)) > 0;)
            for (ssize_t i = 0; i < n; i++) {
                if (isdigit((unsigned char)text[i])) {
                    pid = 10 * pid + (text[i] - '0');
                    continue;
                }
                news = stop_child(f, pid, seen) || news;
                pid = 0;
            }
    }
    if (fd >= 0)
        close(fd);
    free(seen);
}

/*
 * Reads all processes, and marks those of the family. If `before` (the last reading) is not NULL, new members are
 * stopped as soon as they are seen: one that forks and ends all the time would be gone after a complete reading. Most
 * processes come after their parents in /proc, and are recognized at once. Returns how many were new.
 */
static size_t read_family(struct processes *all, const struct family *f, const struct processes *before)
{
    DIR *proc = opendir("/proc");
    struct process read, *p;
    size_t news = 0;
    all->count = 0;
    if (!proc)
        return 0;
    for (pid_t pid; (pid = next_pid(proc)) > 0;) {
        if (!read_stat(pid, &read))
            continue;
        read.inside = belongs(all, f, &read);
        if (before && is_news(&read, before) && ++news)
            stop(&read);
        if (!append(all, &read))
            break;
    }
    closedir(proc);
    if (all->count)
        qsort(all->list, all->count, sizeof *all->list, by_pid);
    for (bool more = true; more;) {
        more = false;
        for (p = all->list; p && p < all->list + all->count; p++) {
            if (p->inside || !belongs(all, f, p))
                continue;
            p->inside = more = true;
            if (before && is_news(p, before) && ++news)
                stop(p);
        }
    }
    return news;
}

/* A stopped process would not receive SIGTERM, so it is continued. */
static size_t send_all(const struct processes *all, int signal)
{
    size_t sent = 0;
    for (const struct process *p = all->list; p && p < all->list + all->count; p++) {
        if (!p->inside || p->zombie || kill(p->pid, signal) != 0)
            continue;
        sent++;
        if (signal == SIGTERM && p->stopped)
            kill(p->pid, SIGCONT);
    }
    return sent;
}

/* ---- The public face --------------------------------------------------------------------------------------------- */

/*
 * Only stopped processes get SIGCONT: a process that has begun to end may be about to be stopped by a leak checker, and
 * a SIGCONT would cancel the stop for which the checker then waits for ever.
 */
size_t process_tree_terminate(pid_t root)
{
    struct processes all = {0};
    read_family(&all, &(struct family){.root = root}, NULL);
    size_t sent = send_all(&all, SIGTERM);
    free(all.list);
    return sent;
}

enum { STOP_ROUNDS = 64 }; /* the next call handles survivors */

size_t process_tree_kill(pid_t root, const pid_t *spare, size_t spare_count, size_t *dead)
{
    struct family f = {.root = root, .spare = spare, .spare_count = spare_count};
    struct processes now = {0}, before = {0};
    stop_children(&f);
    for (int round = 0; round < STOP_ROUNDS && read_family(&now, &f, &before) > 0; round++) {
        struct processes swap = before;
        before = now;
        now = swap;
        stop_children(&f);
    }
    read_family(&now, &f, NULL);
    size_t alive = send_all(&now, SIGKILL);
    *dead = 0;
    for (size_t i = 0; i < now.count; i++)
        *dead += now.list[i].inside && now.list[i].zombie;
    free(now.list);
    free(before.list);
    return alive;
}

pid_t process_tree_find_executable(const char *pattern)
{
    char link[64], path[PATH_MAX];
    bool full_path = strchr(pattern, '/') != NULL;
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
        if (fnmatch(pattern, full_path || !slash ? path : slash + 1, 0) == 0)
            break;
    }
    closedir(proc);
    return pid;
}
