// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The proof that a guest's processor counter shows the time, where the kernel does not use the counter itself but its
 * hypervisor's clock. Reading that clock takes several times as long, and most hypervisors give their guests a counter
 * that is right. But the guest may move to another host, sleep, or have processors whose counters are apart. So:
 *
 * - Before the first record, bezeld visits each processor. A visit reads the counter beside CLOCK_MONOTONIC here, there
 *   and here again. The reading there must lie on the straight line through the two readings here, within what reading
 *   takes. So the offset between two processors is bounded by measurement, and the bound is part of the stated error.
 * - From then on it visits a processor each second, in turn.
 * - Each pair that the timebase takes is compared with what the timebase says before it is taken. A difference that no
 *   rate explains, which a slewed kernel clock can have, is a contradiction.
 * - One contradiction ends the trust for good: all programs of the node go over to the kernel's clock while they run.
 *   The records made since the last pair that agreed are wrong by more than was stated; the note says so.
 *
 * The struct has one owner. The judgements are pure; a visit moves the calling thread to other processors and back, and
 * takes some ten microseconds.
 */
#ifndef BEZEL_SENSOR_SHM_COUNTER_PROOF_H
#define BEZEL_SENSOR_SHM_COUNTER_PROOF_H

#include "base/err.h"
#include "base/timebase.h"

/** ns that readings of two processors may be apart beyond what reading takes: they are not serialised. */
enum { COUNTER_PROOF_SLACK_NS = 50 };

/** ns: a visit whose readings took longer says nothing. */
enum { COUNTER_PROOF_CLEAR_NS = 5000 };

/** ns between two visits. */
#define COUNTER_PROOF_EVERY CLOCK_S

struct counter_visit {
    struct clock_pair before, there, after;
};

enum counter_verdict {
    COUNTER_UNCLEAR, /* the readings took too long */
    COUNTER_AGREES,
    COUNTER_APART,
};

/** Judges a visit. *apart: by how many ns the two processors' counters may differ at most. */
enum counter_verdict counter_proof_judge(const struct counter_visit *v, int64_t *apart);

/** Whether `pair`, which is newer than all that `tb` took, is further from `tb` than any permitted rate explains. */
bool counter_proof_contradicts(const struct timebase *tb, const struct clock_pair *pair);

struct counter_proof {
    bool needless;    /* the counter is the kernel's clock source, which trusts it */
    bool asked;       /* the kernel's clock source is a hypervisor's: nothing counts before it is proven */
    bool proven;      /* programs may use the counter */
    bool left;        /* it was, and is not any more: for good */
    int64_t apart;    /* ns: the largest bound that a visit found */
    int64_t due;      /* of the next visit, clock_now() */
    uint32_t next;    /* the processor that is visited next */
    uint32_t unclear; /* visits in a row that said nothing */
    const char *why;  /* it is not proven, a sentence; static storage */
};

/** Decides whether a proof is needed, and tries it. Pairs must not be taken meanwhile. */
void counter_proof_begin(struct counter_proof *p);

/**
 * Goes on with it at `now`: visits the next processor if that is due, or tries the proof again that was not clear.
 * Returns false where the counter is found to be wrong; then p->why says how.
 */
bool counter_proof_poll(struct counter_proof *p, int64_t now);

/** Reads the counter on processor `cpu`, as above. Returns 0, or BEZEL_EINVAL where this thread may not run there. */
int counter_proof_visit(uint32_t cpu, struct counter_visit *v) BEZEL_MUST_CHECK;

#endif
