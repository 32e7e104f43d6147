// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What `bezel doctor` looks at: each check adds findings, and each finding that is not in order names its remedy, as a
 * command where there is one. Checks read and measure; they leave nothing behind. One thread.
 */
#ifndef BEZEL_ECS_DOCTOR_H
#define BEZEL_ECS_DOCTOR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/** WARNING: Bezel works, but not as well as it could. PROBLEM: an experiment would fail. */
enum doctor_level { DOCTOR_OK, DOCTOR_WARNING, DOCTOR_PROBLEM };

struct doctor_finding {
    enum doctor_level level;
    const char *area, *name; /* static storage */
    char *text;
    char *remedy; /* NULL where it is in order */
};

struct doctor {
    size_t count, capacity;
    struct doctor_finding *list;
};

/** Adds a finding; `remedy` may be NULL, else it is copied. */
void doctor_add(struct doctor *d, enum doctor_level level, const char *area, const char *name, const char *remedy,
                const char *format, ...) BEZEL_PRINTF(6, 7);
void doctor_free(struct doctor *d);

void doctor_clock(struct doctor *d);
void doctor_memory(struct doctor *d);
void doctor_privileges(struct doctor *d);
void doctor_tools(struct doctor *d);

/** Whether links can have keys, and what is wrong in folder `dir` of keys (NULL: none to look at). */
void doctor_keys(struct doctor *d, const char *dir);

#endif
