// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/sequence.h"

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT = 1000 }; /* steps of a path below this part of it do not count for themselves */

struct step {
    int place; /* a number of `terms` */
    int64_t ns;
};

struct found {
    size_t count;
    int steps[SEQUENCE_STEPS];
    uint64_t times;
    double ns;
};

struct finding {
    const struct activity *a;
    struct terms terms; /* places */
    struct path path;
    struct step *steps; /* of the path */
    size_t step_count, step_capacity, paths;
    struct found *list;
    size_t count, capacity;
    struct hash_index index; /* by the hash of their places, and how many these are */
    uint64_t left_out;
};

/* ---- a path ------------------------------------------------------------------------------------------------------ */

/* Pieces at one place, one behind the other, are one step. */
static int add_piece(struct finding *s, const struct path_piece *p)
{
    const struct path_piece at = {.thread = p->thread, .span = p->span, .peer = ACTIVITY_NONE, .by = ACTIVITY_NONE};
    int place = terms_number(&s->terms, s->a, &at);
    if (place < 0)
        return BEZEL_ENOMEM;
    if (s->step_count == 0 || s->steps[s->step_count - 1].place != place) {
        if (!grow_list(&s->steps, &s->step_capacity, s->step_count, sizeof *s->steps))
            return BEZEL_ENOMEM;
        s->steps[s->step_count++] = (struct step){.place = place};
    }
    s->steps[s->step_count - 1].ns += p->until - p->from;
    return 0;
}

/* Counts steps shorter than a part of the path, as between two spans, to those before them. */
static void drop_short(struct finding *s, int64_t least)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->step_count; i++) {
        const struct step *is = &s->steps[i];
        if (kept > 0 && (is->ns < least || s->steps[kept - 1].place == is->place))
            s->steps[kept - 1].ns += is->ns;
        else
            s->steps[kept++] = *is;
    }
    s->step_count = kept;
}

static int take_path(struct finding *s, const struct slow_instance *of)
{
    uint32_t thread = activity_find(s->a, of->process, of->thread);
    s->step_count = 0;
    if (thread == ACTIVITY_NONE)
        return 0;
    int err = path_walk(s->a, thread, of->from, of->until, &s->path);
    for (size_t i = 0; i < s->path.count && !err; i++)
        err = add_piece(s, &s->path.pieces[i]);
    drop_short(s, saturate_sub(of->until, of->from) / SHORT);
    s->paths++;
    return err;
}

/* ---- sequences --------------------------------------------------------------------------------------------------- */

/* What is known of the sequence of the `count` steps from `steps` on; NULL with *err: there is no room (0), or no
 * memory. */
static struct found *found_of(struct finding *s, const struct step *steps, size_t count, uint64_t hash, int *err)
{
    *err = grow_index(&s->index, s->count) ? 0 : BEZEL_ENOMEM;
    int number = *err ? -1 : hash_index_find(&s->index, hash, (uint32_t)count);
    if (number >= 0)
        return &s->list[number];
    if (*err || s->count == SEQUENCE_FOUND) {
        s->left_out += !*err;
        return NULL;
    }
    if (!grow_list(&s->list, &s->capacity, s->count, sizeof *s->list))
        return *err = BEZEL_ENOMEM, NULL;
    struct found *f = &s->list[s->count];
    *f = (struct found){.count = count};
    for (size_t i = 0; i < count; i++)
        f->steps[i] = steps[i].place;
    hash_index_put(&s->index, hash, (uint32_t)count, (uint32_t)s->count++);
    return f;
}

static bool has_place(const struct step *steps, size_t count, int place)
{
    for (size_t i = 0; i < count; i++)
        if (steps[i].place == place)
            return true;
    return false;
}

/* Counts the sequences that begin with step `at`. One has each place once, so it does not overlap with itself. */
static int count_from(struct finding *s, size_t at)
{
    const struct step *first = &s->steps[at];
    uint64_t hash = hash_fnv64(HASH_FNV64_START, &first->place, sizeof first->place);
    int64_t ns = first->ns;
    for (size_t n = 1; n < SEQUENCE_STEPS && at + n < s->step_count && !has_place(first, n, first[n].place); n++) {
        int err;
        hash = hash_fnv64(hash, &first[n].place, sizeof first[n].place);
        ns += first[n].ns;
        struct found *f = found_of(s, first, n + 1, hash, &err);
        if (err)
            return err;
        if (!f)
            continue;
        f->times++;
        f->ns += (double)ns;
    }
    return 0;
}

static int by_ns(const void *x, const void *y)
{
    const struct found *a = x, *b = y;
    if (a->ns != b->ns)
        return a->ns < b->ns ? 1 : -1;
    return a->count != b->count ? (a->count < b->count ? 1 : -1)
                                : memcmp(a->steps, b->steps, a->count * sizeof *a->steps);
}

/* ---- which are told ---------------------------------------------------------------------------------------------- */

static struct sequence sequence_of(const struct finding *s, const struct found *f)
{
    struct sequence is = {.count = f->count, .times = f->times, .ns = f->ns / (double)s->paths};
    for (size_t i = 0; i < f->count; i++)
        is.steps[i] = s->terms.list[f->steps[i]];
    return is;
}

/* Those that take most; each place is in one of them at most. */
static int choose(struct finding *s, struct sequences *to)
{
    bool *used = calloc(s->terms.count + 1, sizeof *used);
    if (!used)
        return BEZEL_ENOMEM;
    if (s->count)
        qsort(s->list, s->count, sizeof *s->list, by_ns);
    for (size_t i = 0; i < s->count && to->count < SEQUENCE_MOST; i++) {
        const struct found *f = &s->list[i];
        bool is_free = f->times > 1;
        for (size_t k = 0; k < f->count; k++)
            is_free = is_free && !used[f->steps[k]];
        for (size_t k = 0; k < f->count && is_free; k++)
            used[f->steps[k]] = true;
        if (is_free)
            to->list[to->count++] = sequence_of(s, f);
    }
    free(used);
    return 0;
}

int sequence_find(const struct activity *a, const struct slow_choice *c, struct sequences *to)
{
    struct finding s = {.a = a};
    int err = 0;
    *to = (struct sequences){0};
    for (size_t k = 0; k < c->slow_count && k < SEQUENCE_INSTANCES && !err; k++) {
        err = take_path(&s, &c->slow[k]);
        for (size_t i = 0; i < s.step_count && !err; i++)
            err = count_from(&s, i);
    }
    if (!err)
        err = choose(&s, to);
    to->instances = s.paths;
    to->left_out = s.left_out;
    terms_fini(&s.terms);
    path_fini(&s.path);
    free(s.steps);
    free(s.list);
    free(s.index.slots);
    return err;
}
