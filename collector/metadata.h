// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The `metadata` of a node's trace: CTF 1.8 TSDL that explains packets (mdr.x) byte for byte. Pure generator. */
#ifndef BEZEL_COLLECTOR_METADATA_H
#define BEZEL_COLLECTOR_METADATA_H

#include "collector/model.h"

/**
 * Writes the TSDL of `node`: its clock and one stream class for each process instance with its aspects as event
 * classes. Returns 0 with *text (NUL-terminated, caller frees) and its *length, or BEZEL_ENOMEM.
 */
int metadata_write(const struct model_node *node, char **text, size_t *length) BEZEL_MUST_CHECK;

/** The part of it that explains the packets of process `p`; as above. */
int metadata_write_process(const struct model_process *p, char **text, size_t *length) BEZEL_MUST_CHECK;

#endif
