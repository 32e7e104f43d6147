// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Virtual clocks against the timebase: of any frequency, drifting, slewed, read with jitter, converted late. The clock
 * knows the truth, so that the error is known and not estimated.
 */
#include "base/timebase.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"
#include "tests/lib/timebase_bound.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

static int rounds(int full)
{
    return getenv("BEZEL_TEST_LIGHT") ? full / 10 : full;
}

/* ---- A clock ----------------------------------------------------------------------------------------------------- */

/* Ticks of the clock run at `rate` a nanosecond from (since, phase) on; `next_rate` comes into force at `change_at`. */
struct virtual_clock {
    double mean, rate, next_rate; /* ticks a ns */
    double phase;                 /* at `since`, without `start` */
    int64_t since, change_at;     /* ns; INT64_MAX: it does not change */
    uint64_t start;               /* what the clock said at phase 0 */
    int64_t jitter;               /* ns: usual uncertainty of a pair */
    bool ramp;                    /* a change is a ramp of many small ones */
    int steps;                    /* of the ramp that are left */
    double step;
    int64_t step_ns;
};

static double any(uint64_t *seed, double low, double high)
{
    return low + (high - low) * seed_unit(seed);
}

static double log_any(uint64_t *seed, double low, double high)
{
    return exp(any(seed, log(low), log(high)));
}

static struct virtual_clock clock_any(uint64_t *seed, int64_t now)
{
    const uint64_t starts[] = {0, seed_next(seed), (UINT64_C(1) << 63) - 1000, UINT64_MAX - 1000};
    struct virtual_clock c = {.since = now, .change_at = INT64_MAX};
    c.mean = log_any(seed, 1, 1e10) / 1e9;
    c.rate = c.mean * (1 + any(seed, -500e-6, 500e-6));
    c.start = starts[seed_next(seed) % 4];
    c.jitter = (int64_t)log_any(seed, 5, 2000);
    c.ramp = seed_next(seed) % 4 == 0;
    return c;
}

/* What it says at `at`, which is not before what was asked last. */
static uint64_t clock_ticks(struct virtual_clock *c, int64_t at)
{
    while (at >= c->change_at) {
        c->phase += c->rate * (double)(c->change_at - c->since);
        c->since = c->change_at;
        c->rate = c->steps ? c->rate + c->step : c->next_rate;
        c->change_at = c->steps > 1 ? c->since + c->step_ns : INT64_MAX;
        c->steps -= c->steps > 0;
    }
    return c->start + (uint64_t)(c->phase + c->rate * (double)(at - c->since));
}

/* Its rate will change between `from` and `to`. */
static void clock_slew(struct virtual_clock *c, int64_t from, int64_t to, uint64_t *seed)
{
    c->next_rate = c->mean * (1 + any(seed, -500e-6, 500e-6));
    c->change_at = from + 1 + (int64_t)any(seed, 0, (double)(to - from - 2));
    if (!c->ramp || to - c->change_at < 64)
        return;
    c->steps = 32;
    c->step = (c->next_rate - c->rate) / c->steps;
    c->step_ns = (to - c->change_at) / c->steps;
}

/* A pair as it is read at `at`: as exact as it says, now and then interrupted. */
static struct clock_pair clock_pair(struct virtual_clock *c, int64_t at, uint64_t *seed)
{
    bool interrupted = seed_next(seed) % 20 == 0;
    int64_t most = interrupted ? (int64_t)log_any(seed, 1e4, 1e7) : c->jitter;
    int64_t uncertainty = 1 + (int64_t)any(seed, (double)most / 2, (double)most);
    return (struct clock_pair){clock_ticks(c, at), at + (int64_t)any(seed, (double)-uncertainty, (double)uncertainty),
                               uncertainty};
}

/* ---- A run: pairs at odd times, records between them, converted at once or some pairs later ---------------------- */

enum { PAIRS = 60, RECORDS = 8, LATE = 20 * RECORDS, ALL = PAIRS * RECORDS };

struct record {
    uint64_t ticks;
    int64_t truth, ns; /* ns: as converted */
    int convert_at;    /* number of the pair behind which it is converted */
};

