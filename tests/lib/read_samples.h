// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A message of each kind between a consumer, or a mirror, and a server of runs: for golden bytes, and to be spoilt. */
#ifndef BEZEL_TESTS_LIB_READ_SAMPLES_H
#define BEZEL_TESTS_LIB_READ_SAMPLES_H

#include "mdr/read_message.h"

enum { READ_SAMPLES = 15 };

/** Fills *m with sample `i`, and returns its name. What it borrows is static. */
const char *read_sample(unsigned i, struct read_message *m);

#endif
