// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/json.h"
#include "base/table.h"
#include "views/report/report.h"

#include <math.h>

/* Messages, from the records of both sides that are stored. */

static const struct message_statistics *find(const struct report *r, const struct summary_process *p,
                                             const struct summary_book *b)
{
    for (size_t i = 0; i < r->messages.count; i++)
        if (r->messages.rows[i].process == p->row && r->messages.rows[i].aspect == b->aspect)
            return &r->messages.rows[i];
    return NULL;
}

/* Those that were not read; more may have been stored since the books were. */
static uint64_t not_evaluated(const struct summary_book *b, const struct message_statistics *s)
{
    uint64_t records = s ? s->records : 0;
    return b->stored > records ? b->stored - records : 0;
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

static double least_of(const struct report *r)
{
    double least = INFINITY;
    for (size_t i = 0; i < r->messages.count; i++) {
        double ns = fabs(r->messages.rows[i].p50);
        if (ns > 0 && ns < least)
            least = ns;
    }
    return least;
}

static void error_cell(struct table *t, const struct message_statistics *s)
{
    if (s && s->timed)
        table_cell(t, "%s", s->bound ? units_duration(s->bound).s : "0 s");
    else
        table_cell(t, "%s", "");
}

static void note_cell(struct table *t, const struct report *r, uint64_t left, uint64_t contrary)
{
    char evaluated[96] = "", order[96] = "";
    if (left)
        snprintf(evaluated, sizeof evaluated, "(%s not evaluated%s)", units_count(left).s,
                 r->all ? "" : ": bezel report --all");
    if (contrary)
        snprintf(order, sizeof order, "(%s received before they were sent)", units_count(contrary).s);
    table_cell(t, "%s%s%s", evaluated, left && contrary ? " " : "", order);
}

static void message_row(struct table *t, const struct report *r, const struct summary_process *p,
                        const struct summary_book *b, struct report_unit unit)
{
    static const struct message_statistics none = {.min = NAN, .p50 = NAN, .p99 = NAN, .max = NAN};
    const struct message_statistics *found = find(r, p, b), *s = found ? found : &none;
    const double times[] = {s->min, s->p50, s->p99, s->max};
    bool received = b->kind == DICT_RECEIVED;
    uint64_t left = not_evaluated(b, found);
    char name[REPORT_PROCESS_SIZE];
    report_process_pid(r, p, name, sizeof name);
    table_cell(t, "%s", name);
    table_cell(t, "%s", b->name);
    table_cell(t, "%s", received ? "received" : "sent");
    table_cell(t, "%s", units_count(s->records).s);
    table_cell(t, "%s", units_count(s->unmatched).s);
    table_cell(t, "%s", received ? unit.name : "");
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        table_cell(t, "%s", received ? number_double(times[i] / unit.ns).s : "");
    error_cell(t, received ? found : NULL);
    note_cell(t, r, left, s->contrary);
}

void report_messages(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"process (pid)", "aspect", "messages", "records", "unmatched",   "unit",
                                        "min",           "p50",    "p99",      "max",     "error up to", ""};
    struct report_unit unit = report_unit_for(least_of(r));
    struct table *t = NULL;
    size_t rows = 0;
    for (size_t i = 0; i < r->summary->process_count && report_opens_processes(r); i++)
        for (size_t k = 0; k < r->summary->processes[i].book_count; k++) {
            const struct summary_book *b = &r->summary->processes[i].books[k];
            if (b->stored == 0 || (b->kind != DICT_SENT && b->kind != DICT_RECEIVED))
                continue;
            if (rows++ >= REPORT_ROWS_MOST && !r->all)
                continue;
            t = t ? t : table_with_heads("lllrrlrrrrrl", heads);
            message_row(t, r, &r->summary->processes[i], b, unit);
        }
    if (!t)
        return;
    report_title(r, "Messages", out);
    table_print(t, 2, out);
    report_left_out(r, rows, out);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

void report_json_messages(const struct report *r, struct json *j, const struct summary_process *p,
                          const struct summary_book *b)
{
    static const struct message_statistics none = {.min = NAN, .mean = NAN, .p50 = NAN, .p99 = NAN, .max = NAN};
    if (b->kind != DICT_SENT && b->kind != DICT_RECEIVED)
        return;
    const struct message_statistics *found = find(r, p, b), *s = found ? found : &none;
    json_object(j, "messages");
    json_uint(j, "records", s->records);
    json_uint(j, "unmatched", s->unmatched);
    json_uint(j, "not_evaluated", not_evaluated(b, found));
    if (b->kind == DICT_SENT)
        json_uint(j, "contrary", s->contrary);
    if (b->kind == DICT_RECEIVED) {
        json_uint(j, "timed", s->timed);
        json_double(j, "min_ns", s->min);
        json_double(j, "mean_ns", s->mean);
        json_double(j, "p50_ns", s->p50);
        json_double(j, "p99_ns", s->p99);
        json_double(j, "max_ns", s->max);
        json_int(j, "error_ns", s->bound);
    }
    json_object_end(j);
}
