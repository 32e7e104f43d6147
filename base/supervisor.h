// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a daemon tells the service manager that started it, such as systemd, by the protocol of sd_notify(3): datagrams
 * to the socket that NOTIFY_SOCKET names. Where nobody asks for it, all of this does nothing. One thread.
 */
#ifndef BEZEL_BASE_SUPERVISOR_H
#define BEZEL_BASE_SUPERVISOR_H

#include <stdint.h>

/**
 * Takes what the service manager asks for from the environment, and removes it there: programs that this daemon starts
 * are not to speak in its name. Call before any thread starts.
 */
void supervisor_take(void);

/** Reports that this daemon serves; calls after the first do nothing. */
void supervisor_ready(void);

/**
 * To be called in each turn of the daemon's loop: reports, when it is time, that the loop still turns. Returns the time
 * of the next report; the loop must turn by then. INT64_MAX: nobody asks for reports. `now`: clock_now().
 */
int64_t supervisor_alive(int64_t now);

#endif
