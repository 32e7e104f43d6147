// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What the reader of a run gives, and in which order: of a run that has ended, the records of `bezel export`, which
 * reads stream by stream with other code, through any filter; of one that grows, every record once and in order, or
 * marked. The writer is the collector's own store. BEZEL_SEED repeats.
 */
#include "run/read/run_reader.h"
#include "base/clock.h"
#include "base/file.h"
#include "export/export.h"
#include "export/record_writer.h"
#include "run/store/watermarks.h"
#include "tests/lib/grown_run.h"
#include "tests/lib/test.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct grown g; /* of one test after the other */

/* ---- what the reader gives --------------------------------------------------------------------------------------- */

/* Lines of a text, sorted; the order is taken out of each. */
struct lines {
    char *text, **list;
    size_t count, capacity;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void cut_order(char *line)
{
    char *order = strstr(line, ",\"order\":"), *fields = strstr(line, ",\"fields\":");
    if (order && fields)
        memmove(order, fields, strlen(fields) + 1);
}

static struct lines lines_of(char *text)
{
    struct lines l = {.text = text};
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (l.count == l.capacity) {
            l.capacity = l.capacity ? 2 * l.capacity : 64;
            l.list = realloc(l.list, l.capacity * sizeof *l.list);
            assert_non_null(l.list);
        }
        cut_order(line);
        l.list[l.count++] = line;
    }
    if (l.count)
        qsort(l.list, l.count, sizeof *l.list, by_text);
    return l;
}

static void free_lines(struct lines *l)
{
    free(l->text);
    free(l->list);
}

static struct lines exported(const char *run, const struct record_filter *f)
{
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    int err = export_records(run, EXPORT_JSONL, false, f, out);
    assert_true(err == 0 || (err == BEZEL_EINVAL && (f->condition.field[0] || f->node || f->process || f->aspect)));
    fclose(out);
    return lines_of(text);
}

static void assert_same(const struct lines *found, const struct lines *expected)
{
    for (size_t i = 0; i < found->count && i < expected->count; i++)
        if (strcmp(found->list[i], expected->list[i]) != 0)
            fail_msg("found %s, not %s", found->list[i], expected->list[i]);
    assert_int_equal(found->count, expected->count);
}

/* Takes what a reader gives, and checks its order. */
struct taken {
    struct run_reader *reader;
    struct record_writer *writer;
    FILE *out;
    char *text;
    size_t n;
    uint64_t records, lost, late, latest[NODES]; /* `latest`: time of each node's latest record or loss */
    int64_t given_ns;                            /* likewise in the run's time, of all nodes, of what was not late */
    int64_t latest_ns;                           /* of all nodes, in the run's time */
    bool damaged;                                /* a bit of a time may have changed */
};

static void take_from(struct taken *t, struct run_reader *reader)
{
    *t = (struct taken){.reader = reader, .given_ns = INT64_MIN, .latest_ns = INT64_MIN};
    t->out = open_memstream(&t->text, &t->n);
    assert_int_equal(record_writer_open(t->out, RECORD_WRITER_JSONL, run_reader_model(reader, NULL), &RECORD_FILTER_ALL,
                                        true, &t->writer),
                     0);
}

static void take(struct taken *t, const struct record_item *item)
{
    uint64_t *latest = &t->latest[item->process->node->uuid[0] - 1];
    bool is_late = item->time < *latest || item->at.ns < t->given_ns;
    if (item->r)
        assert_int_equal(item->proof == RECORD_LATE, is_late);
    if (!is_late) {
        *latest = item->time;
        t->given_ns = item->at.ns;
    }
    assert_true(item->at.bound < CLOCK_S || item->process->node->uuid[0] == NODES || t->damaged); /* not `shed` */
    t->records += item->r != NULL;
    t->lost += item->lost;
    t->late += item->r && is_late;
    record_writer_put(t->writer, item);
}

