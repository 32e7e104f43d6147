// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Rows of decisions and of losses, and what the controller does. */
#include "views/top/top_source_internal.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "resmgr/policies/policy.h"
#include "run/history/history_decode.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- decisions --------------------------------------------------------------------------------------------------- */

int64_t top_source_event_time(const struct top_source *s, const struct history_event *e)
{
    return e->node < s->c.node_count ? catalogue_time(s->c.nodes[e->node], e->at).ns : INT64_MAX;
}

/* The limit that an event is about; -1: none. */
static int64_t limit_of(const struct history_event *e)
{
    return e->table == BUILTIN_DECISION     ? e->decision.cause
           : e->table == BUILTIN_KNOB       ? e->knob.limit
           : e->table == BUILTIN_CONCLUSION ? e->conclusion.limit
                                            : -1;
}

/* An item for the next older event, of `left` that there are; NULL: there are enough, and these are left out, or no
 * memory. */
static struct top_item *add_event(struct top_source *s, size_t left)
{
    bool full = s->item_count == TOP_EVENTS_SHOWN;
    s->left_out += full ? left : 0;
    return full ? NULL : top_source_add(s);
}

void top_source_decisions(struct top_source *s, struct top_id scope)
{
    for (size_t i = s->c.history.event_count; i > 0; i--) {
        const struct history_event *e = &s->c.history.events[i - 1];
        int64_t at = top_source_event_time(s, e), limit = limit_of(e);
        if (at > s->time || (scope.node != TOP_ANY && scope.node != e->node) || e->table == BUILTIN_OPEN)
            continue;
        struct top_item *item = add_event(s, i);
        if (!item)
            return;
        item->id = (struct top_id){.node = e->node, .instance = i, .field = TOP_ANY, .limit = -1};
        item->texts[0] = s->c.nodes[e->node]->name;
        item->at = at;
        item->index = i - 1;
        item->into = top_source_limit(s, limit) ? TOP_LIMITS : TOP_PROCESSES;
        item->scope.node = e->node;
        item->scope.limit = top_source_limit(s, limit) ? (int32_t)limit : -1;
        item->mark = e->table == BUILTIN_CONCLUSION && e->conclusion.what == CONCLUSION_VIOLATED ? '!' : ' ';
    }
}

static struct units_text period_text(int64_t ns)
{
    return ns == 0 ? (struct units_text){"off"} : units_duration(ns);
}

/* ", for fps >= 29"; "" if the event has no limit as its cause. */
static void write_cause(const struct top_source *s, int64_t limit, char *text, size_t size)
{
    text[0] = '\0';
    if (limit >= 0)
        snprintf(text, size, ", for %s", top_source_limit_text(s, limit));
}

static void write_decision(const struct top_source *s, const struct builtin_decision *d, char *text, size_t size)
{
    char cause[TOP_TEXT_MAX];
    write_cause(s, d->cause, cause, sizeof cause);
    bool known = d->action >= POLICY_KEEP && d->action <= POLICY_RESUME;
    snprintf(text, size, "%s%s, %s -> %s%s", d->by == DECIDED_BY_MANAGER ? "manager: " : "",
             known ? policy_action_name((enum policy_action)d->action) : "?", period_text(d->before).s,
             period_text(d->after).s, cause);
}

static void write_knob(const struct top_source *s, const struct builtin_knob *k, char *text, size_t size)
{
    char cause[TOP_TEXT_MAX];
    write_cause(s, k->limit, cause, sizeof cause);
    snprintf(text, size, "%s: knob %s of %s, %" PRId64 " -> %" PRId64 "%s%s%s", builtin_setter_name(k->cause), k->knob,
             k->process, k->before, k->after, k->unit[0] && strcmp(k->unit, "1") != 0 ? " " : "",
             strcmp(k->unit, "1") != 0 ? k->unit : "", cause);
}

static void write_trigger(const struct top_source *s, const struct builtin_trigger *t, char *text, size_t size)
{
    bool known = s->experiment && t->trigger >= 0 && t->trigger < s->experiment->trigger_count;
    snprintf(text, size, "trigger %s%s: %s", known ? s->experiment->triggers[t->trigger].when : "?",
             t->event == TRIGGER_UNDONE ? " undone" : "", t->done);
}

void top_source_make_decision(const struct top_source *s, const struct top_item *item, char *text, size_t size)
{
    if (item->index >= s->c.history.event_count)
        return;
    const struct history_event *e = &s->c.history.events[item->index];
    char cause[TOP_TEXT_MAX];
    switch (e->table) {
    case BUILTIN_DECISION:
        write_decision(s, &e->decision, text, size);
        break;
    case BUILTIN_KNOB:
        write_knob(s, &e->knob, text, size);
        break;
    case BUILTIN_CONCLUSION:
        write_cause(s, e->conclusion.limit, cause, sizeof cause);
        snprintf(text, size, "%s%s%s", builtin_conclusion_name(e->conclusion.what),
                 e->conclusion.holds ? "" : ", no longer", cause);
        break;
    case BUILTIN_TRIGGER:
        write_trigger(s, &e->trigger, text, size);
        break;
    default:
        snprintf(text, size, "%s: polls every %s",
                 e->polling.cause == POLLING_BY_START     ? "file"
                 : e->polling.cause == POLLING_BY_TRIGGER ? "trigger"
                                                          : "operator",
                 period_text(e->polling.period).s);
    }
}

