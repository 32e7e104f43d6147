// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The sections of the report in their order: text and JSON are made of them. */
#include "base/exit_code.h"
#include "base/plain.h"
#include "views/report/report.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { REPORT_FORMAT = 3 }; /* grows when a field changes its meaning; new fields leave it as it is */

/* `brief`: the short text has it, too; of its rows those that matter. */
static const struct {
    const struct rows_section *section;
    bool brief;
} sections[] = {
    {&report_head, true},         {&report_cause, true},      {&report_limits, true},
    {&report_names, true},        {&report_intervals, true},  {&report_unmatched, true},
    {&report_violations, false},  {&report_gaps, false},      {&report_looks, true},
    {&report_timeline, true},     {&report_decisions, false}, {&report_polling, false},
    {&report_loop, false},        {&report_setpoints, false}, {&report_polling_changes, false},
    {&report_conclusions, false}, {&report_knobs, false},     {&report_snapshots, false},
    {&report_triggers, true},     {&report_firings, false},   {&report_books, true},
    {&report_expired, true},      {&report_rates, false},     {&report_values, false},
    {&report_totals, false},      {&report_labels, false},    {&report_counters, false},
    {&report_messages, false},    {&report_metrics, false},   {&report_histograms, false},
    {&report_monitor, false},     {&report_clocks, false},    {&report_run_clocks, true},
    {&report_nodes, false},       {&report_load, true},       {&report_pairs, false},
    {&report_programs, true},     {&report_notes, true},      {&report_open, true},
    {&report_events, true},       {&report_paths, true},
};

enum { SECTIONS = sizeof sections / sizeof *sections };

void report_title(const struct report *r, const char *text, FILE *out)
{
    fprintf(out, r->color ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

enum { SCREEN_LINES = 25, SCREEN_COLUMNS = 80, ROWS_FIRST = 16, ROWS_OF_TROUBLE = 24, LIMITS_LEAST = 4 };

/* Whether there is nothing to explain: then the short text fits a screen. */
static bool went_well(const struct verdict *v)
{
    return verdict_exit_code(v) == EXIT_OK && verdict_lost(&v->sut) + verdict_lost(&v->daemons) == 0 &&
           verdict_is_complete(v);
}

/* Of limits `limits` rows are shown, at most; 0: all. */
static void print_sections(const struct report *r, size_t limits, FILE *out)
{
    struct report of_limits = *r;
    of_limits.most = limits;
    for (size_t i = 0; i < SECTIONS; i++)
        if (r->all || sections[i].brief)
            rows_print(sections[i].section == &report_limits ? &of_limits : r, sections[i].section, out);
}

/* Lines of the text on a screen; 0: memory is short. */
static size_t lines_of(const struct report *r, size_t limits)
{
    struct report plain = *r;
    char *text = NULL;
    size_t n = 0, lines = 0;
    FILE *out = open_memstream(&text, &n);
    plain.color = false;
    if (out)
        print_sections(&plain, limits, out);
    if (!out || fclose(out) != 0)
        n = 0;
    for (const char *line = text; n > 0 && *line; line = strchr(line, '\n') + 1) {
        size_t width = strcspn(line, "\n");
        lines += 1 + (width > 0 ? (width - 1) / SCREEN_COLUMNS : 0);
    }
    free(text);
    return lines;
}

void report_text(const struct report *as_is, FILE *out)
{
    char run[PATH_MAX];
    struct report r = *as_is;
    snprintf(run, sizeof run, "%s", as_is->run);
    plain_text(run);
    r.run = run;
    r.most = r.all ? 0 : ROWS_OF_TROUBLE;
    size_t limits = r.most;
    if (!r.all && went_well(r.verdict)) {
        r.most = limits = ROWS_FIRST;
        while (r.most > 1 && lines_of(&r, limits) > SCREEN_LINES) {
            r.most -= (r.most + 3) / 4;
            limits = r.most > LIMITS_LEAST ? r.most : LIMITS_LEAST; /* other sections go first */
        }
        while (limits > 1 && lines_of(&r, limits) > SCREEN_LINES)
            limits--;
    }
    print_sections(&r, limits, out);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

void report_json(const struct report *r, FILE *out)
{
    struct json j = {.out = out, .compact = r->compact};
    json_object(&j, NULL);
    json_int(&j, "format", REPORT_FORMAT);
    for (size_t i = 0; i < SECTIONS; i++)
        rows_write(r, sections[i].section, &j);
    json_object_end(&j);
}

void report_json_left_out(const struct report *r, size_t most, struct json *j)
{
    static const struct rows_section others[] = {{ROWS_LIST(NULL, "limits", limits, limit_count, NULL)},
                                                 {ROWS_LIST(NULL, "snapshots", snapshots, snapshot_count, NULL)},
                                                 {ROWS_LIST(NULL, "processes", processes, process_count, NULL)}};
    json_object(j, NULL);
    for (size_t i = 0; i < SECTIONS + sizeof others / sizeof *others; i++) {
        const struct rows_section *s = i < SECTIONS ? sections[i].section : &others[i - SECTIONS];
        size_t count = rows_count_items(r, s);
        if (s->key && s->size)
            json_uint(j, s->key, count > most ? count - most : 0);
    }
    json_object_end(j);
}
