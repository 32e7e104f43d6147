// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/plain.h"
#include "base/saturate.h"
#include "base/table.h"
#include "run/rundb/rundb.h"
#include "views/report/report.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <time.h>

/* ---- what the text shows ---- */

void report_title(const struct report *r, const char *text, FILE *out)
{
    fprintf(out, r->color ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

bool report_shows(const struct report *r, const struct summary_process *p)
{
    return p->role == ROLE_SUT || r->all;
}

/* Of more processes than this, only --all shows the aspects. */
enum { PROCESSES_OPENED = 24 };

bool report_opens_processes(const struct report *r)
{
    return r->all || r->verdict->sut.processes <= PROCESSES_OPENED;
}

void report_left_out(const struct report *r, size_t rows, FILE *out)
{
    if (rows > REPORT_ROWS_MOST && !r->all)
        fprintf(out, "  %zu more: bezel report --all\n", rows - REPORT_ROWS_MOST);
}

/* ---- the sentence ---- */

/* CLOCK_REALTIME as a date and time. */
static struct units_text date_text(int64_t realtime)
{
    struct units_text text;
    time_t seconds = (time_t)(realtime / CLOCK_S);
    struct tm utc;
    if (!gmtime_r(&seconds, &utc) || strftime(text.s, sizeof text.s, "%Y-%m-%d %H:%M:%S UTC", &utc) == 0)
        snprintf(text.s, sizeof text.s, "an unknown time");
    return text;
}

/* The same with milliseconds, for times that are added to it. */
static void print_start(const struct report *r, FILE *out)
{
    char date[40];
    time_t seconds = (time_t)(r->verdict->started / CLOCK_S);
    struct tm utc;
    if (r->verdict->started <= 0 || !gmtime_r(&seconds, &utc) ||
        strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &utc) == 0)
        return;
    fprintf(out, "Started %s.%03d UTC; the times below are since then.\n", date,
            (int)(r->verdict->started % CLOCK_S / CLOCK_MS));
}

static void say_run(const struct report *r, FILE *out)
{
    struct units_text took = units_duration(r->verdict->duration);
    const char *ended_by = summary_property(r->summary, "ended_by");
    char name[EXPERIMENT_NAME_MAX + 1];
    snprintf(name, sizeof name, "%s", report_experiment_name(r));
    plain_text(name);
    if (r->verdict->run == RUN_RUNNING)
        fprintf(out, "%s has been running for %s; so far: ", name, took.s);
    else if (r->verdict->run == RUN_ABORTED)
        fprintf(out, "%s was aborted at %s, %s after its start; later events are unknown; until then: ", name,
                date_text(r->verdict->started + r->verdict->duration).s, took.s);
    else if (ended_by && strcmp(ended_by, "interrupt") == 0)
        fprintf(out, "%s was interrupted after %s: ", name, took.s);
    else if (r->verdict->failed)
        fprintf(out, "%s failed after %s: ", name, took.s);
    else
        fprintf(out, "%s ran %s: ", name, took.s);
}

static bool is_broken(const struct report *r, size_t row, size_t limit)
{
    return r->summary->limits[row].limit == (int64_t)limit && r->verdict->rows[row].is >= VERDICT_VIOLATED;
}

/* On how many nodes limit `i` did not hold. A node may have a row for each of its traces. */
static size_t count_broken(const struct report *r, size_t i)
{
    size_t nodes = 0;
    for (size_t row = 0; row < r->summary->limit_count; row++) {
        const char *name = report_node_name(r, r->summary->limits[row].node);
        size_t before = 0;
        while (before < row &&
               !(is_broken(r, before, i) && strcmp(report_node_name(r, r->summary->limits[before].node), name) == 0))
            before++;
        nodes += before == row && is_broken(r, row, i);
    }
    return nodes;
}

/* Where limit `i` did not hold: " on desk1", or " on 2 nodes"; nothing in a run of one node. */
static void say_where(const struct report *r, size_t i, FILE *out)
{
    size_t nodes = count_broken(r, i);
    if (r->experiment->limits[i].global) {
        fputs(" over all nodes", out);
        return;
    }
    if (nodes > 1)
        fprintf(out, " on %zu nodes", nodes);
    else if (r->summary->node_count > 1)
        fprintf(out, " on %s", report_node_name(r, r->verdict->limits[i].node));
}

/* Whether a limit was judged for less than half of the run. */
static bool is_judged_little(const struct verdict_limit *l)
{
    return l->judged < l->total - l->judged;
}

/* What a verdict on limit `i` hides: violations within the tolerance, and times that were not judged. */
static bool hides(const struct verdict_limit *l)
{
    return (l->is == VERDICT_HELD && l->violated > 0) || l->unjudged > 0 || is_judged_little(l) || l->strays;
}

/* That, as the rest of a sentence about the limit; the first word is behind `joint`. */
static void say_hidden(const struct report *r, size_t i, const char *joint, FILE *out)
{
    const struct verdict_limit *l = &r->verdict->limits[i];
    if (l->is == VERDICT_HELD && l->violated > 0) {
        fprintf(out, "%s violated for %s in all, within the %s that it may be", joint, units_duration(l->violated).s,
                number_percent(r->experiment->limits[i].tolerance).s);
        joint = ", and";
    }
    if (is_judged_little(l)) {
        fprintf(out, "%s judged for only %s of %s", joint, units_duration(l->judged).s, units_duration(l->total).s);
        joint = ", and";
    } else if (l->unjudged > 0) {
        fprintf(out, "%s not judged for %s", joint, units_duration(l->unjudged).s);
        joint = ", and";
    }
    if (l->strays)
        fprintf(out, "%s not judged when a record had %s", joint, report_limit_value(r, (int64_t)i, l->stray).s);
}

static void say_unknown_limit(const struct report *r, size_t i, FILE *out)
{
    const struct verdict_limit *l = &r->verdict->limits[i];
    bool running = r->verdict->run == RUN_RUNNING;
    fprintf(out, running && l->unjudged == 0 ? "%s is not judged yet" : "%s could not be judged",
            report_limit_text(r, (int64_t)i));
    if (l->unjudged > 0)
        fprintf(out, " for %s of %s", units_duration(l->unjudged).s, units_duration(l->total).s);
    if (l->strays && l->judged > 0)
        fprintf(out, " when a record had %s", report_limit_value(r, (int64_t)i, l->stray).s);
    if (l->judged == 0)
        report_unjudged(r, i, out);
    else if (l->unjudged > 0)
        fprintf(out, ", and was violated %s of the rest", number_percent(l->share).s);
}

static void say_broken_limit(const struct report *r, size_t i, FILE *out)
{
    const struct verdict_limit *l = &r->verdict->limits[i];
    if (l->is == VERDICT_UNKNOWN) {
        say_unknown_limit(r, i, out);
        return;
    }
    bool infeasible = l->is == VERDICT_INFEASIBLE;
    fprintf(out, infeasible ? "%s cannot hold" : "%s was violated", report_limit_text(r, (int64_t)i));
    say_where(r, i, out);
    fprintf(out, infeasible ? ": violated %s of the time" : " %s of the time", number_percent(l->share).s);
    say_hidden(r, i, ", and", out);
    if (infeasible) {
        fputs(", ", out);
        report_why(r, l, out);
    }
}

/* The limits that held; of each, what that hides. */
static void say_held(const struct report *r, size_t broken, size_t held, FILE *out)
{
    bool all = broken == 0;
    if (held == 1)
        fputs(all ? "its limit held" : "the other limit held", out);
    else if (held == 2 && all)
        fputs("both limits held", out);
    else
        fprintf(out, all ? "all %zu limits held" : "the other %zu limits held", held);
    const char *end = all ? ", " : "; ";
    for (size_t i = 0; i < r->verdict->limit_count; i++) {
        const struct verdict_limit *l = &r->verdict->limits[i];
        if (l->is != VERDICT_HELD || !hides(l))
            continue;
        if (held > 1)
            fprintf(out, "; %s was", report_limit_text(r, (int64_t)i));
        say_hidden(r, i, held > 1 ? "" : ",", out);
        end = "; ";
    }
    fputs(end, out);
}

static void say_limits(const struct report *r, FILE *out)
{
    enum { NAMED_MAX = 3 };
    const struct verdict *v = r->verdict;
    size_t broken = 0, held = 0;
    for (size_t i = 0; i < v->limit_count; i++) {
        if (v->limits[i].is == VERDICT_HELD) {
            held++;
        } else if (++broken <= NAMED_MAX) {
            say_broken_limit(r, i, out);
            fputs("; ", out);
        }
    }
    if (broken > NAMED_MAX)
        fprintf(out, "%zu more limits did not hold; ", broken - NAMED_MAX);
    if (held > 0)
        say_held(r, broken, held, out);
}

static void say_lost(const struct report *r, FILE *out)
{
    const struct verdict_books *b = &r->verdict->sut;
    if (verdict_lost(b) == 0) {
        bool known = verdict_is_complete(r->verdict);
        fputs(known ? "none lost" : "none counted as lost", out);
        return;
    }
    const struct {
        uint64_t count;
        const char *cause;
    } losses[] = {{b->full, "ring full"},        {b->window, "window full"},      {b->spool, "spool full"},
                  {b->off, "collection off"},    {b->overwritten, "overwritten"}, {b->no_ring, "no ring"},
                  {b->unfinished, "unfinished"}, {b->unstored, "not stored"}};
    fprintf(out, "%s lost", units_count(verdict_lost(b)).s);
    const char *before = " (";
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        if (losses[i].count == 0)
            continue;
        fprintf(out, "%s%s %s", before, units_count(losses[i].count).s, losses[i].cause);
        before = ", ";
    }
    fputc(')', out);
}

