// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The inside of a node: node.c opens and drains it, node_loop.c turns it, node_command.c answers for it. One thread.
 */
#ifndef BEZEL_ECS_NODE_IMPL_H
#define BEZEL_ECS_NODE_IMPL_H

#include "ecs/node.h"
#include "ecs/pace.h"
#include "ecs/placement.h"
#include "ecs/polling.h"
#include "ecs/saving.h"
#include "ecs/self.h"
#include "ecs/steering.h"
#include "resmgr/agent.h"
#include "resmgr/lease.h"
#include "resmgr/quota.h"
#include "sensor/external.h"
#include "sensor/forward.h"
#include "sensor/journal.h"
#include "sensor/sampler.h"

/** Of a node that a resource manager decides for (node_manager.c). */
struct node_managed {
    struct lease lease;
    struct link_peer peer;    /* who is told how the node stands; meaningful while beat_due is */
    int64_t beat_due;         /* INT64_MAX: nobody is told */
    uint64_t steps;           /* sampling instants */
    bool changed, settled;    /* how the node polls: since the last instant; not so between the two before */
    uint32_t orders;          /* of operators, for another period */
    struct self_obeyed told;  /* as it was recorded last */
    uint64_t untold, ignored; /* messages that could not be sent; that came where they have no place */
};

/** Limits on the whole, as their manager judged them last, where this node records it (node_whole.c). */
struct node_judged {
    struct message_lease by; /* the newest that was heard; epoch 0: none */
    uint64_t sequence, refused;
    int64_t heard;
    uint32_t count;
    struct message_judged list[EXPERIMENT_LIMITS_MAX];
    int64_t told[EXPERIMENT_LIMITS_MAX];         /* when it was recorded last; 0: never */
    int64_t missing_since[EXPERIMENT_NODES_MAX]; /* 0: it is not; -1: that was told */
};

/** Limits with `on-violation` that broke, in this life of the daemon: how often, and the latest of them. */
struct node_broken {
    bool is[EXPERIMENT_LIMITS_MAX]; /* in violation now */
    uint64_t count;
    uint32_t limit;
    int64_t at; /* ns, monotonic */
    double value;
    int64_t tell_due;
};

/** A limit as it was last recorded. */
struct node_observed {
    enum limit_state state;
    bool known;
    double value;
    int64_t at; /* 0: never */
};

/** Why a knob is turned; as struct self_knob. */
struct node_turn {
    int cause; /* enum self_knob_cause */
    int limit;
    double value;
    int64_t epoch, sequence;
};

/** A knob of adapt.knobs on this node (node_helm.c). */
struct node_knob {
    uint32_t orders; /* of operators, in this life of the daemon */
    bool has_home;   /* one of them said where it is to be: */
    int32_t home;
    struct trim_seen seen;   /* at the last sampling instant */
    struct helm_order order; /* in force; by: */
    struct node_turn because;
    bool spent, strayed; /* told so */
};

/** What was told last of what the policy finds. */
struct node_found {
    bool infeasible, blameless, starved;
    uint32_t floor;
    bool violated[EXPERIMENT_LIMITS_MAX];
};

struct node {
    struct node_options options;
    struct external *external;
    struct forward *forward;
    struct agent *agent;
    struct journal *self; /* what it records of itself */
    struct samplers *samplers;
    struct link *control;
    struct steering steering;
    struct placement_state placement;
    struct polling polling;
    struct pace pace;
    struct quota quota;
    struct saving saving; /* the snapshot of the run that is under way */
    struct node_broken broken;
    struct node_observed observed[EXPERIMENT_LIMITS_MAX];
    struct link_peer asker; /* who asked for STATUS last */
    bool has_asker;
    int64_t realtime_offset;      /* as it was told to the collector */
    struct policy_setting policy; /* as the agent last decided: what is carried out */
    struct node_managed managed;
    struct node_judged judged;
    bool busy_wait; /* of polling.now, at hand */
    bool draining, stopped;
    int64_t stop_by; /* of one that is stopped: when, at the latest */
    bool asleep;     /* until somebody knocks: no polls, no sampling */
    bool clean;      /* of one that is shut: the collector has all, or nobody comes back for the rest */
    uint32_t slice;  /* records that a turn may take; 0: as many as there are */
    int64_t turned;  /* when its last turn was */
    int64_t heard;   /* when a command came last, or it was opened */
    int64_t poll_due, agent_due, sample_due, metric_due, housekeep_due, control_due;
    int64_t sampled_at, cpu_before, limits_told;
    int64_t cpu_begun; /* CPU of the whole bezeld when this was opened: what it used before is not this run's */
    uint64_t polls_before, polled_before; /* at sampled_at */
    int64_t wakeups;
    uint64_t polls, polled; /* how many polls, and records that they took */
    double sensor_cpu;
    int64_t flow_due;                             /* when the agent is told next what became of records */
    struct node_found found;                      /* node_findings.c */
    struct node_knob knobs[EXPERIMENT_KNOBS_MAX]; /* in the order of the file */
    struct policy_measure measured;               /* between the two latest steps */
    struct message message;                       /* scratch */
    uint8_t bytes[MESSAGE_MAX_BYTES];
};

/** What the external sensor is to tell the agent (node_senses.c). */
struct external_observer node_senses(struct node *n);

