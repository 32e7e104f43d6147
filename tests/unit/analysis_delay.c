// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Clients that ask a server, which asks a store: each one's wait is charged to what the server, or the store behind it,
 * did meanwhile, as counting by hand gives it.
 */
#include "analysis/delay.h"
#include "tests/lib/activity_scene.h"

enum { CLIENTS = 4 };
#define MS INT64_C(1000000)

static struct activity a;

static uint32_t add_thread(const char *process)
{
    uint32_t n = scene_thread(&a, 1, process);
    scene_run(&a, n, 0, 1000, 0);
    return n;
}

static void run(uint32_t t, int64_t from, int64_t until, const char *span)
{
    scene_run(&a, t, from, until, 0);
    scene_span(&a, t, span, from, until);
}

static void send(uint32_t from, int64_t sent, uint32_t to, int64_t received)
{
    scene_send(&a, from, sent);
    scene_receive(&a, to, received, from, sent);
}

/* All clients ask at once; the server works for 10 ms, asks the store, which works for 20 ms, and answers all. */
static void make(struct slow_instance *slow)
{
    uint32_t clients[CLIENTS], server, store;
    assert_int_equal(activity_init(&a, NULL, 0), 0);
    server = add_thread("server");
    store = add_thread("store");
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = add_thread("client");
    for (int i = 0; i < CLIENTS; i++) {
        run(clients[i], 100 * MS, 101 * MS, "ask");
        send(clients[i], 101 * MS, server, 101 * MS);
    }
    run(server, 101 * MS, 111 * MS, "serve");
    send(server, 111 * MS, store, 111 * MS);
    run(store, 111 * MS, 131 * MS, "load");
    send(store, 131 * MS, server, 131 * MS);
    run(server, 131 * MS, 132 * MS, "serve");
    for (int i = 0; i < CLIENTS; i++) {
        send(server, 132 * MS, clients[i], 132 * MS);
        run(clients[i], 132 * MS, 133 * MS, "ask");
    }
    *slow = (struct slow_instance){100 * MS, 133 * MS, (int64_t)clients[0], clients[0], false, false};
    assert_int_equal(activity_settle(&a), 0);
}

/* Four clients wait for 11 ms of the server and 20 of the store, and the server for the same 20. */
TEST(test_waits_are_charged_to_what_senders_did)
{
    struct slow_instance slow;
    struct slow_choice c = {.slow_count = 1, .slow = &slow};
    struct delays d = {0};
    make(&slow);
    assert_int_equal(delay_find(&a, &c, &d), 0);
    assert_true(d.count >= 2);
    assert_string_equal(a.threads[d.list[0].of.thread].process, "store");
    assert_string_equal(a.names[d.list[0].of.span], "load");
    assert_int_equal(d.list[0].of.is, PATH_RUNNING);
    assert_int_equal((int64_t)d.list[0].ns, (CLIENTS + 1) * 20 * MS);
    assert_int_equal(d.list[0].waiters, CLIENTS + 1);
    assert_string_equal(a.threads[d.list[1].of.thread].process, "server");
    assert_int_equal((int64_t)d.list[1].ns, CLIENTS * 11 * MS + 10 * MS); /* the store waited for the first part */
    assert_int_equal(d.list[1].waiters, CLIENTS + 1);
    delay_fini(&d);
    activity_fini(&a);
}

/* Of an instance that ends in between only what was before. */
TEST(test_waits_are_clipped)
{
    struct slow_instance slow;
    struct slow_choice c = {.slow_count = 1, .slow = &slow};
    struct delays d = {0};
    make(&slow);
    slow.until = 120 * MS;
    assert_int_equal(delay_find(&a, &c, &d), 0);
    assert_string_equal(a.threads[d.list[0].of.thread].process, "server");
    assert_int_equal((int64_t)d.list[0].ns, (CLIENTS + 1) * 10 * MS);
    assert_string_equal(a.threads[d.list[1].of.thread].process, "store");
    assert_int_equal((int64_t)d.list[1].ns, (CLIENTS + 1) * 9 * MS);
    delay_fini(&d);
    activity_fini(&a);
}

TEST(test_nobody_waited)
{
    struct slow_instance slow = {0, MS, 0, 0, false, false};
    struct slow_choice c = {.slow_count = 1, .slow = &slow};
    struct delays d = {0};
    assert_int_equal(activity_init(&a, NULL, 0), 0);
    (void)add_thread("alone");
    assert_int_equal(activity_settle(&a), 0);
    assert_int_equal(delay_find(&a, &c, &d), 0);
    assert_int_equal(d.count, 0);
    delay_fini(&d);
    activity_fini(&a);
}
