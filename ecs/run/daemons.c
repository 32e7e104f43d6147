// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/fleet.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/uuid.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool attaches(const struct experiment *e, uint32_t node)
{
    for (uint32_t i = 0; i < e->process_count; i++)
        if (e->processes[i].node == node && e->processes[i].attach)
            return true;
    return false;
}

/*
 * The folder of a node: as the file says; where it attaches to processes the default one, since those use it; else one
 * of the run's own, so that runs do not meet. Sockets beside it have names with a dot in front, as no node has.
 */
static char *make_node_dir(const struct experiment *e, uint32_t node, const struct rundir *run)
{
    char path[PATH_MAX];
    if (e->nodes[node].dir)
        snprintf(path, sizeof path, "%s", e->nodes[node].dir);
    else if (attaches(e, node))
        file_bezel_dir(path, sizeof path);
    else
        snprintf(path, sizeof path, "%s/%s", run->private, e->nodes[node].name);
    struct folder f;
    int err = folder_make(path, &f);
    folder_close(&f);
    char *real = err ? NULL : realpath(path, NULL);
    if (err && f.why[0])
        log_error("BEZEL-RUN-NODE", "folder of node %s: %s %s", e->nodes[node].name, path, f.why);
    else if (!real)
        log_error("BEZEL-RUN-NODE", "cannot make folder %s of node %s: %s", path, e->nodes[node].name, strerror(errno));
    return real;
}

static int find_program(const char *name, char *path, size_t size)
{
    int err = daemon_find_program(name, path, size);
    if (err)
        log_error("BEZEL-RUN-PROGRAM", "%s is neither beside this program nor in PATH: is Bezel installed whole?",
                  name);
    return err;
}

/* The files of keys, absolute; whether they are as they should be is for those who read them. */
static int find_keys(const struct experiment *e, struct fleet *f)
{
    struct fleet_keys *k = f->keys = calloc(1, sizeof *k + e->node_count * sizeof *k->nodes);
    char *folder = k ? realpath(e->store.keys, NULL) : NULL;
    if (!folder) {
        log_error("BEZEL-KEYS", "%s: %s", e->store.keys, strerror(errno));
        return k ? BEZEL_ENOENT : BEZEL_ENOMEM;
    }
    snprintf(k->folder, sizeof k->folder, "%s", folder);
    snprintf(k->collector, sizeof k->collector, "%s/%s.key", folder, e->store.key);
    snprintf(k->collector_public, sizeof k->collector_public, "%s/%s.pub", folder, e->store.key);
    for (uint32_t i = 0; i < e->node_count; i++)
        snprintf(k->nodes[i], sizeof k->nodes[i], "%s/%s.key", folder, e->nodes[i].key);
    free(folder);
    return 0;
}

#define ARG(text) ((char *)(text)) /* argv is not const by tradition; nobody writes to it */

static void describe_collector(struct fleet *f, const struct experiment *e, const struct rundir *run)
{
    struct daemon *d = &f->daemons[0];
    snprintf(d->name, sizeof d->name, "bezel-collector");
    d->program = f->collector_program;
    snprintf(d->log, sizeof d->log, "%.*s/log/collector.log", PATH_MAX - 32, run->path);
    snprintf(d->control, sizeof d->control, "ipc://%s/.collector", run->private);
    if (e->store.listen)
        snprintf(f->data, sizeof f->data, "%s", e->store.listen);
    else
        snprintf(f->data, sizeof f->data, "ipc://%s/.data", run->private);
    snprintf(f->sync, sizeof f->sync, "%s",
             e->store.sync == EXPERIMENT_SYNC_NEVER ? "never"
             : e->store.sync                        ? units_exact_duration(e->store.sync).s
                                                    : "always");
    snprintf(f->connections, sizeof f->connections, "%u", e->store.limits.connections);
    snprintf(f->processes, sizeof f->processes, "%u", e->store.limits.processes);
    snprintf(f->packet, sizeof f->packet, "%s", units_exact_size(e->store.limits.packet).s);
    snprintf(f->rate, sizeof f->rate, "%s", units_exact_size(e->store.limits.rate).s);
    char *const args[] = {ARG("bezel-collector"),
                          ARG("--run"),
                          f->run,
                          ARG("--listen"),
                          f->data,
                          ARG("--control"),
                          d->control,
                          ARG("--sync"),
                          f->sync,
                          ARG("--connections"),
                          f->connections,
                          ARG("--processes"),
                          f->processes,
                          ARG("--packet"),
                          f->packet,
                          ARG("--rate"),
                          f->rate,
                          f->keys ? ARG("--keys") : NULL,
                          f->keys ? f->keys->folder : NULL,
                          ARG("--key"),
                          f->keys ? f->keys->collector : NULL,
                          NULL};
    memcpy(d->args, args, sizeof args);
}

