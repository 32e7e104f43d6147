// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A YAML file as a small tree, with the place of each value in the file. Accepted is the part of YAML that an
 * experiment needs: one document of lists, texts, and maps with texts as keys. Anchors, aliases, tags and doubled keys
 * are reported; values that they make unusable are marked `refused`, so that they are not reported again. Internal to
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
 * Reads `n` bytes of YAML. Returns 0 with *document, a list with one entry, the root, to be freed by tree_free();
 * BEZEL_EMALFORMED with the reason in *found if there is no tree (wrong syntax, nesting beyond
 * TREE_DEPTH_MAX, more than TREE_CHILDREN_MAX in one map or list, a map or list as key, nothing at all); BEZEL_ENOMEM.
 */
int tree_read(const char *text, size_t n, struct tree **document,
              struct experiment_diagnostics *found) BEZEL_MUST_CHECK;
void tree_free(struct tree *t);

/** The byte of the text at which place `at` is; `n`: at its end, or behind it. The text is UTF-8. */
size_t tree_offset(const char *text, size_t n, struct experiment_place at);

/** The value of `key` in map `t`; NULL if there is none, or `t` is NULL or not a map. */
const struct tree *tree_get(const struct tree *t, const char *key);

/** Writes the path of `t`, as "processes[1].command" ("" for root and document), to `path`, cut off after `size`. */
void tree_path(const struct tree *t, char *path, size_t size);

#endif
