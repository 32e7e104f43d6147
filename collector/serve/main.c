// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/exit_code.h"
#include "base/file.h"
#include "base/inherited.h"
#include "base/log.h"
#include "base/serve.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "collector/serve/serve_reader.h"
#include "collector/serve/serve_server.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    READER_FD = 3,
    SERVE_NICE = 10,  /* of the server and its readers */
    SERVE_FILES = 24, /* descriptors that it needs at least, for ZeroMQ and one consumer */
};

static const char usage[] =
    "usage: bezel-serve --run DIR --listen ENDPOINT [--keys DIR --key FILE] [--consumers N] [--ready FD]\n"
    "                   [--parent-pipe FD]\n"
    "\n"
    "Serves the records of a run, finished or growing, to consumers on this machine or others: `bezel tail ENDPOINT`,\n"
    "programs with libbezel-consumer, and others (docs/WIRE.md). `bezel serve` starts it, and a collector with\n"
    "--serve. It reads files alone, and slows nobody.\n"
    "\n"
    "  --run DIR           run directory: trace/ and run.db\n"
    "  --listen ENDPOINT   where consumers connect: tcp://127.0.0.1:PORT, tcp://127.0.0.1:* or ipc:///PATH; with keys\n"
    "                      tcp:// on any address: of IPv4, [IPv6], an interface, or * for all\n"
    "  --keys DIR          folder of public keys, of `bezel keygen`: consumers need one there, with the role read\n"
    "  --key FILE          the server's secret key; --keys and --key go together\n"
    "  --consumers N       consumers served at a time, a further one is refused (1 to 1024; default 64)\n"
    "  --ready FD          write the bound endpoint to descriptor FD when serving, then close it\n"
    "  --parent-pipe FD    read end of a pipe: end when its other end is closed\n"
    "  --help, --version   print this, or the version, and end\n"
    "\n"
    "SIGTERM ends it: consumers have 2 s to take what is stored, 10 s while they take it.\n"
    "Exit codes: 0 ended, 1 failed, 2 wrong arguments.\n";

enum option_id {
    OPT_RUN = 256,
    OPT_LISTEN,
    OPT_KEYS,
    OPT_KEY,
    OPT_CONSUMERS,
    OPT_READY,
    OPT_PARENT_PIPE,
    OPT_READER,
    OPT_HELP,
    OPT_VERSION
};

static const struct option long_options[] = {
    {"run", required_argument, NULL, OPT_RUN},
    {"listen", required_argument, NULL, OPT_LISTEN},
    {"keys", required_argument, NULL, OPT_KEYS},
    {"key", required_argument, NULL, OPT_KEY},
    {"consumers", required_argument, NULL, OPT_CONSUMERS},
    {"ready", required_argument, NULL, OPT_READY},
    {"parent-pipe", required_argument, NULL, OPT_PARENT_PIPE},
    {"reader", no_argument, NULL, OPT_READER}, /* how it starts the processes that read for it */
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static int misuse(const char *what, const char *why)
{
    return serve_misuse("bezel-serve", "%s: %s", what, why);
}

/* Returns -1 to go on, or the exit code. */
static int read_options(int argc, char **argv, struct serve_server_options *o, bool *reader)
{
    for (int c; (c = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        const char *why;
        uint64_t n;
        switch (c) {
        case OPT_RUN:
            o->run = optarg;
            break;
        case OPT_LISTEN:
            o->listen = optarg;
            break;
        case OPT_KEYS:
            o->keys = optarg;
            break;
        case OPT_KEY:
            o->key = optarg;
            break;
        case OPT_CONSUMERS:
            if (units_read_count(optarg, &n, &why) != 0 || n < 1 || n > SERVE_CONSUMERS_MAX)
                return misuse(optarg, "--consumers takes 1 to 1024");
            o->consumers = (unsigned)n;
            break;
        case OPT_READY:
        case OPT_PARENT_PIPE:
            *(c == OPT_READY ? &o->ready : &o->parent_pipe) = serve_read_descriptor(optarg);
            if (serve_read_descriptor(optarg) < 0)
                return misuse(optarg, "not the number of an open descriptor");
            break;
        case OPT_READER:
            *reader = true;
            break;
        case OPT_HELP:
            return serve_print(usage);
        case OPT_VERSION:
            return serve_print("bezel-serve " BEZEL_VERSION "\n");
        default:
            fputs("Try 'bezel-serve --help'.\n", stderr);
            return EXIT_USAGE;
        }
    }
    return -1;
}

static int check_options(int argc, char **argv, const struct serve_server_options *o, bool reader)
{
    if (optind < argc)
        return misuse(argv[optind], "no such argument");
    if (!o->run || (!o->listen && !reader))
        return serve_misuse("bezel-serve", "--run and --listen are needed");
    if (reader)
        return -1;
    if (!o->keys != !o->key)
        return misuse("--keys and --key",
                      "one without the other: give the folder of public keys and the own secret key");
    if (endpoint_check(o->listen) != 0)
        return misuse(o->listen, "not an endpoint: tcp://ADDRESS:PORT or ipc:///PATH");
    if (!o->key && !endpoint_path(o->listen) && !endpoint_is_loopback(o->listen))
        return misuse(o->listen, "without keys only ipc:// and tcp:// on loopback (tcp://127.0.0.1:PORT) are allowed: "
                                 "make keys with `bezel keygen`, and give --keys DIR --key FILE");
    return -1;
}

/* A run may be foreign: what its reader can cost is bounded. The terminal's signals are its server's. */
static int run_reader(const char *run)
{
#if !defined __SANITIZE_ADDRESS__ &&                                                                                   \
    !defined __SANITIZE_THREAD__ /* they need more address space than there is memory */
    const struct rlimit memory = {SERVE_READER_MEMORY, SERVE_READER_MEMORY};
    (void)setrlimit(RLIMIT_DATA, &memory);
#endif
    signal(SIGINT, SIG_IGN);
    return serve_reader_run(run, READER_FD);
}

int main(int argc, char **argv)
{
    char program[PATH_MAX];
    bool reader = false;
    struct serve_server_options options = {
        .program = program, .consumers = SERVE_CONSUMERS, .ready = -1, .parent_pipe = -1};
    inherited_take("bezel-serve");
    int code = read_options(argc, argv, &options, &reader);
    if (code < 0)
        code = check_options(argc, argv, &options, reader);
    if (code >= 0)
        return code;
    if (reader)
        return run_reader(options.run);
    errno = 0;
    if (nice(SERVE_NICE) == -1 && errno) /* the collector, and programs, go first */
        log_warn("BEZEL-SERVE", "this server has the priority of other programs: %s", strerror(errno));
    file_raise_limit(); /* a connection, and a reader, for each consumer */
    if (ulimit_check_files(SERVE_FILES) != 0)
        return EXIT_FAILED;
    if (!realpath("/proc/self/exe", program)) {
        log_error("BEZEL-START", "/proc/self/exe: %s", ulimit_reason(BEZEL_ESYS));
        return EXIT_FAILED;
    }
    return serve_server_run(&options);
}
