// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What the kernel's counters came to, which samplers record as they stand, since boot: by how much each grew in the
 * run, and how fast. A counter is of a device, an interface, a process or the node, which one aspect has together, so
 * the statistics of a field say nothing of it. One thread.
 */
#ifndef BEZEL_RUN_READ_COUNTER_STATISTICS_H
#define BEZEL_RUN_READ_COUNTER_STATISTICS_H

#include "base/err.h"
#include "mdr/bounds.h"
#include "run/read/record_item.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counter_field {
    char name[DICT_NAME_MAX + 1], unit[16]; /* name "": it is no counter */
    int64_t grown;                          /* between the first and the last sample; less where one was unknown */
    double most;                            /* per second, between two samples; NaN: there are no two */
    bool known;                             /* some two samples told by how much it grew */
};

/** The counters that one record of an aspect has: of what, on which node. */
struct counter_statistics {
    char node[MESSAGE_NAME_MAX + 1], aspect[DICT_NAME_MAX + 1];
    char of[DICT_TEXT_MAX + 1]; /* the text in it: an interface, a device, a process; "": the node */
    int64_t pid;                /* -1: it has none */
    int64_t first_ns, last_ns;  /* of its samples, on the node's clock */
    uint64_t samples;
    uint32_t field_count;
    struct counter_field fields[DICT_FIELDS_MAX];
};

struct counter_table {
    size_t count;
    bool cut; /* not all samples were read: the time, or the room for rows, was too little */
    struct counter_statistics *rows;
};

/** Reads them from records of the monitor. Begin with `counts` alone; free `before` in the end, and the table. */
struct counter_reading {
    struct counter_table table;
    bool (*counts)(const char *aspect, const char *field); /* which fields are counters; NULL: none is */
    int64_t (*before)[DICT_FIELDS_MAX];                    /* of each row, the values of the sample before */
    size_t last;                                           /* row of the record before */
};
bool counter_reading_wants(const struct counter_reading *r, const struct dict_aspect *a);
void counter_reading_take(struct counter_reading *r, const struct record_item *item);
void counter_table_free(struct counter_table *t);

#endif
