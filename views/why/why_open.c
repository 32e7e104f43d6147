// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Instances that no record ends, as those of a program that hangs: a span that is open, and the time since the last
 * record of whatever has stopped to make them. The spans that are open say what threads are in meanwhile.
 */
#include "views/why/why_internal.h"

#include <fnmatch.h>
#include <string.h>

enum { OPEN_SHOWN = 3, INSIDE_SHOWN = 3 };

int64_t why_between(const struct why_question *q, int64_t node_row, int64_t process_row)
{
    return q->between == WHY_OF_RUN ? 0 : q->between == WHY_OF_NODE ? node_row : process_row;
}

static bool is_asked(const struct why_question *q, const struct why_open *o)
{
    return (!q->node || fnmatch(q->node, o->node, 0) == 0) && (!q->process || fnmatch(q->process, o->process, 0) == 0);
}

/* Whether process `o` is the last one to end of those whose records count together. */
static bool is_last(const struct why_question *q, const struct why_open *o)
{
    int64_t of = why_between(q, o->node_row, o->row);
    for (size_t k = 0; k < q->open_count; k++) {
        const struct why_open *other = &q->open[k];
        if (!other->span && other != o && is_asked(q, other) && why_between(q, other->node_row, other->row) == of &&
            (other->until > o->until || (other->until == o->until && other > o)))
            return false;
    }
    return true;
}

/* The latest record of those with which those of `o` count; NULL: none is known. */
static const struct why_last *last_with(const struct why_question *q, const struct why_open *o,
                                        const struct why_lasts *lasts)
{
    const struct why_last *last = NULL;
    for (size_t k = 0; k < lasts->count; k++)
        if (lasts->list[k].of == why_between(q, o->node_row, o->row) && (!last || lasts->list[k].at > last->at))
            last = &lasts->list[k];
    return last && last->at < INT64_MAX ? last : NULL;
}

static bool add(struct why_answer *a, const struct slow_instance *i)
{
    return i->until < a->question.from || i->until >= a->question.until || slow_add(&a->choice, i);
}

static bool add_silence(struct why_answer *a, const struct why_open *o, const struct why_lasts *lasts)
{
    const struct why_last *last = is_last(&a->question, o) ? last_with(&a->question, o, lasts) : NULL;
    if (!last || last->at >= o->until || (o->itself && o->until - last->at <= a->question.excused))
        return true;
    return add(a, &(struct slow_instance){last->at, o->until, last->process, last->thread, true,
                                          a->question.between != WHY_OF_THREAD});
}

static bool is_instance(const struct why_question *q, const struct why_open *o)
{
    return o->span && !q->where && strcmp(o->span, q->aspect) == 0 &&
           strcmp(q->field ? q->field : "duration", o->field) == 0;
}

bool why_add_open(struct why_answer *a, const struct why_lasts *lasts)
{
    const struct why_question *q = &a->question;
    bool added = true;
    for (size_t k = 0; k < q->open_count && added; k++) {
        const struct why_open *o = &q->open[k];
        if (!is_asked(q, o))
            continue;
        if (q->of == WHY_GAP && !o->span)
            added = add_silence(a, o, lasts);
        else if (q->of == WHY_FIELD && is_instance(q, o))
            added = add(a, &(struct slow_instance){o->from, o->until, o->row, o->thread, true, false});
    }
    return added;
}

bool why_take_open(struct why_answer *a)
{
    bool taken = true;
    for (size_t k = 0; k < a->question.open_count && taken; k++) {
        const struct why_open *o = &a->question.open[k];
        struct activity_thread is = {
            .node_row = o->node_row, .process_row = o->row, .id = o->thread, .pid = o->pid, .first = INT64_MAX};
        snprintf(is.node, sizeof is.node, "%s", o->node);
        snprintf(is.process, sizeof is.process, "%s", o->process);
        if (o->span)
            taken = activity_add_open(&a->activity, &is, o->span, o->reason,
                                      (struct activity_span){.begin = o->from, .end = o->until});
    }
    return taken;
}

/* ---- what is shown ----------------------------------------------------------------------------------------------- */

