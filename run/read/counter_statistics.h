// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What the kernel's counters came to, which samplers record as they stand, since boot: by how much each grew in the
 * run, and how fast. A counter is of a device, an interface, a process or the node, which one aspect has together, so
 * the statistics of a field say nothing of it. Reads the stored records. One thread; blocks on the disk.
 */
#ifndef BEZEL_RUN_READ_COUNTER_STATISTICS_H
#define BEZEL_RUN_READ_COUNTER_STATISTICS_H

#include "base/err.h"
#include "mdr/bounds.h"
#include "mdr/dict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counter_field {
    char name[DICT_NAME_MAX + 1], unit[16]; /* name "": it is no counter */
    int64_t grown;                          /* between the first and the last sample; less where one was unknown */
    double most;                            /* per second, between two samples; NaN: there are no two */
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

/**
 * Reads what the monitor of run directory `run` recorded in aspects that match the glob `aspects`, for at most
 * `budget_ns` (INT64_MAX: to the end). `counts` says which fields are counters. Returns 0 with *t, which is added to,
 * for counter_table_free() in any case; or an error as run_reader_open().
 */
int counter_table_read(const char *run, const char *aspects, bool (*counts)(const char *aspect, const char *field),
                       int64_t budget_ns, struct counter_table *t) BEZEL_MUST_CHECK;
void counter_table_free(struct counter_table *t);

#endif
