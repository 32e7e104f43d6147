// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What the values of an aspect's stored records come to, for kinds whose first value has a meaning: spans, counters,
 * gauges. Derived from packets; one owner, no I/O.
 */
#ifndef BEZEL_COLLECTOR_VALUES_H
#define BEZEL_COLLECTOR_VALUES_H

#include "mdr/dict.h"
#include "mdr/packet.h"
#include "metric/histogram.h"

#include <stdint.h>

struct values {
    int64_t total;               /* span: of durations, ns; counter: of counts. Stays at an end of int64 it reaches */
    struct histogram *durations; /* of a span, ns, where they are known; else NULL */
    int64_t last_ns;             /* gauge: when `last` was; equal times: the one stored later */
    double last, min, max;       /* gauge; NaN: none. A gauge's own NaN is never least or greatest */
};

/** Empty values for aspects of `kind`; NULL where it is one that has none, or memory is short. */
struct values *values_new(enum dict_kind kind);
void values_free(struct values *v);

/** Adds record `r` of an aspect of `kind`, the one that `v` was made for. */
void values_add(struct values *v, enum dict_kind kind, const struct packet_record *r);

#endif
