// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Linked into each program test: it fails, when all its tests have passed, where descriptors are left open that were
 * not open when it began. Where they belong to the process for as long as it lives, the test says how many.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const int descriptors_kept __attribute__((weak));

static pid_t self;
static int before;

static int count(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

static __attribute__((constructor)) void begin(void)
{
    self = getpid();
    before = count();
}

/* A child that calls exit() has what its parent had open then, and whatever it was in the middle of. */
static __attribute__((destructor)) void end(void)
{
    int kept = &descriptors_kept ? descriptors_kept : 0, more = count() - before - kept;
    if (getpid() != self || more <= 0)
        return;
    fprintf(stderr, "the test leaves %d descriptors open:\n", more);
    (void)!system("ls -l /proc/$PPID/fd >&2");
    _exit(1);
}
