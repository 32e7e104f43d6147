// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A session: one node of one experiment in a bezeld. It owns the experiment as read from its file, and the node. It
 * ends when its node receives SHUTDOWN, by session_end(), or when its idle time-out has passed. One thread.
 *
 *     SERVES -> ENDS (sends what is left, two seconds at most) -> CLOSES -> OVER
 */
#ifndef BEZEL_BEZELD_SESSION_H
#define BEZEL_BEZELD_SESSION_H

#include "base/clock.h"
#include "bezeld/node/node.h"
#include "bezeld/programs.h"
#include "config/experiment.h"
#include "mdr/command/command_server.h"

#include <limits.h>

#define SESSION_LAST_WAIT  (1 * CLOCK_S) /* how long session_end() waits for programs that their launcher is ending */
#define SESSION_LAST_DRAIN (2 * CLOCK_S) /* how long session_end() lets a session send what is left */

enum { SESSION_WHY_MAX = 256 };

enum session_phase { SESSION_SERVES, SESSION_ENDS, SESSION_CLOSES, SESSION_OVER };

/** A request for a session. The session copies all but `control`. */
struct session_request {
    uint8_t run[16];
    const char *node;      /* name of a node of the experiment */
    const char *dir;       /* folder of its segments; "": session_find_folder()'s, which it removes itself */
    const char *collector; /* endpoints; with `*` as the host: on the machine that `from` came from */
    const struct command_request *from; /* the request; borrowed until session_open() returns */
    struct command_server *control;     /* of the bezeld; borrowed for as long as the session is */
    const char *keys;                   /* folder of the keys that the experiment names; NULL: there is none */
    const char *launcher;               /* folder of bezel-launcher; NULL: there is none */
    const char *text;                   /* the experiment's file */
    size_t text_bytes;
    const char *file;     /* its name, for messages */
    int64_t idle_timeout; /* ns without a command after which the session ends; 0: none */
};

struct session {
    enum session_phase phase;
    uint8_t run[16];
    char name[EXPERIMENT_NAME_MAX + 1];      /* of the node */
    char label[2 * EXPERIMENT_NAME_MAX + 4]; /* "experiment/node" */
    struct experiment *experiment;
    struct node *node;         /* NULL once it is over */
    struct programs *programs; /* NULL: the launcher of this machine starts none of the node */
    char *dir, *collector;
    struct link_keys keys;
    struct command_server *control; /* borrowed */
    int64_t idle_timeout;
    int64_t wait_until; /* for programs to end before the session does; 0: it does not wait for them */
    int64_t give_up;    /* in SESSION_ENDS: when to close, though not all is sent */
    int64_t turned;     /* when its last turn was */
    bool complete;      /* it ended by itself, and the collector has stored everything */
    bool own_folder;    /* no `bezel run` made its folder, or removes it */
    bool deserted;      /* its `bezel run` is gone: nobody will continue with what it leaves */
    bool stopped;       /* its `bezel run` has ended it: the launcher ends what is left, and forgets it */
    struct {
        bool is;       /* a peer waits for the answer to CONFIGURE, which is sent once the session serves */
        bool began;    /* that CONFIGURE began the session */
        int64_t asked; /* when CONFIGURE was received last */
        struct command_request from;
    } waiting; /* changed by control_endpoint.c */
};

/**
 * Opens a session. Returns 0 with *s for session_free(); BEZEL_EMALFORMED if the file is wrong, or has no such node; or
 * another error. On an error the reason is logged on stderr, and its first line is in the SESSION_WHY_MAX bytes at
 * `why`.
 */
int session_open(const struct session_request *request, struct session **s, char *why) BEZEL_MUST_CHECK;

/**
 * The folder of a node for which the request names none: the default one of this user, if the experiment attaches to
 * processes of the node, else one of the run's own in it. Returns 0, or the errors of a wrong experiment.
 */
int session_find_folder(const struct session_request *request, char folder[PATH_MAX]) BEZEL_MUST_CHECK;

/** Closes and frees it at once. NULL is allowed. */
void session_free(struct session *s);

/**
 * Begins to drain; the session ends once all is sent, or after SESSION_LAST_DRAIN. If it is deserted, the launcher ends
 * its programs at the same time: the session observes them until they have ended, also those that have recorded nothing
 * yet, for SESSION_LAST_WAIT at most.
 * Idempotent.
 */
void session_end(struct session *s);

/** Ends it without sending what is left. */
void session_abort(struct session *s);

/** Carries out the message in command_server_message() that `from` sent to this session, and answers it. */
void session_receive(struct session *s, const struct command_request *from);

/**
 * The owner of the session is `owner` from now on, and its collector at `collector`, as in a request that `from` sent.
 */
void session_take_over(struct session *s, struct message_leadership owner, const char *collector,
                       const struct command_request *from);

/** node_polls(): whether all that was due at `now` was a poll, which is done. */
bool session_polls(struct session *s, int64_t now);

/** Gives its node a turn, and takes its own next step. `attend`: looks for messages, even if it did so just before. */
void session_turn(struct session *s, bool attend);

/** When its next turn is due, ns; INT64_MIN: at once, always. */
int64_t session_due(const struct session *s);

#endif
