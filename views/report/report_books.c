// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/saturate.h"
#include "views/report/report.h"

#include <inttypes.h>

static bool is_shown(const struct report *r, const struct verdict_loss *l)
{
    const struct verdict *v = r->verdict;
    if (l->at == offsetof(struct verdict_books, overwritten))
        return v->overwrites;
    return !l->rare || verdict_count(&v->sut, l->at) + verdict_count(&v->daemons, l->at) > 0;
}

static void counts(struct rows *w, const struct report *r, const struct verdict_books *b, bool of_process)
{
    bool any_reduced = r->verdict->sut.reduced + r->verdict->daemons.reduced > 0;
    rows_count(w, "produced", "produced", b->attempts);
    rows_count(w, "stored", "stored", b->stored);
    rows_count(w, any_reduced ? "reduced" : NULL, "reduced", b->reduced);
    json_object(w->json, "lost");
    for (const struct verdict_loss *l = verdict_losses; l < verdict_losses + VERDICT_LOSSES; l++)
        rows_count(w, is_shown(r, l) ? l->head : NULL, of_process || !l->of_process ? l->name : NULL,
                   verdict_count(b, l->at));
    json_object_end(w->json);
    rows_int(w, "rest", "rest", b->rest);
}

/* ---- Aspects ----------------------------------------------------------------------------------------------------- */

struct aspect {
    const struct summary_process *process;
    const struct summary_book *book;
    const struct verdict_books *of_process;
};

/*
 * Unfinished records are counted for the process only. In the table they are assigned to its aspects if they explain
 * all that is missing there; so are unstored ones.
 */
static void aspect_row(struct rows *w, const struct report *r, const void *item)
{
    const struct aspect *a = item;
    const struct verdict_books *of = a->of_process;
    struct verdict_books row = verdict_aspect(r->summary, a->process, a->book);
    bool overwritten = verdict_explains_aspects(a->process, of);
    bool explained = of->rest == 0 && row.rest > 0 && (of->unstored == 0 || of->unfinished + of->overwritten == 0);
    if (w->json ? overwritten : explained) {
        *(of->unstored && !w->json ? &row.unstored
          : overwritten            ? &row.overwritten
                                   : &row.unfinished) = (uint64_t)row.rest;
        row.rest = 0;
    }
    rows_cell(w, "process (pid), aspect", 'l', "  %s", a->book->name);
    json_text(w->json, "aspect", a->book->name);
    counts(w, r, &row, false);
    if (!w->json)
        return;
    json_double(w->json, "rate_per_s", verdict_rate(a->book));
    report_json_values(r, w->json, a->process, a->book);
    report_json_labels(r, w->json, a->process, a->book);
    report_json_messages(r, w->json, a->process, a->book);
}

static void add_aspects(struct rows *w, const struct report *r, size_t process)
{
    const struct summary_process *p = &r->summary->processes[process];
    for (size_t i = 0; i < p->book_count; i++) {
        struct verdict_books b = verdict_aspect(r->summary, p, &p->books[i]);
        if (w->json || r->all || verdict_lost(&b) > 0 || b.rest != 0)
            rows_add(w, aspect_row, &(struct aspect){p, &p->books[i], &r->verdict->books[process]});
    }
}

/* ---- Processes --------------------------------------------------------------------------------------------------- */

static void stream_row(struct rows *w, const struct report *r, const void *item)
{
    const struct summary_stream *s = item;
    bool cut = s->open && s->next_ordinal > 0 && r->verdict->run != RUN_RUNNING;
    json_uint(w->json, "ring", s->ring);
    json_bool(w->json, "closed", !s->open);
    json_uint(w->json, "next_ordinal", s->next_ordinal);
    json_known_int(w->json, "unknown_after", cut, (int64_t)s->next_ordinal - 1);
}

