// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What the messages of a run came to: how long they took, and how many records of messages have no counterpart.
 * One thread.
 */
#ifndef BEZEL_RUN_READ_MESSAGE_STATISTICS_H
#define BEZEL_RUN_READ_MESSAGE_STATISTICS_H

#include "base/err.h"
#include "run/read/record_item.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Of an aspect of a process: its messages that were sent, or that were received. */
struct message_statistics {
    int64_t process; /* its row in the database */
    uint32_t aspect;
    enum dict_kind kind; /* DICT_SENT or DICT_RECEIVED */
    uint64_t records;    /* that were read */
    uint64_t unmatched;  /* of these, without the record of the other side */
    uint64_t contrary;   /* sendings that stand behind a receiving of their message */
    uint64_t timed;      /* receivings whose latency is known */
    /*
     * ns from sending to receiving, in the run's time. p50 and p99 are computed by histogram_quantile(). A value is
     * negative if the clocks of two nodes are not known well enough.
     */
    double min, mean, p50, p99, max;
    int64_t bound; /* of the error of these, ns: the widest; 0 within one node */
    /*
     * Receivings that say how long their receiver had waited (field `waited`), and have a latency; and ns from the
     * sending until the receiver waited, 0 where it did before. NaN: there are none. `bound` holds for these, too.
     */
    uint64_t asked;
    double unawaited_mean, unawaited_max;
};

struct message_table {
    size_t count;
    struct message_statistics *rows;
};

/**
 * Reads them from records, which come in order. The rest is left out where memory is short: message_reading_take() is
 * false then. message_reading_end() gives the table, for message_table_free(), and frees the reading; sendings that
 * nobody has received yet are unmatched. It returns 0 or BEZEL_ENOMEM.
 */
struct message_reading;
struct message_reading *message_reading_new(void);
bool message_reading_wants(const struct dict_aspect *a);
bool message_reading_take(struct message_reading *r, const struct record_item *item);
int message_reading_end(struct message_reading *r, struct message_table *t) BEZEL_MUST_CHECK;
void message_table_free(struct message_table *t);

#endif
