// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Dictionaries: what is appended is read back, and nothing else is read. */
#include "mdr/dict.h"
#include "base/utf8.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static uint8_t bytes[DICT_MAX_BYTES];

static const struct dict_aspect frame_shown = {
    .id = 1,
    .name = "frame_shown",
    .field_count = 3,
    .fields = {{.type = DICT_INT64, .name = "frame"},
               {.type = DICT_ENUM, .name = "kind", .labels = "key|delta|"},
               {.type = DICT_FLOAT64, .name = "latency", .unit = "\xC2\xB5s"}},
};

/* A dictionary of one aspect and one string; returns its bytes. */
static size_t small_dictionary(void)
{
    int n = dict_append_aspect(bytes, 0, sizeof bytes, &frame_shown);
    assert_true(n > 0);
    n = dict_append_string(bytes, (size_t)n, sizeof bytes, 1, "studio");
    assert_true(n > 0);
    return (size_t)n;
}

static void assert_refused(const void *at, size_t n)
{
    struct dict *d = NULL;
    assert_int_equal(dict_parse(at, n, &d), BEZEL_EMALFORMED);
    assert_null(d);
}

TEST(what_is_appended_is_read_back)
{
    size_t n = small_dictionary();
    struct dict *d;
    assert_int_equal(dict_parse(bytes, n, &d), 0);
    assert_int_equal(d->aspect_count, 1);
    assert_int_equal(d->string_count, 1);
    assert_string_equal(d->strings[0], "studio");
    const struct dict_aspect *a = &d->aspects[0];
    assert_int_equal(a->id, 1);
    assert_string_equal(a->name, "frame_shown");
    assert_int_equal(a->field_count, 3);
    assert_int_equal(d->field_counts[1], 3);
    assert_int_equal(a->fields[1].type, DICT_ENUM);
    assert_string_equal(a->fields[1].labels, "key|delta|");
    assert_string_equal(a->fields[1].unit, "");
    assert_string_equal(a->fields[2].name, "latency");
    assert_string_equal(a->fields[2].unit, "\xC2\xB5s");
    assert_true(d->hash == hash_fnv64(HASH_FNV64_START, bytes, n));
    dict_free(d);
}

TEST(earlier_versions_are_included)
{
    int first = dict_append_aspect(bytes, 0, sizeof bytes, &frame_shown);
    uint64_t hash = hash_fnv64(HASH_FNV64_START, bytes, (size_t)first);
    struct dict *d;
    assert_int_equal(dict_parse(bytes, small_dictionary(), &d), 0);
    assert_true(dict_includes(d, d->hash));
    assert_true(dict_includes(d, hash));
    assert_true(dict_includes(d, HASH_FNV64_START));
    assert_false(dict_includes(d, hash ^ 1));
    dict_free(d);
}

TEST(the_empty_dictionary_is_one)
{
    struct dict *d;
    assert_int_equal(dict_parse("", 0, &d), 0);
    assert_int_equal(d->entry_count, 0);
    assert_true(d->hash == HASH_FNV64_START);
    dict_free(d);
    dict_free(NULL);
}

TEST(names_are_bounded_and_plain)
{
    char longest[DICT_NAME_MAX + 2];
    memset(longest, 'x', sizeof longest);
    longest[DICT_NAME_MAX] = '\0';
    assert_true(dict_name_ok(longest));
    longest[DICT_NAME_MAX] = 'x';
    longest[DICT_NAME_MAX + 1] = '\0';
    assert_false(dict_name_ok(longest));
    assert_true(dict_name_ok("Frame_2.x:y"));
    assert_true(dict_name_ok("."));
    for (const char *const *bad = (const char *const[]){"", "2x", "a b", "a-b", "\xC3\xA4", "a\n", NULL}; *bad; bad++)
        assert_false(dict_name_ok(*bad));
}

