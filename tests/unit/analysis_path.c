// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Paths whose pieces are known: a master with two workers, a controller with seven calculators as a paper printed it,
 * and each reason for which something is not known.
 */
#include "analysis/live.h"
#include "analysis/slack.h"
#include "tests/lib/activity_scene.h"
#include "tests/lib/test.h"

#define MS INT64_C(1000000)

static struct activity a;
static struct path p;

static void walk(uint32_t t, int64_t from, int64_t until)
{
    int64_t at = from;
    assert_int_equal(activity_settle(&a), 0);
    assert_int_equal(path_walk(&a, t, from, until, &p), 0);
    for (size_t i = 0; i < p.count; i++) {
        assert_int_equal(p.pieces[i].from, at);
        at = p.pieces[i].until;
    }
    assert_int_equal(at, until);
}

static void is_piece(size_t i, enum path_class is, enum path_why why, uint32_t thread, int64_t from, int64_t until)
{
    assert_true(i < p.count);
    assert_int_equal(p.pieces[i].is, is);
    assert_int_equal(p.pieces[i].why, why);
    assert_int_equal(p.pieces[i].thread, thread);
    assert_int_equal(p.pieces[i].from, from);
    assert_int_equal(p.pieces[i].until, until);
}

static int start(void **state)
{
    (void)state;
    return activity_init(&a, NULL, 0);
}

static int finish(void **state)
{
    (void)state;
    path_fini(&p);
    activity_fini(&a);
    return 0;
}

/* A runs 10, B 20 (flight 1), C 35 (flight 2, 25 of it in X); A waits for both and runs 5. */
TEST_WITH(start, finish, test_master_and_two_workers)
{
    uint32_t m = scene_thread(&a, 1, "A"), b = scene_thread(&a, 2, "B"), c = scene_thread(&a, 3, "C");
    scene_span(&a, c, "X", 20 * MS, 45 * MS);
    scene_run(&a, m, 0, 10 * MS, 0);
    scene_send(&a, m, 10 * MS);
    scene_run(&a, b, 0, MS / 2, 0);
    scene_run(&a, b, 11 * MS, 31 * MS, 0);
    scene_receive(&a, b, 11 * MS, m, 10 * MS);
    scene_send(&a, b, 31 * MS);
    scene_run(&a, c, 0, MS / 2, 0);
    scene_run(&a, c, 12 * MS, 47 * MS, 0);
    scene_receive(&a, c, 12 * MS, m, 10 * MS);
    scene_send(&a, c, 47 * MS);
    scene_run(&a, m, 32 * MS, 32 * MS + 1000, 0);
    scene_receive(&a, m, 32 * MS, b, 31 * MS);
    scene_run(&a, m, 49 * MS, 54 * MS, 0);
    scene_receive(&a, m, 49 * MS, c, 47 * MS);
    walk(m, 0, 54 * MS);
    assert_int_equal(p.count, 7);
    is_piece(0, PATH_RUNNING, PATH_KNOWN, m, 0, 10 * MS);
    is_piece(1, PATH_MESSAGE, PATH_KNOWN, c, 10 * MS, 12 * MS);
    is_piece(2, PATH_RUNNING, PATH_KNOWN, c, 12 * MS, 20 * MS);
    is_piece(3, PATH_RUNNING, PATH_KNOWN, c, 20 * MS, 45 * MS);
    is_piece(4, PATH_RUNNING, PATH_KNOWN, c, 45 * MS, 47 * MS);
    is_piece(5, PATH_MESSAGE, PATH_KNOWN, m, 47 * MS, 49 * MS);
    is_piece(6, PATH_RUNNING, PATH_KNOWN, m, 49 * MS, 54 * MS);
    assert_string_equal(a.names[p.pieces[3].span], "X");
    struct slack s;
    assert_int_equal(slack_find(&a, m, 0, 54 * MS, &s), 0);
    assert_true(s.known);
    assert_int_equal(s.count, 4);
    for (size_t i = 0; i < s.count; i++) /* A had 1 us to do before it waited again */
        assert_int_equal(s.pairs[i].least, s.pairs[i].from == c || s.pairs[i].to == c ? 0 : 17 * MS - 1000);
    slack_fini(&s);
    scene_receive(&a, m, 53 * MS, ACTIVITY_NONE, 0);
    assert_int_equal(slack_find(&a, m, 0, 54 * MS, &s), 0);
    assert_false(s.known);
    slack_fini(&s);
    walk(m, 30 * MS, 51 * MS); /* clipped */
    is_piece(0, PATH_RUNNING, PATH_KNOWN, c, 30 * MS, 45 * MS);
    is_piece(3, PATH_RUNNING, PATH_KNOWN, m, 49 * MS, 51 * MS);
}

/*
 * 20 times in a row A asks B and C, who each take 10 ms, and waits for both: there are 2^20 longest paths, and one is
 * found in a number of steps that grows with what was recorded.
 */
