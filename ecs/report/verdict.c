// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/report/verdict_internal.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/saturate.h"
#include "collector/rundb/rundb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t fact_number(const struct summary *s, const char *key)
{
    const char *value = summary_property(s, key);
    return value ? strtoll(value, NULL, 10) : 0;
}

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
        if (s->nodes[i].last_at != 0 && s->nodes[i].last_at + s->nodes[i].realtime_offset > last)
            last = s->nodes[i].last_at + s->nodes[i].realtime_offset;
    for (size_t i = 0; i < s->event_count; i++)
        if (s->events[i].at > last)
            last = s->events[i].at;
    return last;
}

static void judge_run(struct verdict *v, const struct summary *s, bool running)
{
    v->started = saturate_ns(fact_number(s, "started"));
    v->ended = saturate_ns(fact_number(s, "ended"));
    const char *ended_by = summary_property(s, "ended_by");
    int64_t outcome = fact_number(s, "outcome");
    v->outcome = outcome < EXIT_OK || outcome > EXIT_UNREACHABLE ? EXIT_FAILED : (int)outcome;
    v->failed = v->outcome != EXIT_OK || (ended_by && strcmp(ended_by, "failure") == 0);
    int64_t last = last_sign(s, v->started);
    v->run = v->ended != 0 ? RUN_ENDED : running ? RUN_RUNNING : RUN_ABORTED;
    v->duration = (v->ended != 0 ? v->ended : last) - v->started;
    if (v->duration < 0)
        v->duration = 0;
}

/* ---- limits without certain data ---- */

/*
 * No limit is known to have held if a node vanished or gave up draining, or if processes were not observed. Nor is a
 * global limit if the manager was given up.
 */
static void downgrade_uncertain(struct verdict *v, const struct summary *s, const struct experiment *e)
{
    bool uncertain = v->vanished || v->unobserved || v->given_up;
    bool unmanaged = fact_number(s, RUNDB_UNMANAGED) != 0;
    for (size_t i = 0; i < v->limit_count; i++) {
        if (v->limits[i].is == VERDICT_HELD && (uncertain || (unmanaged && e->limits[i].global)))
            v->limits[i].is = VERDICT_UNKNOWN;
        if (v->limits[i].is > v->is)
            v->is = v->limits[i].is;
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
    sum->rest = saturate_add(sum->rest, b->rest);
}

/* Draining of a node was given up if the run says so and the node never confirmed that it holds nothing. */
static bool is_given_up(const struct summary *s, uint32_t node)
{
    return fact_number(s, RUNDB_UNDRAINED) != 0 && s->nodes[node].open;
}

/* Whether a stream of `p` has no end in the store, or the collector refused the process. */
static bool lacks_an_end(const struct summary_process *p)
{
    bool open = p->refused;
    for (size_t i = 0; i < p->stream_count; i++)
        open = open || p->streams[i].open;
    return open;
}

/*
 * Stored and lost records were produced, even if the counters that count them have not arrived yet, or are wrong (as
 * may be those of a process whose end is unknown although its last books are there).
 */
static void raise_attempts(struct verdict_books *b, const struct summary *s, const struct summary_process *p,
                           uint64_t lost)
{
    bool unknown = p->state == PROCESS_RUNNING || (lacks_an_end(p) && !is_given_up(s, p->node));
    if (unknown && b->attempts < b->stored + lost)
        b->attempts = b->stored + lost;
}

struct verdict_books verdict_aspect(const struct summary *s, const struct summary_process *p,
                                    const struct summary_book *book)
{
    struct verdict_books b = {.attempts = book->attempts,
                              .stored = book->stored,
                              .full = book->full,
                              .window = book->window,
                              .spool = book->spool,
                              .off = book->off,
                              .no_ring = book->no_ring};
    raise_attempts(&b, s, p, verdict_lost(&b));
    b.rest = (int64_t)(b.attempts - b.stored - verdict_lost(&b));
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
    struct verdict_books b = {.processes = 1, .unfinished = p->unfinished};
    for (size_t i = 0; i < p->book_count; i++) {
        struct verdict_books aspect = verdict_aspect(s, p, &p->books[i]);
        add_books(&b, &aspect);
    }
    /* Ordinals count these losses, too, but not records without a ring. */
    uint64_t otherwise = b.full + b.window + b.spool + b.off + b.unfinished;
    if (p->overwrites && p->discarded > otherwise)
        b.overwritten = p->discarded - otherwise;
    uint64_t lost = verdict_lost(&b), by_ordinals = p->discarded + b.no_ring;
    raise_attempts(&b, s, p, by_ordinals > lost ? by_ordinals : lost);
    b.rest = (int64_t)(b.attempts - b.stored - verdict_lost(&b));
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
    return p->state == PROCESS_RUNNING || p->refused || (lacks_an_end(p) && !is_given_up(s, p->node));
}

static void judge_unknown(struct verdict *v, const struct summary *s)
{
    if (v->run == RUN_RUNNING)
        return;
    for (size_t i = 0; i < s->process_count; i++)
        v->unknown += verdict_is_open(s, &s->processes[i]);
    for (size_t i = 0; i < s->node_count; i++)
        v->vanished += s->nodes[i].open && !verdict_gave_up(s, (uint32_t)i);
    v->balanced = v->balanced && v->unknown == 0 && v->vanished == 0 && s->untaken == 0 && !s->left_out;
    v->behind = s->behind && !v->balanced; /* if all is accounted for, somebody else added a file */
}

static uint64_t add_processes(uint64_t sum, uint64_t more)
{
    return sum + more < sum ? UINT64_MAX : sum + more;
}

static void judge_unobserved(struct verdict *v, const struct summary *s)
{
    for (size_t i = 0; i < s->node_count; i++)
        v->unobserved = add_processes(v->unobserved, s->nodes[i].unobserved);
    for (size_t i = 0; i < s->process_count; i++)
        v->unobserved = add_processes(v->unobserved, s->processes[i].unobserved);
    v->balanced = v->balanced && v->unobserved == 0;
}

static void judge_books(struct verdict *v, const struct summary *s)
{
    v->balanced = true;
    for (size_t i = 0; i < s->process_count; i++) {
        v->books[i] = verdict_process(s, &s->processes[i]);
        add_books(s->processes[i].role == ROLE_DAEMON ? &v->daemons : &v->sut, &v->books[i]);
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
    verdict_judge_limits(v, s, e);
    judge_books(v, s);
    judge_unknown(v, s);
    judge_unobserved(v, s);
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

int verdict_exit_code(const struct verdict *v)
{
    if (v->outcome != EXIT_OK)
        return v->outcome;
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
