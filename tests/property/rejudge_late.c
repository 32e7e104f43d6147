// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Random records of which the manager judged some, or none: what run/verdict/rejudge.h makes of the others, against an
 * agent that judged all of them. BEZEL_SEED repeats.
 */
#include "run/verdict/rejudge.h"
#include "tests/lib/rejudge_scene.h"

/* What the agent without gaps says of all instants of a limit between two times. */
static struct history_gap all_of(const struct scene *s, uint32_t limit, int64_t begin, int64_t end)
{
    struct history_gap sum = {.limit = limit, .begin = begin, .end = end};
    return expected(s, &sum);
}

/* As nodes record the judgements of a manager that began at instant `begin`, which is violated and held as `states`. */
static void begin_late(struct scene *s, struct history_series series[LIMITS], int64_t begin, int64_t end)
{
    for (uint32_t i = 0; i < LIMITS; i++) {
        struct history_gap sum = all_of(s, i, begin, end);
        int64_t known = begin + EVERY;
        while (known <= end && s->states[(known - s->begin) / EVERY][i] == LIMIT_UNKNOWN)
            known += EVERY;
        series[i] =
            (struct history_series){.limit = i, .begin = begin + EVERY, .judged_from = known <= end ? known : 0};
        s->rows[i] = (struct builtin_limit){.limit = i,
                                            .at = end,
                                            .worst = NAN,
                                            .held = sum.held,
                                            .violated = sum.violated,
                                            .unknown = sum.unknown,
                                            .epoch = 1};
    }
    s->s.gaps = NULL;
    s->s.gap_count = 0;
    s->s.series = series;
    s->s.series_count = LIMITS;
}

static int64_t first_of(const struct scene *s)
{
    int64_t first = INT64_MAX;
    for (int w = 0; w < WORKERS; w++)
        first = s->workers[w].times[0] < first ? s->workers[w].times[0] : first;
    return first;
}

/* No time is left out: from the first record on, the rows are those of an agent that had been there. */
static int64_t check_early(const struct scene *s, int run, uint32_t i, int64_t begin, int64_t end)
{
    const struct history_gap *g = NULL;
    const struct builtin_limit *row = &s->rows[i];
    struct history_gap all = all_of(s, i, first_of(s), end);
    for (size_t k = 0; k < s->s.gap_count; k++)
        g = s->s.gaps[k].limit == i ? &s->s.gaps[k] : g;
    if (begin < first_of(s) || s->s.series[i].judged_from == 0)
        return 0;
    if (s->limits[i].kind == LIMIT_HOLD) {
        assert_int_equal(row->settling, begin - first_of(s));
        return 0;
    }
    assert_true(g && g->early && g->judged);
    int64_t twice = row->held + row->violated + row->unknown - (end - first_of(s)), most = slack(s, g) + 2 * EVERY;
    if (g->begin != first_of(s) || row->unjudged || twice < 0 || twice > EVERY || row->held < all.held - most ||
        row->held > all.held + most || row->violated < all.violated - most || row->violated > all.violated + most)
        fail_msg("run %d, limit %u on metric %d: held %g s, not %g s; violated %g s, not %g s; unknown %g s, not %g s; "
                 "unjudged %g s",
                 run, i, s->limits[i].metric, (double)row->held / 1e9, (double)all.held / 1e9,
                 (double)row->violated / 1e9, (double)all.violated / 1e9, (double)row->unknown / 1e9,
                 (double)all.unknown / 1e9, (double)row->unjudged / 1e9);
    return g->violated;
}

TEST(what_was_recorded_before_the_manager_began_is_judged)
{
    static struct scene s;
    struct history_series series[LIMITS];
    int64_t violated = 0;
    for (int run = 0; run < runs(); run++) {
        apart = true;
        scene_begin(&s, false, false);
        watch(&s);
        int64_t begin = s.begin + (int64_t)(1 + draw(60)) * EVERY, end = s.begin + LENGTH;
        begin_late(&s, series, begin, end);
        assert_int_equal(rejudge_gaps(s.g.run, &s.s, &s.e), 0);
        for (uint32_t i = 0; i < LIMITS; i++)
            violated += check_early(&s, run, i, begin, end);
        free(s.s.gaps);
        scene_end(&s);
    }
    printf("%.0f s before the manager's begin were violated\n", (double)violated / 1e9);
    assert_true(violated > 0);
}

