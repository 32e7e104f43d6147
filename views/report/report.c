// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/report/report.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/plain.h"
#include "base/program.h"
#include "base/saturate.h"
#include "base/table.h"
#include "base/ulimit.h"
#include "resmgr/policies/policy.h"
#include "run/read/run_missing.h"
#include "run/rundb/rundb.h"
#include "run/verdict/rejudge.h"
#include "views/report/report_causes.h"
#include "views/report/report_spent.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Names ------------------------------------------------------------------------------------------------------- */

const char *report_policy_name(int policy)
{
    return experiment_policy_word(policy);
}

const char *report_action_name(int action)
{
    return action >= POLICY_KEEP && action <= POLICY_RESUME ? policy_action_name((enum policy_action)action) : "?";
}

const char *report_decider_name(int by)
{
    return by == 0 ? "agent" : by == 1 ? "manager" : "?";
}

const char *report_experiment_name(const struct report *r)
{
    const char *name = summary_property(r->summary, "name"); /* an option may have changed the file's */
    return name ? name : r->experiment->name;
}

const char *report_imported(const struct report *r)
{
    return summary_property(r->summary, RUNDB_IMPORTED);
}

const char *report_node_name(const struct report *r, uint32_t node)
{
    return node < r->summary->node_count ? r->summary->nodes[node].name : "?";
}

bool report_is_global(const struct report *r, int64_t index)
{
    return index >= 0 && index < r->experiment->limit_count && r->experiment->limits[index].global;
}

const char *report_where(const struct report *r, uint32_t node, int64_t index)
{
    return report_is_global(r, index) ? "all" : report_node_name(r, node);
}

int64_t report_run_time(const struct report *r, uint32_t node, int64_t at)
{
    const struct summary *s = r->summary;
    return saturate_ns(node < s->node_count ? run_clock_at(&s->nodes[node].run_clock, at).ns : at) -
           r->verdict->started;
}

const char *report_limit_text(const struct report *r, int64_t index)
{
    return index >= 0 && index < r->experiment->limit_count ? r->experiment->limits[index].text : "?";
}

const char *report_trigger_text(const struct report *r, int64_t i)
{
    return i >= 0 && i < r->experiment->trigger_count ? r->experiment->triggers[i].when : "?";
}

static struct units_text round_value(enum experiment_unit unit, double value)
{
    if (unit == UNIT_DURATION && value > -9e18 && value < 9e18)
        return units_duration((int64_t)value);
    struct units_text text = number_double(value);
    size_t n = strlen(text.s);
    if (unit == UNIT_PERCENT && isfinite(value))
        snprintf(text.s + n, sizeof text.s - n, " %%");
    return text;
}

/* With as many decimals as tell it from `bound`, as which `rounded` reads. */
static struct units_text tell_apart(const char *rounded, double value, double bound)
{
    const char *unit = strrchr(rounded, ' ');
    int64_t ns = unit ? units_time(unit + 1) : 0;
    double scale = ns ? (double)ns : 1;
    struct units_text text;
    int decimals = 0;
    do
        snprintf(text.s, sizeof text.s, "%.*f%s", ++decimals, value / scale, unit ? unit : "");
    while (decimals < 17 && strtod(text.s, NULL) == bound / scale);
    return text;
}

struct units_text report_limit_value(const struct report *r, int64_t index, double value)
{
    if (index < 0 || index >= r->experiment->limit_count)
        return round_value(UNIT_NUMBER, value);
    const struct experiment_limit *l = &r->experiment->limits[index];
    struct units_text text = round_value(l->unit, value);
    bool reads_as_bound = value != l->bound && strcmp(text.s, round_value(l->unit, l->bound).s) == 0;
    return reads_as_bound ? tell_apart(text.s, value, l->bound) : text;
}

