// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The plot of a run: for each limit its metric against time, with the bound, shaded where it was violated; below them
 * the polling periods on a logarithmic axis, each decision a dot; snapshots as lines through all of it. A node has one
 * colour. The image holds no script and refers to nothing.
 */
#include "base/clock.h"
#include "ecs/report/report.h"
#include "ecs/report/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLOT_LEFT = 90,
    PLOT_WIDTH = SUMMARY_COLUMNS,
    PLOT_HEIGHT = 150, /* of one panel */
    PLOT_GAP = 50,     /* between panels */
    PLOT_TOP = 70,
    PLOT_RIGHT = 20,
    PLOT_BOTTOM = 50,
    PLOT_TICKS = 8,
    PLOT_TEXT_MAX = 110, /* characters of the headline */
};

#define SHOWN_MAX 1e300 /* larger values are clamped, so that sums and differences are finite */
/* Okabe and Ito's colours, which differ for colour-blind people, too. */
static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                     "#56b4e9", "#e69f00", "#000000", "#999999"};

struct plot {
    const struct report *r;
    FILE *out;
    int64_t begin, end; /* of the x axis, ns since the run's start */
};

/* A panel's y axis: `low` at its foot, `high` at its head. */
struct axis {
    int top;
    double low, high;
    bool log;
};

static const char *color_of(uint32_t node)
{
    return colors[node % (sizeof colors / sizeof *colors)];
}

static double x_of(const struct plot *p, int64_t at)
{
    double share = (double)(at - p->begin) / (double)(p->end - p->begin);
    return PLOT_LEFT + PLOT_WIDTH * (share < 0 ? 0 : share > 1 ? 1 : share);
}

static double y_of(const struct axis *a, double value)
{
    double share = a->log ? log10(value / a->low) / log10(a->high / a->low) : (value - a->low) / (a->high - a->low);
    return a->top + PLOT_HEIGHT * (1 - (share < 0 ? 0 : share > 1 ? 1 : share));
}

/* Writes `text` as XML text: at most `most` bytes, shortened between characters. */
static void put_text(const char *text, size_t most, FILE *out)
{
    for (size_t n = 0; *text && (n < most || ((unsigned char)*text & 0xc0) == 0x80); text++, n++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else
            fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, out);
    }
    if (*text)
        fputs("\u2026", out);
}

/* ---- Frames and axes --------------------------------------------------------------------------------------------- */

/* The distance of ticks, 1, 2 or 5 times a power of ten, so that at most `most` fit into `range`. */
static double tick_step(double range, int most)
{
    double step = pow(10, floor(log10(range / most)));
    while (range / step > most)
        step *= range / (2 * step) <= most ? 2 : range / (5 * step) <= most ? 5 : 10;
    return step;
}

static void put_frame(const struct plot *p, const struct axis *a, const char *title)
{
    fprintf(p->out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n<text x=\"%d\" y=\"%d\">",
            PLOT_LEFT, a->top, PLOT_WIDTH, PLOT_HEIGHT, PLOT_LEFT, a->top - 8);
    put_text(title, PLOT_TEXT_MAX, p->out);
    fputs("</text>\n", p->out);
}

static void put_tick(const struct plot *p, const struct axis *a, double value, const char *label)
{
    double y = y_of(a, value);
    fprintf(p->out, "<path class=\"grid\" d=\"M%d %.1fh%d\"/><text class=\"y\" x=\"%d\" y=\"%.1f\">", PLOT_LEFT, y,
            PLOT_WIDTH, PLOT_LEFT - 6, y + 4);
    put_text(label, 20, p->out);
    fputs("</text>\n", p->out);
}

static void put_ticks(const struct plot *p, const struct axis *a, int64_t limit)
{
    double step = tick_step(a->high - a->low, 5), first = ceil(a->low / step);
    int count = (int)((a->high - first * step) / step + 0.001);
    for (int i = 0; i <= count; i++)
        put_tick(p, a, (first + i) * step, report_limit_value(p->r, limit, (first + i) * step).s);
}

static void put_decades(const struct plot *p, const struct axis *a)
{
    int decades = (int)(log10(a->high / a->low) + 0.5);
    for (int i = 0; i <= decades; i++) {
        double v = a->low * pow(10, i);
        put_tick(p, a, v, units_exact_duration((int64_t)(v + 0.5)).s);
    }
}

