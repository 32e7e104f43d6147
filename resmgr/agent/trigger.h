// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The triggers of a node: whether their conditions are met, and when they fire. It is passed records, states of limits,
 * counters and the time, and reads no clock. What a firing does is the caller's. One owner. Nothing blocks; only
 * trigger_new() and trigger_watch() allocate.
 *
 * Conditions are of the node: records of all its processes count together. Records may come in any order, because each
 * thread has a ring of its own. Of a sequence each second record is a reason, once, whichever of the two comes first:
 * up to TRIGGER_SECONDS of those without a first one are kept. Of first records, and of second ones before these, it is
 * enough to keep the times that they cover: a record of the first kind covers the time `within` behind it. Times that
 * overlap become one, so that few are kept however many records come. Only a record that is late by more than
 * TRIGGER_SPANS such times is not matched; and a first one that is late by more than TRIGGER_SECONDS second ones is
 * itself the reason, in place of these.
 *
 * A record comes once: each one that completes a condition is a reason to fire. A violation and a silence last: each
 * one fires once, when it has lasted for `for`.
 *
 * Two firings are `once-in` apart. A record in between is counted as suppressed. A violation or silence in between
 * fires afterwards if it still lasts, else it is counted as suppressed.
 *
 * A silence begins with the last record, by its own time or by the counters of attempts, which grow also where records
 * are late or not collected. While no process has the aspect, or it is turned off, there is no silence.
 */
#ifndef BEZEL_RESMGR_AGENT_TRIGGER_H
#define BEZEL_RESMGR_AGENT_TRIGGER_H

#include "config/experiment.h"
#include "mdr/dict.h"
#include "mdr/packet.h"

enum {
    TRIGGER_SPANS = 16,
    TRIGGER_SECONDS = 512,
    TRIGGER_PROCESSES_MAX = 1024,
    TRIGGER_ASPECTS_MAX = 2 * EXPERIMENT_TRIGGERS_MAX
};

struct trigger_set;

/** A firing, and what was counted by then. */
struct trigger_firing {
    uint32_t trigger; /* in the experiment's list */
    int64_t at;   /* ns: time of the record, of a sequence the second one; when the violation or silence had lasted for
                     long enough */
    int slot;     /* of the process that recorded it; -1: none */
    double value; /* of the field that is compared, or of the limit's metric; NaN: none */
    uint64_t suppressed; /* since the firing before */
};

/** What a trigger did so far. */
struct trigger_counts {
    uint64_t fired, suppressed; /* suppressed: since the last firing */
    uint64_t looked;            /* records that were looked at; of a limit: instants at which it was known */
};

/** `e` is borrowed until trigger_free(). Returns 0 or BEZEL_ENOMEM. */
int trigger_new(const struct experiment *e, struct trigger_set **t) BEZEL_MUST_CHECK;
void trigger_free(struct trigger_set *t);

/**
 * The process in `slot` (up to TRIGGER_PROCESSES_MAX) declares `aspect`. Returns the number by which its records are
 * passed, below TRIGGER_ASPECTS_MAX, the same in each process; BEZEL_ENOENT: no trigger reads it; BEZEL_ENOMEM.
 */
int trigger_watch(struct trigger_set *t, int slot, const struct dict_aspect *aspect) BEZEL_MUST_CHECK;

/** The text of a trigger whose condition `aspect` has no field for, or none that can be compared so; NULL: none. */
const char *trigger_lacking(const struct trigger_set *t, const struct dict_aspect *aspect);

/** The process in `slot` ended. */
void trigger_remove(struct trigger_set *t, int slot);

/** Records of aspect `number` of the process in `slot` arrived at `now`. */
void trigger_records(struct trigger_set *t, int slot, int number, const struct packet_run *run, int64_t now);

/** Its counter of attempts stands at `attempts`; it is turned off, and neither recorded nor counted. */
void trigger_count(struct trigger_set *t, int slot, int number, uint64_t attempts, int64_t now);
void trigger_blind(struct trigger_set *t, int slot, int number);

/**
 * Whether limit `limit` is violated at `now`, with `value` of its metric; `known`: its state is. Of a value that others
 * computed, `now` is the time of its newest record, from which the violation lasts and the latency counts.
 */
void trigger_limit(struct trigger_set *t, uint32_t limit, bool known, bool violated, double value, int64_t now);

/** Processes are being ended: from now on nothing is silent. */
void trigger_processes_end(struct trigger_set *t);

/**
 * Whether a silence has lasted for long enough at `now`, as far as is known. The counters may know better: before
 * trigger_next(), pass those of all that trigger_watch() named by trigger_count().
 */
bool trigger_asks_counters(const struct trigger_set *t, int64_t now);

/** Takes the next firing at `now`. False: there is none. */
bool trigger_next(struct trigger_set *t, int64_t now, struct trigger_firing *f);

/** When the next violation or silence fires, or has lasted for long enough, ns; INT64_MAX: none does. */
int64_t trigger_due(const struct trigger_set *t);

struct trigger_counts trigger_counts(const struct trigger_set *t, uint32_t trigger);

#endif
