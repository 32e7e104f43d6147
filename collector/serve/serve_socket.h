// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The socket between the server and one of its readers, at the reader's end: messages of mdr/read.x, one a packet. A
 * message that the server does not take yet blocks. One thread.
 */
#ifndef BEZEL_COLLECTOR_SERVE_SERVE_SOCKET_H
#define BEZEL_COLLECTOR_SERVE_SERVE_SOCKET_H

#include "mdr/read_message.h"

#include <stddef.h>
#include <sys/types.h>

enum { SERVE_READER_FD = 3 }; /* the reader's end */
enum { SERVE_GONE = 1 };      /* nobody takes what is sent any more; other results are 0 and errors */

struct serve_socket {
    int fd;
    struct read_end end;         /* as it is known so far */
    struct read_message message; /* to be sent by serve_socket_send() */
    size_t received;             /* bytes of the message that came last */
    uint8_t bytes[READ_FRAME_MAX];
};

/**
 * Starts `program` (bezel-serve) as a reader of run directory `run`: *fd is the server's end of its socket. Returns 0,
 * or an error with errno, and *fd -1.
 */
int serve_socket_start_reader(const char *program, const char *run, int *fd, pid_t *pid) BEZEL_MUST_CHECK;

/** Sends `n` bytes; or s->message. Returns 0, SERVE_GONE, or an error. */
int serve_socket_put(struct serve_socket *s, const uint8_t *bytes, size_t n) BEZEL_MUST_CHECK;
int serve_socket_send(struct serve_socket *s) BEZEL_MUST_CHECK;

/**
 * Waits up to `ns` (-1: for ever) for a message of the server, and takes it: *m borrows s->bytes. Returns 1; 0: none
 * came; BEZEL_EUNREACH where the server wants no more than what is stored by now, or is gone; or BEZEL_EMALFORMED.
 */
int serve_socket_receive(struct serve_socket *s, int64_t ns, struct read_message *m) BEZEL_MUST_CHECK;

/** Waits up to `ns`. Returns whether the server wants no more than what is stored by now. For one that sends nothing.
 */
bool serve_socket_is_ending(const struct serve_socket *s, int64_t ns);

/** Notes why it ends: by `err`, with a sentence. Returns `err`. */
int serve_socket_end(struct serve_socket *s, int err, const char *format, ...) BEZEL_PRINTF(3, 4);

/** The same, for a run that cannot be read; and for a server that ends before the run. Return `err` and 0. */
int serve_socket_end_unread(struct serve_socket *s, int err);
int serve_socket_end_stopped(struct serve_socket *s);

/** Sends END. */
int serve_socket_send_end(struct serve_socket *s) BEZEL_MUST_CHECK;

#endif
