// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Readers for values that no schema kind covers, such as paths and patterns. Each checks value `t` and stores it at
 * `to`, or reports an error and leaves *to unchanged. The model owns what is stored: experiment_free().
 */
#ifndef BEZEL_CONFIG_FIELDS_INTERNAL_H
#define BEZEL_CONFIG_FIELDS_INTERNAL_H

#include "config/schema.h"

/** Bytes of an argument or of NAME=value for a program: MAX_ARG_STRLEN of Linux, without its NUL. */
enum { FIELDS_WORD_MAX = 32 * 4096 - 1 };

/** Whether `path` has at most `max` bytes, and each name in it NAME_MAX; if not, reports it at `t`. */
bool fields_path_fits(struct reader *r, const struct tree *t, const char *path, size_t max);

/** char *: the working directory of a process; a folder of keys. */
void fields_read_directory(struct reader *r, const struct tree *t, void *to);
void fields_read_keys(struct reader *r, const struct tree *t, void *to);

/** char *: an absolute path: the folder of a node, without "//" and "/./"; the folder of a spool. */
void fields_read_dir(struct reader *r, const struct tree *t, void *to);
void fields_read_spool_dir(struct reader *r, const struct tree *t, void *to);

/** char *: a glob of executables; the name of an aspect; that of a field. */
void fields_read_attach(struct reader *r, const struct tree *t, void *to);
void fields_read_aspect(struct reader *r, const struct tree *t, void *to);
void fields_read_field(struct reader *r, const struct tree *t, void *to);

/** char **, ending with NULL: NAME=value of variables; patterns of aspects. */
void fields_read_environment(struct reader *r, const struct tree *t, void *to);
void fields_read_patterns(struct reader *r, const struct tree *t, void *to);

/** char *: the endpoint of the collector, NULL for `ipc`; the control endpoint of a persistent bezeld. */
void fields_read_listen(struct reader *r, const struct tree *t, void *to);
void fields_read_address(struct reader *r, const struct tree *t, void *to);

/** int64_t: one of schema_syncs, or a duration, ns. */
void fields_read_sync(struct reader *r, const struct tree *t, void *to);

#endif
