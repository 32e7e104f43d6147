// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Compares the trace of a run with its database, packet by packet, and reports every difference. Writes nothing; the
 * run may be running, a copy, or hostile. One thread.
 *
 * It finds: a packet that is missing, torn, doubled, out of order, of another stream, or does not fit its dictionary;
 * missing records that no loss explains; metadata that does not explain what is stored; any change of bytes that were
 * saved, by the checksum that the database has of each stream. It cannot find: a change of bytes that were stored in
 * the last 200 ms before a kill, if they still make a packet; changes of files and database that agree with each other.
 * Of packets that expired (`store.keep`) it takes the database's word, and proves from there on that nothing is
 * missing.
 */
#ifndef BEZEL_RUN_VERIFY_VERIFY_H
#define BEZEL_RUN_VERIFY_VERIFY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** In ascending order of weight. */
enum verify_is {
    VERIFY_COMPLETE,
    VERIFY_INCOMPLETE, /* all that is there is right, and all that is missing is named */
    VERIFY_DAMAGED,    /* something that was stored is missing, wrong, or unreadable */
};

/** One finding. Its texts are valid until `report` returns. */
struct verify_report {
    enum verify_is is;
    const char *code;   /* stable, such as "not-a-packet" */
    const char *file;   /* relative to the run directory */
    bool placed;        /* offset and packet are the place in the file */
    uint64_t offset;    /* bytes from its start */
    uint64_t packet;    /* number in its stream */
    const char *text;   /* a sentence without its dot */
    const char *remedy; /* likewise; NULL: there is none */
};

struct verify_totals {
    uint64_t nodes, processes, streams, packets, bytes;
    uint64_t records, lost;                           /* of the programs' records; lost: at places in streams */
    uint64_t ringless;                                /* of these, lost without a place: their threads had no ring */
    uint64_t own_records, own_lost;                   /* of the monitor's own */
    uint64_t expired, expired_records, expired_bytes; /* of all: packets that expired from the store, and theirs */
    uint64_t damaged, incomplete;                     /* findings */
    bool imported;                                    /* of another tool: what is lost is what that counted */
    bool served;                                      /* a collector serves the run now */
};

struct verify {
    void (*report)(const struct verify_report *finding, void *context);
    void *context;
    const char *run; /* of verify_run(), for remedies; borrowed */
    bool partial;    /* the run is a mirror that is not complete */
    struct verify_totals totals;
    char finished[24]; /* the RUNDB_FINISHED under which all was verified; "": not finished, or begun again */
};

/**
 * Verifies trace and database of run directory `run`, but not that its books balance. `v`: with `report` (and
 * `context`) set, the rest zero; gets the totals. Returns 0, also where the run is damaged; BEZEL_ENOMEM; or an error
 * that prevented the comparison, such as BEZEL_ENOSPC. Blocks on the disk.
 */
int verify_run(struct verify *v, const char *run) BEZEL_MUST_CHECK;

/** Counts and reports a finding of the caller. */
void verify_add(struct verify *v, const struct verify_report *finding);

/** The result of all findings: the heaviest. */
enum verify_is verify_is(const struct verify *v);

#endif
