// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "base/units.h"
#include "base/uuid.h"
#include "ecs/cli/commands.h"
#include "ecs/cli/options.h"
#include "ecs/course/fetch.h"
#include "ecs/course/progress.h"
#include "ecs/course/rundir.h"
#include "run/rundb/rundb.h"
#include "run/rundb/rundb_live.h"
#include "views/report/report.h"

#include <stdio.h>
#include <unistd.h>

static const char help[] =
    "usage: bezel fetch [--keys DIR] [--quiet] [--runs DIR] [RUN]\n"
    "\n"
    "Copies RUN home, whose collector was on another machine (collector: {node: NAME}), if `bezel run` could not do "
    "so\n"
    "at its end. What is here already is not copied again. Each file is checked against its checksum there; then the\n"
    "copy there is removed. RUN is a run directory or its name in the folder of runs (default: the newest run).\n"
    "\n"
    "  --keys DIR  the folder of keys (default: `store.keys` of the experiment, from the current directory)\n"
    "  --quiet     no progress\n"
    "  --runs DIR  the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 the run is here, 1 failed, 2 wrong usage, or no such run, 4 it could not be reached.\n";

static void show(void *context, uint64_t done, uint64_t total)
{
    char text[128];
    snprintf(text, sizeof text, "%s of %s", units_bytes(done).s, units_bytes(total).s);
    progress_text(context, text, clock_now());
}

static int read_id(const char *run, uint8_t id[16])
{
    struct rundb *db;
    char text[64] = "";
    int err = rundb_open(run, &db);
    if (!err) {
        err = rundb_get(db, "run", text, sizeof text);
        (void)!rundb_close(db);
    }
    if (!err && !uuid_read(text, id))
        err = BEZEL_EMALFORMED;
    if (err)
        log_error("BEZEL-FETCH", "%s/run.db: %s", run, rundb_why(err));
    return err;
}

static int fetch(const char *run, const struct experiment *e, const char *keys, bool quiet)
{
    char why[FETCH_WHY_MAX], log[PATH_MAX + 32];
    uint8_t id[16];
    struct progress progress;
    struct remote_collector place = {.phase = REMOTE_COLLECTOR_NONE};
    progress_init(&progress, stderr, quiet, false);
    snprintf(log, sizeof log, "%s/log/collector.log", run);
    int err = read_id(run, id);
    if (!err)
        err = remote_collector_init(&place, e, EXPERIMENT_ROOT, id, keys, log);
    if (!err) {
        err = fetch_run(&(struct fetch_options){.run = run, .place = &place, .progress = show, .context = &progress},
                        why);
        progress_clear(&progress);
        if (err)
            log_error("BEZEL-FETCH", "%s cannot be fetched from node %s: %s", run, e->collector.node, why);
    }
    remote_collector_free(&place);
    return !err ? EXIT_OK : err == BEZEL_EUNREACH || err == BEZEL_ETIMEDOUT ? EXIT_UNREACHABLE : EXIT_FAILED;
}

int cmd_fetch(int argc, char **argv)
{
    const char *keys = NULL;
    char run[PATH_MAX], away[2 * PATH_MAX];
    bool quiet = false;
    struct experiment *e = NULL;
    struct options o = {.command = "fetch", .help = help, .most = 1, .wanted = "give at most one RUN"};
    const struct options_entry entries[] = {
        {"keys", .value = &keys}, {"quiet", .flag = &quiet}, {"runs", .value = &o.runs}, {0}};
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        code = options_find_run(&o, o.words[0], run);
    if (code != OPTIONS_GO_ON)
        return code;
    if (!rundir_is_away(run, away, sizeof away)) {
        log_info("BEZEL-FETCH", "%s is here", run);
        return EXIT_OK;
    }
    struct rundir here = {.lock = -1, .running = -1};
    if (rundir_is_running(run) || snprintf(here.path, sizeof here.path, "%s", run) >= (int)sizeof here.path) {
        log_error("BEZEL-FETCH", "%s: the run goes on, or is being fetched: it comes here at its end", run);
        return EXIT_UNREACHABLE;
    }
    rundir_mark_running(&here);
    code = EXIT_FAILED;
    if (report_load_experiment(run, &e) == 0 && e->collector.node)
        code = fetch(run, e, keys ? keys : e->store.keys, quiet);
    experiment_free(e);
    if (here.running >= 0)
        close(here.running);
    return code;
}
