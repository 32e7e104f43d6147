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
#include "collector/collector_daemon.h"
#include "collector/files_daemon.h"
#include "collector/relay_daemon.h"
#include "mdr/link/endpoint.h"
#include "mdr/packet.h"
#include "run/store/store.h"

#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct arguments {
    struct collector_daemon_options daemon;
    struct relay_options inner; /* parent_count 0: it is the root */
    const char *parent_key;
};

enum { COLLECTOR_FILES = 24 }; /* descriptors that it needs at least, for ZeroMQ and one node */

static const char usage[] =
    "usage: bezel-collector --run DIR [--listen ENDPOINT --control ENDPOINT] [--keys DIR --key FILE] [--ready FD]\n"
    "                       [--parent-pipe FD] [--sync POLICY] [--keep SIZE|TIME] [--connections N] [--processes N]\n"
    "                       [--packet SIZE] [--rate SIZE] [--clock KEEPER] [--order SETTINGS] [--serve ENDPOINT]\n"
    "                       [--id UUID]\n"
    "       bezel-collector --parent ENDPOINT... --listen ENDPOINT --control ENDPOINT [--buffer SIZE]\n"
    "                       [--keys DIR --key FILE --parent-key FILE] [--proxy ENDPOINT --forward LIST] ...\n"
    "       bezel-collector --files --run DIR --control ENDPOINT [--keys DIR --key FILE] [--id UUID]\n"
    "\n"
    "Receives packets of measurement data, stores them in a run directory, and acknowledges them when they are "
    "stored.\n"
    "`bezel run` starts it. Started by hand, it repairs and continues a run whose collector was killed. Without\n"
    "endpoints it repairs the run, completes run.db from what is stored, and ends.\n"
    "\n"
    "  --run DIR           run directory: trace/ and run.db\n"
    "  --listen ENDPOINT   where nodes connect: tcp://127.0.0.1:PORT, tcp://127.0.0.1:* or ipc:///PATH; with keys\n"
    "                      tcp:// on any address: of IPv4, [IPv6], an interface, or * for all\n"
    "  --control ENDPOINT  where it takes commands: ipc:///PATH in a folder of mode 0700; with keys also tcp://\n"
    "  --keys DIR          folder of public keys, of `bezel keygen`: the peers that are admitted, with their roles\n"
    "  --key FILE          the collector's secret key; --keys and --key go together\n"
    "  --ready FD          write the bound endpoint to descriptor FD when serving, then close it\n"
    "  --parent-pipe FD    read end of a pipe: finish when its other end is closed\n"
    "  --sync POLICY       never: acknowledge packets that are written (default); always: only those in stable\n"
    "                      storage; a duration, 1 ms to 10 s: as always, but sync and acknowledge only this often\n"
    "  --keep SIZE|TIME    keep so many bytes of packets (16 MiB or more), or those of so much time (10 s or more): "
    "the\n"
    "                      oldest expire, and are counted (default: everything is kept)\n"
    "  --connections N     nodes served at a time, a further one is refused (1 to 4096; default 256)\n"
    "  --processes N       processes that the run may have had, and nodes: a further process is not stored, a further\n"
    "                      node is refused (1 to 1048576; default 65536)\n"
    "  --packet SIZE       longest frame, a longer one ends its connection (256 KiB to 1 MiB, the default)\n"
    "  --rate SIZE         bytes a second of each node; beyond it acknowledgements wait (default 0: unbounded)\n"
    "  --clock KEEPER      what keeps the wall clock of this machine: ptp:BOUND, with the bound of its error, or "
    "chrony;\n"
    "                      nodes whose wall clocks are kept too compare times by them\n"
    "  --order SETTINGS    how readers of a run that this collector begins order its records: BUFFERS:MEMORY:WAIT, "
    "with\n"
    "                      miso or siso, a size, and for how long they wait for a silent node (miso:64 MiB:5 s)\n"
    "  --serve ENDPOINT    where consumers read the run from bezel-serve, which this collector starts, with its keys:\n"
    "                      as --listen\n"
    "  --id UUID           the run's id: DIR is made where it is missing, and has to be this user's alone\n"
    "  --parent ENDPOINT   another collector, to which this one passes on what its nodes say: it stores nothing then.\n"
    "                      Up to 4 times: one after the other is tried, and a silent one left\n"
    "  --parent-key FILE   the parents' public key\n"
    "  --buffer SIZE       bytes that may wait for the parent (4 MiB to 4 GiB; default 64 MiB)\n"
    "  --proxy ENDPOINT    where commands for machines below connect: its first port\n"
    "  --forward LIST      endpoints to which the ports of --proxy lead; behind = the next proxy\n"
    "  --files             serve the files of DIR, whose run is over, to whoever fetches them, then remove DIR\n"
    "  --help, --version   print this, or the version, and end\n"
    "\n"
    "SIGTERM finishes; a second one ends at once. Exit codes: 0 finished, 1 failed, 2 wrong arguments.\n";

