// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Keeps a run's store to its room (`store.keep`). What is stored is divided into sections (rundb_sections.h), a new one
 * after each sixteenth of the room; as soon as there is no room for another one, the oldest section expires: first the
 * database notes it, then the bytes are freed. A kill in between leaves bytes to be freed by the next collector. So the
 * packets that are kept are at most the room and a batch, or the time and its sixteenth.
 *
 * Steps are rare and large; between them there is a comparison for each batch. What a step takes follows from the
 * streams of its sections and the processes that live, however many there ever were. One thread; blocks on the disk.
 */
#ifndef BEZEL_COLLECTOR_RECEIVE_KEEP_H
#define BEZEL_COLLECTOR_RECEIVE_KEEP_H

#include "base/clock.h"
#include "config/store_keep.h"
#include "run/rundb/rundb_sections.h"
#include "run/store/store.h"

enum { KEEP_PARTS = 16 };
#define KEEP_RETRY (500 * CLOCK_MS) /* ns after a step that failed */

struct keep {
    struct store_keep to; /* all zeros: everything is kept; then nothing else is used */
    struct rundb *rundb;
    struct store *store;
    struct model *model;
    struct rundb_section sections[RUNDB_SECTIONS_MAX]; /* that are kept, the present one last */
    size_t count;
    uint64_t began_bytes; /* bytes of all packets, when the present section began */
    uint64_t due_bytes;   /* of these: when a step is due */
    int64_t due_at;       /* the same in time, clock_now() */
    bool failing, told;   /* which was logged; that packets expire was logged */
};

/** Prepares to keep to `to`, after recover_run(), at `now`, clock_now(). Returns 0 or an error of the database. */
int keep_init(struct keep *k, const struct store_keep *to, struct rundb *f, struct store *s, struct model *m,
              int64_t now) BEZEL_MUST_CHECK;

/** Whether keep_step() has something to do. */
static inline bool keep_is_due(const struct keep *k, int64_t now)
{
    return k->model && (k->model->totals.bytes >= k->due_bytes || now >= k->due_at);
}

/**
 * Begins a section, lets others expire, and frees their bytes, as far as it is time for it. All packets must be counted
 * (statistics_count()). Saves the model. Returns 0, or an error, which it has logged: the next call tries again.
 */
int keep_step(struct keep *k, int64_t now);

/**
 * Notes what the next section is to begin with of a process that is to be evicted. Returns 0, also where there is no
 * need, or `k` is NULL; or an error of the database.
 */
int keep_note_process(struct keep *k, const struct model_process *process) BEZEL_MUST_CHECK;

/** Notes that a process was evicted: the next section looks at it once more. */
void keep_note_ended(const struct keep *k, struct model_process *process);

#endif
