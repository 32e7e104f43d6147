// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A system under test that does not want to end: bomb KIND... of
 *
 *   hop       forks and ends, for ever, so that its pid is never the same
 *   daemon    the same, in a session of its own each time
 *   parent    starts a child anew whenever it has ended
 *   stopped   stops itself, whenever it is continued
 *   deaf      sleeps
 *
 * Each runs as a daemon would: two forks and a session away, descriptors closed, deaf to SIGTERM. All hold a lock on
 * the file $BOMB, which is free when none of them lives; nothing else would know. $BOMB.ready is there when all are on
 * their way.
 */
#include "tests/lib/patience.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nap(long us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/*
 * An alarm against our own test: what it forgets is over in a minute, and so are its children. Who hops rests for good
 * after HOPS: those that it was stay in the table of processes while nobody reaps them, and that table is everybody's.
 */
enum { HOPS = 2000 };

static void hop(bool daemon, time_t end)
{
    for (int hops = 0; time(NULL) < end && hops < HOPS; hops++) {
        pid_t pid = fork();
        if (pid > 0)
            _exit(0);
        if (pid == 0 && daemon)
            setsid();
        nap(1000);
    }
    for (alarm(60 * (unsigned)test_scale());;)
        pause();
}

static void parent(time_t end)
{
    while (time(NULL) < end) {
        if (fork() == 0)
            for (alarm(60 * (unsigned)test_scale());;)
                pause();
        wait(NULL);
    }
}

static void run(const char *kind)
{
    time_t end = time(NULL) + 60;
    if (strcmp(kind, "hop") == 0 || strcmp(kind, "daemon") == 0)
        hop(kind[0] == 'd', end);
    else if (strcmp(kind, "parent") == 0)
        parent(end);
    else
        for (alarm(60 * (unsigned)test_scale());;)
            strcmp(kind, "stopped") == 0 ? (void)raise(SIGSTOP) : (void)pause();
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *path = getenv("BOMB");
    int lock = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
    if (lock < 0 || flock(lock, LOCK_SH) != 0)
        return 2;
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    for (int i = 1; i < argc; i++) {
        if (fork() != 0)
            continue;
        setsid();
        if (fork() != 0)
            _exit(0);
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        run(argv[i]);
    }
    char ready[256];
    snprintf(ready, sizeof ready, "%s.ready", path);
    close(open(ready, O_WRONLY | O_CREAT, 0600));
    for (alarm(60 * (unsigned)test_scale());;)
        pause();
}
