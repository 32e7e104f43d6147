// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/verdict/verdict_internal.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/saturate.h"
#include "base/units.h"
#include "mdr/builtin.h"
#include "resmgr/agent/agent.h"
#include "run/rundb/rundb.h"
#include "run/rundb/rundb_live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double verdict_rate(const struct summary_book *b)
{
    if (b->stored < 2 || b->last_ns <= b->first_ns)
        return NAN;
    return (double)(b->stored - 1) * (double)CLOCK_S / (double)(b->last_ns - b->first_ns);
}

/* ---- the state of the run ---- */

/* CLOCK_REALTIME of the last entry that the database has of the run. */
static int64_t last_sign(const struct summary *s, int64_t started)
{
    int64_t last = started;
    for (size_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].last_at != 0 && s->nodes[i].last_at + s->nodes[i].ahead > last)
            last = s->nodes[i].last_at + s->nodes[i].ahead;
    for (size_t i = 0; i < s->event_count; i++)
        if (s->events[i].at > last)
            last = s->events[i].at;
    return last;
}

/*
 * Up to when the books have all that was recorded, ns after the start: a node has looked for new processes after its
 * last entry, and the first of the nodes ends what is known of all.
 */
static int64_t known_until(const struct summary *s, int64_t started)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < s->node_count; i++) {
        int64_t at = s->nodes[i].last_at ? saturate_add(s->nodes[i].last_at, s->nodes[i].ahead) : started;
        least = at < least ? at : least;
    }
    return least < INT64_MAX ? saturate_sub(least, started) : 0;
}

static void judge_run(struct verdict *v, const struct summary *s, bool running)
{
    v->started = summary_start(s);
    v->ended = summary_ended(s);
    const char *ended_by = summary_property(s, "ended_by");
    int64_t outcome = summary_property_number(s, "outcome");
    v->outcome = outcome < EXIT_OK || outcome > EXIT_UNREACHABLE ? EXIT_FAILED : (int)outcome;
    v->failed = v->outcome != EXIT_OK || (ended_by && strcmp(ended_by, "failure") == 0);
    int64_t last = last_sign(s, v->started);
    v->run = v->ended != 0 ? RUN_ENDED : running || s->mirror.grows ? RUN_RUNNING : RUN_ABORTED;
    v->now = v->run != RUN_RUNNING ? 0 : s->now > last ? s->now : last;
    last = v->now > 0 ? v->now : last;
    v->duration = (v->ended != 0 ? v->ended : last) - v->started;
    if (v->duration < 0)
        v->duration = 0;
    v->known_until = known_until(s, v->started);
}

/* ---- limits, and the proof that a violated one was infeasible ---- */

enum { TRIAL = 4 }; /* a policy takes about this many longest periods to find again that a budget is not enough */

static struct verdict_limit no_verdict(uint32_t node)
{
    return (struct verdict_limit){.is = VERDICT_UNKNOWN,
                                  .share = NAN,
                                  .needed = NAN,
                                  .budget = NAN,
                                  .contradicts = -1,
                                  .node = node,
                                  .stray = NAN};
}

/* Whether collection had been off on `node` for `fading` or longer at time `at`, and was still off. */
static bool was_off_at(const struct summary *s, uint32_t node, int64_t at, int64_t fading)
{
    bool off = false;
    int64_t since = 0;
    for (size_t i = 0; i < s->decision_count && (s->decisions[i].node != node || s->decisions[i].at < at); i++) {
        const struct builtin_decision *d = &s->decisions[i];
        if (d->node != node)
            continue;
        if (d->after == 0 && !off)
            since = d->at;
        off = d->after == 0;
    }
    return off && at - since > fading;
}

/* For a global limit: on all nodes. Times are converted from the clock of the node that recorded the row. */
static bool was_off(const struct summary *s, const struct builtin_limit *row, int64_t fading)
{
    if (row->epoch == 0)
        return was_off_at(s, row->node, row->last_violated, fading);
    for (size_t i = 0; i < s->node_count; i++)
        if (!was_off_at(s, (uint32_t)i, row->last_violated + s->nodes[row->node].ahead - s->nodes[i].ahead, fading))
            return false;
    return true;
}

