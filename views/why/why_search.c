// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What a search through hypotheses found, as text and JSON. */
#include "base/json.h"
#include "base/plain.h"
#include "base/table.h"
#include "views/why/why_internal.h"

#include <math.h>
#include <string.h>

static const char *const texts[SEARCH_WHYS] = {[SEARCH_RUNNING] = "runs",
                                               [SEARCH_READY] = "ready, on no CPU",
                                               [SEARCH_MONITOR] = "the monitor has the CPU, or records",
                                               [SEARCH_MESSAGE] = "waits for messages under way",
                                               [SEARCH_LOCK] = "waits for locks",
                                               [SEARCH_IO] = "waits for input or output",
                                               [SEARCH_SMALL] = "input and output in small pieces",
                                               [SEARCH_SLEEP] = "sleeps",
                                               [SEARCH_STOPPED] = "is stopped"};

static double more(double a, double b)
{
    return a > b ? a - b : 0;
}

/* ns of the time of a path that are before or behind it. */
static double missing_of(const struct why_answer *a)
{
    const struct why_question *q = &a->question;
    const struct slow_instance *path = a->choice.slow;
    bool first = q->phase < 2, last = q->phase == q->phases;
    int64_t end = last && a->newest < q->until ? a->newest : q->until;
    if (q->of != WHY_PATH || a->choice.slow_count == 0)
        return 0;
    return (first ? 0 : more((double)path->from, (double)q->from)) +
           (last && q->until == INT64_MAX ? 0 : more((double)end, (double)path->until));
}

int why_search(struct why_answer *a)
{
    const struct slow_recording *slow = &a->terms.of_slow, *usual = &a->terms.of_usual;
    if (!a->question.search)
        return 0;
    if (a->question.of == WHY_PATH)
        a->search.recording_most = (double)a->records * SLOW_RECORD_MOST;
    else
        a->search.recording_most = more(slow->most, usual->least);
    a->search.missing = missing_of(a);
    a->search.recording_least = a->question.of == WHY_PATH ? 0 : more(slow->least, usual->most);
    return search_find(&a->activity, &a->terms, &a->search);
}

bool why_is_found(const struct why_answer *a)
{
    return search_is_known(&a->search);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static struct why_what_text what(const struct why_page *p, const struct why_answer *a, const struct search_node *n)
{
    const struct slow_term *t = &a->terms.terms[n->term];
    struct why_what_text text;
    if (n->with && t->peer != ACTIVITY_NONE)
        snprintf(text.s, sizeof text.s, "waits for messages of %s under way", why_process(p, a, t->peer, false).s);
    else if (n->with)
        snprintf(text.s, sizeof text.s, "ready, %s%s%s has the CPU", a->activity.names[t->by],
                 why_pid_text(a->activity.pids[t->by]).s, n->why == SEARCH_MONITOR ? " (the monitor)" : "");
    else if (n->why == SEARCH_SMALL && n->is == SEARCH_TRUE)
        snprintf(text.s, sizeof text.s, "%s, of %.0f B on average", texts[n->why], n->least);
    else
        snprintf(text.s, sizeof text.s, "%s", texts[n->why]);
    plain_text(text.s);
    return text;
}

static struct why_place_text where(const struct why_page *p, const struct why_answer *a, const struct search_node *n)
{
    const struct slow_term *t = &a->terms.terms[n->term];
    struct why_place_text text = {"everywhere"};
    if (n->place == SEARCH_NODE)
        snprintf(text.s, sizeof text.s, "%s", a->activity.threads[t->thread].node);
    if (n->place >= SEARCH_PROCESS)
        text = why_process(p, a, t->thread, false);
    size_t used = strlen(text.s);
    if (n->place == SEARCH_SPAN)
        snprintf(text.s + used, sizeof text.s - used, "%s%s", t->span == ACTIVITY_NONE ? ", in no span" : " in ",
                 t->span == ACTIVITY_NONE ? "" : a->activity.names[t->span]);
    plain_text(text.s);
    return text;
}

static size_t count(const struct search *s, enum search_is is)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++)
        n += s->nodes[i].is == is;
    return n;
}

