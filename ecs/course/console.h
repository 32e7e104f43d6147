// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Messages to the operator during a run: shown on stderr at once, and kept for run.db. One thread. */
#ifndef BEZEL_ECS_COURSE_CONSOLE_H
#define BEZEL_ECS_COURSE_CONSOLE_H

#include "ecs/course/progress.h"

struct rundb;

enum { CONSOLE_TEXT_MAX = 512, CONSOLE_EVENTS_MAX = 256 };

struct console_event {
    int64_t at; /* wall clock, ns, without steps made since the run began */
    bool error;
    char text[CONSOLE_TEXT_MAX];
};

struct console {
    struct progress progress;
    int64_t realtime_offset; /* of the monotonic clock when the run began, ns, without later steps of the wall clock */
    size_t count, dropped;   /* dropped: events beyond CONSOLE_EVENTS_MAX, which are shown but not kept */
    struct console_event *events;
};

void console_init(struct console *c, bool quiet, bool shared);
void console_free(struct console *c);

/** Logs an error, or another event of the run, to stderr, and keeps it for console_keep(). `id` as in base/log.h. */
void console_error(struct console *c, const char *id, const char *format, ...) BEZEL_PRINTF(3, 4);
void console_event(struct console *c, const char *id, const char *format, ...) BEZEL_PRINTF(3, 4);

/** Prints a message unless quiet; it is not kept. */
void console_note(struct console *c, const char *format, ...) BEZEL_PRINTF(2, 3);

/** Shows the last lines of file `path`, indented. Returns whether there were any. */
bool console_show_tail(struct console *c, const char *path);

/** Writes the kept events into run.db. Returns 0 or the first error. */
int console_keep(const struct console *c, struct rundb *f) BEZEL_MUST_CHECK;

#endif