static void process_row(struct rows *w, const struct report *r, const void *item)
{
    static const char *const states[] = {"running", "ended", "detached", "left"};
    const struct summary_process *p = item;
    size_t i = (size_t)(p - r->summary->processes);
    char name[REPORT_PROCESS_SIZE];
    report_process_pid(r, p, name, sizeof name);
    rows_text(w, "process (pid), aspect", NULL, name);
    json_text(w->json, "node", report_node_name(r, p->node));
    json_text(w->json, "process", p->name);
    json_uint(w->json, "pid", p->pid);
    json_uint_text(w->json, "instance", p->instance);
    json_text(w->json, "role", p->role == ROLE_SUT ? "sut" : "daemon");
    json_text(w->json, "executable", p->executable);
    json_text(w->json, "state", (unsigned)p->state <= PROCESS_LEFT ? states[p->state] : NULL);
    json_int(w->json, "started_ns", report_run_time(r, p->node, p->started));
    counts(w, r, &r->verdict->books[i], true);
    if (!w->json)
        return;
    json_uint(w->json, "discarded", p->discarded);
    json_uint(w->json, "unobserved", p->unobserved);
    json_text(w->json, "when_full", p->overwrites ? "overwrite" : "discard");
    report_json_latency(&p->latency, w->json);
    json_text(w->json, "end",
              !verdict_is_open(r->summary, p)  ? "known"
              : r->verdict->run == RUN_RUNNING ? "open"
                                               : "unknown");
    json_array(w->json, "streams");
    for (size_t k = 0; k < p->stream_count; k++)
        rows_add(w, stream_row, &p->streams[k]);
    json_array_end(w->json);
    json_array(w->json, "aspects");
    add_aspects(w, r, i);
    json_array_end(w->json);
}

static const struct rows_section processes = {ROWS_LIST(NULL, "processes", processes, process_count, process_row)};

static void sum_row(struct rows *w, const struct report *r, const void *item)
{
    const struct verdict_books *b = item;
    rows_text(w, "process (pid), aspect", NULL, "all but daemons");
    json_uint(w->json, "processes", b->processes);
    counts(w, r, b, true);
}

/* Prints by how much, and of a run that is over for which processes, the books do not balance. */
static void print_imbalance(const struct report *r, FILE *out)
{
    const struct summary *s = r->summary;
    bool running = r->verdict->run == RUN_RUNNING, any = false; /* else only ends of processes are missing */
    struct rows w = {.report = r, .bare = true};
    for (size_t i = 0; i < s->process_count; i++) {
        int64_t unexplained = r->verdict->books[i].rest;
        char name[REPORT_PROCESS_SIZE];
        report_process_pid(r, &s->processes[i], name, sizeof name);
        any = any || unexplained != 0;
        if (unexplained > 0 && !running)
            rows_line(&w, "  %s: %s produced, but neither stored nor counted as lost", name,
                      number_signed(unexplained).s);
        else if (unexplained < 0 && !running)
            rows_line(&w, "  %s: %s stored or counted as lost, but not as produced", name,
                      units_count(-(uint64_t)unexplained).s);
    }
    if (any && running)
        fprintf(out, "  In flight, or not yet counted: %s.\n",
                number_signed(saturate_add(r->verdict->sut.rest, r->verdict->daemons.rest)).s);
    else if (any)
        fputs(r->verdict->run == RUN_ABORTED ? "  In flight when the run was aborted, or no longer counted:\n"
                                             : "  The books do not balance:\n",
              out);
    rows_print_table(&w, out);
}

/* ---- Unknown records --------------------------------------------------------------------------------------------- */

static void add_open_process(struct rows *w, const struct report *r, const struct summary_process *p)
{
    char name[REPORT_PROCESS_SIZE];
    bool open = false;
    report_process_pid(r, p, name, sizeof name);
    for (size_t i = 0; i < p->stream_count; i++) {
        const struct summary_stream *s = &p->streams[i];
        open = open || s->open;
        if (s->open && s->next_ordinal == 0)
            rows_line(w, "  %s, ring %" PRIu32 ": unknown from its first record on", name, s->ring);
        else if (s->open)
            rows_line(w, "  %s, ring %" PRIu32 ": unknown after ordinal %" PRIu64, name, s->ring, s->next_ordinal - 1);
    }
    if (open)
        return;
    if (p->state == PROCESS_LEFT)
        rows_line(w, "  %s: it went on when bezeld had ended: unknown since then", name);
    else
        rows_line(w, "  %s: %s", name,
                  p->stream_count ? "its last counters are unknown" : "unknown from its first record on");
}

