// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/report/report.h"

#include <stdlib.h>

/* How often each label of the enums was recorded. */

/* Records whose number has no label, and what was not read. */
static uint64_t unlabelled(const struct label_statistics *l)
{
    const char *label;
    size_t length;
    uint64_t count, sum = 0;
    for (unsigned i = 0; label_next(l, i, &label, &length, &count); i++)
        sum += count;
    return l->records - sum;
}

struct label_row {
    const struct summary_process *process;
    const struct summary_book *book;
    const struct label_statistics *labels;
};

static void label_row(struct rows *w, const struct report *r, const void *item)
{
    const struct label_row *row = item;
    const struct label_statistics *l = row->labels;
    const char *label;
    char key[DICT_LABELS_MAX + 1], *text = NULL;
    size_t length, n = 0;
    uint64_t count, not_read = row->book->stored > l->records ? row->book->stored - l->records : 0;
    FILE *out = open_memstream(&text, &n);
    report_process_columns(w, r, row->process, row->book);
    rows_text(w, "field", "field", l->name);
    json_uint(w->json, "records", l->records);
    json_uint(w->json, "no_label", unlabelled(l));
    json_object(w->json, "counts");
    for (unsigned i = 0; out && label_next(l, i, &label, &length, &count); i++) {
        snprintf(key, sizeof key, "%.*s", (int)length, label);
        json_uint(w->json, key, count);
        if (count)
            fprintf(out, "%s %s, ", key, units_count(count).s);
    }
    json_object_end(w->json);
    if (out && unlabelled(l))
        fprintf(out, "no label %s, ", units_count(unlabelled(l)).s);
    bool made = out && fclose(out) == 0;
    rows_cell(w, "labels", 'l', "%.*s", made && n > 2 ? (int)n - 2 : 0, made ? text : "");
    rows_cell(w, "", 'l', not_read ? "(%s not evaluated)" : "%.0s", units_count(not_read).s);
    free(text);
}

/* Adds those of an aspect: in the JSON a list, where there are any. */
static void add_of(struct rows *w, const struct report *r, const struct summary_process *p,
                   const struct summary_book *b)
{
    bool any = false;
    for (size_t i = 0; i < r->labels.count; i++) {
        const struct label_statistics *l = &r->labels.rows[i];
        if (l->process != p->row || l->aspect != b->aspect)
            continue;
        if (!any)
            json_array(w->json, "labels");
        any = true;
        rows_add(w, label_row, &(struct label_row){p, b, l});
    }
    if (any)
        json_array_end(w->json);
}

static void add_labels(struct rows *w, const struct report *r)
{
    for (size_t i = 0; i < r->summary->process_count && r->labels.count; i++)
        for (size_t k = 0; k < r->summary->processes[i].book_count; k++)
            add_of(w, r, &r->summary->processes[i], &r->summary->processes[i].books[k]);
}

const struct rows_section report_labels = {.title = "Labels", .add = add_labels};

void report_json_labels(const struct report *r, struct json *j, const struct summary_process *p,
                        const struct summary_book *b)
{
    add_of(&(struct rows){.report = r, .json = j}, r, p, b);
}
