// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/exit_code.h"
#include "base/file.h"
#include "base/inherited.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/options.h"
#include "base/ulimit.h"
#include "collector/serve/serve_reader.h"
#include "collector/serve/serve_server.h"
#include "collector/serve/serve_socket.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    SERVE_NICE = 10,  /* of the server and its readers */
    SERVE_FILES = 24, /* descriptors that it needs at least, for ZeroMQ and one consumer */
};

static const char about[] =
    "Sends the records and losses of a run, finished or growing, to consumers: `bezel tail ENDPOINT`, programs with "
    "libbezel-consumer, and others (docs/WIRE.md). `bezel serve` starts it, and a collector with --serve. It reads "
    "files alone, and slows nobody.\n";
static const char footer[] = "SIGTERM ends it: consumers have 2 s to take what is stored, 10 s while they take it.\n"
                             "Exit codes: 0 ended, 1 failed, 2 wrong arguments.\n";

static int check_options(const struct serve_server_options *s, bool reader)
{
    if (!s->run || (!s->listen && !reader))
        return options_misuse("--run and --listen are needed");
    if (reader)
        return OPTIONS_GO_ON;
    if (!s->keys != !s->key)
        return options_misuse("--keys and --key go together: the folder of public keys and the own secret key");
    const char *why = endpoint_check_listen(s->listen, s->key != NULL);
    return why ? options_misuse("%s: %s", s->listen, why) : OPTIONS_GO_ON;
}

static int read_options(int argc, char **argv, struct serve_server_options *s, bool *reader)
{
    uint64_t consumers = SERVE_CONSUMERS;
    struct options o = {
        .program = "bezel-serve", .usage = "--run DIR --listen ENDPOINT [OPTIONS]", .about = about, .footer = footer};
    const struct options_entry entries[] = {
        {"run", 0, "DIR", "the run directory", .value = &s->run},
        {"listen", 0, "ENDPOINT", "where consumers connect: " ENDPOINT_LISTEN_HELP, .value = &s->listen},
        {"keys", 0, "DIR", "folder of public keys, of `bezel keygen`: consumers need one there, with the role read",
         .value = &s->keys},
        {"key", 0, "FILE", "the server's secret key; --keys and --key go together", .value = &s->key},
        {"consumers", 0, "N", "consumers served at a time, a further one is refused (1 to 1024; default 64)",
         .count = &consumers, .least = 1, .most = SERVE_CONSUMERS_MAX},
        {"reader", 0, NULL, NULL /* how it starts the processes that read for it */, .flag = reader},
        LIFETIME_READY("the bound endpoint", &s->ready),
        LIFETIME_PARENT_PIPE(&s->parent_pipe),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    s->consumers = (unsigned)consumers;
    return code == OPTIONS_GO_ON ? check_options(s, *reader) : code;
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
    return serve_reader_run(run, SERVE_READER_FD);
}

int main(int argc, char **argv)
{
    char program[PATH_MAX];
    bool reader = false;
    struct serve_server_options options = {.program = program, .ready = -1, .parent_pipe = -1};
    inherited_take("bezel-serve");
    int code = read_options(argc, argv, &options, &reader);
    if (code != OPTIONS_GO_ON)
        return code;
    if (reader)
        return run_reader(options.run);
    errno = 0;
    if (nice(SERVE_NICE) == -1 && errno) /* the collector, and programs, go first */
        log_warn("BEZEL-SERVE",
                 "cannot lower the priority of this server: %s: it competes with the programs of the run for the CPU",
                 strerror(errno));
    file_raise_limit(); /* a connection, and a reader, for each consumer */
    if (ulimit_check_files(SERVE_FILES) != 0)
        return EXIT_FAILED;
    if (!realpath("/proc/self/exe", program)) {
        log_error("BEZEL-START", "/proc/self/exe: %s", ulimit_reason(BEZEL_ESYS));
        return EXIT_FAILED;
    }
    return serve_server_run(&options);
}
