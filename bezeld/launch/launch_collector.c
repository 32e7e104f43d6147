// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/launch_collector.h"

#include "base/clock.h"
#include "base/units.h"
#include "base/uuid.h"

#include <assert.h>
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

void launch_collector_argument(char **argv, const char *option, const char *value)
{
    size_t n = 0;
    if (!value || !value[0])
        return;
    while (argv[n])
        n++;
    assert(n + 2 <= LAUNCH_COLLECTOR_ARGS);
    argv[n] = ARG(option);
    argv[n + 1] = ARG(value);
    argv[n + 2] = NULL;
}

void launch_collector_append(const struct experiment *e, const struct launch_collector_texts *t, char **argv)
{
    launch_collector_argument(argv, "--sync", t->sync.s);
    launch_collector_argument(argv, "--connections", t->connections);
    launch_collector_argument(argv, "--processes", t->processes);
    launch_collector_argument(argv, "--packet", t->packet.s);
    launch_collector_argument(argv, "--rate", t->rate.s);
    launch_collector_argument(argv, "--clock", t->clock.s);
    launch_collector_argument(argv, "--order", t->order.s);
    launch_collector_argument(argv, "--keep", t->keep.s);
    launch_collector_argument(argv, "--serve", e->store.serve);
    launch_collector_argument(argv, "--metrics", e->store.metrics);
    launch_collector_argument(argv, "--push", e->store.push);
    launch_collector_argument(argv, "--engine", e->store.engine);
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
    c->argv[0] = ARG("bezel-collector");
    launch_collector_argument(c->argv, "--id", c->id);
    launch_collector_argument(c->argv, "--control", o->inner->control);
    launch_collector_argument(c->argv, "--keys", o->keys);
    launch_collector_argument(c->argv, "--key", c->key);
    launch_collector_argument(c->argv, "--parent-key", c->public);
    launch_collector_argument(c->argv, "--listen", o->listen);
    launch_collector_argument(c->argv, "--buffer", c->buffer);
    launch_collector_argument(c->argv, "--connections", c->texts.connections);
    launch_collector_argument(c->argv, "--packet", c->texts.packet.s);
    if (o->inner->proxy && o->inner->forward) {
        launch_collector_argument(c->argv, "--proxy", o->inner->proxy);
        launch_collector_argument(c->argv, "--forward", o->inner->forward);
    }
    for (size_t i = 0; i < EXPERIMENT_PARENTS_MAX; i++)
        launch_collector_argument(c->argv, "--parent", o->parents[i]);
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
    c->argv[0] = ARG("bezel-collector");
    launch_collector_argument(c->argv, "--run", c->directory);
    launch_collector_argument(c->argv, "--id", c->id);
    launch_collector_argument(c->argv, "--control", e->collector.control);
    launch_collector_argument(c->argv, "--keys", o->keys);
    launch_collector_argument(c->argv, "--key", c->key);
    launch_collector_argument(c->argv, "--listen", o->listen);
    launch_collector_append(e, &c->texts, c->argv);
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
