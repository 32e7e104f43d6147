// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* <bezel/kinds.h> and <bezel/sensor.hpp>, used from C and from C++: what was said is what arrives, and of which kind.
 */
#include "mdr/dict.h"
#include "sensor/external/external_internal.h"
#include "sensor/external/user_clock.h"
#include "tests/lib/every_kind.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void kinds_cc(void); /* in C++ */
void kinds_scopes_cc(void);

/* What arrived. */
struct arrived {
    const char *const *names; /* in their order */
    uint32_t count, next;
    bool exact;          /* the clock's ticks are nanoseconds: durations fit timestamps to the last */
    int64_t marks[5];    /* times, by number */
    int64_t cpu;         /* CPU time of the thread so far, ns */
    int64_t span_ns[16]; /* durations, in their order */
    uint32_t spans;
};

/* ---- Every kind -------------------------------------------------------------------------------------------------- */

static void use_monotonic_clock(void)
{
    setenv("BEZEL_CLOCK", "monotonic", 1);
}

static void record_every(void *unused)
{
    (void)unused;
    KINDS_RECORD();
}

static void record_every_monotonic(void *unused)
{
    use_monotonic_clock();
    record_every(unused);
}

static void record_every_in_cxx(void *unused)
{
    (void)unused;
    use_monotonic_clock();
    kinds_cc();
}

static const char *const every[] = {"mark",      "mark",      "counted",   "level", "sent0",  "sent10", "received0",
                                    "received1", "received2", "received2", "used",  "used",   "span0",  "mark",
                                    "span2",     "mark",      "span0",     "wait0", "wait10", "span11"};

static void check_span2(struct arrived *a, const struct packet_record *r)
{
    int64_t end = (int64_t)r->timestamp, ns = (int64_t)packet_value(r, 0);
    assert_int_equal(packet_value(r, 1), 11);
    assert_int_equal(packet_value(r, 2), 12);
    assert_true(end >= a->marks[3]);
    if (a->exact)
        assert_in_range(end - ns, a->marks[1], a->marks[2]);
}

/* It waited from between mark 2 and this record; the second one does not know. */
static void check_waited(struct arrived *a, const struct packet_record *r)
{
    int64_t ns = (int64_t)packet_value(r, 3), end = (int64_t)r->timestamp;
    bool knows = packet_value(r, 1) == 11;
    assert_int_equal(packet_value(r, 2), knows ? 64 : 65);
    assert_true(knows ? ns >= (a->exact ? 0 : -1) : ns == -1);
    if (knows && a->exact)
        assert_true(end - ns >= a->marks[2]);
}

/* The record read the thread's CPU clock after its argument did, and before the argument of the next one. */
static void check_cpu(struct arrived *a, const struct packet_record *r)
{
    assert_true((int64_t)packet_value(r, 0) >= a->cpu);
    a->cpu = (int64_t)packet_value(r, 1);
    assert_true(a->cpu > 0 && a->cpu >= (int64_t)packet_value(r, 0));
}

static void check_values(struct arrived *a, const struct packet_record *r, const char *name)
{
    if (strcmp(name, "mark") == 0) {
        a->marks[packet_value(r, 0)] = (int64_t)r->timestamp;
    } else if (strcmp(name, "counted") == 0) {
        assert_int_equal(packet_value(r, 0), 7);
    } else if (strcmp(name, "level") == 0) {
        assert_true(packet_value(r, 0) == bezel_value_float64(-1.5));
    } else if (strcmp(name, "sent10") == 0) {
        assert_int_equal(packet_value(r, 0), 5);
        assert_int_equal(packet_value(r, 1), 7);
        assert_int_equal(packet_value(r, 10), 9);
        assert_true(packet_value(r, 11) == bezel_value_float64(0.5));
    } else if (strcmp(name, "received1") == 0) {
        assert_int_equal(packet_value(r, 0), 8);
        assert_int_equal(packet_value(r, 1), 10);
        assert_int_equal(packet_value(r, 2), 1);
    } else if (strcmp(name, "received2") == 0) {
        check_waited(a, r);
    } else if (strcmp(name, "used") == 0) {
        check_cpu(a, r);
    } else if (strcmp(name, "span2") == 0) {
        check_span2(a, r);
    } else if (strncmp(name, "wait", 4) == 0) {
        assert_true((int64_t)packet_value(r, 0) >= -1);
        assert_int_equal(packet_value(r, 1), 0); /* its only reason */
        if (strcmp(name, "wait10") == 0) {
            assert_int_equal(packet_value(r, 10), 9);
            assert_true(packet_value(r, 11) == bezel_value_float64(0.5));
        }
    } else if (strcmp(name, "span11") == 0) {
        assert_int_equal(packet_value(r, 10), 10);
        assert_true(packet_value(r, 11) == bezel_value_float64(0.5));
    }
    if (strncmp(name, "span", 4) == 0)
        a->span_ns[a->spans++] = (int64_t)packet_value(r, 0);
}

