// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Packets that wait to be sent or acknowledged: the spool, if there is one, and then the window, as one queue in order.
 * Part of the sender; one owner, one thread.
 *
 * When the window is more than three quarters full, its oldest packets move to the end of the spool, some at
 * a time, until it is half full. So of each stream the spool has the older packets, and the queue keeps the order of
 * every stream.
 *
 * Which packets of a stream are acknowledged, and which moved, says the stream's entry in the window (`acked_seq`,
 * `spooled_seq`), which survives a kill. A packet is freed, at either place, once it is acknowledged. A move writes to
 * the spool first, and then notes it in the entry and frees the packet in the window. A kill in between leaves the
 * packet at both places: the next daemon reads the spool, and takes back into the entry what it finds there, so the
 * window's packet is passed over.
 *
 * `spool_sending` and `sending` say what was sent on this connection; a new connection begins at the oldest packet
 * again. A packet that moves after it was sent counts as sent in the spool too.
 *
 * A write that fails loses nothing: the packet stays in the window, and the next attempt is made half a second later,
 * or, if the spool has reached its size, as soon as it has room. A packet that cannot be read back from the spool is
 * lost, and noted. Each call does a bounded part of the work.
 */
#ifndef BEZEL_MDR_UPLINK_SEND_QUEUE_H
#define BEZEL_MDR_UPLINK_SEND_QUEUE_H

#include "mdr/uplink/spool.h"
#include "mdr/uplink/uplink.h"

/** The source's low watermark, and the end of the window then. */
struct send_queue_mark {
    uint64_t window;
    int64_t low;
};

enum { SEND_QUEUE_MARKS = 32 };

struct send_queue {
    struct uplink_source source;
    struct window *window;            /* the source's */
    struct spool *spool;              /* NULL: none */
    uint64_t spool_sending, sending;  /* positions: packets before them were sent on this connection */
    uint64_t spool_next, window_next; /* behind the packet that send_queue_next() found */
    int64_t now;                      /* time of the present send_queue_free() or ..._move() */
    int64_t retry_at;                 /* after an error of the disk: time of the next try */
    bool full;                        /* the last move found no room in the spool */
    bool damaged;                     /* the spool that was found is doubtful: packets may be missing from it */
    uint8_t *buffer;                  /* for a packet that is read back; NULL without a spool */
    unsigned mark_count;
    struct send_queue_mark marks[SEND_QUEUE_MARKS]; /* in order; if there are too many, the latest ones become one */
};

/** The next packet to send. */
struct send_queue_packet {
    struct packet_header header;
    uint32_t stream; /* its number in the window */
    const uint8_t *data;
    uint32_t bytes;
    struct window_packet *in_window; /* NULL: it is in the spool, and `data` is valid until the next call */
};

/**
 * Opens the send queue of `source`, which is copied. If `spool_bytes` is not 0, also opens a spool of that size in
 * folder `spool_dir`, where packets of an earlier daemon may wait; adds a note about packets lost there. Returns 0, an
 * error of spool_open(), or BEZEL_ENOMEM.
 */
int send_queue_open(struct send_queue *b, const struct uplink_source *source, const char *spool_dir,
                    uint64_t spool_bytes, int64_t now) BEZEL_MUST_CHECK;

/** Closes it. The spool stays for the next daemon; with `discard`, it is removed. */
void send_queue_close(struct send_queue *b, bool discard);

/** Starts again at the oldest packet, for a new connection. */
void send_queue_rewind(struct send_queue *b);

/** Finds the oldest packet that is neither sent on this connection nor acknowledged. False: there is none. */
bool send_queue_next(struct send_queue *b, struct send_queue_packet *p, int64_t now);

/** Notes the source's low watermark: it holds once all that the window has now was sent. */
void send_queue_mark(struct send_queue *b, int64_t low);

/**
 * The low watermark of what was sent on this connection, ns; 0: none is known, or packets of the spool are to be sent
 * first.
 */
int64_t send_queue_low(struct send_queue *b);

/** Packet `p`, which send_queue_next() found, was sent. */
void send_queue_sent(struct send_queue *b, const struct send_queue_packet *p);

/** Bytes sent on this connection and not freed; the same, with the packet that send_queue_next() found. */
uint64_t send_queue_unacknowledged(const struct send_queue *b);
uint64_t send_queue_with_next(const struct send_queue *b);

/** Bytes that are not freed: in window and spool; in the spool. */
uint64_t send_queue_waiting(const struct send_queue *b);
uint64_t send_queue_spooled(const struct send_queue *b);

/** Frees acknowledged packets: in the spool at most SEND_QUEUE_TURN. */
void send_queue_free(struct send_queue *b, int64_t now);

/**
 * If more than three quarters of the window wait, moves packets to the spool until half is free or
 * SEND_QUEUE_TURN_BYTES are moved. So a window of more than four times that is kept at three quarters, and only a small
 * one becomes half free.
 */
void send_queue_move(struct send_queue *b, int64_t now);

/** Whether send_queue_move() would move packets: no receiver may read them in the window any more. */
bool send_queue_must_move(const struct send_queue *b, int64_t now);

enum { SEND_QUEUE_TURN = 256, SEND_QUEUE_TURN_BYTES = 256 << 10 };

#endif
