// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/limit.h"
#include "base/log.h"
#include "base/units.h"
#include "ecs/commands.h"
#include "ecs/load.h"
#include "ecs/run.h"
#include "ecs/rundir.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: bezel run [OPTIONS] FILE\n"
    "       bezel run [OPTIONS] -- COMMAND [ARGUMENTS]\n"
    "\n"
    "Runs the experiment of FILE ('-': stdin), or one around COMMAND, which keeps the terminal. Ends after the "
    "duration,\n"
    "when the processes that it started have ended, or on ctrl-C; then everything is drained into the run directory "
    "and\n"
    "the report goes to stdout. A second ctrl-C ends everything at once. A run that only attaches to processes lasts\n"
    "its whole duration, and observes those that come meanwhile; without a duration it ends a second after the last\n"
    "attached process has ended.\n"
    "\n"
    "  -d, --duration D  for so long: '10 s', '2 min' (default: the file's; else until the processes end)\n"
    "  -n, --name NAME   name of the experiment\n"
    "  -r, --runs DIR    folder of run directories (default: $BEZEL_RUNS, else ./runs); DIR/latest is the newest\n"
    "  -q, --quiet       show no progress\n"
    "  -j, --json        the report as JSON, alone on stdout: what COMMAND says there goes to stderr\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 done and limits held, 1 failed, 2 wrong file or usage, 3 a limit was violated,\n"
    "4 unreachable or timed out.\n";

struct arguments {
    struct run_options run;
    const char *duration, *name, *file;
    char **command; /* after "--"; NULL: a file */
    bool help;
};

/* Returns 0, or an exit code after complaining. */
static int read_arguments(int argc, char **argv, struct arguments *a)
{
    static const struct option options[] = {{"duration", required_argument, NULL, 'd'},
                                            {"name", required_argument, NULL, 'n'},
                                            {"runs", required_argument, NULL, 'r'},
                                            {"quiet", no_argument, NULL, 'q'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    /* '+': the first word that is no option ends them, so that COMMAND's own are left alone. */
    for (int c; (c = getopt_long(argc, argv, "+d:n:r:qjh", options, NULL)) != -1;) {
        switch (c) {
        case 'd':
            a->duration = optarg;
            break;
        case 'n':
            a->name = optarg;
            break;
        case 'r':
            a->run.runs = optarg;
            break;
        case 'q':
            a->run.quiet = true;
            break;
        case 'j':
            a->run.json = true;
            break;
        case 'h':
            a->help = true;
            return 0;
        default:
            return command_misuse("run", "an option is wrong");
        }
    }
    a->run.runs = rundir_runs(a->run.runs);
    bool dashes = strcmp(argv[optind - 1], "--") == 0;
    if (optind == argc)
        return command_misuse("run", "a FILE, or '--' and a COMMAND, is wanted");
    if (dashes) {
        a->run.interactive = true;
        a->command = argv + optind;
        return 0;
    }
    a->file = argv[optind];
    if (optind != argc - 1)
        return command_misuse("run", "one FILE only; a command stands after '--', options before the FILE");
    return 0;
}

static bool is_name(const char *name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    size_t n = strlen(name);
    return n > 0 && n <= EXPERIMENT_NAME_MAX && name[0] != '.' && strspn(name, allowed) == n;
}

static int load_around_command(const struct arguments *a, char **text, size_t *n, struct experiment **e)
{
    int err = load_command(a->command, a->name, a->duration, text, n);
    if (err) {
        log_error("BEZEL-RUN-COMMAND", "%s",
                  err == BEZEL_EINVAL ? "an argument of the command is not UTF-8, as experiment files are"
                                      : limit_reason(err));
        return err;
    }
    return load_text(*text, *n, "command line", e);
}

/* What the options change in an experiment file is noted at its end, where no line gets another number by it. */
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

static int load_from_file(const struct arguments *a, int64_t duration, char **text, size_t *n, struct experiment **e)
{
    int err = load_file(a->file, text, n, e);
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
    if (code != 0)
        return code;
    if (a.help)
        return command_help(help);
    int64_t duration = 0;
    const char *why;
    if (a.duration && units_read_duration(a.duration, &duration, &why) != 0)
        return command_misuse("run", "--duration '%s': %s", a.duration, why);
    if (a.name && !is_name(a.name))
        return command_misuse("run",
                              "--name '%s': letters, digits, '_', '-' and '.' are allowed, %d at most, no '.' first",
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
