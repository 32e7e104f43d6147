// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * From a violated limit to its neighbourhood: the commands that show the records that broke it, what the scheduler did
 * with their threads, and what the machine did, around its worst value.
 */
#include "base/file.h"
#include "base/saturate.h"
#include "views/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS_SHOWN = 3, LINES_MOST = 50 }; /* limits in the text without --all; records that a command prints */

/* Where limit `limit` was violated most. */
struct look {
    size_t limit;
    const struct history_violation *violation;
    double worst;
    int64_t from, until; /* of the node's clock: the records that the worst value was made of */
};

/* Whether `a` is further from holding than `b`; NaN is nearest to it. */
static bool is_worse(const struct experiment_limit *l, double a, double b)
{
    return !isnan(a) && (isnan(b) || (l->compare == COMPARE_AT_LEAST ? a < b : a > b));
}

static double worst_of(const struct experiment_limit *l, double min, double max)
{
    return l->compare == COMPARE_AT_LEAST ? min : max;
}

/* Narrows the look to the observations with the worst value. */
static void narrow(const struct report *r, struct look *look)
{
    const struct experiment_limit *l = &r->experiment->limits[look->limit];
    const struct history_violation *v = look->violation;
    const struct history_series *s = r->summary->series, *end = s + r->summary->series_count;
    double worst = NAN;
    while (s < end && (s->node != v->node || s->limit != v->limit))
        s++;
    for (size_t i = 0; s < end && i < s->columns.count; i++) {
        const struct history_column *c = &s->columns.list[i];
        if (c->known == 0 || c->at < v->begin || c->at > v->end || !is_worse(l, worst_of(l, c->min, c->max), worst))
            continue;
        worst = worst_of(l, c->min, c->max);
        look->from = c->at;
        look->until = i + 1 < s->columns.count ? c[1].at : v->end;
    }
}

/* The run's time of the first record that is stored of all that there are. */
static int64_t first_record(const struct report *r)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < r->summary->process_count; i++) {
        const struct summary_process *p = &r->summary->processes[i];
        for (size_t b = 0; b < p->book_count; b++) {
            int64_t at = p->books[b].stored ? report_run_time(r, p->node, p->books[b].first_ns) : first;
            first = at < first ? at : first;
        }
    }
    return first;
}

