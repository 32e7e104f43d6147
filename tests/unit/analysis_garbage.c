// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Threads did what no threads do: intervals that overlap, messages that were received before they were sent, of threads
 * that sent nothing, by clocks that are not known, wakers that woke each other, losses in between. A path still sums to
 * its window, says of a message only what is recorded of one, and of what it rests on nothing else; so does the path
 * that grows.
 */
#include "analysis/live.h"
#include "analysis/search.h"

#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>

enum { THREADS = 4, THINGS = 60 };

static uint64_t seed;

static int64_t below(int64_t n)
{
    return (int64_t)(seed_next(&seed) % (uint64_t)n);
}

/* Mostly among the others, seldom far away. */
static int64_t draw_time(int64_t now)
{
    int64_t far = INT64_C(1) << 61;
    return below(200) == 0 ? (below(2) ? far : -far) : now - below(2000) + below(200);
}

static struct activity_event draw_event(int64_t now)
{
    struct activity_event e = {.at = draw_time(now), .from = draw_time(now), .kind = (uint32_t)below(3)};
    e.peer = below(4) == 0 || e.kind != ACTIVITY_RECEIVED ? (uint32_t)ACTIVITY_NONE : (uint32_t)below(THREADS);
    e.bound = below(5) == 0 ? INT64_MAX : below(100);
    return e;
}

static bool add_thing(struct activity *a, uint32_t thread, int64_t now)
{
    int64_t begin = draw_time(now), end = draw_time(now), off = below(300) - 1;
    uint32_t name = (uint32_t)below((int64_t)a->name_count);
    struct activity_interval i = {begin, end, off, below(300) - 100, below(300) - 100, (enum activity_ended)below(4)};
    switch (below(5)) {
    case 0:
        return activity_add_span(a, thread, (struct activity_span){begin, end, name, (enum activity_reason)below(6)});
    case 1:
        return activity_add_interval(a, thread, i);
    case 2:
        return activity_add_event(a, thread, draw_event(now));
    case 3:
        return activity_add_rival(a, thread, (struct activity_rival){begin, end, name, below(2)});
    default:
        return activity_add_wait(a, thread,
                                 (struct activity_wait){begin, end, (enum activity_state)below(4),
                                                        (enum activity_woken)below(5), name,
                                                        below(2) ? (uint32_t)below(THREADS) : (uint32_t)ACTIVITY_NONE});
    }
}

