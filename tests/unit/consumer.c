// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* <bezel/consumer.h>: what a program gets of a run, and what it is told if it asks for nonsense. */
#include <bezel/consumer.h>

#include "base/file.h"
#include "tests/lib/scratch.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { RECORDS = 300, LOST = 17 };

/* What programs were compiled with stays as it is: members are added behind these. */
#if UINTPTR_MAX == UINT64_MAX
_Static_assert(offsetof(struct bezel_consumer_options, keys) == 72 &&
                   offsetof(struct bezel_consumer_options, where) == 32 &&
                   offsetof(struct bezel_consumer_options, from_ns) == 40 &&
                   offsetof(struct bezel_consumer_options, last) == 56 &&
                   offsetof(struct bezel_consumer_options, follow) == 64,
               "the options of version 0.1");
_Static_assert(offsetof(struct bezel_consumer_item, logical_ns) == 88 &&
                   offsetof(struct bezel_consumer_item, kind) == 8 &&
                   offsetof(struct bezel_consumer_item, node) == 16 &&
                   offsetof(struct bezel_consumer_item, pid) == 40 &&
                   offsetof(struct bezel_consumer_item, fields) == 52 &&
                   offsetof(struct bezel_consumer_item, time_ns) == 56 &&
                   offsetof(struct bezel_consumer_item, lost) == 80,
               "the item of version 0.1");
_Static_assert(sizeof(struct bezel_consumer_field) == 56 && offsetof(struct bezel_consumer_field, name) == 16 &&
                   offsetof(struct bezel_consumer_field, integer) == 32 &&
                   offsetof(struct bezel_consumer_field, text) == 48,
               "the field of version 0.1");
_Static_assert(offsetof(struct bezel_consumer_totals, behind) == 40, "the totals of version 0.1");
#endif

static const uint8_t run_id[16] = "a run's identity";

/* A run of one process with two rings: 2 x RECORDS ticks and a loss. */
static struct fake_sensor *start(struct stored_run *run)
{
    struct fake_sensor *f = fake_new("desk", run_id, 1);
    fake_add_process(f, "client", 101, ROLE_SUT);
    for (unsigned ring = 0; ring < 2; ring++) {
        fake_cut(f, 0, ring, 1); /* opens it */
        fake_cut(f, 0, ring, RECORDS);
    }
    fake_lose(f, 0, 1, LOST);
    (void)!file_remove_tree(scratch_dir);
    assert_int_equal(file_make_dirs(scratch_dir, 0700), 0);
    *run = (struct stored_run){0};
    assert_int_equal(stored_start(run, scratch_dir, f, STORE_SYNC_NEVER), 0);
    assert_int_equal(stored_feed(run, UINT64_MAX), 0);
    return f;
}

static void stop(struct stored_run *run, struct fake_sensor *f)
{
    stored_end(run);
    assert_int_equal(stored_stop(run), 0);
    fake_free(f);
}

static struct bezel_consumer *open_run(const struct bezel_consumer_options *options)
{
    struct bezel_consumer *c;
    if (bezel_consumer_open(scratch_dir, options, &c) != 0)
        fail_msg("%s", bezel_consumer_reason());
    return c;
}

TEST(a_program_gets_all_records_in_order_with_their_fields)
{
    struct stored_run run;
    struct fake_sensor *f = start(&run);
    struct bezel_consumer_item item = {.size = sizeof item};
    struct bezel_consumer_field field = {.size = sizeof field};
    struct bezel_consumer_totals totals = {.size = sizeof totals};
    struct bezel_consumer *c = open_run(NULL);
    uint64_t records = 0, lost = 0, texts = 0;
    int64_t before = 0;
    int got;
    while ((got = bezel_consumer_next(c, &item, -1)) == BEZEL_CONSUMER_ITEM) {
        assert_string_equal(item.node, "desk");
        assert_string_equal(item.process, "client");
        assert_int_equal(item.pid, 101);
        assert_true(item.time_ns >= before);
        before = item.time_ns;
        lost += item.lost;
        if (item.kind == BEZEL_CONSUMER_LOSS)
            continue;
        records++;
        for (uint32_t i = 0; i < item.fields; i++) {
            assert_int_equal(bezel_consumer_get(c, i, &field), 0);
            assert_true(field.name[0] != '\0');
            if (field.type == BEZEL_CONSUMER_FLOAT64 || field.type == BEZEL_CONSUMER_INT64)
                assert_null(field.text);
            texts += field.text && field.text[0];
        }
        assert_int_equal(bezel_consumer_get(c, item.fields, &field), BEZEL_CONSUMER_EINVAL);
    }
    assert_int_equal(got, BEZEL_CONSUMER_END);
    assert_int_equal(records, fake_records(f));
    assert_int_equal(lost, LOST);
    assert_true(texts > 0);
    assert_int_equal(bezel_consumer_totals(c, &totals), 0);
    assert_int_equal(totals.records, records);
    assert_int_equal(totals.lost, lost);
    bezel_consumer_close(c);
    stop(&run, f);
}

static uint64_t count(const struct bezel_consumer_options *options)
{
    struct bezel_consumer_item item = {.size = sizeof item};
    struct bezel_consumer *c = open_run(options);
    uint64_t records = 0;
    int got;
    while ((got = bezel_consumer_next(c, &item, 0)) != BEZEL_CONSUMER_END) {
        assert_true(got > 0);
        records += got == BEZEL_CONSUMER_ITEM && item.kind == BEZEL_CONSUMER_RECORD;
    }
    bezel_consumer_close(c);
    return records;
}

