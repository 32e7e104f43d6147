// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/delay.h"

#include "base/grow.h"

#include <stdlib.h>

struct sums {
    const struct activity *a;
    struct delays *d;
    struct terms terms;
    struct path path;
    size_t capacity, last_capacity;
    uint32_t *last; /* of each term: the thread that waited for it last */
};

/* Charges a piece of a wait of `thread` to what it was. */
static int add_piece(struct sums *s, uint32_t thread, const struct path_piece *p)
{
    int number = terms_number(&s->terms, s->a, p);
    size_t n = s->d->count;
    if (number < 0)
        return BEZEL_ENOMEM;
    if (number == (int)n) {
        if (!grow_list(&s->d->list, &s->capacity, n, sizeof *s->d->list) ||
            !grow_list(&s->last, &s->last_capacity, n, sizeof *s->last))
            return BEZEL_ENOMEM;
        s->d->list[n] = (struct delay){.of = s->terms.list[n]};
        s->last[n] = ACTIVITY_NONE;
        s->d->count++;
    }
    s->d->list[number].ns += (double)(p->until - p->from);
    s->d->list[number].waiters += s->last[number] != thread;
    s->last[number] = thread;
    return 0;
}

/* What is of the thread itself (that the message was under way, that it was ready behind it) is no delay of others. */
static int add_wait(struct sums *s, uint32_t thread, int64_t from, int64_t until)
{
    int err = path_walk(s->a, thread, from, until, &s->path);
    for (size_t i = 0; i < s->path.count && !err; i++)
        if (s->path.pieces[i].thread != thread)
            err = add_piece(s, thread, &s->path.pieces[i]);
    return err;
}

/* The waits of a thread in the time of an instance. */
static int add_waits(struct sums *s, uint32_t thread, const struct slow_instance *of)
{
    const struct activity_thread *t = &s->a->threads[thread];
    int err = 0;
    for (size_t i = activity_interval_before(t, of->from); i < t->interval_count && !err; i++) {
        const struct activity_interval *next = &t->intervals[i];
        int64_t from = next->begin - (next->off > 0 ? next->off : 0);
        if (from >= of->until)
            break;
        if (path_off_before(s->a, thread, i).awaited)
            err = add_wait(s, thread, from > of->from ? from : of->from,
                           next->begin < of->until ? next->begin : of->until);
    }
    return err;
}

static int by_ns(const void *x, const void *y)
{
    const struct delay *a = x, *b = y;
    return (a->ns < b->ns) - (a->ns > b->ns);
}

int delay_find(const struct activity *a, const struct slow_choice *c, struct delays *d)
{
    struct sums s = {.a = a, .d = d};
    size_t most = c->slow_count < DELAY_INSTANCES ? c->slow_count : DELAY_INSTANCES;
    int err = 0;
    for (uint32_t i = 0; i < a->thread_count && !err; i++)
        for (size_t k = 0; k < most && !err; k++)
            err = add_waits(&s, i, &c->slow[k]);
    for (size_t i = 0; i < d->count; i++)
        d->list[i].ns /= (double)most;
    if (d->count)
        qsort(d->list, d->count, sizeof *d->list, by_ns);
    terms_fini(&s.terms);
    path_fini(&s.path);
    free(s.last);
    return err;
}

void delay_fini(struct delays *d)
{
    free(d->list);
    *d = (struct delays){0};
}
