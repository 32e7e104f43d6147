// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What the nodes of a run answer to QUERY: status RUN-DIRECTORY KEY prints the sum of their values of KEY. */
#include "ecs/course/control_client.h"
#include "mdr/message.h"

#include "base/exit_code.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sum {
    const char *key;
    int64_t value;
};

static int64_t value_of(const struct message_node_status *s, const char *key)
{
    const struct {
        const char *key;
        uint64_t value;
    } values[] = {{"processes", s->processes},
                  {"window_bytes", s->window_bytes},
                  {"lost_spool", s->lost_spool},
                  {"lost_reducer", s->lost_reducer},
                  {"poll_on", s->period_ns != 0},
                  {"period_ns", s->period_ns},
                  {"manager_held", s->manager.held},
                  {"manager_epoch", s->manager.epoch},
                  {"manager_applied", s->manager.applied}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(values[i].key, key) == 0)
            return (int64_t)values[i].value;
    fprintf(stderr, "status: the status has no %s\n", key);
    exit(EXIT_USAGE);
}

static bool add(void *context, const char *node, const struct message *answer)
{
    struct sum *sum = context;
    (void)node;
    sum->value += value_of(&answer->reply.node, sum->key);
    return true;
}

int main(int argc, char **argv)
{
    struct control_client r;
    if (argc != 3)
        return EXIT_USAGE;
    struct sum sum = {.key = argv[2]};
    int code = control_client_open(argv[1], CONTROL_CLIENT_NODES, NULL, &r);
    if (code != EXIT_OK)
        return code;
    code = control_client_ask(&r, &(struct message_command){.verb = VERB_QUERY}, ANSWER_NODE, add, &sum);
    control_client_close(&r);
    printf("%" PRId64 "\n", sum.value);
    return code;
}