/* Takes up to `most` records and losses. */
static void take_some(struct taken *t, uint64_t most)
{
    struct record_item item;
    int more = 1;
    for (; most > 0 && (more = run_reader_next(t->reader, &item)) > 0; most--)
        take(t, &item);
    assert_true(more >= 0);
}

/* All that is left; in the order of the run's time, where there is none before. */
static void take_all_in_order(struct taken *t)
{
    struct record_item item;
    int more;
    while ((more = run_reader_next(t->reader, &item)) > 0) {
        take(t, &item);
        if (item.r && item.at.ns < t->latest_ns)
            fail_msg("a record of %s stands behind a later one", item.process->node->name);
        t->latest_ns = item.at.ns;
    }
    assert_int_equal(more, 0);
}

static struct lines end_taking(struct taken *t)
{
    struct run_reader_totals totals = run_reader_totals(t->reader);
    assert_int_equal(totals.records, t->records);
    assert_int_equal(totals.lost, t->lost);
    assert_int_equal(totals.proofs[RECORD_LATE], t->late);
    run_reader_close(t->reader);
    record_writer_close(t->writer);
    fclose(t->out);
    return lines_of(t->text);
}

static struct run_reader *open_reader(const char *run, const struct record_filter *f)
{
    struct run_reader *r;
    assert_int_equal(run_reader_open(run, f, &r), 0);
    return r;
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

/* The text behind "name": in a line; NULL: the record has no such value. */
static const char *value_of(const char *line, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(line, key);
    return at ? at + strlen(key) : NULL;
}

static bool is_number(const char *value)
{
    return value && strncmp(value, "null", 4) != 0 && value[0] != '"';
}

static double number(const char *line, const char *name)
{
    const char *value = value_of(line, name);
    return is_number(value) ? strtod(value, NULL) : NAN;
}

static bool is_text(const char *line, const char *name, const char *text)
{
    const char *value = value_of(line, name);
    return value && value[0] == '"' && strncmp(value + 1, text, strlen(text)) == 0 && value[1 + strlen(text)] == '"';
}

static const char *const conditions[] = {"frame > 50",    "frame <= 10.5",   "frame=-3",        "latency >= 2 ms",
                                         "latency < 0.5", "duration > 5 ms", "duration < 1 ms", "duration = -1",
                                         "kind = delta",  "kind != \"key\"", "kind = 2",        "codec = h264",
                                         "codec != h264"};
enum { CONDITIONS = sizeof conditions / sizeof *conditions };

/* The same conditions, of the line that `bezel export` writes. */
static bool holds(unsigned condition, const char *line)
{
    switch (condition) {
    case 0:
        return number(line, "frame") > 50;
    case 1:
        return number(line, "frame") <= 10;
    case 2:
        return number(line, "frame") == -3;
    case 3:
        return number(line, "latency") >= 2;
    case 4:
        return number(line, "latency") < 0.5;
    case 5:
        return number(line, "duration") > 5e6;
    case 6:
        return number(line, "duration") < 1e6 && number(line, "duration") >= 0;
    case 7:
        return number(line, "duration") == -1;
    case 8:
        return is_text(line, "kind", "delta");
    case 9:
        return value_of(line, "kind") && !is_text(line, "kind", "key");
    case 10:
        return number(line, "kind") == 2;
    case 11:
        return is_text(line, "codec", "h264");
    default:
        return value_of(line, "codec") && !is_text(line, "codec", "h264");
    }
}

static const char *const node_globs[] = {"studio", "s*", "far", "nowhere"};
static const char *const process_globs[] = {"client", "c*", "*r", "nobody"};
static const char *const aspect_globs[] = {"shown", "w*", "extra_*", "nothing"};

static bool glob_holds(unsigned glob, const char *const globs[4], const char *line, const char *name)
{
    const char *value = value_of(line, name);
    char text[64];
    if (glob >= 4)
        return true;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(value + 1, "\""), value + 1);
    return record_filter_takes(globs[glob], text);
}

