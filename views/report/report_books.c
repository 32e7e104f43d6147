// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/json.h"
#include "base/saturate.h"
#include "base/table.h"
#include "views/report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The columns of counts. Those of rare losses are shown only if there are such losses. */
static const struct column {
    const char *head;
    size_t at; /* of the count, in struct verdict_books */
    bool rare;
} columns[] = {{"produced", offsetof(struct verdict_books, attempts), false},
               {"stored", offsetof(struct verdict_books, stored), false},
               {"full", offsetof(struct verdict_books, full), false},
               {"window", offsetof(struct verdict_books, window), true},
               {"spool", offsetof(struct verdict_books, spool), true},
               {"off", offsetof(struct verdict_books, off), false},
               {"overwritten", offsetof(struct verdict_books, overwritten), true},
               {"no-ring", offsetof(struct verdict_books, no_ring), false},
               {"unfinished", offsetof(struct verdict_books, unfinished), false},
               {"unstored", offsetof(struct verdict_books, unstored), true}};

enum { COLUMNS = sizeof columns / sizeof *columns };

static uint64_t count_of(const struct verdict_books *b, size_t column)
{
    return *(const uint64_t *)(const void *)((const char *)b + columns[column].at);
}

static bool is_shown(const struct report *r, size_t column)
{
    const struct verdict *v = r->verdict;
    if (columns[column].at == offsetof(struct verdict_books, overwritten))
        return v->overwrites;
    return !columns[column].rare || count_of(&v->sut, column) + count_of(&v->daemons, column) > 0;
}

static void books_row(const struct report *r, struct table *t, const char *name, const struct verdict_books *b)
{
    table_cell(t, "%s", name);
    for (size_t i = 0; i < COLUMNS; i++)
        if (is_shown(r, i))
            table_cell(t, "%s", units_count(count_of(b, i)).s);
    table_cell(t, "%s", number_signed(b->rest).s);
}

/*
 * Unfinished records are counted for the process only. They are assigned to its aspects if they explain all that is
 * missing there; so are unstored ones.
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

/* Prints by how much, and for which processes, the books do not balance. */
static void print_imbalance(const struct report *r, FILE *out)
{
    const struct summary *s = r->summary;
    int64_t rest = saturate_add(r->verdict->sut.rest, r->verdict->daemons.rest);
    bool any = false;
    for (size_t i = 0; i < s->process_count; i++)
        any = any || r->verdict->books[i].rest != 0;
    if (!any) /* only ends of processes are missing */
        return;
    if (r->verdict->run == RUN_RUNNING) {
        fprintf(out, "  In flight, or not yet counted: %s.\n", number_signed(rest).s);
        return;
    }
    fprintf(out, r->verdict->run == RUN_ABORTED ? "  In flight when the run was aborted, or no longer counted:\n"
                                                : "  The books do not balance:\n");
    for (size_t i = 0; i < s->process_count; i++) {
        int64_t unexplained = r->verdict->books[i].rest;
        char name[REPORT_PROCESS_SIZE];
        report_process_pid(r, &s->processes[i], name, sizeof name);
        if (unexplained > 0)
            fprintf(out, "    %s: %s produced, but neither stored nor counted as lost\n", name,
                    number_signed(unexplained).s);
        else if (unexplained < 0)
            fprintf(out, "    %s: %s stored or counted as lost, but not as produced\n", name,
                    units_count(-(uint64_t)unexplained).s);
    }
}

/* ---- Unknown records --------------------------------------------------------------------------------------------- */

/* They belong to nodes that vanished, or to processes that were not observed or whose end is not in the store. */

enum { STREAMS_SHOWN = 24 }; /* unless --all is given */

static void print_stream(const struct summary_stream *s, const char *name, FILE *out)
{
    fprintf(out, "    %s, ring %" PRIu32 ": ", name, s->ring);
    if (s->next_ordinal == 0)
        fputs("unknown from its first record on\n", out);
    else
        fprintf(out, "unknown after ordinal %" PRIu64 "\n", s->next_ordinal - 1);
}

