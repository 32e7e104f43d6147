// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Commands: argument vectors, from a list of texts or from one text. Never a shell. Internal to config/. */
#ifndef BEZEL_CONFIG_COMMAND_H
#define BEZEL_CONFIG_COMMAND_H

#include "config/schema.h"

/**
 * Reads a command: a list of texts, or a text that is split at blanks. In a text, '...' and "..." group a word and are
 * removed; characters that only a shell interprets are an error. Stores a NULL-terminated vector in *(char ***)to, to
 * be freed with command_free(); after an error, which is reported, *to is unchanged.
 */
void command_read(struct reader *r, const struct tree *t, void *to);

/** Frees a NULL-terminated vector of texts; `argv` may be NULL. */
void command_free(char **argv);

#endif
