// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "base/units.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "ecs/course/control_client.h"
#include "mdr/message.h"
#include "run/verdict/names.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char about[] =
    "Sets the mode of all aspects whose names match a PATTERN, in the processes of a run and in those that start "
    "later. '*' stands for any characters, '?' for one, '[a-z]' for one of a set; the last setting "
    "counts. " COMMAND_RUN_OR_FILE "\n"
    "\n"
    "  on     recorded\n"
    "  count  not recorded, but counted: lost with the cause off\n"
    "  off    neither recorded nor counted\n";
static const char footer[] =
    "Exit codes: 0 done, 1 failed, 2 usage, or no such run, 4 the run is not running, or a node did not answer.\n";

static bool read_mode(const char *word, enum message_aspect_mode *mode)
{
    static const char *const words[] = {[ASPECT_ON] = "on", [ASPECT_COUNT] = "count", [ASPECT_OFF] = "off"};
    for (unsigned i = 0; word && i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return *mode = (enum message_aspect_mode)i, true;
    return false;
}

/* Joins the patterns with blanks. */
static int join_patterns(char **patterns, struct message_command *c)
{
    size_t n = 0;
    if (!*patterns)
        return options_misuse("give a PATTERN, such as 'frame_*'");
    for (; *patterns; patterns++) {
        if (!experiment_pattern_ok(*patterns))
            return options_misuse("'%s' matches no aspect: 1 to %d letters, digits, '_', '.', ':', '*', '?' or sets "
                                  "such as [a-z]",
                                  *patterns, EXPERIMENT_NAME_MAX);
        n += (size_t)snprintf(c->patterns + n, sizeof c->patterns - n, "%s%s", n ? " " : "", *patterns);
        if (n >= sizeof c->patterns)
            return options_misuse("the patterns together are longer than %d", MESSAGE_PATTERNS_MAX);
    }
    return OPTIONS_GO_ON;
}

/* Reads the command from the words; *run: the word for the run, NULL if there is none. */
static int read_words(char **words, struct message_command *c, const char **run)
{
    *c = (struct message_command){.verb = VERB_SET, .subject = SUBJECT_ASPECTS};
    if (read_mode(words[0], &c->mode))
        return join_patterns(words + 1, c);
    *run = words[0];
    if (words[0] && read_mode(words[1], &c->mode))
        return join_patterns(words + 2, c);
    return options_misuse("give a mode: on, count or off");
}

static bool take(void *context, const char *node, const struct message *answer)
{
    struct message_matched matched = answer->reply.matched;
    (void)context;
    if (matched.aspects == 0)
        printf("%s: matches no aspect yet\n", node);
    else
        printf("%s: %s aspect%s of %s process%s\n", node, units_count(matched.aspects).s,
               matched.aspects == 1 ? "" : "s", units_count(matched.processes).s, matched.processes == 1 ? "" : "es");
    return true;
}

/* A pattern that matches nothing yet is kept for what comes; one that looks misspelt is told. The run lies here. */
static void tell_misspelt(const struct command_target *t, const char *word, const struct message_command *c)
{
    char run[PATH_MAX], patterns[sizeof c->patterns], *rest = patterns, *one;
    struct names_found found;
    struct summary *s;
    if (command_is_file(word) || command_find_run(t, word, run) != OPTIONS_GO_ON || summary_load_books(run, &s) != 0)
        return;
    snprintf(patterns, sizeof patterns, "%s", c->patterns);
    while ((one = strsep(&rest, " ")))
        if (names_pattern(s, one, &found))
            log_warn("BEZEL-NAME", "%s", found.text);
    summary_free(s);
}

int cmd_aspects(int argc, char **argv)
{
    struct message_command command;
    const char *run = NULL;
    struct command_target t = {0};
    struct options o = {.program = "bezel aspects",
                        .usage = "[OPTIONS] [RUN] on|count|off PATTERN...",
                        .about = about,
                        .footer = footer,
                        .most = UINT_MAX};
    const struct options_entry entries[] = {
        COMMAND_NODE(&t),
        COMMAND_RUNS(&t),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        code = read_words(o.words, &command, &run);
    if (code != OPTIONS_GO_ON)
        return code;
    code = command_ask(&t, run, &command, ANSWER_ASPECTS, take, NULL);
    if (code == EXIT_OK)
        tell_misspelt(&t, run, &command);
    return code;
}