/* Prints the open streams of `p`, at most *left of them, and lowers *left by their number. */
static void print_process(const struct report *r, const struct summary_process *p, size_t *left, FILE *out)
{
    char name[REPORT_PROCESS_SIZE];
    report_process_pid(r, p, name, sizeof name);
    size_t open = 0;
    for (size_t i = 0; i < p->stream_count; i++) {
        if (!p->streams[i].open)
            continue;
        open++;
        if (*left == 0)
            continue;
        --*left;
        print_stream(&p->streams[i], name, out);
    }
    if (open > 0 || *left == 0)
        return;
    --*left;
    if (p->state == PROCESS_LEFT) {
        fprintf(out, "    %s: it went on when bezeld had ended: unknown since then\n", name);
        return;
    }
    fprintf(out,
            p->stream_count ? "    %s: its last counters are unknown\n" : "    %s: unknown from its first record on\n",
            name);
}

static void print_unknown(const struct report *r, FILE *out)
{
    const struct summary *s = r->summary;
    const struct verdict *v = r->verdict;
    bool ended = v->vanished == 0 && v->unjoined == 0 && !v->unended;
    if (v->run == RUN_RUNNING || (v->unknown == 0 && ended && !s->left_out))
        return;
    fputs("  Not known, because it never reached the store (the numbers produced, above, are lower bounds):\n", out);
    if (s->left_out)
        fprintf(
            out,
            "    processes that the collector refused: none of their records is stored; %s of them sent last counters, "
            "%s records in all\n",
            units_count(s->untaken).s, units_count(s->untaken_records).s);
    for (size_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].open && !verdict_gave_up(s, (uint32_t)i))
            fprintf(out, "    node %s vanished: it never confirmed that all its records are stored\n",
                    s->nodes[i].name);
    for (uint32_t i = 0; i < r->experiment->node_count; i++)
        if (verdict_is_unjoined(s, r->experiment->nodes[i].name))
            fprintf(out, "    node %s never joined the run: nothing of it is stored\n", r->experiment->nodes[i].name);
    if (v->unended)
        fprintf(out, "    programs %s: their launcher has not said that all of them have ended\n", v->unended);
    size_t left = r->all ? SIZE_MAX : STREAMS_SHOWN;
    for (size_t i = 0; i < s->process_count; i++)
        if (verdict_is_open(s, &s->processes[i]))
            print_process(r, &s->processes[i], &left, out);
    if (left == 0)
        fputs("    ... (--all shows all of them)\n", out);
}

static const char *process_noun(uint64_t count)
{
    return count == 1 ? "process" : "processes";
}

static void print_unobserved(const struct report *r, FILE *out)
{
    const struct summary *s = r->summary;
    uint64_t all = r->verdict->unobserved;
    if (all == 0)
        return;
    fprintf(out,
            "  Not observed: %s %s recorded without a segment that could be read. The records of %s are unknown:\n",
            units_count(all).s, process_noun(all), all == 1 ? "this process" : "these processes");
    for (size_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].unobserved)
            fprintf(out, "    %s %s of node %s\n", units_count(s->nodes[i].unobserved).s,
                    process_noun(s->nodes[i].unobserved), s->nodes[i].name);
    size_t left = r->all ? SIZE_MAX : STREAMS_SHOWN;
    for (size_t i = 0; i < s->process_count; i++) {
        char name[REPORT_PROCESS_SIZE];
        if (s->processes[i].unobserved == 0 || left == 0)
            continue;
        left--;
        report_process_pid(r, &s->processes[i], name, sizeof name);
        fprintf(out, "    %s %s that %s forked\n", units_count(s->processes[i].unobserved).s,
                process_noun(s->processes[i].unobserved), name);
    }
    if (left == 0)
        fputs("    ... (--all shows all of them)\n", out);
}

/* ---- Remarks ----------------------------------------------------------------------------------------------------- */

static uint64_t sum_discarded(const struct summary *s)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->process_count; i++)
        sum += s->processes[i].discarded;
    return sum;
}

struct summary_expired report_expired_from_store(const struct report *r, enum message_role role)
{
    struct summary_expired sum = {0};
    for (size_t i = 0; i < r->summary->process_count; i++) {
        const struct summary_process *p = &r->summary->processes[i];
        if (p->role != role)
            continue;
        sum.packets += p->expired.packets;
        sum.records += p->expired.records;
        sum.bytes += p->expired.bytes;
    }
    return sum;
}

static uint64_t kept(uint64_t stored, uint64_t expired)
{
    return stored > expired ? stored - expired : 0; /* a foreign database may say anything */
}

