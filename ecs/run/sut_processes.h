// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The launched processes of an experiment: one for each instance. */
#ifndef BEZEL_ECS_RUN_SUT_PROCESSES_H
#define BEZEL_ECS_RUN_SUT_PROCESSES_H

#include "bezeld/launch/launcher.h"
#include "config/experiment.h"

#include <limits.h>

struct sut_processes_process {
    char name[EXPERIMENT_NAME_MAX + 8]; /* with its instance: "client.3" */
    char path[PATH_MAX];                /* of the executable file */
    char output[PATH_MAX + 96];         /* file that takes its output; "": none */
    char **environment;                 /* NULL-terminated; owned */
    pid_t pid;                          /* 0: not started, or ended */
    pid_t launched;                     /* what `pid` was; 0: never started */
};

struct sut_processes {
    size_t count;
    struct sut_processes_process *processes;
    struct launch *launches; /* of the same indices; they borrow from processes and from the experiment */
};

/**
 * Prepares the launch of the processes of `e`: their output goes into `<run>/output`; `node_dirs[i]` is the BEZEL_DIR
 * of node i. `interactive`: the one process keeps the terminal. Borrows `e`. Returns 0 with *sut for
 * sut_processes_free(), BEZEL_ENOMEM, or BEZEL_ENOENT where a command has vanished since the file was checked.
 */
int sut_processes_make(const struct experiment *e, const char *run, char *const *node_dirs, bool interactive,
                       struct sut_processes *sut) BEZEL_MUST_CHECK;

void sut_processes_free(struct sut_processes *sut);

/**
 * Describes how a process ended, from its wait status: "was killed by signal 11 (Segmentation fault)", "ended with exit
 * code 3".
 */
void sut_processes_describe_end(int status, char *text, size_t size);

#endif
