// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The write path out of line, for the cases that the inline path of <bezel/core.h> leaves out: a thread's first record,
 * records of more values than fit a slot, other clocks than the counter, full and overwriting rings, collection that is
 * off, and records of a signal handler that interrupts a record of its own thread, which go to a ring of their own.
 */
#include "sensor/internal/internal.h"
#include "sensor/shm/ring_writer.h"

struct bezel_ring sensor_no_ring;
__thread struct bezel_writer bezel_thread = {.ring = &sensor_no_ring};
_Thread_local struct sensor_thread sensor_thread;

const uint32_t bezel_enable_unset = BEZEL_UNSET;
const uint32_t sensor_enable_never = BEZEL_DISABLED;
const uint32_t sensor_enable_undeclared = BEZEL_UNSET;

/* ---- Levels ------------------------------------------------------------------------------------------------------ */

/* `busy` of a level whose record was abandoned: an address below every stack. */
enum { ABANDONED = 1 };

static bool is_within(uintptr_t at, const stack_t *stack)
{
    return at - (uintptr_t)stack->ss_sp < stack->ss_size;
}

/*
 * A handler that jumps out of a record (longjmp) leaves its level busy for ever. A later record from further up the
 * same stack shows that: the busy record's frame is gone. An alternate signal stack may lie higher than the stack that
 * it interrupted; but a busy record on it is abandoned as soon as its thread makes a record elsewhere. If the jump led
 * further down the stack, the level stays busy until a record comes from above; until then the next level is used.
 */
static bool is_abandoned(uintptr_t busy, uintptr_t here)
{
    stack_t own = {.ss_size = 0};
    if (busy == ABANDONED)
        return true;
    if (sigaltstack(NULL, &own) != 0)
        return false;
    if (own.ss_flags & SS_DISABLE)
        own.ss_size = 0;
    bool busy_within = is_within(busy, &own), here_within = is_within(here, &own);
    return busy_within == here_within ? here >= busy : busy_within;
}

/* Continues the ring of `w` from its shared state: the private copies may be half changed. */
static void take_up_again(struct bezel_writer *w)
{
    if (w->mask)
        writer_hold(w, w->ring, writer_ring_bytes(w) / BEZEL_SLOT_BYTES, w->generation, w->inlined);
}

/*
 * Finds the level for a record made at stack address `here`, and marks it busy; SENSOR_LEVELS: too deep. Busy levels
 * above it are abandoned, because their handlers interrupted a record at this level that has ended. A handler may
 * interrupt this anywhere and do the same; it leaves the level complete and not busy.
 */
