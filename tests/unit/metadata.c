// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The metadata of a trace, to the letter: tests/golden/metadata.tsdl holds what it must be. BEZEL_GOLDEN_WRITE=1 writes
 * it anew, to be read before it is committed. That babeltrace2 takes it without a warning is e2e/collector's.
 */
#include "run/store/metadata.h"
#include "mdr/parts.h"

#include "base/clock.h"
#include "base/file.h"
#include "tests/lib/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct dict_aspect tick = {.id = 1, .name = "tick"};
static const struct dict_aspect all = {.id = 2,
                                       .name = "every:type.of_field",
                                       .field_count = 8,
                                       .fields = {{DICT_INT64, "event", "", ""},
                                                  {DICT_FLOAT64, "_latency", "s", ""},
                                                  {DICT_ENUM, "state", "", "idle|a \"quoted\" \\ one||busy|busy"},
                                                  {DICT_STRING, "source", "", ""},
                                                  {DICT_INT64, "a.b", "", ""},
                                                  {DICT_INT64, "a:b", "", ""},
                                                  {DICT_INT64, "a_b", "", ""},
                                                  {DICT_ENUM, "bare", "", ""}}};
static const struct dict_aspect kinds[] = {
    {.kind = DICT_SPAN, .name = "a", .field_count = 1, .fields = {{DICT_INT64, "duration", "ns", ""}}},
    {.kind = DICT_COUNTER, .name = "b", .field_count = 1, .fields = {{DICT_INT64, "count", "1", ""}}},
    {.kind = DICT_GAUGE, .name = "c", .field_count = 1, .fields = {{DICT_FLOAT64, "value", "1", ""}}},
    {.kind = DICT_SENT,
     .name = "d",
     .field_count = 2,
     .fields = {{DICT_STRING, "peer", "", ""}, {DICT_INT64, "tag", "", ""}}},
    {.kind = DICT_RECEIVED,
     .name = "e",
     .field_count = 2,
     .fields = {{DICT_STRING, "peer", "", ""}, {DICT_INT64, "tag", "", ""}}},
    {.kind = DICT_WAIT,
     .name = "f",
     .field_count = 2,
     .fields = {{DICT_INT64, "duration", "ns", ""}, {DICT_ENUM, "reason", "1", "io"}}},
};

static void add_process(struct model_node *node, uint32_t stream_id, const char *name, bool strings)
{
    static struct message_process said;
    struct dict *dict;
    said = (struct message_process){.instance = stream_id, .stream_id = stream_id, .pid = 10};
    snprintf(said.name, sizeof said.name, "%s", name);
    int n = dict_append_aspect(said.dictionary, 0, MESSAGE_DICT_MAX, &tick);
    n = dict_append_aspect(said.dictionary, (size_t)n, MESSAGE_DICT_MAX, &all);
    for (uint32_t i = 0; strings && i < sizeof kinds / sizeof *kinds; i++) {
        struct dict_aspect a = kinds[i];
        a.id = 3 + i;
        n = dict_append_aspect(said.dictionary, (size_t)n, MESSAGE_DICT_MAX, &a);
    }
    if (strings) {
        n = dict_append_string(said.dictionary, (size_t)n, MESSAGE_DICT_MAX, 1, "plain");
        n = dict_append_string(said.dictionary, (size_t)n, MESSAGE_DICT_MAX, 2, "line\n2\ttab \"q\" \\ \x7f \xc3\xa9");
    }
    assert_int_equal(dict_parse(said.dictionary, (size_t)n, &dict), 0);
    model_set_dictionary(model_add_process(node, &said), dict);
}

static struct model *make_model(int64_t realtime_offset)
{
    struct model *m = model_new("00112233-4455-6677-8899-aabbccddeeff");
    struct message_hello hello = {.node = "desk1", .realtime_offset = realtime_offset};
    for (uint8_t i = 0; i < 16; i++) {
        hello.uuid[i] = i;
        hello.clock[i] = (uint8_t)(0xf0 + i);
    }
    struct model_node *node = model_add_node(m, &hello);
    add_process(node, 1, "server", true);
    add_process(node, 7, "client", false);
    return m;
}

/* The golden file has '@' for the version, which each release changes. */
static void take_out_version(char *text, size_t *n)
{
    static const char before[] = "tracer_version = \"";
    char *at = strstr(text, before);
    assert_non_null(at);
    at += sizeof before - 1;
    assert_memory_equal(at, BEZEL_VERSION, sizeof BEZEL_VERSION - 1);
    *at = '@';
    memmove(at + 1, at + sizeof BEZEL_VERSION - 1, strlen(at + sizeof BEZEL_VERSION - 1) + 1);
    *n -= sizeof BEZEL_VERSION - 2;
}

TEST(it_is_what_the_golden_file_holds)
{
    char *text, *golden;
    size_t n, golden_n;
    struct model *m = make_model(INT64_C(1700000000123456789));
    assert_int_equal(metadata_write(m->nodes, &text, &n), 0);
    take_out_version(text, &n);
    if (getenv("BEZEL_GOLDEN_WRITE"))
        assert_int_equal(file_replace(BEZEL_GOLDEN_METADATA, text, n), 0);
    assert_int_equal(file_read(BEZEL_GOLDEN_METADATA, 1 << 20, &golden, &golden_n), 0);
    assert_string_equal(text, golden);
    assert_int_equal(n, golden_n);
    free(text);
    free(golden);
    model_free(m);
}

TEST(a_clock_before_the_epoch_has_a_positive_rest)
{
    char *text;
    size_t n;
    struct model *m = make_model(-1500000000);
    assert_int_equal(metadata_write(m->nodes, &text, &n), 0);
    assert_non_null(strstr(text, "offset_s = -2;\n    offset = 500000000;"));
    free(text);
    model_free(m);
}

