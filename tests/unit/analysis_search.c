// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What a search finds in programs that are made of one cause and of a little of everything else: that cause, where it
 * is and with whom, and nothing else. What is not recorded may be the cause, and then that is said.
 */
#include "analysis/deepen.h"

#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 200, ROUNDS = 50, ROUND = 10000000, TURN = 1000 }; /* ns: of a round, and on a CPU behind each wait */

/* The kinds of time that a program has; the cause is one of them. */
enum { RUNS, READY, MONITOR, MESSAGE, IO, SLEEP, LOCK, KINDS };

static const enum search_why whys[] = {SEARCH_RUNNING, SEARCH_READY, SEARCH_MONITOR, SEARCH_MESSAGE,
                                       SEARCH_IO,      SEARCH_SLEEP, SEARCH_LOCK};

static uint64_t seed;
static struct activity a;
static struct slow_terms terms;
static struct search s;
static uint32_t program, peer;
static int64_t now, peer_now; /* up to which each did something */

/* ---- programs ---------------------------------------------------------------------------------------------------- */

static uint32_t add_thread(const char *node, const char *process)
{
    struct activity_thread t = {.node_row = (int64_t)a.thread_count,
                                .process_row = (int64_t)a.thread_count,
                                .id = (uint32_t)a.thread_count,
                                .first = 0};
    strcpy(t.node, node);
    strcpy(t.process, process);
    return activity_add_thread(&a, &t);
}

static void add_span(const char *name, int64_t begin, int64_t end, enum activity_reason reason)
{
    assert_true(activity_add_span(&a, program, (struct activity_span){begin, end, activity_name(&a, name), reason}));
}

static void turn(uint32_t thread, int64_t *at, int64_t off, int64_t ready, int64_t on)
{
    struct activity_interval i = {*at + off, *at + off + on, off, ready, ready, ACTIVITY_WAITED};
    assert_true(activity_add_interval(&a, thread, i));
    *at = i.end;
}

static void run(const char *span, int64_t ns)
{
    add_span(span, now, now + ns, ACTIVITY_NO_WAIT);
    turn(program, &now, 0, 0, ns);
}

static void be_ready(const char *rival, bool monitor, int64_t ns)
{
    struct activity_rival r = {now, now + ns, rival ? activity_name(&a, rival) : (uint32_t)ACTIVITY_NONE, monitor};
    if (rival)
        assert_true(activity_add_rival(&a, program, r));
    add_span("work", now, now + ns, ACTIVITY_NO_WAIT);
    turn(program, &now, ns, ns, TURN);
}

static void wait_for(const char *span, enum activity_reason reason, int64_t ns)
{
    add_span(span, now, now + ns, reason);
    turn(program, &now, ns, 0, TURN);
}

/* The peer is asked, and its answer is under way for so long. */
static void ask(int64_t ns)
{
    int64_t asked = now, got = asked + TURN, answered = got + TURN, back = answered + ns;
    turn(peer, &peer_now, got - peer_now, 0, 2 * TURN);
    struct activity_event e = {.at = asked, .peer = ACTIVITY_NONE, .kind = ACTIVITY_SENT};
    assert_true(activity_add_event(&a, program, e));
    e = (struct activity_event){.at = got, .from = asked, .peer = program, .kind = ACTIVITY_RECEIVED};
    assert_true(activity_add_event(&a, peer, e));
    e = (struct activity_event){.at = answered, .peer = ACTIVITY_NONE, .kind = ACTIVITY_SENT};
    assert_true(activity_add_event(&a, peer, e));
    add_span("ask", asked, back, ACTIVITY_NO_WAIT);
    turn(program, &now, back - now, 0, TURN);
    e = (struct activity_event){.at = back, .from = answered, .peer = peer, .kind = ACTIVITY_RECEIVED};
    assert_true(activity_add_event(&a, program, e));
}

static void spend(int kind, int64_t ns, int64_t bytes)
{
    switch (kind) {
    case RUNS:
        run("work", ns);
        break;
    case READY:
        be_ready("stress", false, ns);
        break;
    case MONITOR:
        be_ready("bezeld", true, ns);
        break;
    case MESSAGE:
        ask(ns);
        break;
    case IO:
        assert_true(activity_add_io(&a, program, activity_name(&a, "store"), bytes));
        wait_for("store", ACTIVITY_FOR_IO, ns);
        break;
    case SLEEP:
        wait_for("pause", ACTIVITY_FOR_TIMER, ns);
        break;
    default:
        wait_for("table", ACTIVITY_FOR_LOCK, ns);
    }
}

