// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The sampler of context switches: when each thread that has a ring was on a CPU, and how that ended. The kernel writes
 * a record of each switch into a ring of memory that it shares with us, one for each thread (perf_event_open(2), a
 * software event that counts nothing). Each turn empties these rings, and records the intervals that have ended.
 *
 * Intervals have a journal of their own. Its clock is the kernel's, as are the times of switches, so that an interval's
 * place before its record (`age`) is exact. It may overwrite, and is then read by snapshots like any flight recorder.
 *
 * The kernel says how long a thread was ready only as a sum (schedstat). That belongs to the records in the ring if no
 * record came while it was read, and if it counts as many arrivals on a CPU as the records do.
 */
#include "sensor/samplers/sampler_switches.h"

#include "base/clock.h"
#include "base/perf_rights.h"
#include "mdr/dict_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    RING_PAGES = 8,               /* of a thread's records, in the kernel; fewer where it does not give so many */
    JOURNAL_SLOTS = 1 << 16,      /* 2 MiB: some 20,000 intervals */
    BUDGET_WINDOW_NS = 1000000000 /* in which the budget holds */
};

#define CUT_AFTER  (100 * CLOCK_MS) /* an interval that has lasted for so long is recorded though it goes on */
#define CUT_SETTLE CLOCK_MS         /* records of switches until so long ago are in the ring */
#define SUM_FOR    (10 * CLOCK_S)   /* that a thread is sampled by sums, before its intervals are recorded again */
#define SUM_PERIOD (100 * CLOCK_MS) /* of `scheduling`, where the file does not have it */

static const struct dict_aspect aspects[] = {
    {.name = "thread_interval",
     .field_count = 9,
     .fields = {TEXT("process"), INT("thread", "1"), INT("duration", "ns"), INT("age", "ns"), INT("cpu", "1"),
                ENUM("ended", "waited|preempted|exited|goes_on"), INT("off", "ns"), INT("ready_least", "ns"),
                INT("ready_most", "ns")}},
    {.name = "thread_ready",
     .field_count = 9,
     .fields = {TEXT("process"), INT("thread", "1"), INT("duration", "ns"), INT("age", "ns"), INT("cpu", "1"),
                TEXT("rival"), INT("rival_pid", "1"), INT("rival_thread", "1"), INT("had", "ns")}},
    {.name = "thread_wait",
     .field_count = 9,
     .fields = {TEXT("process"), INT("thread", "1"), INT("duration", "ns"), INT("age", "ns"),
                ENUM("state", "unknown|sleep|disk_sleep|stopped"),
                ENUM("woken_by", "unknown|thread|softirq|interrupt|not_yet"), TEXT("waker"), INT("waker_pid", "1"),
                INT("waker_thread", "1")}},
};

/* ---- What the kernel refuses ------------------------------------------------------------------------------------- */

/* What nobody records is sampled as sums at least. */
static void serve_sums(struct samplers *s, int64_t now)
{
    if (s->period[EXPERIMENT_SAMPLER_SCHEDULING])
        return;
    s->period[EXPERIMENT_SAMPLER_SCHEDULING] = SUM_PERIOD;
    s->due[EXPERIMENT_SAMPLER_SCHEDULING] = now;
}

/* Whether the kernel records this very thread: then it refuses a program, and not bezeld. */
static bool records_own(void)
{
    struct switches_ring r;
    bool memory, opened = switches_ring_open(&r, 0, -1, 1, &memory) == 0;
    if (opened)
        switches_ring_close(&r);
    return opened || memory;
}

static void note_refused(struct samplers *s, const struct external_process *p, int64_t now, int error, bool memory)
{
    bool rights = !memory && (error == EACCES || error == EPERM), foreign = rights && records_own();
    const char *remedy = memory            ? "`sudo sysctl kernel.perf_event_mlock_kb=65536` allows more memory"
                         : error == EMFILE ? "raise the " NOTE_OPEN_FILES " (ulimit -n)"
                         : foreign         ? "bezeld needs the rights of its user, or CAP_PERFMON"
                         : rights && perf_rights_suffice(2) ? PERF_RIGHTS_FILTERED
                         : rights
                             ? "`sudo sysctl kernel.perf_event_paranoid=2` permits it for own programs, CAP_PERFMON "
                               "for all"
                             : "this kernel does not record them";
    sampler_note(s, foreign ? p : NULL, now,
                 "context switches of %sthreads are not recorded, but summed by 'scheduling': %s: %s",
                 memory || error == EMFILE ? "some "
                 : foreign                 ? "this program's "
                                           : "",
                 strerror(error), remedy);
    serve_sums(s, now);
}

/* ---- Recorders --------------------------------------------------------------------------------------------------- */

