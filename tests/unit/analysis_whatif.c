// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What instances would take with a change is what a worked example says, and how far off that may be is what the
 * instances themselves tell: nothing where they are all alike, much where they differ by what comes from outside.
 */
#include "analysis/whatif.h"

#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <string.h>

#define MS INT64_C(1000000)

enum { A, B, C, PERIOD = 300 };

static uint64_t seed;
static struct activity activity;
static struct slow_choice choice;

static void add_interval(uint32_t thread, int64_t begin, int64_t end)
{
    const struct activity_thread *t = &activity.threads[thread];
    int64_t off = t->interval_count ? begin - t->intervals[t->interval_count - 1].end : -1;
    assert_true(activity_add_interval(&activity, thread, (struct activity_interval){begin, end, off, 0, 0, 0}));
}

static void send_message(uint32_t from, int64_t at)
{
    assert_true(activity_add_event(&activity, from, (struct activity_event){.at = at, .kind = ACTIVITY_SENT}));
}

static void receive_message(uint32_t to, int64_t at, uint32_t from, int64_t sent)
{
    assert_true(activity_add_event(
        &activity, to, (struct activity_event){.at = at, .from = sent, .peer = from, .kind = ACTIVITY_RECEIVED}));
}

static void end_instance(int64_t at, int64_t until)
{
    struct slow_instance is = {.from = at, .until = until, .process = A + 1, .thread = A + 1};
    assert_true(slow_add(&choice, &is));
}

/*
 * A works for 10 ms, asks B and C, and goes on for 5 ms when both have answered. Messages to and from B take 1 ms,
 * those of C 2 ms. B works for 20 ms, C for 35 ms, the last 25 of them in span x. Before the answers A sleeps for
 * `wait`.
 */
static void add_instance(int64_t at, int64_t wait)
{
    uint32_t x = activity_name(&activity, "x");
    int64_t asked = at + 10 * MS, b = asked + 21 * MS, c = asked + 37 * MS, answered = c + 2 * MS + wait;
    add_interval(A, at, asked);
    send_message(A, asked - 1);
    send_message(A, asked);
    add_interval(B, asked + 1 * MS, b);
    receive_message(B, asked + 1 * MS, A, asked - 1);
    send_message(B, b);
    add_interval(C, asked + 2 * MS, c);
    receive_message(C, asked + 2 * MS, A, asked);
    assert_true(activity_add_span(&activity, C, (struct activity_span){.begin = c - 25 * MS, .end = c, .name = x}));
    send_message(C, c);
    add_interval(A, b + 1 * MS, b + 1 * MS + 100);
    receive_message(A, b + 1 * MS, B, b);
    if (wait > 0) { /* for nothing that is known */
        add_interval(A, c + 2 * MS, c + 2 * MS + 100);
        receive_message(A, c + 2 * MS, C, c);
    }
    add_interval(A, answered, answered + 5 * MS);
    if (wait == 0)
        receive_message(A, answered, C, c);
    end_instance(at, answered + 5 * MS);
}

/* A asks B and goes on for 30 ms when it has answered. B works for 10 ms, waits for a timer for 5 ms, and works for 10.
 */
static void add_reply(int64_t at)
{
    int64_t asked = at + 1 * MS, waits = asked + 11 * MS, goes_on = waits + 5 * MS, b = goes_on + 10 * MS;
    add_interval(A, at, asked);
    send_message(A, asked);
    add_interval(B, asked + 1 * MS, waits);
    receive_message(B, asked + 1 * MS, A, asked);
    assert_true(activity_add_wait(&activity, B,
                                  (struct activity_wait){.begin = waits,
                                                         .end = goes_on,
                                                         .woken = ACTIVITY_BY_INTERRUPT,
                                                         .name = ACTIVITY_NONE,
                                                         .waker = ACTIVITY_NONE}));
    add_interval(B, goes_on, b);
    send_message(B, b);
    add_interval(A, b + 1 * MS, b + 31 * MS);
    receive_message(A, b + 1 * MS, B, b);
    end_instance(at, b + 31 * MS);
}

static void begin_threads(void)
{
    choice = (struct slow_choice){.share = 1};
    assert_int_equal(activity_init(&activity, NULL, 0), 0);
    for (uint32_t i = A; i <= C; i++) {
        struct activity_thread t = {.node_row = 1, .process_row = i + 1, .id = i + 1, .pid = i + 1, .cpus = 1U << i};
        strcpy(t.node, "desk");
        strcpy(t.process, (const char *const[]){"a", "b", "c"}[i]);
        assert_int_equal(activity_add_thread(&activity, &t), i);
        add_interval(i, 0, 1);
    }
}

