// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/inherited.h"
#include "base/lifetime.h"
#include "base/options.h"
#include "base/ulimit.h"
#include "base/uuid.h"
#include "mdr/link/endpoint.h"
#include "resmgr/manager/manager_daemon.h"

enum { RESMGR_FILES = 24 }; /* open at once, ZeroMQ's among them */

static const char about[] =
    "The resource manager of a run. With `adapt: {by: manager}` it receives observations from all nodes, decides for "
    "all of them at once, and sends them setpoints. It also judges global limits. `bezel run` starts it.\n";
static const char footer[] = "SIGTERM ends it; nodes keep how they poll. Exit codes: 0 success; 1 failed, or replaced "
                             "by another manager; 2 wrong arguments.\n";

struct arguments {
    struct manager_daemon_options daemon;
    const char *run;
};

static int read_node(const char *text, void *context)
{
    struct manager_daemon_options *o = &((struct arguments *)context)->daemon;
    if (o->node_count == EXPERIMENT_NODES_MAX)
        return options_misuse("%s: more nodes than an experiment may have", text);
    o->nodes[o->node_count++] = text;
    return OPTIONS_GO_ON;
}

static int check_arguments(struct arguments *a)
{
    struct manager_daemon_options *o = &a->daemon;
    if (a->run && !uuid_read(a->run, o->run))
        return options_misuse("--run '%s': give the run's id, a UUID", a->run);
    if (!o->experiment || !a->run || (!o->sockets && o->node_count == 0) || !o->epoch)
        return options_misuse("--experiment, --run, --epoch, and --sockets or --node are needed");
    if (!o->key != !o->keys)
        return options_misuse("--key needs --keys, and --keys needs --key");
    const char *why = o->control ? endpoint_check_control(o->control, o->keys != NULL) : NULL;
    return why ? options_misuse("--control %s: %s", o->control, why) : OPTIONS_GO_ON;
}

static int read_arguments(int argc, char **argv, struct arguments *a)
{
    struct manager_daemon_options *d = &a->daemon;
    struct options o = {.program = "bezel-resmgr",
                        .usage = "--experiment FILE --run UUID --epoch N [OPTIONS]",
                        .about = about,
                        .footer = footer,
                        .context = a};
    const struct options_entry entries[] = {
        {"experiment", 0, "FILE", "the experiment, as the nodes have it", .value = &d->experiment},
        {"run", 0, "UUID", "the run's id", .value = &a->run},
        {"epoch", 0, "N",
         "its number, from 1, above those of all earlier managers of this run: nodes follow the highest",
         .count = &d->epoch, .least = 1, .most = INT64_MAX},
        {"sockets", 0, "DIR",
         "folder of the control sockets of the run's nodes; `control` in the run directory is a link to it",
         .value = &d->sockets},
        {"node", 0, "NODE=ENDPOINT",
         "where that node takes commands, instead of its socket in --sockets; may be given several times. tcp:// needs "
         "keys: without them nothing is sent",
         .read = read_node},
        {"collector", 0, "ENDPOINT",
         "where the collector takes commands, instead of its socket in --sockets or where the experiment has it",
         .value = &d->collector},
        {"control", 0, "ENDPOINT",
         "where it takes commands itself: ipc:///PATH, or tcp://HOST:PORT with --key and --keys", .value = &d->control},
        {"key", 0, "FILE", "its own secret key, of `bezel keygen --role control`; nodes must accept this key",
         .value = &d->key},
        {"keys", 0, "DIR",
         "folder of the nodes' public keys: NODE.pub, or as `nodes.NODE.key` says; only their holders receive "
         "setpoints",
         .value = &d->keys},
        LIFETIME_READY("`ready`", &d->ready),
        LIFETIME_PARENT_PIPE(&d->parent_pipe),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    return code == OPTIONS_GO_ON ? check_arguments(a) : code;
}

int main(int argc, char **argv)
{
    struct arguments a = {.daemon = {.ready = -1, .parent_pipe = -1}};
    inherited_take("bezel-resmgr");
    int code = read_arguments(argc, argv, &a);
    if (code != OPTIONS_GO_ON)
        return code;
    file_raise_limit(); /* a link to each node */
    return ulimit_check_files(RESMGR_FILES) == 0 ? manager_daemon_run(&a.daemon) : EXIT_FAILED;
}