/* The reasons why the numbers are incomplete: ", but ..., and ...". */
static void say_unknown(const struct verdict *v, FILE *out)
{
    const char *joint = ", but";
    if (v->behind) {
        fprintf(out, "%s the trace may hold more", joint);
        joint = ", and";
    }
    if (v->absent) {
        fprintf(out, "%s no program came for '%s'", joint, v->absentee);
        if (v->absent > 1)
            fprintf(out, ", nor for %zu more that the file attaches to", v->absent - 1);
        joint = ", and";
    }
    if (v->vanished) {
        fprintf(out, "%s %zu node%s vanished", joint, v->vanished, v->vanished == 1 ? "" : "s");
        joint = ", and";
    }
    if (v->unjoined) {
        fprintf(out, "%s %zu node%s never joined the run", joint, v->unjoined, v->unjoined == 1 ? "" : "s");
        joint = ", and";
    }
    if (v->unknown) {
        fprintf(out, "%s the end of %zu process%s is unknown", joint, v->unknown, v->unknown == 1 ? "" : "es");
        joint = ", and";
        if (v->left)
            fprintf(out, " (%zu went on when bezeld had ended)", v->left);
    }
    if (v->unended) {
        fprintf(out,
                "%s programs may have been started or have gone on unobserved %s: their launcher has not said "
                "that all have ended",
                joint, v->unended);
        joint = ", and";
    }
    if (v->clock_gaps) {
        fprintf(out,
                "%s what was recorded while a node did not observe, behind a jump of its clock, is unknown (the notes "
                "say for how long)",
                joint);
        joint = ", and";
    }
    if (v->uncounted) {
        fprintf(out, "%s there may be records that no books count (see the notes: %s)", joint, v->why_uncounted);
        joint = ", and";
    }
    if (v->unobserved)
        fprintf(out,
                v->unobserved == 1 ? "%s %s process was not observed: its records are unknown"
                                   : "%s %s processes were not observed: their records are unknown",
                joint, units_count(v->unobserved).s);
    else if (!v->balanced && !v->vanished && !v->unjoined && !v->unknown && !v->unended && !v->clock_gaps &&
             !v->uncounted && v->run == RUN_ENDED)
        fputs(", but the books do not balance", out);
}

