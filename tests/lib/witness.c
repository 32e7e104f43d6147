// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What a collector does, in its order: preloaded, it appends a line to the file WITNESS for each write and sync of a
 * stream's file, when it has succeeded, and for each acknowledgement (ACK and WELCOME), before it is given to ZeroMQ:
 *
 *     begin
 *     write BYTES         how far the file is written
 *     sync BYTES          how long it was when the sync began
 *     tell HEX            the message
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zmq.h>

#define EXPORT __attribute__((visibility("default")))

static int witness = -1;

static void say(const char *line, int n)
{
    if (witness >= 0 && syscall(SYS_write, witness, line, (size_t)n) != n)
        abort();
}

static void say_bytes(const char *what, long long bytes)
{
    char line[64];
    say(line, snprintf(line, sizeof line, "%s %lld\n", what, bytes));
}

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("WITNESS");
    witness = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    say("begin\n", 6);
}

/* Whether it is the file of a stream of process `server`, which has a hidden name until its first packet is written. */
static int is_stream(int fd)
{
    char link[32], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    return strstr(path, "/trace/") && (strstr(path, "/server-") || strstr(path, "/.server-"));
}

/* pwrite64 by the headers, as in the collector. */
EXPORT ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    ssize_t w = syscall(SYS_pwrite64, fd, bytes, n, at);
    if (w > 0 && is_stream(fd))
        say_bytes("write", (long long)at + w);
    return w;
}

EXPORT int fdatasync(int fd)
{
    struct stat st;
    int known = is_stream(fd) && fstat(fd, &st) == 0;
    int err = (int)syscall(SYS_fdatasync, fd);
    if (known && err == 0)
        say_bytes("sync", (long long)st.st_size);
    return err;
}

EXPORT int zmq_msg_send(zmq_msg_t *message, void *socket, int flags)
{
    int (*next)(zmq_msg_t *, void *, int) =
        (int (*)(zmq_msg_t *, void *, int))(uintptr_t)dlsym(RTLD_NEXT, "zmq_msg_send");
    const uint8_t *p = zmq_msg_data(message);
    size_t n = zmq_msg_size(message);
    char line[4096];
    int used = snprintf(line, sizeof line, "tell ");
    if (n >= 12 && n < sizeof line / 2 - 8 && memcmp(p, "BZL1", 4) == 0 && (p[11] == 2 || p[11] == 6)) {
        for (size_t i = 0; i < n; i++)
            used += snprintf(line + used, 3, "%02x", p[i]);
        line[used++] = '\n';
        say(line, used);
    }
    return next(message, socket, flags);
}
