// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/units.h"
#include "ecs/placement.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { CPUS_TEXT = 64 };

/* "CPU 1", "CPUs 0, 2-5"; what does not fit is left out. */
static void list_cpus(const struct experiment_cpus *cpus, char text[CPUS_TEXT])
{
    size_t n = (size_t)snprintf(text, CPUS_TEXT, "CPU%s", experiment_cpu_count(cpus) == 1 ? "" : "s");
    const char *comma = " ";
    for (uint32_t i = 0; i < EXPERIMENT_CPUS_MAX; i++) {
        uint32_t last = i;
        if (!experiment_has_cpu(cpus, i))
            continue;
        while (experiment_has_cpu(cpus, last + 1))
            last++;
        if (n > CPUS_TEXT - 20) {
            snprintf(text + n, CPUS_TEXT - n, ", ...");
            return;
        }
        n += (size_t)snprintf(text + n, CPUS_TEXT - n, last > i ? "%s%u-%u" : "%s%u", comma, i, last);
        comma = ", ";
        i = last;
    }
}

/* ---- What was refused -------------------------------------------------------------------------------------------- */

static bool complain_cpus(const struct experiment_cpus *cpus, const char *who, int error, uint32_t missing, char *text)
{
    char list[CPUS_TEXT];
    list_cpus(cpus, list);
    if (error == ESRCH)
        snprintf(text, PLACEMENT_TEXT_MAX + 1, "%s: no thread of ZeroMQ's is found: they stay where they are", list);
    else if (error)
        snprintf(text, PLACEMENT_TEXT_MAX + 1,
                 "%s stay%s off %s: %s. CPUs that are there and allowed: Cpus_allowed_list in /proc/self/status", who,
                 who[0] == 'Z' ? "" : "s", list,
                 error == EINVAL ? "none of them is there, or allowed" : strerror(error));
    else if (missing)
        snprintf(text, PLACEMENT_TEXT_MAX + 1, "%u of %s not there, or not allowed: %s may use the others", missing,
                 list, who);
    return error || missing;
}

static bool complain_policy(const struct experiment_real_time *want, const struct placement_result *result, char *text)
{
    static const char remedy[] =
        "it takes CAP_SYS_NICE (setcap cap_sys_nice+ep bezeld; a container: --cap-add SYS_NICE)";
    int error = result->error[PLACEMENT_POLICY];
    if (error == 0)
        return false;
    if (want->policy == REAL_TIME_FIFO && result->priority)
        snprintf(text, PLACEMENT_TEXT_MAX + 1, "policy fifo has priority %u, not %u: %s, or ulimit -r %u",
                 result->priority, want->priority, remedy, want->priority);
    else if (want->policy == REAL_TIME_FIFO)
        snprintf(text, PLACEMENT_TEXT_MAX + 1, "policy fifo is refused (%s): %s, or ulimit -r %u", strerror(error),
                 remedy, want->priority);
    else if (want->policy == REAL_TIME_DEADLINE && error == EBUSY)
        snprintf(text, PLACEMENT_TEXT_MAX + 1,
                 "policy deadline is refused: %s in %s are more than the CPUs have left: a shorter runtime, a longer "
                 "period",
                 units_duration(want->runtime).s, units_duration(want->period).s);
    else if (want->policy == REAL_TIME_DEADLINE)
        snprintf(text, PLACEMENT_TEXT_MAX + 1, "policy deadline is refused (%s): %s, and all CPUs of its cpuset",
                 strerror(error), remedy);
    else
        snprintf(text, PLACEMENT_TEXT_MAX + 1, "policy other is refused (%s): %s", strerror(error), remedy);
    return true;
}

bool placement_complaint(const struct experiment_real_time *want, const struct placement_result *result,
                         enum placement_step step, char *text)
{
    int error = result->error[step];
    switch (step) {
    case PLACEMENT_CPU:
        return complain_cpus(&want->cpu, "the thread that polls", error, result->missing_cpus, text);
    case PLACEMENT_IO_CPU:
        return complain_cpus(&want->io_cpu, "ZeroMQ's threads", error, result->missing_io_cpus, text);
    case PLACEMENT_MEMORY:
        snprintf(text, PLACEMENT_TEXT_MAX + 1,
                 "memory is not locked (%s): it takes CAP_IPC_LOCK (setcap cap_ipc_lock+ep bezeld; a container: "
                 "--cap-add IPC_LOCK), or ulimit -l unlimited",
                 error == ENOMEM ? "more is mapped than may be" : strerror(error));
        break;
    case PLACEMENT_LATER:
        snprintf(text, PLACEMENT_TEXT_MAX + 1,
                 "memory is locked as far as it was mapped at the start; what is mapped later is not: that takes "
                 "CAP_IPC_LOCK, or ulimit -l unlimited");
        break;
    case PLACEMENT_SLACK:
        snprintf(text, PLACEMENT_TEXT_MAX + 1, "the timer slack stays as it was: %s", strerror(error));
        break;
    case PLACEMENT_POLICY:
        return complain_policy(want, result, text);
    case PLACEMENT_STEPS:
        return false;
    }
    return error != 0;
}

