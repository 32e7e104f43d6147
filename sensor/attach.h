// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Attaching: the external sensor's hold on one segment. Everything in a segment is hostile; what passed
 * segment_attach() is copied into struct attached and the segment is asked again only for what changes. One owner; no
 * function blocks.
 */
#ifndef BEZEL_SENSOR_ATTACH_H
#define BEZEL_SENSOR_ATTACH_H

#include "base/err.h"
#include "mdr/dict.h"
#include "mdr/message.h"
#include "sensor/segment.h"

#include <stdbool.h>

/** The reader's side of one ring. */
struct attached_ring {
    struct ring_reader reader;
    int stream;                 /* its stream in the window; -1: not opened yet */
    uint32_t generation;        /* of the last record */
    uint32_t generation_thread; /* thread id that goes with it */
    bool broken;                /* its bytes made no sense: not read any further */
};

struct attached {
    struct segment *segment;
    size_t mapped;
    int fd;
    char path[4096];
    uint64_t instance, started, start_time;
    uint32_t pid, ring_slots;
    char name[MESSAGE_NAME_MAX + 1]; /* fit for a file name */
    char executable[MESSAGE_TEXT_MAX + 1];
    uint8_t session[16];
    /* dictionary */
    struct dict *dict;   /* NULL while there is none */
    uint8_t *dict_bytes; /* what it was read from: a copy, for the receiver */
    uint32_t dict_used;  /* how many */
    bool dict_broken;    /* it grew by what makes no sense: not looked at any further */
    /* rings 0 .. ring_count - 1 */
    uint32_t ring_count;
    struct attached_ring rings[SEGMENT_RINGS];
};

/**
 * Opens, checks and maps the segment `dir`/`file` and takes its reading end. Returns 0 with *a for segment_detach();
    uint32_t when_full;              /* enum segment_when_full */
 * BEZEL_EMALFORMED, BEZEL_EVERSION; BEZEL_EBUSY where another external sensor reads it; BEZEL_ENOENT, BEZEL_ENOMEM, ...
 */
int segment_attach(const char *dir, const char *file, struct attached **a) BEZEL_MUST_CHECK;

/** Lets go of it; with `remove` the file goes too. */
void segment_detach(struct attached *a, bool remove);

/** Whether the process lives: it holds its lock, or its pid still is the process that made the segment. */
bool segment_alive(const struct attached *a);

/** Takes in what the dictionary grew by. Returns 1 where it grew, 0, or BEZEL_EMALFORMED. */
int segment_refresh_dict(struct attached *a) BEZEL_MUST_CHECK;

/** Takes in rings that were claimed since. A reader of a new one starts at the tail that the ring shows. */
void segment_refresh_rings(struct attached *a);

/** Sets every enable word, and that of aspects to come. */
void segment_set_mode(struct attached *a, enum segment_enable mode);

/**
 * Begins session `run` of a segment that ran before: what it counted so far is not ours, what its rings hold is
 * skipped. The segment must be disabled, as it is while nobody reads it.
 */
void segment_begin_session(struct attached *a, const uint8_t run[16]);

/** Sums the counters of aspect `id` of this session over all rings; `attempts` includes those that had no ring. */
struct message_books_row segment_tally(const struct attached *a, uint32_t id);

#endif
