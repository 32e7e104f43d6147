// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/verdict/names.h"

#include "base/near.h"
#include "base/plain.h"
#include "base/units.h"
#include "mdr/builtin.h"
#include "metric/where.h"
#include "run/verdict/verdict.h"

#include <string.h>

static void find_lack(void *any, const struct verdict_lack *l)
{
    (void)l;
    *(bool *)any = true;
}

/* The beginning of sentences about all processes. Of one that was not observed nobody knows what it has. */
static const char *nobody(const struct summary *s)
{
    bool any = false;
    verdict_each_lack(s, NULL, false, find_lack, &any);
    return any ? "no process that was observed has" : "no process has";
}

static bool has_program(const struct summary *s)
{
    for (size_t i = 0; i < s->process_count; i++)
        if (s->processes[i].role == ROLE_SUT)
            return true;
    return false;
}

/* Whether the aspects of all processes are known. */
static bool has_dictionaries(const struct summary *s)
{
    for (size_t i = 0; i < s->process_count; i++)
        if (!s->processes[i].dict)
            return false;
    return true;
}

static bool knows_aspects(const struct summary *s)
{
    return has_program(s) && has_dictionaries(s);
}

/* ---- Metrics ----------------------------------------------------------------------------------------------------- */

/* What is known of a metric, when the aspects of all processes were looked at. */
struct look {
    const struct experiment_metric *metric;
    bool fits;                        /* an aspect has the field, which is a number, and a time where it is to be one */
    uint64_t attempts;                /* records of that aspect */
    bool open;                        /* the last counters of a process that has it did not come */
    const struct dict_aspect *aspect; /* one of its name, that does not fit */
    bool unmet;                       /* ... for the metric's condition alone */
    const struct dict_field *field;   /* of that, the one that is named; NULL: there is none */
    const struct summary_process *who; /* whose aspect that is */
    struct near_names aspects, fields;
};

static const struct dict_field *find_field(const struct dict_aspect *a, const char *name)
{
    int at = dict_field_of(a, name);
    return at < 0 ? NULL : &a->fields[at];
}

static bool is_number(const struct dict_field *f)
{
    return f->type == DICT_INT64 || f->type == DICT_FLOAT64;
}

static bool has_number(const struct look *l, const struct dict_field *f)
{
    return !l->metric->field || (f && is_number(f) && (!l->metric->in_time || units_time(f->unit) > 0));
}

static void look_at_aspect(struct look *l, const struct summary_process *p, const struct dict_aspect *a)
{
    const char *name = l->metric->field;
    const struct dict_field *f = find_field(a, name);
    bool met = !l->metric->where || where_find(l->metric->where, a).at != WHERE_NONE;
    if (has_number(l, f) && met) {
        l->fits = true;
        const struct summary_book *b = summary_book_of(p, a->name);
        l->attempts |= b ? b->attempts | b->stored : 0;
        l->open = l->open || (p->role == ROLE_SUT && p->state == PROCESS_RUNNING);
        return;
    }
    if (!l->aspect || (f && !l->field)) {
        l->aspect = a;
        l->unmet = !met && has_number(l, f);
        l->field = f;
        l->who = p;
    }
    for (uint32_t i = 0; i < a->field_count; i++)
        if (is_number(&a->fields[i]))
            near_names_consider(&l->fields, false, a->fields[i].name, NULL);
}

static struct look look_for(const struct summary *s, const struct experiment_metric *m)
{
    struct look l = {.metric = m, .aspects = near_names(m->aspect), .fields = near_names(m->field ? m->field : "")};
    for (size_t i = 0; i < s->process_count; i++) {
        const struct summary_process *p = &s->processes[i];
        for (uint32_t k = 0; k < p->dict->aspect_count; k++) {
            const struct dict_aspect *a = &p->dict->aspects[k];
            bool own = p->role == ROLE_DAEMON;
            if (own != (experiment_sampler_of(a->name) != EXPERIMENT_SAMPLERS))
                continue; /* no metric reads it */
            if (strcmp(a->name, m->aspect) == 0)
                look_at_aspect(&l, p, a);
            else
                near_names_consider(&l.aspects, own, a->name, p->name);
        }
    }
    return l;
}

