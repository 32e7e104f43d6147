// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Golden bytes: what a version wrote must be read for ever, and written the same. The files in tests/golden/v1 (packets
 * and dictionaries) and v2 (messages) were made once, by this program with the argument --write, from the samples of
 * tests/lib. They never change; what a version gains gets files of its own, another version a folder of its own.
 */
#include "base/file.h"
#include "mdr/dict.h"
#include "mdr/message.h"
#include "tests/lib/read_samples.h"
#include "tests/lib/samples.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN BEZEL_SOURCE_DIR "/tests/golden"

static uint8_t sample[SAMPLE_BYTES], again[SAMPLE_BYTES];
static struct message m;

static const char *path_of(const char *name)
{
    static char path[1024];
    bool is_message = strncmp(name, "message-", sizeof "message-" - 1) == 0;
    snprintf(path, sizeof path, "%s/v%d/%s.bin", GOLDEN, is_message ? MESSAGE_VERSION : PACKET_VERSION, name);
    return path;
}

/* The file called `name`, which must be equal to the `n` bytes of `sample`; the caller frees it. */
static char *golden(const char *name, size_t n)
{
    char *bytes = NULL;
    size_t size = 0;
    assert_int_equal(file_read(path_of(name), SAMPLE_BYTES, &bytes, &size), 0);
    assert_int_equal(size, n);
    assert_memory_equal(bytes, sample, n);
    return bytes;
}

TEST(packets_read_and_write_the_golden_bytes)
{
    static const enum packet_kind kinds[SAMPLE_PACKETS] = {PACKET_OPEN, PACKET_DATA, PACKET_LOSS, PACKET_DATA,
                                                           PACKET_CLOSE};
    struct dict *d;
    assert_int_equal(dict_parse(sample, sample_dictionary(sample), &d), 0);
    for (int i = 0; i < SAMPLE_PACKETS; i++) {
        size_t n = sample_packet(i, sample);
        char *bytes = golden(sample_packet_name(i), n);
        struct packet_header h;
        assert_int_equal(packet_get_header(bytes, n, &h), 0);
        assert_int_equal(h.kind, kinds[i]);
        assert_int_equal(h.seq, i);
        assert_true(dict_includes(d, h.dictionary));
        assert_int_equal(packet_check((uint8_t *)bytes, &h, d->field_counts, d->aspect_count, NULL), 0);
        packet_put_header(again, &h);
        assert_memory_equal(again, bytes, PACKET_HEADER_BYTES);
        free(bytes);
    }
    dict_free(d);
}

TEST(the_golden_data_packet_holds_its_records)
{
    struct packet_header h;
    struct packet_record r;
    struct dict *d;
    size_t offset = PACKET_HEADER_BYTES, n;
    assert_int_equal(dict_parse(sample, sample_dictionary(sample), &d), 0);
    n = sample_packet(1, sample);
    char *bytes = golden("packet-1-data", n);
    const uint8_t *p = (uint8_t *)bytes;
    assert_int_equal(packet_get_header(p, n, &h), 0);
    assert_int_equal(packet_next_record(p, &h, d->field_counts, d->aspect_count, &offset, &r), 1);
    assert_string_equal(d->aspects[r.aspect - 1].name, "tick");
    assert_int_equal(r.timestamp, 2000000);
    assert_int_equal(packet_next_record(p, &h, d->field_counts, d->aspect_count, &offset, &r), 1);
    assert_string_equal(d->aspects[r.aspect - 1].name, "frame_shown");
    assert_int_equal(packet_value(&r, 0), 41);
    assert_true(packet_value(&r, 1) == UINT64_C(0x4029000000000000)); /* 12.5 */
    assert_int_equal(packet_value(&r, 2), 1);
    assert_string_equal(d->strings[packet_value(&r, 3) - 1], "studio");
    assert_int_equal(packet_next_record(p, &h, d->field_counts, d->aspect_count, &offset, &r), 0);
    free(bytes);
    dict_free(d);
}

/* A dictionary of one aspect of each kind from `first`, whose bytes are the `n` of `sample`. */
static void kinds_are_golden(const char *name, size_t n, enum dict_kind first)
{
    char *bytes = golden(name, n);
    struct dict *d;
    int size = 0;
    assert_int_equal(dict_parse(bytes, n, &d), 0);
    for (uint32_t i = 0; i < d->aspect_count; i++) {
        assert_int_equal(d->aspects[i].kind, first + i);
        size = dict_append_aspect(again, (size_t)size, sizeof again, &d->aspects[i]);
    }
    assert_int_equal(size, n);
    assert_memory_equal(again, bytes, n);
    dict_free(d);
    free(bytes);
}

TEST(the_dictionary_of_kinds_reads_and_writes_the_golden_bytes)
{
    kinds_are_golden("dictionary-kinds", sample_kinds(sample), DICT_SPAN);
    kinds_are_golden("dictionary-wait", sample_wait(sample), DICT_WAIT);
}

TEST(the_dictionary_reads_and_writes_the_golden_bytes)
{
    size_t n = sample_dictionary(sample);
    char *bytes = golden("dictionary", n);
    struct dict *d;
    assert_int_equal(dict_parse(bytes, n, &d), 0);
    int size = dict_append_aspect(again, 0, sizeof again, &d->aspects[0]);
    size = dict_append_aspect(again, (size_t)size, sizeof again, &d->aspects[1]);
    size = dict_append_string(again, (size_t)size, sizeof again, 1, d->strings[0]);
    assert_int_equal(size, n);
    assert_memory_equal(again, bytes, n);
    dict_free(d);
    free(bytes);
}

