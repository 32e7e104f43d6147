// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Statistics of the numeric fields of an aspect, over its stored records. Derived from packets alone, so that they can
 * be made again from these: but for `last` and sums of float64, they do not depend on the order of packets. One thread;
 * no I/O.
 */
#ifndef BEZEL_RUN_MODEL_FIELD_STATISTICS_H
#define BEZEL_RUN_MODEL_FIELD_STATISTICS_H

#include "mdr/dict.h"
#include "mdr/packet.h"
#include "metric/histogram.h"

#include <stdbool.h>
#include <stdint.h>

/** A value of an int64 field exactly (`i`), or of a float64 field (`d`). */
union field_number {
    int64_t i;
    double d;
};

struct field_statistics {
    uint64_t count;                    /* of values that are numbers */
    uint64_t unknown;                  /* values that are none: NaN, and a span's duration below 0 */
    int64_t last_ns;                   /* time of `last`: of equal times, the one that was added later */
    union field_number last, min, max; /* undefined where count is 0 */
    int64_t high;                      /* sum of an int64 field: high * 2^32 + low, low below 2^32. `high` saturates */
    uint64_t low;
    double sum;     /* of a float64 field */
    bool fractions; /* of a float64 field: some value is not a whole number */
    struct histogram values;
};

/** Of an aspect: a record that is neither a number nor unknown in a field was not evaluated there. */
struct aspect_statistics {
    uint32_t field_count;
    struct field_statistics fields[];
};

/**
 * Whether field `i` of an aspect has statistics: an int64 or float64, but for the tag of a message, which is a name and
 * no quantity. Pure.
 */
bool field_has_statistics(const struct dict_aspect *a, uint32_t i);

/**
 * Makes empty statistics for `a`. NULL where no field has any, or memory is short. `*memory`: the bytes that all
 * statistics with this pointer may still take.
 */
struct aspect_statistics *aspect_statistics_new(const struct dict_aspect *a, size_t *memory);

/** Frees it, and gives `*memory` back what it took. */
void aspect_statistics_free(struct aspect_statistics *s, size_t *memory);

/** Adds the records of a run. `a`: as at first, or a later version with as many fields. */
void aspect_statistics_add(struct aspect_statistics *s, const struct dict_aspect *a, const struct packet_run *run,
                           size_t *memory);

/**
 * The statistics of a field as bytes, and back. field_pack() writes field_pack_bytes() bytes into `to`. field_unpack()
 * fills an empty `s`; it returns 0, BEZEL_EMALFORMED, or BEZEL_ENOMEM: then the field was not evaluated to its end.
 */
size_t field_pack_bytes(const struct field_statistics *s);
void field_pack(const struct field_statistics *s, uint8_t *to);
int field_unpack(struct field_statistics *s, const uint8_t *from, size_t n, size_t *memory) BEZEL_MUST_CHECK;

/** The sum of an int64 field, at the end of the range where it is beyond. */
int64_t field_total(const struct field_statistics *s);

/** The mean of a field of `type`; NaN if there is no number. */
double field_mean(const struct field_statistics *s, enum dict_type type);

/**
 * The quantile of `share` (0 .. 1), by histogram_quantile(), but within minimum and maximum, and rounded down if all
 * values are whole numbers, as those of a gauge may be. Undefined if count is 0.
 */
union field_number field_quantile(const struct field_statistics *s, enum dict_type type, double share);

#endif
