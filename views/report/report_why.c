// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* `bezel why`: the questions that violated limits put, and their answers. */
#include "base/exit_code.h"
#include "base/log.h"
#include "base/saturate.h"
#include "base/ulimit.h"
#include "resmgr/agent/agent.h"
#include "run/read/run_reader.h"
#include "run/rundb/rundb.h"
#include "views/report/report_causes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_SHOWN = 8 };

static int by_from(const void *x, const void *y)
{
    const struct activity_window *a = x, *b = y;
    return (a->from > b->from) - (a->from < b->from);
}

/* When records may have had a part in a violation of limit `limit`: into `windows`, in their order, joined. */
static size_t find_windows(const struct summary *s, uint32_t limit, int64_t part, struct activity_window *windows)
{
    size_t count = 0, joined = 0;
    for (size_t i = 0; i < s->violation_count; i++) {
        const struct history_violation *v = &s->violations[i];
        int64_t from = saturate_sub(summary_run_time(s, v->node, v->begin), part);
        if (v->limit == limit)
            windows[count++] = (struct activity_window){from, summary_run_time(s, v->node, v->end)};
    }
    qsort(windows, count, sizeof *windows, by_from);
    for (size_t i = 1; i < count; i++)
        if (windows[i].from > windows[joined].until)
            windows[++joined] = windows[i];
        else if (windows[i].until > windows[joined].until)
            windows[joined].until = windows[i].until;
    return count ? joined + 1 : 0;
}

/* Of a limit that bears some records beyond its bound only those in violations count. */
static void ask_in_violations(const struct summary *s, uint32_t limit, struct why_question *q, size_t *used,
                              struct why_limits *w)
{
    if (q->part == 0 || !w->windows)
        return;
    q->windows = w->windows + *used;
    q->window_count = find_windows(s, limit, q->part, w->windows + *used);
    *used += q->window_count;
}

/* How many processes record `aspect` at a time, on average, on `node` or (NULL) anywhere: from first records to last.
 * NaN: none does. */
static double at_a_time(const struct summary *s, const char *aspect, const uint32_t *node)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    double sum = 0;
    for (size_t i = 0; i < s->process_count; i++) {
        const struct summary_process *p = &s->processes[i];
        const struct summary_book *b = node && p->node != *node ? NULL : summary_book_of(p, aspect);
        if (!b || b->stored == 0)
            continue;
        first = saturate_least(first, summary_run_time(s, p->node, b->first_ns));
        last = saturate_most(last, summary_run_time(s, p->node, b->last_ns));
        sum += (double)(b->last_ns - b->first_ns);
    }
    return last > first ? sum / (double)(last - first) : last == first ? 1 : (double)NAN;
}

/*
 * Of too few records of a node or the run, where several processes make them at a time: one made less than its share,
 * and has a gap that is so many times longer. The times between the records of all are short also where one makes none.
 */
static void ask_each(const struct summary *s, struct why_question *q)
{
    if (q->of != WHY_GAP || q->between < WHY_OF_NODE || q->beyond <= 0)
        return;
    double least = q->between == WHY_OF_RUN ? at_a_time(s, q->aspect, NULL) : (double)NAN;
    for (uint32_t node = 0; node < s->node_count && q->between == WHY_OF_NODE; node++)
        least = fmin(least, at_a_time(s, q->aspect, &node)); /* which passes over NaN */
    if (!(least >= 1.5))
        return;
    q->between = WHY_OF_PROCESS;
    q->beyond = (int64_t)((double)(q->beyond + 1) * round(least)) - 1;
}

void report_why_ask(const struct verdict *v, const struct summary *s, const struct experiment *e, double share,
                    struct why_limits *w)
{
    size_t used = 0;
    w->windows = calloc(s->violation_count + 1, sizeof *w->windows);
    for (size_t i = 0; i < v->limit_count && i < e->limit_count; i++) {
        size_t before = w->question_count;
        if (v->limits[i].is >= VERDICT_VIOLATED)
            why_ask(w, e, &e->limits[i], share);
        if (w->question_count == before)
            continue;
        ask_each(s, &w->questions[before]);
        ask_in_violations(s, (uint32_t)i, &w->questions[before], &used, w);
        w->questions[before].excused = agent_settling(e, &e->limits[i]);
        w->questions[before].open = w->open;
        w->questions[before].open_count = w->open_count;
    }
}

