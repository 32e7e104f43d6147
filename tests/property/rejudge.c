// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Random records, and random times in which nobody judged: what run/verdict/rejudge.h makes of them, against an agent
 * that had no such time. Where all records are stored the sums are the same, to the last nanosecond. Where records were
 * lost, or a process was silent before it ended, no answer is given that the agent does not give. BEZEL_SEED repeats.
 */
#include "run/verdict/rejudge.h"
#include "tests/lib/rejudge_scene.h"

static void fail_gap(const struct scene *s, int run, const struct history_gap *g, const struct history_gap *e)
{
    const struct experiment_limit *l = &s->limits[g->limit];
    fail_msg("run %d, gap %zd, metric %d %s %g: %s; doubtful %g s, held %g s, not %g s; violated %g s, not %g s", run,
             g - s->gaps, l->metric, l->compare == COMPARE_AT_LEAST ? ">=" : "<=", l->bound, g->why ? g->why : "judged",
             (double)g->doubtful / 1e9, (double)g->held / 1e9, (double)e->held / 1e9, (double)g->violated / 1e9,
             (double)e->violated / 1e9);
}

/* A limit's worst value is beyond its bound where it was violated; no other expectation's is, but of a rate's error. */
static void check_worst(const struct scene *s, const struct builtin_limit *row)
{
    const struct experiment_limit *l = &s->limits[row->limit];
    bool beyond = l->compare == COMPARE_AT_LEAST ? row->worst < l->bound : row->worst > l->bound;
    bool counts = row->last_violated > 0 || l->kind == LIMIT_HOLD || s->metrics[l->metric].kind == METRIC_RATE;
    assert_true(beyond ? row->violated > 0 || counts : row->violated == 0);
}

/*
 * The workers are programs that the run started, and waited for: seconds before their first record. It knows when, or
 * bezeld found their ends in time; some were started by somebody else.
 */
static void launch(struct scene *s, struct summary_program programs[WORKERS])
{
    for (int i = 0; i < WORKERS; i++) {
        struct summary_process *p = &s->processes[i];
        p->pid = (uint32_t)i + 1;
        p->started = s->workers[i].times[0] - 1;
        programs[i] = (struct summary_program){.node = s->node[p->node].name,
                                               .pid = p->pid,
                                               .state = LAUNCHED_ENDED,
                                               .started = p->started - (int64_t)draw(10 * CLOCK_S)};
        programs[i].ran = s->workers[i].ends - programs[i].started;
        p->ending = (struct builtin_ending){.at = s->workers[i].ends + (int64_t)draw(10 * CLOCK_S),
                                            .seen = s->workers[i].times[0]};
        if (draw(2))
            continue;
        p->ending =
            (struct builtin_ending){.at = s->workers[i].ends, .seen = s->workers[i].ends - (int64_t)draw(EVERY)};
        programs[i].started = 0;
        programs[i].pid += draw(2) ? WORKERS : 0;
    }
    s->s.programs = programs;
    s->s.program_count = WORKERS;
}

/* A limit on all nodes that was judged at no instant outside of gaps is one gap, from a record that is at no instant.
 */
static bool is_never_judged(const struct scene *s)
{
    bool any = false;
    for (uint32_t i = 0; i < LIMITS; i++)
        any = any || (s->limits[i].global && rejudge_is_unjudged(&s->s, i));
    return any;
}

/*
 * Of one node; else of all, with a worker on each. `late`: they are silent before their ends, as far as they hang, and
 * bezeld noticed these long after.
 */
