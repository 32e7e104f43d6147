// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/exit_code.h"
#include "base/file.h"
#include "base/inherited.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/options.h"
#include "mediators/metrics/metrics_server.h"
#include "mediators/metrics/run_metrics.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METRICS_NICE = 10 };

static const char about[] =
    "Gives the metrics of runs, finished or growing, as OpenMetrics text: by HTTP at /metrics, to who asks, and by "
    "POST to a server. `bezel serve --metrics` and `--push` start it, and a collector whose experiment has `store: "
    "{metrics: ADDRESS}` or `{push: URL}`. It reads files alone, and slows nobody.\n";
static const char footer[] = "SIGTERM ends it. Exit codes: 0 ended, 1 failed, 2 wrong arguments.\n";

struct arguments {
    struct metrics_server_options server;
    const char *listen, *push, *credentials;
    bool print;
    char **runs;
    unsigned run_count;
};

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static int read_address(struct arguments *a)
{
    const char *why;
    if (address_read_listen(a->listen, &a->server.address, &why) != 0)
        return options_misuse("--listen %s: %s", a->listen, why);
    a->server.listens = true;
    return OPTIONS_GO_ON;
}

/* Runs of one name could not be told apart. */
static int check_names(const struct arguments *a)
{
    for (unsigned i = 0; i < a->run_count; i++)
        for (unsigned k = 0; k < i; k++)
            if (strcmp(file_name(a->runs[i]), file_name(a->runs[k])) == 0)
                return options_misuse("%s and %s have one name, by which their metrics could not be told apart: serve "
                                      "them at two ports",
                                      a->runs[k], a->runs[i]);
    return OPTIONS_GO_ON;
}

static int check(struct arguments *a)
{
    if (a->print)
        return check_names(a);
    if (!a->listen && !a->push)
        return options_misuse("--listen or --push is needed");
    if (a->credentials && !a->push)
        return options_misuse("--push-credentials goes with --push");
    if ((a->run_count == 0) == !a->server.folder)
        return options_misuse("give runs, or --folder");
    int code = a->listen ? read_address(a) : OPTIONS_GO_ON;
    return code == OPTIONS_GO_ON ? check_names(a) : code;
}

static int read_options(int argc, char **argv, struct arguments *a)
{
    struct options o = {.program = "bezel-metrics",
                        .usage = "[OPTIONS] RUN...\n[OPTIONS] --folder DIR",
                        .about = about,
                        .footer = footer,
                        .most = METRICS_SERVER_RUNS};
    const struct options_entry entries[] = {
        {"listen", 0, "ADDRESS",
         "where it is asked: PORT, on 127.0.0.1, or HOST:PORT with the address of an interface or "
         "*; * as PORT is a free one",
         .value = &a->listen},
        {"push", 0, "URL", "where metrics are sent by POST: http://HOST:PORT/PATH or https://", .value = &a->push},
        {"push-credentials", 0, "FILE", "a file with the value of the header Authorization, such as: Bearer TOKEN",
         .value = &a->credentials},
        {"every", 0, "TIME", "time between two looks at the runs, at least (100 ms to 1 h; default 5 s)",
         .duration = &a->server.every, .least = 100 * CLOCK_MS, .most = 3600 * CLOCK_S},
        {"series", 0, "N",
         "lines of samples of all runs, at most: what is beyond is left out and counted (1 to 50000; default 10000)",
         .count = &a->server.series, .least = 1, .most = METRICS_SERVER_SERIES_MAX},
        {"folder", 0, "DIR", "show the runs in this folder that go on, or ended lately", .value = &a->server.folder},
        {"keep", 0, "TIME", "for how long such a run is shown (0 to 24 h; default 10 min)", .duration = &a->server.keep,
         .most = 24 * 3600 * CLOCK_S},
        {"print", 0, NULL, NULL /* how it has metrics made, in a process of its own */, .flag = &a->print},
        LIFETIME_READY("the port", &a->server.ready),
        LIFETIME_PARENT_PIPE(&a->server.parent_pipe),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    a->runs = o.words;
    a->run_count = o.count;
    return code == OPTIONS_GO_ON ? check(a) : code;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static void print_own(struct exposition *x, const struct run_metrics *runs, size_t count)
{
    x->most = SIZE_MAX;
    exposition_begin(x, &(struct exposition_family){"bezel_metrics_readable", EXPOSITION_GAUGE, NULL,
                                                    "1: the run could be read; 0: nothing is known of it now."});
    for (size_t i = 0; i < count; i++)
        exposition_count(x, (struct exposition_label[]){{"run", runs[i].name}, {0}}, runs[i].verdict != NULL);
    exposition_begin(x, &(struct exposition_family){"bezel_metrics_series_left_out", EXPOSITION_GAUGE, NULL,
                                                    "Samples of the run that had no room (--series)."});
    for (size_t i = 0; i < count; i++)
        exposition_count(x, (struct exposition_label[]){{"run", runs[i].name}, {0}}, runs[i].left_out);
}

/* All but the end, which whoever has started this adds. */
static int print(const struct arguments *a)
{
    struct exposition x = {.out = stdout, .most = a->server.series};
    struct run_metrics *runs = calloc(a->run_count + 1, sizeof *runs);
    if (!runs)
        return EXIT_FAILED;
    for (unsigned i = 0; i < a->run_count; i++) {
        runs[i] = (struct run_metrics){.path = a->runs[i], .name = file_name(a->runs[i])};
        (void)!run_metrics_load(&runs[i]); /* it has said why, and the metrics say that */
    }
    run_metrics_write(&x, runs, a->run_count);
    print_own(&x, runs, a->run_count);
    for (unsigned i = 0; i < a->run_count; i++)
        run_metrics_free(&runs[i]);
    free(runs);
    return fflush(stdout) == 0 ? EXIT_OK : EXIT_FAILED;
}

/* ---- serving ----------------------------------------------------------------------------------------------------- */

static int open_push(struct arguments *a)
{
    const char *why;
    int err = push_open(a->push, a->credentials, &a->server.push, &why);
    if (err == BEZEL_EINVAL && why)
        return options_misuse("--push %s: %s", strchr(a->push, '@') ? "URL" : a->push, why);
    if (err && a->credentials)
        log_error("BEZEL-METRICS-CREDENTIALS", "cannot read %s: %s", a->credentials,
                  err == BEZEL_EINVAL ? "it is too long" : strerror(errno));
    else if (err)
        log_error("BEZEL-METRICS-PUSH", "metrics cannot be sent: %s", err_text(err));
    return err ? EXIT_FAILED : OPTIONS_GO_ON;
}

static int serve(struct arguments *a)
{
    int code = a->push ? open_push(a) : OPTIONS_GO_ON;
    return code == OPTIONS_GO_ON ? metrics_server_run(&a->server) : code;
}

int main(int argc, char **argv)
{
    struct arguments a = {.server = {.keep = 600 * CLOCK_S,
                                     .every = 5 * CLOCK_S,
                                     .series = METRICS_SERVER_SERIES,
                                     .self = "/proc/self/exe",
                                     .ready = -1,
                                     .parent_pipe = -1}};
    inherited_take("bezel-metrics");
    int code = read_options(argc, argv, &a);
    if (code != OPTIONS_GO_ON)
        return code;
    a.server.runs = (const char *const *)a.runs;
    a.server.run_count = a.run_count;
    if (a.print)
        return print(&a);
    lifetime_step_back("BEZEL-METRICS", "server", METRICS_NICE);
    return serve(&a);
}
