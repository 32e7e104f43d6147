// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Samplers: sampling-driven collection of what is not instrumented. Each reads files of the kernel's at a period of its
 * own, kept open, with one system call a file, and records what they say into a journal, so that samples are MDRs like
 * any other, in the same trace. docs/SAMPLERS.md lists aspects, fields and units; what the kernel does not tell is -1,
 * or NaN. One owner, one thread; nothing blocks but on the kernel's own files.
 *
 * A sampler that fails tells so once, goes on with what it can read, and tries what it cannot again every ten seconds.
 */
#ifndef BEZEL_SENSOR_SAMPLER_H
#define BEZEL_SENSOR_SAMPLER_H

#include "config/experiment.h"
#include "sensor/external.h"

struct samplers;

/**
 * Samplers with the periods of `sensing`, 0 for none, that record into folder `dir`; what they have to say to the
 * operator goes to the notes of `x`, whose processes they sample too. Borrows x. Returns 0 with *s, NULL where nothing
 * is to be sampled, for samplers_close(); or journal_open()'s errors.
 */
int samplers_open(const struct experiment_sensing *sensing, const char *dir, struct external *x,
                  struct samplers **s) BEZEL_MUST_CHECK;
void samplers_close(struct samplers *s);

/**
 * All periods become `factor` times as long as in the file, 1 .. SAMPLERS_STRETCH_MAX, from `now` on; what is outside
 * counts as the nearer end. What is due before by the new periods stays due. NULL is allowed.
 */
enum { SAMPLERS_STRETCH_MAX = 16 };
void samplers_stretch(struct samplers *s, double factor, int64_t now);

/** When the next sample is due, ns of CLOCK_MONOTONIC; INT64_MAX: never. NULL is allowed. */
int64_t samplers_due(const struct samplers *s);

/** Takes the samples that are due; those that were missed are not made up for. NULL is allowed. */
void samplers_turn(struct samplers *s, int64_t now);

#endif
