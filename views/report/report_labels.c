// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/json.h"
#include "base/table.h"
#include "views/report/report.h"

#include <stdlib.h>

/* How often each label of the enums was recorded. */

static const struct summary_process *process_of(const struct report *r, const struct label_statistics *l)
{
    for (size_t i = 0; i < r->summary->process_count; i++)
        if (r->summary->processes[i].row == l->process)
            return &r->summary->processes[i];
    return NULL;
}

static const struct summary_book *book_of(const struct summary_process *p, const struct label_statistics *l)
{
    for (size_t i = 0; p && i < p->book_count; i++)
        if (p->books[i].aspect == l->aspect)
            return &p->books[i];
    return NULL;
}

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

static void counts_cell(struct table *t, const struct label_statistics *l)
{
    const char *label, *before = "";
    size_t length, n = 0;
    uint64_t count;
    char *text = NULL;
    FILE *out = open_memstream(&text, &n);
    for (unsigned i = 0; out && label_next(l, i, &label, &length, &count); i++) {
        if (count == 0)
            continue;
        fprintf(out, "%s%.*s %s", before, (int)length, label, units_count(count).s);
        before = ", ";
    }
    if (out && unlabelled(l))
        fprintf(out, "%sno label %s", before, units_count(unlabelled(l)).s);
    table_cell(t, "%s", out && fclose(out) == 0 ? text : "?");
    free(text);
}

void report_labels(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"process (pid)", "aspect", "field", "labels", ""};
    struct table *t = NULL;
    size_t rows = 0;
    for (size_t i = 0; i < r->labels.count && report_opens_processes(r); i++) {
        const struct label_statistics *l = &r->labels.rows[i];
        const struct summary_process *p = process_of(r, l);
        const struct summary_book *b = book_of(p, l);
        char name[REPORT_PROCESS_SIZE];
        if (!b || (rows++ >= REPORT_ROWS_MOST && !r->all))
            continue;
        t = t ? t : table_with_heads("lllll", heads);
        report_process_pid(r, p, name, sizeof name);
        table_cell(t, "%s", name);
        table_cell(t, "%s", b->name);
        table_cell(t, "%s", l->name);
        counts_cell(t, l);
        if (b->stored > l->records)
            table_cell(t, "(%s not evaluated: bezel report --all)", units_count(b->stored - l->records).s);
        else
            table_cell(t, "%s", "");
    }
    if (!t)
        return;
    report_title(r, "Labels", out);
    table_print(t, 2, out);
    report_left_out(r, rows, out);
}

void report_json_labels(const struct report *r, struct json *j, const struct summary_process *p,
                        const struct summary_book *b)
{
    bool any = false;
    for (size_t i = 0; i < r->labels.count; i++) {
        const struct label_statistics *l = &r->labels.rows[i];
        char label[DICT_LABELS_MAX + 1];
        const char *at;
        size_t length;
        uint64_t count;
        if (l->process != p->row || l->aspect != b->aspect)
            continue;
        if (!any)
            json_array(j, "labels");
        any = true;
        json_object(j, NULL);
        json_text(j, "field", l->name);
        json_uint(j, "records", l->records);
        json_uint(j, "no_label", unlabelled(l));
        json_object(j, "counts");
        for (unsigned k = 0; label_next(l, k, &at, &length, &count); k++) {
            snprintf(label, sizeof label, "%.*s", (int)length, at);
            json_uint(j, label, count);
        }
        json_object_end(j);
        json_object_end(j);
    }
    if (any)
        json_array_end(j);
}
