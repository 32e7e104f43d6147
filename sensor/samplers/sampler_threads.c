// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The sampler of threads: what the scheduler did with each thread that has a ring, between two samples of it. The times
 * of a thread that was not on a CPU since its last sample are the same; then its other two files are not read. A wait
 * for a CPU counts when it ends, so that it is in the same sample as what the thread records next.
 */
#include "base/clock.h"
#include "base/grow.h"
#include "sensor/samplers/sampler_switches.h"

#include <stdlib.h>
#include <string.h>

/* For samples of threads, and where nobody asked for them; those that are left come first at the next turn. */
#define TURN_LONGEST CLOCK_MS
#define TURN_UNASKED (CLOCK_MS / 5)

/* ---- Places ------------------------------------------------------------------------------------------------------ */

static void close_thread(struct samplers *s, struct sampler_thread *t)
{
    if (t->state != THREAD_SAMPLED)
        return;
    sampler_close_recorder(s, t);
    sampler_file_close(&t->times);
    sampler_file_close(&t->stat);
    sampler_file_close(&t->status);
    t->state = THREAD_PASSED;
    s->thread_count--;
}

void sampler_close_threads(struct samplers *s, struct sampler_process_state *p)
{
    for (uint32_t i = 0; i < p->thread_count; i++)
        close_thread(s, &p->threads[i]);
    free(p->threads);
    p->threads = NULL;
    p->thread_count = 0;
}

static struct sampler_file thread_file(uint32_t pid, uint32_t thread, const char *name, const char *what)
{
    struct sampler_file f = sampler_file("/proc/%u/task/%u/%s", pid, thread, name);
    f.what = what;
    return f;
}

/* A thread may have a second ring, for its signal handlers. */
static bool has_place(const struct sampler_process_state *p, uint32_t thread)
{
    for (uint32_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].state == THREAD_SAMPLED && p->threads[i].id == thread)
            return true;
    return false;
}

/* Thread `thread` took ring `ring`, or is found in it. */
static void begin_thread(struct samplers *s, struct sampler_process_state *p, uint32_t ring, uint32_t pid,
                         uint32_t thread, int64_t now)
{
    struct sampler_thread *t = &p->threads[ring];
    close_thread(s, t);
    if (s->thread_count >= s->thread_max) {
        const char *remedy = s->thread_max < sampler_most_threads(s) ? ": raise the " NOTE_OPEN_FILES " (ulimit -n)"
                             : s->unasked                            ? ": name 'scheduling' in sensing.samplers"
                                                                     : "";
        sampler_lacks(s, NULL, now, "more than %u " NOTE_MORE_THREADS ": the scheduling of the others is not sampled%s",
                      s->thread_max, remedy);
        t->state = THREAD_NONE;
        return;
    }
    bool other = has_place(p, thread);
    *t = (struct sampler_thread){
        .state = other ? THREAD_PASSED : THREAD_SAMPLED,
        .id = thread,
        .round = s->round - 1,
        .times = thread_file(pid, thread, "schedstat", "the CPU time and waiting of threads (schedstat)"),
        .stat = thread_file(pid, thread, "stat", "the CPU of threads (stat)"),
        .status = thread_file(pid, thread, "status", "the context switches of threads (status)")};
    s->thread_count += !other;
}

void sampler_find_threads(struct samplers *s, struct sampler_process_state *place, const struct external_process *p,
                          int64_t now)
{
    if (!grow_zeroed(&place->threads, &place->thread_count, p->at->ring_count, sizeof *place->threads))
        return;
    for (uint32_t ring = 0; ring < p->at->ring_count && !p->truncated; ring++) {
        const struct sampler_thread *t = &place->threads[ring];
        uint32_t thread = segment_ring_thread(p->at, ring);
        if (thread && (t->state == THREAD_NONE || t->id != thread))
            begin_thread(s, place, ring, p->at->pid, thread, now);
    }
}

/* ---- A sample ---------------------------------------------------------------------------------------------------- */

/* What is read of a thread. */
struct reading {
    int64_t at, sched[SCHED_FIELDS], voluntary, involuntary, faults, cpu;
};

static void note_uncounted(struct samplers *s, int64_t now)
{
    sampler_note(s, NULL, now,
                 "this kernel does not keep the times that threads run and wait (/proc/PID/schedstat): boot it with "
                 "delayacct, or use one with CONFIG_SCHEDSTATS; context switches are sampled");
}

