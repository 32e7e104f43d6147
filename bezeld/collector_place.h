// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Collectors that run on this machine, for experiments that say so (`collector: {node: NAME}`, `collectors`). A
 * CONFIGURE of a run that names no node makes a place for the run's root; one that names "-NAME", for its inner
 * collector NAME, whose parents the message has behind where it is to listen. Then START, QUERY, ENDING and DISCARD are
 * passed on to the launcher, which starts it, remembers it, and keeps its output. Here only the experiment is kept: a
 * bezeld that was restarted gets CONFIGURE again. One thread.
 */
#ifndef BEZEL_BEZELD_COLLECTOR_PLACE_H
#define BEZEL_BEZELD_COLLECTOR_PLACE_H

#include "bezeld/programs.h"

#include <limits.h>

enum { COLLECTOR_PLACES_MAX = 16, COLLECTOR_PLACE_WHY_MAX = 256 };

struct collector_place;

/** Texts are borrowed as long as the places are. */
struct collector_places {
    struct command_server *control;
    const char *keys;     /* folder of this bezeld's keys; NULL: it has none */
    const char *launcher; /* folder of bezel-launcher; NULL: there is none */
    int64_t idle_timeout; /* ns without a command, after which a place ends; 0: never */
    uint32_t count;
    struct collector_place *list[COLLECTOR_PLACES_MAX]; /* owned */
};

/** Whether the message of the control endpoint is about a collector. Pure. */
bool collector_places_take(const struct message *m);

/** Carries out the message of the control endpoint, and answers `from`. */
void collector_places_receive(struct collector_places *all, const struct command_request *from);

/** Passes answers back; ends places that nobody uses any more. */
void collector_places_turn(struct collector_places *all);

/** Adds descriptors to wait on, at most COLLECTOR_PLACES_MAX. Returns their number. */
size_t collector_places_fds(const struct collector_places *all, int *fds);

/** Ends all places; the launcher keeps what it runs. */
void collector_places_free(struct collector_places *all);

#endif