/*
 * The latest conclusion `what` of `node` that was in force within `slack` ns of `at`; NULL if there is none. The slack
 * is needed because a policy concludes at the end of the violation, and withdraws its conclusion while it tries again.
 */
static const struct builtin_conclusion *conclusion_at(const struct summary *s, uint32_t node,
                                                      enum builtin_conclusion_kind what, int64_t limit, int64_t at,
                                                      int64_t slack)
{
    const struct builtin_conclusion *found = NULL, *open = NULL;
    for (size_t i = 0; i < s->conclusion_count && s->conclusions[i].at <= at + slack; i++) {
        const struct builtin_conclusion *f = &s->conclusions[i];
        if (f->node != node || f->what != (int)what || f->limit != limit)
            continue;
        if (!f->holds && open && f->at >= at - slack)
            found = open;
        open = f->holds ? f : NULL;
    }
    return open ? open : found;
}

/* The first one that was found in the stored records; 0: none. */
static int64_t first_violation_again(const struct summary *s, const struct builtin_limit *row)
{
    const struct history_gap *gap = NULL;
    for (size_t i = 0; i < s->gap_count && !gap; i++)
        if (s->gaps[i].node == row->node && s->gaps[i].limit == row->limit && s->gaps[i].violated > 0)
            gap = &s->gaps[i];
    for (size_t i = 0; gap && i < s->violation_count; i++) {
        const struct history_violation *v = &s->violations[i];
        if (v->node == row->node && v->limit == row->limit && v->end > gap->begin)
            return v->begin > gap->begin ? v->begin : gap->begin;
    }
    return 0;
}

/* Violations that were withdrawn do not count. */
static int64_t first_violation(const struct summary *s, const struct builtin_limit *row)
{
    int64_t since = 0, again = first_violation_again(s, row);
    for (size_t i = 0; i < s->conclusion_count; i++) {
        const struct builtin_conclusion *f = &s->conclusions[i];
        if (f->node == row->node && f->what == CONCLUSION_VIOLATED && f->limit == row->limit)
            since = !f->holds ? 0 : since ? since : f->at;
    }
    return since == 0 || (again != 0 && again < since) ? again : since;
}

/* Finds the proof, if there is one, that a violated `hold` limit was infeasible. */
static void find_why(const struct summary *s, const struct experiment *e, const struct builtin_limit *row,
                     struct verdict_limit *r)
{
    const struct experiment_limit *l = &e->limits[row->limit];
    bool on_cpu = l->metric == LIMIT_ON_SENSOR_CPU,
         on_flow = !on_cpu && experiment_metric_is_built_in(e->metrics[l->metric].kind);
    int64_t slack = agent_settling(e, l) + TRIAL * e->adapt.period_max, at = row->last_violated;
    const struct builtin_conclusion *budget =
        conclusion_at(s, row->node, CONCLUSION_INFEASIBLE, l->global ? row->limit : -1, at, slack);
    r->contradicts = experiment_limit_contradicts(e, row->limit);
    if (r->contradicts >= 0)
        r->why = WHY_CONTRADICTION;
    else if (on_cpu && budget)
        r->why = WHY_BUDGET;
    else if (!on_cpu && !on_flow && conclusion_at(s, row->node, CONCLUSION_NOT_THE_MONITORS, -1, at, slack))
        r->why = WHY_NOT_THE_MONITORS;
    else if (on_flow && conclusion_at(s, row->node, CONCLUSION_STARVED, -1, at, slack))
        r->why = WHY_STARVED;
    else if (was_off(s, row, agent_settling(e, l)))
        r->why = on_flow ? WHY_STARVED : WHY_OFF; /* a flow limit needs polls: without collection it starves */
    if (r->why == WHY_BUDGET) {
        r->needed = budget->needed;
        r->budget = budget->budget;
    }
}

