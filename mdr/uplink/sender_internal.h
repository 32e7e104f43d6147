// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** State and functions that the files of the sender share; sender.h is its interface. */
#ifndef BEZEL_MDR_UPLINK_SENDER_INTERNAL_H
#define BEZEL_MDR_UPLINK_SENDER_INTERNAL_H

#include "mdr/message.h"
#include "mdr/uplink/backoff.h"
#include "mdr/uplink/direct.h"
#include "mdr/uplink/send_queue.h"
#include "mdr/uplink/sender.h"

/*
 * States of the connection:
 *
 *     WAITING   no link; the next attempt is due at `until`
 *     GREETING  a new link, HELLO was sent; given up at `until`
 *     UP        WELCOME arrived, with what is stored: sending starts at the oldest packet that is not
 *     REFUSED, DONE  the end; a refusal that answers HELLO is one only where each endpoint has refused since the last
 * WELCOME
 *
 * Invariants: (1) a HELLO is sent on a new link, or on one where the HELLO before it was answered completely, so that
 * all answers belong to the latest one; (2) a packet is sent at most once after a HELLO: if the receiver misses one,
 * HELLO is sent again, and its WELCOME, which is behind all that was sent before, states where to start; (3) at most
 * `credit` bytes of packets are sent after a HELLO and not acknowledged, but always one packet; (4) a packet is
 * acknowledged only by a position that is not beyond what was ever sent of its stream.
 */
enum sender_state { WAITING, GREETING, UP, REFUSED, DONE };

/**
 * How packets go: by the link; or directly, once the receiver has agreed. One way at a time: it changes only while no
 * packet waits for an acknowledgement, so packets of a stream never overtake each other.
 */
struct sender_direct {
    struct direct_offer offer; /* without a page: packets take the link */
    bool by_link;              /* from now on */
    bool agreed;               /* on this connection */
    int64_t answer_by;         /* the receiver was asked, and packets wait for its answer until then; 0: they do not */
    bool used;                 /* the last packet went so */
    bool lost;                 /* the receiver has given it up, or the offer ended: HELLO is to be said again */
    uint64_t said;             /* messages that went over the link since the receiver was asked */
    uint64_t offered;          /* position up to which packets are offered */
    uint64_t oldest;           /* position of the first one that is not acknowledged */
    int64_t waits_at;          /* since when it is */
    bool in_vain;              /* acknowledgements came since then */
    int64_t next;              /* sender_next() */
    uint32_t stream_end;       /* the numbers of all streams that were ever offered are below this */
    struct {
        uint64_t instance;
        uint32_t ring;
    } streams[WINDOW_STREAMS];      /* to which acknowledgements with this number belong */
    char why[MESSAGE_TEXT_MAX + 1]; /* why packets take the link; "": the receiver is elsewhere, or agreed */
};

/** What was sent about a process. */
struct sender_process {
    uint64_t instance;
    uint64_t books_at;     /* `at` of its final books */
    uint32_t version;      /* of its description */
    bool described, final; /* on this connection: its description, and its final books, were sent */
};