/* Of nodes that vanished, of processes that the collector refused, or whose end is not in the store. */
static void add_unknown(void *context, const struct verdict_lack *l)
{
    struct rows *w = context;
    const struct report *r = w->report;
    if (l->is == LACK_LEFT_OUT && r->verdict->run != RUN_RUNNING)
        rows_line(w,
                  "  processes that the collector refused: none of their records is stored; %s of them sent last "
                  "counters, %s records in all",
                  units_count(r->summary->untaken).s, units_count(r->summary->untaken_records).s);
    else if (l->is == LACK_VANISHED)
        rows_line(w, "  node %s vanished: it never confirmed that all its records are stored",
                  report_node_name(r, l->node));
    else if (l->is == LACK_UNJOINED)
        rows_line(w, "  node %s never joined the run: nothing of it is stored", l->what);
    else if (l->is == LACK_UNENDED)
        rows_line(w, "  programs %s: their launcher has not said that all of them have ended", l->what);
    else if (l->is == LACK_UNKNOWN)
        add_open_process(w, r, l->process);
}

static const char *process_noun(uint64_t count)
{
    return count == 1 ? "process" : "processes";
}

static void add_unobserved(void *context, const struct verdict_lack *l)
{
    struct rows *w = context;
    char name[REPORT_PROCESS_SIZE];
    if (l->is != LACK_UNOBSERVED)
        return;
    if (l->process)
        report_process_pid(w->report, l->process, name, sizeof name);
    if (l->process)
        rows_line(w, "  %s %s that %s forked", units_count(l->count).s, process_noun(l->count), name);
    else
        rows_line(w, "  %s %s counted at node %s", units_count(l->count).s, process_noun(l->count),
                  report_node_name(w->report, l->node));
}

/* Prints what `add` adds of all that lacks, below `head`. */
static void print_lacks(const struct report *r, verdict_take_lack *add, const char *head, FILE *out)
{
    struct rows w = {.report = r, .bare = true};
    bool over = r->verdict->run != RUN_RUNNING;
    verdict_each_lack(r->summary, over ? r->experiment : NULL, over, add, &w);
    if (w.count)
        fputs(head, out);
    rows_print_table(&w, out);
}

static void print_unobserved(const struct report *r, FILE *out)
{
    uint64_t all = r->verdict->lacks[LACK_UNOBSERVED];
    char head[160];
    snprintf(head, sizeof head,
             "  Not observed: %s %s recorded without a segment that could be read. The records of %s are unknown:\n",
             units_count(all).s, process_noun(all), all == 1 ? "this process" : "these processes");
    print_lacks(r, add_unobserved, head, out);
}

/* ---- Remarks ----------------------------------------------------------------------------------------------------- */

static uint64_t sum_lost(const struct summary *s)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->process_count; i++)
        sum += s->processes[i].discarded - s->processes[i].reduced;
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
    fprintf(out, "  In the trace: %s%s records, and %s of the monitor's own.\n",
            v->lacks[LACK_MISSING]  ? "at most "
            : v->lacks[LACK_BEHIND] ? "at least "
                                    : "",
            units_count(kept(v->sut.stored, sut.records)).s, units_count(kept(v->daemons.stored, own.records)).s);
    if (sut.packets + own.packets)
        fprintf(
            out,
            "  Expired from the store (store.keep), the oldest first: %s records in %s packets of %s, and %s in %s of\n"
            "    %s of the monitor's own. They were stored, and count as stored.\n",
            units_count(sut.records).s, units_count(sut.packets).s, units_bytes(sut.bytes).s,
            units_count(own.records).s, units_count(own.packets).s, units_bytes(own.bytes).s);
}

