// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/live.h"

#include "base/saturate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Of each thread the two latest marks are kept, since a walk may come to it at a time before the latest one: where it
 * sent a message, up to LIVE_STEP and more ago. A mark never stands within a wait that is not over, nor behind the
 * last record of its thread, since what comes later could be about the time before it. A thread that records nothing
 * for SILENT is not waited for.
 */

#define SILENT INT64_C(8000000000) /* ns */
#define MARGIN INT64_C(100000)     /* ns before a mark that are kept: records just before it say what a wait was for */

int live_init(struct live *f, int64_t from)
{
    *f = (struct live){.from = from, .newest = INT64_MIN, .marked = from, .kept = INT64_MIN, .seen = INT64_MIN};
    f->sums = calloc(LIVE_TERMS_MOST + 1, sizeof *f->sums);
    int err = activity_init(&f->activity, NULL, 0);
    f->activity.left = LIVE_MEMORY;
    return f->sums ? err : BEZEL_ENOMEM;
}

void live_fini(struct live *f)
{
    for (size_t i = 0; i < f->thread_count; i++) {
        free(f->threads[i].older.ns);
        free(f->threads[i].newer.ns);
        free(f->threads[i].next.ns);
    }
    free(f->threads);
    free(f->sums);
    terms_fini(&f->terms);
    path_fini(&f->path);
    activity_fini(&f->activity);
    *f = (struct live){0};
}

/* ---- walks ------------------------------------------------------------------------------------------------------- */

/* Whether intervals of a thread that has none so far may come, where there are any. */
static bool may_switch(const struct live *f, const struct activity_thread *t, int64_t until)
{
    return t->interval_count == 0 && f->has_intervals && t->first > saturate_sub(until, SILENT);
}

/* Whether intervals of a thread up to `at` may still come. */
static bool is_ahead(const struct live *f, const struct activity_thread *t, int64_t at)
{
    if (t->interval_count == 0)
        return may_switch(f, t, f->newest);
    return t->intervals[t->interval_count - 1].end < at && at > saturate_sub(f->newest, SILENT);
}

/* Down to where a walk goes on in `thread`: a mark, or where that is not kept. */
static int64_t least_of(void *of, uint32_t thread, int64_t at)
{
    struct live *f = of;
    const struct live_thread *t = thread < f->thread_count ? &f->threads[thread] : NULL;
    f->is_ahead = f->is_ahead || is_ahead(f, &f->activity.threads[thread], at);
    if (!t || t->newer.at == INT64_MIN)
        return f->from;
    if (at >= t->newer.at)
        return t->newer.at;
    if (at < t->since)
        return at;
    if (t->older.at == INT64_MIN)
        return t->since == INT64_MIN ? f->from : at;
    return at >= t->older.at && t->older.at >= t->since ? t->older.at : at;
}

static int add_piece(struct live *f, struct path_piece p)
{
    if (f->terms.count >= LIVE_TERMS_MOST)
        p = (struct path_piece){p.from, p.until,       PATH_UNKNOWN,  PATH_FORGOTTEN,
                                0,      ACTIVITY_NONE, ACTIVITY_NONE, ACTIVITY_NONE};
    int number = terms_number(&f->terms, &f->activity, &p);
    if (number >= 0)
        f->sums[number] += p.until - p.from;
    return number < 0 ? BEZEL_ENOMEM : 0;
}

static int add_mark(struct live *f, uint32_t thread, int64_t at)
{
    const struct live_thread *t = thread < f->thread_count ? &f->threads[thread] : NULL;
    const struct live_mark *m = t && t->newer.at == at ? &t->newer : t && t->older.at == at ? &t->older : NULL;
    if (!m)
        return add_piece(f, (struct path_piece){f->from, at, PATH_UNKNOWN, PATH_FORGOTTEN, thread, ACTIVITY_NONE,
                                                ACTIVITY_NONE, ACTIVITY_NONE});
    for (size_t i = 0; i < m->count; i++)
        f->sums[i] += m->ns[i];
    return 0;
}

static int make_mark(struct live *f, uint32_t thread, int64_t at)
{
    struct live_thread *t = &f->threads[thread];
    if (at <= t->newer.at || at <= t->next.at || at > t->known)
        return 0;
    int64_t *ns = realloc(t->next.ns, (f->terms.count + 1) * sizeof *ns);
    if (!ns)
        return BEZEL_ENOMEM;
    memcpy(ns, f->sums, f->terms.count * sizeof *ns);
    t->next = (struct live_mark){at, f->terms.count, ns};
    return 0;
}