TEST(texts_fit_by_whole_characters)
{
    assert_int_equal(utf8_fit("abc", 2), 2);
    assert_int_equal(utf8_fit("abc", 9), 3);
    assert_int_equal(utf8_fit("a\xE2\x82\xAC", 3), 1); /* a euro sign cut in two */
    assert_int_equal(utf8_fit("a\xE2\x82\xAC", 4), 4);
    assert_int_equal(utf8_fit("\xF4\x8F\xBF\xBF", 4), 4); /* U+10FFFF */
    static const char *const bad[] = {"\x80",
                                      "\xC0\x80",
                                      "\xC1\xBF",
                                      "\xE0\x9F\xBF",
                                      "\xED\xA0\x80",
                                      "\xF0\x8F\xBF\xBF",
                                      "\xF4\x90\x80\x80",
                                      "\xF5\x80\x80\x80",
                                      "\xC3",
                                      "\xC3(",
                                      "\xE2\x82",
                                      "\xFF"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(utf8_fit(bad[i], strlen(bad[i])), 0);
}

TEST(bytes_that_are_no_text_are_escaped_and_different_texts_stay_different)
{
    static const char *const pairs[][2] = {{"caf\xE9 noir", "caf\\xE9 noir"},
                                           {"caf\xE9 rouge", "caf\\xE9 rouge"},
                                           {"caf\xE8", "caf\\xE8"},
                                           {"caf", "caf"},
                                           {"\xE2\x82\xAC", "\xE2\x82\xAC"},
                                           {"\xE2\x82", "\\xE2\\x82"},
                                           {"\xFF\xFE", "\\xFF\\xFE"},
                                           {"", ""},
                                           {"caf\\xE9 noir", "caf\\x5CxE9 noir"},
                                           {"\\x5CxE9", "\\x5Cx5CxE9"},
                                           {"C:\\xyz\\n\\", "C:\\xyz\\n\\"},
                                           {"\\x41", "\\x41"},
                                           {"\\xe9", "\\xe9"},
                                           {"\\x", "\\x"}};
    char to[64];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_int_equal(utf8_escape(to, sizeof to - 1, pairs[i][0]), strlen(pairs[i][1]));
        assert_string_equal(to, pairs[i][1]);
        assert_int_equal(to[utf8_fit(to, sizeof to)], '\0');
    }
    assert_int_equal(utf8_escape(to, 6, "abc\xE9"), 3); /* no half escape */
    assert_int_equal(utf8_escape(to, 7, "abc\xE9"), 7);
    assert_int_equal(utf8_escape(to, 4, "abc\xC3\xA4"), 3);
    utf8_repair(to, sizeof to - 1, "a\\xE9\xE9");
    assert_string_equal(to, "a\\xE9\\xE9");
}

TEST(what_breaks_a_limit_is_not_appended)
{
    static char text[DICT_LABELS_MAX + 2];
    struct dict_aspect a = frame_shown;
    a.id = 0;
    assert_int_equal(dict_append_aspect(bytes, 0, sizeof bytes, &a), BEZEL_EINVAL);
    a.id = DICT_ASPECTS_MAX + 1;
    assert_int_equal(dict_append_aspect(bytes, 0, sizeof bytes, &a), BEZEL_EINVAL);
    a = frame_shown;
    a.field_count = DICT_FIELDS_MAX + 1;
    assert_int_equal(dict_append_aspect(bytes, 0, sizeof bytes, &a), BEZEL_EINVAL);
    a = frame_shown;
    a.fields[2].name = a.fields[0].name;
    assert_int_equal(dict_append_aspect(bytes, 0, sizeof bytes, &a), BEZEL_EINVAL);
    a = frame_shown;
    a.fields[0].labels = "a|b"; /* of no enum */
    assert_int_equal(dict_append_aspect(bytes, 0, sizeof bytes, &a), BEZEL_EINVAL);
    a = frame_shown;
    a.fields[0].unit = "\xFF";
    assert_int_equal(dict_append_aspect(bytes, 0, sizeof bytes, &a), BEZEL_EINVAL);
    memset(text, 'x', sizeof text - 1);
    a = frame_shown;
    a.fields[1].labels = text;
    assert_int_equal(dict_append_aspect(bytes, 0, sizeof bytes, &a), BEZEL_EINVAL);
    a.fields[1].labels = text + 1;
    assert_true(dict_append_aspect(bytes, 0, sizeof bytes, &a) > 0);
    text[DICT_TEXT_MAX + 1] = '\0';
    assert_int_equal(dict_append_string(bytes, 0, sizeof bytes, 1, text), BEZEL_EINVAL);
    assert_true(dict_append_string(bytes, 0, sizeof bytes, 1, text + 1) > 0);
    assert_int_equal(dict_append_string(bytes, 0, sizeof bytes, 0, "x"), BEZEL_EINVAL);
    assert_int_equal(dict_append_string(bytes, 0, sizeof bytes, DICT_STRINGS_MAX + 1, "x"), BEZEL_EINVAL);
}