TEST_WITH(start, finish, test_a_chain_of_diamonds)
{
    enum { DIAMONDS = 20, EVENTS = 8, EDGES = 4 + EVENTS };
    uint32_t m = scene_thread(&a, 1, "A"), of[2] = {scene_thread(&a, 2, "B"), scene_thread(&a, 3, "C")};
    int64_t at = MS;
    for (int i = 0; i < 3; i++)
        scene_run(&a, (uint32_t)i, 0, MS / 2, 0);
    for (int i = 0; i < DIAMONDS; i++, at += 14 * MS) {
        scene_run(&a, m, at, at + MS, 0);
        for (int k = 0; k < 2; k++)
            scene_send(&a, m, at + MS);
        for (int k = 0; k < 2; k++) {
            scene_run(&a, of[k], at + 2 * MS, at + 12 * MS, 0);
            scene_receive(&a, of[k], at + 2 * MS, m, at + MS);
            scene_send(&a, of[k], at + 12 * MS);
        }
        scene_run(&a, m, at + 13 * MS, at + 13 * MS + 1000, 0);
        for (int k = 0; k < 2; k++)
            scene_receive(&a, m, at + 13 * MS, of[k], at + 12 * MS);
        scene_run(&a, m, at + 13 * MS + 1000, at + 14 * MS, 0);
    }
    walk(m, MS, at);
    assert_in_range(p.steps, DIAMONDS * 4, 2 * DIAMONDS * (EVENTS + EDGES));
    struct slack s;
    assert_int_equal(slack_find(&a, m, MS, at, &s), 0);
    assert_int_equal(s.count, 4);
    for (size_t i = 0; i < s.count; i++) { /* each message once */
        assert_int_equal(s.pairs[i].messages, DIAMONDS);
        assert_int_equal(s.pairs[i].least, 0);
    }
    slack_fini(&s);
}

/* A window ends while a client waits for a server, which waits for a store: that one ran last. */
TEST_WITH(start, finish, test_a_window_that_ends_in_a_wait)
{
    uint32_t client = scene_thread(&a, 1, "client"), server = scene_thread(&a, 1, "server"),
             store = scene_thread(&a, 1, "store");
    scene_run(&a, client, 0, MS, 0);
    scene_send(&a, client, MS);
    scene_run(&a, server, 0, MS / 2, 0);
    scene_run(&a, server, 2 * MS, 12 * MS, 0);
    scene_receive(&a, server, 2 * MS, client, MS);
    scene_send(&a, server, 12 * MS);
    scene_run(&a, store, 0, MS / 2, 0);
    scene_run(&a, store, 13 * MS, 33 * MS, 0);
    scene_receive(&a, store, 13 * MS, server, 12 * MS);
    scene_send(&a, store, 33 * MS);
    scene_run(&a, server, 34 * MS, 35 * MS, 0);
    scene_receive(&a, server, 34 * MS, store, 33 * MS);
    scene_send(&a, server, 35 * MS);
    scene_run(&a, client, 36 * MS, 37 * MS, 0);
    scene_receive(&a, client, 36 * MS, server, 35 * MS);
    walk(client, 0, 20 * MS);
    is_piece(p.count - 1, PATH_RUNNING, PATH_KNOWN, store, 13 * MS, 20 * MS);
    is_piece(p.count - 3, PATH_RUNNING, PATH_KNOWN, server, 2 * MS, 12 * MS);
}

/* The controller asks each calculator in turn: `each` ms on the way to it and back, `cpu` ms in it. */
TEST_WITH(start, finish, test_controller_of_a_paper)
{
    static const struct {
        int64_t machine, each, cpu;
    } of[] = {{3, 840, 159}, {2, 480, 88}, {3, 480, 79}, {2, 440, 67}, {1, 408, 108}, {1, 272, 64}, {3, 240, 42}};
    enum { CALCULATORS = 7, CPU = 9740 };
    int64_t at = 0, running = 0, near = 0, far = 0;
    uint32_t control = scene_thread(&a, 1, "control");
    for (uint32_t i = 0; i < CALCULATORS; i++)
        (void)scene_thread(&a, of[i].machine, "calculator");
    for (uint32_t i = 0; i < CALCULATORS; i++) {
        int64_t piece = (CPU / (CALCULATORS + 1)) * MS, sent = at + piece, there = sent + of[i].each * MS;
        scene_run(&a, control, at, sent, 0);
        if (i > 0)
            scene_receive(&a, control, at, i, at - of[i - 1].each * MS);
        scene_send(&a, control, sent);
        scene_run(&a, i + 1, -1, 0, 0);
        scene_run(&a, i + 1, there, there + of[i].cpu * MS, 0);
        scene_receive(&a, i + 1, there, control, sent);
        scene_send(&a, i + 1, there + of[i].cpu * MS);
        at = there + (of[i].cpu + of[i].each) * MS;
    }
    int64_t end = at + (CPU - CALCULATORS * (CPU / (CALCULATORS + 1))) * MS;
    scene_run(&a, control, at, end, 0);
    scene_receive(&a, control, at, CALCULATORS, at - of[CALCULATORS - 1].each * MS);
    walk(control, 0, end);
    for (size_t i = 0; i < p.count; i++) {
        const struct path_piece *is = &p.pieces[i];
        bool message = is->is == PATH_MESSAGE;
        int64_t ms = (is->until - is->from) / MS;
        assert_true(message || is->is == PATH_RUNNING);
        if (message)
            *(a.threads[is->thread].node_row == a.threads[is->peer].node_row ? &near : &far) += ms;
        else
            running += ms;
    }
    assert_int_equal(end / MS, 16667);
    assert_int_equal(running, 10347);
    assert_int_equal(far, 4960);
    assert_int_equal(near, 1360);
}

