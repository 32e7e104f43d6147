// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The collector on the machine of a node, as `bezel run` sees it: it has the bezeld there make a place for it, and its
 * launcher start it, as programs are (bezeld/collector_place.h). The collector itself is commanded over a link of its
 * own. When the run is over, a server of the run is started in its place (bezeld/launch/launch_collector.h). It is the
 * root, or an inner collector, which stores no run. One thread.
 *
 *     NONE -> ASKED -> LISTED -> RUNS -> ENDED; a refusal leads from any of these to ENDED
 */
#ifndef BEZEL_ECS_COURSE_REMOTE_COLLECTOR_H
#define BEZEL_ECS_COURSE_REMOTE_COLLECTOR_H

#include "config/experiment.h"
#include "ecs/course/remote_session.h"
#include "mdr/parts.h"

#include <limits.h>

struct message_configure;

enum remote_collector_phase {
    REMOTE_COLLECTOR_NONE,
    REMOTE_COLLECTOR_ASKED,  /* for its place */
    REMOTE_COLLECTOR_LISTED, /* there is one; what runs in it is asked for, and then it is started */
    REMOTE_COLLECTOR_RUNS,
    REMOTE_COLLECTOR_ENDED
};

struct remote_collector {
    /* Filled by remote_collector_init(). */
    const struct experiment *experiment; /* borrowed */
    const struct experiment_node *node;
    char place[MESSAGE_NAME_MAX + 1]; /* as its bezeld calls it: "-NAME" of an inner collector, "": the root */
    uint8_t run[16];
    char log[PATH_MAX]; /* its output is appended there; "": it is not kept */
    const char *keys;   /* folder; borrowed */
    char own[PATH_MAX], server[PATH_MAX], collector_key[PATH_MAX]; /* files of keys: operator, bezeld, collector */
    char control[LINK_ENDPOINT_MAX];                               /* where it takes commands */
    char proxies[EXPERIMENT_PROXIES_MAX];                          /* through which it takes them */
    char directory[PATH_MAX];                                      /* the run directory there */
    char listen[LINK_ENDPOINT_MAX];                                /* where it is to take packets */
    char parents[MESSAGE_TEXT_MAX + 1]; /* of an inner collector: endpoints, separated by blanks; set before a start */
    struct message_configure *request;  /* owned */
    /* The module's. */
    enum remote_collector_phase phase;
    const char *program; /* LAUNCH_COLLECTOR, or another name of launch_collector.h */
    struct command_caller caller;
    uint32_t incarnation;        /* that is started or runs */
    struct message_launched row; /* of it */
    bool placed, known, hurry;
    bool served; /* it has once; set by who commands it */
    int64_t began, asked, started, ended;
    uint64_t since, fetched;          /* fetched: bytes of its output */
    char why[REMOTE_SESSION_WHY_MAX]; /* why it could not be started; "": unknown */
};

/**
 * Prepares collector `inner` of `e`, or EXPERIMENT_ROOT, in run `run`, with the keys in folder `keys`. It runs on a
 * node. Borrows `e` and `keys`. Returns 0 with *c for remote_collector_free(), or an error, logged to stderr.
 */
int remote_collector_init(struct remote_collector *c, const struct experiment *e, int inner, const uint8_t run[16],
                          const char *keys, const char *log) BEZEL_MUST_CHECK;
void remote_collector_free(struct remote_collector *c);

/** How the collector itself is commanded, once it runs. Borrows from *c. */
struct command_caller_access remote_collector_access(const struct remote_collector *c);

/** Where a collector that runs on a node takes commands: EXPERIMENT_ROOT or `inner`. Returns `endpoint`. Pure. */
char *remote_collector_control(const struct experiment *e, int inner, char endpoint[LINK_ENDPOINT_MAX]);

/** Where nodes reach the collector, if it has bound `port`; notes in c->listen what it is to bind when it is started
 * again. Pure. */
void remote_collector_bound(struct remote_collector *c, uint32_t port, char endpoint[LINK_ENDPOINT_MAX]);

/** Has `program` started, unless it runs. The rest is done in turns. */
void remote_collector_start(struct remote_collector *c, const char *program);

/** Takes answers, and asks for what is missing. */
void remote_collector_turn(struct remote_collector *c);

/** Whether it has ended, or could not be started, and its output is home. *status is as of waitpid(), -1: unknown. */
bool remote_collector_ended(struct remote_collector *c, int *status);

/** Has it end in good order. */
void remote_collector_end(struct remote_collector *c);

/** Kills it, and forgets its place. */
void remote_collector_kill(struct remote_collector *c);

/** Has the bezeld and the launcher there forget it, when the run is home; waits a little for the answer. */
void remote_collector_forget(struct remote_collector *c);

#endif