TEST(a_full_dictionary_says_so)
{
    size_t n = small_dictionary();
    for (size_t capacity = 0; capacity < n; capacity++) {
        int first = dict_append_aspect(bytes, 0, capacity, &frame_shown);
        if (first > 0)
            first = dict_append_string(bytes, (size_t)first, capacity, 1, "studio");
        assert_int_equal(first, BEZEL_EFULL);
    }
    assert_int_equal(dict_append_string(bytes, 8, 4, 1, ""), BEZEL_EFULL);
    assert_int_equal(dict_append_string(bytes, DICT_MAX_BYTES, (size_t)DICT_MAX_BYTES * 2, 1, ""), BEZEL_EFULL);
}

TEST(every_torn_or_longer_form_is_refused)
{
    int entry = dict_append_aspect(bytes, 0, sizeof bytes, &frame_shown);
    size_t n = small_dictionary();
    for (size_t cut = 1; cut < n; cut++)
        if (cut != (size_t)entry)
            assert_refused(bytes, cut);
    memset(bytes + n, 0, 4);
    for (size_t more = 1; more <= 4; more++)
        assert_refused(bytes, n + more);
    assert_refused(bytes, sizeof bytes + 1);
}

/* Writes `v` at `at`, sees it refused, and puts the old bytes back. */
static void assert_spoilt(size_t n, size_t at, uint32_t v)
{
    uint32_t good = bytes_get_u32(bytes + at);
    struct dict *d;
    bytes_put_u32(bytes + at, v);
    assert_refused(bytes, n);
    bytes_put_u32(bytes + at, good);
    assert_int_equal(dict_parse(bytes, n, &d), 0);
    dict_free(d);
}

TEST(wrong_words_are_refused)
{
    size_t n = small_dictionary();
    assert_spoilt(n, 0, 0); /* kind of entry */
    assert_spoilt(n, 0, 3); /* a span has a duration */
    assert_spoilt(n, 0, 7);
    assert_spoilt(n, 0, 8);
    assert_spoilt(n, 4, 2);  /* id out of order */
    assert_spoilt(n, 8, 0);  /* no name */
    assert_spoilt(n, 8, 64); /* a long one */
    assert_spoilt(n, 8, UINT32_MAX);
    assert_spoilt(n, 12, 0x66006100);          /* NUL in a name */
    assert_spoilt(n, 20, 0x6f776e01);          /* padding: "own" and a byte that should be 0 */
    assert_spoilt(n, 24, DICT_FIELDS_MAX + 1); /* count of fields */
    assert_spoilt(n, 24, 2);                   /* the third field is no entry */
    assert_spoilt(n, 28, DICT_STRING + 1);     /* type */
    assert_spoilt(n, n - 8, 0x73747500);       /* NUL in a string */
    assert_spoilt(n, n - 8, 0x737475ff);       /* no UTF-8 */
    assert_spoilt(n, n - 16, 2);               /* id of a string */
}

/* An aspect of each kind, with one field behind those that the kind has. */
static const struct dict_aspect of_kinds[] = {
    {.kind = DICT_EVENT, .field_count = 1, .fields = {{.type = DICT_STRING, .name = "more"}}},
    {.kind = DICT_SPAN,
     .field_count = 2,
     .fields = {{.type = DICT_INT64, .name = "duration", .unit = "ns"}, {.type = DICT_STRING, .name = "more"}}},
    {.kind = DICT_COUNTER,
     .field_count = 2,
     .fields = {{.type = DICT_INT64, .name = "count"}, {.type = DICT_STRING, .name = "more"}}},
    {.kind = DICT_GAUGE,
     .field_count = 2,
     .fields = {{.type = DICT_FLOAT64, .name = "value"}, {.type = DICT_STRING, .name = "more"}}},
    {.kind = DICT_SENT,
     .field_count = 3,
     .fields = {{.type = DICT_STRING, .name = "peer"},
                {.type = DICT_INT64, .name = "tag"},
                {.type = DICT_STRING, .name = "more"}}},
    {.kind = DICT_RECEIVED,
     .field_count = 3,
     .fields = {{.type = DICT_STRING, .name = "peer"},
                {.type = DICT_INT64, .name = "tag"},
                {.type = DICT_STRING, .name = "more"}}},
    {.kind = DICT_WAIT,
     .field_count = 3,
     .fields = {{.type = DICT_INT64, .name = "duration", .unit = "ns"},
                {.type = DICT_ENUM, .name = "reason", .labels = "timer|message"},
                {.type = DICT_STRING, .name = "more"}}},
};

