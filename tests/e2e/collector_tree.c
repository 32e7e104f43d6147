// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A tree of collectors: a root, two inner ones below it, and another one below these. All of them are killed or stopped
 * for longer than all patience, one after the other, while nodes send: what was acknowledged is stored once, and the
 * rest comes.
 */
#include "tests/lib/collector_process.h"
#include "tests/lib/fake_sensor.h"
#include "tests/lib/patience.h"
#include "tests/lib/seed.h"

#include "run/history/summary.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

enum { ROOT, LEFT, RIGHT, LOW, COLLECTORS };
enum { NODES = 3, RINGS = 2 };

static const uint8_t run_id[16] = "a run's identity";
static uint64_t seed;
static struct collector_process c[COLLECTORS];
static char listen_at[COLLECTORS][LINK_ENDPOINT_MAX];
static const char *const parents[COLLECTORS][3] = {
    [LEFT] = {listen_at[ROOT]}, [RIGHT] = {listen_at[ROOT]}, [LOW] = {listen_at[LEFT], listen_at[RIGHT]}};
static struct fake_sensor *nodes[NODES];
static uint64_t namesakes; /* records of who is none of these */
static const char *const names[NODES] = {"desk", "rack", "belt"};
static const unsigned above[NODES] = {LOW, LOW, LEFT};

static void start(unsigned i)
{
    c[i].parents = i == ROOT ? NULL : parents[i];
    assert_true(collector_start(&c[i], listen_at[i]));
}

static void begin_tree(void)
{
    for (unsigned i = 0; i < COLLECTORS; i++) {
        assert_true(collector_make(&c[i]));
        snprintf(listen_at[i], sizeof listen_at[i], "ipc://%s/data", c[i].dir);
        start(i);
    }
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i] = fake_new(names[i], run_id, seed_next(&seed));
        fake_add_process(nodes[i], "app", 10 + i, ROLE_SUT);
        assert_true(fake_connect(nodes[i], listen_at[above[i]]));
    }
}

static void send_some(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        unsigned ring = (unsigned)(seed_next(&seed) % RINGS);
        if (nodes[i]->processes[0]->rings[ring].packets < FAKE_PACKETS - 2)
            fake_cut(nodes[i], 0, ring, 1 + (uint32_t)(seed_next(&seed) % 100));
        fake_round(nodes[i], CLOCK_MS / 2);
    }
}

static void send_for(int64_t ns)
{
    for (int64_t end = clock_now() + ns; clock_now() < end;)
        send_some();
}

/* Until all that was sent up to now is acknowledged. */
static void settle(void)
{
    int64_t deadline = clock_now() + PATIENCE;
    for (bool all = false; !all;) {
        all = true;
        for (unsigned i = 0; i < NODES; i++) {
            fake_round(nodes[i], CLOCK_MS);
            all = all && fake_all_acked(nodes[i]);
        }
        assert_true(clock_now() < deadline);
    }
}

/* Until the upper collectors have so many together: who went from one to the other is soon forgotten there. */
static void await_peers(int peers)
{
    int64_t deadline = clock_now() + PATIENCE;
    while (collector_status(&c[LEFT], "peers") + collector_status(&c[RIGHT], "peers") != peers) {
        send_for(10 * CLOCK_MS);
        assert_true(clock_now() < deadline);
    }
    settle();
}

static void assert_stored(bool all)
{
    for (unsigned i = 0; i < NODES; i++)
        for (unsigned r = 0; r < RINGS; r++) {
            char path[256];
            snprintf(path, sizeof path, "%s/trace/%s/app-%u-%u", c[ROOT].run, names[i], 10 + i, r);
            assert_true(fake_file_is_right(&nodes[i]->processes[0]->rings[r], path, all));
        }
}

static void end_tree(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        assert_true(fake_say_bye(nodes[i], PATIENCE));
        fake_disconnect(nodes[i]);
    }
    for (unsigned i = COLLECTORS; i-- > 0;)
        assert_int_equal(collector_end(&c[i], SIGTERM), 0);
    assert_stored(true);
    struct summary *s;
    uint64_t stored = 0;
    assert_int_equal(summary_load(c[ROOT].run, &s), 0);
    assert_int_equal(s->process_count, NODES + 2);
    for (size_t p = 0; p < s->process_count; p++)
        for (size_t b = 0; b < s->processes[p].book_count; b++)
            stored += s->processes[p].books[b].stored;
    summary_free(s);
    for (unsigned i = 0; i < NODES; i++) {
        stored -= fake_records(nodes[i]);
        fake_free(nodes[i]);
    }
    assert_int_equal(stored, namesakes);
    assert_false(collector_said(&c[ROOT], "BEZEL-PACKET-REFUSED"));
    for (unsigned i = 0; i < COLLECTORS; i++)
        collector_remove(&c[i]);
}