/* Of lost records nobody knows what the number in a window was; nor is there one before a window is whole. */
TEST(a_number_that_is_to_reach_a_bound_is_not_missed_before_its_window_is_whole)
{
    static struct scene s;
    struct history_series series[LIMITS];
    int found = 0, none = 0;
    for (int run = 0; run < runs() / 4; run++) {
        apart = true;
        scene_begin(&s, false, false);
        for (int i = 0; i < 3; i++) {
            s.limits[i].metric = (int[]){0, 1, 10}[i];
            s.limits[i].compare = COMPARE_AT_LEAST;
            s.limits[i].kind = LIMIT_EXPECT;
        }
        watch(&s);
        for (int w = 0; w < WORKERS; w++)
            s.processes[w].started = s.workers[w].times[0];
        s.books[0].no_ring = 1;
        int64_t first = (first_of(&s) - s.begin) / EVERY + 1; /* instant behind it: no window is whole there */
        int64_t begin = s.begin + (first + (run % 2 ? 0 : 14 + (int64_t)draw(30))) * EVERY;
        begin_late(&s, series, begin, s.begin + LENGTH);
        assert_int_equal(rejudge_gaps(s.g.run, &s.s, &s.e), 0);
        for (uint32_t i = 0; i < LIMITS; i++) {
            const struct experiment_metric *m = &s.metrics[s.limits[i].metric];
            bool reaches = s.limits[i].compare == COMPARE_AT_LEAST && experiment_metric_is_counted(m);
            int64_t whole = first_of(&s) + (reaches ? m->window : 0);
            if (begin < first_of(&s) || series[i].judged_from == 0 || s.limits[i].kind == LIMIT_HOLD)
                continue;
            assert_int_equal(s.rows[i].unjudged, begin > whole ? begin - whole : 0);
            found += reaches && begin > whole;
            none += reaches && begin <= whole;
        }
        free(s.s.gaps);
        scene_end(&s);
    }
    assert_true(found > 0 && none > 0);
}

/* ---- a manager that never knew a value --------------------------------------------------------------------------- */

/* The last of all records is at an instant, so that a replay that ends with it has the instants of the agent. */
static int64_t end_at_an_instant(struct scene *s)
{
    struct worker *last = s->workers;
    for (int w = 1; w < WORKERS; w++)
        last = s->workers[w].ends > last->ends ? &s->workers[w] : last;
    int64_t end = s->begin + (last->ends - s->begin + EVERY - 1) / EVERY * EVERY;
    last->times[last->count - 1] = last->ends = last->closed = end;
    return end;
}

/* From the first record to the last one the only row is that of an agent that was there. */
static int64_t check_never(const struct scene *s, int run, uint32_t i, int64_t end)
{
    const struct builtin_limit *row = NULL;
    const struct history_gap *g = NULL;
    for (size_t k = 0; k < s->s.limit_count; k++)
        row = s->s.limits[k].limit == i ? &s->s.limits[k] : row;
    for (size_t k = 0; k < s->s.gap_count; k++)
        g = s->s.gaps[k].limit == i ? &s->s.gaps[k] : g;
    assert_true(row && g && g->never && g->judged && !g->why);
    struct history_gap all = all_of(s, i, g->begin, end);
    int64_t sum = row->held + row->violated + row->unknown + row->settling, most = slack(s, g) + EVERY;
    if (g->begin != first_of(s) || g->end != end || row->unjudged || sum != end - g->begin ||
        llabs(row->held - all.held) > most || llabs(row->violated - all.violated) > most)
        fail_msg("run %d, limit %u on metric %d: held %g s, not %g s; violated %g s, not %g s; unjudged %g s", run, i,
                 s->limits[i].metric, (double)row->held / 1e9, (double)all.held / 1e9, (double)row->violated / 1e9,
                 (double)all.violated / 1e9, (double)row->unjudged / 1e9);
    return row->violated;
}

