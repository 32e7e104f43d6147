// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The data link's upper end: who is connected, what they send, what they hear. A turn is: receive a batch and store its
 * packets, acknowledge, and only then account for what they say. One thread.
 */
#ifndef BEZEL_COLLECTOR_INTAKE_H
#define BEZEL_COLLECTOR_INTAKE_H

#include "collector/facts_run.h"
#include "collector/model.h"
#include "collector/store.h"
#include "mdr/link.h"

enum {
    INTAKE_BATCH = 64,        /* frames of a turn */
    INTAKE_CREDIT = 32 << 20, /* bytes of packets that a peer may have on the way, unacknowledged */
};

/** What it bears. */
struct intake_limits {
    unsigned connections; /* peers; the next one is refused */
    unsigned processes;   /* that the run has had; nothing of the next one is stored. As many nodes */
    uint64_t rate;        /* bytes a second of a peer; 0: unbounded */
};

#define INTAKE_SAVE   (200 * CLOCK_MS) /* between savings */
#define INTAKE_ALIVE  (250 * CLOCK_MS) /* between heartbeats */
#define INTAKE_SILENT (2 * CLOCK_S)    /* after which a peer is gone */

/*
 * Beyond its rate a peer's packets are stored, but not acknowledged until time has made up for them: an honest sender
 * then waits with its credit used up. One that does not wait is not heard any more (its packets are refused, and
 * messages that would be kept) once it is further beyond than its credit, lost on the way and sent again a few times,
 * explains.
 */
enum { INTAKE_OVERDRAFT = 4 * INTAKE_CREDIT };

struct intake;

/** Borrows all but the limits. Returns NULL where memory is short. */
struct intake *intake_new(struct model *m, struct facts *f, struct store *s, struct link *link,
                          struct intake_limits limits);
void intake_free(struct intake *in);

/** One turn. Returns the number of frames that it took: 0 where none waited. Never blocks on peers. */
int intake_turn(struct intake *in);

/**
 * What time brings: heartbeats, silent peers, the senders of what could not be stored. Call it when due, and only when
 * intake_turn() found nothing waiting is a peer found silent. Returns when it is due again.
 */
int64_t intake_tick(struct intake *in, int64_t now, bool idle);

/** Saves what changed since (account_save()) and answers those who said BYE. Returns 0 or account_save()'s error. */
int intake_save(struct intake *in) BEZEL_MUST_CHECK;

/**
 * The end: what no acknowledgement has brought to stable storage gets there, rows that are lacking are written anew,
 * and all is saved. Returns as intake_save() does.
 */
int intake_finish(struct intake *in) BEZEL_MUST_CHECK;

/** Whether there is anything to save. */
bool intake_changed(const struct intake *in);

/** How often a peer went beyond its rate. */
uint64_t intake_over_rate(const struct intake *in);

/** How many connections were ended on which nobody greeted, or that were given up. */
uint64_t intake_strangers(const struct intake *in);

/** The number of peers. */
unsigned intake_peers(const struct intake *in);

#endif
