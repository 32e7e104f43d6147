// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by all commands: finding the run, and reaching its parts. One thread. */
#ifndef BEZEL_ECS_CLI_COMMAND_H
#define BEZEL_ECS_CLI_COMMAND_H

#include "base/options.h"
#include "ecs/course/control_client.h"

#include <limits.h>

/** What a command is for. */
struct command_target {
    const char *runs, *node;       /* values of --runs and --node; NULL: not given, or the command lacks them */
    enum control_client_whom whom; /* by default the nodes */
};

/** Options of several commands. `t`: a command_target. */
#define COMMAND_RUNS(t)                                                                                                \
    {                                                                                                                  \
        "runs", 'r', "DIR", "the folder of runs (default: $BEZEL_RUNS, else ./runs)", .value = &(t)->runs              \
    }
#define COMMAND_NODE(t)                                                                                                \
    {                                                                                                                  \
        "node", 0, "NODE", "only this node", .value = &(t)->node                                                       \
    }

/** Sentences of several commands. */
#define COMMAND_RUN "RUN is a run directory or its name in the folder of runs (default: the newest run)."
#define COMMAND_RUN_OR_FILE                                                                                            \
    COMMAND_RUN " On another machine RUN is the experiment's file, which reaches the nodes with an address."

/**
 * Finds the run that `word` names: a run directory, or the name of one below the folder of runs; NULL is the newest.
 * Returns OPTIONS_GO_ON with `run`, which is no link; EXIT_USAGE where there is none, or EXIT_FAILED where its folder
 * refuses this user, with the reason on stderr.
 */
int command_find_run(const struct command_target *t, const char *word, char run[PATH_MAX]) BEZEL_MUST_CHECK;

/**
 * The same for a run whose trace and database are here. Returns EXIT_UNREACHABLE, with where they are on stderr, if
 * they are on another machine.
 */
int command_open_run(const struct command_target *t, const char *word, char run[PATH_MAX]) BEZEL_MUST_CHECK;

/** The same, with a path without links: `latest` may lead elsewhere before the command ends. */
int command_open_real(const struct command_target *t, const char *word, char run[PATH_MAX]) BEZEL_MUST_CHECK;

/** Whether `word` is an experiment's file, by which a run is found on another machine; NULL is none. */
bool command_is_file(const char *word);

/**
 * Becomes program `args[0]` of this installation; a NULL ends `args`. Returns only where that is impossible:
 * EXIT_FAILED, after a message.
 */
int command_become(const char *const *args);

/**
 * Finds the run like command_find_run(), or by the experiment's file, and connects to its nodes, or only to --node.
 * Returns OPTIONS_GO_ON with *r for control_client_close(), or an exit code, with the reason on stderr.
 */
int command_reach(const struct command_target *t, const char *word, struct control_client *r) BEZEL_MUST_CHECK;

/**
 * Connects like command_reach(), then sends `command` to each node and passes each reply whose answer is `wanted` to
 * `take`, like control_client_ask(). Returns the exit code to end with, after options_end().
 */
int command_ask(const struct command_target *t, const char *word, const struct message_command *command,
                enum message_answer wanted, bool (*take)(void *context, const char *node, const struct message *answer),
                void *context) BEZEL_MUST_CHECK;

/** The state of a daemon as one word; static. */
const char *command_state(enum message_daemon_state state);

#endif
