// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Sections of a run whose store keeps to its room (`store.keep`): all packets that were stored in a stretch of time, of
 * all streams. Sections are numbered from 0, and expire as a whole, the oldest first. At the beginning of each the
 * database notes what the packets before it made: the position of each stream, and the counts and statistics of each
 * process. With that of the first section that is kept, and the packets that are there, everything that is derived from
 * packets can be made anew, as if none had expired. Rows that single packets make bear the number of their section.
 *
 * One thread; functions return 0 or the errors of rundb_open().
 */
#ifndef BEZEL_RUN_RUNDB_RUNDB_SECTIONS_H
#define BEZEL_RUN_RUNDB_RUNDB_SECTIONS_H

#include "run/model/run_model.h"
#include "run/rundb/rundb.h"

enum { RUNDB_SECTIONS_MAX = 64 }; /* that are kept at a time */

struct rundb_section {
    uint64_t number;
    int64_t at;    /* when it began, ns of a monotonic clock */
    int64_t clock; /* which one: clock_identity_short() */
};

/** Gives the sections that are kept, in the order of their numbers; none: nothing of the run was to expire so far. */
int rundb_load_sections(struct rundb *f, struct rundb_section list[RUNDB_SECTIONS_MAX], size_t *count) BEZEL_MUST_CHECK;

/** Gives a section another time. */
int rundb_set_section_time(struct rundb *f, const struct rundb_section *section) BEZEL_MUST_CHECK;

/**
 * Begins section `section`, and section 0 before it if it is the first one, and commits. All that `m` counted must be
 * saved (rundb_save()), and synced. On an error nothing has begun.
 */
int rundb_begin_section(struct rundb *f, struct model *m, const struct rundb_section *section) BEZEL_MUST_CHECK;

/**
 * Notes the statistics of a process's fields for the beginning of section `number`, if packets of it were stored since
 * the present section began. rundb_begin_section() does so for all processes that are not evicted; the others are noted
 * before that, for the next section.
 */
int rundb_note_fields(struct rundb *f, uint64_t number, const struct model_process *process) BEZEL_MUST_CHECK;

/**
 * Lets the oldest section expire, and commits: `first` is the first one that is kept then. Streams of which more
 * expired are in m->expired, to be freed.
 */
int rundb_expire(struct rundb *f, struct model *m, uint64_t first) BEZEL_MUST_CHECK;

/** Joins all sections that are kept to one: packets of theirs are not what they were when these began. */
int rundb_join_sections(struct rundb *f) BEZEL_MUST_CHECK;

/**
 * Gives the loaded model what the first section that is kept began with: what expired of each stream is its position
 * now, and counted in its process and in the totals.
 */
int rundb_load_expired(struct rundb *f, struct model *m) BEZEL_MUST_CHECK;

/** Of that, only what expired of each stream, `expired` and totals. */
int rundb_note_expired(struct rundb *f, struct model *m) BEZEL_MUST_CHECK;

/** Where the sections of a stream lie in its file. */
struct rundb_bounds {
    size_t count;
    uint64_t last; /* number of the last section */
    struct {
        uint64_t section, bytes; /* section `section` begins at `bytes` */
    } at[RUNDB_SECTIONS_MAX];
};
int rundb_load_bounds(struct rundb *f, const struct model_stream *stream, struct rundb_bounds *b) BEZEL_MUST_CHECK;

/** The section in which the packet at `offset` of the stream's file was stored. */
uint64_t rundb_section_of(const struct rundb_bounds *b, uint64_t offset);

/** Whether every section of the stream lies within its file's `bytes`. */
bool rundb_bounds_hold(const struct rundb_bounds *b, uint64_t bytes);

/** Rows that single packets make bear this number from now on; at first 0. */
void rundb_set_section(struct rundb *f, uint64_t number);

/** Copies the rows that packets made which expired from `f` into `to`, an empty database. */
int rundb_copy_expired(struct rundb *f, struct rundb *to) BEZEL_MUST_CHECK;

#endif
