// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/supervisor.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct {
    struct sockaddr_un to; /* sun_family 0: nobody asks for reports */
    socklen_t length;
    bool ready;
    int64_t every, due; /* every 0: nobody watches; due 0: the daemon does not serve yet */
} asked;

/* A path, or with '@' a name of the abstract kind. */
static void read_socket(const char *name)
{
    size_t n = name ? strlen(name) : 0;
    if (n < 2 || n >= sizeof asked.to.sun_path || (*name != '/' && *name != '@'))
        return;
    asked.to.sun_family = AF_UNIX;
    memcpy(asked.to.sun_path, name, n);
    if (*name == '@')
        asked.to.sun_path[0] = '\0';
    asked.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

void supervisor_take(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    read_socket(getenv("NOTIFY_SOCKET"));
    long long time = usec && (!pid || atoll(pid) == getpid()) ? atoll(usec) : 0;
    if (asked.to.sun_family && time > 0 && time < INT64_MAX / CLOCK_US)
        asked.every = time * CLOCK_US / 3; /* two late reports do no harm */
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

static void report(const char *text)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&asked.to, asked.length) < 0)
        log_warn("BEZEL-READY", "cannot report %s to the service manager: %s; this daemon serves all the same", text,
                 strerror(errno));
    if (fd >= 0)
        close(fd);
}

void supervisor_ready(void)
{
    if (asked.ready)
        return;
    asked.ready = true;
    if (asked.to.sun_family)
        report("READY=1");
    asked.due = asked.every ? clock_now() : 0;
}

int64_t supervisor_alive(int64_t now)
{
    if (!asked.due)
        return INT64_MAX;
    if (now >= asked.due) {
        report("WATCHDOG=1");
        asked.due = now + asked.every;
    }
    return asked.due;
}