/* ---- What is in force -------------------------------------------------------------------------------------------- */

static const char *policy_name(int policy)
{
    static const char *const names[] = {"other", "fifo", "rr", "batch", "?", "idle", "deadline"};
    return policy >= 0 && policy < (int)(sizeof names / sizeof *names) ? names[policy] : "?";
}

void placement_describe(const struct placement_state *s, char *text, size_t size)
{
    char list[CPUS_TEXT];
    int n = snprintf(text, size, "policy %s", policy_name(s->policy));
    if (s->runtime)
        n += snprintf(text + n, size - (size_t)n, " (%s within %s, each %s)", units_duration(s->runtime).s,
                      units_duration(s->deadline).s, units_duration(s->period).s);
    else if (s->priority)
        n += snprintf(text + n, size - (size_t)n, ", priority %u", s->priority);
    list_cpus(&s->cpus, list);
    if (experiment_cpu_count(&s->cpus) == s->cpu_count)
        n += snprintf(text + n, size - (size_t)n, ", any CPU of %u", s->cpu_count);
    else
        n += snprintf(text + n, size - (size_t)n, ", %s of %u", list, s->cpu_count);
    n += snprintf(text + n, size - (size_t)n, ", memory %slocked", s->locked_bytes ? "" : "not ");
    if (s->timer_slack > 0) /* a real-time thread has none */
        snprintf(text + n, size - (size_t)n, ", timer slack %s", units_duration(s->timer_slack).s);
}

bool placement_wanted(const struct experiment_real_time *want)
{
    return want->policy != REAL_TIME_UNCHANGED || experiment_cpu_count(&want->cpu) > 0 ||
           experiment_cpu_count(&want->io_cpu) > 0 || want->lock_memory;
}

/* ---- Doubts ------------------------------------------------------------------------------------------------------ */

static bool has_from(const struct experiment_cpus *set, uint32_t cpus)
{
    for (uint32_t i = cpus; i < EXPERIMENT_CPUS_MAX; i++)
        if (experiment_has_cpu(set, i))
            return true;
    return false;
}

static int doubt_starving(const struct experiment *e, uint32_t cpus, struct experiment_diagnostics *found)
{
    const struct experiment_real_time *rt = &e->sensing.real_time;
    uint32_t given = experiment_cpu_count(&rt->cpu), nodes = e->node_count;
    if (rt->policy != REAL_TIME_FIFO || e->sensing.mode != POLL_BUSY_WAIT)
        return 0;
    if (given && nodes > given)
        return experiment_report(found, true, rt->at, "sensing.real-time",
                                 "%u nodes busy-wait in policy fifo on %u CPU%s: %u of them would hardly ever run",
                                 nodes, given, given == 1 ? "" : "s", nodes - given);
    if (nodes >= cpus)
        return experiment_report(
            found, true, rt->at, "sensing.real-time",
            "%u node%s busy-wait%s in policy fifo, and this machine has %u CPU%s: all else is left "
            "what the kernel's real-time throttling leaves it, which may be nothing",
            nodes, nodes == 1 ? "" : "s", nodes == 1 ? "s" : "", cpus, cpus == 1 ? "" : "s");
    return 0;
}

int placement_doubt(const struct experiment *e, uint32_t cpus, struct experiment_diagnostics *found)
{
    const struct experiment_real_time *rt = &e->sensing.real_time;
    int err = 0;
    if (has_from(&rt->cpu, cpus))
        err = experiment_report(found, true, rt->at, "sensing.real-time.cpu", "this machine has the CPUs 0 .. %u",
                                cpus - 1);
    if (!err && has_from(&rt->io_cpu, cpus))
        err = experiment_report(found, true, rt->at, "sensing.real-time.io-cpu", "this machine has the CPUs 0 .. %u",
                                cpus - 1);
    return err ? err : doubt_starving(e, cpus, found);
}
