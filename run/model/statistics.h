// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Counts stored packets in the model: records, times and values of each aspect, latency, and the stream's checksum. */
#ifndef BEZEL_RUN_MODEL_STATISTICS_H
#define BEZEL_RUN_MODEL_STATISTICS_H

#include "run/model/run_model.h"

/**
 * Counts stored packet `p` into its stream and process. `received`: when it arrived, by clock_now(); 0: unknown, so
 * it does not count for the latency; that of a node with another clock counts where
 * exchanges of times tell it. `all`: the run that validate_check() found.
 */
void statistics_count(struct model_stream *stream, const struct packet_header *h, const uint8_t *p,
                      const struct packet_run *all, int64_t received);

/**
 * Whether the fields of an aspect have statistics, if they are numeric: all have but those of built-in aspects, for
 * which the run database has tables.
 */
bool statistics_evaluates(const struct model_process *process, uint32_t aspect);

#endif
