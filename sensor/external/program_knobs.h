// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The reader's side of a process's knobs (<bezel/knob.h>). A declaration is checked and copied once; later writes of
 * the process to it have no effect here. The process itself bounds the values that it reads. One owner, one thread;
 * nothing blocks.
 */
#ifndef BEZEL_SENSOR_EXTERNAL_PROGRAM_KNOBS_H
#define BEZEL_SENSOR_EXTERNAL_PROGRAM_KNOBS_H

#include "base/err.h"
#include "sensor/shm/segment.h"

#include <stdbool.h>
#include <stdint.h>

struct attached;
struct external;
struct external_process;

/** A checked knob: dict_name_ok(name), `unit` is printable UTF-8, min <= initial <= max. */
struct knob {
    char name[SEGMENT_NAME_BYTES];
    char unit[SEGMENT_UNIT_BYTES];
    int32_t min, max, initial;
};

/** The knobs of a process, in the order of declaration. */
struct knobs {
    bool broken; /* a declaration was invalid: later ones are not read */
    uint32_t count;
    struct knob knob[SEGMENT_KNOBS];
};

/**
 * Reads knobs that were declared since the last call; costs one load if there are none. Returns 1 if there were some, 0
 * if not; BEZEL_EMALFORMED, once, and earlier knobs stay valid; BEZEL_ENOMEM.
 */
int segment_refresh_knobs(struct attached *a) BEZEL_MUST_CHECK;

/** The value of knob `i`, below knobs->count, as the process reads it. */
int32_t segment_knob(const struct attached *a, uint32_t i);

/** Sets knob `i`; the value lies in its range. */
void segment_set_knob(struct attached *a, uint32_t i, int32_t value);

/** Sets all knobs of the process, read or not, to their initial values. */
void segment_reset_knobs(struct attached *a);

/** Reads new knobs of `p`. Returns the number that can be set now; 0 if it has ended. */
uint32_t external_knob_count(struct external *x, struct external_process *p);

/** The number of knob `name` of `p`, below external_knob_count(); -1 if it has no such knob. */
int external_knob_find(const struct external_process *p, const char *name);

/**
 * Sets knob `i` of `p`. Returns 0, with the value before in *before; BEZEL_ENOENT if the process has ended or has no
 * such knob; BEZEL_EINVAL if `value` is out of range. After an error nothing has changed.
 */
int external_knob_set(struct external_process *p, uint32_t i, int32_t value, int32_t *before) BEZEL_MUST_CHECK;

#endif
