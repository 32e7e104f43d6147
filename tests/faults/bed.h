// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The bed that a fault is tried on: a real `bezel run` of an experiment whose system under test keeps account of itself
 * (truth.h), with the collector on one host and bezeld on another where the fault is one of the network. One bed a
 * process. Whatever goes wrong ends the process by bed_fail().
 */
#ifndef BEZEL_TESTS_FAULTS_BED_H
#define BEZEL_TESTS_FAULTS_BED_H

#include "base/clock.h"
#include "base/err.h"
#include "tests/faults/truth.h"
#include "tests/lib/proxy.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"

#include <stdbool.h>
#include <stddef.h>

/* Beyond the SUT, with `tree`: the inner collector to which the node sends first, and the one above it. */
enum bed_part { BED_COLLECTOR, BED_BEZELD, BED_LAUNCHER, BED_SUT, BED_LOWER, BED_UPPER, BED_PARTS };

/** Causes of loss, and a set of them. */
enum bed_cause {
    BED_FULL,
    BED_WINDOW,
    BED_SPOOL,
    BED_OFF,
    BED_OVERWRITTEN,
    BED_NO_RING,
    BED_REDUCER,
    BED_UNFINISHED,
    BED_UNSTORED,
    BED_CAUSES
};
#define BED_ONLY(cause) (1u << (cause))
#define BED_ANY         (BED_ONLY(BED_CAUSES) - 1)

/** How a bed is made; what is zero has its default. */
struct bed;
struct bed_options {
    const char *name;
    uint64_t seed;
    bool light;            /* fewer rounds */
    unsigned rounds;       /* how often a fault comes */
    bool by_link;          /* packets take the link, also where they could pass directly */
    bool tree;             /* two inner collectors, one below the other */
    bool reduces;          /* records of echo end at the node, ... */
    bool at_root;          /* ... or at the collector that stores the run */
    bool over_network;     /* bezeld is on another host, behind the proxy */
    bool remote;           /* bezeld and SUT are a remote node (remote.h) ... */
    unsigned silence_s;    /* ... which goes on for so long without `bezel run`; 0: the default */
    unsigned store_mib;    /* the run's directory is a file system of that size */
    unsigned processes;    /* of the system under test; 2 */
    unsigned pause_us;     /* between two records of a thread; 500 */
    unsigned threads;      /* of each of them; 2 */
    unsigned ring_records; /* 65536 */
    unsigned window_mib;   /* 16 */
    unsigned spool_mib;    /* none */
    bool recorder;         /* full rings overwrite: what they hold is stored where a process ends */
    unsigned loses;        /* set of causes: by each of them records are lost, ... */
    unsigned spares;       /* ... and by these none is */
    bool keys;             /* the link has keys, and goes over an address that is not loopback's */
    bool may_lack;         /* records that could not be stored by the end are reported as the rest, and no failure */
    const char *evil;      /* beside them a process `evil` does this harm (sut_processes.c); nothing of it is checked */
    bool damaged;          /* what is stored may be wrong, which is reported and no failure; it may lack, too */
    void (*meanwhile)(struct bed *b); /* done when the run has been started; NULL: nothing */
    bool shifted_clock;               /* all programs of the run read a wall clock that is off by *wall */
};

/** What was found at the end. */
struct bed_result {
    unsigned tried;                              /* how often the fault came */
    unsigned ways;                               /* RUNDB_WAY_LINK, _DIRECT: by which stored packets came */
    uint64_t produced, stored, lost[BED_CAUSES]; /* the books of the SUT */
    uint64_t silent[2];               /* what threads did, and began, before the first that is stored of them */
    uint64_t doubled, wrong, unknown; /* stored twice; not what was recorded, or out of order; none of all these */
    uint64_t refused;                 /* by the collector, as malformed */
    uint64_t reduced;                 /* to values */
    bool failed;
    bool absent; /* the kernel does not have what the fault is made with: it was not tried */
};

