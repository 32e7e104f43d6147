// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A run that is read from its server (bezel-serve, mdr/read.x), on this machine or another: the same items as of
 * run_reader.h. What the server sends may be hostile. Memory: READ_CREDIT_MAX under way, and the schemas of the
 * processes whose records came, up to READ_DICTIONARIES_MAX of dictionaries. One thread.
 */
#ifndef BEZEL_COLLECTOR_REMOTE_REMOTE_READER_H
#define BEZEL_COLLECTOR_REMOTE_REMOTE_READER_H

#include "collector/remote/remote_link.h"
#include "run/read/record_item.h"

struct remote_reader;

/**
 * Connects, asks for what `request` says (its credit is set here), and waits for the answer. Returns 0 with *r; or an
 * error: BEZEL_EINVAL (also what the server says of the request), BEZEL_EPERM (it refuses), BEZEL_EUNREACH,
 * BEZEL_EAGAIN where it was stopped, or as run_reader_open(); remote_reader_why() says why. remote_reader_close() in
 * either case; *r is NULL only where memory is short.
 */
int remote_reader_open(const struct remote_place *place, const struct read_request *request,
                       struct remote_reader **r) BEZEL_MUST_CHECK;
void remote_reader_close(struct remote_reader *r);

/** What the server said of the request: its answer. */
const struct read_reading *remote_reader_said(const struct remote_reader *r);

/**
 * Gives the next record or loss, and waits for it until `deadline` (clock_now()). Returns 1 with *item, whose pointers
 * are valid until the next call; 0 at the end; BEZEL_EAGAIN at the deadline, or where it was stopped; or an error,
 * which remote_reader_why() explains, and which stays: BEZEL_EUNREACH where the server is gone or was restarted.
 */
int remote_reader_next(struct remote_reader *r, struct record_item *item, int64_t deadline) BEZEL_MUST_CHECK;

/** The last error, as a sentence without its dot; "": there was none. */
const char *remote_reader_why(const struct remote_reader *r);

/** The processes that are known so far. *age, if not NULL, is another number whenever there are more. */
const struct model *remote_reader_model(const struct remote_reader *r, uint64_t *age);

struct remote_reader_totals {
    uint64_t records, lost;         /* that were given */
    uint64_t proofs[RECORD_PROOFS]; /* of these records, by enum record_proof */
    uint64_t cut, rest;             /* by the server's END */
    uint64_t behind;                /* bytes that were stored and not sent yet, as of the last message */
};
struct remote_reader_totals remote_reader_totals(const struct remote_reader *r);

/**
 * Takes the message in the `n` bytes at `bytes` as if the server had sent it, and then all items that came with it:
 * for tests and fuzzers. Returns how many items there were, or an error.
 */
int remote_reader_feed(struct remote_reader *r, const uint8_t *bytes, size_t n) BEZEL_MUST_CHECK;

/** One that is connected nowhere. NULL: no memory. */
struct remote_reader *remote_reader_new(void);

#endif
