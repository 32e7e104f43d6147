// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the kernel's perf_event_open(2) lacks where it refuses an event. Thread-safe. */
#ifndef BEZEL_BASE_PERF_RIGHTS_H
#define BEZEL_BASE_PERF_RIGHTS_H

#include <stdbool.h>

/**
 * Whether an event that was refused with EACCES or EPERM is one that any user may have: `kernel.perf_event_paranoid` is
 * `enough` or less. Then no right helps, as a filter of system calls (seccomp) or a security module has refused it.
 */
bool perf_rights_suffice(int enough);

#define PERF_RIGHTS_FILTERED                                                                                           \
    "kernel.perf_event_paranoid permits it, so a filter of system calls (seccomp) or a security module refuses it, "   \
    "as "                                                                                                              \
    "in a container: run bezeld outside of it"

#endif
