// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Statistics of the values of an aspect's stored records, for kinds whose first value has a meaning: spans, counters
 * and gauges. Derived from packets. One thread; no I/O.
 */
#ifndef BEZEL_COLLECTOR_MODEL_KIND_STATISTICS_H
#define BEZEL_COLLECTOR_MODEL_KIND_STATISTICS_H

#include "mdr/dict.h"
#include "mdr/packet.h"
#include "metric/histogram.h"

#include <stdint.h>

struct kind_statistics {
    int64_t total;               /* sum of a span's durations, ns, or a counter's counts; saturates */
    struct histogram *durations; /* of a span, ns, without unknown ones; else NULL */
    int64_t last_ns;             /* gauge: time of `last`; of equal times the one stored later */
    double last, min, max;       /* gauge; NaN: none. A recorded NaN is never min or max */
};

/** Makes empty statistics for aspects of `kind`. NULL where the kind has none, or memory is short. */
struct kind_statistics *kind_statistics_new(enum dict_kind kind);
void kind_statistics_free(struct kind_statistics *v);

/** Adds record `r`. `kind`: the one that `v` was made for. */
void kind_statistics_add(struct kind_statistics *v, enum dict_kind kind, const struct packet_record *r);

#endif
