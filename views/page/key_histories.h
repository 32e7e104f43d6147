// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The histories of all limits and metrics of a run: of the records in which the monitor tells of several at once. They
 * follow the run. At most KEY_HISTORIES: of others the records are read. One owner; blocks on the disk.
 */
#ifndef BEZEL_VIEWS_PAGE_KEY_HISTORIES_H
#define BEZEL_VIEWS_PAGE_KEY_HISTORIES_H

#include "views/page/key_history.h"

enum {
    KEY_HISTORIES = 64,  /* some 16 MiB */
    KEY_FIELD_VALUE = 2, /* the field whose values they have, of both aspects */
    KEY_FIELD_GAP = 3,   /* of observations: ns before the record of which nothing is known; the line is broken there */
};

struct key_histories;

struct key_histories *key_histories_new(void);
void key_histories_free(struct key_histories *k);

/**
 * Takes in what was stored since, until `deadline` of clock_now(). Returns 1: there is more, call again; 0: all is in;
 * or an error.
 */
int key_histories_follow(struct key_histories *k, struct levels *levels, int64_t deadline) BEZEL_MUST_CHECK;

/** The history of a key of `stream`; NULL: it has none. */
const struct key_history *key_histories_find(const struct key_histories *k, size_t stream, uint32_t aspect,
                                             int64_t key);

#endif
