// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/parts.h"
#include "views/report/report.h"

#include <inttypes.h>

/* ---- Conclusions of policies ------------------------------------------------------------------------------------- */

static const char *knob_name(const struct report *r, int64_t i)
{
    const struct experiment_adapt *a = &r->experiment->adapt;
    return i >= 0 && i < a->knob_count ? a->knobs[i].name : "?";
}

/* What a conclusion says, as a line of the timeline. */
static void conclusion_line(struct rows *w, const struct report *r, const struct builtin_conclusion *f)
{
    const char *word = builtin_conclusion_name(f->what);
    if (!f->holds)
        rows_says(w, "%s: no longer", word);
    else if (f->what == CONCLUSION_VIOLATED)
        rows_says(w, "%s: %s", word, report_limit_text(r, f->limit));
    else if (f->what == CONCLUSION_INFEASIBLE)
        rows_says(w, "%s: monitoring needs %.3g %% of a CPU, and may use %.3g %%", word, f->needed, f->budget);
    else if (f->what == CONCLUSION_LOAD_SHEDDING)
        rows_says(w, "%s: aspects with an importance below %" PRId64 " are only counted", word, f->floor);
    else if (f->what == CONCLUSION_SATURATED)
        rows_says(w, "%s: knob %s is at %.0f, the end of its range, and %s still at %s", word, knob_name(r, f->floor),
                  f->budget, report_limit_text(r, f->limit), report_limit_value(r, (uint32_t)f->limit, f->needed).s);
    else
        rows_says(w, "%s: %s", word,
                  f->what == CONCLUSION_NOT_THE_MONITORS ? "polling less does not help"
                                                         : "polling more often is not possible");
}

static void conclusion_row(struct rows *w, const struct report *r, const void *item)
{
    const struct builtin_conclusion *f = item;
    bool saturated = f->what == CONCLUSION_SATURATED;
    json_int(w->json, "time_ns", report_run_time(r, f->node, f->at));
    json_text(w->json, "node", report_is_global(r, f->limit) ? NULL : report_node_name(r, f->node));
    json_text(w->json, "conclusion", builtin_conclusion_name(f->what));
    json_bool(w->json, "holds", f->holds);
    json_text(w->json, "limit", f->limit < 0 ? NULL : report_limit_text(r, f->limit));
    json_double(w->json, "needed", f->needed);
    json_double(w->json, "budget", f->budget);
    json_int(w->json, "importance_below", saturated ? 0 : f->floor);
    json_text(w->json, "knob", saturated ? knob_name(r, f->floor) : NULL);
    conclusion_line(w, r, f);
}

const struct rows_section report_conclusions = {
    ROWS_LIST(NULL, "conclusions", conclusions, conclusion_count, conclusion_row)};

/* ---- Decisions --------------------------------------------------------------------------------------------------- */

static struct units_text period_text(int64_t ns)
{
    return ns == 0 ? (struct units_text){"off"} : units_brief_duration(ns);
}

static void decision_row(struct rows *w, const struct report *r, const void *item)
{
    const struct builtin_decision *d = item;
    json_int(w->json, "time_ns", report_run_time(r, d->node, d->at));
    json_text(w->json, "node", report_node_name(r, d->node));
    json_text(w->json, "policy", report_policy_name(d->policy));
    json_text(w->json, "action", report_action_name(d->action));
    json_int(w->json, "before_ns", d->before);
    json_int(w->json, "after_ns", d->after);
    json_text(w->json, "limit", d->cause < 0 ? NULL : report_limit_text(r, d->cause));
    json_text(w->json, "by", report_decider_name(d->by));
    json_int(w->json, "epoch", d->epoch);
    json_int(w->json, "sequence", d->sequence);
    rows_says(w, "%s%s: %s, %s -> %s%s%s", d->by == DECIDED_BY_MANAGER ? "manager, " : "",
              report_policy_name(d->policy), report_action_name(d->action), period_text(d->before).s,
              period_text(d->after).s, d->cause < 0 ? "" : ", for ",
              d->cause < 0 ? "" : report_limit_text(r, d->cause));
}

const struct rows_section report_decisions = {ROWS_LIST(NULL, "decisions", decisions, decision_count, decision_row)};

/* ---- Knobs ------------------------------------------------------------------------------------------------------- */

