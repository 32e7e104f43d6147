// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The reader's side of a process's knobs (<bezel/knob.h>). What the process declared is checked and copied once; what
 * it scribbles later changes nothing here. What it really reads it bounds itself. One owner, one thread; nothing
 * blocks.
 */
#ifndef BEZEL_SENSOR_KNOBS_H
#define BEZEL_SENSOR_KNOBS_H

#include "base/err.h"
#include "sensor/segment.h"

#include <stdbool.h>
#include <stdint.h>

struct attached;
struct external;
struct external_process;

/** A knob as it is believed: a name by dict_name_ok(), a unit that is printable UTF-8, min <= initial <= max. */
struct knob {
    char name[SEGMENT_NAME_BYTES];
    char unit[SEGMENT_UNIT_BYTES];
    int32_t min, max, initial;
};

/** Those of a process, in its order. */
struct knobs {
    bool broken; /* it declared what makes no sense: what comes behind is not looked at */
    uint32_t count;
    struct knob knob[SEGMENT_KNOBS];
};

/**
 * Takes in the knobs that came since, at the cost of a load where none did. Returns 1 where some did, 0,
 * BEZEL_EMALFORMED (once; those before it stand), or BEZEL_ENOMEM.
 */
int segment_refresh_knobs(struct attached *a) BEZEL_MUST_CHECK;

/** The value of knob `i`, below knobs->count, as the process reads it. */
int32_t segment_knob(const struct attached *a, uint32_t i);

/** Sets knob `i`; the value lies in its range. */
void segment_set_knob(struct attached *a, uint32_t i, int32_t value);

/** Brings all knobs, known or not, to their initial values. */
void segment_reset_knobs(struct attached *a);

/** How many knobs process `p` has that can be turned now; 0 where it does not live any more. Takes in new ones. */
uint32_t external_knob_count(struct external *x, struct external_process *p);

/** The number of its knob `name`, below external_knob_count(); -1: it has none. */
int external_knob_find(const struct external_process *p, const char *name);

/**
 * Turns knob `i` of `p`. Returns 0 with *before; BEZEL_ENOENT where there is no such knob or process any more,
 * BEZEL_EINVAL where `value` is out of its range: nothing is changed then.
 */
int external_knob_set(struct external_process *p, uint32_t i, int32_t value, int32_t *before) BEZEL_MUST_CHECK;

#endif
