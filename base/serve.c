// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/serve.h"

#include "base/exit_code.h"
#include "base/file.h"
#include "base/inherited.h"
#include "base/log.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

int serve_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    if (!inherited_ignored(SIGHUP)) /* nohup */
        sigaddset(&set, SIGHUP);
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

int serve_read_descriptor(const char *text)
{
    uint64_t n;
    const char *why;
    bool open = units_read_count(text, &n, &why) == 0 && n <= INT_MAX && fcntl((int)n, F_GETFD) >= 0;
    return open ? (int)n : -1;
}

int serve_misuse(const char *program, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nTry '%s --help'.\n", program);
    return EXIT_USAGE;
}

int serve_print(const char *text)
{
    if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
        return EXIT_OK;
    log_error("BEZEL-OUTPUT", "cannot write to standard output: %s", strerror(errno));
    return EXIT_FAILED;
}

void serve_parent_pipe(int pipe)
{
    if (pipe >= 0)
        fcntl(pipe, F_SETFL, fcntl(pipe, F_GETFL) | O_NONBLOCK);
}

bool serve_is_deserted(int pipe)
{
    char byte;
    return pipe >= 0 && read(pipe, &byte, 1) == 0;
}

void serve_ready(int *fd)
{
    static const char line[] = "ready\n";
    if (*fd < 0)
        return;
    if (file_write_all(*fd, line, sizeof line - 1) != 0)
        log_warn("BEZEL-READY", "cannot report that this daemon is ready: %s; it serves all the same", strerror(errno));
    close(*fd);
    *fd = -1;
}
