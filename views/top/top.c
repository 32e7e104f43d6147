// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/top/top.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/saturate.h"
#include "run/read/run_reader.h"
#include "run/rundb/rundb_live.h"
#include "views/top/top_curses.h"
#include "views/top/top_link.h"
#include "views/top/top_screen.h"
#include "views/top/top_source.h"
#include "views/top/top_table.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { COST = 50 }; /* a refresh takes at most one part in so many of the time */

/* Of an update: a look at ten thousand files alone takes some time, so the more there is, the longer. */
static const int64_t budget = 20 * CLOCK_MS, budget_most = 500 * CLOCK_MS;

/* After the end of a run, until all that was written is taken in: the database is not looked at each time. */
static const int64_t settling = 5 * CLOCK_S;

/* The last moment that was read. */
struct top_taken {
    enum top_view view;
    struct top_id scope;
    int64_t time;
    bool own;
};

struct top {
    const struct top_options *o;
    struct top_source *source;
    struct top_state state;
    struct top_data data;
    struct top_grid grid;
    uint32_t *order;
    size_t order_capacity, count; /* rows that are shown */
    int64_t cpu, cpu_at;          /* when the own cost was looked at last */
    int64_t cost;                 /* CPU time of the last refresh */
    int64_t budget;               /* of the next update, ns */
    int64_t ended_at;             /* clock_now() when the run was found to have ended; 0: it goes on */
    struct top_taken taken;
    bool is_taken; /* nothing was stored since */
    bool fitted;   /* the window is that of the run */
    struct top_link link;
};

/* ---- a refresh --------------------------------------------------------------------------------------------------- */

