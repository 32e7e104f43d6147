// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** `bezel top`: a run on a terminal, or as plain lines, while it lives and later. */
#ifndef BEZEL_VIEWS_TOP_TOP_H
#define BEZEL_VIEWS_TOP_TOP_H

#include "base/err.h"
#include "views/top/top_state.h"

struct top_options {
    const char *run;    /* its directory */
    bool plain, ascii;  /* lines, also where there is a terminal; no characters but ASCII */
    bool own;           /* the monitor's own processes, too */
    int64_t interval;   /* ns */
    uint64_t count;     /* of refreshes; 0: until it is ended, in plain lines of an ended run one */
    int64_t back;       /* ns before the newest record */
    int64_t span;       /* of the plot, ns; 0: of the run, within bounds */
    enum top_view view; /* TOP_VIEWS: nodes, and in plain lines limits, too */
};

/** Shows the run until the operator ends it. Returns an exit code; what is wrong was logged. */
int top_show(const struct top_options *o) BEZEL_MUST_CHECK;

#endif