/* Its condition is on a field that the aspect does not have, or that cannot be compared so. */
static void say_unmet(const struct look *l, struct names_found *found)
{
    char subject[160];
    const char *why;
    struct condition c;
    if (condition_read(l->metric->where, &c, &why) != 0)
        return; /* the file was checked */
    const struct dict_field *f = find_field(l->aspect, c.field);
    found->kind = NAMES_NO_FIELD;
    found->name = l->metric->where;
    if (f && where_lacks_label(&c, l->aspect, f, found->text, sizeof found->text))
        return;
    if (f) {
        snprintf(found->text, sizeof found->text,
                 "field \"%s\" of aspect \"%s\" of %s %s, so 'where: %.200s' cannot be tested", f->name,
                 l->aspect->name, l->who->name,
                 f->type == DICT_STRING ? "is a text, which = and != alone compare"
                 : f->type == DICT_ENUM ? "has labels, and no times"
                                        : "is a number without such a unit",
                 l->metric->where);
        return;
    }
    struct near_names fields = near_names(c.field);
    for (uint32_t i = 0; i < l->aspect->field_count; i++)
        near_names_consider(&fields, false, l->aspect->fields[i].name, NULL);
    found->nearest = near_names_best(&fields, NULL);
    snprintf(subject, sizeof subject, "aspect \"%s\" of %s has no field", l->aspect->name, l->who->name);
    near_names_write(&fields, subject, found->text, sizeof found->text);
}

/* Its limits give times. */
static void say_no_time(const struct look *l, struct names_found *found)
{
    const char *unit = l->field->unit;
    bool none = !unit || !unit[0] || strcmp(unit, "1") == 0;
    snprintf(found->text, sizeof found->text,
             "field \"%s\" of aspect \"%s\" of %s has %s%s, and the bound is a time: write it as a plain number",
             l->field->name, l->aspect->name, l->who->name, none ? "no unit" : "the unit ", none ? "" : unit);
}

/* Of a metric of one aspect. `off`: the patterns of those that the file turns off; NULL: none. */
static bool find_lacking(const struct summary *s, const struct experiment_metric *m, char *const *off,
                         struct names_found *found)
{
    char subject[160];
    struct look l = look_for(s, m);
    *found = (struct names_found){.name = m->field ? m->field : m->aspect};
    if (!has_program(s)) { /* also samplers look at none but those */
        found->kind = NAMES_NO_RECORDS;
        snprintf(found->text, sizeof found->text,
                 "no program that records was observed, and nothing else made a "
                 "record of aspect \"%s\"",
                 m->aspect);
        return l.attempts == 0;
    }
    bool is_off = l.fits && !l.attempts && experiment_pattern_of(off, m->aspect);
    if (l.fits && !is_off && (!m->field || l.attempts || l.open))
        return false;
    if (is_off) {
        found->kind = NAMES_NO_RECORDS;
        snprintf(found->text, sizeof found->text,
                 "sensing.aspects.off turns aspect \"%s\" off: nobody counts its records", m->aspect);
    } else if (l.fits) {
        found->kind = NAMES_NO_RECORDS;
        snprintf(found->text, sizeof found->text,
                 "no process has made a record of aspect \"%s\", which has field \"%s\"", m->aspect, m->field);
    } else if (!l.aspect) {
        found->kind = NAMES_NO_ASPECT;
        found->name = m->aspect;
        found->nearest = near_names_best(&l.aspects, NULL);
        snprintf(subject, sizeof subject, "%s an aspect", nobody(s));
        near_names_write(&l.aspects, subject, found->text, sizeof found->text);
    } else if (l.unmet) {
        say_unmet(&l, found);
    } else if (!l.field) {
        found->kind = NAMES_NO_FIELD;
        found->nearest = near_names_best(&l.fields, NULL);
        snprintf(subject, sizeof subject, "aspect \"%s\" of %s has no field", l.aspect->name, l.who->name);
        near_names_write(&l.fields, subject, found->text, sizeof found->text);
    } else if (!is_number(l.field)) {
        found->kind = NAMES_NO_NUMBER;
        snprintf(found->text, sizeof found->text, "field \"%s\" of aspect \"%s\" of %s is a text, and no number",
                 m->field, m->aspect, l.who->name);
    } else {
        found->kind = NAMES_NO_TIME;
        say_no_time(&l, found);
    }
    plain_text(found->text);
    return true;
}

