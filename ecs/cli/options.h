// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by all commands: reading options, finding the run, and ending. One thread. */
#ifndef BEZEL_ECS_CLI_OPTIONS_H
#define BEZEL_ECS_CLI_OPTIONS_H

#include "base/err.h"
#include "base/exit_code.h"
#include "ecs/course/control_client.h"

#include <limits.h>
#include <stdbool.h>

enum { OPTIONS_GO_ON = -1 }; /* no exit code: the command goes on */

/** An option: exactly one of the last three is set. */
struct options_entry {
    const char *name;   /* the long form, without "--" */
    char letter;        /* the short form; 0: none */
    bool *flag;         /* made true; the option has no value */
    const char **value; /* set to the option's value; the last one counts */
    /* Called with the value and options.context; returns as options_read() does. */
    int (*read)(const char *value, void *context);
};

/** A command line. */
struct options {
    const char *command, *help;
    unsigned least, most;          /* how many words (arguments that are no options) are allowed */
    const char *wanted;            /* the same as a sentence, printed if the number is wrong */
    bool stop_at_word;             /* the first word ends the options; else options may follow words, too */
    void *context;                 /* for options_entry.read */
    enum control_client_whom whom; /* by default the nodes */
    const char *node, *runs;       /* values of --node and --runs; NULL: not given, or the command lacks them */
    char **words;                  /* set by options_read(): the words, and a NULL behind them */
    unsigned count;
    bool dashes; /* likewise: "--" ended the options */
};

/**
 * Reads --help and the options of `entries`, the last of which has no name. Returns OPTIONS_GO_ON, or the exit
 * code to end with, after printing help or what is wrong.
 */
int options_read(struct options *o, const struct options_entry *entries, int argc, char **argv) BEZEL_MUST_CHECK;

/**
 * Finds the run that `word` names: a run directory, or the name of one below the folder of runs; NULL is the newest.
 * Returns OPTIONS_GO_ON with `run`, or EXIT_USAGE, with the reason on stderr.
 */
int options_find_run(const struct options *o, const char *word, char run[PATH_MAX]) BEZEL_MUST_CHECK;

/**
 * Whether the trace and the database of `run` are here. Returns OPTIONS_GO_ON, or EXIT_UNREACHABLE, with where they lie
 * on stderr.
 */
int options_check_home(const char *run) BEZEL_MUST_CHECK;

/** Whether `word` is an experiment's file, by which a run is found on another machine; NULL is none. */
bool options_is_file(const char *word);

/**
 * Finds the run like options_find_run(), or by the experiment's file, and connects to its nodes, or only to --node.
 * Returns OPTIONS_GO_ON with *r for control_client_close(), or an exit code, with the reason on stderr.
 */
int options_reach(const struct options *o, const char *word, struct control_client *r) BEZEL_MUST_CHECK;

/**
 * Connects like options_reach(), then sends `command` to each node and passes each reply whose answer is `wanted` to
 * `take`, like control_client_ask(). Returns an exit code.
 */
int options_ask(const struct options *o, const char *word, const struct message_command *command,
                enum message_answer wanted, bool (*take)(void *context, const char *node, const struct message *answer),
                void *context) BEZEL_MUST_CHECK;

/** The state of a daemon as one word; static. */
const char *options_state(enum message_daemon_state state);

/**
 * Ends a command that has written to stdout; flushes it and returns `code`. If not all output could be written, logs
 * that and returns EXIT_FAILED instead of EXIT_OK.
 */
int command_end(int code);

/** Prints to stderr what is wrong with the arguments of `command`, and how to get help; returns EXIT_USAGE. */
int command_misuse(const char *command, const char *format, ...) BEZEL_PRINTF(2, 3);

#endif
