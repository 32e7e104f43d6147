// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/experiment.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"

static const char about[] =
    "Prints the JSON schema of experiment files (draft 7), by which editors complete and check them. "
    "`bezel check` finds more: what depends on other keys and on this machine.\n";

static const char footer[] = "Exit codes: 0 printed, 1 standard output cannot be written, 2 wrong usage.\n";

int cmd_schema(int argc, char **argv)
{
    struct options o = {.program = "bezel schema", .usage = "[OPTIONS]", .about = about, .footer = footer};
    const struct options_entry entries[] = {{0}};
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    (void)!experiment_schema(stdout); /* options_end() reports write errors */
    return options_end(EXIT_OK);
}
