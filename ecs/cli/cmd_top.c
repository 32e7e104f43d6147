// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/units.h"
#include "ecs/cli/commands.h"
#include "ecs/cli/options.h"
#include "views/top/top.h"
#include "views/top/top_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: bezel top [--view VIEW] [--plain] [-n N] [--interval DURATION] [--back DURATION] [--window DURATION]\n"
    "                 [--own] [--ascii] [--runs DIR] [RUN]\n"
    "\n"
    "Shows a run on the terminal, while it lives or later: nodes, processes, aspects and their fields, limits,\n"
    "decisions, losses and messages, each as numbers of the last second and as a plot. Enter goes into a row, down to\n"
    "the records; left and right move in time; [ and ] go from violation to violation; ? explains all keys. RUN is a\n"
    "run directory or its name in the folder of runs (default: the newest run).\n"
    "\n"
    "  --view VIEW          begin with nodes (default), processes, aspects, limits, decisions, losses or messages\n"
    "  --plain              print lines; so it does where there is no terminal. Without --view: nodes and limits\n"
    "  -n, --number N       end after N refreshes. Plain lines of an ended run are of the last N intervals (default: "
    "1)\n"
    "  --interval DURATION  refresh so often, and count over that time (default: 1 s)\n"
    "  --back DURATION      show the moment so long before the newest record\n"
    "  --window DURATION    the time that the plot shows at first (default: the run; of one that goes on 5 min)\n"
    "  --own                the monitor's own processes, too\n"
    "  --ascii              draw with ASCII alone; so it does where the terminal has no UTF-8\n"
    "  --runs DIR           the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "NO_COLOR turns colours off; they only repeat what letters say.\n"
    "\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, or no such run, 4 the run lies on another machine.\n";

struct arguments {
    const char *view, *number, *interval, *back, *window;
};

static int read_time(const char *option, const char *text, int64_t least, int64_t most, int64_t *ns)
{
    const char *why;
    if (!text)
        return OPTIONS_GO_ON;
    if (units_read_duration(text, ns, &why) != 0)
        return command_misuse("top", "%s: '%s' is not a duration: %s", option, text, why);
    if (*ns < least || *ns > most)
        return command_misuse("top", "%s: give %s to %s", option, units_exact_duration(least).s,
                              units_exact_duration(most).s);
    return OPTIONS_GO_ON;
}

static int read_arguments(const struct arguments *a, struct top_options *top)
{
    const char *why;
    for (top->view = 0; a->view && top->view < TOP_VIEWS; top->view++)
        if (top->view != TOP_RECORDS && strcmp(a->view, top_table_name(top->view)) == 0)
            break;
    if (!a->view)
        top->view = TOP_VIEWS;
    else if (top->view == TOP_VIEWS)
        return command_misuse(
            "top", "'%s' is not a view: use nodes, processes, aspects, limits, decisions, losses or messages", a->view);
    if (a->number && (units_read_count(a->number, &top->count, &why) != 0 || top->count == 0))
        return command_misuse("top", "-n: '%s' is not a count from 1 on", a->number);
    int code = read_time("--interval", a->interval, 100 * CLOCK_MS, 24 * 3600 * CLOCK_S, &top->interval);
    if (code == OPTIONS_GO_ON)
        code = read_time("--back", a->back, 0, TOP_SPAN_MOST, &top->back);
    return code == OPTIONS_GO_ON ? read_time("--window", a->window, CLOCK_MS, TOP_SPAN_MOST, &top->span) : code;
}

int cmd_top(int argc, char **argv)
{
    struct arguments a = {NULL};
    char run[PATH_MAX];
    struct top_options top = {.run = run, .interval = CLOCK_S};
    struct options o = {.command = "top", .help = help, .most = 1, .wanted = "give at most a RUN"};
    const struct options_entry entries[] = {{"view", .value = &a.view},          {"plain", .flag = &top.plain},
                                            {"number", 'n', .value = &a.number}, {"interval", .value = &a.interval},
                                            {"back", .value = &a.back},          {"window", .value = &a.window},
                                            {"own", .flag = &top.own},           {"ascii", .flag = &top.ascii},
                                            {"runs", .value = &o.runs},          {0}};
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        code = read_arguments(&a, &top);
    if (code == OPTIONS_GO_ON)
        code = options_find_run(&o, o.words[0], run);
    if (code == OPTIONS_GO_ON)
        code = options_check_home(run);
    if (code != OPTIONS_GO_ON)
        return code;
    char *real = realpath(run, NULL); /* `latest` may lead elsewhere before this ends */
    if (real)
        snprintf(run, sizeof run, "%s", real);
    free(real);
    return command_end(top_show(&top));
}
