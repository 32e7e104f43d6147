// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Makes a text in a process of its own, such as the report's data by `bezel-view --report`: what needs long does not
 * hold up who asks for it, and what fails on a damaged run fails there. One at a time; nothing blocks.
 */
#ifndef BEZEL_VIEWS_PAGE_TEXT_MAKER_H
#define BEZEL_VIEWS_PAGE_TEXT_MAKER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** All zeros, but for the program, which is borrowed. */
struct text_maker {
    const char *program;
    pid_t pid;      /* 0: none is made */
    int output;     /* a file in memory */
    bool made;      /* one was made: what later ones complain of was said */
    int accepted;   /* an exit code besides 0 with which what was printed is good; 0: there is none */
    int64_t cpu_ns; /* of all of them */
};

/** Begins a text: what the program prints with `arguments`, which end with NULL. Returns 0 or an error with errno. */
int text_maker_start(struct text_maker *m, const char *const *arguments) BEZEL_MUST_CHECK;

/** Whether the text that was begun has ended: then *text, of *n bytes, is for free(), or NULL where it failed. */
bool text_maker_step(struct text_maker *m, char **text, size_t *n);

/** Ends what is being made. */
void text_maker_stop(struct text_maker *m);

#endif
