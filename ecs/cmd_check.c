// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/commands.h"
#include "ecs/load.h"

#include <getopt.h>
#include <stdlib.h>

static const char help[] =
    "usage: bezel check [--print] FILE\n"
    "\n"
    "Checks an experiment file ('-': stdin) and whether this machine can start what it names. Prints every error and\n"
    "warning as FILE:LINE:COLUMN: PATH: SENTENCE on stderr. Starts nothing.\n"
    "\n"
    "  -p, --print  print the experiment with every default written out\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 no error, 2 errors.\n";

int cmd_check(int argc, char **argv)
{
    static const struct option options[] = {
        {"print", no_argument, NULL, 'p'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    bool print = false;
    for (int c; (c = getopt_long(argc, argv, "ph", options, NULL)) != -1;) {
        if (c == 'h')
            return command_help(help);
        if (c != 'p')
            return command_misuse("check", "an option is wrong");
        print = true;
    }
    if (optind != argc - 1)
        return command_misuse("check", "exactly one FILE is wanted");
    struct experiment *e;
    char *text;
    size_t n;
    if (load_file(argv[optind], &text, &n, &e) != 0)
        return EXIT_USAGE;
    if (print)
        (void)!experiment_print(e, stdout); /* what could not be written is told at the end */
    experiment_free(e);
    free(text);
    return command_end(EXIT_HELD);
}
