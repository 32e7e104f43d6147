// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/agent/limit_judge.h"

#include <math.h>

void limit_judge_start(struct limit_judge *j, const struct experiment_limit *limit, int64_t settling, int64_t reach,
                       struct agent_limit *seen)
{
    *j = (struct limit_judge){.limit = limit, .settling = settling, .reach = reach, .seen = seen, .trusted_worst = NAN};
    *seen = (struct agent_limit){.worst = NAN, .slot = -1};
}

void limit_judge_since(struct limit_judge *j, int64_t since, bool resumes)
{
    if (j->began || j->resumes || (j->since != 0 && since >= j->since))
        return;
    j->since = since;
    j->resumes = resumes;
}

void limit_judge_begin(struct limit_judge *j, int64_t now)
{
    j->now = now;
    j->broken = j->violated = j->certain = j->confirms = j->open = j->was_open = false;
    j->fresh = 0;
    j->hole = j->lasting = 0;
    j->seen->known = false;
}

void limit_judge_hole(struct limit_judge *j, int64_t hole)
{
    j->hole = hole;
}

/* Violations before time `since` are confirmed; at it or later, `suspects` processes broke the limit. */
static void limit_judge_confirm(struct limit_judge *j, int64_t since, uint32_t suspects)
{
    j->doubt_since = since;
    j->suspects = suspects;
    j->doubtful = j->doubtful_gap = 0;
    j->trusted_worst = j->seen->worst;
    j->trusted_violated = j->seen->last_violated;
}

static bool limit_judge_is_suspect(const struct limit_judge *j, const struct limit_judge_run *run)
{
    return run->suspected != 0 && run->suspected >= j->doubt_since;
}

static void limit_judge_suspect(struct limit_judge *j, struct limit_judge_run *run)
{
    j->suspects += !limit_judge_is_suspect(j, run);
    j->fresh++;
    run->suspected = j->now;
}

void limit_judge_drop(struct limit_judge *j, struct limit_judge_run *run, bool went_on)
{
    if (limit_judge_is_suspect(j, run) && went_on) {
        limit_judge_confirm(j, j->now + 1, 0);
    } else if (limit_judge_is_suspect(j, run) && --j->suspects == 0) {
        j->seen->violated -= j->doubtful;
        j->seen->unknown += j->doubtful;
        j->seen->unjudged -= j->doubtful_gap;
        j->seen->worst = j->trusted_worst;
        j->seen->last_violated = j->trusted_violated;
        j->doubtful = j->doubtful_gap = 0;
    }
    *run = (struct limit_judge_run){0};
}

/* ns for which this instant stands. What the first one of a judge that resumes is behind, others have recorded. */
static int64_t limit_judge_passed(const struct limit_judge *j)
{
    if (j->began)
        return j->now - j->before;
    return j->since > 0 && !j->resumes ? j->now - j->since : 0;
}

/* Whether there was no judging before this instant, for too long. */
static bool limit_judge_is_late(const struct limit_judge *j)
{
    return limit_judge_passed(j) > j->reach || (j->hole > j->reach && j->ever_known);
}

/* How long `run` may have been broken: it `may_be` at this instant, as its value breaks the limit or is `open`. */
static void limit_judge_may_break(struct limit_judge *j, struct limit_judge_run *run, bool may_be, bool open)
{
    if (!run->may_be) {
        run->whole_before = j->now - limit_judge_passed(j);
        run->was_open = false;
    }
    run->may_be = may_be;
    run->was_open = run->was_open || open || limit_judge_is_late(j);
    int64_t lasting = may_be ? j->now - run->whole_before - j->limit->persistence : 0;
    j->lasting = lasting > j->lasting ? lasting : j->lasting;
    j->was_open = j->was_open || (lasting > 0 && run->was_open);
}

