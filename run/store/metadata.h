// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Writes the `metadata` of a node's trace: CTF 1.8 TSDL that describes packets (mdr.x) byte for byte. No I/O. */
#ifndef BEZEL_RUN_STORE_METADATA_H
#define BEZEL_RUN_STORE_METADATA_H

#include "run/model/run_model.h"

#include <stdio.h>

/**
 * Writes the TSDL of `node`: its clock, as at the end of the run if model->clocks_last, and one stream class for each
 * process instance with its aspects as event classes. Returns 0 with *text (NUL-terminated, caller frees) and its
 * *length, or BEZEL_ENOMEM.
 */
int metadata_write(const struct model_node *node, char **text, size_t *length) BEZEL_MUST_CHECK;

/**
 * Compares `length` bytes at `text` with what metadata_write() gives of `node`, whatever version of Bezel wrote them.
 * Returns METADATA_SAME; METADATA_EARLIER where only the latest declarations are missing, because it was written before
 * them; METADATA_OTHER; or BEZEL_ENOMEM. *same gets the number of bytes from the start that agree.
 */
enum { METADATA_SAME, METADATA_EARLIER, METADATA_OTHER };
int metadata_compare(const struct model_node *node, const char *text, size_t length, size_t *same) BEZEL_MUST_CHECK;

/** Writes the part that describes the packets of process `p`; returns as metadata_write(). */
int metadata_write_process(const struct model_process *p, char **text, size_t *length) BEZEL_MUST_CHECK;

/**
 * Caches each process's part in the process until its dictionary grows, so that repeated metadata_write() only copies
 * it. Returns 0, or BEZEL_ENOMEM with some parts cached.
 */
int metadata_keep(struct model_node *node) BEZEL_MUST_CHECK;

/**
 * Metadata of a trace of `node` whose records are merged into one stream, of class METADATA_MERGED.
 * metadata_put_merged() writes all but the event classes. metadata_put_merged_event() writes event class `id` for
 * aspect `a`; all processes that declare the aspect alike use it. Times are those of the run, as run_clock_at() gives
 * them, unless the node's clock is known by its wall clock only. There each record has its process as context, and
 * strings instead of their ids.
 */
enum { METADATA_MERGED = 1 };
void metadata_put_merged(FILE *out, const struct model_node *node);
void metadata_put_merged_event(FILE *out, uint32_t id, const struct dict_aspect *a);

#endif