static void add_threads(struct activity *a)
{
    static const char *const names[] = {"one", "two", "idle"};
    for (uint32_t i = 0; i < THREADS; i++) {
        struct activity_thread is = {.node_row = i % 2, .process_row = i, .id = i, .first = below(100)};
        is.process[0] = (char)('a' + i);
        assert_int_equal(activity_add_thread(a, &is), i);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(activity_name(a, names[i]), i);
}

/* Whether a message of thread `peer` by clocks that are known is recorded as received by `thread`. */
static bool has_message(const struct activity *a, uint32_t thread, uint32_t peer)
{
    const struct activity_thread *t = &a->threads[thread];
    for (size_t i = 0; i < t->event_count; i++)
        if (t->events[i].kind == ACTIVITY_RECEIVED && t->events[i].peer == peer && t->events[i].bound < INT64_MAX)
            return true;
    return false;
}

static bool has_reason(const struct activity *a, const struct path_piece *p)
{
    static const enum activity_reason reasons[PATH_CLASSES] = {
        [PATH_LOCK] = ACTIVITY_FOR_LOCK, [PATH_IO] = ACTIVITY_FOR_IO, [PATH_SLEEP] = ACTIVITY_FOR_TIMER};
    const struct activity_thread *t = &a->threads[p->thread];
    for (size_t i = 0; i < t->span_count; i++)
        if (t->spans[i].reason == reasons[p->is] && t->spans[i].begin < p->until && t->spans[i].end > p->from)
            return true;
    for (size_t i = 0; i < t->wait_count; i++)
        if (t->waits[i].state == ACTIVITY_DISK && p->is == PATH_IO)
            return true;
    return false;
}

/*
 * What is unknown has a reason, and so may a time in which a thread was ready and nobody had the CPU; or a wait that
 * was so long at most.
 */
static void check_why(enum path_class is, enum path_why why, uint32_t by)
{
    bool nobody = is == PATH_READY && why == PATH_BETWEEN && by == ACTIVITY_NONE;
    bool at_most = why == PATH_NO_SWITCHES && (is == PATH_LOCK || is == PATH_IO);
    assert_int_equal(is == PATH_UNKNOWN || nobody || at_most, why != PATH_KNOWN);
}

static void check_piece(const struct activity *a, const struct path_piece *p)
{
    const struct activity_thread *t = &a->threads[p->thread];
    assert_true(p->from < p->until);
    check_why(p->is, p->why, p->by);
    if (p->is == PATH_MESSAGE)
        assert_true(p->peer < THREADS && has_message(a, p->thread, p->peer));
    else
        assert_int_equal(p->peer, ACTIVITY_NONE);
    if (p->is == PATH_RUNNING || p->is == PATH_READY || p->is == PATH_MONITOR)
        assert_true(t->interval_count > 0);
    if (p->is == PATH_LOCK || p->is == PATH_IO || p->is == PATH_SLEEP)
        assert_true(has_reason(a, p));
}

TEST(test_garbage_has_paths)
{
    struct path p = {0};
    for (int round = 0; round < 1500; round++) {
        struct activity a;
        assert_int_equal(activity_init(&a, NULL, 0), 0);
        add_threads(&a);
        for (int i = 0; i < THINGS; i++)
            assert_true(add_thing(&a, (uint32_t)below(THREADS), 40 * i));
        assert_int_equal(activity_settle(&a), 0);
        for (int i = 0; i < 8; i++) {
            int64_t until = draw_time(2000), from = until - below(3000), at = from;
            assert_int_equal(path_walk(&a, (uint32_t)below(THREADS), from, until, &p), 0);
            for (size_t k = 0; k < p.count; k++) {
                assert_int_equal(p.pieces[k].from, at);
                check_piece(&a, &p.pieces[k]);
                at = p.pieces[k].until;
            }
            assert_int_equal(at, until);
        }
        activity_fini(&a);
    }
    path_fini(&p);
}

/* Whether a hypothesis that is true, and has no less of the time, is one step less close. */
static bool has_parent(const struct search *s, size_t i)
{
    const struct search_node *n = &s->nodes[i];
    bool has = n->place == SEARCH_RUN && !n->with;
    for (size_t k = 0; k < i && !has; k++) {
        const struct search_node *x = &s->nodes[k];
        has = x->why == n->why && x->is == SEARCH_TRUE && x->place <= n->place && x->least >= n->least - 1e-9;
    }
    return has;
}

static void check_search(const struct activity *a, const struct slow_terms *terms)
{
    struct search s = {.recording_most = (double)below(100), .missing = (double)below(500)};
    assert_int_equal(search_find(a, terms, &s), 0);
    for (size_t i = 0; i < s.count; i++) {
        const struct search_node *n = &s.nodes[i];
        double threshold = search_threshold(n->why);
        if (n->why == SEARCH_SMALL)
            continue;
        assert_true(n->least >= 0 && n->least <= n->most + 1e-9 && n->most <= 1 + 1e-9);
        assert_int_equal(n->is == SEARCH_TRUE, n->least > threshold);
        assert_int_equal(n->is == SEARCH_FALSE, n->most <= threshold);
        assert_true(!n->leaf || n->is == SEARCH_TRUE);
        assert_true(has_parent(&s, i));
    }
    search_fini(&s);
}

static void check_live(struct live *f, int64_t until)
{
    struct slow_terms terms;
    double sum = 0;
    int64_t at;
    uint32_t thread = live_latest(f, until, &at);
    if (thread == ACTIVITY_NONE || at <= f->from)
        return;
    assert_int_equal(live_terms(f, thread, at, &terms), 0);
    for (size_t i = 0; i < terms.count; i++) {
        assert_true(terms.terms[i].slow > 0);
        check_why(terms.terms[i].is, terms.terms[i].why, terms.terms[i].by);
        sum += terms.terms[i].slow;
    }
    assert_true(fabs(sum - (double)(at - f->from)) <= 1e-9 * sum);
    assert_true(fabs(sum - terms.slow) <= 1e-9 * sum);
    check_search(&f->activity, &terms);
    slow_terms_free(&terms);
}

TEST(test_garbage_has_a_path_that_grows)
{
    for (int round = 0; round < 1500; round++) {
        struct live f;
        assert_int_equal(live_init(&f, 0), 0);
        add_threads(&f.activity);
        for (int i = 0; i < THINGS; i++) {
            assert_true(add_thing(&f.activity, (uint32_t)below(THREADS), 40 * i));
            f.newest = 40 * i;
            if (below(6) == 0) {
                assert_int_equal(live_mark(&f, f.newest - below(400)), 0);
                check_live(&f, f.newest - below(400));
            }
        }
        assert_int_equal(activity_settle(&f.activity), 0);
        check_live(&f, INT64_MAX);
        live_fini(&f);
    }
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
