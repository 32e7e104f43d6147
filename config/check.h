// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Checks beyond a single key: references between sections, alternatives, defaults that depend on other keys. Internal
 * to config/.
 */
#ifndef BEZEL_CONFIG_CHECK_H
#define BEZEL_CONFIG_CHECK_H

#include "config/schema.h"

/** Completes and checks model `e`, which schema_read_map() has filled from `root`. Warns if there are no errors. */
void experiment_check(struct reader *r, const struct tree *root, struct experiment *e);

#endif