static void judge_gaps(bool of_one, bool late)
{
    struct summary_program programs[WORKERS];
    static struct scene s;
    int64_t again = 0, violated = 0;
    for (int run = 0; run < runs(); run++) {
        apart = !of_one;
        scene_draw(&s, false, late);
        for (int i = 0; i < WORKERS && late; i++)
            s.workers[i].closed += 10 * CLOCK_S;
        scene_store(&s);
        launch(&s, programs);
        watch(&s);
        if (is_never_judged(&s)) {
            scene_end(&s);
            continue;
        }
        assert_int_equal(rejudge_gaps(s.g.run, &s.s, &s.e), 0);
        for (size_t i = 0; i < s.s.gap_count; i++) {
            const struct history_gap *g = &s.gaps[i];
            struct history_gap e = expected(&s, g);
            if (!g->judged || g->doubtful || llabs(g->held - e.held) > slack(&s, g) ||
                llabs(g->violated - e.violated) > slack(&s, g) || g->unknown != e.unknown)
                fail_gap(&s, run, g, &e);
            again += g->end - g->begin;
            violated += g->violated;
        }
        for (int i = 0; i < LIMITS; i++) {
            assert_int_equal(s.rows[i].unjudged, 0);
            check_worst(&s, &s.rows[i]);
        }
        scene_end(&s);
    }
    printf("%.0f s judged again, %.0f s of it violated\n", (double)again / 1e9, (double)violated / 1e9);
    assert_true(again > 0 && violated > 0);
}

TEST(a_gap_is_judged_as_if_there_were_none)
{
    judge_gaps(true, false);
    judge_gaps(false, false);
}

TEST(what_is_around_the_end_of_a_program_is_known)
{
    judge_gaps(true, true);
    judge_gaps(false, true);
}

TEST(a_gap_is_not_judged_where_records_may_be_missing)
{
    static const char *const why[] = {
        "the end of a process is unknown",         "records were lost, it is not known when",
        "records were lost, it is not known when", "records ended at their node (sensing.keep)",
        "records have expired from the store",
    };
    static struct scene s;
    for (int reason = 0; reason < 5; reason++) {
        scene_begin(&s, false, false);
        watch(&s);
        struct summary_process *p = &s.processes[draw(WORKERS)];
        p->state = reason == 0 ? PROCESS_LEFT : p->state;
        s.books[p - s.processes].no_ring = reason == 1;
        p->unfinished = reason == 2;
        s.books[p - s.processes].reduced = reason == 3;
        p->expired.packets = reason == 4;
        assert_int_equal(rejudge_gaps(s.g.run, &s.s, &s.e), 0);
        for (size_t i = 0; i < s.s.gap_count; i++)
            assert_string_equal(s.gaps[i].judged ? "judged" : s.gaps[i].why, why[reason]);
        scene_end(&s);
    }
}

/* The least or largest stored value of a worker that meets the condition; NaN: none does. */
static double extreme_of(const struct worker *w, bool least)
{
    double found = NAN;
    for (size_t i = 0; i < w->count; i++)
        if (!w->lost[i] && w->values[i] > 500)
            found = least ? fmin(found, (double)w->values[i]) : fmax(found, (double)w->values[i]);
    return found;
}

/* Every value beyond the bound is one that nobody judged. */
TEST(a_record_breaks_a_limit_only_if_it_meets_the_condition)
{
    static struct scene s;
    int without = 0, with = 0;
    for (int run = 0; run < runs(); run++) {
        scene_begin(&s, false, draw(2));
        for (int i = 0; i < LIMITS; i++) {
            s.limits[i].bound = (double)draw(1000);
            s.limits[i].kind = LIMIT_EXPECT;
            s.limits[i].metric = s.limits[i].compare == COMPARE_AT_LEAST ? LEAST : MOST;
        }
        s.metrics[LEAST].where = s.metrics[MOST].where = condition;
        assert_int_equal(rejudge_chosen(s.g.run, &s.s, &s.e), 0);
        for (size_t k = 0; k < s.s.chosen_count; k++) {
            const struct summary_chosen *c = &s.s.chosen[k];
            const struct experiment_limit *l = &s.limits[c->limit];
            bool least = l->compare == COMPARE_AT_LEAST, is_chosen;
            double right = extreme_of(&s.workers[c->process], least), is = least ? c->min : c->max;
            bool breaks = least ? right < l->bound : right > l->bound;
            if (!(is == right || (isnan(is) && isnan(right))))
                fail_msg("run %d, limit %u: %g, and not %g", run, c->limit, is, right);
            assert_int_equal(!isnan(verdict_stray(&s.s, &s.e, c->limit, c->process, &is_chosen)), breaks);
            assert_true(is_chosen);
            with += breaks;
            without += !breaks;
        }
        free(s.s.chosen);
        scene_end(&s);
    }
    printf("%d records broke a limit on chosen records, %d only one on all\n", with, without);
    assert_true(with > 0 && without > 0);
}