/* A filter, as numbers of its parts; those from 4 on, and conditions from CONDITIONS on, are none. */
struct drawn {
    unsigned node, process, aspect, condition;
    struct record_filter filter;
};

static struct drawn draw_filter(const struct grown *of)
{
    struct drawn d = {.node = (unsigned)draw(10),
                      .process = (unsigned)draw(10),
                      .aspect = (unsigned)draw(10),
                      .condition = (unsigned)draw(2 * (uint64_t)CONDITIONS),
                      .filter = RECORD_FILTER_ALL};
    const char *why;
    int64_t begin = 1700000000 * CLOCK_S + (int64_t)of->begin, length = (int64_t)(of->clock[0] - of->begin) + 1;
    d.filter.node = d.node < 4 ? node_globs[d.node] : NULL;
    d.filter.process = d.process < 4 ? process_globs[d.process] : NULL;
    d.filter.aspect = d.aspect < 4 ? aspect_globs[d.aspect] : NULL;
    if (d.condition < CONDITIONS)
        assert_int_equal(condition_read(conditions[d.condition], &d.filter.condition, &why), 0);
    if (draw(2))
        d.filter.from = begin + (int64_t)draw((uint64_t)length);
    if (draw(2))
        d.filter.until = begin + (int64_t)draw((uint64_t)length);
    return d;
}

static bool drawn_holds(const struct drawn *d, const char *line)
{
    int64_t ns = strtoll(value_of(line, "run_time_ns"), NULL, 10);
    return ns >= d->filter.from && ns < d->filter.until && glob_holds(d->node, node_globs, line, "node") &&
           glob_holds(d->process, process_globs, line, "process") &&
           glob_holds(d->aspect, aspect_globs, line, "aspect") &&
           (d->condition >= CONDITIONS || holds(d->condition, line));
}

