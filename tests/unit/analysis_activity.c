// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Whom a record of sampler `switches` names stands for what is known of its node by then, not for what was before. */
#include "analysis/activity.h"
#include "tests/lib/interval_aspect.h"
#include "tests/lib/test.h"

enum { WORKER = 1, MAKE, FIELDS = 9 };

static const char *strings[] = {"worker", "make"};
static struct dict dict = {.aspect_count = 1, .string_count = 2, .strings = strings};
static struct dict_aspect span = {
    .id = 1, .kind = DICT_SPAN, .name = "works", .field_count = 1, .fields = {{DICT_INT64, "duration", "ns", ""}}};
static struct model_node node;
static struct model_process daemon_of = {.node = &node, .row = 1, .role = ROLE_DAEMON, .name = "bezeld", .dict = &dict},
                            worker = {.node = &node, .row = 2, .role = ROLE_SUT, .pid = 10, .name = "worker"},
                            server = {.node = &node, .row = 3, .role = ROLE_SUT, .pid = 20, .name = "server"},
                            again = {.node = &node, .row = 4, .role = ROLE_SUT, .pid = 10, .name = "worker"};

static struct activity a;

/* A process comes to the node. */
static void comes(struct model_process *p)
{
    struct model_process **last = &node.processes;
    while (*last)
        last = &(*last)->next;
    *last = p;
    node.highest_stream_id++;
}

static void take(const struct model_process *p, const struct dict_aspect *aspect, uint32_t thread,
                 const int64_t values[FIELDS], int64_t at)
{
    uint8_t bytes[8 * FIELDS];
    struct packet_header packet = {.thread = thread};
    struct packet_record r = {.aspect = 1, .values = bytes, .value_count = FIELDS};
    for (int i = 0; i < FIELDS; i++)
        bytes_put_u64(bytes + 8 * i, (uint64_t)values[i]);
    struct record_item item = {.process = p,
                               .packet = &packet,
                               .r = &r,
                               .aspect = aspect,
                               .stream = (size_t)p->row,
                               .time = (uint64_t)at,
                               .at = {.ns = at}};
    assert_true(activity_take(&a, &item));
}

/* A record says that thread 10 of `worker` waited, and that thread 20 of process 20, a `make`, ended that. */
static const struct activity_wait *waits(uint32_t of_thread, int64_t at)
{
    take(&daemon_of, &wait_aspect_recorded, 0,
         (const int64_t[]){WORKER, 10, 50, 0, ACTIVITY_SLEEP, ACTIVITY_BY_THREAD, MAKE, 20, 20}, at);
    assert_true(of_thread < a.thread_count);
    const struct activity_thread *t = &a.threads[of_thread];
    assert_int_equal(t->waits[t->wait_count - 1].end, at);
    return &t->waits[t->wait_count - 1];
}

static void ended_by(const char *name, int64_t at)
{
    const struct activity_wait *w = waits(0, at);
    assert_string_equal(a.names[w->name], name);
}

TEST(test_who_comes_later)
{
    assert_int_equal(activity_init(&a, NULL, 0), 0);
    comes(&daemon_of);
    comes(&worker);
    for (int i = 0; i < 2; i++)
        ended_by("make", 100 + 100 * i);
    comes(&server);
    ended_by("server", 300);
    assert_int_equal(waits(0, 400)->waker, ACTIVITY_NONE);
    take(&server, &span, 20, (const int64_t[FIELDS]){10}, 450);
    assert_int_equal(waits(0, 500)->waker, activity_find(&a, server.row, 20));
    comes(&again);
    take(&again, &span, 10, (const int64_t[FIELDS]){10}, 550);
    (void)waits(activity_find(&a, again.row, 10), 600);
    assert_int_equal(a.threads[0].wait_count, 5);
    activity_fini(&a);
}

/* Of what was received behind a window the first one is kept: it may have ended a wait. */
TEST(test_what_is_kept_behind_a_window)
{
    static const int64_t ms = 1000000, at[] = {50, 90, 150, 260, 280, 300};
    static const struct activity_window window = {100000000, 200000000};
    static struct dict_aspect got = {.id = 2,
                                     .kind = DICT_RECEIVED,
                                     .name = "got",
                                     .field_count = 2,
                                     .fields = {{DICT_STRING, "peer", "", ""}, {DICT_INT64, "tag", "1", ""}}};
    assert_int_equal(activity_init(&a, &window, 1), 0);
    static struct model model;
    struct dict of = {.aspect_count = 1, .aspects = &got, .string_count = 2, .strings = strings};
    worker.dict = &of;
    node.model = &model;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        take(&worker, &got, 10, (const int64_t[FIELDS]){WORKER, (int64_t)i}, at[i] * ms);
    const struct activity_thread *t = &a.threads[0];
    assert_int_equal(t->event_count, 2);
    assert_int_equal(t->events[0].at, 150 * ms);
    assert_int_equal(t->events[1].at, 260 * ms);
    activity_fini(&a);
}
