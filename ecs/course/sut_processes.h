// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The launched processes of an experiment: one for each instance, on this machine or on that of a remote node. */
#ifndef BEZEL_ECS_COURSE_SUT_PROCESSES_H
#define BEZEL_ECS_COURSE_SUT_PROCESSES_H

#include "bezeld/launch/launch_program.h"
#include "config/experiment.h"

#include <limits.h>

struct sut_process {
    const struct experiment_process *of;
    struct launch_program program; /* complete, if it is not remote */
    bool remote;                   /* its node's launcher starts it */
    char path[PATH_MAX];           /* of the executable file, if it is not remote */
    char output[PATH_MAX + 96];    /* file that takes its output; "": none */
    uint32_t sent;                 /* whose start was sent to its launcher last; 0: none */
    int64_t sent_at;               /* ns */
    uint32_t sent_id;              /* of that command */
    struct message_launched row;   /* what is known of incarnation `sent`; state and pid are of use if `known` */
    bool known, counted;           /* counted: its end was */
    bool stuck;                    /* it was said that it is not started, for one that it waits for has failed */
    uint64_t fetched, missing;     /* of a remote one: bytes of output that came home, that could not be had */
    uint64_t begun;                /* bytes of its file of output when incarnation `sent` began */
    uint32_t fetch_id;             /* of the question for more; 0: none is under way */
    int64_t fetch_at;
    bool home;         /* all of its output is */
    int64_t looked_at; /* when it was looked last whether it is ready, ns */
    uint32_t look_id;  /* of the question for that; 0: none */
    uint64_t scanned;  /* bytes of its file of output in which no line says so */
    uint32_t restarts; /* how often it was started again */
};

/** The launcher of a node. */
struct sut_launcher {
    uint32_t programs; /* that it is to start; 0: it has none */
    uint64_t since;    /* the last change that is known */
    uint32_t asked_id; /* of the last question for what has changed */
    uint32_t left;     /* reported as left behind */
    bool empty;        /* it got the order to end its programs, and nothing is left of them */
};

/** An incarnation that is over, or may be: what the report says of it. */
struct sut_ended {
    const struct sut_process *process;
    struct message_launched row;
    uint64_t missing; /* bytes of its output */
};

struct sut_processes {
    size_t count;
    struct sut_process *processes;
    size_t ended_count;
    struct sut_ended *ended;
    uint32_t nodes;
    struct sut_launcher local, *launchers; /* local: of all nodes on this machine; launchers: of each remote node */
};

/**
 * Prepares the launch of the processes of `e`: their output goes into `<run>/output`; `node_dirs[i]` is the BEZEL_DIR
 * of node i. `interactive`: the one process keeps the terminal. `json`: standard output is for the report. `resumed`:
 * nothing is started on this machine any more, so that commands need not be there. Borrows `e`. Returns 0 with *sut for
 * sut_processes_free(), BEZEL_ENOMEM, or BEZEL_ENOENT where a command has vanished since the file was checked.
 */
int sut_processes_make(const struct experiment *e, const char *run, char *const *node_dirs, bool interactive, bool json,
                       bool resumed, struct sut_processes *sut) BEZEL_MUST_CHECK;

void sut_processes_free(struct sut_processes *sut);

/** The process of that name on node `node`, or on this machine where that is -1; NULL: there is none. */
struct sut_process *sut_processes_find(struct sut_processes *sut, int node, const char *name);

/** Notes what is known of its present incarnation, before another one begins, or at the end. Returns 0, BEZEL_ENOMEM.
 */
int sut_processes_note(struct sut_processes *sut, const struct sut_process *p) BEZEL_MUST_CHECK;

/** Its launcher. */
struct sut_launcher *sut_processes_launcher(struct sut_processes *sut, const struct sut_process *p);

/** Whether nothing runs on this machine and on any remote node for which `skip` is false (NULL: none is skipped). */
bool sut_processes_all_ended(const struct sut_processes *sut, bool (*skip)(const void *of, uint32_t node),
                             const void *of);

/**
 * Whether `p`, as far as is known, was never started: its launcher was not told to, or has never said a word of it.
 * Pure.
 */
bool sut_processes_is_unstarted(const struct sut_process *p);

/** Whether all output of the processes on node `node` is home. */
bool sut_processes_output_is_home(const struct sut_processes *sut, uint32_t node);

/**
 * Describes how a process ended, from its wait status: "was killed by signal 11 (Segmentation fault)", "ended with exit
 * code 3".
 */
void sut_processes_describe_end(int status, char *text, size_t size);

#endif
