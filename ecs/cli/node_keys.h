// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The keys of `bezel node`: this workstation's own, and the public ones of its nodes. Messages go to stderr. One
 * thread. */
#ifndef BEZEL_ECS_CLI_NODE_KEYS_H
#define BEZEL_ECS_CLI_NODE_KEYS_H

#include "config/inventory.h"
#include "ecs/cli/node_plan.h"
#include "mdr/link/link.h"

#include <limits.h>

enum { NODE_KEYS_PATH = PATH_MAX + KEY_NAME_MAX + 8 };

struct node_keys {
    struct inventory *inventory; /* borrowed; its `key` is the name of this workstation's key, NULL: there is none */
    char folder[PATH_MAX];
};

void node_keys_path(const struct node_keys *k, const char *name, const char *end, char path[NODE_KEYS_PATH]);

/** A name for a key that no other machine's has: "desk1-90c1", of the characters that names of keys may have. */
void node_keys_name(const char *of, char name[KEY_NAME_MAX + 1]);

/** Makes a key of this workstation, of its operator, its collectors and its own nodes, beside the one that it has. */
int node_keys_make(const struct node_keys *k, char name[KEY_NAME_MAX + 1]) BEZEL_MUST_CHECK;

/** Puts key `name` in the place of this workstation's, and writes the inventory. */
int node_keys_use(struct node_keys *k, const char *name) BEZEL_MUST_CHECK;

/** Writes what nodes are to have of this workstation's key `name`, with the roles that it has there. */
int node_keys_print(const struct node_keys *k, const char *name, char text[KEY_FILE_MAX]) BEZEL_MUST_CHECK;

/** The same of the key that it has; makes one if it has none. */
int node_keys_own(struct node_keys *k, char text[KEY_FILE_MAX]) BEZEL_MUST_CHECK;

/** Writes the public key that a node has said, as that of `node`, into the folder. */
int node_keys_admit(const struct node_keys *k, const char *node, const struct node_traits *traits) BEZEL_MUST_CHECK;

/** Removes what is here of key `name`, unless this workstation has it. */
void node_keys_forget(const struct node_keys *k, const char *name);

#endif
