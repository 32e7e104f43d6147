// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * How an operator steers a node while it runs: which aspects are recorded, and snapshots of overwriting rings. The
 * rules on aspects are those of the experiment, then what the operator said; the latter is kept in the node's folder,
 * so that a daemon that was killed goes on with it. One owner, one thread.
 */
#ifndef BEZEL_ECS_STEERING_H
#define BEZEL_ECS_STEERING_H

#include "config/experiment.h"
#include "sensor/external.h"

#include <limits.h>

struct steering {
    struct steer rules;
    uint32_t orders, snapshots; /* of the operator, in this life of the daemon */
    uint8_t run[16];
    char path[PATH_MAX]; /* of the file that keeps what the operator said */
};

/** The rules of `e`, and what the operator of `run` had said to a daemon before this one in folder `dir`. */
void steering_open(struct steering *s, const struct experiment *e, const char *dir, const uint8_t run[16]);

/** At the end of the run: nothing is kept. */
void steering_close(struct steering *s);

/** Whether aspect `name` is neither recorded nor counted. */
bool steering_blinds(const struct steering *s, const char *name);

/**
 * Carries out SNAPSHOT or ASPECTS. The reply gets the values "saved_records", "saved_processes" and
 * "behind_processes" (whose rings held more than there was room for, which follows by itself), or "matched_aspects" and
 * "matched_processes"; where the command is wrong, "refused" and a sentence.
 */
void steering_answer(struct steering *s, struct external *x, const struct message_command *command, int64_t now,
                     struct message_reply *reply);

#endif
