// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Records as CSV (RFC 4180, but lines end in LF): a column for each name that a field has anywhere in the run. */
#ifndef BEZEL_ECS_EXPORT_CSV_H
#define BEZEL_ECS_EXPORT_CSV_H

#include "ecs/export_value.h"

#include <stdio.h>

struct csv;

/**
 * Writes the first line, of the names of all columns that the dictionaries in `m` need, to `out`, which nobody else
 * uses meanwhile. Borrows both. Returns 0 with *csv for csv_close(), or BEZEL_ENOMEM.
 */
int csv_open(FILE *out, const struct model *m, struct csv **csv) BEZEL_MUST_CHECK;
void csv_close(struct csv *csv);

/** Records of this packet of process `p` follow. */
void csv_packet(struct csv *csv, const struct model_process *p, const struct packet_header *h);
void csv_record(struct csv *csv, const struct export_record *record);

#endif
