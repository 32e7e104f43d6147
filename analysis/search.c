// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/search.h"

#include "base/grow.h"
#include "base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The list of nodes is the queue: the hypotheses over all of the time come first, each is tested when its turn comes,
 * and if it is true, those one step closer are added behind. One that is closer to two true ones is added once.
 */

/* Of each term: numbers of its places, and of the other one, or NOBODY; and its share. */
struct search_term {
    uint32_t node, process, with;
    double share;
};

enum { NOBODY = UINT32_MAX };

static const struct {
    const char *name;
    enum path_class is;
    double threshold;
} whys[SEARCH_WHYS] = {
    [SEARCH_RUNNING] = {"running", PATH_RUNNING, 0.30}, [SEARCH_READY] = {"ready", PATH_READY, 0.20},
    [SEARCH_MONITOR] = {"monitor", PATH_MONITOR, 0.05}, [SEARCH_MESSAGE] = {"message", PATH_MESSAGE, 0.20},
    [SEARCH_LOCK] = {"lock", PATH_LOCK, 0.20},          [SEARCH_IO] = {"io", PATH_IO, 0.20},
    [SEARCH_SMALL] = {"small", PATH_IO, 4096},          [SEARCH_SLEEP] = {"sleep", PATH_SLEEP, 0.20},
    [SEARCH_STOPPED] = {"stopped", PATH_STOPPED, 0.20},
};

const char *search_why_name(enum search_why why)
{
    return whys[why].name;
}

