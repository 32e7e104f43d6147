// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The inside of a node: node.c opens and drains it, loop.c runs its turns, node_commands.c answers commands. One
 * thread.
 *
 * Files call downward only, in this order: loop.c; node_commands.c; node.c; manager_client.c, node_knobs.c;
 * node_triggers.c; global_limits.c, knob_steering.c; snapshot_take.c, node_polling.c, knob_set.c; conclusions.c,
 * node_reduce.c; node_record.c, observer.c, node_rt_setup.c, node_clock.c; and the modules that do not know struct node
 * (schedule, cpu_usage, limit_changes, poll_settings, aspect_steering, snapshot, own_trace).
 */
#ifndef BEZEL_BEZELD_NODE_NODE_INTERNAL_H
#define BEZEL_BEZELD_NODE_NODE_INTERNAL_H

#include "bezeld/node/aspect_steering.h"
#include "bezeld/node/clock_client.h"
#include "bezeld/node/cpu_usage.h"
#include "bezeld/node/firings.h"
#include "bezeld/node/limit_changes.h"
#include "bezeld/node/node.h"
#include "bezeld/node/own_trace.h"
#include "bezeld/node/poll_settings.h"
#include "bezeld/node/snapshot.h"
#include "mdr/command/command_server.h"
#include "mdr/manage.h"
#include "mdr/uplink/sender.h"
#include "resmgr/agent/agent.h"
#include "resmgr/agent/leadership.h"
#include "resmgr/agent/trigger.h"
#include "resmgr/pace/schedule.h"
#include "sensor/external/external.h"
#include "sensor/external/name_watch.h"
#include "sensor/samplers/sampler.h"
#include "sensor/shm/journal.h"

struct message_knob;
struct message_knob_list;

/** The node's relation to a resource manager that decides for it (manager_client.c). */
struct node_managed {
    struct leadership leadership;
    struct state_file file;            /* the newest manager that the node followed */
    struct command_request peer;       /* receives the observations; meaningful while beat_due is not INT64_MAX */
    int64_t beat_due;                  /* when the next heartbeat observation is due; INT64_MAX: none is sent */
    uint64_t steps;                    /* sampling instants */
    bool changed;                      /* polling changed since the last sampling instant */
    bool settled;                      /* polling did not change between the last two */
    uint32_t overrides;                /* how often an operator set another period */
    struct builtin_setpoints recorded; /* as it was recorded last */
    struct message_loop loop;          /* the latest, for the setpoint of its number */
    int64_t looped_at;                 /* when a dead time was recorded last; 0: never */
    int64_t heard;                     /* when a message of a manager came last; 0: never */
    uint64_t unsent, ignored;          /* messages that could not be sent; that were received where none is expected */
};

/** Global limits as the manager judged them last, if this node is the reporter (global_limits.c). */
struct node_judged {
    struct message_leadership by; /* of the newest judgement that was accepted; epoch 0: none */
    uint64_t sequence, refused;
    int64_t last_received; /* when that judgement was received */
    uint32_t count;
    struct message_judged list[EXPERIMENT_LIMITS_MAX];
    int64_t unjudged[EXPERIMENT_LIMITS_MAX];    /* gaps in the time judged by this manager, ns */
    int64_t unknown[EXPERIMENT_LIMITS_MAX];     /* for so long it has been unknown without a break, ns */
    int64_t recorded_at[EXPERIMENT_LIMITS_MAX]; /* when the limit was recorded last; 0: never */
    double worst[EXPERIMENT_LIMITS_MAX];        /* as it was recorded last */
    int64_t judged_at[EXPERIMENT_LIMITS_MAX];   /* when a judgement last judged more of it than the one before */
    uint32_t late[EXPERIMENT_LIMITS_MAX];       /* 1 + a node that was late since then; 0: none was */
    int64_t pause[EXPERIMENT_LIMITS_MAX];       /* the longest between two judgements since then, ns */
    bool in_gap[EXPERIMENT_LIMITS_MAX];         /* a time that nobody judged goes on */
    int64_t heard;                              /* the judgement before; 0: there was none */
    uint32_t gap_notes;
    int64_t missing_since[EXPERIMENT_NODES_MAX];   /* 0: the node is not missing; -1: the note was recorded */
    enum message_lack lack[EXPERIMENT_LIMITS_MAX]; /* of limits that the collector evaluates */
    int64_t lack_since[EXPERIMENT_LIMITS_MAX];     /* as missing_since */
    int64_t age; /* of the oldest value of such a limit, when the judgement was sent, ns; 0: there was none */
};

/** Why a knob is set; as in struct builtin_knob. */
struct node_knob_reason {
    enum builtin_setter cause;
    int limit;
    double value;
    int64_t epoch, sequence;
};