static uint64_t memory_now(void)
{
    unsigned long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return 0;
    if (fscanf(f, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    fclose(f);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void look_at_cost(struct top *t)
{
    int64_t now = clock_now(), cpu = clock_process_cpu();
    if (t->cpu_at && now - t->cpu_at < CLOCK_S / 2)
        return;
    if (t->cpu_at)
        t->data.own_cpu = 100.0 * (double)(cpu - t->cpu) / (double)(now - t->cpu_at);
    t->cpu = cpu;
    t->cpu_at = now;
    t->data.own_memory = memory_now();
}

static struct top_seen seen(const struct top *t)
{
    struct top_seen s = {.items = t->data.items,
                         .order = t->order,
                         .count = t->count,
                         .page = t->count,
                         .first = t->data.first,
                         .last = t->data.last,
                         .steps = 1};
    if (t->grid.cells) {
        struct top_layout l = top_screen_layout(&t->grid);
        s.page = l.rows;
        s.steps = l.plot_width;
    }
    (void)top_table_columns(t->state.stack[t->state.depth].view, &s.columns);
    s.violations = top_source_violations(t->source, &s.violation_count);
    return s;
}

static int sort_rows(struct top *t)
{
    if (t->data.count > t->order_capacity) {
        free(t->order);
        t->order_capacity = 0;
        t->order = malloc(2 * t->data.count * sizeof *t->order);
        if (!t->order)
            return BEZEL_ENOMEM;
        t->order_capacity = 2 * t->data.count;
    }
    t->count = top_table_order(&t->data, t->state.sorts[t->data.view], t->state.filter, t->order);
    return 0;
}

/* What the rows depend on, beside what is stored. */
static struct top_taken taken_of(const struct top *t)
{
    const struct top_place *p = &t->state.stack[t->state.depth];
    return (struct top_taken){p->view, p->scope, t->state.follow ? INT64_MAX : t->state.time, t->state.own};
}

/* Whether the rows are those of the state: keys that move in a table need nothing to be read. */
static bool is_taken(const struct top *t)
{
    struct top_taken now = taken_of(t);
    return t->is_taken && now.view == t->taken.view && top_id_same(now.scope, t->taken.scope) &&
           now.time == t->taken.time && now.own == t->taken.own;
}

/* Fills data and order for the state as it is. */
static int take(struct top *t)
{
    int err = is_taken(t) ? 0 : top_source_take(t->source, &t->state, &t->data);
    t->taken = taken_of(t);
    t->is_taken = !err;
    t->count = 0;
    if (!err)
        err = sort_rows(t);
    if (err)
        return err;
    struct top_seen s = seen(t);
    top_state_settle(&t->state, &s);
    const struct top_place *p = top_state_place(&t->state);
    size_t visible = t->count - p->first < s.page ? t->count - p->first : s.page;
    if (t->data.view == TOP_ASPECTS)
        err = top_source_refine(t->source, t->order + p->first, visible);
    if (err || !t->grid.cells)
        return err;
    const struct top_item *item = t->count ? &t->data.items[t->order[p->at]] : NULL;
    return top_source_plot(t->source, &t->state, item, top_screen_layout(&t->grid).dots, &t->data);
}

static int fail(const struct top *t, int err)
{
    log_error("BEZEL-TOP", "cannot read %s: %s", t->o->run, rundb_why(err));
    return EXIT_FAILED;
}

/*
 * Once all that was stored is taken in: the plot shows the whole of an ended run at first, and up to five minutes of
 * one that goes on.
 */
static void fit_window(struct top *t)
{
    static const int64_t least = 10 * CLOCK_S, most = 300 * CLOCK_S;
    int64_t first, last;
    if (t->fitted)
        return;
    t->fitted = true;
    top_source_range(t->source, &first, &last);
    if (first > last)
        return;
    int64_t length = last - first;
    if (t->o->span == 0)
        t->state.span = length < least ? least : length > most && t->data.growing ? most : length;
    if (t->o->back == 0)
        return;
    t->state.follow = false;
    t->state.time = saturate_add(last, -t->o->back);
    t->state.end = last;
}

/* ---- plain lines ------------------------------------------------------------------------------------------------- */

static void print_cells(const struct top *t, const struct top_item *item)
{
    char text[TOP_TEXT_MAX];
    size_t count;
    const struct top_column *columns = top_table_columns(t->data.view, &count);
    for (size_t i = 0; i < count; i++) {
        bool left = columns[i].kind <= TOP_IS_MADE || columns[i].kind == TOP_IS_CLOCK, last = i + 1 == count;
        if (item)
            top_table_cell(&t->data, item, &columns[i], text, sizeof text);
        else
            snprintf(text, sizeof text, "%s", columns[i].title);
        printf(left ? "%s%-*s" : "%s%*s",
               i                           ? " "
               : item && item->mark != ' ' ? "! "
                                           : "  ",
               left && last ? 0 : (int)columns[i].width, text);
    }
    putchar('\n');
}

static int print_view(struct top *t, enum top_view view)
{
    *top_state_place(&t->state) = (struct top_place){.view = view, .scope = TOP_ALL};
    int err = take(t);
    if (err || t->count == 0)
        return err;
    print_cells(t, NULL);
    for (size_t i = 0; i < t->count; i++)
        print_cells(t, &t->data.items[t->order[i]]);
    return 0;
}

static int print_moment(struct top *t)
{
    char text[2 * TOP_TEXT_MAX], cost[96];
    enum top_view view = t->o->view == TOP_VIEWS ? TOP_NODES : t->o->view;
    *top_state_place(&t->state) = (struct top_place){.view = view, .scope = TOP_ALL};
    t->is_taken = false;
    int err = take(t);
    if (err)
        return err;
    look_at_cost(t);
    top_screen_cost(&t->data, cost, sizeof cost);
    top_screen_moment(&t->state, &t->data, text, sizeof text);
    printf("%s  %s\n", text, cost);
    top_screen_totals(&t->data, text, sizeof text);
    printf("%s\n%s\n", text, top_screen_says(&t->data));
    err = print_view(t, view);
    if (!err && t->o->view == TOP_VIEWS)
        err = print_view(t, TOP_LIMITS);
    putchar('\n');
    (void)!fflush(stdout); /* ferror() tells */
    return err;
}

/* Waits, but for a signal or for a reader of the output that is gone. */
static void wait_plain(int64_t ns)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    if (poll(&out, 1, (int)(ns / CLOCK_MS)) > 0 && out.revents & (POLLERR | POLLHUP))
        lifetime_stop = SIGPIPE;
}

static int update_all(struct top *t)
{
    int more;
    do
        more = top_source_update(t->source, budget_most);
    while (more > 0 && !lifetime_stop);
    return more < 0 ? more : 0;
}

static void look_at_run(struct top *t)
{
    char ended[24];
    t->data.growing = run_reader_goes_on(t->o->run);
    t->data.aborted = !t->data.growing && rundb_read(t->o->run, RUNDB_ENDED, ended, sizeof ended) == BEZEL_ENOENT;
    mirror_state_look(t->o->run, &t->data.mirror);
}

/* Moments of an ended run end with its end, or `back` before. */
static int show_plain(struct top *t)
{
    uint64_t count = t->o->count;
    for (uint64_t i = 0; !lifetime_stop && !ferror(stdout) && (count == 0 || i < count); i++) {
        look_at_run(t);
        int err = update_all(t);
        if (err)
            return fail(t, err);
        count = count == 0 && !t->data.growing ? i + 1 : count;
        int64_t first, last, later = t->data.growing ? 0 : (int64_t)(count - 1 - i);
        top_source_range(t->source, &first, &last);
        t->state.follow = later == 0 && t->o->back == 0;
        t->state.time =
            saturate_add(last, -saturate_add(t->o->back, later < INT64_C(1) << 32 ? later * t->o->interval : 0));
        err = print_moment(t);
        if (err)
            return fail(t, err);
        if (t->data.growing && i + 1 != count)
            wait_plain(t->o->interval);
    }
    return EXIT_OK;
}

/* ---- the terminal ------------------------------------------------------------------------------------------------ */

static int fit_grid(struct top *t)
{
    unsigned width, height;
    top_curses_size(&width, &height);
    top_grid_fini(&t->grid);
    return top_grid_init(&t->grid, width, height, t->o->ascii ? TOP_ASCII : top_curses_charset());
}

static int draw(struct top *t)
{
    int err = take(t);
    if (err)
        return err;
    top_screen_draw(&t->grid, &t->state, &t->data, t->order, t->count);
    top_curses_show(&t->grid);
    return 0;
}

/* Takes in what is new for a while. Where there is more, the next refresh comes at once. */
static int refresh_screen(struct top *t, int64_t *next)
{
    int64_t begin = clock_process_cpu();
    look_at_run(t);
    t->ended_at = t->data.growing ? 0 : t->ended_at ? t->ended_at : clock_now();
    bool settled = t->ended_at && clock_now() - t->ended_at > settling && !t->data.reading;
    t->is_taken = t->is_taken && settled; /* nothing is new any more */
    int more = t->is_taken ? 0 : top_source_update(t->source, t->budget);
    if (more < 0)
        return more;
    t->budget = !more ? budget : 2 * t->budget < budget_most ? 2 * t->budget : budget_most;
    t->data.reading = more > 0;
    if (!more)
        fit_window(t);
    look_at_cost(t);
    (void)top_link_receive(&t->link, &t->state); /* all of it is drawn anyway */
    int err = draw(t);
    t->cost = clock_process_cpu() - begin;
    int64_t least = t->o->interval > COST * t->cost || more > 0 ? t->o->interval : COST * t->cost;
    t->data.refresh = least > t->o->interval ? least : 0;
    *next = clock_now() + (more > 0 ? 0 : least);
    return err;
}

static int on_key(struct top *t, int key)
{
    if (key == TOP_KEY_RESIZED) {
        int err = fit_grid(t);
        return err ? err : draw(t);
    }
    struct top_seen s = seen(t);
    top_state_key(&t->state, &s, key);
    top_link_send(&t->link, &t->state, s.last);
    return t->state.quit ? 0 : draw(t);
}

static int show_screen(struct top *t)
{
    int64_t next = 0;
    uint64_t shown = 0;
    int err = fit_grid(t);
    while (!err && !lifetime_stop && !t->state.quit) {
        if (clock_now() >= next) {
            if (t->o->count && shown++ == t->o->count)
                break;
            err = refresh_screen(t, &next);
        }
        int key = err ? TOP_KEY_NONE : top_curses_key(next - clock_now());
        if (key != TOP_KEY_NONE)
            err = on_key(t, key);
    }
    top_curses_end();
    return err ? fail(t, err) : EXIT_OK;
}

/* The screen, linked with other views of the run, if there can be any. */
static int show_linked(struct top *t)
{
    (void)!linked_open(top_source_run(t->source), &t->link.linked);
    int code = show_screen(t);
    linked_close(t->link.linked);
    return code;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int open_run(struct top *t)
{
    run_reader_await(t->o->run, INT64_MAX, &lifetime_stop);
    int err = top_source_open(t->o->run, &t->source);
    return err ? fail(t, err) : EXIT_OK;
}

int top_show(const struct top_options *o)
{
    struct top t = {.o = o, .budget = budget, .data = {.run = file_name(o->run)}};
    top_state_init(&t.state, o->view == TOP_VIEWS ? TOP_NODES : o->view, o->interval, o->span ? o->span : 60 * CLOCK_S);
    t.state.own = o->own;
    lifetime_catch(0); /* without SA_RESTART, so that waiting ends */
    int code = open_run(&t);
    if (code == EXIT_OK)
        code = !o->plain && top_curses_begin() ? show_linked(&t) : show_plain(&t);
    top_source_close(t.source);
    top_grid_fini(&t.grid);
    free(t.order);
    return code;
}