void report_sentence(const struct report *r, FILE *out)
{
    const struct verdict_books *b = &r->verdict->sut;
    say_run(r, out);
    say_limits(r, out);
    if (b->processes == 0) {
        fputs("no process recorded anything", out);
    } else {
        fprintf(out, "%s record%s of %u process%s stored, ", units_count(b->stored).s, b->stored == 1 ? "" : "s",
                b->processes, b->processes == 1 ? "" : "es");
        say_lost(r, out);
    }
    struct summary_expired gone = report_expired_from_store(r, ROLE_SUT);
    if (gone.records)
        fprintf(out, ", %s of them expired from the store since", units_count(gone.records).s);
    say_unknown(r->verdict, out);
    fputc('.', out);
}

char *report_sentence_text(const struct report *r)
{
    char *sentence = NULL;
    size_t n;
    FILE *memory = open_memstream(&sentence, &n);
    if (!memory)
        return NULL;
    report_sentence(r, memory);
    fclose(memory);
    return sentence;
}

/* ---- verdict and limits ---- */

/* Nodes with an address may go on for a while without their `bezel run`. */
static bool may_be_taken_over(const struct report *r)
{
    bool addressed = false;
    for (uint32_t i = 0; i < r->experiment->node_count; i++)
        addressed |= r->experiment->nodes[i].address != NULL;
    return addressed && r->verdict->run == RUN_ABORTED;
}

