// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "base/units.h"
#include "ecs/commands.h"
#include "ecs/find_run.h"
#include "ecs/reach.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>

static const char help[] =
    "usage: bezel snapshot [--node NODE] [--runs DIR] [RUN]\n"
    "\n"
    "Saves what the rings of a run's flight recorders hold now ('when-full: overwrite'), while they go on. RUN is a "
    "run\n"
    "directory or its name below the folder of runs; without RUN, the newest one. What was saved before is not saved\n"
    "again. The rings are saved by themselves when their process ends and when the run ends.\n"
    "\n"
    "  --node NODE  on this node alone\n"
    "  --runs DIR   the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 saved, 1 failed, or nothing overwrites, 2 usage, 4 the run does not go on, or a node did not "
    "answer.\n";

static bool take(void *context, const char *node, const struct message_reply *reply)
{
    uint64_t records = (uint64_t)message_reply_get(reply, "saved_records", 0);
    uint64_t processes = (uint64_t)message_reply_get(reply, "saved_processes", 0);
    bool behind = message_reply_get(reply, "behind_processes", 0) > 0;
    printf("%s: %s record%s of %s process%s saved%s\n", node, units_count(records).s, records == 1 ? "" : "s",
           units_count(processes).s, processes == 1 ? "" : "es",
           behind ? "; more follow when the collector has taken these" : "");
    *(uint64_t *)context += processes;
    return true;
}

static int snapshot(const char *run, const char *node)
{
    static const struct message_command command = {.verb = VERB_SNAPSHOT};
    uint64_t processes = 0;
    struct reach r;
    int code = reach_open(run, node, &r);
    if (code != EXIT_HELD)
        return code;
    code = reach_ask(&r, &command, take, &processes);
    reach_close(&r);
    if (code == EXIT_HELD && processes == 0) {
        log_error("BEZEL-SNAPSHOT",
                  "no process that runs there now overwrites: see 'when-full' in the experiment file");
        code = EXIT_FAILED;
    }
    return command_end(code);
}

int cmd_snapshot(int argc, char **argv)
{
    static const struct option options[] = {{"node", required_argument, NULL, 'n'},
                                            {"runs", required_argument, NULL, 'r'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    const char *runs = NULL, *node = NULL;
    for (int o; (o = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (o == 'h')
            return command_help(help);
        if (o == 'r')
            runs = optarg;
        else if (o == 'n')
            node = optarg;
        else
            return command_misuse("snapshot", "an option is wrong");
    }
    if (argc - optind > 1)
        return command_misuse("snapshot", "one run at a time");
    char run[PATH_MAX];
    if (find_run(argv[optind], runs, run, sizeof run) != 0)
        return EXIT_USAGE;
    return snapshot(run, node);
}
