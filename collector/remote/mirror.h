// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A mirror: a run directory here that is filled from the server of a run (bezel-serve, MIRROR of mdr/read.x), while the
 * run grows or later. Whoever reads run directories reads it.
 *
 * It holds the lock that a collector holds, so readers take it for a run that goes on, and no second mirror fills the
 * directory. Where the link is cut, or the disk is full, it connects anew, in pauses that grow, and goes on from what
 * it has. The file `mirror` says how it stands (run/store/mirror_state.h), and whether it is complete. One thread.
 */
#ifndef BEZEL_COLLECTOR_REMOTE_MIRROR_H
#define BEZEL_COLLECTOR_REMOTE_MIRROR_H

#include "collector/remote/remote_link.h"

struct mirror_options {
    struct remote_place place;
    const char *dir; /* made where it is missing */
    bool temporary;  /* it is removed later */
    bool once;       /* what is stored by now; else until the run is over */
    /* Called when all that was stored there is here, for the first time, or with `once` at the end; may be NULL. */
    void (*caught_up)(void *context);
    void *context;
};

/**
 * Fills the directory. Blocks. Returns 0: all that was asked for is here; BEZEL_EAGAIN: it was stopped; or an error, of
 * which a message was logged: BEZEL_EUNREACH before the first answer of the server alone, as later it is tried again.
 */
int mirror_run(const struct mirror_options *o) BEZEL_MUST_CHECK;

#endif
