// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The desk of a standing bezeld: its control link, in a folder of mode 0700, where experiments ask for sessions. Who
 * may enter the folder may have any folder of this user's read. One thread.
 */
#ifndef BEZEL_ECS_DESK_H
#define BEZEL_ECS_DESK_H

#include "ecs/sessions.h"

struct desk;

/**
 * Opens the desk in folder `dir`, made 0700 where it is missing, with its link at ipc://DIR/control. `keys` is the
 * folder of the keys that experiments name, NULL: those that name any are refused. Sessions that have not been heard of
 * for `patience` ns end. Returns 0 with *d for desk_close(); an error after saying why on stderr: BEZEL_EBUSY where
 * another bezeld stands there, BEZEL_EPERM where others may enter the folder, or write that of keys, ...
 */
int desk_open(const char *dir, const char *keys, int64_t patience, struct desk **d) BEZEL_MUST_CHECK;
void desk_close(struct desk *d);

/** The link, to wait on. */
struct link *desk_link(const struct desk *d);

/** Answers what has come, some commands a turn. True: it was told to STOP. */
bool desk_turn(struct desk *d, struct sessions *all);

/** Notes that a session is over: where it ended by itself, its experiment is told when it asks again. */
void desk_note_end(struct desk *d, const struct session *s);

/** Takes no more sessions. */
void desk_shut(struct desk *d);

#endif
