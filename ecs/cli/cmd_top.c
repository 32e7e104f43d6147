// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "ecs/cli/command_mirror.h"
#include "ecs/cli/commands.h"
#include "views/top/top.h"
#include "views/top/top_table.h"

#include <string.h>

static const char about[] =
    "Shows a run on the terminal, while it lives or later: nodes, processes, aspects and their fields, limits, "
    "decisions, losses and messages, each as numbers of the last second and as a plot. Enter goes into a row, "
    "down to the records; left and right move in time; [ and ] go from violation to violation; ? explains all "
    "keys. " COMMAND_RUN COMMAND_ENDPOINT "\n";
static const char footer[] = "NO_COLOR turns colours off; they only repeat what letters say.\n"
                             "\n"
                             "Exit codes: 0 done, 1 failed, 2 wrong usage, or no such run, 4 the run lies on another "
                             "machine, or the server is not reached.\n";

static int read_view(const char *text, void *context)
{
    struct top_options *top = context;
    for (top->view = 0; top->view < TOP_VIEWS; top->view++)
        if (top->view != TOP_RECORDS && strcmp(text, top_table_name(top->view)) == 0)
            return OPTIONS_GO_ON;
    return options_misuse("'%s' is not a view: use nodes, processes, aspects, limits, decisions, losses, messages, "
                          "threads, intervals, waits or path",
                          text);
}

int cmd_top(int argc, char **argv)
{
    char run[PATH_MAX];
    struct top_options top = {.run = run, .view = TOP_VIEWS, .interval = CLOCK_S};
    struct command_mirror m = {.dir = NULL};
    struct options o = {.program = "bezel top",
                        .usage = "[OPTIONS] [RUN]\n[OPTIONS] ENDPOINT",
                        .about = about,
                        .footer = footer,
                        .most = 1,
                        .context = &top};
    const struct options_entry entries[] = {
        {"view", 0, "VIEW",
         "begin with nodes (default), processes, aspects, limits, decisions, losses, messages, threads, intervals, "
         "waits or path",
         .read = read_view},
        {"plain", 0, NULL,
         "print lines once each interval, as is done where there is no terminal; without --view: nodes and limits",
         .flag = &top.plain},
        {"number", 'n', "N",
         "end after N refreshes. Plain lines of an ended run are of the last N intervals (default: 1)",
         .count = &top.count, .least = 1, .most = UINT32_MAX},
        {"interval", 0, "DURATION",
         "refresh so often, and count over that time (default: 1 s); a refresh that would take more than a fiftieth of "
         "it comes later, which the first line says",
         .duration = &top.interval, .least = 100 * CLOCK_MS, .most = 24 * 3600 * CLOCK_S},
        {"back", 0, "DURATION", "show the moment so long before the newest record", .duration = &top.back,
         .most = TOP_SPAN_MOST},
        {"window", 0, "DURATION", "the time that the plot shows at first (default: the run; of one that goes on 5 min)",
         .duration = &top.span, .least = CLOCK_MS, .most = TOP_SPAN_MOST},
        {"own", 0, NULL, "the monitor's own processes, too", .flag = &top.own},
        {"ascii", 0, NULL, "draw with ASCII alone, as is done where the terminal has no UTF-8", .flag = &top.ascii},
        COMMAND_MIRROR(&m),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        code = command_open_mirrored(&m, o.words[0], COMMAND_GROWS, run);
    return code == OPTIONS_GO_ON ? options_end(top_show(&top)) : code;
}
