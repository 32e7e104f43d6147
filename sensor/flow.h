// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What became of the records of a node's processes: sums over all processes of the SUT, those that are gone included.
 */
#ifndef BEZEL_SENSOR_FLOW_H
#define BEZEL_SENSOR_FLOW_H

#include "sensor/external.h"

/** Adds what `p` did in this run; nothing for a process of role DAEMON. Reads each ring's counters of each aspect. */
void flow_add(struct external *x, struct external_process *p, struct external_flow *sum);

#endif
