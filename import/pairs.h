// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Entries of a source that wait for their exits, which make spans of them. Those of one key nest: an exit is that of
 * the latest entry. Where records were lost, an entry from before may be that of a lost exit, and so its span has an
 * unknown duration. One thread. Zero it to begin.
 */
#ifndef BEZEL_IMPORT_PAIRS_H
#define BEZEL_IMPORT_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

enum { PAIRS_KEYS = 3, PAIRS_CHAINS = 4096, PAIRS_MAX = 1 << 20 };

struct pairs {
    struct pair *chains[PAIRS_CHAINS];
    uint64_t count;     /* of entries that wait */
    int64_t lost_until; /* entries up to here have no duration; 0: nothing was lost */
};

/** An entry at `time`, 0 or more. False: there is no room, and its span has an unknown duration. */
bool pairs_enter(struct pairs *p, const int64_t key[PAIRS_KEYS], int64_t time);

/** The duration of a span whose exit is at `time`; -1: unknown. */
int64_t pairs_leave(struct pairs *p, const int64_t key[PAIRS_KEYS], int64_t time);

/** Records up to `until` were lost. */
void pairs_lose(struct pairs *p, int64_t until);

/** Forgets all. */
void pairs_free(struct pairs *p);

#endif
