// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The inner collectors of a run: children of this process, or on nodes, where the launcher there starts them. */
#include "base/address.h"
#include "base/units.h"
#include "ecs/course/daemons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARG(text) ((char *)(text)) /* posix_spawn() takes argv without const, and does not write to it */

static struct daemon *daemon_of(struct daemons *f, uint32_t i)
{
    return &f->daemons[daemons_of_inner(f, i)].process;
}

/* ---- Before ------------------------------------------------------------------------------------------------------ */

static void describe_child(struct daemons *f, uint32_t i, const struct rundir *run)
{
    const struct experiment *e = f->experiment_of;
    struct daemon *d = daemon_of(f, i);
    struct daemons_inner *it = &f->inner[i];
    snprintf(d->name, sizeof d->name, "inner collector %s", e->inner[i].name);
    d->program = f->collector_program;
    snprintf(d->control, sizeof d->control, "ipc://%s/.inner%u", run->private, i);
    if (e->inner[i].listen)
        snprintf(it->data, sizeof it->data, "%s", e->inner[i].listen);
    else
        snprintf(it->data, sizeof it->data, "ipc://%s/.data%u", run->private, i);
    snprintf(it->buffer, sizeof it->buffer, "%s", units_exact_size(e->inner[i].buffer).s);
    uint32_t nodes = experiment_inner_nodes(e, i);
    snprintf(it->connections, sizeof it->connections, "%u", nodes ? nodes : 1);
    d->args[0] = ARG("bezel-collector");
    launch_collector_argument(d->args, "--id", run->uuid);
    launch_collector_argument(d->args, "--listen", it->data);
    launch_collector_argument(d->args, "--control", d->control);
    launch_collector_argument(d->args, "--buffer", it->buffer);
    launch_collector_argument(d->args, "--connections", it->connections);
    launch_collector_argument(d->args, "--packet", f->texts.packet.s);
    launch_collector_argument(d->args, "--keys", f->keys);
    launch_collector_argument(d->args, "--key", f->collector_key);
    launch_collector_argument(d->args, "--parent-key", f->collector_public);
    if (!e->collector.node) /* on the machine of the root */
        launch_collector_argument(d->args, "--clock", f->texts.clock.s);
    while (d->args[it->arg_count])
        it->arg_count++;
}

static int describe_remote(struct daemons *f, uint32_t i)
{
    const struct experiment *e = f->experiment_of;
    struct daemon *d = daemon_of(f, i);
    struct daemons_inner *it = &f->inner[i];
    snprintf(d->name, sizeof d->name, "inner collector %s on node %s", e->inner[i].name, e->inner[i].node);
    int err = remote_collector_init(&it->place, e, (int)i, d->run, f->keys, d->log);
    d->place = &it->place;
    d->access = remote_collector_access(&it->place);
    snprintf(d->control, sizeof d->control, "%s", it->place.control);
    return err;
}

int daemons_inner_make(struct daemons *f, const struct rundir *run)
{
    int err = 0;
    for (uint32_t i = 0; i < f->inner_count && !err; i++) {
        struct daemon *d = daemon_of(f, i);
        snprintf(d->log, sizeof d->log, "%.*s/log/collector-%s.log", PATH_MAX - 96, run->path,
                 f->experiment_of->inner[i].name);
        if (f->experiment_of->inner[i].node)
            err = describe_remote(f, i);
        else
            describe_child(f, i, run);
    }
    return err;
}

void daemons_inner_keep(struct daemons *f, uint32_t i, const char *before)
{
    struct daemons_inner *it = &f->inner[i];
    struct address address;
    const char *why;
    char endpoint[LINK_ENDPOINT_MAX];
    if (address_read(before, &address, &why) != 0 || address.port == 0)
        return;
    if (f->experiment_of->inner[i].node)
        remote_collector_bound(&it->place, address.port, endpoint);
    else
        snprintf(it->data, sizeof it->data, "%s", before);
}

