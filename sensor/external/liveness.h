// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Liveness: finds processes that may have ended, without a system call for each. A pidfd reports the end of a process
 * whose pid is of our namespace; of all processes, a few are checked in turn at each look. So a look costs one system
 * call, a constant number of checks, and one check for each process that ended. One owner, one thread; nothing blocks.
 */
#ifndef BEZEL_SENSOR_EXTERNAL_LIVENESS_H
#define BEZEL_SENSOR_EXTERNAL_LIVENESS_H

#include "base/bitset.h"
#include "sensor/external/attach.h"

/** Processes that each look checks in turn: with 1024 processes, each is checked within 64 looks. */
enum { LIVENESS_ASKED = 16 };

struct liveness {
    int epoll;              /* of pidfds; -1: none, processes are only checked in turn */
    uint32_t next;          /* number of the process that is checked next */
    struct bitset doubtful; /* to be checked at the next look */
};

/** Starts. If the limit of open files is low, it uses no pidfds, and ends are found later. */
void liveness_open(struct liveness *l);
void liveness_close(struct liveness *l);

/** Watches process number `i`, until segment_detach(). */
void liveness_watch(struct liveness *l, uint32_t i, struct attached *a);

/** The processes of `present` for which the caller is to check segment_alive() now. */
struct bitset liveness_look(struct liveness *l, const struct bitset *present);

#endif
