// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Packets pass directly: a receiver on the sender's machine that can open the files of its folder reads packets out of
 * the window, and no socket carries them. All other messages stay on the link. Both sides agree by DIRECT messages
 * after WELCOME; where they cannot, packets take the link.
 *
 * Beside the window the sender makes a page, file `direct`, and a named pipe, `bell`:
 *
 * - The sender offers positions of the window: all packets from `from` up to `to`. They stay as they are until they are
 *   acknowledged, or the offer ends: before packets move to the spool, the sender withdraws it. Positions are multiples
 *   of 16: their low bits are a tag, which is another one when the offer begins anew. Words of two tags do not belong
 *   together.
 * - The receiver copies the offered bytes, and uses its copy alone. Then it looks whether the offer is still the same,
 *   and where the window begins by now: if the offer ended, or the bytes were freed meanwhile (by another process that
 *   owns the window), they are not used. So a packet is checked and stored as it was when it was offered, whatever the
 *   window's owner does.
 *   With each offer goes `said`, how many messages the sender sent over the link since DIRECT: a receiver that only
 * passes on what it reads takes these first.
 * - The receiver acknowledges by stream: `acks` has the next packet that it lacks, with a check, `turn` changes with
 *   each set of these. The sender believes none that it did not offer.
 * - A receiver that is about to sleep sets `asleep` and looks once more. A sender that has offered something clears
 *   `asleep`, and if it was set, writes a byte into the pipe. So the receiver is woken at most once while it does not
 *   look, and nobody is woken who is awake.
 * - To wake somebody on another processor costs as much as to poll. A receiver that has found packets at each of its
 *   last looks looks again by itself, right behind `next`, and leaves `asleep` as it is; as soon as it finds none it
 *   waits for the bell.
 *
 * Each side takes the other for hostile: the receiver uses no length, position or stream number before it is checked,
 * and guards its mappings of window and page, as a truncated file would raise SIGBUS (base/sigbus_guard.h). Two
 * receivers never read one page: a sender has one connection, and a page has one `proof`, which its DIRECT names.
 */
#ifndef BEZEL_MDR_UPLINK_DIRECT_H
#define BEZEL_MDR_UPLINK_DIRECT_H

#include "mdr/uplink/window.h"

#include <stdalign.h>

#define DIRECT_NAME      "direct"
#define DIRECT_BELL_NAME "bell"

struct direct_page {
    uint64_t magic, proof; /* proof: drawn at random; the message DIRECT has the same */
    uint8_t run[16], uuid[16];

    alignas(64) _Atomic uint64_t from; /* the sender's, with its tag; 0: nothing is offered */
    _Atomic uint64_t to;               /* likewise */
    _Atomic uint64_t said;             /* messages that were sent over the link before what is offered */
    _Atomic uint64_t low;              /* the low watermark of what is offered, ns, times 16, with the tag */
    _Atomic uint64_t next;             /* when the sender's source is polled next, ns; 0: not known */

    alignas(64) _Atomic uint32_t asleep; /* the receiver's, which the sender clears */
    _Atomic uint32_t turn;               /* the receiver's */
    _Atomic uint64_t acks[WINDOW_STREAMS];
};

/* ---- the sender's side ------------------------------------------------------------------------------------------- */

/** A struct of all zeros but `bell` -1 offers nothing. */
struct direct_offer {
    struct direct_page *page; /* NULL: there is none */
    const char *dir;          /* borrowed */
    int bell, guard;
    uint32_t turn;                /* as it was last read */
    uint64_t tag;                 /* of the present offer: 1 .. 15 */
    uint64_t from, to, said, low; /* as they were last written */
    uint64_t proof;
};

/**
 * Makes page and pipe in folder `dir`, which it borrows, for a trace. Returns 0, or an error with errno: then packets
 * take the link.
 */
int direct_offer_open(struct direct_offer *o, const char *dir, const uint8_t run[16],
                      const uint8_t uuid[16]) BEZEL_MUST_CHECK;