static void begin(void)
{
    assert_int_equal(activity_init(&a, NULL, 0), 0);
    program = add_thread("desk", "program");
    peer = add_thread("studio", "peer");
    now = peer_now = 0;
    turn(program, &now, 0, 0, TURN);
    turn(peer, &peer_now, 0, 0, TURN);
}

/* Searches all of it, as the only instance. */
static void search(double recording_most)
{
    struct slow_instance i = {TURN, now, program, program, false, false};
    struct slow_choice c = {.slow_count = 1, .slow = &i};
    s = (struct search){.recording_most = recording_most};
    assert_int_equal(activity_settle(&a), 0);
    assert_int_equal(slow_compare(&a, &c, &terms), 0);
    assert_int_equal(search_find(&a, &terms, &s), 0);
}

static void end(void)
{
    search_fini(&s);
    slow_terms_free(&terms);
    activity_fini(&a);
}

/* A program of which the cause takes from 45 to 80 %, or of MONITOR from 10 % on, and each other kind a little. */
static void draw_program(int cause, int64_t bytes)
{
    double share = (cause == MONITOR ? 0.10 : 0.45) + 0.35 * seed_unit(&seed);
    begin();
    for (int round = 0; round < ROUNDS; round++)
        for (int kind = 0; kind < KINDS; kind++) {
            double other = kind == MONITOR ? 0.02 : kind == RUNS ? 0.15 : (1 - share - 0.17) / (KINDS - 3);
            double of = kind == cause ? share : other * (0.5 + 0.5 * seed_unit(&seed));
            spend(kind, (int64_t)(of * ROUND * (0.8 + 0.4 * seed_unit(&seed))), bytes);
        }
}

/* ---- what is found ----------------------------------------------------------------------------------------------- */

/* The only hypothesis that is true and has nothing closer. */
static const struct search_node *found(void)
{
    const struct search_node *is = NULL;
    for (size_t i = 0; i < s.count; i++) {
        if (!s.nodes[i].leaf)
            continue;
        assert_null(is);
        is = &s.nodes[i];
    }
    assert_non_null(is);
    return is;
}

static const struct search_node *root(enum search_why why)
{
    for (size_t i = 0; i < s.count; i++)
        if (s.nodes[i].why == why && s.nodes[i].place == SEARCH_RUN && !s.nodes[i].with)
            return &s.nodes[i];
    fail();
    return NULL;
}

/* What is true is about the cause alone, and everything else is false. */
static void check_only(enum search_why why, enum search_why closer)
{
    for (size_t i = 0; i < s.count; i++) {
        bool is = s.nodes[i].why == why || s.nodes[i].why == closer;
        assert_true(s.nodes[i].is == SEARCH_FALSE || (is && s.nodes[i].is == SEARCH_TRUE));
    }
}

/* Its share is that of the pieces of the path that it is about. */
static void check_share(const struct search_node *n, enum path_class is, const char *span)
{
    struct path p = {0};
    int64_t ns = 0;
    assert_int_equal(path_walk(&a, program, TURN, now, &p), 0);
    for (size_t i = 0; i < p.count; i++) {
        const struct path_piece *x = &p.pieces[i];
        if (x->is == is && x->thread == program && x->span != ACTIVITY_NONE && strcmp(a.names[x->span], span) == 0)
            ns += x->until - x->from;
    }
    path_fini(&p);
    assert_true(fabs(n->least - (double)ns / (double)(now - TURN)) < 1e-9);
    assert_true(n->least == n->most);
}

static void check_cause(int kind, enum path_class is, const char *span, const char *other)
{
    const struct search_node *n = found();
    const struct slow_term *t = &terms.terms[n->term];
    assert_int_equal(n->why, whys[kind]);
    assert_int_equal(n->place, SEARCH_SPAN);
    assert_string_equal(a.threads[t->thread].process, "program");
    assert_string_equal(a.names[t->span], span);
    assert_int_equal(n->with, other != NULL);
    if (other)
        assert_string_equal(t->peer != ACTIVITY_NONE ? a.threads[t->peer].process : a.names[t->by], other);
    check_share(n, is, span);
    check_only(whys[kind], whys[kind]);
    assert_true(search_is_known(&s));
}

