// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * bench-command ENDPOINT RUN NODE KEY SERVER: the time from a command to a node's answer, over tcp with keys, one
 * command after the other. RESUME is one that is numbered, judged and carried out, and changes nothing.
 */
#include "base/clock.h"
#include "base/uuid.h"
#include "mdr/command/command_caller.h"
#include "mdr/message.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 2000 };

#define PATIENCE (5 * CLOCK_S)

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Whether the answer to command `id` came; 0: any answer. */
static bool await(struct command_caller *c, struct message *m, int id)
{
    int64_t deadline = clock_now() + PATIENCE;
    while (clock_now() < deadline) {
        (void)link_wait(&c->link, 1, NULL, 0, CLOCK_S);
        while (command_caller_receive(c, m) != BEZEL_EAGAIN)
            if (m->type == MESSAGE_REPLY && (id == 0 || m->reply.id == (uint32_t)id))
                return m->reply.answer == ANSWER_NODE || id == 0;
    }
    return false;
}

int main(int argc, char **argv)
{
    static double took[ROUNDS];
    static struct message m;
    struct command_caller caller;
    uint8_t run[16];
    if (argc != 6 || !uuid_read(argv[2], run))
        return 2;
    if (command_caller_open(&caller, argv[1], (struct command_caller_access){argv[4], argv[5], NULL}, run, argv[3]) !=
        0)
        return 1;
    for (int i = -1; i < ROUNDS; i++) { /* the first one asks the daemon for its life */
        m.command = (struct message_command){.verb = VERB_RESUME};
        int64_t before = clock_now();
        int id = command_caller_send(&caller, &m);
        if (id < 0 || !await(&caller, &m, id)) {
            fputs("bench-command: no answer\n", stderr);
            return 1;
        }
        if (i >= 0)
            took[i] = (double)(clock_now() - before) / (double)CLOCK_MS;
    }
    qsort(took, ROUNDS, sizeof *took, by_value);
    printf("command_round_trip_ms %.3f ms\ncommand_round_trip_p99_ms %.3f ms\n", took[ROUNDS / 2],
           took[ROUNDS * 99 / 100]);
    command_caller_close(&caller, 0);
    return 0;
}
