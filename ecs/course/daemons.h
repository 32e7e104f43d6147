// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The daemons of a run together: 0 is the collector, 1 + i that of node i, after these come inner collectors, and the
 * last one is the resource manager where the experiment has one. One thread.
 */
#ifndef BEZEL_ECS_COURSE_DAEMONS_H
#define BEZEL_ECS_COURSE_DAEMONS_H

#include "bezeld/launch/launch_collector.h"
#include "config/experiment.h"
#include "ecs/course/daemon.h"
#include "ecs/course/rundir.h"

struct message_configure;

/** What a daemon reported last. */
struct daemons_status {
    bool known;                 /* it has answered since its last start */
    bool drain_sent;            /* STOP was sent since its last start */
    bool unresponsive_reported; /* logged that it does not answer; until its next answer */
    int64_t answered;           /* when it answered last, or began to serve, ns; 0: it does not serve */
    enum message_daemon_state state;
    uint64_t records, lost; /* collector: stored; node: lost at its rings */
    uint64_t waiting;       /* node: bytes of packets that the collector has not acknowledged */
    uint64_t living, seen;  /* node: processes of the SUT */
    int64_t period;         /* node: polling period, ns; 0: off; -1: unknown */
    int store_errno;        /* collector */
    bool stop_wanted;       /* node: another operator wants the run to end */
    uint32_t firing_count;  /* node: triggers that have fired, and ask for something */
    struct message_firing firings[MESSAGE_FIRINGS_MAX];
    uint64_t firings_taken[EXPERIMENT_TRIGGERS_MAX]; /* of each trigger: how many of these have been processed */
    char text[MESSAGE_TEXT_MAX + 1];
};

/** One daemon of the run. */
struct daemons_member {
    struct daemon process;
    struct daemons_status status;
    bool up;                              /* started, and its end not yet processed */
    int64_t queued;                       /* procstat_queued() at the last look */
    struct message_configure *request;    /* of a node: the session requested of its bezeld; owned */
    char key[PATH_MAX + 80];              /* of a remote node: file of its public key, */
    char proxies[EXPERIMENT_PROXIES_MAX]; /* and the proxies by which it is reached */
};

/** What an inner collector has beside its daemon (ecs/course/daemons_inner.c). */
struct daemons_inner {
    char data[LINK_ENDPOINT_MAX]; /* where it takes packets, once it has served; before, where it is to listen */
    char parents[EXPERIMENT_PARENTS_MAX][LINK_ENDPOINT_MAX];
    char buffer[40], connections[16];
    size_t arg_count;              /* arguments before those of the parents */
    struct remote_collector place; /* of one on a node */
};

struct daemons {
    uint32_t count, nodes, inner_count;
    const struct experiment *experiment_of; /* borrowed; set by daemons_find() */
    struct daemons_inner *inner;
    uint32_t manager; /* its number; 0: there is none */
    struct daemons_member *daemons;
    char **node_dirs;                     /* of each node: its BEZEL_DIR, absolute; "": its bezeld chooses */
    char keys[PATH_MAX];                  /* folder; "": the experiment has none */
    char collector_key[PATH_MAX + 80];    /* secret keys there, */
    char collector_public[PATH_MAX + 80]; /* the public one */
    char operator_key[PATH_MAX + 80];     /* "": no node is remote */
    struct launch_collector_texts texts;  /* of the collector's options */
    char experiment[PATH_MAX];            /* the file, in the run directory */
    char data[LINK_ENDPOINT_MAX];         /* where the collector takes packets */
    struct remote_collector place;        /* of a collector on a node */
    char collector_program[PATH_MAX], node_program[PATH_MAX], manager_program[PATH_MAX];
    bool (*launched)(void *of, uint32_t d, const struct message *reply); /* takes replies about programs; may be NULL */
    void *of;
    struct message_leadership owner; /* who commands them; set before daemons_make() */
    uint64_t epoch;                  /* of the resource manager that was started last */
    char epoch_text[24];
};

/** Finds the programs for the daemons of `e`. Returns 0 with *f for daemons_free(), or an error, logged to stderr. */
int daemons_find(const struct experiment *e, struct daemons *f) BEZEL_MUST_CHECK;

/**
 * Makes the nodes' folders, and prepares the command line or session request of every daemon of `run`. Borrows `e`.
 * Returns 0, or an error, logged to stderr.
 */
int daemons_make(const struct experiment *e, const struct rundir *run, struct daemons *f) BEZEL_MUST_CHECK;

/** Kills every daemon that still runs, waits for them, and frees *f. */
void daemons_free(struct daemons *f);

/**
 * Gives up all sessions at persistent bezelds, and the collector on a node, which another `bezel run` commands: they
 * are not ended here.
 */
void daemons_leave(struct daemons *f);

/** Starts daemon `d`. Returns 0 or an error with errno set. */
int daemons_start(struct daemons *f, uint32_t d) BEZEL_MUST_CHECK;

/** Checks whether `d` serves, as daemon_serves(), and stores the endpoint that the collector reports. */
int daemons_serves(struct daemons *f, uint32_t d) BEZEL_MUST_CHECK;

/** Stores the answers that `d` has sent in its status. Returns their number. */
int daemons_listen(struct daemons *f, uint32_t d);

/** The number of the daemon of inner collector `i`. */
uint32_t daemons_of_inner(const struct daemons *f, uint32_t i);

/** Prepares inner collectors, after the rest; their endpoints and parents before a start. Internal to daemons.c. */
int daemons_inner_make(struct daemons *f, const struct rundir *run) BEZEL_MUST_CHECK;

/** Has inner collector `i` listen at `before`, where its predecessor took packets; "": nowhere yet. */
void daemons_inner_keep(struct daemons *f, uint32_t i, const char *before);
int daemons_inner_prepare(struct daemons *f, uint32_t i) BEZEL_MUST_CHECK;
void daemons_inner_free(struct daemons *f);

/**
 * Lists where `parents` take packets, separated by blanks, for somebody on another machine or, with `here`, a child of
 * this process. One that has not served yet is left out. Returns 0, or BEZEL_EFULL if the list has no room.
 */
int daemons_list_parents(const struct daemons *f, const struct experiment_parents *parents, bool here, char *text,
                         size_t size) BEZEL_MUST_CHECK;

/** Whether a collector on a node is about to start or end: then answers are looked for often. */
bool daemons_hurry(const struct daemons *f, bool starting);

/** Has bezelds and launchers forget inner collectors that have ended, of levels beyond `level`. */
void daemons_forget_inner(struct daemons *f, uint32_t level);

/** Sends `verb` to `d`. If a SHUTDOWN cannot be sent, `d` gets SIGTERM. */
void daemons_ask(struct daemons *f, uint32_t d, enum message_verb verb);

#endif
