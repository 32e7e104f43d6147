// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The launched processes of an experiment: one for each instance. */
#ifndef BEZEL_ECS_SUT_H
#define BEZEL_ECS_SUT_H

#include "config/experiment.h"
#include "ecs/launcher.h"

#include <limits.h>

struct sut_process {
    char name[EXPERIMENT_NAME_MAX + 8]; /* with its instance: "client.3" */
    char path[PATH_MAX];                /* of the executable file */
    char output[PATH_MAX + 96];         /* file that takes its output; "": none */
    char **environment;                 /* NULL-terminated; owned */
    pid_t pid;                          /* 0: not started, or ended */
    pid_t launched;                     /* what `pid` was; 0: never started */
};

struct sut {
    size_t count;
    struct sut_process *processes;
    struct launch *launches; /* of the same indices; they borrow from processes and from the experiment */
};

/**
 * Works out what is to be launched for `e`: output into `<run>/output`, `node_dirs[i]` being the BEZEL_DIR of node i.
 * `interactive`: the one process keeps the terminal. Borrows `e`. Returns 0 with *sut for sut_free(), BEZEL_ENOMEM, or
 * BEZEL_ENOENT where a command has vanished since the file was checked.
 */
int sut_make(const struct experiment *e, const char *run, char *const *node_dirs, bool interactive,
             struct sut *sut) BEZEL_MUST_CHECK;

void sut_free(struct sut *sut);

/**
 * Says how a process ended, given its wait status: "was killed by signal 11 (Segmentation fault)", "ended with exit
 * code 3".
 */
void sut_describe_end(int status, char *text, size_t size);

#endif