struct run {
    struct timebase tb;
    struct virtual_clock clock;
    uint64_t *seed;
    int64_t now, pair_late; /* pair_late: how much later than it was read a pair comes, at most */
    bool slews, changed, changed_before;
    uint64_t jumps;
    int count, ready_from; /* records made; those before ready_from could not be converted */
    uint64_t first;        /* ticks of the first pair */
    struct record records[ALL];
};

static void run_begin(struct run *r, uint64_t *seed, bool slews)
{
    memset(r, 0, sizeof *r);
    r->seed = seed;
    r->now = 1 + (int64_t)log_any(seed, 1e3, 1e15);
    r->clock = clock_any(seed, r->now);
    r->slews = slews;
    r->pair_late = seed_next(seed) % 2 ? (int64_t)log_any(seed, 1e3, 1e8) : 0;
    double stated = r->clock.mean * 1e9 * any(seed, 0.93, 1.07);
    timebase_init(&r->tb, seed_next(seed) % 2 ? stated : 0);
}

static void convert(struct run *r, struct record *record)
{
    record->ns = timebase_ns(&r->tb, record->ticks);
    int64_t error = llabs(record->ns - record->truth), bound = timebase_bound(&r->tb, record->ticks);
    if (error > bound)
        fail_msg("%" PRId64 " ns wrong, stated %" PRId64 ", %g ns behind pair %u; %g ticks/s, jitter %" PRId64, error,
                 bound, (double)(int64_t)(record->ticks - r->tb.last.ticks) / r->clock.rate, r->tb.pairs,
                 r->clock.rate * 1e9, r->clock.jitter);
    timebase_seal(&r->tb, record->ticks);
}

static void make_records(struct run *r, int number, int64_t until)
{
    int64_t gap = (until - r->now) / RECORDS;
    for (int i = 0; i < RECORDS; i++) {
        struct record *record = &r->records[r->count++];
        r->now += (int64_t)any(r->seed, 0, (double)gap);
        *record = (struct record){.truth = r->now, .ticks = clock_ticks(&r->clock, r->now)};
        record->convert_at = number + (seed_next(r->seed) % 2 ? 0 : (int)(seed_next(r->seed) % 20));
    }
    r->now = until;
}

static void convert_due(struct run *r, int number)
{
    for (int i = r->ready_from; i < r->count; i++)
        if (r->records[i].convert_at == number || number == PAIRS)
            if (r->records[i].convert_at >= number)
                convert(r, &r->records[i]);
}

/* Adds a pair: what lay before it stays as it was. */
static void add_pair(struct run *r, const struct clock_pair *pair)
{
    struct timebase before = r->tb;
    enum timebase_news news = timebase_add(&r->tb, pair);
    if (news == TIMEBASE_TOOK) {
        r->changed_before = r->changed;
        r->changed = false;
    }
    if (!timebase_ready(&before) || news == TIMEBASE_JUMPED)
        return;
    for (int i = 0; i < 40; i++) {
        uint64_t back = (uint64_t)log_any(r->seed, 1, 5e9 * r->clock.mean + 2);
        if (before.held < TIMEBASE_PIECES || (int64_t)(pair->ticks - back - before.pieces[0].ticks) > 0)
            assert_int_equal(timebase_ns(&before, pair->ticks - back), timebase_ns(&r->tb, pair->ticks - back));
    }
    assert_int_equal(timebase_ns(&before, pair->ticks), timebase_ns(&r->tb, pair->ticks));
}

/* The time of the next pair: as the schedule says, sooner, or much later. */
static int64_t next_time(struct run *r)
{
    int64_t due = timebase_due(&r->tb), wait = due > r->now ? due - r->now : 1000;
    const double factors[] = {1, 1, 1, 1, 1.1, 0.3, 5, 200};
    return r->now + 100 + (int64_t)((double)wait * factors[seed_next(r->seed) % 8]);
}

