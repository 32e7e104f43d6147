// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The subcommands of `bezel`: one file each, listed in main.c's table. argv[0] is the command's name, so getopt_long()
 * works as in a program. Each returns the exit code. Only data goes to stdout; messages go to stderr.
 */
#ifndef BEZEL_ECS_CLI_COMMANDS_H
#define BEZEL_ECS_CLI_COMMANDS_H

int cmd_run(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_new(int argc, char **argv);
int cmd_schema(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_tail(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_view(int argc, char **argv);
int cmd_fetch(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_aspects(int argc, char **argv);
int cmd_poll(int argc, char **argv);
int cmd_knob(int argc, char **argv);
int cmd_mirror(int argc, char **argv);
int cmd_pause(int argc, char **argv);
int cmd_resume(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_ls(int argc, char **argv);
int cmd_node(int argc, char **argv);
int cmd_keygen(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

#endif
