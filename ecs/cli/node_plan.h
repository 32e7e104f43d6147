// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What `bezel node` is to do on another machine: traits of that machine, and of the packages here, become a plan, or
 * the sentence that says why it cannot become a node. Pure.
 */
#ifndef BEZEL_ECS_CLI_NODE_PLAN_H
#define BEZEL_ECS_CLI_NODE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NODE_FACTS_MAX = 64, NODE_KEY_MAX = 24, NODE_VALUE_MAX = 256, NODE_NOTES_MAX = 8, NODE_SENTENCE_MAX = 640 };

/** What ecs/cli/node.sh says of a machine: a name and a text each. Start with {0}. */
struct node_traits {
    unsigned count;
    struct node_trait {
        char key[NODE_KEY_MAX], value[NODE_VALUE_MAX];
    } list[NODE_FACTS_MAX];
};

/** Adds "KEY VALUE", or puts it in the place of that key's. A value is cut off where it is too long. */
void node_traits_add(struct node_traits *traits, const char *line);

/** The value of `key`, or "". */
const char *node_trait(const struct node_traits *traits, const char *key);

/** The packages of this workstation, and its Bezel. */
struct node_offer {
    const char *version;      /* of Bezel here: the node is to have the same */
    const char *folder;       /* where packages are; NULL: there are none */
    const char *architecture; /* of the packages, as dpkg calls it */
    const char *release;      /* for which they were made: "debian 12" */
    uint64_t bytes;           /* of all files that are copied */
    int64_t now;              /* s, the wall clock here when the traits came */
    bool home;                /* it may be installed in a home folder, though sudo would do it for a password */
};

enum node_install { NODE_HAS_IT, NODE_BY_APT, NODE_BY_COPY };

struct node_plan {
    char refused[NODE_SENTENCE_MAX]; /* why it cannot be; "": it can */
    enum node_install install;
    bool home;     /* it is installed in its user's home folder, without root */
    bool service;  /* systemd starts it; else it is started once, as programs of the user's */
    bool launcher; /* programs are started there */
    unsigned notes;
    char note[NODE_NOTES_MAX][NODE_SENTENCE_MAX]; /* what works less well there, and what to do */
};

void node_plan_make(const struct node_traits *traits, const struct node_offer *offer, struct node_plan *plan);

/** Compares versions "0.10.0-1" and "0.9": their numbers, without what is behind a '-'. Like strcmp(). */
int node_version_compare(const char *a, const char *b);

#endif
