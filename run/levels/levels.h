// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Level of detail over the streams of a run, while it grows or when it has ended: columns {count, lost, min, max, last}
 * of any window and any width that is a power of two, in milliseconds however many records lie below, and the records
 * themselves. The caller updates again and again, and asks in between:
 *
 *     levels_open(); do { while (levels_update(l, 20 * CLOCK_MS) > 0) ...; levels_columns(); wait } while (it grows);
 *
 * The run is only read, but for RUN/levels, and may be hostile. What is stored there, or else in the user's cache or in
 * memory, is made of the records alone, and made again where it is damaged. Times are of the node's clock. One thread;
 * blocks on the disk.
 */
#ifndef BEZEL_RUN_LEVELS_LEVELS_H
#define BEZEL_RUN_LEVELS_LEVELS_H

#include "run/model/run_model.h"

#include <sys/types.h>

struct levels;

/**
 * Opens run directory `run`, finished or growing. Returns 0 with *l for levels_close(), or an error as
 * run_reader_open(): of the database, which rundb_why() explains; BEZEL_ENOENT if there is none (yet).
 */
int levels_open(const char *run, struct levels **l) BEZEL_MUST_CHECK;

/** Saves what the next one can go on with. NULL is allowed. */
void levels_close(struct levels *l);

/**
 * Takes in what was stored since the last call, for some `budget_ns` of time. Returns 1: there is more, call again; 0:
 * all is in that was stored when the first call since the last 0 began; or an error.
 */
int levels_update(struct levels *l, int64_t budget_ns) BEZEL_MUST_CHECK;

/** Nodes, processes, dictionaries, clocks. *age, if not NULL, is another number whenever the model is another one. */
const struct model *levels_model(const struct levels *l, uint64_t *age);

/** A ring of a process: one file. */
struct levels_stream {
    const struct model_process *process; /* renewed with the model */
    const char *path;
    uint32_t ring, thread;         /* thread 0: unknown */
    uint64_t records, lost, bytes; /* taken in so far */
    int64_t first, last;           /* ns: begin of its first packet, end of its last one; first > last: none */
    bool closed, cut;              /* its last packet was CLOSE; it is damaged, and read up to there */
    bool ahead;                    /* `last` is a time that is still to come: see model_is_ahead() */
};

size_t levels_stream_count(const struct levels *l);

/** Stream `i`, below the count: the number stays the same while `l` is open, the pointer until the next update. */
const struct levels_stream *levels_stream(const struct levels *l, size_t i);

/** In place of a field: no values. */
#define LEVELS_COUNT UINT32_MAX

enum { LEVELS_WIDTH_MAX = 62 };

struct levels_column {
    int64_t begin;  /* ns, a multiple of 1 << width */
    uint64_t count; /* records */
    uint64_t lost;  /* records that were lost; a loss lies where its packet ends, whatever the aspect */
    /*
     * Of the field, NaN left out; all NaN: none was a number. An enum or string: its number. Of several streams, `last`
     * is of the one whose last record there is the latest, among those with a number.
     */
    double min, max, last;
};

/**
 * Gives the columns of 1 << width ns (width up to LEVELS_WIDTH_MAX) that are not empty, in the order of time, from the
 * one that holds `from` to the one that holds `until`, over the `n` streams `streams` of ONE process together. `aspect`
 * 0: records of all aspects, with field LEVELS_COUNT. Returns the number of columns in `out`, the first ones and at
 * most `room`; BEZEL_EINVAL for streams, a field or a width that there are not, or streams of several processes; or
 * another error.
 */
ssize_t levels_columns(struct levels *l, const size_t *streams, size_t n, uint32_t aspect, uint32_t field, int64_t from,
                       int64_t until, unsigned width, struct levels_column *out, size_t room) BEZEL_MUST_CHECK;

/** Where a record, or the packet of a loss, is stored. Valid in the call that gets it. */
struct levels_place {
    const char *path;
    uint64_t packet, record; /* offsets in the file; of a loss, both the packet's */
    size_t bytes;            /* of the record; of a loss, of its packet's header */
    const uint8_t *raw;      /* these bytes */
    const struct packet_header *header;
    uint64_t lost; /* not 0: so many records were lost; it is no record */
};

/** Takes a record, or a loss (`r` is NULL). Returns 0 to go on, 1 to stop, or an error. */
typedef int levels_take(const struct packet_record *r, const struct levels_place *place, void *context);

/**
 * Gives the records of a stream with from <= time <= until, and its losses there, in the order of the file; aspect 0:
 * all. It seeks: the cost is that of what lies in the time. Returns 0, or what `take` returned, or an error.
 */
int levels_records(struct levels *l, size_t stream, uint32_t aspect, int64_t from, int64_t until, levels_take *take,
                   void *context) BEZEL_MUST_CHECK;

/**
 * From now on a query ends at `deadline` of clock_now() with what it has found by then, as where there is no more room;
 * INT64_MAX: none does, as at first. A query whose columns have levels reads little of the stream.
 */
void levels_set_deadline(struct levels *l, int64_t deadline);

/** Whether a query ended so since the deadline was set. */
bool levels_was_cut(const struct levels *l);

struct levels_totals {
    uint64_t records, bytes; /* of streams, taken in */
    uint64_t kept;           /* bytes of levels on disk */
    size_t memory;           /* bytes, without the model */
    int64_t cpu_ns;          /* that updates have taken, of this thread */
};
struct levels_totals levels_totals(const struct levels *l);

#endif
