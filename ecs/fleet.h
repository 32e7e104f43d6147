// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The daemons of a run together: 0 is the collector, 1 + i that of node i. One thread. */
#ifndef BEZEL_ECS_FLEET_H
#define BEZEL_ECS_FLEET_H

#include "base/units.h"
#include "config/experiment.h"
#include "ecs/daemon.h"
#include "ecs/rundir.h"

/** What a daemon said of itself last. */
struct fleet_status {
    bool known;      /* it has answered since its last start */
    bool told_drain; /* it was told to drain since its last start */
    bool told_mute;  /* the operator was told that it does not answer */
    int64_t heard;   /* when it answered last, or began to serve, ns; 0: it does not serve */
    enum message_daemon_state state;
    uint64_t records, lost; /* collector: stored; node: lost at its rings */
    uint64_t waiting;       /* node: bytes of packets that the collector has not acknowledged */
    uint64_t living, seen;  /* node: processes of the SUT */
    int64_t period;         /* node: polling period, ns; 0: off; -1: unknown */
    int store_errno;        /* collector */
    /* Node: limits with `on-violation` that broke; how often, how many of these were taken in, and the latest one. */
    uint64_t broken, broken_taken;
    int64_t broken_limit, broken_at, broken_age, broken_value; /* CLOCK_REALTIME; ns, 0 or more; bits of a double */
    char text[MESSAGE_TEXT_MAX + 1];
};

/** Paths of the keys of a run's daemons. */
struct fleet_keys {
    char folder[PATH_MAX];
    char collector[PATH_MAX + 80], collector_public[PATH_MAX + 80];
    char nodes[][PATH_MAX + 80];
};

struct fleet {
    uint32_t count;
    struct daemon *daemons;
    struct fleet_status *status;
    char **node_dirs;                                          /* of each node: its BEZEL_DIR, absolute */
    struct fleet_keys *keys;                                   /* where the experiment has keys; else NULL */
    char connections[16], processes[16], packet[40], rate[40]; /* limits of the collector, as its options */
    struct message_begin **wishes; /* of each node: what its standing bezeld is asked for; NULL: it is started for us */
    char (*aliases)[RUNDIR_PRIVATE_MAX + 16]; /* of each node: where other commands find its session */
    char experiment[PATH_MAX], data[LINK_ENDPOINT_MAX], run[PATH_MAX], uuid[37];
    char sync[sizeof(struct units_text)]; /* the collector's policy, as --sync takes it */
    char collector_program[PATH_MAX], node_program[PATH_MAX];
};

/**
 * Finds the programs for the daemons of `e`. Returns 0 with *f for fleet_free(), or an error after saying why on
 * stderr.
 */
int fleet_find(const struct experiment *e, struct fleet *f) BEZEL_MUST_CHECK;

/**
 * Makes the nodes' folders and works out how every daemon of `run` is started. Borrows `e`. Returns 0, or an error
 * after saying why on stderr.
 */
int fleet_make(const struct experiment *e, const struct rundir *run, struct fleet *f) BEZEL_MUST_CHECK;

/** Ends every daemon that still runs, at once, and waits for them. */
void fleet_free(struct fleet *f);

/** Starts daemon `d`. Returns 0 or an error with errno set. */
int fleet_start(struct fleet *f, uint32_t d) BEZEL_MUST_CHECK;

/** Looks whether `d` serves, as daemon_serves(), and learns from the collector where it listens. */
int fleet_serves(struct fleet *f, uint32_t d) BEZEL_MUST_CHECK;

/** Takes the answers of `d` that have come into its status. Returns how many there were. */
int fleet_listen(struct fleet *f, uint32_t d);

/** Sends `verb` to `d`; one that cannot hear it gets SIGTERM where the verb is STOP. */
void fleet_ask(struct fleet *f, uint32_t d, enum message_verb verb);

/** Sends `command` to `d`. Returns 0, BEZEL_EUNREACH while it does not serve, or link_send()'s error. */
int fleet_order(struct fleet *f, uint32_t d, const struct message_command *command) BEZEL_MUST_CHECK;

#endif