double search_threshold(enum search_why why)
{
    return whys[why].threshold;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* The number of a place, or of another one, by its key; made if it is new. */
static bool number_of(struct search *s, uint64_t key, uint32_t kind, uint32_t *number)
{
    if (!grow_index(&s->by_place, s->place_count))
        return false;
    int found = hash_index_find(&s->by_place, key, kind);
    *number = found < 0 ? (uint32_t)s->place_count : (uint32_t)found;
    if (found < 0)
        hash_index_put(&s->by_place, key, kind, (uint32_t)s->place_count++);
    return true;
}

static uint64_t process_key(const struct activity_thread *t)
{
    uint64_t h = hash_fnv64(HASH_FNV64_START, t->node, strlen(t->node) + 1);
    return hash_fnv64(h, t->process, strlen(t->process) + 1);
}

static bool find_places(struct search *s, size_t i)
{
    enum { OF_NODE, OF_PROCESS, OF_NAME };
    const struct slow_term *is = &s->terms->terms[i];
    const struct activity_thread *t = &s->a->threads[is->thread];
    struct search_term *of = &s->of[i];
    size_t before = s->place_count;
    *of = (struct search_term){.with = NOBODY};
    of->share = (is->slow - (isnan(s->terms->usual) ? 0 : is->usual)) / s->all;
    if (!number_of(s, hash_fnv64(HASH_FNV64_START, t->node, strlen(t->node) + 1), OF_NODE, &of->node))
        return false;
    s->node_count += s->place_count > before;
    if (!number_of(s, process_key(t), OF_PROCESS, &of->process))
        return false;
    if (is->peer != ACTIVITY_NONE)
        return number_of(s, process_key(&s->a->threads[is->peer]), OF_PROCESS, &of->with);
    return is->by == ACTIVITY_NONE || number_of(s, is->by, OF_NAME, &of->with);
}

/* Whether term `t` is at the place of `n`. */
static bool is_at(const struct search *s, const struct search_node *n, size_t t)
{
    const struct search_term *of = &s->of[t], *want = &s->of[n->term];
    return (n->place < SEARCH_NODE || of->node == want->node) &&
           (n->place < SEARCH_PROCESS || of->process == want->process) &&
           (n->place < SEARCH_SPAN || s->terms->terms[t].span == s->terms->terms[n->term].span);
}

/* Whether term `t` is of its class at most: it may have been ready, or stopped, all the time. */
static bool is_at_most(const struct slow_term *t)
{
    return t->why == PATH_NO_SWITCHES && (t->is == PATH_LOCK || t->is == PATH_IO);
}

/* Whether the hypothesis is about term `t`. */
static bool is_about(const struct search *s, const struct search_node *n, size_t t)
{
    return s->terms->terms[t].is == whys[n->why].is && is_at(s, n, t) &&
           (!n->with || s->of[t].with == s->of[n->term].with) && !is_at_most(&s->terms->terms[t]);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/*
 * Whether term `t`, of which not all is known, may be what the hypothesis is about. A wait may be for a message whose
 * sender would have been explained in turn, so it may be of any class anywhere; one that a timer or a device ended is
 * not. A thread that was ready while nobody knows who had the CPU may have waited for the monitor; one that waited
 * without switches, for any.
 */
static bool may_be(const struct search *s, const struct search_node *n, size_t t)
{
    const struct slow_term *is = &s->terms->terms[t];
    enum path_class class = whys[n->why].is;
    if (is_at_most(is))
        return (class == is->is || class == PATH_READY || class == PATH_MONITOR || class == PATH_STOPPED) &&
               is_at(s, n, t);
    if (is->is == PATH_READY)
        return class == PATH_MONITOR && is->by == ACTIVITY_NONE && is_at(s, n, t);
    if (is->is != PATH_UNKNOWN)
        return false;
    return is->why != PATH_INTERRUPT || ((class == PATH_IO || class == PATH_SLEEP) && is_at(s, n, t));
}

/* Recording is done while threads run; of a part of the run it is not known how much. */
static void add_recording(const struct search *s, struct search_node *n, double running)
{
    double most = s->recording_most / s->all;
    n->most += most < running ? most : running;
    if (n->place == SEARCH_RUN && !n->with)
        n->least += s->recording_least / s->all;
}

static void test_share(const struct search *s, struct search_node *n)
{
    double running = 0;
    n->most = s->missing / s->all;
    for (size_t t = 0; t < s->terms->count; t++) {
        const struct slow_term *is = &s->terms->terms[t];
        bool about = is_about(s, n, t), may = may_be(s, n, t);
        n->least += about ? s->of[t].share : may && !isnan(s->terms->usual) ? -is->usual / s->all : 0;
        n->most += about ? s->of[t].share : may ? is->slow / s->all : 0;
        running += is->is == PATH_RUNNING && is_at(s, n, t) ? is->slow / s->all : 0;
    }
    if (n->why == SEARCH_MONITOR)
        add_recording(s, n, running);
    double threshold = whys[n->why].threshold;
    n->is = n->least > threshold ? SEARCH_TRUE : n->most > threshold ? SEARCH_OPEN : SEARCH_FALSE;
}

/* Whether waits `o` are of the place of `n`. */
static bool has_waits(const struct search *s, const struct search_node *n, const struct activity_io *o)
{
    const struct slow_term *is = &s->terms->terms[n->term];
    const struct activity_thread *t = &s->a->threads[o->thread], *want = &s->a->threads[is->thread];
    return (n->place < SEARCH_NODE || strcmp(t->node, want->node) == 0) &&
           (n->place < SEARCH_PROCESS || strcmp(t->process, want->process) == 0) &&
           (n->place < SEARCH_SPAN || o->name == is->span);
}

static void test_small(const struct search *s, struct search_node *n)
{
    double bytes = 0, waits = 0;
    bool known = true;
    for (size_t i = 0; i < s->a->io_count; i++) {
        const struct activity_io *o = &s->a->io[i];
        if (!has_waits(s, n, o))
            continue;
        bytes += (double)o->bytes;
        waits += (double)o->waits;
        known = known && !o->unsaid;
    }
    n->least = n->most = known && waits > 0 ? bytes / waits : (double)NAN;
    n->is = isnan(n->least) ? SEARCH_OPEN : n->least < whys[SEARCH_SMALL].threshold ? SEARCH_TRUE : SEARCH_FALSE;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static uint64_t key_of(const struct search *s, const struct search_node *n)
{
    const struct search_term *of = &s->of[n->term];
    uint32_t key[] = {n->why,
                      n->place,
                      n->place < SEARCH_NODE ? 0 : of->node,
                      n->place < SEARCH_PROCESS ? 0 : of->process,
                      n->place < SEARCH_SPAN ? 0 : s->terms->terms[n->term].span,
                      n->with,
                      n->with ? of->with : 0};
    return hash_fnv64(HASH_FNV64_START, key, sizeof key);
}

/* Adds a hypothesis; or, if they are all there, notes that what `parent` says is said closer. */
static int take_closer(struct search *s, size_t parent, struct search_node n, bool all)
{
    uint64_t key = key_of(s, &n);
    int found = hash_index_find(&s->by_node, key, 0);
    if (found >= 0) {
        s->nodes[parent].leaf = s->nodes[parent].leaf && !(all && s->nodes[found].is == SEARCH_TRUE);
        return 0;
    }
    if (all)
        return 0;
    if (!grow_list(&s->nodes, &s->capacity, s->count, sizeof *s->nodes) || !grow_index(&s->by_node, s->count))
        return BEZEL_ENOMEM;
    hash_index_put(&s->by_node, key, 0, (uint32_t)s->count);
    s->nodes[s->count++] = n;
    return 0;
}

/* Each hypothesis that is a step closer than the one with number `i`. */
static int take_step(struct search *s, size_t i, bool all)
{
    struct search_node is = s->nodes[i];
    enum search_place closer = is.place == SEARCH_RUN && s->node_count < 2 ? SEARCH_PROCESS : is.place + 1;
    int err = 0;
    if (is.why == SEARCH_IO)
        err = take_closer(s, i, (struct search_node){SEARCH_SMALL, is.place, is.with, .term = is.term}, all);
    for (size_t t = 0; t < s->terms->count && !err; t++) {
        if (!is_about(s, &is, t))
            continue;
        if (is.place < SEARCH_SPAN)
            err = take_closer(s, i, (struct search_node){is.why, closer, is.with, .term = t}, all);
        if (!err && !is.with && s->of[t].with != NOBODY)
            err = take_closer(s, i, (struct search_node){is.why, is.place, true, .term = t}, all);
    }
    return err;
}

static int add_roots(struct search *s)
{
    int err = 0;
    for (int why = 0; why < SEARCH_WHYS && !err; why++)
        if (why != SEARCH_SMALL)
            err = take_closer(s, 0, (struct search_node){.why = (enum search_why)why}, false);
    return err;
}

int search_find(const struct activity *a, const struct slow_terms *t, struct search *s)
{
    s->a = a;
    s->terms = t;
    s->all = t->slow - (isnan(t->usual) ? 0 : t->usual) + s->missing;
    s->of = calloc(t->count + 1, sizeof *s->of);
    int err = s->of ? 0 : BEZEL_ENOMEM;
    if (err || t->count == 0 || !(s->all > 0))
        return err;
    for (size_t i = 0; i < t->count && !err; i++)
        err = find_places(s, i) ? 0 : BEZEL_ENOMEM;
    err = err ? err : add_roots(s);
    for (size_t i = 0; i < s->count && !err; i++) {
        struct search_node *n = &s->nodes[i];
        if (n->why == SEARCH_SMALL)
            test_small(s, n);
        else
            test_share(s, n);
        n->leaf = n->is == SEARCH_TRUE;
        err = n->leaf ? take_step(s, i, false) : 0;
    }
    for (size_t i = 0; i < s->count && !err; i++)
        err = s->nodes[i].leaf ? take_step(s, i, true) : 0;
    return err;
}

void search_fini(struct search *s)
{
    free(s->nodes);
    free(s->of);
    free(s->by_place.slots);
    free(s->by_node.slots);
    *s = (struct search){0};
}

bool search_is_known(const struct search *s)
{
    bool open = s->count == 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->nodes[i].is == SEARCH_TRUE)
            return true;
        open = open || s->nodes[i].is == SEARCH_OPEN;
    }
    return !open;
}
