// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/external/expiry.h"

#include "base/clock.h"
#include "bezel/sensor.h"
#include "config/experiment.h"
#include "sensor/shm/journal.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/one_record.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

BEZEL_ASPECT(bounded, (int64, number, "1"));
BEZEL_ASPECT(unbounded, (int64, number, "1"));

enum { BOUNDED = 30, WATCH_BOUNDED = 5, WATCH_UNBOUNDED };

static const struct experiment_rule rules[] = {{(char *)"b*", 100 * CLOCK_MS}, {NULL, 0}};
static const struct experiment_rule patient[] = {{(char *)"b*", 3600 * CLOCK_S}, {NULL, 0}};

static uint64_t shown[WATCH_UNBOUNDED + 1];

static int begin(void *context, const char *name, enum message_role role, uint64_t started)
{
    (void)context;
    (void)role;
    (void)started;
    (void)name;
    return 0;
}

static int watch(void *context, int slot, enum message_role role, const struct dict_aspect *aspect)
{
    (void)role;
    (void)context;
    (void)slot;
    return strcmp(aspect->name, "bounded") == 0 ? WATCH_BOUNDED : WATCH_UNBOUNDED;
}

static void show(void *context, int number, const struct packet_run *run)
{
    (void)context;
    assert_true(run->count > 0);
    for (uint32_t i = 0; i < run->count; i++) {
        const struct packet_record r = packet_run_record(run, i);
        assert_true(packet_value(&r, 0) < BOUNDED);
    }
    shown[number] += run->count;
}

static void record_both(void *unused)
{
    (void)unused;
    for (int i = 0; i < BOUNDED; i++) {
        bezel_record(bounded, i);
        bezel_record(unbounded, i);
    }
}

/* In place: an open fixture holds its own address. */
static void open_fixture(struct fixture *f, const struct experiment_rule *expire, bool observed)
{
    *f = (struct fixture){.options = {.batch = true, .take_all = true, .expire = expire}};
    if (observed)
        f->options.observer = (struct external_observer){NULL, begin, NULL, watch, show, NULL, NULL, NULL, NULL, NULL};
    memset(shown, 0, sizeof shown);
    fixture_open(f);
}

static const struct expiry *expiry_of(struct fixture *f)
{
    const struct external_process *p = external_process(f->external, 0);
    return p ? p->expiry : NULL;
}

static bool all_stored(struct fixture *f)
{
    return f->records == 2 * BOUNDED;
}

static void end(struct fixture *f)
{
    fixture_until(f, all_stored); /* whatever expired is stored all the same */
    fixture_end(f);
}

TEST(of_rules_that_match_the_last_counts)
{
    const struct experiment_rule list[] = {
        {(char *)"*", 4}, {(char *)"frame_*", 3}, {(char *)"frame_shown", 0}, {NULL, 7}};
    assert_int_equal(expiry_bound(NULL, "tick"), 0);
    assert_int_equal(expiry_bound(list + 3, "tick"), 0);
    assert_int_equal(expiry_bound(list, "tick"), 4);
    assert_int_equal(expiry_bound(list, "frame_sent"), 3);
    assert_int_equal(expiry_bound(list, "frame_shown"), 0);
}

/* The process lives, as one whose records somebody looks at does. */
static void poll_at_age(struct fixture *f, int64_t age)
{
    fixture_wait(fixture_spawn(record_both, NULL));
    external_poll(f->external, clock_now() + age);
}

TEST(what_is_older_than_its_bound_is_counted_and_not_shown)
{
    struct fixture f;
    open_fixture(&f, rules, true);
    poll_at_age(&f, CLOCK_S);
    const struct expiry *e = expiry_of(&f);
    assert_int_equal(e->bound[1], 100 * CLOCK_MS);
    assert_int_equal(e->bound[2], 0);
    assert_int_equal(e->taken[1], BOUNDED);
    assert_int_equal(e->expired[1], BOUNDED);
    assert_int_equal(e->taken[2], 0);
    assert_int_equal(external_counts(f.external)->expired, BOUNDED);
    assert_int_equal(shown[WATCH_BOUNDED], 0);
    assert_int_equal(shown[WATCH_UNBOUNDED], BOUNDED);
    end(&f);
}

static void take(struct fixture *f, int64_t time, int64_t now)
{
    expiry_take(f->external, external_process(f->external, 0), ONE_RECORD(time, 1, (uint64_t[]){0}), now);
}

