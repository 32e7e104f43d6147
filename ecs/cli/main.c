// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/inherited.h"
#include "base/options.h"
#include "base/ulimit.h"
#include "ecs/cli/commands.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *purpose;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", "run an experiment, from a file or around a command", cmd_run},
    {"attach", "take over a run whose `bezel run` is gone, to its report", cmd_attach},
    {"check", "check an experiment file", cmd_check},
    {"new", "write an experiment file to begin with", cmd_new},
    {"schema", "print the form of experiment files, for editors", cmd_schema},
    {"report", "print the report of a run", cmd_report},
    {"why", "say why work of a run was slow, or what violated a limit", cmd_why},
    {"export", "copy a run's trace, or write its records as CSV or JSON lines, also during the run", cmd_export},
    {"import", "make a run of a trace that another tool wrote", cmd_import},
    {"tail", "print a run's last records, and those that follow", cmd_tail},
    {"top", "show a run on the terminal, while it lives or later", cmd_top},
    {"serve", "serve a run's records to consumers on this machine or others", cmd_serve},
    {"mirror", "copy a served run to this machine, while it goes on or later", cmd_mirror},
    {"view", "show a run in a browser, while it goes on or later", cmd_view},
    {"verify", "check that a run's records are complete, or list the missing ones", cmd_verify},
    {"fetch", "copy a run home whose collector was on another machine", cmd_fetch},
    {"snapshot", "save the records that a run's flight recorders hold now", cmd_snapshot},
    {"aspects", "set which aspects of a run are recorded from now on", cmd_aspects},
    {"poll", "show or set how a run's nodes poll", cmd_poll},
    {"knob", "show or set the knobs of a run's processes", cmd_knob},
    {"pause", "pause a run's nodes, collector or resource manager; programs go on", cmd_pause},
    {"resume", "end a pause", cmd_resume},
    {"stop", "end a run in order", cmd_stop},
    {"status", "show the state of a run's parts", cmd_status},
    {"ls", "list the runs that bezelds serve, on this machine or others", cmd_ls},
    {"node", "make another machine a node, and list, check or remove nodes", cmd_node},
    {"keygen", "make a pair of keys, for links beyond this machine", cmd_keygen},
    {"doctor", "check this machine, and suggest fixes", cmd_doctor},
};

enum {
    COMMANDS = sizeof commands / sizeof *commands,
    COMMAND_FILES = 16,        /* open at once, by most commands; `run` needs more, and checks that itself */
    COMMAND_STACK = 256 << 10, /* `why` needs the most, some 210 KiB */
};

static void usage(FILE *out)
{
    fputs("usage: bezel COMMAND [ARGUMENTS]\n"
          "\n"
          "Real-time adaptive monitoring of distributed embedded systems.\n"
          "\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].purpose);
    fputs("\n"
          "  --help, --version\n"
          "\n"
          "'bezel COMMAND --help' describes a command.\n"
          "Exit codes: 0 done and limits held, 1 failed, 2 wrong file or usage, 3 a limit was violated,\n"
          "4 unreachable or timed out.\n",
          out);
}

int main(int argc, char **argv)
{
    inherited_take("bezel");
    signal(SIGXFSZ, SIG_IGN); /* a file that is too large is an ordinary error */
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (strcmp(name, "help") == 0 && argc == 2)) {
        usage(stdout);
        return options_end(EXIT_OK);
    }
    if (strcmp(name, "--version") == 0) {
        puts("bezel " BEZEL_VERSION);
        return options_end(EXIT_OK);
    }
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return ulimit_check_files(COMMAND_FILES) == 0 && ulimit_check_stack(COMMAND_STACK) == 0
                       ? commands[i].run(argc - 1, argv + 1)
                       : EXIT_FAILED;
    if (*name)
        fprintf(stderr, "bezel: there is no command '%s'\n\n", name);
    usage(stderr);
    return EXIT_USAGE;
}
