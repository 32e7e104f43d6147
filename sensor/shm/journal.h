// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A journal: a segment with one ring and one writer. It is independent of libbezel, which has one segment for its
 * process. bezeld records its own work into a journal in the folder of the run; the external sensor reads it like any
 * segment. One owner, one thread. Only opening and closing block, on the file system. A record that finds no room is
 * counted as lost.
 */
#ifndef BEZEL_SENSOR_SHM_JOURNAL_H
#define BEZEL_SENSOR_SHM_JOURNAL_H

#include "base/err.h"
#include "mdr/dict.h"
#include "sensor/shm/segment_create.h"

#include <stdint.h>

struct journal;

/**
 * Makes a segment in folder `dir`, named after BEZEL_PROCESS of the environment, and declares the `count` aspects,
 * whose ids count from 1 in their order. Returns 0 with *j for journal_close(); BEZEL_EINVAL where an aspect breaks
 * dict_append_aspect()'s rules, BEZEL_ENOMEM, BEZEL_ENOSPC, or BEZEL_ESYS with errno if the segment cannot be made.
 */
int journal_open(const char *dir, const struct dict_aspect *aspects, uint32_t count,
                 struct journal **j) BEZEL_MUST_CHECK;

/** The same, with the ring and the clock of `form`, whatever the environment says. */
int journal_open_as(const char *dir, const struct segment_form *form, const struct dict_aspect *aspects, uint32_t count,
                    struct journal **j) BEZEL_MUST_CHECK;

/** Closes it: its reader then finds that the writer has ended. NULL is allowed. */
void journal_close(struct journal *j);

/**
 * Records aspect `id`, now, with as many `values` as it has fields: each as its type says, in 64 bits. NULL records
 * nothing.
 */
void journal_record(struct journal *j, uint32_t id, const uint64_t *values);

/** The same, at `ns` of CLOCK_MONOTONIC, not before the record before; for a journal with that clock. */
void journal_record_at(struct journal *j, uint32_t id, int64_t ns, const uint64_t *values);

/** Counts `count` records of aspect `id` as lost here, because a ring was full: one from which they were to come. */
void journal_lose(struct journal *j, uint32_t id, uint64_t count);

/** How many records found no room in its ring. */
uint64_t journal_lost(const struct journal *j);

/** The id of `text` as a value of type DICT_STRING; 0 if there is no room for one more. Allocates for a new text. */
uint32_t journal_string(struct journal *j, const char *text);

#endif