/** Removes both. */
void direct_offer_close(struct direct_offer *o);

/** Begins an offer at position `from`, or ends it (`from` UINT64_MAX). */
void direct_offer_begin(struct direct_offer *o, uint64_t from);

/**
 * Offers what stands before `to`, and `low` with it; wakes the receiver if it sleeps. Before that: how many messages
 * went over the link since DIRECT, which come before these packets.
 */
void direct_offer_up_to(struct direct_offer *o, uint64_t to, int64_t low);
void direct_offer_said(struct direct_offer *o, uint64_t said);
void direct_offer_next(struct direct_offer *o, int64_t next); /* likewise: when the source is polled next */

/** Whether there are acknowledgements since the last call, for direct_offer_acknowledged(): the next packet wanted. */
bool direct_offer_looks(struct direct_offer *o);
uint64_t direct_offer_acknowledged(const struct direct_offer *o, uint32_t stream);

/** Clears the acknowledgement of a stream number that another stream has from now on. */
void direct_offer_forget(struct direct_offer *o, uint32_t stream);

/** Whether somebody has truncated the page: nothing in it counts any more. */
bool direct_offer_is_broken(const struct direct_offer *o);

/** Whether the page has the offer as it was made: else another process has written there, and nobody can read it. */
bool direct_offer_is_own(const struct direct_offer *o);

/* ---- the receiver's side ----------------------------------------------------------------------------------------- */

struct direct_reader;

/** A packet in the receiver's memory, valid until the next direct_reader_fill(). */
struct direct_packet {
    const uint8_t *data;
    uint32_t bytes, stream; /* stream: its number in the window */
};

enum { DIRECT_WHY_MAX = 200 };

/**
 * Opens page, pipe and window in folder `dir`, as DIRECT names it: they must be of trace `uuid` and have this `proof`.
 * Returns 0 with *r, or an error with a sentence in `why` that goes on behind "packets take the link: ".
 */
int direct_reader_open(const char *dir, const uint8_t run[16], const uint8_t uuid[16], uint64_t proof,
                       struct direct_reader **r, char why[DIRECT_WHY_MAX]) BEZEL_MUST_CHECK;
void direct_reader_close(struct direct_reader *r);

/**
 * Reads what is offered, up to DIRECT_FILL bytes, if all that was read before is taken. Returns 0, or BEZEL_EMALFORMED
 * where the offer makes no sense: the sender has to say HELLO again.
 */
int direct_reader_fill(struct direct_reader *r) BEZEL_MUST_CHECK;

/** The next packet that was read. Returns 1 with *p; 0: there is none; BEZEL_EMALFORMED. ..._take() passes over it. */
int direct_reader_look(struct direct_reader *r, struct direct_packet *p) BEZEL_MUST_CHECK;
void direct_reader_take(struct direct_reader *r);

/** The low watermark that holds for all that was taken, ns; 0: none. */
int64_t direct_reader_low(const struct direct_reader *r);

/** How many messages since DIRECT come before what was read. */
uint64_t direct_reader_said(const struct direct_reader *r);

/** Acknowledges packets of a stream before `next_seq`; ..._acknowledged() publishes these. */
void direct_reader_acknowledge(struct direct_reader *r, uint32_t stream, uint64_t next_seq);
void direct_reader_acknowledged(struct direct_reader *r);

/**
 * Before a wait of `most` ns: returns how long it may last, and the descriptor to wait for in *fd; -1: none, a look is
 * due then in any case. `waits`: a packet that was read cannot be taken now; it is looked at again soon. ..._awake()
 * behind the wait. Of that, ..._may_sleep(): whether the bell is waited for; false where there is something to read.
 */
int64_t direct_reader_sleep(struct direct_reader *r, bool waits, int *fd, int64_t most);
void direct_reader_awake(struct direct_reader *r);
bool direct_reader_may_sleep(struct direct_reader *r);
int direct_reader_bell(const struct direct_reader *r);

enum { DIRECT_FILL = 1 << 20 };

#endif