static void settle(void)
{
    assert_int_equal(activity_settle(&activity), 0);
    assert_int_equal(slow_settle(&choice), 0);
}

/* So many instances, each of which waits for a time up to `noise`. */
static void begin(int count, int64_t least, int64_t noise)
{
    begin_threads();
    for (int i = 1; i <= count; i++)
        add_instance(i * PERIOD * MS, least + (noise ? (int64_t)(seed_next(&seed) % (uint64_t)noise) : 0));
    settle();
}

static void end(void)
{
    activity_fini(&activity);
    slow_free(&choice);
}

static struct whatif predict(const char *text)
{
    struct whatif_change change;
    struct whatif w;
    const char *why;
    assert_int_equal(whatif_read(text, &change, &why), 0);
    whatif_predict(&activity, &choice, &change, 1, &w);
    return w;
}

/* The change makes it take `wanted` ms. */
static void check(const char *text, double wanted)
{
    struct whatif w = predict(text);
    assert_true(whatif_is_known(&w) && w.left_out == 0);
    assert_true(whatif_error(&w) < 1e-3);
    assert_true(fabs(w.actual - 54e6) < 1 && fabs(w.simulated - 54e6) < 1e4);
    if (fabs(w.predicted - wanted * 1e6) > 1e4)
        fail_msg("%s: %f ms, not %f", text, w.predicted / 1e6, wanted);
}

TEST(test_a_worked_example)
{
    begin(10, 0, 0);
    check("x = 0", 37);
    check("x = 100 %", 54);
    check("c = 0", 10 + 22 + 5);
    check("desk/b = 0", 54);
    check("network: 10x", 50.4);
    check("network = 0", 50);
    struct whatif w = predict("nothing = 0");
    assert_false(w.applies || whatif_is_known(&w));
    end();
}

/* B waits in an instance, and after it until the next one asks: that is no wait of this one. */
TEST(test_waits_behind_an_instance)
{
    begin_threads();
    for (int i = 1; i <= 10; i++)
        add_reply(i * PERIOD * MS);
    settle();
    struct whatif w = predict("network = 0");
    assert_true(whatif_is_known(&w) && whatif_error(&w) < 1e-3);
    assert_true(fabs(w.actual - 58e6) < 1 && fabs(w.simulated - 58e6) < 1e4 && fabs(w.predicted - 56e6) < 1e4);
    end();
}

/* The placements of the same example, and work that the asker does for itself. */
TEST(test_moves)
{
    begin(10, 0, 0);
    check("move b to CPU 2", 73);
    check("move desk/c to desk CPU 1", 73);
    check("move a to CPU 1", 54);
    check("move b to desk", 54);
    check("move x to a", 62);
    assert_false(predict("move x to b").applies); /* to which C sends nothing */
    end();
}

/* Over two nodes the network between them counts, as far as messages were seen there. */
TEST(test_moves_to_another_node)
{
    begin(10, 0, 0);
    activity.threads[C].node_row = 2;
    strcpy(activity.threads[C].node, "studio");
    check("move b to studio", 10 + 2 + 55 + 2 + 5);
    check("move b to studio CPU 2", 10 + 2 + 55 + 2 + 5);
    check("move c to desk", 10 + 1 + 35 + 1 + 5);
    check("move c to desk CPU 1", 10 + 1 + 55 + 1 + 5);
    struct whatif w = predict("move a to studio");
    assert_true(!whatif_is_known(&w) && w.lack == WHATIF_LACKS_NETWORK);
    end();
}

TEST(test_moves_that_are_not_known)
{
    begin(10, 0, 0);
    struct whatif w = predict("move b to CPU 7");
    assert_true(!whatif_is_known(&w) && w.lack == WHATIF_LACKS_PLACE);
    w = predict("move b to studio");
    assert_true(!whatif_is_known(&w) && w.lack == WHATIF_LACKS_PLACE);
    w = predict("move nobody to desk");
    assert_true(!whatif_is_known(&w) && !w.applies && w.lack == WHATIF_LACKS_NOTHING);
    end();
}

/* Not a change. */
static void check_misuse(const char *text)
{
    struct whatif_change change;
    const char *why;
    assert_int_equal(whatif_read(text, &change, &why), BEZEL_EINVAL);
    assert_non_null(why);
}

