// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "ecs/course/inventory_file.h"
#include "ecs/course/load_experiment.h"

#include <stdlib.h>

static const char about[] =
    "Checks an experiment file ('-': stdin), and whether this machine can start the programs that it names. "
    "Prints every error and warning as FILE:LINE:COLUMN: PATH: SENTENCE on stderr, and which nodes are those of "
    "`bezel node`. Starts nothing.\n";
static const char footer[] = "Exit codes: 0 no error, 2 errors.\n";

int cmd_check(int argc, char **argv)
{
    bool print = false, where = false;
    struct options o = {
        .program = "bezel check", .usage = "[OPTIONS] FILE", .about = about, .footer = footer, .least = 1, .most = 1};
    const struct options_entry entries[] = {
        {"print", 'p', NULL, "print the experiment with every default written out", .flag = &print},
        {"where", 'w', NULL, "print where each metric is computed, and what crosses the network for it",
         .flag = &where},
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    struct experiment *e;
    char *text;
    size_t n;
    if (load_file(o.words[0], &text, &n, &e) != 0)
        return EXIT_USAGE;
    if (!print)
        inventory_file_print_use(e, stdout);
    if (print)
        (void)!experiment_print(e, stdout); /* options_end() reports write errors */
    if (where)
        (void)!experiment_print_places(e, stdout);
    experiment_free(e);
    free(text);
    return options_end(EXIT_OK);
}
