// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A limit that is judged at any instants, with stalls between them, against a model that classifies each interval by
 * itself. Whatever the values are in between, no time of a gap counts as held or violated, and no time is lost.
 */
#include "resmgr/agent/limit_judge.h"
#include "base/clock.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>

enum { CASES = 3000, INSTANTS = 60 };

static uint64_t seed;

struct drawn {
    int64_t at;
    double value; /* NaN: unknown */
};

/* Sums of an interval's time by its state, as a person would add them up. */
struct model {
    int64_t settling, held, violated, unknown, unjudged;
};

static struct model add_up(const struct drawn *d, int n, const struct experiment_limit *l, int64_t settling,
                           int64_t reach, int64_t since)
{
    struct model m = {0};
    int64_t first = -1, broken = -1, whole = since;
    bool unseen = false;
    for (int i = 0; i < n; i++) {
        int64_t passed = d[i].at - (i ? d[i - 1].at : since);
        bool known = !isnan(d[i].value), breaks = known && d[i].value > l->bound;
        first = first < 0 && known ? d[i].at : first;
        whole = !breaks ? d[i].at : whole;
        broken = !breaks ? -1 : broken < 0 ? d[i].at : broken;
        unseen = breaks && (unseen || passed > reach);
        int64_t lasting = breaks ? d[i].at - whole - l->persistence : 0; /* at most, and beyond `for` */
        int64_t open = lasting <= 0 ? 0 : lasting < passed && !unseen ? lasting : passed;
        if (l->kind == LIMIT_HOLD && first >= 0 && d[i].at - first <= settling)
            m.settling += passed;
        else if (passed > reach)
            m.unjudged += passed;
        else if (!known)
            m.unknown += passed;
        else if (breaks && d[i].at - broken >= l->persistence)
            m.violated += passed;
        else
            m.held += passed - open, m.unjudged += open;
    }
    m.unknown += m.unjudged;
    return m;
}

/* Intervals of a sampling period or so, and stalls that are a little or far beyond the reach, or just within it. */
static int64_t draw_interval(int64_t reach)
{
    switch (seed_next(&seed) % 8) {
    case 0:
        return reach + 1 + (int64_t)(seed_next(&seed) % (uint64_t)(10 * CLOCK_S));
    case 1:
        return reach;
    case 2:
        return reach + 1;
    default:
        return 1 + (int64_t)(seed_next(&seed) % (uint64_t)reach);
    }
}

TEST(every_interval_is_counted_once_and_no_gap_as_judged)
{
    struct model met = {0}; /* how often */
    for (int c = 0; c < CASES; c++) {
        struct experiment_limit limit = {.kind = seed_next(&seed) % 2 ? LIMIT_HOLD : LIMIT_EXPECT,
                                         .compare = COMPARE_AT_MOST,
                                         .bound = 10,
                                         .persistence = (int64_t)(seed_next(&seed) % 4) * 50 * CLOCK_MS};
        int64_t settling = (int64_t)(seed_next(&seed) % (uint64_t)(3 * CLOCK_S)) + 1, reach = 50 * CLOCK_MS + c;
        struct drawn d[INSTANTS];
        struct agent_limit seen;
        struct limit_judge j;
        struct limit_judge_run run = {0};
        int64_t now = 1000 * CLOCK_S, since = now + draw_interval(reach), gaps = 0;
        limit_judge_start(&j, &limit, settling, reach, &seen);
        limit_judge_since(&j, since, false);
        now = since;
        for (int i = 0; i < INSTANTS; i++) {
            now += draw_interval(reach);
            d[i] = (struct drawn){now, seed_next(&seed) % 8 == 0 ? (double)NAN : 20 * seed_unit(&seed)};
            limit_judge_begin(&j, now);
            limit_judge_value(&j, &run, -1,
                              (struct limit_judge_value){.known = !isnan(d[i].value), .value = d[i].value});
            limit_judge_end(&j);
            gaps += seen.gap > 0 ? seen.gap : 0;
            struct model m = add_up(d, i + 1, &limit, settling, reach, since);
            assert_int_equal(seen.settling, m.settling);
            assert_int_equal(seen.held, m.held);
            assert_int_equal(seen.violated, m.violated);
            assert_int_equal(seen.unknown, m.unknown);
            assert_int_equal(seen.unjudged, m.unjudged);
            assert_true(limit.persistence > 0 ? seen.unjudged >= gaps : seen.unjudged == gaps);
            met.held += seen.held > 0, met.violated += seen.violated > 0, met.settling += seen.settling > 0;
            met.unjudged += seen.unjudged > gaps;
            assert_int_equal(seen.settling + seen.held + seen.violated + seen.unknown, now - since);
            bool is_beyond = seen.worst > limit.bound, is_counted = seen.violated + seen.unjudged > 0;
            assert_true(seen.violated == 0 || is_beyond);
            assert_true(!is_beyond || limit.persistence > 0 || is_counted);
        }
    }
    assert_true(met.held > CASES && met.violated > CASES && met.settling > CASES && met.unjudged > CASES);
}

/* One interval's time, by its state. */
static struct model judged(struct limit_judge *j, struct limit_judge_run *run, int64_t at, double value)
{
    struct agent_limit before = *j->seen;
    limit_judge_begin(j, at);
    limit_judge_value(
        j, run, -1,
        (struct limit_judge_value){.known = !isnan(value), .open = isnan(value), .value = isnan(value) ? 0 : value});
    limit_judge_end(j);
    return (struct model){.held = j->seen->held - before.held,
                          .violated = j->seen->violated - before.violated,
                          .unjudged = j->seen->unjudged - before.unjudged};
}

/* Where values are open that another judge knows, no time is held or violated that is not so to that one as well. */
TEST(what_is_open_is_never_judged_better_than_what_is_known)
{
    int held = 0, violated = 0, asked = 0;
    for (int c = 0; c < CASES; c++) {
        struct experiment_limit limit = {
            .compare = COMPARE_AT_MOST, .bound = 10, .persistence = (int64_t)(seed_next(&seed) % 6) * 50 * CLOCK_MS};
        int64_t now = 1000 * CLOCK_S, reach = 200 * CLOCK_MS;
        struct agent_limit seen[2];
        struct limit_judge j[2];
        struct limit_judge_run runs[2] = {0};
        for (int i = 0; i < 2; i++)
            limit_judge_start(&j[i], &limit, CLOCK_S, reach, &seen[i]);
        for (int i = 0; i < INSTANTS; i++) {
            now += 90 * CLOCK_MS + (int64_t)(seed_next(&seed) % (uint64_t)(20 * CLOCK_MS));
            double value = seed_next(&seed) % 4 == 0 ? 5 : 20;
            struct model all = judged(&j[0], &runs[0], now, value);
            struct model some = judged(&j[1], &runs[1], now, seed_next(&seed) % 4 == 0 ? (double)NAN : value);
            assert_true(some.held <= all.held && some.violated <= all.violated);
            /* the records tell what differs */
            assert_true((some.held == all.held && some.violated == all.violated) || seen[1].gap > 0);
            held += some.held > 0, violated += some.violated > 0;
            asked += seen[1].gap > 0 && seen[1].known;
        }
    }
    assert_true(held > CASES && violated > CASES && asked > CASES);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