/* What is stored is in the trace, but for what expired from the store. */
static void print_in_trace(const struct report *r, FILE *out)
{
    const struct verdict *v = r->verdict;
    struct summary_expired sut = report_expired_from_store(r, ROLE_SUT),
                           own = report_expired_from_store(r, ROLE_DAEMON);
    fprintf(out, "  In the trace: %s%s records, and %s of the monitor's own.\n", v->behind ? "at least " : "",
            units_count(kept(v->sut.stored, sut.records)).s, units_count(kept(v->daemons.stored, own.records)).s);
    if (sut.packets + own.packets)
        fprintf(
            out,
            "  Expired from the store (store.keep), the oldest first: %s records in %s packets of %s, and %s in %s of\n"
            "    %s of the monitor's own. They were stored, and count as stored.\n",
            units_count(sut.records).s, units_count(sut.packets).s, units_bytes(sut.bytes).s,
            units_count(own.records).s, units_count(own.packets).s, units_bytes(own.bytes).s);
}

static void print_books_remarks(const struct report *r, FILE *out)
{
    const struct verdict *v = r->verdict;
    if (v->balanced && v->run == RUN_ABORTED)
        fputs("  The books balance up to that time; later records are unknown.\n", out);
    else if (v->balanced)
        fputs("  The books balance: every record is accounted for.\n", out);
    else
        print_imbalance(r, out);
    if (v->clock_gaps || v->uncounted)
        fputs("  There may be records that these books do not count: the notes say why.\n", out);
    if (v->given_up)
        fputs("  Draining was given up: the records that nodes still held are lost, counted as unstored.\n", out);
    if (v->sut.before > 0)
        fprintf(
            out,
            "  %s of the lost records were begun before the run observed their processes, and lost since: they count "
            "as produced.\n",
            units_count(v->sut.before).s);
    if (v->sut.unstored + v->daemons.unstored > 0 && !v->given_up)
        fputs("  Unstored: records that their processes counted, but that could not be read or stored.\n", out);
    report_remedies(r, out);
    print_unobserved(r, out);
    print_unknown(r, out);
    print_in_trace(r, out);
    if (v->behind)
        fprintf(out,
                "  The trace may hold more than these books count: the collector has not saved the rest yet, or was "
                "killed.\n"
                "  If it was killed, start it again on the run to have the rest counted (bezel-collector --run %s).\n",
                r->run);
    uint64_t discarded = sum_discarded(r->summary);
    if (discarded > 0)
        fprintf(out, "  The trace itself shows %s lost records, and where (babeltrace2: discarded events).\n",
                units_count(discarded).s);
    if (r->summary->refused > 0)
        fprintf(out, "  Refused by the collector as malformed: %s packets and messages.\n",
                units_count(r->summary->refused).s);
}

void report_books(const struct report *r, FILE *out)
{
    const struct summary *s = r->summary;
    if (s->process_count == 0 && r->verdict->unobserved == 0 && !r->verdict->unended)
        return;
    report_title(r, "Books", out);
    if (s->process_count == 0) {
        print_unobserved(r, out);
        print_unknown(r, out);
        return;
    }
    char align[COLUMNS + 3] = "lr"; /* the name and the rest */
    for (size_t i = 0, at = 2; i < COLUMNS; i++)
        if (is_shown(r, i))
            align[at++] = 'r';
    struct table *t = table_new(align);
    table_cell(t, "process (pid), aspect");
    for (size_t i = 0; i < COLUMNS; i++)
        if (is_shown(r, i))
            table_cell(t, "%s", columns[i].head);
    table_cell(t, "rest");
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

void report_json_streams(const struct report *r, struct json *j, const struct summary_process *p)
{
    json_text(j, "end",
              !verdict_is_open(r->summary, p)  ? "known"
              : r->verdict->run == RUN_RUNNING ? "open"
                                               : "unknown");
    json_array(j, "streams");
    for (size_t i = 0; i < p->stream_count; i++) {
        const struct summary_stream *s = &p->streams[i];
        json_object(j, NULL);
        json_uint(j, "ring", s->ring);
        json_bool(j, "closed", !s->open);
        json_uint(j, "next_ordinal", s->next_ordinal);
        if (s->open && s->next_ordinal > 0 && r->verdict->run != RUN_RUNNING)
            json_uint(j, "unknown_after", s->next_ordinal - 1);
        else
            json_text(j, "unknown_after", NULL);
        json_object_end(j);
    }
    json_array_end(j);
}
