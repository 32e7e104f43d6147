// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mediators/metrics/exposition.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { NUMBER_MAX = 32 };

static const struct {
    const char *word, *suffix; /* of the type; of its samples */
} types[EXPOSITION_TYPES] = {
    [EXPOSITION_COUNTER] = {"counter", "_total"}, [EXPOSITION_GAUGE] = {"gauge", ""},
    [EXPOSITION_HISTOGRAM] = {"histogram", ""},   [EXPOSITION_INFO] = {"info", "_info"},
    [EXPOSITION_STATES] = {"stateset", ""},
};

void exposition_begin(struct exposition *x, const struct exposition_family *f)
{
    x->family = f;
    x->begun = false;
}

static void put_escaped(const char *text, FILE *out)
{
    for (; *text; text++)
        if (*text == '\n')
            fputs("\\n", out);
        else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
}

static void put_head(struct exposition *x)
{
    const struct exposition_family *f = x->family;
    if (x->begun)
        return;
    x->begun = true;
    fprintf(x->out, "# TYPE %s %s\n", f->name, types[f->type].word);
    if (f->unit)
        fprintf(x->out, "# UNIT %s %s\n", f->name, f->unit);
    fprintf(x->out, "# HELP %s ", f->name);
    put_escaped(f->help, x->out);
    fputc('\n', x->out);
}

/* Whether `lines` more lines have room: all of a sample or none. */
static bool has_room(struct exposition *x, size_t lines)
{
    if (x->most - x->count < lines) {
        if (x->left_out)
            *x->left_out += lines;
        return false;
    }
    x->count += lines;
    put_head(x);
    return true;
}

static void put_label(const struct exposition *x, bool *first, const char *name, const char *value)
{
    char text[EXPOSITION_LABEL_MAX + 1];
    if (!value)
        return;
    utf8_escape(text, sizeof text - 1, value);
    fprintf(x->out, "%c%s=\"", *first ? '{' : ',', name);
    put_escaped(text, x->out);
    fputc('"', x->out);
    *first = false;
}

/* The begin of a line, up to its value. `extra`: one more label. */
static void put_name(const struct exposition *x, const char *suffix, const struct exposition_label *labels,
                     struct exposition_label extra)
{
    bool first = true;
    fprintf(x->out, "%s%s", x->family->name, suffix);
    put_label(x, &first, "run", x->run);
    for (const struct exposition_label *l = labels; l && l->name; l++)
        put_label(x, &first, l->name, l->value);
    put_label(x, &first, extra.name, extra.value);
    fputs(first ? " " : "} ", x->out);
}

/* As few digits as give back the number. */
static const char *shortest(double value, char text[NUMBER_MAX])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, NUMBER_MAX, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return text;
}

static void put_number(FILE *out, double value)
{
    char text[NUMBER_MAX];
    if (isnan(value))
        fputs("NaN\n", out);
    else if (isinf(value))
        fputs(value > 0 ? "+Inf\n" : "-Inf\n", out);
    else
        fprintf(out, "%s\n", shortest(value, text));
}

void exposition_number(struct exposition *x, const struct exposition_label *labels, double value)
{
    if (!has_room(x, 1))
        return;
    put_name(x, types[x->family->type].suffix, labels, (struct exposition_label){0});
    put_number(x->out, value);
}

void exposition_count(struct exposition *x, const struct exposition_label *labels, uint64_t value)
{
    if (!has_room(x, 1))
        return;
    put_name(x, types[x->family->type].suffix, labels, (struct exposition_label){0});
    fprintf(x->out, "%" PRIu64 "\n", value);
}

void exposition_states(struct exposition *x, const struct exposition_label *labels, const char *const *names, size_t is)
{
    size_t n = 0;
    while (names[n])
        n++;
    if (!has_room(x, n))
        return;
    for (size_t i = 0; i < n; i++) {
        put_name(x, "", labels, (struct exposition_label){x->family->name, names[i]});
        fprintf(x->out, "%d\n", i == is);
    }
}

void exposition_histogram(struct exposition *x, const struct exposition_label *labels, const double *edges,
                          const uint64_t *counts, size_t n, double sum)
{
    char edge[NUMBER_MAX];
    uint64_t all = 0;
    if (!has_room(x, n + 2 + (isnan(sum) ? 0 : 1)))
        return;
    for (size_t i = 0; i <= n; i++) {
        all += counts[i];
        put_name(x, "_bucket", labels, (struct exposition_label){"le", i < n ? shortest(edges[i], edge) : "+Inf"});
        fprintf(x->out, "%" PRIu64 "\n", all);
    }
    put_name(x, "_count", labels, (struct exposition_label){0});
    fprintf(x->out, "%" PRIu64 "\n", all);
    if (isnan(sum))
        return;
    put_name(x, "_sum", labels, (struct exposition_label){0});
    put_number(x->out, sum);
}

void exposition_end(struct exposition *x)
{
    fputs("# EOF\n", x->out);
}