static void one_pair(struct run *r, int number)
{
    int64_t at = next_time(r), late = (int64_t)any(r->seed, 0, (double)(r->pair_late + 1));
    if (r->slews && !r->changed && !r->changed_before && r->clock.change_at == INT64_MAX) {
        clock_slew(&r->clock, r->now, at, r->seed);
        r->changed = true;
    }
    make_records(r, number, at);
    struct clock_pair pair = clock_pair(&r->clock, at, r->seed);
    if (late && r->count < ALL && timebase_ready(&r->tb)) { /* a record that is converted before the pair comes */
        r->now = at + late;
        struct record *record = &r->records[r->count - 1];
        *record = (struct record){.truth = r->now, .ticks = clock_ticks(&r->clock, r->now), .convert_at = -1};
        convert(r, record);
    }
    if (number == 0)
        r->first = pair.ticks;
    add_pair(r, &pair);
    if (!timebase_ready(&r->tb))
        r->ready_from = r->count;
    convert_due(r, number);
}

static int by_ticks(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    return (int64_t)(x->ticks - y->ticks) < 0 ? -1 : x->ticks != y->ticks;
}

static void expect_order(struct run *r)
{
    struct record *from = &r->records[r->ready_from];
    size_t n = (size_t)(r->count - r->ready_from);
    qsort(from, n, sizeof *from, by_ticks);
    for (size_t i = 1; i < n; i++)
        assert_true(from[i - 1].ns <= from[i].ns);
}

/* Conversions in a row along the line of `ticks` are the same as one by one. Returns whether they lie on one. */
static bool expect_line(const struct timebase *tb, uint64_t ticks, uint64_t *seed)
{
    struct timebase_line line = timebase_line(tb, ticks);
    uint64_t after = ticks - line.ticks;
    if (after >= line.span)
        return false;
    for (int i = 0; i < 4; i++, after = seed_next(seed) % line.span)
        assert_int_equal(timebase_along(&line, after), timebase_ns(tb, line.ticks + after));
    assert_int_equal(timebase_along(&line, line.span - 1), timebase_ns(tb, line.ticks + line.span - 1));
    return true;
}

/* Continuous, and rising, at its knots and anywhere: no slope but those of its pieces. */
static void expect_function(const struct timebase *tb, uint64_t *seed)
{
    double least = INFINITY, most = 0; /* ns a tick */
    for (uint32_t i = 0; i < tb->held; i++) {
        const struct timebase_piece *p = &tb->pieces[(tb->newest + TIMEBASE_PIECES - i) % TIMEBASE_PIECES];
        least = fmin(least, (double)(p->slew < p->rate ? p->slew : p->rate) / exp2(p->shift));
        most = fmax(most, (double)(p->slew > p->rate ? p->slew : p->rate) / exp2(p->shift));
    }
    for (int i = 0; i < 400 && timebase_ready(tb); i++) {
        const struct timebase_piece *p =
            &tb->pieces[(tb->newest + TIMEBASE_PIECES - seed_next(seed) % tb->held) % TIMEBASE_PIECES];
        uint64_t knot = p->ticks + (i % 2 ? p->bend : 0), ticks = knot + seed_next(seed) % 5 - 2;
        if (i % 4 == 3)
            ticks = tb->last.ticks - (uint64_t)log_any(seed, 1, 1e11 / most + 2);
        int64_t ns = timebase_ns(tb, ticks), next = timebase_ns(tb, ticks + 1);
        const struct timebase_piece *oldest =
            &tb->pieces[(tb->newest + TIMEBASE_PIECES - (tb->held - 1)) % TIMEBASE_PIECES];
        assert_int_equal(expect_line(tb, ticks, seed), (int64_t)(ticks - oldest->ticks) >= 0);
        if (next < ns || (double)(next - ns) > most + 1)
            fail_msg("from %" PRId64 " to %" PRId64 " ns in a tick of %g ns at most", ns, next, most);
        /* A nanosecond may go to rounding at a knot, and one at each end. */
        assert_true(timebase_ns(tb, ticks + (uint64_t)(3 / least) + 1) > ns || ns == 0);
    }
    assert_true(!timebase_ready(tb) || (least > 0.7 * 0.93 / 1.07 * tb->rate || tb->jumps));
}

static void run_all(struct run *r)
{
    for (int i = 0; i < PAIRS; i++)
        one_pair(r, i);
    convert_due(r, PAIRS);
    expect_order(r);
    expect_function(&r->tb, r->seed);
    assert_int_equal(r->tb.jumps, 0);
}

