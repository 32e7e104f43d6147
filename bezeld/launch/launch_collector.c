// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/launch_collector.h"

#include "base/clock.h"
#include "base/units.h"
#include "base/uuid.h"

#include <stdio.h>
#include <string.h>

#define GRACE (30 * CLOCK_S) /* to store what it has, and complete run.db */

#define ARG(text) ((char *)(text)) /* nobody writes to it */

char *launch_collector_directory(const struct experiment *e, const uint8_t run[16], char path[PATH_MAX])
{
    char id[37];
    uuid_print(run, id);
    snprintf(path, PATH_MAX, "%s/bezel-run-%s", e->collector.directory ? e->collector.directory : EXPERIMENT_SPOOL_DIR,
             id);
    return path;
}

void launch_collector_print(const struct experiment *e, struct launch_collector_texts *t)
{
    const struct experiment_store *s = &e->store;
    snprintf(t->sync.s, sizeof t->sync.s, "%s",
             s->sync == EXPERIMENT_SYNC_NEVER ? "never"
             : s->sync                        ? units_exact_duration(s->sync).s
                                              : "always");
    snprintf(t->connections, sizeof t->connections, "%u", s->limits.connections);
    snprintf(t->processes, sizeof t->processes, "%u", s->limits.processes);
    t->packet = units_exact_size(s->limits.packet);
    t->rate = units_exact_size(s->limits.rate);
    t->order = order_settings_print(&e->order);
    t->keep = store_keep_print(&s->keep);
    t->clock = clock_keeping_print(&e->collector.clock);
}

size_t launch_collector_append(const struct experiment *e, struct launch_collector_texts *t, char **argv, size_t n)
{
    const struct {
        const char *option;
        char *value;
    } options[] = {{"--sync", t->sync.s},         {"--connections", t->connections},
                   {"--processes", t->processes}, {"--packet", t->packet.s},
                   {"--rate", t->rate.s},         {"--clock", t->clock.s},
                   {"--order", t->order.s},       {"--keep", t->keep.s},
                   {"--serve", e->store.serve},   {"--metrics", e->store.metrics},
                   {"--push", e->store.push},     {"--engine", e->store.engine}};
    _Static_assert(2 * sizeof options / sizeof *options == LAUNCH_COLLECTOR_ROOT_ARGS, "that many at most");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].value && options[i].value[0]) {
            argv[n++] = ARG(options[i].option);
            argv[n++] = options[i].value;
        }
    argv[n] = NULL;
    return n;
}

static void print_options(const struct experiment *e, const struct launch_collector_options *o,
                          struct launch_collector *c)
{
    launch_collector_directory(e, o->run, c->directory);
    uuid_print(o->run, c->id);
    snprintf(c->key, sizeof c->key, "%s/%s.key", o->keys, e->store.key);
    launch_collector_print(e, &c->texts);
}

static void make_inner(const struct experiment *e, const struct launch_collector_options *o, struct launch_collector *c)
{
    snprintf(c->public, sizeof c->public, "%s/%s.pub", o->keys, e->store.key);
    snprintf(c->buffer, sizeof c->buffer, "%s", units_exact_size(o->inner->buffer).s);
    snprintf(c->texts.connections, sizeof c->texts.connections, "%u", o->connections ? o->connections : 1);
    char *const args[] = {ARG("bezel-collector"),
                          ARG("--id"),
                          c->id,
                          ARG("--control"),
                          o->inner->control,
                          ARG("--keys"),
                          ARG(o->keys),
                          ARG("--key"),
                          c->key,
                          ARG("--parent-key"),
                          c->public,
                          ARG("--listen"),
                          ARG(o->listen),
                          ARG("--buffer"),
                          c->buffer,
                          ARG("--connections"),
                          c->texts.connections,
                          ARG("--packet"),
                          c->texts.packet.s,
                          NULL};
    size_t n = sizeof args / sizeof *args - 1;
    _Static_assert(sizeof args / sizeof *args + 2 * EXPERIMENT_PARENTS_MAX + 4 <= sizeof c->argv / sizeof *c->argv,
                   "there is room for all arguments");
    memcpy(c->argv, args, sizeof args);
    if (o->inner->proxy && o->inner->forward) {
        c->argv[n++] = ARG("--proxy");
        c->argv[n++] = o->inner->proxy;
        c->argv[n++] = ARG("--forward");
        c->argv[n++] = o->inner->forward;
    }
    for (size_t i = 0; i < EXPERIMENT_PARENTS_MAX; i++) {
        if (!o->parents[i][0])
            continue;
        c->argv[n++] = ARG("--parent");
        c->argv[n++] = ARG(o->parents[i]);
    }
    c->argv[n] = NULL;
}

/* The server reads the run, and has the collector's key. */
static void make_server(const struct experiment *e, const struct launch_collector_options *o,
                        struct launch_collector *c)
{
    char *const args[] = {ARG("bezel-serve"), ARG("--run"), c->directory, ARG("--listen"), e->collector.control,
                          ARG("--keys"),      ARG(o->keys), ARG("--key"), c->key,          NULL};
    memcpy(c->argv, args, sizeof args);
}

static void make_discard(struct launch_collector *c)
{
    char *const args[] = {
        ARG("bezel-collector"), ARG("--discard"), ARG("--run"), c->directory, ARG("--id"), c->id, NULL};
    memcpy(c->argv, args, sizeof args);
}

static void make_root(const struct experiment *e, const struct launch_collector_options *o, struct launch_collector *c)
{
    char *const args[] = {ARG("bezel-collector"), ARG("--run"),  c->directory, ARG("--id"),  c->id,  ARG("--control"),
                          e->collector.control,   ARG("--keys"), ARG(o->keys), ARG("--key"), c->key, ARG("--listen"),
                          ARG(o->listen)};
    _Static_assert(sizeof args / sizeof *args + LAUNCH_COLLECTOR_ROOT_ARGS < sizeof c->argv / sizeof *c->argv,
                   "there is room for all arguments");
    memcpy(c->argv, args, sizeof args);
    (void)launch_collector_append(e, &c->texts, c->argv, sizeof args / sizeof *args);
}

bool launch_collector_make(const struct experiment *e, const struct launch_collector_options *o, const char *name,
                           struct launch_collector *c)
{
    bool server = !o->inner && strcmp(name, LAUNCH_COLLECTOR_SERVER) == 0;
    bool discards = !o->inner && strcmp(name, LAUNCH_COLLECTOR_DISCARD) == 0;
    if (!server && !discards && strcmp(name, LAUNCH_COLLECTOR) != 0)
        return false;
    *c = (struct launch_collector){.launch = {.of.incarnation = 1,
                                              .path = server ? o->server : o->program,
                                              .argv = c->argv,
                                              .output = LAUNCH_OUTPUT_SPOOL,
                                              .limits = LAUNCH_NO_LIMITS,
                                              .grace = GRACE,
                                              .silence = o->silence}};
    snprintf(c->launch.of.process, sizeof c->launch.of.process, "%s", name);
    print_options(e, o, c);
    if (o->inner)
        make_inner(e, o, c);
    else if (server)
        make_server(e, o, c);
    else if (discards)
        make_discard(c);
    else
        make_root(e, o, c);
    return true;
}