static void print_sentence(const struct report *r, FILE *out)
{
    static const char *const colors[] = {"\033[1;32m", "\033[1;33m", "\033[1;31m", "\033[1;31m"};
    enum verdict_is as = r->verdict->is;
    for (size_t i = 0; i < r->verdict->limit_count && as == VERDICT_HELD; i++)
        as = hides(&r->verdict->limits[i]) ? VERDICT_UNKNOWN : as;
    if (r->color)
        fputs(colors[as], out);
    report_sentence(r, out);
    fputs(r->color ? "\033[0m\n" : "\n", out);
    print_start(r, out);
    if (may_be_taken_over(r))
        fputs("Nodes with an address go on without `bezel run` for a while: 'bezel attach' takes the run over.\n", out);
}

/* The row of a limit on one node. `text` is empty if a row of the limit over all nodes stands above. */
static void limit_row(const struct report *r, struct table *t, const char *text, size_t row)
{
    const struct builtin_limit *l = &r->summary->limits[row];
    const struct verdict_limit *v = &r->verdict->rows[row];
    table_cell(t, "%s", verdict_name(v->is));
    table_cell(t, "%s", text);
    if (l->epoch > 1)
        table_cell(t, "all, manager %" PRId64, l->epoch);
    else
        table_cell(t, "%s", l->epoch ? "all" : report_node_name(r, l->node));
    table_cell(t, "%s", report_limit_value(r, l->limit, l->value).s);
    table_cell(t, "%s", report_limit_value(r, l->limit, l->worst).s);
    table_cell(t, "%s", number_percent(v->share).s);
    table_cell(t, "%s", units_duration(l->held).s);
    table_cell(t, "%s", units_duration(l->violated).s);
    table_cell(t, "%s", units_duration(l->unknown).s);
    table_cell(t, "%s", units_duration(l->settling).s);
}

static void empty_cells(struct table *t, int count)
{
    for (int i = 0; i < count; i++)
        table_cell(t, "%s", "");
}

static void limit_rows(const struct report *r, struct table *t, size_t limit)
{
    const struct summary *s = r->summary;
    const struct verdict_limit *all = &r->verdict->limits[limit];
    const char *text = r->experiment->limits[limit].text;
    size_t nodes = 0;
    for (size_t i = 0; i < s->limit_count; i++)
        nodes += s->limits[i].limit == (int64_t)limit;
    if (nodes != 1) {
        table_cell(t, "%s", verdict_name(all->is));
        table_cell(t, "%s", text);
        table_cell(t, "%s", nodes ? "all" : "none");
        empty_cells(t, 2);
        table_cell(t, "%s", number_percent(all->share).s);
        empty_cells(t, 4);
    }
    for (size_t i = 0; i < s->limit_count; i++)
        if (s->limits[i].limit == (int64_t)limit)
            limit_row(r, t, nodes == 1 ? text : "", i);
}

/* Why limit `l` was not judged in a gap; NULL: it was, or nobody has tried yet. */
static const char *why_unjudged(const struct report *r, const struct builtin_limit *l)
{
    for (size_t i = 0; i < r->summary->gap_count; i++) {
        const struct history_gap *g = &r->summary->gaps[i];
        if (g->why && g->node == l->node && g->limit == l->limit)
            return g->why;
    }
    return NULL;
}

/* How long limit `l` was in violation by the timeline; *count gets how often. */
static int64_t violated_by_timeline(const struct report *r, const struct builtin_limit *l, int64_t *count)
{
    int64_t sum = 0;
    *count = 0;
    for (size_t i = 0; i < r->summary->violation_count; i++) {
        const struct history_violation *v = &r->summary->violations[i];
        if (v->limit != l->limit || (l->epoch == 0 && v->node != l->node))
            continue;
        sum = saturate_add(sum, v->end - v->begin);
        ++*count;
    }
    return sum;
}

