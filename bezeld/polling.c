// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/polling.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT_MAX = 128 }; /* of the file: the run, then given, period, mode, policy and batch limit in digits */

_Static_assert((int)POLL_MODE_POLLING == (int)POLL_POLLING && (int)POLL_MODE_BUSY_WAIT == (int)POLL_BUSY_WAIT &&
                   (int)POLL_FORWARD_BATCH == (int)FORWARD_BATCH && (int)POLL_FORWARD_COLLECT == (int)FORWARD_COLLECT,
               "the file's words are the message's");

/* ---- What is in bounds ------------------------------------------------------------------------------------------- */

static bool refuse_period(const struct experiment_adapt *adapt, int64_t period, char *why)
{
    if (period < CLOCK_US || period > 10 * CLOCK_S)
        snprintf(why, POLLING_WHY_SIZE, "a polling period of %s is out of range; allowed: 1 us .. 10 s",
                 units_exact_duration(period).s);
    else if (experiment_policy_moves(adapt->policy) && (period < adapt->period_min || period > adapt->period_max))
        snprintf(why, POLLING_WHY_SIZE, "policy %s moves the period within adapt.period, %s .. %s: %s is outside",
                 experiment_policy_word((int)adapt->policy), units_exact_duration(adapt->period_min).s,
                 units_exact_duration(adapt->period_max).s, units_exact_duration(period).s);
    else
        return false;
    return true;
}

static bool is_refused(const struct experiment *e, const struct message_poll *order, char *why)
{
    if (order->given & POLL_GIVES_PERIOD) {
        int64_t period = order->period_ns > INT64_MAX ? INT64_MAX : (int64_t)order->period_ns;
        if (refuse_period(&e->adapt, period, why))
            return true;
    }
    if (order->mode == POLL_MODE_BUSY_WAIT && experiment_policy_moves(e->adapt.policy))
        snprintf(why, POLLING_WHY_SIZE, "policy %s adapts the polling period, and busy-wait has none",
                 experiment_policy_word((int)e->adapt.policy));
    else if (order->batch > EXPERIMENT_BATCH_MAX)
        snprintf(why, POLLING_WHY_SIZE, "a batch limit of %" PRIu32 " is out of range; allowed: 0 .. %d, 0 for all",
                 order->batch, EXPERIMENT_BATCH_MAX);
    else
        return false;
    return true;
}

static void take(struct message_poll *now, const struct message_poll *order)
{
    if (order->given & POLL_GIVES_PERIOD)
        now->period_ns = order->period_ns;
    if (order->given & POLL_GIVES_MODE)
        now->mode = order->mode;
    if (order->given & POLL_GIVES_FORWARD)
        now->forward = order->forward;
    if (order->given & POLL_GIVES_BATCH)
        now->batch = order->batch;
    now->given |= order->given;
}

/* ---- What is kept ------------------------------------------------------------------------------------------------ */

static void keep(const struct polling *p)
{
    char text[KEPT_MAX];
    memcpy(text, p->run, sizeof p->run);
    size_t n = sizeof p->run;
    n += (size_t)snprintf(text + n, sizeof text - n, "%" PRIu32 " %" PRIu64 " %d %d %" PRIu32 "\n", p->now.given,
                          p->now.period_ns, (int)p->now.mode, (int)p->now.forward, p->now.batch);
    if (file_replace(p->path, text, n) != 0)
        log_warn("BEZEL-POLLING", "%s cannot be written: %s: a restart of this daemon forgets how it is to poll",
                 p->path, strerror(errno));
}

/* Reads what a daemon of this run kept, as an order; false where there is none that makes sense. */
static bool read_kept(const struct polling *p, struct message_poll *order)
{
    char *text;
    size_t n;
    unsigned mode, forward;
    if (file_read_plain(p->path, 1, KEPT_MAX, &text, &n) != 0)
        return false;
    bool ok = n > sizeof p->run && memcmp(text, p->run, sizeof p->run) == 0 &&
              sscanf(text + sizeof p->run, "%" SCNu32 " %" SCNu64 " %u %u %" SCNu32, &order->given, &order->period_ns,
                     &mode, &forward, &order->batch) == 5 &&
              order->given <= POLL_GIVES_ALL && mode <= POLL_MODE_BUSY_WAIT && forward <= POLL_FORWARD_COLLECT;
    if (ok) {
        order->mode = (enum message_poll_mode)mode;
        order->forward = (enum message_poll_forward)forward;
    }
    free(text);
    return ok;
}

void polling_open(struct polling *p, const struct experiment *e, const char *dir, const uint8_t run[16])
{
    *p = (struct polling){.experiment = e,
                          .now = {.period_ns = (uint64_t)e->sensing.period,
                                  .mode = (enum message_poll_mode)e->sensing.mode,
                                  .forward = (enum message_poll_forward)e->sensing.forward,
                                  .batch = e->sensing.batch}};
    memcpy(p->run, run, sizeof p->run);
    snprintf(p->path, sizeof p->path, "%s/poll", dir);
    struct message_poll kept = {0};
    char why[POLLING_WHY_SIZE];
    if (read_kept(p, &kept) && !is_refused(e, &kept, why))
        take(&p->now, &kept);
}

void polling_close(struct polling *p)
{
    unlink(p->path);
}

bool polling_change(struct polling *p, const struct message_poll *order, char why[POLLING_WHY_SIZE])
{
    if (is_refused(p->experiment, order, why))
        return false;
    take(&p->now, order);
    keep(p);
    return true;
}