static void put_times(const struct plot *p, int foot)
{
    double range = (double)(p->end - p->begin) / (double)CLOCK_S, step = tick_step(range, PLOT_TICKS);
    int count = (int)(range / step + 0.0001);
    for (int i = 0; i <= count; i++) {
        double x = x_of(p, p->begin + (int64_t)(i * step * CLOCK_S));
        fprintf(p->out,
                "<path class=\"grid\" d=\"M%.1f %dV%d\"/><text class=\"x\" x=\"%.1f\" y=\"%d\">%.10g s</text>\n", x,
                PLOT_TOP, foot, x, foot + 16, i * step);
    }
}

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * The axis of limit `limit`: it covers 0, the bound, and all values but the highest and lowest 2 % of all nodes, so
 * that a single outlier does not flatten the rest. Outliers leave the panel.
 */
static struct axis axis_of(const struct report *r, uint32_t limit, int top)
{
    const struct experiment_limit *l = &r->experiment->limits[limit];
    struct axis a = {.top = top, .low = fmin(0, l->bound * 1.25), .high = fmax(0, l->bound * 1.25)};
    size_t n = 0, most = r->summary->series_count * SUMMARY_COLUMNS;
    double *values = calloc(most + 1, sizeof *values);
    for (size_t i = 0; values && i < r->summary->series_count; i++)
        for (int c = 0; r->summary->series[i].limit == limit && c < SUMMARY_COLUMNS; c++)
            if (r->summary->series[i].columns[c].known)
                values[n++] = fmin(fmax(r->summary->series[i].columns[c].max, -SHOWN_MAX), SHOWN_MAX);
    if (n > 0) {
        qsort(values, n, sizeof *values, by_value);
        a.low = fmin(a.low, values[n / 50] * 1.1);
        a.high = fmax(a.high, values[n * 98 / 100] * 1.1);
    }
    free(values);
    if (!(a.high > a.low))
        a.high = a.low + 1;
    return a;
}

/* The line of one node: broken where the value was unknown, vertical where the values of one column differ. */
static void put_series(const struct plot *p, const struct axis *a, const struct summary_series *s)
{
    bool pen = false;
    fprintf(p->out, "<path class=\"line\" stroke=\"%s\" d=\"", color_of(s->node));
    for (int i = 0; i < SUMMARY_COLUMNS; i++) {
        const struct summary_column *c = &s->columns[i];
        if (c->count == 0)
            continue;
        double x = x_of(p, report_run_time(p->r, s->node, c->at));
        if (c->known > 1 && c->max > c->min)
            fprintf(p->out, "%c%.1f %.1fV%.1fV%.1f", pen ? 'L' : 'M', x, y_of(a, c->min), y_of(a, c->max),
                    y_of(a, c->last));
        else if (c->known)
            fprintf(p->out, "%c%.1f %.1f", pen ? 'L' : 'M', x, y_of(a, c->last));
        pen = c->known == c->count;
    }
    fputs("\"/>\n", p->out);
}

/* Violations that fall into one column are drawn once. */
static void put_violations(const struct plot *p, const struct axis *a, uint32_t limit)
{
    const struct summary *s = p->r->summary;
    double drawn = -1;
    for (size_t i = 0; i < s->violation_count; i++) {
        const struct summary_violation *v = &s->violations[i];
        if (v->limit != limit)
            continue;
        double from = x_of(p, report_run_time(p->r, v->node, v->begin));
        double to = x_of(p, report_run_time(p->r, v->node, v->end));
        to = to < from + 1 ? from + 1 : to;
        if (to <= drawn && from >= drawn - 1)
            continue;
        drawn = to;
        fprintf(p->out, "<rect class=\"violated\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n", from, a->top,
                to - from, PLOT_HEIGHT);
    }
}