/* ---- what no record ends ----------------------------------------------------------------------------------------- */

/* When process `p` ended, on its node's clock, or the latest that is known of it. */
static int64_t end_of(const struct summary *s, const struct summary_process *p, bool *left)
{
    int64_t end = p->state == PROCESS_RUNNING ? s->nodes[p->node].last_at : INT64_MIN, found = INT64_MIN;
    for (size_t b = 0; b < p->book_count; b++)
        end = p->books[b].stored ? saturate_most(end, p->books[b].last_ns) : end;
    end = saturate_most(end, verdict_there_until(s, p));
    for (size_t k = 0; k < s->open_count; k++) {
        const struct builtin_open *o = &s->open_spans[k];
        if (o->node != p->node || (uint64_t)o->instance != p->instance || o->state == OPEN_ENDED)
            continue;
        *left = true;
        *(o->state == OPEN_LEFT ? &found : &end) = saturate_most(o->state == OPEN_LEFT ? found : end, o->at);
    }
    return found > INT64_MIN ? found : end;
}

/* Adds process number `i`, and what is open in it. The end of the run itself is no end that counts. */
static void add_open(const struct summary *s, size_t i, struct why_limits *w)
{
    const struct summary_process *p = &s->processes[i];
    int64_t ended = summary_ended(s);
    bool left = false;
    int64_t end = end_of(s, p, &left);
    if (p->role != ROLE_SUT || end == INT64_MIN)
        return;
    struct why_open is = {.node = s->nodes[p->node].name,
                          .process = p->name,
                          .node_row = s->nodes[p->node].row,
                          .row = p->row,
                          .pid = p->pid,
                          .until = summary_run_time(s, p->node, end)};
    const char *by = summary_property(s, "ended_by");
    is.ended = p->state != PROCESS_RUNNING && (ended == 0 || is.until < ended || (by && strcmp(by, "processes") == 0));
    is.itself = is.ended && !left;
    is.until = ended != 0 && is.until > ended ? ended : is.until;
    w->open[w->open_count++] = is;
    for (size_t k = 0; k < s->open_count; k++) {
        const struct builtin_open *o = &s->open_spans[k];
        if (o->node != p->node || (uint64_t)o->instance != p->instance || o->since <= 0 || o->state == OPEN_ENDED)
            continue; /* the record of one that ended tells of it */
        is.span = o->aspect;
        is.reason = o->reason;
        is.thread = (uint32_t)o->thread;
        is.from = summary_run_time(s, p->node, o->since);
        is.until = verdict_open_until(s, o); /* as the verdict has it */
        is.field = verdict_open_field(s, o);
        w->open[w->open_count++] = is;
    }
}

int report_why_open(const struct summary *s, struct why_limits *w)
{
    w->open = calloc(s->process_count + s->open_count + 1, sizeof *w->open);
    for (size_t i = 0; w->open && i < s->process_count; i++)
        add_open(s, i, w);
    return w->open ? 0 : BEZEL_ENOMEM;
}

struct why_page report_why_page(const char *run, bool running, const struct summary *s)
{
    return (struct why_page){
        .run = run, .started = summary_start(s), .goes_on = running, .several_nodes = s->node_count > 1};
}

/* The questions of the limits that were violated; those that are not known to have held are not passed over. Returns 0
 * or an error. */
static int ask_limits(const char *run, bool running, struct summary *s, const struct experiment *e,
                      const struct why_asked *asked, struct why_limits *w)
{
    struct interval_table intervals;
    struct verdict *v;
    int err = report_judge(run, running, s, e, REPORT_TEXT, &intervals, &v);
    if (err) {
        log_error("BEZEL-WHY-MEMORY", "cannot judge the limits: %s", ulimit_reason(err));
        return err;
    }
    report_why_ask(v, s, e, asked->question.share, w);
    for (size_t i = 0; i < v->limit_count && i < e->limit_count; i++)
        if (v->limits[i].is == VERDICT_UNKNOWN)
            why_refuse(w, &e->limits[i], "it could not be judged: `bezel report` says why");
    for (size_t i = 0; i < w->question_count; i++) {
        struct why_question *q = &w->questions[i];
        q->beyond = asked->slowest ? 0 : q->beyond;
        q->change = asked->question.change;
        q->node = asked->question.node;
        q->process = asked->question.process;
        q->from = asked->question.from;
        q->until = asked->question.until;
    }
    verdict_free(v);
    interval_table_free(&intervals);
    return 0;
}

