// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * How a node polls: as the experiment says, then as an operator said. The latter is kept in the node's folder, so that
 * a daemon that was killed goes on with it. node_polling.c carries it out. One owner, one thread.
 */
#ifndef BEZEL_ECS_POLLING_H
#define BEZEL_ECS_POLLING_H

#include "config/experiment.h"
#include "mdr/message.h"

#include <limits.h>

struct polling {
    const struct experiment *experiment; /* borrowed */
    struct message_poll
        now; /* all of it; `given`: what an operator said. The policy may have moved on from its period */
    uint8_t run[16];
    char path[PATH_MAX]; /* of the file that keeps what the operator said */
};

/** What `e` says, and what the operator of `run` had said to a daemon before this one in folder `dir`. */
void polling_open(struct polling *p, const struct experiment *e, const char *dir, const uint8_t run[16]);

/** At the end of the run: nothing is kept. */
void polling_close(struct polling *p);

/**
 * What an operator wants: true where it is taken and kept, all of it; else nothing is, and `why` tells the reason. The
 * bounds are those of the file's keys, adapt.period with policy dpp included.
 */
enum { POLLING_WHY_SIZE = MESSAGE_TEXT_MAX + 1 };
bool polling_change(struct polling *p, const struct message_poll *order, char why[POLLING_WHY_SIZE]) BEZEL_MUST_CHECK;

#endif
