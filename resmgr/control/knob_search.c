// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/control/knob_search.h"

#include "base/saturate.h"

#include <math.h>

/* ---- Effort ------------------------------------------------------------------------------------------------------ */

static int64_t effort_of(const struct knob_search *s, const struct experiment_knob *k, int32_t value)
{
    return k->helps == HELPS_MORE ? (int64_t)value - s->baseline : (int64_t)s->baseline - value;
}

static int32_t value_of(const struct knob_search *s, const struct experiment_knob *k, int64_t effort)
{
    return (int32_t)(k->helps == HELPS_MORE ? s->baseline + effort : s->baseline - effort);
}

static int64_t most_effort(const struct knob_search *s, const struct experiment_knob *k)
{
    return effort_of(s, k, k->helps == HELPS_MORE ? s->max : s->min);
}

static int64_t least_step(const struct knob_search *s, const struct experiment_knob *k)
{
    int64_t part = ((int64_t)s->max - s->min) / KNOB_SEARCH_STEPS;
    return k->step > 0 ? k->step : part > 0 ? part : 1;
}

static void move_to(struct knob_search *s, const struct experiment_knob *k, int64_t effort)
{
    s->value = value_of(s, k, effort);
    s->retry.waited = s->calm = 0;
    s->returning = s->returned = s->reverted = false;
}

static int64_t patience(const struct knob_search *s, int64_t settle)
{
    return s->retry.pause > 0 ? s->retry.pause : KNOB_SEARCH_PATIENCE * settle;
}

static void be_patient(struct knob_search *s, int64_t settle)
{
    retry_timer_fail(&s->retry, true, KNOB_SEARCH_PATIENCE * settle, KNOB_SEARCH_PATIENCE_MAX * settle);
}

/* ---- Observations ------------------------------------------------------------------------------------------------ */

/* Begins anew from `value`, clamped to the bounds. */
static void begin(struct knob_search *s, const struct experiment_knob *k, const struct knob_search_seen *seen,
                  int32_t value)
{
    int32_t min = seen->min > k->min ? seen->min : k->min, max = seen->max < k->max ? seen->max : k->max;
    *s = (struct knob_search){.started = true,
                              .min = min,
                              .max = max,
                              .baseline = (int32_t)saturate_between(seen->baseline, min, max),
                              .value = (int32_t)saturate_between(value, min, max),
                              .overrides = seen->overrides,
                              .retry.waited = s->started ? 0 : INT64_MAX, /* observations do not show this value yet */
                              .failed = -1};
    if (effort_of(s, k, s->value) < 0) /* on the other side of the baseline: somebody wants it there */
        s->baseline = s->value;
    s->stride = least_step(s, k);
}

/* Takes the observation in. True if the search began anew, with another value. */
static bool take_in(struct knob_search *s, const struct experiment_knob *k, const struct knob_search_seen *seen)
{
    int32_t min = seen->min > k->min ? seen->min : k->min, max = seen->max < k->max ? seen->max : k->max;
    bool overridden = !s->started || s->overrides != seen->overrides;
    bool same = !overridden && s->min == min && s->max == max &&
                (s->baseline == saturate_between(seen->baseline, min, max) || effort_of(s, k, seen->baseline) > 0);
    if (same)
        return false;
    int32_t before = overridden ? seen->value : s->value;
    begin(s, k, seen, before);
    return s->value != before;
}

/* ---- Moves ------------------------------------------------------------------------------------------------------- */

/* The gain of the last move to help; 0 if it did not help, because something else changed meanwhile. */
static void learn(struct knob_search *s, int64_t effort, double margin)
{
    double gain = s->helping && effort > s->from ? (margin - s->before) / (double)(effort - s->from) : 0;
    if (s->helping)
        s->gain = gain > 0 ? gain : 0;
    s->free = false;
}

static void help(struct knob_search *s, const struct experiment_knob *k, double margin)
{
    int64_t effort = effort_of(s, k, s->value), left = most_effort(s, k) - effort, step = least_step(s, k);
    learn(s, effort, margin);
    if (!s->helping)
        s->first = margin;
    int64_t most = left / 2 > step ? left / 2 : step, least = s->helping && left / 8 > step ? left / 8 : step;
    double wanted = s->gain > 0 ? fmax((KNOB_SEARCH_AIM - margin) / s->gain, 0) : (double)most;
    int64_t by = wanted < (double)most ? saturate_between((int64_t)ceil(wanted), least, most) : most;
    s->failed = effort;
    s->from = effort;
    s->before = margin;
    s->helping = true;
    s->futile = false;
    s->stride = step;
    move_to(s, k, left - by < step ? effort + left : effort + by);
}

