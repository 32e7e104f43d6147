// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/model/run_model.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "mdr/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model *model_new(const char *run)
{
    struct model *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    clock_identity(m->clock);
    snprintf(m->run, sizeof m->run, "%s", run);
    m->order = order_settings_default;
    m->values_memory = MODEL_VALUES_MEMORY;
    m->last_node = &m->nodes;
    return m;
}

void model_strip_process(struct model_process *process)
{
    dict_free(process->dict);
    for (uint32_t i = 0; process->values && i <= DICT_ASPECTS_MAX; i++)
        if (process->values[i])
            aspect_statistics_free(process->values[i], &process->node->model->values_memory);
    free(process->values);
    free(process->counts);
    if (process->latency)
        latency_free(process->latency);
    free(process->latency);
    free(process->evaluated);
    process->evaluated = NULL;
    free(process->thinned);
    process->thinned = NULL;
    process->dict = NULL, process->values = NULL, process->counts = NULL, process->latency = NULL;
}

static void process_free(struct model_process *p)
{
    model_strip_process(p);
    for (uint32_t i = 0; i < p->ring_count; i++)
        free(p->streams[i]);
    free(p->streams);
    thread_names_fini(&p->thread_names);
    free(p->metadata);
    free(p);
}

static struct model_process *process_new(bool uncounted)
{
    struct model_process *p = calloc(1, sizeof *p);
    if (!p || uncounted)
        return p;
    p->counts = calloc(DICT_ASPECTS_MAX + 1, sizeof *p->counts);
    p->values = calloc(DICT_ASPECTS_MAX + 1, sizeof *p->values);
    if (p->counts && p->values)
        return p;
    process_free(p);
    return NULL;
}

static void node_free(struct model_node *node)
{
    while (node->processes) {
        struct model_process *p = node->processes;
        node->processes = p->next;
        process_free(p);
    }
    run_clock_free(&node->run_clock);
    free(node);
}

static void names_free(struct model *m)
{
    for (size_t i = 0; i < MODEL_BUCKETS; i++)
        while (m->names[i]) {
            struct model_name *next = m->names[i]->next;
            free(m->names[i]);
            m->names[i] = next;
        }
}

void model_free(struct model *m)
{
    if (!m)
        return;
    names_free(m);
    while (m->nodes) {
        struct model_node *node = m->nodes;
        m->nodes = node->next;
        node_free(node);
    }
    free(m);
}

struct model_node *model_find_node(const struct model *m, const uint8_t uuid[16])
{
    struct model_node *node = m->nodes;
    while (node && memcmp(node->uuid, uuid, sizeof node->uuid) != 0)
        node = node->next;
    return node;
}

bool model_has_dir(const struct model *m, const char *dir)
{
    for (const struct model_node *node = m->nodes; node; node = node->next)
        if (strcmp(node->dir, dir) == 0)
            return true;
    return false;
}

/* Nodes of this name, whose directories are taken: a new one need not try them all. */
static unsigned count_called(const struct model *m, const char *name)
{
    unsigned count = 0;
    for (const struct model_node *node = m->nodes; node; node = node->next)
        count += strcmp(node->name, name) == 0;
    return count;
}

static void node_clock_init(struct model_node *node)
{
    static const uint8_t unknown[16];
    const struct model *m = node->model;
    bool same = memcmp(m->run_clock, node->clock, 16) == 0 && memcmp(m->run_clock, unknown, 16) != 0;
    run_clock_init(&node->run_clock, same ? RUN_CLOCK_SAME : RUN_CLOCK_WALL, same ? m->ahead : node->realtime_offset);
}

struct model_node *model_add_node(struct model *m, const struct message_hello *hello)
{
    struct model_node *node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    node->model = m;
    memcpy(node->name, hello->node, sizeof node->name);
    memcpy(node->uuid, hello->uuid, sizeof node->uuid);
    memcpy(node->clock, hello->clock, sizeof node->clock);
    node->realtime_offset = saturate_ns(hello->realtime_offset);
    node->local = memcmp(node->clock, m->clock, sizeof node->clock) == 0;
    node_clock_init(node);
    node->last_process = &node->processes;
    memcpy(node->dir, node->name, sizeof node->name);
    for (unsigned i = 1 + count_called(m, node->name); model_has_dir(m, node->dir); i++)
        snprintf(node->dir, sizeof node->dir, "%s.%u", node->name, i);
    *m->last_node = node;
    m->last_node = &node->next;
    m->totals.nodes++;
    return node;
}

void model_drop_node(struct model_node *node)
{
    struct model *m = node->model;
    struct model_node **at = &m->nodes;
    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    if (!node->next)
        m->last_node = at;
    m->totals.nodes--;
    node_free(node);
}

