// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Everything in <bezel/sensor.h>, used from C and from C++: what was said is what arrives, under the name that it was
 * given.
 */
#include "mdr/dict.h"
#include "tests/lib/every_aspect.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void api_cc(void); /* in C++ */

static const struct dict *dictionary(struct fixture *f)
{
    return external_process(f->external, 0)->at->dict;
}

/* ---- Every shape ------------------------------------------------------------------------------------------------- */

static void record_every(void *unused)
{
    (void)unused;
    EVERY_RECORD();
}

static void *record_in_cxx(void *unused)
{
    api_cc();
    return unused;
}

static void record_every_in_cxx(void *unused)
{
    pthread_t t;
    (void)unused;
    if (pthread_create(&t, NULL, record_in_cxx, NULL) != 0)
        _exit(1);
    pthread_join(t, NULL);
}

static void check_every(struct fixture *f, const struct packet_header *h, const struct packet_record *r,
                        const char *aspect)
{
    char name[8];
    (void)h;
    if (strcmp(aspect, "constructed") == 0 || strcmp(aspect, "namespaced") == 0)
        return;
    uint64_t *next = f->context, count = (*next)++;
    snprintf(name, sizeof name, "of%u", (unsigned)count);
    assert_string_equal(aspect, name);
    assert_int_equal(r->value_count, count);
    for (uint32_t k = 0; k < r->value_count; k++)
        assert_int_equal(packet_value(r, k),
                         k % 4 == 1 ? bezel_value_float64(EVERY_FIRST + k) : (uint64_t)EVERY_FIRST + k);
}

static void check_descriptions(struct fixture *f)
{
    static const enum dict_type types[] = {DICT_INT64, DICT_FLOAT64, DICT_ENUM, DICT_STRING};
    for (uint32_t count = 0; count < EVERY_COUNT; count++) {
        char name[8];
        snprintf(name, sizeof name, "of%u", count);
        const struct dict_aspect *a = fixture_aspect(f, name);
        assert_non_null(a);
        assert_int_equal(a->field_count, count);
        for (uint32_t k = 0; k < count; k++) {
            assert_string_equal(a->fields[k].name, ((char[]){(char)('a' + k), '\0'}));
            assert_int_equal(a->fields[k].type, types[k % 4]);
            assert_string_equal(a->fields[k].unit, k % 4 == 1 ? "ms" : "1");
            assert_string_equal(a->fields[k].labels, k % 4 == 2 ? EVERY_LABELS : "");
        }
    }
}

TEST(every_shape_of_aspect_arrives_from_c)
{
    uint64_t next = 0;
    struct fixture f = {.record = check_every, .context = &next};
    fixture_observe(&f, record_every);
    assert_int_equal(next, EVERY_COUNT);
    check_descriptions(&f);
    fixture_end(&f);
}

TEST(every_shape_of_aspect_arrives_from_cxx)
{
    uint64_t next = 0;
    struct fixture f = {.record = check_every, .context = &next};
    fixture_observe(&f, record_every_in_cxx);
    assert_int_equal(next, EVERY_COUNT);
    assert_int_equal(f.records, EVERY_COUNT + 3); /* the thread's object came and went */
    assert_non_null(fixture_aspect(&f, "namespaced"));
    check_descriptions(&f);
    fixture_end(&f);
}

TEST(values_become_eight_bytes)
{
    assert_true(bezel_value_int64(-1) == UINT64_MAX);
    assert_true(bezel_value_enum(7) == 7);
    assert_true(bezel_value_float64(1.0) == UINT64_C(0x3ff0000000000000));
    assert_true(bezel_value_string(every_string(9)) == 9);
}

TEST(the_version_is_the_headers)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", BEZEL_VERSION_MAJOR, BEZEL_VERSION_MINOR, BEZEL_VERSION_PATCH);
    assert_string_equal(bezel_version(), version);
}

/* ---- Aspects declared at run time -------------------------------------------------------------------------------- */

static const struct bezel_field number[] = {{BEZEL_TYPE_int64, "number", "1", NULL}};
static const struct bezel_field other[] = {{BEZEL_TYPE_int64, "number", "km", NULL}};
static const struct bezel_field no_unit[] = {{BEZEL_TYPE_int64, "number", NULL, NULL}};

static struct bezel_aspect by_hand(const char *name, uint32_t count, const struct bezel_field *fields)
{
    return (struct bezel_aspect){.enable = &bezel_enable_unset, .name = name, .field_count = count, .fields = fields};
}

static void emit(struct bezel_aspect *a, uint64_t value)
{
    uint64_t values[BEZEL_FIELDS_MAX] = {value};
    bezel_emit(a, values);
}

static void declare_twice(void *unused)
{
    (void)unused;
    static struct bezel_aspect first, twin, stranger, bare, bare_twin;
    first = by_hand("doubled", 1, number);
    twin = by_hand("doubled", 1, number);
    stranger = by_hand("doubled", 1, other);
    bare = by_hand("bare", 1, no_unit);
    bare_twin = by_hand("bare", 1, no_unit);
    struct bezel_aspect *all[] = {&first, &twin, &stranger, &bare, &bare_twin};
    bezel_aspect_register(&first);
    emit(&first, 1); /* declared from here on; the others are when they register */
    for (int i = 1; i < 5; i++)
        bezel_aspect_register(all[i]);
    for (int i = 1; i < 5; i++)
        emit(all[i], (uint64_t)i + 1);
}