/* The share of the same hypothesis over all of the time. */
static double share_of_all(const struct search *s, enum search_why why)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->nodes[i].why == why)
            return s->nodes[i].least;
    return 0;
}

static void put_found(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    static const char *const heads[] = {"share", "of all", "what", "where"};
    struct table *t = table_with_heads("rrll", heads);
    for (size_t i = 0; i < a->search.count; i++) {
        const struct search_node *n = &a->search.nodes[i];
        bool small = n->why == SEARCH_SMALL;
        if (!n->leaf)
            continue;
        table_cell(t, "%s", small ? "" : number_percent(n->least).s);
        table_cell(t, "%s", small ? "" : number_percent(share_of_all(&a->search, n->why)).s);
        table_cell(t, "%s", what(p, a, n).s);
        table_cell(t, "%s", where(p, a, n).s);
    }
    table_print(t, 2, out);
}

/* What may be true, over all of the time; and where waits do not say how much they were for. */
static void put_open(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    const char *comma = "Unknown:";
    for (size_t i = 0; i < a->search.count; i++) {
        const struct search_node *n = &a->search.nodes[i];
        if (n->is != SEARCH_OPEN || n->why == SEARCH_SMALL || n->place != SEARCH_RUN || n->with)
            continue;
        fprintf(out, "%s %s (%s .. %s)", comma, texts[n->why], number_percent(n->least > 0 ? n->least : 0).s,
                number_percent(n->most < 1 ? n->most : 1).s);
        comma = ";";
    }
    fputs(*comma == ';' ? ".\n" : "", out);
    for (size_t i = 0; i < a->search.count; i++) {
        const struct search_node *n = &a->search.nodes[i];
        if (n->is == SEARCH_OPEN && n->why == SEARCH_SMALL && n->place == SEARCH_SPAN)
            fprintf(out,
                    "Unknown: %s: %s; a BEZEL_WAIT for io with a field `bytes` around each operation makes it known.\n",
                    texts[n->why], where(p, a, n).s);
    }
}

