// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/exit_code.h"
#include "base/file.h"
#include "base/inherited.h"
#include "base/lifetime.h"
#include "base/options.h"
#include "base/supervisor.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "base/uuid.h"
#include "collector/collector_daemon.h"
#include "collector/relay_daemon.h"
#include "mdr/link/endpoint.h"
#include "mdr/packet.h"
#include "run/store/store.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct arguments {
    struct collector_daemon_options daemon;
    struct relay_options inner; /* parent_count 0: it is the root */
    const char *parent_key;
    bool discards;
    uint64_t connections, processes, packet;
};

enum { COLLECTOR_FILES = 24 }; /* descriptors that it needs at least, for ZeroMQ and one node */

static struct arguments given = {
    .daemon = {.ready = -1, .parent_pipe = -1, .sync = STORE_SYNC_NEVER, .order = ORDER_SETTINGS_DEFAULT},
    .inner = {.buffer = RELAY_BUFFER},
    .connections = 256,
    .processes = 65536,
    .packet = PACKET_MAX_BYTES};

static const char about[] =
    "Receives packets of measurement data, stores them in a run directory, and acknowledges them when they are stored. "
    "`bezel run` starts it. Started by hand, it repairs and continues a run whose collector was killed. Without "
    "endpoints it repairs the run, completes run.db from what is stored, and ends.\n";
static const char footer[] =
    "SIGTERM finishes; a second one ends at once. Exit codes: 0 finished, 1 failed, 2 wrong arguments.\n";

static int read_sync(const char *text, void *context)
{
    int64_t *sync = &((struct arguments *)context)->daemon.sync;
    const char *why;
    *sync = strcmp(text, "always") == 0 ? 0 : STORE_SYNC_NEVER;
    if (strcmp(text, "always") == 0 || strcmp(text, "never") == 0)
        return OPTIONS_GO_ON;
    if (units_read_duration(text, sync, &why) != 0 || *sync < CLOCK_MS || *sync > 10 * CLOCK_S)
        return options_misuse("--sync '%s': give never, always, or a duration from 1 ms to 10 s", text);
    return OPTIONS_GO_ON;
}

static int read_keep(const char *text, void *context)
{
    const char *why = store_keep_read(text, &((struct arguments *)context)->daemon.keep);
    return why ? options_misuse("--keep '%s': %s", text, why) : OPTIONS_GO_ON;
}

static int read_clock(const char *text, void *context)
{
    if (clock_keeping_read(text, &((struct arguments *)context)->daemon.clock))
        return OPTIONS_GO_ON;
    return options_misuse("--clock '%s': give chrony, or ptp:BOUND with a duration from 1 ns to 1 s", text);
}

static int read_order(const char *text, void *context)
{
    if (order_settings_read(text, &((struct arguments *)context)->daemon.order))
        return OPTIONS_GO_ON;
    return options_misuse("--order '%s': give BUFFERS:MEMORY:WAIT: miso or siso, a size from 1 MiB to 4 GiB, and a "
                          "duration from 1 ns to 1 h",
                          text);
}

