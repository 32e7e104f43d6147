// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "mdr/note.h"
#include "views/report/report.h"

#include <string.h>

/* Whether two processes of a node have the same note, word for word. The text shows it once. */
static bool is_same(const struct summary_note *a, const struct summary_note *b)
{
    return a->node == b->node && !a->name[0] == !b->name[0] && strcmp(a->code, b->code) == 0 &&
           strcmp(a->text, b->text) == 0;
}

bool report_note_is_change(const struct report *r, const struct summary_note *n)
{
    return note_kind(n->code) == NOTE_CHANGE && n->node < r->summary->node_count;
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

static void note_row(struct rows *w, const struct report *r, const void *item)
{
    const struct summary_note *n = item, *end = r->summary->notes + r->summary->note_count;
    bool known = n->node < r->summary->node_count;
    char name[REPORT_PROCESS_SIZE];
    size_t more = 0;
    for (const struct summary_note *other = n + 1; other < end && !w->json; other++)
        more += is_same(n, other);
    note_name(r, n, name, sizeof name);
    if (more)
        rows_cell(w, "", 'l', "%s and %zu more", name, more);
    else
        rows_text(w, "", NULL, name);
    json_known_int(w->json, "time_ns", known, report_run_time(r, n->node, n->at));
    json_text(w->json, "node", known ? report_node_name(r, n->node) : NULL);
    json_text(w->json, "process", n->name[0] ? n->name : NULL);
    json_known_int(w->json, "pid", n->pid != 0, n->pid);
    if (n->instance)
        json_uint_text(w->json, "instance", n->instance);
    else
        json_text(w->json, "instance", NULL);
    rows_text(w, "", "code", n->code);
    rows_text(w, "", "text", n->text);
}

/* A note that makes the books incomplete comes first; that of a change is in the timeline. */
static int note_rank(const struct report *r, const void *item)
{
    size_t i = (size_t)((const struct summary_note *)item - r->summary->notes);
    if (report_note_is_change(r, item) || is_repeated(r->summary, i))
        return -1;
    return note_kind(r->summary->notes[i].code) >= NOTE_CLOCK_GAP;
}

const struct rows_section report_notes = {ROWS_LIST("Notes", "notes", notes, note_count, note_row), .bare = true,
                                          .rank = note_rank};

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static void event_row(struct rows *w, const struct report *r, const void *item)
{
    const struct summary_event *e = item;
    int64_t at = e->at - r->verdict->started;
    rows_cell(w, "", 'r', "%.3f s", (double)at / (double)CLOCK_S);
    json_int(w->json, "time_ns", at);
    rows_text(w, "", NULL, e->error ? "error" : "");
    json_bool(w->json, "error", e->error);
    rows_text(w, "", "text", e->text);
}

static int event_rank(const struct report *r, const void *item)
{
    (void)r;
    return ((const struct summary_event *)item)->error;
}

const struct rows_section report_events = {ROWS_LIST("Events", "events", events, event_count, event_row), .bare = true,
                                           .rank = event_rank};