TEST(the_error_never_exceeds_its_bound_nor_do_times_change_their_order)
{
    uint64_t seed = seed_start();
    static struct run r;
    for (int i = 0; i < rounds(1500); i++) {
        run_begin(&r, &seed, i % 3 != 0);
        run_all(&r);
        for (int k = r.ready_from; k < r.count; k++) /* what is final holds too, for what lies between pairs */
            if (r.tb.worst_ns >= 0 && (int64_t)(r.records[k].ticks - r.first) >= 0 &&
                (int64_t)(r.tb.last.ticks - r.records[k].ticks) > 0)
                assert_in_range(llabs(r.records[k].ns - r.records[k].truth), 0, r.tb.worst_ns);
    }
}

TEST(a_steady_clock_is_known_to_a_fraction_of_its_jitter_and_asked_once_a_second)
{
    uint64_t seed = seed_start();
    for (int i = 0; i < rounds(200); i++) {
        struct timebase tb;
        int64_t now = 1 + (int64_t)any(&seed, 0, 1e15), start = now;
        struct virtual_clock c = clock_any(&seed, now);
        c.mean = c.rate = any(&seed, 1, 5); /* GHz */
        c.jitter = 40;
        timebase_init(&tb, 0);
        int pairs = 0;
        for (; now - start < 60 * S; now = timebase_due(&tb), pairs++) {
            struct clock_pair pair = {clock_ticks(&c, now), now + (int64_t)any(&seed, -40, 40), 40};
            assert_int_equal(timebase_add(&tb, &pair), TIMEBASE_TOOK);
        }
        assert_in_range(pairs, 60, 75);
        assert_in_range(timebase_error_ns(&tb), 40, 1000);
        assert_true(fabs(tb.rate * c.rate - 1) < 1e-7);
        assert_in_range(timebase_tick_ns(&tb), (uint64_t)(0.999 / c.rate * 0x1p32),
                        (uint64_t)(1.001 / c.rate * 0x1p32));
    }
}

/* ---- Jumps ------------------------------------------------------------------------------------------------------- */

TEST(a_jump_is_counted_and_the_bound_holds_again_behind_it)
{
    uint64_t seed = seed_start();
    static struct run r;
    for (int i = 0; i < rounds(500); i++) {
        run_begin(&r, &seed, false);
        r.clock.mean = r.clock.rate = log_any(&seed, 1e6, 1e10) / 1e9;
        r.pair_late = 0;
        timebase_init(&r.tb, i % 2 ? r.clock.mean * 1e9 : 0);
        for (int k = 0; k < 20; k++)
            one_pair(&r, k);
        if (!timebase_ready(&r.tb))
            continue;
        bool back = seed_next(&seed) % 2;
        int64_t gap = (r.now - r.tb.last.ns) + 2 * r.tb.interval_ns + MS;
        double ticks = any(&seed, 1, 1000) * (double)gap * r.clock.rate;
        r.clock.start += back ? -(uint64_t)ticks : (uint64_t)ticks;
        if (seed_next(&seed) % 2) /* on another machine */
            r.clock.mean = r.clock.rate *= any(&seed, 0.2, 5);
        int64_t at = timebase_due(&r.tb) > r.now ? timebase_due(&r.tb) : r.now + 1;
        struct clock_pair pair = {clock_ticks(&r.clock, at), at, r.clock.jitter};
        r.now = at;
        enum timebase_news news = timebase_add(&r.tb, &pair);
        for (int k = 0; news == TIMEBASE_IGNORED && k < 10; k++) { /* where the pairs before were much better */
            pair = (struct clock_pair){clock_ticks(&r.clock, r.now += 3 * MS), r.now, r.clock.jitter};
            news = timebase_add(&r.tb, &pair);
        }
        assert_int_equal(news, TIMEBASE_JUMPED);
        assert_int_equal(r.tb.jumps, 1);
        assert_int_equal(timebase_ns(&r.tb, pair.ticks), pair.ns);
        r.count = 0;
        for (int k = 0; k < 20; k++)
            one_pair(&r, k);
        convert_due(&r, PAIRS);
        expect_function(&r.tb, &seed);
        assert_int_equal(r.tb.jumps, 1);
    }
}