TEST(kinds_are_appended_and_read_back)
{
    struct dict *d;
    int n = 0;
    for (uint32_t i = 0; i <= DICT_WAIT; i++) {
        struct dict_aspect a = of_kinds[i];
        a.id = i + 1;
        a.name = dict_kind_name(a.kind);
        n = dict_append_aspect(bytes, (size_t)n, sizeof bytes, &a);
        assert_true(n > 0);
    }
    assert_int_equal(dict_parse(bytes, (size_t)n, &d), 0);
    assert_int_equal(d->aspect_count, DICT_WAIT + 1);
    for (uint32_t i = 0; i <= DICT_WAIT; i++) {
        assert_int_equal(d->aspects[i].kind, i);
        assert_int_equal(d->aspects[i].field_count, of_kinds[i].field_count);
    }
    assert_string_equal(d->aspects[DICT_RECEIVED].name, "received");
    assert_string_equal(dict_kind_name((enum dict_kind)(DICT_WAIT + 1)), "?");
    dict_free(d);
}

/* Neither appended, nor read where it stands in the bytes of an entry of another kind. */
static void assert_no_aspect_of(enum dict_kind kind, struct dict_aspect a)
{
    a.id = 1;
    a.name = "a";
    a.kind = kind;
    assert_int_equal(dict_append_aspect(bytes, 0, sizeof bytes, &a), BEZEL_EINVAL);
    a.kind = DICT_EVENT;
    int n = dict_append_aspect(bytes, 0, sizeof bytes, &a);
    assert_true(n > 0);
    bytes_put_u32(bytes, 2 + (uint32_t)kind);
    assert_refused(bytes, (size_t)n);
}

/* Whether what opens aspects of `kind` opens those of `other` too: messages have the same, and a wait is a span. */
static int opens_like(enum dict_kind kind, enum dict_kind other)
{
    int message = kind == DICT_SENT || kind == DICT_RECEIVED, too = other == DICT_SENT || other == DICT_RECEIVED;
    return (message && too) || (kind == DICT_WAIT && other == DICT_SPAN);
}

TEST(a_kind_has_its_fields)
{
    for (enum dict_kind kind = DICT_SPAN; kind <= DICT_WAIT; kind++) {
        uint32_t own = of_kinds[kind].field_count - 1;
        for (uint32_t i = 0; i < own; i++) {
            struct dict_aspect a = of_kinds[kind];
            a.field_count = i; /* one too few */
            assert_no_aspect_of(kind, a);
            a = of_kinds[kind];
            a.fields[i].name = "other";
            assert_no_aspect_of(kind, a);
            a = of_kinds[kind];
            a.fields[i].type = a.fields[i].type == DICT_ENUM ? DICT_INT64 : DICT_ENUM;
            a.fields[i].labels = NULL;
            assert_no_aspect_of(kind, a);
        }
        for (enum dict_kind other = DICT_SPAN; other <= DICT_WAIT; other++)
            if (other != kind && !opens_like(kind, other))
                assert_no_aspect_of(other, of_kinds[kind]);
        assert_no_aspect_of((enum dict_kind)(DICT_WAIT + 1), of_kinds[kind]);
    }
    struct dict_aspect a = of_kinds[DICT_SPAN];
    a.fields[0].unit = "us";
    assert_no_aspect_of(DICT_SPAN, a);
    a = of_kinds[DICT_WAIT];
    a.fields[0].unit = "us";
    assert_no_aspect_of(DICT_WAIT, a);
}