TEST(options_select)
{
    struct stored_run run;
    struct fake_sensor *f = start(&run);
    struct bezel_consumer_options o = {.size = sizeof o, .last = 7};
    assert_int_equal(count(&o), 7);
    o = (struct bezel_consumer_options){.size = sizeof o, .aspect = "t*"};
    uint64_t ticks = count(&o);
    o.aspect = "frame:*";
    assert_int_equal(ticks + count(&o), fake_records(f));
    assert_true(ticks > 0 && ticks < fake_records(f));
    o = (struct bezel_consumer_options){.size = sizeof o, .node = "nowhere"};
    assert_int_equal(count(&o), 0);
    o = (struct bezel_consumer_options){.size = sizeof o, .until_ns = 1};
    assert_int_equal(count(&o), 0);
    stop(&run, f);
}

TEST(a_program_that_follows_gets_what_is_stored_later)
{
    struct stored_run run;
    struct fake_sensor *f = start(&run);
    struct bezel_consumer_options o = {.size = sizeof o, .follow = 1};
    struct bezel_consumer_item item = {.size = sizeof item};
    int lock = open(scratch_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* as a collector that serves it has it */
    assert_int_equal(flock(lock, LOCK_EX), 0);
    struct bezel_consumer *c = open_run(&o);
    uint64_t records = 0;
    int got;
    while ((got = bezel_consumer_next(c, &item, 5000)) == BEZEL_CONSUMER_ITEM && records < fake_records(f))
        if ((records += item.kind == BEZEL_CONSUMER_RECORD) == fake_records(f))
            break;
    assert_int_equal(records, fake_records(f));
    fake_cut(f, 0, 0, 5);
    assert_int_equal(stored_feed(&run, UINT64_MAX), 0);
    while (records < fake_records(f)) {
        assert_int_equal(bezel_consumer_next(c, &item, 5000), BEZEL_CONSUMER_ITEM);
        records += item.kind == BEZEL_CONSUMER_RECORD;
    }
    assert_int_equal(bezel_consumer_next(c, &item, 0), BEZEL_CONSUMER_LATER);
    close(lock);
    while ((got = bezel_consumer_next(c, &item, 5000)) == BEZEL_CONSUMER_ITEM)
        ;
    assert_int_equal(got, BEZEL_CONSUMER_END);
    bezel_consumer_close(c);
    stop(&run, f);
}

/* No test framework in a thread of its own: returns how many records it read, in `count`. */
static void *read_all(void *count)
{
    struct bezel_consumer_item item = {.size = sizeof item};
    struct bezel_consumer *c;
    int got = bezel_consumer_open(scratch_dir, NULL, &c);
    while (got >= 0 && (got = bezel_consumer_next(c, &item, -1)) > 0)
        *(uint64_t *)count += item.kind == BEZEL_CONSUMER_RECORD;
    bezel_consumer_close(c);
    return NULL;
}

TEST(several_threads_read_at_once)
{
    enum { THREADS = 4 };
    struct stored_run run;
    struct fake_sensor *f = start(&run);
    pthread_t threads[THREADS];
    uint64_t counts[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &counts[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(counts[i], fake_records(f));
    }
    stop(&run, f);
}

/* What lies behind the structs that they have is neither read nor written. */
TEST(programs_with_the_first_structs_go_on)
{
    struct stored_run run;
    struct fake_sensor *f = start(&run);
    struct bezel_consumer_options o = {.size = offsetof(struct bezel_consumer_options, keys), .last = 1};
    struct bezel_consumer_totals totals = {.size = offsetof(struct bezel_consumer_totals, behind), .behind = 4711};
    struct bezel_consumer_item item = {.size = sizeof item};
    struct bezel_consumer *c;
    o.keys = (const char *)1;
    assert_int_equal(count(&o), 1);
    o.last = 0;
    c = open_run(&o);
    assert_int_equal(bezel_consumer_next(c, &item, -1), BEZEL_CONSUMER_ITEM);
    assert_int_equal(bezel_consumer_totals(c, &totals), 0);
    assert_int_equal(totals.behind, 4711);
    totals.size--;
    assert_int_equal(bezel_consumer_totals(c, &totals), BEZEL_CONSUMER_EINVAL);
    totals.size = sizeof totals;
    assert_int_equal(bezel_consumer_totals(c, &totals), 0);
    assert_true(totals.behind > 0 && totals.behind < 1 << 20); /* only the first record was read */
    bezel_consumer_close(c);
    stop(&run, f);
}

TEST(nonsense_is_refused_with_a_reason)
{
    struct stored_run run;
    struct fake_sensor *f = start(&run);
    struct bezel_consumer *c;
    struct bezel_consumer_item item = {0};
    struct bezel_consumer_options o = {.size = sizeof o, .where = "number >"};
    assert_int_equal(bezel_consumer_open(scratch_dir, &o, &c), BEZEL_CONSUMER_EINVAL);
    assert_null(c);
    assert_non_null(strstr(bezel_consumer_reason(), "'number >'"));
    o.where = NULL;
    o.size = 0;
    assert_int_equal(bezel_consumer_open(scratch_dir, &o, &c), BEZEL_CONSUMER_EINVAL);
    assert_non_null(strstr(bezel_consumer_reason(), "sizeof"));
    assert_int_equal(bezel_consumer_open("/nonexistent", NULL, &c), BEZEL_CONSUMER_ENOENT);
    c = open_run(NULL);
    assert_int_equal(bezel_consumer_next(c, &item, 0), BEZEL_CONSUMER_EINVAL);
    bezel_consumer_close(c);
    stop(&run, f);
}

int main(void)
{
    return test_run(scratch_begin, scratch_end);
}