TEST(a_clock_that_stands_still_jumps_once_and_is_asked_seldom)
{
    struct timebase tb;
    timebase_init(&tb, 1e9);
    int64_t now = S;
    int pairs = 0;
    for (; now < 100 * S; now = timebase_due(&tb), pairs++)
        (void)timebase_add(&tb, &(struct clock_pair){12345, now, 20});
    assert_in_range(tb.jumps, 1, 3);
    assert_true(pairs < 50000);
    assert_true(timebase_ns(&tb, 12345) >= S);
}

/* ---- Any values at all ------------------------------------------------------------------------------------------- */

static int64_t wild_ns(uint64_t *seed)
{
    switch (seed_next(seed) % 4) {
    case 0:
        return (int64_t)seed_next(seed);
    case 1:
        return (int64_t)(seed_next(seed) >> 1);
    case 2:
        return (int64_t)(seed_next(seed) % 1000);
    default:
        return (int64_t)(seed_next(seed) >> (seed_next(seed) % 64));
    }
}

static void use_wildly(struct timebase *tb, uint64_t *seed)
{
    uint64_t ticks = seed_next(seed) >> (seed_next(seed) % 64);
    int64_t ns = 0;
    for (int i = 0; i < 200; i++) {
        bool far = seed_next(seed) % 8 == 0;
        ticks = far ? seed_next(seed) : ticks + (seed_next(seed) >> (seed_next(seed) % 63 + 1));
        ns = far ? wild_ns(seed) : (ns & (INT64_MAX >> 1)) + (int64_t)(seed_next(seed) >> (seed_next(seed) % 62 + 2));
        (void)timebase_add(tb, &(struct clock_pair){ticks, ns, wild_ns(seed)});
        if (seed_next(seed) % 4 == 0)
            timebase_seal(tb, ticks + seed_next(seed) % 1000);
        uint64_t at = tb->last.ticks + (uint64_t)(wild_ns(seed) / 2);
        int64_t a = timebase_ns(tb, at), b = timebase_ns(tb, at + 1);
        assert_true(a >= 0 && b >= 0);
        (void)expect_line(tb, at, seed);
        assert_true(timebase_bound(tb, at) >= 0);
        int64_t ahead = (int64_t)(at - tb->pieces[tb->newest].ticks); /* where ticks wrap, times do */
        assert_true(b >= a || ahead == INT64_MAX);
        assert_true(timebase_due(tb) >= 0);
    }
}

TEST(any_pairs_and_any_ticks_are_taken)
{
    uint64_t seed = seed_start();
    for (int i = 0; i < rounds(2000); i++) {
        struct timebase tb;
        const double stated[] = {0, -1, NAN, INFINITY, 1e-300, 1e300, 1, 1e9, 1e12};
        timebase_init(&tb, stated[seed_next(&seed) % 9]);
        use_wildly(&tb, &seed);
    }
}

TEST(the_same_pairs_make_the_same_timebase)
{
    uint64_t seed = seed_start();
    static struct run one, two;
    for (int i = 0; i < rounds(100); i++) {
        uint64_t first = seed, second = seed;
        run_begin(&one, &first, true);
        run_all(&one);
        run_begin(&two, &second, true);
        run_all(&two);
        assert_memory_equal(&one.tb, &two.tb, sizeof one.tb);
        seed = first;
    }
}

/* The product of 64 and 64 bits by 16 bits at a time. */
static uint64_t scale_slowly(uint64_t a, uint64_t b, uint32_t shift)
{
    uint32_t limbs[9] = {0};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            uint64_t product = (a >> (16 * i) & 0xffff) * (b >> (16 * k) & 0xffff);
            for (int at = i + k; product; at++, product >>= 16) {
                product += limbs[at];
                limbs[at] = product & 0xffff;
            }
        }
    uint64_t low = 0, high = 0;
    for (int i = 0; i < 4; i++) {
        low |= (uint64_t)limbs[i] << (16 * i);
        high |= (uint64_t)limbs[i + 4] << (16 * i);
    }
    return high << (64 - shift) | low >> shift;
}

