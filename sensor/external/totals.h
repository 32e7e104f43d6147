// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Totals of a node's records: sums over all processes of the SUT, also those that have ended. */
#ifndef BEZEL_SENSOR_EXTERNAL_TOTALS_H
#define BEZEL_SENSOR_EXTERNAL_TOTALS_H

#include "sensor/external/external.h"

/** Adds the counters of `p` in this run; nothing for a process of role DAEMON. Reads the counters of each ring and
 * aspect. */
void totals_add(struct external *x, struct external_process *p, struct external_totals *sum);

#endif