TEST_WITH(start, finish, test_ready_and_what_lies_between)
{
    uint32_t t = scene_thread(&a, 1, "t");
    scene_run(&a, t, 0, 10, 0);
    scene_run(&a, t, 100, 200, 30);
    a.threads[t].intervals[1].ready_most = 50;
    walk(t, 0, 200);
    is_piece(0, PATH_RUNNING, PATH_KNOWN, t, 0, 10);
    is_piece(1, PATH_UNKNOWN, PATH_BLOCKED, t, 10, 50);
    is_piece(2, PATH_UNKNOWN, PATH_BETWEEN, t, 50, 70);
    is_piece(3, PATH_READY, PATH_KNOWN, t, 70, 100);
    is_piece(4, PATH_RUNNING, PATH_KNOWN, t, 100, 200);
}

/* Of each interval only what lies in the window, whichever of its ends does. */
TEST_WITH(start, finish, test_cpu_of_a_window)
{
    uint32_t t = scene_thread(&a, 1, "t");
    assert_int_equal(activity_cpu(&a.threads[t], 0, INT64_MAX), 0);
    scene_run(&a, t, 0, 10, 0);
    scene_run(&a, t, 100, 200, 0);
    scene_run(&a, t, 300, 330, 0);
    assert_int_equal(activity_cpu(&a.threads[t], INT64_MIN, INT64_MAX), 140);
    assert_int_equal(activity_cpu(&a.threads[t], 5, 310), 115);
    assert_int_equal(activity_cpu(&a.threads[t], 120, 150), 30);
    assert_int_equal(activity_cpu(&a.threads[t], 100, 200), 100);
    assert_int_equal(activity_cpu(&a.threads[t], 200, 300), 0);
    assert_int_equal(activity_cpu(&a.threads[t], 330, INT64_MAX), 0);
    assert_int_equal(activity_cpu(&a.threads[t], 250, 240), 0);
}

/* 70 of each 100 ms in one thread, which has a CPU at `from`, and 10 in another one, from long before to long behind.
 */
static void feed_cpu(struct live *f, int64_t marks_from)
{
    const struct activity_thread is = {.node_row = 1, .process_row = 1, .first = 0};
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(activity_add_thread(&f->activity, &is), i);
    for (int64_t at = 0; at < 10000 * MS; at += 100 * MS) {
        struct activity_interval one = {.begin = at, .end = at + 70 * MS, .off = 30 * MS},
                                 two = {.begin = at + 50 * MS, .end = at + 60 * MS, .off = 90 * MS};
        assert_true(activity_add_interval(&f->activity, 0, one) && activity_add_interval(&f->activity, 1, two));
        f->newest = at + 70 * MS;
        if (at >= marks_from && at % (500 * MS) == 0)
            assert_int_equal(live_mark(f, at), 0);
    }
    assert_int_equal(activity_settle(&f->activity), 0);
}

TEST(test_cpu_since_the_path_began)
{
    const int64_t marks_from[] = {INT64_MAX, 4500 * MS, 0}; /* nothing is forgotten; something is; also from before */
    for (size_t i = 0; i < 3; i++) {
        struct live f;
        assert_int_equal(live_init(&f, 4020 * MS), 0);
        feed_cpu(&f, marks_from[i]);
        assert_int_equal(f.activity.threads[0].interval_count == 100, i == 0);
        assert_int_equal(live_cpu(&f, INT64_MAX), (60 * 80 - 20) * MS);
        assert_int_equal(live_cpu(&f, 9955 * MS), (60 * 80 - 20 - 15 - 5) * MS);
        live_fini(&f);
    }
}

/* A message that was sent later than the thread might have been ready shows that it was not. */
TEST_WITH(start, finish, test_a_message_narrows_the_bounds)
{
    uint32_t t = scene_thread(&a, 1, "t"), u = scene_thread(&a, 1, "u");
    scene_run(&a, u, 0, 90, 0);
    scene_run(&a, t, 0, 10, 0);
    scene_run(&a, t, 100, 200, 5);
    a.threads[t].intervals[1].ready_most = 80;
    scene_send(&a, u, 85);
    scene_receive(&a, t, 101, u, 85);
    walk(t, 0, 200);
    is_piece(0, PATH_RUNNING, PATH_KNOWN, u, 0, 85);
    is_piece(1, PATH_UNKNOWN, PATH_BETWEEN, t, 85, 95);
    is_piece(2, PATH_READY, PATH_KNOWN, t, 95, 100);
}

TEST_WITH(start, finish, test_nothing_recorded)
{
    uint32_t t = scene_thread(&a, 1, "t");
    a.threads[t].first = 50;
    scene_span(&a, t, "work", 60, 90);
    walk(t, 0, 100);
    is_piece(0, PATH_UNKNOWN, PATH_BEGINNING, t, 0, 50);
    is_piece(1, PATH_UNKNOWN, PATH_NO_SWITCHES, t, 50, 60);
    is_piece(2, PATH_UNKNOWN, PATH_NO_SWITCHES, t, 60, 90);
    assert_string_equal(a.names[p.pieces[2].span], "work");
    is_piece(3, PATH_UNKNOWN, PATH_NO_SWITCHES, t, 90, 100);
}

