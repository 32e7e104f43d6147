// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A program that gives something up, and records: limited HOW WHO, with HOW
 *
 *     uid      its user                       root DIR  its root directory, for DIR
 *     folder   its node's folder, removed     full      the room in the file system of that
 *     files    its descriptors                size      the size of files
 *     nothing
 *
 * and WHO records then: `self`; `child`, after a record of itself; `later`, the same when SIGUSR1 comes; `nobody`,
 * while a child is there. Those who do record 1000 times.
 */
#include "bezel/sensor.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

BEZEL_ASPECT(limited, (int64, number, "1"));

static void must(bool is, const char *what)
{
    if (is)
        return;
    perror(what);
    exit(2);
}

static void limit(int what, rlim_t to)
{
    must(setrlimit(what, &(struct rlimit){to, to}) == 0, "setrlimit");
}

static void fill_file_system(void)
{
    static char bytes[4096];
    char path[512];
    snprintf(path, sizeof path, "%s/../filling", getenv("BEZEL_DIR"));
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    must(fd >= 0, path);
    while (write(fd, bytes, sizeof bytes) > 0)
        ;
    close(fd);
}

static void remove_folder(void)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", getenv("BEZEL_DIR"));
    must(system(command) == 0, command);
}

static void give_up(const char *how, const char *dir)
{
    if (strcmp(how, "uid") == 0)
        must(setgid(65534) == 0 && setuid(65534) == 0, how);
    else if (strcmp(how, "root") == 0)
        must(chroot(dir) == 0 && chdir("/") == 0, how);
    else if (strcmp(how, "folder") == 0)
        remove_folder();
    else if (strcmp(how, "full") == 0)
        fill_file_system();
    else if (strcmp(how, "files") == 0)
        limit(RLIMIT_NOFILE, 3);
    else if (strcmp(how, "size") == 0)
        limit(RLIMIT_FSIZE, 4096);
}

static void record(int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        bezel_record(limited, i);
}

static void have_a_child(int64_t records)
{
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        record(records);
        _exit(0);
    }
    must(waitpid(pid, NULL, 0) == pid, "waitpid");
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[1] : "", *who = argc > 2 ? argv[argc - 1] : "self";
    sigset_t later;
    sigemptyset(&later);
    sigaddset(&later, SIGUSR1);
    sigprocmask(SIG_BLOCK, &later, NULL);
    if (strcmp(who, "self") != 0)
        record(1);
    if (strcmp(who, "later") == 0)
        sigwaitinfo(&later, NULL);
    give_up(how, argv[2]);
    if (strcmp(who, "self") == 0)
        record(1000);
    else
        have_a_child(strcmp(who, "nobody") == 0 ? 0 : 1000);
    return 0;
}
