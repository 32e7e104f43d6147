// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A session at a standing bezeld, as `bezel run` sees it: asked for at the bezeld's desk, then commanded over a link of
 * its own. A life of the bezeld that lost it is asked again. One thread.
 *
 *     NONE -> ASKED -> SERVED -> OVER, and from anywhere to OVER where it is refused
 */
#ifndef BEZEL_ECS_STANDING_H
#define BEZEL_ECS_STANDING_H

#include "base/clock.h"
#include "mdr/link.h"
#include "mdr/message.h"

#define STANDING_ASK_EVERY (500 * CLOCK_MS) /* as long as the desk does not answer */
#define STANDING_SILENCE   CLOCK_S          /* of a session, after which the desk is asked whether it is still there */

enum { STANDING_WHY_MAX = MESSAGE_TEXT_MAX + LINK_ENDPOINT_MAX + 128 };

enum standing_phase { STANDING_NONE, STANDING_ASKED, STANDING_SERVED, STANDING_OVER };

struct standing {
    /* Filled by the caller before standing_start(). */
    const char *address;        /* of the desk; borrowed; NULL: there is no session */
    struct message_begin *wish; /* what is asked for; borrowed; its collector may change between two starts */
    const char *alias;          /* path of a symbolic link that is to lead to the session's socket; borrowed */
    /* The module's. */
    enum standing_phase phase;
    struct link *desk;
    bool served_once;
    int64_t asked, heard;
    uint32_t stop;              /* number of the STOP that was sent; 0: none */
    char why[STANDING_WHY_MAX]; /* it is over, or does not come to serve; "": unknown, or it was told to stop */
};

/** Asks for the session. What goes wrong shows as its being over. */
void standing_start(struct standing *s);

/**
 * Takes what the desk has answered, and asks again what it did not. Returns 1 with *link, connected to the session,
 * once for each start: when it begins to serve; else 0.
 */
int standing_serves(struct standing *s, struct link **link) BEZEL_MUST_CHECK;

/** Takes in what the session answered. */
void standing_heard(struct standing *s, const struct message_reply *reply);

/** Notes that command `id`, a STOP, went to the session; 0: that nobody waits for it any longer. */
void standing_stopped(struct standing *s, uint32_t id);

/** Lets go of it. Idempotent. */
void standing_close(struct standing *s);

#endif
