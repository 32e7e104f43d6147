// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The window: cut packets wait here until they are acknowledged. A file `<BEZEL_DIR>/window` in shared memory, so that
 * it survives a crash of its daemon: a packet is in the window from the release store of `written` on, whole, and never
 * changes. Its next life finds the packets and, by reading them, where each stream stands.
 *
 * Crash rules, for a kill between any two stores: (1) a packet becomes visible by one store; (2) what a stream's freed
 * packets amounted to is saved in its entry before `freed` moves past them, and saving twice changes nothing; (3) a
 * stream's state is its entry plus the packets still in the window. So nothing is cut twice and nothing is forgotten.
 *
 * One owner; only the count of references of a packet is touched by another thread (ZeroMQ's, when it has let go).
 */
#ifndef BEZEL_SENSOR_WINDOW_H
#define BEZEL_SENSOR_WINDOW_H

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
    WINDOW_PACKET_BYTES = 1 << 18, /* the longest packet that a window is asked to hold */
};

/** Where a stream stands, all its cut packets counted. Owned by the window; changed by window_commit() alone. */
struct window_stream {
    uint64_t instance;
    uint32_t ring;
    uint32_t stream_id;
    uint64_t next_seq, next_ordinal, discarded;
    uint64_t last_ns;   /* timestamp_end of its last packet */
    uint64_t acked_seq; /* every packet before it is acknowledged */
    uint64_t sent_seq;  /* no packet from it on was ever sent, as far as is known: acked_seq <= sent_seq <= next_seq */
    uint64_t held;      /* bytes of the window that its packets take up */
    uint64_t spooled_seq; /* every packet before it that is not acknowledged is in the spool; 0: none ever was */
    bool used, closed;
    bool torn;     /* packets of it are lost for good: what follows cannot be stored, and is thrown away */
    bool welcomed; /* the forwarder's: the receiver told where it stands */
};

/** A packet in the window. */
struct window_packet {
    _Atomic uint32_t references; /* queues that still read it */
    uint32_t stream;             /* number of its stream */
    uint32_t bytes;              /* of the packet; 0: only fills up the end of the buffer */
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
 * Closes it; with `remove` the file goes too. NULL is allowed. No queue may hold a packet any more: window_is_read()
 * says whether one does, at the cost of a look at each packet.
 */
void window_close(struct window *w, bool remove);
bool window_is_read(const struct window *w);

/**
 * The stream id of process `instance`: the one it has, else the next. BEZEL_EFULL where there are too many processes.
 */
int window_stream_id(struct window *w, uint64_t instance, uint32_t *stream_id) BEZEL_MUST_CHECK;

/** The number of the stream of `ring` of `instance`, or BEZEL_ENOENT. */
int window_find(const struct window *w, uint64_t instance, uint32_t ring);

/** A new stream, standing at ordinal `ordinal`: its number, or BEZEL_EFULL. */
int window_add_stream(struct window *w, uint64_t instance, uint32_t ring, uint32_t stream_id,
                      uint64_t ordinal) BEZEL_MUST_CHECK;

/** Stream `i`; valid until the window closes. */
struct window_stream *window_stream(struct window *w, uint32_t i);

/**
 * Whether a packet of stream `i` is still in the window, acknowledged or not, for one before it may keep it there; or
 * in the spool, and not acknowledged.
 */
bool window_holds(const struct window *w, uint32_t i);

/** Forgets a process of which the window holds no packet any more. */
void window_forget(struct window *w, uint64_t instance);

/** Room for a packet of up to `bytes`: where it goes, or NULL where the window is full. Lasts until the next call. */
uint8_t *window_reserve(struct window *w, uint32_t bytes);

/**
 * Whether stream `i` may take `bytes` more of the window: a stream that holds some of it already takes no more than
 * WINDOW_SHARE times what is then still free. So one that floods leaves a ninth of the window to the others, n of them
 * 1 in 8 n + 1; and whoever holds nothing takes what there is.
 */
bool window_shares(const struct window *w, uint32_t i, uint32_t bytes);

/** Puts the packet written at the reserved place into the window, as the next of stream `i`; `h` says what it holds. */
void window_commit(struct window *w, uint32_t i, const struct packet_header *h);

/** Notes that packets of stream `i` before `next_seq` were sent: who acknowledges others does not tell the truth. */
void window_sent(struct window *w, uint32_t i, uint64_t next_seq);

/**
 * Acknowledges: every packet of stream `i` before `next_seq` is stored; nothing where that cannot be. Then frees from
 * the oldest packet on what is acknowledged and read by nobody.
 */
void window_acknowledge(struct window *w, uint32_t i, uint64_t next_seq);
void window_free_acknowledged(struct window *w);

/** The same; tells of each packet that the receiver has, but for those that left for a spool, before it goes. */
void window_free_each(struct window *w, void (*gone)(void *context, const struct packet_header *h), void *context);

/**
 * Walks the packets: the one at position *at (start with window_oldest()), or NULL at the end; *at moves behind it.
 */
uint64_t window_oldest(const struct window *w);
struct window_packet *window_next(struct window *w, uint64_t *at);

/** Notes that the streams of `instance` are being closed, for the next life too: it is not taken up again. */
void window_leave(struct window *w, uint64_t instance);
bool window_left(const struct window *w, uint64_t instance);

/**
 * Works into `uuid` what tells the window from an earlier one of the same run and uuid, which was removed: `birth`,
 * where this life made it and asks for the first time; else what it was then. So its streams have a trace of their own,
 * for where those of the earlier one stood is forgotten with it.
 */
void window_trace(struct window *w, uint32_t birth, uint8_t uuid[16]);

/** Whether the window in folder `dir` is one of run `run` and of trace `trace`, as window_trace() made it. */
bool window_is_of(const char *dir, const uint8_t run[16], const uint8_t trace[16]);

/** Records in packets that are not freed yet. */
uint64_t window_records(const struct window *w);

/**
 * Of the spool: packet `seq` of stream `i` stands in a former life's (false: it cannot, by what the window knows);
 * packets before `next_seq` do, and may leave the window; the stream has lost packets, see `torn`.
 */
bool window_take_back(struct window *w, uint32_t i, uint64_t seq);
void window_spooled(struct window *w, uint32_t i, uint64_t next_seq);
void window_tear(struct window *w, uint32_t i);

/** The sequence number from which on the window itself has the packets of stream `i`, or will have them. */
uint64_t window_first(const struct window *w, uint32_t i);

/** Bytes that it can hold. */
uint64_t window_capacity(const struct window *w);

/**
 * Bytes that a packet should not exceed: WINDOW_PACKET_BYTES, or a sixteenth of the window where that is less. So some
 * streams find room beside each other, and a packet fits wherever a quarter of the window is free.
 */
uint32_t window_packet_bytes(const struct window *w);

/** Bytes that wait for an acknowledgement. */
uint64_t window_waiting(const struct window *w);

/** The memory that cutting and sending read and write; *size in bytes. */
void *window_memory(struct window *w, size_t *size);

#endif