static void waits_for(uint32_t t, enum activity_reason reason, int64_t begin, int64_t end)
{
    assert_true(activity_add_span(
        &a, t,
        (struct activity_span){.begin = begin, .end = end, .name = activity_name(&a, "wait"), .reason = reason}));
}

/* Without intervals a wait for a time may be one in which the thread was ready, or stopped, most of the time. */
TEST_WITH(start, finish, test_waits_of_the_program_alone)
{
    uint32_t t = scene_thread(&a, 1, "t");
    waits_for(t, ACTIVITY_FOR_TIMER, 10, 60);
    waits_for(t, ACTIVITY_FOR_LOCK, 60, 90);
    walk(t, 5, 90);
    is_piece(1, PATH_UNKNOWN, PATH_NO_SWITCHES, t, 10, 60);
    assert_string_equal(a.names[p.pieces[1].span], "wait");
    is_piece(2, PATH_LOCK, PATH_NO_SWITCHES, t, 60, 90); /* at most */
}

/* Without intervals a receiving tells for how long its thread had waited. A span around it does not: it may be work. */
TEST_WITH(start, finish, test_a_receiving_that_says_how_long_it_waited)
{
    uint32_t t = scene_thread(&a, 1, "t"), u = scene_thread(&a, 1, "u");
    static const int64_t waited[] = {0, 10, 30}; /* the message was sent 20 before */
    for (int64_t i = 0; i < 3; i++) {
        int64_t at = 100 * i;
        scene_span(&a, t, "receive", at + 20, at + 60);
        scene_receive(&a, t, at + 60, u, at + 40);
        a.threads[t].events[i].waited = waited[i];
    }
    for (int64_t i = 0; i < 2; i++) {
        walk(t, 100 * i, 100 * i + 100);
        for (size_t k = 0; k < p.count; k++)
            assert_true(p.pieces[k].is == PATH_UNKNOWN && p.pieces[k].thread == t);
    }
    walk(t, 200, 300);
    is_piece(0, PATH_UNKNOWN, PATH_NO_SWITCHES, u, 200, 240);
    is_piece(1, PATH_MESSAGE, PATH_KNOWN, t, 240, 260);
    is_piece(2, PATH_UNKNOWN, PATH_NO_SWITCHES, t, 260, 300);
    waits_for(t, ACTIVITY_FOR_LOCK, 232, 258); /* which kept it from taking the message */
    walk(t, 200, 300);
    is_piece(2, PATH_LOCK, PATH_NO_SWITCHES, t, 232, 258);
}

TEST_WITH(start, finish, test_lost_records)
{
    uint32_t t = scene_thread(&a, 1, "t"), u = scene_thread(&a, 1, "u");
    scene_run(&a, u, 0, 100, 0);
    scene_run(&a, t, 0, 10, 0);
    scene_run(&a, t, 50, 100, 0);
    assert_true(activity_add_event(
        &a, t, (struct activity_event){.at = 55, .from = 9, .peer = ACTIVITY_NONE, .kind = ACTIVITY_LOST}));
    scene_receive(&a, t, 56, u, 40); /* the one that woke it may be lost */
    walk(t, 0, 100);
    is_piece(1, PATH_UNKNOWN, PATH_LOST, t, 10, 50);
}

TEST_WITH(start, finish, test_messages_that_explain_nothing)
{
    uint32_t t = scene_thread(&a, 1, "t"), u = scene_thread(&a, 1, "u"), far = scene_thread(&a, 2, "far");
    scene_run(&a, u, 0, 500, 0);
    scene_run(&a, t, 0, 10, 0);
    scene_run(&a, t, 50, 60, 0);
    scene_receive(&a, t, 51, u, 5); /* had been sent before the wait began */
    scene_run(&a, t, 100, 110, 0);
    scene_receive(&a, t, 101, ACTIVITY_NONE, 0);
    scene_run(&a, t, 150, 160, 0);
    scene_send(&a, t, 151); /* it did something else first */
    scene_receive(&a, t, 152, u, 120);
    scene_run(&a, t, 200, 210, 0);
    assert_true(activity_add_event(
        &a, t,
        (struct activity_event){.at = 201, .from = 170, .bound = INT64_MAX, .peer = far, .kind = ACTIVITY_RECEIVED}));
    walk(t, 0, 210);
    is_piece(1, PATH_UNKNOWN, PATH_BLOCKED, t, 10, 50);
    is_piece(3, PATH_UNKNOWN, PATH_UNSENT, t, 60, 100);
    is_piece(5, PATH_UNKNOWN, PATH_BLOCKED, t, 110, 150);
    is_piece(7, PATH_UNKNOWN, PATH_CLOCKS, t, 160, 200);
}

