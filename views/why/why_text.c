// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/plain.h"
#include "base/table.h"
#include "base/units.h"
#include "views/why/why_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TERMS_SHOWN = 8, PIECES_SHOWN = 20, SLACK_SHOWN = 3, DELAYS_SHOWN = 3 };

static const char *const reasons[PATH_WHYS] = {
    [PATH_KNOWN] = "?",
    [PATH_NO_SWITCHES] = "on a CPU or waiting, no switches were recorded here",
    [PATH_LOST] = "records were lost here",
    [PATH_BLOCKED] = "waited, and no record says for what",
    [PATH_WOKEN] = "waited, until a thread ended that, of which nothing is recorded",
    [PATH_SOFTIRQ] = "waited for work of the kernel, such as a message",
    [PATH_INTERRUPT] = "waited for a timer or a device",
    [PATH_UNSENT] = "waited for a message whose sending is not recorded",
    [PATH_BETWEEN] = "waited, or was ready: the kernel's sums leave it open",
    [PATH_CLOCKS] = "waited for a message of a node whose clock is not known",
    [PATH_BEGINNING] = "before the first record of the thread",
    [PATH_CYCLE] = "messages lead back to where the path was",
    [PATH_FORGOTTEN] = "what it leads to is too long ago, or too much, to be kept",
};

struct units_text why_duration(double ns)
{
    struct units_text t, d = units_duration((int64_t)llround(fabs(ns)));
    if (isnan(ns))
        snprintf(t.s, sizeof t.s, "-");
    else
        snprintf(t.s, sizeof t.s, "%s%.38s", ns <= -0.5 ? "-" : "", d.s);
    return t;
}

int64_t why_pid(const struct why_answer *a, uint32_t thread)
{
    const struct activity_thread *is = &a->activity.threads[thread];
    for (size_t i = 0; i < a->activity.thread_count; i++) {
        const struct activity_thread *t = &a->activity.threads[i];
        if (t->pid != is->pid && strcmp(t->process, is->process) == 0 && strcmp(t->node, is->node) == 0)
            return ACTIVITY_SEVERAL;
    }
    return is->pid;
}

struct why_pid_text why_pid_text(int64_t pid)
{
    struct why_pid_text text = {""};
    if (pid > 0)
        snprintf(text.s, sizeof text.s, " (%" PRId64 ")", pid);
    return text;
}

struct why_place_text why_process(const struct why_page *p, const struct why_answer *a, uint32_t thread, bool own)
{
    const struct activity_thread *t = &a->activity.threads[thread];
    struct why_place_text text;
    int n = snprintf(text.s, sizeof text.s, "%s%s%s", p->several_nodes ? t->node : "", p->several_nodes ? "/" : "",
                     t->process);
    plain_text(text.s);
    if (own && t->pid != t->id)
        snprintf(text.s + n, sizeof text.s - (size_t)n, " (%" PRIu32 ", thread %" PRIu32 ")", t->pid, t->id);
    else
        snprintf(text.s + n, sizeof text.s - (size_t)n, "%s", why_pid_text(own ? t->pid : why_pid(a, thread)).s);
    return text;
}

struct why_doing why_doing_of(const struct slow_term *t)
{
    return (struct why_doing){t->is, t->why, t->thread, t->span, t->peer, t->by, false};
}

/* Whether nobody is known to have the CPU, while a thread is ready. */
static bool nobody_has(const struct why_answer *a, enum path_why why, uint32_t by)
{
    return by == ACTIVITY_NONE ? why == PATH_BETWEEN : strcmp(a->activity.names[by], "idle") == 0;
}

