// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "collector/facts.h"
#include "ecs/json.h"
#include "ecs/report.h"
#include "ecs/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { SNAPSHOTS_SHOWN = 20 }; /* unless all is asked for */

/* ---- A snapshot of the run: the rows of its nodes ---------------------------------------------------------------- */

/* The row behind the last one of the snapshot that row `from` opens. */
static size_t rows_end(const struct summary *s, size_t from)
{
    size_t i = from + 1;
    while (s->snapshots[from].number != 0 && i < s->snapshot_count &&
           s->snapshots[i].number == s->snapshots[from].number)
        i++;
    return i;
}

static int64_t realtime(const struct report *r, uint32_t node, int64_t at)
{
    return at + (node < r->summary->node_count ? r->summary->nodes[node].realtime_offset : 0);
}

/* The command that shows the records of rows `from` to below `to`, into `text`; "" where there are none. */
static void command_of(const struct report *r, size_t from, size_t to, char *text, size_t size)
{
    int64_t begin = INT64_MAX, end = INT64_MIN;
    text[0] = '\0';
    for (size_t i = from; i < to; i++) {
        const struct summary_snapshot *n = &r->summary->snapshots[i];
        int64_t first = realtime(r, n->node, n->first_ns), last = realtime(r, n->node, n->last_ns);
        begin = n->records && first < begin ? first : begin;
        end = n->records && last > end ? last : end;
    }
    if (begin > end || begin < 0)
        return;
    bool ended = r->verdict->run == RUN_ENDED;
    int n = ended ? 0 : snprintf(text, size, "bezel export %s | xargs ", r->run);
    if (n >= (int)size) {
        text[0] = '\0';
        return;
    }
    snprintf(text + n, size - (size_t)n,
             "babeltrace2 --begin=%" PRId64 ".%09" PRId64 " --end=%" PRId64 ".%09" PRId64 "%s%s%s", begin / CLOCK_S,
             begin % CLOCK_S, end / CLOCK_S, end % CLOCK_S, ended ? " " : "", ended ? r->run : "",
             ended ? "/trace" : "");
}

