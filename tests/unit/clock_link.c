// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Exchanges of times: the collector's thread that answers, the node's thread that asks, and what neither believes. */
#include "base/clock.h"
#include "base/file.h"
#include "bezeld/node/clock_client.h"
#include "collector/clock_server.h"
#include "mdr/link/keyring.h"
#include "mdr/message.h"
#include "tests/lib/key_pair.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUE = 100 }; /* ZeroMQ may take some time to see that a short one has room again */

static char dir[32];
static struct link_keys server_keys, desk1, boss;
static struct message m;
static const struct clock_keeping kept = {CLOCK_KEPT_BY_PTP, CLOCK_US};

static bool is_set; /* CLOCK_REALTIME, by 1 ms before each reading */

struct clock_wall __real_clock_wall_read(const struct clock_keeping *keeping);
struct clock_wall __wrap_clock_wall_read(const struct clock_keeping *keeping);

struct clock_wall __wrap_clock_wall_read(const struct clock_keeping *keeping)
{
    static atomic_int readings;
    if (!is_set)
        return __real_clock_wall_read(keeping);
    return (struct clock_wall){.ahead = ++readings * CLOCK_MS, .error = 5 + readings % 2};
}

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/bezel-clock-link-XXXXXX");
    assert_non_null(mkdtemp(dir));
    server_keys.own = key_pair_new(dir, "collector", KEY_CONTROL);
    desk1.own = key_pair_new(dir, "desk1", KEY_OBSERVE);
    boss.own = key_pair_new(dir, "boss", KEY_CONTROL);
    assert_int_equal(link_key_public(&server_keys.own, desk1.server), 0);
    memcpy(boss.server, desk1.server, KEY_BYTES);
    return keyring_open(dir, &server_keys.known);
}

static int tear_down(void **state)
{
    (void)state;
    keyring_free(server_keys.known);
    return file_remove_tree(dir);
}

static struct clock_server *open_server(char endpoint[64])
{
    struct clock_server *s;
    assert_non_null(s = clock_server_open("tcp://lo:*", &server_keys, &kept, false));
    assert_non_null(s);
    snprintf(endpoint, 64, "tcp://127.0.0.1:%u", clock_server_port(s));
    return s;
}

static struct clock_client_sample next_sample(struct clock_client *c)
{
    struct clock_client_sample s;
    for (int64_t until = clock_now() + PATIENCE; !clock_client_take(c, &s);) {
        assert_true(clock_now() < until);
        clock_sleep_until(clock_now() + CLOCK_MS);
    }
    return s;
}

/* Here both have one clock, so the four times are in order. */
TEST_WITH(set_up, tear_down, an_exchange_has_its_four_times_in_order)
{
    char endpoint[64];
    uint8_t identity[16];
    struct clock_client *c;
    struct clock_server *s = open_server(endpoint);
    clock_identity(identity);
    assert_int_equal(clock_client_open(&desk1, &kept, &c), 0);
    clock_client_last(c, PATIENCE); /* nobody has answered yet: does not wait */
    clock_client_connect(c, endpoint);
    int64_t before = 0;
    for (int i = 0; i < 4; i++) {
        struct clock_client_sample a = next_sample(c);
        assert_memory_equal(a.identity, identity, sizeof identity);
        assert_true(before < a.x.sent && a.x.sent < a.x.arrived);
        assert_true(a.x.own.error > CLOCK_US && a.x.peer.error > CLOCK_US && !a.contradicted);
        assert_in_range(llabs(a.x.own.ahead - a.x.peer.ahead), 0, a.x.own.error + a.x.peer.error);
        assert_true(a.x.arrived <= a.x.answered && a.x.answered < a.x.received && a.x.received <= clock_now());
        before = a.x.received;
    }
    int64_t asked = clock_now();
    clock_client_last(c, PATIENCE);
    while (next_sample(c).x.received < asked) /* those that waited */
        ;
    clock_client_close(c);
    clock_server_close(s);
}

