// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/find_run.h"

#include "base/log.h"
#include "ecs/rundir.h"

#include <stdio.h>
#include <string.h>

int find_run(const char *argument, const char *runs, char *path, size_t size)
{
    char below[PATH_MAX];
    const char *folder = rundir_runs(runs);
    if (rundir_find(argument, folder, path, size) == 0)
        return 0;
    if (!argument) {
        log_error("BEZEL-RUN-UNKNOWN", "there is no run in %s yet: 'bezel run' makes one", folder);
        return BEZEL_ENOENT;
    }
    if (*argument && !strchr(argument, '/') &&
        snprintf(below, sizeof below, "%s/%s", folder, argument) < (int)sizeof below &&
        rundir_find(below, folder, path, size) == 0)
        return 0;
    log_error("BEZEL-RUN-UNKNOWN", "there is no run '%s', neither as a directory nor in %s", argument, folder);
    return BEZEL_ENOENT;
}
