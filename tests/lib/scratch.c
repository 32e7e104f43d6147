// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/scratch.h"

#include "base/file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char scratch_dir[SCRATCH_PATH];
struct folder scratch_folder = {.fd = -1};
static char folders[SCRATCH_FOLDERS][SCRATCH_PATH];
static pid_t owner; /* children that the test forks remove nothing */

static void remove_all(void)
{
    for (int i = 0; getpid() == owner && i < SCRATCH_FOLDERS; i++)
        if (*folders[i])
            (void)!file_remove_tree(folders[i]);
}

/* Nobody reads the output any more, as with `test | head`. */
static void on_pipe(int sig)
{
    remove_all();
    signal(sig, SIG_DFL);
    raise(sig);
}

static char *find(const char *path)
{
    for (int i = 0; i < SCRATCH_FOLDERS; i++)
        if (strcmp(folders[i], path) == 0)
            return folders[i];
    return NULL;
}

void scratch_add(const char *path)
{
    char *place = find("");
    if (!owner) {
        owner = getpid();
        atexit(remove_all);
        signal(SIGPIPE, on_pipe);
    }
    if (place)
        snprintf(place, SCRATCH_PATH, "%s", path);
}

void scratch_make(char path[SCRATCH_PATH])
{
    snprintf(path, SCRATCH_PATH, "/dev/shm/bezel-test-XXXXXX");
    if (!mkdtemp(path)) {
        printf("skipped: no folder below /dev/shm: %s\n", strerror(errno));
        exit(77);
    }
    scratch_add(path);
}

void scratch_remove(const char *path)
{
    char *place = find(path);
    (void)!file_remove_tree(path);
    if (place)
        *place = '\0';
}

int scratch_begin(void **state)
{
    (void)state;
    scratch_make(scratch_dir);
    return folder_open(scratch_dir, &scratch_folder);
}

int scratch_end(void **state)
{
    (void)state;
    folder_close(&scratch_folder);
    scratch_remove(scratch_dir);
    return 0;
}
