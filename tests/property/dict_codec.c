// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Dictionaries against the codec that rpcgen makes of mdr.x, entry by entry. */
#include "mdr/dict.h"
#include "tests/lib/reference.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"
#include "tests/lib/text.h"

#include <stdio.h>

REFERENCE_CODEC(mdr_entry)

enum { ROUNDS = 1000, MUTATIONS = 10000 };

static uint8_t bytes[DICT_MAX_BYTES], theirs[DICT_MAX_BYTES];

/* Storage of a random aspect. */
static char name[DICT_NAME_MAX + 1], names[DICT_FIELDS_MAX][DICT_NAME_MAX + 1],
    units[DICT_FIELDS_MAX][DICT_NAME_MAX + 1], labels[DICT_FIELDS_MAX][DICT_LABELS_MAX + 1];

/* Makes `a` one of `kind`: the fields that such aspects open with come in the place of random ones. */
static void open_with_kind(struct dict_aspect *a, enum dict_kind kind)
{
    static const struct dict_field spans = {DICT_INT64, "duration", "ns", NULL},
                                   counters = {DICT_INT64, "count", "", NULL},
                                   gauges = {DICT_FLOAT64, "value", "degC", NULL},
                                   peer = {DICT_STRING, "peer", "", NULL}, tag = {DICT_INT64, "tag", "", NULL},
                                   reason = {DICT_ENUM, "reason", "1", "lock|timer"};
    uint32_t fields = kind == DICT_EVENT ? 0 : kind >= DICT_SENT ? 2 : 1;
    a->kind = kind;
    if (fields > 0)
        a->fields[0] = dict_kind_lasts(kind)  ? spans
                       : kind == DICT_COUNTER ? counters
                       : kind == DICT_GAUGE   ? gauges
                                              : peer;
    if (fields > 1)
        a->fields[1] = kind == DICT_WAIT ? reason : tag;
    if (a->field_count < fields)
        a->field_count = fields;
}

static void random_aspect(uint64_t *seed, uint32_t id, struct dict_aspect *a)
{
    int digits = snprintf(name, sizeof name, "a%u_", id); /* unique */
    text_random_name(seed, name + digits, DICT_NAME_MAX - (size_t)digits);
    *a = (struct dict_aspect){
        .id = id, .name = name, .field_count = (uint32_t)(seed_next(seed) % (DICT_FIELDS_MAX + 1))};
    for (uint32_t i = 0; i < a->field_count; i++) {
        struct dict_field *f = &a->fields[i];
        digits = snprintf(names[i], sizeof names[i], "f%u_", i);
        text_random_name(seed, names[i] + digits, DICT_NAME_MAX - (size_t)digits);
        text_random(seed, units[i], DICT_NAME_MAX);
        f->type = (enum dict_type)(seed_next(seed) % (DICT_STRING + 1));
        labels[i][0] = '\0';
        if (f->type == DICT_ENUM)
            text_random(seed, labels[i], DICT_LABELS_MAX);
        f->name = names[i];
        f->unit = units[i][0] == '\0' && seed_next(seed) & 1 ? NULL : units[i];
        f->labels = f->type == DICT_ENUM ? labels[i] : NULL;
    }
    open_with_kind(a, (enum dict_kind)(seed_next(seed) % (DICT_WAIT + 1)));
}

/* Appends a random entry to `n` bytes; 0 where it found no room. */
static size_t append_random(uint64_t *seed, size_t n, uint32_t *aspects, uint32_t *strings)
{
    int now;
    if (*aspects < DICT_ASPECTS_MAX && seed_next(seed) % 2 == 0) {
        struct dict_aspect a;
        random_aspect(seed, *aspects + 1, &a);
        now = dict_append_aspect(bytes, n, sizeof bytes, &a);
        *aspects += now > 0;
    } else {
        char text[DICT_TEXT_MAX + 1];
        text_random(seed, text, DICT_TEXT_MAX);
        now = dict_append_string(bytes, n, sizeof bytes, *strings + 1, text);
        *strings += now > 0;
    }
    assert_true(now > 0 || now == BEZEL_EFULL);
    return now > 0 ? (size_t)now : 0;
}

static size_t random_dictionary(uint64_t *seed)
{
    size_t n = 0, more;
    uint32_t aspects = 0, strings = 0;
    uint64_t wanted = seed_next(seed) % 128 == 0 ? 10000 : seed_next(seed) % 12;
    while (wanted-- > 0 && (more = append_random(seed, n, &aspects, &strings)) > 0)
        n = more;
    return n;
}

