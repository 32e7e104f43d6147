// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the operator is told during a run: shown at once on stderr, and kept for the run's facts. One thread. */
#ifndef BEZEL_ECS_OPERATOR_H
#define BEZEL_ECS_OPERATOR_H

#include "ecs/progress.h"

struct facts;

enum { OPERATOR_TEXT_MAX = 512, OPERATOR_EVENTS_MAX = 256 };

struct operator_event {
    int64_t at; /* as the wall clock would have it that nobody stepped since the run began, ns */
    bool error;
    char text[OPERATOR_TEXT_MAX];
};

struct operator
{
    struct progress progress;
    int64_t realtime_offset; /* of the monotonic clock, when the run began: so a step tears nothing apart */
    size_t count, dropped;   /* beyond OPERATOR_EVENTS_MAX events are shown but not kept; how many is */
    struct operator_event *events;
};

void operator_init(struct operator* o, bool quiet, bool shared);
void operator_free(struct operator* o);

/** Something went wrong, or happened that belongs to the run's history: shown, and kept. `id` as in base/log.h. */
void operator_error(struct operator* o, const char *id, const char *format, ...) BEZEL_PRINTF(3, 4);
void operator_event(struct operator* o, const char *id, const char *format, ...) BEZEL_PRINTF(3, 4);

/** Passing news: shown unless quiet, not kept. */
void operator_note(struct operator* o, const char *format, ...) BEZEL_PRINTF(2, 3);

/** Shows the last lines of file `path`, indented. Returns whether there were any. */
bool operator_show_tail(struct operator* o, const char *path);

/** Puts what was kept into the run's facts. Returns 0 or the first error. */
int operator_keep(const struct operator* o, struct facts *f) BEZEL_MUST_CHECK;

#endif
