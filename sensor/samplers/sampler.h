// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Samplers: sampling-driven collection of what is not instrumented. Each sampler reads some files of the kernel at a
 * period of its own, with one system call for each file, which stays open. It records the values into a journal, so
 * that samples are MDRs like any other, in the same trace. docs/SAMPLERS.md lists aspects, fields and units; a value
 * that the kernel does not have is -1, or NaN. One owner, one thread; nothing blocks but reading the kernel's own
 * files.
 *
 * A sampler that cannot read a file notes that once, goes on with the other files, and tries again every ten seconds.
 */
#ifndef BEZEL_SENSOR_SAMPLERS_SAMPLER_H
#define BEZEL_SENSOR_SAMPLERS_SAMPLER_H

#include "config/experiment.h"
#include "sensor/external/external.h"

struct samplers;

/**
 * Makes samplers with the periods of `sensing` (ns; 0: not sampled), which record into folder `dir`. Their messages to
 * the operator go to the notes of `x`, whose processes they sample too. Samplers that nobody asked for
 * (sampled_unasked) note only what they lack, wake nobody, and take 0.2 % of a CPU at most. Borrows x. Returns 0 with
 * *s for samplers_close(), NULL if nothing is to be sampled; BEZEL_ENOMEM; or an error of journal_open().
 */
int samplers_open(const struct experiment_sensing *sensing, const char *dir, struct external *x,
                  struct samplers **s) BEZEL_MUST_CHECK;
void samplers_close(struct samplers *s);

/**
 * From `now` on all periods are `factor` times as long as in the experiment file, but for those of the samplers in
 * `kept` (a bit each, 1 << EXPERIMENT_SAMPLER_...). A factor outside of 1 .. SAMPLERS_STRETCH_MAX counts as the nearer
 * end. A sample that is due earlier than a new period from now stays due
 * then. NULL is allowed.
 */
enum { SAMPLERS_STRETCH_MAX = 16 };
void samplers_stretch(struct samplers *s, double factor, uint32_t kept, int64_t now);

/**
 * When somebody must be awake for the next sample, ns of CLOCK_MONOTONIC; INT64_MAX: never, as where nobody asked for
 * samples. NULL is allowed.
 */
int64_t samplers_due(const struct samplers *s);

/** Records what is known so far and is not recorded yet, once, before the end. NULL is allowed. */
void samplers_end(struct samplers *s);

/** Takes the samples that are due; missed ones are not made up for. NULL is allowed. */
void samplers_turn(struct samplers *s, int64_t now);

#endif