/* The longest time between two records of a worker that count; NaN: there are none. */
static double longest_of(const struct worker *w, bool all)
{
    double found = NAN;
    int64_t before = INT64_MIN;
    for (size_t i = 0; i < w->count; i++) {
        if (!all && w->values[i] <= 500)
            continue;
        found = before == INT64_MIN ? found : fmax(found, (double)(w->times[i] - before));
        before = w->times[i];
    }
    return found;
}

TEST(a_time_between_records_that_nobody_judged_breaks_a_limit)
{
    static struct scene s;
    int breaking = 0, read = 0;
    for (int run = 0; run < runs(); run++) {
        bool is_chosen, all = draw(2);
        scene_begin(&s, false, draw(2));
        for (int i = 0; i < LIMITS; i++) {
            s.limits[i] = (struct experiment_limit){.kind = LIMIT_EXPECT,
                                                    .metric = ARRIVALS,
                                                    .compare = COMPARE_AT_MOST,
                                                    .bound = (double)draw(5 * CLOCK_S),
                                                    .text = limit_text};
        }
        s.metrics[ARRIVALS].where = all ? NULL : condition;
        assert_int_equal(rejudge_chosen(s.g.run, &s.s, &s.e), 0);
        for (uint32_t i = 0; i < LIMITS; i++)
            for (size_t p = 0; p < WORKERS; p++) {
                double right = longest_of(&s.workers[p], all), is = verdict_stray(&s.s, &s.e, i, p, &is_chosen);
                bool breaks = right > s.limits[i].bound;
                if (breaks ? is != right : !isnan(is))
                    fail_msg("run %d, limit %u: %g, and not %g", run, i, is, right);
                breaking += breaks;
                read += is_chosen;
            }
        free(s.s.chosen);
        scene_end(&s);
    }
    printf("%d times broke a limit, %d were read\n", breaking, read);
    assert_true(breaking > 0 && read > breaking);
}

/* When a worker made its last record that meets the condition; INT64_MIN: none does. */
static int64_t last_chosen_of(const struct worker *w)
{
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < w->count; i++)
        last = w->values[i] > 500 ? w->times[i] : last;
    return last;
}

/* Also further back than a silence may last that breaks no limit, and where there is none. */
TEST(the_last_record_that_meets_a_condition_is_found)
{
    static struct scene s;
    int found = 0, before = 0, none = 0;
    for (int run = 0; run < runs() / 4; run++) {
        scene_draw(&s, false, draw(2));
        for (int w = 0; w < WORKERS; w++) /* from some record on none meets it */
            for (size_t i = s.workers[w].count * draw(4) / 3; i < s.workers[w].count; i++)
                s.workers[w].values[i] %= 500;
        scene_store(&s);
        for (int i = 0; i < LIMITS; i++) {
            s.limits[i] =
                (struct experiment_limit){.metric = ARRIVALS + 1, .compare = COMPARE_AT_MOST, .text = limit_text};
            s.limits[i].bound = (double)draw(10 * CLOCK_S);
        }
        s.metrics[ARRIVALS + 1].where = condition;
        assert_int_equal(rejudge_chosen(s.g.run, &s.s, &s.e), 0);
        assert_int_equal(s.s.chosen_count, LIMITS * WORKERS);
        for (size_t k = 0; k < s.s.chosen_count; k++) {
            const struct worker *w = &s.workers[s.s.chosen[k].process];
            const struct experiment_limit *l = &s.limits[s.s.chosen[k].limit];
            int64_t right = last_chosen_of(w), is = s.s.chosen[k].last;
            int64_t far = w->times[w->count - 1] - (int64_t)l->bound - agent_settling(&s.e, l);
            if (is != right || s.s.chosen[k].unread)
                fail_msg("run %d: %lld, and not %lld", run, (long long)is, (long long)right);
            *(right == INT64_MIN ? &none : right > far ? &found : &before) += 1;
        }
        free(s.s.chosen);
        scene_end(&s);
    }
    printf("%d last records were found, %d of them far back, %d workers had none\n", found + before, before, none);
    assert_true(found > 0 && ((before > 0 && none > 0) || getenv("BEZEL_TEST_LIGHT"))); /* which has few runs */
}