static void check_record(struct fixture *f, const struct packet_header *h, const struct packet_record *r,
                         const char *aspect)
{
    struct arrived *a = f->context;
    (void)h;
    assert_true(a->next < a->count);
    assert_string_equal(aspect, a->names[a->next++]);
    check_values(a, r, aspect);
}

static void check_kinds(struct fixture *f)
{
    static const struct {
        const char *name;
        enum dict_kind kind;
        uint32_t fields;
        const char *first, *unit;
    } expected[] = {{"mark", DICT_EVENT, 1, "n", "1"},
                    {"span0", DICT_SPAN, 1, "duration", "ns"},
                    {"span2", DICT_SPAN, 3, "duration", "ns"},
                    {"span11", DICT_SPAN, 12, "duration", "ns"},
                    {"counted", DICT_COUNTER, 1, "count", "B"},
                    {"level", DICT_GAUGE, 1, "value", "degC"},
                    {"sent0", DICT_SENT, 2, "peer", "1"},
                    {"sent10", DICT_SENT, 12, "peer", "1"},
                    {"received0", DICT_RECEIVED, 2, "peer", "1"},
                    {"received1", DICT_RECEIVED, 3, "peer", "1"},
                    {"wait0", DICT_WAIT, 2, "duration", "ns"},
                    {"wait10", DICT_WAIT, 12, "duration", "ns"}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct dict_aspect *a = fixture_aspect(f, expected[i].name);
        assert_non_null(a);
        assert_int_equal(a->kind, expected[i].kind);
        assert_int_equal(a->field_count, expected[i].fields);
        assert_string_equal(a->fields[0].name, expected[i].first);
        assert_string_equal(a->fields[0].unit, expected[i].unit);
    }
    assert_string_equal(dict_reason(fixture_aspect(f, "wait0")), "lock");
    assert_string_equal(dict_reason(fixture_aspect(f, "wait10")), "message");
}

static void check_every(void (*body)(void *context), bool exact)
{
    struct arrived a = {.names = every, .count = sizeof every / sizeof *every, .exact = exact};
    struct fixture f = {.record = check_record, .context = &a};
    fixture_observe(&f, body);
    assert_int_equal(a.next, a.count);
    check_kinds(&f);
    assert_int_equal(a.spans, 4);
    for (uint32_t i = 0; i < a.spans; i++)
        assert_true(a.span_ns[i] >= (exact ? 0 : -1));
    assert_int_equal(a.span_ns[2], 1234);
    if (exact)
        assert_true(a.span_ns[0] <= a.span_ns[1]); /* the inner one */
    fixture_end(&f);
}

TEST(every_kind_arrives_from_c)
{
    check_every(record_every_monotonic, true);
}

TEST(every_kind_arrives_with_the_clock_that_is_chosen)
{
    check_every(record_every, false);
}

TEST(every_kind_arrives_from_cxx)
{
    check_every(record_every_in_cxx, true);
}

/* ---- Spans ------------------------------------------------------------------------------------------------------- */

/* Ends of spans that are not to be recorded; those of span2 are. */
static void span_while_disabled(void *unused)
{
    static const uint32_t off = 0;
    (void)unused;
    bezel_span early = bezel_begin(span0);
    const uint32_t *on = bezel_aspect_span0.enable;
    bezel_aspect_span0.enable = &off;
    bezel_end(span0, early);
    bezel_span begun = bezel_begin(span0);
    bezel_aspect_span0.enable = on;
    if (begun.begun)
        _exit(1);
    bezel_end(span0, begun);
    bezel_end(span2, bezel_begin(span2), 11, kinds_string(12));
}

TEST(a_span_of_a_disabled_aspect_is_not_recorded)
{
    static const char *const names[] = {"span2"};
    struct arrived a = {.names = names, .count = 1};
    struct fixture f = {.record = check_record, .context = &a};
    fixture_observe(&f, span_while_disabled);
    assert_int_equal(a.next, 1);
    fixture_end(&f);
}

static void *end_span(void *span)
{
    bezel_end(span0, *(bezel_span *)span);
    return NULL;
}

static void end_in_another_thread(void *unused)
{
    pthread_t t;
    (void)unused;
    bezel_span span = bezel_begin(span0);
    if (!span.begun || pthread_create(&t, NULL, end_span, &span) != 0)
        _exit(1);
    pthread_join(t, NULL);
}

