// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Which records belong to one message, and what is forgotten when there are many. */
#include "run/read/record_messages.h"

#include "mdr/message.h"
#include "tests/lib/test.h"

#include <stdio.h>

enum { SENT = 1, RECEIVED = 2, OTHER = 3 };

/* A process knows the names of all, and of a channel. */
static const char *const names[] = {"client", "server", "camera", "news"};
enum { CLIENT, SERVER, CAMERA, NEWS, NOBODY };

static struct dict_aspect aspects[] = {{.id = SENT, .kind = DICT_SENT, .name = "sent", .field_count = 2},
                                       {.id = RECEIVED, .kind = DICT_RECEIVED, .name = "received", .field_count = 2},
                                       {.id = OTHER, .kind = DICT_EVENT, .name = "other", .field_count = 2}};
static struct dict dict = {.aspect_count = 3, .string_count = 4, .aspects = aspects, .strings = (const char **)names};
static struct model_node nodes[3] = {{.row = 7}, {.row = 8}, {.row = 9}};
static struct model_process processes[3] = {{.row = 1, .node = &nodes[0], .name = "client", .dict = &dict},
                                            {.row = 2, .node = &nodes[1], .name = "server", .dict = &dict},
                                            {.row = 3, .node = &nodes[2], .name = "camera", .dict = &dict}};

/* A record of a process; `peer` as in `names`. */
static struct record_item record(int process, uint32_t aspect, int peer, uint64_t tag, uint64_t time)
{
    static struct packet_record r[4];
    static uint8_t values[4][16];
    static unsigned next;
    unsigned i = next++ % 4;
    bytes_put_u64(values[i], peer == NOBODY ? 0 : (uint64_t)peer + 1);
    bytes_put_u64(values[i] + 8, tag);
    r[i] = (struct packet_record){.aspect = aspect, .timestamp = time, .value_count = 2, .values = values[i]};
    return (struct record_item){.process = &processes[process],
                                .r = &r[i],
                                .aspect = &aspects[aspect - 1],
                                .time = time,
                                .at = {(int64_t)time + 1000, 50}};
}

static const struct record_sent *find(const struct record_messages *m, int process, int peer, uint64_t tag)
{
    struct record_item received = record(process, RECEIVED, peer, tag, 0);
    return record_messages_find(m, &received);
}

static void add(struct record_messages *m, int process, int peer, uint64_t tag, uint64_t time)
{
    struct record_item sent = record(process, SENT, peer, tag, time);
    record_messages_add(m, &sent);
}

TEST(each_names_the_other_or_both_a_channel)
{
    struct record_messages *m = record_messages_new(1 << 20);
    add(m, CLIENT, SERVER, 5, 100);
    add(m, CLIENT, NEWS, 6, 110);
    const struct record_sent *sent = find(m, SERVER, CLIENT, 5);
    assert_non_null(sent);
    assert_int_equal(sent->node, 7);
    assert_int_equal(sent->time, 100);
    assert_int_equal(sent->at.ns, 1100);
    assert_int_equal(sent->at.bound, 50);
    assert_false(sent->given);
    assert_ptr_equal(record_messages_by_key(m, sent->key), sent);
    assert_null(find(m, SERVER, CLIENT, 4));               /* another tag */
    assert_null(find(m, SERVER, CAMERA, 5));               /* another sender */
    assert_null(find(m, CAMERA, CLIENT, 5));               /* another receiver */
    assert_int_equal(find(m, SERVER, NEWS, 6)->time, 110); /* all who read the channel */
    assert_int_equal(find(m, CAMERA, NEWS, 6)->time, 110);
    assert_null(find(m, SERVER, NOBODY, 5));
    struct record_item other = record(SERVER, OTHER, CLIENT, 5, 0);
    assert_null(record_messages_find(m, &other));
    record_messages_free(m);
}

/* Client, server and camera pass a frame on with its tag; one of the sendings is missing. */
TEST(a_message_that_is_passed_on_is_another_one)
{
    struct record_messages *m = record_messages_new(1 << 20);
    add(m, CLIENT, SERVER, 5, 100);
    assert_null(find(m, CAMERA, SERVER, 5));
    assert_null(find(m, CLIENT, SERVER, 5)); /* the answer */
    add(m, SERVER, CLIENT, 5, 300);
    assert_null(find(m, CAMERA, SERVER, 5));
    assert_int_equal(find(m, SERVER, CLIENT, 5)->time, 100);
    assert_int_equal(find(m, CLIENT, SERVER, 5)->time, 300);
    add(m, SERVER, CAMERA, 5, 200);
    assert_int_equal(find(m, CAMERA, SERVER, 5)->time, 200);
    record_messages_free(m);
}

