// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The run is read twice, so that memory grows with the instances that are compared and not with the run: once for the
 * records that end instances, and once for what threads did in the windows of those that were chosen.
 */
#include "base/grow.h"
#include "base/saturate.h"
#include "base/units.h"
#include "metric/interval.h"
#include "run/model/interval_records.h"
#include "views/why/why_internal.h"
#include <stdlib.h>
#include <string.h>

struct why_find {
    struct why_answer *a;
    const struct why_question *q;
    struct interval *interval;
    const struct record_item *item; /* that is taken now */
    bool is_end;                    /* it is the last one of an interval */
    int64_t now;
    struct why_lasts lasts; /* of WHY_GAP */
    struct hash_index last_index;
    bool short_of_memory;
};

/* ---- instances --------------------------------------------------------------------------------------------------- */

/* The field that says how long a record took, and the ns in one of its unit; the number of fields: it has none. */
static uint32_t time_field(const struct why_question *q, const struct dict_aspect *a, int64_t *scale)
{
    for (uint32_t i = 0; i < a->field_count; i++) {
        const struct dict_field *f = &a->fields[i];
        *scale = units_time(f->unit);
        bool named = q->field && strcmp(f->name, q->field) == 0;
        if ((f->type == DICT_INT64 || f->type == DICT_FLOAT64) && (named || (!q->field && *scale > 0)))
            return i;
    }
    return a->field_count;
}

/* The length of the instance that a record ends, ns; -1: it has none. */
static int64_t length_of(const struct why_question *q, const struct record_item *item)
{
    int64_t scale, length;
    uint32_t field = time_field(q, item->aspect, &scale);
    if (field == item->aspect->field_count)
        return -1;
    scale = scale > 0 ? scale : 1; /* a limit compares it with a time, so it is in ns */
    uint64_t bits = packet_value(item->r, field);
    if (item->aspect->fields[field].type == DICT_INT64)
        return (int64_t)bits < 0 || __builtin_mul_overflow((int64_t)bits, scale, &length) ? -1 : length;
    double value;
    memcpy(&value, &bits, sizeof value);
    value *= (double)scale;
    return value >= 0 && value < 9e18 ? (int64_t)value : -1;
}

/* Whether an instance that ended then may have had a part in a violation. */
static bool is_in_window(const struct why_question *q, int64_t at)
{
    size_t i = activity_window_at(q->windows, q->window_count, at);
    return q->window_count == 0 || (i < q->window_count && q->windows[i].from <= at);
}

static void add(struct why_find *f, int64_t length)
{
    const struct record_item *item = f->item;
    struct slow_instance i = {.from = saturate_sub(item->at.ns, length),
                              .until = item->at.ns,
                              .process = item->process->row,
                              .thread = item->packet->thread,
                              .apart =
                                  f->q->of == WHY_INTERVAL || (f->q->of == WHY_GAP && f->q->between != WHY_OF_THREAD)};
    if (f->q->beyond > 0 && length > f->q->beyond && !is_in_window(f->q, item->at.ns)) {
        f->a->elsewhere += item->at.ns >= f->q->from && item->at.ns < f->q->until;
        return;
    }
    if (length >= 0 && item->at.ns >= f->q->from && item->at.ns < f->q->until && !slow_add(&f->a->choice, &i))
        f->short_of_memory = true;
}

static void take_gap(struct why_find *f)
{
    const struct record_item *item = f->item;
    struct why_lasts *l = &f->lasts;
    int64_t of = why_between(f->q, item->process->node->row, item->process->row);
    uint32_t thread = f->q->between == WHY_OF_THREAD ? item->packet->thread : 0;
    int found = hash_index_find(&f->last_index, (uint64_t)of, thread);
    if (found < 0) {
        if (!grow_list(&l->list, &l->capacity, l->count, sizeof *l->list) || !grow_index(&f->last_index, l->count)) {
            f->short_of_memory = true;
            return;
        }
        found = (int)l->count++;
        l->list[found] = (struct why_last){.of = of, .at = INT64_MAX};
        hash_index_put(&f->last_index, (uint64_t)of, thread, (uint32_t)found);
    }
    struct why_last *last = &l->list[found];
    if (item->r && last->at < item->at.ns)
        add(f, item->at.ns - last->at);
    last->at = item->r ? item->at.ns : INT64_MAX; /* behind a loss it is not known */
    last->process = item->process->row;
    last->thread = item->packet->thread;
}

