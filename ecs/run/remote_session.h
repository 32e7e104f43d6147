// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A session at a bezeld, as `bezel run` sees it: requested at the bezeld's control endpoint, then commanded over a link
 * of its own. A persistent bezeld that was restarted and lost the session gets the request again. One thread.
 *
 *     NONE -> ASKED -> SERVED -> OVER; a refusal leads from any of these to OVER
 */
#ifndef BEZEL_ECS_RUN_REMOTE_SESSION_H
#define BEZEL_ECS_RUN_REMOTE_SESSION_H

#include "base/clock.h"
#include "mdr/link/link.h"
#include "mdr/message.h"

#define REMOTE_SESSION_ASK_EVERY (500 * CLOCK_MS) /* as long as the bezeld does not answer */
#define REMOTE_SESSION_SILENCE   CLOCK_S /* without an answer of the session for that long, the request is sent again */

enum { REMOTE_SESSION_WHY_MAX = MESSAGE_TEXT_MAX + LINK_ENDPOINT_MAX + 128 };

enum remote_session_phase { REMOTE_SESSION_NONE, REMOTE_SESSION_ASKED, REMOTE_SESSION_SERVED, REMOTE_SESSION_OVER };

struct remote_session {
    /* Filled by the caller before remote_session_start(). */
    const char *address;           /* the bezeld's control endpoint; borrowed; NULL: there is no session */
    bool child;                    /* the bezeld is our child: waitpid() reports its end */
    struct message_begin *request; /* borrowed; its `collector` may change between two starts */
    const char *alias;             /* path of the symbolic link to the session's socket, made here; borrowed */
    /* The module's. */
    enum remote_session_phase phase;
    struct link *control_endpoint;
    bool served_once;
    bool left; /* an earlier session of the run ended in good order, though the run goes on; the caller clears it */
    int64_t asked, answered;
    uint32_t stop;                    /* number of the STOP that was sent; 0: none */
    char why[REMOTE_SESSION_WHY_MAX]; /* why it is over or does not serve yet; "": unknown, or it was sent STOP */
};

/** Requests the session. On an error its phase is REMOTE_SESSION_OVER, with the reason in `why`. */
void remote_session_start(struct remote_session *s);

/**
 * Processes the answers of the bezeld, and repeats a request that has none. Returns 1 once for each start, when the
 * session begins to serve, with *link connected to it, for the caller to close; else 0.
 */
int remote_session_serves(struct remote_session *s, struct link **link) BEZEL_MUST_CHECK;

/** Processes a reply of the session. */
void remote_session_answered(struct remote_session *s, const struct message_reply *reply);

/** Notes that STOP was sent to the session, as command `id`; with 0 the session is over without its answer. */
void remote_session_stopped(struct remote_session *s, uint32_t id);

/** Closes the link to the control endpoint. Idempotent. */
void remote_session_close(struct remote_session *s);

#endif
