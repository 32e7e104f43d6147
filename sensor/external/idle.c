// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Idle processes: polls read only processes that record. A process without a record for IDLE_AFTER_NS gets BEZEL_WAKE
 * in its enable words, so that its next record goes out of line, where it sets the process's wake bit in the doorbell
 * (sensor/internal/wake_reader.c). The process is still polled for IDLE_WATCH_NS. Then it is idle: polls only read the
 * doorbell, until the wake bit is set.
 *
 * A record without a wake is late, never lost. It is one that a thread began before the enable words changed, and ended
 * after the watch; or its wake bit was cleared by another process. Housekeeping reads each idle process at most a
 * second after the last time, and drains it when it ends.
 *
 * Only the external sensor writes enable words; the process clears its own `wake_bit` once it has set the bit in the
 * doorbell. A process that has another doorbell or none, because it started earlier, is never idle.
 */
#include "sensor/external/external_internal.h"

enum {
    IDLE_AFTER_NS = 1000000000,
    IDLE_WATCH_NS = 100000000,
};

static void set_wake_bit(struct external_process *p, uint32_t bit)
{
    atomic_store_explicit(&p->at->segment->wake_bit, bit, memory_order_relaxed); /* relaxed: Q0 publishes it */
}

void idle_activate(struct external *x, uint32_t i, int64_t now)
{
    struct external_process *p = x->processes[i];
    p->active_at = now;
    if (!p->wake_asked)
        return;
    p->wake_asked = false;
    x->heads.known = false;
    set_wake_bit(p, 0);
    aspect_rules_apply(x, p);
    external_clock_report(p);
    bitset_remove(&x->idle, i);
    bitset_add(&x->polled, i);
}

uint32_t idle_wake_words(const struct external *x)
{
    return (x->process_count + 31) / 32;
}

void idle_wake(struct external *x, int64_t now)
{
    for (uint32_t w = 0; w < idle_wake_words(x); w++) {
        _Atomic uint32_t *word = &x->doorbell->wake_bits[w];
        if (atomic_load_explicit(word, memory_order_relaxed) == 0) /* relaxed: read again below, or at the next poll */
            continue;
        uint32_t wakes = atomic_exchange_explicit(word, 0, memory_order_acquire); /* K1 acquire: pairs K0 */
        for (; wakes; wakes &= wakes - 1) {
            uint32_t i = w * 32 + (uint32_t)__builtin_ctz(wakes);
            if (bitset_has(&x->present, i) && x->processes[i]->phase == EXTERNAL_LIVE)
                idle_activate(x, i, now);
        }
    }
}

static bool may_idle(const struct external *x, const struct external_process *p)
{
    return p->role == ROLE_SUT && p->at->doorbell_id == x->doorbell_id;
}

static void ask_for_wake(struct external *x, uint32_t i, int64_t now)
{
    struct external_process *p = x->processes[i];
    p->wake_asked = true;
    p->wake_asked_at = now;
    set_wake_bit(p, i + 1);
    aspect_rules_apply(x, p);
}

/* Whether the process has set its wake bit, even if another has cleared the bit since. */
static bool has_woken(const struct external_process *p, uint32_t i)
{
    uint32_t bit = atomic_load_explicit(&p->at->segment->wake_bit, memory_order_relaxed); /* relaxed: ours, or 0 */
    return bit != i + 1;
}

void idle_detect(struct external *x, uint32_t i, int64_t now)
{
    struct external_process *p = x->processes[i];
    if (packetize_waits(p) || (p->wake_asked && has_woken(p, i))) {
        idle_activate(x, i, now);
    } else if (!p->wake_asked && may_idle(x, p) && now - p->active_at >= IDLE_AFTER_NS) {
        ask_for_wake(x, i, now);
    } else if (p->wake_asked && now - p->wake_asked_at >= IDLE_WATCH_NS) {
        bitset_remove(&x->polled, i);
        bitset_add(&x->idle, i);
    }
}

/* ---- Sleep ------------------------------------------------------------------------------------------------------- */

static bool was_woken(const struct external *x)
{
    uint32_t wakes = 0;
    for (uint32_t w = 0; w < idle_wake_words(x); w++)
        wakes |= atomic_load_explicit(&x->doorbell->wake_bits[w], memory_order_relaxed); /* relaxed: A0 ordered it */
    return wakes != 0 ||
           atomic_load_explicit(&x->doorbell->arrivals, memory_order_relaxed) != x->arrivals; /* relaxed: A0 */
}

/* Whether a program is there of which there is something left to do. */
static bool has_programs(const struct external *x)
{
    for
        BITSET_EACH (i, &x->present)
            if (x->processes[i]->role != ROLE_DAEMON && !x->processes[i]->books_saved)
                return true;
    return false;
}

/* Whether only daemons are polled, no records of them wait, and every packet is acknowledged. */
static bool is_idle(const struct external *x)
{
    if (!x->options.sleeps_beside_idle && has_programs(x))
        return false;
    for
        BITSET_EACH (i, &x->polled)
            if (x->processes[i]->role != ROLE_DAEMON || packetize_waits(x->processes[i]))
                return false;
    return x->left_out == 0 && !x->finishing && window_waiting(x->window) == 0;
}

bool external_sleep(struct external *x)
{
    if (!x->doorbell_wait || !is_idle(x))
        return false;
    doorbell_wait_hush(x->doorbell_wait); /* before the check, so that no wake is missed */
    if (!doorbell_wait_sleeps(x->doorbell_wait)) {
        doorbell_wait_wake(x->doorbell_wait);
        doorbell_wait_sleep(x->doorbell_wait);
    }
    if (!was_woken(x))
        return true;
    doorbell_wait_wake(x->doorbell_wait);
    return false;
}

bool external_sleeps(const struct external *x)
{
    return x->doorbell_wait && doorbell_wait_sleeps(x->doorbell_wait);
}

void external_wake(struct external *x)
{
    if (x->doorbell_wait)
        doorbell_wait_wake(x->doorbell_wait);
}

int external_doorbell(const struct external *x)
{
    return x->doorbell_wait ? doorbell_wait_fd(x->doorbell_wait) : -1;
}
