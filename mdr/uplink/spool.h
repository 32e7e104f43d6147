// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The spool: packets that left the window for want of room and are not acknowledged, in order, in a file of bounded
 * size that is used as a ring. Like the window it survives a kill of its daemon; a power failure may destroy it.
 *
 * Invariants, for a kill between any two instructions, and within any write:
 *
 * (1) An entry is a head and a packet under one checksum, written at the end of the spool. It counts only if it is
 * complete. So a packet for which spool_append() returned 0 is there; one whose call was killed may be there. (2) An
 * entry is overwritten only after a mark in the file has freed it; so from the mark on, entries follow each other
 * without a gap, each at its position, to the end. (3) A mark is written beside the one before it, with a checksum: one
 * of the two is always complete. With an older mark, some freed entries are read again; nothing else happens.
 *
 * Reading back ends at the first entry whose checksum is wrong. That is the end, or the entry that was being written.
 * If the mark, or a complete entry after it, shows that there was more, the disk has changed bytes, and the entries
 * from there on are lost: spool_found has which case it is.
 *
 * One owner, one thread. spool_append(), spool_read() and spool_free() call the file system, which may block as long as
 * it holds back a writer: each call moves one packet, of WINDOW_PACKET_BYTES at most, to or from the page cache and
 * never waits for the disk itself (there is no sync). The caller bounds how many of them it makes in a turn.
 */
#ifndef BEZEL_MDR_UPLINK_SPOOL_H
#define BEZEL_MDR_UPLINK_SPOOL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spool;

enum { SPOOL_BYTES_MIN = 1 << 20 };

/** What spool_open() found in the file of an earlier daemon. */
struct spool_found {
    uint64_t packets;   /* complete packets */
    uint64_t torn;      /* 1: a packet was being written; it is still in the window */
    uint64_t damaged;   /* bytes that are known to be lost, packets among them; 0: none */
    uint64_t of_others; /* 1: the file was of another run or trace, or no spool: it is overwritten. A file that is too
                           short for packets does not count: its daemon was killed before it was a spool */
};

/**
 * Opens the spool of trace `uuid` of run `run` in folder `dir`, which is made 0700 where it is missing: the one that a
 * crashed daemon left, else a new one. It takes up to `bytes` (SPOOL_BYTES_MIN at least) of the disk as it needs them.
 * Returns 0 with *found and *s, which the caller passes to spool_close(); BEZEL_EBUSY if a living daemon has it;
 * BEZEL_EPERM, also if the file belongs to another user; BEZEL_ENOSPC, or another error of the system.
 */
int spool_open(const char *dir, const uint8_t run[16], const uint8_t uuid[16], uint64_t bytes, struct spool **s,
               struct spool_found *found) BEZEL_MUST_CHECK;

/** Closes it; an empty one is removed, unless it is doubtful. NULL is allowed. */
void spool_close(struct spool *s);

/** Closes it, and removes it with all packets in it. NULL is allowed. */
void spool_discard(struct spool *s);

/** Writes into it that it belongs to the window in `folder`. Returns 0, or the error of the write. */
int spool_settle(struct spool *s, const char *folder) BEZEL_MUST_CHECK;

/**
 * Removes abandoned spools in `dir`: those of this user, without a living daemon, not written for an hour, whose window
 * is gone or was of an earlier boot. Returns their number.
 */
unsigned spool_clear(const char *dir);

/** The path of its file; valid until it is closed. */
const char *spool_path(const struct spool *s);

/**
 * Appends a packet of `n` bytes. Returns 0; BEZEL_EFULL where it is full; BEZEL_ENOSPC, or another error of the write.
 * After an error nothing is appended, and the caller may try again. */
int spool_append(struct spool *s, const void *packet, uint32_t n) BEZEL_MUST_CHECK;

/** Positions: of the oldest packet, and behind the newest. They only grow. */
uint64_t spool_oldest(const struct spool *s);
uint64_t spool_written(const struct spool *s);

/**
 * Reads the packet at position *at into `packet` of `room` bytes; *at moves behind it. Returns its bytes, 0 at the end,
 * BEZEL_EMALFORMED if the disk did not return the bytes that were written (*at is behind the packet if its head is
 * intact, else at the end), BEZEL_EFULL if `room` is too small, or the error of the read.
 */
int spool_read(const struct spool *s, uint64_t *at, void *packet, uint32_t room) BEZEL_MUST_CHECK;

/** Reads the first `room` bytes of a packet, without checking the sum; *at moves behind the packet. */
int spool_peek(const struct spool *s, uint64_t *at, void *begin, uint32_t room) BEZEL_MUST_CHECK;

/** Makes position `from` the end: drops the entries from there on, which are invalid. It is doubtful from then on. */
void spool_truncate(struct spool *s, uint64_t from);

/**
 * Whether packets may have been lost in it, by this daemon or an earlier one: bytes were damaged, or the file was of
 * others. It stays so for all later daemons, because the window does not know what is missing before its own packets:
 * each daemon compares that with what the receiver has. ..._doubt(): packets of it cannot be read.
 */
bool spool_is_doubtful(const struct spool *s);
void spool_doubt(struct spool *s);

/**
 * Frees the entries before position `until`, to which spool_read() or spool_peek() has moved. Returns 0, or the error
 * of writing the mark: the room is then reused only after a later mark.
 */
int spool_free(struct spool *s, uint64_t until) BEZEL_MUST_CHECK;

#endif
