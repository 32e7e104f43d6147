// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** How often the programs of a run recorded each label of their enums. One thread. */
#ifndef BEZEL_RUN_READ_LABEL_STATISTICS_H
#define BEZEL_RUN_READ_LABEL_STATISTICS_H

#include "base/err.h"
#include "run/read/record_item.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LABEL_COUNTS = 64 }; /* labels that are counted apart */

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

/** Reads them from records of programs. Begin with all zeros; free the table in the end. */
struct label_reading {
    struct label_table table;
    size_t last; /* row of the record before */
};
bool label_reading_wants(const struct dict_aspect *a);
void label_reading_take(struct label_reading *r, const struct record_item *item);
void label_table_free(struct label_table *t);

/** The count of row `r` for each label, in their order: 1 with *label, of *length bytes, and *count; 0: no more. */
bool label_next(const struct label_statistics *r, unsigned i, const char **label, size_t *length, uint64_t *count);

#endif