static void put_limit(const struct plot *p, uint32_t limit, int top)
{
    const struct report *r = p->r;
    const struct experiment_limit *l = &r->experiment->limits[limit];
    struct axis a = axis_of(r, limit, top);
    char title[256];
    snprintf(title, sizeof title, "%s: %s", l->text, verdict_name(r->verdict->limits[limit].is));
    put_violations(p, &a, limit);
    put_frame(p, &a, title);
    put_ticks(p, &a, limit);
    fprintf(p->out, "<path class=\"bound\" d=\"M%d %.1fh%d\"/>\n", PLOT_LEFT, y_of(&a, l->bound), PLOT_WIDTH);
    for (size_t i = 0; i < r->summary->series_count; i++)
        if (r->summary->series[i].limit == limit)
            put_series(p, &a, &r->summary->series[i]);
}

/* ---- Polling periods --------------------------------------------------------------------------------------------- */

/* A change of a node's period: what was set, and whether a policy did it. */
struct change {
    int64_t at, period; /* of the run; ns, 0: off */
    bool decided;
};

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return x->at != y->at ? (x->at < y->at ? -1 : 1) : (int)x->decided - (int)y->decided;
}

/* The changes of `node` (node_count: of all nodes) in order of time; the caller frees them. */
static struct change *changes_of(const struct report *r, uint32_t node, size_t *count)
{
    const struct summary *s = r->summary;
    struct change *all = calloc(s->polling_count + s->decision_count + 1, sizeof *all);
    *count = 0;
    for (size_t i = 0; all && i < s->polling_count; i++)
        if (s->polling[i].node == node || node == s->node_count)
            all[(*count)++] =
                (struct change){report_run_time(r, s->polling[i].node, s->polling[i].at), s->polling[i].period, false};
    for (size_t i = 0; all && i < s->decision_count; i++)
        if (s->decisions[i].node == node || node == s->node_count)
            all[(*count)++] = (struct change){report_run_time(r, s->decisions[i].node, s->decisions[i].at),
                                              s->decisions[i].after, true};
    if (all)
        qsort(all, *count, sizeof *all, by_time);
    return all;
}

/* The axis covers full decades around all periods; off is drawn at the top. */
static struct axis period_axis(const struct report *r, int top)
{
    size_t n;
    struct change *all = changes_of(r, (uint32_t)r->summary->node_count, &n);
    double low = 1e6, high = 1e6;
    for (size_t i = 0, seen = 0; i < n; i++) {
        double period = fmin((double)all[i].period, 1e17); /* so that the decades around it are durations, too */
        if (period <= 0)
            continue;
        low = seen == 0 || period < low ? period : low;
        high = seen++ == 0 || period > high ? period : high;
    }
    free(all);
    struct axis a = {
        .top = top, .low = pow(10, floor(log10(low) + 1e-9)), .high = pow(10, ceil(log10(high) - 1e-9)), .log = true};
    a.high *= 10; /* room for off */
    return a;
}

/* A step for each change. Changes that fall into one column are drawn as one stroke. */
static void put_periods(const struct plot *p, const struct axis *a, uint32_t node)
{
    size_t n;
    struct change *all = changes_of(p->r, node, &n);
    double drawn_x = -1, drawn_y = -1;
    fprintf(p->out, "<path class=\"line\" stroke=\"%s\" d=\"", color_of(node));
    for (size_t i = 0; i < n; i++) {
        double x = x_of(p, all[i].at), y = all[i].period > 0 ? y_of(a, (double)all[i].period) : a->top;
        if (i == 0)
            fprintf(p->out, "M%.1f %.1f", x, y);
        else if (fabs(x - drawn_x) >= 0.05)
            fprintf(p->out, "H%.1fV%.1f", x, y);
        else if (fabs(y - drawn_y) >= 0.05)
            fprintf(p->out, "V%.1f", y);
        drawn_x = x;
        drawn_y = y;
    }
    if (n > 0)
        fprintf(p->out, "H%d", PLOT_LEFT + PLOT_WIDTH);
    fputs("\"/>\n", p->out);
    drawn_x = drawn_y = -1;
    for (size_t i = 0; i < n; i++) {
        double x = x_of(p, all[i].at), y = all[i].period > 0 ? y_of(a, (double)all[i].period) : a->top;
        if (!all[i].decided || (fabs(x - drawn_x) < 1 && fabs(y - drawn_y) < 1))
            continue;
        fprintf(p->out, "<circle class=\"decision\" fill=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>\n", color_of(node), x,
                y);
        drawn_x = x;
        drawn_y = y;
    }
    free(all);
}