static void knob_row(struct rows *w, const struct report *r, const void *item)
{
    static const char *const by_whom[] = {"operator",           "manager",  "agent",  "kept",
                                          "end of observation", "declared", "trigger"};
    const struct builtin_knob *k = item;
    bool steered = k->limit >= 0;
    json_int(w->json, "time_ns", report_run_time(r, k->node, k->at));
    json_text(w->json, "node", report_node_name(r, k->node));
    json_text(w->json, "process", k->process);
    json_uint_text(w->json, "instance", (uint64_t)k->instance);
    json_text(w->json, "knob", k->knob);
    json_text(w->json, "by", builtin_setter_name(k->cause));
    json_int(w->json, "before", k->before);
    json_int(w->json, "after", k->after);
    json_text(w->json, "unit", k->unit);
    json_text(w->json, "limit", k->limit < 0 ? NULL : report_limit_text(r, k->limit));
    json_double(w->json, "value", k->value);
    json_int(w->json, "epoch", k->epoch);
    json_int(w->json, "sequence", k->sequence);
    rows_says(w, "%s: knob %s of %s, %" PRId64 " -> %" PRId64 "%s%s%s%s%s%s%s",
              k->cause >= 0 && k->cause <= SET_BY_TRIGGER ? by_whom[k->cause] : "?", k->knob, k->process, k->before,
              k->after, k->unit[0] ? " " : "", k->unit, steered ? ", for " : "",
              steered ? report_limit_text(r, k->limit) : "", steered ? " (" : "",
              steered ? report_limit_value(r, (uint32_t)k->limit, k->value).s : "", steered ? ")" : "");
}

const struct rows_section report_knobs = {ROWS_LIST(NULL, "knobs", knobs, knob_count, knob_row)};

/* ---- How nodes are to poll --------------------------------------------------------------------------------------- */

static const char *word(const char *const *words, int count, int value)
{
    return value >= 0 && value < count ? words[value] : "?";
}

static void polling_row(struct rows *w, const struct report *r, const void *item)
{
    static const char *const causes[] = {"file", "operator", "kept", "trigger"},
                             *const forwards[] = {"batch", "collect"}, *const modes[] = {"polling", "busy-wait"};
    const struct builtin_polling *p = item;
    bool one = p->forward == POLL_FORWARD_COLLECT, some = !one && p->batch > 0;
    json_int(w->json, "time_ns", report_run_time(r, p->node, p->at));
    json_text(w->json, "node", report_node_name(r, p->node));
    json_text(w->json, "by", word(causes, 4, p->cause));
    json_text(w->json, "mode", word(modes, 2, p->mode));
    json_int(w->json, "period_ns", p->period);
    json_text(w->json, "forward", word(forwards, 2, p->forward));
    json_int(w->json, "batch", p->batch);
    rows_says(w, "%s: %s, period %s, %s%s record%s a poll",
              p->cause == POLLING_BY_KEPT ? "operator, kept" : word(causes, 4, p->cause), word(modes, 2, p->mode),
              units_brief_duration(p->period).s, some ? "at most " : "",
              one    ? "one"
              : some ? units_count((uint64_t)p->batch).s
                     : "all",
              one || p->batch == 1 ? "" : "s");
}

const struct rows_section report_polling_changes = {ROWS_LIST(NULL, "polling", polling, polling_count, polling_row)};

/* ---- Records that came too late for control ---------------------------------------------------------------------- */

static void expired_row(struct rows *w, const struct report *r, const void *item)
{
    const struct builtin_expired *e = item;
    struct summary_process p = {.node = e->node, .name = e->process};
    char name[REPORT_PROCESS_SIZE];
    report_process_name(r, &p, name, sizeof name);
    rows_text(w, "process", NULL, name);
    json_text(w->json, "node", report_node_name(r, e->node));
    json_text(w->json, "process", e->process);
    json_uint_text(w->json, "instance", e->instance);
    rows_text(w, "aspect", "aspect", e->aspect);
    rows_cell(w, "bound", 'r', "%s", units_brief_duration(e->bound).s);
    json_int(w->json, "bound_ns", e->bound);
    rows_int(w, "taken", "taken", e->taken);
    rows_int(w, "expired", "expired", e->expired);
    rows_share(w, "share", NULL, e->taken > 0 ? (double)e->expired / (double)e->taken : 0);
}

/* Of more than fit, those that have such records come first. */
static int expired_rank(const struct report *r, const void *item)
{
    return ((const struct builtin_expired *)item)->expired > 0 ? 1 : r->all ? 0 : -1;
}

