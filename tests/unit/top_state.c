// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/top/top_state.h"
#include "base/clock.h"
#include "tests/lib/test.h"

#include <string.h>

enum { ROWS = 5, PAGE = 3 };

#define AT(seconds) ((int64_t)(1000 + (seconds)) * CLOCK_S)

/* Five processes, a run of 100 s, and two violations; what is shown of it. */
struct scene {
    struct top_state s;
    struct top_item items[ROWS];
    uint32_t order[ROWS];
    struct top_violation violations[2];
    struct top_seen seen;
};

static void set_up(struct scene *t)
{
    *t = (struct scene){.violations = {{0, 1, AT(20), AT(25), false}, {1, 2, AT(60), AT(61), true}}};
    for (uint32_t i = 0; i < ROWS; i++) {
        t->items[i] = (struct top_item){.id = TOP_ALL, .at = TOP_NEVER, .into = TOP_ASPECTS, .scope = TOP_ALL};
        t->items[i].id.instance = t->items[i].scope.instance = i + 1;
        t->order[i] = i;
    }
    t->seen = (struct top_seen){.items = t->items,
                                .order = t->order,
                                .count = ROWS,
                                .page = PAGE,
                                .first = AT(0),
                                .last = AT(100),
                                .steps = 50,
                                .columns = 7,
                                .violation_count = 2,
                                .violations = t->violations};
    top_state_init(&t->s, TOP_PROCESSES, CLOCK_S, 50 * CLOCK_S);
    top_state_settle(&t->s, &t->seen);
}

static void press(struct scene *t, const char *keys)
{
    for (; *keys; keys++)
        top_state_key(&t->s, &t->seen, *keys);
}

static void press_key(struct scene *t, int key)
{
    top_state_key(&t->s, &t->seen, key);
}

TEST(following_shows_the_newest_until_the_cursor_moves)
{
    struct scene t;
    set_up(&t);
    assert_int_equal(t.s.time, AT(100));
    t.seen.last = AT(101);
    top_state_settle(&t.s, &t.seen);
    assert_int_equal(t.s.time, AT(101));
    assert_int_equal(t.s.end, AT(101));
    press_key(&t, TOP_KEY_LEFT);
    assert_false(t.s.follow);
    assert_int_equal(t.s.time, AT(100)); /* a fiftieth of 50 s */
    t.seen.last = AT(110);
    top_state_settle(&t.s, &t.seen);
    assert_int_equal(t.s.time, AT(100));
    press(&t, "f");
    top_state_settle(&t.s, &t.seen);
    assert_int_equal(t.s.time, AT(110));
    press(&t, " ");
    assert_false(t.s.follow);
    press(&t, " ");
    assert_true(t.s.follow);
}

TEST(the_cursor_stays_in_the_run_and_the_plot_shows_it)
{
    struct scene t;
    set_up(&t);
    for (int i = 0; i < 200; i++) {
        press_key(&t, TOP_KEY_LEFT);
        assert_true(t.s.time >= AT(0) && t.s.time <= t.s.end && t.s.time > t.s.end - t.s.span);
    }
    assert_int_equal(t.s.time, AT(0));
    for (int i = 0; i < 200; i++)
        press_key(&t, TOP_KEY_RIGHT);
    assert_int_equal(t.s.time, AT(100));
    assert_int_equal(t.s.end, AT(100));
}

TEST(zooming_keeps_the_cursor_in_its_place)
{
    struct scene t;
    set_up(&t);
    for (int i = 0; i < 10; i++)
        press_key(&t, TOP_KEY_LEFT);
    assert_int_equal(t.s.time, AT(90));
    press(&t, "+");
    assert_int_equal(t.s.span, 25 * CLOCK_S);
    assert_int_equal(t.s.end, AT(95)); /* a fifth from the end, as before */
    assert_int_equal(t.s.time, AT(90));
    press(&t, "-");
    assert_int_equal(t.s.span, 50 * CLOCK_S);
    assert_int_equal(t.s.end, AT(100));
    for (int i = 0; i < 60; i++)
        press(&t, "+");
    assert_true(t.s.span >= CLOCK_MS && t.s.message);
}

TEST(brackets_go_from_violation_to_violation)
{
    struct scene t;
    set_up(&t);
    press(&t, "[");
    assert_int_equal(t.s.time, AT(60));
    press(&t, "[");
    assert_int_equal(t.s.time, AT(20));
    press(&t, "[");
    assert_int_equal(t.s.time, AT(20));
    assert_string_equal(t.s.message, "No violation begins earlier.");
    press(&t, "]");
    assert_int_equal(t.s.time, AT(60));
    assert_null(t.s.message);
    press(&t, "]");
    assert_string_equal(t.s.message, "No violation begins later.");
}

TEST(a_violation_is_found_by_node_limit_and_time)
{
    struct scene t;
    set_up(&t);
    assert_null(top_state_violation(t.violations, 2, TOP_ANY, -1, AT(19)));
    assert_ptr_equal(top_state_violation(t.violations, 2, TOP_ANY, -1, AT(20)), &t.violations[0]);
    assert_ptr_equal(top_state_violation(t.violations, 2, TOP_ANY, -1, AT(99)), &t.violations[1]);
    assert_ptr_equal(top_state_violation(t.violations, 2, TOP_ANY, 1, AT(99)), &t.violations[0]);
    assert_null(top_state_violation(t.violations, 2, 0, 2, AT(99)));
}

