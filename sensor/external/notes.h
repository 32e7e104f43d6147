// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Notes for the operator: notices that processes left in their segments, and faults that the external sensor found.
 * Each note is logged, kept and sent once; their number is bounded. One owner, one thread.
 */
#ifndef BEZEL_SENSOR_EXTERNAL_NOTES_H
#define BEZEL_SENSOR_EXTERNAL_NOTES_H

#include "base/err.h"
#include "sensor/external/external.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    NOTES_MAX = 256,      /* for each life of a daemon */
    NOTES_OF_A_CODE = 64, /* of them, where they tell of no missing records */
};

struct notes {
    uint32_t count;
    bool said_more; /* that notes were dropped which tell of no missing records */
    bool said_any;  /* that others were */
    struct message_note *list;
};

void notes_free(struct notes *notes);

/**
 * Adds a note with code `code` and the sentence of `format`, about process `p`, or about the node if it is NULL.
 * Returns whether it is new and was kept; the same note is not added twice.
 */
bool notes_record(struct external *x, const struct external_process *p, int64_t now, const char *code,
                  const char *format, ...) BEZEL_PRINTF(5, 6);

/** Adds the notices of process `p`; and the refusals in the doorbell, of processes without a segment, with their
 * number. */
void notes_take(struct external *x, struct external_process *p, int64_t now);
void notes_take_refusals(struct external *x, int64_t now);

#endif
