// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Why a thread was off its CPU. A wait ends when somebody wakes the thread, which is ready from then on, or already on
 * its way to the CPU; that moment is exact, where it is known. While the thread was ready others had the CPU: those are
 * named one after the other. Times below 20 us are not explained: they are many, and hardly ever a reason.
 */
#include "base/clock.h"
#include "sensor/samplers/sampler_switches.h"

#include <string.h>

#define EXPLAINED      (20 * CLOCK_US) /* times from here on are */
#define THROTTLE_LEAST CLOCK_MS        /* a quota keeps a thread off its CPU for longer */
#define LOOK_AFTER     (20 * CLOCK_MS) /* a thread that has waited for so long is looked at */

/* The order is that of the labels in the trace; those in between are enum switches_context. */
enum { WOKEN_UNKNOWN, WOKEN_BY, WOKEN_NOT_YET = WOKEN_BY + SWITCHES_BY_INTERRUPT + 1 };

/* A wait of thread `t` that ended at `end`. */
static void record_wait(struct samplers *s, const struct sampler_thread *t, int64_t end, int woken,
                        const struct switches_waking *waking, int64_t at)
{
    const struct switches_recorder *r = t->recorder;
    bool named = woken == WOKEN_BY + SWITCHES_BY_THREAD || woken == WOKEN_BY + SWITCHES_BY_SOFTIRQ;
    int64_t values[] = {(int64_t)r->process,
                        t->id,
                        end - r->thread.since,
                        at - end,
                        (int64_t)r->state,
                        woken,
                        (int64_t)sampler_command_of(s, named ? waking->thread : SWITCHES_NOBODY),
                        named ? waking->pid : SAMPLER_UNKNOWN,
                        named ? waking->thread : SAMPLER_UNKNOWN};
    journal_record_at(s->switches->journal, ASPECT_WAIT, at, (const uint64_t *)values);
}

static void record_rival(struct samplers *s, const struct sampler_thread *t, uint32_t cpu,
                         const struct switches_rival *r, uint64_t command, int64_t at)
{
    bool named = r->thread != SWITCHES_NOBODY;
    int64_t values[] = {(int64_t)t->recorder->process,
                        t->id,
                        r->end - r->begin,
                        at - r->end,
                        cpu,
                        (int64_t)command,
                        named ? r->pid : SAMPLER_UNKNOWN,
                        named ? r->thread : SAMPLER_UNKNOWN,
                        r->had};
    journal_record_at(s->switches->journal, ASPECT_READY, at, (const uint64_t *)values);
}

/*
 * Whether the thread, which was preempted, was off its CPU as its cgroup had used up its quota. The kernel has that
 * time of the group alone: it is believed to be the thread's if it is at least half as long.
 */
static bool record_throttle(struct samplers *s, const struct sampler_thread *t, uint32_t cpu, int64_t at)
{
    const struct switches_thread *k = &t->recorder->thread;
    int64_t throttled = k->preempted && k->off >= THROTTLE_LEAST ? sampler_throttled(s, &t->recorder->throttled) : 0;
    if (throttled == 0 || throttled < k->off / 2)
        return false;
    struct switches_rival r = {.begin = k->since, .end = k->begin, .thread = SWITCHES_NOBODY};
    r.had = throttled < k->off ? throttled : k->off;
    record_rival(s, t, cpu, &r, journal_string(s->switches->journal, "quota"), at);
    return true;
}

/* Who had the CPU from `begin` to `end`, while the thread was ready. Returns for how long others had it. */
static int64_t record_ready(struct samplers *s, const struct sampler_thread *t, uint32_t cpu, int64_t begin, int64_t at)
{
    const struct switches_recorder *r = t->recorder;
    struct switches_rival rivals[SWITCHES_RIVALS];
    int64_t had = 0;
    bool lost = false;
    if (record_throttle(s, t, cpu, at))
        return 0;
    int n = sampler_rivals_of(s, cpu, t->id, cpu == r->thread.cpu, begin, r->thread.begin, rivals, &lost);
    for (int i = 0; i < n; i++) {
        record_rival(s, t, cpu, &rivals[i], sampler_command_of(s, rivals[i].thread), at);
        had += rivals[i].thread ? rivals[i].had : 0;
    }
    if (lost)
        journal_lose(s->switches->journal, ASPECT_READY, 1);
    return had;
}

