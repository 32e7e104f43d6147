// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/remote/remote_schemas.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

enum {
    PROCESS_BYTES = 2048, /* that a process costs beside its dictionary, about */
    NODES_MAX = 4096,     /* a run has no more traces */
};

int remote_schemas_init(struct remote_schemas *s)
{
    s->model = model_new("");
    if (!s->model)
        return BEZEL_ENOMEM;
    s->model->uncounted = true;
    return 0;
}

void remote_schemas_fini(struct remote_schemas *s)
{
    model_free(s->model);
    free(s->list);
}

static struct model_node *find_node(struct remote_schemas *s, const struct read_schema *m)
{
    struct model_node *node = model_find_node(s->model, m->uuid);
    struct message_hello hello = {.attempt = 0};
    if (node)
        return strcmp(node->name, m->node) == 0 ? node : NULL;
    if (s->model->totals.nodes == NODES_MAX)
        return NULL;
    memcpy(hello.uuid, m->uuid, sizeof hello.uuid);
    memcpy(hello.node, m->node, sizeof hello.node);
    return model_add_node(s->model, &hello);
}

static int add(struct remote_schemas *s, const struct read_schema *m, struct dict *d)
{
    struct model_node *node = find_node(s, m);
    struct message_process *said = node ? calloc(1, sizeof *said) : NULL;
    if (!said || model_find_process(node, m->instance) || !grow_by_one(&s->list, s->count, sizeof *s->list)) {
        free(said);
        return BEZEL_EMALFORMED;
    }
    said->instance = m->instance;
    said->pid = m->pid;
    said->role = m->role;
    memcpy(said->name, m->process, sizeof said->name);
    struct model_process *p = model_add_process(node, said);
    free(said);
    if (!p)
        return BEZEL_ENOMEM;
    model_set_dictionary(p, d);
    s->list[s->count++] = (struct remote_schema){p, m->dictionary_bytes};
    return 0;
}

/* A dictionary only grows, so what came before stays right. */
static int replace(struct remote_schemas *s, const struct read_schema *m, struct dict *d)
{
    struct model_process *p = s->list[m->number].process;
    bool same = p->instance == m->instance && memcmp(p->node->uuid, m->uuid, sizeof m->uuid) == 0 &&
                d->aspect_count >= p->dict->aspect_count && d->string_count >= p->dict->string_count;
    if (!same || memcmp(d->field_counts, p->dict->field_counts, p->dict->aspect_count + 1) != 0)
        return BEZEL_EMALFORMED;
    model_set_dictionary(p, d);
    s->bytes -= s->list[m->number].bytes + PROCESS_BYTES;
    s->list[m->number].bytes = m->dictionary_bytes;
    return 0;
}

int remote_schemas_take(struct remote_schemas *s, const struct read_schema *m)
{
    struct dict *d;
    if (m->number > s->count || m->number >= READ_SCHEMAS_MAX ||
        READ_DICTIONARIES_MAX - s->bytes < m->dictionary_bytes + (size_t)PROCESS_BYTES)
        return BEZEL_EMALFORMED;
    int err = dict_parse(m->dictionary, m->dictionary_bytes, &d);
    if (err)
        return err;
    err = m->number == s->count ? add(s, m, d) : replace(s, m, d);
    if (err) {
        dict_free(d);
        return err;
    }
    s->bytes += m->dictionary_bytes + PROCESS_BYTES;
    s->age++;
    return 0;
}
