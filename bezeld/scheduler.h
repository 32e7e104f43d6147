// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The sessions of one bezeld, on one thread: each session whose turn is due gets it, then there is one wait for all. A
 * session that busy-waits keeps the thread busy. A turn may be late by the longest turn of the other sessions.
 */
#ifndef BEZEL_BEZELD_SCHEDULER_H
#define BEZEL_BEZELD_SCHEDULER_H

#include "bezeld/collector_place.h"
#include "bezeld/session.h"

enum { SCHEDULER_MAX = 16 };

struct scheduler {
    uint32_t count;
    struct session *list[SCHEDULER_MAX]; /* owned */
    struct link *control_endpoint;       /* one more link to wait on; borrowed; NULL: none */
    int64_t commanded;                   /* when the last command came, ns */
    int64_t control_due;                 /* when the control endpoint needs a turn without news, ns; INT64_MAX: never */
    int64_t alive_due;                   /* when the loop must have turned, ns; INT64_MAX: never */
    /* Private to the module: */
    bool woken;         /* the last wait ended by a link or descriptor */
    int64_t controlled; /* when links and descriptors were looked at last */
    int64_t min_sleep;  /* ns; shorter waits are spun */
};

void scheduler_init(struct scheduler *all);

/** Adds session `s` and takes ownership of it. Returns 0, or BEZEL_EFULL, and `s` stays the caller's. */
int scheduler_add(struct scheduler *all, struct session *s) BEZEL_MUST_CHECK;

/** The session of run `run` and node `node`, or NULL. */
struct session *scheduler_find(const struct scheduler *all, const uint8_t run[16], const char *node);

/**
 * Gives a turn to each session that is due. Returns whether control endpoint, signals and parent pipe are to be looked
 * at: some may have news.
 */
bool scheduler_turn(struct scheduler *all);

/** Frees session number `i`, and moves the last one to its place. */
void scheduler_remove(struct scheduler *all, uint32_t i);

/** Waits until a turn is due, a link has a message, or one of the descriptors can be read. */
void scheduler_wait(struct scheduler *all, const int *fds, size_t fd_count);

/** session_end() for all sessions. */
void scheduler_end(struct scheduler *all);

#endif
