// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Proves that a run's trace is what its database says, packet by packet, or finds where it is not. Nothing is written;
 * the run may be going on, be a copy, or be hostile. One thread.
 *
 * What it sees: a packet that is missing, torn, doubled, out of order, of another stream, or does not fit its
 * dictionary; records that no loss explains; metadata that does not explain what is stored; any change of bytes that
 * were saved, by the checksum that the database has of each stream. What it cannot see: a change of bytes that were
 * stored in the last 200 ms before a kill, where they still make a packet; one who changes files and database alike.
 */
#ifndef BEZEL_COLLECTOR_VERIFY_H
#define BEZEL_COLLECTOR_VERIFY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** In order of weight. */
enum verify_is {
    VERIFY_COMPLETE,
    VERIFY_INCOMPLETE, /* what is there is right, and what is not there is named */
    VERIFY_DAMAGED,    /* something that was stored is not there, is wrong, or cannot be read */
};

/** What was found; texts are the finder's, for as long as the call of `tell` lasts. */
struct verify_finding {
    enum verify_is is;
    const char *code;   /* stable, such as "not-a-packet" */
    const char *file;   /* relative to the run directory */
    bool placed;        /* offset and packet say where in the file */
    uint64_t offset;    /* bytes from its start */
    uint64_t packet;    /* number in its stream */
    const char *text;   /* a sentence without its dot */
    const char *remedy; /* likewise; NULL: there is none */
};

struct verify_totals {
    uint64_t nodes, processes, streams, packets, records, lost, bytes;
    uint64_t damaged, incomplete; /* findings */
    bool served;                  /* a collector serves the run now */
};

struct verify {
    void (*tell)(const struct verify_finding *finding, void *context);
    void *context;
    struct verify_totals totals;
    char finished[24]; /* when the collector ended under which everything was verified; "": none had, or one began */
};

/**
 * Verifies the trace and database of run directory `run`, but not that its books balance; `v` has `tell` set and the
 * rest zero. Returns 0, also where the run is damaged; BEZEL_ENOMEM; or what kept it from comparing, BEZEL_ENOSPC say.
 */
int verify_run(struct verify *v, const char *run) BEZEL_MUST_CHECK;

/** Whether a collector serves run directory `run` now. */
bool verify_is_served(const char *run);

/** Tells a finding of the caller's own. */
void verify_tell(struct verify *v, const struct verify_finding *finding);

/** What all findings come to. */
enum verify_is verify_is(const struct verify *v);

#endif