const struct rows_section report_expired = {
    ROWS_LIST("Expired", "expired", expired, expired_count, expired_row), .rank = expired_rank,
    .remark = "Expired records were older than their bound when taken from their "
              "rings. They are stored, but not used for control."};

int64_t report_expired_of(const struct report *r, const char *aspect, int64_t *taken)
{
    int64_t expired = 0;
    *taken = 0;
    for (size_t i = 0; aspect && i < r->summary->expired_count; i++) {
        const struct builtin_expired *x = &r->summary->expired[i];
        bool is = strcmp(x->aspect, aspect) == 0;
        *taken += is ? x->taken : 0;
        expired += is ? x->expired : 0;
    }
    return expired;
}

/* Whether an earlier one is of the same aspect. */
static bool is_repeated(const struct summary *s, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(s->expired[k].aspect, s->expired[i].aspect) == 0)
            return true;
    return false;
}

void report_expired_lines(struct rows *w, report_reads *reads, const char *ignored)
{
    const struct report *r = w->report;
    for (size_t i = 0; i < r->summary->expired_count; i++) {
        const char *aspect = r->summary->expired[i].aspect;
        int64_t taken, expired = report_expired_of(r, aspect, &taken);
        if (expired > 0 && !is_repeated(r->summary, i) && reads(r->experiment, aspect))
            rows_line(w, "%s of %s records of %s had expired (sensing.expire): %s.", number_signed(expired).s,
                      number_signed(taken).s, aspect, ignored);
    }
}

/* ---- Setpoints of the resource manager, on each node ------------------------------------------------------------- */

static void setpoints_row(struct rows *w, const struct report *r, const void *item)
{
    const struct builtin_setpoints *o = item;
    rows_text(w, "node", "node", report_node_name(r, o->node));
    rows_int(w, "manager", "epoch", o->epoch);
    rows_int(w, "applied", "applied", o->applied);
    rows_int(w, "expired", "expired", o->expired);
    rows_int(w, "outdated", "outdated", o->outdated);
    rows_int(w, "repeated", "repeated", o->repeated);
    rows_int(w, "clamped", "clamped", o->clamped);
    rows_int(w, "lost", "lost", o->lost);
    json_int(w->json, "unsent", o->unsent);
}

/* ---- The loop over the collector --------------------------------------------------------------------------------- */

/* The series of one part of the loop on a node; NULL: it has none. */
static const struct history_series *loop_part(const struct report *r, uint32_t node, const char *name)
{
    for (size_t i = 0; i < r->summary->metric_count; i++) {
        const struct history_series *m = &r->summary->metrics[i];
        if (m->node == node && strcmp(m->metric, name) == 0 && m->count > 0)
            return m;
    }
    return NULL;
}

static void loop_columns(struct rows *w, const char *head, const struct history_series *m)
{
    if (m)
        rows_cell(w, head, 'r', "%s, %s at most", units_duration((int64_t)m->mean).s,
                  units_duration((int64_t)m->max).s);
    else
        rows_cell(w, head, 'r', "-");
}

static void loop_row(struct rows *w, const struct report *r, const void *item)
{
    const struct history_series *decided = item;
    const struct history_series *applied = loop_part(r, decided->node, BUILTIN_LOOP_APPLIED);
    rows_text(w, "node", NULL, report_node_name(r, decided->node));
    loop_columns(w, "in the collector", loop_part(r, decided->node, BUILTIN_LOOP_COLLECTED));
    loop_columns(w, "decided", decided);
    loop_columns(w, "applied", applied);
    rows_cell(w, "changes", 'r', "%llu", applied ? (unsigned long long)applied->count : 0);
}

static void add_loop(struct rows *w, const struct report *r)
{
    for (size_t i = 0; i < r->summary->metric_count; i++)
        if (strcmp(r->summary->metrics[i].metric, BUILTIN_LOOP_DECIDED) == 0 && r->summary->metrics[i].count > 0)
            rows_add(w, loop_row, &r->summary->metrics[i]);
}

const struct rows_section report_loop = {
    .title = "Dead time of the loop over the collector",
    .add = add_loop,
    .remark = "Since the newest record in the value of a limit that the collector evaluates: mean, and the longest."};

/* ---- Setpoints of the resource manager, on each node ------------------------------------------------------------- */

const struct rows_section report_setpoints = {
    ROWS_LIST("Setpoints of the manager", "setpoints", setpoints, setpoints_count, setpoints_row)};
