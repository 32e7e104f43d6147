// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/commands.h"
#include "ecs/cli/options.h"
#include "ecs/course/load_experiment.h"

#include <stdlib.h>

static const char help[] = "usage: bezel check [--print] FILE\n"
                           "\n"
                           "Checks an experiment file ('-': stdin), and whether this machine can start the programs "
                           "that it names. Prints every\n"
                           "error and warning as FILE:LINE:COLUMN: PATH: SENTENCE on stderr. Starts nothing.\n"
                           "\n"
                           "  -p, --print  print the experiment with every default written out\n"
                           "  -h, --help\n"
                           "\n"
                           "Exit codes: 0 no error, 2 errors.\n";

int cmd_check(int argc, char **argv)
{
    bool print = false;
    struct options o = {.command = "check", .help = help, .least = 1, .most = 1, .wanted = "give exactly one FILE"};
    const struct options_entry entries[] = {{"print", 'p', .flag = &print}, {0}};
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    struct experiment *e;
    char *text;
    size_t n;
    if (load_file(o.words[0], &text, &n, &e) != 0)
        return EXIT_USAGE;
    if (print)
        (void)!experiment_print(e, stdout); /* command_end() reports write errors */
    experiment_free(e);
    free(text);
    return command_end(EXIT_OK);
}