/* The worker whose last record decides what limit `i` of the node, or of worker `p`, stood at. */
static int last_of(const struct scene *s, int i, int p)
{
    int last = p;
    for (int w = 0; w < WORKERS && !s->metrics[s->limits[i].metric].per_process; w++) {
        int64_t at = s->workers[w].times[s->workers[w].count - 1],
                latest = s->workers[last].times[s->workers[last].count - 1];
        last = at > latest || (at == latest && w < last) ? w : last;
    }
    return last;
}

/* The value of limit `i` at the last record of worker `p`, by an agent that was given all records until then. */
static double value_at_end(const struct scene *s, int i, int p)
{
    struct watcher w;
    int64_t end = s->workers[p].times[s->workers[p].count - 1];
    double value = NAN;
    const struct experiment_metric *m = &s->metrics[s->limits[i].metric];
    bool breaks = m->kind == (s->limits[i].compare == COMPARE_AT_MOST ? METRIC_MAX : METRIC_MIN);
    watcher_start(&w, s);
    saw_begin = true;
    for (int64_t now = s->begin; now < end; now += EVERY)
        watcher_step(&w, s, now);
    watcher_step(&w, s, end);
    saw_begin = false;
    agent_metric(w.agent, (uint32_t)s->limits[i].metric, s->metrics[s->limits[i].metric].per_process ? w.slot[p] : -1,
                 &value);
    if (m->tumbles && breaks) { /* that was the window before the last one, which ends behind it */
        double last = NAN;
        agent_evaluate(w.agent, end + m->window);
        agent_metric(w.agent, (uint32_t)s->limits[i].metric,
                     s->metrics[s->limits[i].metric].per_process ? w.slot[p] : -1, &last);
        value = s->limits[i].compare == COMPARE_AT_LEAST ? fmin(value, last) : fmax(value, last);
    }
    agent_free(w.agent);
    return value;
}

/* No row has a worst value here: what breaks a limit at the end was judged by nobody. */
TEST(a_value_at_the_last_record_breaks_a_limit)
{
    static struct scene s;
    int breaking = 0, not = 0;
    for (int run = 0; run < runs() / 4; run++) {
        bool is_chosen;
        apart = draw(2); /* then windows lie as the first node's clock has them */
        scene_begin(&s, false, false);
        for (int i = 0; i < LIMITS; i++) {
            static const int values[] = {2, 3, 4, 5, 6, 11, 12, 13};
            s.rows[i] = (struct builtin_limit){.limit = i, .worst = NAN, .held = LENGTH, .at = s.begin + LENGTH};
            s.limits[i].metric = values[draw(sizeof values / sizeof *values)];
            s.limits[i].global = apart;
            s.limits[i].bound = s.limits[i].metric == 11 ? (double)draw(100) : (double)draw(1000);
        }
        assert_int_equal(rejudge_chosen(s.g.run, &s.s, &s.e), 0);
        for (int i = 0; i < LIMITS; i++)
            for (int p = 0; p < WORKERS && verdict_has_end(&s.e, (uint32_t)i); p++) {
                bool at_least = s.limits[i].compare == COMPARE_AT_LEAST;
                double right = last_of(&s, i, p) == p ? value_at_end(&s, i, p) : (double)NAN;
                double is = verdict_stray(&s.s, &s.e, (uint32_t)i, (size_t)p, &is_chosen);
                bool breaks = at_least ? right < s.limits[i].bound : right > s.limits[i].bound;
                bool is_near = s.limits[i].metric == 6 && fabs(right - s.limits[i].bound) <= right / 16;
                if (!is_near && (breaks ? !(fabs(is - right) <= fabs(right) / 16) : !isnan(is)))
                    fail_msg("run %d, limit %d on metric %d of worker %d: %g, and not %g, bound %g", run, i,
                             s.limits[i].metric, p, is, right, s.limits[i].bound);
                breaking += breaks;
                not += !breaks;
            }
        free(s.s.chosen);
        scene_end(&s);
    }
    printf("%d values at the end broke a limit, %d did not\n", breaking, not );
    assert_true(breaking > 0 && not > 0);
}

/*
 * A few records more than `window` before, each alone in its window, or none, and `n` at the end, which is earlier than
 * the worker's before.
 */