struct why_what_text why_what(const struct why_page *p, const struct why_answer *a, const struct why_doing *d)
{
    static const char *const known[PATH_CLASSES] = {[PATH_RUNNING] = "runs",
                                                    [PATH_LOCK] = "waits for a lock",
                                                    [PATH_IO] = "waits for input or output",
                                                    [PATH_SLEEP] = "sleeps",
                                                    [PATH_STOPPED] = "is stopped"};
    const char *by = d->by == ACTIVITY_NONE ? NULL : a->activity.names[d->by];
    struct why_pid_text pid = why_pid_text(by ? a->activity.pids[d->by] : 0);
    struct why_what_text text;
    if (d->is == PATH_MESSAGE)
        snprintf(text.s, sizeof text.s, "waits for a message of %s", why_process(p, a, d->peer, d->own).s);
    else if (d->is == PATH_UNKNOWN)
        snprintf(text.s, sizeof text.s, "unknown: %s%s%s%s", reasons[d->why],
                 !by                      ? ""
                 : d->why == PATH_SOFTIRQ ? ", perhaps of "
                                          : ": ",
                 by ? by : "", pid.s);
    else if (d->is == PATH_READY && nobody_has(a, d->why, d->by))
        snprintf(text.s, sizeof text.s, "ready, %s",
                 by ? "though the CPU is idle" : "and nobody is known to have the CPU");
    else if (d->is == PATH_READY || d->is == PATH_MONITOR)
        snprintf(text.s, sizeof text.s, "ready, %s%s %s the CPU", by ? by : "others", pid.s,
                 !by                     ? "have"
                 : d->is == PATH_MONITOR ? "(the monitor) has"
                                         : "has");
    else
        snprintf(text.s, sizeof text.s, "%s%s", known[d->is], d->why == PATH_NO_SWITCHES ? " (at most)" : "");
    plain_text(text.s);
    return text;
}

struct why_place_text why_where(const struct why_page *p, const struct why_answer *a, const struct why_doing *d)
{
    struct why_place_text text = why_process(p, a, d->thread, d->own);
    size_t n = strlen(text.s);
    snprintf(text.s + n, sizeof text.s - n, "%s%s", d->span == ACTIVITY_NONE ? ", in no span" : " in ",
             d->span == ACTIVITY_NONE ? "" : a->activity.names[d->span]);
    plain_text(text.s);
    return text;
}

void why_term_texts(const struct why_page *p, const struct why_answer *a, const struct slow_term *t, char *is, char *in,
                    size_t size)
{
    struct why_doing d = why_doing_of(t);
    snprintf(is, size, "%s", why_what(p, a, &d).s);
    snprintf(in, size, "%s", why_where(p, a, &d).s);
}

/* ---- the slow beside the usual ----------------------------------------------------------------------------------- */

static void put_instances(const struct why_question *q, FILE *out)
{
    if (q->of == WHY_GAP)
        fprintf(out, "times between two %s", q->aspect);
    else if (q->of == WHY_INTERVAL)
        fprintf(out, "times from %s to %s", experiment_metric_aspect(q->interval, 0), q->aspect);
    else
        fprintf(out, "%s%s%s", q->aspect, q->field ? "." : "", q->field ? q->field : "");
}

/* The times that are too long for the matcher are the slowest of all. */
static void put_too_long(const struct why_answer *a, FILE *out)
{
    if (a->too_long)
        fprintf(out, " %s more, of up to %s, are longer than the window and order.wait: they are not looked into.",
                units_count(a->too_long).s, units_duration(a->longest).s);
}

static void put_head(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    const struct slow_choice *c = &a->choice;
    if (a->question.limit)
        fprintf(out, "%s: ", a->question.limit);
    if (c->count == 0) {
        fputs(a->question.limit ? "there are no " : "There are no ", out);
        put_instances(&a->question, out);
        fputs(" to look at.\n", out);
        return;
    }
    if (c->slow_count == 0) {
        fprintf(out, "none of the %s stored ", units_count(c->count).s);
        put_instances(&a->question, out);
        fprintf(out, " is longer than %s%s: what violated it is not among them.", units_duration(c->beyond).s,
                a->elsewhere ? ", and ended in its violations" : "");
        put_too_long(a, out);
        fputs("\n", out);
        return;
    }
    fprintf(out, "%s%s of %s %s",
            c->over             ? ""
            : a->question.limit ? "the slowest "
                                : "The slowest ",
            units_count(c->over ? c->over : c->slow_count).s, units_count(c->count + a->elsewhere).s,
            a->missing ? "stored " : "");
    put_instances(&a->question, out);
    if (c->over)
        fprintf(out, " took longer than %s", units_duration(c->beyond).s);
    if (c->over > c->slow_count)
        fprintf(out, ", the longest %s of which are compared", units_count(c->slow_count).s);
    fprintf(out, ". They took %s on average", why_duration(a->terms.slow).s);
    if (c->usual_count)
        fprintf(out, ", usual ones %s", why_duration(a->terms.usual).s);
    fputs(".", out);
    if (a->elsewhere)
        fprintf(out, " At times when it was not violated %s were beyond that, too.", units_count(a->elsewhere).s);
    if (a->missing)
        fprintf(out, " There may be more, as records of these programs were lost or had expired (%s).",
                units_count(a->missing).s);
    put_too_long(a, out);
    fputs("\n", out);
    why_put_open(p, a, out);
}

