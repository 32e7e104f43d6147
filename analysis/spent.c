// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/spent.h"

#include "base/grow.h"
#include "base/saturate.h"

#include <math.h>
#include <stdlib.h>

/* Sums over the intervals before the i-th one, with the times off the CPU before each of them. */
struct spent_before {
    int64_t cpu, off, least, most;
};

struct spent_thread {
    int64_t first, last;         /* that are known of it; INT64_MAX: nothing is */
    struct spent_before *before; /* one more than it has intervals; NULL: it has none */
    size_t process;              /* its elements */
    size_t element;
};

/* ---- times of a thread ------------------------------------------------------------------------------------------- */

static void widen(struct spent_thread *t, int64_t from, int64_t until)
{
    t->last = t->first == INT64_MAX || until > t->last ? until : t->last;
    t->first = from < t->first ? from : t->first;
}

static void find_ends(const struct activity_thread *is, struct spent_thread *t)
{
    t->first = INT64_MAX;
    for (size_t i = 0; i < is->span_count; i++)
        widen(t, is->spans[i].begin, is->spans[i].end);
    for (size_t i = 0; i < is->event_count; i++)
        widen(t, is->events[i].at, is->events[i].at);
    for (size_t i = 0; i < is->interval_count; i++) {
        const struct activity_interval *x = &is->intervals[i];
        widen(t, x->off > 0 ? saturate_sub(x->begin, x->off) : x->begin, x->end);
    }
}

static int sum_intervals(const struct activity_thread *is, struct spent_thread *t)
{
    if (is->interval_count == 0)
        return 0;
    t->before = malloc((is->interval_count + 1) * sizeof *t->before);
    if (!t->before)
        return BEZEL_ENOMEM;
    t->before[0] = (struct spent_before){0};
    for (size_t i = 0; i < is->interval_count; i++) {
        const struct activity_interval *x = &is->intervals[i];
        t->before[i + 1] = t->before[i];
        t->before[i + 1].cpu += x->end - x->begin;
        if (x->off > 0) {
            t->before[i + 1].off += x->off;
            t->before[i + 1].least += x->ready_least;
            t->before[i + 1].most += x->ready_most;
        }
    }
    return 0;
}

/* How much of the `length` ns before `end` is before `at`. */
static int64_t part(int64_t end, int64_t length, int64_t at)
{
    int64_t begin = end - length;
    return at <= begin ? 0 : at < end ? at - begin : length;
}