static size_t encoded(void)
{
    int n = message_encode(&m, sample, sizeof sample);
    assert_true(n > 0);
    return (size_t)n;
}

/* `m` and the file called `name` are the same message. */
static void assert_golden_message(const char *name)
{
    enum message_type type = m.type;
    size_t n = encoded();
    char *bytes = golden(name, n);
    memset(&m, 0xA5, sizeof m);
    assert_int_equal(message_decode(bytes, n, &m), 0);
    assert_int_equal(m.type, type);
    assert_int_equal(message_encode(&m, again, sizeof again), n);
    assert_memory_equal(again, bytes, n);
    free(bytes);
}

TEST(messages_read_and_write_the_golden_bytes)
{
    for (size_t i = 0; i < sample_type_count; i++) {
        sample_message(sample_types[i], &m);
        assert_golden_message(sample_message_name(sample_types[i]));
    }
    sample_aspects(&m);
    assert_golden_message("message-command-aspects");
    sample_poll(&m);
    assert_golden_message("message-command-poll");
    sample_knob(&m);
    assert_golden_message("message-command-knob");
    sample_save(&m);
    assert_golden_message("message-command-save");
    sample_configure(&m);
    assert_golden_message("message-command-configure");
    sample_query(&m);
    assert_golden_message("message-command-query");
    for (enum message_answer answer = ANSWER_REFUSED; answer <= ANSWER_SEGMENTS; answer++) {
        sample_reply(answer, &m);
        assert_golden_message(sample_reply_name(answer));
    }
}

/* Sample `i` of the messages of consumers, in `sample`: its size, and the name of its file. */
static size_t encoded_read(unsigned i, char name[64])
{
    struct read_message read;
    snprintf(name, 64, "message-read-%s", read_sample(i, &read));
    int n = read_message_encode(&read, sample, sizeof sample);
    assert_true(n > 0);
    return (size_t)n;
}

TEST(messages_of_consumers_read_and_write_the_golden_bytes)
{
    struct read_message read;
    char name[64];
    for (unsigned i = 0; i < READ_SAMPLES; i++) {
        size_t n = encoded_read(i, name);
        char *bytes = golden(name, n);
        assert_int_equal(read_message_decode(bytes, n, &read), 0);
        assert_int_equal(read_message_encode(&read, again, sizeof again), n);
        assert_memory_equal(again, bytes, n);
        free(bytes);
    }
}

/* Reads the hex digits that stand before ';' in a line, behind its offset; returns where the bytes end. */
static uint8_t *read_hex_line(const char *line, uint8_t *to)
{
    unsigned byte;
    int digits = 0;
    for (line += strcspn(line, " "); *line != ';' && *line != '\0'; line += digits) {
        line += strspn(line, " ");
        digits = 0;
        if (sscanf(line, "%2x%n", &byte, &digits) != 1)
            break;
        *to++ = (uint8_t)byte;
    }
    return to;
}

/* The block of bytes that begins at or behind *text, which is moved behind it, is the `n` bytes of `sample`. */
static void assert_example(char **text, size_t n)
{
    uint8_t *end = again;
    char *line, *rest = NULL, *block = strstr(*text, "```hex\n");
    assert_non_null(block);
    char *behind = strstr(block + 7, "```");
    *behind = '\0';
    for (line = strtok_r(block + 7, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        end = read_hex_line(line, end);
    assert_int_equal(end - again, n);
    assert_memory_equal(again, sample, n);
    *text = behind + 1;
}

TEST(the_worked_examples_of_the_document_are_golden)
{
    char *text, name[64];
    size_t size;
    assert_int_equal(file_read(BEZEL_SOURCE_DIR "/docs/WIRE.md", 1 << 20, &text, &size), 0);
    char *at = text;
    assert_example(&at, sample_packet(1, sample));
    assert_example(&at, encoded_read(5, name));
    assert_string_equal(name, "message-read-records");
    free(text);
}

static int write_golden(const char *name, size_t n)
{
    int err = file_replace(path_of(name), sample, n);
    printf("%s: %s\n", path_of(name), err ? err_text(err) : "written");
    return err;
}

static int write_all(void)
{
    int err = write_golden("dictionary", sample_dictionary(sample));
    err |= write_golden("dictionary-kinds", sample_kinds(sample));
    err |= write_golden("dictionary-wait", sample_wait(sample));
    for (int i = 0; i < SAMPLE_PACKETS; i++)
        err |= write_golden(sample_packet_name(i), sample_packet(i, sample));
    for (size_t i = 0; i < sample_type_count; i++) {
        sample_message(sample_types[i], &m);
        err |= write_golden(sample_message_name(sample_types[i]), encoded());
    }
    sample_aspects(&m);
    err |= write_golden("message-command-aspects", encoded());
    sample_poll(&m);
    err |= write_golden("message-command-poll", encoded());
    sample_knob(&m);
    err |= write_golden("message-command-knob", encoded());
    sample_save(&m);
    err |= write_golden("message-command-save", encoded());
    sample_configure(&m);
    err |= write_golden("message-command-configure", encoded());
    sample_query(&m);
    err |= write_golden("message-command-query", encoded());
    for (enum message_answer answer = ANSWER_REFUSED; answer <= ANSWER_SEGMENTS; answer++) {
        sample_reply(answer, &m);
        err |= write_golden(sample_reply_name(answer), encoded());
    }
    for (unsigned i = 0; i < READ_SAMPLES; i++) {
        char name[64];
        size_t n = encoded_read(i, name);
        err |= write_golden(name, n);
    }
    return err ? 1 : 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--write") == 0)
        return write_all();
    return test_run(NULL, NULL);
}