static void put_times(struct table *t, double slow, double usual)
{
    table_cell(t, "%s", why_duration(isnan(usual) ? slow : slow - usual).s);
    table_cell(t, "%s", why_duration(slow).s);
    table_cell(t, "%s", why_duration(usual).s);
}

/* What the slow have more of each class; what is less than a hundredth of the difference is left out. */
static void put_classes(const struct why_answer *a, FILE *out)
{
    enum { NOBODY = PATH_CLASSES, KINDS };
    static const char *const names[KINDS] = {[PATH_RUNNING] = "running",
                                             [PATH_READY] = "ready while others had the CPU",
                                             [PATH_MONITOR] = "ready while the monitor had the CPU",
                                             [PATH_MESSAGE] = "waiting for messages",
                                             [PATH_LOCK] = "waiting for locks",
                                             [PATH_IO] = "waiting for input and output",
                                             [PATH_SLEEP] = "sleeping",
                                             [PATH_STOPPED] = "stopped",
                                             [PATH_UNKNOWN] = "unknown",
                                             [NOBODY] = "ready while nobody is known to have had the CPU"};
    double more[KINDS] = {0}, all = 0;
    bool at_most[KINDS] = {false};
    const char *comma = "What they have more:";
    for (size_t i = 0; i < a->terms.count; i++) {
        const struct slow_term *is = &a->terms.terms[i];
        more[is->is == PATH_READY && nobody_has(a, is->why, is->by) ? NOBODY : (int)is->is] += is->slow - is->usual;
        at_most[is->is] |= is->is != PATH_UNKNOWN && is->why == PATH_NO_SWITCHES;
    }
    for (size_t i = 0; i < KINDS; i++)
        all += more[i];
    for (size_t n = 0; n < KINDS; n++) {
        size_t most = 0;
        for (size_t i = 1; i < KINDS; i++)
            most = more[i] > more[most] ? i : most;
        if (more[most] <= 0 || more[most] < all / 100)
            break;
        fprintf(out, "%s %s%s %s", comma, at_most[most] ? "at most " : "", why_duration(more[most]).s, names[most]);
        more[most] = 0;
        comma = ",";
    }
    fputs(*comma == ',' ? ".\n" : "", out);
}

static void put_doing(struct table *t, const struct why_page *p, const struct why_answer *a, const struct why_doing *d)
{
    table_cell(t, "%s", why_what(p, a, d).s);
    table_cell(t, "%s", why_where(p, a, d).s);
}

static void put_terms(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    static const char *const heads[] = {"more", "slow", "usual", "of the slow", "what", "where"};
    const struct slow_terms *terms = &a->terms;
    struct table *t = table_with_heads("rrrrll", heads);
    bool alone = a->choice.usual_count == 0;
    double least = (alone ? terms->slow : terms->slow - terms->usual) / 100, slow = 0, usual = 0;
    for (size_t i = 0; i < terms->count && i < TERMS_SHOWN && terms->terms[i].slow - terms->terms[i].usual >= least;
         i++) {
        const struct slow_term *is = &terms->terms[i];
        put_times(t, is->slow, alone ? (double)NAN : is->usual);
        table_cell(t, "%s .. %s", why_duration((double)is->slow_least).s, why_duration((double)is->slow_most).s);
        struct why_doing d = why_doing_of(is);
        put_doing(t, p, a, &d);
        slow += is->slow;
        usual += is->usual;
    }
    put_times(t, terms->slow - slow, alone ? (double)NAN : terms->usual - usual);
    table_cell(t, "%s", "");
    table_cell(t, "all else");
    table_cell(t, "%s", "");
    table_print(t, 2, out);
}