/* False: there is no violation of limit `limit` to look at. */
static bool find_look(const struct report *r, size_t limit, struct look *look)
{
    const struct experiment_limit *l = &r->experiment->limits[limit];
    *look = (struct look){.limit = limit, .worst = NAN};
    for (size_t i = 0; i < r->summary->violation_count; i++) {
        const struct history_violation *v = &r->summary->violations[i];
        double worst = worst_of(l, v->min, v->max);
        if (v->limit != limit || (look->violation && !is_worse(l, worst, look->worst)))
            continue;
        look->violation = v;
        look->worst = worst;
    }
    if (!look->violation)
        return false;
    look->from = look->violation->begin;
    look->until = look->violation->end;
    narrow(r, look);
    look->from = saturate_add(look->from, -experiment_limit_window(r->experiment, l) - r->experiment->adapt.every);
    int64_t first = first_record(r), from = report_run_time(r, look->violation->node, look->from);
    if (first > from && first <= report_run_time(r, look->violation->node, look->until))
        look->from += first - from; /* the window reaches back to where there is nothing */
    return true;
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

/* ns since 1970 of the run's time. */
static int64_t run_time(const struct report *r, const struct look *look, int64_t at)
{
    return saturate_add(report_run_time(r, look->violation->node, at), r->verdict->started);
}

/* `where`: NULL, or a condition. */
static void put_command(const struct report *r, const struct look *look, const char *aspect, const char *where,
                        FILE *out)
{
    fprintf(out, "bezel tail -n %d --aspect ", LINES_MOST);
    fputs(report_word(aspect).s, out);
    if (where) {
        fputs(" --where ", out);
        fputs(report_word(where).s, out);
    }
    if (r->summary->node_count > 1 && !report_is_global(r, (int64_t)look->limit)) {
        fputs(" --node ", out);
        fputs(report_word(report_node_name(r, look->violation->node)).s, out);
    }
    fprintf(out, " --from %" PRId64 " --until %" PRId64 " ", run_time(r, look, look->from),
            saturate_add(run_time(r, look, look->until), 1));
    fputs(report_word(r->run).s, out);
}

/* The metric whose records limit `l` is about: of two, the first. NULL: none. */
static const struct experiment_metric *look_metric(const struct report *r, const struct experiment_limit *l)
{
    const struct experiment_metric *m = l->metric < 0 ? NULL : &r->experiment->metrics[l->metric];
    return m && m->operands ? &r->experiment->metrics[experiment_metric_operand(r->experiment, m, 0)] : m;
}

/*
 * The condition that shows the values which break the limit: that of the bound, since `bezel tail` takes one; without
 * a field, the metric's own. false: there is none to write.
 */
static bool condition(const struct experiment_limit *l, const struct experiment_metric *m, char *text, size_t size)
{
    const char *op = l->compare == COMPARE_AT_MOST ? ">" : "<", *minus = l->bound < 0 ? "-" : "";
    double bound = fabs(l->bound);
    bool is_time = l->unit == UNIT_DURATION;
    if (!m->field || (bound > 1e9 && !(is_time && bound < 9e18)))
        return m->where && (size_t)snprintf(text, size, "%s", m->where) < size;
    snprintf(text, size, "%s %s %s%s", m->field, op, minus,
             is_time ? units_exact_duration((int64_t)bound).s : units_exact_number(bound).s);
    return true;
}

static void put_records(const struct report *r, const struct look *look, FILE *out)
{
    const struct experiment_limit *l = &r->experiment->limits[look->limit];
    const struct experiment_metric *m = look_metric(r, l);
    char where[DICT_NAME_MAX + DICT_TEXT_MAX + 64];
    if (m && m->kind == METRIC_INTERVAL)
        put_command(r, look, experiment_metric_aspect(m, m->interval.count - 1), NULL, out);
    else if (m && m->aspect && m != &r->experiment->metrics[l->metric])
        put_command(r, look, m->aspect, m->where, out);
    else if (m && m->aspect)
        put_command(r, look, m->aspect, condition(l, m, where, sizeof where) ? where : NULL, out);
    else /* what the monitor did */
        put_command(r, look, m && m->kind == METRIC_LOST ? "bezel_totals" : "bezel_usage", NULL, out);
}

/* Whether the run has samples of an aspect whose name begins with `name`, of the node of the violation. */
static bool has_samples(const struct report *r, const struct look *look, const char *name)
{
    for (size_t i = 0; i < r->summary->process_count; i++) {
        const struct summary_process *p = &r->summary->processes[i];
        for (size_t k = 0; k < p->book_count; k++)
            if (p->role == ROLE_DAEMON && p->node == look->violation->node && p->books[k].stored > 0 &&
                strncmp(p->books[k].name, name, strlen(name)) == 0)
                return true;
    }
    return false;
}

/* The only program that records the limit's aspect; NULL: there are several, or it is not known. */
static const char *only_program(const struct report *r, const struct look *look)
{
    const struct experiment_limit *l = &r->experiment->limits[look->limit];
    const struct experiment_metric *m = look_metric(r, l);
    const char *aspect = m ? m->aspect : NULL, *only = NULL;
    for (size_t i = 0; aspect && i < r->summary->process_count; i++) {
        const struct summary_process *p = &r->summary->processes[i];
        if (p->role != ROLE_SUT || !summary_book_of(p, aspect))
            continue;
        if (only && strcmp(only, p->name) != 0)
            return NULL;
        only = p->name;
    }
    return only;
}

static void put_scheduling(const struct report *r, const struct look *look, FILE *out)
{
    char where[MESSAGE_NAME_MAX + 32];
    const char *program = only_program(r, look);
    if (!has_samples(r, look, "thread_scheduling") &&
        r->experiment->sensing.sampler[EXPERIMENT_SAMPLER_SCHEDULING] > 0) {
        fputs("was not sampled: no thread ran in two samples, or its /proc is not bezeld's (docs/SAMPLERS.md)", out);
        return;
    }
    if (!has_samples(r, look, "thread_scheduling")) {
        fputs("was not sampled; add to the file: sensing: {samplers: {scheduling: 10 ms, interrupts: 10 ms}}", out);
        return;
    }
    snprintf(where, sizeof where, "process = \"%s\"", program ? program : "");
    put_command(r, look, "thread_scheduling", program && !strchr(program, '"') ? where : NULL, out);
}

static void put_machine(const struct report *r, const struct look *look, FILE *out)
{
    if (has_samples(r, look, "node_"))
        put_command(r, look, "node_*", NULL, out);
    else if (r->experiment->sensing.sampler[EXPERIMENT_SAMPLER_CPU] > 0)
        fputs("was not sampled: the node has no sample; the notes may say why (BEZEL-SAMPLER)", out);
    else
        fputs("was not sampled; add to the file: sensing: {samplers: {cpu: 100 ms, pressure: 1 s, memory: 1 s, disk: 1 "
              "s}}",
              out);
}

static const struct {
    const char *name;
    void (*put)(const struct report *r, const struct look *look, FILE *out);
} commands[] = {{"records", put_records}, {"scheduling", put_scheduling}, {"machine", put_machine}};

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

enum { COMMANDS = sizeof commands / sizeof *commands };

/* The command, or what to add to the file to have it; for free(). NULL: memory is short. */
static char *command_text(const struct report *r, const struct look *look, size_t command)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (out)
        commands[command].put(r, look, out);
    return file_text_end(out, &text) == 0 ? text : NULL;
}

