// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Why limits of a run were violated, as `bezel why` answers it: views/why/why.h. Shared by report_*.c. */
#ifndef BEZEL_VIEWS_REPORT_REPORT_CAUSES_H
#define BEZEL_VIEWS_REPORT_REPORT_CAUSES_H

#include "views/report/report.h"
#include "views/why/why.h"

enum { REPORT_CAUSES = 3 }; /* limits whose causes a report looks for */

struct report_causes {
    struct why_limits asked;
    struct why_page page;
    const char *unread[REPORT_CAUSES]; /* of each question why there is no answer, static; NULL: there is one */
    struct why_answer answers[REPORT_CAUSES];
};

/** Adds the questions of the limits that `v` says are violated, about w->open. Pure. */
void report_why_ask(const struct verdict *v, const struct summary *s, const struct experiment *e, double share,
                    struct why_limits *w);

/** Makes w->open: what no record of `s` ends, which is borrowed. Returns 0 or BEZEL_ENOMEM. */
int report_why_open(const struct summary *s, struct why_limits *w) BEZEL_MUST_CHECK;

/** What is printed of a run; without answers. `run` is borrowed. Pure. */
struct why_page report_why_page(const char *run, bool running, const struct summary *s);

/**
 * Looks for the causes of the limits of `r` that were violated, in run directory `run`: NULL if there is none, else for
 * report_causes_free(). Reads the records if they are few enough; blocks on the disk then.
 */
struct report_causes *report_causes_find(const char *run, bool running, const struct report *r);
void report_causes_free(struct report_causes *c);

#endif
