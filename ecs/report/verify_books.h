// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The part of `bezel verify` that needs the verdict's arithmetic: whether books balance, and agree with the trace. */
#ifndef BEZEL_ECS_VERIFY_BOOKS_H
#define BEZEL_ECS_VERIFY_BOOKS_H

#include "collector/verify.h"

/**
 * Verifies the books of the run that verify_run() has just verified into `v`. Whether they balance is asked where a
 * collector had finished, and none has begun since; else it is told that they are not the last. Returns 0, also where
 * they do not balance; BEZEL_ENOMEM.
 */
int verify_books(struct verify *v, const char *run) BEZEL_MUST_CHECK;

#endif
