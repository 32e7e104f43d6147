// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Which processes may have ended, without asking the kernel for each: it tells of those whose pid is a number of ours,
 * by a pidfd, and of all the others a few are asked in turn. So a look costs one system call, a constant number of
 * questions, and one for each end. One owner, one thread; nothing blocks.
 */
#ifndef BEZEL_SENSOR_LIVES_H
#define BEZEL_SENSOR_LIVES_H

#include "sensor/attach.h"
#include "sensor/places.h"

/** So many are asked in turn at each look: of 1024 processes each one within 64 looks. */
enum { LIVES_ASKED = 16 };

struct lives {
    int epoll;              /* of pidfds; -1: none, all are asked in turn */
    uint32_t next;          /* who is asked next */
    struct places doubtful; /* to be asked at the next look */
};

/** Starts. Where descriptors are short they are left to segments: then ends show later. */
void lives_open(struct lives *l);
void lives_close(struct lives *l);

/** Watches process number `i`, until segment_detach(). */
void lives_watch(struct lives *l, uint32_t i, struct attached *a);

/** Those of `present` of which segment_alive() is to be asked now. */
struct places lives_look(struct lives *l, const struct places *present);

#endif
