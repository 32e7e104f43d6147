// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The clocks of a node's processes: which timebase converts a process's ticks, and when it gets a new pair. The CPU
 * counter has one timebase on the node. A file beside the window keeps it for the next daemon, so that times continue.
 */
#include "base/clock.h"
#include "base/file.h"
#include "sensor/external/external_internal.h"
#include "sensor/external/user_clock.h"
#include "sensor/shm/cpu_counter.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CLOCKS_NAME "clock"

enum { CLOCKS_TRIES = 16 };

static struct timebase_store *open_store(const struct external *x)
{
    int fd = folder_open_file(&x->folder, CLOCKS_NAME, O_RDWR | O_CREAT);
    if (fd < 0)
        return NULL;
    file_share(fd, x->folder.fd);
    void *at = MAP_FAILED;
    /* Reserved first: a write to a sparse page of a full tmpfs raises SIGBUS. */
    if (posix_fallocate(fd, 0, sizeof(struct timebase_store)) == 0)
        at = mmap(NULL, sizeof(struct timebase_store), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return at == MAP_FAILED ? NULL : at;
}

void external_clock_report(struct external_process *p)
{
    if (!p->timebase || !timebase_ready(p->timebase))
        return;
    atomic_store_explicit(&p->at->segment->tick_ns, timebase_tick_ns(p->timebase),
                          memory_order_relaxed); /* relaxed: a number of its own */
}

/* Whether a process whose clock was the counter took this time from the kernel's clock. */
static bool is_kernels(const struct external_process *p, uint64_t ticks)
{
    return p->at->clock == SEGMENT_CLOCK_COUNTER && ticks & BEZEL_KERNEL_TIME;
}

uint64_t external_clock_ns(const struct external_process *p, uint64_t ticks)
{
    if (is_kernels(p, ticks))
        return ticks & ~BEZEL_KERNEL_TIME;
    return p->timebase ? (uint64_t)timebase_ns(p->timebase, ticks) : ticks;
}

struct timebase_line external_clock_line(const struct external_process *p, uint64_t ticks)
{
    struct timebase_line line = timebase_line(is_kernels(p, ticks) ? NULL : p->timebase, ticks);
    if (is_kernels(p, ticks))
        line.ticks = BEZEL_KERNEL_TIME;
    return line;
}

/* Adds a timebase in use to the counts: its largest error bound, and every jump. */
static void count_error(struct external *x, const struct timebase *tb, enum timebase_news news)
{
    int64_t error = timebase_error_ns(tb);
    if (error >= 0 && tb == &x->counter) /* its pairs are of one processor or another */
        error += x->proof.apart;
    x->counts.clock_jumps += news == TIMEBASE_JUMPED;
    if (error > x->counts.clock_error_ns)
        x->counts.clock_error_ns = error;
}

/* ---- The counter on a guest -------------------------------------------------------------------------------------- */

/* Has a process take the kernel's clock from its next record on, which goes out of line by aspect_rules_apply(). */
static void leave_counter(struct external_process *p)
{
    p->counter_left = p->at->clock == SEGMENT_CLOCK_COUNTER;
    if (p->counter_left)
        atomic_store_explicit(&p->at->segment->counter_left, 1, memory_order_relaxed); /* relaxed: Q0 publishes it */
}

void external_clock_leave(struct external *x, int64_t now, const char *why)
{
    atomic_store_explicit(&x->doorbell->counter_proven, 0, memory_order_relaxed); /* relaxed: a flag */
    if (!x->proof.proven)
        return;
    x->proof.proven = false;
    x->proof.left = true;
    for (uint32_t i = 0; i < x->process_count; i++)
        if (x->processes[i])
            leave_counter(x->processes[i]);
    external_set_rules(x);
    notes_record(x, NULL, now, "BEZEL-COUNTER-LEFT",
                 "records have the kernel's clock from here on, and not the processor's counter: %s; times of the "
                 "second before may be wrong by more than the stated error",
                 why);
}

static void prove_counter(struct external *x, int64_t now)
{
    if (!counter_proof_poll(&x->proof, now))
        external_clock_leave(x, now, x->proof.why);
    atomic_store_explicit(&x->doorbell->counter_proven, x->proof.proven, memory_order_relaxed); /* relaxed: a flag */
}

/* Reads a pair of the counter: some microseconds of work. The doorbell and every process get the new length of a tick.
 */
static void feed_counter(struct external *x)
{
    struct clock_pair pair = clock_pair_read(cpu_counter_read, CLOCKS_TRIES);
    if (x->proof.proven && counter_proof_contradicts(&x->counter, &pair))
        external_clock_leave(x, pair.ns, "it and the kernel's clock do not go together any more");
    enum timebase_news news = timebase_add(&x->counter, &pair);
    if (news == TIMEBASE_IGNORED)
        return;
    if (x->counts.clocks[SEGMENT_CLOCK_COUNTER])
        count_error(x, &x->counter, news);
    if (x->store)
        timebase_save(x->store, x->clock_identity, &x->counter);
    atomic_store_explicit(&x->doorbell->tick_ns, timebase_tick_ns(&x->counter),
                          memory_order_relaxed); /* relaxed: a number of its own */
    for
        BITSET_EACH (i, &x->polled)
            if (x->processes[i]->timebase == &x->counter)
                external_clock_report(x->processes[i]);
}

void external_clock_open(struct external *x)
{
    clock_identity(x->clock_identity);
    x->store = open_store(x);
    if (!x->store || !timebase_load(x->store, x->clock_identity, &x->counter))
        timebase_init(&x->counter, 0);
    feed_counter(x);
    while (!timebase_ready(&x->counter) && cpu_counter_read() != 0) { /* once: half a millisecond */
        clock_sleep_until(timebase_due(&x->counter));
        feed_counter(x);
    }
    counter_proof_begin(&x->proof);
    prove_counter(x, clock_now());
}

bool external_clock_adopt(struct external *x, struct external_process *p)
{
    if (p->at->clock == SEGMENT_CLOCK_COUNTER)
        p->timebase = &x->counter;
    if (x->proof.asked && !x->proof.proven) /* it began while the counter was proven */
        leave_counter(p);
    if (p->at->clock == SEGMENT_CLOCK_USER) {
        if (!(p->user_clock = malloc(sizeof *p->user_clock)))
            return false;
        user_clock_init(p->user_clock, (double)p->at->clock_frequency);
        p->timebase = &p->user_clock->timebase;
        x->user_clocks = true;
    }
    external_clock_report(p);
    return true;
}

void external_clock_poll(struct external *x, int64_t now)
{
    if (now >= timebase_due(&x->counter)) {
        feed_counter(x);
        prove_counter(x, now);
    }
    if (!x->user_clocks)
        return;
    for
        BITSET_EACH (i, &x->polled) {
            struct external_process *p = x->processes[i];
            if (!p->user_clock)
                continue;
            enum timebase_news news = user_clock_poll(p->user_clock, &p->at->segment->pair, now);
            if (news == TIMEBASE_IGNORED)
                continue;
            external_clock_report(p);
            count_error(x, p->timebase, news);
        }
}

/* The ticks of a waiting record. False: none waits. */
static bool waiting_ticks(const struct external_process *p, uint64_t *ticks)
{
    for (uint32_t i = 0; i < p->at->ring_count; i++) {
        struct ring_reader copy = p->at->when_full == SEGMENT_OVERWRITE ? p->at->rings[i].copy : p->at->rings[i].reader;
        struct ring_record r;
        uint32_t waiting = copy.ring && !p->at->rings[i].broken ? ring_waiting(&copy) : 0;
        if (waiting == 0 || !ring_may_wait(&copy, waiting) || !ring_take(&copy, waiting, &r))
            continue;
        *ticks = r.ticks;
        return true;
    }
    return false;
}

bool external_clock_ready(struct external *x, struct external_process *p, int64_t now)
{
    struct clock_pair guess;
    if (!p->timebase || timebase_ready(p->timebase))
        return true;
    if (p->user_clock)
        (void)user_clock_poll(p->user_clock, &p->at->segment->pair, now);
    if (p->phase == EXTERNAL_LIVE || !p->user_clock || timebase_ready(p->timebase))
        return p->phase != EXTERNAL_LIVE || timebase_ready(p->timebase);
    if (!waiting_ticks(p, &guess.ticks))
        return true;
    int64_t started = p->at->started < (uint64_t)now ? (int64_t)p->at->started : now;
    guess.uncertainty = (now - started) / 2;
    guess.ns = started + guess.uncertainty;
    (void)timebase_add(p->timebase, &guess);
    if (guess.uncertainty > x->counts.clock_error_ns)
        x->counts.clock_error_ns = guess.uncertainty;
    return true;
}

void external_clock_close(struct external *x, bool clean)
{
    if (x->store)
        munmap(x->store, sizeof *x->store);
    if (clean)
        unlinkat(x->folder.fd, CLOCKS_NAME, 0);
}
