// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/commands.h"
#include "ecs/find_run.h"
#include "ecs/report.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>

static const char help[] =
    "usage: bezel report [--json | --svg] [--all] [--runs DIR] [RUN]\n"
    "\n"
    "Prints the report of RUN, a run directory or its name below the folder of runs; without RUN, of the newest one.\n"
    "The run may still be going on.\n"
    "\n"
    "  --json      as data, with all there is (docs/REPORT.md)\n"
    "  --svg       as a plot: the limits and the polling periods against time\n"
    "  --all       leave nothing out: every decision, the aspects of every process, the daemons' own books\n"
    "  --runs DIR  the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 the limits held, 1 the run failed, a limit could not be judged, or there is no report, 2 usage,\n"
    "3 a limit was violated, 4 the run did not reach something.\n";

int cmd_report(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {"svg", no_argument, NULL, 's'},
                                            {"all", no_argument, NULL, 'a'},  {"runs", required_argument, NULL, 'r'},
                                            {"help", no_argument, NULL, 'h'}, {0}};
    int form = REPORT_TEXT;
    const char *runs = NULL;
    for (int o; (o = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (o == 'h')
            return command_help(help);
        if (o == 'r')
            runs = optarg;
        else if (o == 'j' || o == 'a' || o == 's')
            form |= o == 'j' ? REPORT_JSON : o == 's' ? REPORT_SVG : REPORT_ALL;
        else
            return EXIT_USAGE;
    }
    if ((form & REPORT_JSON) && (form & REPORT_SVG))
        return command_misuse("report", "--json or --svg, not both");
    if (argc - optind > 1)
        return command_misuse("report", "one run at a time");
    char run[PATH_MAX];
    if (find_run(argv[optind], runs, run, sizeof run) != 0)
        return EXIT_FAILED;
    int code = report_print(run, form, stdout);
    return code < 0 ? EXIT_FAILED : code;
}