TEST(test_reading)
{
    struct whatif_change c;
    const char *why;
    assert_int_equal(whatif_read(" move desk/client.2 to studio ", &c, &why), 0);
    assert_true(c.kind == WHATIF_MOVE && strcmp(c.name, "desk/client.2") == 0 && strcmp(c.to, "studio") == 0);
    assert_int_equal(c.cpu, -1);
    assert_int_equal(whatif_read("move client.2 to studio CPU 3", &c, &why), 0);
    assert_true(strcmp(c.to, "studio") == 0 && c.cpu == 3);
    assert_int_equal(whatif_read("move client.2 to CPU 0", &c, &why), 0);
    assert_true(strcmp(c.to, "") == 0 && c.cpu == 0);
    assert_int_equal(whatif_read("move = 0", &c, &why), 0);
    assert_true(c.kind == WHATIF_TIMES && strcmp(c.name, "move") == 0);
    static const char *const wrong[] = {"move",
                                        "move a",
                                        "move a to",
                                        "move a b",
                                        "move a to CPU",
                                        "move a to CPU x",
                                        "move a to CPU 64",
                                        "move a to b CPU",
                                        "move a to b c",
                                        "move a to CPU 1 2",
                                        "encode",
                                        "network: 0x",
                                        "encode = -1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check_misuse(wrong[i]);
}

TEST(test_too_few_instances)
{
    begin(3, 0, 0);
    struct whatif w = predict("x = 0");
    assert_true(w.applies && w.instances == 3 && isnan(whatif_error(&w)) && !whatif_is_known(&w));
    end();
}

/* What the instances do not repeat is an error, though each could be simulated as it was. */
TEST(test_noise_is_an_error)
{
    begin(16, 0, 200 * MS);
    struct whatif w = predict("x = 0");
    double spread = 200e6 / sqrt(12); /* of the waits */
    assert_true(w.instances == 16 && !whatif_is_known(&w));
    assert_true(w.error * w.actual > spread / 4 && w.error * w.actual < 3 * spread);
    end();
}

/* A wait of which nobody knows what it was for may be part of what changes. */
TEST(test_unexplained_waits_are_an_error)
{
    begin(16, 30 * MS, 0);
    struct whatif w = predict("x = 0");
    assert_true(w.error < 1e-3 && fabs(w.predicted - 67e6) < 1e4 && fabs(w.least - 37e6) < 1e4);
    assert_false(whatif_is_known(&w));
    end();
}

/* Of a sleep of 30 ms the kernel leaves open whether the last 6 were sleep, or ready: half of that may be off. */
TEST(test_what_may_have_been_sleep_is_an_error)
{
    begin_threads();
    uint32_t rest = activity_name(&activity, "rest");
    for (int64_t i = 1; i <= 16; i++) {
        int64_t at = i * PERIOD * MS, asleep = at + 10 * MS, awake = asleep + 30 * MS;
        add_interval(A, at, asleep);
        assert_true(activity_add_span(&activity, A, (struct activity_span){asleep, awake, rest, ACTIVITY_FOR_TIMER}));
        assert_true(activity_add_interval(&activity, A,
                                          (struct activity_interval){awake, awake + 5 * MS, 30 * MS, 0, 6 * MS, 0}));
        end_instance(at, awake + 5 * MS);
    }
    settle();
    struct whatif w = predict("sleep = 0");
    assert_true(w.instances == 16 && fabs(w.predicted - 18e6) < 1e4 && fabs(w.least - 15e6) < 1e4);
    w = predict("a = 0"); /* the sleep stays, whatever it was */
    assert_true(w.predicted - w.least < 1);
    end();
}

/* How a wait ended, and what for: in state `state`, or with what the program says. */
static const struct {
    enum activity_woken woken;
    const char *name; /* of who ended it; NULL: that is not known */
    uint32_t waker;
} ends[] = {
    {ACTIVITY_BY_THREAD, "b", B},
    {ACTIVITY_BY_THREAD, "b", ACTIVITY_NONE}, /* another thread of that process, without records */
    {ACTIVITY_BY_THREAD, "cat", ACTIVITY_NONE},
    {ACTIVITY_BY_SOFTIRQ, "b", B},
    {ACTIVITY_BY_SOFTIRQ, "cat", ACTIVITY_NONE},
    {ACTIVITY_BY_SOFTIRQ, NULL, ACTIVITY_NONE},
    {ACTIVITY_BY_INTERRUPT, NULL, ACTIVITY_NONE},
    {ACTIVITY_BY_UNKNOWN, NULL, ACTIVITY_NONE},
};

static const struct {
    enum activity_state state;
    enum activity_reason reason;
    const char *change; /* by which such waits are changed themselves */
    const char *lasts;  /* for each of `ends`: '.' it lasts as long with any other change, '?' nobody knows that */
} kinds[] = {
    {ACTIVITY_SLEEP, ACTIVITY_NO_WAIT, NULL, "??????.?"},
    {ACTIVITY_SLEEP, ACTIVITY_FOR_OTHER, NULL, "??????.?"},
    {ACTIVITY_SLEEP, ACTIVITY_FOR_MESSAGE, NULL, "??????.?"},
    {ACTIVITY_SLEEP, ACTIVITY_FOR_LOCK, "lock = 0", "??.???.?"},
    {ACTIVITY_SLEEP, ACTIVITY_FOR_IO, "io = 0", "??????.?"},
    {ACTIVITY_SLEEP, ACTIVITY_FOR_TIMER, "sleep = 0", "??......"},
    {ACTIVITY_DISK, ACTIVITY_NO_WAIT, "io = 0", "??......"},
    {ACTIVITY_DISK, ACTIVITY_FOR_LOCK, "io = 0", "??......"}, /* as a path has it */
    {ACTIVITY_STOPPED, ACTIVITY_NO_WAIT, NULL, "??.....?"},
    {ACTIVITY_STOPPED, ACTIVITY_FOR_LOCK, NULL, "??.....?"}, /* no lock would have let it go on */
};

/* A works for 10 ms in span w, waits for 30 ms, and works for 5 ms; meanwhile B works in span x, and sleeps. */
static void add_waiting(int64_t at, size_t kind, size_t end)
{
    int64_t waits = at + 10 * MS, woken = waits + 30 * MS;
    struct activity_wait wait = {waits, woken, kinds[kind].state, ends[end].woken, ACTIVITY_NONE, ends[end].waker};
    wait.name = ends[end].name ? activity_name(&activity, ends[end].name) : wait.name;
    add_interval(A, at, waits);
    add_interval(B, at + 1 * MS, waits + 10 * MS);
    add_interval(B, waits + 20 * MS, woken + 1 * MS);
    assert_true(activity_add_span(&activity, A, (struct activity_span){at, waits, activity_name(&activity, "w"), 0}));
    if (kinds[kind].reason)
        assert_true(activity_add_span(
            &activity, A, (struct activity_span){waits, woken, activity_name(&activity, "wait"), kinds[kind].reason}));
    assert_true(
        activity_add_span(&activity, B, (struct activity_span){at, woken + 1 * MS, activity_name(&activity, "x"), 0}));
    assert_true(activity_add_span(&activity, B,
                                  (struct activity_span){waits + 10 * MS, waits + 20 * MS,
                                                         activity_name(&activity, "rest"), ACTIVITY_FOR_TIMER}));
    assert_true(activity_add_wait(&activity, A, wait));
    add_interval(A, woken, woken + 5 * MS);
    add_interval(C, at, at + 1 * MS);
    end_instance(at, woken + 5 * MS);
}

/* What is known of a change to these waits: with its own it is; with others as the table says. */
static void check_waits(size_t kind, size_t end)
{
    static const char *const changes[] = {"x = 0",  "b = 50 %", "w = 0",     "a = 3",           "network = 0",
                                          "io = 0", "lock = 0", "sleep = 0", "move b to CPU 2", "move a to CPU 1"};
    bool lasts = kinds[kind].lasts[end] == '.';
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        bool own = kinds[kind].change && strcmp(kinds[kind].change, changes[i]) == 0;
        struct whatif w = predict(changes[i]);
        if (own && (!whatif_is_known(&w) || fabs(w.predicted - 15e6) > 1e4))
            fail_msg("waits %zu, ended by %zu: with %s it takes %f ns", kind, end, changes[i], w.predicted);
        if (!own && w.applies && !lasts && (whatif_is_known(&w) || w.predicted - w.least < 20e6))
            fail_msg("waits %zu, ended by %zu: what %s does is known, give or take %f ns", kind, end, changes[i],
                     whatif_error(&w) * w.actual);
        if (!own && w.applies && lasts && !whatif_is_known(&w))
            fail_msg("waits %zu, ended by %zu: what %s does is not known", kind, end, changes[i]);
    }
}

