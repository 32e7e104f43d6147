// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/experiment.h"

bool experiment_metric_is_built_in(enum experiment_metric_kind kind)
{
    return kind >= METRIC_LATENCY;
}

const char *experiment_metric_word(enum experiment_metric_kind kind)
{
    static const char *const words[] = {
        [METRIC_RATE] = "rate",
        [METRIC_MEAN] = "mean",
        [METRIC_MIN] = "min",
        [METRIC_MAX] = "max",
        [METRIC_LAST] = "last",
        [METRIC_QUANTILE] = "quantile",
        [METRIC_LATENCY] = "monitoring_latency",
        [METRIC_LATENCY_MAX] = "monitoring_latency_max",
        [METRIC_EN_ROUTE] = "en_route_ratio",
        [METRIC_LOST] = "lost_ratio",
    };
    return words[kind];
}

int64_t experiment_limit_window(const struct experiment *e, const struct experiment_limit *l)
{
    return l->metric == LIMIT_ON_SENSOR_CPU ? 0 : e->metrics[l->metric].window;
}

int experiment_limit_contradicts(const struct experiment *e, uint32_t i)
{
    const struct experiment_limit *a = &e->limits[i];
    for (uint32_t j = 0; j < e->limit_count; j++) {
        const struct experiment_limit *b = &e->limits[j];
        const struct experiment_limit *least = a->compare == COMPARE_AT_LEAST ? a : b, *most = least == a ? b : a;
        if (a->metric == b->metric && a->compare != b->compare && least->bound > most->bound)
            return (int)j;
    }
    return -1;
}
