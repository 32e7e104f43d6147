// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "run/rundb/rundb.h"
#include "views/report/report.h"

#include <inttypes.h>
#include <math.h>

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
    int n = ended ? 0 : snprintf(text, size, "bezel export %s | xargs ", report_word(r->run).s);
    if (n >= (int)size) {
        text[0] = '\0';
        return;
    }
    snprintf(text + n, size - (size_t)n,
             "babeltrace2 --begin=%" PRId64 ".%09" PRId64 " --end=%" PRId64 ".%09" PRId64 "%s%s%s", begin / CLOCK_S,
             begin % CLOCK_S, end / CLOCK_S, end % CLOCK_S, ended ? " " : "", ended ? report_word(r->run).s : "",
             ended ? "/trace" : "");
}

static uint64_t refused(const struct report *r)
{
    return (uint64_t)summary_property_number(r->summary, RUNDB_SNAPSHOTS_REFUSED);
}

/* "fps >= 29", which was violated, or "no frame_shown for 2 s". */
static const char *cause_of(const struct report *r, const struct builtin_snapshot *n)
{
    return n->limit < -1 ? report_trigger_text(r, -2 - n->limit) : report_limit_text(r, n->limit);
}

void report_snapshot_line(struct rows *w, const struct report *r, const void *item)
{
    const struct builtin_snapshot *n = item;
    uint64_t records = records_of(r->summary, (size_t)(n - r->summary->snapshots));
    const char *s = records == 1 ? "" : "s";
    if (n->number == 0)
        rows_says(w, "operator: snapshot of %s record%s", units_count(records).s, s);
    else
        rows_says(w, "snapshot %" PRId64 " of %s record%s, for %s on %s", n->number, units_count(records).s, s,
                  cause_of(r, n), n->origin);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static void cause_column(struct rows *w, const struct report *r, const struct builtin_snapshot *n)
{
    if (n->number == 0)
        rows_text(w, "cause", NULL, "operator");
    else if (n->limit < -1)
        rows_cell(w, "cause", 'l', "%s on %s", cause_of(r, n), n->origin);
    else if (isnan(n->value))
        rows_cell(w, "cause", 'l', "%s violated on %s", report_limit_text(r, n->limit), n->origin);
    else
        rows_cell(w, "cause", 'l', "%s violated on %s (%s)", report_limit_text(r, n->limit), n->origin,
                  report_limit_value(r, n->limit, n->value).s);
}

/* The part of a snapshot on a node. */
static void part_row(struct rows *w, const struct report *r, const void *item)
{
    const struct builtin_snapshot *n = item;
    size_t i = (size_t)(n - r->summary->snapshots);
    w->blank = i > 0 && i != rows_end(r->summary, i - 1);
    rows_cell(w, "", 'r', n->number ? "%" PRId64 : "%.0" PRId64, n->number);
    rows_cell(w, "time", 'r', "%.3f s", (double)report_run_time(r, n->node, n->moment) / (double)CLOCK_S);
    cause_column(w, r, n);
    w->blank = false;
    rows_text(w, "node", "node", report_node_name(r, n->node));
    rows_count(w, "processes", "processes", n->processes);
    rows_count(w, "records", "records", n->records);
    rows_known_ns(w, "before", NULL, n->records && n->first < n->moment, n->moment - n->first);
    rows_known_ns(w, "after", NULL, n->records && n->last > n->moment, n->last - n->moment);
    rows_text(w, "", NULL, n->state ? "" : r->verdict->run == RUN_RUNNING ? "(under way)" : "(cut short)");
    json_known_int(w->json, "first_ns", n->records > 0, report_run_time(r, n->node, n->first));
    json_known_int(w->json, "last_ns", n->records > 0, report_run_time(r, n->node, n->last));
    json_bool(w->json, "over", n->state);
}

/* The snapshot whose first part is `item`: in the JSON. */
static void snapshot_row(struct rows *w, const struct report *r, const void *item)
{
    const struct builtin_snapshot *n = item;
    size_t from = (size_t)(n - r->summary->snapshots), to = rows_end(r->summary, from);
    char command[1024];
    command_of(r, from, to, command, sizeof command);
    json_int(w->json, "number", n->number);
    report_snapshot_line(w, r, item);
    json_text(w->json, "limit", n->number && n->limit >= 0 ? report_limit_text(r, n->limit) : NULL);
    json_text(w->json, "trigger", n->number && n->limit < -1 ? cause_of(r, n) : NULL);
    json_text(w->json, "node", n->number ? n->origin : NULL);
    json_double(w->json, "value", n->value);
    json_int(w->json, "time_ns", report_run_time(r, n->node, n->moment));
    json_int(w->json, "duration_ns", n->duration);
    json_uint(w->json, "records", records_of(r->summary, from));
    json_array(w->json, "nodes");
    for (size_t i = from; i < to; i++)
        rows_add(w, part_row, &r->summary->snapshots[i]);
    json_array_end(w->json);
    json_text(w->json, "command", command[0] ? command : NULL);
}

/* ---- The section ------------------------------------------------------------------------------------------------- */

static void add_snapshots(struct rows *w, const struct report *r)
{
    const struct summary *s = r->summary;
    for (size_t i = 0; i < s->snapshot_count && (r->most == 0 || i < r->most); i++)
        if (!w->json || i == 0 || i == rows_end(s, i - 1))
            rows_add(w, w->json ? snapshot_row : part_row, &s->snapshots[i]);
}

static void print_commands(const struct report *r, FILE *out)
{
    const struct summary *s = r->summary;
    char command[1024];
    for (size_t from = 0; from < s->snapshot_count; from = rows_end(s, from)) {
        command_of(r, from, rows_end(s, from), command, sizeof command);
        if (command[0] && s->snapshots[from].number)
            fprintf(out, "  %" PRId64 ":  %s\n", s->snapshots[from].number, command);
    }
    if (s->snapshot_count && refused(r))
        fprintf(out,
                "  Triggers fired %s more time%s while a snapshot was under way; that started no other snapshot.\n",
                units_count(refused(r)).s, refused(r) == 1 ? "" : "s");
}

static void put_refused(const struct report *r, struct json *j)
{
    json_uint(j, "snapshots_refused", refused(r));
}

const struct rows_section report_snapshots = {
    .title = "Snapshots", .key = "snapshots", .add = add_snapshots, .text = print_commands, .json = put_refused};
