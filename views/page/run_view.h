// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A run as pages see it: nodes, processes and streams as a catalogue, and pictures of a window of time. Times of pages
 * are ns since the run's start; those of records are of their nodes' clocks. Columns of levels lie on absolute powers
 * of two of the node's clock, so a column that is complete never changes, and is the same live and later, as soon as
 * the pieces of the clocks there are closed. One thread; blocks on the disk.
 */
#ifndef BEZEL_VIEWS_PAGE_RUN_VIEW_H
#define BEZEL_VIEWS_PAGE_RUN_VIEW_H

#include "views/page/page_request.h"

#include <stdio.h>

struct run_view;

/** Opens run directory `run`. Returns 0 with *v for run_view_close(), or an error, which rundb_why() explains. */
int run_view_open(const char *run, struct run_view **v) BEZEL_MUST_CHECK;
void run_view_close(struct run_view *v);

/**
 * Takes in what was stored since, for some `budget_ns`. Returns 1: there is more, call again; 0: all that is stored is
 * in; or an error.
 */
int run_view_update(struct run_view *v, int64_t budget_ns) BEZEL_MUST_CHECK;

/** Another number whenever nodes, processes, dictionaries or streams came. */
uint64_t run_view_age(const struct run_view *v);

/** When the run began, ns since 1970, as far as is known now; its UUID as text, valid until the next update. */
int64_t run_view_start(const struct run_view *v);
const char *run_view_id(const struct run_view *v);

/** The run directory. */
const char *run_view_path(const struct run_view *v);

/** The names that a row stands for; valid until the next update. */
struct run_view_place {
    const char *node, *process, *aspect;
};

/** Whether there are such a process and aspect: then they are *place. */
bool run_view_place(const struct run_view *v, const struct page_row *row, struct run_view_place *place);

/** Time of the newest packet's end that is taken in, without those that are still to come; 0: none is. */
int64_t run_view_newest(const struct run_view *v);

/** Records that are taken in, and bytes of memory of the levels. */
void run_view_totals(const struct run_view *v, uint64_t *records, uint64_t *memory);

/** Writes message `catalogue`, as JSON. Errors show in ferror(). */
void run_view_catalogue(struct run_view *v, FILE *out);

/** What a picture says of the view itself. */
struct run_view_state {
    bool live, behind;   /* the run goes on; not all that is stored is taken in */
    double cpu;          /* percent of one CPU that the view takes */
    uint64_t memory;     /* resident bytes of the view */
    uint64_t skipped;    /* pictures that this page was not sent, because it had not drawn the one before */
    const char *trouble; /* why the run cannot be read on; NULL: it can */
};

/**
 * Makes the picture that `q` wants, from time `from` to `until`: a frame of the length of a header as u32,
 * little-endian; the header as JSON; zeros up to a multiple of 8; then for each row arrays of float64, little-endian:
 * begin, count and losses of its columns, and where it has values the least, most and last ones. A row that is not
 * complete at `deadline` of clock_now() has the part that was read by then, and says so: `cut`. Returns 0 with *bytes
 * for free(), or an error.
 */
int run_view_picture(struct run_view *v, const struct page_request *q, int64_t from, int64_t until,
                     const struct run_view_state *state, int64_t deadline, char **bytes, size_t *n) BEZEL_MUST_CHECK;

/**
 * Writes message `records`: those of a row, with the place and the bytes of each, as JSON; those that are found until
 * `deadline`, else it says `cut`. Returns 0 or an error.
 */
int run_view_records(struct run_view *v, const struct page_request *q, int64_t deadline, FILE *out) BEZEL_MUST_CHECK;

#endif