int64_t verdict_row_total(const struct builtin_limit *row)
{
    return saturate_add(saturate_add(row->settling, row->held), saturate_add(row->violated, row->unknown));
}

struct builtin_limit *verdict_row_at(const struct summary *s, uint32_t node, uint32_t limit, int64_t at)
{
    struct builtin_limit *row = NULL;
    for (size_t i = 0; i < s->limit_count; i++) {
        struct builtin_limit *l = &s->limits[i];
        if (!summary_limit_is_of(l, limit, node))
            continue;
        row = l;
        if (l->node == node ? l->at >= at : summary_run_time(s, l->node, l->at) >= summary_run_time(s, node, at))
            break;
    }
    return row;
}

static int64_t judged_again(const struct summary *s, const struct builtin_limit *row)
{
    int64_t sum = 0;
    for (size_t i = 0; i < s->gap_count; i++) {
        const struct history_gap *g = &s->gaps[i];
        bool is_its = g->judged && summary_limit_is_of(row, g->limit, g->node);
        const struct builtin_limit *of = is_its ? verdict_row_at(s, g->node, g->limit, g->end) : NULL;
        if (of && of->epoch == row->epoch)
            sum = saturate_add(sum, g->held + g->violated);
    }
    return sum;
}

/*
 * Whether an instant found an expectation violated, and no time counts as such: the first instant of all, or one behind
 * a time that nobody judged. That is more than a tolerance of 0 allows. Of `hold` limits it may have been while
 * adaptation settled.
 */
static bool is_violated_at_an_instant(const struct experiment_limit *l, const struct builtin_limit *row)
{
    return l->kind == LIMIT_EXPECT && row->violated == 0 && row->last_violated > 0 && l->tolerance <= 0;
}

/* The violated time that counts, in ns: of a limit over all nodes, that of all its managers. */
static int64_t counted_violated(const struct summary *s, const struct builtin_limit *l)
{
    int64_t sum = l->epoch == 0 ? l->violated : 0;
    for (size_t i = 0; i < s->limit_count && l->epoch > 0; i++)
        if (s->limits[i].limit == l->limit && s->limits[i].epoch > 0)
            sum = saturate_add(sum, s->limits[i].violated);
    return sum;
}

static int64_t violations_of(const struct summary *s, const struct builtin_limit *l, int64_t *count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < s->violation_count; i++) {
        const struct history_violation *v = &s->violations[i];
        if (!summary_limit_is_of(l, v->limit, v->node))
            continue;
        sum = saturate_add(sum, v->end - v->begin);
        ++*count;
    }
    return sum;
}

int64_t verdict_taken_back(const struct summary *s, const struct builtin_limit *l)
{
    int64_t count = 0;
    return saturate_most(0, saturate_sub(violations_of(s, l, &count), counted_violated(s, l)));
}

int64_t verdict_more_violated(const struct summary *s, const struct experiment *e, const struct builtin_limit *l)
{
    int64_t count = 0, more = saturate_sub(violations_of(s, l, &count), counted_violated(s, l));
    return l->epoch <= 1 && more > (count + 1) * e->adapt.every ? more : 0;
}