/* A program may be over before the manager has heard of it; or no manager was there. */
TEST(what_no_manager_ever_knew_is_judged)
{
    static struct scene s;
    int64_t violated = 0;
    for (int run = 0; run < runs(); run++) {
        apart = true;
        scene_draw(&s, false, false);
        int64_t end = end_at_an_instant(&s);
        scene_store(&s);
        watch(&s);
        size_t rows = run % 2 ? LIMITS : 0;
        s.s.gaps = NULL;
        s.s.gap_count = 0;
        s.s.limit_count = rows;
        s.s.limits = calloc(rows + 1, sizeof *s.s.limits);
        for (size_t i = 0; i < rows; i++)
            s.s.limits[i] = (struct builtin_limit){
                .limit = (int64_t)i, .at = end + CLOCK_S, .worst = NAN, .unknown = CLOCK_S, .epoch = 1};
        assert_int_equal(rejudge_gaps(s.g.run, &s.s, &s.e), 0);
        assert_int_equal(s.s.limit_count, LIMITS);
        for (uint32_t i = 0; i < LIMITS; i++)
            violated += check_never(&s, run, i, end);
        free(s.s.limits);
        free(s.s.gaps);
        scene_end(&s);
    }
    printf("%.0f s of which no manager knew were violated\n", (double)violated / 1e9);
    assert_true(violated > 0);
}

/* ---- a limit on an interval -------------------------------------------------------------------------------------- */

/* w0 sends, and w1 receives each 5 ms later but number 1000, which takes `longest`; each records 1,500 in 15 s. */
static void interval_scene(struct scene *s, int64_t longest)
{
    static char *both[] = {tick, tick, NULL}, sender[] = "w0", receiver[] = "w1";
    apart = true;
    scene_draw(s, false, false);
    s->e.metric_count = s->e.limit_count = 1;
    s->metrics[0] = (struct experiment_metric){
        .name = metric_name,
        .kind = METRIC_INTERVAL,
        .interval = {both, {sender, receiver}, .count = 2, .memory = 4096, .match = number, .statistic = METRIC_MAX},
        .window = CLOCK_S};
    s->limits[0] = (struct experiment_limit){.kind = LIMIT_EXPECT,
                                             .compare = COMPARE_AT_MOST,
                                             .bound = (double)(10 * CLOCK_MS),
                                             .text = limit_text,
                                             .global = true};
    for (int w = 0; w < WORKERS; w++) {
        struct worker *of = &s->workers[w];
        of->count = w < 2 ? 1500 : 1;
        for (int i = 0; i < (int)of->count; i++) {
            of->times[i] = s->begin + i * 10 * CLOCK_MS + w * 5 * CLOCK_MS;
            of->values[i] = w < 2 ? i : -1;
            of->lost[i] = false;
        }
        of->times[1000] += w == 1 ? longest - 5 * CLOCK_MS : 0;
        of->ends = of->closed = of->times[of->count - 1];
    }
    scene_store(s);
}

/*
 * When a manager's rows do not tell where the time lies that it did not judge, the records of all times are judged: if
 * none breaks the limit there is no doubt whenever that was. Else it stays, as what was violated may be that very time.
 */
