// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/verdict.h"

#include "base/clock.h"
#include "collector/facts.h"
#include "ecs/commands.h"
#include "ecs/self.h"
#include "resmgr/agent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t fact_number(const struct summary *s, const char *key)
{
    const char *value = summary_fact(s, key);
    return value ? strtoll(value, NULL, 10) : 0;
}

double verdict_rate(const struct summary_book *b)
{
    if (b->stored < 2 || b->last_ns <= b->first_ns)
        return NAN;
    return (double)(b->stored - 1) * (double)CLOCK_S / (double)(b->last_ns - b->first_ns);
}

/* ---- how the run stands ---- */

/* CLOCK_REALTIME of the last thing that the database has of the run. */
static int64_t last_sign(const struct summary *s, int64_t started)
{
    int64_t last = started;
    for (size_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].last_at != 0 && s->nodes[i].last_at + s->nodes[i].realtime_offset > last)
            last = s->nodes[i].last_at + s->nodes[i].realtime_offset;
    for (size_t i = 0; i < s->event_count; i++)
        if (s->events[i].at > last)
            last = s->events[i].at;
    return last;
}

static void judge_run(struct verdict *v, const struct summary *s, int64_t now)
{
    v->started = fact_number(s, "started");
    v->ended = fact_number(s, "ended");
    const char *ended_by = summary_fact(s, "ended_by");
    v->outcome = (int)fact_number(s, "outcome");
    v->failed = v->outcome != EXIT_HELD || (ended_by && strcmp(ended_by, "failure") == 0);
    int64_t last = last_sign(s, v->started);
    v->run = v->ended != 0 ? RUN_ENDED : now - last <= VERDICT_FRESH ? RUN_RUNNING : RUN_CUT;
    v->duration = (v->ended != 0 ? v->ended : last) - v->started;
    if (v->duration < 0)
        v->duration = 0;
}

/* ---- limits ---- */

enum { TRIAL = 4 }; /* longest periods, about, that a policy takes to find out anew that a budget is not enough */

static struct verdict_limit no_verdict(uint32_t node)
{
    return (struct verdict_limit){
        .is = VERDICT_UNKNOWN, .share = NAN, .needed = NAN, .budget = NAN, .contradicts = -1, .node = node};
}

/* What a violation needs to fade after its cause is gone: the metric's window, and the agent's settling. */
static int64_t fading_time(const struct experiment *e, const struct experiment_limit *l)
{
    return experiment_limit_window(e, l) + AGENT_SETTLING * e->adapt.every;
}

/* Whether collection had been off on `node` for `fading` or longer at time `at`, and was still off. */
static bool was_off_at(const struct summary *s, uint32_t node, int64_t at, int64_t fading)
{
    bool off = false;
    int64_t since = 0;
    for (size_t i = 0; i < s->decision_count && (s->decisions[i].node != node || s->decisions[i].at < at); i++) {
        const struct summary_decision *d = &s->decisions[i];
        if (d->node != node)
            continue;
        if (d->after == 0 && !off)
            since = d->at;
        off = d->after == 0;
    }
    return off && at - since > fading;
}

/*
 * The latest finding `what` of `node` that was in force around `at`, by up to `slack`; NULL where there is none: it is
 * found at the end of the violation that shows it, and put aside for a moment when the policy tries again.
 */
static const struct summary_finding *found_at(const struct summary *s, uint32_t node, enum self_finding_what what,
                                              int64_t at, int64_t slack)
{
    const struct summary_finding *found = NULL, *open = NULL;
    for (size_t i = 0; i < s->finding_count && s->findings[i].at <= at + slack; i++) {
        const struct summary_finding *f = &s->findings[i];
        if (f->node != node || f->what != (int)what)
            continue;
        if (!f->holds && open && f->at >= at - slack)
            found = open;
        open = f->holds ? f : NULL;
    }
    return open ? open : found;
}

/* A violation that was taken back is none. */
static int64_t first_violation(const struct summary *s, const struct summary_limit *row)
{
    int64_t since = 0;
    for (size_t i = 0; i < s->finding_count; i++) {
        const struct summary_finding *f = &s->findings[i];
        if (f->node == row->node && f->what == SELF_FINDING_VIOLATED && f->limit == (int64_t)row->index)
            since = !f->holds ? 0 : since ? since : f->at;
    }
    return since;
}