/** A knob of adapt.knobs on this node (knob_steering.c). */
struct node_knob {
    uint32_t overrides; /* by operators, in this life of the daemon */
    bool has_baseline;  /* an operator set the knob, to `baseline` */
    int32_t baseline;
    struct knob_search_seen seen;             /* at the last sampling instant */
    struct knob_controller_setpoint setpoint; /* the decision in force, ... */
    struct node_knob_reason because;          /* ... and its reason */
    bool saturated, diverged;                 /* as recorded last */
};

/** An operator's pause: records are counted, and not recorded (node_pause.c). */
struct node_pause {
    bool on;
    struct state_file file;
};

/** How the node's clock is compared with its collector's (node_clock.c). */
struct node_clock {
    struct clock_client *client; /* NULL: none was needed yet */
    uint8_t identity[16];        /* clock_identity() here */
    uint64_t welcomes;           /* after which it was decided whom to ask */
    bool contradicted;           /* the wall clocks contradicted the exchanges, and a note says so */
    int64_t began;               /* when the node was opened */
    int64_t parted;              /* since when it drains to go on in a new trace */
    bool new_trace;              /* a clock has jumped: what follows is to be in a trace of its own */
    struct state_file parting;   /* there while it drains for that: a restarted daemon goes on with it */
};

/** The triggers of the node (node_triggers.c). */
struct node_triggers {
    struct trigger_set *set; /* NULL: the file has none */
    struct firings firings;
    /* ns: when what an action has changed is undone; 0: nothing is to be. And the first of these times */
    int64_t undo_at[EXPERIMENT_TRIGGERS_MAX][EXPERIMENT_TRIGGER_ACTIONS_MAX], undo_due;
};

/** Conclusions of the policy as they were recorded last. */
struct node_conclusions {
    bool infeasible, not_the_monitors, starved;
    uint32_t floor;
    bool violated[EXPERIMENT_LIMITS_MAX];
};

/** Each member is changed only by the functions of its owner: the file or module that its comment names. */
struct node {
    struct node_options options;
    struct external *external;
    struct sender *sender;
    struct agent *agent;
    struct journal *own_trace;     /* records of the monitor about itself */
    struct name_watch *name_watch; /* NULL: no memory */
    struct samplers *samplers;
    uint32_t samplers_kept;             /* of the last step: struct agent_outcome */
    struct command_server *control;     /* borrowed */
    uint8_t uuid[16];                   /* of its trace */
    struct schedule schedule;           /* schedule.h */
    int64_t tasks_due;                  /* until then nothing but polls is due (loop.c) */
    struct cpu_usage usage;             /* cpu_usage.h */
    struct limit_changes limits;        /* limit_changes.h */
    struct policy_setting policy;       /* how the node polls, by the last decision (node_polling.c) */
    int64_t hand_on_every;              /* ns, with the step at which it is found due (node_reduce.c); 0: nothing is */
    struct poll_settings poll_settings; /* how file and operator want it to poll (poll_settings.h) */
    int64_t gap;                        /* ns from the last poll to the next (node_polling.c) */
    uint32_t slice;                     /* records that a turn may take; 0: all that wait (node_polling.c) */
    struct aspect_steering aspect_steering;
    struct node_pause pause; /* node_pause.c */
    struct node_clock clock; /* node_clock.c */
    struct node_triggers triggers;
    struct snapshot snapshot;                     /* the run's snapshot in progress (snapshot_take.c) */
    struct node_managed managed;                  /* manager_client.c */
    struct node_judged judged;                    /* global_limits.c */
    struct node_conclusions concluded;            /* conclusions.c */
    struct node_knob knobs[EXPERIMENT_KNOBS_MAX]; /* in the order of the file (knob_steering.c) */
    struct command_request asker;                 /* who sent QUERY STATE last (node_commands.c) */
    bool has_asker;
    struct message_leadership owner; /* whose commands are those of the run's `bezel run`; epoch 0: anybody's */
    struct state_file owner_file;    /* keeps it for a restarted daemon */
    bool took_sut;                   /* records of the SUT since the last sample: the next one comes soon */
    bool stop_wanted;                /* somebody else has sent STOP */
    int64_t last_received;           /* when the owner's last command was received, or the node was opened */
    int64_t realtime_offset;         /* as sent to the collector, ns */
    bool draining, stopped;          /* node.c */
    bool goes_on;                    /* it drains to go on in a new trace */
    int64_t stop_by;                 /* once stopped: when to close at the latest */
    bool clean; /* once shut: the collector has stored everything, or nobody will continue with the rest */
};

/** The callbacks by which the external sensor passes processes and records to the agent (observer.c). */
struct external_observer node_observer(struct node *n);

/** Passes the counters of all watched aspects to the agent (observer.c). */
void node_count_attempts(struct node *n, int64_t now);

