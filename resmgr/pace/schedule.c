// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/pace/schedule.h"

/* Between housekeepings of a sleeping node: a quarter of the time-out of a silent peer. Who follows the run waits so
 * long for its low watermark. */
#define ASLEEP (CLOCK_S / 2)

void schedule_start(struct schedule *s, int64_t now, int64_t every)
{
    s->poll_due = s->housekeep_due = now;
    s->step_due = now + every;
    s->metric_due = now + CLOCK_S;
    s->hand_on_due = now;
}

void schedule_turn(struct schedule *s, int64_t now)
{
    s->turned = now;
    s->turns++;
}

void schedule_polled(struct schedule *s, int64_t now, int64_t period)
{
    if (s->busy_wait) {
        s->poll_due = now + period;
        return;
    }
    s->poll_due = schedule_next(s->poll_due, now, period);
}

void schedule_poll_at(struct schedule *s, int64_t at)
{
    s->poll_due = at;
}

void schedule_poll_within(struct schedule *s, int64_t now, int64_t period)
{
    if (!s->busy_wait && s->poll_due > now + period)
        s->poll_due = now + period;
}

void schedule_poll_after(struct schedule *s, int64_t at)
{
    if (!s->busy_wait && s->poll_due < at)
        s->poll_due = at;
}

void schedule_busy_wait(struct schedule *s, bool busy_wait)
{
    s->busy_wait = busy_wait;
}

void schedule_stepped(struct schedule *s, int64_t now, int64_t every)
{
    s->step_due += every;
    if (s->step_due <= now)
        s->step_due = now + every;
}

void schedule_housekept(struct schedule *s, int64_t now)
{
    s->housekeep_due = now + (s->asleep ? ASLEEP : SCHEDULE_HOUSEKEEP);
}

void schedule_housekeep_within(struct schedule *s, int64_t now, int64_t time)
{
    if (s->housekeep_due <= now + time)
        s->housekeep_due = now;
}

void schedule_sleep(struct schedule *s, int64_t now)
{
    if (!s->asleep)
        s->housekeep_due = now + ASLEEP;
    s->asleep = true;
}

void schedule_wake(struct schedule *s, int64_t now, int64_t every)
{
    s->asleep = false;
    s->poll_due = s->housekeep_due = now;
    s->step_due = now + every;
}

int64_t schedule_due(const struct schedule *s, bool polls)
{
    int64_t due = s->step_due < s->housekeep_due ? s->step_due : s->housekeep_due;
    return polls && s->poll_due < due ? s->poll_due : due;
}
