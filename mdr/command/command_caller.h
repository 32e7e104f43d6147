// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * One side of control: commands to a daemon, and its answers. A command names the daemon's life, and a deadline on the
 * daemon's clock; both are learned from its last REPLY. So the next daemon does not carry out a command that waited in
 * a queue for the last one, and none is carried out much later.
 *
 * A link over tcp on which nothing comes any more is made anew: the kernel would wait for minutes before it tries a
 * connection again that was cut, and a name may have another address by then. Where there are proxies, it goes to
 * the first one of them, then to the next, and after the last one to the daemon itself. One thread.
 */
#ifndef BEZEL_MDR_COMMAND_COMMAND_CALLER_H
#define BEZEL_MDR_COMMAND_COMMAND_CALLER_H

#include "base/clock.h"
#include "mdr/bounds.h"
#include "mdr/link/link.h"
#include "mdr/parts.h"

struct message;

#define COMMAND_CALLER_DEADLINE (5 * CLOCK_S) /* for a command to be taken by its daemon */
#define COMMAND_CALLER_SILENCE                                                                                         \
    (5 * CLOCK_S)                        /* without an answer over tcp for that long, the link is made anew; ...       \
                                          */
#define COMMAND_CALLER_TRY (2 * CLOCK_S) /* ... where there are proxies and it has had no answer yet, for that long */

enum { COMMAND_CALLER_PROXIES_MAX = 1024 };

struct command_caller {
    struct link *link; /* NULL: closed */
    char endpoint[LINK_ENDPOINT_MAX];
    char proxies[COMMAND_CALLER_PROXIES_MAX];
    unsigned links; /* that were made: each goes to the next proxy, and the last one to `endpoint` */
    struct link_keys keys;
    bool keyed;
    bool met;        /* a link before this one was connected, whoever listened there */
    int64_t linked;  /* when the link was made, ns */
    int64_t waiting; /* since when something was sent and nothing has come, ns; 0: something has come since */
    uint8_t source[16], run[16];
    struct message_leadership owner; /* of its commands; the caller sets it. Epoch 0: they are no `bezel run`'s */
    char node[MESSAGE_NAME_MAX + 1];
    uint32_t id;    /* of the last command; 0: there was none */
    uint64_t life;  /* of the daemon; 0: it has not answered yet */
    uint64_t ahead; /* its clock less ours at least, modulo 2^64; meaningful where life is not 0 */
};

/** How a caller reaches the daemon. NULL: without. */
struct command_caller_access {
    const char *own, *server; /* files of keys: its own secret key, and the public key of the daemon */
    const char *proxies;      /* endpoints that lead to it as well, separated by blanks (collector/proxy_server.h) */
};

/**
 * Connects to the daemon at `endpoint`, now or once it serves, as link_connect() does, for commands to the session of
 * `run` and `node`, or with an empty `node` to the daemon as a whole. Over ipc keys and proxies are not used. Returns 0
 * with *c for command_caller_close(), or the error of link_keys_open(), which has logged it, or of link_connect().
 */
int command_caller_open(struct command_caller *c, const char *endpoint, struct command_caller_access access,
                        const uint8_t run[16], const char *node) BEZEL_MUST_CHECK;

/** Whether somebody listens at the endpoint of a caller with keys, though it may be no daemon of Bezel. */
bool command_caller_is_met(const struct command_caller *c);

/**
 * Whether the link has been silent for so long that the next command, or telling, makes it anew. Where the life of the
 * daemon is not known (`life` 0), no command was sent over it but QUERY, so sending the same again carries out nothing
 * twice.
 */
bool command_caller_is_lost(const struct command_caller *c);

/** Closes the link; commands in its queue may still be sent for `linger_ms`. Idempotent. */
void command_caller_close(struct command_caller *c, int linger_ms);

/**
 * Sends m->command, with m->configure where it is one; envelope, number and deadline are filled in here. Returns the
 * number of the command, 1 or more; 0 if the daemon's life is not known yet: then a QUERY was sent in its place, and
 * the caller repeats the command after the REPLY; or an error of link_send() or message_encode(), and BEZEL_EUNREACH
 * where the link is closed.
 */
int command_caller_send(struct command_caller *c, struct message *m) BEZEL_MUST_CHECK;

/**
 * Sends what is no command: WATCH, SETPOINT, JUDGEMENT and LOOP. The envelope is filled in here. Returns 0, or an error
 * as above.
 */
int command_caller_tell(struct command_caller *c, struct message *m) BEZEL_MUST_CHECK;

/**
 * Takes the next message of the daemon, and learns its life and clock: 0 with *m; BEZEL_EVERSION, and *m is a REFUSE;
 * BEZEL_EAGAIN if there is none; BEZEL_EMALFORMED if the bytes are no message, or not one of control.
 */
int command_caller_receive(struct command_caller *c, struct message *m) BEZEL_MUST_CHECK;

#endif