/* The unit of a field of an aspect, as the first process that has it declares it. */
static const char *field_unit(const struct summary *s, const char *aspect, const char *field)
{
    const struct summary_field *f = NULL;
    for (size_t i = 0; i < s->process_count && !f; i++)
        f = summary_field_of(summary_book_of(&s->processes[i], aspect), field);
    return f ? f->unit : NULL;
}

const char *report_metric_unit(const struct report *r, const char *name)
{
    if (strcmp(name, "sensor_cpu") == 0)
        return "%";
    if (strncmp(name, BUILTIN_LOOP, strlen(BUILTIN_LOOP)) == 0)
        return "ns";
    for (uint32_t i = 0; i < r->experiment->metric_count; i++) {
        const struct experiment_metric *m = &r->experiment->metrics[i];
        if (strcmp(m->name, name) != 0)
            continue;
        if (m->kind == METRIC_DIFFERENCE && m->operands)
            return report_metric_unit(r, m->operands[0]);
        if (m->kind == METRIC_RATIO)
            return "1";
        if (m->kind == METRIC_RATE)
            return "1/s";
        if (m->kind == METRIC_MISSES || m->kind == METRIC_COUNT)
            return "1";
        if (m->kind == METRIC_PERCENT || m->kind == METRIC_EN_ROUTE || m->kind == METRIC_LOST)
            return "%";
        return m->in_time || experiment_metric_is_built_in(m->kind) ? "ns"
                                                                    : field_unit(r->summary, m->aspect, m->field);
    }
    return NULL;
}

void report_process_name(const struct report *r, const struct summary_process *p, char *name, size_t size)
{
    if (r->summary->node_count > 1)
        snprintf(name, size, "%s/%s", report_node_name(r, p->node), p->name);
    else
        snprintf(name, size, "%s", p->name);
    plain_text(name);
}

void report_process_pid(const struct report *r, const struct summary_process *p, char *name, size_t size)
{
    char plain[REPORT_PROCESS_SIZE - 16];
    report_process_name(r, p, plain, sizeof plain);
    snprintf(name, size, "%s (%" PRIu32 ")", plain, p->pid);
}

struct report_word report_word(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+-";
    static const char quote[] = "'\\''";
    struct report_word w;
    size_t n = 0;
    bool bare = *text && text[strspn(text, plain)] == '\0';
    if (!bare)
        w.s[n++] = '\'';
    for (; *text && n + sizeof quote + 1 < sizeof w.s; text++)
        n += (size_t)snprintf(w.s + n, sizeof w.s - n, *text == '\'' ? "%s" : "%.1s", *text == '\'' ? quote : text);
    if (!bare)
        w.s[n++] = '\'';
    w.s[n] = '\0';
    return w;
}

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

/* The run's path without symbolic links, relative if it lies below the working directory. */
static void path_to_show(const char *run, char *path)
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