static size_t instance_slot(uint64_t instance)
{
    return hash_fnv64(HASH_FNV64_START, &instance, sizeof instance) % MODEL_BUCKETS;
}

struct model_process *model_find_process(const struct model_node *node, uint64_t instance)
{
    struct model_process *p = node->buckets[instance_slot(instance)];
    while (p && p->instance != instance)
        p = p->next_bucket;
    return p;
}

static struct model_process **pid_bucket(struct model_node *node, uint32_t pid)
{
    return &node->pids[pid % MODEL_BUCKETS];
}

/* Only a process of the same pid can have the same base: process_name_files(). */
static bool base_is_taken(struct model_node *node, uint32_t pid, const char *base)
{
    for (const struct model_process *p = *pid_bucket(node, pid); p; p = p->next_pid)
        if (strcmp(p->base, base) == 0)
            return true;
    return false;
}

/*
 * Names the process's files. A name can be read from its end (ring, then pid or the 16 digits of the instance), so
 * different bases never give equal file names. Characters that a file name cannot have become '_'.
 */
static void process_name_files(struct model_process *p)
{
    char name[MESSAGE_NAME_MAX + 1];
    snprintf(name, sizeof name, "%s", p->name[0] ? p->name : "_");
    if (name[0] == '.')
        name[0] = '_';
    for (char *c = name; *c; c++)
        if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 127 || *c == '/')
            *c = '_';
    snprintf(p->base, sizeof p->base, "%s-%u", name, p->pid);
    if (base_is_taken(p->node, p->pid, p->base))
        snprintf(p->base, sizeof p->base, "%s-%u-%016" PRIx64, name, p->pid, p->instance);
}

void model_activate(struct model_process *process)
{
    if (process->active)
        return;
    process->active = true;
    process->next_active = process->node->active;
    process->node->active = process;
}

static size_t name_slot(const char *name)
{
    return hash_fnv64(HASH_FNV64_START, name, strlen(name)) % MODEL_BUCKETS;
}

bool model_has_name(const struct model *m, const char *name)
{
    const struct model_name *n = m->names[name_slot(name)];
    while (n && strcmp(n->text, name) != 0)
        n = n->next;
    return n;
}

static bool add_name(struct model *m, const char *name)
{
    if (model_has_name(m, name))
        return true;
    struct model_name *n = malloc(sizeof *n + strlen(name) + 1), **bucket = &m->names[name_slot(name)];
    if (!n)
        return false;
    n->next = *bucket;
    memcpy(n->text, name, strlen(name) + 1);
    *bucket = n;
    return true;
}

struct model_process *model_add_process(struct model_node *node, const struct message_process *said)
{
    struct model_process *p = add_name(node->model, said->name) ? process_new(node->model->uncounted) : NULL;
    if (!p)
        return NULL;
    p->node = node;
    p->instance = said->instance;
    p->stream_id = said->stream_id;
    p->pid = said->pid;
    p->role = said->role;
    p->overwrites = said->overwrites;
    memcpy(p->name, said->name, sizeof p->name);
    memcpy(p->program, said->program, sizeof p->program);
    p->started = said->started;
    if (p->stream_id > node->highest_stream_id)
        node->highest_stream_id = p->stream_id;
    process_name_files(p);
    struct model_process **bucket = &node->buckets[instance_slot(p->instance)];
    p->next_bucket = *bucket;
    *bucket = p;
    p->next_pid = *pid_bucket(node, p->pid);
    *pid_bucket(node, p->pid) = p;
    *node->last_process = p;
    node->last_process = &p->next;
    model_activate(p);
    node->model->totals.processes++;
    return p;
}

bool model_is_untaken(const struct model_node *node, uint64_t instance)
{
    bool untaken = node->full || node->model->full;
    for (uint32_t i = 0; i < MODEL_UNTAKEN_MAX && !untaken; i++)
        untaken = node->untaken[i].instance == instance && node->untaken[i].refusals >= MODEL_REFUSALS;
    return untaken;
}

uint32_t model_leave_out(struct model_node *node, uint64_t instance)
{
    struct model_untaken *place = NULL;
    for (uint32_t i = 0; i < MODEL_UNTAKEN_MAX; i++) {
        struct model_untaken *u = &node->untaken[i];
        if (u->refusals && u->instance == instance)
            return ++u->refusals;
        if (u->refusals < MODEL_REFUSALS && (!place || u->refusals < place->refusals))
            place = u;
    }
    if (place)
        *place = (struct model_untaken){instance, 1};
    return place ? 1 : 0;
}

