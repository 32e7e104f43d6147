// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/run_attach.h"

#include "base/exit_code.h"
#include "base/file.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "ecs/course/load_experiment.h"
#include "ecs/course/run_internal.h"
#include "run/history/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAVE_LIMIT                                                                                                    \
    (10 * CLOCK_S) /* for what a killed `bezel run` has left on this machine to end, beside the grace                  \
                    */

/* ---- What cannot be taken over ----------------------------------------------------------------------------------- */

static void report_running(const char *path, const struct run_journal *j)
{
    struct run_journal here = {.pid = 0};
    run_describe_host(&here);
    if (j && strcmp(j->host, here.host) == 0)
        log_error(
            "BEZEL-ATTACH-RUNNING",
            "%s: its `bezel run` (pid %d) lives: is it stopped? 'kill -CONT %d' continues it; it has to end before "
            "another one can take the run over",
            path, (int)j->pid, (int)j->pid);
    else
        log_error("BEZEL-ATTACH-RUNNING",
                  "%s: a `bezel run` commands it%s%s: it has to end before another one can take the run over", path,
                  j ? " on " : "", j ? j->host : "");
}

static bool has_ended(const char *path)
{
    struct summary *s = NULL;
    if (summary_load(path, &s) != 0)
        return false;
    bool ended = summary_ended(s) != 0;
    summary_free(s);
    return ended;
}

static void report_unreadable(const char *path, int err)
{
    if (err == BEZEL_ENOENT)
        log_error("BEZEL-ATTACH-JOURNAL",
                  "%s has no journal: it was killed before it had begun, or is of an earlier version: "
                  "'bezel report' prints what is stored",
                  path);
    else if (err == BEZEL_EVERSION)
        log_error("BEZEL-ATTACH-JOURNAL",
                  "%s/" RUN_JOURNAL_FILE " is of another version of Bezel: take the run over with that one", path);
    else if (err == BEZEL_EMALFORMED)
        log_error("BEZEL-ATTACH-JOURNAL",
                  "%s/" RUN_JOURNAL_FILE " is damaged: the run cannot be taken over; 'bezel report' prints what "
                  "is stored",
                  path);
    else
        log_error("BEZEL-ATTACH-JOURNAL", "cannot read %s/" RUN_JOURNAL_FILE ": %s", path, ulimit_reason(err));
}

/* Reads the journal of a run that may be taken over. Returns EXIT_OK, or an exit code, with the reason on stderr. */
static int read_journal(const char *path, struct run_journal **j)
{
    int err = run_journal_read(path, j);
    if (rundir_is_running(path)) {
        report_running(path, err ? NULL : *j);
        return EXIT_FAILED;
    }
    if (has_ended(path)) {
        log_error("BEZEL-ATTACH-ENDED", "%s has ended: there is nothing to take over; 'bezel report' prints its report",
                  path);
        return EXIT_USAGE;
    }
    if (err)
        report_unreadable(path, err);
    return err ? EXIT_FAILED : EXIT_OK;
}

/* ---- Taking over ------------------------------------------------------------------------------------------------- */

/*
 * The launcher is forked first, and so inherits no lock. The new epoch is in stable storage before the first command:
 * a third one that takes the run over is above it. The lock keeps others on this machine away.
 */
int run_take_directory(struct run *r)
{
    struct run_journal *again = NULL;
    int err = launcher_fork(r->e->grace, &r->launcher);
    if (err) {
        log_error("BEZEL-RUN-LAUNCHER", "cannot prepare the launch of the processes: %s", ulimit_reason(err));
        return err;
    }
    err = rundir_take_over(r->path, r->taken->run, &r->dir);
    if (err == BEZEL_EBUSY)
        report_running(r->path, run_journal_read(r->path, &again) == 0 ? again : NULL);
    else if (err)
        log_error("BEZEL-ATTACH-LOCK", "cannot lock %s: %s", r->path, ulimit_reason(err));
    else if (run_journal_read(r->path, &again) != 0 || again->epoch != r->taken->epoch) {
        log_error("BEZEL-ATTACH-RUNNING",
                  "%s: another `bezel attach` was faster: nothing is left to take over, or try again", r->path);
        err = BEZEL_EBUSY;
    }
    run_journal_free(again);
    if (err)
        return err;
    struct run_journal mine = *r->taken;
    mine.epoch = r->daemons.owner.epoch;
    mine.pid = (uint32_t)getpid();
    err = run_journal_write(&mine, r->dir.path, true, &r->saved);
    if (err) {
        log_error("BEZEL-RUN-JOURNAL", "cannot write %s/" RUN_JOURNAL_FILE ": %s", r->dir.path, ulimit_reason(err));
        return err;
    }
    console_note(&r->console, "%s: waiting until what the killed `bezel run` has left on this machine has ended",
                 r->e->name);
    return rundir_take_private(&r->dir, r->e->grace + LEAVE_LIMIT);
}

/* The folder in which the run was started, as far as it is there. */
static void enter_directory(const struct run_journal *j)
{
    if (j->directory[0] && chdir(j->directory) != 0)
        log_warn("BEZEL-ATTACH-FOLDER",
                 "cannot enter %s, where the run was started: %s; relative paths of its file begin here instead",
                 j->directory, strerror(errno));
}

static int load(const char *path, const struct run_journal *j, char **text, struct experiment **e)
{
    char file[PATH_MAX + 32];
    size_t n;
    snprintf(file, sizeof file, "%.*s/experiment.yaml", PATH_MAX, path);
    int err = file_read(file, EXPERIMENT_FILE_MAX, text, &n);
    if (err) {
        log_error("BEZEL-FILE", "cannot read %s: %s", file, ulimit_reason(err));
        return err;
    }
    err = load_again(*text, n, file, e);
    char *name = err ? NULL : strdup(j->name);
    if (name) {
        free((*e)->name);
        (*e)->name = name;
        (*e)->duration = j->duration;
    }
    return err ? err : name ? 0 : BEZEL_ENOMEM;
}

int run_attach(const char *path, const struct run_options *options)
{
    struct run_journal *j = NULL;
    struct experiment *e = NULL;
    char *text = NULL, real[PATH_MAX];
    if (!realpath(path, real)) {
        log_error("BEZEL-RUN-UNKNOWN", "%s: %s", path, strerror(errno));
        return EXIT_USAGE;
    }
    int code = read_journal(real, &j);
    if (code == EXIT_OK) {
        enter_directory(j);
        code =
            load(real, j, &text, &e) == 0 ? run_drive(&(struct run_start){e, options, NULL, 0, real, j}) : EXIT_FAILED;
    }
    experiment_free(e);
    free(text);
    run_journal_free(j);
    return code;
}
