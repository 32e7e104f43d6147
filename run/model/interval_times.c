// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/model/interval_times.h"

#include "base/file.h"
#include "base/grow.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct interval_times_row *new_row(struct interval_times *t)
{
    return grow_list(&t->rows, &t->capacity, t->count, sizeof *t->rows) ? &t->rows[t->count++] : NULL;
}

static struct interval_times_row *row_of(struct interval_times *t, uint32_t metric, uint32_t end, uint32_t part)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].is.metric == metric && t->rows[i].is.end == end && t->rows[i].is.part == part)
            return &t->rows[i];
    struct interval_times_row *row = new_row(t);
    if (row)
        *row = (struct interval_times_row){
            .is = {.metric = metric, .end = end, .part = part, .min = INFINITY, .max = -INFINITY}};
    return row;
}

bool interval_times_add(struct interval_times *t, uint32_t metric, const struct interval_time *time)
{
    struct interval_times_row *row = row_of(t, metric, time->end, time->part);
    int64_t took = time->took.ns, bound = time->took.bound;
    struct histogram_cursor cursor = HISTOGRAM_CURSOR;
    if (!row || !histogram_add(&row->times, &cursor, (double)took, &t->memory)) {
        t->unkept[metric]++;
        return false;
    }
    histogram_end(&cursor);
    row->is.count++;
    row->is.min = fmin(row->is.min, (double)took);
    row->is.max = fmax(row->is.max, (double)took);
    row->is.bound = bound > row->is.bound ? bound : row->is.bound;
    row->sum += (double)took;
    row->changed = true;
    return true;
}

struct interval_statistics interval_times_of(const struct interval_times_row *row)
{
    struct interval_statistics s = row->is;
    s.mean = row->sum / (double)s.count;
    s.p50 = fmin(floor(histogram_quantile(&row->times, 0.5)), s.max);
    s.p99 = fmin(floor(histogram_quantile(&row->times, 0.99)), s.max);
    return s;
}

char *interval_times_text(const struct interval_times_row *row)
{
    const struct interval_statistics *s = &row->is;
    size_t bytes = histogram_pack(&row->times, NULL), size;
    uint8_t *packed = malloc(bytes + 1);
    char *text = NULL;
    FILE *out = packed ? open_memstream(&text, &size) : NULL;
    if (out) {
        (void)histogram_pack(&row->times, packed);
        fprintf(out, "%" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %a %a %a %" PRId64 " ", s->metric, s->end,
                s->part, s->count, s->min, s->max, row->sum, s->bound);
        for (size_t i = 0; i < bytes; i++)
            fprintf(out, "%02x", packed[i]);
    }
    free(packed);
    return file_text_end(out, &text) == 0 ? text : NULL;
}

static int read_times(struct interval_times *t, struct interval_times_row *row, const char *hex)
{
    size_t bytes = strlen(hex) / 2;
    uint8_t *packed = malloc(bytes + 1);
    int err = packed ? 0 : BEZEL_ENOMEM;
    for (size_t i = 0; i < bytes && !err; i++) {
        unsigned byte;
        err = sscanf(hex + 2 * i, "%2x", &byte) == 1 ? 0 : BEZEL_EMALFORMED;
        packed[i] = (uint8_t)byte;
    }
    err = err ? err : histogram_unpack(&row->times, packed, bytes, &t->memory);
    free(packed);
    return err;
}

int interval_times_read(struct interval_times *t, const char *text)
{
    struct interval_times_row read = {.sum = 0};
    struct interval_statistics *s = &read.is;
    int at = 0;
    if (sscanf(text, "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %la %la %la %" SCNd64 " %n", &s->metric, &s->end,
               &s->part, &s->count, &s->min, &s->max, &read.sum, &s->bound, &at) != 8 ||
        at == 0 || s->part >= INTERVAL_PARTS || s->metric >= EXPERIMENT_METRICS_MAX)
        return BEZEL_EMALFORMED;
    int err = read_times(t, &read, text + at);
    struct interval_times_row *row = err ? NULL : new_row(t);
    if (row)
        *row = read;
    else
        histogram_free(&read.times, &t->memory);
    return err || row ? err : BEZEL_ENOMEM;
}

/* All of them, in their order. */
enum { COUNTS = sizeof(struct interval_counts) / sizeof(uint64_t) };
_Static_assert(COUNTS * sizeof(uint64_t) == sizeof(struct interval_counts), "it has nothing but these numbers");

void interval_counts_text(const struct interval_counts *c, char *text, size_t size)
{
    uint64_t numbers[COUNTS];
    size_t at = 0;
    memcpy(numbers, c, sizeof numbers);
    for (size_t i = 0; i < COUNTS && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%" PRIu64, i ? " " : "", numbers[i]);
}

struct interval_counts interval_counts_read(const char *text)
{
    struct interval_counts c;
    uint64_t numbers[COUNTS];
    char *end;
    for (size_t i = 0; i < COUNTS; i++, text = end)
        numbers[i] = strtoull(text, &end, 10);
    memcpy(&c, numbers, sizeof c);
    return c;
}

void interval_counts_add(struct interval_counts *c, struct interval_counts before)
{
    uint64_t sums[COUNTS], numbers[COUNTS];
    before.beginnings[INTERVAL_LOST] += before.open;
    before.ends[INTERVAL_LOST] += before.waiting;
    before.open = before.waiting = 0;
    memcpy(sums, c, sizeof sums);
    memcpy(numbers, &before, sizeof numbers);
    for (size_t i = 0; i < COUNTS; i++)
        sums[i] += numbers[i];
    memcpy(c, sums, sizeof sums);
}

void interval_times_free(struct interval_times *t)
{
    for (size_t i = 0; i < t->count; i++)
        histogram_free(&t->rows[i].times, &t->memory);
    free(t->rows);
    t->rows = NULL;
    t->count = t->capacity = 0;
    memset(t->unkept, 0, sizeof t->unkept);
}