/* Called for each time of an interval that is known, mostly while its last record is taken. */
static void take_time(void *context, const struct interval_time *time)
{
    struct why_find *f = context;
    if (time->part != INTERVAL_WHOLE)
        return;
    if (time->late) { /* nobody knows any more what its thread did */
        f->a->too_long++;
        f->a->longest = time->took.ns > f->a->longest ? time->took.ns : f->a->longest;
    } else if (f->item && f->is_end)
        add(f, time->took.ns < 0 ? 0 : time->took.ns);
    else
        f->a->unplaced++;
}

static void take_part(struct why_find *f)
{
    const struct record_item *item = f->item;
    const struct experiment_metric *m = f->q->interval;
    struct interval_part part = interval_part_of(m, item->process->name, item->aspect);
    if (part.has != INTERVAL_HAS_PART)
        return;
    f->is_end = part.position + 1 == m->interval.count;
    f->now = item->at.ns > f->now ? item->at.ns : f->now;
    struct interval_event e = interval_event_of(m, &part, item->process, item->r, item->at);
    interval_add(f->interval, &e, f->now);
}

static void take_instance(struct why_find *f, const struct record_item *item)
{
    f->item = item;
    if (f->q->of == WHY_GAP)
        take_gap(f);
    else if (item->r && f->q->of == WHY_INTERVAL)
        take_part(f);
    else if (item->r)
        add(f, length_of(f->q, item));
    f->item = NULL;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool takes_end(const void *question, const struct dict_aspect *a)
{
    const struct why_question *q = question;
    return q->of == WHY_INTERVAL ? experiment_metric_is_of(q->interval, a->name) : strcmp(q->aspect, a->name) == 0;
}

static bool takes_activity(const void *question, const struct dict_aspect *a)
{
    return activity_wants(a) || takes_end(question, a);
}

/* Names that the run does not have, and aspects that say nothing of how long something took, are mistakes. */
static int check_question(struct why_answer *a, struct record_filter filter, const struct model *m)
{
    const struct why_question *q = &a->question;
    int64_t scale;
    bool is_there = false;
    filter.takes = NULL;
    filter.aspect = q->aspect;
    if (record_filter_check(&filter, m, a->misuse, sizeof a->misuse) != 0)
        return BEZEL_EINVAL;
    for (const struct model_node *n = m->nodes; n; n = n->next)
        for (const struct model_process *p = n->processes; p; p = p->next) {
            const struct dict_aspect *of = dict_aspect_of(p->dict, q->aspect);
            is_there = is_there || of;
            if (of && (q->of == WHY_GAP || time_field(q, of, &scale) < of->field_count))
                return 0;
        }
    snprintf(a->misuse, sizeof a->misuse,
             !is_there  ? "no process made a record yet that could be of aspect %s"
             : q->field ? "aspect %s has no numeric field '%s'"
                        : "aspect %s has no field with a unit of time: give one with --field, or take --gaps",
             q->aspect, q->field);
    return BEZEL_EINVAL;
}

static int find_instances(const char *run, struct why_find *f)
{
    struct record_filter filter = RECORD_FILTER_ALL;
    struct run_reader *reader = NULL;
    struct record_item item;
    const char *why;
    filter.takes = takes_end;
    filter.of = f->q;
    filter.no_monitor = true;
    filter.node = f->q->node;
    filter.process = f->q->process;
    if (f->q->where && condition_read(f->q->where, &filter.condition, &why) != 0)
        return BEZEL_EINVAL;
    int err = run_reader_open_all(run, &filter, &reader);
    if (!err && !f->q->limit)
        err = check_question(f->a, filter, run_reader_model(reader, NULL));
    while (!err && (err = run_reader_next(reader, &item)) > 0) {
        take_instance(f, &item);
        err = f->short_of_memory ? BEZEL_ENOMEM : 0;
    }
    if (f->interval && !err)
        interval_finish(f->interval, f->now, true);
    if (reader)
        f->a->missing = run_reader_totals(reader).lost + run_reader_totals(reader).expired;
    run_reader_close(reader);
    if (!err && !why_add_open(f->a, &f->lasts))
        err = BEZEL_ENOMEM;
    return err ? err : slow_settle(&f->a->choice);
}

static int read_activity(const char *run, struct why_answer *a)
{
    struct record_filter filter = RECORD_FILTER_ALL;
    struct run_reader *reader = NULL;
    struct record_item item;
    filter.takes = takes_activity;
    filter.of = &a->question;
    int err = activity_init(&a->activity, a->choice.windows, a->choice.window_count);
    if (a->question.memory)
        a->activity.left = a->question.memory;
    if (!err)
        err = run_reader_open_all(run, &filter, &reader);
    while (!err && (err = run_reader_next(reader, &item)) > 0)
        err = activity_take(&a->activity, &item) ? 0 : BEZEL_ENOMEM;
    if (reader)
        a->totals = run_reader_totals(reader);
    run_reader_close(reader);
    if (!err && !why_take_open(a))
        err = BEZEL_ENOMEM;
    return err ? err : activity_settle(&a->activity);
}

static int walk_slowest(struct why_answer *a)
{
    const struct slow_instance *i = a->choice.slow;
    uint32_t thread = i ? activity_find(&a->activity, i->process, i->thread) : (uint32_t)ACTIVITY_NONE;
    if (thread == ACTIVITY_NONE)
        return 0;
    int err = path_walk(&a->activity, thread, i->from, i->until, &a->path);
    return err ? err : slack_find(&a->activity, thread, i->from, i->until, &a->slack);
}

int why_read(const char *run, const struct why_question *q, struct why_answer *a)
{
    *a = (struct why_answer){.question = *q, .choice = {.share = q->share, .beyond = q->beyond}};
    if (q->of == WHY_PATH)
        return why_read_path(run, a);
    struct why_find f = {.a = a, .q = &a->question, .now = INT64_MIN};
    int err = q->of == WHY_INTERVAL ? interval_new(q->interval, q->wait, &f.interval) : 0;
    err = err || !f.interval ? err : interval_keep_late(f.interval);
    if (f.interval)
        interval_tell(f.interval, take_time, &f);
    if (!err)
        err = find_instances(run, &f);
    if (!err && a->choice.slow_count) {
        err = read_activity(run, a);
        if (!err)
            err = slow_compare(&a->activity, &a->choice, &a->terms);
        if (!err)
            imbalance_find(&a->activity, &a->choice, &a->terms, &a->imbalance);
        if (!err)
            err = sequence_find(&a->activity, &a->choice, &a->sequences);
        if (!err)
            err = delay_find(&a->activity, &a->choice, &a->delays);
        if (!err)
            err = walk_slowest(a);
        if (!err)
            err = why_predict(a);
        if (!err)
            err = why_search(a);
    }
    interval_free(f.interval);
    free(f.lasts.list);
    free(f.last_index.slots);
    return err;
}

void why_free(struct why_answer *a)
{
    path_fini(&a->path);
    slack_fini(&a->slack);
    free(a->predictions);
    search_fini(&a->search);
    delay_fini(&a->delays);
    slow_terms_free(&a->terms);
    activity_fini(&a->activity);
    slow_free(&a->choice);
    *a = (struct why_answer){.question = a->question};
}

bool why_is_known(const struct why_answer *a)
{
    return a->choice.slow_count > 0 && a->terms.slow_unknown <= a->terms.slow / 2 && a->terms.count > 0;
}