/* ---- the slowest one --------------------------------------------------------------------------------------------- */

static int by_size(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a < b) - (a > b);
}

/* Pieces that are shorter than this are joined in the text. */
static int64_t least_piece(const struct path *path)
{
    int64_t least = 0, *sizes = path->count > PIECES_SHOWN ? malloc(path->count * sizeof *sizes) : NULL;
    for (size_t i = 0; sizes && i < path->count; i++)
        sizes[i] = path->pieces[i].until - path->pieces[i].from;
    if (sizes) {
        qsort(sizes, path->count, sizeof *sizes, by_size);
        least = sizes[PIECES_SHOWN - 1];
    }
    free(sizes);
    return least;
}

static void put_pieces(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    static const char *const heads[] = {"after", "for", "what", "where"};
    const struct path *path = &a->path;
    struct table *t = table_with_heads("rrll", heads);
    int64_t least = least_piece(path), begin = path->count ? path->pieces[0].from : 0;
    for (size_t i = 0, n; i < path->count; i += n) {
        const struct path_piece *is = &path->pieces[i];
        for (n = 0; i + n < path->count && path->pieces[i + n].until - path->pieces[i + n].from < least;)
            n++;
        table_cell(t, "%s", why_duration((double)(is->from - begin)).s);
        table_cell(t, "%s", why_duration((double)(path->pieces[i + (n ? n - 1 : 0)].until - is->from)).s);
        if (n > 0) {
            table_cell(t, "%zu shorter %s", n, n == 1 ? "piece" : "pieces");
            table_cell(t, "%s", "");
            continue;
        }
        struct why_doing d = {is->is, is->why, is->thread, is->span, is->peer, is->by, true};
        put_doing(t, p, a, &d);
        n = 1;
    }
    table_print(t, 2, out);
}

static void put_slowest(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    const struct slow_instance *i = a->choice.slow;
    if (a->path.count == 0)
        return;
    uint32_t thread = activity_find(&a->activity, i->process, i->thread);
    fprintf(out, "The slowest took %s, until %.6f s, and ended in %s:\n", why_duration((double)(i->until - i->from)).s,
            (double)(i->until - p->started) / 1e9, why_process(p, a, thread, true).s);
    put_pieces(p, a, out);
}

static void put_remark(void *context, const char *text)
{
    fprintf(context, "%s\n", text);
}

static void put_unknown(const struct why_answer *a, FILE *out)
{
    fprintf(out, "The cause is unknown: %s of %s are not explained.", why_duration(a->terms.slow_unknown).s,
            why_duration(a->terms.slow).s);
}

bool why_has_slack(const struct why_answer *a)
{
    int64_t unknown = 0, all = a->path.count ? a->path.pieces[a->path.count - 1].until - a->path.pieces[0].from : 0;
    for (size_t i = 0; i < a->path.count; i++)
        if (a->path.pieces[i].is == PATH_UNKNOWN)
            unknown += a->path.pieces[i].until - a->path.pieces[i].from;
    return a->slack.known && all > 0 && unknown <= all / 100;
}

/* Messages that could have come later, if that is a hundredth of the instance or more. */
static void put_slack(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    const char *comma = "Without making it longer could have come later:";
    int64_t least = a->path.count ? (a->path.pieces[a->path.count - 1].until - a->path.pieces[0].from) / 100 : 0;
    size_t shown = 0;
    for (size_t i = a->slack.count; why_has_slack(a) && i > 0 && shown < SLACK_SHOWN; i--, shown++) {
        const struct slack_pair *is = &a->slack.pairs[i - 1];
        if (is->least < least || is->least == 0)
            break;
        fprintf(out, "%s messages of %s to %s, by %s", comma, why_process(p, a, is->from, true).s,
                why_process(p, a, is->to, true).s, why_duration((double)is->least).s);
        comma = ";";
    }
    fputs(*comma == ';' ? ".\n" : "", out);
}

