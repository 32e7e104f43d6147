// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/top/top_screen.h"
#include "base/clock.h"
#include "base/file.h"
#include "tests/lib/test.h"
#include "views/top/top_table.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOW (INT64_C(1700000000) * CLOCK_S + 500 * CLOCK_MS) /* 22:13:20.5 UTC */

enum { ROWS_MAX = 20000 };

static struct top_item items[ROWS_MAX];
static uint32_t order[ROWS_MAX];

struct scene {
    struct top_grid grid;
    struct top_state s;
    struct top_data d;
};

static void make(const void *context, const struct top_item *item, char *text, size_t size)
{
    (void)context;
    static const char *const texts[] = {"lengthen, 1.00 ms -> 2.00 ms, for sensor_cpu <= 10 %",
                                        "operator: knob quality of client.1, 75 -> 90 %"};
    snprintf(text, size, "%s", texts[item->index % 2]);
}

static void set_up(struct scene *t, enum top_view view, unsigned width, unsigned height, enum top_charset charset)
{
    memset(t, 0, sizeof *t);
    assert_int_equal(top_grid_init(&t->grid, width, height, charset), 0);
    top_state_init(&t->s, view, CLOCK_S, 60 * CLOCK_S);
    t->s.time = t->s.end = NOW;
    t->d = (struct top_data){.run = "20231114-221220-videoconf",
                             .growing = true,
                             .first = NOW - 100 * CLOCK_S,
                             .last = NOW,
                             .time = NOW,
                             .interval = CLOCK_S,
                             .node_count = 3,
                             .process_count = 42,
                             .records = 123456,
                             .bytes = 3.4e6,
                             .lost = 12,
                             .limit_count = 4,
                             .violated = 1,
                             .own_cpu = 0.31,
                             .own_memory = 12 << 20,
                             .view = view,
                             .scope = TOP_ALL,
                             .items = items,
                             .make = make};
    snprintf(t->d.controller, sizeof t->d.controller, "policy elastic (agent): no decision yet");
}

static struct top_item *add(struct scene *t, const char *a, const char *b, const char *c)
{
    struct top_item *item = &items[t->d.count++];
    *item = (struct top_item){.id = TOP_ALL, .texts = {a, b, c}, .at = TOP_NEVER, .into = TOP_VIEWS, .mark = ' '};
    item->id.instance = t->d.count;
    for (int i = 0; i < TOP_VALUES; i++)
        item->values[i] = NAN;
    return item;
}

/* The grid as lines, without blanks at their ends. */
static void print_grid(const struct top_grid *g, FILE *out)
{
    for (unsigned y = 0; y < g->height; y++) {
        unsigned end = g->width;
        while (end > 0 && strcmp(g->cells[(size_t)y * g->width + end - 1].text, " ") == 0)
            end--;
        for (unsigned x = 0; x < end; x++)
            fputs(g->cells[(size_t)y * g->width + x].text, out);
        fputc('\n', out);
    }
}