/* What the sums are at `at`. */
static struct spent_before sums_at(const struct activity_thread *is, const struct spent_thread *t, int64_t at)
{
    size_t i = activity_interval_before(is, at);
    if (!t->before)
        return (struct spent_before){0};
    struct spent_before b = t->before[i];
    if (i > 0 && is->intervals[i - 1].end > at)
        b.cpu -= is->intervals[i - 1].end - at;
    if (i < is->interval_count && is->intervals[i].off > 0) {
        const struct activity_interval *next = &is->intervals[i];
        b.off += part(next->begin, next->off, at);
        b.least += part(next->begin, next->ready_least, at);
        b.most += part(next->begin, next->ready_most, at);
    }
    return b;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

/* The element of that level and row, made if it is new; SIZE_MAX: no memory. */
static size_t element_of(struct spent *l, enum spent_level level, int64_t row, uint32_t thread, size_t parent)
{
    int found = hash_index_find(&l->index, (uint64_t)row, level);
    if (found >= 0)
        return (size_t)found;
    if (!grow_list(&l->elements, &l->capacity, l->count, sizeof *l->elements) || !grow_index(&l->index, l->count))
        return SIZE_MAX;
    l->elements[l->count] = (struct spent_element){.level = level, .thread = thread, .parent = parent};
    hash_index_put(&l->index, (uint64_t)row, level, (uint32_t)l->count);
    return l->count++;
}

static int add_thread(struct spent *l, uint32_t i)
{
    const struct activity_thread *is = &l->a->threads[i];
    size_t node = element_of(l, SPENT_NODE, is->node_row, i, 0);
    size_t process = node == SIZE_MAX ? node : element_of(l, SPENT_PROCESS, is->process_row, i, node);
    l->threads[i].process = process;
    l->threads[i].element = process == SIZE_MAX ? process : element_of(l, SPENT_THREAD, i, i, process);
    find_ends(is, &l->threads[i]);
    return l->threads[i].element == SIZE_MAX ? BEZEL_ENOMEM : sum_intervals(is, &l->threads[i]);
}

int spent_init(struct spent *l, const struct activity *a)
{
    *l = (struct spent){.a = a};
    l->threads = calloc(a->thread_count + 1, sizeof *l->threads);
    int err = !l->threads || element_of(l, SPENT_RUN, 0, 0, 0) == SIZE_MAX ? BEZEL_ENOMEM : 0;
    for (size_t i = 0; i < a->thread_count && !err; i++)
        err = add_thread(l, (uint32_t)i);
    return err;
}

void spent_fini(struct spent *l)
{
    for (size_t i = 0; l->threads && i < l->a->thread_count; i++)
        free(l->threads[i].before);
    free(l->threads);
    free(l->elements);
    free(l->pairs);
    free(l->index.slots);
    free(l->pair_index.slots);
    *l = (struct spent){0};
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void add_bytes(int64_t *sum, int64_t bytes)
{
    *sum = *sum < 0 || bytes < 0 ? -1 : saturate_add(*sum, bytes);
}

static int add_to_pair(struct spent *l, uint32_t from, uint32_t to, int64_t bytes)
{
    uint64_t sender = l->threads[from].process;
    uint32_t receiver = (uint32_t)l->threads[to].process;
    int found = hash_index_find(&l->pair_index, sender, receiver);
    if (found < 0) {
        if (!grow_list(&l->pairs, &l->pair_capacity, l->pair_count, sizeof *l->pairs) ||
            !grow_index(&l->pair_index, l->pair_count))
            return BEZEL_ENOMEM;
        hash_index_put(&l->pair_index, sender, receiver, (uint32_t)l->pair_count);
        found = (int)l->pair_count++;
        l->pairs[found] = (struct spent_pair){.from = from, .to = to};
    }
    l->pairs[found].messages++;
    add_bytes(&l->pairs[found].bytes, bytes);
    return 0;
}

static int sum_messages(struct spent *l, uint32_t thread, int64_t from, int64_t until, struct spent_sums *s)
{
    const struct activity_thread *is = &l->a->threads[thread];
    int err = 0;
    for (size_t i = activity_event_at(is, from); i < is->event_count && is->events[i].at < until && !err; i++) {
        const struct activity_event *e = &is->events[i];
        if (e->kind == ACTIVITY_SENT) {
            s->sent++;
            add_bytes(&s->sent_bytes, e->bytes);
        } else if (e->kind == ACTIVITY_RECEIVED) {
            s->received++;
            add_bytes(&s->received_bytes, e->bytes);
            l->unsent += e->peer == ACTIVITY_NONE;
            err = e->peer == ACTIVITY_NONE ? 0 : add_to_pair(l, e->peer, thread, e->bytes);
        }
    }
    return err;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static void add_sums(struct spent_sums *to, const struct spent_sums *s)
{
    to->cpu += s->cpu;
    to->ready_least += s->ready_least;
    to->ready_most += s->ready_most;
    to->off += s->off;
    to->present += s->present;
    to->threads += s->threads;
    to->sent += s->sent;
    to->received += s->received;
    add_bytes(&to->sent_bytes, s->sent_bytes);
    add_bytes(&to->received_bytes, s->received_bytes);
}

/* The sums of a thread, and the first and the last time of it, in a window. */
static int sum_thread(struct spent *l, uint32_t i, struct activity_window *w, struct spent_sums *s)
{
    const struct activity_thread *is = &l->a->threads[i];
    const struct spent_thread *t = &l->threads[i];
    w->from = t->first > w->from ? t->first : w->from;
    w->until = t->first != INT64_MAX && t->last < w->until ? t->last : w->until;
    *s = (struct spent_sums){.threads = 1};
    if (w->from > w->until || t->first == INT64_MAX)
        return 0;
    struct spent_before begin = sums_at(is, t, w->from), end = sums_at(is, t, w->until);
    s->elapsed = s->present = w->until - w->from;
    s->cpu = end.cpu - begin.cpu;
    s->off = end.off - begin.off;
    s->ready_least = end.least - begin.least;
    s->ready_most = end.most - begin.most;
    return sum_messages(l, i, w->from, saturate_add(w->until, 1), s);
}

/* An element, and those that it is a part of. */
static void add_up(struct spent *l, size_t element, const struct spent_sums *s, struct activity_window *ends,
                   const struct activity_window *w)
{
    bool seen = s->present > 0;
    for (;; element = l->elements[element].parent) {
        add_sums(&l->elements[element].sums, s);
        if (seen && w->from < ends[element].from)
            ends[element].from = w->from;
        if (seen && w->until > ends[element].until)
            ends[element].until = w->until;
        if (element == 0)
            return;
    }
}

int spent_window(struct spent *l, int64_t from, int64_t until)
{
    struct activity_window *ends = malloc(l->count * sizeof *ends);
    int err = ends ? 0 : BEZEL_ENOMEM;
    free(l->pair_index.slots);
    l->pair_index = (struct hash_index){0};
    l->pair_count = 0;
    l->unsent = 0;
    for (size_t i = 0; i < l->count && !err; i++) {
        l->elements[i].sums = (struct spent_sums){0};
        ends[i] = (struct activity_window){INT64_MAX, INT64_MIN};
    }
    for (size_t i = 0; i < l->a->thread_count && !err; i++) {
        struct activity_window w = {from, until};
        struct spent_sums s;
        err = sum_thread(l, (uint32_t)i, &w, &s);
        add_up(l, l->threads[i].element, &s, ends, &w);
    }
    for (size_t i = 0; i < l->count && !err; i++) {
        struct spent_element *e = &l->elements[i];
        e->sums.elapsed = ends[i].from < ends[i].until ? ends[i].until - ends[i].from : 0;
        e->sums.nodes += e->level == SPENT_NODE;
        l->elements[0].sums.nodes += e->level == SPENT_NODE && e->sums.threads > 0;
    }
    free(ends);
    return err;
}

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

int64_t spent_unknown(const struct spent_sums *s)
{
    int64_t unknown = s->present - s->cpu - s->off;
    return unknown > 0 ? unknown : 0;
}

int64_t spent_cpu_most(const struct spent_sums *s)
{
    return s->cpu + spent_unknown(s) + s->ready_most - s->ready_least;
}

static double ratio(const struct spent_sums *s, double of, double by)
{
    return by <= 0 || spent_cpu_most(s) - s->cpu > s->cpu / 50 ? (double)NAN : of / by;
}

double spent_response(const struct spent_sums *s)
{
    return ratio(s, (double)s->elapsed, (double)s->cpu);
}

double spent_factor(const struct spent_sums *s)
{
    double middle = ((double)s->ready_least + (double)s->ready_most) / 2;
    return ratio(s, (double)s->cpu + middle, (double)s->cpu);
}

double spent_parallelism(const struct spent_sums *s)
{
    return ratio(s, (double)s->cpu, (double)s->elapsed);
}

double spent_utilisation(const struct spent_sums *s)
{
    return s->nodes ? spent_parallelism(s) / (double)s->nodes : (double)NAN;
}
