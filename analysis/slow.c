// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/slow.h"

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Of the longest so far twice as many as are wanted are held; when there is no more room, the lesser half goes. A
 * sample of fixed size, drawn at random, stands for all (Vitter's algorithm R), with numbers that are the same each
 * time.
 */

enum { HELD = 2 * SLOW_MOST, USUAL_MOST = 500 };

static int64_t took(const struct slow_instance *i)
{
    return saturate_sub(i->until, i->from);
}

/* The longest first; of two that took as long, the earlier one. */
static int by_length(const void *x, const void *y)
{
    const struct slow_instance *a = x, *b = y;
    if (took(a) != took(b))
        return took(a) > took(b) ? -1 : 1;
    return (a->until > b->until) - (a->until < b->until);
}

static int by_time(const void *x, const void *y)
{
    const struct slow_instance *a = x, *b = y;
    return (a->from > b->from) - (a->from < b->from);
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

bool slow_add(struct slow_choice *c, const struct slow_instance *i)
{
    if (i->from > i->until)
        return true;
    if (!c->longest) {
        c->longest = malloc(HELD * sizeof *c->longest);
        c->drawn = malloc(SLOW_DRAWN * sizeof *c->drawn);
        c->least = -1;
    }
    if (!c->longest || !c->drawn)
        return false;
    c->over += c->beyond > 0 && took(i) > c->beyond;
    uint64_t place = c->count < SLOW_DRAWN ? c->count : hash_draw(&c->random) % (c->count + 1);
    c->count++;
    if (place < SLOW_DRAWN)
        c->drawn[place] = *i;
    c->drawn_count = c->count < SLOW_DRAWN ? (size_t)c->count : SLOW_DRAWN;
    if (took(i) <= c->least)
        return true;
    c->longest[c->held++] = *i;
    if (c->held == HELD) {
        qsort(c->longest, c->held, sizeof *c->longest, by_length);
        c->held = SLOW_MOST;
        c->least = took(&c->longest[SLOW_MOST - 1]);
    }
    return true;
}

static bool is_slow(const struct slow_choice *c, const struct slow_instance *i)
{
    int64_t cut = c->slow_count ? took(&c->slow[c->slow_count - 1]) : INT64_MAX;
    if (took(i) != cut)
        return took(i) > cut;
    for (size_t k = c->slow_count; k > 0 && took(&c->slow[k - 1]) == cut; k--)
        if (c->slow[k - 1].from == i->from && c->slow[k - 1].process == i->process &&
            c->slow[k - 1].thread == i->thread)
            return true;
    return false;
}

/* Of those drawn that lie in the middle half, so many, spread evenly over it, as are compared. */
static void choose_usual(struct slow_choice *c)
{
    size_t first = c->drawn_count / 4, last = c->drawn_count - c->drawn_count / 4;
    size_t among = last - first, step = (among + USUAL_MOST - 1) / USUAL_MOST;
    qsort(c->drawn, c->drawn_count, sizeof *c->drawn, by_length);
    for (size_t i = first; i < last; i += step)
        if (!is_slow(c, &c->drawn[i]))
            c->usual[c->usual_count++] = c->drawn[i];
    qsort(c->usual, c->usual_count, sizeof *c->usual, by_time);
}

static void join_windows(struct slow_choice *c)
{
    size_t count = c->slow_count + c->usual_count;
    struct slow_instance *all =
        c->longest; /* has room: it is not needed any more, but for the slow ones, which were copied */
    memcpy(all, c->slow, c->slow_count * sizeof *all);
    memcpy(all + c->slow_count, c->usual, c->usual_count * sizeof *all);
    qsort(all, count, sizeof *all, by_time);
    for (size_t i = 0; i < count; i++) {
        struct activity_window *last = c->window_count ? &c->windows[c->window_count - 1] : NULL;
        if (last && all[i].from <= last->until)
            last->until = all[i].until > last->until ? all[i].until : last->until;
        else
            c->windows[c->window_count++] = (struct activity_window){all[i].from, all[i].until};
    }
}

int slow_settle(struct slow_choice *c)
{
    if (c->count == 0 || (c->beyond > 0 && c->over == 0))
        return 0;
    double wanted = c->over ? (double)c->over : ceil(c->share * (double)c->count);
    qsort(c->longest, c->held, sizeof *c->longest, by_length);
    c->slow_count = c->held < SLOW_MOST ? c->held : SLOW_MOST;
    if (wanted < (double)c->slow_count)
        c->slow_count = wanted < 1 ? 1 : (size_t)wanted;
    c->slow = malloc(c->slow_count * sizeof *c->slow);
    c->usual = malloc((USUAL_MOST + 1) * sizeof *c->usual);
    c->windows = malloc((c->slow_count + USUAL_MOST + 1) * sizeof *c->windows);
    if (!c->slow || !c->usual || !c->windows)
        return BEZEL_ENOMEM;
    memcpy(c->slow, c->longest, c->slow_count * sizeof *c->slow);
    choose_usual(c);
    join_windows(c);
    return 0;
}

void slow_free(struct slow_choice *c)
{
    free(c->slow);
    free(c->usual);
    free(c->windows);
    free(c->longest);
    free(c->drawn);
    *c = (struct slow_choice){0};
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

struct compared {
    const struct activity *a;
    struct slow_terms *t;
    struct terms terms;
    int64_t *now; /* of each term: in this path */
    size_t *seen; /* of each term: slow paths that have it */
    size_t capacity, now_capacity, seen_capacity;
    struct path path;
};

/* The term that piece `p` counts for, made if it is new; its number, or -1: no memory. */
static int term_of(struct compared *c, const struct path_piece *p)
{
    int number = terms_number(&c->terms, c->a, p);
    size_t n = c->t->count;
    if (number < (int)n)
        return number;
    if (!grow_list(&c->t->terms, &c->capacity, n, sizeof *c->t->terms) ||
        !grow_list(&c->now, &c->now_capacity, n, sizeof *c->now) ||
        !grow_list(&c->seen, &c->seen_capacity, n, sizeof *c->seen))
        return -1;
    c->t->terms[n] = slow_term_of(&c->terms.list[n]);
    c->now[n] = 0;
    c->seen[n] = 0;
    return (int)c->t->count++;
}

static void count_path(struct compared *c, bool slow)
{
    for (size_t i = 0; i < c->t->count; i++) {
        struct slow_term *t = &c->t->terms[i];
        if (c->now[i] == 0)
            continue;
        *(slow ? &t->slow : &t->usual) += (double)c->now[i];
        if (slow) {
            c->seen[i]++;
            t->slow_least = c->now[i] < t->slow_least ? c->now[i] : t->slow_least;
            t->slow_most = c->now[i] > t->slow_most ? c->now[i] : t->slow_most;
        }
        c->now[i] = 0;
    }
}

/* A span reads the clock where it begins, and has a record where it ends; a message has a record. */
static void add_recording(const struct activity *a, const struct path_piece *p, struct slow_recording *r)
{
    const struct activity_thread *t = &a->threads[p->thread];
    const struct activity_inner *first = activity_innermost(t, saturate_add(p->from, 1)),
                                *last = activity_innermost(t, saturate_add(p->until, 1));
    double changes = last ? (double)(last - t->inner + 1 - (first ? first - t->inner + 1 : 0)) : 0;
    double events =
        (double)(activity_event_at(t, saturate_add(p->until, 1)) - activity_event_at(t, saturate_add(p->from, 1)));
    r->least += (events + changes / 2) * SLOW_RECORD_LEAST;
    r->most += (events + changes) * SLOW_RECORD_MOST;
}

bool slow_may_be_recording(const struct slow_terms *t)
{
    if (isnan(t->usual))
        return t->of_slow.most >= t->slow / 2;
    return t->of_slow.most - t->of_usual.least >= t->slow - t->usual;
}

/* Adds the path of an instance; *added: its thread is known. */
static int add_path(struct compared *c, const struct slow_instance *is, bool slow, bool *added)
{
    uint32_t thread = activity_find(c->a, is->process, is->thread);
    *added = thread != ACTIVITY_NONE;
    if (!*added)
        return 0;
    int err = path_walk(c->a, thread, is->from, is->until, &c->path);
    for (size_t i = 0; i < c->path.count && !err; i++) {
        const struct path_piece *p = &c->path.pieces[i];
        int term = term_of(c, p);
        err = term < 0 ? BEZEL_ENOMEM : 0;
        if (!err)
            c->now[term] += p->until - p->from;
        if (p->is == PATH_RUNNING)
            add_recording(c->a, p, slow ? &c->t->of_slow : &c->t->of_usual);
    }
    c->t->bound = c->path.bound > c->t->bound ? c->path.bound : c->t->bound;
    if (!err)
        count_path(c, slow);
    return err;
}

static int add_paths(struct compared *c, const struct slow_instance *list, size_t count, bool slow, size_t *added)
{
    int err = 0;
    *added = 0;
    for (size_t i = 0; i < count && !err; i++) {
        bool is;
        err = add_path(c, &list[i], slow, &is);
        *added += is;
        c->t->lacking += !is;
    }
    return err;
}

static int by_more(const void *x, const void *y)
{
    const struct slow_term *a = x, *b = y;
    double more_a = a->slow - a->usual, more_b = b->slow - b->usual;
    return (more_a < more_b) - (more_a > more_b);
}

void slow_sort(struct slow_terms *t)
{
    if (t->count)
        qsort(t->terms, t->count, sizeof *t->terms, by_more);
}

/* From sums to means. */
static void settle_terms(struct compared *c, size_t slow, size_t usual)
{
    struct slow_terms *t = c->t;
    t->usual = usual ? 0 : (double)NAN;
    for (size_t i = 0; i < t->count; i++) {
        struct slow_term *term = &t->terms[i];
        term->slow /= slow ? (double)slow : 1;
        term->usual /= usual ? (double)usual : 1;
        if (c->seen[i] < slow || slow == 0)
            term->slow_least = 0;
        t->slow += term->slow;
        t->usual += term->usual;
        t->slow_unknown += term->is == PATH_UNKNOWN ? term->slow : 0;
    }
    t->of_slow.least /= slow ? (double)slow : 1;
    t->of_slow.most /= slow ? (double)slow : 1;
    t->of_usual.least /= usual ? (double)usual : 1;
    t->of_usual.most /= usual ? (double)usual : 1;
    slow_sort(t);
}

int slow_compare(const struct activity *a, const struct slow_choice *c, struct slow_terms *t)
{
    struct compared is = {.a = a, .t = t};
    size_t slow = 0, usual = 0;
    *t = (struct slow_terms){0};
    int err = add_paths(&is, c->slow, c->slow_count, true, &slow);
    if (!err)
        err = add_paths(&is, c->usual, c->usual_count, false, &usual);
    if (!err)
        settle_terms(&is, slow, usual);
    terms_fini(&is.terms);
    free(is.now);
    free(is.seen);
    path_fini(&is.path);
    return err;
}

void slow_terms_free(struct slow_terms *t)
{
    free(t->terms);
    *t = (struct slow_terms){0};
}
