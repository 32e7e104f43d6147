// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The sampler of context switches, for the other samplers: sampler_switches.c. */
#ifndef BEZEL_SENSOR_SAMPLERS_SAMPLER_SWITCHES_H
#define BEZEL_SENSOR_SAMPLERS_SAMPLER_SWITCHES_H

#include "sensor/samplers/sampler_internal.h"

/** Makes the journal of intervals in `dir`. Returns 0 or an error of journal_open(); sampler_close_switches() in both
 * cases. */
int sampler_open_switches(struct samplers *s, const struct experiment_switches *switches,
                          const char *dir) BEZEL_MUST_CHECK;
void sampler_close_switches(struct samplers *s);

/** Ends the recording of all threads. */
void sampler_end_switches(struct samplers *s);

/** Ends the recording of a thread, whose last intervals are recorded first. Nothing happens if there is none. */
void sampler_close_recorder(struct samplers *s, struct sampler_thread *t);

#endif