static void look_row(struct rows *w, const struct report *r, const void *item)
{
    const struct look *look = item;
    uint32_t node = look->violation->node;
    json_text(w->json, "limit", report_limit_text(r, (int64_t)look->limit));
    json_text(w->json, "node", report_is_global(r, (int64_t)look->limit) ? NULL : report_node_name(r, node));
    json_double(w->json, "worst", look->worst);
    json_int(w->json, "from_ns", report_run_time(r, node, look->from));
    json_int(w->json, "until_ns", report_run_time(r, node, look->until));
    for (size_t k = 0; k < COMMANDS; k++) {
        char *text = command_text(r, look, k);
        json_text(w->json, commands[k].name, text);
        free(text);
    }
}

static void add_lines(struct rows *w, const struct report *r, const struct look *look)
{
    int64_t limit = (int64_t)look->limit;
    uint32_t node = look->violation->node;
    rows_line(w, "%s: %s on %s, from %.3f s to %.3f s", report_limit_text(r, limit),
              report_limit_value(r, limit, look->worst).s, report_where(r, node, limit),
              (double)report_run_time(r, node, look->from) / 1e9, (double)report_run_time(r, node, look->until) / 1e9);
    for (size_t k = 0; k < COMMANDS; k++) {
        char *text = command_text(r, look, k);
        rows_line(w, "  %-10s  %s", commands[k].name, text ? text : "");
        free(text);
    }
}

static void add_looks(struct rows *w, const struct report *r)
{
    struct look look;
    size_t found = 0;
    for (size_t i = 0; i < r->verdict->limit_count; i++) {
        if (r->verdict->limits[i].is < VERDICT_VIOLATED || !find_look(r, i, &look))
            continue;
        if (w->json)
            rows_add(w, look_row, &look);
        else if (found++ < LOOKS_SHOWN || r->all)
            add_lines(w, r, &look);
    }
    if (found > LOOKS_SHOWN && !r->all)
        rows_line(w, "%zu more", found - LOOKS_SHOWN);
}

const struct rows_section report_looks = {
    .title = "Around the worst violations",
    .key = "looks",
    .bare = true,
    .add = add_looks,
    .remark =
        "`bezel why` says what the slow ones have more of than the usual ones (docs/WHY.md); docs/SAMPLERS.md, \"The "
        "cause of a spike\", explains what each of these says about the cause."};
