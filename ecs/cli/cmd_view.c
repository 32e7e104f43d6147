// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "base/program.h"
#include "ecs/cli/commands.h"
#include "ecs/cli/options.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: bezel view [--port PORT] [--file FILE] [--control] [--allow-origin ORIGIN] [--runs DIR] [RUN]\n"
    "\n"
    "Shows a run in a browser, while it goes on or later: limits and their metrics, decisions, polling, the fields of\n"
    "records, spans of threads, messages, losses, and the records behind each of these. RUN is a run directory or its\n"
    "name in the folder of runs (default: the newest run). It prints the name of a file that opens the page; the page\n"
    "is served on 127.0.0.1 until ctrl-C.\n"
    "\n"
    "  --port PORT            where it serves (default: a free port)\n"
    "  --file FILE            the file that opens the page (default: a new one); only you can read it\n"
    "  --control              print a secret, with which a page may turn knobs, and change polling and aspects\n"
    "  --allow-origin ORIGIN  pages of this origin may connect, too: http://HOST:PORT (default: none)\n"
    "  --runs DIR             the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "From another machine: ssh -L PORT:127.0.0.1:PORT HOST, and a copy of the file.\n"
    "\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, or no such run, 4 the run lies on another machine.\n";

int cmd_view(int argc, char **argv)
{
    const char *port = NULL, *file = NULL, *origin = NULL;
    bool control = false;
    char run[PATH_MAX], real[PATH_MAX], program[PATH_MAX];
    struct options o = {.command = "view", .help = help, .most = 1, .wanted = "give at most one RUN"};
    const struct options_entry entries[] = {{"port", .value = &port},           {"file", .value = &file},
                                            {"allow-origin", .value = &origin}, {"control", .flag = &control},
                                            {"runs", .value = &o.runs},         {0}};
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        code = options_find_run(&o, o.words[0], run);
    if (code == OPTIONS_GO_ON)
        code = options_check_home(run);
    if (code != OPTIONS_GO_ON)
        return code;
    if (program_find_own("bezel-view", program, sizeof program) != 0) {
        log_error("BEZEL-VIEW", "bezel-view is neither beside this program nor in $PATH: install it");
        return EXIT_FAILED;
    }
    if (!realpath(run, real)) { /* `latest` may lead elsewhere before this ends */
        log_error("BEZEL-VIEW", "cannot read %s: %s", run, strerror(errno));
        return EXIT_FAILED;
    }
    const char *arguments[12] = {program, "--run", real};
    size_t n = 3;
    const struct {
        const char *option, *value;
    } passed[] = {{"--port", port}, {"--file", file}, {"--allow-origin", origin}};
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        if (passed[i].value) {
            arguments[n++] = passed[i].option;
            arguments[n++] = passed[i].value;
        }
    if (control)
        arguments[n++] = "--control";
    execv(program, (char **)(uintptr_t)arguments);
    log_error("BEZEL-VIEW", "cannot start %s: %s", program, strerror(errno));
    return EXIT_FAILED;
}
