// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/process_tree.h"

#include "base/file.h"
#include "base/grow.h"
#include "base/procstat.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct process {
    pid_t pid, parent, group, session; /* in the pid namespace of /proc, which need not be ours */
    uint64_t start_time;
    bool zombie, stopped, inside;
};

struct processes {
    struct process *list;
    size_t count, room;
};

/* The descendants of `root`, the caller, without the processes of `spare` and their descendants. */
struct family {
    pid_t root;
    bool ours; /* /proc has the numbers of our pid namespace */
    pid_t *spare;
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
                          .start_time = stat.start_time,
                          .zombie = stat.ended,
                          .stopped = stat.stopped};
    return true;
}

static struct process *append(struct processes *all, const struct process *p)
{
    if (!grow_list(&all->list, &all->room, all->count, sizeof *all->list))
        return NULL;
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

/* ---- Numbers and processes --------------------------------------------------------------------------------------- */

/*
 * Where a pid namespace was made without a /proc of its own, /proc shows that of an ancestor: all numbers in there are
 * others than those that kill() and getpid() mean. 0: /proc does not show us at all.
 */
static pid_t number_of_caller(void)
{
    char self[32];
    ssize_t n = readlink("/proc/self", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    return (pid_t)strtol(self, NULL, 10);
}

/* The number in /proc of child `pid` of ours; 0: unknown. */
static pid_t number_of_child(pid_t pid)
{
    char path[64], text[512];
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pidfd);
    int fd = pidfd < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    const char *line = strstr(text, "\nPid:");
    if (fd >= 0)
        close(fd);
    if (pidfd >= 0)
        close(pidfd);
    return line ? (pid_t)strtol(line + 5, NULL, 10) : 0;
}

/* False: who belongs to the family is unknown, and nobody may be signalled. family_end() frees it in both cases. */
static bool family_begin(struct family *f, const pid_t *spare, size_t count)
{
    *f = (struct family){.root = number_of_caller(), .spare = calloc(count + 1, sizeof *spare)};
    f->ours = f->root == getpid();
    for (; f->spare && f->spare_count < count; f->spare_count++) {
        pid_t child = spare[f->spare_count];
        if (!f->ours && (child = number_of_child(child)) <= 0)
            return false;
        f->spare[f->spare_count] = child;
    }
    return f->spare && f->root > 0;
}

static void family_end(struct family *f)
{
    free(f->spare);
}

/*
 * Signals that very process, and no later one that has its number: its folder in /proc serves as a pidfd. A kernel that
 * has none (before 5.1) leaves the moment between the look and the signal.
 */
static int send_signal(const struct family *f, const struct process *p, int signal)
{
    char path[32];
    struct process now;
    snprintf(path, sizeof path, "/proc/%d", (int)p->pid);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    int sent = -1;
    if (read_stat(p->pid, &now) && now.start_time == p->start_time) {
        sent = (int)syscall(SYS_pidfd_send_signal, folder, signal, NULL, 0);
        if (sent != 0 && f->ours && (errno == ENOSYS || errno == EBADF))
            sent = kill(p->pid, signal);
    }
    close(folder);
    return sent;
}

/* ---- Stopping ---------------------------------------------------------------------------------------------------- */

/*
 * A signal to a process group also reaches a child that is forked meanwhile, unlike a signal to a process; a zombie's
 * group can still be read. A session other than ours was begun by a descendant, so all its groups are descendants; the
 * groups of our own session may contain others.
 */
static void stop(const struct family *f, const struct process *p)
{
    if (f->ours && p->session != getsid(0) && p->group > 1) /* -1 would be everybody */
        kill(-p->group, SIGSTOP);
    if (!p->zombie)
        (void)send_signal(f, p, SIGSTOP);
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
    if (f->ours)
        kill(pid,
             SIGSTOP); /* at once: it may be about to fork and end. As long as it is our child, nobody has its pid */
    if (read_stat(pid, &p))
        stop(f, &p);
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
            stop(f, &read);
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
                stop(f, p);
        }
    }
    return news;
}

/* A stopped process would not receive SIGTERM, so it is continued. */
static size_t send_all(const struct family *f, const struct processes *all, int signal)
{
    size_t sent = 0;
    for (const struct process *p = all->list; p && p < all->list + all->count; p++) {
        if (!p->inside || p->zombie || send_signal(f, p, signal) != 0)
            continue;
        sent++;
        if (signal == SIGTERM && p->stopped)
            (void)send_signal(f, p, SIGCONT);
    }
    return sent;
}

/* ---- The public face --------------------------------------------------------------------------------------------- */

/*
 * Only stopped processes get SIGCONT: a process that has begun to end may be about to be stopped by a leak checker, and
 * a SIGCONT would cancel the stop for which the checker then waits for ever.
 */
size_t process_tree_terminate(void)
{
    struct family f;
    struct processes all = {0};
    if (family_begin(&f, NULL, 0))
        read_family(&all, &f, NULL);
    size_t sent = send_all(&f, &all, SIGTERM);
    free(all.list);
    family_end(&f);
    return sent;
}

enum { STOP_ROUNDS = 64 }; /* the next call handles survivors */

static size_t kill_family(const struct family *f, size_t *dead)
{
    struct processes now = {0}, before = {0};
    stop_children(f);
    for (int round = 0; round < STOP_ROUNDS && read_family(&now, f, &before) > 0; round++) {
        struct processes swap = before;
        before = now;
        now = swap;
        stop_children(f);
    }
    read_family(&now, f, NULL);
    size_t alive = send_all(f, &now, SIGKILL);
    for (size_t i = 0; i < now.count; i++)
        *dead += now.list[i].inside && now.list[i].zombie;
    free(now.list);
    free(before.list);
    return alive;
}

size_t process_tree_kill(const pid_t *spare, size_t spare_count, size_t *dead)
{
    struct family f;
    *dead = 0;
    size_t alive = family_begin(&f, spare, spare_count) ? kill_family(&f, dead) : 0;
    family_end(&f);
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
        procstat_program(link, path, sizeof path);
        if (*path && fnmatch(pattern, full_path ? path : file_name(path), 0) == 0)
            break;
    }
    closedir(proc);
    return pid;
}
