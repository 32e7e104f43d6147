// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The course of an experiment, as a pure function: (state, event, now) -> actions. It reads no clock, opens nothing,
 * waits for nothing; `bezel run` tells it what happened and does what it says.
 *
 *     STARTING -> RUNNING -> STOPPING -> DRAINING -> CLOSING_NODES -> CLOSING_COLLECTOR -> DONE
 *
 * STARTING: collector, then the daemons of all nodes; the SUT starts when all serve. STOPPING: the launcher ends the
 * SUT. DRAINING: every record on its way reaches the store, however long it takes as long as there is progress. A
 * daemon that dies is restarted in every phase up to DRAINING, but not without end.
 *
 * RUNNING ends with the duration, and where processes are started when all of these have ended, whoever else is
 * attached to. Where none is started and there is no duration, it ends when no attached process has been there for
 * STATE_ABSENCE.
 *
 * A resource manager is started with the SUT, restarted like the others, and ended before DRAINING; where it is given
 * up, the experiment goes on without.
 */
#ifndef BEZEL_ECS_EXPERIMENT_STATE_H
#define BEZEL_ECS_EXPERIMENT_STATE_H

#include "base/clock.h"
#include "config/experiment.h"

enum {
    STATE_DAEMONS_MAX = EXPERIMENT_NODES_MAX + 1, /* 0: the collector; 1 + i: node i */
    STATE_COLLECTOR = 0,
    STATE_RESTARTS = 5, /* of one daemon within STATE_RESTART_SPAN; one more and the experiment fails */
};

#define STATE_RESTART_SPAN  (10 * CLOCK_S)
#define STATE_START_LIMIT   (10 * CLOCK_S) /* for each daemon to serve */
#define STATE_ATTACH_LIMIT  (5 * CLOCK_S)  /* after which silence of the processes to attach to is told */
#define STATE_ABSENCE       CLOCK_S        /* no attached process for that long, and no duration: they have ended */
#define STATE_DRAIN_LIMIT   (10 * CLOCK_S) /* without progress */
#define STATE_FAILING_LIMIT (2 * CLOCK_S)  /* the same where the collector says that its store fails */
#define STATE_CLOSE_LIMIT   (5 * CLOCK_S)  /* for a daemon to stop; what it holds is stored by then */

enum state_phase {
    PHASE_STARTING,
    PHASE_RUNNING,
    PHASE_STOPPING,
    PHASE_DRAINING,
    PHASE_CLOSING_NODES,
    PHASE_CLOSING_COLLECTOR,
    PHASE_DONE,
};

enum state_ended_by { ENDED_BY_NOTHING, ENDED_BY_DURATION, ENDED_BY_PROCESSES, ENDED_BY_INTERRUPT, ENDED_BY_FAILURE };

enum state_event_type {
    EVENT_TICK,          /* time has passed; due at experiment_state_deadline() at the latest */
    EVENT_SERVES,        /* `daemon` is ready */
    EVENT_DAEMON_ENDED,  /* `daemon` is gone, asked or not */
    EVENT_PROCESS_ENDED, /* a launched process; `failed`: by a signal, an error code, or it could not be started */
    EVENT_TREE_EMPTY,    /* the launcher has nothing left */
    EVENT_LAUNCHER_LOST, /* the launcher is gone, unasked */
    EVENT_ATTACHED,      /* nodes see `living` processes of the SUT, and have seen `seen` */
    EVENT_PROGRESS,      /* while draining: something more is stored */
    EVENT_DRAINED,       /* `daemon`, a node's, holds nothing any more */
    EVENT_STORE_FAILED,  /* the collector cannot write */
    EVENT_MANAGER_ENDED, /* the resource manager is gone */
    EVENT_INTERRUPT,     /* the operator wants an end; the second time: at once */
};