/* The node as a session at a bezeld that stands. */
static int describe_session(struct fleet *f, const struct experiment *e, uint32_t node, const struct rundir *run)
{
    struct daemon *d = &f->daemons[1 + node];
    struct message_begin *wish = f->wishes[node] = calloc(1, sizeof *wish);
    char *text = NULL;
    size_t n;
    snprintf(d->name, sizeof d->name, "the standing bezeld of node %s", e->nodes[node].name);
    int err = wish ? file_read(f->experiment, MESSAGE_EXPERIMENT_MAX, &text, &n) : BEZEL_ENOMEM;
    if (err == 0 &&
        (strlen(text) != n || strlen(f->node_dirs[node]) > MESSAGE_TEXT_MAX || !uuid_read(run->uuid, wish->run)))
        err = BEZEL_EINVAL;
    if (!err) {
        memcpy(wish->experiment, text, n + 1);
        snprintf(wish->node, sizeof wish->node, "%s", e->nodes[node].name);
        snprintf(wish->folder, sizeof wish->folder, "%s", f->node_dirs[node]);
        snprintf(f->aliases[node], sizeof f->aliases[node], "%s/.node%u", run->private, node);
        d->standing = (struct standing){.address = e->nodes[node].address, .wish = wish, .alias = f->aliases[node]};
    } else
        log_error("BEZEL-RUN-SESSION",
                  "node %s cannot be served by a bezeld that stands: its file has %d bytes at most, and its folder's "
                  "path %d",
                  e->nodes[node].name, MESSAGE_EXPERIMENT_MAX, MESSAGE_TEXT_MAX);
    free(text);
    return err;
}

static void describe_node(struct fleet *f, const struct experiment *e, uint32_t node, const struct rundir *run)
{
    struct daemon *d = &f->daemons[1 + node];
    char *name = e->nodes[node].name;
    snprintf(d->name, sizeof d->name, "bezeld of node %s", name);
    d->program = f->node_program;
    snprintf(d->log, sizeof d->log, "%.*s/log/bezeld-%s.log", PATH_MAX - 96, run->path, name);
    snprintf(d->control, sizeof d->control, "ipc://%s/.node%u", run->private, node);
    char *const args[] = {ARG("bezeld"),
                          ARG("--experiment"),
                          f->experiment,
                          ARG("--node"),
                          name,
                          ARG("--dir"),
                          f->node_dirs[node],
                          ARG("--run"),
                          f->uuid,
                          ARG("--collector"),
                          f->data,
                          ARG("--control"),
                          d->control,
                          f->keys ? ARG("--key") : NULL,
                          f->keys ? f->keys->nodes[node] : NULL,
                          ARG("--collector-key"),
                          f->keys ? f->keys->collector_public : NULL,
                          NULL};
    memcpy(d->args, args, sizeof args);
}

int fleet_find(const struct experiment *e, struct fleet *f)
{
    *f = (struct fleet){.count = 1 + e->node_count,
                        .daemons = calloc(1 + e->node_count, sizeof *f->daemons),
                        .status = calloc(1 + e->node_count, sizeof *f->status),
                        .node_dirs = calloc(1 + e->node_count, sizeof *f->node_dirs),
                        .wishes = calloc(1 + e->node_count, sizeof *f->wishes), /* NOLINT: pointers it is */
                        .aliases = calloc(1 + e->node_count, sizeof *f->aliases)};
    int err = f->daemons && f->status && f->node_dirs && f->wishes && f->aliases ? 0 : BEZEL_ENOMEM;
    if (err)
        log_error("BEZEL-RUN-MEMORY", "%s", err_text(err));
    if (!err)
        err = find_program("bezel-collector", f->collector_program, sizeof f->collector_program);
    if (!err)
        err = find_program("bezeld", f->node_program, sizeof f->node_program);
    if (err)
        fleet_free(f);
    return err;
}

