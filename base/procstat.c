// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/procstat.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool procstat_read(pid_t pid, struct procstat *p)
{
    char path[64], text[1024], state;
    int parent;
    unsigned long long start;
    if (!pid)
        pid = getpid();
    /* Not /proc/<pid>/stat: what qemu-user shows a process there of itself is not what others see. */
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *after_name = strrchr(text, ')'); /* the name, field 2, may itself hold any character */
    if (!after_name ||
        sscanf(after_name + 1, " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &state, &parent, &start) != 3)
        return false;
    *p = (struct procstat){.parent = parent, .ended = state == 'Z' || state == 'X', .start_time = start};
    return true;
}