TEST(test_each_cause_is_found_alone)
{
    static const struct {
        enum path_class is;
        const char *span, *other;
    } causes[KINDS] = {{PATH_RUNNING, "work", NULL},  {PATH_READY, "work", "stress"}, {PATH_MONITOR, "work", "bezeld"},
                       {PATH_MESSAGE, "ask", "peer"}, {PATH_IO, "store", NULL},       {PATH_SLEEP, "pause", NULL},
                       {PATH_LOCK, "table", NULL}};
    for (int i = 0; i < SEEDS; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            draw_program(kind, 1 << 20);
            search(0);
            check_cause(kind, causes[kind].is, causes[kind].span, causes[kind].other);
            end();
        }
}

TEST(test_small_pieces)
{
    for (int i = 0; i < SEEDS; i++) {
        int64_t bytes = 1 + (int64_t)(seed_next(&seed) % 4095);
        draw_program(IO, bytes);
        search(0);
        const struct search_node *n = found();
        assert_int_equal(n->why, SEARCH_SMALL);
        assert_int_equal(n->place, SEARCH_SPAN);
        assert_string_equal(a.names[terms.terms[n->term].span], "store");
        assert_true(fabs(n->least - (double)bytes) < 1e-6);
        check_only(SEARCH_IO, SEARCH_SMALL);
        end();
    }
}

TEST(test_waits_that_say_no_bytes)
{
    draw_program(IO, -1);
    search(0);
    assert_int_equal(found()->why, SEARCH_IO);
    size_t open = 0;
    for (size_t i = 0; i < s.count; i++)
        open += s.nodes[i].why == SEARCH_SMALL && s.nodes[i].is == SEARCH_OPEN;
    assert_int_not_equal(open, 0);
    end();
}

/* Two that share a CPU's time are each too little, but not what they are together. */
TEST(test_what_is_spread)
{
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        be_ready("one", false, ROUND / 8);
        be_ready("other", false, ROUND / 8);
        run("work", ROUND / 4);
        wait_for("pause", ACTIVITY_FOR_TIMER, ROUND / 8);
        wait_for("table", ACTIVITY_FOR_LOCK, ROUND / 8);
        run("rest", ROUND / 4);
    }
    search(0);
    for (size_t i = 0, leaves = 0; i < s.count; i++) {
        const struct search_node *n = &s.nodes[i];
        if (!n->leaf)
            continue;
        assert_true(leaves++ < 2);
        assert_true(n->why == SEARCH_READY ? n->place == SEARCH_SPAN && !n->with
                                           : n->why == SEARCH_RUNNING && n->place == SEARCH_PROCESS);
    }
    assert_int_equal(root(SEARCH_READY)->is, SEARCH_TRUE);
    end();
}

/* ---- what is not known ------------------------------------------------------------------------------------------- */

/* Nobody knows who had the CPU: it may have been the monitor. */
TEST(test_an_unknown_rival_may_be_the_monitor)
{
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        run("work", 9 * ROUND / 10);
        be_ready(NULL, false, ROUND / 10);
    }
    search(0);
    assert_int_equal(root(SEARCH_MONITOR)->is, SEARCH_OPEN);
    assert_true(root(SEARCH_MONITOR)->least == 0 && fabs(root(SEARCH_MONITOR)->most - 0.1) < 0.001);
    assert_int_equal(root(SEARCH_READY)->is, SEARCH_FALSE);
    assert_int_equal(root(SEARCH_RUNNING)->is, SEARCH_TRUE);
    end();
}

TEST(test_recording_may_be_the_monitor)
{
    begin();
    run("work", ROUND);
    search(ROUND / 10.0);
    assert_int_equal(root(SEARCH_MONITOR)->is, SEARCH_OPEN);
    end();
    begin();
    run("work", ROUND);
    search(ROUND / 100.0);
    assert_int_equal(root(SEARCH_MONITOR)->is, SEARCH_FALSE);
    end();
}