TEST(a_pair_has_a_time_that_clocks_allow)
{
    struct record_messages *m = record_messages_new(1 << 20);
    add(m, CLIENT, SERVER, 5, 1000); /* bounds of 50 on either side */
    struct record_item in_time = record(SERVER, RECEIVED, CLIENT, 5, 900),
                       before = record(SERVER, RECEIVED, CLIENT, 5, 899);
    const struct record_sent *sent = record_messages_pair(m, &in_time);
    assert_non_null(sent);
    assert_int_equal(record_message_took(sent, &in_time).ns, -100);
    assert_int_equal(record_message_took(sent, &in_time).bound, 100);
    assert_null(record_messages_pair(m, &before));
    assert_non_null(record_messages_find(m, &before));
    before.at.bound = INT64_MAX;
    assert_int_equal(record_message_took(record_messages_pair(m, &before), &before).bound, INT64_MAX);
    record_messages_free(m);
}

TEST(the_first_sending_counts)
{
    struct record_messages *m = record_messages_new(1 << 20);
    add(m, CLIENT, SERVER, 5, 100);
    add(m, CLIENT, SERVER, 5, 200); /* sent again */
    add(m, CLIENT, SERVER, 6, 200); /* found in another order */
    add(m, CLIENT, SERVER, 6, 100);
    assert_int_equal(find(m, SERVER, CLIENT, 6)->time, 100);
    assert_int_equal(find(m, SERVER, CLIENT, 5)->time, 100);
    struct record_item sent = record(CLIENT, SENT, SERVER, 5, 100), again = record(CLIENT, SENT, SERVER, 5, 200);
    assert_false(record_messages_sent(m, &sent));
    assert_true(find(m, SERVER, CLIENT, 5)->given);
    struct record_item received = record(SERVER, RECEIVED, CLIENT, 5, 0);
    record_messages_received(m, &received); /* in between */
    assert_false(record_messages_sent(m, &again));
    record_messages_free(m);
}

/* The client is a camera now, say: the server receives message 5 of either. */
TEST(in_order_the_sending_of_the_latest_process_counts)
{
    struct record_messages *m = record_messages_new(1 << 20);
    record_messages_in_order(m);
    add(m, CLIENT, NEWS, 5, 100);
    add(m, CLIENT, NEWS, 5, 200); /* sent again */
    assert_int_equal(find(m, SERVER, NEWS, 5)->time, 100);
    add(m, CAMERA, NEWS, 5, 300);
    assert_int_equal(find(m, SERVER, NEWS, 5)->time, 300);
    record_messages_free(m);
}

TEST(a_sending_behind_its_receiving_is_told_once)
{
    struct record_messages *m = record_messages_new(1 << 20);
    for (int peer = SERVER; peer <= NEWS; peer += NEWS - SERVER) {
        struct record_item received = record(SERVER, RECEIVED, peer == NEWS ? NEWS : CLIENT, 5, 0);
        struct record_item sent = record(CLIENT, SENT, peer, 5, 0);
        record_messages_received(m, &received);
        add(m, CLIENT, peer, 5, 0);
        assert_true(record_messages_sent(m, &sent));
        assert_false(record_messages_sent(m, &sent));
    }
    record_messages_free(m);
}

TEST(the_oldest_are_forgotten_and_no_others)
{
    struct record_messages *m = record_messages_new(200000);
    uint64_t oldest = 0;
    for (uint64_t tag = 0; tag < 5000; tag++) {
        add(m, CLIENT, SERVER, tag, tag);
        while (!find(m, SERVER, CLIENT, oldest))
            oldest++;
        for (uint64_t i = oldest; i <= tag; i += 1 + (tag - oldest) / 16)
            assert_int_equal(find(m, SERVER, CLIENT, i)->time, i);
        assert_non_null(find(m, SERVER, CLIENT, tag));
    }
    assert_in_range(5000 - oldest, 400, 2800); /* below the bound */
    assert_int_equal(record_messages_forgotten(m), oldest);
    record_messages_free(m);
}

/* The model knows the processes' names. */
static int begin(void **state)
{
    static const struct message_hello hello = {.node = "desk"};
    struct model *model = model_new("");
    struct model_node *node = model ? model_add_node(model, &hello) : NULL;
    bool ok = node;
    for (uint64_t i = 0; i < 3 && ok; i++) {
        struct message_process said = {.instance = i + 1};
        snprintf(said.name, sizeof said.name, "%s", processes[i].name);
        nodes[i].model = model;
        ok = model_add_process(node, &said);
    }
    *state = model;
    return ok ? 0 : -1;
}

static int end(void **state)
{
    model_free(*state);
    return 0;
}

int main(void)
{
    return test_run(begin, end);
}
