// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
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

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

struct message_row {
    const struct summary_process *process;
    const struct summary_book *book;
    struct report_unit unit;
};

static bool is_message(const struct summary_book *b)
{
    return b->kind == DICT_SENT || b->kind == DICT_RECEIVED;
}

/* The bytes of the messages that are stored, where a field has the size of each. */
static void bytes_column(struct rows *w, const struct summary_book *b)
{
    const struct summary_field *bytes = summary_field_of(b, "bytes");
    bytes = bytes && bytes->min.is_int && bytes->total >= 0 ? bytes : NULL;
    w->blank = !bytes;
    if (bytes || !w->json)
        rows_count(w, "bytes", "bytes", bytes ? (uint64_t)bytes->total : 0);
    w->blank = false;
}

static void message_row(struct rows *w, const struct report *r, const void *item)
{
    static const struct message_statistics none = {.min = NAN, .mean = NAN, .p50 = NAN, .p99 = NAN, .max = NAN};
    const struct message_row *row = item;
    const struct message_statistics *found = find(r, row->process, row->book), *s = found ? found : &none;
    /* More may have been stored since the books were. */
    uint64_t left = row->book->stored > s->records ? row->book->stored - s->records : 0;
    char not_evaluated[64] = "", contrary[96] = "";
    report_process_columns(w, r, row->process, row->book);
    rows_text(w, "messages", NULL, row->book->kind == DICT_RECEIVED ? "received" : "sent");
    rows_count(w, "records", "records", s->records);
    rows_count(w, "unmatched", "unmatched", s->unmatched);
    json_uint(w->json, "not_evaluated", left);
    if (row->book->kind == DICT_SENT)
        json_uint(w->json, "contrary", s->contrary);
    else
        json_uint(w->json, "timed", s->timed);
    if (row->book->kind == DICT_RECEIVED || !w->json) {
        w->blank = row->book->kind == DICT_SENT;
        rows_text(w, "unit", NULL, row->unit.name);
        rows_double(w, "min", "min_ns", s->min, row->unit.ns);
        json_double(w->json, "mean_ns", s->mean);
        rows_double(w, "p50", "p50_ns", s->p50, row->unit.ns);
        rows_double(w, "p99", "p99_ns", s->p99, row->unit.ns);
        rows_double(w, "max", "max_ns", s->max, row->unit.ns);
        w->blank = w->blank || s->timed == 0;
        rows_ns(w, "error up to", "error_ns", s->bound);
        w->blank = w->blank || s->asked == 0;
        if (s->asked || !w->json) {
            json_uint(w->json, "asked", s->asked);
            json_double(w->json, "unawaited_mean_ns", s->unawaited_mean);
            rows_double(w, "unawaited up to", "unawaited_max_ns", s->unawaited_max, row->unit.ns);
        }
        w->blank = false;
    }
    bytes_column(w, row->book);
    if (left)
        snprintf(not_evaluated, sizeof not_evaluated, "(%s not evaluated)", units_count(left).s);
    if (s->contrary)
        snprintf(contrary, sizeof contrary, "(%s received before they were sent)", units_count(s->contrary).s);
    rows_cell(w, "", 'l', "%s%s%s", not_evaluated, left && s->contrary ? " " : "", contrary);
}

/* ---- Both forms -------------------------------------------------------------------------------------------------- */

static void add_messages(struct rows *w, const struct report *r)
{
    double least = INFINITY;
    for (size_t i = 0; i < r->messages.count; i++)
        report_take_least(&least, r->messages.rows[i].p50);
    struct report_unit unit = report_unit_for(least);
    for (size_t i = 0; i < r->summary->process_count; i++) {
        const struct summary_process *p = &r->summary->processes[i];
        for (size_t k = 0; k < p->book_count; k++)
            if (p->books[k].stored && is_message(&p->books[k]))
                rows_add(w, message_row, &(struct message_row){p, &p->books[k], unit});
    }
}

const struct rows_section report_messages = {.title = "Messages", .add = add_messages};

void report_json_messages(const struct report *r, struct json *j, const struct summary_process *p,
                          const struct summary_book *b)
{
    if (!is_message(b))
        return;
    json_object(j, "messages");
    message_row(&(struct rows){.report = r, .json = j}, r, &(struct message_row){p, b, {"ns", 1}});
    json_object_end(j);
}