int report_load_experiment(const char *run, struct experiment **e)
{
    char path[PATH_MAX], *text;
    size_t n;
    if (snprintf(path, sizeof path, "%s/experiment.yaml", run) >= (int)sizeof path)
        return BEZEL_EINVAL;
    int err = file_read_plain(path, 1, EXPERIMENT_FILE_MAX, &text, &n);
    if (err) {
        if (errno == ENOENT)
            log_error("BEZEL-RUN-EXPERIMENT",
                      "%s is missing, which has the limits and settings of the run: put the run's own file back there, "
                      "or mirror the run anew",
                      path);
        else
            log_error("BEZEL-RUN-EXPERIMENT", "cannot read %s: %s", path, strerror(errno));
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

int report_load_summary(const char *run, bool running, struct summary **s)
{
    int err = summary_load(run, s);
    bool begins = running && err == BEZEL_ENOENT;
    if (err)
        log_error("BEZEL-REPORT-DATABASE", "%s/run.db: %s", run,
                  begins ? "there is none yet: the run begins" : rundb_why(err));
    return err;
}

/* Records are read from the trace: at the end of a run nobody is to wait for them long, nor a page that is live. */
#define RECORDS_BUDGET (4 * CLOCK_S)
#define RECORDS_LIVE   (200 * CLOCK_MS)

/* The short text has none of these tables; a page has no place for counters and labels. */
static struct record_tables_wanted wanted_tables(const struct report *r, int form)
{
    struct record_tables_wanted w = {0};
    bool page = form & (REPORT_HTML | REPORT_DATA);
    if (form == REPORT_TEXT)
        return w;
    for (size_t i = 0; i < r->summary->process_count; i++) {
        const struct summary_process *p = &r->summary->processes[i];
        for (uint32_t k = 0; p->dict && k < p->dict->aspect_count; k++) {
            w.messages = w.messages || message_reading_wants(&p->dict->aspects[k]);
            w.labels = w.labels || (!page && p->role == ROLE_SUT && label_reading_wants(&p->dict->aspects[k]));
        }
    }
    for (int i = 0; i < EXPERIMENT_SAMPLERS && !page; i++)
        if (r->experiment->sensing.sampler[i])
            w.counts = report_is_counter;
    return w;
}

static void read_records(const char *run, bool running, int form, struct report *r, struct record_tables *t)
{
    struct record_tables_wanted w = wanted_tables(r, form);
    int64_t budget = r->all ? INT64_MAX : running && form & REPORT_DATA ? RECORDS_LIVE : RECORDS_BUDGET;
    int err = w.messages || w.labels || w.counts ? record_tables_read(run, &w, budget, t) : 0;
    if (err)
        log_warn("BEZEL-REPORT-RECORDS",
                 "the records cannot be read: %s: messages, counters and labels are not evaluated", rundb_why(err));
    r->messages = t->messages;
    r->counters = t->counters;
    r->labels = t->labels;
}

/* A run without an end is as long as its last sign, but not longer than by our clock: a node's may be ahead. */
static void bound_duration(struct verdict *v)
{
    int64_t longest = saturate_sub(clock_now() + clock_realtime_offset(), v->started);
    if (v->run != RUN_ENDED && longest > 0 && v->duration > longest)
        v->duration = longest;
}

/* Whether the file that has the limits is not as it was. */
static bool experiment_was_changed(const char *run, const struct summary *s, bool tells)
{
    char now[RUNDB_EXPERIMENT_MAX];
    const char *then = summary_property(s, RUNDB_EXPERIMENT);
    bool is = then && rundb_sum_experiment(run, now) == 0 && strcmp(then, now) != 0;
    if (is && tells)
        log_warn(
            "BEZEL-RUN-EXPERIMENT",
            "%s/experiment.yaml was changed since the run began: its limits and settings are not those of the run; "
            "put the run's own file back, and judge by others with --metrics FILE",
            run);
    return is;
}

int report_judge(const char *run, bool running, struct summary *s, const struct experiment *e, int form,
                 struct interval_table *intervals, struct verdict **v)
{
    *intervals = (struct interval_table){0};
    bool tells = !(form & REPORT_DATA);
    s->experiment_changed = experiment_was_changed(run, s, tells) && !s->judged_anew;
    if (s->experiment_changed) /* its limits are not those that were judged */
        rejudge_forget_limits(s);
    uint64_t most = s->judged_anew ? UINT64_MAX : RUN_MISSING_MOST;
    if (!running && !s->mirror.partial) /* the books are of what was stored */
        s->missing = run_missing(run, &RECORD_FILTER_ALL, most, tells), s->changed = run_changed(run, most);
    s->now = running && !s->mirror.grows && !s->mirror.partial ? clock_now() + clock_realtime_offset() : 0;
    rejudge_join(s, e);
    int err = rejudge_gaps(run, s, e);
    err = err ? err : rejudge_chosen(run, s, e);
    err = err ? err : rejudge_intervals(run, s, e, form & REPORT_DATA ? RECORDS_LIVE : RECORDS_BUDGET, intervals);
    err = err ? err : verdict_new(s, e, running, v);
    if (err)
        interval_table_free(intervals);
    return err;
}

static int print_loaded(const char *run, bool running, struct summary *s, const struct experiment *e, int form,
                        FILE *out)
{
    struct verdict *v;
    struct interval_table intervals;
    int err = report_judge(run, running, s, e, form, &intervals, &v);
    if (err)
        return err;
    char path[PATH_MAX], found[PATH_MAX];
    bound_duration(v);
    if (s->mirror.endpoint[0])
        snprintf(path, sizeof path, "%s", s->mirror.endpoint);
    else
        path_to_show(run, path);
    struct record_tables tables = {0};
    struct report r = {.run = path, .summary = s, .experiment = e, .verdict = v, .intervals = intervals};
    r.all = form & REPORT_ALL;
    r.color = table_wants_color(out);
    r.no_babeltrace = program_find(NULL, "/", "babeltrace2", found, sizeof found) != 0;
    read_records(run, running, form, &r, &tables);
    if (s->judged_anew && buckets_table_read(run, e, &r.histograms) != 0)
        log_warn("BEZEL-REPORT-MEMORY", "histograms are not counted: memory is short");
    struct report_causes *causes = report_causes_find(run, running, &r);
    struct report_spent *spent = report_spent_find(run, running, &r);
    r.causes = causes;
    r.spent = spent;
    if (form & REPORT_JSON)
        report_json(&r, out);
    else if (form & REPORT_HTML)
        err = report_html(&r, out);
    else if (form & REPORT_DATA)
        err = report_data(&r, out);
    else
        report_text(&r, out);
    int code = err ? err : verdict_exit_code(v);
    buckets_table_free(&r.histograms);
    report_causes_free(causes);
    report_spent_free(spent);
    verdict_free(v);
    record_tables_free(&tables);
    interval_table_free(&intervals);
    if (err)
        log_error("BEZEL-REPORT-MEMORY", "cannot make the report: %s", ulimit_reason(err));
    if (fflush(out) != 0 || ferror(out)) {
        log_error("BEZEL-REPORT-WRITE", "cannot write the report: %s", strerror(errno));
        return BEZEL_ESYS;
    }
    return code;
}

static int load_judged(const char *path, struct experiment *e)
{
    struct experiment_diagnostics found;
    char *text;
    size_t n;
    int err = file_read_plain(path, 1, EXPERIMENT_FILE_MAX, &text, &n);
    if (err) {
        log_error("BEZEL-REPORT-METRICS", "cannot read the metrics and limits in %s: %s", path, strerror(errno));
        return err;
    }
    err = experiment_read_judged(text, n, e, &found);
    if (err)
        experiment_print_diagnostics(&found, path, stderr);
    experiment_diagnostics_free(&found);
    free(text);
    return err;
}

static int judge_anew(const char *run, struct summary *s, const struct experiment *e)
{
    struct experiment *own;
    int err = report_load_experiment(run, &own);
    if (err)
        return err;
    err = rejudge_anew(s, e, own);
    experiment_free(own);
    return err;
}

int report_print(const char *run, bool running, const char *metrics, int form, FILE *out)
{
    struct experiment *e;
    int err = report_load_experiment(run, &e);
    if (err)
        return err;
    if (metrics && running) {
        log_error("BEZEL-REPORT-METRICS",
                  "%s goes on: metrics and limits of another file are computed when it has ended", run);
        err = BEZEL_EBUSY;
    } else if (metrics)
        err = load_judged(metrics, e);
    if (err) {
        experiment_free(e);
        return err;
    }
    struct summary *s;
    err = report_load_summary(run, running, &s);
    if (!err) {
        err = metrics ? judge_anew(run, s, e) : 0;
        err = err ? err : print_loaded(run, running, s, e, form, out);
        summary_free(s);
    }
    experiment_free(e);
    return err;
}