void daemons_inner_free(struct daemons *f)
{
    for (uint32_t i = 0; f->inner && i < f->inner_count; i++)
        remote_collector_free(&f->inner[i].place);
    free(f->inner);
}

/* ---- Endpoints --------------------------------------------------------------------------------------------------- */

/*
 * Where a collector that listens at all addresses is reached: whoever gets `*` puts the address there at which it sees
 * this machine.
 */
static void describe_endpoint(const char *data, bool here, char text[LINK_ENDPOINT_MAX])
{
    struct address address;
    const char *why;
    bool any = address_read(data, &address, &why) == 0 &&
               (strcmp(address.host, "0.0.0.0") == 0 || strcmp(address.host, "::") == 0);
    if (any)
        snprintf(text, LINK_ENDPOINT_MAX, "tcp://%s:%u", here ? "127.0.0.1" : "*", address.port);
    else
        snprintf(text, LINK_ENDPOINT_MAX, "%s", data);
}

static bool is_chosen(const char *data)
{
    struct address address;
    const char *why;
    return address_read(data, &address, &why) != 0 || address.port != 0;
}

/* Where parent `k` takes packets; "": it has not served yet. */
static void find_parent(const struct daemons *f, const struct experiment_parents *parents, uint32_t k, bool here,
                        char text[LINK_ENDPOINT_MAX])
{
    int parent = k < parents->count ? parents->of[k] : EXPERIMENT_ROOT;
    const char *data = parent == EXPERIMENT_ROOT ? f->data : f->inner[parent].data;
    describe_endpoint(is_chosen(data) ? data : "", here, text);
}

/* Adds the parents to the arguments of a child. */
static void add_parents(struct daemons *f, uint32_t i)
{
    const struct experiment_parents *parents = &f->experiment_of->inner[i].parents;
    struct daemons_inner *it = &f->inner[i];
    char **args = daemon_of(f, i)->args;
    args[it->arg_count] = NULL;
    for (uint32_t k = 0; k < parents->count || k == 0; k++) {
        find_parent(f, parents, k, true, it->parents[k]);
        launch_collector_argument(args, "--parent", it->parents[k]);
    }
}

int daemons_list_parents(const struct daemons *f, const struct experiment_parents *parents, bool here, char *text,
                         size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (uint32_t k = 0; k < parents->count || k == 0; k++) {
        char one[LINK_ENDPOINT_MAX];
        find_parent(f, parents, k, here, one);
        if (one[0])
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? " " : "", one);
        if (n >= size)
            return BEZEL_EFULL;
    }
    return 0;
}

int daemons_inner_prepare(struct daemons *f, uint32_t i)
{
    const struct experiment_parents *parents = &f->experiment_of->inner[i].parents;
    struct daemons_inner *it = &f->inner[i];
    if (!f->experiment_of->inner[i].node) {
        add_parents(f, i);
        return 0;
    }
    int err = daemons_list_parents(f, parents, false, it->place.parents, sizeof it->place.parents);
    bool fits = strlen(it->place.listen) + 1 + strlen(it->place.parents) <= MESSAGE_TEXT_MAX;
    return err ? err : fits ? 0 : BEZEL_EFULL;
}

/* ---- Collectors on nodes ----------------------------------------------------------------------------------------- */

bool daemons_hurry(const struct daemons *f, bool starting)
{
    bool hurry = f->place.hurry || (starting && f->experiment_of->collector.node);
    for (uint32_t i = 0; i < f->inner_count; i++)
        hurry |= f->inner[i].place.hurry || (starting && f->experiment_of->inner[i].node);
    return hurry;
}

void daemons_forget_inner(struct daemons *f, uint32_t level)
{
    for (uint32_t i = 0; i < f->inner_count; i++)
        if (f->inner[i].place.placed && experiment_inner_level(f->experiment_of, i) > level)
            remote_collector_forget(&f->inner[i].place);
}
