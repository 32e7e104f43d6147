// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The remote node of a bed: another host, which is a network namespace at the other end of a cable, with a bezeld and a
 * bezel-launcher, which starts the system under test there. The bed's process is the workstation.
 */
#ifndef BEZEL_TESTS_FAULTS_REMOTE_H
#define BEZEL_TESTS_FAULTS_REMOTE_H

#include "tests/faults/bed.h"

#define REMOTE_ADDRESS "tcp://198.51.100.2:7767"

/** Makes the host and its keys, and starts its daemons. False where that is not permitted here. */
bool remote_make(struct bed *b);

/** Ends what runs on it. Idempotent. */
void remote_end(struct bed *b);

/** Pulls the cable out, and puts it in again. */
void remote_cut(struct bed *b);
void remote_mend(struct bed *b);

/** kill -9 of its bezeld; starting the next one. */
void remote_kill_bezeld(struct bed *b);
void remote_start_bezeld(struct bed *b);

/** kill -9 of bezel-launcher, the service; of the launcher that it forked for the session; starting the service again.
 */
void remote_kill_service(struct bed *b);
void remote_kill_launcher(struct bed *b);
void remote_start_service(struct bed *b);

/** Ends all of it, so that nobody hears of it, and what it recorded last is lost. */
void remote_power_off(struct bed *b);

/** Whether no process of the system under test is left there. */
bool remote_is_idle(struct bed *b);

#endif
