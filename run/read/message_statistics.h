// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What the messages of a run came to: how long they took, and how many records of messages have no counterpart. Reads
 * the stored records in order, of messages alone. One thread; blocks on the disk.
 */
#ifndef BEZEL_RUN_READ_MESSAGE_STATISTICS_H
#define BEZEL_RUN_READ_MESSAGE_STATISTICS_H

#include "base/err.h"
#include "mdr/dict.h"

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
     * ns from sending to receiving, in the run's time. p50 and p99 as histogram_quantile() has them. Negative where
     * clocks of two nodes are known no better.
     */
    double min, mean, p50, p99, max;
    int64_t bound; /* of the error of these, ns: the widest; 0 within one node */
};

struct message_table {
    size_t count;
    struct message_statistics *rows;
};

/**
 * Reads run directory `run`, finished or growing, for at most `budget_ns` (INT64_MAX: to its end): `records` are fewer
 * than those stored where that was too short. Sendings that nobody has received yet are unmatched. Returns 0 with *t
 * for message_table_free(), or an error as run_reader_open(); without memory for more, the rest is left out.
 */
int message_table_read(const char *run, int64_t budget_ns, struct message_table *t) BEZEL_MUST_CHECK;
void message_table_free(struct message_table *t);

#endif