static struct verdict_limit judge_row(const struct verdict *v, const struct summary *s, const struct experiment *e,
                                      const struct builtin_limit *row)
{
    const struct experiment_limit *l = &e->limits[row->limit];
    struct verdict_limit r = no_verdict(row->node);
    r.judged = saturate_add(row->held, row->violated);
    r.violated = row->violated;
    int64_t unheard = verdict_row_unheard(v, s, e, row);
    verdict_doubt(&r, unheard > 0);
    r.unjudged = saturate_add(row->unjudged, unheard);
    r.total = saturate_add(saturate_add(r.judged, row->settling), saturate_add(row->unknown, unheard));
    r.again = judged_again(s, row);
    r.before_end = l->kind == LIMIT_EXPECT ? verdict_more_violated(s, e, row) : 0;
    if (is_violated_at_an_instant(l, row)) {
        r.is = VERDICT_VIOLATED;
        r.since = first_violation(s, row);
        r.share = 0;
        return r;
    }
    if (r.judged <= 0 && r.unjudged <= 0)
        return r;
    double whole = (double)saturate_add(r.judged, r.unjudged), violated = (double)row->violated;
    r.since = first_violation(s, row);
    r.share = r.judged > 0 ? violated / (double)r.judged : NAN;
    if (violated / whole > l->tolerance) /* though the rest held */
        r.is = VERDICT_VIOLATED;
    else if ((violated + (double)r.unjudged) / whole <= l->tolerance) /* though the rest was violated */
        r.is = VERDICT_HELD;
    if (r.is == VERDICT_VIOLATED && l->kind == LIMIT_HOLD)
        find_why(s, e, row, &r);
    if (r.why != WHY_NONE)
        r.is = VERDICT_INFEASIBLE;
    return r;
}

/* A node that had nothing to judge does not count if another one had. */
static void join_row(struct verdict_limit *all, const struct verdict_limit *row)
{
    all->lasts = row->lasts > all->lasts ? row->lasts : all->lasts;
    if (row->judged <= 0 && row->unjudged <= 0 && row->is == VERDICT_UNKNOWN)
        return;
    bool first = all->nodes++ == 0;
    if (first || (double)row->judged * (double)all->total < (double)all->judged * (double)row->total) {
        all->judged = row->judged;
        all->total = row->total;
    }
    all->unjudged = row->unjudged > all->unjudged ? row->unjudged : all->unjudged;
    all->again = row->again > all->again ? row->again : all->again;
    all->before_end = row->before_end > all->before_end ? row->before_end : all->before_end;
    if (isnan(all->share) || row->share > all->share) {
        all->share = row->share;
        all->violated = row->violated;
        all->node = row->node;
    }
    if (row->why != WHY_NONE && all->why == WHY_NONE) {
        all->why = row->why;
        all->needed = row->needed;
        all->budget = row->budget;
        all->contradicts = row->contradicts;
    }
    if (first || row->is > all->is)
        all->is = row->is;
}

/* ns from the latest sum of a manager, in row `before`, to when the next one began to judge. */
static int64_t between_managers(const struct summary *s, const struct builtin_limit *before,
                                const struct builtin_limit *next)
{
    int64_t began = saturate_add(next->at, s->nodes[next->node].ahead - verdict_row_total(next));
    int64_t passed = saturate_add(began, -saturate_add(before->at, s->nodes[before->node].ahead));
    return passed > 0 ? passed : 0;
}

struct builtin_limit verdict_row_of_all(const struct summary *s, uint32_t limit)
{
    struct builtin_limit sum = {.limit = limit};
    const struct builtin_limit *before = NULL;
    for (size_t i = 0; i < s->limit_count; i++) {
        const struct builtin_limit *row = &s->limits[i];
        if (row->limit != limit || row->epoch == 0)
            continue;
        int64_t between = before ? between_managers(s, before, row) : 0;
        int64_t held = saturate_add(sum.held, row->held), violated = saturate_add(sum.violated, row->violated);
        int64_t unknown = saturate_add(sum.unknown, saturate_add(row->unknown, between));
        int64_t settling = saturate_add(sum.settling, row->settling);
        int64_t unjudged = saturate_add(sum.unjudged, saturate_add(row->unjudged, between));
        before = row;
        if (row->last_violated > 0 || sum.epoch == 0)
            sum = *row;
        sum.held = held;
        sum.violated = violated;
        sum.unknown = unknown;
        sum.settling = settling;
        sum.unjudged = unjudged;
    }
    return sum;
}

bool verdict_is_sparse(const struct summary *s, uint32_t i)
{
    bool is = false;
    for (size_t g = 0; g < s->gap_count; g++)
        is = is || (s->gaps[g].sparse && s->gaps[g].limit == i);
    return is;
}

