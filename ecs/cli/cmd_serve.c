// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "base/program.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char about[] =
    "Serves the records of a run, finished or growing, to consumers on this machine or others, until ctrl-C: "
    "`bezel tail ENDPOINT`, programs with libbezel-consumer, and others (docs/WIRE.md). It becomes bezel-serve. "
    "While a run goes on its collector can do the same (`store: {serve: ENDPOINT}` in the experiment file). "
    "Prints where consumers connect to stderr. " COMMAND_RUN "\n";
static const char footer[] =
    "Exit codes: 0 ended, 1 failed, 2 wrong usage, or no such run, 4 the run lies on another machine.\n";

struct request {
    const char *listen, *keys, *key, *consumers;
    char run[PATH_MAX];
};

/* Becomes bezel-serve. Returns only where that is impossible. */
static int become(const struct request *q)
{
    char program[PATH_MAX], key[PATH_MAX];
    const char *args[16] = {"bezel-serve", "--run", q->run, "--listen", q->listen};
    size_t n = 5;
    if (program_find_own("bezel-serve", program, sizeof program) != 0) {
        log_error("BEZEL-SERVE", "there is no bezel-serve beside this program, nor in $PATH: install it");
        return EXIT_FAILED;
    }
    snprintf(key, sizeof key, "%s/%s.key", q->keys ? q->keys : "", q->key ? q->key : "collector");
    if (q->keys) {
        args[n++] = "--keys", args[n++] = q->keys;
        args[n++] = "--key", args[n++] = key;
    }
    if (q->consumers)
        args[n++] = "--consumers", args[n++] = q->consumers;
    execv(program, (char *const *)args);
    log_error("BEZEL-SERVE", "%s: %s", program, strerror(errno));
    return EXIT_FAILED;
}

int cmd_serve(int argc, char **argv)
{
    struct request q = {.listen = "tcp://127.0.0.1:*"};
    struct command_target t = {0};
    struct options o = {
        .program = "bezel serve", .usage = "[OPTIONS] [RUN]", .about = about, .footer = footer, .most = 1};
    const struct options_entry entries[] = {
        {"listen", 0, "ENDPOINT",
         "where consumers connect: ipc:///PATH, tcp://127.0.0.1:PORT (default, with any free port); with keys tcp:// "
         "on any address, such as tcp://*:7770",
         .value = &q.listen},
        {"keys", 0, "DIR",
         "folder of public keys, of `bezel keygen`: consumers need one there, with the role read; and the server's "
         "own, both parts",
         .value = &q.keys},
        {"key", 0, "NAME", "the server's own key there, NAME.key (default: collector)", .value = &q.key},
        {"consumers", 0, "N", "consumers served at a time, a further one is refused (1 to 1024; default 64)",
         .value = &q.consumers},
        COMMAND_RUNS(&t),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON && q.key && !q.keys)
        code = options_misuse("--key names a key in the folder of --keys");
    if (code == OPTIONS_GO_ON)
        code = command_open_real(&t, o.words[0], q.run);
    return code == OPTIONS_GO_ON ? become(&q) : code;
}