struct state_event {
    enum state_event_type type;
    uint32_t daemon;
    bool failed;      /* of EVENT_DAEMON_ENDED: it let go of what it observed */
    bool unreachable; /* of EVENT_DAEMON_ENDED: it was somebody else's, and could not be had */
    bool terminal;    /* of EVENT_INTERRUPT: it came from the terminal, and so to all that share it */
    uint64_t living, seen;
};

enum state_action {
    ACTION_START_COLLECTOR = 1 << 0,
    ACTION_START_NODES = 1 << 1,
    ACTION_START_PROCESSES = 1 << 2,
    ACTION_STOP_PROCESSES = 1 << 3,
    ACTION_INTERRUPT_PROCESSES =
        1 << 4,            /* stop them, but the terminal's signal has reached them: give them time first */
    ACTION_DRAIN = 1 << 5, /* tell every node to drain that has not been told */
    ACTION_STOP_NODES = 1 << 6,
    ACTION_STOP_COLLECTOR = 1 << 7,
    ACTION_RESTART = 1 << 8,     /* `daemon` */
    ACTION_KILL = 1 << 9,        /* SUT and daemons, at once */
    ACTION_KILL_NODES = 1 << 10, /* those that did not stop when told */
    ACTION_KILL_COLLECTOR = 1 << 11,
    ACTION_TELL_UNMATCHED = 1 << 12, /* nothing to attach to has appeared */
    ACTION_TELL_UNDRAINED = 1 << 13, /* draining is given up: tell what is not stored */
    ACTION_TELL_LATE = 1 << 14,      /* something did not start, end or stop in time */
    ACTION_START_MANAGER = 1 << 15,  /* or restart */
    ACTION_STOP_MANAGER = 1 << 16,
};

struct state_actions {
    unsigned what; /* enum state_action, or-ed */
    uint32_t daemon;
};

enum state_daemon_phase { DAEMON_DOWN, DAEMON_STARTS, DAEMON_SERVES, DAEMON_GONE };

struct state_daemon {
    enum state_daemon_phase phase;
    bool drained;
    int64_t started, restart_at;      /* restart_at: 0 unless it is to be restarted */
    int64_t restarts[STATE_RESTARTS]; /* when, oldest overwritten first */
    uint32_t restart_count;
};

/** Read it, but let experiment_state_step() alone write it. */
struct experiment_state {
    enum state_phase phase;
    enum state_ended_by ended_by;
    bool failed, unreachable, store_failed, interrupted, killed;
    bool failing; /* the collector's present life says that it cannot write */
    bool interrupt_reached_sut;
    bool interactive; /* the SUT shares the terminal */
    uint32_t daemon_count, launched, launched_left;
    bool attaches, attached_seen, unmatched_told;
    int64_t duration, grace;
    int64_t since;          /* start of the phase; while draining: the last progress */
    int64_t started, ended; /* of RUNNING; 0: not yet */
    int64_t absent_since;   /* of attached processes; 0: present, or never seen */
    struct state_daemon daemons[STATE_DAEMONS_MAX];
    bool managed;                /* the experiment has a resource manager: ... */
    struct state_daemon manager; /* DOWN, STARTS (and may serve), or GONE */
};

/** The state before experiment `e`, and its first actions. `interactive`: the SUT has the terminal (`bezel run --`). */
struct state_actions experiment_state_begin(struct experiment_state *s, const struct experiment *e, bool interactive,
                                            int64_t now);

/** One event. */
struct state_actions experiment_state_step(struct experiment_state *s, const struct state_event *event, int64_t now);

/** Whether EVENT_DAEMON_ENDED of `daemon` would be its last: it would not be restarted any more, though it is wanted.
 */
bool experiment_state_gives_up(const struct experiment_state *s, uint32_t daemon, int64_t now);

/** When EVENT_TICK is due at the latest; INT64_MAX: never. */
int64_t experiment_state_deadline(const struct experiment_state *s);

/** Exit code of the run, `report` being that of its report (0, 3, or negative where there is none). */
int experiment_state_exit_code(const struct experiment_state *s, int report);

#endif
