// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Triggers fire when a plain list of all records, states and counters says that they do, and count as suppressed what
 * it says: of every kind of condition, with records that come late and in any order, from several processes.
 */
#include "resmgr/agent/trigger.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 400, STEPS = 300, TRIGGERS = 5, PROCESSES = 3, ASPECTS = 2, RECORDS = 4, LATE = 12 };

static uint64_t seed;

static uint64_t below(uint64_t n)
{
    return seed_next(&seed) % n;
}

static const struct dict_aspect aspects[ASPECTS] = {
    {.id = 1, .name = "a", .field_count = 1, .fields = {{DICT_INT64, "v", "1", ""}}},
    {.id = 2, .name = "b", .field_count = 1, .fields = {{DICT_INT64, "v", "1", ""}}}};

/* ---- The plain list ---------------------------------------------------------------------------------------------- */

struct times {
    struct {
        int64_t at;
        int slot;
    } * list;
    size_t count;
};

struct plain {
    struct times first, then;
    bool fired_once, pending, lasts, met, fired;
    int64_t fired_at, since, at;
    int slot;
    uint64_t suppressed, suppressed_before, looked, total, taken;
};

static void add(struct times *t, int64_t at, int slot)
{
    t->list = realloc(t->list, (t->count + 1) * sizeof *t->list);
    assert_non_null(t->list);
    t->list[t->count].at = at;
    t->list[t->count++].slot = slot;
}

/* The earliest of the times in begin .. end; t->count: none is. */
static size_t find(const struct times *t, int64_t begin, int64_t end)
{
    size_t found = t->count;
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].at >= begin && t->list[i].at <= end && (found == t->count || t->list[i].at < t->list[found].at))
            found = i;
    return found;
}

static void plain_fire(struct plain *p, int64_t at, int slot, int64_t now)
{
    p->pending = true;
    p->fired_once = true;
    p->total++;
    p->at = at;
    p->slot = slot;
    p->fired_at = now;
    p->suppressed_before = p->suppressed;
    p->suppressed = 0;
}

static bool plain_may(const struct plain *p, const struct experiment_trigger *t, int64_t now)
{
    return !p->fired_once || now - p->fired_at >= t->once_in;
}

static void plain_reason(struct plain *p, const struct experiment_trigger *t, int64_t at, int slot, int64_t now)
{
    if (!p->pending && plain_may(p, t, now))
        plain_fire(p, at, slot, now);
    else
        p->suppressed++;
}

/* How long it has to last. */
static int64_t plain_span(const struct experiment_trigger *t)
{
    return t->persistence + (t->condition == WHEN_SILENT ? t->within : 0);
}

/* A silence counts if it was seen, not only known from the records afterwards. */
static void plain_heard(struct plain *p, int64_t at)
{
    if (p->lasts && at <= p->since)
        return;
    if (p->lasts && p->met && !p->fired)
        p->suppressed++;
    p->lasts = true;
    p->met = p->fired = false;
    p->since = at;
}

static bool is_of(const struct experiment_records *of, int aspect, int64_t value)
{
    const char *above = of->where ? strchr(of->where, '>') : NULL;
    return of->aspect && strcmp(of->aspect, aspects[aspect].name) == 0 && (!above || value > atoll(above + 1));
}

/* Each second record is a reason once: when it comes, or when the first record of those before it does. */
static void plain_sequence(struct plain *p, const struct experiment_trigger *t, bool is_then, int64_t at, int slot,
                           int64_t now)
{
    if (is_then && find(&p->first, at - t->within, at - 1) < p->first.count)
        plain_reason(p, t, at, slot, now);
    else
        add(is_then ? &p->then : &p->first, at, slot);
    for (size_t i; !is_then && (i = find(&p->then, at + 1, at + t->within)) < p->then.count;) {
        plain_reason(p, t, p->then.list[i].at, p->then.list[i].slot, now);
        p->then.list[i].at = INT64_MIN;
    }
}

/* A record that comes, as first or as second one of a condition. */
static void plain_record(struct plain *p, const struct experiment_trigger *t, bool is_then, int aspect, int64_t at,
                         int64_t value, int slot, int64_t now)
{
    if (!is_of(is_then ? &t->then : &t->first, aspect, value))
        return;
    if (t->condition == WHEN_SILENT)
        plain_heard(p, at);
    else if (t->condition == WHEN_RECORD)
        plain_reason(p, t, at, slot, now);
    else
        plain_sequence(p, t, is_then, at, slot, now);
}

static bool plain_lasts(const struct plain *p, const struct experiment_trigger *t, int64_t now)
{
    return p->lasts && !p->fired && now - p->since >= plain_span(t);
}

static bool plain_next(struct plain *p, const struct experiment_trigger *t, int64_t now)
{
    p->met |= plain_lasts(p, t, now);
    if (plain_lasts(p, t, now) && plain_may(p, t, now)) {
        p->fired = true;
        plain_fire(p, p->since + plain_span(t), -1, now);
    }
    bool pending = p->pending;
    p->pending = false;
    return pending;
}