/* Why a violated limit to be held could not be. */
static void find_why(const struct summary *s, const struct experiment *e, const struct summary_limit *row,
                     struct verdict_limit *r)
{
    const struct experiment_limit *l = &e->limits[row->index];
    bool on_cpu = l->metric == LIMIT_ON_SENSOR_CPU,
         on_flow = !on_cpu && experiment_metric_is_built_in(e->metrics[l->metric].kind);
    int64_t slack = fading_time(e, l) + TRIAL * e->adapt.period_max, at = row->last_violated;
    const struct summary_finding *budget = found_at(s, row->node, SELF_FINDING_INFEASIBLE, at, slack);
    r->contradicts = experiment_limit_contradicts(e, row->index);
    if (r->contradicts >= 0)
        r->why = WHY_CONTRADICTION;
    else if (on_cpu && budget)
        r->why = WHY_BUDGET;
    else if (!on_cpu && !on_flow && found_at(s, row->node, SELF_FINDING_BLAMELESS, at, slack))
        r->why = WHY_BLAMELESS;
    else if (on_flow && found_at(s, row->node, SELF_FINDING_STARVED, at, slack))
        r->why = WHY_STARVED;
    else if (was_off_at(s, row->node, at, fading_time(e, l)))
        r->why = on_flow ? WHY_STARVED : WHY_OFF; /* what polling more often would help is not proved by polling less */
    if (r->why == WHY_BUDGET) {
        r->needed = budget->needed;
        r->budget = budget->budget;
    }
}

static struct verdict_limit judge_row(const struct summary *s, const struct experiment *e,
                                      const struct summary_limit *row)
{
    const struct experiment_limit *l = &e->limits[row->index];
    struct verdict_limit r = no_verdict(row->node);
    int64_t judged = row->held + row->violated;
    if (judged <= 0)
        return r;
    r.since = first_violation(s, row);
    r.share = (double)row->violated / (double)judged;
    r.is = r.share <= l->tolerance ? VERDICT_HELD : VERDICT_VIOLATED;
    if (r.is == VERDICT_VIOLATED && l->kind == LIMIT_HOLD)
        find_why(s, e, row, &r);
    if (r.why != WHY_NONE)
        r.is = VERDICT_INFEASIBLE;
    return r;
}

/* A node that could not judge a limit says nothing about it where another one could. */
static void join_row(struct verdict_limit *whole, const struct verdict_limit *row)
{
    if (row->is == VERDICT_UNKNOWN)
        return;
    if (isnan(whole->share) || row->share > whole->share) {
        whole->share = row->share;
        whole->node = row->node;
    }
    if (row->why != WHY_NONE && whole->why == WHY_NONE) {
        whole->why = row->why;
        whole->needed = row->needed;
        whole->budget = row->budget;
        whole->contradicts = row->contradicts;
    }
    if (whole->is == VERDICT_UNKNOWN || row->is > whole->is)
        whole->is = row->is;
}

static void judge_limits(struct verdict *v, const struct summary *s, const struct experiment *e)
{
    for (size_t i = 0; i < v->limit_count; i++)
        v->limits[i] = no_verdict(0);
    for (size_t i = 0; i < s->limit_count; i++) {
        v->rows[i] = no_verdict(s->limits[i].node);
        if (s->limits[i].index >= v->limit_count)
            continue;
        v->rows[i] = judge_row(s, e, &s->limits[i]);
        join_row(&v->limits[s->limits[i].index], &v->rows[i]);
    }
    for (size_t i = 0; i < v->limit_count; i++)
        if (v->limits[i].is > v->whole)
            v->whole = v->limits[i].is;
}

/* A limit that held as far as is known, of a node that vanished or gave up, is not known to have held. */
static void doubt_limits(struct verdict *v)
{
    bool doubtful = v->vanished || v->sut.unstored || v->daemons.unstored;
    for (size_t i = 0; i < v->limit_count && doubtful; i++) {
        if (v->limits[i].is == VERDICT_HELD)
            v->limits[i].is = VERDICT_UNKNOWN;
        if (v->limits[i].is > v->whole)
            v->whole = v->limits[i].is;
    }
}

/* ---- books ---- */

uint64_t verdict_lost(const struct verdict_books *b)
{
    return b->full + b->window + b->spool + b->off + b->overwritten + b->no_ring + b->unfinished + b->unstored;
}

static void add_books(struct verdict_books *sum, const struct verdict_books *b)
{
    sum->processes += b->processes;
    sum->attempts += b->attempts;
    sum->stored += b->stored;
    sum->full += b->full;
    sum->off += b->off;
    sum->overwritten += b->overwritten;
    sum->no_ring += b->no_ring;
    sum->window += b->window;
    sum->spool += b->spool;
    sum->unfinished += b->unfinished;
    sum->unstored += b->unstored;
    sum->rest += b->rest;
}

struct verdict_books verdict_aspect(const struct summary_book *book)
{
    struct verdict_books b = {.attempts = book->attempts,
                              .stored = book->stored,
                              .full = book->full,
                              .window = book->window,
                              .spool = book->spool,
                              .off = book->off,
                              .no_ring = book->no_ring};
    b.rest = (int64_t)(b.attempts - b.stored - verdict_lost(&b));
    return b;
}

