// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/model/kind_statistics.h"

#include "base/saturate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kind_statistics *kind_statistics_new(enum dict_kind kind)
{
    if (kind != DICT_SPAN && kind != DICT_COUNTER && kind != DICT_GAUGE)
        return NULL;
    struct kind_statistics *v = calloc(1, sizeof *v);
    if (!v)
        return NULL;
    v->last = v->min = v->max = NAN;
    if (kind == DICT_SPAN && !(v->durations = calloc(1, sizeof *v->durations))) {
        free(v);
        return NULL;
    }
    return v;
}

void kind_statistics_free(struct kind_statistics *v)
{
    if (v)
        free(v->durations);
    free(v);
}

static void add_gauge(struct kind_statistics *v, int64_t at, uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    v->min = fmin(v->min, value);
    v->max = fmax(v->max, value);
    if (at >= v->last_ns) {
        v->last_ns = at;
        v->last = value;
    }
}

void kind_statistics_add(struct kind_statistics *v, enum dict_kind kind, const struct packet_record *r)
{
    uint64_t first = packet_value(r, 0);
    if (kind == DICT_GAUGE) {
        add_gauge(v, (int64_t)r->timestamp, first);
        return;
    }
    if (kind == DICT_SPAN && (int64_t)first < 0)
        return; /* unknown */
    v->total = saturate_add(v->total, (int64_t)first);
    if (v->durations)
        histogram_add(v->durations, (int64_t)first);
}
