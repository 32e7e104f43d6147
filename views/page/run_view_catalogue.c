// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/json.h"
#include "views/page/run_view_edges.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const kinds[] = {
    [DICT_EVENT] = "event", [DICT_SPAN] = "span",         [DICT_COUNTER] = "counter", [DICT_GAUGE] = "gauge",
    [DICT_SENT] = "sent",   [DICT_RECEIVED] = "received", [DICT_WAIT] = "wait",
};
static const char *const types[] = {"int64", "float64", "enum", "string"};

static void put_hash(struct json *j, const char *key, uint64_t hash)
{
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    json_text(j, key, text);
}

static void put_aspect(struct json *j, const struct dict_aspect *a)
{
    json_object(j, NULL);
    json_text(j, "name", a->name);
    json_text(j, "kind", kinds[a->kind]);
    json_array(j, "fields");
    for (uint32_t i = 0; i < a->field_count; i++) {
        const struct dict_field *f = &a->fields[i];
        json_object(j, NULL);
        json_text(j, "name", f->name);
        json_text(j, "type", types[f->type]);
        json_text(j, "unit", f->unit);
        if (f->type == DICT_ENUM)
            json_text(j, "labels", f->labels);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

static int by_hash(const void *a, const void *b)
{
    uint64_t x = (*(const struct model_process *const *)a)->dict->hash;
    uint64_t y = (*(const struct model_process *const *)b)->dict->hash;
    return (x > y) - (x < y);
}

/* Each dictionary once; thousands of processes of a program have the same. Strings only of the monitor's own. */
static void put_dictionary(struct json *j, const struct model_process *p)
{
    char key[17];
    snprintf(key, sizeof key, "%016" PRIx64, p->dict->hash);
    json_object(j, key);
    json_array(j, "aspects");
    for (uint32_t i = 0; i < p->dict->aspect_count; i++)
        put_aspect(j, &p->dict->aspects[i]);
    json_array_end(j);
    json_array(j, "strings");
    for (uint32_t i = 0; i < p->dict->string_count && p->role == ROLE_DAEMON; i++)
        json_text(j, NULL, p->dict->strings[i]);
    json_array_end(j);
    json_object_end(j);
}

static void put_dictionaries(struct json *j, const struct model *m)
{
    size_t n = 0, count = 0;
    for (const struct model_node *node = m->nodes; node; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            count++;
    const struct model_process **all = calloc(count + 1, sizeof(struct model_process *));
    for (const struct model_node *node = m->nodes; node && all; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            if (p->dict)
                all[n++] = p;
    if (all)
        qsort(all, n, sizeof(struct model_process *), by_hash);
    json_object(j, "dictionaries");
    for (size_t i = 0; i < n; i++)
        if (i == 0 || all[i]->dict->hash != all[i - 1]->dict->hash)
            put_dictionary(j, all[i]);
    json_object_end(j);
    free(all);
}

static void put_process(const struct run_view *v, struct json *j, const struct model_process *p)
{
    json_object(j, NULL);
    json_int(j, "row", p->row);
    json_text(j, "name", p->name);
    json_uint(j, "pid", p->pid);
    json_bool(j, "monitor", p->role == ROLE_DAEMON);
    json_bool(j, "overwrites", p->overwrites);
    json_int(j, "started", run_view_time(v, p->node, (int64_t)p->started));
    if (p->dict)
        put_hash(j, "dictionary", p->dict->hash);
    json_object_end(j);
}

static void put_node(const struct run_view *v, struct json *j, const struct model_node *node)
{
    static const char *const by[] = {
        [RUN_CLOCK_SAME] = "same", [RUN_CLOCK_EXCHANGES] = "exchanges", [RUN_CLOCK_WALL] = "wall"};
    int64_t bound = node->run_clock.kind == RUN_CLOCK_SAME        ? 0
                    : node->run_clock.kind == RUN_CLOCK_EXCHANGES ? run_clock_worst(&node->run_clock)
                                                                  : -1;
    json_object(j, NULL);
    json_int(j, "row", node->row);
    json_text(j, "name", node->name);
    json_text(j, "clock", by[node->run_clock.kind]);
    json_known_int(j, "bound", bound >= 0, bound);
    json_array(j, "processes");
    for (const struct model_process *p = node->processes; p; p = p->next)
        put_process(v, j, p);
    json_array_end(j);
    json_object_end(j);
}

void run_view_catalogue(struct run_view *v, FILE *out)
{
    struct json j = {.out = out, .compact = true};
    const struct model *m = levels_model(v->c.levels, NULL);
    json_object(&j, NULL);
    json_text(&j, "is", "catalogue");
    json_text(&j, "run", m->run);
    json_int(&j, "started", v->started);
    put_dictionaries(&j, m);
    run_view_put_intervals(v, &j);
    json_array(&j, "nodes");
    for (const struct model_node *node = m->nodes; node; node = node->next)
        put_node(v, &j, node);
    json_array_end(&j);
    json_array(&j, "streams"); /* [process, ring, thread, its latest name or null], by their numbers */
    for (size_t i = 0; i < levels_stream_count(v->c.levels); i++) {
        const struct levels_stream *s = levels_stream(v->c.levels, i);
        json_array(&j, NULL);
        json_int(&j, NULL, s->process->row);
        json_uint(&j, NULL, s->ring);
        json_uint(&j, NULL, s->thread);
        json_text(&j, NULL, thread_names_at(&s->process->thread_names, s->thread, INT64_MAX));
        json_array_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
    fflush(out);
}