/* A process says another dictionary than before: its further packets are refused, and nothing else. Returns what is
 * stored of the node in all. */
static uint64_t change_a_dictionary(struct fake_sensor *f)
{
    fake_add_process(f, "odd", 98, ROLE_SUT);
    fake_cut(f, 1, 0, 20);
    assert_true(fake_settle(f, PATIENCE));
    uint64_t before = fake_records(f);
    struct fake_process *odd = f->processes[1];
    odd->rings[0].is_refused = true;
    memcpy(odd->said.dictionary + 12, "tock", 4); /* its first aspect was tick */
    dict_free(odd->dict);
    assert_int_equal(dict_parse(odd->said.dictionary, odd->said.dictionary_bytes, &odd->dict), 0);
    fake_cut(f, 1, 0, 20);
    fake_close_stream(f, 1, 0);
    fake_cut(f, 0, 0, 10);
    assert_true(fake_settle(f, PATIENCE));
    assert_true(collector_said(&c[ROOT], "does not contain"));
    return before + 10;
}

/* Another source has the name of the first node: it comes another way, and is stored apart. */
static void meet_a_namesake(void)
{
    char path[256];
    struct fake_sensor *twin = fake_new(names[0], run_id, seed_next(&seed));
    twin->hello.uuid[0] ^= 0xff;
    fake_add_process(twin, "app", 99, ROLE_SUT);
    assert_false(collector_said(&c[ROOT], "BEZEL-NODE-TWICE"));
    assert_true(fake_connect(twin, listen_at[RIGHT]));
    fake_cut(twin, 0, 0, 10);
    assert_true(fake_settle(twin, PATIENCE));
    namesakes = change_a_dictionary(twin);
    assert_true(fake_say_bye(twin, PATIENCE));
    assert_true(collector_said(&c[ROOT], "BEZEL-NODE-TWICE"));
    snprintf(path, sizeof path, "%s/trace/%s.2/app-99-0", c[ROOT].run, names[0]);
    assert_true(fake_file_is_right(&twin->processes[0]->rings[0], path, true));
    fake_disconnect(twin);
    fake_free(twin);
}

TEST(what_was_acknowledged_is_stored_once_whatever_becomes_of_the_tree)
{
    begin_tree();
    send_for(100 * CLOCK_MS);
    settle();
    assert_stored(true);
    meet_a_namesake();
    assert_int_equal(collector_status(&c[LOW], "peers"), 2);
    assert_int_equal(collector_status(&c[LEFT], "peers"), 3);
    assert_int_equal(collector_status(&c[RIGHT], "peers"), 0);
    assert_int_equal(collector_status(&c[ROOT], "peers"), 3);

    assert_true(WIFSIGNALED(collector_end(&c[LEFT], SIGKILL))); /* LOW goes to RIGHT; belt waits */
    for (int64_t deadline = clock_now() + PATIENCE; !collector_said(&c[LOW], "BEZEL-RELAY-PARENT");) {
        send_for(50 * CLOCK_MS);
        assert_true(clock_now() < deadline);
    }
    assert_stored(false);
    start(LEFT);
    settle();
    await_peers(NODES); /* on a busy machine LOW may be back at LEFT by now */

    kill(c[RIGHT].pid, SIGSTOP); /* LOW goes back */
    send_for(100 * CLOCK_MS);
    settle();
    kill(c[RIGHT].pid, SIGCONT); /* what it held comes, and is nobody's any more */
    assert_true(WIFSIGNALED(collector_end(&c[ROOT], SIGKILL)));
    send_for(100 * CLOCK_MS);
    start(ROOT);
    send_for(100 * CLOCK_MS);
    settle();

    assert_true(WIFSIGNALED(collector_end(&c[LOW], SIGKILL))); /* rack moves, desk waits */
    assert_true(fake_connect(nodes[1], listen_at[RIGHT]));
    send_for(100 * CLOCK_MS);
    start(LOW);
    send_for(100 * CLOCK_MS);
    settle();
    end_tree();
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
