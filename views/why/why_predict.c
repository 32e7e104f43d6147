// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What a change would do, or which of the changes that can be tried one by one would do most. */
#include "base/grow.h"
#include "base/table.h"
#include "views/why/why_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGES_MOST = 32, CHANGES_SHOWN = 8 };

/* ---- changes that are tried -------------------------------------------------------------------------------------- */

struct tried {
    struct why_answer *a;
    size_t count;
    struct whatif_change changes[CHANGES_MOST];
};

static void try_change(struct tried *t, const char *text)
{
    struct why_prediction *p = t->a->predictions;
    const char *why;
    if (t->count == CHANGES_MOST || whatif_read(text, &t->changes[t->count], &why) != 0)
        return;
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(p[i].change, text) == 0)
            return;
    snprintf(p[t->count++].change, sizeof p->change, "%s", text);
}

static void try_zero(struct tried *t, const char *name)
{
    char text[sizeof t->a->predictions->change];
    snprintf(text, sizeof text, "%s = 0", name);
    try_change(t, text);
}

/* The process of `thread` on another CPU of its node, and on other nodes. */
static void try_places(struct tried *t, const struct activity_thread *is, const char *name)
{
    const struct activity *a = &t->a->activity;
    char text[sizeof t->a->predictions->change];
    uint64_t there = 0;
    for (size_t i = 0; i < a->thread_count; i++) {
        const struct activity_thread *other = &a->threads[i];
        there |= other->node_row == is->node_row ? other->cpus : 0;
        snprintf(text, sizeof text, "move %s to %s", name, other->node);
        if (other->node_row != is->node_row && other->cpus)
            try_change(t, text);
    }
    for (int cpu = 0; cpu < 64; cpu++)
        if ((there & ~is->cpus) >> cpu & 1) {
            snprintf(text, sizeof text, "move %s to CPU %d", name, cpu);
            try_change(t, text);
        }
}

/* What a term of the slow instances says may be changed. */
static void try_term(struct tried *t, const struct slow_term *is)
{
    static const char *const waits[PATH_CLASSES] = {
        [PATH_MESSAGE] = "network", [PATH_LOCK] = "lock", [PATH_IO] = "io", [PATH_SLEEP] = "sleep"};
    const struct activity_thread *thread = &t->a->activity.threads[is->thread];
    char name[sizeof t->changes->name];
    snprintf(name, sizeof name, "%s/%s", thread->node, thread->process);
    if (waits[is->is])
        try_zero(t, waits[is->is]);
    if (is->is != PATH_RUNNING && is->is != PATH_READY && is->is != PATH_MONITOR)
        return;
    if (is->span != ACTIVITY_NONE)
        try_zero(t, t->a->activity.names[is->span]);
    try_zero(t, name);
    try_places(t, thread, name);
}

/* Waits of programs that a path does not show, as it goes on in the thread that ended them. */
static void try_waits(struct tried *t, const struct activity_thread *is)
{
    static const char *const waits[] = {
        [ACTIVITY_FOR_LOCK] = "lock", [ACTIVITY_FOR_IO] = "io", [ACTIVITY_FOR_TIMER] = "sleep"};
    for (size_t i = 0; i < is->span_count; i++)
        if (is->spans[i].reason >= ACTIVITY_FOR_LOCK && is->spans[i].reason <= ACTIVITY_FOR_TIMER)
            try_zero(t, waits[is->spans[i].reason]);
}

static void try_all(struct tried *t)
{
    const struct slow_terms *terms = &t->a->terms;
    for (size_t i = 0; i < t->a->activity.thread_count; i++)
        try_waits(t, &t->a->activity.threads[i]);
    for (size_t i = 0; i < terms->count; i++)
        if (terms->terms[i].slow >= terms->slow / 100)
            try_term(t, &terms->terms[i]);
}

static int by_gain(const void *x, const void *y)
{
    const struct whatif *a = &((const struct why_prediction *)x)->whatif,
                        *b = &((const struct why_prediction *)y)->whatif;
    bool known = whatif_is_known(a);
    if (known != whatif_is_known(b))
        return known ? -1 : 1;
    return known ? (a->predicted > b->predicted) - (a->predicted < b->predicted) : 0;
}

int why_predict(struct why_answer *a)
{
    struct tried *t = a->question.change ? calloc(1, sizeof *t) : NULL;
    a->predictions = t ? calloc(CHANGES_MOST, sizeof *a->predictions) : NULL;
    struct whatif *w = a->predictions ? calloc(CHANGES_MOST, sizeof *w) : NULL;
    if (w) {
        t->a = a;
        if (strcmp(a->question.change, WHY_BEST) == 0)
            try_all(t);
        else
            try_change(t, a->question.change);
        whatif_predict(&a->activity, &a->choice, t->changes, t->count, w);
        for (size_t i = 0; i < t->count; i++) {
            whatif_compare(&w[i], &t->changes[i], &a->terms);
            a->predictions[i].whatif = w[i];
        }
        a->prediction_count = t->count;
        qsort(a->predictions, t->count, sizeof *a->predictions, by_gain);
    }
    bool ok = w || !a->question.change;
    free(w);
    free(t);
    return ok ? 0 : BEZEL_ENOMEM;
}

