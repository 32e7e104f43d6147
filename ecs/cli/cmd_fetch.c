// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "base/units.h"
#include "base/uuid.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "ecs/course/fetch.h"
#include "ecs/course/progress.h"
#include "ecs/course/run_journal.h"
#include "ecs/course/rundir.h"
#include "run/rundb/rundb.h"
#include "run/rundb/rundb_live.h"
#include "views/report/report.h"

#include <stdio.h>
#include <unistd.h>

static const char about[] =
    "Brings RUN home, whose collector was on another machine (collector: {node: NAME}), if `bezel run` could not "
    "do so at its end, because the line was cut or it was interrupted. What is here already is not copied again. "
    "The run is verified; then the copy there is removed. " COMMAND_RUN "\n";
static const char footer[] = "Exit codes: 0 the run is here, 1 failed, or a part of the run is damaged there, 2 wrong "
                             "usage, or no such run, 4 it could not be reached.\n";

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
    char log[PATH_MAX + 32];
    struct fetch_result result;
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
                        &result);
        progress_clear(&progress);
        if (err && result.home)
            log_error("BEZEL-FETCH", "%s is here, but %s; its copy stays on node %s, in %s", run, result.why,
                      e->collector.node, place.directory);
        else if (err)
            log_error("BEZEL-FETCH", "%s cannot be fetched from node %s: %s%s%s", run, e->collector.node, result.why,
                      run_journal_is(run)
                          ? "; its `bezel run` was killed: while the run goes on there, take it over with: "
                            "bezel attach "
                          : "",
                      run_journal_is(run) ? run : "");
    }
    remote_collector_free(&place);
    return !err                                                                    ? EXIT_OK
           : err == BEZEL_EUNREACH || err == BEZEL_ETIMEDOUT || err == BEZEL_EBUSY ? EXIT_UNREACHABLE
                                                                                   : EXIT_FAILED;
}

int cmd_fetch(int argc, char **argv)
{
    const char *keys = NULL;
    char run[PATH_MAX], away[2 * PATH_MAX];
    bool quiet = false;
    struct experiment *e = NULL;
    struct command_target t = {0};
    struct options o = {
        .program = "bezel fetch", .usage = "[OPTIONS] [RUN]", .about = about, .footer = footer, .most = 1};
    const struct options_entry entries[] = {
        {"keys", 0, "DIR", "the folder of keys (default: `store.keys` of the experiment, from the current directory)",
         .value = &keys},
        {"quiet", 'q', NULL, "show no progress", .flag = &quiet},
        COMMAND_RUNS(&t),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        code = command_find_run(&t, o.words[0], run);
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
