// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Aspects as message definitions of ROS 2, and their records as CDR. Pure, but for memory. */
#ifndef BEZEL_EXPORT_MCAP_SCHEMA_H
#define BEZEL_EXPORT_MCAP_SCHEMA_H

#include "export/mcap_bytes.h"
#include "run/read/record_item.h"

/**
 * Adds the definition (ros2msg) of aspect `a`: a line for each field, with its unit as comment; before that of an enum
 * the constants that its labels are. Numbers are int64 and float64, texts string. What a name may not have is '_'
 * there.
 */
void mcap_schema(struct grow_bytes *b, const struct dict_aspect *a);

/** The key of the channel of aspect `a` of process `p`, within a run. */
static inline uint64_t mcap_key(const struct model_process *p, const struct dict_aspect *a)
{
    return (uint64_t)p->row << 8 | (a->id & 0xff);
}

enum { MCAP_TYPE_SIZE = sizeof "bezel/msg/" + DICT_NAME_MAX };

/** The name that such a definition of aspect `name` has. Returns `type`. */
const char *mcap_type(char type[MCAP_TYPE_SIZE], const char *name);

/** Adds record `item` as CDR, little-endian: its values, the thread, and the bound of its time's error; -1: unknown. */
void mcap_cdr(struct grow_bytes *b, const struct record_item *item);

/** The same of a loss: its definition, and its message. */
extern const char mcap_loss_schema[];
void mcap_loss_cdr(struct grow_bytes *b, const struct record_item *loss);

#endif
