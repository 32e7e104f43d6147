// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/trim.h"

#include <math.h>

/* ---- Effort ------------------------------------------------------------------------------------------------------ */

static int64_t effort_of(const struct trim *s, const struct experiment_knob *k, int32_t value)
{
    return k->helps == HELPS_MORE ? (int64_t)value - s->home : (int64_t)s->home - value;
}

static int32_t value_of(const struct trim *s, const struct experiment_knob *k, int64_t effort)
{
    return (int32_t)(k->helps == HELPS_MORE ? s->home + effort : s->home - effort);
}

static int64_t most_effort(const struct trim *s, const struct experiment_knob *k)
{
    return effort_of(s, k, k->helps == HELPS_MORE ? s->max : s->min);
}

static int64_t least_step(const struct trim *s, const struct experiment_knob *k)
{
    int64_t part = ((int64_t)s->max - s->min) / TRIM_STEPS;
    return k->step > 0 ? k->step : part > 0 ? part : 1;
}

static int64_t between(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static void move_to(struct trim *s, const struct experiment_knob *k, int64_t effort)
{
    s->value = value_of(s, k, effort);
    s->waited = s->calm = 0;
    s->returning = s->returned = s->reverted = false;
}

static int64_t patience(const struct trim *s, int64_t settle)
{
    return s->patience > 0 ? s->patience : TRIM_PATIENCE * settle;
}

static void be_patient(struct trim *s, int64_t settle)
{
    int64_t most = TRIM_PATIENCE_MAX * settle;
    s->patience = s->patience == 0 ? TRIM_PATIENCE * settle : s->patience > most / 2 ? most : s->patience * 2;
}

/* ---- What is found ----------------------------------------------------------------------------------------------- */

/* Begins anew, from `value`, which may have to be cut to the bounds. */
static void begin(struct trim *s, const struct experiment_knob *k, const struct trim_seen *seen, int32_t value)
{
    int32_t min = seen->min > k->min ? seen->min : k->min, max = seen->max < k->max ? seen->max : k->max;
    *s = (struct trim){.started = true,
                       .min = min,
                       .max = max,
                       .home = (int32_t)between(seen->home, min, max),
                       .value = (int32_t)between(value, min, max),
                       .orders = seen->orders,
                       .waited = s->started ? 0 : INT64_MAX, /* what is seen now is of what was before */
                       .failed = -1};
    if (effort_of(s, k, s->value) < 0) /* on the other side of home: somebody wants it there */
        s->home = s->value;
    s->stride = least_step(s, k);
}

/* Whether it had to begin anew with a value that is not what it was. */
static bool take_in(struct trim *s, const struct experiment_knob *k, const struct trim_seen *seen)
{
    int32_t min = seen->min > k->min ? seen->min : k->min, max = seen->max < k->max ? seen->max : k->max;
    bool ordered = !s->started || s->orders != seen->orders;
    bool same = !ordered && s->min == min && s->max == max &&
                (s->home == between(seen->home, min, max) || effort_of(s, k, seen->home) > 0);
    if (same)
        return false;
    int32_t before = ordered ? seen->value : s->value;
    begin(s, k, seen, before);
    return s->value != before;
}

/* ---- Moves ------------------------------------------------------------------------------------------------------- */

/* The gain that the last move to help shows; none where it did not help: something else changed meanwhile. */
static void learn(struct trim *s, int64_t effort, double margin)
{
    double gain = s->helping && effort > s->from ? (margin - s->before) / (double)(effort - s->from) : 0;
    if (s->helping)
        s->gain = gain > 0 ? gain : 0;
    s->free = false;
}

static void help(struct trim *s, const struct experiment_knob *k, double margin)
{
    int64_t effort = effort_of(s, k, s->value), left = most_effort(s, k) - effort, step = least_step(s, k);
    learn(s, effort, margin);
    if (!s->helping)
        s->first = margin;
    int64_t most = left / 2 > step ? left / 2 : step, least = s->helping && left / 8 > step ? left / 8 : step;
    double wanted = s->gain > 0 ? fmax((TRIM_AIM - margin) / s->gain, 0) : (double)most;
    int64_t by = wanted < (double)most ? between((int64_t)ceil(wanted), least, most) : most;
    s->failed = effort;
    s->from = effort;
    s->before = margin;
    s->helping = true;
    s->futile = false;
    s->stride = step;
    move_to(s, k, left - by < step ? effort + left : effort + by);
}

/* At the end, and it shows there: is it worth anything? */
static enum trim_move end_reached(struct trim *s, const struct experiment_knob *k, int64_t settle, double margin)
{
    s->spent = true;
    if (!s->helping || margin - s->first > TRIM_GAIN * fabs(s->first))
        return TRIM_KEEP;
    s->helping = false;
    s->futile = true;
    s->failed = -1;
    s->gain = 0;
    be_patient(s, settle);
    move_to(s, k, 0);
    return TRIM_GIVE_UP;
}

static enum trim_move answer(struct trim *s, const struct experiment_knob *k, int64_t settle,
                             const struct trim_limit *limit)
{
    int64_t effort = effort_of(s, k, s->value);
    s->calm = 0;
    if (s->returned && s->waited < patience(s, settle)) {
        s->failed = s->failed > effort ? s->failed : effort;
        s->stride = least_step(s, k);
        be_patient(s, settle);
        move_to(s, k, s->good);
        s->reverted = true;
        return TRIM_REVERT;
    }
    if (s->waited < settle)
        return TRIM_KEEP;
    s->reverted = false;
    if (!limit->helps || (s->futile && s->waited < s->patience))
        return TRIM_KEEP;
    if (effort >= most_effort(s, k))
        return end_reached(s, k, settle, limit->margin);
    help(s, k, limit->margin);
    return TRIM_HELP;
}

/* How far the knob may return now; *pause: ns that the limit must have held for it. */
static int64_t next_effort(const struct trim *s, const struct experiment_knob *k, int64_t settle, double margin,
                           int64_t *pause)
{
    int64_t effort = effort_of(s, k, s->value), step = least_step(s, k), stride = s->stride;
    double room = s->gain > 0 && !s->free ? fmax(margin / s->gain, 0) : (double)stride;
    if (room < (double)stride)
        stride = between((int64_t)room, step, stride);
    int64_t next = between(effort - stride, 0, effort);
    bool tried = next <= s->failed;
    if (tried && effort - s->failed > step) {
        next = s->failed + step;
        tried = false;
    } else if (tried) {
        next = between(effort - step, 0, effort);
    }
    *pause = tried || room < (double)step ? patience(s, settle) : 2 * settle;
    return next;
}

static enum trim_move rest(struct trim *s, const struct experiment_knob *k, int64_t settle,
                           const struct trim_limit *limit)
{
    int64_t pause;
    s->calm = s->calm > INT64_MAX - limit->elapsed ? INT64_MAX : s->calm + limit->elapsed;
    if (limit->margin < 0) /* broken, if not for long enough */
        s->calm = 0;
    if (s->calm < settle)
        return TRIM_KEEP;
    if (s->returning) {
        s->stride = between(2 * s->stride, 1, (int64_t)s->max - s->min);
        s->free = true;
    }
    if (s->returned && s->failed >= effort_of(s, k, s->value) && s->calm >= patience(s, settle) / 4) {
        s->patience = s->patience / 2 > TRIM_PATIENCE * settle ? s->patience / 2 : TRIM_PATIENCE * settle;
        s->failed = -1;
    }
    s->helping = s->returning = s->reverted = s->spent = s->futile = false;
    int64_t effort = effort_of(s, k, s->value), next = next_effort(s, k, settle, limit->margin, &pause);
    if (effort == 0 || !limit->returns || s->calm < pause)
        return TRIM_KEEP;
    s->good = effort;
    move_to(s, k, next);
    s->returning = s->returned = true;
    return TRIM_RETURN;
}

/* ---- The step ---------------------------------------------------------------------------------------------------- */

enum trim_move trim_step(struct trim *s, const struct experiment_knob *k, int64_t settle, const struct trim_seen *seen,
                         const struct trim_limit *limit)
{
    if (!trim_is_possible(k, seen))
        return TRIM_KEEP;
    if (take_in(s, k, seen))
        return TRIM_BOUND;
    if (limit->state == LIMIT_UNKNOWN || !isfinite(limit->margin) || limit->elapsed <= 0)
        return TRIM_KEEP;
    s->waited = s->waited > INT64_MAX - limit->elapsed ? INT64_MAX : s->waited + limit->elapsed;
    return limit->state == LIMIT_VIOLATED ? answer(s, k, settle, limit) : rest(s, k, settle, limit);
}

bool trim_is_possible(const struct experiment_knob *k, const struct trim_seen *seen)
{
    return seen->present && seen->min <= seen->max && seen->min <= k->max && k->min <= seen->max;
}

bool trim_has_room(const struct trim *s, const struct experiment_knob *k)
{
    return s->started && !s->futile && effort_of(s, k, s->value) < most_effort(s, k);
}

bool trim_is_home(const struct trim *s)
{
    return !s->started || s->value == s->home;
}

bool trim_answers(const struct trim *s)
{
    return s->returning || s->reverted;
}