/** The processes are told to end, or have ended: what they made until now is no part of their end (observer.c). */
void node_processes_end(struct node *n);

/** Passes those that triggers read to the triggers alone: between two sampling instants. */
void node_count_for_triggers(struct node *n, int64_t now);

/** Records a value of a metric, or of what is shown like one. */
void node_record_metric(struct node *n, const char *name, const char *process, double value);

/**
 * Records of the own trace (node_record.c): metrics, use and cost, clock errors, totals, expired records, names of new
 * threads or of all, limits.
 */
void node_record_metrics(struct node *n);
void node_record_last_buckets(struct node *n, int slot); /* of a process that ends: what came into its histograms */
void node_record_values(struct node *n, uint32_t metric, int slot); /* of one metric; slot -1: of all processes */
void node_record_sample(struct node *n);
void node_record_clock(struct node *n);
void node_record_totals(struct node *n);
void node_record_expired(struct node *n);
void node_record_threads(struct node *n, bool all, int64_t now);
/** Records limit `i`. `epoch`: of the manager that judged it, if it is global; 0: the node judged it. */
void node_record_limit(struct node *n, uint32_t i, const struct agent_limit *l, uint64_t epoch);
void node_record_limits(struct node *n, const struct agent_outcome *o);
void node_record_observations(struct node *n, const struct agent_outcome *o, int64_t now);
void node_record_observation(struct node *n, uint32_t i, const struct agent_limit *l, int64_t now);

/**
 * Reducing (node_reduce.c). ..._hand_on(): records the values that the last step found, of the process in `slot` or
 * (-1) of all, in place of the records that they have; ..._last(): evaluates them before. ..._record_reduced(): records
 * how many records were reduced, where that has changed.
 */
bool node_reduces(const struct node *n, const char *aspect);
void node_hand_on(struct node *n, int slot);
void node_hand_on_last(struct node *n, int slot);
void node_record_reduced(struct node *n);

/** Records conclusions of the policy that changed, and carries out its load shedding (conclusions.c). */
void node_record_conclusions(struct node *n, const struct agent_outcome *o);
void node_record_violated(struct node *n, uint32_t limit, bool violated);
void node_record_violations(struct node *n, const struct agent_outcome *o);
bool node_load_shedding(const void *node, const char *aspect);

/**
 * Polls, and sets when the next poll is due (node_polling.c). Returns whether there were records of others than
 * daemons.
 */
bool node_poll(struct node *n, int64_t now);

/** Turns collection on or off as policy and pause say. Off: takes what was recorded before, which nobody polls for. */
void node_collect(struct node *n, int64_t now);

/**
 * Pausing (node_pause.c): _start() when the node is opened, which is still paused if an earlier daemon was;
 * node_pause() begins the pause, or ends it; idempotent.
 */
void node_pause_start(struct node *n);
void node_pause(struct node *n, bool on, int64_t now);

/**
 * Exchanges of times with the collector (node_clock.c). _start() comes before the thread is set up; _turn() comes at
 * each turn, and records exchanges; _end() comes when the node drains, and makes a last exchange.
 */
void node_clock_start(struct node *n);
bool node_gap_is_settled(const struct node *n);   /* a poll that finds nothing leaves the gap as it is */
int64_t node_new_trace_due(const struct node *n); /* from when on the node wants a new trace; INT64_MAX: it does not */
void node_clock_turn(struct node *n);
void node_clock_end(struct node *n);

/** Applies the polling settings of the file, or those that an earlier daemon kept, and records them. */
void node_poll_start(struct node *n);

/**
 * node_poll_change() changes what `poll` gives; false, with the reason in the reply: nothing was changed.
 * node_poll_answer(): changes what `poll` gives, if anything. The reply gets the settings then in force, or the reason
 * why nothing was changed. Returns whether the command set a period.
 */
bool node_poll_change(struct node *n, const struct message_poll *poll, enum builtin_poller cause, int64_t now,
                      struct message_reply *reply);
bool node_poll_answer(struct node *n, const struct message_poll *poll, int64_t now, struct message_reply *reply);

/**
 * Setting knobs (knob_set.c). node_knob_set() sets knob `i` of process `p`, records the change with its reason, and
 * returns whether the knob could be set. node_knobs_start() records the knobs that an earlier daemon left changed;
 * node_knobs_end() sets all knobs back to their initial values.
 */
bool node_knob_set(struct node *n, struct external_process *p, uint32_t i, int32_t value,
                   const struct node_knob_reason *why);

/** Records the knobs of process `p` that it has declared since the last call. */
void node_knobs_declare(struct node *n, struct external_process *p);
void node_knobs_start(struct node *n);
void node_knobs_end(struct node *n);

