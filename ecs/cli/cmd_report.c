// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/commands.h"
#include "ecs/cli/options.h"
#include "ecs/course/rundir.h"
#include "views/report/report.h"

#include <stdio.h>

static const char help[] =
    "usage: bezel report [--json | --html] [--all] [--runs DIR] [RUN]\n"
    "\n"
    "Prints the report of RUN: a run directory, or its name in the folder of runs (default: the newest run). The\n"
    "run may still be going on.\n"
    "\n"
    "  --json      print it as JSON, with all details (docs/REPORT.md)\n"
    "  --html      print it as a page for a browser, with plots against time, that refers to nothing else\n"
    "  --all       print everything: a line for each decision and each violation, the snapshots, the aspects of every\n"
    "              process, and the daemons' own books\n"
    "  --runs DIR  the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 the limits held, 1 the run failed, a limit could not be judged, or there is no report,\n"
    "2 wrong usage, or no such run, 3 a limit was violated, 4 a daemon or process could not be reached.\n";

int cmd_report(int argc, char **argv)
{
    bool json = false, html = false, svg = false, all = false;
    char run[PATH_MAX];
    struct options o = {.command = "report", .help = help, .most = 1, .wanted = "give at most one RUN"};
    const struct options_entry entries[] = {{"json", .flag = &json}, {"html", .flag = &html},    {"svg", .flag = &svg},
                                            {"all", .flag = &all},   {"runs", .value = &o.runs}, {0}};
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    if (svg)
        return command_misuse("report", "--svg is given up: --html makes a page, whose plots a browser prints");
    if (json && html)
        return command_misuse("report", "--json and --html exclude each other");
    code = options_find_run(&o, o.words[0], run);
    if (code != OPTIONS_GO_ON)
        return code;
    code = options_check_home(run);
    if (code != OPTIONS_GO_ON)
        return code;
    code = report_print(run, rundir_is_running(run),
                        json   ? REPORT_JSON
                        : html ? REPORT_HTML
                        : all  ? REPORT_ALL
                               : REPORT_TEXT,
                        stdout);
    return code < 0 ? EXIT_FAILED : code;
}