/* Of a part of the time there is nothing: it may have been spent on anything. */
TEST(test_a_time_that_is_missing)
{
    const enum search_is wanted[] = {SEARCH_TRUE, SEARCH_TRUE, SEARCH_OPEN};
    for (int i = 0; i < 3; i++) {
        struct slow_instance one = {TURN, TURN + ROUND, 0, 0, false, false};
        struct slow_choice c = {.slow_count = 1, .slow = &one};
        begin();
        run("work", ROUND);
        s = (struct search){.missing = (double)i * 2 * ROUND};
        assert_int_equal(activity_settle(&a), 0);
        assert_int_equal(slow_compare(&a, &c, &terms), 0);
        assert_int_equal(search_find(&a, &terms, &s), 0);
        assert_int_equal(root(SEARCH_RUNNING)->is, wanted[i]);
        assert_true(fabs(root(SEARCH_RUNNING)->least - 1.0 / (1 + 2 * i)) < 0.001);
        assert_true(fabs(root(SEARCH_RUNNING)->most - 1) < 0.001);
        assert_true(fabs(root(SEARCH_LOCK)->most - (1 - 1.0 / (1 + 2 * i))) < 0.001);
        end();
    }
}

/* A wait is known by what the program says: for a lock at most so long, as its thread may have been ready, or stopped.
 */
TEST(test_a_wait_without_switches_is_not_proven)
{
    assert_int_equal(activity_init(&a, NULL, 0), 0);
    program = add_thread("desk", "program");
    now = ROUND;
    add_span("table", 0, ROUND, ACTIVITY_FOR_LOCK);
    search(0);
    for (size_t i = 0; i < s.count; i++) {
        enum search_why why = s.nodes[i].why;
        bool may = why == SEARCH_LOCK || why == SEARCH_READY || why == SEARCH_MONITOR || why == SEARCH_STOPPED;
        assert_int_equal(s.nodes[i].is, may ? SEARCH_OPEN : SEARCH_FALSE);
        assert_true(s.nodes[i].least == 0 && fabs(s.nodes[i].most - may) < 0.01);
    }
    end();
}

/* Without switches everything may be true, and nothing is. */
TEST(test_nothing_is_known_without_switches)
{
    assert_int_equal(activity_init(&a, NULL, 0), 0);
    program = add_thread("desk", "program");
    now = ROUND;
    add_span("work", 0, ROUND, ACTIVITY_NO_WAIT);
    search(0);
    assert_int_equal(s.count, SEARCH_WHYS - 1);
    for (size_t i = 0; i < s.count; i++)
        assert_true(s.nodes[i].is == SEARCH_OPEN && !s.nodes[i].leaf);
    assert_false(search_is_known(&s));
    end();
}

/* A wait that a timer or a device ended is neither of the two for certain, and nothing else. */
TEST(test_a_timer_or_a_device)
{
    begin();
    struct activity_wait w = {now, now + ROUND, ACTIVITY_SLEEP, ACTIVITY_BY_INTERRUPT, ACTIVITY_NONE, ACTIVITY_NONE};
    assert_true(activity_add_wait(&a, program, w));
    turn(program, &now, ROUND, 0, TURN);
    search(0);
    for (int i = 0; i < KINDS; i++)
        assert_int_equal(root(whys[i])->is, i == IO || i == SLEEP ? SEARCH_OPEN : SEARCH_FALSE);
    assert_false(search_is_known(&s));
    end();
}

/* Searches what the program has more up to `middle` than from then on. */
static void search_first(int64_t middle)
{
    struct slow_instance slow = {TURN, middle, program, program, false, false},
                         usual = {middle, now, program, program, false, false};
    struct slow_choice c = {.slow_count = 1, .slow = &slow, .usual_count = 1, .usual = &usual};
    s = (struct search){0};
    assert_int_equal(activity_settle(&a), 0);
    assert_int_equal(slow_compare(&a, &c, &terms), 0);
    assert_int_equal(search_find(&a, &terms, &s), 0);
}

/* What the usual instances have too is no cause. */
TEST(test_what_the_slow_have_more)
{
    begin();
    run("work", ROUND / 2);
    be_ready("stress", false, ROUND / 2);
    int64_t middle = now;
    run("work", ROUND / 2);
    search_first(middle);
    assert_int_equal(found()->why, SEARCH_READY);
    assert_true(fabs(found()->least - 1) < 0.001);
    check_only(SEARCH_READY, SEARCH_READY);
    end();
}

