// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The checks of `bezel doctor`. Each has a result and, if something is wrong, a remedy: a command if there is one.
 * Checks read and measure; they change nothing. One thread.
 */
#ifndef BEZEL_ECS_CLI_DOCTOR_H
#define BEZEL_ECS_CLI_DOCTOR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/** WARNING: Bezel works, but not as well as it could. PROBLEM: an experiment would fail. */
enum doctor_level { DOCTOR_OK, DOCTOR_WARNING, DOCTOR_PROBLEM };

struct doctor_check {
    enum doctor_level level;
    const char *area, *name; /* static storage */
    char *text;
    char *remedy; /* NULL: in order */
};

struct doctor {
    size_t count, capacity;
    struct doctor_check *list;
};

/** Adds a check with its result as text; `remedy` is copied, and has no effect with DOCTOR_OK. Out of memory: it is
 * left out. */
void doctor_add(struct doctor *d, enum doctor_level level, const char *area, const char *name, const char *remedy,
                const char *format, ...) BEZEL_PRINTF(6, 7);
void doctor_free(struct doctor *d);

void doctor_clock(struct doctor *d);
void doctor_memory(struct doctor *d);

/**
 * Adds whether the shared memory folder `dir` of user `user` outlasts the user's logout, where systemd-logind runs.
 * `root` is in front of the paths of the system's files.
 */
void doctor_logout(struct doctor *d, const char *root, const char *dir, const char *user, unsigned uid);

void doctor_privileges(struct doctor *d);
void doctor_samplers(struct doctor *d);
void doctor_tools(struct doctor *d);

/** Checks whether links can have keys, and the keys in folder `dir` (NULL: no folder). */
void doctor_keys(struct doctor *d, const char *dir);

#endif