/* A thread that is preempted behind the wait, before it records the receiving; records just outside of intervals. */
TEST_WITH(start, finish, test_clocks_of_records_and_of_intervals)
{
    uint32_t t = scene_thread(&a, 1, "t"), u = scene_thread(&a, 1, "u");
    scene_run(&a, u, 0, 3000, 0);
    scene_run(&a, u, 9000, 9500, 0);
    scene_send(&a, u, 3100); /* was made at 3000 */
    scene_run(&a, t, 0, 1000, 0);
    scene_run(&a, t, 5000, 5100, 0);
    a.threads[t].intervals[1].ended = ACTIVITY_PREEMPTED;
    scene_run(&a, t, 6000, 6100, 900);
    scene_receive(&a, t, 6200, u, 3100); /* was made at 6100 */
    scene_run(&a, t, 9000, 9500, 0);
    walk(t, 0, 6050);
    is_piece(0, PATH_RUNNING, PATH_KNOWN, u, 0, 3100);
    is_piece(1, PATH_MESSAGE, PATH_KNOWN, t, 3100, 5000);
    is_piece(2, PATH_RUNNING, PATH_KNOWN, t, 5000, 5100);
    is_piece(3, PATH_READY, PATH_KNOWN, t, 5100, 6000);
    is_piece(4, PATH_RUNNING, PATH_KNOWN, t, 6000, 6050);
}

static void had(uint32_t t, const char *who, bool monitor, int64_t begin, int64_t end)
{
    assert_true(activity_add_rival(&a, t, (struct activity_rival){begin, end, activity_name(&a, who), monitor}));
}

static void woke(uint32_t t, int64_t begin, int64_t end, enum activity_state state, enum activity_woken by,
                 const char *who, uint32_t waker)
{
    assert_true(activity_add_wait(
        &a, t,
        (struct activity_wait){begin, end, state, by, who ? activity_name(&a, who) : (uint32_t)ACTIVITY_NONE, waker}));
}

TEST_WITH(start, finish, test_who_had_the_cpu)
{
    uint32_t t = scene_thread(&a, 1, "t");
    scene_run(&a, t, 0, 10, 0);
    scene_run(&a, t, 100, 200, 90);
    had(t, "stress", false, 15, 40);
    had(t, "bezeld", true, 40, 70);
    scene_span(&a, t, "work", 5, 55);
    walk(t, 0, 110);
    is_piece(2, PATH_READY, PATH_KNOWN, t, 10, 15);
    is_piece(3, PATH_READY, PATH_KNOWN, t, 15, 40);
    assert_string_equal(a.names[p.pieces[3].by], "stress");
    is_piece(4, PATH_MONITOR, PATH_KNOWN, t, 40, 55);
    is_piece(5, PATH_MONITOR, PATH_KNOWN, t, 55, 70);
    assert_int_equal(p.pieces[5].span, ACTIVITY_NONE);
    is_piece(6, PATH_READY, PATH_KNOWN, t, 70, 100);
    assert_int_equal(p.pieces[6].by, ACTIVITY_NONE);
}

/*
 * It is known when the thread was woken, and what the kernel's sum leaves open is no wait: who had the CPU is named
 * where that is known, and nobody is where it is not.
 */
TEST_WITH(start, finish, test_on_the_way_to_the_cpu)
{
    uint32_t t = scene_thread(&a, 1, "t");
    scene_run(&a, t, 0, 10, 0);
    scene_run(&a, t, 100, 110, 5);
    scene_run(&a, t, 200, 210, 0);
    a.threads[t].intervals[1].ready_most = a.threads[t].intervals[2].ready_most = 20;
    woke(t, 10, 80, ACTIVITY_SLEEP, ACTIVITY_BY_INTERRUPT, NULL, ACTIVITY_NONE);
    woke(t, 110, 180, ACTIVITY_SLEEP, ACTIVITY_BY_INTERRUPT, NULL, ACTIVITY_NONE);
    had(t, "stress", false, 182, 200);
    walk(t, 0, 210);
    is_piece(1, PATH_UNKNOWN, PATH_INTERRUPT, t, 10, 80);
    is_piece(2, PATH_READY, PATH_BETWEEN, t, 80, 95);
    assert_int_equal(p.pieces[2].by, ACTIVITY_NONE);
    is_piece(3, PATH_READY, PATH_KNOWN, t, 95, 100);
    is_piece(6, PATH_READY, PATH_BETWEEN, t, 180, 182);
    is_piece(7, PATH_READY, PATH_KNOWN, t, 182, 200);
    assert_string_equal(a.names[p.pieces[7].by], "stress");
    assert_int_equal(p.count, 9);
}

/* The waker is followed while the wait lasts, also through a wait of its own; before that, the path is the thread's. */
TEST_WITH(start, finish, test_a_waker_is_followed)
{
    uint32_t t = scene_thread(&a, 1, "t"), u = scene_thread(&a, 1, "u"), v = scene_thread(&a, 1, "v");
    scene_run(&a, v, 0, 60, 0);
    scene_run(&a, u, 0, 20, 0);
    scene_run(&a, u, 60, 100, 0);
    woke(u, 20, 60, ACTIVITY_SLEEP, ACTIVITY_BY_THREAD, "v", v);
    scene_run(&a, t, 0, 50, 0);
    scene_run(&a, t, 95, 120, 5);
    woke(t, 50, 90, ACTIVITY_SLEEP, ACTIVITY_BY_THREAD, "u", u);
    walk(t, 0, 120);
    is_piece(0, PATH_RUNNING, PATH_KNOWN, t, 0, 50);
    is_piece(1, PATH_RUNNING, PATH_KNOWN, v, 50, 60);
    is_piece(2, PATH_RUNNING, PATH_KNOWN, u, 60, 90);
    is_piece(3, PATH_READY, PATH_KNOWN, t, 90, 95);
    is_piece(4, PATH_RUNNING, PATH_KNOWN, t, 95, 120);
    walk(t, 55, 120);
    is_piece(0, PATH_RUNNING, PATH_KNOWN, v, 55, 60);
}