/* A node that is given up never takes its leave; one that has does not hold anything. */
static bool is_given_up(const struct summary *s, uint32_t node)
{
    return fact_number(s, FACTS_UNDRAINED) != 0 && s->nodes[node].open;
}

bool verdict_gave_up(const struct summary *s, uint32_t node)
{
    bool told = is_given_up(s, node);
    for (size_t i = 0; i < s->process_count; i++)
        told = told && (s->processes[i].node != node || s->processes[i].state != PROCESS_RUNNING);
    return told;
}

struct verdict_books verdict_process(const struct summary *s, const struct summary_process *p)
{
    struct verdict_books b = {.processes = 1, .unfinished = p->unfinished};
    for (size_t i = 0; i < p->book_count; i++) {
        struct verdict_books aspect = verdict_aspect(&p->books[i]);
        add_books(&b, &aspect);
    }
    uint64_t otherwise =
        b.full + b.window + b.spool + b.off + b.unfinished; /* ordinals count these as well, but none without a ring */
    if (p->overwrites && p->discarded > otherwise)
        b.overwritten = p->discarded - otherwise;
    b.rest = (int64_t)(b.attempts - b.stored - verdict_lost(&b));
    if (b.rest > 0 && p->state != PROCESS_RUNNING && is_given_up(s, p->node)) {
        b.unstored = (uint64_t)b.rest;
        b.rest = 0;
    }
    return b;
}

/* Which aspects the few unfinished records of such a process were of nobody knows: there they are among these. */
bool verdict_explains_aspects(const struct summary_process *p, const struct verdict_books *b)
{
    return p->overwrites && b->rest == 0 && b->overwritten > 0;
}

bool verdict_is_open(const struct summary *s, const struct summary_process *p)
{
    bool open = false;
    for (size_t i = 0; i < p->stream_count; i++)
        open = open || p->streams[i].open;
    return p->state == PROCESS_RUNNING || (open && !is_given_up(s, p->node));
}

static void judge_unknown(struct verdict *v, const struct summary *s)
{
    if (v->run == RUN_RUNNING)
        return;
    for (size_t i = 0; i < s->process_count; i++)
        v->unknown += verdict_is_open(s, &s->processes[i]);
    for (size_t i = 0; i < s->node_count; i++)
        v->vanished += s->nodes[i].open && !verdict_gave_up(s, (uint32_t)i);
    v->balanced = v->balanced && v->unknown == 0 && v->vanished == 0;
}

static void judge_books(struct verdict *v, const struct summary *s)
{
    v->balanced = true;
    for (size_t i = 0; i < s->process_count; i++) {
        v->books[i] = verdict_process(s, &s->processes[i]);
        add_books(s->processes[i].role == ROLE_DAEMON ? &v->daemons : &v->sut, &v->books[i]);
        v->balanced = v->balanced && v->books[i].rest == 0;
        v->overwrites = v->overwrites || s->processes[i].overwrites;
    }
}

/* ---- the whole ---- */

int verdict_new(const struct summary *s, const struct experiment *e, int64_t now, struct verdict **verdict)
{
    struct verdict *v = calloc(1, sizeof *v);
    if (!v)
        return BEZEL_ENOMEM;
    v->limit_count = e->limit_count;
    v->limits = calloc(e->limit_count + 1, sizeof *v->limits);
    v->rows = calloc(s->limit_count + 1, sizeof *v->rows);
    v->books = calloc(s->process_count + 1, sizeof *v->books);
    if (!v->limits || !v->rows || !v->books) {
        verdict_free(v);
        return BEZEL_ENOMEM;
    }
    judge_run(v, s, now);
    judge_limits(v, s, e);
    judge_books(v, s);
    judge_unknown(v, s);
    doubt_limits(v);
    *verdict = v;
    return 0;
}

void verdict_free(struct verdict *v)
{
    if (!v)
        return;
    free(v->limits);
    free(v->rows);
    free(v->books);
    free(v);
}

int verdict_exit_code(const struct verdict *v)
{
    if (v->outcome != EXIT_HELD)
        return v->outcome;
    if (v->whole >= VERDICT_VIOLATED)
        return EXIT_VIOLATED;
    bool astray = v->run == RUN_ENDED && !v->balanced;
    return v->whole == VERDICT_UNKNOWN || v->failed || v->run == RUN_CUT || astray ? EXIT_FAILED : EXIT_HELD;
}

const char *verdict_name(enum verdict_is is)
{
    static const char *const names[] = {"held", "unknown", "violated", "infeasible"};
    return names[is];
}

const char *verdict_why_name(enum verdict_why why)
{
    static const char *const names[] = {NULL, "off", "budget", "blameless", "starved", "contradiction"};
    return names[why];
}

const char *verdict_run_name(enum verdict_run run)
{
    static const char *const names[] = {"ended", "running", "cut"};
    return names[run];
}
