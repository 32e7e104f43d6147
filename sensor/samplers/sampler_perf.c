// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Perf counters of the SUT's processes (perf_event_open(2)), where the kernel allows them. They count the threads that
 * a process has when it is first seen, and the threads that those create. Counting costs the program only somewhat
 * longer context switches.
 */
#include "base/grow.h"
#include "sensor/samplers/sampler_internal.h"

#include "base/perf_rights.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    uint32_t type;
    uint64_t config;
    const char *name; /* NULL: in one note for all hardware counters */
} events[PERF_FIELDS] = {
    [PERF_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, NULL},
    [PERF_INSTRUCTIONS] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, NULL},
    [PERF_CACHE_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, NULL},
    [PERF_BRANCH_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, NULL},
    [PERF_TASK_NS] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "task clock"},
    [PERF_SWITCHES] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, "context switches"},
    [PERF_MIGRATIONS] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, "migrations"},
};

/*
 * Counts the kernel's work for the thread too, if that is allowed; else the program's own only. Switches and migrations
 * happen in the kernel: without its part they would be 0 whatever the thread does, so they are refused.
 */
static int open_counter(pid_t thread, enum sampler_perf what)
{
    struct perf_event_attr attr = {
        .type = events[what].type, .size = sizeof attr, .config = events[what].config, .inherit = 1};
    int fd = (int)syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && (errno == EACCES || errno == EPERM) && what != PERF_SWITCHES && what != PERF_MIGRATIONS) {
        attr.exclude_kernel = attr.exclude_hv = 1;
        fd = (int)syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
    return fd;
}

static void note_refused(struct samplers *s, enum sampler_perf what, int64_t now)
{
    int error = errno;
    bool rights = error == EACCES || error == EPERM, own = events[what].type == PERF_TYPE_HARDWARE;
    const char *remedy = rights && perf_rights_suffice(own ? 2 : 1) ? PERF_RIGHTS_FILTERED
                         : rights          ? "give bezeld CAP_PERFMON, or lower kernel.perf_event_paranoid"
                         : error == EMFILE ? "raise the " NOTE_OPEN_FILES " (ulimit -n)"
                                           : "this machine does not count it";
    if (error != ESRCH)
        sampler_note(s, NULL, now, "%s of processes are not counted: %s: %s",
                     own ? "cycles, instructions and misses" : events[what].name, strerror(error), remedy);
}

static void add_counters(struct samplers *s, struct sampler_process_state *p, pid_t thread, int64_t now)
{
    for (int what = 0; what < PERF_FIELDS; what++) {
        if (s->counter_count >= SAMPLER_COUNTERS_MAX) {
            sampler_note(s, NULL, now, "all %d perf counters are in use: further threads and processes are not counted",
                         SAMPLER_COUNTERS_MAX);
            return;
        }
        if (!grow_by_one(&p->counters, p->counter_count, sizeof *p->counters))
            return;
        int fd = open_counter(thread, (enum sampler_perf)what);
        if (fd < 0) {
            note_refused(s, (enum sampler_perf)what, now);
            continue;
        }
        p->counters[p->counter_count++] = (struct sampler_counter){.fd = fd, .what = (enum sampler_perf)what};
        s->counter_count++;
    }
}

static void open_counters(struct samplers *s, struct sampler_process_state *p, uint32_t pid, int64_t now)
{
    char path[64];
    p->opened = true;
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    DIR *tasks = opendir(path);
    for (struct dirent *e; tasks && (e = readdir(tasks)) != NULL;)
        if (e->d_name[0] != '.')
            add_counters(s, p, (pid_t)strtol(e->d_name, NULL, 10), now);
    if (tasks)
        closedir(tasks);
}

void sampler_close_counters(struct samplers *s, struct sampler_process_state *p)
{
    for (uint32_t i = 0; i < p->counter_count; i++)
        close(p->counters[i].fd);
    s->counter_count -= p->counter_count;
    free(p->counters);
}

void sampler_take_perf(struct samplers *s, int64_t now)
{
    const struct external_process *p;
    struct sampler_process_state *place;
    for (uint32_t i = 0; (place = sampler_next_process(s, &i, &p)) != NULL;) {
        int64_t values[1 + PERF_FIELDS] = {p->at->pid};
        for (int what = 0; what < PERF_FIELDS; what++)
            values[1 + what] = SAMPLER_UNKNOWN;
        if (!place->opened)
            open_counters(s, place, p->at->pid, now);
        for (uint32_t c = 0; c < place->counter_count; c++) {
            uint64_t count;
            int64_t *sum = &values[1 + place->counters[c].what];
            if (read(place->counters[c].fd, &count, sizeof count) == sizeof count)
                *sum = (*sum == SAMPLER_UNKNOWN ? 0 : *sum) + (int64_t)count;
        }
        if (place->counter_count > 0)
            sampler_record(s, ASPECT_PERF, p->name, values, 1 + PERF_FIELDS);
    }
}