enum option_id {
    OPT_RUN = 256,
    OPT_ID,
    OPT_FILES,
    OPT_PARENT,
    OPT_PARENT_KEY,
    OPT_BUFFER,
    OPT_PROXY,
    OPT_FORWARD,
    OPT_LISTEN,
    OPT_CONTROL,
    OPT_KEYS,
    OPT_KEY,
    OPT_READY,
    OPT_PARENT_PIPE,
    OPT_LEASE, /* given up */
    OPT_SYNC,
    OPT_CONNECTIONS,
    OPT_PROCESSES,
    OPT_PACKET,
    OPT_RATE,
    OPT_CLOCK,
    OPT_ORDER,
    OPT_SERVE,
    OPT_KEEP,
    OPT_HELP,
    OPT_VERSION
};

static const struct option long_options[] = {
    {"run", required_argument, NULL, OPT_RUN},
    {"id", required_argument, NULL, OPT_ID},
    {"files", no_argument, NULL, OPT_FILES},
    {"parent", required_argument, NULL, OPT_PARENT},
    {"parent-key", required_argument, NULL, OPT_PARENT_KEY},
    {"buffer", required_argument, NULL, OPT_BUFFER},
    {"proxy", required_argument, NULL, OPT_PROXY},
    {"forward", required_argument, NULL, OPT_FORWARD},
    {"listen", required_argument, NULL, OPT_LISTEN},
    {"control", required_argument, NULL, OPT_CONTROL},
    {"keys", required_argument, NULL, OPT_KEYS},
    {"key", required_argument, NULL, OPT_KEY},
    {"ready", required_argument, NULL, OPT_READY},
    {"parent-pipe", required_argument, NULL, OPT_PARENT_PIPE},
    {"lease", optional_argument, NULL, OPT_LEASE}, /* given up */
    {"sync", required_argument, NULL, OPT_SYNC},
    {"connections", required_argument, NULL, OPT_CONNECTIONS},
    {"processes", required_argument, NULL, OPT_PROCESSES},
    {"packet", required_argument, NULL, OPT_PACKET},
    {"rate", required_argument, NULL, OPT_RATE},
    {"clock", required_argument, NULL, OPT_CLOCK},
    {"order", required_argument, NULL, OPT_ORDER},
    {"serve", required_argument, NULL, OPT_SERVE},
    {"keep", required_argument, NULL, OPT_KEEP},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static int misuse(const char *what, const char *why)
{
    return serve_misuse("bezel-collector", "%s: %s", what, why);
}

static bool read_sync(const char *text, int64_t *sync)
{
    const char *why;
    *sync = strcmp(text, "always") == 0 ? 0 : STORE_SYNC_NEVER;
    if (strcmp(text, "always") == 0 || strcmp(text, "never") == 0)
        return true;
    return units_read_duration(text, sync, &why) == 0 && *sync >= CLOCK_MS && *sync <= 10 * CLOCK_S;
}

/* Reads the limit that `option` sets. Returns NULL, or the range that it takes where `text` is outside. */
static const char *read_limit(int option, const char *text, struct arguments *a)
{
    struct collector_daemon_options *o = &a->daemon;
    const char *why;
    uint64_t n = 0;
    if (option == OPT_CONNECTIONS) {
        if (units_read_count(text, &n, &why) != 0 || n < 1 || n > 4096)
            return "--connections takes 1 to 4096";
        o->limits.connections = (unsigned)n;
    } else if (option == OPT_PROCESSES) {
        if (units_read_count(text, &n, &why) != 0 || n < 1 || n > 1 << 20)
            return "--processes takes 1 to 1048576";
        o->limits.processes = (unsigned)n;
    } else if (option == OPT_PACKET) {
        if (units_read_size(text, &n, &why) != 0 || n < 256 * UNITS_KIB || n > UNITS_MIB)
            return "--packet takes a size from 256 KiB to 1 MiB";
        o->packet_max = (size_t)n;
    } else if (option == OPT_BUFFER) {
        if (units_read_size(text, &n, &why) != 0 || n < RELAY_BUFFER_LEAST || n > 4 * UNITS_GIB)
            return "--buffer takes a size from 4 MiB to 4 GiB";
        a->inner.buffer = n;
    } else {
        if (units_read_size(text, &n, &why) != 0 || n > 1024 * UNITS_GIB)
            return "--rate takes a size, up to 1024 GiB a second; 0: unbounded";
        o->limits.rate = n;
    }
    return NULL;
}

/* The member that holds the text of `option`; NULL for options that are not plain texts. */
static const char **text_of(struct arguments *a, int option)
{
    struct collector_daemon_options *o = &a->daemon;
    switch (option) {
    case OPT_PARENT_KEY:
        return &a->parent_key;
    case OPT_RUN:
        return &o->run;
    case OPT_ID:
        return &o->id;
    case OPT_LISTEN:
        return &o->listen;
    case OPT_CONTROL:
        return &o->control;
    case OPT_SERVE:
        return &o->serve;
    case OPT_PROXY:
        return &o->proxy;
    case OPT_FORWARD:
        return &o->forward;
    case OPT_KEYS:
        return &o->keys;
    case OPT_KEY:
        return &o->key;
    default:
        return NULL;
    }
}

/* Returns -1 to go on, or the exit code. */
static int read_parent(const char *endpoint, struct relay_options *inner)
{
    if (endpoint_check(endpoint) != 0)
        return misuse(endpoint, "not an endpoint: tcp://ADDRESS:PORT or ipc:///PATH");
    if (inner->parent_count == RELAY_PARENTS_MAX)
        return misuse(endpoint, "--parent may be given 4 times");
    snprintf(inner->parents[inner->parent_count++], LINK_ENDPOINT_MAX, "%s", endpoint);
    return -1;
}

/* Returns -1 to go on, or the exit code. */
static int read_options(int argc, char **argv, struct arguments *a)
{
    struct collector_daemon_options *o = &a->daemon;
    for (int c, code; (c = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        const char **text = text_of(a, c), *why;
        if (text) {
            *text = optarg;
            continue;
        }
        switch (c) {
        case OPT_READY:
        case OPT_PARENT_PIPE:
            *(c == OPT_READY ? &o->ready : &o->parent_pipe) = serve_read_descriptor(optarg);
            if (serve_read_descriptor(optarg) < 0)
                return misuse(optarg, "not the number of an open descriptor");
            break;
        case OPT_FILES:
            o->files = true;
            break;
        case OPT_PARENT:
            if ((code = read_parent(optarg, &a->inner)) >= 0)
                return code;
            break;
        case OPT_LEASE:
            return serve_misuse("bezel-collector", "--lease is called --parent-pipe now"); /* given up */
        case OPT_SYNC:
            if (!read_sync(optarg, &o->sync))
                return misuse(optarg, "--sync takes never, always, or a duration from 1 ms to 10 s");
            break;
        case OPT_KEEP:
            if ((why = store_keep_read(optarg, &o->keep)))
                return misuse(optarg, why);
            break;
        case OPT_CLOCK:
            if (!clock_keeping_read(optarg, &o->clock))
                return misuse(optarg, "--clock takes chrony, or ptp:BOUND with a duration from 1 ns to 1 s");
            break;
        case OPT_ORDER:
            if (!order_settings_read(optarg, &o->order))
                return misuse(optarg,
                              "--order takes BUFFERS:MEMORY:WAIT: miso or siso, a size from 1 MiB to 4 GiB, and "
                              "a duration from 1 ns to 1 h");
            break;
        case OPT_CONNECTIONS:
        case OPT_PROCESSES:
        case OPT_PACKET:
        case OPT_RATE:
        case OPT_BUFFER:
            if ((why = read_limit(c, optarg, a)))
                return misuse(optarg, why);
            break;
        case OPT_HELP:
            return serve_print(usage);
        case OPT_VERSION:
            return serve_print("bezel-collector " BEZEL_VERSION "\n");
        default:
            fputs("Try 'bezel-collector --help'.\n", stderr);
            return EXIT_USAGE;
        }
    }
    return -1;
}

/* Whether anything of a run is in directory `run`. */
static bool is_begun(const char *run)
{
    struct stat st;
    int fd = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool begun = fd >= 0 && (fstatat(fd, "run.db", &st, 0) == 0 || fstatat(fd, "trace", &st, 0) == 0);
    if (fd >= 0)
        close(fd);
    return begun;
}

/* Checks an endpoint at which peers connect. Returns -1 to go on, or the exit code. */
static int check_endpoint(const char *listen, bool keyed)
{
    if (endpoint_check(listen) != 0)
        return misuse(listen, "not an endpoint: tcp://ADDRESS:PORT or ipc:///PATH");
    if (!keyed && !endpoint_path(listen) && !endpoint_is_loopback(listen))
        return misuse(listen, "without keys only ipc:// and tcp:// on loopback (tcp://127.0.0.1:PORT) are allowed: "
                              "make keys with `bezel keygen`, and give --keys DIR --key FILE");
    return -1;
}

/* What goes with what. Returns -1 to go on, or the exit code. */
static int check_role(const struct arguments *a)
{
    const struct collector_daemon_options *o = &a->daemon;
    bool inner = a->inner.parent_count > 0;
    if (inner && (o->run || o->files || o->serve || !o->listen || !o->control))
        return serve_misuse("bezel-collector", "--parent needs --listen and --control, and stores no run: without "
                                               "--run, --files and --serve");
    if (!o->proxy != !o->forward || (o->proxy && !inner))
        return serve_misuse("bezel-collector", "--proxy and --forward go together, and with --parent");
    if (inner && (!a->parent_key != !o->key))
        return serve_misuse("bezel-collector", "--key and --parent-key go together");
    if (!inner && (!o->run || !(o->listen || o->files) != !o->control))
        return serve_misuse("bezel-collector", "--run is needed, and --listen and --control go together");
    if (o->files && o->listen)
        return serve_misuse("bezel-collector", "--files and --listen exclude each other");
    return -1;
}

static int check_options(int argc, char **argv, const struct arguments *a)
{
    const struct collector_daemon_options *o = &a->daemon;
    const char *why;
    if (optind < argc)
        return misuse(argv[optind], "no such argument");
    int code = check_role(a);
    if (code >= 0)
        return code;
    if (o->id && !uuid_read(o->id, (uint8_t[16]){0}))
        return misuse(o->id, "--id takes a UUID");
    if (!o->keys != !o->key)
        return misuse("--keys and --key",
                      "one without the other: give the folder of public keys and the own secret key");
    if (!o->control)
        return is_begun(o->run) ? -1 : misuse(o->run, "no run directory: neither run.db nor trace is in it");
    code = o->listen ? check_endpoint(o->listen, o->key != NULL) : -1;
    if (code < 0 && o->serve)
        code = check_endpoint(o->serve, o->key != NULL);
    if (code >= 0)
        return code;
    if ((why = endpoint_check_control(o->control, o->keys != NULL)))
        return misuse(o->control, why);
    return -1;
}

/*
 * Frames are allocated and freed by the thousand. At their size malloc would return the pages of each to the kernel,
 * which would clear new ones for the next: half the cost of receiving. Credit and queues bound what malloc keeps.
 */
static void keep_memory(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 4 * PACKET_MAX_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, 64 * PACKET_MAX_BYTES);
}

int main(int argc, char **argv)
{
    static struct arguments arguments = {.daemon = {.ready = -1,
                                                    .parent_pipe = -1,
                                                    .sync = STORE_SYNC_NEVER,
                                                    .limits = {.connections = 256, .processes = 65536},
                                                    .order = ORDER_SETTINGS_DEFAULT,
                                                    .packet_max = PACKET_MAX_BYTES},
                                         .inner = {.buffer = RELAY_BUFFER}};
    const struct collector_daemon_options *options = &arguments.daemon;
    inherited_take("bezel-collector");
    keep_memory();
    file_raise_limit(); /* streams, and a connection for each node */
    int code = read_options(argc, argv, &arguments);
    if (code < 0)
        code = check_options(argc, argv, &arguments);
    if (code < 0 && ulimit_check_files(COLLECTOR_FILES) != 0)
        code = EXIT_FAILED;
    if (code >= 0)
        return code;
    if (!options->files)
        (void)ulimit_covers_clients(options->limits.connections, COLLECTOR_FILES);
    if (arguments.inner.parent_count > 0)
        return relay_daemon_run(options, &arguments.inner, arguments.parent_key);
    return options->files ? files_daemon_run(options) : collector_daemon_run(options);
}