bool why_is_predicted(const struct why_answer *a)
{
    return !a->question.change || (a->prediction_count > 0 && whatif_is_known(&a->predictions[0].whatif));
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

/* Why there is no prediction; NULL: there is one. */
static const char *why_unpredicted(const struct why_answer *a, const struct whatif *w)
{
    if (whatif_is_known(w))
        return NULL;
    if (a->choice.count == 0)
        return "there are no instances";
    if (w->lack == WHATIF_LACKS_PLACE)
        return "nothing of the run worked there, so nobody knows who has the CPU there";
    if (w->lack == WHATIF_LACKS_NETWORK)
        return "no message between those two nodes tells how long one would be under way";
    if (w->instances == 0)
        return "nobody knows when their threads were on a CPU";
    if (!w->applies)
        return w->lack == WHATIF_LACKS_SWITCHES ? "nobody knows when its threads were on a CPU"
                                                : "nothing of that name took any time in them";
    if (w->left_out > w->instances)
        return "most of them cannot be simulated";
    if (isnan(w->error))
        return "so few instances do not tell how far off a prediction is";
    if (w->error > WHATIF_ERROR_MOST)
        return "the simulation does not reproduce the run as it was";
    if (w->unlike > w->predicted - w->least)
        return "they may wait until a fixed time, so that they wait for as long as they are early, as usual ones do";
    return w->ahead > (w->predicted - w->least) / 2
               ? "what it changes had begun before them, and nobody knows how far it would have been by then"
               : "too much of it is waiting that may change as well, and no message says for what that was";
}

static void put_as_it_was(const struct whatif *w, FILE *out)
{
    if (w->instances && w->applies && !isnan(w->error))
        fprintf(out, " (as they were, the simulation gives %s, and may be %s off)", why_duration(w->simulated).s,
                number_percent(w->error).s);
}

static void put_one(const struct why_answer *a, const char *change, const struct whatif *w, FILE *out)
{
    const char *why = why_unpredicted(a, w);
    if (why)
        fprintf(out, "What if %s: unknown, %s", change, why);
    else
        fprintf(out, "What if %s: the longest %s would take %s on average, give or take %s, not %s", change,
                units_count(w->instances).s, why_duration(w->predicted).s, why_duration(whatif_error(w) * w->actual).s,
                why_duration(w->actual).s);
    put_as_it_was(w, out);
    fputs(".\n", out);
}

/* How much shorter the instances would be, as far as that is more than the error. */
static bool gains(const struct whatif *w)
{
    return whatif_is_known(w) && w->actual - w->predicted > whatif_error(w) * w->actual;
}

/* The changes of which nobody knows what they would do. */
static void put_unknown(const struct why_answer *a, FILE *out)
{
    size_t count = 0;
    for (size_t i = 0; i < a->prediction_count; i++) {
        const struct why_prediction *p = &a->predictions[i];
        if (p->whatif.applies && !whatif_is_known(&p->whatif) && count++ < CHANGES_SHOWN)
            fprintf(out, "%s%s", count > 1 ? ", " : "What these would do is unknown: ", p->change);
    }
    if (count > CHANGES_SHOWN)
        fprintf(out, ", and %zu others", count - CHANGES_SHOWN);
    fputs(count ? ".\n" : "", out);
}

static void put_best(const struct why_answer *a, FILE *out)
{
    static const char *const heads[] = {"what if", "would take", "give or take"};
    const struct why_prediction *p = a->predictions;
    if (a->prediction_count == 0 || !gains(&p->whatif)) {
        const char *why = a->prediction_count                         ? why_unpredicted(a, &p->whatif)
                          : a->terms.slow_unknown > a->terms.slow / 2 ? "what most of their time was is not known"
                                                                      : "they have no time that can be changed";
        fprintf(out, "What if: no single change is known to help%s%s.\n", why ? ": " : "", why ? why : "");
        return;
    }
    fprintf(out, "What the longest %s would take on average, not %s, with a single change",
            units_count(p->whatif.instances).s, why_duration(p->whatif.actual).s);
    put_as_it_was(&p->whatif, out);
    fputs(":\n", out);
    struct table *t = table_with_heads("lrr", heads);
    for (size_t i = 0; i < a->prediction_count && i < CHANGES_SHOWN && gains(&p[i].whatif); i++) {
        table_cell(t, "%s", p[i].change);
        table_cell(t, "%s", why_duration(p[i].whatif.predicted).s);
        table_cell(t, "%s", why_duration(whatif_error(&p[i].whatif) * p[i].whatif.actual).s);
    }
    table_print(t, 2, out);
    put_unknown(a, out);
}

void why_put_predictions(const struct why_answer *a, FILE *out)
{
    static const struct whatif none = {0};
    if (!a->question.change)
        return;
    if (strcmp(a->question.change, WHY_BEST) == 0)
        put_best(a, out);
    else
        put_one(a, a->question.change, a->prediction_count ? &a->predictions[0].whatif : &none, out);
}

static void put_json(const struct why_answer *a, const char *name, const char *change, const struct whatif *w,
                     struct json *j)
{
    const char *why = why_unpredicted(a, w);
    json_object(j, name);
    json_text(j, "change", change);
    json_uint(j, "instances", w->instances);
    json_uint(j, "left_out", w->left_out);
    json_double(j, "actual_ns", w->instances ? w->actual : (double)NAN);
    json_double(j, "simulated_ns", w->instances ? w->simulated : (double)NAN);
    json_double(j, "error", w->error);
    json_double(j, "predicted_ns", why ? (double)NAN : w->predicted);
    json_double(j, "predicted_error_ns", why ? (double)NAN : whatif_error(w) * w->actual);
    json_text(j, "why", why);
    json_object_end(j);
}

void why_json_predictions(const struct why_answer *a, struct json *j)
{
    static const struct whatif none = {0};
    if (!a->question.change)
        return;
    if (strcmp(a->question.change, WHY_BEST) != 0) {
        put_json(a, "what_if", a->question.change, a->prediction_count ? &a->predictions[0].whatif : &none, j);
        return;
    }
    json_array(j, "best");
    for (size_t i = 0; i < a->prediction_count; i++)
        put_json(a, NULL, a->predictions[i].change, &a->predictions[i].whatif, j);
    json_array_end(j);
}