/* The two measure from instant to instant, and may differ by one for each violation. */
static void print_uncounted(const struct report *r, const struct builtin_limit *l, FILE *out)
{
    int64_t count, more = violated_by_timeline(r, l, &count) - l->violated;
    if (l->epoch > 1 || more <= (count + 1) * r->experiment->adapt.every)
        return;
    fprintf(
        out, "  %s on %s: of the violations in the timeline %s do not count: adaptation settled, or a process ended.\n",
        report_limit_text(r, l->limit), l->epoch ? "all nodes" : report_node_name(r, l->node), units_duration(more).s);
}

/* By what each verdict stands, where it is not by what was judged while the run went on. */
static void print_bases(const struct report *r, FILE *out)
{
    for (size_t i = 0; i < r->summary->limit_count; i++) {
        const struct verdict_limit *v = &r->verdict->rows[i];
        const struct builtin_limit *l = &r->summary->limits[i];
        const char *why = why_unjudged(r, l), *text = report_limit_text(r, l->limit);
        const char *where = l->epoch ? "all nodes" : report_node_name(r, l->node);
        if (v->again > 0)
            fprintf(out,
                    "  %s on %s: %s of this was not judged while the run went on, but afterwards, from its records.\n",
                    text, where, units_duration(v->again).s);
        if (v->unjudged > 0)
            fprintf(out, "  %s on %s: %s of the unknown time was not judged%s%s.\n", text, where,
                    units_duration(v->unjudged).s, why ? ", and records do not tell: " : "", why ? why : "");
        print_uncounted(r, l, out);
    }
}

static void print_limits(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"verdict",      "limit", "node",     "last",    "worst",
                                        "in violation", "held",  "violated", "unknown", "settling"};
    if (r->verdict->limit_count == 0)
        return;
    report_title(r, "Limits", out);
    struct table *t = table_with_heads("lllrrrrrrr", heads);
    for (size_t i = 0; i < r->verdict->limit_count; i++)
        limit_rows(r, t, i);
    table_print(t, 2, out);
    print_bases(r, out);
}

/* ---- rates and metrics ---- */

static void rate_rows(const struct report *r, struct table *t, const struct summary_process *p)
{
    char name[REPORT_PROCESS_SIZE];
    report_process_pid(r, p, name, sizeof name);
    for (size_t i = 0; i < p->book_count; i++) {
        const struct summary_book *b = &p->books[i];
        if (b->stored == 0)
            continue;
        table_cell(t, "%s", name);
        table_cell(t, "%s", b->name);
        table_cell(t, "%s", number_double(verdict_rate(b)).s);
        table_cell(t, "%s", units_duration(b->last_ns - b->first_ns).s);
    }
}

static void print_rates(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"process (pid)", "aspect", "records/s", "over"};
    const struct summary *s = r->summary;
    if (r->verdict->sut.stored == 0 || !report_opens_processes(r))
        return;
    report_title(r, "Rates", out);
    struct table *t = table_with_heads("llrr", heads);
    for (size_t i = 0; i < s->process_count; i++)
        if (report_shows(r, &s->processes[i]))
            rate_rows(r, t, &s->processes[i]);
    table_print(t, 2, out);
}

static void print_metrics(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"metric", "node", "process", "unit", "mean", "min", "max", "last", "values"};
    const struct summary *s = r->summary;
    if (s->metric_count == 0)
        return;
    report_title(r, "Metrics", out);
    struct table *t = table_with_heads("llllrrrrr", heads);
    for (size_t i = 0; i < s->metric_count; i++) {
        const struct history_series *m = &s->metrics[i];
        const char *unit = report_metric_unit(r, m->metric);
        bool in_ns = unit && strcmp(unit, "ns") == 0;
        struct report_unit shown =
            in_ns ? report_unit_for(m->min > 0 ? m->min : m->max) : (struct report_unit){unit, 1};
        table_cell(t, "%s", m->metric);
        table_cell(t, "%s", report_node_name(r, m->node));
        table_cell(t, "%s", m->process);
        table_cell(t, "%s", shown.name ? shown.name : "");
        table_cell(t, "%s", number_double(m->mean / shown.ns).s);
        table_cell(t, "%s", number_double(m->min / shown.ns).s);
        table_cell(t, "%s", number_double(m->max / shown.ns).s);
        table_cell(t, "%s", number_double(m->last / shown.ns).s);
        table_cell(t, "%s", units_count(m->count).s);
    }
    table_print(t, 2, out);
    fputs("  Taken once a second; Limits is judged more often, and may have seen worse. Values is of single records.\n",
          out);
}

