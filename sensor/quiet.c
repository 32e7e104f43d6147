// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Quiet processes: a poll costs what has data. A process of which nothing came for QUIET_AFTER_NS is asked to knock:
 * its enable words get BEZEL_KNOCK, so that its next record goes out of line, where it marks the process in the
 * doorbell (sensor/knock.c). It is still polled for QUIET_WATCH_NS; then it rests: polls look at the doorbell alone,
 * until it has knocked.
 *
 * What a knock misses is late, never lost: a record that was begun before the enable words changed, by a thread that
 * then slept for longer than the watch; one of a process whose mark another process wiped away. A process at rest is
 * looked at every QUIET_LOOK_NS, and drained at its end.
 *
 * We alone write enable words; the process only takes back that it is to knock, once it has. A process that has another
 * doorbell than ours, or none, for it was there before us, never rests.
 */
#include "sensor/external_impl.h"

enum {
    QUIET_AFTER_NS = 1000000000,
    QUIET_WATCH_NS = 100000000,
    QUIET_LOOK_NS = 1000000000,
};

static void set_quiet(struct external_process *p, uint32_t quiet)
{
    atomic_store_explicit(&p->at->segment->quiet, quiet, memory_order_relaxed); /* relaxed: Q0 publishes it */
}

void quiet_stir(struct external *x, uint32_t i, int64_t now)
{
    struct external_process *p = x->processes[i];
    p->stirred_at = now;
    if (!p->knocks)
        return;
    p->knocks = false;
    set_quiet(p, 0);
    steer_process(x, p);
    external_clock_tell(p);
    places_remove(&x->resting, i);
    places_add(&x->polled, i);
}

void quiet_listen(struct external *x, int64_t now)
{
    for (uint32_t w = 0; w < DOORBELL_PLACES / 32; w++) {
        _Atomic uint32_t *word = &x->doorbell->knocks[w];
        if (atomic_load_explicit(word, memory_order_relaxed) == 0) /* relaxed: looked at again below, or next time */
            continue;
        uint32_t knocks = atomic_exchange_explicit(word, 0, memory_order_acquire); /* K1 acquire: pairs K0 */
        for (; knocks; knocks &= knocks - 1) {
            uint32_t i = w * 32 + (uint32_t)__builtin_ctz(knocks);
            if (places_has(&x->present, i) && x->processes[i]->phase == EXTERNAL_LIVE)
                quiet_stir(x, i, now);
        }
    }
}

static bool may_rest(const struct external *x, const struct external_process *p)
{
    return p->role == ROLE_SUT && p->at->bell == x->doorbell_id;
}

static void ask_to_knock(struct external *x, uint32_t i, int64_t now)
{
    struct external_process *p = x->processes[i];
    p->knocks = true;
    p->asked_at = now;
    set_quiet(p, i + 1);
    steer_process(x, p);
}

/* Whether the process has knocked, whatever became of the mark. */
static bool has_knocked(const struct external_process *p, uint32_t i)
{
    uint32_t quiet = atomic_load_explicit(&p->at->segment->quiet, memory_order_relaxed); /* relaxed: ours, or 0 */
    return quiet != i + 1;
}

void quiet_look(struct external *x, uint32_t i, int64_t now)
{
    struct external_process *p = x->processes[i];
    if (cut_waits(p) || (p->knocks && has_knocked(p, i))) {
        quiet_stir(x, i, now);
    } else if (!p->knocks && may_rest(x, p) && now - p->stirred_at >= QUIET_AFTER_NS) {
        ask_to_knock(x, i, now);
    } else if (p->knocks && now - p->asked_at >= QUIET_WATCH_NS) {
        places_remove(&x->polled, i);
        places_add(&x->resting, i);
    }
}

struct places quiet_share(struct external *x, int64_t now)
{
    struct places share = {{0}};
    int64_t elapsed = now - x->looked_at;
    uint32_t count = elapsed < 0 || elapsed >= QUIET_LOOK_NS
                         ? EXTERNAL_PROCESSES
                         : (uint32_t)(elapsed * EXTERNAL_PROCESSES / QUIET_LOOK_NS) + 1;
    for (uint32_t n = 0; n < count; n++)
        places_add(&share, (x->look_next + n) % EXTERNAL_PROCESSES);
    x->look_next = (x->look_next + count) % EXTERNAL_PROCESSES;
    x->looked_at = now;
    return share;
}

/* ---- Sleep ------------------------------------------------------------------------------------------------------- */

static bool somebody_knocks(const struct external *x)
{
    uint32_t knocks = 0;
    for (uint32_t w = 0; w < DOORBELL_PLACES / 32; w++)
        knocks |= atomic_load_explicit(&x->doorbell->knocks[w], memory_order_relaxed); /* relaxed: A0 ordered it */
    return knocks != 0 || atomic_load_explicit(&x->doorbell->rung, memory_order_relaxed) != x->rung; /* relaxed: A0 */
}

/* Whether nobody is to be polled but daemons, of which nothing waits, and everything is handed on. */
static bool is_idle(const struct external *x)
{
    for
        PLACES_EACH(i, &x->polled)
    if (x->processes[i]->role != ROLE_DAEMON || cut_waits(x->processes[i]))
        return false;
    return x->left_out == 0 && !x->finishing && window_waiting(x->window) == 0;
}

bool external_sleep(struct external *x)
{
    if (!x->bell || !is_idle(x))
        return false;
    bell_hush(x->bell); /* ahead of the question, so that an answer is not missed */
    if (!bell_sleeps(x->bell)) {
        bell_wake(x->bell);
        bell_sleep(x->bell);
    }
    if (!somebody_knocks(x))
        return true;
    bell_wake(x->bell);
    return false;
}

bool external_sleeps(const struct external *x)
{
    return x->bell && bell_sleeps(x->bell);
}

void external_wake(struct external *x)
{
    if (x->bell)
        bell_wake(x->bell);
}

int external_bell(const struct external *x)
{
    return x->bell ? bell_fd(x->bell) : -1;
}