void limit_judge_value(struct limit_judge *j, struct limit_judge_run *run, int slot, struct limit_judge_value v)
{
    bool hung = v.silent > j->settling;
    if (limit_judge_is_suspect(j, run) && (hung || v.silent == 0 || v.goes_on))
        j->confirms = true;
    bool decides = v.least > 0 && (j->limit->compare == COMPARE_AT_MOST ? v.least > j->limit->bound
                                                                        : v.open && v.least >= j->limit->bound);
    if (!v.known && decides) {
        v.known = v.part = true; /* as far as the limit is concerned */
        v.value = v.least;
        v.resolution = 0;
    }
    if (!v.known) {
        run->broken = false;
        j->open = j->open || v.open;
        limit_judge_may_break(j, run, v.open, v.open);
        return;
    }
    bool at_least = j->limit->compare == COMPARE_AT_LEAST;
    double sure = at_least ? v.value + v.resolution : v.value - v.resolution;
    double excess = at_least ? j->limit->bound - sure : sure - j->limit->bound;
    if (!j->seen->known || excess > j->excess) {
        j->seen->known = true;
        j->seen->value = v.value;
        j->part = v.part && excess <= 0;
        j->seen->slot = slot;
        j->excess = excess;
    }
    bool lasted = run->broken && j->before - run->broken_since >= j->limit->persistence;
    if (excess > 0 && !run->broken)
        run->broken_since = j->now;
    run->broken = excess > 0;
    limit_judge_may_break(j, run, run->broken || (v.was_broken && !lasted), false);
    run->may_be = run->broken;
    if (!run->broken)
        return;
    j->broken = true;
    if (hung || !v.of_records)
        j->certain = true;
    else
        limit_judge_suspect(j, run);
    if (j->now - run->broken_since >= j->limit->persistence)
        j->violated = true;
}

static void limit_judge_worsen(const struct limit_judge *j, double *worst)
{
    bool at_least = j->limit->compare == COMPARE_AT_LEAST;
    if (isnan(*worst) || (at_least ? j->seen->value < *worst : j->seen->value > *worst))
        *worst = j->seen->value;
}

static void limit_judge_add_gap(struct agent_limit *seen, int64_t passed)
{
    seen->gap = passed;
    seen->unjudged += passed;
    seen->unknown += passed;
}

/* What has been broken since some time between two instants may have been so for longer than the limit permits. */
static void limit_judge_add_held(struct limit_judge *j, int64_t passed, bool doubtful)
{
    int64_t open = j->lasting < passed ? j->lasting : passed;
    j->seen->held += passed - open;
    j->seen->unknown += open;
    j->seen->unjudged += open;
    j->doubtful_gap += doubtful ? open : 0;
}

/* Adds the time since the instant before, in the state that this instant found. */
static void limit_judge_account(struct limit_judge *j, enum limit_state state, bool doubtful)
{
    struct agent_limit *seen = j->seen;
    int64_t passed = limit_judge_passed(j);
    seen->gap = j->began ? 0 : j->resumes ? j->since - j->now : -1;
    if ((seen->known || j->open) && !j->ever_known) {
        j->ever_known = true;
        j->first_known = j->now;
    }
    bool is_open = passed > 0 && /* the records may tell it after the run */
                   ((state == LIMIT_UNKNOWN && j->open) || (state == LIMIT_HELD && j->was_open));
    bool is_gap = limit_judge_is_late(j) || is_open;
    if (j->ever_known && j->limit->kind == LIMIT_HOLD && j->now - j->first_known <= j->settling) {
        seen->settling += passed;
        return;
    }
    if (is_gap)
        limit_judge_add_gap(seen, passed);
    else if (!j->ever_known || state == LIMIT_UNKNOWN)
        seen->unknown += passed;
    else if (state == LIMIT_HELD)
        limit_judge_add_held(j, passed, doubtful);
    else
        seen->violated += passed;
    if (state == LIMIT_VIOLATED && doubtful && !is_gap)
        j->doubtful += passed;
    if (!seen->known || j->part)
        return;
    limit_judge_worsen(j, &seen->worst);
    if (!doubtful)
        limit_judge_worsen(j, &j->trusted_worst);
}

bool limit_judge_end(struct limit_judge *j)
{
    struct agent_limit *seen = j->seen;
    enum limit_state before = seen->state;
    bool doubtful = j->broken && !j->certain;
    if (j->confirms)
        limit_judge_confirm(j, j->now, j->fresh);
    seen->known = seen->known && (j->violated || !j->open); /* what holds of one process does not hold of all */
    seen->state = !seen->known ? LIMIT_UNKNOWN : j->violated ? LIMIT_VIOLATED : LIMIT_HELD;
    if (!seen->known)
        seen->slot = -1;
    limit_judge_account(j, seen->state, doubtful);
    if (j->violated)
        seen->last_violated = j->now;
    if (j->violated && !doubtful)
        j->trusted_violated = j->now;
    j->before = j->now;
    j->began = true;
    return seen->state != before;
}