int64_t sampler_find_waking(struct samplers *s, uint32_t id, const struct switches_thread *t,
                            const struct switches_event *e, struct switches_waking *waking)
{
    bool waited = e->what == SWITCHES_IN && t->state == SWITCHES_STATE_OFF && !t->preempted;
    return waited && e->time - t->since >= EXPLAINED && sampler_waking_of(s, id, t->since, e->time, waking)
               ? waking->time
               : 0;
}

/* What the kernel's sum does not tell, who had the CPU does. */
void sampler_explain(struct samplers *s, struct sampler_thread *t, uint32_t left, const struct switches_waking *waking,
                     bool known, int64_t at)
{
    struct switches_recorder *r = t->recorder;
    struct switches_thread *k = &r->thread;
    if (k->off >= EXPLAINED && !k->preempted && (waking || r->state != SWITCHES_STATE_UNSEEN))
        record_wait(s, t, waking ? waking->time : k->begin - k->ready_least,
                    waking ? WOKEN_BY + (int)waking->context : WOKEN_UNKNOWN, waking, at);
    if ((known || waking || k->preempted) && k->ready_most >= EXPLAINED) {
        int64_t had = record_ready(s, t, k->preempted ? left : k->cpu, k->begin - k->ready_most, at);
        if (!known && !k->preempted)
            k->ready_least = had;
    }
    r->looked = false;
    r->state = SWITCHES_STATE_UNSEEN;
}

static enum switches_state state_of(const char *stat)
{
    const char *name_end = strrchr(stat, ')');
    switch (name_end && name_end[1] == ' ' ? name_end[2] : '\0') {
    case 'S':
        return SWITCHES_STATE_SLEEPS;
    case 'D':
        return SWITCHES_STATE_DISK;
    case 'T':
    case 't':
        return SWITCHES_STATE_STOPPED;
    default:
        return SWITCHES_STATE_UNSEEN;
    }
}

/* The letter of one that a cgroup freezes is that of a sleep or of a disk; of a parent that waits in vfork(), of a
 * disk. */
static enum switches_state state_by_place(struct samplers *s, const char *stat, enum switches_state letter, int64_t now)
{
    struct sampler_file place = sampler_file("%.*s/wchan", (int)(strrchr(stat, '/') - stat), stat);
    place.what = "where threads wait (wchan)";
    bool read =
        (letter == SWITCHES_STATE_SLEEPS || letter == SWITCHES_STATE_DISK) && sampler_read(s, &place, now, true);
    sampler_file_close(&place);
    if (read && sampler_is_frozen(s->text))
        return SWITCHES_STATE_STOPPED;
    return read && sampler_waits_in_vfork(s->text) ? SWITCHES_STATE_SLEEPS : letter;
}

/*
 * What was read is about this wait if no switch was recorded meanwhile. A thread that waits without any record so far
 * has waited since its recording began.
 */
void sampler_look_at_wait(struct samplers *s, struct sampler_thread *t, int64_t now)
{
    struct switches_recorder *r = t->recorder;
    struct switches_thread *k = &r->thread;
    bool unseen = k->state == SWITCHES_STATE_UNKNOWN && k->whole, off = k->state == SWITCHES_STATE_OFF && !k->preempted;
    if (r->looked || (!unseen && !off) || now - (unseen ? k->begin : k->since) < LOOK_AFTER ||
        !sampler_read(s, &t->stat, now, true))
        return;
    enum switches_state state = state_by_place(s, t->stat.path, state_of(s->text), now);
    if (switches_ring_head(&r->ring) != switches_ring_tail(&r->ring) || (unseen && state == SWITCHES_STATE_UNSEEN))
        return;
    if (unseen)
        switches_wait(k);
    r->looked = true;
    r->state = state;
}

void sampler_explain_last(struct samplers *s, struct sampler_thread *t, int64_t now)
{
    const struct switches_thread *k = &t->recorder->thread;
    if (k->state == SWITCHES_STATE_OFF && !k->preempted && now - k->since >= LOOK_AFTER)
        record_wait(s, t, now, WOKEN_NOT_YET, NULL, now);
}
