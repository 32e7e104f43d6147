// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/procstat.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool procstat_read(pid_t pid, struct procstat *p)
{
    char path[64], text[512], state;
    int parent, group, session;
    long threads;
    unsigned long long start;
    if (!pid)
        pid = getpid();
    /* Not /proc/<pid>/stat: qemu-user shows a process other contents there than other processes see. */
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *name = strchr(text, '('), *after_name = strrchr(text, ')'); /* it may itself hold any character */
    if (!name || !after_name ||
        sscanf(after_name + 1, " %c %d %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s %llu", &state,
               &parent, &group, &session, &threads, &start) != 6)
        return false;
    /* A first thread that has ended is a zombie too, while others go on. */
    bool ended = (state == 'Z' || state == 'X') && threads <= 1;
    *p = (struct procstat){.parent = parent,
                           .group = group,
                           .session = session,
                           .stopped = state == 'T',
                           .ended = ended,
                           .start_time = start};
    snprintf(p->name, sizeof p->name, "%.*s", (int)(after_name - name - 1), name + 1);
    return true;
}

static int64_t thread_queued(int tasks, const char *thread)
{
    char path[64], text[128];
    long long queued;
    snprintf(path, sizeof path, "%.20s/schedstat", thread);
    int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return sscanf(text, "%*d %lld", &queued) == 1 ? queued : 0;
}

int64_t procstat_queued(pid_t pid)
{
    char path[32];
    int64_t sum = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (const struct dirent *d; tasks && (d = readdir(tasks));)
        sum += d->d_name[0] == '.' ? 0 : thread_queued(dirfd(tasks), d->d_name);
    if (tasks)
        closedir(tasks);
    return sum;
}

/* Whether /proc is of our pid namespace. */
static bool shows_us(void)
{
    char self[32], expected[32];
    ssize_t n = readlink("/proc/self", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    snprintf(expected, sizeof expected, "%d", (int)getpid());
    return strcmp(self, expected) == 0;
}

void procstat_program(const char *link, char *path, size_t size)
{
    static const char mark[] = " (deleted)"; /* the kernel's, which a file's name may also have */
    const size_t bytes = sizeof mark - 1;
    struct stat st;
    ssize_t n = readlink(link, path, size - 1);
    path[n > 0 ? n : 0] = '\0';
    if (n > (ssize_t)bytes && strcmp(path + n - bytes, mark) == 0 && lstat(path, &st) != 0)
        path[(size_t)n - bytes] = '\0';
}

uint64_t procstat_namespace(void)
{
    struct stat st;
    return shows_us() && stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

bool procstat_is_first_namespace(void)
{
    return procstat_namespace() == UINT64_C(0xeffffffc); /* the kernel's PROC_PID_INIT_INO */
}
