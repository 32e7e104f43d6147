// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "base/program.h"
#include "ecs/cli/commands.h"
#include "ecs/cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: bezel serve [--listen ENDPOINT] [--keys DIR [--key NAME]] [--consumers N] [--runs DIR] [RUN]\n"
    "\n"
    "Serves the records of a run, finished or growing, to consumers on this machine or others, until ctrl-C:\n"
    "`bezel tail ENDPOINT`, programs with libbezel-consumer, and others (docs/WIRE.md). RUN is a run directory or its\n"
    "name in the folder of runs (default: the newest run). While a run goes on its collector can do the same\n"
    "(`store: {serve: ENDPOINT}` in the experiment file).\n"
    "\n"
    "  --listen ENDPOINT  where consumers connect: ipc:///PATH, tcp://127.0.0.1:PORT (default, with any free port); "
    "with\n"
    "                     keys tcp:// on any address, such as tcp://*:7770\n"
    "  --keys DIR         folder of public keys, of `bezel keygen`: consumers need one there, with the role read; and "
    "the\n"
    "                     server's own, both parts\n"
    "  --key NAME         the server's own key there (default: collector)\n"
    "  --consumers N      consumers served at a time, a further one is refused (1 to 1024; default 64)\n"
    "  --runs DIR         the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Prints where consumers connect to stderr. Exit codes: 0 ended, 1 failed, 2 wrong usage, or no such run, 4 the "
    "run\n"
    "lies on another machine.\n";

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
    struct options o = {.command = "serve", .help = help, .most = 1, .wanted = "give at most a RUN"};
    const struct options_entry entries[] = {{"listen", .value = &q.listen}, {"keys", .value = &q.keys},
                                            {"key", .value = &q.key},       {"consumers", .value = &q.consumers},
                                            {"runs", .value = &o.runs},     {0}};
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON && q.key && !q.keys)
        code = command_misuse("serve", "--key names a key in the folder of --keys");
    if (code == OPTIONS_GO_ON)
        code = options_find_run(&o, o.words[0], q.run);
    if (code == OPTIONS_GO_ON)
        code = options_check_home(q.run);
    if (code != OPTIONS_GO_ON)
        return code;
    char *real = realpath(q.run, NULL); /* `latest` may lead elsewhere before this ends */
    if (real)
        snprintf(q.run, sizeof q.run, "%s", real);
    free(real);
    return become(&q);
}
