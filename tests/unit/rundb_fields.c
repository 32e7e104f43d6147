// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The statistics of fields in the run database: what spans, counters and gauges came to, kept over a restart; many
 * fields, which no save writes at once; and fields for which there is no memory.
 */
#include "collector/receive/receiver_packet.h"
#include "run/history/summary.h"
#include "run/model/statistics.h"
#include "run/rundb/rundb_save.h"
#include "tests/lib/scratch.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static char run[PATH_MAX];
static struct fake_sensor *sensor;
static struct stored_run stored;

static int begin(void **state)
{
    static const uint8_t id[16] = "a run's identity";
    int err = scratch_begin(state);
    snprintf(run, sizeof run, "%s/run", scratch_dir);
    sensor = fake_new("desk", id, 1);
    if (err || !sensor || mkdir(run, 0777) != 0)
        return -1;
    stored = (struct stored_run){0};
    return stored_start(&stored, run, sensor, STORE_SYNC_NEVER) ? -1 : 0;
}

static int end(void **state)
{
    stored_drop(&stored);
    fake_free(sensor);
    return scratch_end(state);
}

/* Stores what was cut, without a save behind the first packet. */
static void feed(void)
{
    assert_int_equal(stored_feed(&stored, 1), 0);
    struct fake_stream *s = &sensor->processes[0]->rings[0];
    const struct model_process *p = stored.node->processes;
    for (uint64_t seq = p->streams[0]->at.next_seq; seq < s->packets; seq++) {
        struct received a;
        const uint8_t *packet = s->bytes + s->starts[seq];
        receiver_take_packet(stored.node, stored.store, NULL, packet, s->starts[seq + 1] - s->starts[seq], &a);
        assert_int_equal(a.what, RECEIVED_STORED);
        statistics_count(a.stream, &a.header, packet, &a.found.all, 0);
        rundb_add_packet(stored.rundb, a.stream->process, &a.header, packet, a.found.lost);
    }
}

static uint64_t bits(double value)
{
    uint64_t b;
    memcpy(&b, &value, sizeof b);
    return b;
}

/* A process with a span, a counter, a gauge and sent messages, numbered as their kinds are, and two records of each. */
static unsigned add_kinds(void)
{
    static const struct dict_aspect aspects[] = {
        {DICT_SPAN, DICT_SPAN, "span", 1, {{DICT_INT64, "duration", "ns", ""}}},
        {DICT_COUNTER, DICT_COUNTER, "counter", 1, {{DICT_INT64, "count", "B", ""}}},
        {DICT_GAUGE, DICT_GAUGE, "gauge", 1, {{DICT_FLOAT64, "value", "degC", ""}}},
        {DICT_SENT, DICT_SENT, "sent", 2, {{DICT_STRING, "peer", "", ""}, {DICT_INT64, "tag", "", ""}}},
        {5, DICT_WAIT, "wait", 2, {{DICT_INT64, "duration", "ns", ""}, {DICT_ENUM, "reason", "1", "lock"}}},
    };
    unsigned index = fake_add_process(sensor, "app", 1, ROLE_SUT);
    struct fake_process *p = sensor->processes[index];
    int n = 0;
    for (size_t i = 0; i < sizeof aspects / sizeof *aspects; i++)
        n = dict_append_aspect(p->said.dictionary, (size_t)n, MESSAGE_DICT_MAX, &aspects[i]);
    p->said.dictionary_bytes = (uint32_t)n;
    dict_free(p->dict);
    assert_int_equal(dict_parse(p->said.dictionary, (size_t)n, &p->dict), 0);
    for (uint64_t i = 1; i <= 2; i++) {
        fake_cut_one(sensor, index, 0, DICT_SPAN, (uint64_t[]){i * 10});
        fake_cut_one(sensor, index, 0, DICT_COUNTER, (uint64_t[]){i});
        fake_cut_one(sensor, index, 0, DICT_GAUGE, (uint64_t[]){bits(i == 1 ? 8.5 : -1)});
        fake_cut_one(sensor, index, 0, DICT_SENT, (uint64_t[]){0, i});
        fake_cut_one(sensor, index, 0, 5, (uint64_t[]){i == 1 ? UINT64_MAX : 7, 0});
    }
    return index;
}

