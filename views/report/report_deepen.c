// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/report/report_deepen.h"

#include "analysis/deepen.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "run/history/summary.h"
#include "run/rundb/rundb.h"
#include "views/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The run's books say how often each aspect came and what the monitor took, and the path of what the run did since one
 * was turned on last says what is not known. Both are read as `bezel why` reads them; analysis/deepen.c decides.
 */

enum { ASPECTS_MOST = 64, NODES_MOST = 256, LOOKS_ENOUGH = 5 };

#define PACKET_TAKES 75e-6 /* s of a CPU, of bezeld and collector together (docs/EXPERIMENT.md) */

struct candidate {
    char name[DICT_NAME_MAX + 1];
    enum dict_kind kind;
    uint64_t off, stored, off_before, stored_before;
    bool counted; /* it came, and none was recorded, since it was looked at first */
};

struct report_deepen {
    const char *run;
    struct deepen deepen;
    size_t count, next, looks;
    struct candidate candidates[ASPECTS_MOST];
    struct deepen_aspect aspects[ASPECTS_MOST]; /* of each candidate */
    int64_t began, looked, from, newest;
    int64_t cost[NODES_MOST], sampled[NODES_MOST];
    struct why_turns told;
};

/* ---- what it may cost -------------------------------------------------------------------------------------------- */

/* The limit on what a node takes, of a CPU; NaN: the file has none. */
static double limit_of(const struct experiment *e)
{
    double least = (double)NAN;
    for (size_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        bool above = l->compare == COMPARE_AT_MOST;
        double each = l->bound / 100 / (l->global ? (double)e->node_count : 1);
        if (l->metric == LIMIT_ON_SENSOR_CPU && above && !(each >= least))
            least = each;
    }
    return least;
}

/* What the monitor took since it was looked at last, on the node where it took most. */
static void look_at_cost(struct report_deepen *s, const struct summary *sum)
{
    double most = -1;
    for (size_t i = 0; i < sum->node_count && i < NODES_MOST; i++) {
        const struct summary_node *n = &sum->nodes[i];
        double ns = (double)(n->sampled_ns - s->sampled[i]),
               used = ns > 0 ? (double)(n->cost_ns - s->cost[i]) / ns : -1;
        most = used > most ? used : most;
        s->sampled[i] = n->sampled_ns;
        s->cost[i] = n->cost_ns;
    }
    s->deepen.used = most >= 0 ? most : s->deepen.used;
}

/* Each record takes what one takes at most, and where few come with a poll, each of these a packet. */
static double cost_of(const struct summary *sum, double rate)
{
    double polls = 0;
    for (size_t i = 0; i < sum->node_count; i++)
        if (sum->nodes[i].period_mean > 0)
            polls = fmax(polls, 1e9 / (double)sum->nodes[i].period_mean);
    return rate * SLOW_RECORD_MOST * 1e-9 + fmin(rate, polls > 0 ? polls : rate) * PACKET_TAKES;
}

/* ---- aspects ----------------------------------------------------------------------------------------------------- */

static struct candidate *candidate_of(struct report_deepen *s, const struct summary_book *b)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->candidates[i].name, b->name) == 0)
            return &s->candidates[i];
    bool wanted = dict_kind_lasts(b->kind) || b->kind == DICT_SENT || b->kind == DICT_RECEIVED;
    if (!wanted || s->count == ASPECTS_MOST || strlen(b->name) > DICT_NAME_MAX)
        return NULL;
    struct candidate *c = &s->candidates[s->count];
    s->aspects[s->count++] = (struct deepen_aspect){.cost = (double)NAN};
    *c = (struct candidate){.kind = b->kind};
    snprintf(c->name, sizeof c->name, "%s", b->name);
    return c;
}

/* How often each aspect came since it was looked at last: those that were counted alone are to be turned. */
static void look_at_books(struct report_deepen *s, const struct summary *sum, double seconds)
{
    for (size_t i = 0; i < sum->process_count; i++)
        for (size_t k = 0; sum->processes[i].role == ROLE_SUT && k < sum->processes[i].book_count; k++) {
            const struct summary_book *b = &sum->processes[i].books[k];
            struct candidate *c = candidate_of(s, b);
            if (!c)
                continue;
            c->off += b->off;
            c->stored += b->stored;
        }
    for (size_t i = 0; i < s->count; i++) {
        struct candidate *c = &s->candidates[i];
        bool came = seconds > 0 && c->off > c->off_before && c->stored == c->stored_before;
        if (came)
            s->aspects[i].cost = cost_of(sum, (double)(c->off - c->off_before) / seconds);
        c->counted = c->counted || came;
        c->off_before = c->off;
        c->stored_before = c->stored;
        c->off = c->stored = 0;
    }
}

/* ---- what is not known ------------------------------------------------------------------------------------------- */