static void make_rare(struct scene *s, int i, int64_t window, size_t n)
{
    struct worker *w = &s->workers[i];
    int64_t end = s->begin + LENGTH - (1 + 3 * i) * CLOCK_S, pause = EVERY + (int64_t)draw(CLOCK_S);
    size_t before = draw(3);
    w->count = before + n;
    for (size_t r = 0; r < w->count; r++) {
        w->times[r] = r < before ? end - window - pause - (int64_t)(before - 1 - r) * (window + EVERY + pause)
                                 : end + (int64_t)(r - before) * CLOCK_MS;
        w->lost[r] = false;
    }
    draw_end(s, w, false);
}

/* Between rare records the counters stand still, which says in which window each record lies. */
TEST(rare_records_at_the_end_are_counted)
{
    enum { COUNT = 10 };
    static struct scene s;
    for (int run = 0; run < runs(); run++) {
        size_t n[WORKERS];
        bool is_chosen;
        scene_draw(&s, false, false);
        for (int i = 0; i < WORKERS; i++)
            make_rare(&s, i, s.metrics[COUNT].window, n[i] = 1 + draw(3));
        s.metrics[COUNT].where = NULL;
        s.metrics[COUNT].tumbles = false;
        s.limits[0] = (struct experiment_limit){
            .metric = COUNT, .kind = LIMIT_EXPECT, .bound = (double)draw(4), .text = limit_text};
        s.limits[0].compare = COMPARE_AT_MOST;
        s.e.limit_count = 1;
        scene_store(&s);
        assert_int_equal(rejudge_chosen(s.g.run, &s.s, &s.e), 0);
        for (int p = 0; p < (s.metrics[COUNT].per_process ? WORKERS : 1); p++) {
            double is = verdict_stray(&s.s, &s.e, 0, (size_t)p, &is_chosen);
            if ((double)n[p] > s.limits[0].bound ? is != (double)n[p] : !isnan(is))
                fail_msg("run %d, worker %d: %g, and not %zu, bound %g", run, p, is, n[p], s.limits[0].bound);
        }
        free(s.s.chosen);
        scene_end(&s);
    }
}

/* Records of short windows come between the last instant and the last record, which is alone in its own window. */
TEST(a_number_of_records_between_the_last_instant_and_the_end_is_found)
{
    enum { COUNT = 10 };
    static struct scene s;
    for (int run = 0; run < runs() / 2; run++) {
        bool is_chosen;
        size_t n = 1 + draw(5);
        scene_draw(&s, false, false);
        s.metrics[COUNT] = (struct experiment_metric){.name = s.metrics[COUNT].name,
                                                      .aspect = tick,
                                                      .kind = METRIC_COUNT,
                                                      .window = EVERY / (2 + (int64_t)draw(4)),
                                                      .per_process = true};
        for (int i = 0; i < WORKERS; i++) {
            struct worker *w = &s.workers[i];
            int64_t end = s.begin + LENGTH / 2, window = s.metrics[COUNT].window;
            w->count = n + 1;
            for (size_t r = 0; r < n; r++)
                w->times[r] = end - window - 1 - (int64_t)draw((uint64_t)(EVERY - window) * 9 / 10) / (i + 1);
            for (size_t r = 1; r < n; r++) /* together, for a hundredth of the window at most */
                w->times[r] = w->times[r - 1] + window / 1000;
            w->times[n] = end + window / 100;
            memset(w->lost, 0, sizeof w->lost);
            draw_end(&s, w, false);
        }
        s.limits[0] = (struct experiment_limit){
            .metric = COUNT, .kind = LIMIT_EXPECT, .bound = (double)draw(6), .text = limit_text};
        s.limits[0].compare = COMPARE_AT_MOST;
        s.e.limit_count = 1;
        scene_store(&s);
        assert_int_equal(rejudge_chosen(s.g.run, &s.s, &s.e), 0);
        for (int p = 0; p < WORKERS; p++) {
            double is = verdict_stray(&s.s, &s.e, 0, (size_t)p, &is_chosen);
            if ((double)n > s.limits[0].bound ? is != (double)n : !isnan(is))
                fail_msg("run %d, worker %d: %g, and not %zu, bound %g", run, p, is, n, s.limits[0].bound);
        }
        free(s.s.chosen);
        scene_end(&s);
    }
}

