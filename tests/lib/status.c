// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What the nodes of a run answer to *status*: status RUN-DIRECTORY KEY prints the sum of their values of KEY. */
#include "ecs/commands.h"
#include "ecs/reach.h"

#include <inttypes.h>
#include <stdio.h>

struct sum {
    const char *key;
    int64_t value;
};

static bool add(void *context, const char *node, const struct message_reply *reply)
{
    struct sum *sum = context;
    (void)node;
    sum->value += message_reply_get(reply, sum->key, 0);
    return true;
}

int main(int argc, char **argv)
{
    struct reach r;
    if (argc != 3)
        return EXIT_USAGE;
    struct sum sum = {.key = argv[2]};
    int code = reach_open(argv[1], NULL, &r);
    if (code != EXIT_HELD)
        return code;
    code = reach_ask(&r, &(struct message_command){.verb = VERB_STATUS}, add, &sum);
    reach_close(&r);
    printf("%" PRId64 "\n", sum.value);
    return code;
}
