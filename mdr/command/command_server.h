// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The other side of control: a daemon takes commands and answers them. The sender's key needs the role `control`.
 *
 * Invariants: (1) A daemon's life is a number that is drawn at its start, and a command names the life that it is meant
 * for. So a daemon that was started again refuses commands to the one before it. A sender learns the life from the
 * answer to a QUERY. (2) Commands of a source have growing numbers. The server keeps the last number that it passed on
 * of each source, with its answer: that number again gets the kept answer, a lower one is refused. So each command is
 * carried out at most once, however often its sender repeats it. (3) A command after its deadline is refused, since its
 * sender has given it up. (4) A QUERY changes nothing, and is passed on each time.
 *
 * Between command_server_receive() and command_server_reply() any other message may come. The repetition of a command
 * that is still being carried out gets no answer: the sender repeats it once more. The server keeps the answers of
 * COMMAND_SERVER_SOURCES sources, and a new source takes the place of the one whose last command is the oldest. A
 * repetition by that one would be carried out again, if its deadline has not passed.
 *
 * The server owns the link and its one message. A request is a plain value, which the daemon may keep until it answers.
 * One thread.
 */
#ifndef BEZEL_MDR_COMMAND_COMMAND_SERVER_H
#define BEZEL_MDR_COMMAND_COMMAND_SERVER_H

#include "mdr/link/link.h"
#include "mdr/parts.h"

enum { COMMAND_SERVER_SOURCES = 64 }; /* whose last answers are kept; further ones replace the oldest */

struct command_server;
struct message;
struct message_reply;

/** Where an answer goes: the sender of a message, and the command if it is one. Plain value. */
struct command_request {
    struct link_peer peer;
    struct message_envelope envelope;
    uint32_t id;                                         /* of the command; 0: none */
    bool changes;                                        /* it is a command, and no QUERY */
    bool may_launch;                                     /* the sender's key has the role `launch` */
    char host[LINK_HOST_MAX + 1], key[KEY_NAME_MAX + 1]; /* link_host() and key of the sender; "" over ipc */
};

/**
 * Binds the control link at `endpoint`, as link_bind() does. Returns 0 with *c for command_server_close(), or
 * link_bind()'s error.
 */
int command_server_open(const char *endpoint, const struct link_keys *keys, struct command_server **c) BEZEL_MUST_CHECK;

/** Closes it; answers in its queue may still be sent for `linger_ms`. NULL is allowed. */
void command_server_close(struct command_server *c, int linger_ms);

/** The link, to wait on. */
struct link *command_server_link(const struct command_server *c);

/** The message received last, and the one that command_server_send() sends; valid until the next of these calls. */
struct message *command_server_message(struct command_server *c);

/**
 * Takes the next message that is to be carried out, looking at `*budget` frames at most, by which *budget is reduced.
 * True: it is command_server_message(), a COMMAND, a WATCH, or with envelope.node a SETPOINT, JUDGEMENT or LOOP, and
 * *from is its sender.
 */
bool command_server_receive(struct command_server *c, int *budget, struct command_request *from);

/**
 * Sends command_server_message() to `to`. Its envelope is filled in here: `source` is the sender's trace, NULL that of
 * the daemon; run and node are those of the request. A REPLY gets its number and time. Returns 0, or an error of
 * link_send() or message_encode().
 */
int command_server_send(struct command_server *c, const struct command_request *to,
                        const uint8_t source[16]) BEZEL_MUST_CHECK;

/** Sends `reply` likewise, and keeps it as the answer to its command; logs a warning where it cannot be sent. */
void command_server_reply(struct command_server *c, const struct command_request *to, const uint8_t source[16],
                          const struct message_reply *reply);

/** Answers that the command was not carried out: `answer` is ANSWER_REFUSED, ANSWER_STALE or ANSWER_ABSENT. */
void command_server_refuse(struct command_server *c, const struct command_request *to, enum message_answer answer,
                           const char *why);

#endif
