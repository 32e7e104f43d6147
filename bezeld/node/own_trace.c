// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/own_trace.h"

#include "config/policies.h"

#include <string.h>

#define POLICY_LABEL(NAME, name, word, moves) "|" word

/* The labels of policies come from their table in config/policies.h, so that a new policy needs no line here. */
int own_trace_open(const char *dir, struct journal **j)
{
    struct dict_aspect aspects[BUILTIN_COUNT];
    memcpy(aspects, builtin_aspects, sizeof aspects);
    aspects[BUILTIN_DECISION].fields[0].labels = &("" EXPERIMENT_POLICIES(POLICY_LABEL))[1]; /* behind the first bar */
    return journal_open(dir, aspects, BUILTIN_COUNT, j);
}

static uint64_t value_of(struct journal *j, enum dict_type type, const void *member)
{
    const int *label = member;
    const char *const *text = member;
    uint64_t bits;
    if (type == DICT_ENUM)
        return (uint64_t)*label;
    if (type == DICT_STRING)
        return *text ? journal_string(j, *text) : 0;
    memcpy(&bits, member, sizeof bits); /* of an int64_t or a double */
    return bits;
}

static void record(struct journal *j, enum builtin b, const void *row)
{
    const struct dict_aspect *a = &builtin_aspects[b];
    const struct builtin_layout *layout = builtin_layout(b);
    uint64_t values[DICT_FIELDS_MAX];
    for (uint32_t i = 0; i < a->field_count; i++)
        values[i] = value_of(j, a->fields[i].type, (const char *)row + layout->offsets[i]);
    journal_record(j, b + 1, values);
}

#define OWN_TRACE_RECORD(NAME, name, table, owner, rows)                                                               \
    void own_trace_record_##name(struct journal *j, const struct builtin_##name *r)                                    \
    {                                                                                                                  \
        record(j, BUILTIN_##NAME, r);                                                                                  \
    }
BUILTINS(OWN_TRACE_RECORD)
