// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The names of a process's threads over time, as the daemon of its node recorded them (struct builtin_thread). A name
 * counts until the next one of the same thread; the first one counts before it, too, for it was found later than the
 * thread began. One thread; no I/O.
 */
#ifndef BEZEL_RUN_MODEL_THREAD_NAMES_H
#define BEZEL_RUN_MODEL_THREAD_NAMES_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes of a name: 15, of which each may be escaped. */
enum { THREAD_NAME_MAX = 60 };

struct thread_name {
    uint32_t thread;
    int64_t at;                     /* ns of the node's clock */
    char name[THREAD_NAME_MAX + 1]; /* "": not known from then on */
};

struct thread_names {
    struct thread_name *list; /* by thread and time */
    size_t count;
};

/** Adds a name, behind those of lower threads, and of earlier times. Returns 0, BEZEL_ENOMEM, or BEZEL_EMALFORMED where
 * it is in another order. */
int thread_names_add(struct thread_names *n, uint32_t thread, int64_t at, const char *name) BEZEL_MUST_CHECK;

/** The name of a thread at a time; NULL if it is not known. */
const char *thread_names_at(const struct thread_names *n, uint32_t thread, int64_t at);

void thread_names_fini(struct thread_names *n);

#endif
