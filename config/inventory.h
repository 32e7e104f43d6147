// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The inventory of a workstation: the nodes that `bezel node add` made, each with the way to it and the name of its
 * key. It is a small YAML file:
 *
 *     workstation: {key: ada.desk-5f3a}
 *     nodes:
 *       desk1: {ssh: ada@desk1, address: "tcp://192.0.2.11:7767", key: desk1-90c1, version: 0.1.0}
 *
 * An experiment file that names such a node without an address gets it from here, in its text, so that the run's copy
 * of the file needs no inventory. Functions are pure.
 */
#ifndef BEZEL_CONFIG_INVENTORY_H
#define BEZEL_CONFIG_INVENTORY_H

#include "config/experiment.h"

enum { INVENTORY_NODES_MAX = 4096, INVENTORY_FILE_MAX = 1 << 20 };

struct inventory_node {
    char *name;
    char *ssh;     /* what ssh is called with: [USER@]HOST */
    char *address; /* where its bezeld takes commands: tcp://HOST:PORT */
    char *key;     /* the name of its key, there and in the folder of keys here */
    char *version; /* of Bezel, when it was added or upgraded; NULL: not known */
    struct experiment_place at;
};

/** Start with {0}; owns its texts. `key`: the name of the workstation's own key; NULL: it has none yet. */
struct inventory {
    char *key;
    uint32_t count;
    struct inventory_node *nodes;
};

/**
 * Reads the `n` bytes of the file into *inventory. Returns 0; BEZEL_EMALFORMED with the reasons in *found, which it
 * initialises; BEZEL_ENOMEM. Both are to be freed in all cases.
 */
int inventory_read(const char *text, size_t n, struct inventory *inventory,
                   struct experiment_diagnostics *found) BEZEL_MUST_CHECK;

/** Writes it as inventory_read() takes it. */
void inventory_print(const struct inventory *inventory, FILE *out);

void inventory_free(struct inventory *inventory);

/** The node called `name`; NULL: there is none. It is valid until the next change. */
struct inventory_node *inventory_find(const struct inventory *inventory, const char *name);

/** Puts a copy of `node` in the place of the one of its name, or behind the last. Returns 0 or BEZEL_ENOMEM. */
int inventory_put(struct inventory *inventory, const struct inventory_node *node) BEZEL_MUST_CHECK;

/** Removes the node called `name`, where there is one. */
void inventory_remove(struct inventory *inventory, const char *name);

/* ---- In an experiment file --------------------------------------------------------------------------------------- */

/** An insertion into a text, at a place of the text as it was: so many whole lines, or so many characters. */
struct inventory_edit {
    struct experiment_place at;
    uint32_t lines, columns;
};

struct inventory_resolved {
    char *text; /* NULL: nothing in the file is the inventory's */
    size_t n;
    size_t count;
    struct inventory_edit *edits; /* in the order of the text */
};

/**
 * Writes into an experiment file what the inventory knows: the address of each node that has none, is called as one of
 * the inventory, and is not `address: local`. If there is one, and the file names no folder of keys (store.keys), then
 * also `keys`, the inventory's folder, and the names of the keys in it. Returns 0 with *resolved to be freed;
 * BEZEL_EMALFORMED with the reason in *found, which it initialises; BEZEL_ENOMEM. A text that is no YAML stays as it
 * is: experiment_read() says what is wrong.
 */
int inventory_resolve(const struct inventory *inventory, const char *keys, const char *text, size_t n,
                      struct inventory_resolved *resolved, struct experiment_diagnostics *found) BEZEL_MUST_CHECK;

/** The place, in the text as it was, of place `at` of the resolved text. */
struct experiment_place inventory_place(const struct inventory_resolved *resolved, struct experiment_place at);

void inventory_resolved_free(struct inventory_resolved *resolved);

#endif
