// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A program that has functions of its own in place of libc's, and records in them: libbezel calls them, too. It records
 * `tick` so many times: interposed COUNT. Before libbezel's own, a handler of forks records.
 */
#include <bezel/sensor.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

BEZEL_ASPECT(tick, (int64, number, "1"));
BEZEL_ASPECT(got, (int64, bytes, "B"));
BEZEL_WAIT(reads, io);
BEZEL_WAIT(first, other);
BEZEL_ASPECT(closed, (int64, descriptor, "1"));
BEZEL_ASPECT(forked, (string, how, ""));

__attribute__((visibility("default"))) ssize_t read(int fd, void *to, size_t n)
{
    bezel_span s = bezel_begin(reads);
    ssize_t r = syscall(SYS_read, fd, to, n);
    bezel_end(reads, s);
    bezel_record(got, r);
    return r;
}

__attribute__((visibility("default"))) int close(int fd)
{
    bezel_record(closed, fd);
    return (int)syscall(SYS_close, fd);
}

/* The thread below is given a ring slowly, which no wait of its own has in it. */
static bool slow;

__attribute__((visibility("default"))) int fallocate64(int fd, int mode, off64_t at, off64_t bytes)
{
    if (slow)
        sleep(2);
    return (int)syscall(SYS_fallocate, fd, mode, at, bytes);
}

static void *wait_first(void *unused)
{
    bezel_end(first, bezel_begin(first));
    return unused;
}

static void prepare(void)
{
    bezel_record(forked, bezel_intern("about to"));
}

/* Before the constructors of libbezel: its handler of forks, which takes the lock, runs before this one. */
__attribute__((constructor(101))) static void watch_forks(void)
{
    (void)pthread_atfork(prepare, NULL, NULL);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < count; i++)
        bezel_record(tick, i);
    pthread_t thread;
    slow = true;
    if (pthread_create(&thread, NULL, wait_first, NULL) == 0)
        pthread_join(thread, NULL);
    slow = false;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    puts("interposed: done");
    return 0;
}