TEST(no_answer_is_given_that_is_not_known)
{
    static struct scene s;
    int64_t again = 0, doubtful = 0;
    for (int run = 0; run < runs(); run++) {
        struct summary_program programs[WORKERS];
        apart = draw(2);
        scene_begin(&s, draw(2), true);
        if (draw(2))
            launch(&s, programs);
        watch(&s);
        if (is_never_judged(&s)) {
            scene_end(&s);
            continue;
        }
        assert_int_equal(rejudge_gaps(s.g.run, &s.s, &s.e), 0);
        for (size_t i = 0; i < s.s.gap_count; i++) {
            const struct history_gap *g = &s.gaps[i];
            struct history_gap e = expected(&s, g);
            int64_t most = slack(&s, g);
            if (g->held > e.held + e.unknown + most || g->violated > e.violated + e.unknown + most ||
                (g->judged && e.violated > g->violated + g->doubtful + EVERY + most))
                fail_gap(&s, run, g, &e);
            again += g->held + g->violated;
            doubtful += g->judged ? g->doubtful : g->end - g->begin;
        }
        scene_end(&s);
    }
    printf("%.0f s judged again, %.0f s not\n", (double)again / 1e9, (double)doubtful / 1e9);
    assert_true(again > 0 && doubtful > 0);
}

/* When the last worker ended that was silent for so long that limit `i` was violated; `end`: none was. */
static int64_t end_of_hanging(const struct scene *s, int i, int64_t end)
{
    const struct experiment_limit *l = &s->limits[i];
    const struct experiment_metric *m = &s->metrics[l->metric];
    bool arrives = experiment_metric_is_of_arrivals(m), counts = experiment_metric_is_counted(m);
    int64_t until = end;
    for (int w = 0; w < WORKERS && (l->compare == COMPARE_AT_LEAST ? counts : arrives); w++) {
        const struct worker *of = &s->workers[w];
        bool hung = of->closed - of->times[of->count - 1] > m->window + 10 * EVERY;
        until = hung && of->closed > until ? of->closed : until;
    }
    return until;
}

/* As rejudge_anew() leaves them: all of the time with records is one gap of each limit. */
static void judge_all_anew(struct scene *s, int64_t end)
{
    s->s.judged_anew = true;
    s->s.gap_count = LIMITS;
    for (uint32_t i = 0; i < LIMITS; i++) {
        s->gaps[i] = (struct history_gap){.limit = i, .begin = s->begin, .end = end};
        s->rows[i] = (struct builtin_limit){
            .limit = i, .at = end, .worst = NAN, .unknown = end - s->begin, .unjudged = end - s->begin};
    }
}

TEST(a_silence_behind_the_last_record_is_not_judged)
{
    static struct scene s;
    int hung = 0, ended = 0;
    for (int run = 0; run < runs() / 2; run++) {
        scene_begin(&s, false, true);
        s.limits[0].metric = 0;
        s.limits[0].compare = COMPARE_AT_LEAST; /* a rate, which every silence violates */
        int64_t end = s.begin;
        for (int w = 0; w < WORKERS; w++)
            end = s.workers[w].times[s.workers[w].count - 1] > end ? s.workers[w].times[s.workers[w].count - 1] : end;
        judge_all_anew(&s, end);
        assert_int_equal(rejudge_gaps(s.g.run, &s.s, &s.e), 0);
        for (int i = 0; i < LIMITS; i++) {
            int64_t until = end_of_hanging(&s, i, end);
            assert_true(s.gaps[i].judged);
            assert_int_equal(s.gaps[i].end, until);
            assert_int_equal(s.rows[i].at, until);
            assert_int_equal(s.rows[i].unjudged, s.gaps[i].doubtful);
            assert_true(s.rows[i].unjudged >= until - end);
            assert_int_equal(s.rows[i].held + s.rows[i].violated + s.rows[i].unknown + s.rows[i].settling,
                             until - s.begin);
            check_worst(&s, &s.rows[i]);
            hung += until > end;
            ended += until == end;
        }
        scene_end(&s);
    }
    printf("%d limits had a silence behind the last record, %d had none\n", hung, ended);
    assert_true(ended > 0 && (hung > 0 || getenv("BEZEL_TEST_LIGHT"))); /* which has few runs */
}