/* The last decision of any node at the shown time; NULL: none. */
static const struct history_event *last_decision(const struct top_source *s)
{
    for (size_t i = s->c.history.event_count; i > 0; i--) {
        const struct history_event *e = &s->c.history.events[i - 1];
        if (e->table == BUILTIN_DECISION && top_source_event_time(s, e) <= s->time)
            return e;
    }
    return NULL;
}

void top_source_controller(const struct top_source *s, char *text, size_t size)
{
    char decision[TOP_TEXT_MAX];
    if (!s->experiment) {
        snprintf(text, size, "The experiment's file cannot be read: limits have no names.");
        return;
    }
    const struct experiment_adapt *a = &s->experiment->adapt;
    const struct history_event *last = last_decision(s);
    const char *policy = experiment_policy_word((int)a->policy), *by = a->by == ADAPT_BY_MANAGER ? "manager" : "agent";
    if (last) {
        write_decision(s, &last->decision, decision, sizeof decision);
        snprintf(text, size, "policy %s (%s), %s ago: %s", policy, by,
                 units_duration(s->time - top_source_event_time(s, last)).s, decision);
    } else if (a->policy == POLICY_NONE) {
        const struct experiment_sensing *wanted = &s->experiment->sensing;
        bool is_open = wanted->period_quiet > wanted->period;
        snprintf(text, size, "policy none: polls every %s%s%s", period_text(wanted->period).s, is_open ? " to " : "",
                 is_open ? period_text(wanted->period_quiet).s : "");
    } else {
        snprintf(text, size, "policy %s (%s): no decision yet", policy, by);
    }
}

/* ---- losses ------------------------------------------------------------------------------------------------------ */

void top_source_losses(struct top_source *s, struct top_id scope)
{
    for (size_t i = s->c.history.loss_count; i > 0; i--) {
        const struct history_loss *l = &s->c.history.losses[i - 1];
        int64_t process = catalogue_process_of_row(&s->c, l->process);
        if (process < 0)
            continue;
        const struct catalogue_process *p = &s->c.processes[process];
        int64_t at = catalogue_time(s->c.nodes[p->node], l->end).ns;
        if (at > s->time || (scope.node != TOP_ANY && scope.node != p->node))
            continue;
        struct top_item *item = add_event(s, i);
        if (!item)
            return;
        item->id = (struct top_id){p->node, i, 0, TOP_ANY, -1};
        item->texts[0] = s->c.nodes[p->node]->name;
        item->texts[1] = p->process->name;
        item->values[1] = (double)l->count;
        item->values[2] = l->ring;
        item->at = at;
        item->index = i - 1;
        item->mark = 'x';
        item->into = TOP_ASPECTS;
        item->scope.node = p->node;
        item->scope.instance = p->process->instance;
    }
}

/* What the node counted as lost before and behind a loss. */
struct around {
    int64_t begin, end;
    struct builtin_totals before, behind;
};

static int take_totals(const struct top_source_reading *r, const struct packet_record *record,
                       const struct levels_place *place)
{
    const struct model_process *p = r->s->c.processes[r->process].process;
    struct around *a = r->context;
    struct builtin_totals t;
    (void)place;
    if (!record || record->aspect != p->builtins[BUILTIN_TOTALS])
        return 0;
    history_decode_record(record, BUILTIN_TOTALS, &t);
    if (t.at < a->begin)
        a->before = t;
    else if (t.at >= a->end && a->behind.at == 0)
        a->behind = t;
    return 0;
}

static void add_word(char *text, size_t size, const char *word, bool is)
{
    size_t n = strlen(text);
    if (is)
        snprintf(text + n, size - n, "%s%s", n ? ", " : "", word);
}

/* A stream's gap has no cause; the node's counters, which it records every second, do. So the words are of the node. */
void top_source_make_loss(const struct top_source *s, const struct top_item *item, char *text, size_t size)
{
    if (item->index >= s->c.history.loss_count)
        return;
    const struct history_loss *l = &s->c.history.losses[item->index];
    struct around a = {.begin = l->begin, .end = l->end};
    for (size_t i = 0; i < s->c.stream_count; i++) {
        const struct catalogue_process *p =
            s->c.stream_processes[i] < 0 ? NULL : &s->c.processes[s->c.stream_processes[i]];
        if (p && p->node == item->id.node && p->process->role == ROLE_DAEMON && p->process->builtins[BUILTIN_TOTALS])
            (void)!top_source_read((struct top_source *)(uintptr_t)s, i, p->process->builtins[BUILTIN_TOTALS],
                                   saturate_add(a.begin, -3 * CLOCK_S), saturate_add(a.end, 3 * CLOCK_S), take_totals,
                                   &a);
    }
    text[0] = '\0';
    add_word(text, size, "full", a.behind.full > a.before.full);
    add_word(text, size, "window", a.behind.window > a.before.window);
    add_word(text, size, "spool", a.behind.spool > a.before.spool);
    add_word(text, size, "off", a.behind.off > a.before.off);
    add_word(text, size, "no-ring", a.behind.no_ring > a.before.no_ring);
    add_word(text, size, "overwritten", a.behind.overwritten > a.before.overwritten);
    if (!text[0])
        snprintf(text, size, "not known yet");
}