struct bed {
    struct bed_options options;
    struct bed_result result;
    uint64_t seed; /* for seed_next() */
    struct truth *truth;
    _Atomic int64_t *wall; /* what the wall clock is off by, ns */
    struct proxy proxy;
    const char *address; /* where the collector listens */
    uint16_t port;
    struct {
        pid_t keeper, bezeld, service; /* keeper: of its network; service: bezel-launcher */
        pid_t orphan;                  /* the launcher of the session, whose service was killed */
        int network, home;             /* namespaces: its own, and the bed's */
    } remote;
    pid_t run;
    int64_t restarts[BED_PARTS][5]; /* when the daemons were killed */
    unsigned restart_count[BED_PARTS];
    char dir[SCRATCH_PATH], node[SCRATCH_PATH];
};

/** Makes a bed and starts the run; returns when records of the SUT are stored, or result.absent is set: a remote node
 * is wanted, and no network may be made here, or a small disk, and nothing may be mounted. */
void bed_make(struct bed *b, const struct bed_options *options);

/** Lets the run end as by ctrl-C, checks that its exit code is one of the characters in `codes`, and balances the
 * books. */
void bed_end(struct bed *b, const char *codes);

/** The same where the run is to end by itself. */
void bed_end_alone(struct bed *b, const char *codes);

/** Has `bezel attach` take over the run, whose `bezel run` was killed. */
void bed_attach(struct bed *b);

/** Balances the books of a run that was killed. */
void bed_end_killed(struct bed *b);

/** Says what is not as it must be, with the last words of the run, and ends the process. */
_Noreturn void bed_fail(struct bed *b, const char *format, ...) BEZEL_PRINTF(2, 3);

/** A number below n; and as many milliseconds of sleep. */
uint64_t bed_draw(struct bed *b, uint64_t n);
void bed_nap(struct bed *b, uint64_t most_ms);
void bed_sleep(int64_t ns);

/** The process of a part, of several SUT processes one drawn at random; 0 where there is none just now. */
pid_t bed_pid(struct bed *b, enum bed_part part);

/** Reads parent and name of a process; false where there is none, or a zombie. */
bool bed_describe(pid_t pid, pid_t *parent, char name[64]);

/** Waits where a daemon was killed so often that the run would give it up at the next time, as it should. */
void bed_spare(struct bed *b, enum bed_part part);

/**
 * kill -9. Waits before, as bed_spare() does. Counts as a fault tried.
 * False: the part did not live.
 */
bool bed_kill(struct bed *b, enum bed_part part);

/** SIGSTOP or SIGCONT to a part; the SUT all of it. */
void bed_signal(struct bed *b, enum bed_part part, int signal);

/** Bytes of the SUT's packets in the store. */
uint64_t bed_stored_bytes(struct bed *b);

/** Waits until at least so many more are there than now; until so many are there. */
void bed_await_progress(struct bed *b, uint64_t bytes);
void bed_await_stored(struct bed *b, uint64_t bytes);

/** Waits until the SUT has produced at least so many more records than now. */
void bed_await_records(struct bed *b, uint64_t records);

/** Waits until `holds(b)`. */
void bed_await(struct bed *b, bool (*holds)(struct bed *), const char *what);

/** Whether the standard error of the run holds `text`. */
bool bed_said(struct bed *b, const char *text);

/**
 * Runs a program to its end, with BEZEL_DIR of the bed; what it says goes to file `said` of the bed. `argv` ends with
 * NULL; a name without a slash is looked for in PATH. Returns its exit code, 127 where there is no such program, or 128
 * and the signal (program.c).
 */
int bed_program(struct bed *b, const char *said, const char *const argv[]);

/** Makes a pair of keys in a folder of the bed. */
void bed_make_key(struct bed *b, const char *folder, const char *name);

/** Sets the mode of the network. */
void bed_network(struct bed *b, struct proxy_mode mode);

/** How many processes called `evil` something has been noted about (check.c). */
unsigned bed_noted(struct bed *b);

/** Compares store and report with the truth, and fills the result (check.c). */
void bed_check(struct bed *b);

#endif
