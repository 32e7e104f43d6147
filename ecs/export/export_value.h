// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A record with its context, and its values: for all formats of `bezel export --format`. */
#ifndef BEZEL_ECS_EXPORT_EXPORT_VALUE_H
#define BEZEL_ECS_EXPORT_EXPORT_VALUE_H

#include "collector/model/run_model.h"

#include <stdbool.h>
#include <stddef.h>

struct export_record {
    const struct model_process *process;
    const struct packet_header *packet;
    const struct packet_record *r;
    const struct dict_aspect *aspect;
};

enum export_shown {
    EXPORT_TEXT,
    EXPORT_ABSENT /* a string that its process had no room for */,
    EXPORT_INT,
    EXPORT_FLOAT
};

/** A value, ready to be written. */
struct export_value {
    enum export_shown as;
    const char *text; /* of the dictionary: `length` bytes, not NUL-terminated */
    size_t length;
    int64_t integer;
    double real;
};

/** Value `i` of a record, with i below the number of its aspect's fields. Pure. */
struct export_value export_value(const struct export_record *record, uint32_t i);

#endif