/* ---- the monitor itself ---- */

static void print_monitor(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"node", "sensor_cpu mean", "max", "wake-ups", "records", "bytes"};
    const struct summary *s = r->summary;
    if (s->node_count == 0)
        return;
    report_title(r, "Monitor", out);
    if (s->latency.count > 0)
        fprintf(out, "  Monitoring latency: median %s, p99 %s, max %s%s%s.\n", units_duration(s->latency.median).s,
                units_duration(s->latency.p99).s, units_duration(s->latency.max).s,
                s->latency.bound ? ", each wrong by at most " : "",
                s->latency.bound ? units_duration(s->latency.bound).s : "");
    else
        fputs("  Monitoring latency: unknown, because no record arrived.\n", out);
    struct table *t = table_with_heads("lrrrrr", heads);
    for (size_t i = 0; i < s->node_count; i++) {
        const struct summary_node *n = &s->nodes[i];
        table_cell(t, "%s", n->name);
        table_cell(t, "%s", number_percent(n->sensor_cpu_mean / 100).s);
        table_cell(t, "%s", number_percent(n->sensor_cpu_max / 100).s);
        table_cell(t, "%s", number_signed(n->wakeups).s);
        table_cell(t, "%s", number_signed(n->records).s);
        table_cell(t, "%s", units_bytes((uint64_t)n->bytes).s);
    }
    table_print(t, 2, out);
}

/* "counter (3), kernel (1)": the clocks that stamped the records, each with its number of processes. */
static void clock_cell(struct table *t, const struct builtin_clocks *c)
{
    const int64_t counts[] = {c->counter, c->kernel, c->program};
    static const char *const names[] = {"counter", "kernel", "program's own"};
    char text[160] = "";
    size_t n = 0;
    for (size_t i = 0; i < 3; i++)
        if (counts[i])
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s (%s)", n ? ", " : "", names[i],
                                  number_signed(counts[i]).s);
    table_cell(t, "%s", n ? text : "unknown");
}

static void print_clocks(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"node", "clock (processes)", "error up to", "jumps", "times made to fit"};
    const struct summary *s = r->summary;
    if (s->node_count == 0)
        return;
    report_title(r, "Clocks", out);
    struct table *t = table_with_heads("llrrr", heads);
    for (size_t i = 0; i < s->node_count; i++) {
        const struct builtin_clocks *c = &s->nodes[i].clock;
        table_cell(t, "%s", s->nodes[i].name);
        clock_cell(t, c);
        table_cell(t, "%s", c->kernel || c->counter || c->program ? units_duration(c->error).s : "unknown");
        table_cell(t, "%s", number_signed(c->jumps).s);
        table_cell(t, "%s", number_signed(c->clamped).s);
    }
    table_print(t, 2, out);
}

/* What is declared to keep the wall clocks did not. */
static void print_contradiction(const struct summary_node *n, FILE *out)
{
    const struct clock_relation *r = &n->run_clock.relation;
    if (r->contradicted)
        fprintf(
            out,
            "  %s: its wall clock and the collector's contradicted %s exchange%s, and were believed at %s: what keeps "
            "them, by the experiment's file, did not.\n",
            n->name, number_signed((int64_t)r->contradicted).s, r->contradicted == 1 ? "" : "s",
            r->kept ? number_signed((int64_t)r->kept).s : "none");
}