/* Draws the scene; the text is for free(). */
static char *drawn(struct scene *t)
{
    char *text = NULL;
    size_t n, count = top_table_order(&t->d, t->s.sorts[t->d.view], t->s.filter, order);
    FILE *out = open_memstream(&text, &n);
    struct top_seen seen = {.items = items,
                            .order = order,
                            .count = count,
                            .first = t->d.first,
                            .last = t->d.last,
                            .page = top_screen_layout(&t->grid).rows,
                            .steps = 1};
    assert_non_null(out);
    top_state_settle(&t->s, &seen);
    top_screen_draw(&t->grid, &t->s, &t->d, order, count);
    print_grid(&t->grid, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Compares with tests/golden/top/NAME.txt; BEZEL_GOLDEN_UPDATE=1 in the environment writes it anew instead. */
static void check_golden(struct scene *t, const char *name)
{
    char path[PATH_MAX], *expected, *text = drawn(t);
    size_t n;
    snprintf(path, sizeof path, BEZEL_SOURCE_DIR "/tests/golden/top/%s.txt", name);
    if (getenv("BEZEL_GOLDEN_UPDATE"))
        assert_int_equal(file_replace(path, text, strlen(text)), 0);
    assert_int_equal(file_read(path, 1 << 20, &expected, &n), 0);
    assert_string_equal(text, expected);
    free(expected);
    free(text);
    top_grid_fini(&t->grid);
}

static void assert_shows(struct scene *t, const char *words)
{
    char *text = drawn(t);
    if (!strstr(text, words))
        fail_msg("'%s' is not in\n%s", words, text);
    free(text);
}

/* A plot with a spike, a violation, a loss and a decision. */
static void fill_plot(struct scene *t, enum top_unit unit)
{
    struct top_plot *p = &t->d.plot;
    snprintf(p->title, sizeof p->title, "records/s of client.1");
    p->unit = unit;
    p->count = top_screen_layout(&t->grid).dots;
    p->bound = NAN;
    for (size_t i = 0; i < p->count; i++) {
        double wave = 100 + 50 * sin((double)i / 8) + (i == p->count / 2 ? 300 : 0);
        p->dots[i] = (struct top_dot){.min = wave - 10, .max = wave};
    }
    p->dots[20].violated = p->dots[21].violated = true;
    p->dots[40].lost = true;
    p->dots[60].decided = true;
    p->dots[30].min = p->dots[30].max = NAN;
}

TEST(nodes_read_as_recorded)
{
    struct scene t;
    set_up(&t, TOP_NODES, 80, 24, TOP_BRAILLE);
    static const char *const names[] = {"studio", "desk10", "desk9"};
    for (int i = 0; i < 3; i++) {
        struct top_item *item = add(&t, names[i], NULL, NULL);
        double values[] = {12345.0 * (i + 1), 4e6, i == 1 ? 12 : 0, 1.234 * (i + 1), 1e6 * (i + 1), i ? 42e3 : NAN, 14};
        memcpy(item->values, values, sizeof values);
    }
    fill_plot(&t, TOP_IN_RATE);
    check_golden(&t, "nodes");
}

TEST(limits_read_as_recorded)
{
    struct scene t;
    set_up(&t, TOP_LIMITS, 80, 24, TOP_BRAILLE);
    struct top_item *held = add(&t, "sensor_cpu <= 10 %", "studio", "held");
    held->unit = "%";
    held->values[0] = 1.25, held->values[1] = 2.5, held->values[3] = 0;
    struct top_item *violated = add(&t, "frame_latency <= 5 ms", "studio", "violated");
    violated->unit = "ns";
    violated->mark = '!';
    violated->values[0] = 7.25e6, violated->values[1] = 12e6, violated->values[2] = 3.4e9, violated->values[3] = 5e9;
    add(&t, "fps >= 29", "desk", "unknown");
    fill_plot(&t, TOP_IN_NS);
    for (size_t i = 0; i < t.d.plot.count; i++)
        t.d.plot.dots[i].min *= 1e5, t.d.plot.dots[i].max *= 1e5;
    t.d.plot.bound = 5e6;
    check_golden(&t, "limits");
}

TEST(records_read_as_recorded_and_harm_no_terminal)
{
    struct scene t;
    set_up(&t, TOP_DECISIONS, 80, 24, TOP_ASCII);
    t.s.follow = false;
    t.s.time = t.d.time = NOW - 12 * CLOCK_S;
    t.s.message = "No violation begins later.";
    for (int i = 0; i < 30; i++) {
        struct top_item *item = add(&t,
                                    i == 29   ? "e\033[2Jvil\xc2\x9b\xff"
                                    : i == 28 ? "B\xc3\xbcro\xe4\xb8\xad"
                                              : "studio",
                                    NULL, NULL);
        item->at = NOW - (40 - i) * CLOCK_S;
        item->index = (size_t)i;
    }
    fill_plot(&t, TOP_IN_NUMBER);
    check_golden(&t, "decisions-ascii");
}

TEST(the_name_of_the_run_harms_no_terminal)
{
    struct scene t;
    char text[256];
    set_up(&t, TOP_NODES, 80, 24, TOP_ASCII);
    t.d.run = "e\033[2Jvil";
    top_screen_moment(&t.s, &t.d, text, sizeof text);
    assert_non_null(strstr(text, "e?[2Jvil"));
    top_grid_fini(&t.grid);
}

TEST(a_copy_is_not_told_as_the_run)
{
    struct scene t;
    char text[256];
    set_up(&t, TOP_NODES, 80, 24, TOP_ASCII);
    t.d.growing = false;
    t.d.aborted = t.d.copied = true;
    top_screen_moment(&t.s, &t.d, text, sizeof text);
    assert_non_null(strstr(text, "  aborted or copied  "));
    t.d.mirror = (struct mirror_look){.partial = true, .copy = true};
    top_screen_moment(&t.s, &t.d, text, sizeof text);
    assert_non_null(strstr(text, "  copy, not complete  "));
    top_grid_fini(&t.grid);
}

TEST(help_reads_as_recorded)
{
    struct scene t;
    set_up(&t, TOP_NODES, 80, 24, TOP_BRAILLE);
    t.s.help = true;
    check_golden(&t, "help");
}

TEST(narrow_and_wide_screens_hold)
{
    static const unsigned sizes[][2] = {{1, 1}, {40, 10}, {79, 17}, {81, 18}, {200, 60}, {9999, 9999}};
    struct scene t;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (enum top_view v = 0; v < TOP_VIEWS; v++) {
            set_up(&t, v, sizes[i][0], sizes[i][1], i % 2 ? TOP_BLOCKS : TOP_BRAILLE);
            for (int k = 0; k < 300; k++)
                add(&t, "a-name-that-is-longer-than-its-column", "another-name", "x")->at = NOW;
            fill_plot(&t, TOP_IN_RATE);
            free(drawn(&t));
            top_grid_fini(&t.grid);
        }
}

TEST(the_filter_takes_parts_of_names_and_globs)
{
    struct scene t;
    set_up(&t, TOP_PROCESSES, 80, 24, TOP_BRAILLE);
    t.d.make = NULL;
    static const char *const names[] = {"client.1", "client.2", "server", "CLIENT.3"};
    for (int i = 0; i < 4; i++)
        add(&t, names[i], "desk", "running");
    struct top_sort by_name = {0, false};
    assert_int_equal(top_table_order(&t.d, by_name, "", order), 4);
    assert_int_equal(top_table_order(&t.d, by_name, "client", order), 3);
    assert_int_equal(top_table_order(&t.d, by_name, "client.*", order), 2);
    assert_int_equal(top_table_order(&t.d, by_name, "desk", order), 4);
    assert_int_equal(top_table_order(&t.d, by_name, "nobody", order), 0);
    strcpy(t.s.filter, "nobody");
    assert_shows(&t, "The filter lets nothing through. Escape clears it.");
    strcpy(t.s.filter, "sevrer");
    assert_shows(&t, "The filter lets nothing through; the nearest is server. Escape clears it.");
    top_grid_fini(&t.grid);
}

TEST(rows_are_sorted_as_people_count_and_the_unknown_is_the_least)
{
    struct scene t;
    set_up(&t, TOP_PROCESSES, 80, 24, TOP_BRAILLE);
    static const char *const names[] = {"p10", "p9", "p1"};
    for (int i = 0; i < 3; i++)
        add(&t, names[i], "desk", "running")->values[0] = i == 1 ? NAN : i;
    assert_int_equal(top_table_order(&t.d, (struct top_sort){0, false}, "", order), 3);
    assert_int_equal(order[0], 2);
    assert_int_equal(order[1], 1);
    assert_int_equal(order[2], 0);
    assert_int_equal(top_table_order(&t.d, (struct top_sort){3, true}, "", order), 3);
    assert_int_equal(order[0], 2);
    assert_int_equal(order[2], 1);
    top_grid_fini(&t.grid);
}

TEST(the_later_of_two_with_the_same_time_is_first_where_the_newest_is)
{
    struct scene t;
    set_up(&t, TOP_RECORDS, 80, 24, TOP_BRAILLE);
    for (int i = 0; i < 4; i++)
        add(&t, NULL, NULL, NULL)->at = NOW + (i == 3);
    for (int down = 0; down < 2; down++) {
        assert_int_equal(top_table_order(&t.d, (struct top_sort){0, down}, "", order), 4);
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(order[i], down ? 3 - i : i);
    }
    top_grid_fini(&t.grid);
}

TEST(only_visible_rows_are_made)
{
    struct scene t;
    set_up(&t, TOP_DECISIONS, 80, 24, TOP_BRAILLE);
    for (int i = 0; i < ROWS_MAX; i++)
        add(&t, "n", NULL, NULL)->at = NOW - i;
    t.s.stack[0].selected = items[ROWS_MAX / 2].id;
    t.s.stack[0].any = true;
    assert_shows(&t, "20000 rows");
    assert_in_range(t.s.stack[0].first, ROWS_MAX / 2 - 11, ROWS_MAX / 2);
    top_grid_fini(&t.grid);
}

TEST(numbers_are_short)
{
    assert_string_equal(top_number(NAN).s, "-");
    assert_string_equal(top_number(0).s, "0");
    assert_string_equal(top_number(99999).s, "99999");
    assert_string_equal(top_number(1234567).s, "1234.6k");
    assert_string_equal(top_number(-2.5e9).s, "-2500M");
    assert_string_equal(top_number(0.123456).s, "0.1235");
    assert_string_equal(top_value(2.5, "ms").s, "2.50 ms");
    assert_string_equal(top_value(-2.5, "ms").s, "-2.50 ms");
    assert_string_equal(top_value(1e12, "s").s, "1000G s"); /* longer than any duration */
    assert_string_equal(top_value(-INFINITY, "ms").s, "-inf ms");
    assert_string_equal(top_value(12, "B").s, "12 B");
    assert_string_equal(top_value(12, "1").s, "12");
    assert_string_equal(top_clock(NOW, 3).s, "22:13:20.500");
    assert_string_equal(top_clock(-1, 9).s, "23:59:59.999999999");
}

/* The cells of a plot of one column of braille, from the top. */
TEST(braille_has_a_dot_for_each_part)
{
    struct scene t;
    double low, high;
    set_up(&t, TOP_NODES, 80, 24, TOP_BRAILLE);
    struct top_plot p = {.unit = TOP_IN_RATE, .count = 4, .bound = NAN};
    double values[] = {0, 7, 3, NAN};
    for (int i = 0; i < 4; i++)
        p.dots[i] = (struct top_dot){.min = isnan(values[i]) ? (double)NAN : 0, .max = values[i]};
    top_grid_plot(&t.grid, 0, 0, 2, 2, &p, &low, &high);
    assert_true(low == 0 && high == 7);
    assert_string_equal(t.grid.cells[0].text, "\u28b8"); /* the right half */
    assert_string_equal(t.grid.cells[1].text, " ");
    assert_string_equal(t.grid.cells[80].text, "\u28b8");
    assert_string_equal(t.grid.cells[81].text, "\u2847"); /* four dots of the left half: 0 .. 3 */
    top_grid_fini(&t.grid);
}

int main(void)
{
    setenv("TZ", "UTC0", 1);
    tzset();
    return test_run(NULL, NULL);
}
