// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "ecs/course/run_attach.h"

static const char about[] =
    "Takes over RUN whose `bezel run` was killed or is gone with its terminal. Nodes with an address go on "
    "without it for as long as the file's `silence` says, 30 seconds by default: their programs and records are "
    "taken over. What `bezel run` started itself on this machine has ended with it. Then all is as with `bezel "
    "run`: the rest of the duration, the end, and the report. A run whose end was cut off is completed. " COMMAND_RUN
    "\n";
static const char footer[] =
    "Exit codes: those of `bezel run`; 1 also if its `bezel run` lives, 2 if the run has ended.\n";

int cmd_attach(int argc, char **argv)
{
    struct run_options run = {.interactive = false};
    char path[PATH_MAX];
    struct command_target t = {0};
    struct options o = {
        .program = "bezel attach", .usage = "[OPTIONS] [RUN]", .about = about, .footer = footer, .most = 1};
    const struct options_entry entries[] = {
        COMMAND_RUNS(&t),
        {"quiet", 'q', NULL, "show no progress", .flag = &run.quiet},
        {"json", 'j', NULL, "print the report as JSON, alone on stdout", .flag = &run.json},
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        code = command_find_run(&t, o.count ? o.words[0] : NULL, path);
    return code == OPTIONS_GO_ON ? run_attach(path, &run) : code;
}
