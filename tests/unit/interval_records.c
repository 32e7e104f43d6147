// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Records as events of an interval: which take part, their keys by the type of the field, their clocks and ends. */
#include "run/model/interval_records.h"
#include "tests/lib/test.h"

#include <math.h>
#include <string.h>

enum { INTEGER = 1, REAL, TEXT, LABEL, SENT, RECEIVED, ASPECTS = RECEIVED };

static const char *const strings[] = {"intra", "key", "b"};
static struct dict_aspect aspects[ASPECTS] = {
    {.id = INTEGER,
     .name = "begin",
     .field_count = 2,
     .fields = {{DICT_INT64, "n", "", ""}, {DICT_INT64, "id", "", ""}}},
    {.id = REAL, .name = "end", .field_count = 2, .fields = {{DICT_INT64, "n", "", ""}, {DICT_FLOAT64, "id", "", ""}}},
    {.id = TEXT, .name = "text", .field_count = 2, .fields = {{DICT_INT64, "n", "", ""}, {DICT_STRING, "id", "", ""}}},
    {.id = LABEL,
     .name = "label",
     .field_count = 2,
     .fields = {{DICT_INT64, "n", "", ""}, {DICT_ENUM, "id", "", "delta|key|"}}},
    {.id = SENT, .kind = DICT_SENT, .name = "sent", .field_count = 2},
    {.id = RECEIVED, .kind = DICT_RECEIVED, .name = "received", .field_count = 2}};
static struct dict dict = {
    .aspect_count = ASPECTS, .string_count = 3, .aspects = aspects, .strings = (const char **)strings};
static struct model model;
static struct model_node nodes[2] = {{.row = 7, .model = &model, .clock = {1}},
                                     {.row = 8, .model = &model, .clock = {2}}};
static struct model_process processes[2] = {{.row = 20, .node = &nodes[0], .name = "a", .dict = &dict},
                                            {.row = 21, .node = &nodes[1], .name = "b", .dict = &dict}};
static char words[][10] = {"begin", "end", "text", "label", "sent", "received"};
static char *of_fields[] = {words[0], words[1], words[2], words[3], NULL}, *of_messages[] = {words[4], words[5], NULL};
static char id[] = "id";
static struct experiment_metric fields = {.kind = METRIC_INTERVAL,
                                          .interval = {.aspects = of_fields, .count = 4, .match = id}};
static struct experiment_metric messages = {.kind = METRIC_INTERVAL, .interval = {.aspects = of_messages, .count = 2}};

static struct interval_event event(const struct experiment_metric *m, int process, uint32_t aspect, uint64_t first,
                                   uint64_t second)
{
    uint8_t values[16];
    bytes_put_u64(values, first);
    bytes_put_u64(values + 8, second);
    struct packet_record r = {.aspect = aspect, .timestamp = 500, .value_count = 2, .values = values};
    struct interval_part part = interval_part_of(m, processes[process].name, &aspects[aspect - 1]);
    assert_int_equal(part.has, INTERVAL_HAS_PART);
    return interval_event_of(m, &part, &processes[process], &r, (struct clock_reading){900, 4});
}

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static bool equal(struct interval_key a, struct interval_key b)
{
    return a.bits == b.bits && a.more == b.more;
}

TEST(an_aspect_takes_part_with_the_field_or_the_kind_of_message)
{
    struct dict_aspect other = {.name = "other"}, lacking = {.name = "end"},
                       kind = {.name = "sent", .kind = DICT_RECEIVED};
    assert_int_equal(interval_part_of(&fields, "a", &other).has, INTERVAL_HAS_NO_PART);
    assert_int_equal(interval_part_of(&fields, "a", &lacking).has, INTERVAL_HAS_NO_KEY);
    assert_int_equal(interval_part_of(&messages, "a", &kind).has, INTERVAL_HAS_NO_KEY);
    struct interval_part part = interval_part_of(&fields, "a", &aspects[LABEL - 1]);
    assert_int_equal(part.position, 3);
    assert_int_equal(part.field, 1);
    assert_int_equal(part.type, DICT_ENUM);
}

