// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/saturate.h"
#include "ecs/report.h"
#include "ecs/table.h"

/* Columns of what happens rarely are there where it happened. */
static bool shows_window(const struct report *r)
{
    return r->verdict->sut.window + r->verdict->daemons.window > 0;
}

static bool shows_spool(const struct report *r)
{
    return r->verdict->sut.spool + r->verdict->daemons.spool > 0;
}

static bool shows_unstored(const struct report *r)
{
    return r->verdict->sut.unstored + r->verdict->daemons.unstored > 0;
}

static void books_row(const struct report *r, struct table *t, const char *name, const struct verdict_books *b)
{
    table_cell(t, "%s", name);
    table_cell(t, "%s", units_count(b->attempts).s);
    table_cell(t, "%s", units_count(b->stored).s);
    table_cell(t, "%s", units_count(b->full).s);
    if (shows_window(r))
        table_cell(t, "%s", units_count(b->window).s);
    if (shows_spool(r))
        table_cell(t, "%s", units_count(b->spool).s);
    table_cell(t, "%s", units_count(b->off).s);
    if (r->verdict->overwrites)
        table_cell(t, "%s", units_count(b->overwritten).s);
    table_cell(t, "%s", units_count(b->no_ring).s);
    table_cell(t, "%s", units_count(b->unfinished).s);
    if (shows_unstored(r))
        table_cell(t, "%s", units_count(b->unstored).s);
    table_cell(t, "%s", figure_signed(b->rest).s);
}

/*
 * Which aspects the unfinished records were of is known only where they explain the whole rest, and the same with those
 * that were not stored: then they are told here.
 */
static void aspect_rows(const struct report *r, struct table *t, const struct summary_process *p,
                        const struct verdict_books *process)
{
    bool overwritten = verdict_explains_aspects(p, process);
    for (size_t i = 0; i < p->book_count; i++) {
        const struct summary_book *b = &p->books[i];
        struct verdict_books row = verdict_aspect(b);
        if (process->rest == 0 && row.rest > 0 &&
            (process->unstored == 0 || process->unfinished + process->overwritten == 0)) {
            uint64_t missing = (uint64_t)row.rest;
            *(process->unstored ? &row.unstored : overwritten ? &row.overwritten : &row.unfinished) = missing;
            row.rest = 0;
        }
        char name[80];
        snprintf(name, sizeof name, "  %s", b->name);
        books_row(r, t, name, &row);
    }
}

/* By how much and where the books do not balance. */
static void print_imbalance(const struct report *r, FILE *out)
{
    const struct summary *s = r->summary;
    int64_t rest = saturate_add(r->verdict->sut.rest, r->verdict->daemons.rest);
    bool any = false;
    for (size_t i = 0; i < s->process_count; i++)
        any = any || r->verdict->books[i].rest != 0;
    if (!any) /* it is but the end that is missing */
        return;
    if (r->verdict->run == RUN_RUNNING) {
        fprintf(out, "  In flight, or not yet booked: %s.\n", figure_signed(rest).s);
        return;
    }
    fprintf(out, r->verdict->run == RUN_CUT ? "  In flight when the run was cut off, or not booked any more:\n"
                                            : "  The books do not balance:\n");
    for (size_t i = 0; i < s->process_count; i++) {
        int64_t unexplained = r->verdict->books[i].rest;
        char name[REPORT_PROCESS_SIZE];
        report_process_pid(r, &s->processes[i], name, sizeof name);
        if (unexplained > 0)
            fprintf(out, "    %s: %s produced, but neither stored nor counted as lost\n", name,
                    figure_signed(unexplained).s);
        else if (unexplained < 0)
            fprintf(out, "    %s: %s stored or counted as lost, but not as produced\n", name,
                    units_count(-(uint64_t)unexplained).s);
    }
}

static uint64_t sum_discarded(const struct summary *s)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->process_count; i++)
        sum += s->processes[i].discarded;
    return sum;
}

static void print_books_remarks(const struct report *r, FILE *out)
{
    const struct verdict *v = r->verdict;
    if (v->balanced)
        fputs("  The books balance: every record is accounted for.\n", out);
    else
        print_imbalance(r, out);
    if (shows_unstored(r))
        fputs("  Draining was given up: what nodes still held is lost, counted as unstored.\n", out);
    report_unknown(r, out);
    fprintf(out, "  In the trace: %s records, and %s of the monitor's own.\n", units_count(v->sut.stored).s,
            units_count(v->daemons.stored).s);
    uint64_t discarded = sum_discarded(r->summary);
    if (discarded > 0)
        fprintf(out, "  The trace itself tells of %s lost records, and where (babeltrace2: discarded events).\n",
                units_count(discarded).s);
    if (r->summary->refused > 0)
        fprintf(out, "  Refused by the collector as malformed: %s packets and messages.\n",
                units_count(r->summary->refused).s);
}

void report_books(const struct report *r, FILE *out)
{
    const struct {
        const char *head;
        bool shown;
    } columns[] = {{"process (pid), aspect", true},
                   {"produced", true},
                   {"stored", true},
                   {"full", true},
                   {"window", shows_window(r)},
                   {"spool", shows_spool(r)},
                   {"off", true},
                   {"overwritten", r->verdict->overwrites},
                   {"no-ring", true},
                   {"unfinished", true},
                   {"unstored", shows_unstored(r)},
                   {"rest", true}};
    enum { COLUMNS = sizeof columns / sizeof *columns };
    const struct summary *s = r->summary;
    if (s->process_count == 0)
        return;
    report_title(r, "Books", out);
    char align[COLUMNS + 1] = "";
    for (size_t i = 0, at = 0; i < COLUMNS; i++)
        if (columns[i].shown)
            align[at++] = i == 0 ? 'l' : 'r';
    struct table *t = table_new(align);
    for (size_t i = 0; i < COLUMNS; i++)
        if (columns[i].shown)
            table_cell(t, "%s", columns[i].head);
    for (size_t i = 0; i < s->process_count; i++) {
        const struct summary_process *p = &s->processes[i];
        if (!report_shows(r, p))
            continue;
        char name[REPORT_PROCESS_SIZE];
        report_process_pid(r, p, name, sizeof name);
        books_row(r, t, name, &r->verdict->books[i]);
        if (report_opens_processes(r))
            aspect_rows(r, t, p, &r->verdict->books[i]);
    }
    if (r->verdict->sut.processes > 1)
        books_row(r, t, r->all ? "all but daemons" : "all", &r->verdict->sut);
    table_print(t, 2, out);
    if (!report_opens_processes(r))
        fputs("  (--all shows the aspects of each)\n", out);
    print_books_remarks(r, out);
}