static void send_message(struct link *link, const struct link_peer *to)
{
    uint8_t bytes[MESSAGE_CLOCK_BYTES];
    int n = message_encode(&m, bytes, sizeof bytes);
    assert_true(n > 0);
    assert_int_equal(link_send(link, to, bytes, (size_t)n), 0);
}

static void ask(struct link *link, uint64_t number)
{
    m = (struct message){.type = MESSAGE_CLOCK, .clock = {.number = number}};
    send_message(link, NULL);
}

static void await_frame(struct link *link, struct link_frame *frame)
{
    for (int64_t until = clock_now() + PATIENCE; link_receive(link, frame) != 0;) {
        assert_true(clock_now() < until);
        (void)link_wait(&link, 1, NULL, 0, 10 * CLOCK_MS);
    }
    assert_int_equal(message_decode(frame->data, frame->size, &m), 0);
}

static void await_answer(struct link *link, uint64_t number)
{
    struct link_frame frame;
    await_frame(link, &frame);
    link_frame_free(&frame);
    assert_int_equal(m.type, MESSAGE_CLOCK);
    assert_int_equal(m.clock.number, number);
}

TEST_WITH(set_up, tear_down, only_questions_of_observers_are_answered)
{
    char endpoint[64];
    struct link *node, *other;
    struct clock_server *s = open_server(endpoint);
    assert_int_equal(link_connect(endpoint, LINK_FRAME_LEAST, QUEUE, &boss, &other), 0);
    ask(other, 1);
    assert_int_equal(link_connect(endpoint, LINK_FRAME_LEAST, QUEUE, &desk1, &node), 0);
    assert_int_equal(link_send(node, NULL, "BZL1", 4), 0);
    m = (struct message){.type = MESSAGE_HEARTBEAT, .heartbeat.at = 1};
    send_message(node, NULL);
    ask(node, 7);
    await_answer(node, 7); /* the first one */
    for (uint64_t i = 8; i < 40; i++) {
        ask(node, i);
        await_answer(node, i);
    }
    struct link_frame frame;
    assert_int_equal(link_receive(other, &frame), BEZEL_EAGAIN);
    link_close(node, 0);
    link_close(other, 0);
    clock_server_close(s);
}

TEST_WITH(set_up, tear_down, there_is_no_server_where_all_nodes_have_its_clock)
{
    struct clock_server *s;
    static const char *const local[] = {"ipc:///tmp/bezel-clock-link", "tcp://127.0.0.1:7000", "tcp://[::1]:*"};
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        s = clock_server_open(local[i], NULL, &kept, false);
        assert_null(s);
        assert_int_equal(clock_server_port(s), 0);
    }
    assert_null(clock_server_open("tcp://lo:65535", &server_keys, &kept, false));
    clock_server_close(NULL);
}

/* Answers a question with lies, and with the truth among them: clock 1, at `now` and one later. */
static void answer_with_lies(struct link *liar, const struct link_frame *question, uint64_t now)
{
    assert_int_equal(message_decode(question->data, question->size, &m), 0);
    uint64_t number = m.clock.number;
    const struct message_clock answers[] = {
        {number + 1, {9}, now, now, 0, -1},    {number - 1, {9}, now, now, 0, -1},
        {number, {9}, UINT64_MAX, now, 0, -1}, {number, {9}, now, UINT64_C(1) << 63, 0, -1},
        {number, {1}, now, now + 1, 77, 12}, /* the right one */
        {number, {9}, now, now, 0, -1},      /* once more */
    };
    for (size_t k = 0; k < sizeof answers / sizeof *answers; k++) {
        m = (struct message){.type = MESSAGE_CLOCK, .clock = answers[k]};
        send_message(liar, &question->peer);
    }
}