static uint32_t enter_level(uintptr_t here)
{
    uint32_t level = 0;
    while (level < SENSOR_LEVELS && sensor_writer(level)->busy && !is_abandoned(sensor_writer(level)->busy, here))
        level++;
    if (level == SENSOR_LEVELS)
        return level;
    struct bezel_writer *w = sensor_writer(level);
    bool abandoned = w->busy != 0;
    w->busy = here;
    atomic_signal_fence(memory_order_seq_cst); /* a handler on this thread sees `busy` before anything we touch */
    for (uint32_t i = level + 1; i < SENSOR_LEVELS; i++)
        if (sensor_writer(i)->busy)
            sensor_writer(i)->busy = ABANDONED;
    sensor_forget_stale(level);
    if (abandoned)
        take_up_again(w);
    return level;
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

/* Declares `aspect` if it is not yet, and returns its enable word. Declaring publishes the rest before `enable`. */
static uint32_t declare_and_ask(struct bezel_aspect *aspect)
{
    const uint32_t *enable = __atomic_load_n(&aspect->enable, __ATOMIC_ACQUIRE); /* E1 acquire: pairs E0 */
    if (enable == &bezel_enable_unset) {
        sensor_declare(aspect);
        enable = __atomic_load_n(&aspect->enable, __ATOMIC_ACQUIRE); /* E1 acquire: pairs E0 */
    }
    struct segment *s = sensor_process.own.segment; /* a handler that forks may take it away */
    uint32_t wanted;
    if (enable == &sensor_enable_undeclared && s)
        wanted = atomic_load_explicit(&s->enable[aspect->id & ~SENSOR_UNDECLARED & 0xff],
                                      memory_order_acquire); /* Q1 acquire: pairs Q0 */
    else
        wanted = __atomic_load_n(enable, __ATOMIC_ACQUIRE); /* Q1 acquire: pairs Q0 */
    return wanted & ~(uint32_t)(BEZEL_WAKE | BEZEL_LEAVE_COUNTER);
}

static uint64_t time_of(const struct bezel_writer *w, enum bezel_time time, uint64_t given)
{
    uint64_t previous;
    if (time == BEZEL_TIME_GIVEN)
        return given;
    if (time == BEZEL_TIME_AGAIN && writer_previous_time(w, &previous))
        return previous;
    return sensor_ticks();
}

static void write_record(struct bezel_writer *w, const struct bezel_aspect *aspect, uint32_t wanted,
                         const uint64_t *values, enum bezel_time time, uint64_t given)
{
    uint32_t count = aspect->field_count;
    if (wanted != BEZEL_RECORD)
        writer_drop(w, aspect->id, w->ring->off);
    else if (sensor_process.own.when_full == SEGMENT_OVERWRITE)
        writer_put_over(w, aspect->id, time_of(w, time, given), values, count);
    else if (writer_has_room(w, writer_bytes(count)))
        writer_put(w, aspect->id, time_of(w, time, given), values, count);
    else
        writer_drop(w, aspect->id, w->ring->full);
}

static void emit(struct bezel_aspect *aspect, const uint64_t *values, enum bezel_time time, uint64_t given,
                 uintptr_t here)
{
    if (sensor_thread.inside && !sensor_thread.forks)
        return; /* libbezel itself called the function that records; signals are blocked meanwhile */
    uint32_t level = enter_level(here);
    uint32_t wanted = declare_and_ask(aspect);
    if (level == SENSOR_LEVELS) {
        if (wanted != BEZEL_DISABLED) {
            sensor_count_unringed(aspect);
            sensor_wake_if_idle();
        }
        return;
    }
    struct bezel_writer *w = sensor_writer(level);
    if (wanted != BEZEL_DISABLED) {
        if (aspect->id == 0 || aspect->id & SENSOR_UNDECLARED || (!w->mask && sensor_claim(level) != 0))
            sensor_count_unringed(aspect);
        else
            write_record(w, aspect, wanted, values, time, given);
        sensor_wake_if_idle();
    }
    bezel_leave(w);
}

/* End of the caller's stack frame: the inline path uses the same address for `busy` in the same function. */
#if defined(__x86_64__) && defined(__LP64__)
#define CALLERS_STACK ((uintptr_t)__builtin_frame_address(0) + 16) /* behind frame pointer and return address */
#else
#define CALLERS_STACK ((uintptr_t)__builtin_frame_address(0))
#endif

/*
 * Writes the usual record with the kernel's clock, like the inline path but with a call. False, with nothing done, in
 * all other cases.
 */
static bool emit_usual(const struct bezel_aspect *aspect, const uint64_t *values)
{
    struct bezel_writer *w = &bezel_thread;
    if (w->busy || bezel_wanted(aspect) != BEZEL_RECORD || aspect->field_count > BEZEL_INLINE_VALUES)
        return false;
    bezel_enter(w);
    struct bezel_ring *ring = w->ring;
    uint32_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED); /* relaxed: own word */
    if (head >= w->usual_limit) {
        bezel_leave(w);
        return false;
    }
    uint64_t ns = sensor_kernel_ns();
    if (aspect->field_count == 2)
        bezel_store_one(w, ring, head, aspect->id, ns, 2, values[0], values[1]);
    else if (aspect->field_count == 1)
        bezel_store_one(w, ring, head, aspect->id, ns, 1, values[0], 0);
    else
        bezel_store_one(w, ring, head, aspect->id, ns, 0, 0, 0);
    bezel_leave(w);
    return true;
}

void bezel_emit(struct bezel_aspect *aspect, const uint64_t *values)
{
    if (emit_usual(aspect, values))
        return;
    emit(aspect, values, BEZEL_TIME_NOW, 0, CALLERS_STACK);
}

void bezel_emit_at(struct bezel_aspect *aspect, uint64_t ticks, const uint64_t *values)
{
    emit(aspect, values, BEZEL_TIME_GIVEN, ticks, CALLERS_STACK);
}

void bezel_emit_again(struct bezel_aspect *aspect, const uint64_t *values)
{
    emit(aspect, values, BEZEL_TIME_AGAIN, 0, CALLERS_STACK);
}

void bezel_span_declare(struct bezel_aspect *aspect)
{
    uint32_t level = enter_level(CALLERS_STACK);
    bool wanted = declare_and_ask(aspect) != BEZEL_DISABLED;
    if (level < SENSOR_LEVELS) {
        if (wanted && !sensor_writer(level)->mask)
            (void)!sensor_claim(level); /* what is refused is counted at the record */
        bezel_leave(sensor_writer(level));
    }
}

/* ---- Ahead of time ----------------------------------------------------------------------------------------------- */

static int init_level(uint32_t level, bool lock)
{
    int err = sensor_claim(level);
    return err ? err : sensor_prefault(level, lock);
}

int bezel_thread_init(unsigned options)
{
    uint32_t levels = options & BEZEL_SIGNALS ? 2 : 1, busy = enter_level(CALLERS_STACK);
    int err = busy == 0 ? 0 : BEZEL_EBUSY; /* a handler that interrupts a record */
    if (!err)
        sensor_declare(NULL);
    for (uint32_t level = 0; level < levels && !err; level++)
        err = init_level(level, options & BEZEL_LOCK);
    if (busy < SENSOR_LEVELS)
        bezel_leave(sensor_writer(busy));
    return err;
}

const char *bezel_version(void)
{
    return BEZEL_VERSION;
}