static int read_parent(const char *endpoint, void *context)
{
    struct relay_options *inner = &((struct arguments *)context)->inner;
    if (endpoint_check(endpoint) != 0)
        return options_misuse("--parent %s: not an endpoint: tcp://ADDRESS:PORT or ipc:///PATH", endpoint);
    if (inner->parent_count == RELAY_PARENTS_MAX)
        return options_misuse("--parent may be given 4 times");
    snprintf(inner->parents[inner->parent_count++], LINK_ENDPOINT_MAX, "%s", endpoint);
    return OPTIONS_GO_ON;
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

/* What goes with what. */
static int check_role(const struct arguments *a)
{
    const struct collector_daemon_options *o = &a->daemon;
    bool inner = a->inner.parent_count > 0;
    if (inner && (o->run || a->discards || o->serve || o->metrics || o->push || o->engine || !o->listen || !o->control))
        return options_misuse(
            "--parent needs --listen and --control, and stores no run: without --run, --discard, --serve, --metrics, "
            "--push and --engine");
    if (!o->proxy != !o->forward || (o->proxy && !inner))
        return options_misuse("--proxy and --forward go together, and with --parent");
    if (inner && (!a->parent_key != !o->key))
        return options_misuse("--key and --parent-key go together");
    if (a->discards && (!o->run || o->listen || o->control || o->serve))
        return options_misuse("--discard goes with --run and --id alone");
    if (!inner && (!o->run || !o->listen != !o->control))
        return options_misuse("--run is needed, and --listen and --control go together");
    if (!o->keys != !o->key)
        return options_misuse("--keys and --key go together: the folder of public keys and the own secret key");
    return OPTIONS_GO_ON;
}

static int check_options(const struct arguments *a)
{
    const struct collector_daemon_options *o = &a->daemon;
    const char *why, *place = o->listen;
    int code = check_role(a);
    if (code != OPTIONS_GO_ON)
        return code;
    if (o->id && !uuid_read(o->id, (uint8_t[16]){0}))
        return options_misuse("--id '%s': give a UUID", o->id);
    if (!o->control && !a->discards)
        return is_begun(o->run) ? OPTIONS_GO_ON
                                : options_misuse("%s: no run directory: neither run.db nor trace is in it", o->run);
    if (!o->control)
        return OPTIONS_GO_ON;
    why = place ? endpoint_check_listen(place, o->key != NULL) : NULL;
    if (!why && o->serve)
        why = endpoint_check_listen(place = o->serve, o->key != NULL);
    if (!why)
        why = endpoint_check_control(place = o->control, o->keys != NULL);
    return why ? options_misuse("%s: %s", place, why) : OPTIONS_GO_ON;
}

static const struct options_entry entries[] = {
    {"run", 0, "DIR", "the run directory, with trace/ and run.db", .value = &given.daemon.run},
    {"listen", 0, "ENDPOINT", "where nodes connect: " ENDPOINT_LISTEN_HELP, .value = &given.daemon.listen},
    {"control", 0, "ENDPOINT",
     "where it takes commands: ipc:///PATH in a folder of mode 0700; with keys also tcp://, for peers with the "
     "role control",
     .value = &given.daemon.control},
    {"keys", 0, "DIR",
     "folder of public keys, of `bezel keygen`: the peers that are admitted, with their roles; nodes need the role "
     "observe. All links over TCP are then encrypted (CURVE). A change in the folder takes effect within two "
     "seconds, for existing connections too",
     .value = &given.daemon.keys},
    {"key", 0, "FILE", "the collector's secret key; --keys and --key go together", .value = &given.daemon.key},
    LIFETIME_READY("the bound endpoint", &given.daemon.ready),
    LIFETIME_PARENT_PIPE(&given.daemon.parent_pipe),
    {"sync", 0, "POLICY",
     "never: acknowledge packets that are written (default); always: only those in stable storage; a duration, 1 "
     "ms to 10 s: as always, but sync only this often, or when 4 MiB wait, and acknowledge after that",
     .read = read_sync},
    {"keep", 0, "SIZE|TIME",
     "keep so many bytes of packets (16 MiB or more), such as \"2 GiB\", or those of so much time (10 s or more), "
     "such as \"48 h\" or \"7 days\": the oldest expire, and are counted (default: everything is kept)",
     .read = read_keep},
    {"connections", 0, "N", "nodes served at a time, a further one is refused (1 to 4096; default 256)",
     .count = &given.connections, .least = 1, .most = 4096},
    {"processes", 0, "N",
     "processes that the run may have had, and nodes: a further process is not stored, a further node is refused, "
     "and the report says so (1 to 1048576; default 65536)",
     .count = &given.processes, .least = 1, .most = 1 << 20},
    {"packet", 0, "SIZE", "longest frame, a longer one ends its connection (256 KiB to 1 MiB, the default)",
     .size = &given.packet, .least = 256 * UNITS_KIB, .most = UNITS_MIB},
    {"rate", 0, "SIZE",
     "bytes a second of each node; beyond it packets are stored and acknowledgements wait, so that the node does "
     "(default 0: unbounded)",
     .size = &given.daemon.limits.rate, .most = 1024 * UNITS_GIB},
    {"clock", 0, "KEEPER",
     "what keeps the wall clock of this machine: ptp:BOUND, with the bound of its error, a duration from 1 ns to 1 s; "
     "or chrony, which gives its own bound to the kernel. Nodes whose wall clocks are kept too compare times by them",
     .read = read_clock},
    {"order", 0, "SETTINGS",
     "how readers of a run that this collector begins order its records: BUFFERS:MEMORY:WAIT, with miso or siso, a "
     "size, and for how long they wait for a silent node (default: miso:64 MiB:5 s)",
     .read = read_order},
    {"serve", 0, "ENDPOINT",
     "where consumers read the run from bezel-serve, which this collector starts with its keys, again if it dies, "
     "and ends with itself: as --listen",
     .value = &given.daemon.serve},
    {"metrics", 0, "ADDRESS",
     "where the run's metrics are asked for, of bezel-metrics, which this collector starts likewise: PORT, on "
     "127.0.0.1, or HOST:PORT",
     .value = &given.daemon.metrics},
    {"push", 0, "URL", "where bezel-metrics sends them: http://HOST:PORT/PATH or https://",
     .value = &given.daemon.push},
    {"engine", 0, "URL",
     "where bezel-engine hands the run on, which this collector starts likewise: nats://HOST:PORT or "
     "kafka://HOST:PORT; those of a cluster with commas",
     .value = &given.daemon.engine},
    {"id", 0, "UUID", "the run's id: DIR is made where it is missing, and has to be this user's alone",
     .value = &given.daemon.id},
    {"parent", 0, "ENDPOINT",
     "another collector, to which this one passes on what its nodes send; it then stores nothing. Up to 4 times: "
     "the first is tried first, and one that does not answer is left",
     .read = read_parent},
    {"parent-key", 0, "FILE",
     "the parents' public key. At each parent the own key needs the role observe, and `nodes:` that match the "
     "nodes below",
     .value = &given.parent_key},
    {"buffer", 0, "SIZE",
     "bytes that may wait for the parent (4 MiB to 4 GiB; default 64 MiB). Nodes share half of it, 64 KiB at least "
     "for each of --connections; while it is full nothing is taken from nodes, which keep it",
     .size = &given.inner.buffer, .least = RELAY_BUFFER_LEAST, .most = 4 * UNITS_GIB},
    {"proxy", 0, "ENDPOINT",
     "the first port at which commands for machines below connect: tcp://HOST:PORT, with a number or * as HOST",
     .value = &given.daemon.proxy},
    {"forward", 0, "LIST",
     "where the ports of --proxy lead, in their order: endpoints tcp://HOST:PORT, separated by blanks; behind = where "
     "it connects instead, the port of the next proxy",
     .value = &given.daemon.forward},
    {"discard", 0, NULL, "remove DIR, whose run is over and has come home, and end", .flag = &given.discards},
    {0},
};

static int read_options(int argc, char **argv)
{
    struct collector_daemon_options *d = &given.daemon;
    struct options o = {.program = "bezel-collector",
                        .usage = "--run DIR [--listen ENDPOINT --control ENDPOINT] [OPTIONS]\n"
                                 "--parent ENDPOINT... --listen ENDPOINT --control ENDPOINT [OPTIONS]\n"
                                 "--discard --run DIR [--id UUID]",
                        .about = about,
                        .footer = footer,
                        .context = &given};
    int code = options_read(&o, entries, argc, argv);
    d->limits.connections = (unsigned)given.connections;
    d->limits.processes = (unsigned)given.processes;
    d->packet_max = (size_t)given.packet;
    return code == OPTIONS_GO_ON ? check_options(&given) : code;
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
    const struct collector_daemon_options *options = &given.daemon;
    inherited_take("bezel-collector");
    supervisor_take();
    keep_memory();
    file_raise_limit(); /* streams, and a connection for each node */
    int code = read_options(argc, argv);
    if (code == OPTIONS_GO_ON && ulimit_check_files(COLLECTOR_FILES) != 0)
        code = EXIT_FAILED;
    if (code != OPTIONS_GO_ON)
        return code;
    if (given.discards)
        return collector_daemon_discard(options);
    if (options->listen)
        (void)ulimit_covers_clients(options->limits.connections, COLLECTOR_FILES);
    if (given.inner.parent_count > 0)
        return relay_daemon_run(options, &given.inner, given.parent_key);
    return collector_daemon_run(options);
}
