// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Samplers of the SUT's processes: those that the external sensor reads, while they live, and whose pid belongs to our
 * pid namespace.
 */
#include "base/clock.h"
#include "base/procstat.h"
#include "sensor/samplers/sampler_switches.h"

#include <stdio.h>

static struct sampler_process_state *find_place(struct samplers *s, const struct attached *at)
{
    struct sampler_process_state *free_place = NULL;
    for (uint32_t i = 0; i < SAMPLER_PROCESSES; i++) {
        struct sampler_process_state *p = &s->processes[i];
        if (p->instance == at->instance)
            return p;
        if (!p->instance && !free_place)
            free_place = p;
    }
    if (free_place)
        *free_place = (struct sampler_process_state){.instance = at->instance,
                                                     .start_time = at->start_time,
                                                     .stat = sampler_file("/proc/%u/stat", at->pid),
                                                     .sched = sampler_file("/proc/%u/schedstat", at->pid)};
    return free_place;
}

void sampler_forget_process(struct samplers *s, struct sampler_process_state *p)
{
    sampler_file_close(&p->stat);
    sampler_file_close(&p->sched);
    sampler_close_counters(s, p);
    sampler_close_threads(s, p);
    sampler_close_throttle(p);
    p->instance = 0;
}

static bool is_sampled(const struct external_process *p)
{
    return external_is_living(p) && segment_pid_is_ours(p->at);
}

/* One note for all: there may be a crowd of them. */
static void note_unseen(struct samplers *s, const struct external_process *p)
{
    if (s->unseen_noted)
        return;
    s->unseen_noted = true;
    sampler_lacks(s, p, clock_now(),
                  procstat_namespace() ? "it is not sampled, " NOTE_NOR_OTHERS
                                         " like it: it is in another pid namespace than bezeld (a "
                                         "container?), or its /proc was of another; run bezeld in the same one"
                                       : "it is not sampled, " NOTE_NOR_OTHERS
                                         ": /proc is not that of bezeld's pid namespace; mount one for "
                                         "it (unshare --mount-proc)");
}

/* Frees the places of processes that have ended. */
static void forget_ended(struct samplers *s)
{
    for (uint32_t i = 0; i < SAMPLER_PROCESSES; i++) {
        struct sampler_process_state *place = &s->processes[i];
        if (place->instance && !is_sampled(external_find(s->external, place->instance)))
            sampler_forget_process(s, place);
    }
}

struct sampler_process_state *sampler_next_process(struct samplers *s, uint32_t *i, const struct external_process **p)
{
    if (*i == 0)
        forget_ended(s);
    for (; *i < external_process_count(s->external); ++*i) {
        *p = external_process(s->external, *i);
        struct sampler_process_state *place = is_sampled(*p) ? find_place(s, (*p)->at) : NULL;
        if (external_is_living(*p) && !is_sampled(*p))
            note_unseen(s, *p);
        if (is_sampled(*p) && !place)
            sampler_lacks(s, NULL, 0, "more than %d " NOTE_MORE_PROCESSES ": the others are not sampled",
                          SAMPLER_PROCESSES);
        if (place)
            return ++*i, place;
    }
    return NULL;
}

/* Clock ticks are coarse; schedstat has the scheduler's own times: ns on a CPU, and ns in a queue. */
static void read_sched(struct samplers *s, struct sampler_process_state *place, int64_t now, int64_t values[2])
{
    long long running, waiting;
    values[0] = values[1] = SAMPLER_UNKNOWN;
    if (sampler_read(s, &place->sched, now, true) && sscanf(s->text, "%lld %lld", &running, &waiting) == 2)
        values[0] = running, values[1] = waiting;
}

static void take_process(struct samplers *s, struct sampler_process_state *place, const struct external_process *p,
                         int64_t now)
{
    int64_t v[PROCESS_FIELDS], sched[2];
    uint64_t start_time;
    if (!sampler_read(s, &place->stat, now, true) || !sampler_read_process(s->text, v, &start_time) ||
        (place->start_time && start_time != place->start_time))
        return;
    read_sched(s, place, now, sched);
    int64_t values[] = {p->at->pid,
                        v[PROCESS_USER] * s->tick_ns,
                        v[PROCESS_SYSTEM] * s->tick_ns,
                        sched[0],
                        sched[1],
                        v[PROCESS_MINOR_FAULTS],
                        v[PROCESS_MAJOR_FAULTS],
                        v[PROCESS_THREADS],
                        v[PROCESS_RESIDENT] * s->page_bytes};
    sampler_record(s, ASPECT_PROCESS, p->name, values, sizeof values / sizeof *values);
}

void sampler_take_processes(struct samplers *s, int64_t now)
{
    const struct external_process *p;
    struct sampler_process_state *place;
    for (uint32_t i = 0; (place = sampler_next_process(s, &i, &p)) != NULL;)
        take_process(s, place, p, now);
}