struct sender {
    struct uplink_source source;
    struct window *window;                             /* the source's */
    struct sender_process processes[WINDOW_PROCESSES]; /* by place */
    bool welcomed[WINDOW_STREAMS]; /* this connection's WELCOME has a usable position of the stream */
    struct send_queue send_queue;
    struct sender_direct direct;
    struct link *link; /* NULL while waiting */
    char endpoints[SENDER_ENDPOINTS_MAX][LINK_ENDPOINT_MAX];
    unsigned endpoint_count, endpoint;   /* endpoint: the one in use */
    bool refusing[SENDER_ENDPOINTS_MAX]; /* those that have answered HELLO by a refusal since the last WELCOME */
    const struct link_keys *keys;
    struct message_hello hello;
    enum sender_state state;
    bool moved; /* the next WELCOME may be of another receiver, which lacks what the last one has stored */
    bool bye_sent;
    bool given_up; /* packets are not sent any more, final books are */
    int64_t until; /* end of WAITING and GREETING; 0: counts from the next step */
    int64_t received_at, sent_at, books_at;
    int64_t look_at;               /* in UP: when to receive next */
    int64_t look;                  /* ns between two of these times while acknowledgements are expected */
    int64_t again_at;              /* no HELLO for the receiver's positions before this time */
    struct backoff attempts, asks; /* pauses between attempts, and between sender_ask_again() */
    int64_t low, low_at;           /* the low watermark that was sent or offered last on this connection, and when */
    int64_t packet_at;             /* when the last packet was sent or offered */
    uint32_t notes_sent;           /* notes that were sent on this connection */
    uint64_t unobserved_sent;      /* of the node's own books, on this connection */
    uint64_t unobserved_saved;     /* likewise, as far as the receiver has saved it */
    uint64_t node_books_at;        /* `at` of the node's last books */
    uint64_t credit;               /* bytes */
    struct sender_counts counts;
    struct sender_clock clock;
    char refused[MESSAGE_TEXT_MAX + 1];
    struct message message; /* scratch: too large for the stack */
    uint8_t bytes[MESSAGE_MAX_BYTES];
};

/** Sends f->message. False: the queue is full, or the message cannot be encoded, which is logged. */
bool sender_message(struct sender *f, int64_t now);

/** Whether the next low watermark is due; `others`: other messages go now. */
bool sender_low_is_due(const struct sender *f, bool others, int64_t now);

/** Sends packets as far as the credit allows, the description of a process before its first packet. */
void sender_packets(struct sender *f, int64_t now);

/** What was sent about process `p` on this connection: zeros if nothing was. */
struct sender_process *sender_sent(struct sender *f, const struct uplink_process *p);

/**
 * Asks the receiver whether packets can pass directly, where it has the same clock as this machine. Each time there is
 * a new page: what an earlier receiver still says in the one before, nobody hears, and it finds nothing offered there.
 */
void sender_ask_direct(struct sender *f, int64_t now);

/** Takes the receiver's answer, or the invitation of an inner collector on this machine, whose root is elsewhere. */
void sender_take_direct(struct sender *f, const struct message_direct *m, int64_t now);

/** Whether a packet may be sent now, by the way that f->direct.used says then. */
bool sender_may_go(struct sender *f, const struct send_queue_packet *packet, int64_t now);

/** Offers the packets that were sent since the last time, and the low watermark. */
void sender_offer(struct sender *f, int64_t now);

/** Takes acknowledgements of packets that passed directly. */
void sender_direct_acknowledged(struct sender *f, int64_t now);

/** Packets that are offered are about to move to the spool: the offer ends, and HELLO is said again. */
void sender_withdraw(struct sender *f);

/** Ends the direct way on this connection. */
void sender_leave_direct(struct sender *f);

/** Sends every note once on each connection. False: some are left. */
bool sender_notes(struct sender *f, int64_t now);

/**
 * Sends books: of living processes once a second; final ones once on a connection, when all packets of the process are
 * acknowledged. The source keeps a process until its final books are saved. The node's own books are sent first, if
 * they have changed. True: all books are final, and sent.
 */
bool sender_books(struct sender *f, int64_t now);

/** Receives messages, and changes `state` and `until` as they require. */
void sender_receive(struct sender *f, int64_t now);

/**
 * If packets in the spool of an earlier daemon were lost: finds the streams that lack packets, by the positions of a
 * complete WELCOME, and gives them up.
 */
void sender_tear(struct sender *f, int64_t now);

/** The receiver refuses, as f->message says: another endpoint is tried, or it is the end. */
void sender_take_refusal(struct sender *f, int64_t now);

/** WELCOME is complete. */
void sender_come_up(struct sender *f, int64_t now);

/** The receiver lacks packets that were sent: says HELLO again to get its positions, but not too often. */
void sender_ask_again(struct sender *f, int64_t now);

#endif
