// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/commands.h"
#include "ecs/cli/options.h"
#include "ecs/course/control_client.h"

#include <stdio.h>

static const char pause_help[] =
    "usage: bezel pause [--node NODE | --collector | --manager] [--runs DIR] [RUN]\n"
    "\n"
    "Pauses a part of a run; its programs go on. Paused nodes, by default all, record nothing: records are counted as\n"
    "lost, by cause `off`. A paused collector stores nothing, and the nodes keep what they send, as far as their\n"
    "windows and spools have room. A paused resource manager decides nothing. 'bezel resume' ends the pause, and the\n"
    "end of the run does. RUN is a run directory or its name below the folder of runs; without RUN, the newest one.\n"
    "On another machine RUN is the experiment's file, which reaches the nodes with an address.\n"
    "\n"
    "  --node NODE  only this node\n"
    "  --collector  the collector, and no node\n"
    "  --manager    the resource manager, and no node\n"
    "  --runs DIR   the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 paused, 1 failed, 2 usage, or no such run, 4 the run is not running, or a part did not answer.\n";

static const char resume_help[] =
    "usage: bezel resume [--node NODE | --collector | --manager] [--runs DIR] [RUN]\n"
    "\n"
    "Ends what 'bezel pause' began. RUN is a run directory or its name below the folder of runs; without RUN, the\n"
    "newest one.\n"
    "On another machine RUN is the experiment's file, which reaches the nodes with an address.\n"
    "\n"
    "  --node NODE  only this node (default: all nodes)\n"
    "  --collector  the collector, and no node\n"
    "  --manager    the resource manager, and no node\n"
    "  --runs DIR   the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 resumed, 1 failed, 2 usage, or no such run, 4 the run is not running, or a part did not answer.\n";

static const char stop_help[] =
    "usage: bezel stop [--runs DIR] [RUN]\n"
    "\n"
    "Ends a run in order, as ctrl-C in its terminal does: `bezel run` ends the programs, stores what is left, and\n"
    "prints the report. RUN is a run directory or its name below the folder of runs; without RUN, the newest one; on\n"
    "another machine the experiment's file, if some node has an address.\n"
    "\n"
    "  --runs DIR  the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 the run was told, 1 failed, 2 usage, or no such run, 4 it is not running, or a node did not "
    "answer.\n";

static bool take(void *context, const char *name, const struct message *answer)
{
    bool paused = answer->reply.state == DAEMON_PAUSED, wanted = *(const bool *)context;
    printf("%s: %s\n", name, paused ? "paused" : wanted ? "not paused, because it is ending" : "not paused");
    return paused == wanted;
}

static int change(int argc, char **argv, bool pause)
{
    bool collector = false, manager = false;
    struct options o = {.command = pause ? "pause" : "resume",
                        .help = pause ? pause_help : resume_help,
                        .most = 1,
                        .wanted = "give at most one RUN"};
    const struct options_entry entries[] = {{"node", .value = &o.node},
                                            {"collector", .flag = &collector},
                                            {"manager", .flag = &manager},
                                            {"runs", .value = &o.runs},
                                            {0}};
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    if ((o.node != NULL) + collector + manager > 1)
        return command_misuse(o.command, "give one of --node, --collector and --manager");
    o.whom = collector ? CONTROL_CLIENT_COLLECTOR : manager ? CONTROL_CLIENT_MANAGER : CONTROL_CLIENT_NODES;
    enum message_answer wanted = collector ? ANSWER_COLLECTOR : manager ? ANSWER_MANAGER : ANSWER_NODE;
    struct message_command command = {.verb = pause ? VERB_PAUSE : VERB_RESUME};
    return command_end(options_ask(&o, o.words[0], &command, wanted, take, &pause));
}

static bool take_stop(void *context, const char *name, const struct message *answer)
{
    (void)context, (void)answer;
    printf("%s: the run is being stopped\n", name);
    return true;
}

int cmd_stop(int argc, char **argv)
{
    struct options o = {.command = "stop", .help = stop_help, .most = 1, .wanted = "give at most one RUN"};
    const struct options_entry entries[] = {{"runs", .value = &o.runs}, {0}};
    int code = options_read(&o, entries, argc, argv);
    struct message_command command = {.verb = VERB_STOP};
    return code == OPTIONS_GO_ON ? command_end(options_ask(&o, o.words[0], &command, ANSWER_NODE, take_stop, NULL))
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