/* Aspects that --aspect may name: spans. */
static void put_spans(const struct summary *s, FILE *out)
{
    const char *shown[NAMES_SHOWN];
    size_t count = 0;
    for (size_t i = 0; i < s->process_count; i++)
        for (size_t k = 0; s->processes[i].role == ROLE_SUT && k < s->processes[i].book_count; k++) {
            const struct summary_book *b = &s->processes[i].books[k];
            size_t n = 0;
            while (n < count && strcmp(shown[n], b->name) != 0)
                n++;
            if (dict_kind_lasts(b->kind) && n == count && count < NAMES_SHOWN)
                shown[count++] = b->name;
        }
    fputs(
        "No limit was violated. `bezel why --aspect NAME` compares the slowest of a span, or of another aspect with a "
        "time in it, with the usual ones",
        out);
    for (size_t n = 0; n < count; n++)
        fprintf(out, "%s%s", n ? ", " : "; the run has the spans ", shown[n]);
    fputs(".\n", out);
}

/* Returns 0 or an error, after logging why. */
static int answer(const char *run, struct why_limits *w, struct why_answer *answers, char *misuse, size_t size)
{
    for (size_t i = 0; i < w->question_count; i++) {
        int err = why_read(run, &w->questions[i], &answers[i]);
        if (err == BEZEL_EINVAL && answers[i].misuse[0]) {
            snprintf(misuse, size, "%s", answers[i].misuse);
            return err;
        }
        if (err == BEZEL_ENOMEM) {
            log_error("BEZEL-WHY-MEMORY",
                      "there is too much in the instances that are compared, or memory is short: choose "
                      "fewer with --slowest, --from and --until");
            return err;
        }
        if (err) {
            log_error("BEZEL-WHY", "cannot read %s: %s", run, rundb_why(err));
            return BEZEL_ESYS;
        }
    }
    return 0;
}

/* Returns 0 or an error, after logging why. */
static int find_phases(const char *run, enum why_phases by, const struct why_question *q, struct why_limits *w)
{
    int err = why_find_phases(run, by, q, w);
    if (err)
        log_error("BEZEL-WHY", "cannot read %s: %s", run, rundb_why(err));
    return err;
}

/* Adds the questions of a search: about the run, and about each of its phases, where it has several. Returns 0 or an
 * error, after logging why. */
static int add_search(const char *run, const struct why_asked *asked, const struct why_question *question,
                      struct why_limits *w)
{
    struct why_question whole = *question;
    for (size_t i = 0; i < w->question_count; i++)
        w->questions[i].search = true;
    whole.of = WHY_PATH;
    w->questions[w->question_count++] = whole;
    size_t count = w->question_count;
    int err = find_phases(run, asked->phases ? asked->phases : WHY_FOUND, &whole, w);
    if (w->question_count == count + 1)
        w->question_count = count;
    return err;
}

/* The place of an aspect among those that were not recorded, made if it is new; NULL: there are enough. */
static struct why_unrecorded *unrecorded_of(struct why_unrecorded *list, size_t *count, const char *process,
                                            const char *aspect)
{
    size_t i = 0;
    while (i < *count && (strcmp(list[i].process, process) != 0 || strcmp(list[i].aspect, aspect) != 0))
        i++;
    if (i == WHY_UNRECORDED_MOST)
        return NULL;
    if (i == *count)
        list[(*count)++] = (struct why_unrecorded){.process = process, .aspect = aspect};
    return &list[i];
}

/* What a path is made of, and was counted only. Each record costs as much as one does at most. */
static size_t find_unrecorded(const struct summary *s, struct why_unrecorded list[WHY_UNRECORDED_MOST])
{
    size_t count = 0;
    for (size_t i = 0; i < s->process_count; i++) {
        const struct summary_process *p = &s->processes[i];
        double ns = (double)s->nodes[p->node].sampled_ns;
        for (size_t k = 0; p->role == ROLE_SUT && k < p->book_count; k++) {
            const struct summary_book *b = &p->books[k];
            bool wanted = dict_kind_lasts(b->kind) || b->kind == DICT_SENT || b->kind == DICT_RECEIVED;
            struct why_unrecorded *u = wanted && b->off ? unrecorded_of(list, &count, p->name, b->name) : NULL;
            if (!u)
                continue;
            u->count += b->off;
            u->cpu += ns > 0 ? (double)b->off * SLOW_RECORD_MOST / ns : (double)NAN;
        }
    }
    return count;
}

