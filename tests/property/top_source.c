// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What `bezel top` shows of a moment follows from what is stored: of runs that grow at random, the counts of any moment
 * are those of the records that the reader of runs gives, and a source that followed the run gives what one gives that
 * opens it later. BEZEL_SEED repeats.
 */
#include "views/top/top_source.h"
#include "run/read/run_reader.h"
#include "tests/lib/grown_run.h"
#include "tests/lib/test.h"
#include "views/top/top_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 6, PIECES = 40, MOMENTS = 12, RECORDS_MAX = 100000, GRAIN = 8 /* ns, of a clock's reading */ };

/* A record as the reader of runs gives it. */
struct record {
    int64_t at;
    char process[64], node[64];
    uint32_t aspect;
    uint64_t lost;
    double latency; /* NaN: it has none */
};

static struct record *records;
static size_t record_count;

static void read_all(const char *run)
{
    struct record_filter all = RECORD_FILTER_ALL;
    struct run_reader *r;
    struct record_item item;
    int more;
    record_count = 0;
    assert_int_equal(run_reader_open(run, &all, &r), 0);
    assert_int_equal(run_reader_look(r, RUN_READER_ALL), 0);
    while ((more = run_reader_next(r, &item)) > 0) {
        struct record *it = &records[record_count++];
        assert_true(record_count < RECORDS_MAX);
        *it =
            (struct record){.at = item.at.ns, .aspect = item.r ? item.r->aspect : 0, .lost = item.lost, .latency = NAN};
        snprintf(it->process, sizeof it->process, "%s", item.process->name);
        snprintf(it->node, sizeof it->node, "%s", item.process->node->name);
        if (item.r && strcmp(item.aspect->name, "shown") == 0) {
            uint64_t bits = packet_value(item.r, 1);
            memcpy(&it->latency, &bits, sizeof bits);
        }
    }
    assert_int_equal(more, 0);
    run_reader_close(r);
}

static void update(struct top_source *s)
{
    int more;
    do
        more = top_source_update(s, CLOCK_S);
    while (more > 0);
    assert_int_equal(more, 0);
}

/* Records of a process (NULL: of all of the node) in (from, until], of an aspect (0: of all). */
static uint64_t count_of(const char *node, const char *process, uint32_t aspect, int64_t from, int64_t until)
{
    uint64_t n = 0;
    for (size_t i = 0; i < record_count; i++) {
        const struct record *r = &records[i];
        n += r->lost == 0 && r->at > from && r->at <= until && strcmp(r->node, node) == 0 &&
             (!process || strcmp(r->process, process) == 0) && (aspect == 0 || r->aspect == aspect);
    }
    return n;
}

static void check_count(double count, const char *node, const char *process, uint32_t aspect, const struct top_data *d)
{
    int64_t from = d->time - d->interval;
    uint64_t least = count_of(node, process, aspect, from + GRAIN, d->time - GRAIN);
    uint64_t most = count_of(node, process, aspect, from - GRAIN, d->time + GRAIN);
    if (!(count >= (double)least - 0.5 && count <= (double)most + 0.5))
        fail_msg("%s %s %u: %f is not %llu to %llu", node, process ? process : "", aspect, count,
                 (unsigned long long)least, (unsigned long long)most);
}

/* Records that were lost likewise. */
static uint64_t lost_of(const char *node, const char *process, int64_t from, int64_t until)
{
    uint64_t n = 0;
    for (size_t i = 0; i < record_count; i++)
        if (records[i].at > from && records[i].at <= until && strcmp(records[i].node, node) == 0 &&
            (!process || strcmp(records[i].process, process) == 0))
            n += records[i].lost;
    return n;
}

static void check_lost(double lost, const char *node, const char *process, const struct top_data *d)
{
    int64_t from = d->time - d->interval;
    assert_true(lost >= (double)lost_of(node, process, from + GRAIN, d->time - GRAIN));
    assert_true(lost <= (double)lost_of(node, process, from - GRAIN, d->time + GRAIN));
}

static double largest_latency(const char *node, const char *process, int64_t from, int64_t until)
{
    double most = NAN;
    for (size_t i = 0; i < record_count; i++)
        if (records[i].at > from && records[i].at <= until && strcmp(records[i].node, node) == 0 &&
            strcmp(records[i].process, process) == 0)
            most = fmax(most, records[i].latency);
    return most;
}

static void check_item(const struct top_item *item, const struct top_data *d, const char *node_of_scope)
{
    double seconds = (double)d->interval / CLOCK_S;
    if (d->view == TOP_NODES) {
        check_count(item->values[0] * seconds, item->texts[0], NULL, 0, d);
        check_lost(item->values[2], item->texts[0], NULL, d);
    } else if (d->view == TOP_PROCESSES) {
        check_count(item->values[0] * seconds, item->texts[1], item->texts[0], 0, d);
        check_lost(item->values[2], item->texts[1], item->texts[0], d);
    } else {
        check_count(item->values[1], node_of_scope, item->texts[0], item->id.aspect, d);
        int64_t from = d->time - d->interval;
        double most = largest_latency(node_of_scope, item->texts[0], from, d->time);
        if (strcmp(item->texts[2], "latency") != 0 || count_of(node_of_scope, NULL, 0, from - GRAIN, from + GRAIN) ||
            count_of(node_of_scope, NULL, 0, d->time - GRAIN, d->time + GRAIN))
            return;
        assert_true(isnan(most) ? isnan(item->values[4]) : item->values[4] == most);
        if (!isnan(most))
            assert_true(item->values[2] <= item->values[3] && item->values[3] <= most);
    }
}