TEST(answers_to_something_else_are_no_samples)
{
    struct clock_client *c;
    struct clock_client_sample s;
    struct link *liar;
    struct link_frame frame;
    int samples = 0;
    assert_int_equal(link_bind("tcp://127.0.0.1:*", LINK_FRAME_LEAST, NULL, &liar), 0);
    assert_int_equal(clock_client_open(NULL, &kept, &c), 0);
    clock_client_connect(c, link_endpoint(liar));
    for (int64_t until = clock_now() + PATIENCE; samples < 6;) {
        assert_true(clock_now() < until);
        (void)link_wait(&liar, 1, NULL, 0, CLOCK_MS);
        if (link_receive(liar, &frame) == 0) {
            answer_with_lies(liar, &frame, (uint64_t)clock_now() + 1000 * CLOCK_S);
            link_frame_free(&frame);
        }
        for (; clock_client_take(c, &s); samples++) {
            assert_int_equal(s.identity[0], 1);
            assert_int_equal(s.x.answered, s.x.arrived + 1);
            assert_true(s.x.peer.ahead == 77 && s.x.peer.error == 12);
            assert_true(s.contradicted); /* it is of a clock that is 1000 s ahead */
            assert_true(s.x.arrived > s.x.sent + 1000 * CLOCK_S && s.x.arrived < s.x.received + 1000 * CLOCK_S);
        }
    }
    clock_client_connect(c, "");
    clock_client_close(c);
    link_close(liar, 0);
}

/* Answers what has come with a clock that is `ahead` of this one, ns. */
static void answer_all(struct link *peer, int64_t ahead)
{
    struct link_frame frame;
    (void)link_wait(&peer, 1, NULL, 0, CLOCK_MS);
    while (link_receive(peer, &frame) == 0) {
        answer_with_lies(peer, &frame, (uint64_t)(clock_now() + ahead));
        link_frame_free(&frame);
    }
}

/* A machine that slept is often back behind a new connection: what was known before it counts. */
TEST(a_jump_is_told_with_its_step)
{
    struct clock_client *c;
    struct clock_client_sample s = {.jumped = false};
    struct link *peer;
    int64_t ahead = 1000 * CLOCK_S, until = clock_now() + PATIENCE;
    assert_int_equal(link_bind("tcp://127.0.0.1:*", LINK_FRAME_LEAST, NULL, &peer), 0);
    assert_int_equal(clock_client_open(NULL, &kept, &c), 0);
    for (int jumps = 0; jumps < 2; jumps++) {
        int64_t step = jumps ? -4 * CLOCK_S : 60 * CLOCK_S;
        clock_client_connect(c, link_endpoint(peer));
        for (int samples = 0; samples < 3; answer_all(peer, ahead))
            for (assert_true(clock_now() < until); clock_client_take(c, &s); samples++)
                assert_false(s.jumped);
        clock_client_connect(c, link_endpoint(peer));
        for (ahead += step; !s.jumped; answer_all(peer, ahead))
            for (assert_true(clock_now() < until); !s.jumped && clock_client_take(c, &s);)
                ;
        assert_in_range(s.step, step - CLOCK_S, step + CLOCK_S);
        assert_true(s.step != 0);
        s.jumped = false;
    }
    clock_client_close(c);
    link_close(peer, 0);
}

TEST(a_wall_clock_that_is_set_meanwhile_is_known_no_better)
{
    struct clock_client *c;
    struct clock_client_sample s;
    struct link *peer;
    struct link_frame frame;
    is_set = true;
    assert_int_equal(link_bind("tcp://127.0.0.1:*", LINK_FRAME_LEAST, NULL, &peer), 0);
    assert_int_equal(clock_client_open(NULL, &kept, &c), 0);
    clock_client_connect(c, link_endpoint(peer));
    for (int64_t until = clock_now() + PATIENCE; !clock_client_take(c, &s);) {
        assert_true(clock_now() < until);
        (void)link_wait(&peer, 1, NULL, 0, CLOCK_MS);
        if (link_receive(peer, &frame) == 0) {
            answer_with_lies(peer, &frame, (uint64_t)clock_now());
            link_frame_free(&frame);
        }
    }
    assert_int_equal(s.x.own.ahead % CLOCK_MS, 0);
    assert_int_equal(s.x.own.error, CLOCK_MS + 6);
    clock_client_close(c);
    link_close(peer, 0);
    is_set = false;
}

int main(void)
{
    return link_has_keys() ? test_run(NULL, NULL) : 77;
}
