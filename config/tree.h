// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A YAML file as a small tree in which everything knows its place. Only what an experiment needs of YAML is let
 * through: one document of maps with texts as keys, lists and texts. Anchors, aliases, tags and doubled keys are
 * reported, and what they make unusable is marked `refused`, so that nobody complains about it again. Internal to
 * config/.
 */
#ifndef BEZEL_CONFIG_TREE_H
#define BEZEL_CONFIG_TREE_H

#include "config/experiment.h"

enum { TREE_DEPTH_MAX = 8, TREE_CHILDREN_MAX = 4096 };

enum tree_kind { TREE_TEXT, TREE_LIST, TREE_MAP };

struct tree {
    enum tree_kind kind;
    bool refused; /* already reported: alias, second of its key, text with a NUL */
    bool absent;  /* a text that is plain and empty: `key:` */
    char *text;   /* of TREE_TEXT: every scalar is a text, be it 30, yes or "30"; NULL elsewhere */
    char *key;    /* in a map; NULL elsewhere */
    uint64_t key_hash;
    struct experiment_place at, key_at;
    struct tree *parent, *first, *last, *next;
    uint32_t index, children;
};

/**
 * Reads `n` bytes of YAML. Returns 0 with *document, a list of one, the root, to be freed by tree_free;
 * BEZEL_EMALFORMED with the reason in *found where there is no tree to look at (wrong syntax, nesting beyond
 * TREE_DEPTH_MAX, more than TREE_CHILDREN_MAX in one map or list, a map or list as key, nothing at all); BEZEL_ENOMEM.
 */
int tree_read(const char *text, size_t n, struct tree **document,
              struct experiment_diagnostics *found) BEZEL_MUST_CHECK;
void tree_free(struct tree *t);

/** The value of `key` in map `t`; NULL where it is not there or `t` is NULL or no map. */
const struct tree *tree_get(const struct tree *t, const char *key);

/**
 * Writes where `t` stands, as "processes[1].command" ("" for the root and the document), into `path`; a long one is
 * cut.
 */
void tree_path(const struct tree *t, char *path, size_t size);

#endif
