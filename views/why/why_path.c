// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The path to what a run, or a part of it, did last: read once, in memory that does not grow with the run. */
#include "analysis/live.h"
#include "base/saturate.h"
#include "views/why/why_internal.h"

#include <math.h>
#include <stdlib.h>

static bool takes(const void *question, const struct dict_aspect *a)
{
    const struct why_question *q = question;
    return q->search || activity_wants(a);
}

static int take_item(struct why_answer *a, struct live *f, const struct record_item *item)
{
    bool is_own = item->r && item->process->role != ROLE_DAEMON;
    a->records += is_own && item->at.ns >= a->question.from && item->at.ns < a->question.until;
    return !item->r || activity_wants(item->aspect) ? live_take(f, item) : 0;
}

static int read_records(const char *run, struct why_answer *a, struct live *f)
{
    const struct why_question *q = &a->question;
    struct record_filter filter = RECORD_FILTER_ALL;
    struct run_reader *reader = NULL;
    struct record_item item;
    filter.takes = takes;
    filter.of = q;
    filter.from = saturate_sub(q->from, LIVE_STEP); /* what began before, and is recorded behind that */
    filter.until = saturate_add(q->until, LIVE_LATE);
    int err = run_reader_open_all(run, &filter, &reader);
    while (!err && (err = run_reader_next(reader, &item)) > 0)
        err = take_item(a, f, &item);
    if (reader)
        a->totals = run_reader_totals(reader);
    run_reader_close(reader);
    return err;
}

/* The path to what was last is the only instance. */
static int take_path(struct why_answer *a, struct live *f)
{
    int64_t end = a->question.goes_on ? saturate_sub(f->newest, LIVE_LATE) : INT64_MAX, at;
    uint32_t thread = live_latest(f, end < a->question.until ? end : a->question.until, &at);
    if (thread == ACTIVITY_NONE || at <= f->from)
        return 0;
    a->choice.slow = malloc(sizeof *a->choice.slow);
    if (!a->choice.slow)
        return BEZEL_ENOMEM;
    const struct activity_thread *t = &f->activity.threads[thread];
    *a->choice.slow = (struct slow_instance){f->from, at, t->process_row, t->id, false, false};
    a->choice.count = a->choice.slow_count = 1;
    a->cpu = live_cpu(f, at);
    return live_terms(f, thread, at, &a->terms);
}

int why_read_path(const char *run, struct why_answer *a)
{
    struct live f;
    int err = live_init(&f, a->question.from);
    err = err ? err : read_records(run, a, &f);
    err = err ? err : activity_settle(&f.activity);
    err = err ? err : take_path(a, &f);
    a->late_spans = f.late_spans;
    a->newest = f.newest;
    a->activity = f.activity; /* the terms are of it */
    f.activity = (struct activity){0};
    live_fini(&f);
    return err ? err : why_search(a);
}

double why_most_parallel(const struct why_answer *a)
{
    double work = 0;
    for (size_t i = 0; i < a->terms.count; i++)
        if (a->terms.terms[i].is == PATH_RUNNING || a->terms.terms[i].is == PATH_MESSAGE)
            work += a->terms.terms[i].slow;
    return work > 0 && a->terms.slow_unknown <= a->terms.slow / 100 ? (double)a->cpu / work : (double)NAN;
}
