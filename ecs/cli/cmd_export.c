// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/commands.h"
#include "ecs/cli/options.h"
#include "ecs/export/export.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: bezel export [--merge] [--runs DIR] [RUN [TARGET]]\n"
    "       bezel export [--merge] [--runs DIR] --format csv|jsonl [RUN]\n"
    "\n"
    "Copies the trace of RUN, up to its last complete packets, to directory TARGET (default: RUN/export), and\n"
    "prints the directory's path. An earlier export there is replaced in one step. RUN is a run directory or its\n"
    "name in the folder of runs (default: the newest run). It may still be going on:\n"
    "\n"
    "    bezel export RUN | xargs babeltrace2\n"
    "\n"
    "  --merge     write one stream for each node, in order of time, instead of one for each ring of each process:\n"
    "              for runs with more streams than a reader can open files. Times are those of the run, in which\n"
    "              nodes of several machines compare (docs/CLOCKS.md). With --format: all nodes in one order\n"
    "  --format F  write every record to stdout instead, one a line, as CSV or JSON lines (docs/REPORT.md)\n"
    "  --runs DIR  the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, or no such run. If nothing is stored yet, the export is empty.\n";

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
    return command_end(EXIT_OK);
}

int cmd_export(int argc, char **argv)
{
    const char *format = NULL;
    bool merged = false;
    char run[PATH_MAX];
    struct options o = {.command = "export", .help = help, .most = 2, .wanted = "give at most a RUN and a TARGET"};
    const struct options_entry entries[] = {
        {"format", .value = &format}, {"merge", .flag = &merged}, {"runs", .value = &o.runs}, {0}};
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    if (format && o.count > 1)
        return command_misuse("export", "with --format, give at most a RUN");
    if (format && strcmp(format, "csv") != 0 && strcmp(format, "jsonl") != 0)
        return command_misuse("export", "'%s' is not a format: use csv or jsonl", format);
    code = options_find_run(&o, o.words[0], run);
    if (code != OPTIONS_GO_ON)
        return code;
    code = options_check_home(run);
    if (code != OPTIONS_GO_ON)
        return code;
    if (!format)
        return export_to(run, o.count > 1 ? o.words[1] : NULL, merged);
    return export_records(run, strcmp(format, "csv") == 0 ? EXPORT_CSV : EXPORT_JSONL, merged, stdout) ? EXIT_FAILED
                                                                                                       : EXIT_OK;
}
