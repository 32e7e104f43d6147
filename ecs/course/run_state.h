// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The course of an experiment, as a pure function: (state, event, now) -> actions. It reads no clock, opens nothing,
 * waits for nothing; `bezel run` feeds it the events and carries out the actions.
 *
 *     STARTING -> RUNNING -> STOPPING -> DRAINING -> CLOSING_NODES -> CLOSING_COLLECTOR -> DONE
 *
 * STARTING: the collector starts, then inner collectors level by level, then the daemons of all nodes; the SUT starts
 * when all serve. STOPPING: the launcher
 * ends the SUT. DRAINING: every record on its way reaches the store; this lasts as long as there is progress. From
 * RUNNING to DRAINING a daemon that dies is restarted, up to STATE_RESTARTS times within STATE_RESTART_SPAN.
 *
 * RUNNING ends with the duration, or when all launched processes have ended, even if attached ones go on. Without
 * launched processes and without a duration it ends when no attached process has been there for STATE_ABSENCE.
 *
 * CLOSING_COLLECTOR ends inner collectors first. One that is given up is done without if each node has another way.
 *
 * A node whose bezeld is persistent may be lost: silent, or not to be had any more. The file says whether the run ends
 * then, waits for it, or goes on without it.
 *
 * A resource manager is one of the daemons. It is started with the SUT, restarted like the others, and ended before
 * DRAINING; if it is given up, the experiment goes on without it.
 */
#ifndef BEZEL_ECS_COURSE_RUN_STATE_H
#define BEZEL_ECS_COURSE_RUN_STATE_H

#include "base/clock.h"
#include "config/experiment.h"

enum {
    /* Collector, nodes, inner collectors, resource manager: run_state_is_node() */
    STATE_DAEMONS_MAX = EXPERIMENT_NODES_MAX + EXPERIMENT_INNER_MAX + 2,
    STATE_COLLECTOR = 0,
    STATE_RESTARTS = 5, /* of one daemon within STATE_RESTART_SPAN; its next death is final */
};

#define STATE_RESTART_SPAN (10 * CLOCK_S)
#define STATE_START_LIMIT                                                                                              \
    (10 * CLOCK_S)                         /* for a daemon to serve, since it was started or the last other one served \
                                            */
#define STATE_ATTACH_LIMIT  (5 * CLOCK_S)  /* no process to attach to for that long: reported */
#define STATE_ABSENCE       CLOCK_S        /* no attached process for that long, and no duration: all have ended */
#define STATE_DRAIN_LIMIT   (10 * CLOCK_S) /* without progress */
#define STATE_FAILING_LIMIT (2 * CLOCK_S)  /* the same while the collector reports that its store fails */
#define STATE_CLOSE_LIMIT   (15 * CLOCK_S) /* for a daemon to stop; its records are stored before */

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
    EVENT_TICK,          /* due at run_state_deadline() at the latest */
    EVENT_SERVES,        /* `daemon` is ready */
    EVENT_DAEMON_ENDED,  /* `daemon` has ended, whether asked or not */
    EVENT_PROCESS_ENDED, /* a launched process; `failed`: by a signal, an error code, or it could not be started */
    EVENT_UNREADY,       /* a launched process did not get ready in time */
    EVENT_UNSTARTED,     /* the run is ending, and a process that it was to launch was never started */
    EVENT_TREE_EMPTY,    /* the launchers have nothing left */
    EVENT_LAUNCHER_LOST, /* the launcher of this machine is gone, unasked; `living` programs run elsewhere */
    EVENT_ATTACHED,      /* nodes see `living` processes of the SUT, and have seen `seen` */
    EVENT_PROGRESS,      /* while draining: something more is stored */
    EVENT_STARVED, /* daemons, or the launcher, of this machine had no CPU for `starved` ns, though they were ready */
    EVENT_DRAINED, /* `daemon`, a node's, holds no records any more */
    EVENT_STORE_FAILED, /* the collector cannot write */
    EVENT_SILENT,       /* `daemon`, a node's with an address, has not answered for some time */
    EVENT_HEARD,        /* it has answered again */
    EVENT_INTERRUPT,    /* the operator ends the run; the second one ends it at once */
    EVENT_TAKEN_OVER,   /* `bezel attach` commands the run from now on: this `bezel run` ends, and nothing else does */
};

struct state_event {
    enum state_event_type type;
    uint32_t daemon;
    bool failed;      /* of EVENT_DAEMON_ENDED: it released the processes that it observed; of EVENT_SERVES: its
                         predecessor did */
    bool unreachable; /* of EVENT_DAEMON_ENDED: it was a session at a persistent bezeld */
    bool killed;      /* of EVENT_DAEMON_ENDED: by a signal; one that ended by itself cannot start */
    bool stops;       /* of EVENT_PROCESS_ENDED: the run ends with it */
    bool terminal;    /* of EVENT_INTERRUPT: the terminal sent it, to all processes that share it */
    uint64_t living, seen;
    int64_t starved; /* since the last such event */
};