static void weigh(struct report_deepen *s, const struct summary *sum, const struct why_answer *a)
{
    if (a->terms.count == 0) /* nothing of that time is stored yet: what was known before counts */
        return;
    for (size_t i = 0; i < s->count; i++)
        s->aspects[i].may = s->aspects[i].says = 0;
    for (size_t i = 0; i < sum->process_count; i++)
        for (size_t k = 0; sum->processes[i].role == ROLE_SUT && k < sum->processes[i].book_count; k++) {
            const struct summary_process *p = &sum->processes[i];
            struct candidate *c = candidate_of(s, &p->books[k]);
            if (c && c->counted && p->books[k].attempts > 0)
                deepen_weigh(&a->activity, &a->terms, &a->search, sum->nodes[p->node].name, p->name, c->name, c->kind,
                             &s->aspects[c - s->candidates]);
        }
    s->deepen.monitor = false;
    for (size_t i = 0; i < a->search.count; i++)
        s->deepen.monitor |= a->search.nodes[i].why == SEARCH_MONITOR && a->search.nodes[i].is == SEARCH_TRUE;
}

/* Why nothing more is recorded that might explain more; NULL: nothing might, or the time was over. */
static const char *held_back(const struct report_deepen *s)
{
    if (s->deepen.monitor)
        return "Nothing more was recorded, for the monitor is one of the things that time is spent on";
    for (size_t i = 0; i < s->count; i++)
        if (deepen_is_wanted(&s->aspects[i]) && s->aspects[i].cost > s->deepen.limit - s->deepen.used)
            return "Aspects that might explain more cost more than the limit on sensor_cpu leaves";
    return NULL;
}

int report_deepen_look(struct report_deepen *s)
{
    struct why_question q = {.of = WHY_PATH, .from = s->from, .until = INT64_MAX, .search = true, .goes_on = true};
    struct why_answer a;
    struct summary *sum;
    int64_t now = clock_now();
    int err = report_load_summary(s->run, true, &sum);
    if (err)
        return err;
    look_at_cost(s, sum);
    look_at_books(s, sum, s->looked ? (double)(now - s->looked) / CLOCK_S : 0);
    err = why_read(s->run, &q, &a);
    if (err)
        log_error("BEZEL-WHY", "cannot read %s: %s", s->run, rundb_why(err));
    else
        weigh(s, sum, &a);
    s->newest = s->told.until = a.newest;
    if (!err && s->looked) /* how often aspects come is known from the second look on */
        deepen_decide(&s->deepen, s->aspects, s->count, now);
    s->told.held_back = held_back(s);
    s->next = 0;
    s->looks++;
    s->looked = now;
    why_free(&a);
    summary_free(sum);
    return err;
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

static void note(struct report_deepen *s, size_t i)
{
    const struct deepen_aspect *a = &s->aspects[i];
    struct why_turns *r = &s->told;
    if (r->count == WHY_TURNS_MOST)
        memmove(r->turns, r->turns + 1, --r->count * sizeof *r->turns);
    struct why_turn *t = &r->turns[r->count++];
    *t = (struct why_turn){clock_now() - s->began, "", a->turn == DEEPEN_ON, a->may, a->says, a->cost};
    snprintf(t->aspect, sizeof t->aspect, "%s", s->candidates[i].name);
    if (t->on)
        s->from = r->from = s->newest;
}

const char *report_deepen_next(struct report_deepen *s, bool *on)
{
    for (; s->next < s->count; s->next++)
        if (s->aspects[s->next].turn != DEEPEN_STAY) {
            *on = s->aspects[s->next].turn == DEEPEN_ON;
            note(s, s->next);
            return s->candidates[s->next++].name;
        }
    return NULL;
}

bool report_deepen_is_done(const struct report_deepen *s)
{
    bool open = s->looks < 2;
    for (size_t i = 0; i < s->count; i++) {
        const struct candidate *c = &s->candidates[i];
        bool late = !c->counted && c->off_before > 0 && c->stored_before == 0; /* how often it comes is not known yet */
        open = open || s->aspects[i].turn != DEEPEN_STAY || (late && s->looks < LOOKS_ENOUGH);
    }
    return !open && deepen_is_done(&s->deepen, s->aspects, s->count, s->looked);
}

const char *report_deepen_undo(struct report_deepen *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->aspects[i].on) {
            s->aspects[i].on = false;
            return s->candidates[i].name;
        }
    return NULL;
}

const struct why_turns *report_deepen_turns(const struct report_deepen *s)
{
    return &s->told;
}

int report_deepen_new(const char *run, struct report_deepen **d)
{
    struct experiment *e;
    if (report_load_experiment(run, &e) != 0)
        return BEZEL_ESYS;
    double limit = limit_of(e);
    experiment_free(e);
    if (isnan(limit))
        return BEZEL_ENOENT;
    *d = calloc(1, sizeof **d);
    if (!*d) {
        log_error("BEZEL-WHY-MEMORY", "cannot look at %s: %s", run, ulimit_reason(BEZEL_ENOMEM));
        return BEZEL_ENOMEM;
    }
    (*d)->run = run;
    (*d)->deepen.limit = limit;
    (*d)->began = clock_now();
    (*d)->from = (*d)->told.from = INT64_MIN;
    return 0;
}

void report_deepen_free(struct report_deepen *d)
{
    free(d);
}