/* A moment by chance, seen in a view. */
static void draw_state(struct top_state *s, int64_t first, int64_t last)
{
    static const enum top_view views[] = {TOP_NODES, TOP_PROCESSES, TOP_ASPECTS};
    top_state_init(s, views[draw(3)], (int64_t)(CLOCK_MS + draw(CLOCK_S)), CLOCK_S);
    s->follow = draw(5) == 0;
    s->time = first + (int64_t)draw((uint64_t)(last - first) + 1);
    if (s->stack[0].view == TOP_ASPECTS)
        s->stack[0].scope.node = (uint32_t)draw(NODES);
}

static void compare(const struct top_data *a, const struct top_data *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->time, b->time);
    for (size_t i = 0; i < a->count; i++) {
        assert_true(top_id_same(a->items[i].id, b->items[i].id));
        for (size_t v = 0; v < TOP_VALUES; v++)
            assert_memory_equal(&a->items[i].values[v], &b->items[i].values[v], sizeof(double));
    }
}

static void check_moments(struct top_source *followed, struct top_source *opened)
{
    int64_t first, last;
    top_source_range(opened, &first, &last);
    assert_true(first <= last);
    for (int i = 0; i < MOMENTS; i++) {
        struct top_state s;
        struct top_data a = {.run = "a"}, b = {.run = "b"};
        draw_state(&s, first, last);
        assert_int_equal(top_source_take(followed, &s, &a), 0);
        assert_int_equal(top_source_take(opened, &s, &b), 0);
        compare(&a, &b);
        for (size_t k = 0; k < b.count; k++)
            check_item(&b.items[k], &b, b.title);
        assert_int_equal(top_source_plot(opened, &s, b.count ? &b.items[draw(b.count)] : NULL, 100, &b), 0);
    }
}

TEST(any_moment_is_what_is_stored_of_it)
{
    static struct grown g;
    for (int run = 0; run < RUNS; run++) {
        struct top_source *followed = NULL, *opened;
        grown_open(&g, "run");
        for (int i = 0; i < PIECES; i++) {
            g.intact = i + 1 == PIECES || draw(3) > 0;
            happen(&g, draw(2) ? 0 : CLOCK_S / 2);
            if (i == 0)
                assert_int_equal(top_source_open(g.run, &followed), 0);
            if (draw(4) == 0)
                update(followed);
        }
        grown_close(&g);
        update(followed);
        assert_int_equal(top_source_open(g.run, &opened), 0);
        update(opened);
        read_all(g.run);
        check_moments(followed, opened);
        top_source_close(followed);
        top_source_close(opened);
    }
}

/* The row of the same field in a view of its process alone, where all rows have quantiles. */
static void check_alone(struct top_source *s, const struct top_state *state, struct top_item row)
{
    struct top_state alone = *state;
    struct top_data d = {.run = "alone"};
    alone.stack[0].scope = TOP_ALL;
    alone.stack[0].scope.node = row.id.node;
    alone.stack[0].scope.instance = row.id.instance;
    assert_int_equal(top_source_take(s, &alone, &d), 0);
    for (size_t i = 0; i < d.count; i++)
        if (top_id_same(d.items[i].id, row.id)) {
            assert_memory_equal(d.items[i].values, row.values, sizeof row.values);
            return;
        }
    fail();
}

TEST(where_there_are_many_rows_the_visible_ones_have_quantiles)
{
    enum { MANY = 360, VISIBLE = 12 };
    static struct grown g;
    struct top_source *s;
    struct top_state look;
    struct top_data d = {.run = "many"};
    struct top_item rows[VISIBLE];
    uint32_t visible[VISIBLE];
    grown_open(&g, "many");
    g.intact = true;
    for (uint32_t i = 0; i < MANY; i++) {
        struct model_process *p = add_process(&g, get_node(&g, 0), "many", i + 1);
        for (int packet = 0; packet < 2; packet++)
            append(&g, p, 0, 30, g.begin, g.begin + CLOCK_S);
    }
    grown_close(&g);
    assert_int_equal(top_source_open(g.run, &s), 0);
    update(s);
    top_state_init(&look, TOP_ASPECTS, 2 * CLOCK_S, CLOCK_S);
    assert_int_equal(top_source_take(s, &look, &d), 0);
    assert_true(d.count > TOP_QUANTILES_MAX);
    for (size_t i = 0; i < d.count; i++)
        assert_true(isnan(d.items[i].values[2]) && isnan(d.items[i].values[3]));
    for (size_t i = 0; i < VISIBLE; i++)
        visible[i] = (uint32_t)((d.count / VISIBLE) * i + draw(d.count / VISIBLE));
    assert_int_equal(top_source_refine(s, visible, VISIBLE), 0);
    size_t known = 0;
    for (size_t i = 0; i < d.count; i++)
        known += !isnan(d.items[i].values[2]);
    assert_in_range(known, 1, VISIBLE);
    for (size_t i = 0; i < VISIBLE; i++)
        rows[i] = d.items[visible[i]];
    for (size_t i = 0; i < VISIBLE; i++)
        check_alone(s, &look, rows[i]);
    top_source_close(s);
}

int main(void)
{
    seed = seed_start();
    records = calloc(RECORDS_MAX, sizeof *records);
    int failed = records ? test_run(scratch_begin, scratch_end) : 1;
    free(records);
    return failed;
}
