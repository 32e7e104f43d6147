// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/namespaces.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

static bool put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return good;
}

/* In a user namespace of our own we are root, and are mapped to who we were. */
static bool become_root(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && put("/proc/self/setgroups", "deny") &&
           put("/proc/self/uid_map", users) && put("/proc/self/gid_map", groups);
}

bool namespaces_enter(void)
{
    return (unshare(CLONE_NEWNS) == 0 || become_root()) && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

bool namespaces_new_network(void)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING}, more = {.ifr_name = "lo:0"};
    struct sockaddr_in at = {.sin_family = AF_INET};
    inet_pton(AF_INET, NAMESPACES_ADDRESS, &at.sin_addr);
    memcpy(&more.ifr_addr, &at, sizeof at);
    if (unshare(CLONE_NEWNET) != 0)
        return false;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0 && ioctl(fd, SIOCSIFADDR, &more) == 0;
    if (fd >= 0)
        close(fd);
    return up;
}
