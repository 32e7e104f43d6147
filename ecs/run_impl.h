// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What run.c and run_parts.c share: the state of `bezel run`, and how it meets the parts that it runs. */
#ifndef BEZEL_ECS_RUN_IMPL_H
#define BEZEL_ECS_RUN_IMPL_H

#include "ecs/experiment_state.h"
#include "ecs/fleet.h"
#include "ecs/operator.h"
#include "ecs/run.h"
#include "ecs/rundir.h"
#include "ecs/sut.h"
#include "ecs/trigger.h"

/** The resource manager, where the experiment has one (run_manager.c). */
struct run_manager {
    struct daemon daemon;
    char program[PATH_MAX], epoch_text[24];
    uint64_t epoch; /* of the one that was started last */
    bool up;        /* started, and its end not yet taken */
    bool given_up;
};

struct run {
    const struct experiment *e;
    const struct run_options *options;
    struct experiment_state state;
    struct operator operator;
    struct rundir dir;
    struct fleet fleet;
    struct run_manager manager;
    struct sut sut;
    struct launcher launcher;
    bool launcher_lost;
    bool up[STATE_DAEMONS_MAX]; /* started, and its end not yet taken */
    bool undrained;             /* draining was given up */
    bool store_cut;             /* the collector's latest life did not end in order: run.db may lag behind the trace */
    uint64_t drain_mark;        /* changes whenever draining gets on */
    struct trigger trigger;     /* of snapshots that limits ask for */
    struct message_save save;   /* the latest of them */
    int signals;
    int64_t next_status;
};

/** Feeds an event to the state machine, and does what it says. */
void run_feed(struct run *r, const struct state_event *event);
void run_act(struct run *r, struct state_actions actions);

/** Ends what is left of the SUT when its launcher is gone: everything below this process but the daemons. */
void run_finish_tree(struct run *r);

/**
 * Snapshots that limits ask for (run_snapshot.c): takes in that one broke on the node of daemon `d`; tells that daemon,
 * which has just begun to serve, of the snapshot under way.
 */
void run_take_broken(struct run *r, uint32_t d);
void run_snapshot_again(struct run *r, uint32_t d);

/** Takes in what the launcher, or the daemons, have to tell. */
void run_take_launcher(struct run *r);
void run_take_daemons(struct run *r);

/**
 * The resource manager: finds out how it is started, 0 or an error after saying why; starts it, with an epoch above
 * those before; ends it; takes in that it ended; ends it at once and waits for that.
 */
int run_manager_make(struct run *r) BEZEL_MUST_CHECK;
void run_manager_start(struct run *r);
void run_manager_stop(struct run *r, int signal);
void run_take_manager(struct run *r);
void run_manager_close(struct run *r);

#endif
