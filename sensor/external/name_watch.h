// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The names of the SUT's threads, as the kernel has them (/proc/PID/task/TID/comm): of living processes of our own pid
 * namespace, and of their threads that have a ring. A look reads files, so it belongs into housekeeping and not into a
 * poll. One owner, one thread.
 *
 * Bounds: a look takes NAME_WATCH_LOOK ns, and finds NAME_WATCH_CHANGES changes; what is left comes first the next
 * time. A process has NAME_WATCH_OF different names, a node NAME_WATCH_MAX; a thread with one more has none from
 * then on, and a note says so.
 */
#ifndef BEZEL_SENSOR_EXTERNAL_NAME_WATCH_H
#define BEZEL_SENSOR_EXTERNAL_NAME_WATCH_H

#include "sensor/external/external.h"

enum {
    NAME_WATCH_MAX = 512,
    NAME_WATCH_OF = 64,
    NAME_WATCH_CHANGES = 64,
    NAME_WATCH_LOOK = 1000000,
    NAME_WATCH_BYTES = 4 * 15, /* of a name: the kernel keeps 15, of which each may be escaped */
};

struct name_watch;

/** Thread `thread` of `p` has another name than before, or its first one; NULL: one beyond the bounds. */
typedef void name_watch_changed(void *context, const struct external_process *p, uint32_t thread, const char *name);

/** Names of the processes of `x`, which is borrowed. NULL: no memory. */
struct name_watch *name_watch_new(struct external *x);
void name_watch_free(struct name_watch *n);

/** Looks at the names of new threads, or of all, and calls `changed` for each change. NULL for `n` is allowed. */
void name_watch_look(struct name_watch *n, int64_t now, bool all, name_watch_changed *changed, void *context);

#endif