/* Marks what the path passes last of each thread; where it follows who ended a wait, it goes on elsewhere than theirs.
 */
static int mark_piece(struct live *f, size_t i)
{
    const struct path_piece *p = &f->path.pieces[i];
    bool is = f->threads[p->thread].last == i && (f->path.wakers == 0 || i + 1 == f->path.count);
    return is && !f->is_ahead ? make_mark(f, p->thread, p->until) : 0;
}

/* Sets the sums to what the path to `thread` at `until` has; `marks`: and sets marks along it. */
static int sum_path(struct live *f, uint32_t thread, int64_t until, bool marks)
{
    struct path_end end = {.from = f->from, .kept = f->kept, .least = least_of, .of = f};
    f->is_ahead = false;
    memset(f->sums, 0, (LIVE_TERMS_MOST + 1) * sizeof *f->sums);
    int err = path_walk_to(&f->activity, thread, until, &end, &f->path);
    f->bound = f->path.bound > f->bound ? f->path.bound : f->bound;
    for (size_t i = 0; i < f->path.count && marks; i++)
        f->threads[f->path.pieces[i].thread].last = i;
    if (!err && end.at > f->from)
        err = add_mark(f, end.thread, end.at);
    for (size_t i = 0; i < f->path.count && !err; i++) {
        err = add_piece(f, f->path.pieces[i]);
        if (marks && !err)
            err = mark_piece(f, i);
    }
    return err;
}

/* ---- marks ------------------------------------------------------------------------------------------------------- */

/* The last time up to `until` of which all is known that the thread did before; INT64_MIN: there is none. */
static int64_t known_until(const struct live *f, const struct activity_thread *t, int64_t until)
{
    int64_t behind = saturate_add(until, 1), last, since;
    size_t event = activity_event_at(t, behind), i = activity_interval_before(t, behind);
    (void)activity_inner_before(t, behind, &since);
    last = event ? t->events[event - 1].at : INT64_MIN;
    last = since > last ? since : last;
    if (last < saturate_sub(until, SILENT) && (t->interval_count || last > INT64_MIN))
        last = until;
    if ((t->interval_count && i == 0) || may_switch(f, t, until))
        return INT64_MIN;
    return i && t->intervals[i - 1].end < last ? t->intervals[i - 1].end : last;
}

static bool grow_threads(struct live *f)
{
    size_t count = f->activity.thread_count;
    struct live_thread *more = count > f->thread_count ? realloc(f->threads, count * sizeof *more) : f->threads;
    const struct live_mark none = {.at = INT64_MIN};
    if (!more && count)
        return false;
    f->threads = more;
    for (; f->thread_count < count; f->thread_count++)
        more[f->thread_count] = (struct live_thread){none, none, none, INT64_MIN, INT64_MIN, 0};
    return true;
}

/* Settles the activity, and counts the spans over a mark that were not known when it was made. */
static int settle(struct live *f)
{
    int err = activity_settle(&f->activity);
    for (size_t i = 0; i < f->thread_count && !err; i++) {
        const struct activity_thread *t = &f->activity.threads[i];
        f->has_intervals = f->has_intervals || t->interval_count > 0;
        for (size_t k = 0; k < t->span_count && t->spans[k].begin < f->threads[i].newer.at; k++)
            f->late_spans += t->spans[k].end >= f->seen;
    }
    f->seen = f->newest;
    return err;
}

/* The next mark is the latest one; what is before both is forgotten. */
static void commit(struct live *f, uint32_t thread, int64_t kept)
{
    struct live_thread *t = &f->threads[thread];
    if (t->next.at > t->newer.at) {
        struct live_mark oldest = t->older;
        t->older = t->newer;
        t->newer = t->next;
        t->next = oldest;
    }
    t->next.at = INT64_MIN;
    int64_t since = t->newer.at < kept ? t->newer.at : kept;
    since = since < t->older.at ? t->older.at : since;
    if (since <= t->since)
        return;
    t->since = since;
    const struct activity_thread *is = &f->activity.threads[thread];
    f->cpu += activity_cpu(is, f->from, since - MARGIN);
    activity_forget(&f->activity, thread, since - MARGIN);
    f->cpu -= activity_cpu(is, f->from, since - MARGIN);
}