static void what_kinds_came_to_is_told(uint64_t spans)
{
    struct summary *s;
    assert_int_equal(rundb_save(stored.rundb, stored.model), 0);
    assert_int_equal(summary_load(run, &s), 0);
    assert_int_equal(s->processes[0].book_count, 5);
    const struct summary_book *b = s->processes[0].books;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(b[i].kind, DICT_SPAN + i);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(b[i].field_count, b[i].kind == DICT_SENT ? 0 : 1); /* a tag is no quantity */
    assert_int_equal(b[4].kind, DICT_WAIT);
    assert_int_equal(b[4].field_count, 1); /* a reason is no quantity */
    assert_int_equal(b[4].fields[0].count, 1);
    assert_int_equal(b[4].fields[0].unknown, 1); /* -1 */
    assert_int_equal(b[4].fields[0].total, 7);
    const struct summary_field *span = b[0].fields, *counter = b[1].fields, *gauge = b[2].fields;
    assert_int_equal(span->count, spans);
    assert_int_equal(span->p50.i, 10);
    assert_int_equal(span->max.i, 20);
    assert_int_equal(span->total, spans == 2 ? 30 : 40);
    assert_string_equal(counter->unit, "B");
    assert_int_equal(counter->total, 3);
    assert_true(counter->mean == 1.5);
    assert_string_equal(gauge->unit, "degC");
    assert_true(!gauge->last.is_int && gauge->last.d == -1 && gauge->min.d == -1 && gauge->max.d == 8.5);
    summary_free(s);
}

TEST_WITH(begin, end, what_kinds_came_to_is_kept_and_counted_once)
{
    unsigned app = add_kinds();
    feed();
    what_kinds_came_to_is_told(2);
    stored_drop(&stored); /* as by a kill: the rest is made of the packets */
    stored = (struct stored_run){0};
    assert_int_equal(stored_start(&stored, run, sensor, STORE_SYNC_NEVER), 0);
    assert_int_equal(stored_save(&stored), 0);
    what_kinds_came_to_is_told(2);
    fake_cut_one(sensor, app, 0, DICT_SPAN, (uint64_t[]){10});
    feed();
    what_kinds_came_to_is_told(3);
}

enum { MANY_ASPECTS = 250, MANY_FIELDS = 10 };

/* A process of 2,500 fields, with a record of each aspect. */
static unsigned add_many_fields(void)
{
    unsigned index = fake_add_process(sensor, "app", 1, ROLE_SUT);
    struct dict_aspect a = {.field_count = MANY_FIELDS};
    uint64_t values[MANY_FIELDS];
    char names[MANY_FIELDS][8], name[8];
    for (uint32_t k = 0; k < MANY_FIELDS; k++) {
        snprintf(names[k], sizeof names[k], "f%u", k);
        a.fields[k] = (struct dict_field){.type = DICT_INT64, .name = names[k]};
        values[k] = k + 1;
    }
    for (unsigned i = 0; i < MANY_ASPECTS; i++) {
        snprintf(name, sizeof name, "a%u", i);
        a.name = name;
        fake_cut_one(sensor, index, 0, fake_add_aspect_like(sensor, index, &a), values);
    }
    return index;
}

/* How many fields of the run in the database have a value. */
static uint64_t count_evaluated(void)
{
    struct summary *s;
    uint64_t n = 0;
    assert_int_equal(summary_load(run, &s), 0);
    for (size_t i = 0; i < s->processes[0].book_count; i++)
        for (size_t k = 0; k < s->processes[0].books[i].field_count; k++) {
            const struct summary_field *f = &s->processes[0].books[i].fields[k];
            assert_true(f->count == 0 || (f->count == 1 && f->p99.i == f->field + 1 && f->mean == f->field + 1));
            n += f->count;
        }
    summary_free(s);
    return n;
}

/* Packets wait while a save writes: it writes a share of many fields, and the next ones the others. */
TEST_WITH(begin, end, many_fields_are_saved_by_and_by)
{
    unsigned saves = 0;
    (void)add_many_fields();
    feed();
    for (uint64_t before = 0; before < MANY_ASPECTS * MANY_FIELDS; saves++) {
        assert_int_equal(rundb_save(stored.rundb, stored.model), 0);
        uint64_t evaluated = count_evaluated();
        assert_in_range(evaluated - before, 1, 2000);
        assert_true(stored.model->unsaved == (evaluated < MANY_ASPECTS * MANY_FIELDS));
        before = evaluated;
    }
    assert_in_range(saves, 2, 6);
}

/* Statistics have a bound; what has no room in it is told, and all records are stored and right. */
TEST_WITH(begin, end, fields_beyond_the_bound_of_memory_are_not_evaluated)
{
    (void)add_many_fields();
    stored.model->values_memory = 3 << 17;
    feed();
    do
        assert_int_equal(rundb_save(stored.rundb, stored.model), 0);
    while (stored.model->unsaved);
    assert_in_range(count_evaluated(), 500, 1000);
    assert_int_equal(stored.model->totals.records, MANY_ASPECTS);
}