TEST(a_wait_waits_for_what_is_known)
{
    static const char *const good[] = {"message", "lock", "io", "timer", "other", "lock|other|io"};
    static const char *const bad[] = {"", "Lock", "loc", "locks", "lock|", "|lock", "lock||io", "lock|luck", "lock,io"};
    struct dict_aspect a = of_kinds[DICT_WAIT];
    a.id = 1;
    a.name = "a";
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct dict *d;
        a.fields[1].labels = good[i];
        int n = dict_append_aspect(bytes, 0, sizeof bytes, &a);
        assert_true(n > 0);
        assert_int_equal(dict_parse(bytes, (size_t)n, &d), 0);
        assert_string_equal(dict_reason(&d->aspects[0]), good[i]);
        dict_free(d);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        a.fields[1].labels = bad[i];
        assert_no_aspect_of(DICT_WAIT, a);
    }
    assert_string_equal(dict_reason(&of_kinds[DICT_SPAN]), "");
}

TEST(a_duration_may_be_unknown)
{
    struct dict_aspect span = of_kinds[DICT_SPAN], received = of_kinds[DICT_RECEIVED];
    span.fields[1] = (struct dict_field){.type = DICT_INT64, .name = "waited", .unit = "ns"};
    received.fields[2] = span.fields[1];
    assert_true(dict_is_duration(&span, 0) && !dict_is_duration(&span, 1));
    assert_true(dict_is_duration(&of_kinds[DICT_WAIT], 0) && !dict_is_duration(&of_kinds[DICT_WAIT], 1));
    assert_true(dict_is_duration(&received, 2) && !dict_is_duration(&received, 1));
    received.fields[2].unit = "us";
    assert_false(dict_is_duration(&received, 2));
    received.fields[2] = span.fields[1];
    received.kind = DICT_SENT;
    assert_false(dict_is_duration(&received, 2));
    assert_false(dict_is_duration(&of_kinds[DICT_COUNTER], 0));
}

TEST(names_are_unique)
{
    struct dict_aspect a = frame_shown;
    int n = dict_append_aspect(bytes, 0, sizeof bytes, &a);
    a.id = 2;
    n = dict_append_aspect(bytes, (size_t)n, sizeof bytes, &a);
    assert_true(n > 0);
    assert_refused(bytes, (size_t)n);

    a = (struct dict_aspect){.id = 1, .name = "x", .field_count = 2, .fields = {{.name = "aa"}, {.name = "bb"}}};
    n = dict_append_aspect(bytes, 0, sizeof bytes, &a);
    uint8_t *second = memmem(bytes, (size_t)n, "bb", 2);
    memcpy(second, "aa", 2);
    assert_refused(bytes, (size_t)n);
}

/* As many aspects and strings as there may be, and one more. */
TEST(counts_are_bounded)
{
    char name[16];
    int n = 0;
    struct dict *d;
    for (uint32_t id = 1; id <= DICT_ASPECTS_MAX; id++) {
        snprintf(name, sizeof name, "a%u", id);
        n = dict_append_aspect(bytes, (size_t)n, sizeof bytes, &(struct dict_aspect){.id = id, .name = name});
    }
    int aspects = n;
    for (uint32_t id = 1; id <= DICT_STRINGS_MAX; id++)
        n = dict_append_string(bytes, (size_t)n, sizeof bytes, id, "");
    assert_true(n > 0);
    assert_int_equal(dict_parse(bytes, (size_t)n, &d), 0);
    assert_int_equal(d->aspect_count, DICT_ASPECTS_MAX);
    assert_int_equal(d->string_count, DICT_STRINGS_MAX);
    assert_int_equal(d->entry_count, DICT_ASPECTS_MAX + DICT_STRINGS_MAX);
    dict_free(d);

    int one_more = dict_append_string(bytes, (size_t)n, sizeof bytes, DICT_STRINGS_MAX, "");
    bytes_put_u32(bytes + n + 4, DICT_STRINGS_MAX + 1);
    assert_refused(bytes, (size_t)one_more);
    one_more = dict_append_aspect(bytes, (size_t)aspects, sizeof bytes, &frame_shown);
    bytes_put_u32(bytes + aspects + 4, DICT_ASPECTS_MAX + 1);
    assert_refused(bytes, (size_t)one_more);
}