static void free_recorder(struct switches_recorder *r)
{
    switches_ring_close(&r->ring);
    free(r);
}

static struct switches_recorder *new_recorder(uint32_t thread, bool *memory)
{
    struct switches_recorder *r = calloc(1, sizeof *r);
    *memory = false;
    if (!r)
        return NULL;
    if (switches_ring_open(&r->ring, (int32_t)thread, -1, RING_PAGES, memory) == 0)
        return r;
    int error = errno;
    free(r);
    errno = error;
    return NULL;
}

static bool read_times(struct samplers *s, struct sampler_thread *t, int64_t now, int64_t sched[SCHED_FIELDS])
{
    return sampler_read(s, &t->times, now, true) && sampler_read_sched(s->text, sched) && sched[SCHED_SLICES] > 0;
}

/* Begins to record thread `t`. If that is refused it is tried again ten seconds later, and other threads are all the
 * same. */
static void begin_recorder(struct samplers *s, struct sampler_thread *t, const struct external_process *p, int64_t now)
{
    int64_t sched[SCHED_FIELDS];
    bool memory;
    struct switches_recorder *r = new_recorder(t->id, &memory);
    if (!r && errno != ESRCH) {
        note_refused(s, p, now, errno, memory);
        t->summed_until = now + SUM_FOR;
    }
    if (!r)
        return;
    switches_begin(&r->thread, clock_now());
    r->process = journal_string(s->switches->journal, p->name);
    r->queued = SWITCHES_UNKNOWN;
    r->ahead = INT64_MAX;
    bool read = read_times(s, t, now, sched);
    r->running = read ? sched[SCHED_RUNNING] : SWITCHES_UNKNOWN;
    if (read && switches_ring_head(&r->ring) == switches_ring_tail(&r->ring)) {
        r->queued = sched[SCHED_WAITING];
        r->ahead = sched[SCHED_SLICES];
    }
    t->recorder = r;
    sampler_keep_wakings(s, t->id, true);
}

/* ---- Intervals --------------------------------------------------------------------------------------------------- */

static void record_lost(struct samplers *s, struct switches_thread *t)
{
    if (t->lost)
        journal_lose(s->switches->journal, ASPECT_INTERVAL, t->lost);
    t->lost = 0;
}

static void record_interval(struct samplers *s, const struct sampler_thread *t, const struct switches_interval *i,
                            int64_t now)
{
    struct switches_recorder *r = t->recorder;
    int64_t values[] = {(int64_t)r->process, t->id,  i->end - i->begin, now - i->end, i->cpu,
                        (int64_t)i->ended,   i->off, i->ready_least,    i->ready_most};
    record_lost(s, &r->thread);
    journal_record_at(s->switches->journal, ASPECT_INTERVAL, now, (const uint64_t *)values);
    r->recent++;
}

/* How long the thread was ready in the stretch of records, if schedstat tells; NULL: it does not. See above. */
static int64_t queued_until(struct switches_recorder *r, const int64_t *sched, int64_t arrivals)
{
    int64_t before = r->queued;
    r->queued = SWITCHES_UNKNOWN;
    if (!sched)
        return SWITCHES_UNKNOWN;
    int64_t ahead = sched[SCHED_SLICES] - r->arrivals - arrivals;
    if (ahead < r->ahead)
        r->ahead = ahead;
    if (ahead != r->ahead)
        return SWITCHES_UNKNOWN;
    r->queued = sched[SCHED_WAITING];
    return before == SWITCHES_UNKNOWN || r->queued < before ? SWITCHES_UNKNOWN : r->queued - before;
}

/* The first records of a ring, decoded once into `events`, and where the rest begins. */
struct taken {
    size_t count;
    struct switches_bytes rest;
    bool broken;
};

static bool next_taken(const struct samplers *s, struct taken *taken, size_t number, struct switches_event *e)
{
    if (number >= taken->count)
        return switches_next(&taken->rest, e, &taken->broken);
    *e = s->switches->events[number];
    return true;
}

/* Looks through the records of `b`: when it was ready in them, and how often the thread came to a CPU. */
static struct switches_gaps survey(struct samplers *s, const struct sampler_thread *t, struct switches_bytes b,
                                   int64_t *arrivals, struct taken *taken)
{
    struct sampler_switches *w = s->switches;
    const struct switches_recorder *r = t->recorder;
    struct switches_gaps g = {0};
    struct switches_thread copy = r->thread;
    struct switches_event e;
    bool broken = false;
    *taken = (struct taken){.rest = b};
    *arrivals = 0;
    while (switches_next(&b, &e, &broken)) {
        if (taken->count < SWITCHES_EVENTS) {
            e.woken = sampler_find_waking(s, t->id, &copy, &e, &w->wakings[taken->count]);
            w->events[taken->count++] = e;
            taken->rest = b;
        }
        switches_add_gap(&g, &copy, &e);
        *arrivals += e.what == SWITCHES_IN;
        switches_pass(&copy, &e);
    }
    return g;
}

