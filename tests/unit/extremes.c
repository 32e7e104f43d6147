// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Times at the ends of their range, in records, in the offsets of nodes and in what a reader asks for: no reader
 * overflows (sanitizers see that), spins, or leaves out what another node recorded.
 */
#include "base/file.h"
#include "base/saturate.h"
#include "export/record_writer.h"
#include "run/read/record_tables.h"
#include "run/read/run_reader.h"
#include "run/rundb/rundb_sqlite.h"
#include "tests/lib/scratch.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"
#include "views/page/run_view.h"
#include "views/report/report.h"
#include "views/top/top_source.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const uint64_t times[] = {
    0,        1, (UINT64_C(1) << 61) - 1, UINT64_C(1) << 61, (UINT64_C(1) << 61) + 1, UINT64_C(1) << 62, INT64_MAX - 1,
    INT64_MAX};
static const int64_t offsets[] = {INT64_MIN, -(INT64_C(1) << 62), -1, 0, (INT64_C(1) << 61) + 1, INT64_MAX};
static const int64_t durations[] = {INT64_MIN, -1, 0, INT64_C(1) << 62, INT64_MAX};

enum { ASKS = 3, ANSWERS, WORKS, TIMES = sizeof times / sizeof *times, OFFSETS = sizeof offsets / sizeof *offsets };

static char run[PATH_MAX];

static int begin(void **state)
{
    int err = scratch_begin(state);
    snprintf(run, sizeof run, "%s/run", scratch_dir);
    return err;
}

static void add_aspects(struct fake_sensor *f)
{
    static const struct dict_aspect aspects[] = {
        {.name = "asks",
         .kind = DICT_SENT,
         .field_count = 2,
         .fields = {{DICT_STRING, "peer", "1", ""}, {DICT_INT64, "tag", "1", ""}}},
        {.name = "answers",
         .kind = DICT_RECEIVED,
         .field_count = 2,
         .fields = {{DICT_STRING, "peer", "1", ""}, {DICT_INT64, "tag", "1", ""}}},
        {.name = "works", .kind = DICT_SPAN, .field_count = 1, .fields = {{DICT_INT64, "duration", "ns", ""}}},
    };
    for (size_t i = 0; i < sizeof aspects / sizeof *aspects; i++)
        assert_int_equal(fake_add_aspect_like(f, 0, &aspects[i]), ASKS + i);
}

static void cut_at(struct fake_sensor *f, uint32_t aspect, uint64_t time, uint64_t first, uint64_t second)
{
    struct fake_stream *s = &f->processes[0]->rings[0];
    if (s->packets)
        s->time = time - 1000; /* fake_cut_one() goes on by that */
    else
        s->time = 1;
    fake_cut_one(f, 0, 0, aspect, (uint64_t[]){first, second});
}

/* A node's process with one stored record, and what is to be behind it in the file. */
static struct fake_sensor *make_node(const char *name, int64_t offset, uint32_t message)
{
    static const uint8_t id[16] = "a run's identity";
    struct fake_sensor *f = fake_new(name, id, 1);
    assert_non_null(f);
    memset(f->hello.clock, name[0], sizeof f->hello.clock);
    f->hello.realtime_offset = offset;
    fake_add_process(f, "app", 100, ROLE_SUT);
    add_aspects(f);
    cut_at(f, message, 0, 1, 0);
    for (size_t i = 0; i < TIMES; i++) {
        uint64_t time = times[i] > f->processes[0]->rings[0].time ? times[i] : f->processes[0]->rings[0].time;
        cut_at(f, message, time, 1, i + 1);
        for (size_t k = 0; k < sizeof durations / sizeof *durations; k++)
            cut_at(f, WORKS, time, (uint64_t)durations[k], 0);
    }
    return f;
}

/* Stores the first record as a collector does. */
static void store_node(struct fake_sensor *f)
{
    struct stored_run stored = {0};
    assert_int_equal(stored_start(&stored, run, f, STORE_SYNC_NEVER), 0);
    assert_int_equal(stored_feed(&stored, 2), 0);
    assert_int_equal(stored_save(&stored), 0);
    stored_drop(&stored);
}

/* Puts the others behind it, which a collector would refuse. */
static void append_others(const struct fake_sensor *f)
{
    char path[PATH_MAX + 96];
    const struct fake_stream *s = &f->processes[0]->rings[0];
    snprintf(path, sizeof path, "%s/trace/%s/app-100-0", run, f->hello.node);
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    size_t n = s->used - s->starts[2];
    assert_int_equal(fwrite(s->bytes + s->starts[2], 1, n, file), n);
    fclose(file);
}

static void make_run(int64_t one, int64_t other)
{
    struct fake_sensor *a = make_node("asker", one, ASKS), *b = make_node("teller", other, ANSWERS);
    assert_int_equal(mkdir(run, 0777), 0);
    store_node(a);
    store_node(b);
    append_others(a);
    append_others(b);
    fake_free(a);
    fake_free(b);
}