/* The scheduler's times; unknown where the kernel does not keep them. False if the thread has ended. */
static bool read_times(struct samplers *s, struct sampler_thread *t, int64_t now, int64_t sched[SCHED_FIELDS])
{
    bool read = sampler_read(s, &t->times, now, true) && sampler_read_sched(s->text, sched);
    if (!read && t->times.gone && !sampler_read(s, &t->stat, now, true))
        return false;
    bool counted = read && sched[SCHED_SLICES] > 0; /* every thread that has a ring ran */
    if ((read && !counted) || t->times.gone)
        note_uncounted(s, now);
    for (int i = 0; i < SCHED_FIELDS && !counted; i++)
        sched[i] = SAMPLER_UNKNOWN;
    return true;
}

/* Whether nothing happened to the thread since the sample before. */
static bool slept(const struct sampler_thread *t, const struct reading *r)
{
    return t->at && r->sched[SCHED_SLICES] != SAMPLER_UNKNOWN && memcmp(t->sched, r->sched, sizeof t->sched) == 0;
}

static bool read_thread(struct samplers *s, struct sampler_thread *t, int64_t now, struct reading *r)
{
    *r = (struct reading){.voluntary = t->voluntary, .involuntary = t->involuntary, .faults = t->faults, .cpu = t->cpu};
    if (!read_times(s, t, now, r->sched))
        return false;
    r->at = clock_now();
    if (slept(t, r))
        return true;
    r->voluntary = r->involuntary = r->faults = r->cpu = SAMPLER_UNKNOWN;
    if (sampler_read(s, &t->stat, now, true) && !sampler_read_thread(s->text, &r->faults, &r->cpu))
        return false;
    if (sampler_read(s, &t->status, now, true))
        (void)sampler_read_switches(s->text, &r->voluntary, &r->involuntary);
    return !t->stat.gone && !t->status.gone;
}

static int64_t since(int64_t now, int64_t before)
{
    return now < 0 || before < 0 || now < before ? SAMPLER_UNKNOWN : now - before;
}

static void record_thread(struct samplers *s, const struct sampler_thread *t, const struct external_process *p,
                          const struct reading *r, int64_t now)
{
    struct sampler_cpu_share cpu = {SAMPLER_UNKNOWN, SAMPLER_UNKNOWN, SAMPLER_UNKNOWN};
    if (t->turn == s->turn - 1)
        (void)sampler_interrupts_of(s, r->cpu, now, &cpu);
    int64_t values[] = {t->id,
                        r->at - t->at,
                        since(r->sched[SCHED_RUNNING], t->sched[SCHED_RUNNING]),
                        since(r->sched[SCHED_WAITING], t->sched[SCHED_WAITING]),
                        since(r->voluntary, t->voluntary),
                        since(r->involuntary, t->involuntary),
                        since(r->faults, t->faults),
                        r->cpu,
                        cpu.interrupts,
                        cpu.softirqs,
                        cpu.steal};
    sampler_record(s, ASPECT_SCHEDULING, p->name, values, sizeof values / sizeof *values);
}

static void take_thread(struct samplers *s, struct sampler_thread *t, const struct external_process *p, int64_t now)
{
    struct reading r;
    if (!read_thread(s, t, now, &r)) {
        close_thread(s, t);
        return;
    }
    if (s->unasked && slept(t, &r)) /* nor does anybody ask for a record of it: the next one is about this time, too */
        return;
    if (t->at)
        record_thread(s, t, p, &r, now);
    t->at = r.at;
    memcpy(t->sched, r.sched, sizeof t->sched);
    t->voluntary = r.voluntary;
    t->involuntary = r.involuntary;
    t->faults = r.faults;
    t->cpu = r.cpu;
    t->turn = s->turn;
}

/*
 * Takes samples of the threads that this round has not sampled yet, until `*until`; 0: the first one is to come,
 * however late it is. False if some are left.
 */
static bool take_threads(struct samplers *s, struct sampler_process_state *place, const struct external_process *p,
                         int64_t now, int64_t *until)
{
    for (uint32_t i = 0; i < place->thread_count; i++) {
        struct sampler_thread *t = &place->threads[i];
        if (t->state != THREAD_SAMPLED || t->round == s->round)
            continue;
        if (*until && clock_now() >= *until)
            return false;
        *until = *until ? *until : clock_now() + (s->unasked ? TURN_UNASKED : TURN_LONGEST);
        t->round = s->round;
        take_thread(s, t, p, now);
    }
    return true;
}

void sampler_take_scheduling(struct samplers *s, int64_t now)
{
    const struct external_process *p;
    struct sampler_process_state *place;
    int64_t until = 0;
    bool all = true;
    s->turn++;
    for (uint32_t i = 0; (place = sampler_next_process(s, &i, &p)) != NULL;) {
        sampler_find_threads(s, place, p, now);
        all = all && take_threads(s, place, p, now, &until);
    }
    s->round += all;
    sampler_mark_interrupts(s, now);
}
