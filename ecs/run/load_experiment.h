// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** From a file, or a command, to an experiment that can be run on this machine. */
#ifndef BEZEL_ECS_LOAD_H
#define BEZEL_ECS_LOAD_H

#include "config/experiment.h"

/**
 * Checks the `n` bytes of experiment file at `text`, and that what it is to start can be started here. Prints every
 * finding to stderr, under the name `file`. Returns 0 with *e for experiment_free(), BEZEL_EMALFORMED, BEZEL_ENOMEM.
 */
int load_text(const char *text, size_t n, const char *file, struct experiment **e) BEZEL_MUST_CHECK;

/**
 * Reads experiment file `file` ("-": stdin) and checks it as above; the caller frees *text. Returns as above, or
 * another error after saying why on stderr.
 */
int load_file(const char *file, char **text, size_t *n, struct experiment **e) BEZEL_MUST_CHECK;

/**
 * Writes the experiment that runs the one command `argv`: named `name`, or after the command where NULL, for
 * `duration`, or as long as the command where NULL. Returns 0 with *text, NUL-terminated, that the caller frees;
 * BEZEL_EINVAL where an argument is not UTF-8, which no YAML can hold; BEZEL_ENOMEM.
 */
int load_command(char *const *argv, const char *name, const char *duration, char **text, size_t *n) BEZEL_MUST_CHECK;

/**
 * Finds what `p` would execute: its command as a path, seen from its working directory, where it holds a '/'; else in
 * the PATH of its environment. Returns 0 with the absolute path; else an error, with *why a sentence (static storage)
 * about the command, or about the working directory where *of_directory is set.
 */
int load_find_command(const struct experiment_process *p, char *path, size_t size, const char **why,
                      bool *of_directory) BEZEL_MUST_CHECK;

/**
 * Checks the keys that `e` names: that they are there, pairs, readable by their owner alone, and have their roles. Adds
 * to `found`. Returns 0 or BEZEL_ENOMEM.
 */
int load_check_keys(const struct experiment *e, struct experiment_diagnostics *found) BEZEL_MUST_CHECK;

#endif
