// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/log.h"
#include "ecs/cli/command_mirror.h"
#include "ecs/cli/command_time.h"
#include "ecs/cli/commands.h"
#include "ecs/course/rundir.h"
#include "export/export.h"
#include "run/read/run_reader.h"
#include "run/rundb/rundb.h"
#include "views/report/report.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char about[] =
    "Copies the trace of RUN, up to its last complete packets, to folder TARGET (default: RUN/export, or "
    "NAME-export in the present folder where RUN is copied to this machine for the command alone), and prints the "
    "folder's path. An earlier export there is replaced in one step. " COMMAND_RUN COMMAND_ENDPOINT " It may still be "
    "going on:\n"
    "\n"
    "    bezel export RUN | xargs babeltrace2\n"
    "\n"
    "With --format it writes records instead: all of the programs, or those for which --node, --process, "
    "--aspect, --where, --from and --until hold, as with `bezel tail`.\n"
    "\n"
    "A RUN nats://HOST:PORT/NAME or kafka://HOST:PORT/NAME is one that an engine stores (`store: {engine: URL}`): run "
    "directory TARGET, by default NAME in the folder of runs, is made of it.\n";
static const char footer[] = "Exit codes: 0 done, 1 failed, 2 wrong usage, or no such run, 4 the run lies on another "
                             "machine, or the server is not reached. If nothing is stored yet, the export is empty.\n";

/* The target's name, `path` and `end`, without slashes at its end. */
static int find_target(const char *path, const char *end, char target[PATH_MAX])
{
    int n = snprintf(target, PATH_MAX, "%s%s", path, end);
    while (n > 1 && n < PATH_MAX && target[n - 1] == '/')
        target[--n] = '\0';
    if (n <= 0 || n >= PATH_MAX)
        return options_misuse("the name of the target is %s", n ? "too long" : "empty");
    return OPTIONS_GO_ON;
}

/* `passes`: the run's directory is removed at the end, so its export is in the present one. */
static int export_to(const char *run, const char *named, bool passes, bool merged)
{
    char target[PATH_MAX];
    int code = named    ? find_target(named, "", target)
               : passes ? find_target(file_name(run), "-export", target)
                        : find_target(run, "/export", target);
    if (code != OPTIONS_GO_ON)
        return code;
    if (export_trace(run, target, merged) != 0)
        return EXIT_FAILED;
    puts(target);
    return options_end(EXIT_OK);
}

static bool is_engine(const char *word)
{
    return strncmp(word, "nats://", 7) == 0 || strncmp(word, "tls://", 6) == 0 || strncmp(word, "kafka://", 8) == 0;
}

/* A run that an engine stores becomes a run directory: TARGET, or one of its name in the folder of runs. */
static int export_from_engine(const struct command_target *t, const char *url, const char *named)
{
    char target[PATH_MAX], servers[PATH_MAX];
    const char *name = strrchr(url, '/') + 1;
    if (name[-2] == '/' || !*name)
        return options_misuse("%s names no run: write HOST:PORT/NAME behind it", url);
    snprintf(servers, sizeof servers, "%.*s", (int)(name - 1 - url), url);
    int n = named ? snprintf(target, sizeof target, "%s", named)
                  : snprintf(target, sizeof target, "%s/%s", rundir_runs(t->runs), name);
    if (n >= (int)sizeof target)
        return options_misuse("the name of the target is too long");
    const char *const args[] = {"bezel-engine", "--from", servers, "--name", name, target, NULL};
    return command_become(args);
}

enum format { FORMAT_CSV, FORMAT_SQLITE, FORMAT_JSONL, FORMAT_PICL, FORMAT_PERFETTO, FORMAT_MCAP, FORMATS };

