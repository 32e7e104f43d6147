// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Linked views of a run (the synchronised views of MPMS): each `bezel view` and `bezel top` of a user tells the others
 * of the same run which window of time, cursor and filter it shows. They find each other by sockets in a folder of mode
 * 0700; a message is one datagram, and whoever does not take it in time misses it. Nothing blocks. One owner.
 */
#ifndef BEZEL_VIEWS_LINKED_LINKED_H
#define BEZEL_VIEWS_LINKED_LINKED_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { LINKED_FILTER_MAX = 255 /* bytes */ };

struct linked_state {
    int64_t from, until;                /* ns of the run's time, since 1970: from < until */
    int64_t cursor;                     /* likewise; 0: there is none */
    bool follow;                        /* the window ends with what is newest */
    char filter[LINKED_FILTER_MAX + 1]; /* a part of a name; "": all */
};

struct linked;

/**
 * Joins the views of run `run` (its UUID as text). The folder is in $XDG_RUNTIME_DIR if that is
 * this user's, else in /tmp. Returns 0 with *l
 * for linked_close(), or an error with errno: then there are no linked views.
 */
int linked_open(const char *run, struct linked **l) BEZEL_MUST_CHECK;
void linked_close(struct linked *l); /* NULL is allowed */

/** Tells all others. */
void linked_send(struct linked *l, const struct linked_state *state);

/** Takes the newest message. Returns whether there was one that makes sense. NULL: there is none. */
bool linked_receive(struct linked *l, struct linked_state *state);

/** A message as text, and back. Pure. Returns its length; whether it makes sense. */
enum { LINKED_MESSAGE_MAX = LINKED_FILTER_MAX + 96 };
int linked_write(const struct linked_state *state, char text[LINKED_MESSAGE_MAX]);
bool linked_read(const char *text, struct linked_state *state);

#endif