/* What all of the books come to, as a sentence of the text and of the page. */
static void say_balance(const struct verdict *v, char *text, size_t size)
{
    snprintf(text, size,
             !v->balanced            ? "The books do not balance, or are not complete."
             : v->partial            ? "The books balance as far as they are here."
             : v->run == RUN_ABORTED ? "The books balance up to %.3f s; later records are unknown."
                                     : "The books balance: every record is accounted for.",
             (double)v->known_until / 1e9);
}

static void print_balance(const struct report *r, FILE *out)
{
    const struct verdict *v = r->verdict;
    char text[80];
    say_balance(v, text, sizeof text);
    if (v->balanced)
        fprintf(out, "  %s\n", text);
    else
        print_imbalance(r, out);
    if (verdict_lacks(v, 1U << LACK_CLOCK_GAP | 1U << LACK_UNCOUNTED))
        fputs("  There may be records that these books do not count: the notes say why.\n", out);
    if (v->given_up)
        fputs("  Draining was given up: the records that nodes still held are lost, counted as unstored.\n", out);
    if (v->sut.before > 0)
        fprintf(out,
                "  %s of the lost records were begun before the run observed their processes. They count "
                "as produced.\n",
                units_count(v->sut.before).s);
    if (v->sut.unstored + v->daemons.unstored > 0 && !v->given_up)
        fputs("  Unstored: records that their processes counted, but that could not be read or stored.\n", out);
    report_remedies(r, out);
}

static void print_trace(const struct report *r, FILE *out)
{
    uint64_t lost = r->all ? sum_lost(r->summary) : 0;
    if (r->all)
        print_in_trace(r, out);
    if (r->verdict->lacks[LACK_BEHIND])
        fprintf(out,
                "  The trace may hold more than these books count: the collector has not saved the rest yet, or was "
                "killed.\n"
                "  If it was killed, start it again on the run to have the rest counted (bezel-collector --run %s).\n",
                report_word(r->run).s);
    if (r->verdict->lacks[LACK_MISSING])
        fprintf(
            out,
            "  %s of the trace's files have lost or changed bytes since they were stored: the books count what they "
            "had.\n",
            units_count(r->verdict->lacks[LACK_MISSING]).s);
    if (lost > 0)
        fprintf(out, "  The trace itself shows %s lost records, and where (babeltrace2: discarded events).\n",
                units_count(lost).s);
    if (r->verdict->sut.reduced > 0)
        fputs("  Reduced: the records ended at their node, or at the collector (sensing.keep); values of metrics are "
              "stored in their place.\n",
              out);
    if (r->summary->refused > 0)
        fprintf(out, "  Refused by the collector as malformed: %s packets and messages.\n",
                units_count(r->summary->refused).s);
}

/* Whether the short text has the books of `p`, or of an aspect of it. */
static bool is_troubled(const struct report *r, const struct summary_process *p, const struct verdict_books *b)
{
    return verdict_lost(b) > 0 || (r->verdict->run != RUN_RUNNING && (b->rest != 0 || verdict_is_open(r->summary, p)));
}

static void add_books(struct rows *w, const struct report *r)
{
    bool any = r->all;
    for (size_t i = 0; i < r->summary->process_count; i++) {
        const struct summary_process *p = &r->summary->processes[i];
        if (!r->all && !is_troubled(r, p, &r->verdict->books[i]))
            continue;
        any = true;
        rows_add(w, process_row, p);
        add_aspects(w, r, i);
    }
    if (any && r->verdict->sut.processes > 1)
        rows_add(w, sum_row, &r->verdict->sut);
}

