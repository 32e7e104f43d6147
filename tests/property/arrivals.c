// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Times between records, their jitter and missed periods are those that a plain list of all records gives: of any
 * statistic, of several processes and threads whose records come in runs of any length, with and without a condition,
 * with stretches in which nothing is recorded, and with records that are missing. While a time across missing records
 * is in the window, nothing is said. BEZEL_SEED repeats.
 */
#include "base/clock.h"
#include "metric/evaluator.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 1500, STEPS = 40, PROCESSES = 2, THREADS = 3, MOST = 20000, STRIDE = PACKET_RECORD_BYTES + 8 };

#define EVERY (100 * CLOCK_MS)

static const struct dict_aspect tick = {
    .id = 1, .name = "tick", .field_count = 1, .fields = {{DICT_INT64, "number", "1", ""}}};
static char condition[] = "number > 3";
static uint64_t seed;

/* What the list of all records gives: a value and its time; of misses each missed deadline. */
struct plain {
    size_t count;
    int64_t times[MOST];
    double values[MOST];
};

struct thread {
    double value;
    int64_t last, gap, next; /* next: the time of its next record */
    bool any, any_gap;
    uint64_t missing, told; /* told: as the evaluator has it */
};

struct process {
    struct arrivals arrivals;
    int64_t grown; /* the step by which it had made its last record; 0: none yet */
    struct thread threads[THREADS];
};

/* A value that lasted. */
struct piece {
    int64_t from, until;
    double value;
};

struct scene {
    struct experiment_metric m;
    size_t piece_count;
    struct piece pieces[MOST];
    int64_t latest_at;
    double latest;
    struct evaluator e;
    struct where where;
    int64_t pause, unknown_until;
    bool lossy;
    struct process processes[PROCESSES];
    struct plain plain;
};

static uint64_t below(uint64_t n)
{
    return seed_next(&seed) % n;
}

static void plain_add(struct plain *p, int64_t time, double value)
{
    assert_true(p->count < MOST);
    p->times[p->count] = time;
    p->values[p->count++] = value;
}

/* A record that counts. */
static void plain_record(struct scene *s, struct thread *t, int64_t time, double value)
{
    if (t->missing != t->told)
        s->unknown_until = time + s->m.window > s->unknown_until ? time + s->m.window : s->unknown_until;
    bool any = t->any && t->missing == t->told, any_gap = any && t->any_gap;
    int64_t gap = time - t->last;
    for (int64_t at = t->last + s->m.period; s->m.kind == METRIC_MISSES && any && at < time; at += s->m.period)
        if (at > time - 2 * s->m.window) /* no value looks further back */
            plain_add(&s->plain, at, 1);
    if (s->m.arrivals == ARRIVALS_TIME && any)
        plain_add(&s->plain, time, (double)gap);
    if (s->m.arrivals == ARRIVALS_JITTER && (s->m.period ? any : any_gap))
        plain_add(&s->plain, time, fabs((double)(gap - (s->m.period ? s->m.period : t->gap))));
    if (s->m.kind == METRIC_TIME_MEAN && any)
        s->pieces[s->piece_count++] = (struct piece){t->last, time, t->value};
    if (time >= s->latest_at)
        s->latest_at = time, s->latest = value;
    *t = (struct thread){.value = value,
                         .last = time,
                         .gap = gap,
                         .next = t->next,
                         .any = true,
                         .any_gap = any,
                         .missing = t->missing,
                         .told = t->missing};
}

