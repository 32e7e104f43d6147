// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * By how much a message to a thread could have come later without delaying the end of a window: messages that are not
 * on its path have such slack (the longest path through each message, from both sides). Where something is not known,
 * it is the least that the slack can be. Pure. One owner.
 */
#ifndef BEZEL_ANALYSIS_SLACK_H
#define BEZEL_ANALYSIS_SLACK_H

#include "analysis/path.h"

/** Messages from one thread to another that were received in the window, and which its end depended on. */
struct slack_pair {
    uint32_t from, to;
    uint64_t messages;
    int64_t least; /* ns; 0: one of them was on the path */
};

struct slack {
    size_t count, capacity;
    struct slack_pair *pairs; /* those with the least slack first */
    struct hash_index index;
    bool known; /* every receiving has its sending, and nothing was lost: else dependences are missing */
};

/** Of what `thread` did at `until`. Returns 0 or BEZEL_ENOMEM; slack_fini() in both cases. `a` is settled. */
int slack_find(const struct activity *a, uint32_t thread, int64_t from, int64_t until,
               struct slack *s) BEZEL_MUST_CHECK;
void slack_fini(struct slack *s);

#endif
