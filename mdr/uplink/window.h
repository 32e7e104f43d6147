// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The window: packets wait here until they are acknowledged. It is a file `<BEZEL_DIR>/window` in shared memory, and
 * survives a crash of its daemon. A packet is in the window, complete and unchanging, from the release store of
 * `written` on. The next daemon finds the packets, and computes the state of each stream from them.
 *
 * Crash rules, for a kill between any two stores: (1) a packet becomes visible by one store; (2) what a stream's freed
 * packets amounted to is saved in its entry before `freed` moves past them, and saving twice changes nothing; (3) a
 * stream's state is its entry plus the packets still in the window. So no record is packetized twice, and no packet is
 * lost.
 *
 * One owner. Another thread changes only the reference count of a packet (ZeroMQ's, when it has sent it).
 */
#ifndef BEZEL_MDR_UPLINK_WINDOW_H
#define BEZEL_MDR_UPLINK_WINDOW_H

#include "base/err.h"
#include "base/folder.h"
#include "mdr/packet.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct window;

enum {
    WINDOW_STREAMS = 4096,
    WINDOW_PROCESSES = 1024,
    WINDOW_BYTES_MIN = 1 << 20,
    WINDOW_SHARE = 8,
    WINDOW_PACKET_BYTES = 1 << 18, /* the longest packet of a window */
};

/** The state of a stream, with all its packets. Owned by the window; only functions of this header change it. */
struct window_stream {
    uint64_t instance;
    uint32_t ring;
    uint32_t stream_id;
    uint64_t next_seq, next_ordinal, discarded;
    uint64_t reduced;     /* of these: records that ended at a reducer */
    uint64_t last_ns;     /* timestamp_end of its last packet */
    uint64_t acked_seq;   /* every packet before it is acknowledged */
    uint64_t sent_seq;    /* no packet from it on was ever sent, as far as known: acked_seq <= sent_seq <= next_seq */
    uint64_t held;        /* bytes of the window that its packets take up */
    uint64_t spooled_seq; /* every packet before it that is not acknowledged is in the spool; 0: none ever was */
    bool used, closed;
    bool torn; /* some of its packets are lost: later ones cannot be stored, and are dropped */
};

/** A packet in the window. */
struct window_packet {
    _Atomic uint32_t references; /* queues that still read it */
    uint32_t stream;             /* number of its stream */
    uint32_t bytes;              /* of the packet; 0: filler up to the end of the buffer */
    uint32_t reserved;
    uint8_t data[];
};

/**
 * Opens the window in `folder`, which it borrows, of at least `bytes` bytes for packets: the one that a crashed daemon
 * of the same run and trace left, with its packets, else a new one. *left receives the number of unacknowledged packets
 * of another run that were dropped. Returns 0 with *w for window_close(); BEZEL_EBUSY where a living daemon owns it;
 * BEZEL_ENOSPC, BEZEL_EPERM, ...
 */
int window_open(const struct folder *folder, const uint8_t run[16], const uint8_t uuid[16], uint64_t bytes,
                struct window **w, uint64_t *left) BEZEL_MUST_CHECK;

/**
 * Closes it; with `remove`, removes the file. NULL is allowed. No queue may hold a packet any more: window_is_read()
 * returns whether one does, and reads every packet for it.
 */
void window_close(struct window *w, bool remove);
bool window_is_read(const struct window *w);

/**
 * The stream id of process `instance`: the one it has, else the next. BEZEL_EFULL where there are too many processes.
 */
int window_stream_id(struct window *w, uint64_t instance, uint32_t *stream_id) BEZEL_MUST_CHECK;

/** The number of the stream of `ring` of `instance`, or BEZEL_ENOENT. */
int window_find(const struct window *w, uint64_t instance, uint32_t ring);

/** Adds a stream whose next ordinal is `ordinal`. Returns its number, or BEZEL_EFULL. */
int window_add_stream(struct window *w, uint64_t instance, uint32_t ring, uint32_t stream_id,
                      uint64_t ordinal) BEZEL_MUST_CHECK;

/** Stream `i`; valid until the window closes. */
struct window_stream *window_stream(struct window *w, uint32_t i);

/**
 * Whether a packet of stream `i` is still in the window, acknowledged or not (an older packet can keep it there), or in
 * the spool without an acknowledgement.
 */
bool window_holds(const struct window *w, uint32_t i);

/** Removes a process and its streams; the window holds no packet of it any more. */
void window_forget(struct window *w, uint64_t instance);

/** Reserves room for a packet of up to `bytes`. Returns its place until the next call; NULL: the window is full. */
uint8_t *window_reserve(struct window *w, uint32_t bytes);

/**
 * Whether stream `i` may take `bytes` more of the window: a stream that holds some of it already takes no more than
 * WINDOW_SHARE times what is then still free. So one flooding stream leaves a ninth of the window to the others, and n
 * of them leave 1 in 8 n + 1. A stream that holds nothing may take all that is free. */
bool window_shares(const struct window *w, uint32_t i, uint32_t bytes);

/** Puts the packet written at the reserved place into the window, as the next of stream `i`; `h`: its header. */
void window_commit(struct window *w, uint32_t i, const struct packet_header *h);

/** Marks packets of stream `i` before `next_seq` as sent; acknowledgements of later ones are impossible. */
void window_sent(struct window *w, uint32_t i, uint64_t next_seq);

/** Every packet of stream `i` before `next_seq` is stored; an impossible `next_seq` is ignored. */
void window_acknowledge(struct window *w, uint32_t i, uint64_t next_seq);

/**
 * Frees packets from the oldest on, as long as they are acknowledged and no queue reads them. Calls `gone`, but
 * for NULL, before it frees a packet that is stored, but not for packets moved to the spool.
 */
void window_free_each(struct window *w, void (*gone)(void *context, const struct packet_header *h), void *context);

/** Walks the packets: the one at position *at (start with window_oldest()), or NULL at the end; *at moves behind it. */
uint64_t window_oldest(const struct window *w);
uint64_t window_end(const struct window *w);
struct window_packet *window_next(struct window *w, uint64_t *at);

/**
 * Marks `instance` as closing, for the next daemon too: no further session of it begins. ALIVE: it lived, and the run
 * had not ended in order.
 */
enum window_left { WINDOW_NOT_LEFT = 0, WINDOW_LEFT = 1, WINDOW_LEFT_ALIVE = 2 };
void window_leave(struct window *w, uint64_t instance, enum window_left how);
enum window_left window_left(const struct window *w, uint64_t instance);

/**
 * Combines `uuid` with the birth of the window: `birth` if this daemon has created it and this is the first call, else
 * the birth stored in it. So a window has a trace of its own, distinct from an earlier window of the same run and uuid,
 * whose stream states were removed with it. Returns whether this daemon has created the window.
 */
bool window_trace(struct window *w, uint32_t birth, uint8_t uuid[16]);

/** The birth of the window, of whichever daemon created it. */
uint32_t window_birth(const struct window *w);

/** Whether the window in folder `dir` is one of run `run` and of trace `trace`, as window_trace() made it. */
bool window_is_of(const char *dir, const uint8_t run[16], const uint8_t trace[16]);

/** Records in packets that are not freed yet. */
uint64_t window_records(const struct window *w);

/**
 * For the spool. ..._take_back(): packet `seq` of stream `i` was found in the spool of an earlier daemon; false if that
 * is impossible. ..._spooled(): packets before `next_seq` are in the spool, and may leave the window. ..._tear(): the
 * stream has lost packets, see `torn`, for the next daemon too.
 */
bool window_take_back(struct window *w, uint32_t i, uint64_t seq);
void window_spooled(struct window *w, uint32_t i, uint64_t next_seq);
void window_tear(struct window *w, uint32_t i);

/** Whether a stream in it is torn. */
bool window_is_torn(const struct window *w);

/** The sequence number of the first packet of stream `i` that is in the window, or will be. */
uint64_t window_first(const struct window *w, uint32_t i);

/** Bytes that it can hold. */
uint64_t window_capacity(const struct window *w);

/**
 * Bytes that a packet should not exceed: WINDOW_PACKET_BYTES, or a sixteenth of the window where that is less. So
 * several streams find room at once, and a packet fits if a quarter of the window is free.
 */
uint32_t window_packet_bytes(const struct window *w);

/** Bytes that wait for an acknowledgement. */
uint64_t window_waiting(const struct window *w);

/** The mapped memory of the window, to be locked; *size in bytes. */
void *window_memory(struct window *w, size_t *size);

#endif
