// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Records that no books of their aspect count: those of aspects that could not be declared; those of processes and
 * threads for which a sampler has no place, or sums alone; and how long waits last for which a process has no place. A
 * note tells of them. Any may have broken a limit on their aspect: so that is not known to have held.
 */
#include "run/verdict/verdict_internal.h"

#include "base/condition.h"
#include "mdr/note.h"

#include <string.h>

#define UNDECLARED "bezel_undeclared"

enum {
    OF_PROCESSES = 1U << EXPERIMENT_SAMPLER_PROCESSES | 1U << EXPERIMENT_SAMPLER_PERF,
    OF_SWITCHES = 1U << EXPERIMENT_SAMPLER_SWITCHES,
    OF_THREADS = 1U << EXPERIMENT_SAMPLER_SCHEDULING | OF_SWITCHES
};

/* Notes of samplers (sensor/samplers/) by their words, and the samplers that have no record of everything then. */
static const struct {
    const char *words;
    unsigned samplers;
} unsampled[] = {{NOTE_MORE_PROCESSES, OF_PROCESSES | OF_THREADS},
                 {NOTE_MORE_THREADS, OF_THREADS},
                 {NOTE_OPEN_FILES, OF_PROCESSES | OF_THREADS},
                 {NOTE_NOR_OTHERS, OF_PROCESSES | OF_THREADS},
                 {NOTE_SUMS, OF_SWITCHES}};

static bool lacks_samples(const struct summary_note *note, const char *aspect)
{
    unsigned sampler = 1U << experiment_sampler_of(aspect), lacking = 0;
    for (size_t i = 0; i < sizeof unsampled / sizeof *unsampled && strcmp(note->code, "BEZEL-SAMPLER") == 0; i++)
        lacking |= strstr(note->text, unsampled[i].words) ? unsampled[i].samplers : 0;
    return (lacking & sampler) != 0;
}

/* Whether metric `m` depends on how long something of `aspect` lasts that has no end yet, in field `field`. */
static bool reads_open(const struct experiment_metric *m, const char *field)
{
    struct condition c = {.field = ""};
    const char *ignored;
    bool is_chosen = m->where && condition_read(m->where, &c, &ignored) == 0 && strcmp(c.field, field) == 0;
    return is_chosen || m->arrivals == ARRIVALS_TIME || (m->field && strcmp(m->field, field) == 0);
}

/* Whether a process has no place for what is open of the aspect of `m`: it may be open for long. */
static bool lacks_places(const struct summary *s, const struct summary_note *note, const struct experiment_metric *m)
{
    bool is = strcmp(note->code, "BEZEL-OPEN-SPANS") == 0;
    const struct summary_process *p = is ? summary_process_of(s, note->node, note->instance) : NULL;
    const struct dict_aspect *a = p ? dict_aspect_of(p->dict, m->aspect) : NULL;
    bool waits = a && a->kind == DICT_RECEIVED;
    return a && (waits || dict_kind_lasts(a->kind)) && reads_open(m, waits ? "waited" : "duration");
}

/*
 * Whether records of metric `m` are missing by what `note` says, and the limit depends on them; `m` is the limit's own,
 * or one that it is made of. Counters do not know what a sampler did not record: it is a number's as well.
 */
static bool is_unseen(const struct summary *s, const struct experiment *e, const struct experiment_limit *l,
                      const struct experiment_metric *m, const struct summary_note *note)
{
    bool is_one = m == &e->metrics[l->metric], at_most = l->compare == COMPARE_AT_MOST, is = false;
    for (int i = 0; i < 2 && m->operands && !is; i++)
        is = is_unseen(s, e, l, &e->metrics[experiment_metric_operand(e, m, i)], note);
    if (is || !m->aspect)
        return is;
    bool counts = !is_one || verdict_counts_lost(m, at_most);
    return ((counts || (experiment_metric_is_counted(m) && at_most)) && lacks_samples(note, m->aspect)) ||
           (counts && (!is_one || at_most) && lacks_places(s, note, m));
}

static void judge_noted(struct verdict *v, const struct summary *s, const struct experiment *e, uint32_t i)
{
    for (size_t n = 0; n < s->note_count; n++) {
        const struct summary_note *note = &s->notes[n];
        const struct experiment_limit *l = &e->limits[i];
        if (!is_unseen(s, e, l, &e->metrics[l->metric], note))
            continue;
        v->limits[i].unseen = v->limits[i].unseen ? v->limits[i].unseen : note;
        verdict_doubt_on(v, s, i, note->node, true);
    }
}

/* Whether metric `m` reads records that programs make. */
static bool is_of_programs(const struct experiment *e, const struct experiment_metric *m)
{
    const char *aspect = experiment_metric_aspect(m, 0);
    bool is = aspect && experiment_sampler_of(aspect) == EXPERIMENT_SAMPLERS;
    for (int i = 0; i < 2 && m->operands && !is; i++)
        is = is_of_programs(e, &e->metrics[experiment_metric_operand(e, m, i)]);
    return is;
}

/* Nobody knows of which aspect they were: they may be of any, also of one that no other process has. */
static void judge_undeclared(struct verdict *v, const struct summary *s, const struct experiment *e, uint32_t i)
{
    const struct experiment_limit *l = &e->limits[i];
    const struct experiment_metric *m = &e->metrics[l->metric];
    bool at_most = l->compare == COMPARE_AT_MOST;
    if (!is_of_programs(e, m) || !(verdict_counts_lost(m, at_most) || (experiment_metric_is_counted(m) && at_most)))
        return;
    for (size_t p = 0; p < s->process_count; p++) {
        const struct summary_process *is = &s->processes[p];
        uint64_t lost = 0, made = 0;
        for (size_t b = 0; b < is->book_count && is->role != ROLE_DAEMON; b++) {
            uint64_t attempts = verdict_aspect(s, is, &is->books[b]).attempts;
            bool may_be_any = strcmp(is->books[b].name, UNDECLARED) == 0;
            lost += may_be_any ? attempts : 0;
            made += may_be_any || (m->aspect && strcmp(is->books[b].name, m->aspect) == 0) ? attempts : 0;
        }
        v->limits[i].missed += lost;
        if (lost > 0 && (double)lost > l->tolerance * (double)made)
            verdict_doubt_on(v, s, i, is->node, false);
    }
}

/* Records of an interval that match what nobody knows may be of any time, also behind the last instant. */
static void judge_unclear(struct verdict *v, const struct summary *s, const struct experiment *e, uint32_t i)
{
    const struct experiment_limit *l = &e->limits[i];
    const struct summary_chosen *times = verdict_chosen(s, i, 0);
    bool at_most = l->compare == COMPARE_AT_MOST;
    enum experiment_metric_kind kind = e->metrics[l->metric].interval.statistic;
    bool matters = kind == METRIC_MAX ? at_most : kind != METRIC_MIN || !at_most;
    if (experiment_limit_is_on_interval(e, l) && times && matters && times->unclear > l->tolerance)
        verdict_doubt_on(v, s, i, 0, true);
}

void verdict_judge_unseen(struct verdict *v, const struct summary *s, const struct experiment *e, uint32_t i)
{
    if (e->limits[i].metric < 0)
        return;
    judge_unclear(v, s, e, i);
    judge_undeclared(v, s, e, i);
    judge_noted(v, s, e, i);
}
