// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A node's bezeld that is killed at any instant, and started again, some of which never come to an instant; of what
 * each recorded of limits any beginning is stored. No time is then lost from the limits' rows, nor counted twice, and
 * the times between are judged as by an agent that was always there. BEZEL_SEED repeats.
 */
#include "bezeld/node/limit_changes.h"
#include "run/history/history.h"
#include "run/verdict/rejudge.h"
#include "run/verdict/verdict_internal.h"
#include "tests/lib/rejudge_scene.h"

enum { LIVES = 4, RECORDED = INSTANTS * LIMITS * 2 };

/* What a life has recorded of limits, in its order. */
struct life {
    size_t count;
    struct recorded {
        bool is_row;
        struct builtin_limit row;
        struct builtin_observation seen;
    } list[RECORDED];
};

static void record_seen(struct life *l, struct limit_changes *c, const struct agent_outcome *out, int64_t now)
{
    for (uint32_t i = 0; i < LIMITS; i++) {
        const struct agent_limit *is = &out->limits[i];
        if (limit_changes_records(c, i, is, now))
            l->list[l->count++] = (struct recorded){.seen = {.at = now,
                                                             .limit = i,
                                                             .state = is->state,
                                                             .value = is->known ? is->value : (double)NAN,
                                                             .gap = is->gap}};
    }
}

static void record_rows(struct life *l, const struct agent_outcome *out, int64_t now)
{
    for (uint32_t i = 0; i < LIMITS; i++) {
        l->list[l->count++] = (struct recorded){.is_row = true, .row = agent_limit_row(i, &out->limits[i])};
        l->list[l->count - 1].row.at = now;
    }
}

/* A life from instant `begin` to instant `end`, which it does not come to; `drains`: it ends there in order. */
static void live(struct scene *s, struct life *l, int64_t begin, int64_t end, bool drains)
{
    struct watcher w;
    struct limit_changes changes = {.all_recorded = 0};
    l->count = 0;
    watcher_start(&w, s);
    if (begin > s->begin)
        agent_judges_since(w.agent, s->begin, true);
    for (int i = 0; i < WORKERS; i++) /* those before have taken it */
        while (w.taken[i] < s->workers[i].count && s->workers[i].times[w.taken[i]] <= begin - EVERY)
            w.taken[i]++;
    for (int64_t now = begin; now < end; now += EVERY) {
        watcher_step(&w, s, now);
        record_seen(l, &changes, w.out, now);
        if (limit_changes_records_all(&changes, w.out->limit_changed, now))
            record_rows(l, w.out, now);
    }
    if (drains) {
        const struct agent_outcome *out = agent_end(w.agent);
        record_seen(l, &changes, out, end - EVERY);
        record_rows(l, out, end - EVERY);
    }
    agent_free(w.agent);
}

/* The beginning of what a life has recorded gets into the database, as the history and the summary have it. */
static void keep(const struct life *l, size_t count, struct history *h, struct builtin_limit *rows, size_t *row_count)
{
    const struct builtin_limit *newest[LIMITS] = {0};
    for (size_t i = 0; i < count; i++)
        if (l->list[i].is_row)
            newest[l->list[i].row.limit] = &l->list[i].row;
        else
            history_observe(h, &l->list[i].seen);
    for (int i = 0; i < LIMITS; i++)
        if (newest[i])
            rows[(*row_count)++] = *newest[i];
}

static int by_limit(const void *a, const void *b)
{
    const struct builtin_limit *x = a, *y = b;
    return x->limit != y->limit ? (x->limit > y->limit) - (x->limit < y->limit) : (x->at > y->at) - (x->at < y->at);
}

static size_t draw_stored(const struct life *l)
{
    size_t lost = draw(3) ? draw(3 * LIMITS) : draw(l->count + 1);
    return lost < l->count ? l->count - lost : 0;
}

/* The last one may be killed as well. */
static void draw_lives(struct scene *s, struct history *h, struct builtin_limit *rows, size_t *row_count)
{
    static struct life life;
    int64_t at = s->begin, end = s->begin + LENGTH + 2 * EVERY;
    int many = 1 + (int)draw(LIVES);
    for (int i = 0; i < many && at < end; i++) {
        bool drains = i + 1 == many && draw(4);
        int64_t killed = drains ? end + EVERY : at + (int64_t)draw(draw(2) ? 3 : 60) * EVERY;
        killed = killed < end + EVERY ? killed : end + EVERY;
        live(s, &life, at, killed, drains);
        keep(&life, drains ? life.count : draw_stored(&life), h, rows, row_count);
        at = killed + (int64_t)draw(10) * EVERY;
    }
    qsort(rows, *row_count, sizeof *rows, by_limit);
}

/* A limit's row has all times from the begin to its own. */
static void check_rows(const struct scene *s, int run, bool judged)
{
    for (size_t i = 0; i < s->s.limit_count; i++) {
        const struct builtin_limit *row = &s->s.limits[i];
        int64_t all = verdict_row_total(row);
        if (all != row->at - s->begin || row->unjudged > row->unknown || (judged && row->unjudged))
            fail_msg("run %d, limit %d: %g s of %g s, unjudged %g s", run, (int)row->limit, (double)all / 1e9,
                     (double)(row->at - s->begin) / 1e9, (double)row->unjudged / 1e9);
    }
}

