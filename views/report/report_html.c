// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The report as one page for a browser, which refers to nothing else: the JSON of the report and the columns of plots
 * as data, and the code of views/web/ that makes tables and plots of it. Its size is bounded: of a large run the page
 * has the first rows of each list, and says how many more there are; neighbouring columns are joined.
 */
#include "base/file.h"
#include "base/saturate.h"
#include "views/report/report.h"
#include "views/web/pages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_FIRST = 1024,   /* of a plot, at most */
    WIDTH_MAX = 62,         /* log2 of the ns of a column */
    ROWS_MOST = 512,        /* of a list, to begin with: halved until the report fits */
    REPORT_BYTES = 1200000, /* of JSON: the report, ... */
    SERIES_BYTES = 600000,  /* ... the plots, ... */
    BROKEN_BYTES = 100000,  /* ... and the times of violations; together with the code less than 2 MB */
};

/* ---- Data -------------------------------------------------------------------------------------------------------- */

/* Makes a text by `write`. NULL: memory is short. */
static char *text_of(void (*write)(const struct report *r, size_t n, FILE *out), const struct report *r, size_t n,
                     size_t *bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);
    if (out)
        write(r, n, out);
    return file_text_end(out, &text) == 0 ? text : NULL;
}

/* Ends a script element only where it is to end: `<` occurs in JSON's texts alone. */
static void put_data(const char *id, const char *json, FILE *out)
{
    fprintf(out, "<script type=\"application/json\" id=\"%s\">", id);
    for (const char *p = json; *p; p++)
        if (*p == '<')
            fputs("\\u003c", out);
        else
            fputc(*p, out);
    fputs("</script>\n", out);
}

static void put_text(const char *text, FILE *out)
{
    for (; *text; text++)
        if (*text == '<' || *text == '&')
            fputs(*text == '<' ? "&lt;" : "&amp;", out);
        else
            fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, out);
}

/* ---- The report -------------------------------------------------------------------------------------------------- */

/* The report, of which lists have `most` rows at most. */
static void write_report(const struct report *r, size_t most, FILE *out)
{
    struct report shown = *r;
    shown.compact = true;
    shown.most = most;
    report_json(&shown, out);
}

static void put_left_out(const struct report *r, size_t most, FILE *out)
{
    report_json_left_out(r, most, &(struct json){.out = out, .compact = true});
}

/* ---- Plots ------------------------------------------------------------------------------------------------------- */

static void put_number(struct json *j, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    json_double(j, NULL, strtod(text, NULL));
}

/* The least width of columns of which there are at most COLUMNS_FIRST, and `wider` times twice that width. */
static unsigned width_of(const struct history_columns *c, unsigned wider)
{
    unsigned width = c->width + wider;
    for (size_t n = c->count; n > COLUMNS_FIRST; n = (n + 1) / 2)
        width++;
    return width < WIDTH_MAX ? width : WIDTH_MAX;
}

/* Whether a daemon of the node took another one's place between two values: nobody knew the metric then. */
static bool is_restart_between(const struct summary *s, uint32_t node, int64_t from, int64_t until)
{
    bool between = false;
    for (size_t i = 0; i < s->process_count; i++) {
        const struct summary_process *p = &s->processes[i];
        bool later = p->node == node && p->role == ROLE_DAEMON && p->started > from && p->started <= until;
        for (size_t k = 0; k < s->process_count && later && !between; k++)
            between = s->processes[k].node == node && strcmp(s->processes[k].name, p->name) == 0 &&
                      s->processes[k].started < p->started;
    }
    return between;
}

static void put_column(const struct report *r, uint32_t node, const struct history_column *c, struct json *j)
{
    json_array(j, NULL);
    json_int(j, NULL, report_run_time(r, node, c->at));
    put_number(j, c->min);
    put_number(j, c->max);
    put_number(j, c->known == c->count ? c->last : (double)NAN);
    json_array_end(j);
}

/* Columns as time, least, most and last value; a value that is unknown is null. Ends the object. */
static void put_columns(const struct report *r, const struct history_series *s, unsigned wider, struct json *j)
{
    struct history_column *columns = calloc(s->columns.count + 1, sizeof *columns);
    size_t n = columns ? history_columns_take(&s->columns, s->begin, s->end, width_of(&s->columns, wider), columns,
                                              s->columns.count)
                       : 0;
    json_uint(j, "node", s->node);
    json_array(j, "columns");
    for (size_t i = 0; i < n; i++) {
        put_column(r, s->node, &columns[i], j);
        struct history_column none = {.at = columns[i].at + 1, .min = NAN, .max = NAN, .last = NAN};
        if (s->metric && i + 1 < n && is_restart_between(r->summary, s->node, columns[i].at, columns[i + 1].at))
            put_column(r, s->node, &none, j);
    }
    json_array_end(j);
    json_object_end(j);
    free(columns);
}

/* What limits read has a plot with their bounds. */
static bool is_limited(const struct report *r, const char *metric)
{
    for (uint32_t i = 0; i < r->experiment->limit_count; i++) {
        int m = r->experiment->limits[i].metric;
        if (m >= 0 && (uint32_t)m < r->experiment->metric_count && strcmp(r->experiment->metrics[m].name, metric) == 0)
            return true;
    }
    return false;
}

