// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The tree of collectors (`collectors`, and `parents` of nodes): keys, checks and printing. Internal to config/. */
#ifndef BEZEL_CONFIG_COLLECTORS_H
#define BEZEL_CONFIG_COLLECTORS_H

#include "config/schema.h"

extern const struct schema_field collectors_fields[];
extern const struct experiment_inner collectors_default;

/** Finds nodes and parents, and chooses endpoints. Call after the checks of nodes and of the collector that stores. */
void collectors_check(struct reader *r, const struct tree *root, struct experiment *e);

/** Warns about inner collectors of a file without errors. */
void collectors_warn(struct reader *r, const struct tree *root, const struct experiment *e);

/** Tells that `t` names no collector, with the nearest name, `other` among them if it is not NULL, or `remedy`. */
void collectors_unknown(struct reader *r, const struct tree *t, const struct experiment *e, const char *other,
                        const char *remedy);

/** Whether something elsewhere, which `parents` lead straight to the root, may have to reach it. Pure. */
bool collectors_leads_to_root(const struct experiment_parents *parents);

/**
 * Prints the section, and the parents of a node after `before`. With `only` 0 or more: just the inner collectors that
 * run on this node, without parents and endpoints, which `bezel run` sends to their bezeld. collectors_print_ways()
 * then prints for each node through which of these it may send: their number bounds what each may have under way.
 * Prints nothing if there are none.
 */
void collectors_print_ways(const struct experiment *e, uint32_t node, uint32_t only, const char *before, FILE *out);
void collectors_print(const struct experiment *e, int64_t only, FILE *out);
void collectors_print_parents(const struct experiment *e, const struct experiment_parents *parents, const char *before,
                              FILE *out);

void collectors_free(struct experiment *e);

#endif
