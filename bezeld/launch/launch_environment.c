// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/launch_environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SLACK_NS = 50000 }; /* the system's default, where the parent's may not be read */

/* A number in a file of process `pid` (0: the caller), or `otherwise`. */
static long read_number(pid_t pid, const char *name, long otherwise)
{
    char path[64], text[32], self[16];
    snprintf(self, sizeof self, "%d", (int)pid);
    snprintf(path, sizeof path, "/proc/%s/%s", pid ? self : "self", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return otherwise;
    text[n] = '\0';
    return strtol(text, NULL, 10);
}

static void read_cpus(pid_t pid, cpu_set_t *cpus)
{
    if (sched_getaffinity(pid, sizeof *cpus, cpus) != 0 && sched_getaffinity(0, sizeof *cpus, cpus) != 0)
        CPU_ZERO(cpus);
}

struct launch_environment launch_environment_read(pid_t of)
{
    struct launch_environment i = {.policy = sched_getscheduler(of) & ~SCHED_RESET_ON_FORK};
    if (i.policy != SCHED_BATCH && i.policy != SCHED_IDLE)
        i.policy = SCHED_OTHER;
    i.nice = getpriority(PRIO_PROCESS, (id_t)of);
    read_cpus(of, &i.cpus);
    long slack = read_number(of, "timerslack_ns", SLACK_NS);
    i.slack = slack > 0 ? (unsigned long)slack : SLACK_NS; /* 0: of a real-time parent */
    i.oom_score_adj = (int)read_number(of, "oom_score_adj", read_number(0, "oom_score_adj", 0));
    return i;
}

static int give_policy(const struct launch_environment *i)
{
    if (sched_getscheduler(0) == i->policy)
        return 0;
    return sched_setscheduler(0, i->policy, &(struct sched_param){0}) == 0 ? 0 : errno;
}

static int give_nice(const struct launch_environment *i)
{
    if (getpriority(PRIO_PROCESS, 0) == i->nice)
        return 0;
    return setpriority(PRIO_PROCESS, 0, i->nice) == 0 ? 0 : errno;
}

static int give_cpus(const struct launch_environment *i)
{
    cpu_set_t cpus;
    if (CPU_COUNT(&i->cpus) == 0 || (sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_EQUAL(&cpus, &i->cpus)))
        return 0;
    return sched_setaffinity(0, sizeof i->cpus, &i->cpus) == 0 ? 0 : errno;
}

static int give_oom(const struct launch_environment *i)
{
    char text[16];
    if (read_number(0, "oom_score_adj", i->oom_score_adj) == i->oom_score_adj)
        return 0;
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    int n = snprintf(text, sizeof text, "%d", i->oom_score_adj);
    int error = fd >= 0 && write(fd, text, (size_t)n) == n ? 0 : errno;
    if (fd >= 0)
        close(fd);
    return error;
}

static int give(const struct launch_environment *i, enum launch_environment_part part)
{
    switch (part) {
    case LAUNCH_ENVIRONMENT_POLICY:
        return give_policy(i);
    case LAUNCH_ENVIRONMENT_NICE:
        return give_nice(i);
    case LAUNCH_ENVIRONMENT_CPUS:
        return give_cpus(i);
    case LAUNCH_ENVIRONMENT_SLACK: /* after the policy, which has its own */
        return prctl(PR_SET_TIMERSLACK, i->slack, 0, 0, 0) == 0 ? 0 : errno;
    case LAUNCH_ENVIRONMENT_OOM:
        return give_oom(i);
    case LAUNCH_ENVIRONMENT_PARTS:
        break;
    }
    return 0;
}

int launch_environment_give(const struct launch_environment *i, enum launch_environment_part *part)
{
    int error = 0;
    for (int p = 0; p < LAUNCH_ENVIRONMENT_PARTS; p++) {
        int e = give(i, (enum launch_environment_part)p);
        if (!e)
            continue;
        error = e;
        *part = (enum launch_environment_part)p;
    }
    return error;
}

const char *launch_environment_word(enum launch_environment_part part)
{
    static const char *const words[] = {[LAUNCH_ENVIRONMENT_POLICY] = "policy",
                                        [LAUNCH_ENVIRONMENT_NICE] = "nice",
                                        [LAUNCH_ENVIRONMENT_CPUS] = "CPUs",
                                        [LAUNCH_ENVIRONMENT_SLACK] = "timer slack",
                                        [LAUNCH_ENVIRONMENT_OOM] = "oom_score_adj"};
    return words[part];
}