void model_drop_process(struct model_process *process)
{
    struct model_node *node = process->node;
    struct model_process **at = &node->processes;
    while (*at != process)
        at = &(*at)->next;
    *at = process->next;
    if (!process->next)
        node->last_process = at;
    at = &node->active;
    while (*at != process)
        at = &(*at)->next_active;
    *at = process->next_active;
    at = &node->buckets[instance_slot(process->instance)];
    while (*at != process)
        at = &(*at)->next_bucket;
    *at = process->next_bucket;
    at = pid_bucket(node, process->pid);
    while (*at != process)
        at = &(*at)->next_pid;
    *at = process->next_pid;
    node->model->totals.processes--;
    process_free(process);
}

/* The id of built-in aspect `b` in `d`; 0 where `d` lacks it, or its fields have other types. */
static uint32_t builtin_find(const struct dict *d, enum builtin b)
{
    const struct dict_aspect *right = &builtin_aspects[b], *a = dict_aspect_of(d, right->name);
    bool is_same = a && a->field_count == right->field_count;
    for (uint32_t i = 0; is_same && i < a->field_count; i++)
        is_same = a->fields[i].type == right->fields[i].type;
    return is_same ? a->id : 0;
}

void model_set_dictionary(struct model_process *process, struct dict *dict)
{
    dict_free(process->dict);
    process->dict = dict;
    process->metadata_stale = true;
    free(process->metadata);
    process->metadata = NULL;
    if (process->role != ROLE_DAEMON)
        return;
    for (enum builtin b = 0; b < BUILTIN_COUNT; b++)
        process->builtins[b] = builtin_find(dict, b);
}

/* Makes places for streams up to that of `ring`: few rings of most processes are ever used, the lowest ones. */
static bool make_places(struct model_process *p, uint32_t ring)
{
    uint32_t count = p->ring_count ? p->ring_count : 4;
    while (count <= ring)
        count *= 2;
    return grow_zeroed(&p->streams, &p->ring_count, count, sizeof(struct model_stream *));
}

struct model_file model_file(const struct model_process *process, uint32_t ring)
{
    struct model_file f;
    snprintf(f.name, sizeof f.name, "%s-%" PRIu32, process->base, ring);
    return f;
}

struct model_stream *model_find_expired(const struct model_node *node, const char *name)
{
    for (const struct model_process *p = node->processes; p; p = p->next)
        for (uint32_t ring = 0; ring < p->ring_count; ring++)
            if (p->streams[ring] && p->streams[ring]->expired.packets && strcmp(model_file(p, ring).name, name) == 0)
                return p->streams[ring];
    return NULL;
}

struct model_stream *model_stream(struct model_process *process, uint32_t ring)
{
    struct model_stream *s = model_find_stream(process, ring);
    if (s)
        return s;
    if (!make_places(process, ring) || !(s = calloc(1, sizeof *s)))
        return NULL;
    s->process = process;
    s->at.instance = process->instance;
    s->at.ring = ring;
    s->fd = -1;
    process->streams[ring] = s;
    return s;
}

void model_touch(struct model_stream *stream)
{
    if (stream->touched)
        return;
    stream->touched = true;
    stream->next_touched = stream->process->node->touched;
    stream->process->node->touched = stream;
}

struct model_stream *model_next_touched(struct model_node *node)
{
    struct model_stream *s = node->touched;
    if (!s)
        return NULL;
    node->touched = s->next_touched;
    s->touched = false;
    return s;
}

void model_uuid_text(const uint8_t uuid[16], char text[MODEL_UUID_TEXT])
{
    char *at = text;
    for (int i = 0; i < 16; i++)
        at += snprintf(at, 4, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

bool model_name_ok(const char *name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    return name[0] != '\0' && name[0] != '.' && name[strspn(name, allowed)] == '\0';
}

/* ---- times that cannot be ---------------------------------------------------------------------------------------- */

int64_t model_latest(const struct model *m, const uint8_t clock[16], int64_t now, int64_t wall)
{
    bool same = memcmp(m->run_clock, clock, sizeof m->run_clock) == 0;
    int64_t latest = same ? saturate_add(now, m->ahead) : saturate_add(wall, MODEL_WALL_SLACK);
    int64_t end = m->finished > 0 ? saturate_add(m->finished, MODEL_WALL_SLACK) : INT64_MAX;
    return latest < end ? latest : end;
}

bool model_is_ahead(const struct model_node *node, uint64_t time, int64_t latest)
{
    struct clock_reading at = run_clock_at(&node->run_clock, saturate_time(time));
    return saturate_sub(at.ns, at.bound < INT64_MAX ? at.bound : 0) > latest;
}
