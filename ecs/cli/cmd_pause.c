// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "ecs/course/control_client.h"
#include "mdr/message.h"

#include <stdio.h>

static const char pause_about[] =
    "Pauses a part of a run; its programs go on. Paused nodes, by default all, record nothing: records are "
    "counted as lost, by cause `off`. A node that is restarted stays paused. A paused collector stores nothing, "
    "and the nodes keep what they send, as far as their windows and spools have room. A paused resource manager "
    "decides nothing. 'bezel resume' ends the pause, and the end of the run does. " COMMAND_RUN_OR_FILE "\n";
static const char footer[] =
    "Exit codes: 0 done, 1 failed, 2 usage, or no such run, 4 the run is not running, or a part did not answer.\n";
static const char resume_about[] = "Ends what 'bezel pause' began. " COMMAND_RUN_OR_FILE;
static const char stop_about[] = "Ends a run in order, as ctrl-C in its terminal does: `bezel run` ends the programs, "
                                 "stores what is left, and prints the report. " COMMAND_RUN_OR_FILE;

static bool take(void *context, const char *name, const struct message *answer)
{
    bool paused = answer->reply.state == DAEMON_PAUSED, wanted = *(const bool *)context;
    printf("%s: %s\n", name, paused ? "paused" : wanted ? "not paused, because it is ending" : "not paused");
    return paused == wanted;
}

static int change(int argc, char **argv, bool pause)
{
    bool collector = false, manager = false;
    struct command_target t = {0};
    struct options o = {.program = pause ? "bezel pause" : "bezel resume",
                        .usage = "[OPTIONS] [RUN]",
                        .about = pause ? pause_about : resume_about,
                        .footer = footer,
                        .most = 1};
    const struct options_entry entries[] = {
        COMMAND_NODE(&t),
        {"collector", 0, NULL, "the collector, and no node", .flag = &collector},
        {"manager", 0, NULL, "the resource manager, and no node", .flag = &manager},
        COMMAND_RUNS(&t),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    if ((t.node != NULL) + collector + manager > 1)
        return options_misuse("give one of --node, --collector and --manager");
    t.whom = collector ? CONTROL_CLIENT_COLLECTOR : manager ? CONTROL_CLIENT_MANAGER : CONTROL_CLIENT_NODES;
    enum message_answer wanted = collector ? ANSWER_COLLECTOR : manager ? ANSWER_MANAGER : ANSWER_NODE;
    struct message_command command = {.verb = pause ? VERB_PAUSE : VERB_RESUME};
    return command_ask(&t, o.words[0], &command, wanted, take, &pause);
}

static bool take_stop(void *context, const char *name, const struct message *answer)
{
    (void)context, (void)answer;
    printf("%s: the run is being stopped\n", name);
    return true;
}

int cmd_stop(int argc, char **argv)
{
    struct command_target t = {0};
    struct options o = {
        .program = "bezel stop", .usage = "[OPTIONS] [RUN]", .about = stop_about, .footer = footer, .most = 1};
    const struct options_entry entries[] = {COMMAND_RUNS(&t), {0}};
    int code = options_read(&o, entries, argc, argv);
    struct message_command command = {.verb = VERB_STOP};
    return code == OPTIONS_GO_ON ? options_end(command_ask(&t, o.words[0], &command, ANSWER_NODE, take_stop, NULL))
                                 : code;
}

int cmd_pause(int argc, char **argv)
{
    return change(argc, argv, true);
}

int cmd_resume(int argc, char **argv)
{
    return change(argc, argv, false);
}
