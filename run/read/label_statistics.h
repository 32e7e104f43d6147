// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * How often the programs of a run recorded each label of their enums. Reads the stored records of aspects that have an
 * enum. One thread; blocks on the disk.
 */
#ifndef BEZEL_RUN_READ_LABEL_STATISTICS_H
#define BEZEL_RUN_READ_LABEL_STATISTICS_H

#include "base/err.h"
#include "mdr/dict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LABEL_COUNTS = 64 }; /* labels that are told apart */

/** Of an enum of an aspect of a process. */
struct label_statistics {
    int64_t process; /* its row in the database */
    uint32_t aspect, field;
    char name[DICT_NAME_MAX + 1];     /* of the field */
    char labels[DICT_LABELS_MAX + 1]; /* separated by '|' */
    uint64_t records;                 /* that were read */
    uint64_t counts[LABEL_COUNTS];    /* of these, by label; the rest has none, or one behind these */
};

struct label_table {
    size_t count;
    struct label_statistics *rows;
};

/**
 * Reads run directory `run` for at most `budget_ns` (INT64_MAX: to its end): `records` are fewer than those stored
 * where that was too short. Returns 0 or an error as run_reader_open(); in both cases *t is for label_table_free().
 */
int label_table_read(const char *run, int64_t budget_ns, struct label_table *t) BEZEL_MUST_CHECK;
void label_table_free(struct label_table *t);

/** The count of row `r` for each label, in their order: 1 with *label, of *length bytes, and *count; 0: no more. */
bool label_next(const struct label_statistics *r, unsigned i, const char **label, size_t *length, uint64_t *count);

#endif
