// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mediators/foxglove/foxglove_channels.h"

#include "base/grow.h"
#include "base/hash.h"
#include "base/json.h"
#include "export/mcap_schema.h"

#include <inttypes.h>

enum { OF_ASPECT, OF_TOPIC, TOPIC_MAX = 2 * MESSAGE_NAME_MAX + DICT_NAME_MAX + 48 };

static uint64_t topic_key(const char *topic)
{
    return hash_fnv64(HASH_FNV64_START, topic, strlen(topic));
}

static char *describe(size_t id, const char *topic, const char *name, const char *schema, size_t *n)
{
    char type[MCAP_TYPE_SIZE], *text = NULL;
    struct json j = {.out = open_memstream(&text, n), .compact = true};
    if (!j.out)
        return NULL;
    json_object(&j, NULL);
    json_uint(&j, "id", id);
    json_text(&j, "topic", topic);
    json_text(&j, "encoding", "cdr");
    json_text(&j, "schemaName", mcap_type(type, name));
    json_text(&j, "schema", schema);
    json_text(&j, "schemaEncoding", "ros2msg");
    json_object_end(&j);
    if (fclose(j.out) == 0)
        return text;
    free(text);
    return NULL;
}

/* The topics of a server differ; that of an MCAP file need not. */
static int add(struct foxglove_channels *c, const char *topic, const char *name, const char *schema)
{
    struct foxglove_channel new = {.about = NULL};
    if (!grow_list(&c->list, &c->capacity, c->count, sizeof *c->list) ||
        !grow_index_put(&c->numbers, &c->number_count, topic_key(topic), OF_TOPIC, c->count) ||
        !(new.about = describe(c->count, topic, name, schema, &new.about_bytes)))
        return BEZEL_ENOMEM;
    c->list[c->count++] = new;
    return 0;
}

static bool is_taken(const struct foxglove_channels *c, const char *topic)
{
    return hash_index_find(&c->numbers, topic_key(topic), OF_TOPIC) >= 0;
}

static int add_aspect(struct foxglove_channels *c, const struct model_process *p, const struct dict_aspect *a)
{
    char topic[TOPIC_MAX];
    struct grow_bytes schema = {.at = NULL};
    if (hash_index_find(&c->numbers, mcap_key(p, a), OF_ASPECT) >= 0)
        return 0;
    if (c->count == FOXGLOVE_CHANNELS) {
        c->left_out++;
        return 0;
    }
    snprintf(topic, sizeof topic, "%s/%s/%s", p->node->name, p->name, a->name);
    if (is_taken(c, topic))
        snprintf(topic, sizeof topic, "%s/%s[%" PRIu32 "]/%s", p->node->name, p->name, p->pid, a->name);
    if (is_taken(c, topic)) /* a pid that was used again */
        snprintf(topic, sizeof topic, "%s/%s[%" PRIu32 ",%" PRId64 "]/%s", p->node->name, p->name, p->pid, p->row,
                 a->name);
    mcap_schema(&schema, a);
    mcap_uint(&schema, 0, 1);
    int err = schema.short_of_memory ? BEZEL_ENOMEM : add(c, topic, a->name, (const char *)schema.at);
    if (!err && !grow_index_put(&c->numbers, &c->number_count, mcap_key(p, a), OF_ASPECT, c->count - 1))
        err = BEZEL_ENOMEM;
    free(schema.at);
    return err;
}

int foxglove_channels_add(struct foxglove_channels *c, const struct model *m)
{
    int err = c->count > 0 ? 0 : add(c, "bezel/lost", "lost", mcap_loss_schema);
    c->left_out = 0;
    for (const struct model_node *node = m->nodes; node; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            for (uint32_t i = 0; p->dict && i < p->dict->aspect_count && !err; i++)
                err = add_aspect(c, p, &p->dict->aspects[i]);
    return err;
}

void foxglove_channels_fini(struct foxglove_channels *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->list[i].about);
        free(c->list[i].newest.at);
    }
    free(c->list);
    free(c->numbers.slots);
    *c = (struct foxglove_channels){.list = NULL};
}

int foxglove_channels_put(struct foxglove_channels *c, const struct record_item *item)
{
    int number = item->r ? hash_index_find(&c->numbers, mcap_key(item->process, item->aspect), OF_ASPECT) : 0;
    if (number < 0)
        return -1;
    struct foxglove_channel *of = &c->list[number];
    of->newest.n = 0;
    of->time = item->at.ns > 0 ? item->at.ns : 0;
    mcap_uint(&of->newest, 1, 1);
    mcap_uint(&of->newest, 0, 4);
    mcap_uint(&of->newest, (uint64_t)of->time, 8);
    if (item->r)
        mcap_cdr(&of->newest, item);
    else
        mcap_loss_cdr(&of->newest, item);
    if (!of->newest.short_of_memory)
        return number;
    free(of->newest.at);
    of->newest = (struct grow_bytes){.at = NULL};
    return -1;
}

void foxglove_channels_forget(struct foxglove_channels *c)
{
    for (size_t i = 0; i < c->count; i++)
        c->list[i].newest.n = 0;
}
