// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Names and units of the experiment file that nothing in the run has: why a metric has no value, and a knob is not
 * steered. A file is checked before its programs run, so a misspelt aspect shows only here. Pure.
 */
#ifndef BEZEL_RUN_VERDICT_NAMES_H
#define BEZEL_RUN_VERDICT_NAMES_H

#include "config/experiment.h"
#include "run/history/summary.h"

#include <stdio.h>

/** NO_RECORDS: the aspect is there, and was never recorded; so far, while the run goes on. */
enum names_kind { NAMES_NO_ASPECT, NAMES_NO_FIELD, NAMES_NO_NUMBER, NAMES_NO_TIME, NAMES_NO_RECORDS, NAMES_NO_KNOB };

struct names_found {
    enum names_kind kind;
    const char *name, *nearest; /* of what is missing; nearest NULL: none is similar. Borrowed */
    char text[640];             /* a sentence without its full stop: no process has an aspect "temprature"; ... */
};

/**
 * Returns true if metric `metric` of `e` can never have a value, because nothing recorded has its name, field or unit;
 * *found says why. False also if that is unknown, as a dictionary is not there yet, or if the metric is built in.
 */
bool names_metric(const struct summary *s, const struct experiment *e, uint32_t metric, struct names_found *found);

/** Whether trigger `t` can never fire, because nothing recorded has what its condition names. Likewise. */
bool names_trigger(const struct summary *s, const struct experiment_trigger *t, struct names_found *found);

/** Whether no process had knob `knob` of the file. Likewise. */
bool names_knob(const struct summary *s, const struct experiment *e, uint32_t knob, struct names_found *found);

/** Whether pattern `name` is no glob, no process has that aspect, and one has a similar one. Likewise. */
bool names_pattern(const struct summary *s, const char *name, struct names_found *found);

/**
 * Calls `take` with each: `what` is "limit p99 <= 5", "metric p99", "knob horizon", "trigger any frmae", also of what
 * its actions name, or, of an aspect that is similar to one that is there, "sensing.aspects.off frmae", of the file. A
 * metric that has limits appears as these limits. `running`: leaves out names that may still appear. Returns the number
 * of calls.
 */
size_t names_each(const struct summary *s, const struct experiment *e, bool running,
                  void (*take)(void *context, const char *what, const struct names_found *found), void *context);

#endif