/* Work that is spread unevenly, if that is a twentieth of the slow instances or more. */
static void put_imbalance(const struct why_answer *a, FILE *out)
{
    for (size_t i = 0; i < a->imbalance.count; i++) {
        const struct imbalance_span *s = &a->imbalance.spans[i];
        if (s->least < a->terms.slow / 20)
            continue;
        struct why_place_text name;
        snprintf(name.s, sizeof name.s, "%s", a->activity.names[s->name]);
        plain_text(name.s);
        fprintf(out,
                "Uneven: the paths run in %s for %s, and the %s threads that are in it for %s each on average: %s are "
                "there since it is not spread evenly.\n",
                name.s, why_duration(s->path).s, units_count(s->threads).s, why_duration(s->mean).s,
                why_duration(s->least).s);
    }
}

/* A sequence that comes twice in an instance or more, and has half of it, where no place and class alone has as much.
 */
static void put_sequence(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    const struct sequence *is = &a->sequences.list[0];
    bool told = a->sequences.count && is->ns >= a->terms.slow / 2 && is->times >= 2 * (uint64_t)a->sequences.instances;
    for (size_t i = 0; i < a->terms.count && told; i++)
        told = a->terms.terms[i].slow < a->terms.slow / 2;
    if (!told)
        return;
    fprintf(out, "Again and again, %.3g times on average, for %s in all: ",
            (double)is->times / (double)a->sequences.instances, why_duration(is->ns).s);
    for (size_t i = 0; i < is->count; i++) {
        const struct why_doing d = {.thread = is->steps[i].thread, .span = is->steps[i].span, .own = false};
        fprintf(out, "%s%s", i ? ", then " : "", why_where(p, a, &d).s);
    }
    fputs(".\n", out);
}

/* What several threads waited for, if their waits are half of the slow instances or more. */
static void put_delays(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    for (size_t i = 0, shown = 0; i < a->delays.count && shown < DELAYS_SHOWN; i++) {
        const struct delay *is = &a->delays.list[i];
        if (is->waiters < 2 || is->ns < a->terms.slow / 2)
            continue;
        const struct why_doing d = {is->of.is, is->of.why, is->of.thread, is->of.span, is->of.peer, is->of.by, false};
        fprintf(out, "Meanwhile %s threads waited, for %s in all: %s, %s.\n", units_count(is->waiters).s,
                why_duration(is->ns).s, why_where(p, a, &d).s, why_what(p, a, &d).s);
        shown++;
    }
}

/* ---- the path of a run ------------------------------------------------------------------------------------------- */

static void put_share(struct table *t, double ns, double all)
{
    table_cell(t, "%s", number_percent(all > 0 ? ns / all : 0).s);
    table_cell(t, "%s", why_duration(ns).s);
}

static void put_path(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    static const char *const heads[] = {"share", "time", "what", "where"};
    const struct slow_terms *terms = &a->terms;
    struct table *t = table_with_heads("rrll", heads);
    double shown = 0;
    for (size_t i = 0; i < terms->count && i < PIECES_SHOWN && terms->terms[i].slow >= terms->slow / 200; i++) {
        struct why_doing d = why_doing_of(&terms->terms[i]);
        put_share(t, terms->terms[i].slow, terms->slow);
        put_doing(t, p, a, &d);
        shown += terms->terms[i].slow;
    }
    put_share(t, terms->slow - shown, terms->slow);
    table_cell(t, "all else");
    table_cell(t, "%s", "");
    table_print(t, 2, out);
    if (a->cpu > 0 && terms->slow > 0)
        fprintf(out, "%.2f CPUs were busy on average", (double)a->cpu / terms->slow);
    if (a->cpu > 0 && !isnan(why_most_parallel(a)))
        fprintf(out, "; this path allows %.2f", why_most_parallel(a));
    fputs(a->cpu > 0 && terms->slow > 0 ? ".\n" : "", out);
}

