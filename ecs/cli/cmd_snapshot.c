// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "base/units.h"
#include "ecs/cli/commands.h"
#include "ecs/cli/options.h"
#include "ecs/course/control_client.h"

#include <stdio.h>

static const char help[] =
    "usage: bezel snapshot [--node NODE] [--runs DIR] [RUN]\n"
    "\n"
    "Saves what the rings of a run's flight recorders ('when-full: overwrite') hold now; they go on recording. No\n"
    "record is saved twice. The rings are also saved when their process ends, and when the run ends. RUN is a run\n"
    "directory or its name below the folder of runs; without RUN, the newest one.\n"
    "On another machine RUN is the experiment's file, which reaches the nodes with an address.\n"
    "\n"
    "  --node NODE  only on this node\n"
    "  --runs DIR   the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 saved, 1 failed, or no flight recorder runs, 2 usage, or no such run, 4 the run is not\n"
    "running, or a node did not answer.\n";

static bool take(void *context, const char *node, const struct message *answer)
{
    const struct message_saved *saved = &answer->reply.saved;
    printf("%s: %s record%s of %s process%s saved%s\n", node, units_count(saved->records).s,
           saved->records == 1 ? "" : "s", units_count(saved->processes).s, saved->processes == 1 ? "" : "es",
           saved->behind > 0 ? "; more follow once the collector has stored these" : "");
    *(uint64_t *)context += saved->processes;
    return true;
}

int cmd_snapshot(int argc, char **argv)
{
    static const struct message_command command = {.verb = VERB_SNAPSHOT};
    uint64_t processes = 0;
    struct options o = {.command = "snapshot", .help = help, .most = 1, .wanted = "give at most one RUN"};
    const struct options_entry entries[] = {{"node", .value = &o.node}, {"runs", .value = &o.runs}, {0}};
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    code = options_ask(&o, o.words[0], &command, ANSWER_SAVED, take, &processes);
    if (code == EXIT_OK && processes == 0) {
        log_error("BEZEL-SNAPSHOT",
                  "no running process is a flight recorder: set 'when-full: overwrite' in the experiment file");
        code = EXIT_FAILED;
    }
    return command_end(code);
}