TEST(test_which_waits_may_change)
{
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        for (size_t end_by = 0; end_by < sizeof ends / sizeof *ends; end_by++) {
            begin_threads();
            for (int i = 1; i <= 6; i++)
                add_waiting(i * PERIOD * MS, kind, end_by);
            settle();
            check_waits(kind, end_by);
            end();
        }
}

/*
 * A makes an item each 10 ms, and B works on each for 1 ms, and on each twentieth for 100, in span x. Those behind it
 * are late by what was left of that when they were made: less is, if B was faster before.
 */
static void add_queue(int64_t at)
{
    uint32_t x = activity_name(&activity, "x");
    int64_t done = at;
    for (int64_t i = 0; i < 20; i++) {
        int64_t made = at + i * 10 * MS, begins = made > done ? made : done;
        add_interval(A, made - 100, made + 100);
        send_message(A, made);
        done = begins + (i == 0 ? 100 * MS : 1 * MS);
        if (begins == made)
            add_interval(B, begins, done);
        else
            activity.threads[B].intervals[activity.threads[B].interval_count - 1].end = done;
        receive_message(B, begins + 10, A, made);
        assert_true(activity_add_span(&activity, B, (struct activity_span){begins + 20, done, x, 0}));
        struct slow_instance is = {.from = made, .until = done, .process = B + 1, .thread = B + 1, .apart = true};
        assert_true(slow_add(&choice, &is));
    }
}

