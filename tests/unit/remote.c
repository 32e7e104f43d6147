// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* What a consumer makes of the messages of a server of runs, also of one that lies. */
#include "collector/remote/remote_reader.h"
#include "mdr/dict.h"
#include "tests/lib/test.h"

#include <string.h>

static uint8_t bytes[READ_FRAME_MAX], dictionary[MESSAGE_DICT_MAX];
static struct read_frame frame;

static int set_up(void **state)
{
    return (*state = remote_reader_new()) ? 0 : -1;
}

static int tear_down(void **state)
{
    remote_reader_close(*state);
    return 0;
}

static int feed(struct remote_reader *r, const struct read_message *m)
{
    int n = read_message_encode(m, bytes, sizeof bytes);
    assert_true(n > 0);
    return remote_reader_feed(r, bytes, (size_t)n);
}

/* A process with aspect tick of one field and, if `more`, aspect tock without fields. */
static struct read_message schema_of(uint32_t number, uint64_t instance, bool more)
{
    static const struct dict_aspect tick = {
        .id = 1, .name = "tick", .field_count = 1, .fields = {{DICT_INT64, "number", "", ""}}};
    static const struct dict_aspect tock = {.id = 2, .name = "tock"};
    struct read_message m = {.type = READ_SCHEMA};
    int n = dict_append_aspect(dictionary, 0, sizeof dictionary, &tick);
    if (more)
        n = dict_append_aspect(dictionary, (size_t)n, sizeof dictionary, &tock);
    m.schema = (struct read_schema){.number = number,
                                    .node = "desk",
                                    .uuid = "a trace's uuid.",
                                    .process = "clock",
                                    .instance = instance,
                                    .pid = 7,
                                    .dictionary_bytes = (uint32_t)n,
                                    .dictionary = dictionary};
    return m;
}

static int feed_schema(struct remote_reader *r, uint32_t number, uint64_t instance, bool more)
{
    struct read_message m = schema_of(number, instance, more);
    return feed(r, &m);
}

/* A record of schema `number` with `values` values of aspect `aspect`. */
static int feed_record(struct remote_reader *r, uint32_t number, uint32_t aspect, uint32_t values)
{
    static const uint8_t zeros[8 * PACKET_FIELDS_MAX];
    const struct packet_record record = {.aspect = aspect, .value_count = values, .values = zeros};
    const struct read_item item = {.schema = number, .order = READ_LATE};
    read_frame_begin(&frame);
    assert_true(read_frame_add(&frame, &item, &record));
    read_frame_end(&frame, 4711);
    return remote_reader_feed(r, frame.bytes, frame.size);
}

TEST_WITH(set_up, tear_down, records_and_losses_are_given_and_counted)
{
    struct remote_reader *r = *test_state;
    const struct read_item loss = {.schema = 1, .order = READ_LOSS, .lost = 17};
    uint64_t age, later;
    assert_int_equal(feed_schema(r, 0, 1, false), 0);
    assert_int_equal(feed_schema(r, 1, 2, true), 0);
    (void)remote_reader_model(r, &age);
    assert_int_equal(feed_record(r, 0, 1, 1), 1);
    assert_int_equal(feed_record(r, 1, 2, 0), 1);
    assert_int_equal(feed_schema(r, 0, 1, true), 0); /* which has grown */
    (void)remote_reader_model(r, &later);
    assert_true(later != age);
    assert_int_equal(feed_record(r, 0, 2, 0), 1);
    read_frame_begin(&frame);
    assert_true(read_frame_add(&frame, &loss, NULL));
    read_frame_end(&frame, 0);
    assert_int_equal(remote_reader_feed(r, frame.bytes, frame.size), 1);
    struct remote_reader_totals totals = remote_reader_totals(r);
    assert_int_equal(totals.records, 3);
    assert_int_equal(totals.proofs[RECORD_LATE], 3);
    assert_int_equal(totals.lost, 17);
    assert_int_equal(totals.behind, 0);
}

TEST_WITH(set_up, tear_down, a_record_that_its_process_cannot_have_made_is_refused)
{
    struct remote_reader *r = *test_state;
    assert_int_equal(feed_schema(r, 0, 1, false), 0);
    assert_int_equal(feed_record(r, 1, 1, 1), BEZEL_EMALFORMED); /* no such schema */
    assert_int_equal(feed_record(r, 0, 0, 1), BEZEL_EMALFORMED);
    assert_int_equal(feed_record(r, 0, 2, 1), BEZEL_EMALFORMED); /* no such aspect */
    assert_int_equal(feed_record(r, 0, 1, 0), BEZEL_EMALFORMED);
    assert_int_equal(feed_record(r, 0, 1, 2), BEZEL_EMALFORMED); /* other fields */
    assert_int_equal(feed_record(r, 0, 1, 1), 1);
    assert_int_equal(remote_reader_totals(r).records, 1);
}