/* How the value of a field matches others: a text as a text, whether it is a label or not. */
static const char *matches_as(const struct dict_field *f)
{
    return f->type == DICT_INT64 ? "a whole number" : f->type == DICT_FLOAT64 ? "a float" : "a text or an enum";
}

/*
 * Whether aspect `a` of `p` cannot match those of an interval before it, of which *as, if not NULL, says how they do:
 * the field is missing or differs, or it is of no message of that kind.
 */
static bool cannot_match(const struct experiment_metric *m, const struct summary_process *p,
                         const struct dict_aspect *a, const char **as, struct names_found *found)
{
    const char *match = m->interval.match;
    const struct dict_field *f = find_field(a, match);
    bool is_sent = strcmp(a->name, m->interval.aspects[0]) == 0;
    if (!match && a->kind == (is_sent ? DICT_SENT : DICT_RECEIVED))
        return false;
    if (match && f && (!*as || strcmp(*as, matches_as(f)) == 0)) {
        *as = matches_as(f);
        return false;
    }
    *found = (struct names_found){.kind = NAMES_NO_FIELD, .name = match ? match : a->name};
    if (!match)
        snprintf(found->text, sizeof found->text, "aspect \"%s\" of %s is not of %s of messages", a->name, p->name,
                 is_sent ? "sendings" : "receivings");
    else if (!f)
        snprintf(found->text, sizeof found->text, "aspect \"%s\" of %s has no field \"%s\", by which records match",
                 a->name, p->name, match);
    else
        snprintf(found->text, sizeof found->text,
                 "field \"%s\" of aspect \"%s\" of %s is %s, and that of aspects before it is %s: they never match",
                 match, a->name, p->name, matches_as(f), *as);
    plain_text(found->text);
    return true;
}

/* Whether no process that the interval takes at position `at` has that aspect. */
static bool lacks_process(const struct summary *s, const struct experiment_metric *m, uint32_t at,
                          struct names_found *found)
{
    const char *aspect = m->interval.aspects[at];
    for (size_t i = 0; i < s->process_count; i++)
        if (dict_aspect_of(s->processes[i].dict, aspect) &&
            experiment_interval_takes(&m->interval, at, s->processes[i].name))
            return false;
    *found = (struct names_found){.kind = NAMES_NO_ASPECT, .name = aspect};
    snprintf(found->text, sizeof found->text, "no process called \"%s\" has aspect \"%s\"", m->interval.processes[at],
             aspect);
    plain_text(found->text);
    return true;
}

/* Of an interval. */
static bool find_unmatched(const struct summary *s, const struct experiment *e, const struct experiment_metric *m,
                           struct names_found *found)
{
    const char *as = NULL;
    for (uint32_t i = 0; i < m->interval.count; i++) {
        struct experiment_metric one = {.kind = METRIC_RATE, .aspect = m->interval.aspects[i]};
        if (find_lacking(s, &one, e->sensing.off, found) || (m->interval.processes[i] && lacks_process(s, m, i, found)))
            return true;
        for (const struct summary_process *p = s->processes; p < s->processes + s->process_count; p++) {
            const struct dict_aspect *a = dict_aspect_of(p->dict, one.aspect);
            if (a && experiment_interval_takes(&m->interval, i, p->name) && cannot_match(m, p, a, &as, found))
                return true;
        }
    }
    return false;
}