/* FORMATS: there is no such format. */
static enum format format_of(const char *name)
{
    static const char *const names[] = {"csv", "sqlite", "jsonl", "picl", "perfetto", "mcap"};
    int f = FORMAT_CSV;
    while (f < FORMATS && strcmp(name, names[f]) != 0)
        f++;
    return (enum format)f;
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

static int read_filter(struct wanted *w, const char *run)
{
    int code = command_read_where(w->where, &w->filter.condition);
    return code == OPTIONS_GO_ON ? command_read_times(w->from, w->until, run, &w->filter) : code;
}

/* The experiment's file, if it is there, and the report go along with the records. */
static int export_with_files(const struct record_filter *filter, const char *run)
{
    char path[PATH_MAX], *file = NULL, *report = NULL;
    size_t file_bytes = 0, report_bytes = 0, count = 0;
    struct export_attachment attachments[2];
    if (snprintf(path, sizeof path, "%s/experiment.yaml", run) < (int)sizeof path &&
        file_read(path, EXPERIMENT_FILE_MAX, &file, &file_bytes) == 0)
        attachments[count++] = (struct export_attachment){"experiment.yaml", "application/yaml", file, file_bytes};
    FILE *out = open_memstream(&report, &report_bytes);
    int code = out ? report_print(run, run_reader_goes_on(run), NULL, REPORT_ALL, out) : BEZEL_ENOMEM;
    if (out && fclose(out) == 0 && code >= 0)
        attachments[count++] = (struct export_attachment){"report.txt", "text/plain", report, report_bytes};
    int err = export_mcap(run, filter, attachments, count, stdout);
    free(file);
    free(report);
    return err;
}

/* `target`: a folder; NULL: to standard output. */
static int write_as(enum format format, const struct wanted *w, const char *run, bool merged, const char *target)
{
    switch (format) {
    case FORMAT_SQLITE:
        return export_database(run, &w->filter, target);
    case FORMAT_MCAP:
        return export_with_files(&w->filter, run);
    case FORMAT_PERFETTO:
        return export_perfetto(run, &w->filter, w->all, stdout);
    case FORMAT_PICL:
        return export_picl(run, &w->filter, stdout);
    case FORMAT_JSONL:
        return export_records(run, EXPORT_JSONL, merged, &w->filter, stdout);
    default:
        return target ? export_files(run, merged, &w->filter, target)
                      : export_records(run, EXPORT_CSV, merged, &w->filter, stdout);
    }
}

/* `named`: NULL, or a folder. */
static int export_lines(struct wanted *w, const char *run, bool merged, const char *named)
{
    char target[PATH_MAX];
    enum format format = format_of(w->format);
    w->filter.no_monitor = format != FORMAT_PERFETTO && !w->all && !w->filter.process && !w->filter.aspect;
    int code = named ? find_target(named, "", target) : OPTIONS_GO_ON;
    if (code == OPTIONS_GO_ON)
        code = read_filter(w, run);
    if (code != OPTIONS_GO_ON)
        return code;
    int err = write_as(format, w, run, merged, named ? target : NULL);
    return err == BEZEL_EINVAL && has_filter(w) ? EXIT_USAGE : err ? EXIT_FAILED : EXIT_OK;
}

int cmd_export(int argc, char **argv)
{
    struct wanted w = {.filter = RECORD_FILTER_ALL};
    bool merged = false;
    char run[PATH_MAX];
    struct command_mirror m = {.dir = NULL};
    struct options o = {
        .program = "bezel export",
        .usage = "[OPTIONS] [RUN [TARGET]]\n--format csv|jsonl|sqlite|perfetto|mcap|picl [OPTIONS] [RUN [DIR]]",
        .about = about,
        .footer = footer,
        .most = 2};
    const struct options_entry entries[] = {
        {"merge", 0, NULL,
         "write one stream for each node, in order of time, instead of one for each ring of each process: for runs "
         "with more streams than a reader can open files. Times are those of the run, in which nodes of several "
         "machines compare (docs/CLOCKS.md). With --format: all nodes in one order",
         .flag = &merged},
        {"format", 0, "FORMAT",
         "write records to stdout instead, one a line, as csv or jsonl (docs/REPORT.md), or a file for other tools: "
         "perfetto (ui.perfetto.dev), mcap (Foxglove, PlotJuggler) or picl (ParaGraph); or into folder DIR: csv, a "
         "file for each aspect, "
         "with the units in its first line, or sqlite, the database records.db with a table for each aspect",
         .value = &w.format},
        COMMAND_FILTER(&w),
        COMMAND_MIRROR(&m),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    if (w.format && format_of(w.format) == FORMATS)
        return options_misuse("'%s' is not a format: use csv, jsonl, sqlite, perfetto, mcap or picl", w.format);
    if (w.format && o.count > 1 && format_of(w.format) > FORMAT_SQLITE)
        return options_misuse("only --format csv and sqlite write into a folder: leave out %s", o.words[1]);
    if (w.format && format_of(w.format) == FORMAT_SQLITE && (o.count < 2 || merged))
        return options_misuse(merged ? "a database has no order: leave out --merge, and sort by run_time_ns"
                                     : "a database needs a folder: --format sqlite RUN DIR");
    if (w.format && format_of(w.format) >= FORMAT_PERFETTO && isatty(STDOUT_FILENO))
        return options_misuse("%s is no text: send it to a file, with > FILE", w.format);
    if (!w.format && has_filter(&w))
        return options_misuse("a trace has all records: to choose some, add --format csv or jsonl");
    if (o.count > 0 && is_engine(o.words[0]))
        return w.format ? options_misuse("first make a run directory of it, without --format")
                        : export_from_engine(&m.target, o.words[0], o.words[1]);
    code = command_open_mirrored(&m, o.words[0], COMMAND_NOW, run);
    if (code != OPTIONS_GO_ON)
        return code;
    command_warn_mirror(run);
    return w.format ? export_lines(&w, run, merged, o.count > 1 ? o.words[1] : NULL)
                    : export_to(run, o.count > 1 ? o.words[1] : NULL, command_mirror_passes(&m), merged);
}
