// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Which records of a run, and its times, on the command line. */
#ifndef BEZEL_ECS_CLI_COMMAND_TIME_H
#define BEZEL_ECS_CLI_COMMAND_TIME_H

#include "run/read/record_filter.h"

/** The forms of a time, for a help text. */
#define COMMAND_TIMES                                                                                                  \
    "[YYYY-MM-DD ]HH:MM[:SS[.FRACTION]][ UTC], \"6.160 s\" after the start of the run, or ns since 1970"

/** Options of commands that choose records. `w`: a struct with these as they were written, and the filter. */
#define COMMAND_FILTER(w)                                                                                              \
    {"node", 0, "GLOB", "only nodes of this name", .value = &(w)->filter.node, .once = true},                          \
        {"process", 0, "GLOB", "only processes of this name", .value = &(w)->filter.process, .once = true},            \
        {"aspect", 0, "GLOB", "only records of these aspects", .value = &(w)->filter.aspect, .once = true},            \
        {"all", 0, NULL,                                                                                               \
         "also the monitor's own records, bezel_*, which are left out unless --process or --aspect is given",          \
         .flag = &(w)->all},                                                                                           \
        {"where",                                                                                                      \
         0,                                                                                                            \
         "CONDITION",                                                                                                  \
         "only records with a field for which it holds: FIELD OP VALUE, such as \"duration > 5 ms\"; OP is < <= = != " \
         ">= or >; VALUE is a number in the unit of the field, a duration, or for = and != a text",                    \
         .value = &(w)->where,                                                                                         \
         .once = true},                                                                                                \
        {"from", 0, "TIME", "only from this time on: " COMMAND_TIMES, .value = &(w)->from},                            \
    {                                                                                                                  \
        "until", 0, "TIME", "only before this time", .value = &(w)->until                                              \
    }

/** Reads `text`, the value of --where; NULL: leaves *c as it is. Returns as command_read_times(). */
int command_read_where(const char *text, struct condition *c) BEZEL_MUST_CHECK;

/**
 * Reads the values of --from and --until, NULL where they are not given, into `f`, whose other members are those of the
 * command: [YYYY-MM-DD ]HH:MM[:SS[.FRACTION]] of the local time, or of UTC if it ends so, without a date on the day of
 * the newest record for which `f` holds; a duration since the start of run directory `run`, or before it, as in the
 * report; or ns since 1970. `run` NULL: it is read over the network, so a time without a date is of today, and the
 * start is not known. Returns OPTIONS_GO_ON, or an exit code after saying what is wrong.
 */
int command_read_times(const char *from, const char *until, const char *run, struct record_filter *f) BEZEL_MUST_CHECK;

#endif
