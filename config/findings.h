// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Collecting what is wrong in a file. Internal to config/. */
#ifndef BEZEL_CONFIG_FINDINGS_H
#define BEZEL_CONFIG_FINDINGS_H

#include "config/experiment.h"

#include <stdarg.h>

/** A text of the file, fit for a message: in quotes, cut where it is long. */
struct findings_quoted {
    char s[64];
};
struct findings_quoted findings_quote(const char *text);

/** Adds a finding in its place in the order of the file; control characters become '?'. Returns 0 or BEZEL_ENOMEM. */
int findings_add(struct experiment_diagnostics *found, bool warning, struct experiment_place at, const char *path,
                 const char *format, va_list args) BEZEL_MUST_CHECK;

/** The candidate most like `wanted`; start with {.wanted = text}. */
struct findings_near {
    const char *wanted, *best;
    unsigned distance;
};

/**
 * Takes `candidate` as best where it is closer to the wanted text than a slip of the pen explains, and than all
 * before.
 */
void findings_near_consider(struct findings_near *near, const char *candidate);

#endif
