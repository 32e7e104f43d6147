// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A mediator: a process of its own that hands what a run stores on to another tool. It reads the run as any reader
 * does, so a tool that is slow or away costs nobody a record. This is what it knows of a tool. A tool is offered the
 * newest state, and takes it or misses it; what it missed is counted, and shown.
 */
#ifndef BEZEL_MEDIATORS_MEDIATOR_H
#define BEZEL_MEDIATORS_MEDIATOR_H

#include <stddef.h>
#include <stdint.h>

struct mediator_counts {
    uint64_t taken, missed, refused; /* states: the tool has it; a newer one came first; it was offered in vain */
};

struct mediator {
    const char *name; /* static: "push" */
    void *tool;
    /** Offers a state, which is copied. Does not wait. */
    void (*offer)(void *tool, const char *text, size_t n);
    struct mediator_counts (*counts)(void *tool);
    /** Waits until the tool has what it was offered last, for some seconds at most, and ends. */
    void (*close)(void *tool);
};

#endif
