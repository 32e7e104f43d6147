// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/command_mirror.h"
#include "ecs/cli/commands.h"
#include "ecs/course/rundir.h"
#include "views/report/report.h"

#include <stdio.h>

static const char about[] =
    "Prints the report of a run, also while it goes on: the verdict, the limits, what is worth a look, and how the "
    "programs ended; of a run that did not go well, also what belongs to that, such as losses and their "
    "causes. " COMMAND_RUN COMMAND_ENDPOINT "\n";
static const char footer[] =
    "Exit codes: 0 the limits held, 1 the run failed, a limit could not be judged, or there is no report, 2 "
    "wrong usage, or no such run, 3 a limit was violated, 4 a daemon or process could not be reached.\n";

int cmd_report(int argc, char **argv)
{
    bool json = false, html = false, all = false;
    char run[PATH_MAX];
    const char *metrics = NULL;
    struct command_mirror m = {.dir = NULL};
    struct options o = {.program = "bezel report",
                        .usage = "[OPTIONS] [RUN]\n[OPTIONS] ENDPOINT",
                        .about = about,
                        .footer = footer,
                        .most = 1};
    const struct options_entry entries[] = {
        {"json", 'j', NULL, "print it as JSON, with all details (docs/REPORT.md)", .flag = &json},
        {"html", 0, NULL,
         "print it as a page for a browser, with plots against time, of less than 2 MB, that refers to nothing else",
         .flag = &html},
        {"all", 0, NULL,
         "print every section in full: among them the books of every process, rates, values, messages, the cost of the "
         "monitor, each decision and the snapshots",
         .flag = &all},
        {"metrics", 0, "FILE",
         "compute the metrics of FILE, and judge its limits, from the records of a run that has ended, in place of its "
         "own: FILE has the sections 'metrics' and 'limits' of an experiment file; others are not read",
         .value = &metrics},
        COMMAND_MIRROR(&m),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    if (json && html)
        return options_misuse("--json and --html exclude each other");
    code = command_open_mirrored(&m, o.words[0], COMMAND_NOW, run);
    if (code != OPTIONS_GO_ON)
        return code;
    code = report_print(run, rundir_is_running(run), metrics,
                        json   ? REPORT_JSON
                        : html ? REPORT_HTML
                        : all  ? REPORT_ALL
                               : REPORT_TEXT,
                        stdout);
    return code < 0 ? EXIT_FAILED : code;
}