/* Where a life began behind another one, all of a limit's time is as by the agent that was always there. */
static void check_windows(const struct scene *s, int run)
{
    for (size_t i = 0; i < s->s.limit_count; i++) {
        const struct builtin_limit *row = &s->s.limits[i];
        struct history_gap all = {.limit = (uint32_t)row->limit, .begin = s->begin, .end = row->at};
        bool cut = false;
        for (size_t g = 0; g < s->s.gap_count; g++)
            cut = cut || (s->s.gaps[g].restarted && s->s.gaps[g].limit == row->limit);
        bool needs_none = s->metrics[s->limits[row->limit].metric].kind == METRIC_LAST;
        if (!cut || needs_none || s->limits[row->limit].kind != LIMIT_EXPECT)
            continue;
        struct history_gap e = expected(s, &all);
        if (llabs(row->held - e.held) > slack(s, &all) || llabs(row->violated - e.violated) > slack(s, &all))
            fail_msg("run %d, limit %d, metric %d: held %g s, not %g s; violated %g s, not %g s", run, (int)row->limit,
                     s->limits[row->limit].metric, (double)row->held / 1e9, (double)e.held / 1e9,
                     (double)row->violated / 1e9, (double)e.violated / 1e9);
    }
}

/* What lives recorded, joined and judged again, in s->s. */
static void judge_lives(struct scene *s, struct history *h, struct builtin_limit rows[LIVES * LIMITS], int run)
{
    size_t row_count = 0;
    watch(s);
    draw_lives(s, h, rows, &row_count);
    s->s.limits = rows;
    s->s.limit_count = row_count;
    s->s.gaps = h->gaps;
    s->s.gap_count = h->gap_count;
    s->s.violations = h->violations;
    s->s.violation_count = h->violation_count;
    s->s.series = h->limits;
    s->s.series_count = h->limit_count;
    rejudge_join(&s->s, &s->e);
    check_rows(s, run, false);
    assert_int_equal(rejudge_gaps(s->g.run, &s->s, &s->e), 0);
}

static void end_lives(struct scene *s, struct history *h)
{
    h->gaps = s->s.gaps;
    h->violations = s->s.violations;
    s->s.violations = NULL;
    history_close(h);
    scene_end(s);
}

TEST(no_time_is_lost_or_counted_twice_between_two_lives_of_a_bezeld)
{
    static struct scene s;
    int64_t again = 0;
    for (int run = 0; run < runs(); run++) {
        struct builtin_limit rows[LIVES * LIMITS];
        struct history h = {.most = 1000};
        scene_begin(&s, false, false);
        judge_lives(&s, &h, rows, run);
        for (size_t i = 0; i < s.s.gap_count; i++) {
            const struct history_gap *g = &s.s.gaps[i];
            struct history_gap e = expected(&s, g);
            again += g->end - g->begin;
            if (!g->judged || g->doubtful || llabs(g->held - e.held) > slack(&s, g) ||
                llabs(g->violated - e.violated) > slack(&s, g))
                fail_msg("run %d, limit %u, metric %d: %s; held %g s, not %g s; violated %g s, not %g s", run, g->limit,
                         s.limits[g->limit].metric, g->why ? g->why : "judged", (double)g->held / 1e9,
                         (double)e.held / 1e9, (double)g->violated / 1e9, (double)e.violated / 1e9);
        }
        check_rows(&s, run, true);
        check_windows(&s, run);
        end_lives(&s, &h);
    }
    printf("%.0f s judged again\n", (double)again / 1e9);
    assert_true(again > 0);
}

/* Where records were lost, no more time is held than by the agent that was always there. */
TEST(what_is_not_known_of_a_window_is_not_held)
{
    static struct scene s;
    int doubted = 0;
    for (int run = 0; run < runs(); run++) {
        struct builtin_limit rows[LIVES * LIMITS];
        struct history h = {.most = 1000};
        scene_begin(&s, true, false);
        judge_lives(&s, &h, rows, run);
        check_rows(&s, run, false);
        for (size_t i = 0; i < s.s.gap_count; i++) {
            const struct history_gap *g = &s.s.gaps[i];
            const struct builtin_limit *row = verdict_row_at(&s.s, g->node, g->limit, g->end);
            if (!row)
                continue;
            struct history_gap all = {.limit = g->limit, .begin = s.begin, .end = row->at}, e = expected(&s, &all);
            doubted += g->restarted && !g->judged;
            if (g->restarted && s.limits[g->limit].kind == LIMIT_EXPECT && row->held > e.held + slack(&s, g))
                fail_msg("run %d, limit %u, metric %d: held %g s, not %g s", run, g->limit, s.limits[g->limit].metric,
                         (double)row->held / 1e9, (double)e.held / 1e9);
        }
        end_lives(&s, &h);
    }
    assert_true(doubted > 0);
}

int main(void)
{
    seed = seed_start();
    return test_run(scratch_begin, scratch_end);
}
