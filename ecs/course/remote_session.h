// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A session at a bezeld, as `bezel run` sees it. One thread.
 *
 *     NONE -> ASKED -> SERVED -> OVER; a refusal leads from any of these to OVER
 *
 * CONFIGURE requests the session. It may be repeated without harm, because a bezeld that serves the session already
 * only answers. So it is sent every half second until it is answered, and again when a session that served gave no
 * answer for a second: a request, an answer, or the bezeld itself may be lost. A bezeld that is our child is not asked
 * again once it serves, since waitpid() reports its end.
 *
 * While the bezeld's life is not known, a question for it goes in place of the request (`introduced`), since every
 * command names the life that is to carry it out.
 *
 * If a session that served is answered as one that has begun, another bezeld has taken the place of the first one. The
 * session is OVER then, with that reason, and the caller starts it again. The answer says whether the new bezeld
 * resumes what the first one left in window and segments, or begins a new session because the first one had ended in
 * good order (`left`): then processes went unobserved for a time that nobody knows. `taken`: somebody with a higher
 * epoch commands the session now. SHUTDOWN ends a session with its answer; `why` stays empty.
 */
#ifndef BEZEL_ECS_COURSE_REMOTE_SESSION_H
#define BEZEL_ECS_COURSE_REMOTE_SESSION_H

#include "mdr/command/command_caller.h"

struct message_configure;

#define REMOTE_SESSION_ASK_EVERY (500 * CLOCK_MS) /* as long as the bezeld does not answer */
#define REMOTE_SESSION_SILENCE   CLOCK_S /* without an answer of the session for that long, the request is sent again */

enum { REMOTE_SESSION_WHY_MAX = MESSAGE_TEXT_MAX + LINK_ENDPOINT_MAX + 128 };

enum remote_session_phase { REMOTE_SESSION_NONE, REMOTE_SESSION_ASKED, REMOTE_SESSION_SERVED, REMOTE_SESSION_OVER };

struct remote_session {
    /* Filled by the caller before remote_session_start(). */
    const char *address;                     /* the bezeld's control endpoint; borrowed; NULL: there is no session */
    bool child;                              /* the bezeld is our child: waitpid() reports its end */
    const struct message_configure *request; /* borrowed */
    /* The module's. */
    enum remote_session_phase phase;
    bool served_once;
    bool left;  /* an earlier session of the run ended in good order, though the run goes on; the caller clears it */
    bool taken; /* it is over for us, because the run was taken over: `why` says by whom */
    bool introduced; /* the bezeld was asked for its life, in place of the request */
    int64_t asked, answered;
    int request_id;                   /* number of the CONFIGURE that was sent last */
    int stop;                         /* number of the SHUTDOWN that was sent; 0: none */
    char why[REMOTE_SESSION_WHY_MAX]; /* why it is over or does not serve yet; "": unknown, or it was sent SHUTDOWN */
};

/**
 * Requests the session from the daemon of `c`, which stays open as long as the session lasts; or `err` says why it
 * could not be opened. On an error the phase is REMOTE_SESSION_OVER, with the reason in `why`.
 */
void remote_session_start(struct remote_session *s, struct command_caller *c, int err);

/**
 * Takes an answer of the bezeld, or its REFUSE. Returns whether it is about the session itself; else it answers another
 * command.
 */
bool remote_session_take(struct remote_session *s, struct command_caller *c, const struct message *m);

/** Repeats the request where that is due. */
void remote_session_tick(struct remote_session *s, struct command_caller *c);

/** Notes that SHUTDOWN was sent to the session, as command `id`; with 0 the session is over without its answer. */
void remote_session_stopped(struct remote_session *s, int id);

#endif
