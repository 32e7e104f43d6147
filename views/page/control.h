// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a page has turned: by `bezel knob`, `poll`, `aspects`, `pause`, `resume` or `snapshot`, one at a time, so that
 * there is one way to control a run. The command gets words, no shell; a word that begins with '-' is refused. One
 * owner.
 */
#ifndef BEZEL_VIEWS_PAGE_CONTROL_H
#define BEZEL_VIEWS_PAGE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CONTROL_TEXT = 2048 };

struct control {
    const char *program, *run; /* `bezel`, and the run directory; borrowed */
    pid_t pid;                 /* 0: no command is carried out */
    int output;                /* of the command */
    uint32_t page;             /* that asked for it */
    char text[CONTROL_TEXT];   /* the answer that is to be sent; "": none */
};

/** Starts a command, or notes why not. */
void control_start(struct control *c, uint32_t page, const char *const *words, size_t count);

/** Whether there is an answer: then it is in `text`, for `page`. Does not block. */
bool control_step(struct control *c, uint32_t *page, char *text, size_t size);

/** Ends a command that is still carried out. */
void control_stop(struct control *c);

#endif