/**
 * Knobs of the node's processes (node_knobs.c). node_knobs_list() lists those from number `from` on, as many as fit;
 * node_knob_answer() sets one or resets it, as docs/WIRE.md describes it; node_knob_change() does so for `cause`.
 */
void node_knobs_list(struct node *n, uint32_t from, struct message_knob_list *to);
void node_knob_answer(struct node *n, const struct message_knob *command, struct message_reply *reply);
void node_knob_change(struct node *n, const struct message_knob *command, enum builtin_setter cause,
                      struct message_reply *reply);

/**
 * Knobs that the experiment steers (knob_steering.c). At a sampling instant, before the agent's step,
 * knob_steering_find() passes their values to the agent; after it, knob_steering_sample() carries out the agent's
 * decisions. With a manager, knob_steering_fill() adds them to the observation, and knob_steering_apply() carries out a
 * setpoint. knob_steering_override() notes that an operator set a knob of process `p` to `value` by `command`.
 */
void knob_steering_find(struct node *n);
/** Records which knobs the programs have, where the experiment names any: by it the report finds those that none has.
 */
void knob_steering_declare(struct node *n);
void knob_steering_sample(struct node *n);
void knob_steering_fill(const struct node *n, struct message_observation *o);
uint32_t knob_steering_apply(struct node *n, const struct message_setpoint *s); /* how many values were clamped */
void knob_steering_override(struct node *n, const struct external_process *p, const struct message_knob *command,
                            int32_t value);

/**
 * The resource manager (manager_client.c), if the experiment has one. _start(): when the node is opened; _sample(): at
 * a sampling instant, after the agent's step; _heartbeat(): at each turn; _receive(): for message `m` of a manager;
 * _override(): when an operator set the period. node_manager_status() fills the reply to QUERY, and
 * manager_client_record() records in the own trace which setpoints were applied.
 */
static inline bool node_is_managed(const struct node *n)
{
    return experiment_is_managed(n->options.experiment);
}
void manager_client_start(struct node *n);
void manager_client_sample(struct node *n, const struct agent_outcome *o, int64_t now);
void manager_client_heartbeat(struct node *n, int64_t now);
void manager_client_receive(struct node *n, const struct command_request *from, const struct message *m, int64_t now);
void manager_client_override(struct node *n, int64_t now);
struct message_managed node_manager_status(const struct node *n);
void manager_client_record(struct node *n);

/**
 * Global limits (global_limits.c). _fill(): this node's partials; _receive(): for a JUDGEMENT, returns
 * whether it is newer than those before; _end(): when the node drains.
 */
void global_limits_fill(const struct node *n, int64_t now, struct message_partials *partials);
bool global_limits_receive(struct node *n, const struct message_judgement *j, int64_t now);
void global_limits_lack(struct node *n, const struct message_loop *loop, int64_t now);
void global_limits_end(struct node *n, int64_t now);

/** Who decided how a node polls. */
struct node_decider {
    enum builtin_decider who;
    int64_t epoch, sequence; /* of the manager, and of its setpoint; 0: none */
};

/** Applies decision `o` on polling and records it with its decider. Samplers follow a period that moves. */
void node_carry_out(struct node *n, const struct agent_outcome *o, const struct node_decider *by, int64_t now);

/**
 * Triggers (node_triggers.c). _step(): at a sampling instant, passes the states of limits on; _judged(): that of a
 * limit, by records until `at`; _turn(): does what fires, and undoes what is due; _due(): when that is due, ns; _end():
 * when the node drains.
 */
int node_triggers_open(struct node *n) BEZEL_MUST_CHECK;
void node_triggers_step(struct node *n, const struct agent_outcome *o, int64_t now);
void node_triggers_judged(struct node *n, uint32_t i, const struct agent_limit *l, int64_t at);
void node_triggers_turn(struct node *n, int64_t now);
int64_t node_triggers_due(const struct node *n);
void node_triggers_end(struct node *n, int64_t now);

/**
 * Snapshots that triggers request (snapshot_take.c). _turn(): does what is due, and returns whether anything was;
 * _end(): ends the snapshot early; _answer(): carries out SAVE; _report(): records an operator's SNAPSHOT of
 * `processes` processes.
 */
bool snapshot_take_turn(struct node *n, int64_t now);
void snapshot_take_end(struct node *n, int64_t now);
void snapshot_take_answer(struct node *n, const struct message_save *save, int64_t now, struct message_reply *reply);
void snapshot_take_report(struct node *n, uint32_t processes, int64_t now);

/**
 * Sets up this thread as the experiment says, and records the result as notes (node_rt_setup.c). ZeroMQ's threads must
 * exist.
 */
void node_rt_setup(struct node *n);

/** Reports new firings, without being asked, to the peer that sent QUERY STATE last (node_commands.c). */
void node_report_firings(struct node *n, int64_t now);

#endif
