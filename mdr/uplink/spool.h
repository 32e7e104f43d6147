// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The spool: packets that left the window for want of room and are not acknowledged, in order, in a file of bounded
 * size that is used round and round. It survives a kill of its daemon, as the window does; the power may take it.
 *
 * Invariants, for a kill between any two instructions, and within any write:
 *
 * (1) An entry is its head and its packet under one checksum, written at the end and visible once it is whole; a part
 *     of one is none. So what spool_append() returned for is there, and what it did not return for may be.
 * (2) An entry is never written over before the mark that says so is in the file; so from the mark on entries stand one
 *     behind the other, each at its position, up to the first place where none does.
 * (3) A mark is written beside the one before it, with a checksum: one of the two is always whole. A mark that is not
 *     the last one only makes some entries be seen again that were freed.
 *
 * Reading back ends at the first entry whose checksum is wrong. That is the end, or the one that was being written;
 * but where the mark, or a whole entry behind it, says that there was more, bytes of the disk have changed, and what
 * stood from there on is lost: spool_found says which.
 *
 * One owner, one thread. spool_append(), spool_read() and spool_free() call the file system, which may block as long as
 * it holds back a writer: each call moves one packet, of WINDOW_PACKET_BYTES at most, to or from the page cache and
 * never waits for the disk itself (there is no sync). The caller bounds how many of them it makes in a turn.
 */
#ifndef BEZEL_SENSOR_SPOOL_H
#define BEZEL_SENSOR_SPOOL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spool;

enum { SPOOL_BYTES_MIN = 1 << 20 };

/** What a new life found. */
struct spool_found {
    uint64_t packets;   /* that are there */
    uint64_t torn;      /* 1: a packet was being written; whoever wrote it has it still */
    uint64_t damaged;   /* bytes that are known to be lost, packets among them; 0: none */
    uint64_t of_others; /* 1: the file was another run's or trace's, or no spool: it is begun anew */
};

/**
 * Opens the spool of trace `uuid` of run `run` in folder `dir`, which is made 0700 where it is missing: the one that a
 * crashed daemon left, else a new one. It takes up to `bytes` (SPOOL_BYTES_MIN at least) of the disk as it needs them.
 * Returns 0 with *s for spool_close() and *found; BEZEL_EBUSY where a living daemon has it; BEZEL_EPERM, also where the
 * file is not ours; BEZEL_ENOSPC, ...
 */
int spool_open(const char *dir, const uint8_t run[16], const uint8_t uuid[16], uint64_t bytes, struct spool **s,
               struct spool_found *found) BEZEL_MUST_CHECK;

/** Closes it; an empty one is removed. NULL is allowed. */
void spool_close(struct spool *s);

/** Closes it and removes it with all that is in it: nobody will come back for that. NULL is allowed. */
void spool_discard(struct spool *s);

/** Notes that it belongs to the window in `folder`. Returns 0, or the error of the write. */
int spool_settle(struct spool *s, const char *folder) BEZEL_MUST_CHECK;

/**
 * Removes the spools in `dir` that nobody can use any more: this user's, of no living daemon, untouched for an hour,
 * whose window is gone or was of an earlier boot. Returns their number.
 */
unsigned spool_clear(const char *dir);

/** The file. */
const char *spool_path(const struct spool *s);

/**
 * Appends a packet of `n` bytes. Returns 0; BEZEL_EFULL where it is full; BEZEL_ENOSPC and what else writing answers:
 * nothing is appended then, and it may be tried again.
 */
int spool_append(struct spool *s, const void *packet, uint32_t n) BEZEL_MUST_CHECK;

/** Positions: of the oldest packet, and behind the newest. They only grow. */
uint64_t spool_oldest(const struct spool *s);
uint64_t spool_written(const struct spool *s);

/**
 * Reads the packet at position *at into `packet` of `room` bytes; *at moves behind it. Returns its bytes, 0 at the end,
 * BEZEL_EMALFORMED where the disk did not give back what was written (*at is behind it where its head is whole, else at
 * the end), BEZEL_EFULL where it has no room, or the error of the read.
 */
int spool_read(const struct spool *s, uint64_t *at, void *packet, uint32_t room) BEZEL_MUST_CHECK;

/** The same of a packet's first `room` bytes, unchecked; *at moves behind the whole. */
int spool_peek(const struct spool *s, uint64_t *at, void *begin, uint32_t room) BEZEL_MUST_CHECK;

/** Takes position `from` for the end: what stands from there on makes no sense. */
void spool_cut(struct spool *s, uint64_t from);

/**
 * Gives back what stands before position `until`, one that spool_read() or spool_peek() came to. An error is that of
 * the mark's write: the room is then used only once a later mark is written.
 */
int spool_free(struct spool *s, uint64_t until) BEZEL_MUST_CHECK;

#endif
