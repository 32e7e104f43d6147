// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Times of a run on the command line. */
#ifndef BEZEL_ECS_CLI_COMMAND_TIME_H
#define BEZEL_ECS_CLI_COMMAND_TIME_H

#include "base/err.h"

#include <stdint.h>

/** The forms of a time, for a help text. */
#define COMMAND_TIMES "[YYYY-MM-DD ]HH:MM[:SS[.FRACTION]], \"6.160 s\" after the start of the run, or ns since 1970"

/**
 * Reads `text`, the value of `option`: [YYYY-MM-DD ]HH:MM[:SS[.FRACTION]] of the local time, without a
 * date on the day of `near`, ns since 1970 (INT64_MIN: today); a duration since the start of run directory `run`, as in
 * the report (NULL: it has none here); or ns since 1970. `text` NULL: leaves *ns as it is. Returns OPTIONS_GO_ON, or
 * EXIT_USAGE after saying what is wrong.
 */
int command_read_time(const char *option, const char *text, const char *run, int64_t near,
                      int64_t *ns) BEZEL_MUST_CHECK;

#endif