/* The clock is told as it is known at the end of the run, and until then as it was at the beginning. */
TEST(a_clock_is_told_by_its_exchanges_when_no_more_follow)
{
    char *text[2];
    size_t n[2], same;
    struct model *m = make_model(5);
    for (int64_t i = 0; i < 40; i++) { /* 500 s ahead, round trips of 100 us */
        int64_t sent = 500 * CLOCK_S + i * CLOCK_S / 10, there = sent - 500 * CLOCK_S + 50 * CLOCK_US;
        const struct clock_exchange x = {
            .sent = sent, .arrived = there, .answered = there, .received = sent + 100 * CLOCK_US};
        run_clock_add(&m->nodes->run_clock, &x, 1700000000 * CLOCK_S);
    }
    for (int last = 0; last < 2; last++) {
        m->clocks_last = last;
        assert_int_equal(metadata_write(m->nodes, &text[last], &n[last]), 0);
    }
    struct run_clock_line line = run_clock_line(&m->nodes->run_clock);
    char wanted[160];
    snprintf(wanted, sizeof wanted,
             "    offset_s = %" PRId64 ";\n    offset = %" PRId64 ";\n    absolute = true;\n    precision = %" PRId64
             ";\n",
             line.offset / CLOCK_S, line.offset % CLOCK_S, line.bound);
    assert_in_range(line.offset, 1699999500 * CLOCK_S - 1000, 1699999500 * CLOCK_S + 1000);
    assert_non_null(strstr(text[1], wanted));
    assert_non_null(strstr(text[0], "    offset_s = 0;\n    offset = 5;\n    absolute = true;\n};"));
    for (int last = 0; last < 2; last++)
        for (int written = 0; written < 2; written++) { /* what was written before may be found until the end */
            m->clocks_last = last;
            assert_int_equal(metadata_compare(m->nodes, text[written], n[written], &same),
                             last && !written ? METADATA_EARLIER : METADATA_SAME);
        }
    char *digit = strstr(text[1], "precision = ") + 12;
    *digit = *digit == '9' ? '8' : '9';
    assert_int_equal(metadata_compare(m->nodes, text[1], n[1], &same), METADATA_OTHER);
    free(text[0]);
    free(text[1]);
    model_free(m);
}

TEST(kept_parts_give_the_same_text_and_follow_the_dictionary)
{
    char *fresh, *kept;
    size_t n;
    struct model *m = make_model(0);
    assert_int_equal(metadata_write(m->nodes, &fresh, &n), 0);
    assert_int_equal(metadata_keep(m->nodes), 0);
    assert_int_equal(metadata_write(m->nodes, &kept, &n), 0);
    assert_string_equal(kept, fresh);
    free(kept);
    static uint8_t bytes[MESSAGE_DICT_MAX];
    struct dict_aspect late = {.id = 1, .name = "late"};
    struct dict *dict;
    int grown = dict_append_aspect(bytes, 0, sizeof bytes, &late);
    assert_true(grown > 0);
    assert_int_equal(dict_parse(bytes, (size_t)grown, &dict), 0);
    model_set_dictionary(m->nodes->processes, dict);
    assert_int_equal(metadata_write(m->nodes, &kept, &n), 0);
    assert_non_null(strstr(kept, "\"late\""));
    free(kept);
    free(fresh);
    model_free(m);
}

/* The text that was written when the dictionary of the node's last process had so many strings and aspects. */
static char *earlier(struct model_node *node, uint32_t strings, uint32_t aspects, size_t *n)
{
    struct dict *dict = node->processes->dict;
    struct dict before = *dict;
    char *text;
    dict->string_count = strings;
    dict->aspect_count = aspects;
    assert_int_equal(metadata_write(node, &text, n), 0);
    *dict = before;
    return text;
}

TEST(what_was_written_before_a_dictionary_grew_is_earlier)
{
    struct model *m = make_model(5);
    struct model_process *last = m->nodes->processes;
    model_drop_process(last->next); /* the one with strings alone */
    const struct dict *dict = m->nodes->processes->dict;
    size_t n, same;
    assert_int_equal(dict->string_count, 2);
    for (uint32_t strings = 0; strings <= dict->string_count; strings++)
        for (uint32_t aspects = 0; aspects <= dict->aspect_count; aspects++) {
            bool whole = strings == dict->string_count && aspects == dict->aspect_count;
            char *text = earlier(m->nodes, strings, aspects, &n);
            assert_int_equal(metadata_compare(m->nodes, text, n, &same), whole ? METADATA_SAME : METADATA_EARLIER);
            assert_int_equal(same, n);
            text[n - 3] ^= 1; /* in the last declaration */
            assert_int_equal(metadata_compare(m->nodes, text, n, &same), METADATA_OTHER);
            assert_true(same < n);
            free(text);
        }
    model_free(m);
}

TEST(processes_of_one_pid_have_files_of_their_own)
{
    struct model *m = make_model(0);
    static struct message_process said = {.pid = 4711, .name = "again"};
    struct model_process *p[3];
    for (uint64_t i = 0; i < 3; i++) {
        said.instance = 90 + i;
        p[i] = model_add_process(m->nodes, &said);
    }
    assert_string_equal(p[0]->base, "again-4711");
    assert_string_equal(p[1]->base, "again-4711-000000000000005b");
    uint64_t processes = m->totals.processes;
    model_drop_process(p[2]);
    model_drop_process(p[0]);
    assert_int_equal(m->totals.processes, processes - 2);
    assert_string_equal(model_add_process(m->nodes, &said)->base, "again-4711"); /* the name is free again */
    assert_ptr_equal(model_find_process(m->nodes, 91), p[1]);
    model_free(m);
}
