// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What a quantile says is never below the exact one, which sorting finds, nor above it by more than a 32nd of its
 * magnitude, of whatever is in the window: streams that a sample would misjudge, numbers of every magnitude, windows of
 * 10 and of 10 million records, windows that slide. Memory stays within its bounds, and where there is none it says
 * what is right of what is left.
 */
#include "base/clock.h"
#include "metric/statistic.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <float.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STRIDE = PACKET_RECORD_BYTES + 8, RUN = 1000 };

static const double shares[] = {0.5, 0.99, 0, 0.001, 0.01, 0.25, 0.75, 0.9, 0.999, 1};
enum { SHARES = sizeof shares / sizeof *shares };

static uint64_t seed;

/* ---- Memory: what metric/ takes, and a time when there is none --------------------------------------------------- */

static size_t taken, most_taken;
static bool none_left;

void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);

static void *count_taken(void *p)
{
    taken += malloc_usable_size(p);
    most_taken = taken > most_taken ? taken : most_taken;
    return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return none_left ? NULL : count_taken(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
    if (none_left)
        return NULL;
    taken -= malloc_usable_size(p);
    return count_taken(__real_realloc(p, size));
}

void __wrap_free(void *p)
{
    taken -= malloc_usable_size(p);
    __real_free(p);
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

static double as_real(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double alternating(uint64_t i)
{
    return i % 2 ? 1000 : 1;
}

static double rising(uint64_t i)
{
    return (double)i;
}

static double falling(uint64_t i)
{
    return 1e9 - 17 * (double)i;
}

static double interleaved(uint64_t i)
{
    return i % 3 ? 50 + (double)(seed_next(&seed) % 10) : 1e6 + (double)i;
}

static double bimodal(uint64_t i)
{
    (void)i;
    return (seed_next(&seed) % 100 < 97 ? 200 : 90000) + (double)(seed_next(&seed) % 50);
}

static double constant(uint64_t i)
{
    (void)i;
    return 48271;
}

static double pareto(uint64_t i)
{
    (void)i;
    return floor(1000 / pow(1 - seed_unit(&seed), 1 / 1.1));
}

static double outliers(uint64_t i)
{
    return i % 1024 ? 100 : 1e6; /* at the pace of powers of two */
}

static double negative(uint64_t i)
{
    return -pareto(i);
}

static double mixed(uint64_t i)
{
    return floor((seed_unit(&seed) - 0.5) * (i % 5 ? 1e3 : 1e12));
}

static double digits(uint64_t i)
{
    return (double)(seed_next(&seed) % 127) - 63 + 0 * (double)i;
}

static double any_whole(uint64_t i)
{
    int64_t value = (int64_t)(seed_next(&seed) >> seed_next(&seed) % 64);
    return (double)(i % 2 ? value : -(value / 2) - value / 2);
}

static double fractions(uint64_t i)
{
    return seed_unit(&seed) - (i % 4 == 0);
}

static double subnormal(uint64_t i)
{
    uint64_t bits = seed_next(&seed) >> (11 + seed_next(&seed) % 53);
    return i % 3 ? as_real(bits) : -as_real(bits);
}

static double huge(uint64_t i)
{
    double value = seed_between(&seed, 1e290, 1e308);
    return i % 7 == 0 ? DBL_MAX : i % 7 == 1 ? -DBL_MAX : i % 2 ? value : -value;
}

static double far_apart(uint64_t i)
{
    static const double odd[] = {0, -0.0, DBL_MIN, DBL_TRUE_MIN, DBL_MAX, 1, -1e-300, 1e300, 3.5, -DBL_TRUE_MIN};
    return odd[seed_next(&seed) % (sizeof odd / sizeof *odd)] + 0 * (double)i;
}

static const struct stream {
    const char *name;
    double (*next)(uint64_t i);
    bool is_float, exact; /* the latter: numbers are equal or far enough apart */
} streams[] = {{"alternating", alternating, false, true},
               {"rising", rising, false, false},
               {"falling", falling, false, false},
               {"interleaved", interleaved, false, false},
               {"bimodal", bimodal, false, false},
               {"constant", constant, false, true},
               {"pareto", pareto, false, false},
               {"outliers", outliers, false, true},
               {"negative", negative, false, false},
               {"mixed signs", mixed, false, false},
               {"-63 to 63", digits, false, true},
               {"any whole number", any_whole, false, false},
               {"fractions", fractions, true, false},
               {"subnormal", subnormal, true, false},
               {"huge", huge, true, false},
               {"far apart", far_apart, true, true}};

/* ---- The reference: all that came, sorted ------------------------------------------------------------------------ */

struct history {
    int64_t window;
    size_t count, capacity;
    int64_t *times;
    double *values, *sorted;
};

static void history_start(struct history *h, int64_t window, size_t capacity)
{
    *h = (struct history){.window = window, .capacity = capacity};
    h->times = malloc(capacity * sizeof *h->times);
    h->values = malloc(capacity * sizeof *h->values);
    h->sorted = malloc(capacity * sizeof *h->sorted);
    assert_true(h->times && h->values && h->sorted);
}

static void history_end(struct history *h)
{
    __real_free(h->times);
    __real_free(h->values);
    __real_free(h->sorted);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The values of the last `grains` grains at `now`, sorted. */
static size_t history_sort(struct history *h, int64_t now, int grains)
{
    int64_t length = h->window / STATISTIC_GRAINS, first = now / length - grains + 1;
    size_t n = 0;
    for (size_t i = 0; i < h->count; i++)
        if (h->times[i] / length >= first)
            h->sorted[n++] = h->values[i];
    qsort(h->sorted, n, sizeof *h->sorted, ascending);
    return n;
}

static double exact_of(const struct history *h, size_t n, double share)
{
    double rank = ceil(share * (double)n * (1 - 1e-12));
    return h->sorted[rank < 1 ? 0 : (size_t)rank - 1];
}

static bool is_close(double said, double exact)
{
    return said >= exact && said - exact <= fabs(exact) / 32;
}

/* ---- A stream, and figures of it --------------------------------------------------------------------------------- */

/* `count` figures, of the first shares. */
static void start_all(struct statistic **figures, int count, int64_t window)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(statistic_new(STATISTIC_QUANTILE, shares[i], window, &figures[i]), 0);
}

static void end_all(struct statistic **figures, int count)
{
    for (int i = 0; i < count; i++)
        statistic_free(figures[i]);
}

/* The next `n` (at most RUN) numbers, `gap` ns apart from `start` on, known at the time of the last one. */
static int64_t feed(const struct stream *s, struct statistic *const *figures, int count, struct history *h,
                    int64_t start, int64_t gap, uint32_t n)
{
    static uint8_t bytes[RUN * STRIDE];
    const struct statistic_field field = {.at = 0, .scale = 1, .is_float = s->is_float};
    const struct packet_run run = {.aspect = 1, .count = n, .stride = STRIDE, .value_count = 1, .first = bytes};
    for (uint32_t i = 0; i < n; i++) {
        double value = s->next(h->count);
        uint64_t bits = (uint64_t)(int64_t)value;
        if (s->is_float)
            memcpy(&bits, &value, sizeof bits);
        int64_t time = start + gap * (int64_t)i;
        assert_true(h->count < h->capacity);
        h->times[h->count] = time;
        h->values[h->count++] = value;
        bytes_put_u64(packet_put_record(bytes + (size_t)i * STRIDE, 1, (uint64_t)time), bits);
    }
    int64_t now = start + gap * (int64_t)(n - 1);
    for (int i = 0; i < count; i++)
        statistic_records(figures[i], &run, &field, now);
    return now;
}

static void compare(const struct stream *s, struct statistic *const *figures, int count, struct history *h, int64_t now)
{
    size_t n = history_sort(h, now, STATISTIC_GRAINS);
    for (int i = 0; i < count; i++) {
        double said = 0;
        assert_int_equal(statistic_value(figures[i], now, &said, NULL), n > 0);
        if (n == 0)
            continue;
        double exact = exact_of(h, n, shares[i]);
        if (!is_close(said, exact) || (s->exact && said != exact))
            fail_msg("%s: of %zu numbers the share %g is %.17g, not %.17g", s->name, n, shares[i], exact, said);
    }
}

/* A window of about `per_window` numbers, for some four windows; with pauses of up to a window and a half. */
static void try_stream(const struct stream *s, uint64_t per_window, int64_t window)
{
    struct statistic *figures[SHARES];
    struct history h;
    uint64_t total = 4 * per_window + 20;
    int64_t gap = window / (int64_t)per_window, now = CLOCK_S;
    start_all(figures, SHARES, window);
    history_start(&h, window, total + RUN);
    while (h.count < total) {
        uint32_t most = per_window < 4 * RUN ? (uint32_t)per_window / 4 + 1 : RUN;
        now = feed(s, figures, SHARES, &h, now, gap, 1 + (uint32_t)(seed_next(&seed) % most));
        if (seed_next(&seed) % (total / most + 1) < 16)
            compare(s, figures, SHARES, &h, now);
        now += gap;
        if (seed_next(&seed) % (total / most + 1) < 2) {
            now += (int64_t)(seed_unit(&seed) * 1.5 * (double)window);
            compare(s, figures, SHARES, &h, now);
        }
    }
    compare(s, figures, SHARES, &h, now);
    compare(s, figures, SHARES, &h, now + window + window / STATISTIC_GRAINS); /* all have left */
    end_all(figures, SHARES);
    history_end(&h);
}

TEST(quantiles_are_within_a_32nd_whatever_comes)
{
    seed = seed_start();
    const uint64_t most = getenv("BEZEL_TEST_LIGHT") ? 3000 : 30000;
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        for (uint64_t per_window = 10; per_window <= most; per_window *= 10)
            try_stream(&streams[i], per_window, CLOCK_S >> seed_next(&seed) % 7);
}

TEST(a_window_of_ten_million_records_is_as_good)
{
    enum { FEW = 2 };
    seed = seed_start();
    const size_t total = getenv("BEZEL_TEST_LIGHT") ? 500000 : 10000000;
    const struct stream *s = &streams[6];
    struct statistic *figures[FEW];
    struct history h;
    int64_t gap = CLOCK_US, window = 10 * CLOCK_S, now = window;
    start_all(figures, FEW, window);
    history_start(&h, window, total);
    while (h.count < total)
        now = gap + feed(s, figures, FEW, &h, now, gap, RUN);
    compare(s, figures, FEW, &h, now);
    end_all(figures, FEW);
    history_end(&h);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static double any_bits(uint64_t i)
{
    for (;;) {
        double value = as_real(seed_next(&seed) + 0 * i);
        if (isfinite(value))
            return value;
    }
}

/* Numbers that come in all grains of a window of a second; returns the memory that it took. */
static size_t memory_of(const struct stream *s, struct statistic **f, struct history *h, uint32_t per_grain)
{
    int64_t length = CLOCK_S / STATISTIC_GRAINS;
    taken = most_taken = 0;
    assert_int_equal(statistic_new(STATISTIC_QUANTILE, 0.5, CLOCK_S, f), 0);
    assert_in_range(taken, 1, 16 << 10);
    history_start(h, CLOCK_S, 2 * STATISTIC_GRAINS * (size_t)per_grain);
    for (int i = 0; i < 2 * STATISTIC_GRAINS; i++)
        for (uint32_t done = 0, n; done < per_grain; done += n) {
            n = per_grain - done < RUN ? per_grain - done : RUN;
            feed(s, f, 1, h, (100 + i) * length, 0, n);
        }
    return most_taken;
}

static double a_factor_of_30(uint64_t i)
{
    (void)i;
    return floor(seed_between(&seed, 20e3, 600e3));
}

TEST(memory_is_what_the_header_says)
{
    seed = seed_start();
    struct statistic *f;
    struct history h;
    const struct stream few = {"few", bimodal, false, false}, usual = {"usual", a_factor_of_30, false, false},
                        whole = {"whole", any_whole, false, false};
    const struct {
        const struct stream *stream;
        uint32_t per_grain;
        size_t most;
    } cases[] = {{&few, 1, 26 << 10}, {&usual, 2000, 77 << 10}, {&whole, 3000, 1228 << 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t took = memory_of(cases[i].stream, &f, &h, cases[i].per_grain);
        printf("%s: %zu bytes\n", cases[i].stream->name, took);
        double said = NAN;
        assert_true(statistic_value(f, h.times[h.count - 1], &said, NULL));
        assert_true(is_close(said, exact_of(&h, history_sort(&h, h.times[h.count - 1], STATISTIC_GRAINS), 0.5)));
        statistic_free(f);
        history_end(&h);
        assert_in_range(took, 1, cases[i].most);
        assert_int_equal(taken, 0);
    }
}

/* A quantile that may have lost its oldest grains is right for the grains that are left, whichever these are. */
static void assert_right_of_the_latest(struct statistic *f, struct history *h)
{
    double said = NAN;
    int grains = 0;
    int64_t now = h->times[h->count - 1];
    assert_true(statistic_value(f, now, &said, NULL));
    for (bool is_right = false; !is_right; is_right = is_close(said, exact_of(h, history_sort(h, now, grains), 0.5)))
        assert_in_range(++grains, 1, STATISTIC_GRAINS);
}

TEST(numbers_of_all_magnitudes_shorten_the_window_and_take_no_more_memory)
{
    seed = seed_start();
    struct statistic *f;
    struct history h;
    const struct stream all = {"all", any_bits, true, false};
    size_t took = memory_of(&all, &f, &h, 8000);
    printf("%s: %zu bytes\n", all.name, took);
    assert_in_range(took, 1, 4812 << 10);
    assert_right_of_the_latest(f, &h);
    statistic_free(f);
    history_end(&h);
    assert_int_equal(taken, 0);
}

TEST(without_memory_the_oldest_go_and_later_all_is_well)
{
    seed = seed_start();
    struct statistic *f, *other;
    struct history h;
    const struct stream s = {"usual", a_factor_of_30, false, false};
    int64_t length = CLOCK_S / STATISTIC_GRAINS;
    none_left = true;
    assert_int_equal(statistic_new(STATISTIC_QUANTILE, 0.5, CLOCK_S, &f), BEZEL_ENOMEM);
    none_left = false;
    assert_int_equal(statistic_new(STATISTIC_QUANTILE, 0.5, CLOCK_S, &f), 0);
    assert_int_equal(statistic_new(STATISTIC_QUANTILE, 0.5, CLOCK_S, &other), 0);
    history_start(&h, CLOCK_S, 200 * RUN);
    for (int i = 0; i < 200; i++) {
        none_left = i >= 20 && i < 100;
        feed(&s, (struct statistic *[]){f, other}, i < 20 ? 1 : 2, &h, (100 + i) * length, 0, RUN);
        assert_right_of_the_latest(f, &h);
    }
    double said = NAN, exact = exact_of(&h, history_sort(&h, (100 + 199) * length, STATISTIC_GRAINS), 0.5);
    assert_true(statistic_value(f, (100 + 199) * length, &said, NULL) && is_close(said, exact));
    assert_true(statistic_value(other, (100 + 199) * length, &said, NULL) && is_close(said, exact));
    statistic_free(f);
    statistic_free(other);
    history_end(&h);
}