TEST(an_interval_that_no_record_breaks_held_whenever_it_was_not_judged)
{
    static struct scene s;
    for (int managers = 1; managers <= 2; managers++)
        for (int breaks = 0; breaks < 2; breaks++) {
            struct interval_table t;
            interval_scene(&s, (breaks ? 14 : 9) * CLOCK_MS);
            int64_t half = s.begin + 7 * CLOCK_S, end = s.begin + 15 * CLOCK_S, lacks = 300 * CLOCK_MS;
            struct history_series judged = {.begin = s.begin, .judged_from = s.begin, .last_at = end};
            s.s.limits = calloc(2, sizeof *s.s.limits);
            s.s.limits[0] = (struct builtin_limit){
                .at = end, .worst = 5e6, .held = 15 * CLOCK_S - lacks, .unknown = lacks, .unjudged = lacks, .epoch = 1};
            if (managers == 2) { /* all of it lies between what they count */
                s.s.limits[0] = (struct builtin_limit){.at = half, .worst = 5e6, .held = 7 * CLOCK_S, .epoch = 1};
                s.s.limits[1] = (struct builtin_limit){.at = end, .worst = 5e6, .held = end - half - lacks, .epoch = 2};
            }
            s.s.limit_count = (size_t)managers;
            s.s.gaps = NULL;
            s.s.gap_count = 0;
            s.s.series = &judged;
            s.s.series_count = 1;
            assert_int_equal(rejudge_intervals(s.g.run, &s.s, &s.e, INT64_MAX, &t), 0);
            const struct builtin_limit *row = &s.s.limits[0];
            assert_int_equal(s.s.limit_count, 1);
            assert_int_equal(row->unjudged, 0);
            assert_true(breaks ? row->violated >= CLOCK_S - EVERY : row->violated == 0);
            assert_true(row->worst >= (breaks ? 13.9e6 : 8.9e6) && row->held > 13 * CLOCK_S);
            interval_table_free(&t);
            free(s.s.limits);
            free(s.s.gaps);
            free(s.s.chosen);
            s.s.limits = s.rows;
            scene_end(&s);
        }
}

/* A violation that no stored time bears out was of a pair that is none: it is not one. That of a time that is stored
 * is. */
TEST(a_violation_that_no_stored_time_bears_out_is_none)
{
    static struct scene s;
    for (int breaks = 0; breaks < 2; breaks++) {
        struct interval_table t;
        interval_scene(&s, (breaks ? 14 : 9) * CLOCK_MS);
        int64_t end = s.begin + 15 * CLOCK_S;
        struct history_series judged = {.begin = s.begin, .judged_from = s.begin, .last_at = end};
        struct history_violation was = {
            .begin = s.begin + CLOCK_S, .end = s.begin + 3 * CLOCK_S, .min = 2e9, .max = 2e9};
        s.s.limits = calloc(1, sizeof *s.s.limits);
        s.s.limits[0] = (struct builtin_limit){.at = end,
                                               .worst = 2e9,
                                               .held = 13 * CLOCK_S,
                                               .violated = 2 * CLOCK_S,
                                               .last_violated = was.end,
                                               .epoch = 1};
        s.s.violations = calloc(1, sizeof *s.s.violations);
        s.s.violations[0] = was;
        s.s.limit_count = s.s.violation_count = 1;
        s.s.gaps = NULL;
        s.s.gap_count = 0;
        s.s.series = &judged;
        s.s.series_count = 1;
        assert_int_equal(rejudge_intervals(s.g.run, &s.s, &s.e, INT64_MAX, &t), 0);
        assert_int_equal(s.s.limit_count, 1);
        assert_int_equal(s.s.violation_count, breaks);
        assert_true(breaks ? s.s.limits[0].violated == 2 * CLOCK_S : s.s.limits[0].violated == 0);
        assert_true(breaks ? s.s.limits[0].worst == 2e9 : s.s.limits[0].worst >= 8.9e6 && s.s.limits[0].worst < 9.1e6);
        interval_table_free(&t);
        free(s.s.limits);
        free(s.s.gaps);
        free(s.s.chosen);
        free(s.s.violations);
        s.s.violations = NULL;
        s.s.violation_count = 0;
        s.s.limits = s.rows;
        scene_end(&s);
    }
}

int main(void)
{
    seed = seed_start();
    return test_run(scratch_begin, scratch_end);
}
