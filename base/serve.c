// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/serve.h"

#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

int serve_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

unsigned serve_terms(int signals)
{
    struct signalfd_siginfo info;
    unsigned count = 0;
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info)
        count++;
    return count;
}

void serve_lease(int lease)
{
    if (lease >= 0)
        fcntl(lease, F_SETFL, fcntl(lease, F_GETFL) | O_NONBLOCK);
}

bool serve_is_deserted(int lease)
{
    char byte;
    return lease >= 0 && read(lease, &byte, 1) == 0;
}

void serve_ready(int *fd)
{
    static const char line[] = "ready\n";
    if (*fd < 0)
        return;
    if (file_write_all(*fd, line, sizeof line - 1) != 0)
        log_warn("BEZEL-READY", "nobody hears that this daemon is ready: %s", strerror(errno));
    close(*fd);
    *fd = -1;
}
