// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/activity.h"

#include "base/saturate.h"

#include <stdlib.h>
#include <string.h>

#define LOSS_LATE  INT64_C(200000000) /* ns by which intervals are recorded after they ended, at most */
#define SPAN_MOVES 16                 /* of each span, on average, with which they are sorted one by one */

/* ---- the innermost span ------------------------------------------------------------------------------------------ */

static int by_begin(const void *x, const void *y)
{
    const struct activity_span *a = x, *b = y;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end < b->end) - (a->end > b->end); /* the outer one first */
}

/* They are recorded by their ends: one goes before those in it, of which few stand there. Else all are sorted. */
static void sort_spans(struct activity_thread *t)
{
    for (size_t i = 1, moves = 0; i < t->span_count; i++) {
        struct activity_span span = t->spans[i];
        size_t k = i;
        for (; k > 0 && by_begin(&t->spans[k - 1], &span) > 0; k--, moves++)
            t->spans[k] = t->spans[k - 1];
        t->spans[k] = span;
        if (moves > SPAN_MOVES * t->span_count) {
            qsort(t->spans, t->span_count, sizeof *t->spans, by_begin);
            return;
        }
    }
}

/* `span`: NULL: none. */
static void put_inner(struct activity_thread *t, int64_t at, const struct activity_span *span)
{
    if (t->inner_count && t->inner[t->inner_count - 1].at == at)
        t->inner_count--;
    t->inner[t->inner_count++] = (struct activity_inner){at, span ? span->name : (uint32_t)ACTIVITY_NONE,
                                                         span ? span->reason : ACTIVITY_NO_WAIT};
}

/* Ends the spans on the stack that end before `until`: the one below that goes on is the innermost again. */
static size_t end_spans(struct activity_thread *t, const uint32_t *stack, size_t depth, int64_t until)
{
    while (depth && t->spans[stack[depth - 1]].end <= until) {
        int64_t end = t->spans[stack[--depth]].end;
        while (depth && t->spans[stack[depth - 1]].end <= end)
            depth--;
        put_inner(t, end, depth ? &t->spans[stack[depth - 1]] : NULL);
    }
    return depth;
}

/* Spans nest; of those that overlap otherwise, that which began last counts as the innermost. */
static int settle_spans(struct activity_thread *t)
{
    size_t depth = 0;
    t->inner_count = 0;
    if (t->span_count == 0)
        return 0;
    if (t->inner_capacity < 2 * t->span_count) { /* and behind them a stack of as many spans */
        free(t->inner);
        t->inner_capacity = 2 * t->span_capacity;
        t->inner = malloc(t->inner_capacity * sizeof *t->inner + t->span_capacity * sizeof(uint32_t));
    }
    if (!t->inner) {
        t->inner_capacity = 0;
        return BEZEL_ENOMEM;
    }
    uint32_t *stack = (void *)(t->inner + t->inner_capacity);
    sort_spans(t);
    for (size_t i = 0; i < t->span_count; i++) {
        depth = end_spans(t, stack, depth, t->spans[i].begin);
        put_inner(t, t->spans[i].begin, &t->spans[i]);
        stack[depth++] = (uint32_t)i;
    }
    (void)end_spans(t, stack, depth, INT64_MAX);
    return 0;
}

int activity_settle(struct activity *a)
{
    int err = 0;
    for (size_t i = 0; i < a->thread_count && !err; i++)
        err = settle_spans(&a->threads[i]);
    a->forgotten = record_messages_forgotten(a->messages);
    return err;
}

/* ---- looking up -------------------------------------------------------------------------------------------------- */

static int64_t time_at(const void *list, size_t size, size_t i)
{
    int64_t time;
    memcpy(&time, (const char *)list + i * size, sizeof time);
    return time;
}

/*
 * The number of items, each of `size` bytes with a time first, whose times are before `at`. Mostly it is near *near,
 * that of the call before: in steps from there, each twice as long as the last one.
 */
static size_t count_before(const void *list, size_t count, size_t size, int64_t at, size_t *near)
{
    size_t low = *near < count ? *near : count, high = low, step = 1;
    for (; high < count && time_at(list, size, high) < at; step *= 2) {
        low = high + 1;
        high = count - high > step ? high + step : count;
    }
    for (; low > 0 && time_at(list, size, low - 1) >= at; step *= 2) {
        high = low - 1;
        low = low > step ? low - step : 0;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (time_at(list, size, middle) < at)
            low = middle + 1;
        else
            high = middle;
    }
    *near = low;
    return low;
}

static size_t inner_before(const struct activity_thread *t, int64_t at)
{
    return count_before(t->inner, t->inner_count, sizeof *t->inner, at, &t->near->inner);
}

const struct activity_inner *activity_innermost(const struct activity_thread *t, int64_t at)
{
    size_t i = inner_before(t, at);
    return i ? &t->inner[i - 1] : NULL;
}

uint32_t activity_inner_before(const struct activity_thread *t, int64_t at, int64_t *since)
{
    const struct activity_inner *i = activity_innermost(t, at);
    *since = i ? i->at : INT64_MIN;
    return i ? i->name : (uint32_t)ACTIVITY_NONE;
}

enum activity_reason activity_reason_before(const struct activity_thread *t, int64_t at)
{
    const struct activity_inner *i = activity_innermost(t, at);
    return i ? i->reason : ACTIVITY_NO_WAIT;
}

