// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/report.h"

#include "base/file.h"
#include "base/limit.h"
#include "base/log.h"
#include "collector/facts.h"
#include "ecs/rundir.h"
#include "ecs/table.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The run's path, without symbolic links, relative where it lies below the working directory. */
static void shown_path(const char *run, char *path)
{
    char real[PATH_MAX], here[PATH_MAX];
    if (!realpath(run, real)) {
        snprintf(path, PATH_MAX, "%s", run);
        return;
    }
    size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;
    bool below = n > 1 && strncmp(real, here, n) == 0 && real[n] == '/';
    snprintf(path, PATH_MAX, "%s", below ? real + n + 1 : real);
}

static int load_experiment(const char *run, struct experiment **e)
{
    char path[PATH_MAX], *text;
    size_t n;
    if (snprintf(path, sizeof path, "%s/experiment.yaml", run) >= (int)sizeof path)
        return BEZEL_EINVAL;
    int err = file_read_plain(path, 1, EXPERIMENT_FILE_MAX, &text, &n);
    if (err) {
        log_error("BEZEL-REPORT-RUN", "%s: %s: is this a run directory?", path, strerror(errno));
        return err;
    }
    struct experiment_diagnostics found;
    err = experiment_read(text, n, e, &found);
    if (err)
        experiment_print_diagnostics(&found, path, stderr);
    experiment_diagnostics_free(&found);
    free(text);
    return err;
}

static int print_loaded(const char *run, const struct summary *s, const struct experiment *e, int form, FILE *out)
{
    struct verdict *v;
    int err = verdict_new(s, e, rundir_is_running(run), &v);
    if (err)
        return err;
    char path[PATH_MAX];
    shown_path(run, path);
    struct report r = {.run = path, .summary = s, .experiment = e, .verdict = v};
    r.all = form & REPORT_ALL;
    r.color = table_wants_color(out);
    if (form & REPORT_JSON)
        report_json(&r, out);
    else if (form & REPORT_SVG)
        report_svg(&r, out);
    else
        report_text(&r, out);
    int code = verdict_exit_code(v);
    verdict_free(v);
    if (fflush(out) != 0 || ferror(out)) {
        log_error("BEZEL-REPORT-WRITE", "cannot write the report: %s", strerror(errno));
        return BEZEL_ESYS;
    }
    return code;
}

int report_print(const char *run, int form, FILE *out)
{
    struct experiment *e;
    int err = load_experiment(run, &e);
    if (err)
        return err;
    struct summary *s;
    err = summary_load(run, &s);
    if (err) {
        log_error("BEZEL-REPORT-DATABASE", "%s/run.db: %s", run, facts_why(err));
    } else {
        err = print_loaded(run, s, e, form, out);
        summary_free(s);
    }
    experiment_free(e);
    return err;
}
