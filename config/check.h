// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What no key can know by itself: references between sections, choices, defaults that depend. Internal to config/. */
#ifndef BEZEL_CONFIG_CHECK_H
#define BEZEL_CONFIG_CHECK_H

#include "config/schema.h"

/** Completes and checks model `e`, which schema_read_map() has filled from `root`. */
void experiment_check(struct reader *r, const struct tree *root, struct experiment *e);

/** Completes and checks what it says of keys. */
void experiment_check_keys(struct reader *r, const struct tree *root, struct experiment *e);

#endif