/* Takes the records up to `head`. False if the thread has ended. */
static bool take_records(struct samplers *s, struct sampler_thread *t, uint64_t head, int64_t now)
{
    struct switches_recorder *r = t->recorder;
    struct switches_bytes b = switches_ring_bytes(&r->ring, head);
    struct switches_event e;
    struct switches_interval i;
    struct taken taken;
    r->full = switches_full(&b);
    int64_t arrivals, sched[SCHED_FIELDS];
    bool settled = read_times(s, t, now, sched) && switches_ring_head(&r->ring) == head;
    struct switches_gaps g = survey(s, t, b, &arrivals, &taken);
    int64_t queued = queued_until(r, settled ? sched : NULL, arrivals);
    if (r->full || g.queued == SWITCHES_UNKNOWN)
        g.queued = SWITCHES_UNKNOWN;
    else
        g.queued = queued;
    r->arrivals += arrivals;
    int64_t at = clock_now(); /* no record up to `head` is later */
    for (size_t n = 0; next_taken(s, &taken, n, &e); n++) {
        if (e.what == SWITCHES_LOST) {
            r->ahead = INT64_MAX;
            r->queued = SWITCHES_UNKNOWN;
        }
        uint32_t left = r->thread.cpu;
        if (switches_feed(&r->thread, &e, &g, &i))
            record_interval(s, t, &i, at);
        if (e.what == SWITCHES_IN)
            sampler_explain(s, t, left, e.woken ? &s->switches->wakings[n] : NULL, g.queued != SWITCHES_UNKNOWN, at);
    }
    record_lost(s, &r->thread);
    switches_ring_free_up(&r->ring, head);
    if (taken.broken)
        sampler_note(s, NULL, now, "records of context switches that the kernel wrote cannot be read: they are lost");
    return r->thread.state != SWITCHES_STATE_GONE && !taken.broken;
}

/* A thread that has been on its CPU for long has no record: what is known of it is recorded. False if it has ended. */
static bool cut_long(struct samplers *s, struct sampler_thread *t, int64_t now)
{
    struct switches_recorder *r = t->recorder;
    struct switches_interval i;
    int64_t sched[SCHED_FIELDS], until = now - CUT_SETTLE;
    sampler_look_at_wait(s, t, now);
    if (r->thread.state == SWITCHES_STATE_OFF || until - r->thread.begin < CUT_AFTER)
        return true;
    if (!read_times(s, t, now, sched))
        return !t->times.gone;
    bool ran = r->running != SWITCHES_UNKNOWN && sched[SCHED_RUNNING] > r->running;
    if (switches_ring_head(&r->ring) == switches_ring_tail(&r->ring) && switches_cut(&r->thread, until, ran, &i))
        record_interval(s, t, &i, clock_now());
    return true;
}

/* What is known of a thread whose recording ends: it may be on its CPU, or records behind the last one may be lost. */
static void take_last(struct samplers *s, struct sampler_thread *t, int64_t now)
{
    struct switches_recorder *r = t->recorder;
    struct switches_interval i;
    uint64_t head = switches_ring_head(&r->ring);
    if (head != switches_ring_tail(&r->ring))
        (void)take_records(s, t, head, now);
    bool unsaid = r->full && r->thread.state != SWITCHES_STATE_GONE;
    if (unsaid)
        sampler_note(s, NULL, now,
                     "the last context switches of a thread are lost, how many is not known: the kernel's memory for "
                     "them was full; shorten sensing.samplers.switches.period");
    else if (switches_cut(&r->thread, now - CUT_SETTLE, false, &i))
        record_interval(s, t, &i, clock_now());
    else
        sampler_explain_last(s, t, clock_now());
    switches_finish(&r->thread);
    record_lost(s, &r->thread);
}

void sampler_close_recorder(struct samplers *s, struct sampler_thread *t)
{
    if (!t->recorder)
        return;
    take_last(s, t, clock_now());
    sampler_keep_wakings(s, t->id, false);
    free_recorder(t->recorder);
    t->recorder = NULL;
}

static void take_thread(struct samplers *s, struct sampler_thread *t, int64_t now)
{
    struct switches_recorder *r = t->recorder;
    uint64_t head = switches_ring_head(&r->ring);
    if (head != switches_ring_tail(&r->ring) ? take_records(s, t, head, now) : cut_long(s, t, now))
        return;
    sampler_close_recorder(s, t);
    t->summed_until = INT64_MAX; /* this thread is over: another one that gets its ring has a new place */
}

/* ---- The budget -------------------------------------------------------------------------------------------------- */

