// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/log.h"
#include "base/program.h"
#include "config/experiment.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "ecs/course/rundir.h"
#include "run/rundb/rundb.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char about[] =
    "Makes a run directory out of a trace of another tool, on which report, verify, tail, export, view, top and why "
    "work as on any run, and prints its path. TRACE is a CTF 1.8 trace (LTTng, ros2_tracing, barectf and others), a "
    "folder with several, or a file in PICL. docs/IMPORT.md says what becomes what. The books of such a run are the "
    "source's: what it counted as lost is lost, and where it does not count, the report says that it is unknown.\n";
static const char footer[] =
    "Exit codes: 0 done; 1 failed, or a trace could not be read to its end, and the run has what "
    "came before; 2 wrong usage, or no trace.\n";

/* The name of the run: that of --name, or of the trace's file or folder. */
static int read_name(const char *given, const char *trace, char name[EXPERIMENT_NAME_MAX + 1])
{
    char real[PATH_MAX];
    const char *last = realpath(trace, real) ? strrchr(real, '/') + 1 : "";
    size_t n = 0;
    if (given && !experiment_name_ok(given))
        return options_misuse("--name '%s': a name has 1 to %d letters, digits, '_', '-' or '.'", given,
                              EXPERIMENT_NAME_MAX);
    for (last = given ? given : last; *last && n < EXPERIMENT_NAME_MAX; last++) {
        bool ok = (*last >= 'a' && *last <= 'z') || (*last >= 'A' && *last <= 'Z') || (*last >= '0' && *last <= '9') ||
                  *last == '_' || (n > 0 && (*last == '-' || *last == '.'));
        name[n++] = ok ? *last : '_';
    }
    snprintf(name + n, EXPERIMENT_NAME_MAX + 1 - n, "%s", n ? "" : "imported");
    return OPTIONS_GO_ON;
}

/* Whether the run has a database; without one there was nothing to import. */
static bool is_there(const struct rundir *run)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/run.db", run->path);
    return access(path, F_OK) == 0;
}

/* Runs bezel-import to its end. Returns its exit code. */
static int fill(const struct rundir *run, const char *name, const char *trace)
{
    char program[PATH_MAX];
    const char *args[] = {"bezel-import", "--run", run->path, "--id", run->uuid, "--name", name, "--", trace, NULL};
    pid_t pid;
    int status;
    if (program_find_own(args[0], program, sizeof program) != 0) {
        log_error("BEZEL-IMPORT", "there is no %s beside this program, nor in $PATH: install it", args[0]);
        return EXIT_FAILED;
    }
    int sys = posix_spawn(&pid, program, NULL, NULL, (char **)(uintptr_t)args, environ);
    while (!sys && waitpid(pid, &status, 0) < 0)
        sys = errno == EINTR ? 0 : errno;
    if (sys) {
        log_error("BEZEL-IMPORT", "%s: %s", program, strerror(sys));
        return EXIT_FAILED;
    }
    if (WIFSIGNALED(status))
        log_error("BEZEL-IMPORT",
                  "bezel-import was ended by signal %d, as libbabeltrace2 does with some damaged traces: %s %s",
                  WTERMSIG(status), is_there(run) ? run->path : "no run was made of",
                  is_there(run) ? "has a part of it" : trace);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

static int put_properties(const struct rundir *run, const char *name)
{
    struct rundb *f;
    char value[256], sum[RUNDB_EXPERIMENT_MAX];
    const char *key;
    int err = rundb_sum_experiment(run->path, sum);
    if (!err)
        err = rundb_open(run->path, &f);
    if (err)
        return err;
    err = rundb_put(f, "name", name);
    if (!err)
        err = rundb_put(f, RUNDB_EXPERIMENT, sum);
    for (unsigned i = 0; !err && rundir_version(i, &key, value, sizeof value); i++)
        err = rundb_put(f, key, value);
    int closed = rundb_close(f);
    return err ? err : closed;
}

static int import(struct rundir *run, const char *name, const char *trace)
{
    int code = fill(run, name, trace);
    if (!is_there(run)) {
        if (code == EXIT_OK)
            log_error("BEZEL-IMPORT-EMPTY", "%s has no events: no run was made", trace);
        if (file_remove_tree(run->path) != 0)
            log_warn("BEZEL-RUN-DIRECTORY", "%s cannot be removed: %s", run->path, strerror(errno));
        return code == EXIT_OK ? EXIT_FAILED : code;
    }
    int err = put_properties(run, name);
    if (err) {
        log_error("BEZEL-DATABASE", "%s/run.db: %s%s", run->path, rundb_why(err), file_room(run->path, errno));
        return EXIT_FAILED;
    }
    if (rundir_point_latest(run) != 0)
        return EXIT_FAILED;
    puts(run->path);
    return options_end(code);
}

int cmd_import(int argc, char **argv)
{
    const char *given = NULL;
    char name[EXPERIMENT_NAME_MAX + 1], text[EXPERIMENT_NAME_MAX + 64];
    struct command_target t = {0};
    struct rundir run;
    struct options o = {
        .program = "bezel import", .usage = "[OPTIONS] TRACE", .about = about, .footer = footer, .least = 1, .most = 1};
    const struct options_entry entries[] = {
        {"name", 0, "NAME", "the name of the run (default: that of TRACE)", .value = &given},
        COMMAND_RUNS(&t),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        code = read_name(given, o.words[0], name);
    if (code != OPTIONS_GO_ON)
        return code;
    int n = snprintf(text, sizeof text, "experiment: %s\ncommand: [bezel, import]\n",
                     name); /* bezel-import writes the whole */
    if (rundir_init(&run) != 0 || rundir_make(rundir_runs(t.runs), name, text, (size_t)n, &run) != 0)
        return EXIT_FAILED;
    return import(&run, name, o.words[0]);
}