static void put_whole(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    const struct slow_instance *i = a->choice.slow;
    if (a->choice.slow_count == 0) {
        fputs("Nothing that threads did is stored of this time.\n", out);
        return;
    }
    uint32_t thread = activity_find(&a->activity, i->process, i->thread);
    fprintf(out, "The path to what was last: %s, until %.6f s, in %s.\n", why_duration(a->terms.slow).s,
            (double)(i->until - p->started) / 1e9, why_process(p, a, thread, true).s);
    put_path(p, a, out);
    if (!why_is_known(a)) {
        put_unknown(a, out);
        fputc('\n', out);
    }
    why_remarks(p, a, put_remark, out);
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

/* Where most of what the slow have more is. */
static void put_most(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    const struct slow_term *t = a->terms.terms;
    double more = a->terms.count ? t->slow - (a->choice.usual_count ? t->usual : 0) : 0;
    if (!(more > 0))
        return;
    struct why_doing d = why_doing_of(t);
    fprintf(out, "Most of it: %s, %s: %s.\n", why_duration(more).s, why_where(p, a, &d).s, why_what(p, a, &d).s);
}

static void put_first(void *context, const char *text)
{
    FILE **out = context;
    if (*out)
        fprintf(*out, " %s", text);
    *out = NULL;
}

void why_cause(const struct why_page *p, const struct why_answer *a, void (*put)(void *context, const char *text),
               void *context)
{
    char *text = NULL, *rest, *line;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n), *remark = out;
    if (!out)
        return;
    put_head(p, a, out);
    if (a->terms.count)
        put_classes(a, out);
    if (why_is_known(a)) {
        put_most(p, a, out);
    } else if (a->choice.slow_count) {
        put_unknown(a, out);
        why_remarks(p, a, put_first, &remark);
        fputc('\n', out);
    }
    if (fclose(out) == 0)
        for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            put(context, line);
    free(text);
}

static void put_phase(const struct why_page *p, const struct why_question *q, FILE *out)
{
    fprintf(out, "Phase %u of %u", q->phase, q->phases);
    if (q->from > INT64_MIN)
        fprintf(out, ", from %.6f s", (double)(q->from - p->started) / 1e9);
    if (q->until < INT64_MAX)
        fprintf(out, ", until %.6f s", (double)(q->until - p->started) / 1e9);
    fputs(":\n", out);
}

static void put_searched(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    if (a->question.of != WHY_PATH)
        put_head(p, a, out);
    else if (!a->question.phase)
        fputs("The run:\n", out);
    if (a->question.of == WHY_PATH || a->choice.slow_count)
        why_put_search(p, a, out);
    if (!a->question.phase) /* those of phases are the run's */
        why_remarks(p, a, put_remark, out);
}

static void put_answer(const struct why_page *p, const struct why_answer *a, FILE *out)
{
    if (a->question.phase)
        put_phase(p, &a->question, out);
    if (a->question.search) {
        put_searched(p, a, out);
        return;
    }
    if (a->question.of == WHY_PATH) {
        put_whole(p, a, out);
        return;
    }
    put_head(p, a, out);
    if (a->terms.count) {
        put_classes(a, out);
        put_terms(p, a, out);
    }
    if (a->choice.slow_count && !why_is_known(a)) {
        put_unknown(a, out);
        fputc('\n', out);
    }
    put_slowest(p, a, out);
    put_slack(p, a, out);
    put_imbalance(a, out);
    put_sequence(p, a, out);
    put_delays(p, a, out);
    why_put_predictions(a, out);
    why_remarks(p, a, put_remark, out);
}

void why_text(const struct why_page *p, FILE *out)
{
    why_put_turns(p, out);
    for (size_t i = 0; i < p->answer_count; i++) {
        if (i > 0)
            fputc('\n', out);
        put_answer(p, &p->answers[i], out);
    }
    why_put_unrecorded(p, out);
    for (size_t i = 0; i < p->refusal_count; i++)
        fprintf(out, "%s: no path answers it: %s.\n", p->refusals[i].limit, p->refusals[i].why);
}