static struct sampler_thread *find_busiest(struct samplers *s)
{
    struct sampler_thread *most = NULL;
    for (uint32_t i = 0; i < SAMPLER_PROCESSES; i++)
        for (uint32_t k = 0; s->processes[i].instance && k < s->processes[i].thread_count; k++) {
            struct sampler_thread *t = &s->processes[i].threads[k];
            if (t->recorder && (!most || t->recorder->recent > most->recorder->recent))
                most = t;
        }
    return most;
}

static void begin_window(struct samplers *s, int64_t now)
{
    s->switches->began = now;
    s->switches->used = 0;
    for (uint32_t i = 0; i < SAMPLER_PROCESSES; i++)
        for (uint32_t k = 0; s->processes[i].instance && k < s->processes[i].thread_count; k++)
            if (s->processes[i].threads[k].recorder)
                s->processes[i].threads[k].recorder->recent = 0;
}

/* Beyond the budget the busiest thread goes over to sums, and at the next turn, if that does not suffice, another. */
static void keep_budget(struct samplers *s, int64_t now, int64_t used)
{
    struct sampler_switches *w = s->switches;
    w->used += used;
    if ((double)w->used > w->budget * BUDGET_WINDOW_NS && sampler_leave_cpus(s, now + SUM_FOR)) {
        sampler_note(s, NULL, now,
                     "context switches of threads take more than %.3g %% of a CPU (sensing.samplers.switches.budget): "
                     "those of other programs are not looked at, for %d s at a time: who had the CPU while a thread "
                     "was ready is not known then",
                     w->budget * 100, (int)(SUM_FOR / CLOCK_S));
    } else if ((double)w->used > w->budget * BUDGET_WINDOW_NS) {
        struct sampler_thread *t = find_busiest(s);
        sampler_note(s, NULL, now,
                     "context switches of threads take more than %.3g %% of a CPU "
                     "(sensing.samplers.switches.budget): " NOTE_SUMS " sampler 'scheduling' has sums, for "
                     "%d s at a time",
                     w->budget * 100, (int)(SUM_FOR / CLOCK_S));
        serve_sums(s, now);
        if (t) {
            sampler_close_recorder(s, t);
            t->summed_until = now + SUM_FOR;
        }
    }
    if (now - w->began >= BUDGET_WINDOW_NS)
        begin_window(s, now);
}

/* ---- The sampler ------------------------------------------------------------------------------------------------- */

int sampler_open_switches(struct samplers *s, const struct experiment_switches *switches, const char *dir)
{
    const struct segment_form form = {.ring_slots = JOURNAL_SLOTS,
                                      .rings = 1,
                                      .when_full =
                                          switches->store == SWITCHES_STORE_ALL ? SEGMENT_DISCARD : SEGMENT_OVERWRITE,
                                      .clock = SEGMENT_CLOCK_MONOTONIC};
    s->switches = calloc(1, sizeof *s->switches);
    if (!s->switches)
        return BEZEL_ENOMEM;
    s->switches->budget = switches->budget;
    s->switches->cpus = sampler_open_cpus();
    if (!s->switches->cpus)
        return BEZEL_ENOMEM;
    return journal_open_as(dir, &form, aspects, sizeof aspects / sizeof *aspects, &s->switches->journal);
}

void sampler_close_switches(struct samplers *s)
{
    if (s->switches) {
        sampler_close_cpus(s->switches->cpus);
        journal_close(s->switches->journal);
    }
    free(s->switches);
    s->switches = NULL;
}

void sampler_end_switches(struct samplers *s)
{
    for (uint32_t i = 0; i < SAMPLER_PROCESSES; i++)
        for (uint32_t k = 0; s->processes[i].instance && k < s->processes[i].thread_count; k++)
            sampler_close_recorder(s, &s->processes[i].threads[k]);
    s->period[EXPERIMENT_SAMPLER_SWITCHES] = 0;
}

void sampler_take_switches(struct samplers *s, int64_t now)
{
    const struct external_process *p;
    struct sampler_process_state *place;
    int64_t began = clock_thread_cpu();
    sampler_take_cpus(s, now);
    for (uint32_t i = 0; (place = sampler_next_process(s, &i, &p)) != NULL;) {
        sampler_find_threads(s, place, p, now);
        sampler_begin_throttle(s, place, p->at->pid, now);
        for (uint32_t k = 0; k < place->thread_count; k++) {
            struct sampler_thread *t = &place->threads[k];
            if (t->state == THREAD_SAMPLED && !t->recorder && now >= t->summed_until)
                begin_recorder(s, t, p, now);
            if (t->recorder)
                take_thread(s, t, now);
        }
    }
    s->switches->throttle = NULL;
    keep_budget(s, now, clock_thread_cpu() - began);
}