/* At the end of the range, and the effect shows: stay if the value improved, else give up. */
static enum knob_search_move end_reached(struct knob_search *s, const struct experiment_knob *k, int64_t settle,
                                         double margin)
{
    s->saturated = true;
    if (!s->helping || margin - s->first > KNOB_SEARCH_GAIN * fabs(s->first))
        return KNOB_SEARCH_KEEP;
    s->helping = false;
    s->futile = true;
    s->failed = -1;
    s->gain = 0;
    be_patient(s, settle);
    move_to(s, k, 0);
    return KNOB_SEARCH_GIVE_UP;
}

static enum knob_search_move answer(struct knob_search *s, const struct experiment_knob *k, int64_t settle,
                                    const struct knob_search_limit *limit)
{
    int64_t effort = effort_of(s, k, s->value);
    s->calm = 0;
    if (s->returned && s->retry.waited < patience(s, settle)) {
        s->failed = s->failed > effort ? s->failed : effort;
        s->stride = least_step(s, k);
        be_patient(s, settle);
        move_to(s, k, s->good);
        s->reverted = true;
        return KNOB_SEARCH_REVERT;
    }
    if (s->retry.waited < settle)
        return KNOB_SEARCH_KEEP;
    s->reverted = false;
    if (!limit->helps || (s->futile && !retry_timer_is_due(&s->retry)))
        return KNOB_SEARCH_KEEP;
    if (effort >= most_effort(s, k))
        return end_reached(s, k, settle, limit->margin);
    help(s, k, limit->margin);
    return KNOB_SEARCH_HELP;
}

/* The effort after the next return; *pause: ns for which the limit must have held before it. */
static int64_t next_effort(const struct knob_search *s, const struct experiment_knob *k, int64_t settle, double margin,
                           int64_t *pause)
{
    int64_t effort = effort_of(s, k, s->value), step = least_step(s, k), stride = s->stride;
    double room = s->gain > 0 && !s->free ? fmax(margin / s->gain, 0) : (double)stride;
    if (room < (double)stride)
        stride = saturate_between((int64_t)room, step, stride);
    int64_t next = saturate_between(effort - stride, 0, effort);
    bool tried = next <= s->failed;
    if (tried && effort - s->failed > step) {
        next = s->failed + step;
        tried = false;
    } else if (tried) {
        next = saturate_between(effort - step, 0, effort);
    }
    *pause = tried || room < (double)step ? patience(s, settle) : 2 * settle;
    return next;
}

static enum knob_search_move come_back(struct knob_search *s, const struct experiment_knob *k, int64_t settle,
                                       const struct knob_search_limit *limit)
{
    int64_t pause;
    s->calm = saturate_add(s->calm, limit->elapsed);
    if (limit->margin < 0) /* beyond its bound, but not for its persistence yet */
        s->calm = 0;
    if (s->calm < settle)
        return KNOB_SEARCH_KEEP;
    if (s->returning) {
        s->stride = saturate_between(2 * s->stride, 1, (int64_t)s->max - s->min);
        s->free = true;
    }
    if (s->returned && s->failed >= effort_of(s, k, s->value) && s->calm >= patience(s, settle) / 4) {
        retry_timer_ease(&s->retry, KNOB_SEARCH_PATIENCE * settle);
        s->failed = -1;
    }
    s->helping = s->returning = s->reverted = s->saturated = s->futile = false;
    int64_t effort = effort_of(s, k, s->value), next = next_effort(s, k, settle, limit->margin, &pause);
    if (effort == 0 || !limit->returns || s->calm < pause)
        return KNOB_SEARCH_KEEP;
    s->good = effort;
    move_to(s, k, next);
    s->returning = s->returned = true;
    return KNOB_SEARCH_RETURN;
}

/* ---- The step ---------------------------------------------------------------------------------------------------- */

enum knob_search_move knob_search_step(struct knob_search *s, const struct experiment_knob *k, int64_t settle,
                                       const struct knob_search_seen *seen, const struct knob_search_limit *limit)
{
    if (!knob_search_is_possible(k, seen))
        return KNOB_SEARCH_KEEP;
    if (take_in(s, k, seen))
        return KNOB_SEARCH_BOUND;
    if (limit->state == LIMIT_UNKNOWN || !isfinite(limit->margin) || limit->elapsed <= 0)
        return KNOB_SEARCH_KEEP;
    retry_timer_pass(&s->retry, limit->elapsed);
    return limit->state == LIMIT_VIOLATED ? answer(s, k, settle, limit) : come_back(s, k, settle, limit);
}

bool knob_search_is_possible(const struct experiment_knob *k, const struct knob_search_seen *seen)
{
    return seen->present && seen->min <= seen->max && seen->min <= k->max && k->min <= seen->max;
}

bool knob_search_has_room(const struct knob_search *s, const struct experiment_knob *k)
{
    return s->started && !s->futile && effort_of(s, k, s->value) < most_effort(s, k);
}

bool knob_search_is_baseline(const struct knob_search *s)
{
    return !s->started || s->value == s->baseline;
}

bool knob_search_answers(const struct knob_search *s)
{
    return s->returning || s->reverted;
}
