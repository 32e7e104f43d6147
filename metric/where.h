// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Which records of an aspect meet a condition, for a metric or trigger with `where`. Pure. */
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
    bool unknown_below; /* negative numbers are unknown, and do not meet it */
    const char *text;   /* of a field that is a text: what it is compared with, `length` bytes; else NULL */
    size_t length;
};

enum { WHERE_NONE = -1 };

/** Whether values of field `f` can be compared with the condition's: a label has to be one of an enum's. */
bool where_compares(const struct condition *c, const struct dict_field *f);

/**
 * Whether the condition is about a label that field `f` of `a`, an enum, does not have: then says so in `text`, with
 * the nearest, or the first ones.
 */
bool where_lacks_label(const struct condition *c, const struct dict_aspect *a, const struct dict_field *f, char *text,
                       size_t size);

/**
 * The condition `text`, which condition_read() reads, for records of `a`; borrows `text`. Its `at` is WHERE_NONE where
 * the aspect has no such field, or one that cannot be compared so.
 */
struct where where_find(const char *text, const struct dict_aspect *a);

/**
 * Whether a record is known to meet the condition. Unknown are a text that `d`, NULL allowed, does not have, a float
 * that is NaN, and a negative number where it means so.
 */
bool where_holds(const struct where *w, const struct dict *d, const struct packet_record *r);

/**
 * The first record of a run from number `from` on that meets the condition, or does not (`meets` false); the run's
 * count where none is.
 */
uint32_t where_seek(const struct where *w, const struct packet_run *run, uint32_t from, bool meets);

/** The first one from number `from` on of which nobody knows whether it meets it; the run's count where none is. */
uint32_t where_seek_open(const struct where *w, const struct packet_run *run, uint32_t from);

#endif
