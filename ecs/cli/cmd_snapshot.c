// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "base/units.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "ecs/course/control_client.h"
#include "mdr/message.h"

#include <stdio.h>

static const char about[] =
    "Saves what the rings of a run's flight recorders ('when-full: overwrite') hold now; they go on recording. "
    "No record is saved twice. The rings are also saved when a limit with on-violation is violated, when their "
    "process ends, and when the run ends. Prints for each node how many records of how many processes were "
    "saved. " COMMAND_RUN_OR_FILE "\n";
static const char footer[] =
    "Exit codes: 0 saved, 1 failed, or no flight recorder runs, 2 usage, or no such run, 4 the run is not "
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
    struct command_target t = {0};
    struct options o = {
        .program = "bezel snapshot", .usage = "[OPTIONS] [RUN]", .about = about, .footer = footer, .most = 1};
    const struct options_entry entries[] = {
        COMMAND_NODE(&t),
        COMMAND_RUNS(&t),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    code = command_ask(&t, o.words[0], &command, ANSWER_SAVED, take, &processes);
    if (code == EXIT_OK && processes == 0) {
        log_error("BEZEL-SNAPSHOT",
                  "no running process is a flight recorder: set 'when-full: overwrite' in the experiment file");
        code = EXIT_FAILED;
    }
    return options_end(code);
}