TEST(scaling_is_exact)
{
    uint64_t seed = seed_start();
    for (int i = 0; i < rounds(200000); i++) {
        uint64_t a = seed_next(&seed) >> (seed_next(&seed) % 64), b = seed_next(&seed) >> (seed_next(&seed) % 64);
        uint32_t shift = 1 + seed_next(&seed) % 63;
        assert_int_equal(timebase_scale(a, b, shift), scale_slowly(a, b, shift));
    }
    assert_int_equal(timebase_scale(UINT64_MAX, UINT64_MAX, 63), scale_slowly(UINT64_MAX, UINT64_MAX, 63));
}

/* ---- Outliving the owner ----------------------------------------------------------------------------------------- */

static const uint8_t boot[16] = "this boot, this", other_boot[16] = "one before this";

TEST(the_next_life_goes_on_with_the_same_function)
{
    uint64_t seed = seed_start();
    static struct run r;
    static struct timebase_store store;
    for (int i = 0; i < rounds(300); i++) {
        run_begin(&r, &seed, true);
        for (int k = 0; k < PAIRS; k++) {
            one_pair(&r, k);
            if (!timebase_ready(&r.tb) || seed_next(&seed) % 4)
                continue;
            struct timebase taken_over;
            timebase_save(&store, boot, &r.tb);
            assert_false(timebase_load(&store, other_boot, &taken_over));
            assert_true(timebase_load(&store, boot, &taken_over));
            assert_int_equal(timebase_due(&taken_over), 0); /* and a fresh pair at once */
            r.tb = taken_over;
        }
        convert_due(&r, PAIRS);
        expect_order(&r);
    }
}

TEST(a_kill_while_saving_leaves_the_copy_before)
{
    uint64_t seed = seed_start();
    static struct timebase_store old, new, torn;
    struct timebase first, second, loaded;
    timebase_init(&first, 1e9);
    assert_int_equal(timebase_add(&first, &(struct clock_pair){1000, 1000, 10}), TIMEBASE_TOOK);
    second = first;
    assert_int_equal(timebase_add(&second, &(struct clock_pair){3000000, 3000100, 10}), TIMEBASE_TOOK);
    memset(&old, 0, sizeof old);
    assert_false(timebase_load(&old, boot, &loaded));
    for (int i = 0; i < 3; i++)
        timebase_save(&old, boot, &first);
    new = old;
    timebase_save(&new, boot, &second);
    for (size_t at = 0; at < sizeof old; at += 1 + seed_next(&seed) % 16) { /* stores in either order */
        for (int order = 0; order < 2; order++) {
            torn = order ? new : old;
            memcpy(&torn, order ? &old : &new, at);
            assert_true(timebase_load(&torn, boot, &loaded));
            bool is_new = loaded.pairs == second.pairs;
            assert_int_equal(loaded.pairs, is_new ? second.pairs : first.pairs);
            assert_int_equal(timebase_ns(&loaded, 9000000), timebase_ns(is_new ? &second : &first, 9000000));
        }
    }
}

/* Whoever scribbles on the copy may well know how to hash. */
TEST(scribbled_copies_are_refused_or_harmless)
{
    uint64_t seed = seed_start();
    static struct run r;
    static struct timebase_store store;
    int refused = 0, loaded = 0;
    for (int i = 0; i < rounds(3000); i++) {
        if (i % 50 == 0) {
            run_begin(&r, &seed, true);
            run_all(&r);
            if (!timebase_ready(&r.tb))
                continue;
        }
        struct timebase tb = r.tb;
        for (int k = 0; k < 1 + (int)(seed_next(&seed) % 3); k++) {
            size_t at = seed_next(&seed) % (sizeof tb / 8) * 8;
            if (seed_next(&seed) % 2)
                at %= offsetof(struct timebase, pieces);
            uint64_t wild = seed_next(&seed) >> (seed_next(&seed) % 64);
            memcpy((char *)&tb + at, &wild, 8);
        }
        memset(&store, 0, sizeof store);
        timebase_save(&store, boot, &tb);
        struct timebase taken_over;
        if (timebase_load(&store, boot, &taken_over)) {
            loaded++;
            use_wildly(&taken_over, &seed);
        } else {
            refused++;
        }
    }
    assert_true(refused > 0 && loaded > 0);
}