TEST_WITH(start, finish, test_what_the_kernel_says_of_waits)
{
    static const struct {
        enum activity_state state;
        enum activity_woken by;
        const char *who;
        enum path_class is;
        enum path_why why;
    } cases[] = {
        {ACTIVITY_DISK, ACTIVITY_BY_INTERRUPT, NULL, PATH_IO, PATH_KNOWN},
        {ACTIVITY_STOPPED, ACTIVITY_BY_THREAD, "sh", PATH_STOPPED, PATH_KNOWN},
        {ACTIVITY_SLEEP, ACTIVITY_BY_INTERRUPT, NULL, PATH_UNKNOWN, PATH_INTERRUPT},
        {ACTIVITY_SLEEP, ACTIVITY_BY_THREAD, "cat", PATH_UNKNOWN, PATH_WOKEN},
        {ACTIVITY_SLEEP, ACTIVITY_BY_THREAD, NULL, PATH_UNKNOWN,
         PATH_WOKEN}, /* which had ended: its name is not known */
        {ACTIVITY_SLEEP, ACTIVITY_BY_SOFTIRQ, "cat", PATH_UNKNOWN, PATH_SOFTIRQ},
        {ACTIVITY_SLEEP, ACTIVITY_BY_UNKNOWN, NULL, PATH_UNKNOWN, PATH_BLOCKED},
    };
    uint32_t t = scene_thread(&a, 1, "t");
    scene_run(&a, t, 0, 10, 0);
    for (int64_t i = 0; i < 7; i++) {
        scene_run(&a, t, 100 * i + 90, 100 * i + 110, 0);
        woke(t, 100 * i + 10, 100 * i + 90, cases[i].state, cases[i].by, cases[i].who, ACTIVITY_NONE);
    }
    walk(t, 0, 710);
    for (size_t i = 0; i < 7; i++)
        is_piece(2 * i + 1, cases[i].is, cases[i].why, t, (int64_t)i * 100 + 10, (int64_t)i * 100 + 90);
}

/* Work of the kernel that a recorded thread began, or that was done beside it, is not what that thread did; nor is of
 * it nothing recorded. */
TEST_WITH(start, finish, test_work_of_the_kernel_is_not_followed)
{
    uint32_t t = scene_thread(&a, 1, "t"), u = scene_thread(&a, 1, "u");
    scene_run(&a, u, 0, 100, 0);
    scene_run(&a, t, 0, 10, 0);
    scene_run(&a, t, 90, 110, 0);
    woke(t, 10, 90, ACTIVITY_SLEEP, ACTIVITY_BY_SOFTIRQ, "u", u);
    walk(t, 0, 110);
    is_piece(1, PATH_UNKNOWN, PATH_SOFTIRQ, t, 10, 90);
    assert_string_equal(a.names[p.pieces[1].by], "u");
}

TEST_WITH(start, finish, test_what_waits_of_the_program_say)
{
    uint32_t t = scene_thread(&a, 1, "t"), u = scene_thread(&a, 1, "u");
    scene_run(&a, t, 0, 10, 0);
    scene_run(&a, t, 50, 110, 5);
    scene_run(&a, t, 150, 160, 0);
    scene_run(&a, t, 190, 210, 0);
    waits_for(t, ACTIVITY_FOR_LOCK, 8, 52);
    waits_for(t, ACTIVITY_FOR_TIMER, 105, 151);
    waits_for(t, ACTIVITY_FOR_OTHER, 155, 195);
    walk(t, 0, 200);
    is_piece(1, PATH_RUNNING, PATH_KNOWN, t, 8, 10);
    is_piece(2, PATH_LOCK, PATH_KNOWN, t, 10, 45);
    is_piece(3, PATH_READY, PATH_KNOWN, t, 45, 50);
    assert_string_equal(a.names[p.pieces[2].span], "wait");
    is_piece(7, PATH_SLEEP, PATH_KNOWN, t, 110, 150);
    is_piece(11, PATH_UNKNOWN, PATH_BLOCKED, t, 160, 190);
    waits_for(u, ACTIVITY_FOR_IO, 10, 30); /* without intervals */
    walk(u, 0, 100);
    is_piece(0, PATH_UNKNOWN, PATH_NO_SWITCHES, u, 0, 10);
    is_piece(1, PATH_IO, PATH_NO_SWITCHES, u, 10, 30);
    is_piece(2, PATH_UNKNOWN, PATH_NO_SWITCHES, u, 30, 100);
}