TEST(rows_scroll_and_a_selected_one_is_kept_where_it_goes)
{
    struct scene t;
    set_up(&t);
    struct top_place *p = top_state_place(&t.s);
    press_key(&t, TOP_KEY_UP);
    assert_int_equal(p->at, 0);
    for (int i = 0; i < 3; i++)
        press_key(&t, TOP_KEY_DOWN);
    assert_int_equal(p->at, 3);
    assert_int_equal(p->first, 1);
    t.order[0] = 3; /* another order */
    t.order[3] = 0;
    top_state_settle(&t.s, &t.seen);
    assert_int_equal(p->at, 0);
    assert_int_equal(p->first, 0);
    press_key(&t, TOP_KEY_END);
    assert_int_equal(p->at, ROWS - 1);
    assert_int_equal(p->first, ROWS - PAGE);
    t.seen.count = 2; /* the selected one is gone */
    top_state_settle(&t.s, &t.seen);
    assert_int_equal(p->at, 1);
    assert_int_equal(p->first, 0);
    t.seen.count = 0;
    top_state_settle(&t.s, &t.seen);
    press_key(&t, TOP_KEY_PAGE_DOWN);
    press_key(&t, TOP_KEY_ENTER);
    assert_int_equal(t.s.depth, 0);
}

TEST(a_marked_row_is_selected_at_first)
{
    struct scene t;
    set_up(&t);
    t.items[2].mark = '!';
    top_state_settle(&t.s, &t.seen);
    assert_int_equal(top_state_place(&t.s)->at, 2);
    press_key(&t, TOP_KEY_UP);
    top_state_settle(&t.s, &t.seen);
    assert_int_equal(top_state_place(&t.s)->at, 1); /* the operator's choice stays */
}

TEST(enter_goes_in_and_escape_comes_back)
{
    struct scene t;
    set_up(&t);
    t.items[1].at = AT(42);
    press_key(&t, TOP_KEY_DOWN);
    press(&t, "/x\n");
    assert_string_equal(t.s.filter, "x");
    press_key(&t, TOP_KEY_ENTER);
    assert_int_equal(t.s.depth, 1);
    assert_int_equal(top_state_place(&t.s)->view, TOP_ASPECTS);
    assert_int_equal(top_state_place(&t.s)->scope.instance, 2);
    assert_int_equal(t.s.time, AT(42));
    assert_string_equal(t.s.filter, "");
    press_key(&t, TOP_KEY_ESCAPE);
    assert_int_equal(t.s.depth, 0);
    assert_int_equal(top_state_place(&t.s)->view, TOP_PROCESSES);
    assert_int_equal(top_state_place(&t.s)->selected.instance, 2);
    press_key(&t, TOP_KEY_BACKSPACE);
    assert_int_equal(t.s.depth, 0);
    for (int i = 0; i < 2 * TOP_DEPTH; i++)
        press_key(&t, TOP_KEY_ENTER);
    assert_int_equal(t.s.depth, TOP_DEPTH - 1);
    press(&t, "d");
    assert_int_equal(t.s.depth, 0);
    assert_int_equal(top_state_place(&t.s)->view, TOP_DECISIONS);
}

TEST(letters_open_views_and_go_into_the_filter_while_it_is_edited)
{
    static const char letters[] = "npaldLmt";
    static const enum top_view views[] = {TOP_NODES,     TOP_PROCESSES, TOP_ASPECTS,  TOP_LIMITS,
                                          TOP_DECISIONS, TOP_LOSSES,    TOP_MESSAGES, TOP_THREADS};
    struct scene t;
    set_up(&t);
    for (int i = 0; letters[i]; i++) {
        press_key(&t, letters[i]);
        assert_int_equal(top_state_place(&t.s)->view, views[i]);
    }
    press(&t, "/nq[");
    press_key(&t, TOP_KEY_BACKSPACE);
    assert_true(t.s.editing && !t.s.quit);
    assert_string_equal(t.s.filter, "nq");
    press_key(&t, TOP_KEY_ENTER);
    assert_false(t.s.editing);
    press_key(&t, TOP_KEY_ESCAPE);
    assert_string_equal(t.s.filter, "");
    press(&t, "/");
    for (int i = 0; i < 2 * TOP_FILTER_MAX; i++)
        press(&t, "x");
    assert_int_equal(strlen(t.s.filter), TOP_FILTER_MAX - 1);
}

TEST(columns_are_sorted_by_in_turn)
{
    struct scene t;
    set_up(&t);
    const struct top_sort *sort = &t.s.sorts[TOP_PROCESSES];
    size_t before = sort->column;
    press(&t, ">");
    assert_int_equal(sort->column, before + 1);
    press(&t, "<<");
    assert_int_equal(sort->column, before - 1);
    bool down = sort->down;
    press(&t, "r");
    assert_int_not_equal(sort->down, down);
    for (int i = 0; i < 7; i++)
        press(&t, ">");
    assert_int_equal(sort->column, before - 1);
}

TEST(help_goes_with_any_key_and_q_quits)
{
    struct scene t;
    set_up(&t);
    press(&t, "?");
    assert_true(t.s.help);
    press(&t, "l");
    assert_false(t.s.help);
    assert_int_equal(top_state_place(&t.s)->view, TOP_PROCESSES);
    press(&t, "Z");
    assert_string_equal(t.s.message, "? explains the keys.");
    press(&t, "q");
    assert_true(t.s.quit);
}

TEST(nothing_stored_is_no_time)
{
    struct scene t;
    set_up(&t);
    t.seen.first = INT64_MAX;
    t.seen.last = INT64_MIN;
    t.seen.count = t.seen.violation_count = 0;
    top_state_init(&t.s, TOP_NODES, CLOCK_S, CLOCK_S);
    top_state_settle(&t.s, &t.seen);
    press(&t, "[]+- ");
    press_key(&t, TOP_KEY_LEFT);
    press_key(&t, TOP_KEY_DOWN);
    press_key(&t, TOP_KEY_ENTER);
    assert_int_equal(t.s.time, 0);
}
