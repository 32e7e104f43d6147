// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The journal of a run: what a `bezel attach` has to know to take the run over, and cannot learn from daemons and
 * launchers. `<run>/journal`, a text that `bezel run` replaces as a whole, in one step, when something has changed, and
 * removes when the run has ended. Its first line names its version and its last one has a hash over all others, so a
 * torn or changed file is found out. Its length is bounded by the file's programs, some 150 bytes for each incarnation,
 * and the events that a console keeps.
 *
 * It is no state file (base/state_file.h): who reads it does not know the run yet.
 */
#ifndef BEZEL_ECS_COURSE_RUN_JOURNAL_H
#define BEZEL_ECS_COURSE_RUN_JOURNAL_H

#include "ecs/course/console.h"
#include "ecs/course/run_state.h"
#include "mdr/link/link.h"
#include "mdr/parts.h"

#include <limits.h>

#define RUN_JOURNAL_FILE "journal"

enum { RUN_JOURNAL_HOST_MAX = 64, RUN_JOURNAL_FILE_MAX = 64 << 20 };

/** An incarnation of a program. */
struct run_journal_program {
    uint32_t index;                  /* in the order of the experiment's file, each instance by itself */
    bool current;                    /* else an earlier one, which has ended */
    bool known, counted, home, done; /* as in struct sut_process, and struct start_plan_program */
    uint64_t begun;                  /* bytes that its file of output had before it */
    uint64_t missing;                /* bytes of its output that could not be had */
    struct message_launched row;     /* without the name of the process */
};

struct run_journal {
    char run[37]; /* the run's id */
    uint64_t epoch;
    char boot[33], host[RUN_JOURNAL_HOST_MAX + 1]; /* of the machine; pid: of the `bezel run` there */
    uint32_t pid;
    char directory[PATH_MAX];           /* in which it was started: relative paths of the file begin there */
    char name[EXPERIMENT_NAME_MAX + 1]; /* of the experiment, and ... */
    int64_t duration;                   /* ... how long it lasts, as options may have set them */
    char data[LINK_ENDPOINT_MAX];       /* where the collector took packets, ... */
    char inner[EXPERIMENT_INNER_MAX]
              [LINK_ENDPOINT_MAX]; /* ... and inner collectors, in the order of the file; "": not */
    int64_t realtime_offset;
    struct state_saved state;
    bool undrained;
    uint32_t snapshots; /* that limits started */
    uint64_t snapshots_refused;
    size_t program_count, event_count;
    struct run_journal_program *programs;
    struct console_event *events;
};

/** Writes it as text. Returns 0 with *text, for the caller to free, or BEZEL_ENOMEM. */
int run_journal_print(const struct run_journal *j, char **text, size_t *n) BEZEL_MUST_CHECK;

/**
 * Reads the `n` bytes at `text`. Returns 0 with *j for run_journal_free(); BEZEL_EMALFORMED if it is no journal, or
 * a damaged one; BEZEL_EVERSION where it is of another version; BEZEL_ENOMEM.
 */
int run_journal_parse(const char *text, size_t n, struct run_journal **j) BEZEL_MUST_CHECK;

/** Reads that of run directory `run`. Returns as above, or BEZEL_ENOENT or another error of file_read_plain(). */
int run_journal_read(const char *run, struct run_journal **j) BEZEL_MUST_CHECK;

/**
 * Writes it into run directory `run`, unless the text is that with hash *written, which it updates. `lasting`: it is in
 * stable storage then. Returns 0 or an error, with errno.
 */
int run_journal_write(const struct run_journal *j, const char *run, bool lasting, uint64_t *written) BEZEL_MUST_CHECK;

/** Whether run directory `run` has one: the run goes on, or its `bezel run` was killed. */
bool run_journal_is(const char *run);

/** Removes that of run directory `run`, where there is one. */
void run_journal_remove(const char *run);

/** NULL is allowed. */
void run_journal_free(struct run_journal *j);

#endif