TEST(a_span_may_end_in_another_thread)
{
    static const char *const names[] = {"span0"};
    struct arrived a = {.names = names, .count = 1};
    struct fixture f = {.record = check_record, .context = &a};
    fixture_observe(&f, end_in_another_thread);
    assert_int_equal(a.next, 1);
    fixture_end(&f);
}

/* A clock that the test moves. */
static uint64_t moved;

static uint64_t moved_clock(void)
{
    return moved;
}

static void span_by_the_moved_clock(uint64_t begin, uint64_t end)
{
    moved = begin;
    bezel_span span = bezel_begin(span0);
    moved = end;
    bezel_end(span0, span);
}

static void spans_of_a_users_clock(void *unused)
{
    (void)unused;
    if (bezel_clock(moved_clock, 1000000) != 0)
        _exit(1);
    span_by_the_moved_clock(5000000, 5000123);
    span_by_the_moved_clock(5000123, 5000123);
    span_by_the_moved_clock(6000000, 5999999);
}

TEST(a_span_lasts_what_its_clock_says)
{
    static const char *const names[] = {"span0", "span0", "span0"};
    struct arrived a = {.names = names, .count = 3};
    struct fixture f = {.record = check_record, .context = &a};
    fixture_observe(&f, spans_of_a_users_clock);
    assert_int_equal(a.spans, 3);
    assert_int_equal(a.span_ns[0], 123000);
    assert_int_equal(a.span_ns[1], 0);
    assert_int_equal(a.span_ns[2], -1); /* the clock ran backwards */
    fixture_end(&f);
}

static void spans_of_a_fast_clock(void *unused)
{
    (void)unused;
    if (bezel_clock(moved_clock, UINT64_C(4000000000)) != 0)
        _exit(1);
    span_by_the_moved_clock(5000000, 5000001);
    span_by_the_moved_clock(5000001, 5000004);
    span_by_the_moved_clock(5000004, 5000009);
    span_by_the_moved_clock(5000010, 5000009);
}

/* Ticks of a quarter of a nanosecond: less than one is no time, but known. */
TEST(a_span_below_a_nanosecond_lasts_none)
{
    static const char *const names[] = {"span0", "span0", "span0", "span0"};
    struct arrived a = {.names = names, .count = 4};
    struct fixture f = {.record = check_record, .context = &a};
    fixture_observe(&f, spans_of_a_fast_clock);
    assert_int_equal(a.spans, 4);
    assert_int_equal(a.span_ns[0], 0);
    assert_int_equal(a.span_ns[1], 0);
    assert_int_equal(a.span_ns[2], 1);
    assert_int_equal(a.span_ns[3], -1); /* the clock ran backwards */
    fixture_end(&f);
}

/* The counter has no rate before anybody reads the process. */
static void span_of_a_counter_without_a_rate(void *unused)
{
    (void)unused;
    setenv("BEZEL_CLOCK", "counter", 1);
    bezel_record(mark, 1);
    if (bezel_clock_is_counter && (bezel_span_ns(1000, 1001) != -1 || bezel_span_ns(1000, 1000000000) != -1))
        _exit(1);
}

TEST(a_span_before_the_rate_is_known_is_minus_one)
{
    char dir[SCRATCH_PATH];
    scratch_make(dir);
    setenv("BEZEL_DIR", dir, 1);
    assert_int_equal(fixture_wait(fixture_spawn(span_of_a_counter_without_a_rate, NULL)), 0);
    scratch_remove(dir);
}

static void many_by_the_moved_clock(void *unused)
{
    (void)unused;
    moved = 7000000;
    if (bezel_clock(moved_clock, 1000000) != 0)
        _exit(1);
    for (; moved < 7000100; moved++)
        bezel_record(mark, 1);
}

/* A later pair must not change what times mean that were converted already. */
TEST(a_users_clock_is_settled_up_to_the_last_record)
{
    struct fixture f = {0};
    fixture_observe(&f, many_by_the_moved_clock);
    const struct external_process *p = external_process(f.external, 0);
    assert_true(p && p->user_clock);
    assert_int_equal(p->user_clock->timebase.sealed, 7000099);
    fixture_end(&f);
}

TEST(time_that_is_not_known_is_minus_one)
{
    assert_int_equal(bezel_span_ns(1000, 1000), 0);
    assert_int_equal(bezel_span_ns(1000, 999), -1); /* backwards */
    assert_int_equal(bezel_span_ns(UINT64_MAX, 0), bezel_ticks_ns(1));
}

static void scopes(void *unused)
{
    (void)unused;
    kinds_scopes_cc();
}

static void check_scope(struct fixture *f, const struct packet_header *h, const struct packet_record *r,
                        const char *aspect)
{
    int64_t *seen = f->context;
    (void)h;
    if (strcmp(aspect, "scoped") == 0)
        seen[++seen[0]] = (int64_t)packet_value(r, 1);
}