static struct lines filtered(const struct lines *all, const struct drawn *d)
{
    struct lines l = {.list = calloc(all->count + 1, sizeof *l.list)};
    assert_non_null(l.list);
    for (size_t i = 0; i < all->count; i++)
        if (drawn_holds(d, all->list[i]))
            l.list[l.count++] = all->list[i];
    return l;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

TEST(an_ended_run_gives_the_records_of_an_export_through_any_filter)
{
    uint64_t given = 0;
    grown_open(&g, "ended");
    for (int i = 0; i < 300; i++)
        happen(&g, CLOCK_MS);
    struct lines all = exported(g.run, &RECORD_FILTER_ALL);
    assert_int_equal(all.count, g.records);
    for (int i = 0; i < 60; i++) {
        struct drawn d = i ? draw_filter(&g) : (struct drawn){4, 4, 4, CONDITIONS, RECORD_FILTER_ALL};
        struct taken t;
        take_from(&t, open_reader(g.run, &d.filter));
        assert_int_equal(run_reader_look(t.reader, RUN_READER_ALL), 0);
        take_all_in_order(&t);
        assert_int_equal(t.late, 0);
        if (i == 0)
            assert_int_equal(t.lost, g.lost);
        struct lines found = end_taking(&t), expected = filtered(&all, &d), chosen = exported(g.run, &d.filter);
        given += found.count;
        assert_same(&found, &expected);
        assert_same(&chosen, &expected);
        free_lines(&found);
        free_lines(&chosen);
        free_lines(&expected);
    }
    printf("%llu records through filters\n", (unsigned long long)given);
    free_lines(&all);
    grown_close(&g);
}

TEST(the_last_records_are_those_at_the_end)
{
    grown_open(&g, "last");
    for (int i = 0; i < 200; i++)
        happen(&g, CLOCK_MS);
    for (int i = 0; i < 30; i++) {
        struct drawn d = i ? draw_filter(&g) : (struct drawn){4, 4, 4, CONDITIONS, RECORD_FILTER_ALL};
        uint64_t n = draw(400);
        struct run_reader *all_of_it = open_reader(g.run, &d.filter), *end = open_reader(g.run, &d.filter);
        assert_int_equal(run_reader_look(all_of_it, RUN_READER_ALL), 0);
        struct taken all, last;
        take_from(&all, all_of_it);
        take_some(&all, UINT64_MAX);
        assert_int_equal(run_reader_last(end, n, i % 2), 0);
        take_from(&last, end);
        assert_int_equal(run_reader_look(end, RUN_READER_ALL), 0);
        take_some(&last, UINT64_MAX);
        assert_int_equal(last.records, n < all.records ? n : all.records);
        fflush(all.out);
        fflush(last.out);
        /* Those of its lines that follow one another at the end of the text; `order` may differ at their beginning. */
        const char *tail = all.text + all.n;
        for (uint64_t at = 0; at < last.records; at++)
            for (tail--; tail > all.text && tail[-1] != '\n'; tail--)
                ;
        char *expected = strdup(tail);
        struct lines found = end_taking(&last), wanted = lines_of(expected), rest = end_taking(&all);
        assert_same(&found, &wanted);
        free_lines(&found);
        free_lines(&wanted);
        free_lines(&rest);
    }
    grown_close(&g);
}

/* Whatever is appended and read when: each record comes once, in its node's order or marked as late. */
TEST(a_growing_run_gives_every_record_once)
{
    uint64_t late = 0;
    for (int round = 0; round < 6; round++) {
        struct taken t;
        grown_open(&g, "grows");
        take_from(&t, open_reader(g.run, &RECORD_FILTER_ALL));
        for (int i = 0; i < 120; i++) {
            happen(&g, 300 * CLOCK_MS);
            if (draw(3) == 0)
                assert_int_equal(run_reader_look(t.reader, draw(4) ? RUN_READER_HOLD : RUN_READER_ALL), 0);
            if (draw(3) == 0)
                take_some(&t, draw(200));
        }
        assert_int_equal(run_reader_look(t.reader, RUN_READER_ALL), 0);
        take_some(&t, UINT64_MAX);
        assert_int_equal(t.records, g.records);
        assert_int_equal(t.lost, g.lost);
        late += t.late;
        struct lines found = end_taking(&t), all = exported(g.run, &RECORD_FILTER_ALL);
        assert_int_equal(found.count, all.count);
        for (size_t i = 0; i < all.count; i++) /* clocks are known better at the end */
            if (value_of(all.list[i], "node")[1] != 'f')
                assert_string_equal(found.list[i], all.list[i]);
        free_lines(&found);
        free_lines(&all);
        grown_close(&g);
    }
    assert_true(late > 0);
}

/* Sendings are read ahead, which may take a newer model: what is given then is of that one. */
static void talk(void)
{
    struct record_item item;
    uint64_t records = 0;
    grown_open(&g, "talks");
    g.talks = true;
    struct run_reader *reader = open_reader(g.run, &RECORD_FILTER_ALL);
    for (int i = 0; i <= 160; i++) {
        bool over = i == 160;
        if (!over)
            happen(&g, 300 * CLOCK_MS);
        if (over || draw(3) == 0)
            assert_int_equal(run_reader_look(reader, over || draw(4) == 0 ? RUN_READER_ALL : RUN_READER_HOLD), 0);
        for (uint64_t n = over ? UINT64_MAX : draw(100); n > 0 && run_reader_next(reader, &item) > 0; n--) {
            records += item.r != NULL;
            assert_true(!item.r || item.aspect == &item.process->dict->aspects[item.r->aspect - 1]);
        }
    }
    assert_int_equal(records, g.records);
    run_reader_close(reader);
    grown_close(&g);
}

/* With the last seed, nodes waited in a ring, since tags contradict each other. */
TEST(a_growing_run_of_messages_gives_every_record_once)
{
    for (int round = 0; round < 6; round++)
        talk();
    uint64_t drawn = seed;
    seed = UINT64_C(3487192059641417753);
    talk();
    seed = drawn;
}

/* Within a look packets may be stored in any order. */
TEST(what_one_look_finds_is_given_in_order_with_what_the_next_one_finds)
{
    struct taken t;
    grown_open(&g, "held");
    g.intact = true; /* the packet that replaces a torn one may count as settled too early */
    take_from(&t, open_reader(g.run, &RECORD_FILTER_ALL));
    for (uint64_t look = 0; look < 40; look++) {
        /* Times are from the span of this look or of the one before. */
        uint64_t from = g.begin + (look ? look - 1 : 0) * CLOCK_MS, until = g.begin + (look + 1) * CLOCK_MS;
        for (int i = 0; i < 12; i++)
            append(&g, get_process(&g, 0, (unsigned)draw(PROCESSES)), (uint32_t)draw(RINGS), 1 + (uint32_t)draw(9),
                   from, until);
        assert_int_equal(run_reader_look(t.reader, RUN_READER_HOLD), 0);
        take_some(&t, UINT64_MAX);
        assert_int_equal(t.late, 0);
        if (look > 2)
            assert_true(t.records > 0 && t.records < g.records);
    }
    assert_int_equal(run_reader_look(t.reader, RUN_READER_ALL), 0);
    take_some(&t, UINT64_MAX);
    assert_int_equal(t.records, g.records);
    struct lines found = end_taking(&t);
    free_lines(&found);
    grown_close(&g);
}

/* ---- watermarks -------------------------------------------------------------------------------------------------- */

/* Nodes that keep a promise: what they append is not before it. */
struct promised {
    struct grown g;
    struct watermarks *file;
    uint64_t low[NODES];
};

static void promise(struct promised *p, unsigned n, uint64_t low, int64_t at)
{
    struct watermark mark = {.low = (int64_t)low, .at = at};
    memcpy(mark.uuid, get_node(&p->g, n)->uuid, sizeof mark.uuid);
    p->low[n] = low;
    watermarks_put(p->file, (int)n, &mark);
}

static void promised_open(struct promised *p, const char *name)
{
    grown_open(&p->g, name);
    p->g.intact = true;
    assert_int_equal(watermarks_open(p->g.run, &p->file), 0);
    for (unsigned n = 0; n < NODES; n++) {
        assert_int_equal(watermarks_add(p->file), n);
        promise(p, n, p->g.begin, clock_now());
    }
}

static void append_promised(struct promised *p, unsigned n)
{
    append(&p->g, get_process(&p->g, n, (unsigned)draw(PROCESSES)), (uint32_t)draw(RINGS),
           draw(6) == 0 ? 0 : 1 + (uint32_t)draw(9), p->low[n], p->low[n] + 600 * CLOCK_MS);
}

static void promised_close(struct promised *p)
{
    watermarks_close(p->file);
    grown_close(&p->g);
}

TEST(nodes_come_in_one_order_as_far_as_all_are_complete)
{
    static struct promised p;
    struct taken t;
    uint64_t held = 0;
    promised_open(&p, "promised");
    take_from(&t, open_reader(p.g.run, &RECORD_FILTER_ALL));
    for (int i = 0; i < 400; i++) {
        unsigned n = (unsigned)draw(NODES);
        append_promised(&p, n);
        if (draw(2))
            promise(&p, n, p.low[n] + draw(600 * CLOCK_MS), clock_now());
        if (draw(4) == 0) {
            assert_int_equal(run_reader_look(t.reader, RUN_READER_HOLD), 0);
            take_all_in_order(&t);
            held += p.g.records - t.records;
        }
    }
    assert_true(held > 0 && t.records > p.g.records / 2);
    for (unsigned n = 0; n < NODES; n++)
        promise(&p, n, n ? p.low[n] + 60 * CLOCK_S : WATERMARK_LEFT, clock_now());
    assert_int_equal(run_reader_look(t.reader, RUN_READER_HOLD), 0);
    take_all_in_order(&t);
    assert_int_equal(t.records, p.g.records);
    assert_int_equal(t.late, 0);
    struct lines found = end_taking(&t);
    free_lines(&found);
    promised_close(&p);
}

/* How many records a look gives, or how many of them are late. */
static uint64_t count_held(struct run_reader *r, bool late)
{
    struct record_item item;
    uint64_t given = 0;
    assert_int_equal(run_reader_look(r, RUN_READER_HOLD), 0);
    while (run_reader_next(r, &item) > 0)
        given += item.r && (!late || item.proof == RECORD_LATE);
    return given;
}

TEST(a_silent_node_is_not_waited_for_and_late_when_it_comes_back)
{
    static struct promised p;
    struct run_reader *r;
    promised_open(&p, "silent");
    int64_t now = clock_now();
    uint64_t begin = p.g.begin;
    for (unsigned i = 0; i < 2; i++) /* the stream opens, and has records */
        append(&p.g, get_process(&p.g, 0, 0), 0, 9, begin + CLOCK_S, begin + 2 * CLOCK_S);
    promise(&p, 0, WATERMARK_LEFT, now);
    promise(&p, 2, begin + 60 * CLOCK_S, now);
    r = open_reader(p.g.run, &RECORD_FILTER_ALL);
    assert_int_equal(count_held(r, false), 0); /* `far` is waited for, and may have something earlier */
    promise(&p, 1, begin, now - order_settings_default.wait - CLOCK_S);
    assert_int_equal(count_held(r, false), 9);
    for (unsigned i = 0; i < 2; i++)
        append(&p.g, get_process(&p.g, 1, 0), 0, 9, begin, begin + CLOCK_MS);
    promise(&p, 1, begin + 60 * CLOCK_S, now);
    assert_int_equal(count_held(r, true), 9);
    assert_int_equal(run_reader_totals(r).proofs[RECORD_LATE], 9);
    append(&p.g, get_process(&p.g, 1, 0), 0, 9, begin + 3 * CLOCK_S, begin + 4 * CLOCK_S);
    assert_int_equal(count_held(r, true), 0); /* it has caught up */
    run_reader_close(r);
    promised_close(&p);
}

TEST(a_node_whose_clock_is_a_day_behind_is_not_waited_for)
{
    static struct promised p;
    uint8_t clock[16];
    char identity[MODEL_UUID_TEXT];
    int64_t now = clock_now();
    promised_open(&p, "behind");
    clock_identity(clock);
    model_uuid_text(clock, identity);
    assert_int_equal(rundb_put(p.g.rundb, RUNDB_CLOCK, identity), 0);
    assert_int_equal(rundb_commit(p.g.rundb), 0);
    for (unsigned i = 0; i < 2; i++)
        append(&p.g, get_process(&p.g, 0, 0), 0, 9, (uint64_t)now - CLOCK_S, (uint64_t)now);
    promise(&p, 0, WATERMARK_LEFT, now);
    promise(&p, 2, WATERMARK_LEFT, now);
    struct run_reader *r = open_reader(p.g.run, &RECORD_FILTER_ALL);
    promise(&p, 1, (uint64_t)(now - 20 * CLOCK_S), now); /* as one that polls every 10 s */
    assert_int_equal(count_held(r, false), 0);
    promise(&p, 1, (uint64_t)(now - 24 * 3600 * CLOCK_S), now);
    assert_int_equal(count_held(r, false), 9);
    run_reader_close(r);
    promised_close(&p);
}

static void read_a_run_whose_clock_jumps(const char *name)
{
    struct taken t;
    grown_open(&g, name);
    g.jump_ns = 500 * CLOCK_MS;
    for (int i = 0; i < 200; i++)
        happen(&g, CLOCK_MS);
    struct lines all = exported(g.run, &RECORD_FILTER_ALL);
    take_from(&t, open_reader(g.run, &RECORD_FILTER_ALL));
    assert_int_equal(run_reader_look(t.reader, RUN_READER_ALL), 0);
    take_all_in_order(&t);
    assert_int_equal(t.records, g.records);
    assert_int_equal(t.late, 0);
    struct lines found = end_taking(&t);
    assert_int_equal(found.count, all.count);
    free_lines(&found);
    free_lines(&all);
    grown_close(&g);
}

TEST(a_node_whose_clock_jumped_back_stays_in_order)
{
    char name[16];
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "jumped%d", i);
        read_a_run_whose_clock_jumps(name);
    }
}

