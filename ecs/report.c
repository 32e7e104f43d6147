// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/report.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "ecs/table.h"
#include "resmgr/policy.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- names ---- */

const char *report_policy_name(int policy)
{
    static const char *const names[] = {[POLICY_NONE] = "none", [POLICY_SPP] = "spp", [POLICY_DPP] = "dpp"};
    return policy >= 0 && (size_t)policy < sizeof names / sizeof *names ? names[policy] : "?";
}

const char *report_action_name(int action)
{
    return action >= POLICY_KEEP && action <= POLICY_RESUME ? policy_action_name((enum policy_action)action) : "?";
}

const char *report_node_name(const struct report *r, uint32_t node)
{
    return node < r->summary->node_count ? r->summary->nodes[node].name : "?";
}

int64_t report_run_time(const struct report *r, uint32_t node, int64_t at)
{
    int64_t offset = node < r->summary->node_count ? r->summary->nodes[node].realtime_offset : 0;
    return at + offset - r->verdict->started;
}

const char *report_limit_text(const struct report *r, int64_t index)
{
    return index >= 0 && index < r->experiment->limit_count ? r->experiment->limits[index].text : "?";
}

void report_process_name(const struct report *r, const struct summary_process *p, char *name, size_t size)
{
    if (r->summary->node_count > 1)
        snprintf(name, size, "%s/%s", report_node_name(r, p->node), p->name);
    else
        snprintf(name, size, "%s", p->name);
}

/* ---- the sentence ---- */

static void say_run(const struct report *r, FILE *out)
{
    char duration[32];
    snprintf(duration, sizeof duration, "%.1f s", (double)r->verdict->duration / (double)CLOCK_S);
    const char *name = r->experiment->name, *ended_by = summary_fact(r->summary, "ended_by");
    if (r->verdict->run == RUN_RUNNING)
        fprintf(out, "%s has been running for %s; so far: ", name, duration);
    else if (r->verdict->run == RUN_CUT)
        fprintf(out, "%s was cut off, last heard of %s after its start: ", name, duration);
    else if (ended_by && strcmp(ended_by, "interrupt") == 0)
        fprintf(out, "%s was interrupted after %s: ", name, duration);
    else if (ended_by && strcmp(ended_by, "failure") == 0)
        fprintf(out, "%s failed after %s: ", name, duration);
    else
        fprintf(out, "%s ran %s: ", name, duration);
}

static void say_broken_limit(const struct report *r, size_t i, FILE *out)
{
    const struct verdict_limit *l = &r->verdict->limits[i];
    const char *text = report_limit_text(r, (int64_t)i);
    if (l->is == VERDICT_UNKNOWN)
        fprintf(out, "%s could not be judged", text);
    else if (l->is == VERDICT_INFEASIBLE)
        fprintf(out, "%s cannot hold, it was violated %s of the time and still so with collection off", text,
                figure_share(l->share).text);
    else
        fprintf(out, "%s was violated %s of the time", text, figure_share(l->share).text);
    if (l->is != VERDICT_UNKNOWN && r->summary->node_count > 1)
        fprintf(out, " on %s", report_node_name(r, l->node));
}

static void say_limits(const struct report *r, FILE *out)
{
    enum { NAMED_MAX = 3 };
    const struct verdict *v = r->verdict;
    size_t broken = 0, held = 0;
    for (size_t i = 0; i < v->limit_count; i++) {
        if (v->limits[i].is == VERDICT_HELD) {
            held++;
        } else if (++broken <= NAMED_MAX) {
            say_broken_limit(r, i, out);
            fputs("; ", out);
        }
    }
    if (broken > NAMED_MAX)
        fprintf(out, "%zu more limits did not hold; ", broken - NAMED_MAX);
    if (held == 0)
        return;
    if (broken > 0)
        fprintf(out, held == 1 ? "the other limit held; " : "the other %zu limits held; ", held);
    else if (held <= 2)
        fputs(held == 1 ? "its limit held, " : "both limits held, ", out);
    else
        fprintf(out, "all %zu limits held, ", held);
}

static void say_lost(const struct verdict_books *b, FILE *out)
{
    if (verdict_lost(b) == 0) {
        fputs("none lost", out);
        return;
    }
    const struct {
        uint64_t count;
        const char *cause;
    } losses[] = {
        {b->full, "ring full"}, {b->off, "collection off"}, {b->no_ring, "no ring"}, {b->unfinished, "unfinished"}};
    fprintf(out, "%s lost", figure_count(verdict_lost(b)).text);
    const char *before = " (";
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        if (losses[i].count == 0)
            continue;
        fprintf(out, "%s%s %s", before, figure_count(losses[i].count).text, losses[i].cause);
        before = ", ";
    }
    fputc(')', out);
}

void report_sentence(const struct report *r, FILE *out)
{
    const struct verdict_books *b = &r->verdict->sut;
    say_run(r, out);
    say_limits(r, out);
    if (b->processes == 0) {
        fputs("no process recorded anything", out);
    } else {
        fprintf(out, "%s record%s of %u process%s stored, ", figure_count(b->stored).text, b->stored == 1 ? "" : "s",
                b->processes, b->processes == 1 ? "" : "es");
        say_lost(b, out);
    }
    if (!r->verdict->balanced && r->verdict->run == RUN_ENDED)
        fputs(", but the books do not balance", out);
    fputc('.', out);
}

/* ---- loading ---- */

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
    int err = file_read(path, EXPERIMENT_FILE_MAX, &text, &n);
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

static int64_t realtime_now(void)
{
    return clock_now() + clock_realtime_offset();
}

static bool wants_color(FILE *out)
{
    const char *no_color = getenv("NO_COLOR");
    return !(no_color && *no_color) && fileno(out) >= 0 && isatty(fileno(out));
}

static int print_loaded(const char *run, const struct summary *s, const struct experiment *e, int form, FILE *out)
{
    struct verdict *v;
    int err = verdict_new(s, e, realtime_now(), &v);
    if (err)
        return err;
    char path[PATH_MAX];
    shown_path(run, path);
    struct report r = {.run = path, .summary = s, .experiment = e, .verdict = v};
    r.all = form & REPORT_ALL;
    r.color = wants_color(out);
    if (form & REPORT_JSON)
        report_json(&r, out);
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
        log_error("BEZEL-REPORT-DATABASE", "%s/run.db: %s", run, err_text(err));
    } else {
        err = print_loaded(run, s, e, form, out);
        summary_free(s);
    }
    experiment_free(e);
    return err;
}
