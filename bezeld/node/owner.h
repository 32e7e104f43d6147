// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The owner of a session: the `bezel run` that commands it, or the `bezel attach` that has taken the run over. Of
 * several the one with the greatest epoch is the owner, and of those with the same epoch the one with the greatest
 * holder: all nodes of a run decide alike, whichever command arrives first.
 */
#ifndef BEZEL_BEZELD_NODE_OWNER_H
#define BEZEL_BEZELD_NODE_OWNER_H

#include "base/state_file.h"
#include "mdr/parts.h"

enum owner_claim {
    OWNER_OTHER,  /* somebody who does not claim to be the owner, such as `bezel status` */
    OWNER_SAME,   /* the owner */
    OWNER_NEWER,  /* the owner from now on */
    OWNER_FORMER, /* no owner, or not any more */
};

/** Who sends a command that claims to be of `claim`, to a session of `owner`. Epoch 0: nobody. Pure. */
enum owner_claim owner_judge(struct message_leadership owner, struct message_leadership claim);

/**
 * Keeps the owner of a session, or the newest manager of a node, in a file, so that a restarted daemon follows no
 * earlier one either. What cannot be read is epoch 0.
 */
void owner_file_init(struct state_file *f, const char *dir, const uint8_t run[16]); /* that of a session of `run` */
void owner_save(const struct state_file *f, struct message_leadership owner);
struct message_leadership owner_read(const struct state_file *f);

#endif