enum state_action {
    ACTION_START_DAEMON = 1 << 0, /* start `daemon`, or start it again */
    ACTION_START_NODES = 1 << 1,
    ACTION_START_PROCESSES = 1 << 2,
    ACTION_STOP_PROCESSES = 1 << 3,
    ACTION_INTERRUPT_PROCESSES = 1 << 4, /* the same, but the terminal's signal has reached them: they get time first */
    ACTION_DRAIN = 1 << 5,               /* send STOP to every daemon that has not been sent it */
    ACTION_STOP_NODES = 1 << 6,
    ACTION_STOP_COLLECTOR = 1 << 7,
    ACTION_KILL = 1 << 8,       /* SUT and daemons, at once */
    ACTION_KILL_NODES = 1 << 9, /* those that did not stop */
    ACTION_KILL_COLLECTOR = 1 << 10,
    ACTION_REPORT_UNMATCHED = 1 << 11, /* nothing to attach to has appeared */
    ACTION_REPORT_UNDRAINED = 1 << 12, /* draining is given up: report which records are not stored */
    ACTION_REPORT_LATE = 1 << 13,      /* something did not start, end or stop in time */
    ACTION_STOP_MANAGER = 1 << 14,
    ACTION_REPORT_LOST = 1 << 15,   /* `daemon`, by the file's `on-loss` */
    ACTION_START_INNER = 1 << 16,   /* inner collectors of `level` */
    ACTION_STOP_INNER = 1 << 17,    /* those of `level`; none is below them */
    ACTION_KILL_INNER = 1 << 18,    /* those that did not stop */
    ACTION_KILL_LAUNCHER = 1 << 19, /* of this machine, with all that it has started: it did not end them in time */
};

struct state_actions {
    unsigned what; /* enum state_action, or-ed */
    uint32_t daemon, level;
};

enum state_daemon_phase { DAEMON_DOWN, DAEMON_STARTS, DAEMON_SERVES, DAEMON_GONE };

struct state_daemon {
    enum state_daemon_phase phase;
    bool drained, was_drained;        /* was_drained: before the run was taken over */
    bool lost;                        /* gone, because it was silent; it may come back */
    int64_t silent_since;             /* 0: it answers */
    enum experiment_on_loss on_loss;  /* of a node with an address */
    int64_t loss_wait;                /* ns */
    bool persistent;                  /* such a node */
    uint32_t level;                   /* of an inner collector: experiment_inner_level(); else 0 */
    int64_t started, restart_at;      /* restart_at: 0: no restart is due */
    int64_t restarts[STATE_RESTARTS]; /* when, oldest overwritten first */
    uint32_t restart_count;
};

/** What a later `bezel attach` has to know of the course so far. */
struct state_saved {
    enum state_phase phase;
    enum state_ended_by ended_by;
    bool failed, unreachable, store_failed, interrupted, unmanaged, attached_seen, unmatched_reported;
    int64_t started, ended; /* of RUNNING, on this machine's clock since its boot; 0: not yet */
    bool drained[STATE_DAEMONS_MAX];
};

/** Only run_state_begin(), run_state_resume() and run_state_step() write it; anybody may read it. */
struct run_state {
    enum state_phase phase;
    enum state_phase resumes; /* in STARTING, of a run that was taken over: the phase that follows; else STARTING */
    bool resumes_stopped;     /* the phase that follows RUNNING begins at once */
    enum state_ended_by ended_by;
    bool failed, unreachable, store_failed, interrupted, killed, taken;
    bool unmanaged; /* the resource manager was given up */
    bool failing;   /* the collector, since its last start, reports that it cannot write */
    bool interrupt_reached_sut;
    bool interactive;               /* the SUT shares the terminal */
    const struct experiment *e;     /* borrowed */
    uint32_t daemon_count, manager; /* manager: its number, the last one; 0: none */
    uint32_t level; /* of inner collectors that start (beyond the last one: nodes do), and later of those that end */
    uint32_t launched, launched_left;
    bool attaches, attached_seen, unmatched_reported;
    int64_t duration, grace;
    int64_t since;          /* start of the phase; while draining: the last progress */
    int64_t started, ended; /* of RUNNING; 0: not yet */
    int64_t absent_since;   /* of attached processes; 0: present, or never seen */
    struct state_daemon daemons[STATE_DAEMONS_MAX];
};

/** The state before experiment `e`, and its first actions. `interactive`: the SUT has the terminal (`bezel run --`). */
struct state_actions run_state_begin(struct run_state *s, const struct experiment *e, bool interactive, int64_t now);

/** What a successor has to know. */
struct state_saved run_state_save(const struct run_state *s);

/**
 * The state of a run that was taken over, and its first actions. `saved` is what its `bezel run` had saved, in times of
 * this machine's clock. `ended` launched processes have ended by now; `stops`: the run ends with one of these.
 *
 * One that was still STARTING begins anew. In every other phase the collector starts, then all nodes are asked to
 * serve; then the run goes on where it was: in RUNNING for the rest of its duration; one that was being ended is
 * drained. A node that cannot be had any more is lost; unless it was drained, or the file has the run continue without
 * it, the run ends, failed.
 */
struct state_actions run_state_resume(struct run_state *s, const struct experiment *e, const struct state_saved *saved,
                                      uint32_t ended, bool stops, int64_t now);

/** Applies one event, and returns what is to be done; after PHASE_DONE that is nothing. */
struct state_actions run_state_step(struct run_state *s, const struct state_event *event, int64_t now);

/**
 * Whether `daemon` is a node's; an inner collector. 0 is the collector, 1 + i is node i, inner collectors follow, the
 * last one is the resource manager, if any.
 */
bool run_state_is_node(const struct run_state *s, uint32_t daemon);
bool run_state_is_inner(const struct run_state *s, uint32_t daemon);

/** Whether `daemon` would be given up, not restarted, at an EVENT_DAEMON_ENDED now. */
bool run_state_gives_up(const struct run_state *s, uint32_t daemon, int64_t now);

/** When EVENT_TICK is due at the latest; INT64_MAX: never. */
int64_t run_state_deadline(const struct run_state *s);

/** Exit code of the run, `report` being that of its report (0, 3, or negative where there is none). */
int run_state_exit_code(const struct run_state *s, int report);

#endif