void why_put_search(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    const struct search *s = &a->search;
    if (s->count == 0) {
        fputs(a->choice.slow_count ? "The slow ones took no longer than the usual ones.\n"
                                   : "Nothing that threads did is stored of this time.\n",
              out);
        return;
    }
    fprintf(out, "Of %s: %zu hypotheses were tested, %zu are true, %zu unknown.\n", why_duration(s->all).s, s->count,
            count(s, SEARCH_TRUE), count(s, SEARCH_OPEN));
    if (count(s, SEARCH_TRUE))
        put_found(p, a, out);
    put_open(p, a, out);
    if (s->missing > s->all / 100)
        fprintf(out, "Of %s nothing that threads did is stored.\n", why_duration(s->missing).s);
    if (a->question.of == WHY_PATH && s->recording_most / s->all > search_threshold(SEARCH_MONITOR))
        fprintf(out, "Programs made %s records in that time: recording them took %s at most.\n",
                units_count(a->records).s, why_duration(s->recording_most).s);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_node(struct json *j, const struct why_answer *a, const struct search_node *n)
{
    static const char *const verdicts[] = {"false", "unknown", "true"}, *const levels[] = {"run", "node", "process",
                                                                                           "span"};
    const struct slow_term *t = &a->terms.terms[n->term];
    const struct activity_thread *is = &a->activity.threads[t->thread],
                                 *peer = n->with && t->peer != ACTIVITY_NONE ? &a->activity.threads[t->peer] : NULL;
    int64_t pid = n->place >= SEARCH_PROCESS ? why_pid(a, t->thread) : 0;
    bool small = n->why == SEARCH_SMALL;
    json_object(j, NULL);
    json_text(j, "hypothesis", search_why_name(n->why));
    json_text(j, "verdict", verdicts[n->is]);
    json_bool(j, "found", n->leaf);
    json_double(j, "least", small ? (double)NAN : n->least);
    json_double(j, "most", small ? (double)NAN : n->most);
    json_double(j, "bytes", small ? n->least : (double)NAN);
    json_double(j, "threshold", search_threshold(n->why));
    json_text(j, "level", levels[n->place]);
    json_text(j, "node", n->place >= SEARCH_NODE ? is->node : NULL);
    json_text(j, "process", n->place >= SEARCH_PROCESS ? is->process : NULL);
    json_known_int(j, "pid", pid > 0, pid);
    json_text(j, "span", n->place == SEARCH_SPAN && t->span != ACTIVITY_NONE ? a->activity.names[t->span] : NULL);
    json_text(j, "sender_node", peer ? peer->node : NULL);
    json_text(j, "sender", peer ? peer->process : NULL);
    json_text(j, "by", n->with && t->by != ACTIVITY_NONE ? a->activity.names[t->by] : NULL);
    json_object_end(j);
}

void why_json_search(const struct why_answer *a, struct json *j)
{
    if (!a->question.search)
        return;
    json_known_int(j, "records", a->question.of == WHY_PATH, (int64_t)a->records);
    json_double(j, "missing_ns", a->search.missing);
    json_array(j, "search");
    for (size_t i = 0; i < a->search.count; i++)
        put_node(j, a, &a->search.nodes[i]);
    json_array_end(j);
}

/* ---- what was recorded for it ------------------------------------------------------------------------------------ */

void why_put_turns(const struct why_page *p, FILE *out)
{
    for (size_t i = 0; p->turns && i < p->turns->count; i++) {
        const struct why_turn *t = &p->turns->turns[i];
        fprintf(out, "After %s %s was ", why_duration((double)t->after).s, t->aspect);
        if (t->on)
            fprintf(out, "recorded: it might explain %s, for up to %s of a CPU.\n", number_percent(t->may).s,
                    number_percent(t->cost).s);
        else
            fprintf(out, "counted only again: it explained %s.\n", number_percent(t->says).s);
    }
    if (p->turns && p->turns->held_back)
        fprintf(out, "%s.\n", p->turns->held_back);
}

static void json_turns(const struct why_page *p, struct json *j)
{
    json_text(j, "held_back", p->turns ? p->turns->held_back : NULL);
    json_array(j, "turns");
    for (size_t i = 0; p->turns && i < p->turns->count; i++) {
        const struct why_turn *t = &p->turns->turns[i];
        json_object(j, NULL);
        json_int(j, "after_ns", t->after);
        json_text(j, "aspect", t->aspect);
        json_bool(j, "recorded", t->on);
        json_double(j, "may", t->may);
        json_double(j, "says", t->says);
        json_double(j, "cpu_most", t->cost);
        json_object_end(j);
    }
    json_array_end(j);
}

/* ---- what could be recorded -------------------------------------------------------------------------------------- */

void why_put_unrecorded(const struct why_page *p, FILE *out)
{
    for (size_t i = 0; i < p->unrecorded_count; i++) {
        const struct why_unrecorded *u = &p->unrecorded[i];
        struct why_what_text of;
        snprintf(of.s, sizeof of.s, "%s of %s", u->aspect, u->process);
        plain_text(of.s);
        fprintf(out, "Counted, and not recorded: %s, %s times", of.s, units_count(u->count).s);
        if (!isnan(u->cpu))
            fprintf(out, "; recording it takes up to %s of a CPU", number_percent(u->cpu).s);
        fputs(p->goes_on ? ": `bezel aspects on` turns it on.\n"
                         : "; leave it out of sensing: {aspects: {count}} to know more.\n",
              out);
    }
}

void why_json_unrecorded(const struct why_page *p, struct json *j)
{
    if (!p->search)
        return;
    json_turns(p, j);
    json_array(j, "unrecorded");
    for (size_t i = 0; i < p->unrecorded_count; i++) {
        const struct why_unrecorded *u = &p->unrecorded[i];
        json_object(j, NULL);
        json_text(j, "process", u->process);
        json_text(j, "aspect", u->aspect);
        json_uint(j, "count", u->count);
        json_double(j, "cpu_most", u->cpu);
        json_object_end(j);
    }
    json_array_end(j);
}
