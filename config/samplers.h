// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Key `sensing.samplers`: a period for each sampler that is wanted. */
#ifndef BEZEL_CONFIG_SAMPLERS_H
#define BEZEL_CONFIG_SAMPLERS_H

#include "config/schema.h"

#include <stdio.h>

extern const struct schema_field sampler_fields[];

void samplers_print(const struct experiment_sensing *s, FILE *out);

#endif