bool names_metric(const struct summary *s, const struct experiment *e, uint32_t metric, struct names_found *found)
{
    const struct experiment_metric *m = &e->metrics[metric];
    if (!has_dictionaries(s))
        return false;
    if (m->kind == METRIC_INTERVAL)
        return find_unmatched(s, e, m, found);
    for (int i = 0; m->operands && i < 2; i++)
        if (names_metric(s, e, (uint32_t)experiment_metric_operand(e, m, i), found))
            return true;
    return m->aspect && find_lacking(s, m, e->sensing.off, found);
}

/* ---- Triggers ---------------------------------------------------------------------------------------------------- */

/* That nothing was recorded yet is no news of a trigger, which waits for what is rare. */
bool names_trigger(const struct summary *s, const struct experiment_trigger *t, struct names_found *found)
{
    const struct experiment_records *const of[] = {&t->first, &t->then};
    for (size_t i = 0; i < 2 && has_dictionaries(s); i++) {
        const struct experiment_metric m = {.kind = METRIC_RATE, .aspect = of[i]->aspect, .where = of[i]->where};
        if (m.aspect && find_lacking(s, &m, NULL, found) && found->kind != NAMES_NO_RECORDS)
            return true;
    }
    return false;
}

/* ---- Knobs ------------------------------------------------------------------------------------------------------- */

/* Whether the monitor of this run records which knobs there are: earlier ones recorded only what was set. */
static bool knows_knobs(const struct summary *s)
{
    for (const struct summary_process *p = s->processes; p < s->processes + s->process_count; p++) {
        bool is = p->role == ROLE_DAEMON;
        const struct dict_aspect *a = is ? dict_aspect_of(p->dict, builtin_aspects[BUILTIN_KNOB].name) : NULL;
        const struct dict_field *cause = a ? find_field(a, "cause") : NULL;
        if (cause && strstr(cause->labels, builtin_setter_name(SET_BY_NONE)))
            return true;
    }
    return false;
}

/* `process`: index in the file, or -1: of all. */
static bool lacks_knob(const struct summary *s, const struct experiment *e, const char *name, int process,
                       struct names_found *found)
{
    struct near_names near = near_names(name);
    char subject[160];
    if (!knows_aspects(s) || !knows_knobs(s))
        return false;
    for (size_t i = 0; i < s->declared_count; i++) {
        const struct builtin_knob *d = &s->declared[i];
        if (strcmp(d->knob, name) == 0 && (process < 0 || experiment_is_instance(&e->processes[process], d->process)))
            return false;
        near_names_consider(&near, false, d->knob, d->process);
    }
    *found = (struct names_found){.kind = NAMES_NO_KNOB, .name = name, .nearest = near_names_best(&near, NULL)};
    if (process >= 0)
        snprintf(subject, sizeof subject, "process %s was not found to have a knob", e->processes[process].name);
    else
        snprintf(subject, sizeof subject, "no process was found to have a knob");
    near_names_write(&near, subject, found->text, sizeof found->text);
    return true;
}

bool names_knob(const struct summary *s, const struct experiment *e, uint32_t knob, struct names_found *found)
{
    const struct experiment_knob *k = &e->adapt.knobs[knob];
    return lacks_knob(s, e, k->name, k->process, found);
}

/* ---- Aspects that `sensing` and triggers name -------------------------------------------------------------------- */

/* A name without a similar one may be for another program: a file serves several. */
bool names_pattern(const struct summary *s, const char *name, struct names_found *found)
{
    struct near_names near = near_names(name);
    char subject[160];
    if (strpbrk(name, "*?[") || !knows_aspects(s))
        return false;
    for (size_t i = 0; i < s->process_count; i++)
        for (uint32_t k = 0; s->processes[i].role == ROLE_SUT && k < s->processes[i].dict->aspect_count; k++) {
            const char *aspect = s->processes[i].dict->aspects[k].name;
            if (strcmp(aspect, name) == 0)
                return false;
            near_names_consider(&near, false, aspect, s->processes[i].name);
        }
    *found = (struct names_found){.kind = NAMES_NO_ASPECT, .name = name, .nearest = near_names_best(&near, NULL)};
    snprintf(subject, sizeof subject, "%s an aspect", nobody(s));
    near_names_write(&near, subject, found->text, sizeof found->text);
    return found->nearest;
}

