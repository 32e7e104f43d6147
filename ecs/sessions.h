// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The sessions of one bezeld, on one thread: whose turn is due has it, then one wait for all of them. A session that
 * waits busily makes the thread busy; the others are as punctual as the longest turn of another one lets them be.
 */
#ifndef BEZEL_ECS_SESSIONS_H
#define BEZEL_ECS_SESSIONS_H

#include "ecs/session.h"

enum { SESSIONS_MAX = 16 };

struct sessions {
    uint32_t count;
    struct session *list[SESSIONS_MAX]; /* owned */
    struct link *desk;                  /* one more link to wait on; borrowed; NULL: none */
    /* The module's. */
    bool woken; /* a link, or a descriptor, brought something */
    int64_t attended, min_sleep;
};

void sessions_init(struct sessions *all);

/** Adds a session, which it takes. Returns 0, or BEZEL_EFULL. */
int sessions_add(struct sessions *all, struct session *s) BEZEL_MUST_CHECK;

/** The session of run `run` and node `node`, or NULL. */
struct session *sessions_find(const struct sessions *all, const uint8_t run[16], const char *node);

/** One turn for all whose turn is due. True: links were looked at, which happens every 10 ms at least. */
bool sessions_turn(struct sessions *all);

/** Frees session number `i`, and moves the last one to its place. */
void sessions_remove(struct sessions *all, uint32_t i);

/** Waits until a turn is due, a link brought something, or one of the descriptors can be read. */
void sessions_wait(struct sessions *all, const int *fds, size_t fd_count);

/** Tells all of them to hand on what there is, and to end. */
void sessions_end(struct sessions *all);

void sessions_free(struct sessions *all);

#endif
