// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Commands: argument vectors, from a list of texts or from one text. Never a shell. Internal to config/. */
#ifndef BEZEL_CONFIG_COMMAND_H
#define BEZEL_CONFIG_COMMAND_H

#include "config/schema.h"

/**
 * Reads a command: a list of texts, or a text that is split at blanks, where '...' and "..." hold a word together and
 * mean themselves. What only a shell would understand is an error. Stores a NULL-terminated vector in *(char ***)to.
 */
void command_read(struct reader *r, const struct tree *t, void *to);

/** Frees a NULL-terminated vector of texts; NULL is one of none. */
void command_free(char **argv);

#endif
