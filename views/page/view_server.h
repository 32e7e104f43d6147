// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What `bezel view` does for its pages: takes in what is stored, and sends each page the newest picture of the window
 * that it shows. Nothing is queued for a page: it gets a picture when it has drawn the one before, at most every
 * VIEW_LEAST_NS, and less often if it is slow; one that is out of sight gets none.
 */
#ifndef BEZEL_VIEWS_PAGE_VIEW_SERVER_H
#define BEZEL_VIEWS_PAGE_VIEW_SERVER_H

#include "views/page/web.h"

#include <signal.h>

struct view_server_options {
    const char *run;     /* the run directory */
    uint16_t port;       /* 0: a free one */
    bool control;        /* pages with the secret may control the run */
    const char *allowed; /* one further origin, or NULL */
    const char *file;    /* the file that redirects; "": a new one in a folder of the user's */
    const char *bezel;   /* the program `bezel`, which controls */
    const char *self;    /* this program, which makes reports with option --report */
};

/** Serves until *stop is set. Returns an exit code. Prints where the page is. */
int view_server_run(const struct view_server_options *o, const volatile sig_atomic_t *stop);

/**
 * How long to wait, ns from its begin, after a look at the run that took `took` ns and `gained` records, and was not
 * the last one that is needed if `behind`: a run of thousands of processes costs little once most of it is known. Pure.
 */
int64_t view_server_pause(int64_t took, bool behind, uint64_t gained);

#endif
