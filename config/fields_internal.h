// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The values that are the file's own kinds of text: each reader checks value `t` and stores it at `to`, or reports what
 * is wrong and leaves *to as it is. Lists and texts are the model's: experiment_free().
 */
#ifndef BEZEL_CONFIG_FIELDS_OWN_H
#define BEZEL_CONFIG_FIELDS_OWN_H

#include "config/schema.h"

/** Bytes of a word that is given to a program, an argument or NAME=value: MAX_ARG_STRLEN of Linux, without its NUL. */
enum { FIELDS_WORD_MAX = 32 * 4096 - 1 };

/** Whether a path is short enough, `max` bytes in all and NAME_MAX in each name of it; reported at `t` where not. */
bool fields_path_fits(struct reader *r, const struct tree *t, const char *path, size_t max);

/** char *: the working directory of a process; a folder of keys. */
void fields_read_directory(struct reader *r, const struct tree *t, void *to);
void fields_read_keys(struct reader *r, const struct tree *t, void *to);

/** char *: the folder of a node, without what makes no difference ("//", "/./"), and of a spool. */
void fields_read_dir(struct reader *r, const struct tree *t, void *to);
void fields_read_spool_dir(struct reader *r, const struct tree *t, void *to);

/** char *: a glob of executables; the name of an aspect; that of a field. */
void fields_read_attach(struct reader *r, const struct tree *t, void *to);
void fields_read_aspect(struct reader *r, const struct tree *t, void *to);
void fields_read_field(struct reader *r, const struct tree *t, void *to);

/** char **, ending with NULL: NAME=value of variables; patterns of aspects. */
void fields_read_environment(struct reader *r, const struct tree *t, void *to);
void fields_read_patterns(struct reader *r, const struct tree *t, void *to);

/** char *: where the store listens, NULL for `ipc`; where a standing bezeld does. */
void fields_read_listen(struct reader *r, const struct tree *t, void *to);
void fields_read_address(struct reader *r, const struct tree *t, void *to);

/** int64_t: one of schema_syncs, or a duration, ns. */
void fields_read_sync(struct reader *r, const struct tree *t, void *to);

#endif
