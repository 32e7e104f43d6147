// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Records as CSV (RFC 4180, but lines end in LF): a column for each name of a field in the run. */
#ifndef BEZEL_ECS_EXPORT_EXPORT_CSV_H
#define BEZEL_ECS_EXPORT_EXPORT_CSV_H

#include "ecs/export/export_value.h"

#include <stdio.h>

struct csv;

/**
 * Writes the first line to `out`: the names of the columns, from all dictionaries in `m`. Borrows both until
 * csv_close(), and uses `out` without locking it. Returns 0 with *csv for csv_close(), or BEZEL_ENOMEM.
 */
int csv_open(FILE *out, const struct model *m, struct csv **csv) BEZEL_MUST_CHECK;
void csv_close(struct csv *csv);

/** csv_packet() begins a packet of process `p`; csv_record() writes one of its records. */
void csv_packet(struct csv *csv, const struct model_process *p, const struct packet_header *h);
void csv_record(struct csv *csv, const struct export_record *record);

#endif
