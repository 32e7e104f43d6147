// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/top/top_state.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "views/top/top_table.h"

#include <string.h>

static const int64_t span_least = CLOCK_MS;

void top_state_init(struct top_state *s, enum top_view view, int64_t interval, int64_t span)
{
    memset(s, 0, sizeof *s);
    s->stack[0] = (struct top_place){.view = view, .scope = TOP_ALL};
    s->follow = true;
    s->interval = interval;
    s->span = span;
    for (enum top_view v = 0; v < TOP_VIEWS; v++)
        s->sorts[v] = top_table_sort_first(v);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* Shows `time`, which follows no longer, and moves the plot so that it is in there. */
static void go_to(struct top_state *s, const struct top_seen *seen, int64_t time)
{
    if (seen->first > seen->last)
        return;
    s->follow = false;
    s->time = time < seen->first ? seen->first : time > seen->last ? seen->last : time;
    if (s->time > s->end)
        s->end = s->time;
    if (s->time <= s->end - s->span)
        s->end = saturate_add(s->time, s->span / 2);
    if (s->end > seen->last)
        s->end = seen->last;
}

static void step(struct top_state *s, const struct top_seen *seen, int direction)
{
    int64_t by = s->span / (int64_t)(seen->steps ? seen->steps : 1);
    go_to(s, seen, saturate_add(s->time, direction * (by ? by : 1)));
}

/* The cursor keeps its place in the plot. */
static void zoom(struct top_state *s, const struct top_seen *seen, bool in)
{
    if (seen->first > seen->last)
        return;
    int64_t behind = s->end - s->time;
    if (in ? s->span / 2 < span_least : s->span * 2 > TOP_SPAN_MOST) {
        s->message = in ? "The plot shows no shorter time." : "The plot shows no longer time.";
        return;
    }
    s->span = in ? s->span / 2 : s->span * 2;
    s->end = saturate_add(s->time, in ? behind / 2 : behind * 2);
    if (s->end > seen->last)
        s->end = seen->last;
}

static void next_violation(struct top_state *s, const struct top_seen *seen)
{
    for (size_t i = 0; i < seen->violation_count; i++)
        if (seen->violations[i].begin > s->time) {
            go_to(s, seen, seen->violations[i].begin);
            return;
        }
    s->message = "No violation begins later.";
}

static void last_violation(struct top_state *s, const struct top_seen *seen)
{
    for (size_t i = seen->violation_count; i > 0; i--)
        if (seen->violations[i - 1].begin < s->time) {
            go_to(s, seen, seen->violations[i - 1].begin);
            return;
        }
    s->message = "No violation begins earlier.";
}

const struct top_violation *top_state_violation(const struct top_violation *list, size_t count, uint32_t node,
                                                int32_t limit, int64_t time)
{
    for (size_t i = count; i > 0; i--) {
        const struct top_violation *v = &list[i - 1];
        if (v->begin <= time && (limit < 0 || v->limit == limit) && (node == TOP_ANY || v->node == node))
            return v;
    }
    return NULL;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void select_row(struct top_state *s, const struct top_seen *seen, size_t at)
{
    struct top_place *p = top_state_place(s);
    if (seen->count == 0)
        return;
    p->at = at < seen->count ? at : seen->count - 1;
    p->selected = seen->items[seen->order[p->at]].id;
    p->any = true;
}

static void scroll(struct top_place *p, const struct top_seen *seen)
{
    size_t page = seen->page ? seen->page : 1;
    if (p->at < p->first)
        p->first = p->at;
    if (p->at >= p->first + page)
        p->first = p->at - page + 1;
    if (p->first + page > seen->count)
        p->first = seen->count > page ? seen->count - page : 0;
}

/* The row that was selected may be elsewhere by now, or gone. */
static void find_selected(struct top_place *p, const struct top_seen *seen)
{
    for (size_t i = 0; i < seen->count; i++) {
        const struct top_item *item = &seen->items[seen->order[i]];
        if (p->any ? top_id_same(item->id, p->selected) : item->mark == '!') {
            p->at = i;
            break;
        }
    }
    if (p->at >= seen->count)
        p->at = seen->count ? seen->count - 1 : 0;
}

void top_state_settle(struct top_state *s, const struct top_seen *seen)
{
    struct top_place *p = top_state_place(s);
    if (s->follow && seen->first <= seen->last)
        s->time = s->end = seen->last;
    find_selected(p, seen);
    scroll(p, seen);
}

static void move_rows(struct top_state *s, const struct top_seen *seen, int key)
{
    struct top_place *p = top_state_place(s);
    size_t page = seen->page ? seen->page : 1;
    if (key == TOP_KEY_UP)
        select_row(s, seen, p->at ? p->at - 1 : 0);
    else if (key == TOP_KEY_DOWN)
        select_row(s, seen, p->at + 1);
    else if (key == TOP_KEY_PAGE_UP)
        select_row(s, seen, p->at > page ? p->at - page : 0);
    else if (key == TOP_KEY_PAGE_DOWN)
        select_row(s, seen, p->at + page);
    else
        select_row(s, seen, key == TOP_KEY_HOME ? 0 : SIZE_MAX);
    scroll(p, seen);
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

static void open_view(struct top_state *s, enum top_view view)
{
    s->depth = 0;
    s->stack[0] = (struct top_place){.view = view, .scope = TOP_ALL};
}

/* Goes into the selected row. */
static void enter(struct top_state *s, const struct top_seen *seen)
{
    const struct top_place *p = top_state_place(s);
    if (seen->count == 0)
        return;
    const struct top_item *item = &seen->items[seen->order[p->at < seen->count ? p->at : seen->count - 1]];
    if (item->at != TOP_NEVER)
        go_to(s, seen, item->at);
    if (item->into == TOP_VIEWS || s->depth + 1 == TOP_DEPTH) {
        s->message = item->at != TOP_NEVER ? "That is the time shown now." : "There is nothing in this row.";
        return;
    }
    s->stack[s->depth].selected = item->id;
    s->stack[s->depth].any = true;
    s->stack[++s->depth] = (struct top_place){.view = item->into, .scope = item->scope};
    s->filter[0] = '\0'; /* it was for the rows before */
}

static void leave(struct top_state *s)
{
    if (s->help)
        s->help = false;
    else if (s->filter[0])
        s->filter[0] = '\0';
    else if (s->depth > 0)
        s->depth--;
}

static void sort_by(struct top_state *s, const struct top_seen *seen, int direction)
{
    struct top_sort *sort = &s->sorts[top_state_place(s)->view];
    if (seen->columns == 0)
        return;
    sort->column = (sort->column + (direction < 0 ? seen->columns - 1 : 1)) % seen->columns;
    sort->down = top_table_sorts_down(top_state_place(s)->view, sort->column);
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static void edit_filter(struct top_state *s, int key)
{
    size_t n = strlen(s->filter);
    if (key == TOP_KEY_ENTER)
        s->editing = false;
    else if (key == TOP_KEY_ESCAPE)
        s->editing = false, s->filter[0] = '\0';
    else if (key == TOP_KEY_BACKSPACE && n > 0)
        s->filter[n - 1] = '\0';
    else if (key >= ' ' && key < 127 && n + 1 < sizeof s->filter)
        s->filter[n] = (char)key, s->filter[n + 1] = '\0';
}

static void on_time_key(struct top_state *s, const struct top_seen *seen, int key)
{
    switch (key) {
    case TOP_KEY_LEFT:
        step(s, seen, -1);
        break;
    case TOP_KEY_RIGHT:
        step(s, seen, 1);
        break;
    case '+':
    case '=':
        zoom(s, seen, true);
        break;
    case '-':
        zoom(s, seen, false);
        break;
    case ' ':
        s->follow = !s->follow;
        break;
    case 'f':
        s->follow = true;
        break;
    case '[':
        last_violation(s, seen);
        break;
    case ']':
        next_violation(s, seen);
        break;
    default:
        s->message = "? explains the keys.";
    }
}

static void on_view_key(struct top_state *s, const struct top_seen *seen, int key)
{
    static const char letters[TOP_VIEWS] = {
        [TOP_NODES] = 'n',   [TOP_PROCESSES] = 'p', [TOP_ASPECTS] = 'a', [TOP_RECORDS] = 0,
        [TOP_LIMITS] = 'l',  [TOP_DECISIONS] = 'd', [TOP_LOSSES] = 'L',  [TOP_MESSAGES] = 'm',
        [TOP_THREADS] = 't', [TOP_INTERVALS] = 'i', [TOP_WAITS] = 'w',   [TOP_PATH] = 'P'};
    for (enum top_view v = 0; v < TOP_VIEWS; v++)
        if (letters[v] == key) {
            open_view(s, v);
            return;
        }
    switch (key) {
    case TOP_KEY_ENTER:
        enter(s, seen);
        break;
    case '<':
    case ',':
        sort_by(s, seen, -1);
        break;
    case '>':
    case '.':
        sort_by(s, seen, 1);
        break;
    case 'r':
        s->sorts[top_state_place(s)->view].down = !s->sorts[top_state_place(s)->view].down;
        break;
    case '/':
        s->editing = true;
        break;
    case 'o':
        s->own = !s->own;
        break;
    default:
        on_time_key(s, seen, key);
    }
}

void top_state_key(struct top_state *s, const struct top_seen *seen, int key)
{
    s->message = NULL;
    if (key == TOP_KEY_NONE)
        return;
    if (s->editing)
        edit_filter(s, key);
    else if (key == 'q')
        s->quit = true;
    else if (key == '?')
        s->help = !s->help;
    else if (key == TOP_KEY_ESCAPE || key == TOP_KEY_BACKSPACE)
        leave(s);
    else if (s->help)
        s->help = false;
    else if (key == TOP_KEY_UP || key == TOP_KEY_DOWN || (key >= TOP_KEY_PAGE_UP && key <= TOP_KEY_END))
        move_rows(s, seen, key);
    else
        on_view_key(s, seen, key);
}
