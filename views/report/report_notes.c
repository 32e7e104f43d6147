// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/json.h"
#include "base/table.h"
#include "views/report/report.h"

#include <string.h>

enum { NOTES_SHOWN = 24 }; /* unless --all is given */

/* Whether two processes of a node have the same note, word for word. The text shows it once. */
static bool is_same(const struct summary_note *a, const struct summary_note *b)
{
    return a->node == b->node && !a->name[0] == !b->name[0] && strcmp(a->code, b->code) == 0 &&
           strcmp(a->text, b->text) == 0;
}

bool report_note_is_change(const struct report *r, const struct summary_note *n)
{
    static const char *const codes[] = {"BEZEL-STEERED", "BEZEL-PAUSED", "BEZEL-RESUMED", "BEZEL-KEY-TAKEN"};
    bool is_change = false;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        is_change = is_change || strcmp(n->code, codes[i]) == 0;
    return is_change && n->node < r->summary->node_count;
}

static bool is_repeated(const struct summary *s, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (is_same(&s->notes[k], &s->notes[i]))
            return true;
    return false;
}

static void note_name(const struct report *r, const struct summary_note *n, char *name, size_t size)
{
    struct summary_process p = {.node = n->node, .name = n->name, .pid = n->pid};
    if (!n->name[0])
        snprintf(name, size, "node %s", report_node_name(r, n->node));
    else if (n->pid)
        report_process_pid(r, &p, name, size);
    else
        report_process_name(r, &p, name, size);
}

static void note_row(const struct report *r, struct table *t, size_t i)
{
    const struct summary *s = r->summary;
    char name[REPORT_PROCESS_SIZE];
    size_t more = 0;
    for (size_t k = i + 1; k < s->note_count; k++)
        more += is_same(&s->notes[i], &s->notes[k]);
    note_name(r, &s->notes[i], name, sizeof name);
    if (more)
        table_cell(t, "%s and %zu more", name, more);
    else
        table_cell(t, "%s", name);
    table_cell(t, "%s", s->notes[i].code);
    table_cell(t, "%s", s->notes[i].text);
}

void report_notes(const struct report *r, FILE *out)
{
    const struct summary *s = r->summary;
    size_t shown = 0, left = 0;
    struct table *t = NULL;
    for (size_t i = 0; i < s->note_count; i++) {
        if (report_note_is_change(r, &s->notes[i]) || is_repeated(s, i))
            continue;
        t = t ? t : table_new("lll");
        if (shown < NOTES_SHOWN || r->all)
            note_row(r, t, i), shown++;
        else
            left++;
    }
    if (shown)
        report_title(r, "Notes", out);
    table_print(t, 2, out);
    if (left)
        fprintf(out, "  (%zu more: --all shows them)\n", left);
}

void report_json_notes(const struct report *r, struct json *j)
{
    json_array(j, "notes");
    for (size_t i = 0; i < r->summary->note_count; i++) {
        const struct summary_note *n = &r->summary->notes[i];
        bool known = n->node < r->summary->node_count;
        json_object(j, NULL);
        json_known_int(j, "time_ns", known, report_run_time(r, n->node, n->at));
        json_text(j, "node", known ? report_node_name(r, n->node) : NULL);
        json_text(j, "process", n->name[0] ? n->name : NULL);
        json_known_int(j, "pid", n->pid != 0, n->pid);
        if (n->instance)
            json_uint_text(j, "instance", n->instance);
        else
            json_text(j, "instance", NULL);
        json_text(j, "code", n->code);
        json_text(j, "text", n->text);
        json_object_end(j);
    }
    json_array_end(j);
}