/* The records of a thread up to `now`, in runs. */
static void go(struct scene *s, struct process *p, uint32_t thread, int64_t now)
{
    static uint8_t bytes[64 * STRIDE];
    struct thread *t = &p->threads[thread];
    while (t->next <= now) {
        uint32_t n = 0, most = 1 + (uint32_t)below(64);
        bool lost = s->lossy && below(40) == 0;
        for (; n < most && t->next <= now && !lost; n++) {
            uint64_t number = below(10);
            bytes_put_u64(packet_put_record(bytes + (size_t)n * STRIDE, 1, (uint64_t)t->next), number);
            if (!s->m.where || number > 3)
                plain_record(s, t, t->next, (double)number);
            t->next += 1 + (int64_t)below(2 * (uint64_t)s->pause);
            t->next += below(50) ? 0 : (int64_t)below(CLOCK_S);
        }
        if (lost) {
            t->missing += 1 + below(3);
            t->next += (int64_t)below(2 * (uint64_t)s->pause);
            continue;
        }
        struct packet_run run = {.aspect = 1,
                                 .count = n,
                                 .stride = STRIDE,
                                 .value_count = 1,
                                 .first = bytes,
                                 .stream = 7 * thread,
                                 .missing = t->missing};
        evaluator_arrivals(&s->e, &p->arrivals, &run, &(struct statistic_field){.scale = 1}, &s->where, now);
        p->grown = now;
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int64_t grain(const struct scene *s, int64_t time)
{
    return time / (s->m.window / STATISTIC_GRAINS);
}

/* The same of values that last: the window begins with a grain. */
static bool plain_lasting(const struct scene *s, int64_t now, int64_t silent, double *value, double *above)
{
    int64_t begin = (grain(s, now) - STATISTIC_GRAINS + 1) * (s->m.window / STATISTIC_GRAINS);
    double sum = 0, length = 0;
    bool fresh = false;
    for (size_t i = 0; i < s->piece_count; i++) {
        const struct piece *p = &s->pieces[i];
        int64_t from = p->from > begin ? p->from : begin;
        int64_t clipped = p->until - s->m.window > p->from ? p->until - s->m.window : p->from;
        int64_t grained = (p->until - 1) / (s->m.window / STATISTIC_GRAINS) * (s->m.window / STATISTIC_GRAINS);
        fresh = fresh || (grained > clipped ? grained : clipped) > now - s->m.window;
        sum += p->until > from ? p->value * (double)(p->until - from) : 0;
        length += p->until > from ? (double)(p->until - from) : 0;
    }
    sum = fresh ? sum : 0;
    length = fresh ? length : 0;
    if (silent > 0 && s->m.per_process) {
        double lasts = fmin((double)(now - s->latest_at), (double)s->m.window);
        sum += lasts * s->latest;
        length += lasts;
    }
    *value = sum / length;
    *above = 1e-9 * fabs(*value);
    return length > 0;
}

/* The value at `now`, and by how much a quantile may be above it; false: there is none. */
static bool plain_value(const struct scene *s, int64_t now, int64_t silent, double missed, double *value, double *above)
{
    static double in[MOST];
    size_t n = 0;
    int64_t newest = INT64_MIN;
    double sum = 0, last = 0;
    for (size_t i = 0; i < s->plain.count; i++) {
        if (s->plain.times[i] >= newest)
            newest = s->plain.times[i], last = s->plain.values[i];
        if (grain(s, s->plain.times[i]) > grain(s, now) - STATISTIC_GRAINS)
            sum += in[n++] = s->plain.values[i];
    }
    bool any = newest > now - s->m.window && (n > 0 || s->m.kind == METRIC_LAST);
    *above = 1e-6 * fabs(sum);
    if (s->m.kind == METRIC_TIME_MEAN)
        return plain_lasting(s, now, silent, value, above);
    if (s->m.kind == METRIC_MISSES) {
        *value = (any ? sum : 0) + missed;
        return true;
    }
    if (any) {
        qsort(in, n, sizeof *in, ascending);
        size_t rank = (size_t)ceil(s->m.share * (double)n * (1 - 1e-12));
        *value = s->m.kind == METRIC_MEAN       ? sum / (double)n
                 : s->m.kind == METRIC_MIN      ? in[0]
                 : s->m.kind == METRIC_MAX      ? in[n - 1]
                 : s->m.kind == METRIC_QUANTILE ? in[rank ? rank - 1 : 0]
                                                : last;
        *above = s->m.kind == METRIC_QUANTILE ? fabs(*value) / 32 : 1e-9 * fabs(*value);
    }
    double waits = (double)(s->m.arrivals == ARRIVALS_JITTER ? silent - s->m.period : silent);
    bool grows = s->m.kind == METRIC_MAX && waits > 0 && (s->m.arrivals == ARRIVALS_TIME || s->m.period);
    if (grows && (!any || waits > *value)) {
        *value = waits;
        any = true;
    }
    return any;
}

static void check(struct scene *s, int round, int64_t now)
{
    double value = 0, above = 0, missed = 0;
    int64_t grown = 0;
    for (int i = 0; i < PROCESSES; i++)
        grown = s->processes[i].grown > grown ? s->processes[i].grown : grown;
    int64_t silent = grown ? now - grown : 0;
    bool began = grown > 0;
    if (began)
        evaluator_silence(&s->e, silent);
    for (int64_t at = s->m.period; s->m.kind == METRIC_MISSES && at <= silent && at <= s->m.window; at += s->m.period)
        missed++;
    evaluator_take(&s->e, now);
    bool known = plain_value(s, now, silent, missed, &value, &above) && began && now >= s->unknown_until;
    if (s->e.known != known || (known && !(s->e.value >= value * (1 - 1e-9) && s->e.value <= value + above)))
        fail_msg("round %d, %s of %d, period %lld, %s: %d %.17g, and not %d %.17g", round,
                 experiment_metric_word(s->m.kind), (int)s->m.arrivals, (long long)s->m.period,
                 s->m.where ? s->m.where : "all", s->e.known, s->e.value, known, value);
}

static void draw_scene(struct scene *s)
{
    static const enum experiment_metric_kind kinds[] = {METRIC_MEAN,     METRIC_MIN,    METRIC_MAX,      METRIC_LAST,
                                                        METRIC_QUANTILE, METRIC_MISSES, METRIC_TIME_MEAN};
    memset(s, 0, sizeof *s);
    s->m.kind = kinds[below(7)];
    s->m.per_process = below(2);
    s->m.arrivals = s->m.kind == METRIC_MISSES || s->m.kind == METRIC_TIME_MEAN ? ARRIVALS_NONE
                    : below(2)                                                  ? ARRIVALS_TIME
                                                                                : ARRIVALS_JITTER;
    s->m.window = (int64_t)(2 + below(20)) * EVERY;
    s->m.share = seed_unit(&seed);
    s->m.where = below(3) ? NULL : condition;
    s->pause = (int64_t)(5 + below(50)) * CLOCK_MS;
    if (s->m.kind == METRIC_MISSES || (s->m.arrivals == ARRIVALS_JITTER && below(2)))
        s->m.period = s->pause / 2 + (int64_t)below((uint64_t)s->pause);
    s->lossy = below(3) == 0;
    s->where = where_find(condition, &tick);
    s->unknown_until = INT64_MIN;
}

TEST(what_is_found_is_what_a_list_of_the_records_gives)
{
    static struct scene s;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t now = 1000 * CLOCK_S;
        draw_scene(&s);
        assert_int_equal(evaluator_start(&s.e, &s.m), 0);
        for (int i = 0; i < PROCESSES; i++)
            for (int t = 0; t < THREADS; t++)
                s.processes[i].threads[t].next =
                    i + t > 0 && below(2) ? INT64_MAX / 2 : now + 1 + (int64_t)below(CLOCK_S);
        for (int step = 0; step < STEPS; step++) {
            now += EVERY;
            for (uint32_t turn = 0; turn < PROCESSES * THREADS; turn++)
                go(&s, &s.processes[turn % PROCESSES], turn / PROCESSES, now);
            check(&s, round, now);
        }
        evaluator_end(&s.e);
        for (int i = 0; i < PROCESSES; i++)
            arrivals_end(&s.processes[i].arrivals);
    }
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