/* A wait for a message that ends before the receiving is recorded, without intervals; and one that was not for it. */
TEST_WITH(start, finish, test_waits_for_messages)
{
    uint32_t t = scene_thread(&a, 1, "t"), u = scene_thread(&a, 1, "u");
    waits_for(t, ACTIVITY_FOR_MESSAGE, 20, 60);
    scene_receive(&a, t, 62, u, 40);
    scene_receive(&a, t, 90, u, 70);
    walk(t, 0, 100);
    is_piece(0, PATH_UNKNOWN, PATH_NO_SWITCHES, u, 0, 40);
    is_piece(1, PATH_MESSAGE, PATH_KNOWN, t, 40, 60);
    is_piece(2, PATH_UNKNOWN, PATH_NO_SWITCHES, t, 60, 100);
}

/*
 * Each time a message is sent while the thread is off the CPU, and its receiving is what it records first behind that.
 * It waited for that message unless something contradicts it: what the kernel says, the receiving, a wait of the
 * program.
 */
TEST_WITH(start, finish, test_a_thread_that_could_not_take_the_message)
{
    enum { T, SENDER, HELPER, FAR, NONE = ACTIVITY_NONE, LESS = 1, MORE = 85, LENGTH = 200 };
    static const struct {
        enum activity_state state;
        enum activity_woken woken;
        uint32_t waker, from;
        enum activity_reason reason;
        int64_t waited; /* as the receiving says; 0: it does not */
        enum path_class is;
        enum path_why why;
    } cases[] = {
        {ACTIVITY_UNSEEN, ACTIVITY_BY_UNKNOWN, NONE, SENDER, ACTIVITY_NO_WAIT, 0, PATH_MESSAGE, PATH_KNOWN},
        {ACTIVITY_SLEEP, ACTIVITY_BY_UNKNOWN, NONE, SENDER, ACTIVITY_NO_WAIT, MORE, PATH_MESSAGE, PATH_KNOWN},
        {ACTIVITY_SLEEP, ACTIVITY_BY_UNKNOWN, NONE, SENDER, ACTIVITY_NO_WAIT, MORE - 10, PATH_MESSAGE, PATH_KNOWN},
        {ACTIVITY_SLEEP, ACTIVITY_BY_UNKNOWN, NONE, SENDER, ACTIVITY_FOR_MESSAGE, LESS, PATH_MESSAGE, PATH_KNOWN},
        {ACTIVITY_SLEEP, ACTIVITY_BY_UNKNOWN, NONE, SENDER, ACTIVITY_FOR_IO, 0, PATH_MESSAGE, PATH_KNOWN},
        {ACTIVITY_SLEEP, ACTIVITY_BY_SOFTIRQ, HELPER, SENDER, ACTIVITY_NO_WAIT, 0, PATH_MESSAGE, PATH_KNOWN},
        {ACTIVITY_SLEEP, ACTIVITY_BY_THREAD, SENDER, SENDER, ACTIVITY_NO_WAIT, 0, PATH_MESSAGE, PATH_KNOWN},
        /* one that records nothing may have handed it on, and a device may have brought it from afar */
        {ACTIVITY_SLEEP, ACTIVITY_BY_THREAD, NONE, SENDER, ACTIVITY_NO_WAIT, 0, PATH_MESSAGE, PATH_KNOWN},
        {ACTIVITY_SLEEP, ACTIVITY_BY_INTERRUPT, NONE, FAR, ACTIVITY_NO_WAIT, MORE, PATH_MESSAGE, PATH_KNOWN},
        {ACTIVITY_SLEEP, ACTIVITY_BY_INTERRUPT, NONE, FAR, ACTIVITY_FOR_MESSAGE, 0, PATH_MESSAGE, PATH_KNOWN},
        {ACTIVITY_SLEEP, ACTIVITY_BY_UNKNOWN, NONE, NONE, ACTIVITY_NO_WAIT, 0, PATH_UNKNOWN, PATH_UNSENT},
        {ACTIVITY_SLEEP, ACTIVITY_BY_THREAD, T, SENDER, ACTIVITY_NO_WAIT, 0, PATH_MESSAGE, PATH_KNOWN},
        {ACTIVITY_SLEEP, ACTIVITY_BY_INTERRUPT, NONE, NONE, ACTIVITY_NO_WAIT, MORE, PATH_UNKNOWN, PATH_UNSENT},
        {ACTIVITY_STOPPED, ACTIVITY_BY_UNKNOWN, NONE, SENDER, ACTIVITY_NO_WAIT, 0, PATH_STOPPED, PATH_KNOWN},
        {ACTIVITY_STOPPED, ACTIVITY_BY_THREAD, NONE, FAR, ACTIVITY_FOR_MESSAGE, MORE, PATH_STOPPED, PATH_KNOWN},
        {ACTIVITY_DISK, ACTIVITY_BY_INTERRUPT, NONE, SENDER, ACTIVITY_NO_WAIT, 0, PATH_IO, PATH_KNOWN},
        {ACTIVITY_UNSEEN, ACTIVITY_BY_INTERRUPT, NONE, SENDER, ACTIVITY_NO_WAIT, MORE, PATH_UNKNOWN, PATH_INTERRUPT},
        {ACTIVITY_SLEEP, ACTIVITY_BY_INTERRUPT, NONE, FAR, ACTIVITY_NO_WAIT, 0, PATH_UNKNOWN, PATH_INTERRUPT},
        {ACTIVITY_SLEEP, ACTIVITY_BY_INTERRUPT, NONE, NONE, ACTIVITY_NO_WAIT, 0, PATH_UNKNOWN, PATH_INTERRUPT},
        {ACTIVITY_SLEEP, ACTIVITY_BY_UNKNOWN, NONE, SENDER, ACTIVITY_NO_WAIT, LESS, PATH_UNKNOWN, PATH_BLOCKED},
        {ACTIVITY_SLEEP, ACTIVITY_BY_UNKNOWN, NONE, FAR, ACTIVITY_NO_WAIT, LESS, PATH_UNKNOWN, PATH_BLOCKED},
        {ACTIVITY_SLEEP, ACTIVITY_BY_UNKNOWN, NONE, NONE, ACTIVITY_NO_WAIT, LESS, PATH_UNKNOWN, PATH_BLOCKED},
        {ACTIVITY_SLEEP, ACTIVITY_BY_UNKNOWN, NONE, SENDER, ACTIVITY_FOR_LOCK, MORE, PATH_LOCK, PATH_KNOWN},
        {ACTIVITY_SLEEP, ACTIVITY_BY_UNKNOWN, NONE, SENDER, ACTIVITY_FOR_TIMER, 0, PATH_SLEEP, PATH_KNOWN},
    };
    static const char *const names[] = {"t", "sender", "helper", "far"};
    enum { CASES = sizeof cases / sizeof *cases };
    for (uint32_t i = T; i <= FAR; i++) {
        assert_int_equal(scene_thread(&a, i == FAR ? 2 : 1, names[i]), i);
        scene_run(&a, i, 0, i == T ? 10 : CASES * LENGTH, 0);
    }
    for (int64_t i = 0, at = 0; i < CASES; i++, at += LENGTH) {
        struct activity_event e = {.at = at + 91,
                                   .from = at + 50,
                                   .peer = cases[i].from,
                                   .kind = ACTIVITY_RECEIVED,
                                   .waited = cases[i].waited};
        scene_run(&a, T, at + 90, at + LENGTH + 10, 0);
        woke(T, at + 10, at + 90, cases[i].state, cases[i].woken, NULL, cases[i].waker);
        if (cases[i].reason != ACTIVITY_NO_WAIT)
            waits_for(T, cases[i].reason, at + 9, at + 90);
        assert_true(activity_add_event(&a, T, e));
    }
    for (int64_t i = 0, at = 0; i < CASES; i++, at += LENGTH) {
        bool message = cases[i].is == PATH_MESSAGE;
        walk(T, at + 20, at + 91);
        is_piece(message, cases[i].is, cases[i].why, T, at + (message ? 50 : 20), at + 90);
        assert_int_equal(path_off_before(&a, T, (size_t)i + 1).awaited != NULL,
                         message); /* for slack, delays and what-if */
    }
}

