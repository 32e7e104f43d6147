// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Why an event came when it came: a walk backward from it, through the thread that it is of, and where that thread
 * waited for a message, through the thread that sent it, down to the begin of a window. Each instant of the window is
 * in one piece, and each piece of one class, so the classes sum to the window.
 *
 * A thread that was off the CPU and received a message next was waiting for that message, if the message was sent
 * meanwhile; between nodes also if it was under way already; and if neither the kernel nor the program says that it
 * waited for something else, or was stopped. Then the path goes on where it was sent. Without intervals of `switches`,
 * a thread is known to wait where a wait of the program says so, but for a time, or its receiving (field `waited`), and
 * the message was sent meanwhile: a span with nothing in it but the receiving may be work as well. Where the kernel
 * says which thread of the run ended another wait, that thread is followed for as long as the wait lasted, and then the
 * path goes on where it was. What is not known is a piece of PATH_UNKNOWN, with the reason.
 *
 * Times of two nodes are compared as far as their clocks are known: `bound` of a path is the widest error of a step
 * from one thread to another. Pure.
 */
#ifndef BEZEL_ANALYSIS_PATH_H
#define BEZEL_ANALYSIS_PATH_H

#include "analysis/activity.h"
#include "base/err.h"

enum path_class {
    PATH_RUNNING, /* on a CPU */
    PATH_READY,   /* ready to run: others had the CPU; PATH_BETWEEN: nobody is known to have had it */
    PATH_MONITOR, /* ready to run: the monitor had the CPU */
    PATH_MESSAGE, /* it waited for a message, which had been sent; woken without `switches`, also until it ran */
    PATH_LOCK,    /* it waited for a lock, as a wait of the program says */
    PATH_IO,      /* for input or output, as a wait says; or in the kernel, for a disk or for memory */
    PATH_SLEEP,   /* for a time, as a wait says */
    PATH_STOPPED, /* by a signal or a debugger */
    PATH_UNKNOWN,
    PATH_CLASSES
};

enum path_why {
    PATH_KNOWN,
    PATH_NO_SWITCHES, /* when the thread was on a CPU is not recorded here */
    PATH_LOST,        /* records were lost here */
    PATH_BLOCKED,     /* it waited, and no record says for what */
    PATH_WOKEN,       /* `by`, if known, ended the wait, and nothing is recorded of the thread that did */
    PATH_SOFTIRQ,     /* it waited for work of the kernel, such as a message, perhaps of `by` */
    PATH_INTERRUPT,   /* it waited for a timer or a device */
    PATH_UNSENT,      /* it waited for a message whose sending is not recorded */
    PATH_BETWEEN,     /* it waited, or was ready: the kernel's sums do not say when the one became the other */
    PATH_CLOCKS,      /* it waited for a message of a node whose clock is not known */
    PATH_BEGINNING,   /* before the first record of the thread */
    PATH_CYCLE,       /* messages lead back to where the path was: tags or clocks contradict each other */
    PATH_FORGOTTEN,   /* it leads to what is too old, or too much, to be kept by a path that grows with its run */
    PATH_WHYS
};

struct path_piece {
    int64_t from, until;
    enum path_class is;
    enum path_why why; /* of PATH_UNKNOWN; else PATH_KNOWN, or of PATH_READY PATH_BETWEEN; of PATH_LOCK and PATH_IO
                          PATH_NO_SWITCHES: at most, as it may have been ready or stopped for some of it */
    uint32_t thread;   /* an index in activity.threads */
    uint32_t span;     /* the innermost one that the thread was in, an index in activity.names; ACTIVITY_NONE */
    uint32_t peer;     /* of PATH_MESSAGE the thread that sent it; else ACTIVITY_NONE */
    uint32_t by;       /* who had the CPU, or ended the wait, an index in activity.names; ACTIVITY_NONE */
};

struct path {
    size_t count, capacity;
    struct path_piece *pieces; /* in the order of time, without gaps */
    int64_t bound;             /* ns; see above */
    size_t wakers;             /* threads that were followed since they ended a wait */
    size_t steps;              /* that the walk took */
};

/**
 * The path to what `thread` did at `until`, from `from` on, into `p`, which path_walk() empties first and path_fini()
 * frees. `a` is settled. Returns 0 or BEZEL_ENOMEM.
 */
int path_walk(const struct activity *a, uint32_t thread, int64_t from, int64_t until, struct path *p) BEZEL_MUST_CHECK;
void path_fini(struct path *p);

/** Where a walk may end sooner: what is before that is known already, or not kept. */
struct path_end {
    int64_t from;                                            /* down to which it goes at most */
    int64_t kept;                                            /* all that threads did since then is there */
    int64_t (*least)(void *of, uint32_t thread, int64_t at); /* in `thread`, at `at` or before, but not below `from` */
    void *of;

    uint32_t thread; /* made by path_walk_to(): where it ended */
    int64_t at;
};

/** As path_walk(), down to an end. */
int path_walk_to(const struct activity *a, uint32_t thread, int64_t until, struct path_end *end,
                 struct path *p) BEZEL_MUST_CHECK;

/** The time for which a thread was off the CPU before an interval: at its end it was ready to run, else it waited. */
struct path_off {
    const struct activity_event *awaited; /* the message that it waited for; NULL: none is known ... */
    enum path_why why;                    /* ... for this reason; else PATH_KNOWN */
    int64_t least, most;                  /* ns it was ready to run: 0 <= least <= most */
};

/** That of `thread` before interval `i` of its intervals. */
struct path_off path_off_before(const struct activity *a, uint32_t thread, size_t i);

/** The class of a wait that no message explains: what the kernel says of it (NULL: nothing), else the program. */
enum path_class path_wait_class(const struct activity_wait *x, enum activity_reason reason);

/** What a class, and a reason, are called in JSON; static. */
const char *path_class_name(enum path_class is);
const char *path_why_name(enum path_why why);

#endif
