// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Which records of an aspect meet a condition, for a metric with `where`. Pure. */
#ifndef BEZEL_METRIC_WHERE_H
#define BEZEL_METRIC_WHERE_H

#include "base/condition.h"
#include "mdr/dict.h"
#include "mdr/packet.h"

/** A condition, made ready for the records of one aspect. */
struct where {
    struct condition_bound bound;
    int at; /* in a record's values; WHERE_NONE: no record meets it */
    int64_t scale;
    bool is_float;
    bool is_duration; /* negative numbers are unknown durations, and do not meet it */
};

enum { WHERE_NONE = -1 };

/** The number of the condition's field in `a`; WHERE_NONE: it has none. */
int where_field(const struct condition *c, const struct dict_aspect *a);

/** Whether values of field `f` can be compared with the condition's. */
bool where_compares(const struct condition *c, const struct dict_field *f);

/**
 * The condition `text`, which condition_read() reads, for records of `a`. Its `at` is WHERE_NONE where the aspect has
 * no such field, or one that cannot be compared so, or is a string, whose text stands outside the record.
 */
struct where where_find(const char *text, const struct dict_aspect *a);

/** Whether a record meets the condition. */
bool where_holds(const struct where *w, const struct packet_record *r);

/**
 * The first record of a run from number `from` on that meets the condition, or does not (`meets` false); the run's
 * count where none is.
 */
uint32_t where_seek(const struct where *w, const struct packet_run *run, uint32_t from, bool meets);

#endif
