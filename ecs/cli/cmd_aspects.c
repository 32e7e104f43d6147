// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "base/units.h"
#include "ecs/commands.h"
#include "ecs/find_run.h"
#include "ecs/reach.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: bezel aspects [--node NODE] [--runs DIR] [RUN] on|count|off PATTERN...\n"
    "\n"
    "Says what the aspects of a run's processes do from now on: those whose names a PATTERN matches, also of "
    "processes\n"
    "that come later. '*' stands for any characters, '?' for one, '[a-z]' for one of a set; what was said last "
    "counts.\n"
    "RUN is a run directory or its name below the folder of runs; without RUN, the newest one.\n"
    "\n"
    "  on           recorded\n"
    "  count        not recorded, but counted: lost with the cause off\n"
    "  off          neither\n"
    "\n"
    "  --node NODE  on this node alone\n"
    "  --runs DIR   the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 4 the run does not go on, or a node did not answer.\n";

struct arguments {
    const char *node, *runs, *run;
    struct message_command command;
};

static bool read_mode(const char *word, enum message_aspect_mode *mode)
{
    static const char *const words[] = {[ASPECT_ON] = "on", [ASPECT_COUNT] = "count", [ASPECT_OFF] = "off"};
    for (unsigned i = 0; word && i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return *mode = (enum message_aspect_mode)i, true;
    return false;
}

/* The patterns, one blank between two of them. */
static int join_patterns(char **patterns, struct message_command *c)
{
    size_t n = 0;
    if (!*patterns)
        return command_misuse("aspects", "a PATTERN is wanted, such as 'frame_*'");
    for (; *patterns; patterns++) {
        if (!experiment_pattern_ok(*patterns))
            return command_misuse("aspects",
                                  "'%s' matches no aspect: 1 to %d letters, digits, '_', '.', ':', '*', '?' or sets "
                                  "such as [a-z]",
                                  *patterns, EXPERIMENT_NAME_MAX);
        n += (size_t)snprintf(c->patterns + n, sizeof c->patterns - n, "%s%s", n ? " " : "", *patterns);
        if (n >= sizeof c->patterns)
            return command_misuse("aspects", "the patterns together are longer than %d", MESSAGE_PATTERNS_MAX);
    }
    return EXIT_HELD;
}

/* Returns an exit code; EXIT_HELD: go on. */
static int read_words(char **words, struct arguments *a)
{
    a->command.verb = VERB_ASPECTS;
    if (read_mode(words[0], &a->command.mode))
        return join_patterns(words + 1, &a->command);
    a->run = words[0];
    if (words[0] && read_mode(words[1], &a->command.mode))
        return join_patterns(words + 2, &a->command);
    return command_misuse("aspects", "on, count or off is wanted");
}

static bool take(void *context, const char *node, const struct message_reply *reply)
{
    if (message_reply_get(reply, "refused", 0)) {
        log_error("BEZEL-ASPECTS", "%s: %s", node, reply->text);
        return false;
    }
    uint64_t aspects = (uint64_t)message_reply_get(reply, "matched_aspects", 0);
    uint64_t processes = (uint64_t)message_reply_get(reply, "matched_processes", 0);
    (void)context;
    if (aspects == 0)
        printf("%s: matches no aspect yet\n", node);
    else
        printf("%s: %s aspect%s of %s process%s\n", node, units_count(aspects).s, aspects == 1 ? "" : "s",
               units_count(processes).s, processes == 1 ? "" : "es");
    return true;
}

int cmd_aspects(int argc, char **argv)
{
    static const struct option options[] = {{"node", required_argument, NULL, 'n'},
                                            {"runs", required_argument, NULL, 'r'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct arguments a = {0};
    for (int o; (o = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (o == 'h')
            return command_help(help);
        if (o == 'r')
            a.runs = optarg;
        else if (o == 'n')
            a.node = optarg;
        else
            return command_misuse("aspects", "an option is wrong");
    }
    int code = read_words(argv + optind, &a);
    if (code != EXIT_HELD)
        return code;
    char run[PATH_MAX];
    struct reach r;
    if (find_run(a.run, a.runs, run, sizeof run) != 0)
        return EXIT_USAGE;
    code = reach_open(run, a.node, &r);
    if (code != EXIT_HELD)
        return code;
    code = reach_ask(&r, &a.command, take, NULL);
    reach_close(&r);
    return command_end(code);
}