/* Fills the rows and limits of *v. */
static void judge_limits(struct verdict *v, const struct summary *s, const struct experiment *e)
{
    for (size_t i = 0; i < v->limit_count; i++)
        v->limits[i] = no_verdict(0);
    for (size_t i = 0; i < s->limit_count; i++) {
        v->rows[i] = no_verdict(s->limits[i].node);
        if ((uint64_t)s->limits[i].limit >= v->limit_count)
            continue;
        v->rows[i] = judge_row(v, s, e, &s->limits[i]);
        if (s->limits[i].epoch == 0)
            join_row(&v->limits[s->limits[i].limit], &v->rows[i]);
    }
    for (uint32_t i = 0; i < v->limit_count; i++) {
        const struct builtin_limit all = verdict_row_of_all(s, i);
        if (e->limits[i].global && all.epoch > 0)
            v->limits[i] = judge_row(v, s, e, &all);
        v->limits[i].skips = experiment_limit_skips(e, &e->limits[i]) && !verdict_is_sparse(s, i);
    }
}

/*
 * A node has an agent before the programs start, and until they are drained: no limit was to be judged for longer than
 * the run, unless programs went on behind its end, and were judged.
 */
static int64_t bound_total(const struct verdict *v, const struct verdict_limit *l)
{
    int64_t known = saturate_add(l->judged, l->unjudged), most = known > v->duration ? known : v->duration;
    return l->total < most ? l->total : most;
}

static void bound_totals(struct verdict *v, size_t row_count)
{
    for (size_t i = 0; i < v->limit_count; i++)
        v->limits[i].total = bound_total(v, &v->limits[i]);
    for (size_t i = 0; i < row_count; i++)
        v->rows[i].total = bound_total(v, &v->rows[i]);
}

/* ---- books ---- */

#define LOSS(cause) offsetof(struct verdict_books, cause)
const struct verdict_loss verdict_losses[VERDICT_LOSSES] = {
    {"full", "full", "ring full", LOSS(full), false, false},
    {"window", "window", "window full", LOSS(window), true, false},
    {"spool", "spool", "spool full", LOSS(spool), true, false},
    {"off", "off", "collection off", LOSS(off), false, false},
    {"overwritten", "overwritten", "overwritten", LOSS(overwritten), true, false},
    {"no_ring", "no-ring", "no ring", LOSS(no_ring), false, false},
    {"reducer", "reducer", "reducer", LOSS(reducer), true, false},
    {"unfinished", "unfinished", "unfinished", LOSS(unfinished), false, true},
    {"unstored", "unstored", "not stored", LOSS(unstored), true, true},
};

uint64_t verdict_count(const struct verdict_books *b, size_t at)
{
    return *(const uint64_t *)(const void *)((const char *)b + at);
}

uint64_t verdict_lost(const struct verdict_books *b)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < VERDICT_LOSSES; i++)
        sum += verdict_count(b, verdict_losses[i].at);
    return sum;
}

/* Records that are neither stored nor under way. */
static uint64_t gone(const struct verdict_books *b)
{
    return verdict_lost(b) + b->reduced;
}

void verdict_add_books(struct verdict_books *sum, const struct verdict_books *b)
{
    sum->processes += b->processes;
    sum->before += b->before;
    sum->attempts += b->attempts;
    sum->stored += b->stored;
    sum->reduced += b->reduced;
    for (size_t i = 0; i < VERDICT_LOSSES; i++)
        *(uint64_t *)(void *)((char *)sum + verdict_losses[i].at) += verdict_count(b, verdict_losses[i].at);
    sum->rest = saturate_add(sum->rest, b->rest);
}

/* Draining of a node was given up if the run says so and the node never confirmed that it holds nothing. */
static bool is_given_up(const struct summary *s, uint32_t node)
{
    return summary_property_number(s, RUNDB_UNDRAINED) != 0 && s->nodes[node].open;
}

