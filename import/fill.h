// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Makes a run directory of records that another tool has written. The run is stored as a collector stores it: packets
 * in streams, nodes, processes, dictionaries and books in run.db, so that all that reads runs reads it.
 *
 * Memory is bounded: what rings hold is stored as packets once it is FILL_MEMORY, and names, texts and processes have
 * limits. What does not fit is left out and counted; a note of the run says so, and that the books do not count it.
 *
 * One thread. An error of the store or the database ends the import: every later call returns it.
 */
#ifndef BEZEL_IMPORT_FILL_H
#define BEZEL_IMPORT_FILL_H

#include "base/err.h"
#include "mdr/dict.h"
#include "mdr/parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FILL_MEMORY = 64 << 20, /* bytes of records that wait to be stored */
    FILL_NODES_MAX = 1024,
    FILL_PROCESSES_MAX = 8192,
};

/** Codes of notes. By the first three there may be records that no books count (mdr/note.h). */
#define FILL_LOST     "BEZEL-IMPORT-LOST"
#define FILL_LEFT_OUT "BEZEL-IMPORT-LEFT-OUT"
#define FILL_DAMAGED  "BEZEL-IMPORT-DAMAGED"
#define FILL_FIELDS   "BEZEL-IMPORT-FIELDS"
#define FILL_CLOCK    "BEZEL-IMPORT-CLOCK"

struct fill;
struct fill_node;
struct fill_process;
struct fill_shape;
struct fill_ring;

struct fill_totals {
    uint64_t nodes, processes, records, lost;
    uint64_t left_out;  /* records for which there was no room or no time */
    uint64_t no_text;   /* values of texts for which the dictionary had no room: they are empty */
    uint64_t cut;       /* texts that were longer than DICT_TEXT_MAX, and were cut */
    uint64_t alike;     /* aspects that got a number, since names that differ in the source are the same here */
    int64_t begin, end; /* times of the run, of the first and last record or loss; begin > end: there is none */
};

/**
 * Nothing is written before the first node. `run`: a run directory without records; `id`: the run's, a UUID; both
 * borrowed. NULL where memory is short.
 */
struct fill *fill_new(const char *run, const char *id);

/** Frees it, and closes the files; a run that was not finished stays as one that was aborted. NULL is allowed. */
void fill_free(struct fill *in);

/**
 * The node `name` with the clock `clock`, made if it is new: its times and `offset` ns are times since 1970. The first
 * node's clock is the run's. NULL after an error, or where there are FILL_NODES_MAX.
 */
struct fill_node *fill_node(struct fill *in, const char *name, const uint8_t clock[16], int64_t offset);

/** The offset that the node was made with. */
int64_t fill_offset(const struct fill_node *node);

/**
 * The process `pid` of `domain` on a node, made with `name` and `role` if it is new, as one that began at `at`. NULL
 * after an error, or where there are FILL_PROCESSES_MAX.
 */
struct fill_process *fill_process(struct fill_node *node, const char *domain, int64_t pid, const char *name,
                                  enum message_role role, int64_t at);

/**
 * What records of an aspect look like: `a`, of which names are made such as dictionaries take, and differ. Those that
 * are equal in the source are one. NULL where memory is short. Owned by `in`.
 */
const struct fill_shape *fill_shape(struct fill *in, const struct dict_aspect *a);

/** The id of the aspect of that shape in the dictionary of a process, which gets it; 0: there is no room for it. */
uint32_t fill_aspect(struct fill_process *p, const struct fill_shape *shape);

/** The id of a text in the dictionary of a process, which gets it; 0 where there is no room: counted. */
uint64_t fill_text(struct fill_process *p, const char *text);

/** Keys of rings: of a thread; of a stream of the source whose records have no thread; of its losses, where it is not
 * known whose the records were. */
#define FILL_OF_STREAM (UINT64_C(1) << 32)
#define FILL_OF_LOSSES (UINT64_C(2) << 32)

/**
 * The ring of `key` whose records of trace number `trace` are at `time` or later, made if it is new. Where a process
 * has no place for another ring, threads share one. NULL after an error, or where the time is before those of all
 * rings that could be shared.
 */
struct fill_ring *fill_ring(struct fill_process *p, uint64_t key, uint64_t trace, int64_t time);

/**
 * Adds a record of `thread` with the values of its aspect. What is before 1970 by the node's clock, beyond
 * MODEL_TIME_MAX or before the ring's last one is left out, as it is where `ring` is NULL or `aspect` 0.
 */
int fill_record(struct fill *in, struct fill_ring *ring, uint32_t thread, uint32_t aspect, int64_t time,
                const uint64_t *values, uint32_t count) BEZEL_MUST_CHECK;

/** Adds a loss of `count` records between two times, to a ring of FILL_OF_LOSSES, or among the records of a thread. */
int fill_loss(struct fill *in, struct fill_ring *ring, int64_t from, int64_t until, uint64_t count) BEZEL_MUST_CHECK;

/** Counts a record that cannot be taken. */
void fill_leave_out(struct fill *in);

/** Adds a note about a node. */
void fill_note(struct fill_node *node, const char *code, const char *format, ...) BEZEL_PRINTF(3, 4);

const struct fill_totals *fill_totals(const struct fill *in);

/** The node that was made first; NULL: none was, and there is no run. */
struct fill_node *fill_first_node(const struct fill *in);

/**
 * Stores what waits, closes all streams, balances the books, and writes the experiment's file, whose name is `name`,
 * and which says that `trace` was imported; `source`: by whom and as what it was written. Returns 0, or an error, which
 * fill_why() explains.
 */
int fill_finish(struct fill *in, const char *name, const char *trace, const char *source) BEZEL_MUST_CHECK;

/** The error of the store or database that ended the import as a sentence without its dot; NULL: there was none. */
const char *fill_why(const struct fill *in);

#endif