static void put_polling(const struct plot *p, int top)
{
    const struct report *r = p->r;
    struct axis a = period_axis(r, top);
    char title[128];
    snprintf(title, sizeof title, "polling period, policy %s (a dot: a decision; at the head: off)",
             report_policy_name((int)r->experiment->adapt.policy));
    put_frame(p, &a, title);
    put_decades(p, &(struct axis){a.top, a.low, a.high, true});
    for (uint32_t node = 0; node < r->summary->node_count; node++)
        put_periods(p, &a, node);
}

/* ---- The image --------------------------------------------------------------------------------------------------- */

static void put_snapshots(const struct plot *p, int foot)
{
    const struct summary *s = p->r->summary;
    for (size_t i = 0; i < s->snapshot_count; i++) {
        const struct builtin_snapshot *n = &s->snapshots[i];
        if (n->number == 0 || (i > 0 && n[-1].number == n->number))
            continue;
        double x = x_of(p, report_run_time(p->r, n->node, n->moment));
        fprintf(p->out,
                "<path class=\"snapshot\" d=\"M%.1f %dV%d\"/><text class=\"x\" x=\"%.1f\" y=\"%d\">snapshot %" PRId64
                "</text>\n",
                x, PLOT_TOP, foot, x, foot + 32, n->number);
    }
}

static void put_legend(const struct plot *p)
{
    double x = PLOT_LEFT;
    for (uint32_t node = 0; node < p->r->summary->node_count && x < PLOT_LEFT + PLOT_WIDTH - 80; node++) {
        const char *name = report_node_name(p->r, node);
        fprintf(p->out, "<path stroke=\"%s\" stroke-width=\"3\" d=\"M%.1f 36h18\"/><text x=\"%.1f\" y=\"40\">",
                color_of(node), x, x + 24);
        put_text(name, 24, p->out);
        fputs("</text>\n", p->out);
        x += 44 + 7.0 * (double)(strlen(name) < 24 ? strlen(name) : 24);
    }
}

static void put_head(const struct plot *p, int height)
{
    char *sentence = report_sentence_text(p->r);
    int width = PLOT_LEFT + PLOT_WIDTH + PLOT_RIGHT;
    fprintf(p->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">\n"
            "<title>",
            width, height, width, height);
    put_text(report_experiment_name(p->r), SIZE_MAX, p->out);
    fputs("</title>\n<desc>", p->out);
    put_text(sentence ? sentence : "", SIZE_MAX, p->out);
    fputs("</desc>\n<style>text{font:12px sans-serif;fill:#222}.x{text-anchor:middle}.y{text-anchor:end}"
          ".frame{fill:none;stroke:#444}.grid{stroke:#ddd}.line{fill:none;stroke-width:1.2}"
          ".bound{stroke:#c00;stroke-dasharray:6 3}.violated{fill:#c00;fill-opacity:.15}"
          ".snapshot{stroke:#70f;stroke-dasharray:2 2}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
          p->out);
    fprintf(p->out, "<text x=\"%d\" y=\"20\">", PLOT_LEFT);
    put_text(sentence ? sentence : "", PLOT_TEXT_MAX, p->out);
    fputs("</text>\n", p->out);
    free(sentence);
}

void report_svg(const struct report *r, FILE *out)
{
    int64_t duration = r->verdict->duration > 0 ? r->verdict->duration : CLOCK_S;
    struct plot p = {.r = r, .out = out, .begin = 0, .end = duration};
    int panels = (int)r->verdict->limit_count + 1, top = PLOT_TOP;
    int foot = PLOT_TOP + panels * PLOT_HEIGHT + (panels - 1) * PLOT_GAP;
    put_head(&p, foot + PLOT_BOTTOM);
    put_legend(&p);
    put_times(&p, foot);
    for (uint32_t i = 0; i < r->verdict->limit_count; i++, top += PLOT_HEIGHT + PLOT_GAP)
        put_limit(&p, i, top);
    put_polling(&p, top);
    put_snapshots(&p, foot);
    fputs("</svg>\n", out);
}
