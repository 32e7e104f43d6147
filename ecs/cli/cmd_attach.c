// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/commands.h"
#include "ecs/cli/options.h"
#include "ecs/course/run_attach.h"

static const char help[] =
    "usage: bezel attach [OPTIONS] [RUN]\n"
    "\n"
    "Takes over RUN, a run directory, whose `bezel run` was killed or is gone with its terminal; by default the "
    "newest\n"
    "run. Nodes with an address go on without it for as long as the file's `silence` says, 30 seconds by default: "
    "their\n"
    "programs and records are taken over. What `bezel run` started itself on this machine has ended with it. Then all\n"
    "is as with `bezel run`: the rest of the duration, the end, and the report. A run whose end was cut off is\n"
    "completed.\n"
    "\n"
    "  -r, --runs DIR    folder of run directories (default: $BEZEL_RUNS, else ./runs)\n"
    "  -q, --quiet       show no progress\n"
    "  -j, --json        print the report as JSON, alone on stdout\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: those of `bezel run`; 1 also if its `bezel run` lives, 2 if the run has ended.\n";

int cmd_attach(int argc, char **argv)
{
    struct options o = {.command = "attach", .help = help, .most = 1, .wanted = "give one RUN at most"};
    struct run_options run = {.interactive = false};
    char path[PATH_MAX];
    const struct options_entry entries[] = {
        {"runs", 'r', .value = &o.runs}, {"quiet", 'q', .flag = &run.quiet}, {"json", 'j', .flag = &run.json}, {0}};
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        code = options_find_run(&o, o.count ? o.words[0] : NULL, path);
    return code == OPTIONS_GO_ON ? run_attach(path, &run) : code;
}
