// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The collector of fuzz/receiver, in this process, with kills and spoilt files; and who reads the run in the end. */
#ifndef BEZEL_TESTS_FUZZ_RECEIVER_COLLECTOR_H
#define BEZEL_TESTS_FUZZ_RECEIVER_COLLECTOR_H

#include "collector/receive/receiver.h"

#include <limits.h>

/** What the first byte of an input says. */
enum collector_how {
    SYNCS = 1,      /* each packet */
    IS_BOUNDED = 2, /* a few processes, no more, and a byte a second */
    HAS_ENDED = 4,  /* the run, at a known time */
    IS_STEERED = 8, /* with an experiment that adapts */
    READ_TEXT = 16,
    READ_JSON = 32,
    READ_HTML = 64,
    READ_RECORDS = 128,
};

/**
 * What becomes of a file: it is cut, changed, lengthened or renamed, by `bits` modulo 4; with SPOILS_DATABASE, and
 * later alone, a column of the database, chosen by `place`, gets a value that `byte` chooses.
 */
enum { SPOILS_DATABASE = 8 };
struct spoiling {
    char path[PATH_MAX]; /* "": nothing is spoilt */
    uint8_t bits, byte;
    uint16_t place;
};

struct collector {
    struct link *server; /* stays */
    char run[64];        /* the run's folder */
    unsigned how;        /* sum of enum collector_how */
    bool spoilt;         /* some file was */
    struct spoiling later;
    struct model *model;
    struct rundb *rundb;
    struct store *store;
    struct receiver *receiver;
};

/** Makes the folder, an empty database and the link; takes all away. Once. */
void collector_open(struct collector *c);
void collector_close(struct collector *c);

/** Starts on a new run. */
void collector_begin(struct collector *c, unsigned how);

/** Takes `frames` frames that are on their way. */
void collector_turn(struct collector *c, int frames);

/**
 * Ends and starts again: in order, or as a kill would have it, with `spoiling` (NULL: nothing) in between. Checks that
 * all is there that was, where no file was ever spoilt.
 */
void collector_restart(struct collector *c, bool in_order, const struct spoiling *spoiling);

/** Ends in order, spoils what was to be spoilt later, and reads the run as `how` says. */
void collector_finish(struct collector *c);

/** Does it, now, while no collector has the run. */
void spoil_file(struct collector *c, const struct spoiling *s);
void spoil_database(struct collector *c, const struct spoiling *s);

/** Reads the run: verifies that it holds what was `stored`, reports it and exports it. */
void run_read(const struct collector *c, const struct model_totals *stored);

#endif
