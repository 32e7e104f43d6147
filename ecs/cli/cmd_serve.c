// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "ecs/course/rundir.h"

#include <stdio.h>

static const char about[] =
    "Serves the records of a run, finished or growing, to consumers on this machine or others, until ctrl-C: "
    "`bezel tail ENDPOINT`, programs with libbezel-consumer, and others (docs/WIRE.md). It becomes bezel-serve. "
    "While a run goes on its collector can do the same (`store: {serve: ENDPOINT}` in the experiment file). "
    "Prints where consumers connect to stderr. With --metrics or --push it becomes bezel-metrics instead, which gives "
    "metrics of one or more runs to Prometheus and others (docs/METRICS.md). " COMMAND_RUN "\n";
static const char footer[] =
    "Exit codes: 0 ended, 1 failed, 2 wrong usage, or no such run, 4 the run lies on another machine.\n";

struct request {
    const char *listen, *keys, *key, *consumers;
    char run[PATH_MAX];
};

enum { RUNS_MAX = 64, ARGUMENTS_MAX = RUNS_MAX + 24 };

/* What --metrics and --push ask for. */
struct metrics {
    const char *listen, *push, *credentials, *every, *series;
    bool all;
    char runs[RUNS_MAX][PATH_MAX];
};

static int serve_metrics(struct metrics *m, const struct command_target *t, char **words)
{
    const char *args[ARGUMENTS_MAX] = {"bezel-metrics"};
    const struct {
        const char *option, *value;
    } passed[] = {{"--listen", m->listen}, {"--push", m->push},     {"--push-credentials", m->credentials},
                  {"--every", m->every},   {"--series", m->series}, {"--folder", m->all ? rundir_runs(t->runs) : NULL}};
    size_t n = 1, count = 0;
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        if (passed[i].value)
            args[n++] = passed[i].option, args[n++] = passed[i].value;
    if (m->all && words[0])
        return options_misuse("--all shows all runs in the folder: name none");
    do {
        int code = m->all ? OPTIONS_GO_ON : command_open_real(t, words[count], m->runs[count]);
        if (code != OPTIONS_GO_ON)
            return code;
        if (!m->all)
            args[n++] = m->runs[count];
    } while (words[count] && words[++count] && !m->all);
    return command_become(args);
}

static int serve_consumers(const struct request *q)
{
    char key[PATH_MAX];
    const char *args[16] = {"bezel-serve", "--run", q->run, "--listen", q->listen ? q->listen : "tcp://127.0.0.1:*"};
    size_t n = 5;
    snprintf(key, sizeof key, "%s/%s.key", q->keys ? q->keys : "", q->key ? q->key : "collector");
    if (q->keys) {
        args[n++] = "--keys", args[n++] = q->keys;
        args[n++] = "--key", args[n++] = key;
    }
    if (q->consumers)
        args[n++] = "--consumers", args[n++] = q->consumers;
    return command_become(args);
}

static int check(const struct request *q, const struct metrics *m, const struct options *o)
{
    bool metrics = m->listen || m->push;
    if (q->key && !q->keys)
        return options_misuse("--key names a key in the folder of --keys");
    if (metrics && (q->listen || q->keys || q->consumers))
        return options_misuse(
            "--listen, --keys and --consumers are for consumers of records: start a server of its own "
            "for these, without --metrics and --push");
    if (!metrics && (m->all || m->every || m->series || m->credentials))
        return options_misuse("--all, --every, --series and --push-credentials go with --metrics or --push");
    if (!metrics && o->count > 1)
        return options_misuse("consumers are served one run; more of them go with --metrics or --push");
    return OPTIONS_GO_ON;
}

int cmd_serve(int argc, char **argv)
{
    static struct metrics m;
    struct request q = {.listen = NULL};
    struct command_target t = {0};
    struct options o = {
        .program = "bezel serve",
        .usage = "[OPTIONS] [RUN]\n[OPTIONS] --metrics ADDRESS [--all | RUN...]\n[OPTIONS] --push URL [--all | RUN...]",
        .about = about,
        .footer = footer,
        .most = RUNS_MAX};
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
        {"metrics", 0, "ADDRESS",
         "give metrics at http://ADDRESS/metrics: PORT, on 127.0.0.1, or HOST:PORT with the IPv4 address of an "
         "interface, or *, where everybody who reaches it can read them",
         .value = &m.listen},
        {"push", 0, "URL", "send metrics by POST to http://HOST:PORT/PATH or https://", .value = &m.push},
        {"push-credentials", 0, "FILE", "a file with the value of the header Authorization, such as: Bearer TOKEN",
         .value = &m.credentials},
        {"all", 0, NULL, "metrics of all runs in the folder of runs that go on, or ended in the last 10 min",
         .flag = &m.all},
        {"every", 0, "TIME", "time between two looks at the runs for metrics, at least (default: 5 s)",
         .value = &m.every},
        {"series", 0, "N", "lines of metrics at most; what is beyond is left out and counted (default: 10000)",
         .value = &m.series},
        COMMAND_RUNS(&t),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        code = check(&q, &m, &o);
    if (code == OPTIONS_GO_ON && (m.listen || m.push))
        return serve_metrics(&m, &t, o.words);
    if (code == OPTIONS_GO_ON)
        code = command_open_real(&t, o.words[0], q.run);
    return code == OPTIONS_GO_ON ? serve_consumers(&q) : code;
}
