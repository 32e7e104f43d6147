// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/path.h"

#include "base/grow.h"
#include "base/saturate.h"

#include <stdlib.h>

/*
 * The walk has one place: a thread and a time, before which all is still to be explained. Each step puts the stretch
 * before it into pieces and moves it back, or over to the sender of a message. A step over takes no time if the clocks
 * say that the message was received before it was sent; of such steps in a row there are at most HOPS_MOST.
 */

enum { HOPS_MOST = 64, NESTED_MOST = 16 };

struct walk {
    const struct activity *a;
    struct path *p;
    uint32_t thread;
    int64_t at, from; /* down to which it goes on in this thread, or in those that are followed from it */
    struct path_end *end;
    unsigned hops;  /* without a move back */
    unsigned depth; /* of waits whose wakers are followed: where the path was, to go on there */
    struct {
        uint32_t thread;
        int64_t from;
    } left[NESTED_MOST];
    bool short_of_memory;
};

static const struct activity_thread *thread_of(const struct walk *w)
{
    return &w->a->threads[w->thread];
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* Two pieces that follow each other and differ in nothing are one. */
static bool is_same(const struct path_piece *a, const struct path_piece *b)
{
    return a->is == b->is && a->why == b->why && a->thread == b->thread && a->span == b->span && a->peer == b->peer &&
           a->by == b->by;
}

/* Explains the time from `from`, or where the window begins, to the place of the walk, which moves there. */
static void put(struct walk *w, int64_t from, struct path_piece as)
{
    struct path *p = w->p;
    struct path_piece *last = p->count ? &p->pieces[p->count - 1] : NULL;
    as.from = from < w->from ? w->from : from;
    as.until = w->at;
    if (as.from >= as.until)
        return;
    w->at = as.from;
    w->hops = 0;
    if (last && is_same(last, &as)) { /* the pieces are in backward order for now */
        last->from = as.from;
        return;
    }
    w->short_of_memory = !grow_list(&p->pieces, &p->capacity, p->count, sizeof *p->pieces);
    if (!w->short_of_memory)
        p->pieces[p->count++] = as;
}

/* Who had the CPU just before the place of the walk, while its thread was ready, and since when, as far as is known. */
static const struct activity_rival *rival_of(const struct walk *w, int64_t *since)
{
    const struct activity_thread *t = thread_of(w);
    size_t i = activity_rival_before(t, w->at);
    bool has = i > 0 && t->rivals[i - 1].end >= w->at;
    *since = i == 0 ? INT64_MIN : has ? t->rivals[i - 1].begin : t->rivals[i - 1].end;
    return has ? &t->rivals[i - 1] : NULL;
}

enum path_class path_wait_class(const struct activity_wait *x, enum activity_reason reason)
{
    static const enum path_class classes[] = {
        [ACTIVITY_FOR_LOCK] = PATH_LOCK, [ACTIVITY_FOR_IO] = PATH_IO, [ACTIVITY_FOR_TIMER] = PATH_SLEEP};
    if (x && (x->state == ACTIVITY_DISK || x->state == ACTIVITY_STOPPED))
        return x->state == ACTIVITY_DISK ? PATH_IO : PATH_STOPPED;
    return reason >= ACTIVITY_FOR_LOCK && reason <= ACTIVITY_FOR_TIMER ? classes[reason] : PATH_UNKNOWN;
}

/*
 * What is not known of a time in which a wait says what the thread waited for is that. Without switches nobody knows
 * how much of the wait the thread was ready again, or stopped: it is that at most; and a timer is on time.
 */
static void put_reason(struct path_piece *p, enum activity_reason reason)
{
    enum path_class is = path_wait_class(NULL, reason);
    bool open = p->why == PATH_BLOCKED || p->why == PATH_WOKEN || p->why == PATH_SOFTIRQ || p->why == PATH_INTERRUPT ||
                (p->why == PATH_NO_SWITCHES && reason != ACTIVITY_FOR_TIMER);
    if (p->is == PATH_UNKNOWN && p->why == PATH_BLOCKED && reason == ACTIVITY_FOR_MESSAGE)
        p->why = PATH_UNSENT;
    if (p->is != PATH_UNKNOWN || !open || is == PATH_UNKNOWN)
        return;
    p->is = is;
    p->why = p->why == PATH_NO_SWITCHES ? PATH_NO_SWITCHES : PATH_KNOWN;
}

/* The same in as many pieces as there are changes of the innermost span, and of who had the CPU. */
static void put_stretch(struct walk *w, int64_t from, struct path_piece as)
{
    from = from < w->from ? w->from : from;
    while (w->at > from && !w->short_of_memory) {
        struct path_piece piece = as;
        int64_t since = from, had = INT64_MIN;
        const struct activity_rival *rival = as.is == PATH_READY ? rival_of(w, &had) : NULL;
        const struct activity_inner *in = activity_innermost(thread_of(w), w->at);
        piece.thread = w->thread;
        piece.span = in ? in->name : (uint32_t)ACTIVITY_NONE;
        since = in && in->at > since ? in->at : since;
        if (rival) {
            piece.is = rival->monitor ? PATH_MONITOR : PATH_READY;
            piece.why = PATH_KNOWN;
            piece.by = rival->name;
        }
        put_reason(&piece, in ? in->reason : ACTIVITY_NO_WAIT);
        put(w, had > since ? had : since, piece);
    }
}

static void put_spans(struct walk *w, int64_t from, enum path_class is, enum path_why why)
{
    put_stretch(w, from, (struct path_piece){.is = is, .why = why, .peer = ACTIVITY_NONE, .by = ACTIVITY_NONE});
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* The walk is in another thread now: down to where it goes on there. */
static void enter(struct walk *w, uint32_t thread)
{
    w->thread = thread;
    if (w->depth == 0)
        w->from = w->end->least ? w->end->least(w->end->of, thread, w->at) : w->end->from;
}

/* Goes over to where message `e` was sent, which the thread waited for until the place of the walk. */
static void follow(struct walk *w, const struct activity_event *e)
{
    int64_t since;
    uint32_t span = activity_inner_before(thread_of(w), w->at, &since);
    if (e->bound > w->p->bound)
        w->p->bound = e->bound;
    if (w->depth == 0)
        w->from = w->end->from; /* it may be under way since before that which is known of this thread */
    put(w, e->from, (struct path_piece){0, 0, PATH_MESSAGE, PATH_KNOWN, w->thread, span, e->peer, ACTIVITY_NONE});
    enter(w, e->peer);
    w->hops++;
    /* A record is made on a CPU. If it stands behind the end of an interval by the error of a clock, it belongs there.
     */
    const struct activity_thread *t = thread_of(w);
    size_t i = activity_interval_before(t, w->at);
    if (e->from > saturate_add(w->at, e->bound)) /* it was sent later: nothing is recorded here */
        return;
    if (i == 0 || i == t->interval_count || t->intervals[i - 1].end >= w->at || t->intervals[i].off < 0)
        return;
    if (w->at - t->intervals[i - 1].end < t->intervals[i].begin - w->at)
        put_spans(w, t->intervals[i - 1].end, PATH_RUNNING, PATH_KNOWN);
}

/* Up to when records were made before the thread waited again, or before that is not known any more. */
static int64_t waits_again(const struct activity_thread *t, size_t i)
{
    while (t->intervals[i].ended != ACTIVITY_WAITED && i + 1 < t->interval_count && t->intervals[i + 1].off >= 0)
        i++;
    return t->intervals[i].end +
           (i + 1 < t->interval_count && t->intervals[i + 1].off > 0 ? t->intervals[i + 1].off / 2 : 0);
}

/* Whether a wait of the program says that at `at` its thread waited for what is no message: io may bring one. */
static bool waits_otherwise(const struct activity_thread *t, int64_t at)
{
    enum activity_reason reason = activity_reason_before(t, at);
    return reason == ACTIVITY_FOR_LOCK || reason == ACTIVITY_FOR_TIMER;
}

/*
 * Whether the thread, off the CPU before interval `next`, did not wait for message `e` that it received behind that: it
 * could not have taken it, something else ended the wait, or it began to receive later. A wake by a thread of which
 * nothing is recorded shows nothing: that one may have handed the message on.
 */
static bool is_refuted(const struct activity *a, const struct activity_thread *t, const struct activity_interval *next,
                       const struct activity_event *e)
{
    int64_t middle = next->begin - next->off + next->off / 2;
    const struct activity_wait *x = activity_wait_in(t, next->begin - next->off, next->begin);
    bool far = e->peer == ACTIVITY_NONE || a->threads[e->peer].node_row != t->node_row;
    bool receives = activity_reason_before(t, middle) == ACTIVITY_FOR_MESSAGE ||
                    (e->waited > 0 && saturate_sub(e->at, e->waited) <= middle);
    if (waits_otherwise(t, middle) || (e->waited > 0 && !receives))
        return true;
    if (!x || x->state == ACTIVITY_DISK || x->state == ACTIVITY_STOPPED)
        return x != NULL;
    if (x->woken == ACTIVITY_BY_INTERRUPT) /* of a device, it may have brought a message from afar */
        return !far || !receives;
    return x->woken == ACTIVITY_BY_THREAD && x->waker != ACTIVITY_NONE && x->waker != e->peer &&
           x->waker != (uint32_t)(t - a->threads);
}

/*
 * Why the thread was off the CPU before interval `i`: PATH_KNOWN with *e, the message that it waited for; or why that
 * is not known. What it recorded first behind the wait tells, if nothing contradicts that; records stand where they are
 * nearer to, since a clock may put them just outside of the interval in which they were made.
 */
static enum path_why explain(const struct activity *a, const struct activity_thread *t, size_t i,
                             const struct activity_event **e)
{
    const struct activity_interval *next = &t->intervals[i];
    int64_t waited = next->begin - next->off, until = waits_again(t, i);
    size_t first = activity_event_at(t, waited + next->off / 2);
    *e = first < t->event_count ? &t->events[first] : NULL;
    if (*e && (*e)->kind == ACTIVITY_LOST && (*e)->from < until)
        return PATH_LOST;
    if (!*e || (*e)->at > until || (*e)->kind != ACTIVITY_RECEIVED || is_refuted(a, t, next, *e))
        return PATH_BLOCKED;
    if ((*e)->peer == ACTIVITY_NONE)
        return PATH_UNSENT;
    if ((*e)->bound == INT64_MAX)
        return PATH_CLOCKS;
    bool same = a->threads[(*e)->peer].node_row == t->node_row;
    return same && (*e)->from < waited ? PATH_BLOCKED : PATH_KNOWN;
}

struct path_off path_off_before(const struct activity *a, uint32_t thread, size_t i)
{
    const struct activity_thread *t = &a->threads[thread];
    const struct activity_interval *next = &t->intervals[i];
    const struct activity_event *e;
    struct path_off off = {.why = PATH_BLOCKED, .least = next->ready_least, .most = next->ready_most};
    if (off.least >= next->off)
        return off;
    off.why = explain(a, t, i, &e);
    if (off.why == PATH_KNOWN) { /* it was not woken before that was sent */
        off.awaited = e;
        off.most = saturate_between(next->begin - e->from, 0, off.most);
        off.least = saturate_least(off.least, off.most);
    }
    return off;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Goes over to thread `waker`, which ended the wait that began at `waited`, for as long as that lasted. */
static void follow_waker(struct walk *w, uint32_t waker, int64_t waited)
{
    w->p->wakers++;
    w->left[w->depth].thread = w->thread;
    w->left[w->depth++].from = w->from;
    w->from = waited > w->from ? waited : w->from;
    w->from = w->end->kept > w->from ? w->end->kept : w->from;
    w->thread = waker;
}

/* Explains a wait from `waited` to the place of the walk, that no message does, by what the kernel says of it. */
static void put_wait(struct walk *w, int64_t waited, int64_t ready, enum path_why why)
{
    const struct activity_wait *x = activity_wait_in(thread_of(w), waited, ready);
    struct path_piece as = {
        .is = path_wait_class(x, ACTIVITY_NO_WAIT), .why = why, .peer = ACTIVITY_NONE, .by = ACTIVITY_NONE};
    bool by_thread = x && x->woken == ACTIVITY_BY_THREAD;
    if (by_thread && x->waker != ACTIVITY_NONE && x->waker != w->thread) {
        if (w->at > w->end->kept && w->depth < NESTED_MOST) {
            follow_waker(w, x->waker, waited);
            return;
        }
        as.is = PATH_UNKNOWN;
        as.why = PATH_FORGOTTEN;
    } else if (as.is != PATH_UNKNOWN) {
        as.why = PATH_KNOWN;
    } else if (why == PATH_BLOCKED && x && x->woken == ACTIVITY_BY_INTERRUPT) {
        as.why = PATH_INTERRUPT;
    } else if (why == PATH_BLOCKED && x && x->woken == ACTIVITY_BY_SOFTIRQ) {
        as.why = PATH_SOFTIRQ;
        as.by = x->name;
    } else if (why == PATH_BLOCKED && x && x->waker == ACTIVITY_NONE && (by_thread || x->name != ACTIVITY_NONE)) {
        as.why = PATH_WOKEN;
        as.by = x->name;
    }
    put_stretch(w, waited, as);
}

/*
 * The thread was off the CPU from the interval before number `i` to that one, and the walk is in between. If another
 * one took its CPU away, it was ready all the time. If it is known when it was woken, it was no longer waiting since.
 */
static void step_off(struct walk *w, size_t i)
{
    const struct activity_interval *next = &thread_of(w)->intervals[i];
    struct path_off off = path_off_before(w->a, w->thread, i);
    int64_t waited = next->begin - next->off;
    put_spans(w, next->begin - off.least, PATH_READY, PATH_KNOWN);
    put_spans(w, next->begin - off.most, activity_is_woken(thread_of(w), next) ? PATH_READY : PATH_UNKNOWN,
              PATH_BETWEEN);
    if (w->at <= w->from || w->at <= waited)
        return;
    if (off.awaited)
        follow(w, off.awaited);
    else
        put_wait(w, waited, next->begin, off.why);
}

/*
 * Until when the thread waited for message `k` of its events, as its records say: a wait for a message ended before it,
 * or the receiving says for how long; and the message was sent meanwhile. INT64_MIN: it is not known to have waited.
 */
static int64_t waited_until(const struct walk *w, size_t k)
{
    const struct activity_thread *t = thread_of(w);
    const struct activity_event *e = &t->events[k];
    struct activity_window wait;
    if (e->kind != ACTIVITY_RECEIVED || e->peer == ACTIVITY_NONE || e->bound == INT64_MAX)
        return INT64_MIN;
    if (activity_message_wait(t, e->at, &wait) && e->from >= wait.from)
        return wait.until;
    bool receives = e->waited > 0 && e->from >= saturate_sub(e->at, e->waited);
    return receives && !waits_otherwise(t, saturate_add(e->from, 1)) ? e->at : INT64_MIN;
}

/* When the thread was on a CPU is not known from `from` to the place of the walk. */
static void step_unrecorded(struct walk *w, int64_t from)
{
    const struct activity_thread *t = thread_of(w);
    from = from < w->from ? w->from : from;
    enum path_why why = activity_lost_intervals(w->a, t, from, w->at) ? PATH_LOST : PATH_NO_SWITCHES;
    size_t k = activity_event_at(t, saturate_add(w->at, 1));
    while (k > 0 && t->events[k - 1].at > from && waited_until(w, k - 1) == INT64_MIN)
        k--;
    if (k > 0 && t->events[k - 1].at > from) {
        put_spans(w, waited_until(w, k - 1), PATH_UNKNOWN, why);
        if (w->at > w->from)
            follow(w, &t->events[k - 1]);
        return;
    }
    if (t->first > from && t->first < w->at)
        put_spans(w, t->first, PATH_UNKNOWN, why);
    else
        put_spans(w, from, PATH_UNKNOWN, t->first >= w->at ? PATH_BEGINNING : why);
}

static void step(struct walk *w)
{
    const struct activity_thread *t = thread_of(w);
    size_t i = activity_interval_before(t, w->at);
    const struct activity_interval *before = i ? &t->intervals[i - 1] : NULL;
    if (before && before->end >= w->at)
        put_spans(w, before->begin, PATH_RUNNING, PATH_KNOWN);
    else if (i < t->interval_count && t->intervals[i].off >= 0 && t->intervals[i].begin - t->intervals[i].off < w->at)
        step_off(w, i);
    else
        step_unrecorded(w, before ? before->end : INT64_MIN);
}

static void reverse(struct path *p)
{
    for (size_t i = 0, k = p->count; i + 1 < k; i++) {
        struct path_piece piece = p->pieces[i];
        p->pieces[i] = p->pieces[--k];
        p->pieces[k] = piece;
    }
}

int path_walk_to(const struct activity *a, uint32_t thread, int64_t until, struct path_end *end, struct path *p)
{
    struct walk w = {.a = a, .p = p, .at = until, .end = end};
    p->count = 0;
    p->bound = 0;
    p->wakers = 0;
    p->steps = 0;
    enter(&w, thread);
    while (w.at > w.from && w.hops < HOPS_MOST && !w.short_of_memory) {
        step(&w);
        p->steps++;
        while (w.depth && w.at <= w.from) { /* the wait is explained */
            w.thread = w.left[--w.depth].thread;
            w.from = w.left[w.depth].from;
        }
    }
    if (w.hops == HOPS_MOST) {
        w.from = end->from;
        put_spans(&w, end->from, PATH_UNKNOWN, PATH_CYCLE);
    }
    end->thread = w.thread;
    end->at = w.at;
    reverse(p);
    return w.short_of_memory ? BEZEL_ENOMEM : 0;
}

int path_walk(const struct activity *a, uint32_t thread, int64_t from, int64_t until, struct path *p)
{
    struct path_end end = {.from = from, .kept = INT64_MIN};
    return path_walk_to(a, thread, until, &end, p);
}

void path_fini(struct path *p)
{
    free(p->pieces);
    *p = (struct path){0};
}

const char *path_class_name(enum path_class is)
{
    static const char *const names[PATH_CLASSES] = {"running", "ready", "monitor", "message", "lock",
                                                    "io",      "sleep", "stopped", "unknown"};
    return names[is];
}

const char *path_why_name(enum path_why why)
{
    static const char *const names[PATH_WHYS] = {"known",     "no_switches", "lost",     "blocked", "woken",
                                                 "softirq",   "interrupt",   "unsent",   "between", "clocks",
                                                 "beginning", "cycle",       "forgotten"};
    return names[why];
}