static bool is_answered(const struct why_answer *a)
{
    return a->question.search ? why_is_found(a) : why_is_known(a) && why_is_predicted(a);
}

static int print(const struct why_page *p, const struct summary *s, bool json, FILE *out)
{
    bool known = p->refusal_count == 0;
    if (json)
        why_json(p, out);
    else if (p->answer_count + p->refusal_count == 0)
        put_spans(s, out);
    else
        why_text(p, out);
    if (fflush(out) != 0 || ferror(out)) {
        log_error("BEZEL-WHY-WRITE", "cannot write the answer: %s", strerror(errno));
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < p->answer_count; i++)
        known = known && is_answered(&p->answers[i]);
    return known ? EXIT_OK : EXIT_FAILED;
}

/* Collects the questions. Returns 0 or an error, after logging why. */
static int ask(const char *run, bool running, struct summary *s, const struct experiment *e,
               const struct why_asked *asked, struct why_limits *w)
{
    struct why_question question = asked->question;
    int err = report_why_open(s, w);
    if (err) {
        log_error("BEZEL-WHY-MEMORY", "cannot look for what is open: %s", ulimit_reason(err));
        return err;
    }
    question.open = w->open;
    question.open_count = w->open_count;
    question.goes_on = running;
    question.search = asked->search;
    if (question.aspect || question.of == WHY_PATH) {
        if (asked->phases)
            return find_phases(run, asked->phases, &question, w);
        w->questions[w->question_count++] = question;
        return 0;
    }
    err = ask_limits(run, running, s, e, asked, w);
    return err || !asked->search ? err : add_search(run, asked, &question, w);
}

/* Without an aspect, whose reading looks at them too: whether the run has the node and process that are asked for.
 * Returns as answer(). */
static int check_names(const char *run, const struct why_question *q, char *misuse, size_t size)
{
    struct record_filter filter = RECORD_FILTER_ALL;
    struct run_reader *r = NULL;
    filter.node = q->node;
    filter.process = q->process;
    if (q->aspect || (!q->node && !q->process))
        return 0;
    int err = run_reader_open_all(run, &filter, &r);
    if (err)
        log_error("BEZEL-WHY", "cannot read %s: %s", run, rundb_why(err));
    else if (record_filter_check(&filter, run_reader_model(r, NULL), misuse, size) != 0)
        err = BEZEL_EINVAL;
    run_reader_close(r);
    return err;
}

int report_why_print(const char *run, bool running, const struct why_asked *asked, char *misuse, size_t size, FILE *out)
{
    struct experiment *e;
    struct summary *s;
    struct why_limits w = {0};
    struct why_unrecorded unrecorded[WHY_UNRECORDED_MOST];
    if (report_load_experiment(run, &e) != 0)
        return EXIT_FAILED;
    if (report_load_summary(run, running, &s) != 0) {
        experiment_free(e);
        return EXIT_FAILED;
    }
    struct why_answer *answers = calloc(WHY_QUESTIONS_MOST, sizeof *answers); /* too large for a small stack */
    if (!answers)
        log_error("BEZEL-WHY-MEMORY", "cannot answer: %s", ulimit_reason(BEZEL_ENOMEM));
    int err = answers ? check_names(run, &asked->question, misuse, size) : BEZEL_ENOMEM;
    err = err ? err : ask(run, running, s, e, asked, &w);
    err = err ? err : answer(run, &w, answers, misuse, size);
    struct why_page p = report_why_page(run, running, s);
    p.answer_count = w.question_count;
    p.answers = answers;
    p.refusal_count = w.refusal_count;
    p.refusals = w.refusals;
    p.search = asked->search;
    p.turns = asked->turns;
    p.unrecorded = unrecorded;
    p.unrecorded_count = asked->search ? find_unrecorded(s, unrecorded) : 0;
    int code = err == BEZEL_EINVAL ? err : err ? EXIT_FAILED : print(&p, s, asked->json, out);
    for (size_t i = 0; answers && i < WHY_QUESTIONS_MOST; i++)
        why_free(&answers[i]);
    free(answers);
    free(w.open);
    free(w.windows);
    summary_free(s);
    experiment_free(e);
    return code;
}
