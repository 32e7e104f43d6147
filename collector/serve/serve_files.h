// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The files of a run that go to one mirror: streams, of which whole packets are sent as they grow, and files that are
 * sent whole.
 *
 * A stream is offered by FILE, and waits for HAVE, which says where the mirror is. From there on its packets are sent,
 * in order, checked by their chain (trace_reader.h). Three things may happen to it in between. Packets expire: then it
 * is offered again with the new cover. Its file becomes shorter, after a loss of power there: it is offered again, and
 * HAVE decides. It is damaged: it is offered again with the reason, and tried again when the file has changed.
 *
 * A packet is sent only if the dictionary that it uses is in the model, which is never newer than the rows that the
 * mirror has (serve_mirror.h). So in a mirror, as in the run itself, the database explains what the files hold.
 *
 * One thread; blocks on the disk and, while the mirror takes nothing, on the socket.
 */
#ifndef BEZEL_COLLECTOR_SERVE_SERVE_FILES_H
#define BEZEL_COLLECTOR_SERVE_SERVE_FILES_H

#include "collector/serve/serve_socket.h"
#include "run/read/run_streams.h"
#include "run/store/trace_reader.h"

enum {
    SERVE_FILES_OFFERS = 64,     /* that wait for HAVE at a time, so what comes up has room in the socket */
    SERVE_FILES_TURN = 4 << 20,  /* bytes of streams that are sent in a turn, about */
    SERVE_FILES_WHOLE = 1 << 30, /* bytes of a file that is sent whole, at most */
};

struct serve_file;

struct serve_files {
    struct serve_socket *socket;
    struct run_streams found;
    uint64_t behind, rest; /* bytes that are stored and not sent; of these such as are no complete packets */
    uint64_t cut;          /* streams that are damaged, and sent up to there */
    bool unexplained;      /* a packet waits for a newer model */

    /* Private. */
    struct serve_file *list;
    uint32_t count;
    uint32_t *whole;                  /* numbers of the files that are sent whole */
    uint32_t whole_count, whole_next; /* whole_next: which of them is looked for next, most likely */
    uint32_t next;                    /* of the list: whose turn it is */
    uint32_t offers;
    uint64_t looks, left; /* calls of serve_files_look(); bytes left of the turn */
    struct trace_part part;
    struct read_bytes piece; /* that is gathered */
    uint8_t gathered[READ_BYTES_MAX], buffer[PACKET_MAX_BYTES];
};

/** Loads the model of run directory `run`; *f is otherwise all zeros. Returns as run_streams_init(). */
int serve_files_init(struct serve_files *f, const char *run, struct serve_socket *socket) BEZEL_MUST_CHECK;
void serve_files_fini(struct serve_files *f);

/** Looks for new streams, and brings the model up to date. Returns 0 or an error. */
int serve_files_look(struct serve_files *f) BEZEL_MUST_CHECK;

/** Measures all streams, or those that may still grow alone. Returns whether one of them has changed. */
bool serve_files_measure(struct serve_files *f, bool all);

/** Looks into all streams for what has expired, which a measurement may miss: once nothing expires any more. */
void serve_files_look_for_covers(struct serve_files *f);

/** Sends the files that are sent whole, as far as they have changed. Returns 0, SERVE_GONE or an error. */
int serve_files_send_whole(struct serve_files *f) BEZEL_MUST_CHECK;

/** Takes an answer of the mirror. Returns as serve_files_send_whole(), or BEZEL_EMALFORMED. */
int serve_files_take(struct serve_files *f, const struct read_have *have) BEZEL_MUST_CHECK;

/**
 * Offers streams, and sends packets, up to where the streams were measured, for one turn. Returns 0 with *more: there
 * is more to send, or an answer is to come; SERVE_GONE or an error.
 */
int serve_files_send(struct serve_files *f, bool *more) BEZEL_MUST_CHECK;

/**
 * Marks where the streams end by now, as they were measured; later: whether the mirror has been sent all up to there.
 */
void serve_files_mark(struct serve_files *f);
bool serve_files_passed(const struct serve_files *f);

/** Whether answers of the mirror are to come. */
static inline bool serve_files_waits(const struct serve_files *f)
{
    return f->offers > 0;
}

#endif