static void print_remarks(const struct report *r, FILE *out)
{
    bool empty = r->summary->process_count == 0, whole = verdict_is_complete(r->verdict);
    if (!empty && (r->all || !whole || verdict_lost(&r->verdict->sut) + verdict_lost(&r->verdict->daemons) > 0))
        print_balance(r, out);
    print_unobserved(r, out);
    print_lacks(
        r, add_unknown,
        "  Not known, because it never reached the store (so the numbers of records produced are lower bounds):\n",
        out);
    if (!empty)
        print_trace(r, out);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_expired_counts(struct json *j, const struct summary_expired *e)
{
    json_uint(j, "records", e->records);
    json_uint(j, "packets", e->packets);
    json_uint(j, "bytes", e->bytes);
}

/* What `store.keep` let go: in all, and of each stream of which it let something go. */
static void put_expired_from_store(const struct report *r, struct json *j)
{
    static const char *const keys[] = {[ROLE_SUT] = "sut", [ROLE_DAEMON] = "daemons"};
    json_object(j, "expired_from_store");
    for (int role = ROLE_SUT; role <= ROLE_DAEMON; role++) {
        struct summary_expired sum = report_expired_from_store(r, (enum message_role)role);
        json_object(j, keys[role]);
        put_expired_counts(j, &sum);
        json_object_end(j);
    }
    json_array(j, "streams");
    for (size_t i = 0; i < r->summary->process_count && (r->most == 0 || i < r->most); i++) {
        const struct summary_process *p = &r->summary->processes[i];
        for (size_t k = 0; k < p->stream_count; k++) {
            if (p->streams[k].expired.packets == 0)
                continue;
            json_object(j, NULL);
            json_text(j, "node", report_node_name(r, p->node));
            json_text(j, "process", p->name);
            json_uint(j, "pid", p->pid);
            json_uint(j, "ring", p->streams[k].ring);
            put_expired_counts(j, &p->streams[k].expired);
            json_object_end(j);
        }
    }
    json_array_end(j);
    json_object_end(j);
}

static void put_sum(const struct report *r, struct json *j, const char *key, const struct verdict_books *b)
{
    json_object(j, key);
    sum_row(&(struct rows){.report = r, .json = j}, r, b);
    json_object_end(j);
}

static void put_books(const struct report *r, struct json *j)
{
    const struct verdict *v = r->verdict;
    const uint64_t *n = v->lacks;
    char text[80];
    say_balance(v, text, sizeof text);
    json_object(j, "books");
    json_text(j, "text", text);
    if (v->balanced && v->run == RUN_ABORTED) { /* later records are unknown */
        json_text(j, "balanced", NULL);
        json_int(j, "balanced_until_ns", v->known_until);
    } else {
        json_bool(j, "balanced", v->balanced);
        json_text(j, "balanced_until_ns", NULL);
    }
    json_uint(j, "unknown", n[LACK_UNKNOWN]);
    json_uint(j, "left", n[LACK_LEFT]);
    json_text(j, "unended", v->lacking[LACK_UNENDED]);
    json_uint(j, "vanished", n[LACK_VANISHED]);
    json_uint(j, "unjoined", n[LACK_UNJOINED]);
    json_bool(j, "behind", n[LACK_BEHIND] > 0);
    json_uint(j, "missing", n[LACK_MISSING]);
    json_bool(j, "changed", n[LACK_CHANGED] > 0);
    json_bool(j, "experiment_changed", n[LACK_EXPERIMENT] > 0);
    json_uint(j, "unobserved", n[LACK_UNOBSERVED]);
    json_bool(j, "rejoined", n[LACK_REJOINED] > 0);
    json_uint(j, "clock_gaps", n[LACK_CLOCK_GAP]);
    json_uint(j, "uncounted", n[LACK_UNCOUNTED]);
    put_sum(r, j, "sut", &v->sut);
    put_sum(r, j, "daemons", &v->daemons);
    json_uint(j, "refused", r->summary->refused);
    json_bool(j, "left_out", r->summary->left_out);
    json_uint(j, "left_out_processes", r->summary->untaken);
    json_uint(j, "left_out_records", r->summary->untaken_records);
    put_expired_from_store(r, j);
    report_json_remedies(r, j);
    rows_write(r, &processes, j);
    json_object_end(j);
}

const struct rows_section report_books = {.title = "Books", .add = add_books, .text = print_remarks, .json = put_books};
