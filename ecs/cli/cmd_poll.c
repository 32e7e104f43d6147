// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "base/units.h"
#include "ecs/commands.h"
#include "ecs/find_run.h"
#include "ecs/reach.h"

#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: bezel poll [--period TIME] [--mode MODE] [--forward POLICY] [--batch N] [--node NODE] [--runs DIR] [RUN]\n"
    "\n"
    "Changes how a run's nodes poll, from now on and while they go on; no record is missed by it. Without a change it\n"
    "tells what is in force, and how long a poll really takes to come round. RUN is a run directory or its name below\n"
    "the folder of runs; without RUN, the newest one.\n"
    "\n"
    "  --period TIME     the polling period: 1 us .. 10 s; with a policy that moves it, within adapt.period\n"
    "  --mode MODE       polling or busy-wait\n"
    "  --forward POLICY  batch (a poll takes all that waits) or collect (one record)\n"
    "  --batch N         with batch, how many records a poll takes at most; 0: all\n"
    "  --node NODE       on this node alone\n"
    "  --runs DIR        the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 done, 1 refused or failed, 2 usage, 4 the run does not go on, or a node did not answer.\n";

static const char *const modes[] = {[POLL_MODE_POLLING] = "polling", [POLL_MODE_BUSY_WAIT] = "busy-wait"};
static const char *const forwards[] = {[POLL_FORWARD_BATCH] = "batch", [POLL_FORWARD_COLLECT] = "collect"};

struct arguments {
    const char *node, *runs;
    struct message_poll poll;
};

/* The number of `word` among the two words; -1: neither. */
static int find_word(const char *const words[2], const char *word)
{
    return strcmp(word, words[0]) == 0 ? 0 : strcmp(word, words[1]) == 0 ? 1 : -1;
}

static int read_period(const char *text, struct message_poll *poll)
{
    int64_t period;
    const char *why;
    if (units_read_duration(text, &period, &why) != 0)
        return command_misuse("poll", "'%s' is no duration: %s", text, why);
    poll->given |= POLL_GIVES_PERIOD;
    poll->period_ns = (uint64_t)period;
    return EXIT_HELD;
}

static int read_batch(const char *text, struct message_poll *poll)
{
    uint64_t batch;
    const char *why;
    if (units_read_count(text, &batch, &why) != 0)
        return command_misuse("poll", "'%s' is no count: %s", text, why);
    if (batch > EXPERIMENT_BATCH_MAX)
        return command_misuse("poll", "'%s' is out of range; allowed: 0 .. %d", text, EXPERIMENT_BATCH_MAX);
    poll->given |= POLL_GIVES_BATCH;
    poll->batch = (uint32_t)batch;
    return EXIT_HELD;
}

static int read_words(int option, const char *text, struct message_poll *poll)
{
    int word = find_word(option == 'm' ? modes : forwards, text);
    if (word < 0)
        return option == 'm' ? command_misuse("poll", "'%s' is no mode: polling or busy-wait", text)
                             : command_misuse("poll", "'%s' is no forwarding policy: batch or collect", text);
    poll->given |= option == 'm' ? POLL_GIVES_MODE : POLL_GIVES_FORWARD;
    if (option == 'm')
        poll->mode = (enum message_poll_mode)word;
    else
        poll->forward = (enum message_poll_forward)word;
    return EXIT_HELD;
}

/* Returns an exit code plus one to end with, or 0 to go on. */
static int read_option(int option, struct arguments *a)
{
    int code = EXIT_HELD;
    switch (option) {
    case 'h':
        return command_help(help) + 1;
    case 'r':
        a->runs = optarg;
        break;
    case 'n':
        a->node = optarg;
        break;
    case 'p':
        code = read_period(optarg, &a->poll);
        break;
    case 'b':
        code = read_batch(optarg, &a->poll);
        break;
    case 'm':
    case 'f':
        code = read_words(option, optarg, &a->poll);
        break;
    default:
        code = command_misuse("poll", "an option is wrong");
    }
    return code == EXIT_HELD ? 0 : code + 1;
}

static void print_pace(const struct message_reply *reply)
{
    int64_t mean = message_reply_get(reply, "effective_ns", 0),
            worst = message_reply_get(reply, "effective_worst_ns", 0);
    if (!message_reply_get(reply, "poll_on", 1))
        printf(" (off at present)");
    else if (mean > 0)
        printf(" (effective %s, worst %s)", units_duration(mean).s, units_duration(worst).s);
}

static bool take(void *context, const char *node, const struct message_reply *reply)
{
    (void)context;
    if (message_reply_get(reply, "refused", 0)) {
        log_error("BEZEL-POLL", "%s: %s", node, reply->text);
        return false;
    }
    bool busy = message_reply_get(reply, "poll_mode", 0) == POLL_MODE_BUSY_WAIT;
    int64_t batch = message_reply_get(reply, "poll_batch", 0);
    printf("%s: %s", node, modes[busy]);
    if (!busy)
        printf(" every %s", units_exact_duration(message_reply_get(reply, "poll_period_ns", 0)).s);
    print_pace(reply);
    if (message_reply_get(reply, "poll_forward", 0) == POLL_FORWARD_COLLECT)
        puts(", collect: one record a poll");
    else if (batch > 0)
        printf(", batch: at most %s record%s a poll\n", units_count((uint64_t)batch).s, batch == 1 ? "" : "s");
    else
        puts(", batch: all records that wait");
    return true;
}

static int ask(const struct arguments *a, const char *name)
{
    struct message_command command = {.verb = VERB_POLL, .poll = a->poll};
    char run[PATH_MAX];
    struct reach r;
    if (find_run(name, a->runs, run, sizeof run) != 0)
        return EXIT_USAGE;
    int code = reach_open(run, a->node, &r);
    if (code != EXIT_HELD)
        return code;
    code = reach_ask(&r, &command, take, NULL);
    reach_close(&r);
    return command_end(code);
}

int cmd_poll(int argc, char **argv)
{
    static const struct option options[] = {
        {"period", required_argument, NULL, 'p'},  {"mode", required_argument, NULL, 'm'},
        {"forward", required_argument, NULL, 'f'}, {"batch", required_argument, NULL, 'b'},
        {"node", required_argument, NULL, 'n'},    {"runs", required_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},          {0}};
    struct arguments a = {0};
    for (int o; (o = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        int code = read_option(o, &a);
        if (code)
            return code - 1;
    }
    if (argc - optind > 1)
        return command_misuse("poll", "more than one RUN");
    return ask(&a, argv[optind]);
}
