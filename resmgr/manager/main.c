// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/limit.h"
#include "base/log.h"
#include "base/units.h"
#include "resmgr/server.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXIT_DONE = 0, EXIT_USAGE = 2, RESMGR_FILES = 24 /* open at once, ZeroMQ's among them */ };

static const char usage[] =
    "usage: bezel-resmgr --experiment FILE --epoch N [--sockets DIR] [--node NODE=ENDPOINT]... [--key FILE --keys "
    "DIR]\n"
    "                    [--ready FD] [--lease FD]\n"
    "\n"
    "The resource manager of a run whose experiment says `adapt: {by: manager}`: it sees how all nodes stand, decides\n"
    "for all of them at once, and tells them how to poll. `bezel run` starts it.\n"
    "\n"
    "  --experiment FILE   the experiment\n"
    "  --sockets DIR       folder of the control sockets of the run's nodes: RUN/control\n"
    "  --node NODE=ENDPOINT  where that node takes commands, in place of its socket there; may be given several "
    "times.\n"
    "                      tcp:// takes keys\n"
    "  --key FILE          its own secret key, of `bezel keygen`: nodes must know it with the role control\n"
    "  --keys DIR          folder of the nodes' public keys: NODE.pub, or as `nodes.NODE.key` says\n"
    "  --epoch N           its number, above those of the managers of this run before it: nodes obey the greatest\n"
    "  --ready FD          says `ready` there once it serves\n"
    "  --lease FD          ends when this pipe does\n"
    "  --help, --version   print this, or the version, and end\n"
    "\n"
    "SIGTERM ends it; nodes keep how they poll. Exit codes: 0 ended as told, 1 failed, 2 wrong usage or file.\n";

enum option_id {
    OPT_EXPERIMENT = 256,
    OPT_SOCKETS,
    OPT_NODE,
    OPT_KEY,
    OPT_KEYS,
    OPT_EPOCH,
    OPT_READY,
    OPT_LEASE,
    OPT_HELP,
    OPT_VERSION
};

static const struct option long_options[] = {
    {"experiment", required_argument, NULL, OPT_EXPERIMENT},
    {"sockets", required_argument, NULL, OPT_SOCKETS},
    {"node", required_argument, NULL, OPT_NODE},
    {"key", required_argument, NULL, OPT_KEY},
    {"keys", required_argument, NULL, OPT_KEYS},
    {"epoch", required_argument, NULL, OPT_EPOCH},
    {"ready", required_argument, NULL, OPT_READY},
    {"lease", required_argument, NULL, OPT_LEASE},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static int misuse(const char *what, const char *why)
{
    fprintf(stderr, "bezel-resmgr: %s: %s\nTry 'bezel-resmgr --help'.\n", what, why);
    return EXIT_USAGE;
}

/* Returns a descriptor's number, or -1. */
static int read_descriptor(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    return end != text && !*end && n >= 0 && n <= 1 << 20 ? (int)n : -1;
}

static int read_fd(const char *text, int *fd)
{
    *fd = read_descriptor(text);
    return *fd < 0 ? misuse(text, "not the number of a descriptor") : -1;
}

/* Takes one option. Returns the exit code where the program ends here, -1 where it goes on. */
static int take_option(int c, struct server_options *o)
{
    const char *why;
    switch (c) {
    case OPT_EXPERIMENT:
        o->experiment = optarg;
        return -1;
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
                   : misuse(optarg, "--epoch takes a number from 1");
    case OPT_READY:
        return read_fd(optarg, &o->ready);
    case OPT_LEASE:
        return read_fd(optarg, &o->lease);
    case OPT_HELP:
        return fputs(usage, stdout) < 0 ? EXIT_FAILURE : EXIT_DONE;
    case OPT_VERSION:
        return puts("bezel-resmgr " BEZEL_VERSION) < 0 ? EXIT_FAILURE : EXIT_DONE;
    default:
        fputs("Try 'bezel-resmgr --help'.\n", stderr);
        return EXIT_USAGE;
    }
}

int main(int argc, char **argv)
{
    struct server_options options = {.ready = -1, .lease = -1};
    file_hold_standard();
    log_init("bezel-resmgr");
    for (int c; (c = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        int code = take_option(c, &options);
        if (code >= 0)
            return code;
    }
    if (optind < argc)
        return misuse(argv[optind], "no such argument");
    if (!options.experiment || (!options.sockets && options.node_count == 0) || !options.epoch)
        return misuse("usage", "--experiment, --epoch, and --sockets or --node are needed");
    if (!options.key != !options.keys)
        return misuse("usage", "--key and --keys go together");
    file_raise_limit(); /* a link to each node */
    return limit_check_files(RESMGR_FILES) == 0 ? server_run(&options) : EXIT_FAILURE;
}
