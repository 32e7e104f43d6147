// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The sampler of context switches: sampler_switches.c records intervals of threads, sampler_cpus.c keeps who had the
 * CPUs and who woke whom, and sampler_explain.c says why a thread was off its CPU.
 */
#ifndef BEZEL_SENSOR_SAMPLERS_SAMPLER_SWITCHES_H
#define BEZEL_SENSOR_SAMPLERS_SAMPLER_SWITCHES_H

#include "sensor/samplers/sampler_internal.h"
#include "sensor/samplers/switches_cpu.h"
#include "sensor/samplers/switches_ring.h"

/** Aspects of the journal of intervals. */
enum switches_aspect { ASPECT_INTERVAL = 1, ASPECT_READY, ASPECT_WAIT };

/** What a thread that waits does; the order is that of the labels in the trace. */
enum switches_state { SWITCHES_STATE_UNSEEN, SWITCHES_STATE_SLEEPS, SWITCHES_STATE_DISK, SWITCHES_STATE_STOPPED };

struct switches_recorder {
    struct switches_ring ring;
    uint64_t process; /* its name, a string of the journal */
    struct switches_thread thread;
    int64_t queued;   /* schedstat's, up to the records that were taken; SWITCHES_UNKNOWN */
    int64_t running;  /* likewise, when the recording began */
    int64_t arrivals; /* on a CPU, by the records */
    int64_t ahead;    /* by how much schedstat's count of these is larger; INT64_MAX: not known */
    uint64_t recent;  /* intervals in the budget's window */
    bool full;        /* the kernel had no room when records were taken last: what follows says how many are lost */
    bool looked;      /* at what it does while it waits, in this wait */
    enum switches_state state; /* as it was seen then */
    int64_t throttled;         /* of its cgroups, up to the time off that was explained last */
};

enum { SWITCHES_EVENTS = 1024 }; /* that a ring of 32 KiB has */

struct sampler_switches {
    struct journal *journal;
    struct sampler_cpus *cpus;                       /* who had them, and who woke whom */
    const struct sampler_throttle *throttle;         /* of the process whose records are taken; NULL: none */
    double budget;                                   /* share of a CPU */
    int64_t began;                                   /* the budget's window */
    int64_t used;                                    /* CPU time in it */
    struct switches_event events[SWITCHES_EVENTS];   /* of the ring that is read */
    struct switches_waking wakings[SWITCHES_EVENTS]; /* of those with a time `woken` */
};

/** Makes the journal of intervals in `dir`. Returns 0 or an error of journal_open(); sampler_close_switches() in both
 * cases. */
int sampler_open_switches(struct samplers *s, const struct experiment_switches *switches,
                          const char *dir) BEZEL_MUST_CHECK;
void sampler_close_switches(struct samplers *s);

/** Ends the recording of all threads. */
void sampler_end_switches(struct samplers *s);

/** Who had the CPUs, and who woke whom. Opening returns NULL if there is no memory; NULL is allowed then. */
struct sampler_cpus *sampler_open_cpus(void) BEZEL_MUST_CHECK;
void sampler_close_cpus(struct sampler_cpus *cpus);

/** Takes what the kernel recorded of all CPUs; begins with those that came up. */
void sampler_take_cpus(struct samplers *s, int64_t now);

/** Ends the recording of CPUs until `until`. False if they were not recorded. */
bool sampler_leave_cpus(struct samplers *s, int64_t until);

/** Wakings of thread `thread` are kept from now on, or no longer. */
void sampler_keep_wakings(struct samplers *s, uint32_t thread, bool keep);

/** Who woke thread `thread` first between `since` and `end`. False: that is not known. */
bool sampler_waking_of(struct samplers *s, uint32_t thread, int64_t since, int64_t end, struct switches_waking *waking);

/**
 * Who had CPU `cpu` but `thread` from `begin` to `end`; as switches_rivals(). If `comes`, the thread came there at
 * `end`. Negative: CPUs are not recorded. *lost: not all that was recorded is known, as records are missing.
 */
int sampler_rivals_of(struct samplers *s, uint32_t cpu, uint32_t thread, bool comes, int64_t begin, int64_t end,
                      struct switches_rival rivals[SWITCHES_RIVALS], bool *lost);

/** The command of a thread that had a CPU, as a string of the journal. */
uint64_t sampler_command_of(struct samplers *s, uint32_t thread);

/** The records of a process are taken from now on: finds its groups, and sees how long they were not run so far. */
void sampler_begin_throttle(struct samplers *s, struct sampler_process_state *place, uint32_t pid, int64_t now);
void sampler_close_throttle(struct sampler_process_state *place);

/**
 * For how long the groups of that process were not run since the turn before, as they had used up their CPU quota, but
 * for what was asked for when *taken was set, which is set anew.
 */
int64_t sampler_throttled(struct samplers *s, int64_t *taken);

/** Who woke thread `id`, of which `t` is known before event `e`, if that ends a wait that is explained. Returns when,
 * or 0: that is not known. */
int64_t sampler_find_waking(struct samplers *s, uint32_t id, const struct switches_thread *t,
                            const struct switches_event *e, struct switches_waking *waking);

/**
 * Thread `t` came to a CPU, as its recorder says, after it was off CPU `left`: records why, at `at`. `waking`: who woke
 * it; NULL: that is not known. `known`: the kernel's sum of how long it was ready is.
 */
void sampler_explain(struct samplers *s, struct sampler_thread *t, uint32_t left, const struct switches_waking *waking,
                     bool known, int64_t at);

/** Thread `t` has been off its CPU since long ago: sees once what it does. `now` is the time. */
void sampler_look_at_wait(struct samplers *s, struct sampler_thread *t, int64_t now);

/** The recording of thread `t` ends at `now`: records its wait that has not ended. */
void sampler_explain_last(struct samplers *s, struct sampler_thread *t, int64_t now);

/** Ends the recording of a thread, whose last intervals are recorded first. Nothing happens if there is none. */
void sampler_close_recorder(struct samplers *s, struct sampler_thread *t);

#endif
