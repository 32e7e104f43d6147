// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The subcommands of `bezel`: one file each, in main.c's table. A command gets its own arguments, argv[0] being its
 * name, so that getopt_long() works as in a program of its own; it returns the exit code. Data alone goes to stdout.
 */
#ifndef BEZEL_ECS_COMMANDS_H
#define BEZEL_ECS_COMMANDS_H

#include "base/err.h"

/** Exit codes of all programs. */
enum exit_code {
    EXIT_HELD = 0,        /* done, and the limits held */
    EXIT_FAILED = 1,      /* something failed */
    EXIT_USAGE = 2,       /* a wrong file, or misuse of the command */
    EXIT_VIOLATED = 3,    /* a limit was violated */
    EXIT_UNREACHABLE = 4, /* somebody who is needed could not be reached, or did not answer in time */
};

int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_aspects(int argc, char **argv);
int cmd_poll(int argc, char **argv);
int cmd_knob(int argc, char **argv);
int cmd_keygen(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

/**
 * Ends a command that has written to stdout and would return `code`: where not all of it could be written, says so on
 * stderr, and returns EXIT_FAILED in place of EXIT_HELD.
 */
int command_end(int code);

/** Prints `text` to stdout and ends the command. For --help. */
int command_help(const char *text);

/** Says on stderr what is wrong with the arguments of `command` and where help stands; returns EXIT_USAGE. */
int command_misuse(const char *command, const char *format, ...) BEZEL_PRINTF(2, 3);

#endif
