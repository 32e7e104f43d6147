// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/exit_code.h"
#include "base/file.h"
#include "base/inherited.h"
#include "base/log.h"
#include "base/serve.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "base/uuid.h"
#include "mdr/link/endpoint.h"
#include "resmgr/manager/manager_daemon.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum { RESMGR_FILES = 24 }; /* open at once, ZeroMQ's among them */

static const char usage[] =
    "usage: bezel-resmgr --experiment FILE --run UUID --epoch N [--control ENDPOINT] [--sockets DIR]\n"
    "                    [--node NODE=ENDPOINT]... [--key FILE --keys DIR] [--ready FD] [--parent-pipe FD]\n"
    "\n"
    "The resource manager of a run. With `adapt: {by: manager}` it receives observations from all nodes, decides for\n"
    "all of them at once, and sends them setpoints. It also judges global limits. `bezel run` starts it.\n"
    "\n"
    "  --experiment FILE   the experiment file\n"
    "  --run UUID          the run's id\n"
    "  --sockets DIR       folder of the control sockets of the run's nodes: RUN/control\n"
    "  --node NODE=ENDPOINT  where that node takes commands, instead of its socket in --sockets; may be given\n"
    "                      several times. tcp:// needs keys\n"
    "  --control ENDPOINT  where it takes commands itself\n"
    "  --key FILE          its own secret key, of `bezel keygen --role control`; nodes must accept this key\n"
    "  --keys DIR          folder of the nodes' public keys: NODE.pub, or as `nodes.NODE.key` says\n"
    "  --epoch N           its number, above those of all earlier managers of this run: nodes follow the highest\n"
    "  --ready FD          descriptor to which it writes `ready` when it serves\n"
    "  --parent-pipe FD    read end of a pipe: ends when the other end is closed\n"
    "  --help, --version   print this summary, or the version\n"
    "\n"
    "SIGTERM ends it; nodes keep how they poll. Exit codes: 0 success; 1 failed, or replaced by another manager;\n"
    "2 wrong arguments.\n";

enum option_id {
    OPT_EXPERIMENT = 256,
    OPT_RUN,
    OPT_SOCKETS,
    OPT_CONTROL,
    OPT_NODE,
    OPT_KEY,
    OPT_KEYS,
    OPT_EPOCH,
    OPT_READY,
    OPT_PARENT_PIPE,
    OPT_LEASE, /* given up */
    OPT_HELP,
    OPT_VERSION
};

static const struct option long_options[] = {
    {"experiment", required_argument, NULL, OPT_EXPERIMENT},
    {"run", required_argument, NULL, OPT_RUN},
    {"sockets", required_argument, NULL, OPT_SOCKETS},
    {"control", required_argument, NULL, OPT_CONTROL},
    {"node", required_argument, NULL, OPT_NODE},
    {"key", required_argument, NULL, OPT_KEY},
    {"keys", required_argument, NULL, OPT_KEYS},
    {"epoch", required_argument, NULL, OPT_EPOCH},
    {"ready", required_argument, NULL, OPT_READY},
    {"parent-pipe", required_argument, NULL, OPT_PARENT_PIPE},
    {"lease", optional_argument, NULL, OPT_LEASE}, /* given up */
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static int misuse(const char *what, const char *why)
{
    return serve_misuse("bezel-resmgr", "%s: %s", what, why);
}

static int read_fd(const char *text, int *fd)
{
    *fd = serve_read_descriptor(text);
    return *fd < 0 ? misuse(text, "not the number of an open descriptor") : -1;
}

/* Takes one option. Returns the exit code where the program ends here, -1 where it goes on. */
static int take_option(int c, struct manager_daemon_options *o, bool *has_run)
{
    const char *why;
    switch (c) {
    case OPT_EXPERIMENT:
        o->experiment = optarg;
        return -1;
    case OPT_RUN:
        *has_run = uuid_read(optarg, o->run);
        return *has_run ? -1 : misuse(optarg, "--run: expected the run's id, a UUID");
    case OPT_CONTROL:
        o->control = optarg;
        return endpoint_check(optarg) == 0 ? -1 : misuse(optarg, "--control: expected ipc://PATH or tcp://HOST:PORT");
    case OPT_SOCKETS:
        o->sockets = optarg;
        return -1;
    case OPT_NODE:
        if (o->node_count == EXPERIMENT_NODES_MAX)
            return misuse(optarg, "more nodes than an experiment may have");
        o->nodes[o->node_count++] = optarg;
        return -1;
    case OPT_KEY:
        o->key = optarg;
        return -1;
    case OPT_KEYS:
        o->keys = optarg;
        return -1;
    case OPT_EPOCH:
        return units_read_count(optarg, &o->epoch, &why) == 0 && o->epoch > 0
                   ? -1
                   : misuse(optarg, "--epoch: expected a number from 1");
    case OPT_READY:
        return read_fd(optarg, &o->ready);
    case OPT_PARENT_PIPE:
        return read_fd(optarg, &o->parent_pipe);
    case OPT_LEASE:
        return serve_misuse("bezel-resmgr", "--lease is called --parent-pipe now"); /* given up */
    case OPT_HELP:
        return serve_print(usage);
    case OPT_VERSION:
        return serve_print("bezel-resmgr " BEZEL_VERSION "\n");
    default:
        fputs("Try 'bezel-resmgr --help'.\n", stderr);
        return EXIT_USAGE;
    }
}

int main(int argc, char **argv)
{
    struct manager_daemon_options options = {.ready = -1, .parent_pipe = -1};
    bool has_run = false;
    inherited_take("bezel-resmgr");
    for (int c; (c = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        int code = take_option(c, &options, &has_run);
        if (code >= 0)
            return code;
    }
    if (optind < argc)
        return misuse(argv[optind], "unexpected argument");
    if (!options.experiment || !has_run || (!options.sockets && options.node_count == 0) || !options.epoch)
        return serve_misuse("bezel-resmgr", "--experiment, --run, --epoch, and --sockets or --node are needed");
    if (options.control && !endpoint_path(options.control) && !options.key)
        return misuse(options.control, "--control over tcp:// needs --key and --keys");
    if (!options.key != !options.keys)
        return serve_misuse("bezel-resmgr", "--key needs --keys, and --keys needs --key");
    const char *why = options.control ? endpoint_check_control(options.control, options.keys != NULL) : NULL;
    if (why)
        return misuse(options.control, why);
    file_raise_limit(); /* a link to each node */
    return ulimit_check_files(RESMGR_FILES) == 0 ? manager_daemon_run(&options) : EXIT_FAILED;
}
