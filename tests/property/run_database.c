// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What the database of a run says to its readers: how they order records, and what processes record; also where it is
 * hostile. BEZEL_SEED repeats.
 */
#include "base/clock.h"
#include "run/read/run_reader_internal.h"
#include "tests/lib/grown_run.h"
#include "tests/lib/test.h"

#include <limits.h>
#include <string.h>

static struct run_reader *open_reader(const char *run, const struct record_filter *f)
{
    struct run_reader *r;
    assert_int_equal(run_reader_open(run, f, &r), 0);
    return r;
}

/* Whether `far`, which was not heard for `silence` ns, is waited for where property order.wait is `text`. */
static bool is_waited_for(const char *text, int64_t silence)
{
    static struct grown g;
    struct watermarks *file;
    struct record_item item;
    grown_open(&g, "wait");
    assert_int_equal(rundb_put(g.rundb, RUNDB_ORDER_WAIT, text), 0);
    assert_int_equal(rundb_commit(g.rundb), 0);
    assert_int_equal(watermarks_open(g.run, &file), 0);
    for (unsigned i = 0; i < 2; i++)
        append(&g, get_process(&g, 0, 0), 0, 9, g.begin + CLOCK_S, g.begin + 2 * CLOCK_S);
    struct watermark mark = {.low = (int64_t)g.begin, .at = clock_now() - silence};
    memcpy(mark.uuid, get_node(&g, 1)->uuid, sizeof mark.uuid);
    watermarks_put(file, watermarks_add(file), &mark);
    struct run_reader *r = open_reader(g.run, &RECORD_FILTER_ALL);
    assert_int_equal(run_reader_look(r, RUN_READER_HOLD), 0);
    int more = run_reader_next(r, &item);
    assert_true(more >= 0);
    run_reader_close(r);
    watermarks_close(file);
    grown_close(&g);
    return more == 0;
}

TEST(the_run_says_how_long_a_silent_node_is_waited_for)
{
    assert_true(is_waited_for("60000000000", 10 * CLOCK_S));
    assert_false(is_waited_for("60000000000", 70 * CLOCK_S));
    assert_false(is_waited_for("1000000000", 2 * CLOCK_S));
    static const char *const hostile[] = {"0", "-1", "", "x", "1x", "3600000000001", "99999999999999999999"};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        assert_true(is_waited_for(hostile[i], 100 * CLOCK_MS));
        assert_false(is_waited_for(hostile[i], 10 * CLOCK_S));
    }
}

/* A run's database is there before its first collector, which says how records are ordered. */
TEST(what_the_run_says_late_counts_from_its_first_stream_on)
{
    static struct grown g;
    grown_open(&g, "said");
    struct run_reader *r = open_reader(g.run, &RECORD_FILTER_ALL);
    assert_int_equal(run_reader_look(r, RUN_READER_HOLD), 0);
    assert_true(order_settings_same(&run_reader_model(r, NULL)->order, &order_settings_default));
    assert_int_equal(rundb_put(g.rundb, RUNDB_ORDER_BUFFERS, "siso"), 0);
    assert_int_equal(rundb_put_int(g.rundb, RUNDB_ORDER_MEMORY, 1 << 20), 0);
    assert_int_equal(rundb_commit(g.rundb), 0);
    append(&g, get_process(&g, 0, 0), 0, 1, g.begin, g.begin + CLOCK_S);
    assert_int_equal(run_reader_look(r, RUN_READER_HOLD), 0);
    const struct record_source *of = record_order_source(r->given.order);
    assert_int_equal(of->buffers, ORDER_SISO);
    assert_int_equal(of->memory, (1 << 20) / 8 * 3); /* half of what sendings leave */
    run_reader_close(r);
    r = open_reader(g.run, &RECORD_FILTER_ALL);
    run_reader_buffers(r, 4096);
    append(&g, get_process(&g, 1, 0), 0, 1, g.begin, g.begin + CLOCK_S);
    assert_int_equal(run_reader_look(r, RUN_READER_HOLD), 0);
    assert_int_equal(record_order_source(r->given.order)->memory, 4096 / 8 * 3);
    assert_int_equal(record_order_source(r->given.order)->buffers, ORDER_SISO);
    run_reader_close(r);
    grown_close(&g);
}

