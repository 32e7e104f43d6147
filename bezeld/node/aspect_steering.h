// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * An operator's commands SNAPSHOT and ASPECTS to a node: snapshots of overwriting rings, and which aspects are
 * recorded. The rules on aspects are those of the experiment, followed by the operator's. The operator's rules are kept
 * in a file in the node's folder, so that a restarted daemon continues with them. One owner, one thread.
 */
#ifndef BEZEL_BEZELD_NODE_ASPECT_STEERING_H
#define BEZEL_BEZELD_NODE_ASPECT_STEERING_H

#include "base/state_file.h"
#include "config/experiment.h"
#include "sensor/external/external.h"

struct message_command;
struct message_reply;

struct aspect_steering {
    struct aspect_rules rules;
    struct aspect_rules passing; /* of triggers, before `rules` */
    uint32_t changes, snapshots; /* how many commands the operator gave in this life of the daemon */
    struct state_file file;      /* the operator's rules */
};

/** Takes the rules of `e`, or, where an earlier daemon of `run` kept rules in folder `dir`, all of those. */
void aspect_steering_open(struct aspect_steering *s, const struct experiment *e, const char *dir,
                          const uint8_t run[16]);

/** Whether aspect `name` is neither recorded nor counted. */
bool aspect_steering_blinds(const struct aspect_steering *s, const char *name);

/** Carries out SNAPSHOT, and fills the reply with what was saved. */
void aspect_steering_snapshot(struct aspect_steering *s, struct external *x, int64_t now, struct message_reply *reply);

/** Carries out ASPECTS, and fills the reply with what its patterns match, or with the reason why they are refused. */
void aspect_steering_switch(struct aspect_steering *s, struct external *x, const struct message_command *command,
                            int64_t now, struct message_reply *reply);

/**
 * For triggers. _add(): adds a rule to a list; as aspect_rules_add(). _pass(): `rules` apply before all others until
 * the next call, and are not kept. _keep(): adds rules as an operator would; false: there are too many, and nothing was
 * changed. _matches(): how many aspects of living processes match.
 */
int aspect_steering_add(struct aspect_rules *rules, const char *pattern, enum experiment_mode mode) BEZEL_MUST_CHECK;
void aspect_steering_pass(struct aspect_steering *s, struct external *x, const struct aspect_rules *rules);
bool aspect_steering_keep(struct aspect_steering *s, struct external *x, const struct experiment_rule *rules);
uint32_t aspect_steering_matches(struct external *x, const char *pattern);

#endif
