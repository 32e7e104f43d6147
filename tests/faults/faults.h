// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The faults: what each does to a bed. A row of the table is one of them. */
#ifndef BEZEL_TESTS_FAULTS_FAULTS_H
#define BEZEL_TESTS_FAULTS_FAULTS_H

#include "tests/faults/bed.h"

struct fault {
    const char *name; /* as the table has it */
    void (*try)(struct bed *b, const struct bed_options *o, const void *of);
    const void *of;     /* what of: of the function's own type */
    unsigned few, many; /* rounds of the short and of the long form */
};

/** The lists, each ended by an empty row. Those of the last one disturb the machine, and are tried only when asked for.
 */
extern const struct fault faults_kill[], faults_stop[], faults_storm[], faults_link[], faults_loss[], faults_machine[],
    faults_hostile[], faults_netem[], faults_hosts[], faults_asked[];

#endif
