// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* What is counted of a packet's runs is what its records say one by one, however they are mixed. */
#include "run/model/statistics.h"

#include "mdr/dict.h"
#include "tests/lib/samples.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDS_MOST = 3000, ASPECTS = 2 };

static uint8_t packet[PACKET_MAX_BYTES];
static struct model model = {.values_memory = 1 << 20};
static struct model_node node = {.model = &model, .local = true};
static struct model_count counts[2][ASPECTS + 1];
static struct aspect_statistics *values[ASPECTS + 1];
static struct model_process process, expected;
static struct model_stream stream = {.process = &process};

static int64_t any_step(uint64_t *seed)
{
    uint64_t r = seed_next(seed);
    return r % 3 == 0 ? 0 : (int64_t)((r >> 8) % (UINT64_C(1) << r % 24));
}

static void expect_record(uint32_t aspect, int64_t time, int64_t received)
{
    struct model_count *c = &expected.counts[aspect];
    c->unsaved = true;
    if (c->stored++ == 0)
        c->first_ns = c->last_ns = time;
    c->first_ns = time < c->first_ns ? time : c->first_ns;
    c->last_ns = time > c->last_ns ? time : c->last_ns;
    latency_add(expected.latency, received - time, 1);
}

/* All values are alike, so only their number can be wrong. */
static void expect_values(uint32_t aspect)
{
    const struct dict_aspect *a = &process.dict->aspects[aspect - 1];
    for (uint32_t i = 0; i < a->field_count && values[aspect]; i++)
        assert_int_equal(values[aspect]->fields[i].count + values[aspect]->fields[i].unknown,
                         field_has_statistics(a, i) ? counts[0][aspect].stored : 0);
}

static void expect_latency(void)
{
    assert_int_equal(process.latency->count, expected.latency->count);
    assert_int_equal(process.latency->max, expected.latency->max);
    for (int i = 0; i <= 20; i++)
        assert_int_equal(latency_quantile(process.latency, i / 20.0), latency_quantile(expected.latency, i / 20.0));
}

/* Fills `packet`, with records of one aspect if `alike`; they are expected in `expected`. */
static struct packet_header make_packet(uint64_t *seed, bool alike, int64_t begin, int64_t received)
{
    uint32_t records = (uint32_t)(seed_next(seed) % RECORDS_MOST) + 1, aspect = 1;
    uint8_t *at = packet + PACKET_HEADER_BYTES;
    int64_t time = begin;
    for (uint32_t i = 0; i < records; i++) {
        if (!alike && seed_next(seed) % 8 == 0)
            aspect = (uint32_t)(seed_next(seed) % ASPECTS) + 1;
        time += any_step(seed);
        at = packet_put_record(at, aspect, (uint64_t)time);
        memset(at, 7, 8 * (size_t)process.dict->field_counts[aspect]);
        at += 8 * process.dict->field_counts[aspect];
        expect_record(aspect, time, received);
    }
    return (struct packet_header){.timestamp_begin = (uint64_t)begin,
                                  .timestamp_end = (uint64_t)time,
                                  .size_bytes = (uint64_t)(at - packet),
                                  .kind = PACKET_DATA,
                                  .records = records};
}

/* `all` is the packet's one run where all its records are of one aspect, else nothing. Returns whether they are. */
static bool expect_one_run(const struct packet_header *h, const struct packet_run *all)
{
    size_t offset = PACKET_HEADER_BYTES;
    struct packet_run whole;
    int more = packet_next_run(packet, h, process.dict->field_counts, ASPECTS, &offset, &whole);
    if (more != 1 || whole.count != h->records) {
        assert_int_equal(all->count, 0);
        return false;
    }
    assert_true(all->count == whole.count && all->aspect == whole.aspect && all->stride == whole.stride);
    assert_true(all->value_count == whole.value_count && all->first == whole.first);
    return true;
}

TEST(runs_count_as_their_records)
{
    uint64_t seed = seed_start();
    uint8_t dictionary[SAMPLE_BYTES];
    size_t n = sample_dictionary(dictionary);
    assert_int_equal(dict_parse(dictionary, n, &process.dict), 0);
    assert_int_equal(process.dict->aspect_count, ASPECTS);
    process.node = &node;
    process.counts = counts[0];
    process.values = values;
    expected.counts = counts[1];
    expected.latency = calloc(1, sizeof *expected.latency);
    for (int i = 0; i < (getenv("BEZEL_TEST_LIGHT") ? 100 : 1000); i++) {
        int64_t begin = (int64_t)(seed_next(&seed) % 1000000000);
        int64_t received = begin + (int64_t)(seed_next(&seed) % 2000000000) + 1;
        bool alike = i % 4 == 0;
        struct packet_header h = make_packet(&seed, alike, begin, received);
        struct packet_run all;
        assert_int_equal(packet_check(packet, &h, process.dict->field_counts, ASPECTS, &all), 0);
        bool one_run = expect_one_run(&h, &all);
        assert_true(one_run || !alike);
        statistics_count(&stream, &h, packet, &all, received);
        assert_memory_equal(counts[0], counts[1], sizeof counts[0]);
        for (uint32_t aspect = 1; aspect <= ASPECTS; aspect++)
            expect_values(aspect);
        expect_latency();
        h.timestamp_end--;
        assert_int_equal(packet_check(packet, &h, process.dict->field_counts, ASPECTS, NULL), BEZEL_EMALFORMED);
    }
    assert_true(values[1] || values[2]);
    for (uint32_t aspect = 1; aspect <= ASPECTS; aspect++)
        if (values[aspect])
            aspect_statistics_free(values[aspect], &model.values_memory);
    assert_int_equal(model.values_memory, 1 << 20);
    latency_free(expected.latency);
    latency_free(process.latency);
    free(expected.latency);
    free(process.latency);
    dict_free(process.dict);
}