/* Whether a span lasts from `begin` to `end`, and has no other in it. */
static bool is_inner(const struct activity_thread *t, int64_t begin, int64_t end)
{
    size_t i = count_before(t->spans, t->span_count, sizeof *t->spans, begin, &t->near->spans);
    while (i < t->span_count && t->spans[i].begin == begin && t->spans[i].end != end)
        i++;
    return i < t->span_count && t->spans[i].begin == begin && activity_inner_until(t, saturate_add(begin, 1)) == end;
}

bool activity_message_wait(const struct activity_thread *t, int64_t at, struct activity_window *wait)
{
    size_t i = inner_before(t, saturate_add(at, 1));
    size_t event = activity_event_at(t, at);
    if (i < 2 || t->inner[i - 2].reason != ACTIVITY_FOR_MESSAGE)
        return false;
    *wait = (struct activity_window){t->inner[i - 2].at, t->inner[i - 1].at};
    return is_inner(t, wait->from, wait->until) && (event == 0 || t->events[event - 1].at < wait->from);
}

int64_t activity_inner_until(const struct activity_thread *t, int64_t at)
{
    size_t i = inner_before(t, at);
    return i < t->inner_count ? t->inner[i].at : INT64_MAX;
}

bool activity_is_in_span(const struct activity *a, const struct activity_thread *t, const char *name, int64_t at)
{
    size_t i = count_before(t->spans, t->span_count, sizeof *t->spans, saturate_add(at, 1), &t->near->spans);
    for (unsigned most = 64; i > 0 && most > 0; i--, most--)
        if (t->spans[i - 1].end > at && strcmp(a->names[t->spans[i - 1].name], name) == 0)
            return true;
    return false;
}

bool activity_lost_intervals(const struct activity *a, const struct activity_thread *t, int64_t from, int64_t until)
{
    size_t near = 0, low = count_before(a->gaps, a->gap_count, sizeof *a->gaps, saturate_add(from, 1), &near);
    for (; low < a->gap_count; low++)
        if (a->gaps[low].node_row == t->node_row && saturate_sub(a->gaps[low].from, LOSS_LATE) < until)
            return true;
    return false;
}

size_t activity_event_at(const struct activity_thread *t, int64_t at)
{
    return count_before(t->events, t->event_count, sizeof *t->events, at, &t->near->events);
}

size_t activity_interval_before(const struct activity_thread *t, int64_t at)
{
    return count_before(t->intervals, t->interval_count, sizeof *t->intervals, at, &t->near->intervals);
}

int64_t activity_cpu(const struct activity_thread *t, int64_t from, int64_t until)
{
    int64_t cpu = 0;
    for (size_t i = activity_interval_before(t, until); i > 0 && t->intervals[i - 1].end > from; i--) {
        const struct activity_interval *is = &t->intervals[i - 1];
        cpu += (is->end < until ? is->end : until) - (is->begin > from ? is->begin : from);
    }
    return cpu;
}

size_t activity_rival_before(const struct activity_thread *t, int64_t at)
{
    return count_before(t->rivals, t->rival_count, sizeof *t->rivals, at, &t->near->rivals);
}

const struct activity_wait *activity_wait_in(const struct activity_thread *t, int64_t begin, int64_t end)
{
    size_t i = count_before(t->waits, t->wait_count, sizeof *t->waits, end, &t->near->waits);
    return i && t->waits[i - 1].end > begin && t->waits[i - 1].end <= saturate_add(end, ACTIVITY_JOINED)
               ? &t->waits[i - 1]
               : NULL;
}

bool activity_is_woken(const struct activity_thread *t, const struct activity_interval *next)
{
    const struct activity_wait *x = activity_wait_in(t, saturate_sub(next->begin, next->off), next->begin);
    return x && x->woken >= ACTIVITY_BY_THREAD && x->woken <= ACTIVITY_BY_INTERRUPT;
}

/* ---- forgetting -------------------------------------------------------------------------------------------------- */

/* Of items in the order of their times, which do not overlap; returns how many are gone. */
static size_t forget(struct activity *a, void *list, size_t *count, size_t size, int64_t before)
{
    size_t near = 0, gone = count_before(list, *count, size, before, &near);
    if (gone < 2) /* the last one may go on */
        return 0;
    gone--;
    if (2 * gone < *count && a->left > ACTIVITY_PLENTY) /* later, with more: what is kept is moved */
        return 0;
    *count -= gone;
    memmove(list, (char *)list + gone * size, *count * size);
    a->left += gone * size;
    return gone;
}

void activity_forget(struct activity *a, uint32_t thread, int64_t before)
{
    struct activity_thread *t = &a->threads[thread];
    size_t kept = 0;
    for (size_t i = 0; i < t->span_count; i++)
        if (t->spans[i].end >= before)
            t->spans[kept++] = t->spans[i];
    a->left += (t->span_count - kept) * sizeof *t->spans;
    t->span_count = kept;
    forget(a, t->intervals, &t->interval_count, sizeof *t->intervals, before);
    forget(a, t->events, &t->event_count, sizeof *t->events, before);
    forget(a, t->rivals, &t->rival_count, sizeof *t->rivals, before);
    forget(a, t->waits, &t->wait_count, sizeof *t->waits, before);
}

void activity_forget_gaps(struct activity *a, int64_t before)
{
    size_t near = 0, gone = count_before(a->gaps, a->gap_count, sizeof *a->gaps, before, &near);
    a->gap_count -= gone;
    if (gone)
        memmove(a->gaps, a->gaps + gone, a->gap_count * sizeof *a->gaps);
}
