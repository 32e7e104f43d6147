// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Commands to daemons, and sessions of a bezeld, as `bezel run` does it: for tests that do without. One thread. */
#ifndef BEZEL_TESTS_LIB_BEGIN_H
#define BEZEL_TESTS_LIB_BEGIN_H

#include "mdr/command/command_caller.h"
#include "mdr/message.h"

/**
 * Sends m->command to the daemon of `c`, once it is known, and waits for its reply for `patience` ns at most. True: the
 * reply is in *m, or a REFUSE.
 */
bool begin_command(struct command_caller *c, struct message *m, int64_t patience);

struct begin {
    struct command_caller caller;
    struct message message; /* CONFIGURE is what the caller filled into message.configure; then the answer */
    uint8_t run[16];
    char node[MESSAGE_NAME_MAX + 1];
};

/** Fills the CONFIGURE; `uuid` as text. False: it is none. */
bool begin_fill(struct begin *b, const char *experiment, const char *node, const char *folder, const char *uuid,
                const char *collector);

/** Connects to the bezeld at `control`, and asks it once. */
bool begin_ask(struct begin *b, const char *control, struct command_caller_access access);

/**
 * Asks again until there is an answer, for `patience` ns at most. True: the session serves; false: it was refused, with
 * the reason in message.reply.text, or "" where no answer came.
 */
bool begin_await(struct begin *b, int64_t patience);

/** Lets go of the link. */
void begin_close(struct begin *b);

#endif
