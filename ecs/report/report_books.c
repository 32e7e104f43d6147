// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/saturate.h"
#include "ecs/json.h"
#include "ecs/report.h"
#include "ecs/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        struct verdict_books row = verdict_aspect(r->summary, p, b);
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

/* ---- Rings that were full ---------------------------------------------------------------------------------------- */

/* Records lost in full rings: of processes that are started, or of those that are attached to. */
struct full_rings {
    uint64_t records;
    size_t processes;
    const struct summary_process *worst;
    uint64_t of_worst;
};

static bool is_attached(const struct experiment *e, const char *name)
{
    for (uint32_t i = 0; i < e->process_count; i++)
        if (e->processes[i].attach && strcmp(e->processes[i].name, name) == 0)
            return true;
    return false;
}

static struct full_rings find_full(const struct report *r, bool attached)
{
    struct full_rings found = {0};
    for (size_t i = 0; i < r->summary->process_count; i++) {
        const struct summary_process *p = &r->summary->processes[i];
        uint64_t full = r->verdict->books[i].full;
        if (full == 0 || p->role != ROLE_SUT || is_attached(r->experiment, p->name) != attached)
            continue;
        found.records = found.records > UINT64_MAX - full ? UINT64_MAX : found.records + full;
        found.processes++;
        if (full > found.of_worst) {
            found.worst = p;
            found.of_worst = full;
        }
    }
    return found;
}

/* Records that the process made a second, from its first stored one to its last; NaN: it cannot be told. */
static double rate_made(const struct summary_process *p)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    double attempts = 0;
    for (size_t i = 0; i < p->book_count; i++) {
        const struct summary_book *b = &p->books[i];
        attempts += (double)b->attempts;
        if (b->stored == 0)
            continue;
        first = b->first_ns < first ? b->first_ns : first;
        last = b->last_ns > last ? b->last_ns : last;
    }
    double seconds = ((double)last - (double)first) / 1e9;
    return seconds > 0 ? attempts / seconds : NAN;
}

/* ns, the longest time between two polls of its node; 0: unknown. */
static int64_t longest_pause(const struct report *r, const struct summary_process *p)
{
    bool polled = r->experiment->sensing.mode == POLL_POLLING && p->node < r->summary->node_count;
    return polled ? r->summary->nodes[p->node].period_worst : 0;
}

static void say_remedy(const struct report *r, bool attached, FILE *out)
{
    const struct experiment *e = r->experiment;
    if (attached)
        fputs("Start attached processes with a larger BEZEL_RING_RECORDS (4096 if unset)", out);
    else
        fprintf(out, "Make sensing.ring.records larger than %u", e->sensing.ring_records);
    if (e->sensing.mode == POLL_POLLING)
        fprintf(out, ", or poll more often (%s)",
                experiment_policy_moves(e->adapt.policy) ? "adapt.period" : "sensing.poll.period");
    fputc('.', out);
}

static void print_full(const struct report *r, const struct full_rings *full, bool attached, FILE *out)
{
    char name[REPORT_PROCESS_SIZE];
    double rate = rate_made(full->worst), pause = (double)longest_pause(r, full->worst) / 1e9;
    report_process_pid(r, full->worst, name, sizeof name);
    fprintf(out, "  Ring full: %s records of %s", units_count(full->records).s, name);
    if (full->processes > 1)
        fprintf(out, " and %zu more", full->processes - 1);
    fputs(" were lost.\n    ", out);
    say_remedy(r, attached, out);
    fputc('\n', out);
    if (rate > 0 && pause > 0)
        fprintf(out, "    %s made %s records a second on average; polls were up to %s apart, which makes %s a poll.\n",
                name, figure_number(rate).s, units_duration((int64_t)(pause * 1e9)).s,
                figure_number(ceil(rate * pause)).s);
}

static void print_remedies(const struct report *r, FILE *out)
{
    for (int attached = 0; attached < 2; attached++) {
        struct full_rings full = find_full(r, attached);
        if (full.processes > 0)
            print_full(r, &full, attached, out);
    }
}

void report_json_remedies(const struct report *r, struct json *j)
{
    json_array(j, "remedies");
    for (int attached = 0; attached < 2; attached++) {
        struct full_rings full = find_full(r, attached);
        char *text = NULL;
        size_t n;
        FILE *out = full.processes ? open_memstream(&text, &n) : NULL;
        if (!out)
            continue;
        say_remedy(r, attached, out);
        json_object(j, NULL);
        json_text(j, "cause", "full");
        json_bool(j, "attached", attached);
        json_uint(j, "processes", full.processes);
        json_uint(j, "records", full.records);
        json_double(j, "rate_per_s", rate_made(full.worst));
        json_int(j, "period_worst_ns", longest_pause(r, full.worst));
        json_text(j, "text", fclose(out) == 0 ? text : NULL);
        json_object_end(j);
        free(text);
    }
    json_array_end(j);
}

/* ---- Remarks ----------------------------------------------------------------------------------------------------- */

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
    if (v->balanced && v->run == RUN_CUT)
        fputs("  The books balance up to there; what processes recorded after it is unknown.\n", out);
    else if (v->balanced)
        fputs("  The books balance: every record is accounted for.\n", out);
    else
        print_imbalance(r, out);
    if (v->given_up)
        fputs("  Draining was given up: what nodes still held is lost, counted as unstored.\n", out);
    if (v->sut.unstored + v->daemons.unstored > 0 && !v->given_up)
        fputs("  Unstored, by the counters of their processes: what could not be read or stored to its end.\n", out);
    print_remedies(r, out);
    report_unobserved(r, out);
    report_unknown(r, out);
    fprintf(out, "  In the trace: %s%s records, and %s of the monitor's own.\n", v->behind ? "at least " : "",
            units_count(v->sut.stored).s, units_count(v->daemons.stored).s);
    if (v->behind)
        fputs("  It may hold more than these books tell, which the collector has not saved yet; where it was killed,\n"
              "  one that is started on the run takes that up (bezel-collector --run DIR ...).\n",
              out);
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
    if (s->process_count == 0 && r->verdict->unobserved == 0)
        return;
    report_title(r, "Books", out);
    if (s->process_count == 0) {
        report_unobserved(r, out);
        return;
    }
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