static uint64_t read_in_order(int64_t from, int64_t until, enum record_writer_format format)
{
    struct record_filter filter = {.from = from, .until = until};
    struct record_writer *w;
    struct record_item item;
    struct run_reader *r;
    uint64_t count = 0;
    int more;
    FILE *out = fopen("/dev/null", "w");
    assert_int_equal(run_reader_open(run, &filter, &r), 0);
    assert_int_equal(record_writer_open(out, format, run_reader_model(r, NULL), &filter, true, &w), 0);
    assert_int_equal(run_reader_look(r, RUN_READER_ALL), 0);
    while ((more = run_reader_next(r, &item)) > 0) {
        record_writer_put(w, &item);
        count += item.r != NULL;
    }
    assert_int_equal(more, 0);
    record_writer_close(w);
    run_reader_close(r);
    fclose(out);
    return count;
}

static void look_at_windows(void)
{
    static const char *const windows[] = {"-2000000000000000000 2000000000000000000", "0 1", "0 2000000000000000000",
                                          "-2000000000000000000 -1999999999999999999"};
    const struct run_view_state is = {.live = false};
    struct run_view *v;
    assert_int_equal(run_view_open(run, &v), 0);
    while (run_view_update(v, CLOCK_S) > 0)
        ;
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        char request[256], *bytes;
        const char *why;
        struct page_request q;
        size_t n;
        snprintf(request, sizeof request, "want 1 %s 50 0 1/-1/%d/0/-1/100 2/-1/%d/-1/-1/100 1/-1/0/-1/-1/2000",
                 windows[i], WORKS, ANSWERS);
        assert_int_equal(page_request_read(request, strlen(request), &q, &why), 0);
        assert_int_equal(run_view_picture(v, &q, q.from, q.until, &is, INT64_MAX, &bytes, &n), 0);
        free(bytes);
        snprintf(request, sizeof request, "records 1 %s 1/-1/0/-1/-1/0", windows[i]);
        assert_int_equal(page_request_read(request, strlen(request), &q, &why), 0);
        FILE *out = open_memstream(&bytes, &n);
        assert_int_equal(run_view_records(v, &q, INT64_MAX, out), 0);
        fclose(out);
        free(bytes);
    }
    run_view_close(v);
}

static void look_at_moments(void)
{
    struct top_source *s;
    assert_int_equal(top_source_open(run, &s), 0);
    while (top_source_update(s, CLOCK_S) > 0)
        ;
    for (int view = 0; view < TOP_VIEWS; view++)
        for (size_t i = 0; i <= OFFSETS; i++) {
            struct top_state state = {.interval = CLOCK_S, .follow = i == OFFSETS, .span = 60 * CLOCK_S};
            struct top_data d = {0};
            state.time = i < OFFSETS ? offsets[i] : 0;
            state.stack[0] = (struct top_place){.view = (enum top_view)view, .scope = TOP_ALL};
            assert_int_equal(top_source_take(s, &state, &d), 0);
        }
    top_source_close(s);
}

/* Both nodes give all their records, whatever their clocks say. */
TEST_WITH(begin, scratch_end, readers_take_any_time)
{
    const uint64_t all = 2 * (1 + TIMES * (1 + sizeof durations / sizeof *durations));
    for (size_t i = 0; i < OFFSETS; i++)
        for (size_t k = 0; k < OFFSETS; k++) {
            struct record_tables t;
            int64_t newest;
            struct record_filter any = RECORD_FILTER_ALL;
            make_run(offsets[i], offsets[k]);
            for (int format = RECORD_WRITER_TEXT; format <= RECORD_WRITER_JSONL; format++)
                assert_int_equal(read_in_order(INT64_MIN, INT64_MAX, (enum record_writer_format)format), all);
            (void)read_in_order(INT64_MAX - 1, INT64_MAX, RECORD_WRITER_CSV);
            (void)read_in_order(INT64_MIN, INT64_MIN + 1, RECORD_WRITER_CSV);
            assert_int_equal(run_reader_newest(run, &any, &newest), 0);
            assert_int_equal(record_tables_read(run, &(struct record_tables_wanted){.messages = true}, INT64_MAX, &t),
                             0);
            assert_int_equal(t.messages.count, 2);
            record_tables_free(&t);
            look_at_windows();
            look_at_moments();
            assert_int_equal(file_remove_tree(run), 0);
        }
}

