// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Limits whose windows are shorter than the time between two instants, and those with a short `for`, against an agent
 * that had more instants, and all records. BEZEL_SEED repeats.
 */
#include "run/verdict/rejudge.h"
#include "tests/lib/rejudge_scene.h"

/* What an agent has found at the end that has all records, at instants `step` ns apart. */
static void judge_all(struct scene *s, int64_t step, struct builtin_limit rows[LIMITS])
{
    struct watcher w;
    s->e.adapt.every = step;
    watcher_start(&w, s);
    for (int64_t now = s->begin; now <= s->begin + LENGTH + 2 * EVERY; now += step)
        watcher_step(&w, s, now);
    watcher_end(&w, rows);
    for (int i = 0; i < LIMITS; i++) /* bezeld ends before its next instant */
        rows[i].at = s->begin + LENGTH + 3 * EVERY;
    s->e.adapt.every = EVERY;
}

static void draw_short_windows(struct scene *s)
{
    for (int i = 0; i < METRICS; i++)
        s->metrics[i].window = EVERY / (int64_t[]){1, 2, 4}[draw(3)];
    for (int i = 0; i < LIMITS; i++) {
        s->limits[i].metric = (int[]){2, 3, 4, 5, 6, 11, 13, 0, 10}[draw(9)];
        const struct experiment_metric *m = &s->metrics[s->limits[i].metric];
        s->limits[i].bound = m->kind == METRIC_PERCENT ? (double)draw(100)
                             : m->kind == METRIC_COUNT ? (double)draw(4)
                             : m->kind == METRIC_RATE  ? (double)draw(100)
                                                       : (double)draw(1000);
        s->limits[i].persistence = draw(2) * EVERY * (int64_t)(1 + draw(10)) / 2;
    }
}

/* Whether the `for` of a limit is short beside the sampling period, and what an instant found asks for more. */
static bool is_brief(const struct scene *s, int i, const struct builtin_limit *coarse)
{
    const struct experiment_limit *l = &s->limits[i];
    bool broken = l->compare == COMPARE_AT_MOST ? coarse->worst > l->bound : coarse->worst < l->bound;
    return l->persistence > 0 && l->persistence < 4 * EVERY && !s->metrics[l->metric].tumbles &&
           (broken || coarse->unjudged > 0);
}

/* What an agent finds that has instants `step` ns apart, some of them at the ends of windows that follow one another.
 */
static void judge_often(struct scene *s, int64_t step, struct builtin_limit *rows)
{
    int64_t begin = s->begin;
    s->begin -= begin % step;
    judge_all(s, step, rows);
    s->begin = begin;
}

/* A bezeld saw the workers begin, up to five windows before they recorded. */
static void see_begins(struct scene *s)
{
    s->processes[WORKERS] = (struct summary_process){.row = -1, .role = ROLE_DAEMON, .started = 1};
    s->s.process_count = WORKERS + 1;
    saw_begin = true;
    for (int w = 0; w < WORKERS; w++)
        s->processes[w].started = s->workers[w].started -= (int64_t)draw(5 * EVERY);
}

/* As many instants as a window has when it slides; a window that follows another one has one. */
TEST(short_windows_are_judged_from_all_records_of_an_ended_run)
{
    static struct scene s;
    int judged = 0, left = 0;
    for (int run = 0; run < runs() / 3; run++) {
        bool lossy = draw(3) == 0, lost = false;
        struct builtin_limit coarse[LIMITS], fine[LIMITS];
        apart = run % 4 == 2; /* limits on all nodes */
        scene_draw(&s, lossy, false);
        draw_short_windows(&s);
        scene_store(&s);
        if (run % 2)
            see_begins(&s);
        s.begin = INT64_MAX; /* nothing is before the first record */
        for (int w = 0; w < WORKERS; w++)
            s.begin = s.workers[w].started + 1 < s.begin ? s.workers[w].started + 1 : s.begin;
        for (int w = 0; w < WORKERS; w++)
            lost = lost || s.books[w].full > 0;
        judge_all(&s, EVERY, coarse);
        memcpy(s.rows, coarse, sizeof coarse);
        s.s.gaps = NULL;
        bool none[LIMITS]; /* one over all nodes that nobody judged has no row */
        for (uint32_t i = 0; i < LIMITS; i++) {
            none[i] = apart && rejudge_is_unjudged(&s.s, i);
            s.rows[i].epoch = s.limits[i].global = apart && !none[i];
        }
        assert_int_equal(rejudge_gaps(s.g.run, &s.s, &s.e), 0);
        for (int i = 0; i < LIMITS; i++)
            s.limits[i].global = false; /* of one agent, that has all */
        for (int i = 0; i < LIMITS; i++) {
            const struct experiment_metric *m = &s.metrics[s.limits[i].metric];
            bool counted = experiment_metric_is_counted(m), brief = is_brief(&s, i, &coarse[i]);
            bool anew = s.limits[i].kind == LIMIT_EXPECT && (m->window < EVERY || brief) && !lost &&
                        (!counted || s.limits[i].compare == COMPARE_AT_MOST);
            int64_t step = m->tumbles ? m->window : m->window / 8;
            judge_often(&s, brief && s.limits[i].persistence / 8 < step ? s.limits[i].persistence / 8 : step, fine);
            const struct builtin_limit *is = &s.rows[i], *right = anew ? &fine[i] : &coarse[i];
            int64_t most = anew ? 2 * step : 0; /* it begins between two instants, and windows may be a grain shorter */
            most += anew && m->kind == METRIC_QUANTILE ? LENGTH / 20 : 0; /* which is right to a thirty-second */
            if (none[i])
                continue;
            if (llabs(is->held - right->held) > most || llabs(is->violated - right->violated) > most ||
                is->unjudged != right->unjudged)
                fail_msg("run %d, limit %d on metric %d: held %g s, not %g s; violated %g s, not %g s; not judged %g s",
                         run, i, s.limits[i].metric, (double)is->held / 1e9, (double)right->held / 1e9,
                         (double)is->violated / 1e9, (double)right->violated / 1e9, (double)is->unjudged / 1e9);
            judged += anew;
            left += !anew;
        }
        free(s.s.gaps);
        saw_begin = false;
        scene_end(&s);
    }
    printf("%d limits were judged anew, %d stayed\n", judged, left);
    assert_true((judged > 0 && left > 0) || getenv("BEZEL_TEST_LIGHT")); /* which has few runs */
}

int main(void)
{
    seed = seed_start();
    return test_run(scratch_begin, scratch_end);
}
