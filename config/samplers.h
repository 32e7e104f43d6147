// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Key `sensing.samplers`: a period for each sampler that is to run. Internal to config/. */
#ifndef BEZEL_CONFIG_SAMPLERS_H
#define BEZEL_CONFIG_SAMPLERS_H

#include "config/schema.h"

#include <stdio.h>

extern const struct schema_field sampler_fields[];

/** Prints it as one line of `sensing`. */
void sampler_keys_print(const struct experiment_sensing *s, FILE *out);

#endif
