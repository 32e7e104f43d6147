// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What the external sensor has for the operator: what processes say in their segments, and what it finds wrong about
 * them. Logged, kept, and sent by the forwarder; each once, and a bounded number of them. One owner, one thread.
 */
#ifndef BEZEL_SENSOR_NOTES_H
#define BEZEL_SENSOR_NOTES_H

#include "base/err.h"
#include "sensor/external.h"

#include <stdbool.h>
#include <stdint.h>

enum { NOTES_MAX = 256 }; /* of a node in a life of its daemon */

struct notes {
    uint32_t count;
    uint64_t untold; /* beyond NOTES_MAX */
    struct message_note *list;
};

void notes_free(struct notes *notes);

/**
 * Tells the sentence of `format` under `code`, about process `p`, or about the node where it is NULL. Returns whether
 * it is new: what was told before is not told again.
 */
bool notes_tell(struct external *x, const struct external_process *p, int64_t now, const char *code, const char *format,
                ...) BEZEL_PRINTF(5, 6);

/** Takes in what process `p` has to say, and what processes without a segment left in the doorbell, their number too.
 */
void notes_take(struct external *x, struct external_process *p, int64_t now);
void notes_take_refusals(struct external *x, int64_t now);

#endif
