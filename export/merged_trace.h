// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The trace that export_merge() writes: one CTF stream, and its metadata (run/store/metadata.h). */
#ifndef BEZEL_EXPORT_MERGED_TRACE_H
#define BEZEL_EXPORT_MERGED_TRACE_H

#include "run/model/run_model.h"

struct merged_trace;

/** Begins a trace in the empty directory `to`. Returns 0 with *out for merged_trace_close(), or an error with errno. */
int merged_trace_open(const char *to, const struct model_node *node, struct merged_trace **out) BEZEL_MUST_CHECK;

/** Ends the trace. Returns 0, or the first error of any write, with errno. Frees `out` in either case. */
int merged_trace_close(struct merged_trace *out) BEZEL_MUST_CHECK;

/**
 * The event classes of the aspects of `p`, by aspect id - 1; owned by `out`. Processes that declare an aspect in the
 * same way share its class. NULL: out of memory.
 */
const uint32_t *merged_trace_classes(struct merged_trace *out, const struct model_process *p);

/** Appends record `r` of a packet of process `p`. Times must not decrease from call to call, here and below. */
void merged_trace_record(struct merged_trace *out, const struct model_process *p, const struct packet_header *h,
                         const struct packet_record *r, uint32_t event_class);

/** Notes that `lost` records were lost up to `time`. */
void merged_trace_lose(struct merged_trace *out, uint64_t time, uint64_t lost);

#endif
