// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The `metadata` of a node's trace: CTF 1.8 TSDL that explains packets (mdr.x) byte for byte. Pure generator. */
#ifndef BEZEL_COLLECTOR_METADATA_H
#define BEZEL_COLLECTOR_METADATA_H

#include "collector/model.h"

#include <stdio.h>

/**
 * Writes the TSDL of `node`: its clock and one stream class for each process instance with its aspects as event
 * classes. Returns 0 with *text (NUL-terminated, caller frees) and its *length, or BEZEL_ENOMEM.
 */
int metadata_write(const struct model_node *node, char **text, size_t *length) BEZEL_MUST_CHECK;

/**
 * Compares `length` bytes at `text` with what metadata_write() gives of `node`, whatever version of Bezel wrote them.
 * Returns METADATA_SAME; METADATA_EARLIER where it lacks nothing but what was declared last, as when it was written
 * before that; METADATA_OTHER; or BEZEL_ENOMEM. *same says up to which byte it is right.
 */
enum { METADATA_SAME, METADATA_EARLIER, METADATA_OTHER };
int metadata_compare(const struct model_node *node, const char *text, size_t length, size_t *same) BEZEL_MUST_CHECK;

/** The part of it that explains the packets of process `p`; as above. */
int metadata_write_process(const struct model_process *p, char **text, size_t *length) BEZEL_MUST_CHECK;

/**
 * Keeps each process's part with the process until its dictionary grows, so that metadata_write() copies it: for
 * whoever writes it again and again. Returns 0 or BEZEL_ENOMEM, with some parts kept.
 */
int metadata_keep(struct model_node *node) BEZEL_MUST_CHECK;

/**
 * For a trace of `node` whose records are merged into one stream, of class METADATA_MERGED: everything but its event
 * classes; and event class `id` for aspect `a` of whatever processes declare it alike. A record there stands in the
 * context of its process, and strings stand in place of their ids.
 */
enum { METADATA_MERGED = 1 };
void metadata_put_merged(FILE *out, const struct model_node *node);
void metadata_put_merged_event(FILE *out, uint32_t id, const struct dict_aspect *a);

#endif
