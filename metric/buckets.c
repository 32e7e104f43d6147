// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/buckets.h"

#include <math.h>

/* Edges are few, and most numbers are below the first ones. */
static uint32_t number_of_bucket(const struct experiment_edges *edges, double value)
{
    uint32_t i = 0;
    while (i < edges->count && value > edges->at[i])
        i++;
    return i;
}

void buckets_records(struct buckets *b, const struct packet_run *run, const struct statistic_field *field)
{
    if (field->at == STATISTIC_NO_FIELD || (uint32_t)field->at >= run->value_count)
        return;
    for (uint32_t i = 0; i < run->count; i++) {
        double value = statistic_read(run, i, field);
        if (isfinite(value))
            b->counts[number_of_bucket(b->edges, value)]++;
    }
}
