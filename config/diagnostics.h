// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The diagnostics of a file: errors and warnings. Internal to config/. */
#ifndef BEZEL_CONFIG_DIAGNOSTICS_H
#define BEZEL_CONFIG_DIAGNOSTICS_H

#include "config/experiment.h"

#include <stdarg.h>

/** A text of the file for a message: in quotes, with '...' at its end if it was shortened. */
struct diagnostics_quoted {
    char s[64];
};
struct diagnostics_quoted diagnostics_quote(const char *text);

/** Inserts a diagnostic by its place in the file; control characters become '?'. Returns 0 or BEZEL_ENOMEM. */
int diagnostics_add(struct experiment_diagnostics *found, bool warning, struct experiment_place at, const char *path,
                    const char *format, va_list args) BEZEL_MUST_CHECK;

#endif