/* Another thread than the sender ended the wait, as one does that releases a lock: it is followed. */
TEST_WITH(start, finish, test_a_waker_that_sent_nothing)
{
    uint32_t t = scene_thread(&a, 1, "t"), u = scene_thread(&a, 1, "u"), holder = scene_thread(&a, 1, "holder");
    scene_run(&a, u, 0, 100, 0);
    scene_run(&a, holder, 0, 100, 0);
    scene_run(&a, t, 0, 10, 0);
    scene_run(&a, t, 90, 100, 0);
    woke(t, 10, 90, ACTIVITY_SLEEP, ACTIVITY_BY_THREAD, "holder", holder);
    scene_receive(&a, t, 91, u, 50);
    walk(t, 0, 100);
    is_piece(0, PATH_RUNNING, PATH_KNOWN, t, 0, 10);
    is_piece(1, PATH_RUNNING, PATH_KNOWN, holder, 10, 90);
    assert_null(path_off_before(&a, t, 1).awaited);
}

/* Two messages, each of which is received before the other was sent: some tags are wrong. */
TEST_WITH(start, finish, test_a_cycle)
{
    uint32_t t = scene_thread(&a, 1, "t"), u = scene_thread(&a, 2, "u");
    scene_run(&a, t, 0, 100, 0);
    scene_run(&a, t, 500, 600, 0);
    scene_run(&a, u, 0, 100, 0);
    scene_run(&a, u, 500, 600, 0);
    scene_receive(&a, t, 500, u, 550);
    scene_receive(&a, u, 500, t, 550);
    walk(t, 0, 600);
    is_piece(0, PATH_UNKNOWN, PATH_CYCLE, p.pieces[0].thread, 0, 500);
}

/* Spans that come in any order: the last one first, each with one in it; and an outer one behind those in it. */
TEST_WITH(start, finish, test_the_order_of_spans)
{
    uint32_t t = scene_thread(&a, 1, "a"), name;
    int64_t since;
    for (int64_t at = 10000; at > 0; at -= 10) {
        scene_span(&a, t, "inner", at + 2, at + 4);
        scene_span(&a, t, "outer", at, at + 8);
    }
    scene_span(&a, t, "all", 1, 20000);
    assert_int_equal(activity_settle(&a), 0);
    for (int64_t at = 10; at <= 10000; at += 10) {
        static const char *const wanted[] = {"all", "outer", "outer", "inner", "inner", "outer"};
        for (int64_t k = 0; k < 6; k++) {
            name = activity_inner_before(&a.threads[t], at + k, &since);
            assert_string_equal(a.names[name], wanted[k]);
        }
    }
}
