// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The operator's rules for aspects. A rule is a pattern on the names of aspects, and a mode. Where several match a
 * name, the one that was added last applies. Pure; external_set_rules() applies the rules to processes.
 */
#ifndef BEZEL_SENSOR_EXTERNAL_ASPECT_RULES_H
#define BEZEL_SENSOR_EXTERNAL_ASPECT_RULES_H

#include "base/err.h"
#include "mdr/bounds.h"
#include "sensor/shm/segment.h"

#include <stdbool.h>
#include <stdint.h>

enum { ASPECT_RULES_MAX = 256 };

struct aspect_rule {
    char pattern[MESSAGE_NAME_MAX + 1]; /* a glob, as of fnmatch() without flags */
    enum segment_enable mode;
};

/** Rules in the order in which they were added; zeros: no rule. */
struct aspect_rules {
    uint32_t count;
    struct aspect_rule rules[ASPECT_RULES_MAX];
    /** Whether load shedding has aspect `name` only counted for now, though its rule says record; NULL: no load
     * shedding. */
    bool (*sheds)(const void *context, const char *name);
    const void *context;
    /** Rules that apply before these, for some time; NULL: none. */
    const struct aspect_rules *passing;
};

/**
 * Adds a rule. It replaces an earlier rule with the same pattern; a rule for "*" replaces all rules. Returns 0;
 * BEZEL_EINVAL if the pattern is empty or longer than MESSAGE_NAME_MAX; BEZEL_EFULL after ASPECT_RULES_MAX rules.
 */
int aspect_rules_add(struct aspect_rules *s, const char *pattern, enum segment_enable mode) BEZEL_MUST_CHECK;

/** The mode of aspect `name` by the rules; SEGMENT_RECORD if none matches. */
enum segment_enable aspect_rules_mode(const struct aspect_rules *s, const char *name);

/** The same, after load shedding. */
enum segment_enable aspect_rules_wanted(const struct aspect_rules *s, const char *name);

/** The mode of an aspect whose rule says `wanted`, in a process whose aspects may at most do `allowed`. */
enum segment_enable aspect_rules_combine(enum segment_enable allowed, enum segment_enable wanted);

#endif
