// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/units.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "ecs/course/control_client.h"
#include "mdr/message.h"
#include <stdio.h>
#include <string.h>

static const char about[] =
    "Changes how the nodes of a run poll, at once and without losing a record. Without a change it prints the "
    "settings in force, and the effective period, measured between two polls. " COMMAND_RUN_OR_FILE "\n";
static const char footer[] =
    "Exit codes: 0 done, 1 failed, 2 usage, a setting that a node refuses, or no such run, 4 the run is not "
    "running, or a node did not answer.\n";

static const char *const modes[] = {[POLL_MODE_POLLING] = "polling", [POLL_MODE_BUSY_WAIT] = "busy-wait"};
static const char *const forwards[] = {[POLL_FORWARD_BATCH] = "batch", [POLL_FORWARD_COLLECT] = "collect"};

/* The index of `word` in `words`; -1: none. */
static int find_word(const char *const words[2], const char *word)
{
    return strcmp(word, words[0]) == 0 ? 0 : strcmp(word, words[1]) == 0 ? 1 : -1;
}

static int read_period(const char *text, void *context)
{
    struct message_poll *poll = context;
    int64_t period;
    const char *why;
    if (units_read_duration(text, &period, &why) != 0)
        return options_misuse("'%s' is not a duration: %s", text, why);
    poll->given |= POLL_GIVES_PERIOD;
    poll->period_ns = (uint64_t)period;
    return OPTIONS_GO_ON;
}

static int read_batch(const char *text, void *context)
{
    struct message_poll *poll = context;
    uint64_t batch;
    const char *why;
    if (units_read_count(text, &batch, &why) != 0)
        return options_misuse("'%s' is not a count: %s", text, why);
    if (batch > EXPERIMENT_BATCH_MAX)
        return options_misuse("'%s' is out of range; allowed: 0 .. %d", text, EXPERIMENT_BATCH_MAX);
    poll->given |= POLL_GIVES_BATCH;
    poll->batch = (uint32_t)batch;
    return OPTIONS_GO_ON;
}

static int read_mode(const char *text, void *context)
{
    struct message_poll *poll = context;
    int word = find_word(modes, text);
    if (word < 0)
        return options_misuse("'%s' is not a mode: use polling or busy-wait", text);
    poll->given |= POLL_GIVES_MODE;
    poll->mode = (enum message_poll_mode)word;
    return OPTIONS_GO_ON;
}

static int read_forward(const char *text, void *context)
{
    struct message_poll *poll = context;
    int word = find_word(forwards, text);
    if (word < 0)
        return options_misuse("'%s' is not a forwarding policy: use batch or collect", text);
    poll->given |= POLL_GIVES_FORWARD;
    poll->forward = (enum message_poll_forward)word;
    return OPTIONS_GO_ON;
}

static void print_pace(const struct message_polling *p)
{
    if (!p->on)
        printf(" (off at present)");
    else if (p->effective_ns > 0)
        printf(" (effective %s, worst %s)", units_duration((int64_t)p->effective_ns).s,
               units_duration((int64_t)p->worst_ns).s);
}

static bool take(void *context, const char *node, const struct message *answer)
{
    const struct message_polling *p = &answer->reply.polling;
    (void)context;
    printf("%s: %s", node, modes[p->mode]);
    if (p->mode == POLL_MODE_POLLING)
        printf(" every %s", units_brief_duration((int64_t)p->period_ns).s);
    print_pace(p);
    if (p->forward == POLL_FORWARD_COLLECT)
        puts(", collect: one record a poll");
    else if (p->batch > 0)
        printf(", batch: at most %s record%s a poll\n", units_count(p->batch).s, p->batch == 1 ? "" : "s");
    else
        puts(", batch: all records that wait");
    return true;
}

int cmd_poll(int argc, char **argv)
{
    struct message_command command = {.subject = SUBJECT_POLL};
    struct command_target t = {0};
    struct options o = {.program = "bezel poll",
                        .usage = "[OPTIONS] [RUN]",
                        .about = about,
                        .footer = footer,
                        .most = 1,
                        .context = &command.poll};
    const struct options_entry entries[] = {
        {"period", 0, "TIME", "the polling period: 1 us .. 10 s; where a policy adapts it, within adapt.period",
         .read = read_period},
        {"mode", 0, "MODE", "polling or busy-wait; the latter only with policy none or spp", .read = read_mode},
        {"forward", 0, "POLICY",
         "batch (a poll takes all waiting records) or collect (one record; not where the file has "
         "sensing.forward.accumulate)",
         .read = read_forward},
        {"batch", 0, "N", "with batch, the most records that a poll takes; 0: all", .read = read_batch},
        COMMAND_NODE(&t),
        COMMAND_RUNS(&t),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    command.verb = command.poll.given ? VERB_SET : VERB_QUERY;
    return code == OPTIONS_GO_ON ? command_ask(&t, o.words[0], &command, ANSWER_POLL, take, NULL) : code;
}