/* A preview of the server's own is no end, if only those of clients are; a chain may pass one aspect several times. */
TEST(an_aspect_may_be_of_certain_processes_alone)
{
    static char server[] = "server", client[] = "client", relays[] = "relay-?";
    char *begin_end[] = {words[0], words[1], words[1], NULL};
    struct experiment_metric m = {.kind = METRIC_INTERVAL, .interval = {.aspects = begin_end, .count = 3, .match = id}};
    m.interval.processes[0] = server;
    m.interval.processes[1] = relays;
    m.interval.processes[2] = client;
    const struct dict_aspect *begin = &aspects[INTEGER - 1], *last = &aspects[REAL - 1];
    assert_int_equal(interval_part_of(&m, "server", begin).position, 0);
    assert_int_equal(interval_part_of(&m, "client", begin).has, INTERVAL_HAS_NO_PART);
    assert_int_equal(interval_part_of(&m, "server", last).has, INTERVAL_HAS_NO_PART);
    assert_int_equal(interval_part_of(&m, "relay-2", last).position, 1);
    static const char *const instances[] = {"client", "client.1", "client.12"};
    for (int i = 0; i < 3; i++)
        assert_int_equal(interval_part_of(&m, instances[i], last).position, 2);
    static const char *const others[] = {"clients", "client.", "client.a", "client.1x", "clien", "relay-"};
    for (int i = 0; i < 6; i++)
        assert_int_equal(interval_part_of(&m, others[i], last).has, INTERVAL_HAS_NO_PART);
}

TEST(keys_are_values_of_the_field)
{
    assert_true(equal(event(&fields, 0, INTEGER, 9, 5).key, interval_key_of_integer(5)));
    assert_true(equal(event(&fields, 0, INTEGER, 9, (uint64_t)-5).key, interval_key_of_integer(-5)));
    assert_true(equal(event(&fields, 0, REAL, 9, bits_of(1.5)).key, interval_key_of_float(1.5)));
    assert_int_equal(event(&fields, 0, REAL, 9, bits_of((double)NAN)).key.more, 0);
    assert_true(equal(event(&fields, 0, TEXT, 9, 2).key, interval_key_of_text("key", 3)));
    assert_int_equal(event(&fields, 0, TEXT, 9, 0).key.more, 0);
    assert_int_equal(event(&fields, 0, TEXT, 9, 4).key.more, 0);
    assert_true(equal(event(&fields, 0, LABEL, 9, 1).key, interval_key_of_text("key", 3)));
    assert_int_equal(event(&fields, 0, LABEL, 9, 2).key.more, 0);
    assert_int_equal(event(&fields, 0, LABEL, 9, UINT64_MAX).key.more, 0);
}

TEST(records_of_one_message_have_one_key)
{
    enum { TO_B = 3, CHANNEL = 1 };
    struct interval_event sent = event(&messages, 0, SENT, CHANNEL, 77),
                          got = event(&messages, 1, RECEIVED, CHANNEL, 77);
    assert_true(equal(sent.key, got.key));
    assert_false(equal(sent.key, event(&messages, 1, RECEIVED, CHANNEL, 78).key));
    assert_int_equal(event(&messages, 0, SENT, 0, 77).key.more, 0);
    assert_int_equal(sent.position, 0);
    assert_int_equal(got.position, 1);
}

TEST(an_event_has_its_times_its_process_and_its_end)
{
    processes[1].started = 300;
    struct interval_event e = event(&fields, 1, REAL, 0, 0);
    assert_int_equal(e.source, 21);
    assert_int_equal(e.started, 300);
    assert_int_equal(e.own, 500);
    assert_int_equal(e.at.ns, 900);
    assert_int_equal(e.at.bound, 4);
    assert_int_equal(e.end, 0);
    fields.interval.by_end = true;
    assert_int_equal(event(&fields, 1, REAL, 0, 0).end, 8);
    fields.per_process = true;
    assert_int_equal(event(&fields, 1, REAL, 0, 0).end, 21);
    fields.per_process = fields.interval.by_end = false;
}

TEST(records_of_one_machine_have_one_clock_until_it_jumps)
{
    assert_int_not_equal(event(&fields, 0, REAL, 0, 0).clock, event(&fields, 1, REAL, 0, 0).clock);
    assert_int_equal(event(&fields, 0, REAL, 0, 0).clock, event(&fields, 0, INTEGER, 0, 0).clock);
    nodes[0].run_clock.jumped = true;
    assert_int_not_equal(event(&fields, 0, REAL, 0, 0).clock, event(&fields, 0, INTEGER, 0, 0).clock);
    nodes[0].run_clock.jumped = false;
}