/* The next one in the list, from *k on, that the thread of instance `i` was in, or, `ends`, its process; NULL: none. */
static const struct why_open *next(const struct why_question *q, const struct slow_instance *i, bool ends, size_t *k)
{
    while (*k < q->open_count) {
        const struct why_open *o = &q->open[(*k)++];
        if (o->row == i->process && (ends ? !o->span : o->span && o->thread == i->thread))
            return o;
    }
    return NULL;
}

static const char *waits_for(const char *reason)
{
    static const char *const texts[][2] = {
        {"message", "a message"}, {"lock", "a lock"}, {"io", "input or output"}, {"timer", "a time"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i][0], reason) == 0)
            return texts[i][1];
    return "something else";
}

static bool is_same(const struct why_open *a, const struct why_open *b)
{
    return strcmp(a->span, b->span) == 0 && strcmp(a->reason, b->reason) == 0;
}

/* The number of those like `o` that instance `i` was in; 0: `o` is not the first of them. */
static size_t count_like(const struct why_question *q, const struct slow_instance *i, const struct why_open *o)
{
    const struct why_open *other;
    size_t n = 0;
    for (size_t k = 0; (other = next(q, i, false, &k)) != NULL;) {
        if (n == 0 && is_same(other, o) && other != o)
            return 0;
        n += is_same(other, o);
    }
    return n;
}

static void put_inside(const struct why_question *q, const struct slow_instance *i, FILE *out)
{
    const struct why_open *o;
    size_t shown = 0, more = 0, n;
    for (size_t k = 0; (o = next(q, i, false, &k)) != NULL;) {
        if ((n = count_like(q, i, o)) == 0)
            continue;
        if (shown == INSIDE_SHOWN) {
            more += n;
            continue;
        }
        fprintf(out, "%s %s", shown++ ? ", in" : "; it was in", o->span);
        if (n > 1)
            fprintf(out, " %zu times", n);
        if (*o->reason)
            fprintf(out, ", which waits for %s", waits_for(o->reason));
    }
    if (more > 0)
        fprintf(out, ", and in %zu more", more);
}

static void put_one(const struct why_page *p, const struct why_answer *a, const struct slow_instance *i, FILE *out)
{
    const struct why_question *q = &a->question;
    size_t k = 0;
    const struct why_open *end = next(q, i, true, &k);
    uint32_t thread = activity_find(&a->activity, i->process, i->thread);
    struct why_place_text who = {"a process"};
    if (thread != ACTIVITY_NONE)
        who = why_process(p, a, thread, true);
    fprintf(out,
            q->of == WHY_GAP ? "One has no end: %s made no %s after %.6f s, for %s, until "
                             : "One has no end: %s is in %s since %.6f s, for %s, until ",
            who.s, q->aspect, (double)(i->from - p->started) / 1e9, why_duration((double)(i->until - i->from)).s);
    fputs(end && end->ended && end->until <= i->until ? "its process ended"
          : p->goes_on                                ? "now"
                                                      : "the run ended",
          out);
    put_inside(q, i, out);
    fputs(".\n", out);
}

void why_put_open(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    size_t shown = 0;
    for (size_t k = 0; k < a->choice.slow_count && shown < OPEN_SHOWN; k++)
        if (a->choice.slow[k].open) {
            put_one(p, a, &a->choice.slow[k], out);
            shown++;
        }
}

void why_json_open(const struct why_page *p, const struct why_answer *a, struct json *j)
{
    const struct why_open *o;
    json_array(j, "open");
    for (size_t n = 0, k = 0; n < a->choice.slow_count; n++, k = 0) {
        const struct slow_instance *i = &a->choice.slow[n];
        const struct why_open *end = i->open ? next(&a->question, i, true, &k) : NULL;
        if (!end)
            continue;
        json_object(j, NULL);
        json_text(j, "node", end->node);
        json_text(j, "process", end->process);
        json_uint(j, "pid", end->pid);
        json_uint(j, "thread", i->thread);
        json_int(j, "from_ns", i->from - p->started);
        json_int(j, "until_ns", i->until - p->started);
        json_bool(j, "ended", end->ended && end->until <= i->until);
        json_array(j, "in");
        for (k = 0; (o = next(&a->question, i, false, &k)) != NULL;) {
            json_object(j, NULL);
            json_text(j, "span", o->span);
            json_text(j, "reason", *o->reason ? o->reason : NULL);
            json_object_end(j);
        }
        json_array_end(j);
        json_object_end(j);
    }
    json_array_end(j);
}
