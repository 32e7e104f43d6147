// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Steering: what the operator wants of each aspect, as rules. A rule is a pattern on the names of aspects and a mode;
 * of those that match a name, the one that was given last counts. Pure; external_steer() carries it out.
 */
#ifndef BEZEL_SENSOR_STEER_H
#define BEZEL_SENSOR_STEER_H

#include "base/err.h"
#include "mdr/message.h"
#include "sensor/segment.h"

#include <stdbool.h>
#include <stdint.h>

enum { STEER_RULES = 256 };

struct steer_rule {
    char pattern[MESSAGE_NAME_MAX + 1]; /* a glob, as of fnmatch() without flags */
    enum segment_enable mode;
};

/** Zeros: no rule. In the order in which they count, the last first asked. */
struct steer {
    uint32_t count;
    struct steer_rule rules[STEER_RULES];
    /** Whether aspect `name`, which the rules want recorded, is only to be counted for now; NULL: none is. */
    bool (*sheds)(const void *context, const char *name);
    const void *context;
};

/**
 * Adds a rule; it takes the place of an earlier one of the same pattern, and one of pattern "*" of all. Returns 0,
 * BEZEL_EINVAL where the pattern is empty or longer than MESSAGE_NAME_MAX, BEZEL_EFULL.
 */
int steer_add(struct steer *s, const char *pattern, enum segment_enable mode) BEZEL_MUST_CHECK;

/** What the rules say of aspect `name`; SEGMENT_RECORD where none matches. */
enum segment_enable steer_mode(const struct steer *s, const char *name);

/** The same, with what is shed. */
enum segment_enable steer_wanted(const struct steer *s, const char *name);

/** What an aspect does that the rules want in mode `wanted`, in a process whose aspects may do `allowed`. */
enum segment_enable steer_combine(enum segment_enable allowed, enum segment_enable wanted);

#endif