/* Exchanges of times with `far` come after its record, and node 2, which may have recorded too, stays unknown. */
static enum record_proof proof_of_a_later_record(const char *name, bool unknown_records)
{
    static struct grown g;
    struct record_item item;
    grown_open(&g, name);
    g.mute = true;
    for (int i = 0; i < 2; i++) { /* a stream opens, and has a record */
        append(&g, get_process(&g, 1, 0), 0, 1, g.begin, g.begin + CLOCK_S);
        if (unknown_records)
            append(&g, get_process(&g, 2, 0), 0, 1, g.begin, g.begin + CLOCK_S);
    }
    struct run_reader *r = open_reader(g.run, &RECORD_FILTER_ALL);
    assert_int_equal(run_reader_look(r, RUN_READER_ALL), 0);
    while (run_reader_next(r, &item) > 0)
        assert_int_equal(item.at.bound, INT64_MAX);
    exchange_times(&g, g.nodes[1]);
    for (int i = 0; i < 2; i++)
        append(&g, get_process(&g, 0, 0), 0, 1, g.begin + 3 * CLOCK_S, g.begin + 4 * CLOCK_S);
    for (int look = 0; look < 10; look++)
        assert_int_equal(run_reader_look(r, RUN_READER_ALL), 0);
    assert_int_equal(run_reader_next(r, &item), 1);
    run_reader_close(r);
    grown_close(&g);
    return item.proof;
}

TEST(what_is_proven_is_known_anew_when_clocks_are)
{
    assert_int_equal(proof_of_a_later_record("proven", false), RECORD_PROVEN);
    assert_int_equal(proof_of_a_later_record("unproven", true), RECORD_UNKNOWN);
}

/* The database is replaced by one whose process has another dictionary, while records of the old one are held back. */
static void read_with_other_dictionary(bool extended, const void *dictionary, int n, int expected)
{
    static struct grown g;
    char path[PATH_MAX + 8];
    sqlite3 *db;
    sqlite3_stmt *update;
    grown_open(&g, "other");
    g.intact = true;
    struct model_process *p = get_process(&g, 0, 0);
    if (extended) /* by an aspect without fields */
        extend(&g, p);
    for (int i = 0; i < 2; i++)
        append(&g, p, 0, 100, g.begin, g.begin + CLOCK_MS);
    struct run_reader *r = open_reader(g.run, &RECORD_FILTER_ALL);
    struct record_item item;
    assert_int_equal(run_reader_look(r, RUN_READER_ALL), 0);
    assert_int_equal(run_reader_next(r, &item), 1);
    snprintf(path, sizeof path, "%s/run.db", g.run);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(db, 5000), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "UPDATE processes SET dictionary = ?", -1, &update, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_bind_blob(update, 1, dictionary, n, SQLITE_STATIC), SQLITE_OK);
    assert_int_equal(sqlite3_step(update), SQLITE_DONE);
    assert_int_equal(sqlite3_finalize(update), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    g.mute = true;
    append(&g, get_process(&g, 2, 1), 0, 1, g.begin, g.begin + CLOCK_MS); /* a node more: the model is loaded anew */
    assert_int_equal(run_reader_look(r, RUN_READER_ALL), expected);
    while (run_reader_next(r, &item) > 0)
        assert_true(!item.r || item.aspect->field_count == item.r->value_count);
    run_reader_close(r);
    grown_close(&g);
}

TEST(a_dictionary_that_does_not_go_on_is_refused)
{
    static uint8_t bytes[4096];
    struct dict_aspect shown = {.id = 1, .name = "shown", .field_count = 4}, work = {.id = 2, .name = "work"};
    for (int i = 0; i < 4; i++)
        shown.fields[i] = (struct dict_field){DICT_INT64, (const char *[]){"a", "b", "c", "d"}[i], "1", ""};
    int fewer = dict_append_aspect(bytes, 0, sizeof bytes, &shown);
    read_with_other_dictionary(false, bytes, fewer, BEZEL_EMALFORMED);
    int other = dict_append_aspect(bytes, (size_t)fewer, sizeof bytes, &work);
    read_with_other_dictionary(false, bytes, other, BEZEL_EMALFORMED);
    work.field_count = 1;
    work.fields[0] = shown.fields[0];
    int alike = dict_append_aspect(bytes, (size_t)fewer, sizeof bytes, &work);
    read_with_other_dictionary(false, bytes, alike, 0);
    read_with_other_dictionary(true, bytes, alike, BEZEL_EMALFORMED);
}

int main(void)
{
    seed = seed_start();
    return test_run(scratch_begin, scratch_end);
}