int live_mark(struct live *f, int64_t until)
{
    int err = grow_threads(f) ? settle(f) : BEZEL_ENOMEM;
    for (uint32_t i = 0; i < f->thread_count && !err; i++)
        f->threads[i].known = known_until(f, &f->activity.threads[i], until);
    for (uint32_t i = 0; i < f->thread_count && !err; i++) {
        const struct live_thread *t = &f->threads[i];
        bool near = t->next.at > saturate_sub(t->known, LIVE_STEP / 4); /* set along another path */
        if (t->known > f->from && t->known > t->newer.at && !near)
            err = sum_path(f, i, t->known, true);
    }
    for (uint32_t i = 0; i < f->thread_count && !err; i++)
        commit(f, i, f->marked);
    activity_forget_gaps(&f->activity, saturate_sub(f->marked, LIVE_LATE));
    f->kept = f->marked;
    f->marked = until;
    return err;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* Where memory is short, marks stand nearer to what came last. */
static int make_room(struct live *f)
{
    int err = 0;
    for (int i = 0; i < 2 && f->activity.left < LIVE_MEMORY / 4 && f->newest > f->marked && !err; i++)
        err = live_mark(f, i ? f->newest : saturate_sub(f->newest, LIVE_LATE));
    return err;
}

int live_take(struct live *f, const struct record_item *item)
{
    int64_t at = saturate_ns(item->at.ns);
    if (f->newest == INT64_MIN && f->from < at)
        f->from = f->marked = at;
    f->newest = at > f->newest ? at : f->newest;
    if (!activity_take(&f->activity, item))
        return BEZEL_ENOMEM;
    if (f->newest - f->marked >= LIVE_LATE + LIVE_STEP)
        return live_mark(f, f->newest - LIVE_LATE);
    return f->activity.left < LIVE_MEMORY / 4 ? make_room(f) : 0;
}

/* ---- what there is ----------------------------------------------------------------------------------------------- */

/* The latest time up to `until` that is known of a thread. */
static int64_t latest_of(const struct live *f, const struct activity_thread *t, int64_t until)
{
    bool whole = until >= f->newest;
    size_t event = activity_event_at(t, saturate_add(until, 1)), i = activity_interval_before(t, until);
    int64_t last, end = i ? t->intervals[i - 1].end : INT64_MIN;
    (void)activity_inner_before(t, saturate_add(until, 1), &last);
    last = event && t->events[event - 1].at > last ? t->events[event - 1].at : last;
    last = end > last || (t->interval_count && !whole) ? end : last;
    if (!whole && may_switch(f, t, until))
        return INT64_MIN;
    return last < until ? last : until;
}

uint32_t live_latest(const struct live *f, int64_t until, int64_t *at)
{
    uint32_t latest = ACTIVITY_NONE;
    *at = INT64_MIN;
    for (uint32_t i = 0; i < f->activity.thread_count; i++) {
        int64_t last = latest_of(f, &f->activity.threads[i], until);
        if (last > *at) {
            *at = last;
            latest = i;
        }
    }
    return latest;
}

int live_terms(struct live *f, uint32_t thread, int64_t until, struct slow_terms *t)
{
    *t = (struct slow_terms){.usual = (double)NAN};
    int err = settle(f);
    err = err ? err : sum_path(f, thread, until, false);
    t->terms = err ? NULL : malloc((f->terms.count + 1) * sizeof *t->terms);
    if (!t->terms)
        return BEZEL_ENOMEM;
    for (size_t i = 0; i < f->terms.count; i++) {
        if (f->sums[i] == 0)
            continue;
        struct slow_term is = slow_term_of(&f->terms.list[i]);
        is.slow_least = is.slow_most = f->sums[i];
        is.slow = (double)f->sums[i];
        t->slow += is.slow;
        t->slow_unknown += is.is == PATH_UNKNOWN ? is.slow : 0;
        t->terms[t->count++] = is;
    }
    t->bound = f->bound;
    slow_sort(t);
    return 0;
}

int64_t live_cpu(const struct live *f, int64_t until)
{
    int64_t cpu = f->cpu;
    for (size_t i = 0; i < f->activity.thread_count; i++)
        cpu += activity_cpu(&f->activity.threads[i], f->from, until);
    return cpu;
}