static uint64_t refused(const struct report *r)
{
    const char *fact = summary_fact(r->summary, FACTS_SNAPSHOTS_REFUSED);
    return fact ? strtoull(fact, NULL, 10) : 0;
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

static void cause_cell(const struct report *r, struct table *t, const struct summary_snapshot *n)
{
    if (n->number == 0)
        table_cell(t, "%s", "an operator's");
    else if (isnan(n->value))
        table_cell(t, "%s broke on %s", report_limit_text(r, n->limit), n->cause_node);
    else
        table_cell(t, "%s broke on %s (%s)", report_limit_text(r, n->limit), n->cause_node,
                   report_limit_value(r, n->limit, n->value).s);
}

static void snapshot_row(const struct report *r, struct table *t, const struct summary_snapshot *n, bool opens)
{
    if (opens && n->number)
        table_cell(t, "%" PRIu32, n->number);
    else
        table_cell(t, "%s", "");
    if (opens) {
        table_cell(t, "%.3f s", (double)report_run_time(r, n->node, n->moment) / (double)CLOCK_S);
        cause_cell(r, t, n);
    } else {
        table_cell(t, "%s", "");
        table_cell(t, "%s", "");
    }
    table_cell(t, "%s", report_node_name(r, n->node));
    table_cell(t, "%s", units_count(n->processes).s);
    table_cell(t, "%s", units_count(n->records).s);
    table_cell(t, "%s", n->records && n->first_ns < n->moment ? units_duration(n->moment - n->first_ns).s : "-");
    table_cell(t, "%s", n->records && n->last_ns > n->moment ? units_duration(n->last_ns - n->moment).s : "-");
    table_cell(t, "%s", n->over ? "" : r->verdict->run == RUN_RUNNING ? "(goes on)" : "(cut short)");
}

/* Of the snapshots those that the text shows, in order: `shown` is called with the rows of each, and what is left out.
 */
static void each_shown(const struct report *r,
                       void (*shown)(const struct report *r, size_t from, size_t to, void *to_what), void *to_what)
{
    const struct summary *s = r->summary;
    size_t count = 0, i = 0;
    for (size_t from = 0; from < s->snapshot_count; from = rows_end(s, from))
        count++;
    for (size_t from = 0; from < s->snapshot_count; from = rows_end(s, from), i++)
        if (r->all || count <= SNAPSHOTS_SHOWN || i < SNAPSHOTS_SHOWN / 2 || i >= count - SNAPSHOTS_SHOWN / 2)
            shown(r, from, rows_end(s, from), to_what);
        else if (i == SNAPSHOTS_SHOWN / 2)
            shown(r, 0, 0, to_what);
}

static void snapshot_rows(const struct report *r, size_t from, size_t to, void *table)
{
    for (size_t i = from; i < to; i++)
        snapshot_row(r, table, &r->summary->snapshots[i], i == from);
    if (from < to)
        return;
    for (int i = 0; i < 9; i++)
        table_cell(table, "%s", i == 1 ? "..." : i == 2 ? "(--all shows them)" : "");
}

static void snapshot_command(const struct report *r, size_t from, size_t to, void *out)
{
    char command[1024];
    command_of(r, from, to, command, sizeof command);
    if (from < to && command[0] && r->summary->snapshots[from].number)
        fprintf(out, "  %" PRIu32 ":  %s\n", r->summary->snapshots[from].number, command);
}

void report_snapshots(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"", "time", "because", "node", "processes", "records", "before", "after", ""};
    if (r->summary->snapshot_count == 0)
        return;
    report_title(r, "Snapshots", out);
    struct table *t = table_with_heads("rrllrrrrl", heads);
    each_shown(r, snapshot_rows, t);
    table_print(t, 2, out);
    each_shown(r, snapshot_command, out);
    if (refused(r))
        fprintf(out, "  Limits broke %s more time%s while a snapshot was under way, and started none.\n",
                units_count(refused(r)).s, refused(r) == 1 ? "" : "s");
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_node(const struct report *r, struct json *j, const struct summary_snapshot *n)
{
    json_object(j, NULL);
    json_text(j, "node", report_node_name(r, n->node));
    json_uint(j, "processes", n->processes);
    json_uint(j, "records", n->records);
    if (n->records) {
        json_int(j, "first_ns", report_run_time(r, n->node, n->first_ns));
        json_int(j, "last_ns", report_run_time(r, n->node, n->last_ns));
    } else {
        json_text(j, "first_ns", NULL);
        json_text(j, "last_ns", NULL);
    }
    json_bool(j, "over", n->over);
    json_object_end(j);
}

static void put_snapshot(const struct report *r, struct json *j, size_t from, size_t to)
{
    const struct summary_snapshot *n = &r->summary->snapshots[from];
    char command[1024];
    uint64_t records = 0;
    command_of(r, from, to, command, sizeof command);
    json_object(j, NULL);
    json_uint(j, "number", n->number);
    json_text(j, "limit", n->number ? report_limit_text(r, n->limit) : NULL);
    json_text(j, "node", n->number ? n->cause_node : NULL);
    json_double(j, "value", n->value);
    json_int(j, "time_ns", report_run_time(r, n->node, n->moment));
    json_int(j, "duration_ns", n->duration);
    for (size_t i = from; i < to; i++)
        records += r->summary->snapshots[i].records;
    json_uint(j, "records", records);
    json_array(j, "nodes");
    for (size_t i = from; i < to; i++)
        put_node(r, j, &r->summary->snapshots[i]);
    json_array_end(j);
    json_text(j, "command", command[0] ? command : NULL);
    json_object_end(j);
}

void report_json_snapshots(const struct report *r, struct json *j)
{
    const struct summary *s = r->summary;
    json_array(j, "snapshots");
    for (size_t from = 0, to; from < s->snapshot_count; from = to) {
        to = rows_end(s, from);
        put_snapshot(r, j, from, to);
    }
    json_array_end(j);
    json_uint(j, "snapshots_refused", refused(r));
}
