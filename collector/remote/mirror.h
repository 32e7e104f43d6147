// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A mirror: a run directory here that is filled from the server of a run (bezel-serve, MIRROR of mdr/read.x), while the
 * run grows or later. Whoever reads run directories reads it.
 *
 * It may also be the home of that run, which a `bezel run` has made here while its collector is elsewhere: then the
 * rows of the collector are joined with those that `bezel run` has written (rundb_apply.h), and its files stay.
 *
 * It holds the lock that a collector holds, so readers take it for a run that goes on, and no second mirror fills the
 * directory. Where the link is cut, or the disk is full, it connects anew, in pauses that grow, and goes on from what
 * it has. The file `mirror` says how it stands (run/store/mirror_state.h), and whether it is complete. One thread.
 */
#ifndef BEZEL_COLLECTOR_REMOTE_MIRROR_H
#define BEZEL_COLLECTOR_REMOTE_MIRROR_H

#include "collector/remote/remote_link.h"

enum { MIRROR_WHY_MAX = 1024 };

struct mirror_progress {
    bool answered;          /* the server has */
    uint64_t taken, behind; /* bytes that came by this connection; that are still to come, as far as is known */
};

struct mirror_options {
    struct remote_place place;
    const char *dir;  /* made where it is missing */
    const char *home; /* the id of the run whose home it is; NULL: it is none */
    bool temporary;   /* it is removed later; as a home, it is a copy of that, and lacks what is written there later */
    bool once;        /* what is stored by now; else until the run is over */
    /*
     * Called when all that was stored there is here, for the first time; with `once`, and of a run that is over there,
     * at the end, when the directory says so. May be NULL.
     */
    void (*caught_up)(void *context);
    /* Called often while a server is connected. False: it is to stop. May be NULL. */
    bool (*turn)(void *context, const struct mirror_progress *progress);
    void *context;
    char *why; /* gets the reason of an error, up to MIRROR_WHY_MAX bytes; NULL: the reason is logged */
};

/**
 * Fills the directory. Blocks. Returns 0: all that was asked for is here; BEZEL_EAGAIN: it was stopped; or an error
 * with its reason: BEZEL_EUNREACH before the first answer of the server, or with `once`, as else it is tried again. A
 * home that is complete has no file `mirror`.
 */
int mirror_run(const struct mirror_options *o) BEZEL_MUST_CHECK;

#endif