/* One worker begins when the one before has ended: what both made in a window is known, of all but a quantile. */
TEST(processes_that_follow_one_another_are_judged_together)
{
    static const int metric[LIMITS] = {10, 1, 2, 11, 6}; /* a count, rate, mean, percentage and quantile */
    static struct scene s;
    scene_draw(&s, false, false);
    for (int i = 0; i < LIMITS; i++) {
        struct experiment_metric *m = &s.metrics[metric[i]];
        m->where = i % 2 ? NULL : condition;
        m->per_process = m->tumbles = false;
        m->window = CLOCK_S;
        s.limits[i] = (struct experiment_limit){.kind = LIMIT_EXPECT,
                                                .metric = metric[i],
                                                .compare = COMPARE_AT_MOST,
                                                .bound = i == 0 ? 85 : 700, /* one alone makes 80 in a window */
                                                .text = limit_text};
    }
    s.metrics[11].where = condition;
    for (int w = 0; w < WORKERS; w++) {
        struct worker *of = &s.workers[w];
        for (of->count = 0; of->count < 80; of->count++) {
            of->times[of->count] = s.begin + w * CLOCK_S + (int64_t)of->count * 10 * CLOCK_MS;
            of->values[of->count] = 600;
            of->lost[of->count] = false;
        }
        draw_end(&s, of, false);
    }
    scene_store(&s);
    judge_all_anew(&s, s.begin + WORKERS * CLOCK_S);
    assert_int_equal(rejudge_gaps(s.g.run, &s.s, &s.e), 0);
    for (int i = 0; i < LIMITS; i++) {
        assert_true(s.gaps[i].judged && s.gaps[i].violated == 0);
        assert_true(s.gaps[i].held > (i < 2 ? CLOCK_S : CLOCK_S / 2));
        assert_int_equal(s.gaps[i].doubtful > 0, i == 4);
    }
    assert_non_null(strstr(s.gaps[4].why, "a process began when the one before had ended"));
    scene_end(&s);
}

/* Around losses nothing is known; before and behind them all is as an agent finds it that has the counters as well. */
TEST(what_lies_between_losses_is_judged)
{
    static struct scene s;
    int64_t judged = 0, doubtful = 0;
    for (int run = 0; run < runs(); run++) {
        scene_begin(&s, true, false);
        watch(&s);
        uint64_t lost = 0;
        bool none = false; /* is stored of a worker, all of which is lost */
        for (int w = 0; w < WORKERS; w++) {
            lost += s.books[w].full;
            none = none || s.books[w].stored == 0;
        }
        judge_all_anew(&s, s.begin + LENGTH);
        assert_int_equal(rejudge_gaps(s.g.run, &s.s, &s.e), 0);
        for (int i = 0; i < LIMITS; i++) {
            const struct history_gap *g = &s.gaps[i];
            struct history_gap e = expected(&s, g);
            int64_t most = slack(&s, g);
            if (g->judged == none || g->held > e.held + e.unknown + most ||
                g->violated > e.violated + e.unknown + most ||
                (!none && e.violated > g->violated + g->doubtful + most) ||
                (!none && e.held > g->held + g->doubtful + most))
                fail_gap(&s, run, g, &e);
            assert_int_equal(s.rows[i].unjudged, none ? LENGTH : g->doubtful);
            judged += lost ? g->held + g->violated : 0;
            doubtful += g->doubtful;
        }
        scene_end(&s);
    }
    printf("%.0f s of runs with losses were judged, %.0f s were not\n", (double)judged / 1e9, (double)doubtful / 1e9);
    assert_true(judged > 0 && doubtful > 0);
}

/* What is missing at an end of the run; NOTHING_STORED: all of it, of the first worker's node. */
enum missing { OFF_AT_END, OFF_AT_BEGIN, LOST_AT_END, LOST_AT_BEGIN, NOTHING_STORED, MISSING };

static const char *const switched[MISSING] = {[OFF_AT_END] = "change 1: aspects off: tick",
                                              [OFF_AT_BEGIN] = "change 1: aspects on: tick",
                                              [NOTHING_STORED] = "change 1: aspects off: t*"};

/* Takes the records of `w` before `at`, or from there on, if it has both. Returns how long they are missing at least.
 */