/* Whether a stream of `p` has no end in the store, or the collector refused the process. */
static bool lacks_an_end(const struct summary_process *p)
{
    bool open = p->refused;
    for (size_t i = 0; i < p->stream_count; i++)
        open = open || p->streams[i].open;
    return open;
}

uint64_t verdict_begun_before(const struct summary_process *p)
{
    uint64_t ordinals = 0, stored = 0, lost = p->unfinished, beyond = 0;
    for (size_t i = 0; i < p->stream_count; i++)
        ordinals += p->streams[i].next_ordinal;
    for (size_t i = 0; i < p->book_count; i++) {
        const struct summary_book *b = &p->books[i];
        uint64_t of_rings = b->full + b->off + b->window + b->spool + b->reduced + b->reducer;
        uint64_t found = b->stored + of_rings + b->no_ring;
        lost += of_rings;
        stored += b->stored;
        beyond += found > b->attempts ? found - b->attempts : 0;
    }
    bool lived_before = ordinals > stored + p->discarded; /* else its ordinals began at 0 */
    if (p->overwrites || lacks_an_end(p) || !lived_before || lost <= p->discarded)
        return 0;
    return lost - p->discarded == beyond && beyond <= p->stream_count ? beyond : 0;
}

/*
 * Stored and lost records were produced, even if the counters that count them have not arrived yet, or are wrong (as
 * may be those of a process whose end is unknown although its last books are there), or counted them for the session
 * before.
 */
static void raise_attempts(struct verdict_books *b, const struct summary *s, const struct summary_process *p,
                           uint64_t lost)
{
    bool unknown = p->state == PROCESS_RUNNING || (lacks_an_end(p) && !is_given_up(s, p->node));
    if ((unknown || verdict_begun_before(p) > 0) && b->attempts < b->stored + lost)
        b->attempts = b->stored + lost;
}

struct verdict_books verdict_aspect(const struct summary *s, const struct summary_process *p,
                                    const struct summary_book *book)
{
    struct verdict_books b = {.attempts = book->attempts,
                              .stored = book->stored,
                              .reduced = book->reduced,
                              .reducer = book->reducer,
                              .full = book->full,
                              .window = book->window,
                              .spool = book->spool,
                              .off = book->off,
                              .no_ring = book->no_ring};
    raise_attempts(&b, s, p, gone(&b));
    b.rest = (int64_t)(b.attempts - b.stored - gone(&b));
    return b;
}

bool verdict_gave_up(const struct summary *s, uint32_t node)
{
    bool complete = is_given_up(s, node);
    for (size_t i = 0; i < s->process_count; i++)
        complete = complete && (s->processes[i].node != node || s->processes[i].state != PROCESS_RUNNING);
    return complete;
}

struct verdict_books verdict_process(const struct summary *s, const struct summary_process *p)
{
    struct verdict_books b = {.processes = 1, .before = verdict_begun_before(p), .unfinished = p->unfinished};
    for (size_t i = 0; i < p->book_count; i++) {
        struct verdict_books aspect = verdict_aspect(s, p, &p->books[i]);
        verdict_add_books(&b, &aspect);
    }
    /* Ordinals count these losses, too, but not records without a ring. */
    if (summary_ended(s) != 0 && p->reduced > b.reduced + b.reducer)
        b.reducer = p->reduced - b.reduced; /* nobody will say any more that these were handed on */
    uint64_t otherwise = b.full + b.window + b.spool + b.off + b.unfinished + b.reduced + b.reducer;
    if (p->overwrites && p->discarded > otherwise)
        b.overwritten = p->discarded - otherwise;
    uint64_t known = gone(&b), by_ordinals = p->discarded + b.no_ring;
    raise_attempts(&b, s, p, by_ordinals > known ? by_ordinals : known);
    b.rest = (int64_t)(b.attempts - b.stored - gone(&b));
    if (b.rest > 0 && p->state != PROCESS_RUNNING && (lacks_an_end(p) || is_given_up(s, p->node))) {
        b.unstored = (uint64_t)b.rest;
        b.rest = 0;
    }
    return b;
}

