// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What to record next while a run goes on, so that a search (analysis/search.h) comes to know what it does not: aspects
 * that are counted only are recorded where they may say what time was spent on, as many as a limit on the CPU time of
 * the monitor permits, and not any more once they said nothing. What they cost is known before they are recorded: they
 * are counted. Pure.
 */
#ifndef BEZEL_ANALYSIS_DEEPEN_H
#define BEZEL_ANALYSIS_DEEPEN_H

#include "analysis/search.h"

enum deepen_turn { DEEPEN_STAY, DEEPEN_ON, DEEPEN_OFF };

/** An aspect that the file of the experiment has counted only. Begins as zeros. */
struct deepen_aspect {
    double cost; /* of a CPU of the monitor, that recording it takes at most; NaN: not known, and it stays as it is */
    double may;  /* the share of the time that it may explain, and nothing that is recorded does */
    double
        says; /* the share of the time that its records explain: in its spans; or what senders did, by its messages */

    /* Made by deepen_decide(). */
    enum deepen_turn turn; /* what to do now */
    bool on;               /* it is recorded, since it was turned on */

    /* Private. */
    bool tried;
    int64_t since;
};

struct deepen {
    double limit, used; /* CPU time of the monitor, of a CPU: at most, and as it was measured last */
    bool monitor;       /* that the monitor is what time is spent on is true: it is not to do more */
};

/** For so long after one was turned on none is judged, and the cost of that one is not seen in what is used, ns. */
#define DEEPEN_ENOUGH INT64_C(6000000000)
#define DEEPEN_SEEN   INT64_C(2000000000)
#define DEEPEN_SHARE  0.05 /* of the time: what explains less is not worth recording */

/**
 * Adds to `may` and `says` what aspect `name`, of `kind`, is about in process `process` of `node`, by search `s` of
 * terms `t` of `a`. Only what belongs to a hypothesis that is true, or not known, counts.
 */
void deepen_weigh(const struct activity *a, const struct slow_terms *t, const struct search *s, const char *node,
                  const char *process, const char *name, enum dict_kind kind, struct deepen_aspect *is);

/** Decides the turns of `count` aspects at time `now`, ns, and takes it that they are made. */
void deepen_decide(const struct deepen *s, struct deepen_aspect *aspects, size_t count, int64_t now);

/** Whether it is worth recording, whatever it costs, and is not recorded. */
bool deepen_is_wanted(const struct deepen_aspect *a);

/** Whether nothing more will be turned while nothing changes: what may say something was tried, or costs too much. */
bool deepen_is_done(const struct deepen *s, const struct deepen_aspect *aspects, size_t count, int64_t now);

#endif
