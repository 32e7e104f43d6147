// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A session: one node of one experiment, as a bezeld serves it. It owns what the experiment's file said and the node
 * that carries it out, and knows when it is over: told to stop, told to end, or its lease run out. One thread.
 *
 *     SERVES -> ENDS (hands on what there is, two seconds at most) -> CLOSES -> OVER
 */
#ifndef BEZEL_ECS_SESSION_H
#define BEZEL_ECS_SESSION_H

#include "base/clock.h"
#include "config/experiment.h"
#include "ecs/node.h"
#include "mdr/link.h"

#include <limits.h>

#define SESSION_LAST_DRAIN (2 * CLOCK_S) /* how long a session that was told to end hands on what it has */

enum { SESSION_WHY_MAX = 256 };

enum session_phase { SESSION_SERVES, SESSION_ENDS, SESSION_CLOSES, SESSION_OVER };

/** What a session is to be. All is copied. */
struct session_wish {
    uint8_t run[16];
    const char *node;          /* name of a node of the experiment */
    const char *dir;           /* folder of its segments */
    const char *collector;     /* endpoint */
    const char *control;       /* endpoint to bind for its commands */
    const char *key;           /* file of this node's secret key; NULL: no keys at all */
    const char *collector_key; /* file of the collector's public key; NULL: the link to it has no keys */
    const char *keys;          /* folder of those who may command over tcp; NULL: nobody */
    const char *named_keys;    /* folder of the keys that the experiment names, of a bezeld that stands; NULL: none */
    const char *text;          /* the experiment's file */
    size_t text_bytes;
    const char *file; /* its name, for messages */
    int64_t lease;    /* ns without a command after which it ends; 0: it has none */
};

struct session {
    enum session_phase phase;
    uint8_t run[16];
    char name[EXPERIMENT_NAME_MAX + 1];      /* of the node */
    char label[2 * EXPERIMENT_NAME_MAX + 4]; /* "experiment/node" */
    struct experiment *experiment;
    struct node *node; /* NULL once it is over */
    char *dir, *collector, *control;
    struct link_keys keys;
    int64_t lease, give_up; /* give_up: of SESSION_ENDS */
    int64_t turned;         /* when its last turn was */
    bool failed;            /* the collector refused it */
    bool complete;          /* it ended by itself, and the collector has all */
    bool deserted;          /* its `bezel run` is gone: nobody will take up what it leaves */
    struct {
        bool is, began; /* somebody waits to hear that it serves; that it is new */
        uint32_t id;    /* of the command */
        int64_t asked;  /* when last */
        struct link_peer peer;
    } waiting; /* the desk's */
};

/**
 * Opens a session. Returns 0 with *s for session_free(); BEZEL_EMALFORMED where the file is wrong, or has no such
 * node; or another error. The reason is told on stderr, and its first line in the SESSION_WHY_MAX bytes at
 * `why`.
 */
int session_open(const struct session_wish *wish, struct session **s, char *why) BEZEL_MUST_CHECK;

/** Lets go of it, at once. NULL is allowed. */
void session_free(struct session *s);

/** Hands on what there is, and ends. Idempotent. */
void session_end(struct session *s);

/** Ends it without handing anything on. */
void session_cut(struct session *s);

/** Gives its node a turn, and takes its own next step. `attend`: commands are looked for however lately they were. */
void session_turn(struct session *s, bool attend);

/** When its next turn is due, ns; INT64_MIN: at once, always. */
int64_t session_due(const struct session *s);

#endif
