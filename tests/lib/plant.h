// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A virtual plant for policies: nodes whose monitor costs CPU for each poll, on top of a base load; an application on
 * each that shows frames, fewer where the CPU that the monitor and others leave is not enough; decisions that take
 * effect only after a dead time; noise. Time is a count of sampling periods: no clock.
 */
#ifndef BEZEL_TESTS_LIB_PLANT_H
#define BEZEL_TESTS_LIB_PLANT_H

#include "resmgr/policies/policy.h"

#define PLANT_KEPT   0.96 /* of its budget, that a node uses at most where it keeps it */
#define PLANT_RECORD 60.0 /* ns of CPU for a record */

enum {
    PLANT_RING = 4096, /* records that a poll finds at most */
    PLANT_NODES_MAX = 64,
    PLANT_LIMITS_MAX = 2 * PLANT_NODES_MAX + 1,
};

enum { PLANT_DELAY_MAX = 16, PLANT_WINDOW_MAX = 64, PLANT_FPS = 30, PLANT_FPS_LEAST = 29 };

struct plant_node {
    double cost; /* ns of CPU a poll; a poller that polls all the time is at 100 % */
    double base; /* percent of CPU that the monitor uses besides */
    double load; /* percent of CPU that others take from the application */
    double late; /* ns that each poll comes later than the period says */
    double flow; /* records a second that are made for it */

    /* As it turned out at the last step. */
    double use, fps; /* percent of CPU; frames a second, now */
    bool on;         /* as in force */
    int64_t period;

    /* The plant's own. */
    struct plant_setting {
        bool on;
        int64_t period;
    } decided[PLANT_DELAY_MAX]; /* the setting after each of the latest steps */
    double phase;               /* of the next poll, in polls */
    double records;             /* taken at the last step */
    bool deferred;              /* polls were, at the last step */
    double owed;                /* ns of CPU of polls that began and are not done */
    double shown[PLANT_WINDOW_MAX];
};

struct plant {
    uint64_t seed;
    int64_t every;
    uint32_t count;
    uint32_t delay;   /* steps that a decision takes; 0: in force at once */
    uint32_t window;  /* steps that the frame rate is the mean over; 0: there is no limit on it */
    bool confirms;    /* the plant tells which measurements a change is in */
    bool blind_polls; /* how many polls there were is unknown */
    bool keeps;       /* each node puts off polls that its budget has no room for (resmgr/pace/cpu_budget.h) */
    double noise;     /* of a poll's cost: uniform, +- this share */
    double starved;   /* share of the steps in which a node gets no CPU for nine of ten polls */
    double need;      /* percent of CPU that the application needs for all its frames */
    double budget;    /* percent of CPU of each node; 0: no such limit */
    double global;    /* percent of CPU of all nodes together; 0: no such limit */
    uint64_t step;
    struct plant_node nodes[PLANT_NODES_MAX];
};

/**
 * One sampling period goes by under the settings of `state`; what can be seen of it then. *seen has room for the limits
 * of all nodes, PLANT_LIMITS_MAX at most, and for their measures.
 */
void plant_step(struct plant *p, const struct policy_state *state, struct policy_observation *seen);

#endif