/* Exchanges of times come while the run is read: clocks are known by them some looks later. */
TEST(what_is_known_of_clocks_grows_with_the_run)
{
    struct taken t;
    struct record_item item = {0};
    grown_open(&g, "clocks");
    g.mute = true;
    struct model_process *far = get_process(&g, 1, 0);
    for (int i = 0; i < 2; i++)
        append(&g, far, 0, 1, g.begin, g.begin + CLOCK_MS);
    take_from(&t, open_reader(g.run, &RECORD_FILTER_ALL));
    assert_int_equal(run_reader_look(t.reader, RUN_READER_ALL), 0);
    assert_int_equal(run_reader_next(t.reader, &item), 1);
    assert_int_equal(item.at.bound, INT64_MAX);
    assert_int_equal(run_reader_next(t.reader, &item), 0);
    exchange_times(&g, g.nodes[1]);
    for (int look = 0; look < 10; look++)
        assert_int_equal(run_reader_look(t.reader, RUN_READER_HOLD), 0);
    append(&g, far, 0, 1, g.begin + CLOCK_S, g.begin + 2 * CLOCK_S);
    assert_int_equal(run_reader_look(t.reader, RUN_READER_ALL), 0);
    assert_int_equal(run_reader_next(t.reader, &item), 1);
    assert_true(item.at.bound < CLOCK_MS);
    run_reader_close(t.reader);
    record_writer_close(t.writer);
    fclose(t.out);
    free(t.text);
    grown_close(&g);
}