/* The aspects of unfinished records of a process that overwrites are unknown: these count as overwritten. */
bool verdict_explains_aspects(const struct summary_process *p, const struct verdict_books *b)
{
    return p->overwrites && b->rest == 0 && b->overwritten > 0;
}

bool verdict_is_open(const struct summary *s, const struct summary_process *p)
{
    return p->state == PROCESS_RUNNING || p->state == PROCESS_LEFT || p->refused ||
           (lacks_an_end(p) && !is_given_up(s, p->node));
}

bool verdict_is_unjoined(const struct summary *s, const char *node)
{
    for (size_t i = 0; i < s->node_count; i++)
        if (strcmp(s->nodes[i].name, node) == 0)
            return false;
    return true;
}

/* Whether a process of that name came, be it one that the collector refused. */
static bool has_come(const struct summary *s, const char *name)
{
    for (size_t i = 0; i < s->process_count; i++)
        if (strcmp(s->processes[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < s->note_count; i++)
        if (s->notes[i].pid != 0 && strcmp(s->notes[i].name, name) == 0)
            return true;
    return false;
}

static void count_lack(void *context, const struct verdict_lack *l)
{
    struct verdict *v = context;
    uint64_t *n = &v->lacks[l->is];
    v->lacking[l->is] = *n ? v->lacking[l->is] : l->what;
    *n = *n + l->count < *n ? UINT64_MAX : *n + l->count;
}

bool verdict_lacks(const struct verdict *v, unsigned any)
{
    bool lacks = false;
    for (unsigned i = 0; i < VERDICT_LACKS; i++)
        lacks = lacks || (any >> i & 1 && v->lacks[i] > 0);
    return lacks;
}

#define NOT_STORED (1U << LACK_UNKNOWN | 1U << LACK_UNENDED | 1U << LACK_VANISHED | 1U << LACK_UNJOINED)

static void judge_lacks(struct verdict *v, const struct summary *s, const struct experiment *e)
{
    bool over = v->run != RUN_RUNNING;
    verdict_each_lack(s, over ? e : NULL, over, count_lack, v);
    for (uint32_t i = 0; over && i < e->process_count; i++)
        if (e->processes[i].attach && !has_come(s, e->processes[i].name))
            count_lack(v,
                       &(struct verdict_lack){LACK_ABSENT, VERDICT_ANYWHERE, .what = e->processes[i].name, .count = 1});
    v->partial = s->mirror.partial;
    v->lacks[LACK_MISSING] = s->missing;
    v->lacks[LACK_CHANGED] = s->changed;
    v->lacks[LACK_EXPERIMENT] = s->experiment_changed;
    /* If all is accounted for, somebody else added a file. */
    v->lacks[LACK_BEHIND] = over && s->behind && !(v->balanced && !verdict_lacks(v, NOT_STORED | 1U << LACK_LEFT_OUT));
    v->balanced = v->balanced && !verdict_lacks(v, ~VERDICT_NOT_OF_BOOKS);
}

/*
 * Whether nobody knows that limit number `limit` held, whatever was judged. Stored records that are gone are in the
 * books, and what was judged while they came is known. Of limits that are judged from the stored records nothing is;
 * nor of any where the database, which has the judgements, was changed, or the file that has the limits. What a mirror
 * lacks may be anything; while it is filled from a run that goes on, it is as good as that.
 */
static bool is_in_doubt(const struct verdict *v, const struct summary *s, const struct experiment *e, int64_t limit,
                        const struct verdict_limit *l)
{
    bool on_interval = limit >= 0 && limit < e->limit_count && experiment_limit_is_on_interval(e, &e->limits[limit]);
    return v->run == RUN_ABORTED || s->changed || s->experiment_changed ||
           (s->missing && (s->judged_anew || l->again > 0 || on_interval)) ||
           (v->partial && (v->run != RUN_RUNNING || s->mirror.stale));
}

/*
 * No limit is known to have held if the run was aborted, for it may have gone on; if something of VERDICT_DOUBTS lacks,
 * or a node gave up draining. Nor is a global limit if the manager was given up.
 */
static void downgrade_uncertain(struct verdict *v, const struct summary *s, const struct experiment *e)
{
    bool uncertain = v->given_up || verdict_lacks(v, VERDICT_DOUBTS), lacks = verdict_lacks_node(v, s, e);
    bool unmanaged = summary_property_number(s, RUNDB_UNMANAGED) != 0;
    bool lasts = v->given_up || verdict_lacks(v, VERDICT_LASTS) || unmanaged;
    for (size_t i = 0; i < s->limit_count; i++) {
        const struct builtin_limit *l = &s->limits[i];
        bool in_doubt = is_in_doubt(v, s, e, l->limit, &v->rows[i]);
        if (in_doubt || (l->epoch > 0 ? uncertain || unmanaged : v->given_up && s->nodes[l->node].open))
            verdict_doubt(&v->rows[i], in_doubt || lasts);
    }
    verdict_doubt_rows(v, s, e);
    v->is = v->partial && (v->run != RUN_RUNNING || s->mirror.stale) ? VERDICT_UNKNOWN : VERDICT_HELD;
    for (size_t i = 0; i < v->limit_count; i++) {
        bool in_doubt = is_in_doubt(v, s, e, (int64_t)i, &v->limits[i]);
        if (in_doubt || uncertain || lacks || (unmanaged && e->limits[i].global))
            verdict_doubt(&v->limits[i], in_doubt || lasts || lacks);
        if (v->limits[i].is > v->is)
            v->is = v->limits[i].is;
    }
}

static void judge_books(struct verdict *v, const struct summary *s)
{
    v->balanced = true;
    for (size_t i = 0; i < s->process_count; i++) {
        v->books[i] = verdict_process(s, &s->processes[i]);
        verdict_add_books(s->processes[i].role == ROLE_DAEMON ? &v->daemons : &v->sut, &v->books[i]);
        v->balanced = v->balanced && v->books[i].rest == 0;
        v->given_up = v->given_up || (v->books[i].unstored > 0 && is_given_up(s, s->processes[i].node));
        v->overwrites = v->overwrites || s->processes[i].overwrites;
    }
}

/* ---- the run ---- */

int verdict_new(const struct summary *s, const struct experiment *e, bool running, struct verdict **verdict)
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
    judge_run(v, s, running);
    judge_limits(v, s, e);
    bound_totals(v, s->limit_count);
    verdict_by_records(v, s, e);
    judge_books(v, s);
    judge_lacks(v, s, e);
    downgrade_uncertain(v, s, e);
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

bool verdict_is_complete(const struct verdict *v)
{
    return !v->partial && (v->run == RUN_RUNNING ? !verdict_lacks(v, ~0U) : v->run == RUN_ENDED && v->balanced);
}

int verdict_exit_code(const struct verdict *v)
{
    if (v->outcome != EXIT_OK)
        return v->outcome;
    if (v->lacks[LACK_ABSENT] > 0)
        return EXIT_UNREACHABLE;
    if (v->is >= VERDICT_VIOLATED)
        return EXIT_VIOLATED;
    bool unbalanced = v->run == RUN_ENDED && !v->balanced;
    return v->is == VERDICT_UNKNOWN || v->failed || v->run == RUN_ABORTED || unbalanced ? EXIT_FAILED : EXIT_OK;
}

const char *verdict_name(enum verdict_is is)
{
    static const char *const names[] = {"held", "unknown", "violated", "infeasible"};
    return names[is];
}

const char *verdict_why_name(enum verdict_why why)
{
    static const char *const names[] = {NULL, "off", "budget", "not-the-monitors", "starved", "contradiction"};
    return names[why];
}

const char *verdict_run_name(enum verdict_run run)
{
    static const char *const names[] = {"ended", "running", "aborted"};
    return names[run];
}
