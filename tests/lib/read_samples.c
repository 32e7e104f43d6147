// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/read_samples.h"

#include "mdr/dict.h"

#include <string.h>

/* An aspect tick without fields, and frame_shown with one of each type; a string. */
static uint32_t dictionary(const uint8_t **bytes)
{
    static uint8_t at[1024];
    static const struct dict_aspect tick = {.id = 1, .name = "tick"};
    static const struct dict_aspect shown = {.id = 2,
                                             .name = "frame_shown",
                                             .field_count = 4,
                                             .fields = {{DICT_INT64, "frame", "", ""},
                                                        {DICT_FLOAT64, "latency", "ms", ""},
                                                        {DICT_ENUM, "kind", "", "key|delta"},
                                                        {DICT_STRING, "source", "", ""}}};
    int n = dict_append_aspect(at, 0, sizeof at, &tick);
    n = dict_append_aspect(at, (size_t)n, sizeof at, &shown);
    n = dict_append_string(at, (size_t)n, sizeof at, 1, "studio");
    *bytes = at;
    return (uint32_t)n;
}

/* A loss, a record without values that is proven to follow, and one with four that came late. */
static void records(struct read_message *m)
{
    static struct read_frame f;
    static const uint8_t values[4][8] = {
        {0, 0, 0, 0, 0, 0, 0, 41}, {0x40, 0x29}, {0, 0, 0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 0, 0, 1}};
    struct packet_record tick = {.aspect = 1, .timestamp = 2000000, .values = values[0]};
    struct packet_record shown = {.aspect = 2, .timestamp = 2500000, .value_count = 4, .values = values[0]};
    struct read_item item = {.schema = 0,
                             .ring = 2,
                             .thread = 4711,
                             .order = READ_LOSS,
                             .run_time = INT64_C(1790000000000000000),
                             .error = -1,
                             .time = 1900000,
                             .lost = 17};
    read_frame_begin(&f);
    (void)read_frame_add(&f, &item, NULL);
    item.order = READ_PROVEN;
    item.error = 12000;
    (void)read_frame_add(&f, &item, &tick);
    item.order = READ_LATE;
    item.run_time += 500000;
    (void)read_frame_add(&f, &item, &shown);
    read_frame_end(&f, 65536);
    (void)!read_message_decode(f.bytes, f.size, m);
}

static uint32_t cover(const uint8_t **bytes)
{
    static uint8_t at[PACKET_HEADER_BYTES];
    struct packet_header h = {.kind = PACKET_DATA,
                              .uuid = "0123456789abcde",
                              .stream_id = 3,
                              .instance = UINT64_C(0x0000303900000001),
                              .size_bytes = 4096,
                              .seq = 6,
                              .first_ordinal = 117,
                              .discarded = 17,
                              .timestamp_begin = 1000000,
                              .timestamp_end = 2000000};
    packet_put_cover(at, &h, 100);
    *bytes = at;
    return sizeof at;
}

const char *read_sample(unsigned i, struct read_message *m)
{
    memset(m, 0, sizeof *m);
    switch (i) {
    case 0:
        m->type = READ_REFUSE;
        strcpy(m->refuse.reason, "your key does not have the role read here");
        return "refuse";
    case 1:
        m->type = READ_HEARTBEAT;
        m->heartbeat.at = 123456789;
        return "heartbeat";
    case 2:
        m->type = READ_READ;
        m->read = (struct read_request){.node = "desk*",
                                        .aspect = "frame_*",
                                        .where = "latency > 5 ms",
                                        .no_monitor = true,
                                        .follow = true,
                                        .from = INT64_MIN,
                                        .until = INT64_MAX,
                                        .since = 1000000000,
                                        .last = READ_LAST_ALL,
                                        .credit = READ_CREDIT_MAX};
        return "read";
    case 3:
        m->type = READ_READING;
        m->reading = (struct read_reading){
            .run = "6f1c0d3e-2b1a-4c5d-8e7f-0123456789ab", .grows = true, .note = "no aspect has a field 'latency'"};
        return "reading";
    case 4:
        m->type = READ_SCHEMA;
        m->schema = (struct read_schema){.node = "desk1",
                                         .uuid = "0123456789abcde",
                                         .process = "player",
                                         .instance = UINT64_C(0x0000303900000001),
                                         .pid = 4711,
                                         .role = ROLE_SUT};
        m->schema.dictionary_bytes = dictionary(&m->schema.dictionary);
        return "schema";
    case 5:
        records(m);
        return "records";
    case 6:
        m->type = READ_CREDIT;
        m->credit = 262144;
        return "credit";
    case 8:
        m->type = READ_MIRROR;
        m->mirror = (struct read_mirror){.follow = true,
                                         .rows = 1,
                                         .credit = READ_CREDIT_MAX,
                                         .token_bytes = 7,
                                         .token = (const uint8_t *)"a token"};
        return "mirror";
    case 9:
        m->type = READ_FILE;
        m->file = (struct read_file){.number = 2,
                                     .name = "trace/desk1/player-4711-0",
                                     .stream = true,
                                     .lacks = "bytes that are no packet, at byte 8192"};
        m->file.cover_bytes = cover(&m->file.cover);
        return "file";
    case 10:
        m->type = READ_HAVE;
        m->have = (struct read_have){.number = 2, .bytes = 8192, .sum = UINT64_C(0x0123456789abcdef)};
        return "have";
    case 11:
        m->type = READ_BYTES;
        m->bytes =
            (struct read_bytes){.number = 2, .offset = 4096, .count = 10, .bytes = (const uint8_t *)"ten  bytes"};
        return "bytes";
    case 12:
        m->type = READ_ROWS;
        m->rows = (struct read_rows){.count = 5, .bytes = (const uint8_t *)"a row"};
        return "rows";
    case 13:
        m->type = READ_STEP;
        m->step = (struct read_step){.behind = 65536, .grows = true, .commit = true};
        return "step";
    case 14:
        m->type = READ_WATERMARK;
        m->watermark = (struct read_watermark){.low = 1000000007, .age = 20000000};
        memcpy(m->watermark.node, "a trace's uuid..", sizeof m->watermark.node);
        return "watermark";
    default:
        m->type = READ_END;
        m->end = (struct read_end){.why = READ_END_STOPPED,
                                   .records = 2,
                                   .lost = 17,
                                   .late = 1,
                                   .cut = 3,
                                   .rest = 4,
                                   .behind = 5,
                                   .reason = "the server ends, and the run goes on"};
        return "end";
    }
}