/* Each scope of kinds_cc.cc records a number that tells how it was left, at its end. */
TEST(a_scope_records_its_span_however_it_is_left)
{
    int64_t seen[16] = {0};
    static const int64_t expected[] = {2, 1, 3, 4, 5};
    struct fixture f = {.record = check_scope, .context = seen};
    fixture_observe(&f, scopes);
    assert_int_equal(seen[0], 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(seen[1 + i], expected[i]);
    fixture_end(&f);
}

/* ---- Aspects declared at run time -------------------------------------------------------------------------------- */

static void declare(struct bezel_aspect *a, const char *name, uint32_t kind, uint32_t count,
                    const struct bezel_field *fields)
{
    a->enable = &bezel_enable_unset;
    a->name = name;
    a->kind = kind;
    a->field_count = count;
    a->fields = fields;
    bezel_aspect_register(a);
    const uint64_t values[] = {1, 2};
    bezel_emit(a, values);
}

/* By hand: a counter with a field more, twice; an event that has the same fields; kinds that lack theirs, or are none.
 */
static void declare_kinds(void *unused)
{
    static struct bezel_aspect counter, twin, event, bad[3];
    static const struct bezel_field fields[] = {{BEZEL_TYPE_int64, "count", "1", NULL},
                                                {BEZEL_TYPE_int64, "more", "1", NULL}};
    (void)unused;
    declare(&counter, "by_hand", BEZEL_KIND_counter, 2, fields);
    declare(&twin, "by_hand", BEZEL_KIND_counter, 2, fields);
    declare(&event, "by_hand", BEZEL_KIND_event, 2, fields);
    declare(&bad[0], "no_span", BEZEL_KIND_span, 2, fields);
    declare(&bad[1], "no_gauge", BEZEL_KIND_gauge, 0, NULL);
    declare(&bad[2], "no_kind", BEZEL_KIND_wait + 1, 2, fields);
}

static void check_by_hand(struct fixture *f, const struct packet_header *h, const struct packet_record *r,
                          const char *aspect)
{
    (void)f, (void)h, (void)r;
    assert_string_equal(aspect, "by_hand");
}

TEST(a_kind_is_part_of_an_aspect_and_has_its_fields)
{
    struct fixture f = {.record = check_by_hand};
    fixture_observe(&f, declare_kinds);
    assert_int_equal(f.records, 2);
    assert_int_equal(fixture_aspect(&f, "by_hand")->kind, DICT_COUNTER);
    assert_int_equal(fixture_aspect(&f, "by_hand")->field_count, 2);
    assert_null(fixture_aspect(&f, "no_span"));
    assert_null(fixture_aspect(&f, "no_gauge"));
    assert_null(fixture_aspect(&f, "no_kind"));
    assert_non_null(fixture_aspect(&f, "bezel_undeclared"));
    fixture_end(&f);
}

/* ---- What is declared last of all -------------------------------------------------------------------------------- */

static int ready[2], go[2];
static pid_t last_words; /* of whoever is about to say them; 0: nobody is */

bool __real_segment_alive(const struct attached *a);
bool __wrap_segment_alive(const struct attached *a);

/* Between what was read of it and the question whether it lives, the process declares something, and ends. */
bool __wrap_segment_alive(const struct attached *a)
{
    if (last_words) {
        assert_int_equal(write(go[1], "", 1), 1);
        assert_int_equal(fixture_wait(last_words), 0);
        last_words = 0;
    }
    return __real_segment_alive(a);
}

static void declare_and_end(void *unused)
{
    static struct bezel_aspect first, last;
    static const struct bezel_field fields[] = {{BEZEL_TYPE_int64, "count", "1", NULL},
                                                {BEZEL_TYPE_int64, "more", "1", NULL}};
    char c;
    (void)unused;
    declare(&first, "by_hand", BEZEL_KIND_counter, 2, fields);
    if (write(ready[1], "", 1) != 1 || read(go[0], &c, 1) != 1)
        _exit(1);
    declare(&last, "no_gauge", BEZEL_KIND_gauge, 0, NULL);
}

TEST(what_a_process_declares_before_it_ends_is_known)
{
    char c;
    struct fixture f = {.record = check_by_hand, .options = {.batch = true, .take_all = true}};
    assert_int_equal(pipe(ready) | pipe(go), 0);
    fixture_open(&f);
    pid_t pid = fixture_spawn(declare_and_end, NULL);
    assert_int_equal(read(ready[0], &c, 1), 1);
    while (f.records == 0)
        fixture_turn(&f);
    last_words = pid;
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(last_words, 0);
    assert_non_null(fixture_aspect(&f, "bezel_undeclared"));
    fixture_end(&f);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(go[i]);
    }
}