/* As a run begins whose collector is on this machine. */
static void make_run_of_our_clock(void)
{
    char identity[MODEL_UUID_TEXT];
    uint8_t clock[16];
    struct rundb *db;
    clock_identity(clock);
    model_uuid_text(clock, identity);
    assert_int_equal(mkdir(run, 0777), 0);
    assert_int_equal(rundb_open(run, &db), 0);
    assert_int_equal(rundb_put(db, RUNDB_CLOCK, identity), 0);
    assert_int_equal(rundb_put_int(db, RUNDB_CLOCK_AHEAD, clock_realtime_offset()), 0);
    assert_int_equal(rundb_commit(db), 0);
    assert_int_equal(rundb_close(db), 0);
}

/* One record of the teller is of the year 2090, or half a minute ahead: it is newest for nobody. */
TEST_WITH(begin, scratch_end, a_time_to_come_is_newest_for_nobody)
{
    const int64_t aheads[] = {CLOCK_S, 29 * CLOCK_S, INT64_C(2000000000) * CLOCK_S};
    for (size_t i = 0; i < sizeof aheads / sizeof *aheads; i++) {
        static const uint8_t id[16] = "a run's identity";
        int64_t began = clock_now(), newest, first, last, wall = clock_realtime_offset();
        struct fake_sensor *honest = fake_new("asker", id, 1), *liar = fake_new("teller", id, 1);
        struct record_filter all = RECORD_FILTER_ALL;
        struct run_view *v;
        struct top_source *s;
        make_run_of_our_clock();
        fake_add_process(honest, "app", 100, ROLE_SUT);
        fake_add_process(liar, "app", 100, ROLE_SUT);
        fake_cut(honest, 0, 0, 1);
        fake_cut(liar, 0, 0, 1);
        store_node(honest);
        store_node(liar);
        liar->processes[0]->rings[0].time = (uint64_t)(clock_now() + aheads[i]);
        fake_cut(liar, 0, 0, 1);
        append_others(liar);
        assert_int_equal(run_reader_newest(run, &all, &newest), 0);
        assert_true(newest >= began + wall - CLOCK_S && newest <= clock_now() + wall + CLOCK_S / 2);
        assert_int_equal(run_view_open(run, &v), 0);
        while (run_view_update(v, CLOCK_S) > 0)
            ;
        assert_true(run_view_newest(v) + run_view_start(v) <= clock_now() + wall + CLOCK_S / 2);
        run_view_close(v);
        assert_int_equal(top_source_open(run, &s), 0);
        while (top_source_update(s, CLOCK_S) > 0)
            ;
        top_source_range(s, &first, &last);
        assert_true(last <= clock_now() + wall + CLOCK_S / 2 && last >= began + wall - CLOCK_S);
        top_source_close(s);
        assert_int_equal(file_remove_tree(run), 0);
        fake_free(honest);
        fake_free(liar);
    }
}

/* What a node tells of itself in the year 2042 does not make a run that goes on that long. */
TEST_WITH(begin, scratch_end, a_run_that_goes_on_is_no_longer_than_its_time)
{
    static const char rows[] =
        "INSERT INTO nodes VALUES(1, 'desk', zeroblob(16), zeroblob(16), 0, 'desk', 1, 0);"
        "INSERT INTO processes(id, node, instance, stream_id, pid, role, name, executable, started, base, dictionary,"
        " overwrites) VALUES(1, 1, 1, 1, 1, 1, 'bezeld', '', 0, 'a', '', 0);"
        "INSERT INTO usage VALUES(1, 2300000000000000000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)";
    char path[PATH_MAX + 32], *text;
    struct rundb *db;
    size_t n;
    make_run_of_our_clock();
    assert_int_equal(rundb_open(run, &db), 0);
    assert_int_equal(rundb_put_int(db, "started", clock_now() + clock_realtime_offset() - 10 * CLOCK_S), 0);
    assert_int_equal(rundb_commit(db), 0);
    assert_int_equal(sqlite3_exec(db->db, rows, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(rundb_close(db), 0);
    snprintf(path, sizeof path, "%s/experiment.yaml", run);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("experiment: long\ncommand: [sleep, \"9\"]\n", file);
    fclose(file);
    FILE *out = open_memstream(&text, &n);
    assert_true(report_print(run, true, NULL, REPORT_JSON, out) >= 0);
    fclose(out);
    const char *duration = strstr(text, "\"duration_ns\": ");
    assert_non_null(duration);
    assert_in_range(strtoll(duration + 15, NULL, 10), 10 * CLOCK_S, 3600 * CLOCK_S);
    free(text);
}

TEST(sums_stay_in_range)
{
    assert_int_equal(saturate_add(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(saturate_add(INT64_MIN, -1), INT64_MIN);
    assert_int_equal(saturate_sub(INT64_MAX, -1), INT64_MAX);
    assert_int_equal(saturate_sub(INT64_MIN, 1), INT64_MIN);
    assert_int_equal(saturate_sub(0, INT64_MIN), INT64_MAX);
    assert_int_equal(saturate_sub(-1, INT64_MIN), INT64_MAX);
    assert_int_equal(saturate_sub(5, 7), -2);
}