TEST_WITH(set_up, tear_down, a_schema_that_contradicts_another_is_refused)
{
    struct remote_reader *r = *test_state;
    struct read_message m;
    assert_int_equal(feed_schema(r, 1, 1, false), BEZEL_EMALFORMED); /* 0 is missing */
    assert_int_equal(feed_schema(r, 0, 1, true), 0);
    assert_int_equal(feed_schema(r, 1, 1, true), BEZEL_EMALFORMED);  /* two numbers */
    assert_int_equal(feed_schema(r, 0, 2, true), BEZEL_EMALFORMED);  /* another process */
    assert_int_equal(feed_schema(r, 0, 1, false), BEZEL_EMALFORMED); /* a shorter dictionary */
    m = schema_of(1, 2, false);
    strcpy(m.schema.node, "another");
    assert_int_equal(feed(r, &m), BEZEL_EMALFORMED); /* of the same trace */
    m = schema_of(1, 2, false);
    dictionary[3] = 9; /* no kind of an entry */
    assert_int_equal(feed(r, &m), BEZEL_EMALFORMED);
    assert_int_equal(feed_schema(r, 1, 2, false), 0);
}

TEST_WITH(set_up, tear_down, schemas_are_bounded_and_those_that_are_replaced_do_not_count)
{
    struct remote_reader *r = *test_state;
    struct read_message m;
    uint32_t number = 0;
    int err = 0;
    for (int i = 0; i < 140000; i++)
        assert_int_equal(feed_schema(r, 0, 1, i > 0), 0);
    for (number = 1; !err && number < READ_SCHEMAS_MAX; number++) {
        m = schema_of(number, number + 1, false);
        m.schema.uuid[0] = (uint8_t)number; /* 4,096 traces */
        m.schema.uuid[1] = (uint8_t)(number >> 8);
        err = feed(r, &m);
    }
    assert_int_equal(err, BEZEL_EMALFORMED);
    assert_in_range(number, 4000, 4200);
}

TEST_WITH(set_up, tear_down, who_sends_what_no_server_sends_is_refused)
{
    struct remote_reader *r = *test_state;
    struct read_message m = {.type = READ_CREDIT, .credit = 1};
    assert_int_equal(feed(r, &m), BEZEL_EMALFORMED);
    assert_int_equal(remote_reader_feed(r, (const uint8_t *)"nonsense", 8), BEZEL_EMALFORMED);
    m = (struct read_message){.type = READ_REFUSE, .refuse.reason = "no"};
    assert_int_equal(feed(r, &m), BEZEL_EPERM);
    m = (struct read_message){.type = READ_READING, .reading.run = "an id"};
    assert_int_equal(feed(r, &m), 0);
    assert_string_equal(remote_reader_said(r)->run, "an id");
    m = (struct read_message){.type = READ_REFUSE, .refuse.reason = "it was restarted"};
    assert_int_equal(feed(r, &m), BEZEL_EUNREACH); /* who was served before */
    assert_non_null(strstr(remote_reader_why(r), "it was restarted"));
}

TEST_WITH(set_up, tear_down, each_end_has_its_error)
{
    static const int errors[] = {0,          BEZEL_EINVAL,  BEZEL_ENOENT, BEZEL_EMALFORMED, BEZEL_EVERSION,
                                 BEZEL_ESYS, BEZEL_EUNREACH};
    struct remote_reader *r = *test_state;
    for (int why = READ_END_DONE; why <= READ_END_STOPPED; why++) {
        struct read_message m = {.type = READ_END,
                                 .end = {.why = (enum read_end_why)why, .cut = 3, .rest = 4, .behind = 5}};
        strcpy(m.end.reason, "because");
        assert_int_equal(feed(r, &m), errors[why]);
        assert_string_equal(remote_reader_why(r), why ? "because" : "");
    }
    assert_int_equal(remote_reader_totals(r).cut, 3);
    assert_int_equal(remote_reader_totals(r).rest, 4);
    assert_int_equal(remote_reader_totals(r).behind, 5);
}
