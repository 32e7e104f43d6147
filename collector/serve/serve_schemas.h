// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The processes whose schemas a consumer has, with their numbers. One owner. */
#ifndef BEZEL_COLLECTOR_SERVE_SERVE_SCHEMAS_H
#define BEZEL_COLLECTOR_SERVE_SERVE_SCHEMAS_H

#include "run/model/run_model.h"

struct serve_schema {
    uint8_t uuid[16]; /* of the node */
    uint64_t instance;
    uint64_t dictionary; /* hash of the one that was sent */
};

/** All zeros at first. */
struct serve_schemas {
    struct serve_schema *list;
    uint32_t count, capacity;
    uint32_t *slots; /* numbers plus 1, by a hash; twice the capacity */
    const struct model_process *last;
    uint32_t last_number;
};

/**
 * Finds the number of process `p`. Returns 1 where the consumer lacks it, or has a shorter dictionary: it is to be sent
 * now; 0 where it has it; or BEZEL_ENOMEM.
 */
int serve_schemas_find(struct serve_schemas *s, const struct model_process *p, uint32_t *number) BEZEL_MUST_CHECK;

/** Processes may be others, or have other dictionaries, from now on. */
void serve_schemas_renewed(struct serve_schemas *s);

void serve_schemas_fini(struct serve_schemas *s);

/** Writes the entries of `d`, aspects first, into the MESSAGE_DICT_MAX bytes at `out`. Returns how many, or an error.
 */
int serve_schemas_dictionary(const struct dict *d, uint8_t *out) BEZEL_MUST_CHECK;

#endif
