// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/commands.h"
#include "ecs/export.h"
#include "ecs/find_run.h"

#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: bezel export [--merge] [--runs DIR] RUN [TARGET]\n"
    "       bezel export [--runs DIR] --format csv|jsonl RUN\n"
    "\n"
    "Copies the trace of RUN as it stands, cut behind its last whole packets, to TARGET (default: RUN/export), in one "
    "step,\n"
    "replacing the export before; prints the directory's path. It works while the run is being written:\n"
    "\n"
    "    bezel export RUN | xargs babeltrace2\n"
    "\n"
    "  --merge     one stream for each node, its records in the order of time, in place of one for each ring: for runs "
    "of\n"
    "              more streams than a reader may open files\n"
    "  --format F  instead: every record to stdout, a line each, as CSV or as JSON lines (docs/REPORT.md)\n"
    "  --runs DIR  the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 done, 1 failed, 2 usage. Where nothing is stored yet, the export is an empty trace.\n";

static int export_to(const char *run, const char *named, bool merged)
{
    char target[PATH_MAX];
    int n = named ? snprintf(target, sizeof target, "%s", named) : snprintf(target, sizeof target, "%s/export", run);
    while (n > 1 && n < (int)sizeof target && target[n - 1] == '/')
        target[--n] = '\0';
    if (n <= 0 || n >= (int)sizeof target)
        return command_misuse("export", "the name of the target is %s", n ? "too long" : "empty");
    if (export_trace(run, target, merged) != 0)
        return EXIT_FAILED;
    puts(target);
    return command_end(EXIT_HELD);
}

int cmd_export(int argc, char **argv)
{
    static const struct option options[] = {{"format", required_argument, NULL, 'f'},
                                            {"merge", no_argument, NULL, 'm'},
                                            {"runs", required_argument, NULL, 'r'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    const char *runs = NULL, *format = NULL;
    bool merged = false;
    for (int o; (o = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (o == 'h')
            return command_help(help);
        if (o != 'f' && o != 'r' && o != 'm')
            return EXIT_USAGE;
        if (o == 'm')
            merged = true;
        else
            *(o == 'f' ? &format : &runs) = optarg;
    }
    int given = argc - optind;
    if (given < 1 || given > (format ? 1 : 2))
        return command_misuse("export",
                              format ? "--format takes a RUN and nothing else" : "it takes a RUN, and a TARGET");
    if (format && merged)
        return command_misuse("export", "--merge is for a trace, not for --format");
    if (format && strcmp(format, "csv") != 0 && strcmp(format, "jsonl") != 0)
        return command_misuse("export", "'%s' is no format: csv or jsonl", format);
    char run[PATH_MAX];
    if (find_run(argv[optind], runs, run, sizeof run) != 0)
        return EXIT_FAILED;
    if (!format)
        return export_to(run, argv[optind + 1], merged);
    return export_records(run, strcmp(format, "csv") == 0 ? EXPORT_CSV : EXPORT_JSONL, stdout) ? EXIT_FAILED
                                                                                               : EXIT_HELD;
}