/* The kind that stands in an entry of the reference. */
static enum dict_kind kind_of(const mdr_entry *entry)
{
    switch (entry->kind) {
    case MDR_ENTRY_ASPECT:
        return DICT_EVENT;
    case MDR_ENTRY_SPAN:
        return DICT_SPAN;
    case MDR_ENTRY_COUNTER:
        return DICT_COUNTER;
    case MDR_ENTRY_GAUGE:
        return DICT_GAUGE;
    case MDR_ENTRY_SENT:
        return DICT_SENT;
    case MDR_ENTRY_RECEIVED:
        return DICT_RECEIVED;
    case MDR_ENTRY_WAIT:
        return DICT_WAIT;
    case MDR_ENTRY_STRING:
        break;
    }
    fail();
    return DICT_EVENT;
}

static void assert_same_aspect(const struct dict_aspect *a, const mdr_entry *entry)
{
    const mdr_aspect *b = &entry->mdr_entry_u.aspect;
    assert_int_equal(a->kind, kind_of(entry));
    assert_int_equal(a->id, b->id);
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->field_count, b->fields.fields_len);
    for (uint32_t i = 0; i < a->field_count; i++) {
        assert_int_equal(a->fields[i].type, b->fields.fields_val[i].type);
        assert_string_equal(a->fields[i].name, b->fields.fields_val[i].name);
        assert_string_equal(a->fields[i].unit, b->fields.fields_val[i].unit);
        assert_string_equal(a->fields[i].labels, b->fields.fields_val[i].labels);
    }
}

/* The `n` bytes, read by both, are the same entries, and the reference writes them so. */
static void assert_reference_agrees(const struct dict *d, size_t n)
{
    uint32_t aspects = 0, strings = 0;
    for (size_t at = 0; at < n;) {
        mdr_entry entry = {0};
        long took = decode_mdr_entry(bytes + at, n - at, &entry);
        assert_true(took > 0);
        assert_int_equal(encode_mdr_entry(&entry, theirs, sizeof theirs), took);
        assert_memory_equal(bytes + at, theirs, (size_t)took);
        if (entry.kind != MDR_ENTRY_STRING) {
            assert_true(aspects < d->aspect_count);
            assert_same_aspect(&d->aspects[aspects++], &entry);
        } else {
            assert_true(strings < d->string_count);
            assert_string_equal(d->strings[strings++], entry.mdr_entry_u.text.text);
            assert_int_equal(strings, entry.mdr_entry_u.text.id);
        }
        free_mdr_entry(&entry);
        at += (size_t)took;
    }
    assert_int_equal(aspects, d->aspect_count);
    assert_int_equal(strings, d->string_count);
    assert_int_equal(aspects + strings, d->entry_count);
}

static void dictionaries_have_the_bytes_and_fields_of_the_reference(void **state)
{
    uint64_t *seed = *state;
    for (int round = 0; round < ROUNDS; round++) {
        struct dict *d;
        size_t n = random_dictionary(seed);
        assert_int_equal(dict_parse(bytes, n, &d), 0);
        assert_reference_agrees(d, n);
        dict_free(d);
    }
}

/*
 * What dict_append_aspect() was given is what both read; the property above would not see two fields changed for
 * another.
 */
static void an_aspect_keeps_its_fields(void **state)
{
    uint64_t *seed = *state;
    for (int round = 0; round < ROUNDS; round++) {
        struct dict_aspect a;
        mdr_entry entry = {0};
        random_aspect(seed, 1, &a);
        int n = dict_append_aspect(bytes, 0, sizeof bytes, &a);
        assert_true(n > 0);
        assert_int_equal(decode_mdr_entry(bytes, (size_t)n, &entry), n);
        for (uint32_t i = 0; i < a.field_count; i++) {
            a.fields[i].unit = a.fields[i].unit ? a.fields[i].unit : "";
            a.fields[i].labels = a.fields[i].labels ? a.fields[i].labels : "";
        }
        assert_same_aspect(&a, &entry);
        free_mdr_entry(&entry);
    }
}

static void what_is_accepted_is_the_reference_s_own_form(void **state)
{
    uint64_t *seed = *state;
    unsigned accepted = 0;
    for (int round = 0; round < MUTATIONS; round++) {
        struct dict *d;
        uint32_t aspects = 0, strings = 0;
        size_t n = 0;
        for (int i = 0; i < 3; i++)
            n = append_random(seed, n, &aspects, &strings);
        bytes[seed_next(seed) % (n + 1)] ^=
            (uint8_t)(1u << seed_next(seed) % 8); /* or one behind: nothing looks there */
        if (dict_parse(bytes, n, &d) != 0)
            continue;
        accepted++;
        assert_reference_agrees(d, n);
        dict_free(d);
    }
    assert_in_range(accepted, MUTATIONS / 50, MUTATIONS - MUTATIONS / 50);
}

int main(void)
{
    uint64_t seed = seed_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(dictionaries_have_the_bytes_and_fields_of_the_reference, &seed),
        cmocka_unit_test_prestate(an_aspect_keeps_its_fields, &seed),
        cmocka_unit_test_prestate(what_is_accepted_is_the_reference_s_own_form, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