TEST(what_is_as_old_as_its_bound_is_young_enough)
{
    struct fixture f;
    open_fixture(&f, rules, true);
    poll_at_age(&f, 0);
    uint64_t before = expiry_of(&f)->expired[1], seen = shown[WATCH_BOUNDED];
    take(&f, 5000, 5000 + 100 * CLOCK_MS);
    assert_int_equal(expiry_of(&f)->expired[1], before);
    assert_int_equal(shown[WATCH_BOUNDED], seen + 1);
    take(&f, 5000, 5000 + 100 * CLOCK_MS + 1);
    assert_int_equal(expiry_of(&f)->expired[1], before + 1);
    assert_int_equal(shown[WATCH_BOUNDED], seen + 1);
    end(&f);
}

TEST(what_bezel_records_of_itself_does_not_expire)
{
    static const struct experiment_rule all[] = {{(char *)"*", 100 * CLOCK_MS}, {NULL, 0}};
    static const struct dict_aspect own = {.name = "own", .field_count = 1, .fields = {{DICT_INT64, "n", "1", ""}}};
    struct fixture f;
    open_fixture(&f, all, true);
    struct journal *j;
    setenv("BEZEL_PROCESS", "bezeld", 1); /* which this is, with the sensor that reads it */
    assert_int_equal(journal_open(f.dir, &own, 1, &j), 0);
    unsetenv("BEZEL_PROCESS");
    fixture_turn(&f);
    journal_record(j, 1, (uint64_t[]){1});
    external_poll(f.external, clock_now() + CLOCK_S);
    assert_int_equal(external_process(f.external, 0)->role, ROLE_DAEMON);
    assert_null(expiry_of(&f));
    assert_int_equal(external_counts(f.external)->expired, 0);
    journal_close(j);
    fixture_end(&f);
}

TEST(what_is_young_enough_is_shown)
{
    struct fixture f;
    open_fixture(&f, patient, true);
    poll_at_age(&f, 0);
    assert_int_equal(expiry_of(&f)->taken[1], BOUNDED);
    assert_int_equal(expiry_of(&f)->expired[1], 0);
    assert_int_equal(shown[WATCH_BOUNDED], BOUNDED);
    assert_int_equal(shown[WATCH_UNBOUNDED], BOUNDED);
    end(&f);
}

TEST(it_is_counted_where_nobody_looks)
{
    struct fixture f;
    open_fixture(&f, rules, false);
    poll_at_age(&f, CLOCK_S);
    assert_int_equal(expiry_of(&f)->expired[1], BOUNDED);
    end(&f);
}

TEST(it_is_counted_of_a_process_that_has_ended)
{
    struct fixture f;
    open_fixture(&f, rules, true);
    fixture_wait(fixture_spawn(record_both, NULL));
    external_housekeep(f.external, clock_now() + CLOCK_S); /* finds, and drains it, without a poll */
    for (int i = 0; i < 3 && (!expiry_of(&f) || expiry_of(&f)->taken[1] == 0); i++)
        external_housekeep(f.external, clock_now() + (i + 2) * CLOCK_S);
    assert_int_equal(expiry_of(&f)->taken[1], BOUNDED);
    assert_int_equal(expiry_of(&f)->expired[1], BOUNDED);
    assert_int_equal(shown[WATCH_BOUNDED], 0);
    end(&f);
}

TEST(without_rules_there_is_nothing)
{
    struct fixture f;
    open_fixture(&f, NULL, true);
    poll_at_age(&f, CLOCK_S);
    assert_null(expiry_of(&f));
    assert_int_equal(shown[WATCH_BOUNDED], BOUNDED);
    end(&f);
}

TEST(a_process_is_not_removed_before_its_expiry_is_reported)
{
    struct fixture f;
    open_fixture(&f, rules, true);
    poll_at_age(&f, CLOCK_S);
    struct external_process *p = external_process(f.external, 0);
    assert_false(expiry_is_reported(p));
    p->expiry->reported[1] = p->expiry->taken[1];
    assert_true(expiry_is_reported(p));
    end(&f);
}

int main(void)
{
    setenv("BEZEL_CLOCK", "monotonic", 1); /* ages are of that clock, to the nanosecond */
    return test_run(NULL, NULL);
}
