// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/slack.h"

#include "base/grow.h"
#include "base/saturate.h"

#include <stdlib.h>

/*
 * Each thread has a time by which it could be late. At the end of the window that is 0 for the thread that is asked
 * for, and unlimited for all others. Going back in time, a thread that waited for a message could have been later by
 * the time for which it waited, and the sender of a message no more than its receiver. Who ended another wait is as a
 * sender, but that wait is no time to spare: what it was for is not known.
 */

enum step_kind { STEP_RECEIVED, STEP_WOKEN, STEP_SENT };

struct step {
    int64_t at;
    enum step_kind kind;
    uint32_t thread, other; /* of a sending the receiver */
    int64_t spare;          /* RECEIVED: for how long the thread had waited for it */
    size_t edge;            /* the number of the receiving among all of them */
};

struct steps {
    size_t count, capacity, edges;
    struct step *list;
};

/* The latest first; of the same time receivings before sendings, and what a thread received last before the others. */
static int by_time(const void *x, const void *y)
{
    const struct step *a = x, *b = y;
    if (a->at != b->at)
        return a->at > b->at ? -1 : 1;
    if (a->kind != b->kind)
        return (int)a->kind - (int)b->kind;
    return (a->edge < b->edge) - (a->edge > b->edge);
}

static bool add_step(struct steps *s, struct step step)
{
    if (!grow_list(&s->list, &s->capacity, s->count, sizeof *s->list))
        return false;
    s->list[s->count++] = step;
    return true;
}

/* A thread went on at `at`, for what `other` did at `sent`. */
static bool add_edge(struct steps *s, struct step to, int64_t sent, int64_t from)
{
    to.edge = s->edges++;
    return add_step(s, to) && (sent <= from || add_step(s, (struct step){.at = sent < to.at ? sent : to.at,
                                                                         .kind = STEP_SENT,
                                                                         .thread = to.other,
                                                                         .other = to.thread,
                                                                         .edge = to.edge}));
}

/* For how long the thread waited for the receiving `e` at least. */
static int64_t waited_for(const struct activity *a, uint32_t thread, const struct activity_event *e)
{
    const struct activity_thread *t = &a->threads[thread];
    size_t i = activity_interval_before(t, saturate_add(e->at, 1));
    for (size_t k = i ? i - 1 : 0; k < t->interval_count && k < i + 1; k++) {
        struct path_off off = path_off_before(a, thread, k);
        if (off.awaited == e)
            return t->intervals[k].off - off.most;
    }
    return 0;
}

static bool add_thread(const struct activity *a, uint32_t thread, int64_t from, int64_t until, struct steps *s,
                       struct slack *is)
{
    const struct activity_thread *t = &a->threads[thread];
    bool memory = true;
    for (size_t i = activity_event_at(t, saturate_add(from, 1)); i < t->event_count && memory; i++) {
        const struct activity_event *e = &t->events[i];
        if (e->at > until)
            break;
        is->known = is->known && e->kind != ACTIVITY_LOST &&
                    (e->kind != ACTIVITY_RECEIVED || (e->peer != ACTIVITY_NONE && e->bound < INT64_MAX));
        if (e->kind == ACTIVITY_RECEIVED && e->peer != ACTIVITY_NONE)
            memory = add_edge(s, (struct step){e->at, STEP_RECEIVED, thread, e->peer, waited_for(a, thread, e), 0},
                              e->from, from);
    }
    for (size_t i = 0; i < t->wait_count && memory; i++) {
        const struct activity_wait *w = &t->waits[i];
        if (w->end > from && w->end <= until && w->woken == ACTIVITY_BY_THREAD && w->waker != ACTIVITY_NONE)
            memory = add_edge(s, (struct step){w->end, STEP_WOKEN, thread, w->waker, 0, 0}, w->end, from);
    }
    return memory;
}

static bool add_pair(struct slack *s, const struct step *is, int64_t slack)
{
    int found = hash_index_find(&s->index, is->other, is->thread);
    if (found >= 0) {
        s->pairs[found].messages++;
        s->pairs[found].least = slack < s->pairs[found].least ? slack : s->pairs[found].least;
        return true;
    }
    if (!grow_list(&s->pairs, &s->capacity, s->count, sizeof *s->pairs) || !grow_index(&s->index, s->count))
        return false;
    hash_index_put(&s->index, is->other, is->thread, (uint32_t)s->count);
    s->pairs[s->count++] = (struct slack_pair){is->other, is->thread, 1, slack};
    return true;
}

/* Goes back through all steps; `late`: of each thread, by how much it could be late; `edges`: of each receiving. */
static bool go_back(const struct steps *steps, int64_t *late, int64_t *edges, struct slack *s)
{
    bool memory = true;
    for (size_t i = 0; i < steps->count && memory; i++) {
        const struct step *is = &steps->list[i];
        if (is->kind == STEP_SENT) {
            late[is->thread] = edges[is->edge] < late[is->thread] ? edges[is->edge] : late[is->thread];
            continue;
        }
        edges[is->edge] = late[is->thread];
        if (is->kind == STEP_RECEIVED && late[is->thread] < INT64_MAX) {
            memory = add_pair(s, is, late[is->thread]);
            late[is->thread] = saturate_add(late[is->thread], is->spare);
        }
    }
    return memory;
}

static int by_slack(const void *x, const void *y)
{
    const struct slack_pair *a = x, *b = y;
    return (a->least > b->least) - (a->least < b->least);
}

int slack_find(const struct activity *a, uint32_t thread, int64_t from, int64_t until, struct slack *s)
{
    struct steps steps = {0};
    bool memory = true;
    *s = (struct slack){.known = true};
    for (uint32_t i = 0; i < a->thread_count && memory; i++)
        memory = add_thread(a, i, from, until, &steps, s);
    int64_t *late = malloc((a->thread_count + steps.edges + 1) * sizeof *late);
    memory = memory && late;
    for (size_t i = 0; i < a->thread_count && memory; i++)
        late[i] = i == thread ? 0 : INT64_MAX;
    if (memory && steps.count) {
        qsort(steps.list, steps.count, sizeof *steps.list, by_time);
        memory = go_back(&steps, late, late + a->thread_count, s);
    }
    if (s->count)
        qsort(s->pairs, s->count, sizeof *s->pairs, by_slack);
    free(late);
    free(steps.list);
    return memory ? 0 : BEZEL_ENOMEM;
}

void slack_fini(struct slack *s)
{
    free(s->pairs);
    free(s->index.slots);
    *s = (struct slack){0};
}
