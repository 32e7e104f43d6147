// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/command_mirror.h"
#include "ecs/cli/commands.h"

#include <string.h>

static const char about[] =
    "Shows a run in a browser, while it goes on or later: limits and their metrics, decisions, polling, the "
    "fields of records, spans of threads, messages, losses, and the records behind each of these. It prints the "
    "name of a file that opens the page; the page is served on 127.0.0.1, to this user alone, until "
    "ctrl-C. " COMMAND_RUN COMMAND_ENDPOINT "\n";
static const char footer[] = "From another machine: ssh -L PORT:127.0.0.1:PORT HOST, and a copy of the file.\n"
                             "\n"
                             "Exit codes: 0 done, 1 failed, 2 wrong usage, or no such run, 4 the run lies on another "
                             "machine, or the server is not reached.\n";

int cmd_view(int argc, char **argv)
{
    const char *port = NULL, *file = NULL, *origin = NULL;
    bool control = false;
    char run[PATH_MAX];
    struct command_target t = {0};
    struct command_mirror m = {.dir = NULL};
    struct options o = {.program = "bezel view",
                        .usage = "[OPTIONS] [RUN]\n[OPTIONS] ENDPOINT",
                        .about = about,
                        .footer = footer,
                        .most = 1};
    const struct options_entry entries[] = {
        {"port", 0, "PORT", "where it serves (default: a free port)", .value = &port},
        {"file", 0, "FILE", "the file that opens the page (default: a new one); only you can read it", .value = &file},
        {"control", 0, NULL, "print a secret, with which a page may turn knobs, and change polling and aspects",
         .flag = &control},
        {"allow-origin", 0, "ORIGIN", "pages of this origin may connect, too: http://HOST:PORT (default: none)",
         .value = &origin},
        COMMAND_RUNS(&t),
        COMMAND_MIRROR(&m),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        code = command_open_mirrored(&t, &m, o.words[0], COMMAND_GROWS, run);
    if (code != OPTIONS_GO_ON)
        return code;
    const char *arguments[12] = {"bezel-view", "--run", run};
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
    return command_become(arguments);
}