static int64_t take_records(struct worker *w, enum missing is, int64_t at)
{
    size_t before = 0;
    int64_t first = w->times[0];
    while (before < w->count && w->times[before] < at)
        before++;
    if (before == 0 || before == w->count)
        return 0;
    size_t from = is == LOST_AT_END ? before : 0, until = is == LOST_AT_BEGIN ? before : w->count;
    for (size_t r = from; r < until && (is == LOST_AT_END || is == LOST_AT_BEGIN); r++)
        w->lost[r] = true;
    if (is == OFF_AT_END)
        w->count = before;
    if (is == OFF_AT_BEGIN) {
        w->count -= before;
        memmove(w->times, w->times + before, w->count * sizeof *w->times);
        memmove(w->values, w->values + before, w->count * sizeof *w->values);
    }
    return is == OFF_AT_END      ? w->ends - at
           : is == LOST_AT_END   ? w->times[w->count - 1] - w->times[before]
           : is == LOST_AT_BEGIN ? w->times[before - 1] - first
                                 : at - first;
}

/* Nothing is missing within the run: all of what is lies before its first stored record, or behind the last one. */
static int64_t draw_missing(struct scene *s, enum missing is, int64_t *at)
{
    int64_t length = 0;
    scene_draw(s, false, false);
    *at = s->begin + 7 * CLOCK_S + (int64_t)draw(4 * CLOCK_S);
    for (int w = 0; w < WORKERS; w++) {
        s->processes[w].started = s->workers[w].times[0];
        int64_t lacks = is == NOTHING_STORED ? 0 : take_records(&s->workers[w], is, *at);
        length = lacks > length ? lacks : length;
    }
    if (is == NOTHING_STORED && *at > s->workers[0].ends)
        *at = s->workers[0].ends; /* behind its end it lacks nothing */
    return length;
}

TEST(what_is_missing_at_an_end_of_the_run_is_not_judged)
{
    static struct scene s;
    static char *off[] = {tick, NULL};
    int64_t judged = 0;
    for (int run = 0; run < runs() / 2; run++) {
        enum missing is = (enum missing)(run % MISSING);
        struct summary_program programs[WORKERS];
        int64_t at, length, started[WORKERS];
        apart = is == NOTHING_STORED;
        length = draw_missing(&s, is, &at);
        for (int w = 0; w < WORKERS; w++)
            started[w] = s.processes[w].started;
        scene_store(&s);
        launch(&s, programs);
        for (int w = 0; w < WORKERS; w++) {
            programs[w].ran += programs[w].started ? 0 : s.processes[w].started - started[w];
            s.processes[w].started = started[w];
        }
        s.s.notes = &(struct summary_note){.at = at, .name = "", .code = "BEZEL-STEERED", .text = switched[is]};
        s.s.note_count = switched[is] != NULL;
        s.e.sensing.off = is == OFF_AT_BEGIN ? off : NULL;
        if (is == NOTHING_STORED)
            s.books[0] = (struct summary_book){.aspect = 1, .name = tick};
        s.s.limits = NULL;
        s.s.gaps = NULL;
        assert_int_equal(rejudge_anew(&s.s, &s.e, &s.e), 0);
        assert_int_equal(rejudge_gaps(s.g.run, &s.s, &s.e), 0);
        assert_int_equal(s.s.limit_count, (apart ? WORKERS : 1) * LIMITS);
        for (size_t i = 0; i < s.s.limit_count; i++) {
            const struct builtin_limit *row = &s.s.limits[i];
            bool none = is == NOTHING_STORED && row->node == 0;
            if (row->unjudged < length || (none && row->held + row->violated > 0))
                fail_msg("run %d, missing %d, limit %lld: %g s were not judged, and not %g s", run, (int)is,
                         (long long)row->limit, (double)row->unjudged / 1e9, (double)length / 1e9);
            assert_true(row->unjudged <= row->unknown && (!none || row->unjudged > 0));
            judged += row->held + row->violated;
        }
        free(s.s.limits);
        free(s.s.gaps);
        scene_end(&s);
    }
    assert_true(judged > 0);
}

int main(void)
{
    seed = seed_start();
    return test_run(scratch_begin, scratch_end);
}
