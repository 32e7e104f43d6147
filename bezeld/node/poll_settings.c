// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/poll_settings.h"

#include "base/clock.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEPT_MAX = 128 }; /* of the file: given, period, mode, policy and batch limit in digits */

_Static_assert((int)POLL_MODE_POLLING == (int)POLL_POLLING && (int)POLL_MODE_BUSY_WAIT == (int)POLL_BUSY_WAIT &&
                   (int)POLL_FORWARD_BATCH == (int)FORWARD_BATCH && (int)POLL_FORWARD_COLLECT == (int)FORWARD_COLLECT,
               "the file's words are the message's");

/* ---- Bounds ------------------------------------------------------------------------------------------------------ */

static bool refuse_period(const struct experiment_adapt *adapt, int64_t period, char *why)
{
    if (period < CLOCK_US || period > 10 * CLOCK_S)
        snprintf(why, POLL_SETTINGS_WHY_SIZE, "a polling period of %s is out of range; allowed: 1 us .. 10 s",
                 units_brief_duration(period).s);
    else if (experiment_policy_can(adapt->policy, POLICY_MOVES) &&
             (period < adapt->period_min || period > adapt->period_max))
        snprintf(why, POLL_SETTINGS_WHY_SIZE, "policy %s moves the period within adapt.period, %s .. %s: %s is outside",
                 experiment_policy_word((int)adapt->policy), units_brief_duration(adapt->period_min).s,
                 units_brief_duration(adapt->period_max).s, units_brief_duration(period).s);
    else
        return false;
    return true;
}

static bool is_refused(const struct experiment *e, const struct message_poll *wanted, char *why)
{
    if (wanted->given & POLL_GIVES_PERIOD) {
        int64_t period = wanted->period_ns > INT64_MAX ? INT64_MAX : (int64_t)wanted->period_ns;
        if (refuse_period(&e->adapt, period, why))
            return true;
    }
    if (wanted->mode == POLL_MODE_BUSY_WAIT && experiment_policy_can(e->adapt.policy, POLICY_MOVES))
        snprintf(why, POLL_SETTINGS_WHY_SIZE, "policy %s adapts the polling period, and busy-wait has none",
                 experiment_policy_word((int)e->adapt.policy));
    else if (wanted->forward == POLL_FORWARD_COLLECT && e->sensing.accumulate > 1)
        snprintf(why, POLL_SETTINGS_WHY_SIZE,
                 "'collect' forwards each record alone, and the file says that %" PRIu32
                 " accumulate (sensing.forward.accumulate)",
                 e->sensing.accumulate);
    else if (wanted->batch > EXPERIMENT_BATCH_MAX)
        snprintf(why, POLL_SETTINGS_WHY_SIZE,
                 "a batch limit of %" PRIu32 " is out of range; allowed: 0 .. %d, 0 for all", wanted->batch,
                 EXPERIMENT_BATCH_MAX);
    else
        return false;
    return true;
}

static void take(struct message_poll *now, const struct message_poll *wanted)
{
    if (wanted->given & POLL_GIVES_PERIOD)
        now->period_ns = wanted->period_ns;
    if (wanted->given & POLL_GIVES_MODE)
        now->mode = wanted->mode;
    if (wanted->given & POLL_GIVES_FORWARD)
        now->forward = wanted->forward;
    if (wanted->given & POLL_GIVES_BATCH)
        now->batch = wanted->batch;
    now->given |= wanted->given;
}

/* ---- The kept settings ------------------------------------------------------------------------------------------- */

static void keep(const struct poll_settings *p)
{
    char text[KEPT_MAX];
    snprintf(text, sizeof text, "%" PRIu32 " %" PRIu64 " %d %d %" PRIu32 "\n", p->now.given, p->now.period_ns,
             (int)p->now.mode, (int)p->now.forward, p->now.batch);
    state_file_write(&p->file, text);
}

/* Reads the settings that an earlier daemon of this run kept; false if there are none, or they are not valid. */
static bool read_kept(const struct poll_settings *p, struct message_poll *wanted)
{
    char *text = state_file_read(&p->file);
    unsigned mode, forward;
    bool ok = text &&
              sscanf(text, "%" SCNu32 " %" SCNu64 " %u %u %" SCNu32, &wanted->given, &wanted->period_ns, &mode,
                     &forward, &wanted->batch) == 5 &&
              wanted->given <= POLL_GIVES_ALL && mode <= POLL_MODE_BUSY_WAIT && forward <= POLL_FORWARD_COLLECT;
    if (ok) {
        wanted->mode = (enum message_poll_mode)mode;
        wanted->forward = (enum message_poll_forward)forward;
    }
    free(text);
    return ok;
}

void poll_settings_open(struct poll_settings *p, const struct experiment *e, const char *dir, const uint8_t run[16])
{
    *p = (struct poll_settings){.experiment = e,
                                .now = {.period_ns = (uint64_t)e->sensing.period,
                                        .mode = (enum message_poll_mode)e->sensing.mode,
                                        .forward = (enum message_poll_forward)e->sensing.forward,
                                        .batch = e->sensing.batch}};
    state_file_init(&p->file, dir, "poll", run, "how it is to poll");
    struct message_poll kept = {0};
    char why[POLL_SETTINGS_WHY_SIZE];
    if (read_kept(p, &kept) && !is_refused(e, &kept, why))
        take(&p->now, &kept);
}

bool poll_settings_change(struct poll_settings *p, const struct message_poll *wanted, char why[POLL_SETTINGS_WHY_SIZE])
{
    if (is_refused(p->experiment, wanted, why))
        return false;
    take(&p->now, wanted);
    keep(p);
    return true;
}
