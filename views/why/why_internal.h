// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by why_*.c; why.h is the interface. */
#ifndef BEZEL_VIEWS_WHY_WHY_INTERNAL_H
#define BEZEL_VIEWS_WHY_WHY_INTERNAL_H

#include "views/why/why.h"

struct why_place_text {
    char s[2 * MESSAGE_NAME_MAX + DICT_NAME_MAX + 16];
};

struct why_what_text {
    char s[2 * MESSAGE_NAME_MAX + DICT_NAME_MAX + 96];
};

/** Why there is no prediction of the change that was asked for; NULL: there is one. */
const char *why_unpredicted(const struct why_answer *a);

/** Calls `put` with each sentence about what the answer rests on, and what would make more of it known. */
void why_remarks(const struct why_page *p, const struct why_answer *a, void (*put)(void *context, const char *text),
                 void *context);

#endif