int fleet_make(const struct experiment *e, const struct rundir *run, struct fleet *f)
{
    snprintf(f->run, sizeof f->run, "%s", run->path);
    snprintf(f->uuid, sizeof f->uuid, "%s", run->uuid);
    snprintf(f->experiment, sizeof f->experiment, "%.*s/experiment.yaml", PATH_MAX - 32, run->path);
    for (uint32_t i = 0; i < e->node_count; i++)
        if (!(f->node_dirs[i] = make_node_dir(e, i, run)))
            return BEZEL_ESYS;
    int err = e->store.keys ? find_keys(e, f) : 0;
    if (err)
        return err;
    describe_collector(f, e, run);
    for (uint32_t i = 0; i < f->count; i++) {
        f->daemons[i].ready = f->daemons[i].lease = -1;
        f->daemons[i].keep = run->lock;
    }
    for (uint32_t i = 0; i < e->node_count && !err; i++) {
        if (e->nodes[i].address)
            err = describe_session(f, e, i, run);
        else
            describe_node(f, e, i, run);
    }
    return err;
}

void fleet_free(struct fleet *f)
{
    for (uint32_t i = 0; f->daemons && i < f->count; i++)
        if (f->daemons[i].program || daemon_is_session(&f->daemons[i]))
            daemon_close(&f->daemons[i]);
    for (uint32_t i = 0; f->node_dirs && i + 1 < f->count; i++)
        free(f->node_dirs[i]);
    for (uint32_t i = 0; f->wishes && i + 1 < f->count; i++)
        free(f->wishes[i]);
    free(f->daemons);
    free(f->status);
    free(f->node_dirs);
    free(f->keys);
    free(f->wishes);
    free(f->aliases);
    *f = (struct fleet){0};
}

int fleet_start(struct fleet *f, uint32_t d)
{
    f->status[d] = (struct fleet_status){.period = -1};
    if (daemon_is_session(&f->daemons[d])) /* which the collector has told by now */
        snprintf(f->wishes[d - 1]->collector, sizeof f->wishes[d - 1]->collector, "%s", f->data);
    return daemon_start(&f->daemons[d]);
}

int fleet_serves(struct fleet *f, uint32_t d)
{
    char line[LINK_ENDPOINT_MAX];
    int serves = daemon_serves(&f->daemons[d], line, sizeof line);
    /* The port that was found, so that nodes connect to it and a restarted collector takes it again. */
    if (serves == 1)
        f->status[d].heard = clock_now();
    if (serves == 1 && d == 0 && line[0])
        memcpy(f->data, line, sizeof line);
    return serves;
}

static uint64_t count_of(const struct message_reply *r, const char *name)
{
    int64_t v = message_reply_get(r, name, 0);
    return v > 0 ? (uint64_t)v : 0;
}

int fleet_listen(struct fleet *f, uint32_t d)
{
    static struct message m; /* one thread; too large for a stack */
    struct fleet_status *s = &f->status[d];
    int n = 0;
    for (; daemon_answer(&f->daemons[d], &m) == 0; n++) {
        const struct message_reply *r = &m.reply;
        s->known = true;
        s->told_mute = false;
        s->heard = clock_now();
        s->state = r->state;
        s->records = count_of(r, "records");
        s->lost = count_of(r, "lost_full") + count_of(r, "lost_off") + count_of(r, "lost_no_ring") +
                  count_of(r, "lost_window") + count_of(r, "lost_spool");
        s->waiting = count_of(r, "window_bytes") + count_of(r, "spool_bytes");
        s->living = count_of(r, "processes");
        s->seen = count_of(r, "processes_seen");
        s->period = message_reply_get(r, "period_ns", -1);
        s->store_errno = (int)message_reply_get(r, "store_errno", 0);
        s->broken = count_of(r, "violations");
        s->broken_limit = message_reply_get(r, "violated_limit", -1);
        s->broken_at = message_reply_get(r, "violated_at", 0);
        s->broken_age = (int64_t)count_of(r, "violated_age");
        s->broken_value = message_reply_get(r, "violated_value", 0);
        memcpy(s->text, r->text, sizeof s->text);
    }
    return n;
}

void fleet_ask(struct fleet *f, uint32_t d, enum message_verb verb)
{
    if (verb == VERB_DRAIN)
        f->status[d].told_drain = true;
    if (daemon_ask(&f->daemons[d], verb) != 0 && verb == VERB_STOP)
        daemon_signal(&f->daemons[d], SIGTERM);
}

int fleet_order(struct fleet *f, uint32_t d, const struct message_command *command)
{
    return daemon_order(&f->daemons[d], command);
}
