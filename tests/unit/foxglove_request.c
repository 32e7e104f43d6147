// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mediators/foxglove/foxglove_request.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static struct foxglove_request q;

static int read_text(const char *text)
{
    const char *why;
    int err = foxglove_request_read(text, strlen(text), &q, &why);
    assert_int_equal(err != 0, why != NULL);
    return err;
}

TEST(subscriptions_have_their_channels_in_any_order_of_members)
{
    assert_int_equal(read_text("{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":7,\"channelId\":0},"
                               "{\"more\":[{\"id\":9}],\"channelId\":4294967295,\"id\":1}]}"),
                     0);
    assert_int_equal(q.op, FOXGLOVE_SUBSCRIBE);
    assert_int_equal(q.count, 2);
    assert_int_equal(q.items[0].id, 7);
    assert_int_equal(q.items[0].channel, 0);
    assert_int_equal(q.items[1].id, 1);
    assert_int_equal(q.items[1].channel, UINT32_MAX);
    assert_int_equal(read_text(" { \"subscriptions\" : [ ] , \"op\" : \"subscribe\" } "), 0);
    assert_int_equal(q.count, 0);
}

TEST(unsubscribing_names_subscriptions)
{
    assert_int_equal(read_text("{\"subscriptionIds\":[3,0],\"op\":\"unsubscribe\"}"), 0);
    assert_int_equal(q.op, FOXGLOVE_UNSUBSCRIBE);
    assert_int_equal(q.count, 2);
    assert_int_equal(q.items[0].id, 3);
    assert_int_equal(q.items[1].id, 0);
}

TEST(other_operations_are_named)
{
    char text[400];
    assert_int_equal(read_text("{\"op\":\"getParameters\",\"parameterNames\":[],\"subscriptionIds\":[1]}"), 0);
    assert_int_equal(q.op, FOXGLOVE_OTHER);
    assert_string_equal(q.name, "getParameters");
    assert_int_equal(q.count, 0);
    snprintf(text, sizeof text, "{\"op\":\"%0300dsubscribe\"}", 0); /* its end is not its name */
    assert_int_equal(read_text(text), 0);
    assert_int_equal(q.op, FOXGLOVE_OTHER);
}

TEST(what_is_no_request_is_refused)
{
    static const char *const texts[] = {
        "",
        "{",
        "1",
        "[]",
        "{}",
        "null",
        "{\"op\":\"\"}",
        "{\"op\":7}",
        "{\"op\":\"subscribe\"} {}",
        "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1}]}",
        "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1,\"channelId\":2},{\"channelId\":2}]}",
        "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":-1,\"channelId\":2}]}",
        "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1.5,\"channelId\":2}]}",
        "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":4294967296,\"channelId\":2}]}",
        "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":\"1\",\"channelId\":2}]}",
        "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1,\"channelId\":2}],\"subscriptionIds\":[1]}",
        "{\"op\":\"unsubscribe\",\"subscriptionIds\":[true]}",
        "{\"op\":[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (read_text(texts[i]) != BEZEL_EMALFORMED)
            fail_msg("%s", texts[i]);
}

TEST(no_message_has_more_than_there_is_room_for)
{
    static char text[16 * FOXGLOVE_REQUEST_ITEMS];
    for (int more = 0; more < 2; more++) {
        int n = snprintf(text, sizeof text, "{\"op\":\"unsubscribe\",\"subscriptionIds\":[0");
        for (int i = 1; i < FOXGLOVE_REQUEST_ITEMS + more; i++)
            n += snprintf(text + n, sizeof text - (size_t)n, ",%d", i);
        snprintf(text + n, sizeof text - (size_t)n, "]}");
        assert_int_equal(read_text(text), more ? BEZEL_EMALFORMED : 0);
    }
}