/* ---- Drawing ----------------------------------------------------------------------------------------------------- */

static const char *draw_where(char text[32])
{
    text[0] = '\0';
    if (below(2))
        snprintf(text, 32, " where v > %u", (unsigned)below(10));
    return text;
}

static void draw_trigger(FILE *out)
{
    char where[2][32];
    const char *x = aspects[below(2)].name, *y = aspects[below(2)].name;
    unsigned within = 1 + (unsigned)below(6);
    switch (below(4)) {
    case 0:
        fprintf(out, "  - {when: \"any %s%s\"", x, draw_where(where[0]));
        break;
    case 1:
        fprintf(out, "  - {when: \"%s%s then %s%s within %u ms\"", x, draw_where(where[0]), y, draw_where(where[1]),
                within);
        break;
    case 2:
        fprintf(out, "  - {when: no %s for %u ms, for: %u ms", x, within, (unsigned)below(4));
        break;
    default:
        fprintf(out, "  - {when: sensor_cpu violated, for: %u ms", (unsigned)below(6));
    }
    fprintf(out, ", once-in: %u ms, do: [{mark: m}]}\n", 1 + (unsigned)below(10));
}

static struct experiment *draw_experiment(void)
{
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    fputs("experiment: e\ncommand: c\nlimits: [{expect: sensor_cpu <= 1 %}]\ntriggers:\n", out);
    for (int i = 0; i < TRIGGERS; i++)
        draw_trigger(out);
    fclose(out);
    struct experiment_diagnostics found;
    struct experiment *e = NULL;
    int err = experiment_read(text, n, &e, &found);
    if (err)
        experiment_print_diagnostics(&found, text, stdout);
    assert_int_equal(err, 0);
    experiment_diagnostics_free(&found);
    free(text);
    return e;
}

struct scene {
    struct experiment *e;
    struct trigger_set *t;
    struct plain plain[TRIGGERS];
    uint64_t attempts[PROCESSES][ASPECTS];
    bool read[PROCESSES][ASPECTS];
    int64_t now;
    bool violated;
};

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Some records of one ring come, late by up to LATE. */
static void draw_records(struct scene *s)
{
    enum { STRIDE = PACKET_RECORD_BYTES + 8 };
    uint8_t bytes[RECORDS * STRIDE];
    int64_t times[RECORDS], values[RECORDS];
    int aspect = (int)below(ASPECTS), slot = (int)below(PROCESSES);
    uint32_t count = 1 + (uint32_t)below(RECORDS);
    for (uint32_t i = 0; i < count; i++)
        times[i] = s->now - (int64_t)below(LATE * 4) * CLOCK_MS / 4;
    qsort(times, count, sizeof *times, compare_times);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = (int64_t)below(12);
        bytes_put_u64(packet_put_record(bytes + i * STRIDE, aspects[aspect].id, (uint64_t)times[i]),
                      (uint64_t)values[i]);
    }
    struct packet_run run = {
        .aspect = aspects[aspect].id, .count = count, .stride = STRIDE, .value_count = 1, .first = bytes};
    trigger_records(s->t, slot, trigger_watch(s->t, slot, &aspects[aspect]), &run, s->now);
    for (int i = 0; i < TRIGGERS; i++)
        for (int then = 0; then < 2; then++) {
            const struct experiment_trigger *of = &s->e->triggers[i];
            uint32_t from = of->condition == WHEN_SILENT ? count - 1 : 0; /* records of a run are taken at once */
            for (uint32_t k = from; k < count; k++)
                plain_record(&s->plain[i], of, then, aspect, times[k], values[k], slot, s->now);
        }
}

static void draw_count(struct scene *s)
{
    int aspect = (int)below(ASPECTS), slot = (int)below(PROCESSES);
    uint64_t *attempts = &s->attempts[slot][aspect];
    bool grows = below(3) == 0, is_news = grows || !s->read[slot][aspect];
    *attempts += grows;
    s->read[slot][aspect] = true;
    int number = trigger_watch(s->t, slot, &aspects[aspect]);
    if (number >= 0)
        trigger_count(s->t, slot, number, *attempts, s->now);
    for (int i = 0; i < TRIGGERS && is_news; i++)
        if (s->e->triggers[i].condition == WHEN_SILENT && is_of(&s->e->triggers[i].first, aspect, 0))
            plain_heard(&s->plain[i], s->now);
}

static void draw_limit(struct scene *s)
{
    bool violated = below(4) == 0 ? !s->violated : s->violated;
    trigger_limit(s->t, 0, true, violated, 1, s->now);
    for (int i = 0; i < TRIGGERS; i++) {
        struct plain *p = &s->plain[i];
        const struct experiment_trigger *of = &s->e->triggers[i];
        if (of->condition != WHEN_VIOLATED)
            continue;
        if (p->lasts && !violated && !p->fired && s->now - p->since >= of->persistence)
            p->suppressed++;
        if (violated && !p->lasts) {
            p->since = s->now;
            p->fired = false;
        }
        p->lasts = violated;
    }
    s->violated = violated;
}