/* What the usual ones did is not known: it may be the same. */
TEST(test_the_usual_may_have_it_too)
{
    begin();
    run("work", 7 * ROUND / 10);
    be_ready("stress", false, 3 * ROUND / 10);
    int64_t middle = now;
    wait_for("call", ACTIVITY_NO_WAIT, ROUND / 2);
    search_first(middle);
    assert_int_equal(root(SEARCH_READY)->is, SEARCH_OPEN);
    assert_true(fabs(root(SEARCH_READY)->least + 0.4) < 0.001 && fabs(root(SEARCH_READY)->most - 0.6) < 0.001);
    assert_int_equal(root(SEARCH_RUNNING)->is, SEARCH_TRUE);
    end();
}

/* ---- what would say more ----------------------------------------------------------------------------------------- */

static struct deepen_aspect weigh(const char *process, const char *name, enum dict_kind kind)
{
    struct deepen_aspect is = {0};
    deepen_weigh(&a, &terms, &s, strcmp(process, "peer") == 0 ? "studio" : "desk", process, name, kind, &is);
    return is;
}

static bool is_share(double share, double wanted)
{
    return fabs(share - wanted) < 0.001;
}

/* In no span, a span may say more, and nothing else; when it is recorded, it says so. */
TEST(test_spans_may_explain_what_runs_in_none)
{
    begin();
    turn(program, &now, 0, 0, 6 * ROUND / 10);
    run("work", 3 * ROUND / 10);
    wait_for("pause", ACTIVITY_FOR_TIMER, ROUND / 10);
    search(0);
    assert_true(is_share(weigh("program", "render", DICT_SPAN).may, 0.6));
    assert_true(is_share(weigh("program", "render", DICT_SPAN).says, 0));
    assert_true(is_share(weigh("program", "work", DICT_SPAN).says, 0.3));
    assert_true(is_share(weigh("program", "pause", DICT_WAIT).says, 0.1));
    assert_true(is_share(weigh("program", "pause", DICT_WAIT).may, 0));
    assert_true(is_share(weigh("peer", "render", DICT_SPAN).may, 0));
    assert_true(is_share(weigh("peer", "render", DICT_SPAN).says, 0));
    end();
}

/* Running that is false, and small, is not looked at closer. */
TEST(test_what_is_false_needs_no_span)
{
    begin();
    turn(program, &now, 0, 0, ROUND / 10);
    wait_for("pause", ACTIVITY_FOR_TIMER, 9 * ROUND / 10);
    search(0);
    assert_true(is_share(weigh("program", "render", DICT_SPAN).may, 0));
    end();
}

/* A wait for what nobody knows may be explained by waits and messages; its sender may be anywhere. */
TEST(test_waits_and_messages_may_explain_a_wait)
{
    begin();
    run("work", ROUND / 2);
    wait_for("call", ACTIVITY_NO_WAIT, ROUND / 2);
    search(0);
    assert_true(is_share(weigh("program", "free", DICT_WAIT).may, 0.5));
    assert_true(is_share(weigh("program", "got", DICT_RECEIVED).may, 0.5));
    assert_true(is_share(weigh("peer", "sent", DICT_SENT).may, 0.5));
    assert_true(is_share(weigh("peer", "got", DICT_RECEIVED).may, 0));
    assert_true(is_share(weigh("program", "render", DICT_SPAN).may, 0));
    end();
}

/* What the peer did while the program waited for its message is on the path by both ends of that. */
TEST(test_messages_say_what_their_sender_did)
{
    begin();
    run("work", ROUND / 2);
    ask(ROUND / 2);
    search(0);
    assert_true(weigh("peer", "answer", DICT_SENT).says > 0);
    assert_true(is_share(weigh("program", "answer", DICT_RECEIVED).says, 0.5));
    assert_true(is_share(weigh("program", "answer", DICT_RECEIVED).may, 0));
    end();
}

TEST(test_nothing_took_any_time)
{
    struct slow_terms none = {.usual = (double)NAN};
    s = (struct search){0};
    assert_int_equal(activity_init(&a, NULL, 0), 0);
    assert_int_equal(search_find(&a, &none, &s), 0);
    assert_int_equal(s.count, 0);
    assert_false(search_is_known(&s));
    end();
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
