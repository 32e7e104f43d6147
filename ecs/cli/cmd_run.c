// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "base/program.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "ecs/course/load_experiment.h"
#include "ecs/course/run.h"
#include "ecs/course/rundir.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char about[] =
    "Runs the experiment of FILE ('-': stdin), or one around COMMAND, which keeps the terminal. The run ends "
    "after its duration, when the processes that it started have ended, or on ctrl-C. Then it drains all records "
    "into the run directory, and prints the report on stdout. A second ctrl-C ends everything at once. A run "
    "that only attaches to processes lasts its full duration, and observes matching processes that start "
    "meanwhile; without a duration it ends one second after the last attached process.\n";
static const char footer[] =
    "Exit codes: 0 done, all limits held, 1 failed, 2 wrong file or usage, 3 a limit was violated, 4 unreachable "
    "or timed out.\n";

struct arguments {
    struct run_options run;
    const char *duration, *name, *file;
    char **command; /* after "--"; NULL: a file */
};

static int read_arguments(int argc, char **argv, struct arguments *a)
{
    struct command_target t = {0};
    struct options o = {.program = "bezel run",
                        .usage = "[OPTIONS] FILE\n[OPTIONS] -- COMMAND [ARGUMENTS]",
                        .about = about,
                        .footer = footer,
                        .most = UINT_MAX,
                        .stop_at_word = true /* options of COMMAND are not ours */};
    const struct options_entry entries[] = {
        {"duration", 'd', "D",
         "how long the run lasts: '10 s', '2 min' (default: the file's; else until the processes end)",
         .value = &a->duration},
        {"name", 'n', "NAME", "name of the experiment", .value = &a->name},
        COMMAND_RUNS(&t),
        {"quiet", 'q', NULL, "show no progress", .flag = &a->run.quiet},
        {"json", 'j', NULL, "print the report as JSON, alone on stdout; stdout of COMMAND goes to stderr",
         .flag = &a->run.json},
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    a->run.runs = rundir_runs(t.runs);
    a->run.interactive = o.dashes;
    if (o.count == 0)
        return options_misuse(
            "there is nothing to run yet. Three ways to begin:\n"
            "  bezel run -- PROGRAM                  runs a program, and reports what it records\n"
            "  bezel new --from PROGRAM FILE.yaml    writes an experiment file about it, to go on from\n"
            "  bezel run FILE.yaml                   runs an experiment file, such as one of the examples");
    if (o.dashes)
        a->command = o.words;
    else
        a->file = o.words[0];
    if (!o.dashes && o.count > 1)
        return options_misuse("give one FILE; options come before it, a command comes after '--'");
    return OPTIONS_GO_ON;
}

static int load_around_command(const struct arguments *a, char **text, size_t *n, struct experiment **e)
{
    int err = load_command(a->command, a->name, a->duration, text, n);
    if (err) {
        log_error("BEZEL-RUN-COMMAND", "%s",
                  err == BEZEL_EINVAL ? "an argument of the command is not UTF-8, as experiment files are"
                                      : ulimit_reason(err));
        return err;
    }
    return load_text(*text, *n, "command line", e);
}

/* Appends the options that change the experiment as a comment, at the end, so that line numbers stay. */
static int note_options(const struct arguments *a, char **text, size_t *n)
{
    char *noted = NULL;
    if (!a->duration && !a->name)
        return 0;
    int len = asprintf(&noted, "%s\n# Run with%s%s%s%s\n", *text, a->duration ? " --duration " : "",
                       a->duration ? a->duration : "", a->name ? " --name " : "", a->name ? a->name : "");
    if (len < 0)
        return BEZEL_ENOMEM;
    free(*text);
    *text = noted;
    *n = (size_t)len;
    return 0;
}

/* Whether `file`, which is no experiment file, is a program: here, or by its name in PATH. */
static bool is_program(const char *file)
{
    char path[PATH_MAX], begin[4] = "";
    struct stat st;
    if (stat(file, &st) != 0)
        return errno == ENOENT && !strchr(file, '/') && program_find(NULL, "/", file, path, sizeof path) == 0;
    FILE *f = S_ISREG(st.st_mode) && access(file, X_OK) == 0 ? fopen(file, "re") : NULL; /* others may never answer */
    if (!f)
        return false;
    bool read = fread(begin, 1, sizeof begin, f) == sizeof begin;
    (void)fclose(f);
    return read && (memcmp(begin, "\177ELF", 4) == 0 || memcmp(begin, "#!", 2) == 0);
}

static int load_from_file(const struct arguments *a, int64_t duration, char **text, size_t *n, struct experiment **e)
{
    int err = load_file(a->file, text, n, e);
    if (err && is_program(a->file))
        log_error("BEZEL-RUN-COMMAND", "%s is a program, and no experiment file: to run it, write: bezel run -- %s",
                  a->file, a->file);
    if (err)
        return err;
    if (a->duration)
        (*e)->duration = duration;
    char *name = a->name ? strdup(a->name) : NULL;
    if (name) {
        free((*e)->name);
        (*e)->name = name;
    }
    return note_options(a, text, n);
}

int cmd_run(int argc, char **argv)
{
    struct arguments a = {0};
    int code = read_arguments(argc, argv, &a);
    if (code != OPTIONS_GO_ON)
        return code;
    int64_t duration = 0;
    const char *why;
    if (a.duration && units_read_duration(a.duration, &duration, &why) != 0)
        return options_misuse("--duration '%s': %s", a.duration, why);
    if (a.name && !experiment_name_ok(a.name))
        return options_misuse("--name '%s' is not a name: use 1 to %d letters, digits, '_', '-' or '.', beginning with "
                              "neither '.' nor '-'",
                              a.name, EXPERIMENT_NAME_MAX);
    struct experiment *e = NULL;
    char *text = NULL;
    size_t n = 0;
    int err = a.command ? load_around_command(&a, &text, &n, &e) : load_from_file(&a, duration, &text, &n, &e);
    code = err == BEZEL_ENOMEM ? EXIT_FAILED : EXIT_USAGE;
    if (!err)
        code = run_experiment(e, text, n, &a.run);
    experiment_free(e);
    free(text);
    return code;
}