struct telling {
    const struct summary *summary;
    void (*take)(void *context, const char *what, const struct names_found *found);
    void *context;
    size_t count;
};

static void tell_found(struct telling *t, bool is, const char *what, const struct names_found *found)
{
    if (!is)
        return;
    t->take(t->context, what, found);
    t->count++;
}

static void tell_pattern(struct telling *t, const char *key, const char *name)
{
    struct names_found found;
    char what[160];
    snprintf(what, sizeof what, "sensing.%s %s", key, name);
    tell_found(t, names_pattern(t->summary, name, &found), what, &found);
}

/* What its condition lacks, and what its actions would set: it need not fire before somebody learns that they do
 * nothing. */
static void tell_trigger(struct telling *t, const struct experiment *e, const struct experiment_trigger *trigger)
{
    struct names_found found;
    char what[160];
    snprintf(what, sizeof what, "trigger %.140s", trigger->when);
    tell_found(t, names_trigger(t->summary, trigger, &found), what, &found);
    for (uint32_t i = 0; i < trigger->action_count; i++) {
        const struct experiment_action *a = &trigger->actions[i];
        if (a->act == ACT_KNOB)
            tell_found(t, lacks_knob(t->summary, e, a->knob, a->process, &found), what, &found);
        for (const struct experiment_rule *rule = a->act == ACT_ASPECTS ? a->modes : NULL; rule && rule->pattern;
             rule++)
            tell_found(t, names_pattern(t->summary, rule->pattern, &found), what, &found);
    }
}

static size_t tell_patterns(struct telling *t, const struct experiment_sensing *sensing)
{
    for (char **p = sensing->count; p && *p; p++)
        tell_pattern(t, "aspects.count", *p);
    for (char **p = sensing->off; p && *p; p++)
        tell_pattern(t, "aspects.off", *p);
    for (const struct experiment_rule *rule = sensing->expire; rule && rule->pattern; rule++)
        tell_pattern(t, "expire", rule->pattern);
    for (const struct experiment_rule *rule = sensing->importance; rule && rule->pattern; rule++)
        tell_pattern(t, "aspects.importance", rule->pattern);
    return t->count;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

size_t names_each(const struct summary *s, const struct experiment *e, bool running,
                  void (*take)(void *context, const char *what, const struct names_found *found), void *context)
{
    struct names_found found;
    char what[160];
    size_t count = 0;
    for (uint32_t m = 0; m < e->metric_count; m++) {
        bool limited = false;
        if (!names_metric(s, e, m, &found) || (running && found.kind == NAMES_NO_RECORDS))
            continue;
        for (uint32_t i = 0; i < e->limit_count; i++) {
            if (e->limits[i].metric != (int)m)
                continue;
            snprintf(what, sizeof what, "limit %s", e->limits[i].text);
            take(context, what, &found);
            limited = true;
            count++;
        }
        snprintf(what, sizeof what, "metric %s", e->metrics[m].name);
        if (!limited)
            take(context, what, &found), count++;
    }
    for (uint32_t k = 0; k < e->adapt.knob_count; k++) {
        if (!names_knob(s, e, k, &found))
            continue;
        snprintf(what, sizeof what, "knob %s", e->adapt.knobs[k].name);
        take(context, what, &found);
        count++;
    }
    struct telling t = {s, take, context, count};
    for (uint32_t i = 0; i < e->trigger_count; i++)
        tell_trigger(&t, e, &e->triggers[i]);
    return tell_patterns(&t, &e->sensing);
}
