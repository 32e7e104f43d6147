// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/json.h"
#include "base/table.h"
#include "run/rundb/rundb.h"
#include "views/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- The rows of one snapshot, one for each node ----------------------------------------------------------------- */

/* The end of the rows of the snapshot whose first row is `from`. */
static size_t rows_end(const struct summary *s, size_t from)
{
    size_t i = from + 1;
    while (s->snapshots[from].number != 0 && i < s->snapshot_count &&
           s->snapshots[i].number == s->snapshots[from].number)
        i++;
    return i;
}

static uint64_t records_of(const struct summary *s, size_t from)
{
    uint64_t records = 0;
    for (size_t i = from; i < rows_end(s, from); i++)
        records += s->snapshots[i].records;
    return records;
}

/* Writes the command that shows the records of rows `from` to `to` - 1 into `text`; "" if there are no records. */
static void command_of(const struct report *r, size_t from, size_t to, char *text, size_t size)
{
    int64_t begin = INT64_MAX, end = INT64_MIN;
    text[0] = '\0';
    for (size_t i = from; i < to; i++) {
        const struct builtin_snapshot *n = &r->summary->snapshots[i];
        int64_t ahead =
            n->node < r->summary->node_count ? r->summary->nodes[n->node].ahead : 0; /* as in the metadata */
        int64_t first = n->first + ahead, last = n->last + ahead;
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
    const char *number = summary_property(r->summary, RUNDB_SNAPSHOTS_REFUSED);
    return number ? strtoull(number, NULL, 10) : 0;
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

static void cause_cell(const struct report *r, struct table *t, const struct builtin_snapshot *n)
{
    if (n->number == 0)
        table_cell(t, "%s", "operator");
    else if (isnan(n->value))
        table_cell(t, "%s violated on %s", report_limit_text(r, n->limit), n->origin);
    else
        table_cell(t, "%s violated on %s (%s)", report_limit_text(r, n->limit), n->origin,
                   report_limit_value(r, n->limit, n->value).s);
}

static void snapshot_row(const struct report *r, struct table *t, const struct builtin_snapshot *n, bool opens)
{
    if (opens && n->number)
        table_cell(t, "%" PRId64, n->number);
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
    table_cell(t, "%s", n->records && n->first < n->moment ? units_duration(n->moment - n->first).s : "-");
    table_cell(t, "%s", n->records && n->last > n->moment ? units_duration(n->last - n->moment).s : "-");
    table_cell(t, "%s", n->state ? "" : r->verdict->run == RUN_RUNNING ? "(under way)" : "(cut short)");
}

void report_snapshot(const struct report *r, struct table *t, size_t from)
{
    const struct builtin_snapshot *n = &r->summary->snapshots[from];
    uint64_t records = records_of(r->summary, from);
    const char *s = records == 1 ? "" : "s";
    if (n->number == 0)
        table_cell(t, "operator: snapshot of %s record%s", units_count(records).s, s);
    else
        table_cell(t, "snapshot %" PRId64 " of %s record%s, for %s on %s", n->number, units_count(records).s, s,
                   report_limit_text(r, n->limit), n->origin);
}

void report_snapshots(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"", "time", "cause", "node", "processes", "records", "before", "after", ""};
    const struct summary *s = r->summary;
    char command[1024];
    if (s->snapshot_count == 0)
        return;
    report_title(r, "Snapshots", out);
    struct table *t = table_with_heads("rrllrrrrl", heads);
    for (size_t i = 0; i < s->snapshot_count; i++)
        snapshot_row(r, t, &s->snapshots[i], i == 0 || i == rows_end(s, i - 1));
    table_print(t, 2, out);
    for (size_t from = 0; from < s->snapshot_count; from = rows_end(s, from)) {
        command_of(r, from, rows_end(s, from), command, sizeof command);
        if (command[0] && s->snapshots[from].number)
            fprintf(out, "  %" PRId64 ":  %s\n", s->snapshots[from].number, command);
    }
    if (refused(r))
        fprintf(out, "  Limits were violated %s more time%s while a snapshot was under way, and started no other.\n",
                units_count(refused(r)).s, refused(r) == 1 ? "" : "s");
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_node(const struct report *r, struct json *j, const struct builtin_snapshot *n)
{
    json_object(j, NULL);
    json_text(j, "node", report_node_name(r, n->node));
    json_uint(j, "processes", n->processes);
    json_uint(j, "records", n->records);
    json_known_int(j, "first_ns", n->records > 0, report_run_time(r, n->node, n->first));
    json_known_int(j, "last_ns", n->records > 0, report_run_time(r, n->node, n->last));
    json_bool(j, "over", n->state);
    json_object_end(j);
}

static void put_snapshot(const struct report *r, struct json *j, size_t from, size_t to)
{
    const struct builtin_snapshot *n = &r->summary->snapshots[from];
    char command[1024];
    command_of(r, from, to, command, sizeof command);
    json_object(j, NULL);
    json_int(j, "number", n->number);
    json_text(j, "limit", n->number ? report_limit_text(r, n->limit) : NULL);
    json_text(j, "node", n->number ? n->origin : NULL);
    json_double(j, "value", n->value);
    json_int(j, "time_ns", report_run_time(r, n->node, n->moment));
    json_int(j, "duration_ns", n->duration);
    json_uint(j, "records", records_of(r->summary, from));
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
