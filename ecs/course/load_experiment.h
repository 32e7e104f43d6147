// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Loads an experiment from a file or a command, and checks that this machine can run it. */
#ifndef BEZEL_ECS_COURSE_LOAD_EXPERIMENT_H
#define BEZEL_ECS_COURSE_LOAD_EXPERIMENT_H

#include "config/experiment.h"

/**
 * Checks the `n` bytes of experiment file at `text`, and that its commands, folders and keys are there. Prints every
 * diagnostic to stderr, under the name `file`. Returns 0 with *e for experiment_free(), BEZEL_EMALFORMED, BEZEL_ENOMEM.
 */
int load_text(const char *text, size_t n, const char *file, struct experiment **e) BEZEL_MUST_CHECK;

/** As load_text(), for a run that is taken over: of this machine only the keys are checked. */
int load_again(const char *text, size_t n, const char *file, struct experiment **e) BEZEL_MUST_CHECK;

/**
 * Reads experiment file `file` ("-": stdin), writes into its text what the inventory of this workstation knows of its
 * nodes (ecs/course/inventory_file.h), and checks it as above; the caller frees *text. Returns as above, or another
 * error, logged to stderr.
 */
int load_file(const char *file, char **text, size_t *n, struct experiment **e) BEZEL_MUST_CHECK;

/**
 * Writes the experiment that runs the one command `argv`. If `name` is NULL, it is named after the command; if
 * `duration` is NULL, it lasts as long as the command. Returns 0 with *text, NUL-terminated, for the caller to free;
 * BEZEL_EINVAL if an argument is not UTF-8, which YAML cannot hold; BEZEL_ENOMEM.
 */
int load_command(char *const *argv, const char *name, const char *duration, char **text, size_t *n) BEZEL_MUST_CHECK;

/**
 * Finds the file that `p` would execute. A command with a '/' is a path relative to its working directory; another one
 * is searched in the PATH of its environment. Returns 0 with the absolute path; else an error, with the reason in *why
 * (static storage). *of_directory: the reason is about the working directory, not the command.
 */
int load_find_command(const struct experiment_process *p, char *path, size_t size, const char **why,
                      bool *of_directory) BEZEL_MUST_CHECK;

#endif
