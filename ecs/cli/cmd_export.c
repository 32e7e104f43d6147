// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "ecs/cli/commands.h"
#include "ecs/cli/options.h"
#include "ecs/cli/options_time.h"
#include "export/export.h"
#include "run/read/run_reader.h"
#include "run/rundb/rundb.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: bezel export [--merge] [--runs DIR] [RUN [TARGET]]\n"
    "       bezel export [--merge] [--runs DIR] --format csv|jsonl [--all] [--node GLOB] [--process GLOB]\n"
    "                    [--aspect GLOB] [--where CONDITION] [--from TIME] [--until TIME] [RUN [DIR]]\n"
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
    "  --format F  write records to stdout instead, one a line, as CSV or JSON lines (docs/REPORT.md); with a DIR, "
    "and\n"
    "              as CSV, into that folder: a file for each aspect, with the units in its first line. All records of\n"
    "              the programs, or those for which all of this holds, as with `bezel tail`:\n"
    "  --all       also the monitor's own records, behind the programs'; so --process and --aspect choose among them\n"
    "  --node GLOB, --process GLOB, --aspect GLOB\n"
    "              of these names\n"
    "  --where CONDITION\n"
    "              with a field for which it holds, such as \"duration > 5 ms\"\n"
    "  --from TIME, --until TIME\n"
    "              from this time on, and before that: [YYYY-MM-DD ]HH:MM[:SS[.FRACTION]], ns since 1970, or as in\n"
    "              the report \"6.160 s\" after the run's start\n"
    "  --runs DIR  the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, or no such run. If nothing is stored yet, the export is empty.\n";

/* The target's name without slashes at its end; RUN/export where `named` is NULL. */
static int find_target(const char *run, const char *named, char target[PATH_MAX])
{
    int n = named ? snprintf(target, PATH_MAX, "%s", named) : snprintf(target, PATH_MAX, "%s/export", run);
    while (n > 1 && n < PATH_MAX && target[n - 1] == '/')
        target[--n] = '\0';
    if (n <= 0 || n >= PATH_MAX)
        return command_misuse("export", "the name of the target is %s", n ? "too long" : "empty");
    return OPTIONS_GO_ON;
}

static int export_to(const char *run, const char *named, bool merged)
{
    char target[PATH_MAX];
    int code = find_target(run, named, target);
    if (code != OPTIONS_GO_ON)
        return code;
    if (export_trace(run, target, merged) != 0)
        return EXIT_FAILED;
    puts(target);
    return command_end(EXIT_OK);
}

/* Which records are wanted, as it was written. */
struct wanted {
    const char *format, *where, *from, *until;
    bool all;
    struct record_filter filter;
};

static bool has_filter(const struct wanted *w)
{
    return w->filter.node || w->filter.process || w->filter.aspect || w->where || w->from || w->until || w->all;
}

/* Without a date a time is of the day of the newest record. */
static int read_filter(struct wanted *w, const char *run)
{
    int64_t newest = INT64_MIN;
    const char *why;
    if (w->where && record_filter_read(w->where, &w->filter.condition, &why) != 0)
        return command_misuse("export", "--where '%s': %s", w->where, why);
    int err = w->from || w->until ? run_reader_newest(run, &w->filter, &newest) : 0;
    if (err) {
        log_error("BEZEL-EXPORT-DATABASE", "%s/run.db: %s", run, rundb_why(err));
        return EXIT_FAILED;
    }
    int code = options_read_time("export", "--from", w->from, run, newest, &w->filter.from);
    return code == OPTIONS_GO_ON ? options_read_time("export", "--until", w->until, run, newest, &w->filter.until)
                                 : code;
}

/* `named`: NULL, or a folder. */
static int export_lines(struct wanted *w, const char *run, bool merged, const char *named)
{
    char target[PATH_MAX];
    enum export_format format = strcmp(w->format, "csv") == 0 ? EXPORT_CSV : EXPORT_JSONL;
    w->filter.no_monitor = !w->all && !w->filter.process && !w->filter.aspect;
    int code = named ? find_target(run, named, target) : OPTIONS_GO_ON;
    if (code == OPTIONS_GO_ON)
        code = read_filter(w, run);
    if (code != OPTIONS_GO_ON)
        return code;
    int err =
        named ? export_files(run, merged, &w->filter, target) : export_records(run, format, merged, &w->filter, stdout);
    return err == BEZEL_EINVAL && has_filter(w) ? EXIT_USAGE : err ? EXIT_FAILED : EXIT_OK;
}

int cmd_export(int argc, char **argv)
{
    struct wanted w = {.filter = RECORD_FILTER_ALL};
    bool merged = false;
    char run[PATH_MAX];
    struct options o = {.command = "export", .help = help, .most = 2, .wanted = "give at most a RUN and a TARGET"};
    const struct options_entry entries[] = {{"format", .value = &w.format},
                                            {"merge", .flag = &merged},
                                            {"all", .flag = &w.all},
                                            {"node", .value = &w.filter.node},
                                            {"process", .value = &w.filter.process},
                                            {"aspect", .value = &w.filter.aspect},
                                            {"where", .value = &w.where},
                                            {"from", .value = &w.from},
                                            {"until", .value = &w.until},
                                            {"runs", .value = &o.runs},
                                            {0}};
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    if (w.format && strcmp(w.format, "csv") != 0 && strcmp(w.format, "jsonl") != 0)
        return command_misuse("export", "'%s' is not a format: use csv or jsonl", w.format);
    if (w.format && o.count > 1 && strcmp(w.format, "csv") != 0)
        return command_misuse("export", "only --format csv writes into a folder: leave out %s", o.words[1]);
    if (!w.format && has_filter(&w))
        return command_misuse("export", "a trace has all records: to choose some, add --format csv or jsonl");
    code = options_find_run(&o, o.words[0], run);
    if (code != OPTIONS_GO_ON)
        return code;
    code = options_check_home(run);
    if (code != OPTIONS_GO_ON)
        return code;
    return w.format ? export_lines(&w, run, merged, o.count > 1 ? o.words[1] : NULL)
                    : export_to(run, o.count > 1 ? o.words[1] : NULL, merged);
}
