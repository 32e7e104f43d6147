// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Readers for values that no schema kind covers, such as paths and patterns. Each checks value `t` and stores it at
 * `to`, or reports an error and leaves *to unchanged. The model owns what is stored: experiment_free().
 */
#ifndef BEZEL_CONFIG_FIELDS_INTERNAL_H
#define BEZEL_CONFIG_FIELDS_INTERNAL_H

#include "config/schema.h"

/** char *: the working directory of a process; a folder of keys. */
void fields_read_directory(struct reader *r, const struct tree *t, void *to);
void fields_read_keys(struct reader *r, const struct tree *t, void *to);

/** char *: an absolute path: the folder of a node, without "//" and "/./"; the folder of a spool. */
void fields_read_dir(struct reader *r, const struct tree *t, void *to);
void fields_read_spool_dir(struct reader *r, const struct tree *t, void *to);

/** char *: a glob of executables; the name of an aspect; that of a field; that, or the word of enum
 * experiment_arrivals. */
void fields_read_attach(struct reader *r, const struct tree *t, void *to);
void fields_read_aspect(struct reader *r, const struct tree *t, void *to);
void fields_read_field(struct reader *r, const struct tree *t, void *to);
void fields_read_statistic(struct reader *r, const struct tree *t, void *to);
void fields_read_where(struct reader *r, const struct tree *t, void *to);

/**
 * char **, ending with NULL, to be freed with fields_free_texts(): NAME=value of variables; patterns of aspects; a
 * command. A command is a list of texts, or a text that is split at blanks; in a text, '...' and "..." group a word and
 * are removed, and characters that only a shell interprets are an error.
 */
void fields_read_environment(struct reader *r, const struct tree *t, void *to);
void fields_read_patterns(struct reader *r, const struct tree *t, void *to);
void fields_read_command(struct reader *r, const struct tree *t, void *to);

/** struct experiment_rule *, to be freed with fields_free_rules(): {frame_shown: 100 ms}; {pixel: reduced};
 * {frame_shown: 10}. */
void fields_read_expire(struct reader *r, const struct tree *t, void *to);
void fields_read_keep_rules(struct reader *r, const struct tree *t, void *to);
void fields_read_importance(struct reader *r, const struct tree *t, void *to);

/** struct experiment_rule *: {"debug_*": on}, with values of fields_aspect_modes. */
extern const struct schema_word fields_aspect_modes[];
void fields_read_modes(struct reader *r, const struct tree *t, void *to);

/** Whether the `n` bytes at `text` may be the name of an aspect or field. */
bool fields_is_declared(const char *text, size_t n);

/** char *: the endpoint of the collector, NULL for `ipc`; the control endpoint of a persistent bezeld. */
void fields_read_listen(struct reader *r, const struct tree *t, void *to);
void fields_read_on_loss(struct reader *r, const struct tree *t, void *to);
void fields_read_address(struct reader *r, const struct tree *t, void *to);

/** int64_t: one of schema_syncs, or a duration, ns. */
void fields_read_serve(struct reader *r, const struct tree *t, void *to);
void fields_read_metrics(struct reader *r, const struct tree *t, void *to);
void fields_read_push(struct reader *r, const struct tree *t, void *to);
void fields_read_engine(struct reader *r, const struct tree *t, void *to);
void fields_read_sync(struct reader *r, const struct tree *t, void *to);

/** struct experiment_sensing: what sampler `switches` does, as the word of `store` or a map (schema_switches). */
void fields_read_switches(struct reader *r, const struct tree *t, void *to);
void fields_print_switches(const void *from, FILE *out);

/** struct store_keep: a size or a time. */
void fields_read_keep(struct reader *r, const struct tree *t, void *to);

/** The arguments may be NULL. */
void fields_free_texts(char **texts);
void fields_free_rules(struct experiment_rule *rules);

#endif