/** Tells the agent how the counters of all watched aspects stand. */
void node_count_attempts(struct node *n, int64_t now);

/** Records of the daemon's own (node_tell.c): metrics, what it did and cost, how well times are known, limits. */
void node_tell_metrics(struct node *n);
void node_tell_sample(struct node *n);
void node_tell_clock(struct node *n);
void node_tell_flow(struct node *n);
void node_tell_expired(struct node *n);
void node_tell_limits(struct node *n, const struct agent_outcome *o);
void node_tell_observations(struct node *n, const struct agent_outcome *o, int64_t now);
void node_tell_observation(struct node *n, uint32_t i, const struct agent_limit *l, int64_t now);

/** Tells what is new of what the policy found, and carries out what it sheds (node_findings.c). */
void node_take_findings(struct node *n, const struct agent_outcome *o);
void node_tell_violated(struct node *n, uint32_t limit, bool violated);
void node_tell_violations(struct node *n, const struct agent_outcome *o);
bool node_sheds(const void *node, const char *aspect);

/** A poll that is due (node_polling.c), and when the next one is. Whether it took anything. */
bool node_poll(struct node *n, int64_t now);

/** Polls as the file, or what was kept, says, and records it. */
void node_poll_start(struct node *n);

/** Carries out POLL; the reply to any command gets what is then in force, or "refused" and a sentence. */
void node_poll_answer(struct node *n, const struct message_command *command, int64_t now, struct message_reply *reply);

/**
 * Knobs (node_knobs.c): what was left turned is recorded at the start, all are turned back at the end. KNOB is carried
 * out as docs/WIRE.md says.
 */
void node_knobs_start(struct node *n);
void node_knobs_end(struct node *n);
void node_knob_answer(struct node *n, const struct message_command *command, struct message_reply *reply);

bool node_knob_turn(struct node *n, struct external_process *p, uint32_t i, int32_t value, const struct node_turn *why);

/**
 * Knobs that are steered (node_helm.c). At a sampling instant: the agent is told how they are found, before its step;
 * what it decided is carried out, after it. What a manager is told of them; what it decided is carried out. An operator
 * turned the knob of a process as `order` says, to `value`. What STATUS tells.
 */
void node_helm_find(struct node *n);
void node_helm_sample(struct node *n);
void node_helm_fill(const struct node *n, struct message_observation *o);
void node_helm_obey(struct node *n, const struct message_setting *s);
void node_helm_overtake(struct node *n, const struct external_process *p, const struct message_knob *order,
                        int32_t value);
void node_helm_reply(const struct node *n, struct message_reply *reply);

/**
 * The resource manager (node_manager.c), where the experiment has one: at the start, at the end for good, at a sampling
 * instant after the agent's step, between them, when a message of its came (n->message), when an operator said how to
 * poll; and what STATUS, and the trace, tell of it.
 */
bool node_is_managed(const struct node *n);
void node_manager_start(struct node *n);
void node_manager_end(const struct node *n);
void node_manager_sample(struct node *n, const struct agent_outcome *o, int64_t now);
void node_manager_beat(struct node *n, int64_t now);
void node_manager_hear(struct node *n, const struct link_peer *peer, int64_t now);
void node_manager_overtake(struct node *n, int64_t now);
void node_manager_reply(const struct node *n, struct message_reply *reply);
void node_manager_tell(struct node *n);

/** Limits on the whole (node_whole.c): this node's parts; when JUDGEMENT came (n->message); when it drains. */
void node_whole_fill(const struct node *n, int64_t now, struct message_parts *parts);
void node_whole_hear(struct node *n, int64_t now);
void node_whole_end(struct node *n, int64_t now);

/** Polls as was decided, and records by whom (node_loop.c). */
void node_carry_out(struct node *n, const struct agent_outcome *o, const struct self_decider *by, int64_t now);

/**
 * Snapshots that limits ask for (node_save.c). At each step: has news of limits that broke sent; the same of one on the
 * whole. A turn: whether anything was due. The end, ahead of time. SAVE is carried out; every reply tells of limits
 * that broke. What an operator's SNAPSHOT saved is recorded.
 */
void node_save_watch(struct node *n, const struct agent_outcome *o, int64_t now);
void node_save_judged(struct node *n, uint32_t i, const struct agent_limit *l, int64_t now);
bool node_save_turn(struct node *n, int64_t now);
void node_save_end(struct node *n, int64_t now);
void node_save_answer(struct node *n, const struct message_command *command, int64_t now, struct message_reply *reply);
void node_save_tell(struct node *n, const struct message_command *command, int64_t now,
                    const struct message_reply *reply);

/** Fills a reply with how the node stands; `reply` has its id alone (node_command.c). */
void node_fill_reply(struct node *n, struct message_reply *reply);

/** Samplers follow the polling period, where a policy moves it (node_loop.c). */
void node_stretch(struct node *n, int64_t now);

/** One sampling instant: measures, lets the agent decide, carries it out, tells what is due (node_loop.c). */
void node_sample(struct node *n, int64_t now);

/** Places this thread as the experiment says, and tells what came of it (node_place.c): once ZeroMQ's threads exist. */
void node_place(struct node *n);
void node_place_reply(const struct node *n, struct message_reply *reply);

/** Answers the commands that came over the control link, some a turn (node_command.c). */
void node_answer_commands(struct node *n);

#endif