/* How well the nodes' times compare, where they have different clocks. */
static void print_run_clocks(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"node", "compared by", "error up to", "drift", "round trip", "jumps"};
    static const char *const kinds[] = {"the same clock", "exchanges", "wall clock"};
    const struct summary *s = r->summary;
    size_t others = 0;
    for (size_t i = 0; i < s->node_count; i++)
        others += s->nodes[i].run_clock.kind != RUN_CLOCK_SAME;
    if (others == 0 || !summary_property(s, RUNDB_CLOCK))
        return;
    fputc('\n', out);
    struct table *t = table_with_heads("llrrrr", heads);
    for (size_t i = 0; i < s->node_count; i++) {
        const struct run_clock *c = &s->nodes[i].run_clock;
        int64_t worst = run_clock_worst(c);
        double drift = run_clock_drift(c);
        table_cell(t, "%s", s->nodes[i].name);
        if (c->exchanges)
            table_cell(t, "%s%s (%s)", kinds[c->kind], c->relation.kept ? " and kept clocks" : "",
                       number_signed((int64_t)c->exchanges).s);
        else
            table_cell(t, "%s", kinds[c->kind]);
        table_cell(t, "%s", worst < 0 ? "unknown" : units_duration(worst).s);
        if (isnan(drift))
            table_cell(t, "unknown");
        else
            table_cell(t, "%.2f ppm", 1e6 * drift);
        table_cell(t, "%s", c->exchanges ? units_duration(c->round_trip).s : "");
        table_cell(t, "%s", c->exchanges ? number_signed((int64_t)c->relation.jumps).s : "");
    }
    table_print(t, 2, out);
    for (size_t i = 0; i < s->node_count; i++)
        print_contradiction(&s->nodes[i], out);
}

static void print_events(const struct report *r, FILE *out)
{
    const struct summary *s = r->summary;
    if (s->event_count == 0)
        return;
    report_title(r, "Events", out);
    struct table *t = table_new("rll");
    for (size_t i = 0; i < s->event_count; i++) {
        table_cell(t, "%.3f s", (double)(s->events[i].at - r->verdict->started) / (double)CLOCK_S);
        table_cell(t, "%s", s->events[i].error ? "error" : "");
        table_cell(t, "%s", s->events[i].text);
    }
    table_print(t, 2, out);
}

/*
 * babeltrace2 opens the files of all streams at once, and six more. By default a process may have 1,024 open; it would
 * end with "Too many open files", and print nothing.
 */
enum { STREAMS_TO_OPEN = 1024 - 6 };

static void print_next(const struct report *r, FILE *out)
{
    size_t streams = 0;
    for (size_t i = 0; i < r->summary->process_count; i++)
        streams += r->summary->processes[i].stream_count;
    bool many = streams > STREAMS_TO_OPEN;
    fprintf(out, "\nRun directory: %s\n", r->run);
    if (r->verdict->sut.stored == 0 && r->verdict->daemons.stored == 0)
        return;
    if (r->verdict->run == RUN_ENDED && !many)
        fprintf(out, "Every record:  babeltrace2 %s/trace\n", r->run);
    else
        fprintf(out, "Every record%s:  bezel export %s%s | xargs babeltrace2\n",
                r->verdict->run == RUN_ENDED ? "" : " so far", many ? "--merge " : "", r->run);
    if (many)
        fprintf(
            out,
            "  The trace has %s streams, each a file, and babeltrace2 opens all of them at once: more than the 1,024\n"
            "  files that a program may usually open (ulimit -n).\n",
            units_count(streams).s);
    if (r->no_babeltrace)
        fputs("  babeltrace2 is not installed here; on Debian: apt install babeltrace2\n", out);
}

void report_text(const struct report *as_is, FILE *out)
{
    char run[PATH_MAX];
    struct report plain = *as_is;
    const struct report *r = &plain;
    snprintf(run, sizeof run, "%s", as_is->run);
    plain_text(run);
    plain.run = run;
    print_sentence(r, out);
    print_limits(r, out);
    report_names(r, out);
    report_looks(r, out);
    report_timeline(r, out);
    report_polling(r, out);
    report_setpoints(r, out);
    if (r->all)
        report_snapshots(r, out);
    report_books(r, out);
    report_expired(r, out);
    print_rates(r, out);
    report_values(r, out);
    report_labels(r, out);
    report_counters(r, out);
    report_messages(r, out);
    print_metrics(r, out);
    print_monitor(r, out);
    print_clocks(r, out);
    print_run_clocks(r, out);
    report_programs(r, out);
    report_notes(r, out);
    print_events(r, out);
    print_next(r, out);
}
