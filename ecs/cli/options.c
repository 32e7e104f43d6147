// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/options.h"

#include "base/log.h"
#include "ecs/course/control_client.h"
#include "ecs/course/rundir.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { ENTRIES_MAX = 16, ENTRY_VALUE = 256 /* what getopt_long() returns for entry 0: above all letters */ };

/* ---- Options ----------------------------------------------------------------------------------------------------- */

/* Converts the entries to the form of getopt_long(), and adds --help. Returns the number of entries. */
static int list_options(const struct options *o, const struct options_entry *entries, struct option *list,
                        char *letters)
{
    int n = 0;
    if (o->stop_at_word)
        *letters++ = '+';
    *letters++ = ':'; /* getopt_long() prints nothing, and returns ':' where an option lacks its value */
    for (; entries[n].name; n++) {
        assert(n < ENTRIES_MAX);
        list[n] =
            (struct option){entries[n].name, entries[n].flag ? no_argument : required_argument, NULL, ENTRY_VALUE + n};
        if (!entries[n].letter)
            continue;
        *letters++ = entries[n].letter;
        if (!entries[n].flag)
            *letters++ = ':';
    }
    list[n] = (struct option){"help", no_argument, NULL, ENTRY_VALUE + n};
    list[n + 1] = (struct option){0};
    *letters++ = 'h';
    *letters = '\0';
    return n;
}

/* What getopt_long() did not understand; `c`: what it returned. */
static int refuse_option(const struct options *o, int c, const char *word)
{
    int n = (int)strcspn(word, "=");
    if (optopt > 0 && optopt < ENTRY_VALUE)
        return command_misuse(o->command, c == ':' ? "option -%c takes a value" : "there is no option -%c", optopt);
    if (c == ':')
        return command_misuse(o->command, "option %.*s takes a value", n, word);
    return command_misuse(o->command, optopt ? "option %.*s takes no value" : "there is no option %.*s", n, word);
}

static int take_option(const struct options *o, const struct options_entry *entry)
{
    if (entry->read)
        return entry->read(optarg, o->context);
    if (entry->flag)
        *entry->flag = true;
    else
        *entry->value = optarg;
    return OPTIONS_GO_ON;
}

int options_read(struct options *o, const struct options_entry *entries, int argc, char **argv)
{
    struct option list[ENTRIES_MAX + 2];
    char letters[2 * ENTRIES_MAX + 4];
    const char *value = NULL;
    int n = list_options(o, entries, list, letters);
    for (int c; (c = getopt_long(argc, argv, letters, list, NULL)) != -1;) {
        int i = c - ENTRY_VALUE;
        if (c == 'h' || i == n) {
            fputs(o->help, stdout);
            return command_end(EXIT_OK);
        }
        if (c == '?' || c == ':')
            return refuse_option(o, c, argv[optind - 1]);
        for (int k = 0; i < 0 && k < n; k++)
            i = entries[k].letter == c ? k : i;
        value = optarg;
        int code = take_option(o, &entries[i]);
        if (code != OPTIONS_GO_ON)
            return code;
    }
    o->words = argv + optind;
    o->count = (unsigned)(argc - optind);
    o->dashes = argv[optind - 1] != value && strcmp(argv[optind - 1], "--") == 0;
    if (o->count < o->least || o->count > o->most)
        return command_misuse(o->command, "%s", o->wanted);
    return OPTIONS_GO_ON;
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

int options_find_run(const struct options *o, const char *word, char run[PATH_MAX])
{
    char below[PATH_MAX];
    const char *folder = rundir_runs(o->runs);
    int err = rundir_find(word, folder, run, PATH_MAX);
    if (err && word && *word && !strchr(word, '/') &&
        snprintf(below, sizeof below, "%s/%s", folder, word) < (int)sizeof below) {
        int there = rundir_find(below, folder, run, PATH_MAX);
        err = there == BEZEL_ENOENT ? err : there;
    }
    if (err == 0)
        return OPTIONS_GO_ON;
    if (err == BEZEL_EINVAL)
        log_error("BEZEL-RUN-UNKNOWN",
                  "%s is not a run directory: it has neither experiment.yaml, nor run.db, nor trace",
                  word ? word : run);
    else if (word)
        log_error("BEZEL-RUN-UNKNOWN", "there is no run '%s', neither as a directory nor in %s", word, folder);
    else
        log_error("BEZEL-RUN-UNKNOWN", "there is no run in %s yet: 'bezel run' makes one", folder);
    return EXIT_USAGE;
}

int options_check_home(const char *run)
{
    char place[2 * PATH_MAX];
    if (!rundir_is_away(run, place, sizeof place))
        return OPTIONS_GO_ON;
    if (rundir_is_running(run))
        log_error("BEZEL-RUN-AWAY", "%s: the run goes on, and lies %s; it comes here at its end", run, place);
    else
        log_error("BEZEL-RUN-AWAY", "%s: the run is not here, it lies %s; fetch it with: bezel fetch %s", run, place,
                  run);
    return EXIT_UNREACHABLE;
}

bool options_is_file(const char *word)
{
    struct stat st;
    return word && stat(word, &st) == 0 && S_ISREG(st.st_mode);
}

int options_reach(const struct options *o, const char *word, struct control_client *r)
{
    char run[PATH_MAX];
    int code = OPTIONS_GO_ON;
    bool file = options_is_file(word);
    if (!file)
        code = options_find_run(o, word, run);
    if (code != OPTIONS_GO_ON)
        return code;
    code = file ? control_client_open_file(word, o->whom, o->node, r) : control_client_open(run, o->whom, o->node, r);
    return code == EXIT_OK ? OPTIONS_GO_ON : code;
}

int options_ask(const struct options *o, const char *word, const struct message_command *command,
                enum message_answer wanted, bool (*take)(void *context, const char *node, const struct message *answer),
                void *context)
{
    struct control_client r;
    int code = options_reach(o, word, &r);
    if (code != OPTIONS_GO_ON)
        return code;
    code = control_client_ask(&r, command, wanted, take, context);
    control_client_close(&r);
    return code;
}

const char *options_state(enum message_daemon_state state)
{
    static const char *const words[] = {
        [DAEMON_STARTING] = "starting", [DAEMON_ACTIVE] = "active", [DAEMON_DRAINING] = "draining",
        [DAEMON_DRAINED] = "drained",   [DAEMON_FAILED] = "failed", [DAEMON_PAUSED] = "paused"};
    return words[state];
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

int command_end(int code)
{
    errno = 0; /* the errno of an earlier failed write is lost */
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    log_error("BEZEL-OUTPUT", "cannot write all of the output to standard output%s%s", errno ? ": " : "",
              errno ? strerror(errno) : "");
    return code == EXIT_OK ? EXIT_FAILED : code;
}

int command_misuse(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "bezel %s: ", command);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nTry 'bezel %s --help'.\n", command);
    return EXIT_USAGE;
}
