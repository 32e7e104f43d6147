// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The part of `bezel verify` that needs the verdict: whether the books balance, and agree with the trace. */
#ifndef BEZEL_RUN_VERDICT_VERIFY_BOOKS_H
#define BEZEL_RUN_VERDICT_VERIFY_BOOKS_H

#include "run/verify/verify.h"

/**
 * Verifies the books of the run that verify_run() has just verified into `v`. If a collector is serving the run, or has
 * since verify_run(), the books may still change: it reports that in place of checking that they balance. Returns 0,
 * also if they do not balance, or BEZEL_ENOMEM.
 */
int verify_books(struct verify *v, const char *run) BEZEL_MUST_CHECK;

#endif
