// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The processes that a server of a run has described, as a model. One owner. */
#ifndef BEZEL_COLLECTOR_REMOTE_REMOTE_SCHEMAS_H
#define BEZEL_COLLECTOR_REMOTE_REMOTE_SCHEMAS_H

#include "mdr/read_message.h"
#include "run/model/run_model.h"

struct remote_schema {
    struct model_process *process;
    uint32_t bytes; /* of its dictionary */
};

struct remote_schemas {
    struct model *model;
    uint64_t age; /* another number whenever the model has changed */
    struct remote_schema *list;
    uint32_t count;
    size_t bytes; /* that all of them cost, about */
};

int remote_schemas_init(struct remote_schemas *s) BEZEL_MUST_CHECK;
void remote_schemas_fini(struct remote_schemas *s);

/** Takes a new process, or the longer dictionary of a known one. Returns 0, BEZEL_EMALFORMED or BEZEL_ENOMEM. */
int remote_schemas_take(struct remote_schemas *s, const struct read_schema *m) BEZEL_MUST_CHECK;

/** The process of number `number`; NULL: it did not come. */
static inline const struct model_process *remote_schemas_find(const struct remote_schemas *s, uint32_t number)
{
    return number < s->count ? s->list[number].process : NULL;
}

#endif