static void check_doubled(struct fixture *f, const struct packet_header *h, const struct packet_record *r,
                          const char *aspect)
{
    (void)h;
    uint64_t v = packet_value(r, 0);
    *(uint64_t *)f->context |= UINT64_C(1) << v;
    assert_string_equal(aspect, v < 3 ? "doubled" : "bare");
}

TEST(an_aspect_declared_twice_is_one_unless_its_fields_differ)
{
    uint64_t seen = 0;
    struct fixture f = {.record = check_doubled, .context = &seen};
    fixture_observe(&f, declare_twice);
    assert_int_equal(seen, 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5);
    assert_string_equal(fixture_aspect(&f, "doubled")->fields[0].unit, "1");
    assert_string_equal(fixture_aspect(&f, "bare")->fields[0].unit, "");
    fixture_end(&f);
}

static void declare_what_cannot_be(void *unused)
{
    (void)unused;
    static struct bezel_aspect bad[5], good, many[300], never_registered;
    static char names[300][16];
    struct bezel_field too_many[13];
    for (int i = 0; i < 13; i++)
        too_many[i] = number[0];
    bad[0] = by_hand("", 0, NULL);
    bad[1] = by_hand("two words", 0, NULL);
    bad[2] = by_hand("sixty_four_bytes_are_one_more_than_a_name_may_have_0123456789_1234", 0, NULL);
    bad[3] = by_hand("too_many", 13, too_many);
    bad[4] = by_hand("doubled_field", 2, (struct bezel_field[]){number[0], number[0]});
    good = by_hand("good", 1, number);
    never_registered = by_hand("never_registered", 1, number);
    for (int i = 0; i < 5; i++)
        bezel_aspect_register(&bad[i]);
    bezel_aspect_register(&good);
    for (int i = 0; i < 5; i++)
        emit(&bad[i], 1);
    emit(&never_registered, 1);
    emit(&good, 2);
    for (int i = 0; i < 300; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        many[i] = by_hand(names[i], 0, NULL);
        bezel_aspect_register(&many[i]);
        emit(&many[i], 3);
    }
}

TEST(what_cannot_be_declared_is_not_recorded_and_hurts_nobody)
{
    struct fixture f = {.options = {.batch = true}};
    fixture_observe(&f, declare_what_cannot_be);
    assert_non_null(fixture_aspect(&f, "good"));
    assert_null(fixture_aspect(&f, "too_many"));
    assert_int_equal(dictionary(&f)->aspect_count, DICT_ASPECTS_MAX);
    /* one record of each that is declared here, but of those that nobody recorded: this program's own */
    assert_int_equal(f.records,
                     1 + DICT_ASPECTS_MAX - (uint32_t)(fixture_aspect(&f, "good") - dictionary(&f)->aspects + 1));
    fixture_end(&f);
}

/* ---- Strings ----------------------------------------------------------------------------------------------------- */

static void intern_many(void *unused)
{
    (void)unused;
    char text[400], shorter[400];
    memset(text, 'x', sizeof text);
    text[399] = '\0';
    memcpy(shorter, text, sizeof text);
    shorter[DICT_TEXT_MAX] = '\0';
    bezel_string a = bezel_intern("one"), b = bezel_intern("two"), c = bezel_intern(text), empty = bezel_intern("");
    if (a.id != 1 || b.id != 2 || c.id != 3 || empty.id != 4)
        _exit(1);
    if (bezel_intern("one").id != 1 || bezel_intern(shorter).id != 3 || bezel_intern("").id != 4)
        _exit(2);
    uint32_t given = 4;
    for (int i = 0; i < 6000; i++) {
        snprintf(text, sizeof text, "%d", i);
        bezel_string s = bezel_intern(text);
        if (s.id != 0 && s.id != ++given)
            _exit(3);
        if (i > 5000 && s.id != 0)
            _exit(4); /* there is room for some thousands, and then no more */
    }
    if (given < 1000 || bezel_intern("0").id != 5)
        _exit(5);
    bezel_record(of1, given); /* declared, although strings took all the room that they may */
    static struct bezel_aspect late;
    late = by_hand("late", 1, number);
    bezel_aspect_register(&late); /* and so are aspects that come with a library later */
    emit(&late, 1);
}

TEST(strings_have_one_id_each_until_there_is_no_room)
{
    struct fixture f = {.options = {.batch = true}};
    fixture_observe(&f, intern_many);
    assert_int_equal(f.records, 2);
    assert_string_equal(dictionary(&f)->strings[1], "two");
    assert_int_equal(strlen(dictionary(&f)->strings[2]), DICT_TEXT_MAX);
    fixture_end(&f);
}

static const char *const foreign[][2] = {{"caf\xE9 noir", "caf\\xE9 noir"},
                                         {"caf\xE9 rouge", "caf\\xE9 rouge"},
                                         {"caf", "caf"},
                                         {"\xFC", "\\xFC"},
                                         {"\xE9", "\\xE9"}};
enum { FOREIGN = sizeof foreign / sizeof *foreign };

static void intern_foreign(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < FOREIGN; i++)
        if (bezel_intern(foreign[i][0]).id != i + 1)
            _exit(1);
    bezel_record(of1, 1);
}

TEST(texts_of_another_encoding_stay_different_and_whole)
{
    struct fixture f = {.options = {.batch = true}};
    fixture_observe(&f, intern_foreign);
    for (size_t i = 0; i < FOREIGN; i++)
        assert_string_equal(dictionary(&f)->strings[i], foreign[i][1]);
    fixture_end(&f);
}