TEST(test_work_that_had_begun_before)
{
    begin_threads();
    choice.share = 0.4;
    for (int64_t i = 1; i <= 10; i++)
        add_queue(i * PERIOD * MS);
    settle();
    struct whatif w = predict("x = 50 %");
    if (whatif_is_known(&w))
        fail_msg("%f of %f ms, give or take %f", w.predicted / 1e6, w.actual / 1e6, whatif_error(&w) * w.actual / 1e6);
    assert_true(w.ahead > (w.predicted - w.least) / 2);
    w = predict("x = 0");
    if (!whatif_is_known(&w) || w.predicted > 1e5)
        fail_msg("%f of %f ms, give or take %f", w.predicted / 1e6, w.actual / 1e6, whatif_error(&w) * w.actual / 1e6);
    end();
}

/* A works and waits for a timer, which comes each 20 ms; `says`: a wait of the program says so. */
static int64_t add_period(int64_t at, int64_t work, bool says)
{
    uint32_t x = activity_name(&activity, "x"), tick = activity_name(&activity, "tick");
    int64_t waits = at + work, until = at + (work / (20 * MS) + 1) * 20 * MS;
    struct activity_wait wait = {waits, until, ACTIVITY_SLEEP, ACTIVITY_BY_INTERRUPT, ACTIVITY_NONE, ACTIVITY_NONE};
    add_interval(A, at, waits);
    assert_true(activity_add_span(&activity, A, (struct activity_span){at, waits, x, 0}));
    assert_true(!says ||
                activity_add_span(&activity, A, (struct activity_span){waits, until, tick, ACTIVITY_FOR_TIMER}));
    assert_true(activity_add_wait(&activity, A, wait));
    end_instance(at + 1000, until + 1000);
    return until;
}

/* What is said to be known of what takes 40 ms. */
static bool is_told(const struct slow_terms *terms, const char *text)
{
    struct whatif_change change;
    const char *why;
    struct whatif w = predict(text);
    assert_int_equal(whatif_read(text, &change, &why), 0);
    whatif_compare(&w, &change, terms);
    assert_true(fabs(w.actual - 40e6) < 1e4);
    return whatif_is_known(&w);
}

/* Each tenth time A works for 30 ms, misses the timer, and waits for the next: with half of the work it takes 20 ms,
 * not 25; and never less. Where all are like that, nothing tells. */
static void check_periods(bool says, int64_t usual)
{
    int64_t at = MS;
    struct slow_terms terms;
    begin_threads();
    choice = (struct slow_choice){.share = 1, .beyond = 25 * MS};
    for (int i = 0; i < 200; i++)
        at = add_period(at, i % 10 == 5 ? 30 * MS : usual, says);
    add_interval(A, at, at + MS);
    settle();
    assert_int_equal(slow_compare(&activity, &choice, &terms), 0);
    assert_false(is_told(&terms, "x = 0") || is_told(&terms, "x = 50 %") || is_told(&terms, "a = 20 %"));
    assert_true(!says || is_told(&terms, "sleep = 0"));
    slow_terms_free(&terms);
    end();
}

TEST(test_waits_until_a_fixed_time)
{
    for (int says = 0; says < 2; says++) {
        check_periods(says, MS);
        check_periods(says, 30 * MS);
    }
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