static void write_series(const struct report *r, size_t wider, FILE *out)
{
    struct json j = {.out = out, .compact = true};
    json_array(&j, NULL);
    for (size_t i = 0; i < r->summary->series_count; i++) {
        const struct history_series *s = &r->summary->series[i];
        json_object(&j, NULL);
        json_uint(&j, "limit", s->limit);
        put_columns(r, s, (unsigned)wider, &j);
    }
    for (size_t i = 0; i < r->summary->metric_count; i++) {
        const struct history_series *m = &r->summary->metrics[i];
        if (!m->columns.list || is_limited(r, m->metric))
            continue;
        json_object(&j, NULL);
        json_text(&j, "metric", m->metric);
        json_text(&j, "process", m->process);
        put_columns(r, m, (unsigned)wider, &j);
    }
    json_array_end(&j);
}

/* ---- Times of violations ----------------------------------------------------------------------------------------- */

struct span {
    int64_t from, to; /* ns since the run's start */
};

static int by_begin(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* When limit `limit` was violated on some node: into `spans`, in order of time; those less than `gap` apart as one. */
static size_t join_violations(const struct report *r, size_t limit, int64_t gap, struct span *spans)
{
    size_t n = 0, joined = 0;
    for (size_t i = 0; i < r->summary->violation_count; i++) {
        const struct history_violation *v = &r->summary->violations[i];
        if (v->limit == limit)
            spans[n++] = (struct span){report_run_time(r, v->node, v->begin), report_run_time(r, v->node, v->end)};
    }
    qsort(spans, n, sizeof *spans, by_begin);
    for (size_t i = 0; i < n; i++) {
        struct span *last = joined ? &spans[joined - 1] : NULL;
        if (last && spans[i].from < saturate_add(last->to, gap))
            last->to = last->to > spans[i].to ? last->to : spans[i].to;
        else
            spans[joined++] = spans[i];
    }
    return joined;
}

/* Of each limit [from, to, ...]: all violations, though the report may have the first ones alone. */
static void write_broken(const struct report *r, size_t gap, FILE *out)
{
    struct json j = {.out = out, .compact = true};
    struct span *spans = calloc(r->summary->violation_count + 1, sizeof *spans);
    json_array(&j, NULL);
    for (size_t limit = 0; spans && limit < r->experiment->limit_count; limit++) {
        json_array(&j, NULL);
        size_t n = join_violations(r, limit, (int64_t)gap, spans);
        for (size_t i = 0; i < n; i++) {
            json_int(&j, NULL, spans[i].from);
            json_int(&j, NULL, spans[i].to);
        }
        json_array_end(&j);
    }
    json_array_end(&j);
    free(spans);
}

static char *fitting_broken(const struct report *r)
{
    size_t bytes, gap = 1;
    char *json;
    while ((json = text_of(write_broken, r, gap, &bytes)) && bytes > BROKEN_BYTES && gap < SIZE_MAX / 8) {
        free(json);
        gap *= gap < 1000000 ? 1000000 : 2;
    }
    return json;
}

/* ---- The page ---------------------------------------------------------------------------------------------------- */

/* The largest report that fits; *most: rows of its lists. */
static char *fitting_report(const struct report *r, size_t *most)
{
    size_t bytes;
    char *json;
    for (*most = ROWS_MOST; (json = text_of(write_report, r, *most, &bytes)) && bytes > REPORT_BYTES && *most > 1;
         *most /= 2)
        free(json);
    return json;
}

static char *fitting_series(const struct report *r)
{
    size_t bytes;
    char *json;
    for (size_t n = 0; (json = text_of(write_series, r, n, &bytes)) && bytes > SERIES_BYTES; n++) {
        free(json);
        if (n == WIDTH_MAX) /* thousands of series: one column each is still too much */
            return strdup("[]");
    }
    return json;
}

static void put_page(const struct report *r, const char *json, const char *series, const char *broken, size_t most,
                     FILE *out)
{
    char *sentence = report_sentence_text(r);
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
          "script-src 'unsafe-inline'\">\n<title>",
          out);
    put_text(report_experiment_name(r), out);
    fprintf(out, "</title>\n<style>\n%s</style>\n<main></main>\n<noscript><p>", view_page_css);
    put_text(sentence ? sentence : "", out);
    free(sentence);
    fputs("</p><p>Tables and plots need JavaScript, which this browser does not execute.</p></noscript>\n", out);
    put_data("report", json, out);
    put_data("series", series, out);
    put_data("broken", broken, out);
    fputs("<script type=\"application/json\" id=\"left-out\">", out);
    put_left_out(r, most, out);
    fputs("</script>\n", out);
    const char *const code[] = {view_elements_js, view_axis_js, view_plot_js, view_report_js};
    for (size_t i = 0; i < sizeof code / sizeof *code; i++)
        fprintf(out, "<script>\n%s</script>\n", code[i]);
    fputs("</html>\n", out);
}

int report_html(const struct report *r, FILE *out)
{
    size_t most;
    char *json = fitting_report(r, &most), *series = json ? fitting_series(r) : NULL;
    char *broken = series ? fitting_broken(r) : NULL;
    if (broken)
        put_page(r, json, series, broken, most, out);
    free(json);
    free(series);
    free(broken);
    return broken ? 0 : BEZEL_ENOMEM;
}

int report_data(const struct report *r, FILE *out)
{
    size_t most;
    char *json = fitting_report(r, &most), *broken = json ? fitting_broken(r) : NULL;
    if (broken) {
        fprintf(out, "{\"is\":\"report\",\"report\":%s,\"broken\":%s,\"left_out\":", json, broken);
        put_left_out(r, most, out);
        fputs("}\n", out);
    }
    free(json);
    free(broken);
    return broken ? 0 : BEZEL_ENOMEM;
}