static void flip_a_bit(const char *path)
{
    struct stat st;
    uint8_t byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    off_t at = (off_t)draw((uint64_t)st.st_size);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= (uint8_t)(1U << draw(8));
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

TEST(what_is_damaged_ends_its_stream_and_the_rest_is_read)
{
    char path[PATH_MAX];
    grown_open(&g, "damaged");
    for (int i = 0; i < 100; i++)
        happen(&g, 0);
    uint64_t untouched = g.records;
    for (unsigned n = 0; n < NODES; n++)
        for (unsigned i = 0; i < PROCESSES; i++)
            for (unsigned ring = 0; ring < RINGS && g.processes[n][i]; ring++) {
                const struct model_stream *s = model_find_stream(g.processes[n][i], ring);
                if (!s || ring == 0)
                    continue;
                untouched -= s->at.next_ordinal - s->at.discarded;
                assert_int_equal(store_path(g.store, g.nodes[n], s, path, sizeof path), 0);
                flip_a_bit(path);
            }
    struct taken t;
    take_from(&t, open_reader(g.run, &RECORD_FILTER_ALL));
    t.damaged = true;
    assert_int_equal(run_reader_look(t.reader, RUN_READER_ALL), 0);
    take_some(&t, UINT64_MAX);
    assert_in_range(t.records, untouched, g.records);
    run_reader_close(t.reader);
    record_writer_close(t.writer);
    fclose(t.out);
    free(t.text);
    grown_close(&g);
}

/* The last packet of a stream ends before its last record does. */
static void read_a_packet_that_is_short(void)
{
    char path[PATH_MAX], *bytes;
    size_t n;
    struct packet_header h;
    struct record_item item;
    uint64_t given = 0;
    grown_open(&g, "short");
    g.intact = true;
    struct model_process *p = get_process(&g, 0, 0);
    for (int i = 0; i < 2; i++) /* the stream opens, and has records */
        append(&g, p, 0, 9, g.begin, g.begin + CLOCK_S);
    assert_int_equal(store_path(g.store, p->node, model_stream(p, 0), path, sizeof path), 0);
    assert_int_equal(file_read(path, 1 << 20, &bytes, &n), 0);
    assert_int_equal(packet_get_header(bytes + PACKET_HEADER_BYTES, n - PACKET_HEADER_BYTES, &h), 0);
    h.size_bytes -= 8;
    packet_put_header((uint8_t *)bytes + PACKET_HEADER_BYTES, &h);
    assert_int_equal(file_replace(path, bytes, n), 0);
    free(bytes);
    struct run_reader *r = open_reader(g.run, &RECORD_FILTER_ALL);
    assert_int_equal(run_reader_look(r, RUN_READER_ALL), 0);
    while (run_reader_next(r, &item) > 0)
        given += item.r != NULL;
    assert_int_equal(given, 8);
    assert_int_equal(run_reader_totals(r).cut, 1);
    run_reader_close(r);
    grown_close(&g);
}

TEST(a_record_that_does_not_fit_its_packet_ends_the_stream)
{
    for (int i = 0; i < 16; i++) /* it may be of the aspect of the one before, or of another one */
        read_a_packet_that_is_short();
}

/* A pipe would block whoever opens it; a link could lead anywhere. */
TEST(what_is_no_stream_is_left_out_and_never_waited_for)
{
    char path[2 * PATH_MAX];
    grown_open(&g, "foreign");
    for (int i = 0; i < 2; i++)
        append(&g, get_process(&g, 0, 0), 0, 5, g.begin, g.begin + CLOCK_MS);
    snprintf(path, sizeof path, "%s/trace/studio/client-101-1", g.run);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(path, sizeof path, "%s/trace/studio/client-101-2", g.run);
    assert_int_equal(symlink("client-101-0", path), 0);
    snprintf(path, sizeof path, "%s/trace/stray", g.run);
    assert_int_equal(file_replace(path, "", 0), 0);
    struct taken t;
    take_from(&t, open_reader(g.run, &RECORD_FILTER_ALL));
    assert_int_equal(run_reader_look(t.reader, RUN_READER_ALL), 0);
    take_some(&t, UINT64_MAX);
    assert_int_equal(t.records, 5);
    assert_int_equal(run_reader_totals(t.reader).cut, 3);
    struct lines found = end_taking(&t);
    free_lines(&found);
    grown_close(&g);
}

TEST(ten_thousand_streams_need_few_descriptors)
{
    enum { MANY = 10 };
    struct rlimit before, few;
    grown_open(&g, "many");
    struct model_node *node = get_node(&g, 0);
    for (uint32_t i = 0; i < MANY; i++) {
        struct model_process *p = add_process(&g, node, "many", i + 1);
        for (uint32_t ring = 0; ring < PACKET_RINGS_MAX; ring++)
            for (int packet = 0; packet < 2; packet++)
                append(&g, p, ring, 1, g.begin, g.begin + CLOCK_MS);
    }
    grown_close(&g);
    assert_int_equal(g.records, MANY * PACKET_RINGS_MAX);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){32, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct taken t;
    take_from(&t, open_reader(g.run, &RECORD_FILTER_ALL));
    assert_int_equal(run_reader_look(t.reader, RUN_READER_ALL), 0);
    take_all_in_order(&t);
    assert_int_equal(t.records, g.records);
    struct lines found = end_taking(&t);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    free_lines(&found);
}

TEST(a_run_without_a_database_is_refused)
{
    struct run_reader *r;
    char run[PATH_MAX];
    int64_t newest;
    snprintf(run, sizeof run, "%s/nothing", scratch_dir);
    assert_int_equal(run_reader_open(run, &RECORD_FILTER_ALL, &r), BEZEL_ENOENT);
    assert_int_equal(mkdir(run, 0777), 0);
    assert_int_equal(run_reader_open(run, &RECORD_FILTER_ALL, &r), BEZEL_ENOENT);
    assert_int_equal(run_reader_newest(run, &RECORD_FILTER_ALL, &newest), BEZEL_ENOENT);
}

int main(void)
{
    seed = seed_start();
    return test_run(scratch_begin, scratch_end);
}