/* Before a silence fires the counters are asked, which may know of a record. */
static void ask_counters(struct scene *s)
{
    bool asks = false;
    for (int i = 0; i < TRIGGERS; i++)
        asks |= s->e->triggers[i].condition == WHEN_SILENT && !s->plain[i].met &&
                plain_lasts(&s->plain[i], &s->e->triggers[i], s->now);
    assert_int_equal(trigger_asks_counters(s->t, s->now), asks);
    if (asks)
        draw_count(s);
}

static void compare(struct scene *s)
{
    struct trigger_firing f;
    ask_counters(s);
    int64_t due = trigger_due(s->t);
    bool any = false;
    for (int i = 0; i < TRIGGERS; i++) {
        if (!plain_next(&s->plain[i], &s->e->triggers[i], s->now))
            continue;
        any = true;
        assert_true(trigger_next(s->t, s->now, &f));
        s->plain[i].taken++;
        assert_int_equal(f.trigger, i);
        assert_int_equal(f.at, s->plain[i].at);
        assert_int_equal(f.slot, s->plain[i].slot);
        assert_int_equal(f.suppressed, s->plain[i].suppressed_before);
    }
    assert_false(trigger_next(s->t, s->now, &f));
    assert_true(!any || due <= s->now);
    assert_true(trigger_due(s->t) > s->now);
    for (int i = 0; i < TRIGGERS; i++) {
        struct trigger_counts c = trigger_counts(s->t, (uint32_t)i);
        assert_int_equal(c.fired, s->plain[i].total);
        assert_int_equal(c.fired, s->plain[i].taken); /* none was replaced by a later one */
        assert_int_equal(c.suppressed, s->plain[i].suppressed);
    }
}

TEST(fires_as_a_plain_list_says)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct scene s = {.e = draw_experiment(), .now = 1000 * CLOCK_S};
        assert_int_equal(trigger_new(s.e, &s.t), 0);
        for (int step = 0; step < STEPS; step++) {
            s.now += (int64_t)below(5) * CLOCK_MS / 2;
            uint64_t what = below(6);
            if (what < 3)
                draw_records(&s);
            else if (what == 3)
                draw_count(&s);
            else if (what == 4)
                draw_limit(&s);
            if (below(3))
                compare(&s);
        }
        compare(&s);
        for (int i = 0; i < TRIGGERS; i++) {
            free(s.plain[i].first.list);
            free(s.plain[i].then.list);
        }
        trigger_free(s.t);
        experiment_free(s.e);
    }
}

/* Second records come by the thousand before a first one does: the newest are told apart, of the others it is known
 * when. */
TEST(a_first_record_that_comes_late_fires_however_many_second_ones_came)
{
    enum { STRIDE = PACKET_RECORD_BYTES + 8, MANY = 4 * TRIGGER_SECONDS };
    static uint8_t bytes[MANY * STRIDE];
    static const char text[] =
        "experiment: e\ncommand: c\ntriggers: [{when: a then b within 10 ms, do: [{mark: m}]}]\n";
    struct experiment_diagnostics found;
    struct experiment *e = NULL;
    struct trigger_set *t;
    struct trigger_firing f;
    int64_t begin = 1000 * CLOCK_S, now = begin + MANY * CLOCK_MS;
    assert_int_equal(experiment_read(text, sizeof text - 1, &e, &found), 0);
    assert_int_equal(trigger_new(e, &t), 0);
    for (int i = 0; i < MANY; i++)
        bytes_put_u64(packet_put_record(bytes + i * STRIDE, aspects[1].id, (uint64_t)(begin + i * CLOCK_MS)), 0);
    struct packet_run run = {
        .aspect = aspects[1].id, .count = MANY, .stride = STRIDE, .value_count = 1, .first = bytes};
    trigger_records(t, 1, trigger_watch(t, 1, &aspects[1]), &run, now);
    assert_false(trigger_next(t, now, &f));
    int64_t firsts[] = {begin, begin + (MANY - 20) * CLOCK_MS}, fires[] = {begin, firsts[1] + CLOCK_MS};
    uint64_t suppressed[] = {0, 9}; /* of ten, one has fired */
    for (int i = 0; i < 2; i++, now += 10 * CLOCK_S) {
        bytes_put_u64(packet_put_record(bytes, aspects[0].id, (uint64_t)firsts[i]), 0);
        run.aspect = aspects[0].id;
        run.count = 1;
        trigger_records(t, 0, trigger_watch(t, 0, &aspects[0]), &run, now);
        assert_true(trigger_next(t, now, &f));
        assert_int_equal(f.at, fires[i]);
        assert_int_equal(f.slot, i);
        assert_int_equal(trigger_counts(t, 0).suppressed, suppressed[i]);
    }
    experiment_diagnostics_free(&found);
    trigger_free(t);
    experiment_free(e);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
