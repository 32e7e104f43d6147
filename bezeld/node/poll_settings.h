// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The polling settings of a node: the experiment's, overridden by an operator's. The operator's are kept in a file in
 * the node's folder, so that a restarted daemon continues with them. node_polling.c applies them. One owner, one
 * thread.
 */
#ifndef BEZEL_BEZELD_NODE_POLL_SETTINGS_H
#define BEZEL_BEZELD_NODE_POLL_SETTINGS_H

#include "base/state_file.h"
#include "config/experiment.h"
#include "mdr/parts.h"

struct poll_settings {
    const struct experiment *experiment; /* borrowed */
    struct message_poll
        now; /* all settings; `given`: those of an operator. The policy may have moved the period since */
    struct state_file file; /* the operator's settings */
};

/** Takes the settings of `e`, and over them those that an earlier daemon of `run` kept in folder `dir`. */
void poll_settings_open(struct poll_settings *p, const struct experiment *e, const char *dir, const uint8_t run[16]);

/**
 * Takes and keeps the settings that an operator `wanted`, and returns true; or changes nothing, writes the reason to
 * `why`, and returns false. The bounds are those of the file's keys; for a policy that moves the period also
 * adapt.period.
 */
enum { POLL_SETTINGS_WHY_SIZE = MESSAGE_TEXT_MAX + 1 };
bool poll_settings_change(struct poll_settings *p, const struct message_poll *wanted,
                          char why[POLL_SETTINGS_WHY_SIZE]) BEZEL_MUST_CHECK;

#endif
