// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Stands where `bezel run` looks for bezeld and bezel-collector, puts a daemon on the host and under the conditions
 * that a fault test wants, and becomes it. By environment: FAULTS_PROGRAMS, the folder of the real ones;
 * FAULTS_NETWORK, the network namespace of bezeld; FAULTS_COLLECTOR, what it takes for the collector's endpoint.
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static void move(int argc, char **argv)
{
    const char *network = variable("FAULTS_NETWORK"), *collector = variable("FAULTS_COLLECTOR");
    int fd = network ? open(network, O_RDONLY | O_CLOEXEC) : -1;
    if (network && (fd < 0 || setns(fd, CLONE_NEWNET) != 0)) {
        perror(network);
        _exit(1);
    }
    for (int i = 1; collector && i + 1 < argc; i++)
        if (strcmp(argv[i], "--collector") == 0)
            argv[i + 1] = strdup(collector);
}

int main(int argc, char **argv)
{
    char path[PATH_MAX];
    const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    if (!variable("FAULTS_PROGRAMS"))
        return 2;
    snprintf(path, sizeof path, "%s/%s", variable("FAULTS_PROGRAMS"), name);
    if (strcmp(name, "bezeld") == 0)
        move(argc, argv);
    execv(path, argv);
    perror(path);
    return 1;
}
