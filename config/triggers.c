// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/triggers.h"

#include "base/clock.h"
#include "base/condition.h"
#include "base/grow.h"
#include "base/units.h"
#include "config/check_internal.h"
#include "config/diagnostics.h"
#include "config/fields_internal.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WHEN_TEXT_MAX = 255 };

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

static void read_short_text(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "a text");
    if (text && (!text[0] || strlen(text) > EXPERIMENT_TRIGGER_TEXT_MAX))
        reader_wrong(r, t, "has %zu bytes; allowed: 1 .. %d", strlen(text), EXPERIMENT_TRIGGER_TEXT_MAX);
    else if (text)
        *(char **)to = reader_copy(r, text);
}

static void read_when(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "a condition such as 'fps >= 29 violated' or 'no frame_shown for 2 s'");
    if (!text)
        return;
    text += strspn(text, " \t");
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t", text[n - 1]))
        n--;
    if (n == 0 || n > WHEN_TEXT_MAX)
        reader_wrong(r, t, "has %zu bytes; allowed: 1 .. %d", n, WHEN_TEXT_MAX);
    else if ((*(char **)to = reader_copy(r, text)))
        (*(char **)to)[n] = '\0';
}

/* "bitrate=500", "bitrate=initial": as `bezel knob` takes it. */
static void read_knob(struct reader *r, const struct tree *t, void *to)
{
    struct experiment_action *a = (void *)((char *)to - offsetof(struct experiment_action, knob));
    const char *text = reader_text(r, t, "NAME=VALUE, such as bitrate=500");
    size_t n = text ? strcspn(text, "=") : 0;
    char *end = NULL;
    if (!text)
        return;
    const char *value = text[n] ? text + n + 1 : "";
    errno = 0;
    long long number = strtoll(value, &end, 10);
    a->initial = strcmp(value, "initial") == 0;
    bool is_number = end != value && !*end && errno == 0 && number >= INT32_MIN && number <= INT32_MAX;
    if (!fields_is_declared(text, n) || (!a->initial && !is_number)) {
        reader_wrong(r, t, "%s sets no knob; expected: NAME=VALUE, a whole number or 'initial'",
                     diagnostics_quote(text).s);
        return;
    }
    a->value = (int32_t)number;
    a->knob = reader_copy(r, text);
    if (a->knob)
        a->knob[n] = '\0';
}

#define IN(type, member) offsetof(struct experiment_##type, member)

static const struct schema_field action_fields[] = {
    {SCHEMA_ROW_RANGE("snapshot", SCHEMA_DURATION, IN(action, snapshot), 10 * CLOCK_MS, EXPERIMENT_SNAPSHOT_MAX),
     .quiet = true},
    {SCHEMA_ROW_OWN("aspects", IN(action, modes), fields_read_modes), .shape = SCHEMA_IS_MAP},
    {SCHEMA_ROW_RANGE("for", SCHEMA_DURATION, IN(action, lasts), 0, 3600 * CLOCK_S), .quiet = true},
    {SCHEMA_ROW_RANGE("poll", SCHEMA_DURATION, IN(action, poll), CLOCK_US, 10 * CLOCK_S), .quiet = true},
    {SCHEMA_ROW_OWN("knob", IN(action, knob), read_knob)},
    {.key = "process", .kind = SCHEMA_CHECKED},
    {SCHEMA_ROW_OWN("note", IN(action, note), read_short_text), .print = schema_print_char, .quiet = true},
    {SCHEMA_ROW_OWN("mark", IN(action, mark), read_short_text), .print = schema_print_char, .quiet = true},
    {SCHEMA_ROW_OWN("command", IN(action, argv), fields_read_command), .print = schema_print_list, .quiet = true,
     .shape = SCHEMA_IS_TEXT_OR_LIST},
    {SCHEMA_ROW_RANGE("timeout", SCHEMA_DURATION, IN(action, timeout), 100 * CLOCK_MS, 600 * CLOCK_S), .quiet = true},
    {.key = "stop", .kind = SCHEMA_ALONE, .offset = IN(action, stop)},
    {0},
};

static const struct experiment_action action_default = {.process = -1, .timeout = 10 * CLOCK_S};

static const struct schema_table action_table = {.fields = action_fields,
                                                 .defaults = &action_default,
                                                 .size = sizeof(struct experiment_action),
                                                 .place = IN(action, at),
                                                 .count = IN(trigger, action_count),
                                                 .max = EXPERIMENT_TRIGGER_ACTIONS_MAX,
                                                 .words = true};

static bool lasts(const void *trigger)
{
    enum experiment_when condition = ((const struct experiment_trigger *)trigger)->condition;
    return condition == WHEN_VIOLATED || condition == WHEN_SILENT;
}

const struct schema_field triggers_fields[] = {
    {SCHEMA_ROW_OWN("when", IN(trigger, when), read_when), .print = schema_print_char, .required = true,
     .note = "a condition, such as 'fps >= 29 violated', 'frame_received where lost > 10' or 'no frame_shown for 2 s'"},
    {SCHEMA_ROW_RANGE("for", SCHEMA_DURATION, IN(trigger, persistence), 0, 3600 * CLOCK_S), .is_used = lasts},
    {.key = "do",
     .kind = SCHEMA_TABLE,
     .offset = IN(trigger, actions),
     .table = &action_table,
     .required = true,
     .note = "a list of actions, such as [{note: late}]"},
    {SCHEMA_ROW_RANGE("once-in", SCHEMA_DURATION, IN(trigger, once_in), CLOCK_MS, 3600 * CLOCK_S)},
    {0},
};

const struct experiment_trigger triggers_default = {.once_in = CLOCK_S};

static const char *const acts[] = {
    [ACT_SNAPSHOT] = "snapshot", [ACT_ASPECTS] = "aspects", [ACT_POLL] = "poll",       [ACT_KNOB] = "knob",
    [ACT_NOTE] = "note",         [ACT_MARK] = "mark",       [ACT_COMMAND] = "command", [ACT_STOP] = "stop"};

/* ---- Conditions -------------------------------------------------------------------------------------------------- */

static const char forms[] =
    "allowed: 'LIMIT violated', 'ASPECT where FIELD > VALUE', 'any ASPECT', 'ASPECT then ASPECT "
    "within TIME', 'no ASPECT for TIME'";

/* The place of `word`, with blanks around it, outside of quotes; NULL: none. */
static const char *find_word(const char *text, const char *word)
{
    const char *before = " ", *end;
    for (; *text; before = text++) {
        if (strchr("\"'", *text) && strchr(" \t=<>", *before) && (end = strchr(text + 1, *text)))
            text = end;
        else if (strncmp(text, word, strlen(word)) == 0)
            return text;
    }
    return NULL;
}

/* Copies the `n` bytes without the blanks around them. */
static char *copy_part(struct reader *r, const char *text, size_t n)
{
    for (; n > 0 && strchr(" \t", *text); text++)
        n--;
    while (n > 0 && strchr(" \t", text[n - 1]))
        n--;
    char *copy = reader_alloc(r, n + 1, 1);
    return copy ? memcpy(copy, text, n) : NULL;
}

/* "frame_received", or with " where lost > 10" behind it. */
static bool read_records(struct reader *r, const struct tree *t, const char *text, size_t n,
                         struct experiment_records *to)
{
    static const char own[] = "bezel_";
    struct condition condition;
    const char *why;
    char *part = copy_part(r, text, n), *where = part ? (char *)find_word(part, " where ") : NULL;
    if (!part)
        return false;
    to->aspect = copy_part(r, part, where ? (size_t)(where - part) : strlen(part));
    if (where)
        to->where = copy_part(r, where + strlen(" where "), strlen(where + strlen(" where ")));
    free(part);
    if (!to->aspect || (where && !to->where))
        return false;
    if (!fields_is_declared(to->aspect, strlen(to->aspect)))
        reader_wrong(r, t, "%s cannot be the name of an aspect; %s", diagnostics_quote(to->aspect).s, forms);
    else if (strncmp(to->aspect, own, strlen(own)) == 0)
        reader_wrong(r, t,
                     "%s is recorded by the monitor itself, whose records start no trigger; give a limit, or an "
                     "aspect of a program or sampler",
                     diagnostics_quote(to->aspect).s);
    else if (to->where && condition_read(to->where, &condition, &why) != 0)
        reader_wrong(r, t, "%s cannot be read: %s", diagnostics_quote(to->where).s, why);
    else
        return true;
    return false;
}

static void read_time(struct reader *r, const struct tree *t, const char *text, int64_t *to)
{
    const char *why;
    int64_t ns = 0;
    text += strspn(text, " \t");
    if (units_read_duration(text, &ns, &why) != 0)
        reader_wrong(r, t, "%s is not a duration: %s", diagnostics_quote(text).s, why);
    else if (ns < CLOCK_US || ns > 3600 * CLOCK_S)
        reader_wrong(r, t, "%s is out of range; allowed: 1 us .. 1 h", diagnostics_quote(text).s);
    else
        *to = ns;
}

static const char *metric_of(const struct experiment *e, const struct experiment_limit *l)
{
    return l->metric == LIMIT_ON_SENSOR_CPU ? "sensor_cpu" : e->metrics[l->metric].name;
}

static bool is_named(const struct experiment *e, uint32_t i, const char *name)
{
    const char *metric = e->limits[i].text ? metric_of(e, &e->limits[i]) : NULL;
    return metric && (strcmp(e->limits[i].text, name) == 0 || strcmp(metric, name) == 0);
}

/* The limit with this text, or on the metric of this name. */
static void find_limit(struct reader *r, const struct tree *t, const struct experiment *e, const char *name,
                       struct experiment_trigger *of)
{
    struct near near = {.wanted = name};
    int found = -1;
    for (uint32_t i = 0; i < e->limit_count; i++) {
        if (e->limits[i].text)
            near_consider(&near, e->limits[i].text);
        if (e->limits[i].text && metric_of(e, &e->limits[i]))
            near_consider(&near, metric_of(e, &e->limits[i]));
        if (!is_named(e, i, name))
            continue;
        if (found >= 0) {
            reader_wrong(r, t, "%s is two limits (lines %u and %u): give the text of one, and no other the same",
                         diagnostics_quote(name).s, e->limits[found].at.line, e->limits[i].at.line);
            return;
        }
        found = (int)i;
    }
    of->limit = found;
    if (found < 0 && near.best)
        reader_wrong(r, t, "there is no limit %s; did you mean '%s violated'?", diagnostics_quote(name).s, near.best);
    else if (found < 0)
        reader_wrong(r, t, "there is no limit %s in 'limits'", diagnostics_quote(name).s);
}

static void unknown_condition(struct reader *r, const struct tree *t, const struct experiment *e, const char *text)
{
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (is_named(e, i, text)) {
            reader_wrong(r, t, "%s is a limit, which holds as long as all is well; expected: '%s violated'",
                         diagnostics_quote(text).s, text);
            return;
        }
    reader_wrong(r, t, "%s is no condition; %s", diagnostics_quote(text).s, forms);
}

static void read_condition(struct reader *r, const struct tree *t, const struct experiment *e,
                           struct experiment_trigger *of)
{
    static const char no[] = "no ", any[] = "any ", violated[] = " violated";
    const char *text = of->when, *then = find_word(text, " then "), *within = find_word(text, " within ");
    const char *time = find_word(text, " for "), *where = find_word(text, " where ");
    size_t n = strlen(text);
    if (n > strlen(violated) && strcmp(text + n - strlen(violated), violated) == 0) {
        char *name = copy_part(r, text, n - strlen(violated));
        of->condition = WHEN_VIOLATED;
        if (name)
            find_limit(r, t, e, name, of);
        free(name);
    } else if (strncmp(text, no, strlen(no)) == 0 && time) {
        of->condition = WHEN_SILENT;
        if (where)
            reader_wrong(r, t,
                         "a silence is of all records of an aspect, as only their number is known before they "
                         "are taken; leave 'where' out");
        else if (read_records(r, t, text + strlen(no), (size_t)(time - text) - strlen(no), &of->first))
            read_time(r, t, time + strlen(" for "), &of->within);
    } else if (then && within && within > then) {
        const char *second = then + strlen(" then ");
        of->condition = WHEN_SEQUENCE;
        if (read_records(r, t, text, (size_t)(then - text), &of->first) &&
            read_records(r, t, second, (size_t)(within - second), &of->then))
            read_time(r, t, within + strlen(" within "), &of->within);
    } else if (where || strncmp(text, any, strlen(any)) == 0) {
        size_t skip = strncmp(text, any, strlen(any)) == 0 ? strlen(any) : 0;
        of->condition = WHEN_RECORD;
        (void)read_records(r, t, text + skip, n - skip, &of->first);
    } else
        unknown_condition(r, t, e, text);
}

/* ---- Actions ----------------------------------------------------------------------------------------------------- */

static enum experiment_act act_of(const char *key)
{
    enum experiment_act act = ACT_SNAPSHOT;
    while (act <= ACT_STOP && strcmp(acts[act], key) != 0)
        act++;
    return act > ACT_STOP ? ACT_NONE : act;
}

static void find_process(struct reader *r, const struct tree *t, const struct experiment *e,
                         struct experiment_action *a)
{
    const char *name = t ? reader_text(r, t, "the name of a process") : NULL;
    if (name)
        a->process = check_find_process(r, t, e, name, " in 'processes'");
}

/* A key that says how something else is done. */
static void check_belongs(struct reader *r, const struct tree *t, const char *key, enum experiment_act act,
                          enum experiment_act to)
{
    if (tree_get(t, key) && act != to && act != ACT_NONE)
        reader_wrong_key(r, tree_get(t, key), "belongs to '%s', and this action is '%s'", acts[to], acts[act]);
}

static void check_action(struct reader *r, const struct tree *t, const struct experiment *e,
                         struct experiment_action *a)
{
    if (t->refused || (t->kind != TREE_MAP && !a->stop))
        return;
    a->act = a->stop ? ACT_STOP : ACT_NONE;
    for (const struct tree *key = t->kind == TREE_MAP ? t->first : NULL; key; key = key->next) {
        enum experiment_act act = act_of(key->key);
        if (act != ACT_NONE && a->act != ACT_NONE && act != a->act)
            reader_wrong_key(r, key,
                             "is a second action in one entry; write each one as an entry of its own, behind '- '");
        else if (act != ACT_NONE)
            a->act = act;
    }
    if (a->act == ACT_NONE && !t->first)
        reader_wrong(r, t, "is no action; allowed: snapshot, aspects, poll, knob, note, mark, command, stop");
    else if (a->act == ACT_NONE && act_of(t->first->key) == ACT_NONE)
        reader_missing(r, t, "note",
                       "is missing; expected: an action: snapshot, aspects, poll, knob, note, mark, command or stop");
    check_belongs(r, t, "for", a->act, ACT_ASPECTS);
    check_belongs(r, t, "process", a->act, ACT_KNOB);
    check_belongs(r, t, "timeout", a->act, ACT_COMMAND);
    find_process(r, tree_get(t, "process"), e, a);
}

static void check_poll(struct reader *r, const struct tree *t, const struct experiment *e,
                       const struct experiment_action *a)
{
    bool moves = experiment_policy_can(e->adapt.policy, POLICY_MOVES);
    if (a->act != ACT_POLL || a->poll == 0)
        return;
    if (e->sensing.mode == POLL_BUSY_WAIT)
        reader_wrong(r, t, "has no effect: busy-wait has no polling period");
    else if (moves && (a->poll < e->adapt.period_min || a->poll > e->adapt.period_max))
        reader_wrong(r, t, "policy %s moves the period within adapt.period, %s .. %s: %s is outside",
                     experiment_policy_word((int)e->adapt.policy), units_exact_duration(e->adapt.period_min).s,
                     units_exact_duration(e->adapt.period_max).s, units_exact_duration(a->poll).s);
}

static void check_steered(struct reader *r, const struct tree *t, const struct experiment *e,
                          const struct experiment_action *a)
{
    for (uint32_t i = 0; a->knob && i < e->adapt.knob_count; i++) {
        const struct experiment_knob *k = &e->adapt.knobs[i];
        if (k->name && strcmp(k->name, a->knob) == 0 && (k->process < 0 || a->process < 0 || k->process == a->process))
            reader_wrong(r, t, "knob '%s' is steered by adapt.knobs[%u] (line %u), which would undo this", a->knob, i,
                         k->at.line);
    }
}

static void check_actions(struct reader *r, const struct tree *t, const struct experiment *e,
                          struct experiment_trigger *of)
{
    const struct tree *list = tree_get(t, "do"), *entry = check_entries(list, of->action_count);
    if (list && list->kind == TREE_LIST && !list->refused && list->children == 0)
        reader_wrong(r, list, "the list is empty; expected: what is to be done, such as [{note: late}]");
    for (uint32_t i = 0; entry; entry = entry->next, i++) {
        struct experiment_action *a = &of->actions[i];
        check_action(r, entry, e, a);
        check_poll(r, entry, e, a);
        check_steered(r, entry, e, a);
        if (a->act == ACT_STOP && entry->next)
            reader_wrong(r, entry,
                         "the run ends here, and what follows in this list is not done: make it the last one");
    }
}

/* ---- Contradictions ---------------------------------------------------------------------------------------------- */

static int mode_of(const struct experiment_action *a, const char *aspect)
{
    int mode = -1;
    for (const struct experiment_rule *m = a->modes; m && m->pattern; m++)
        if (fnmatch(m->pattern, aspect, 0) == 0)
            mode = (int)m->value;
    return mode;
}

/* Whether a condition that reads `aspect` can be met while the aspect has this mode. */
static bool suffices(const struct experiment_trigger *t, int mode)
{
    return mode == MODE_ON || (mode == MODE_COUNT && t->condition == WHEN_SILENT);
}

static void check_blinds_itself(struct reader *r, const struct tree *list, const struct experiment_trigger *t)
{
    const char *aspects[] = {t->first.aspect, t->then.aspect};
    const struct tree *entry = check_entries(list, t->action_count);
    for (uint32_t i = 0; entry; entry = entry->next, i++)
        for (size_t k = 0; k < 2; k++) {
            int mode = aspects[k] ? mode_of(&t->actions[i], aspects[k]) : -1;
            if (mode < 0 || suffices(t, mode) || t->actions[i].lasts > 0)
                continue;
            reader_wrong(r, entry,
                         "turns aspect '%s' %s, which its own condition needs: give the action a 'for', after "
                         "which the aspect is on again",
                         aspects[k], mode == MODE_OFF ? "off" : "to counting");
            return;
        }
}

static bool is_same_knob(const struct experiment_action *a, const struct experiment_action *b)
{
    return a->knob && b->knob && strcmp(a->knob, b->knob) == 0 &&
           (a->process < 0 || b->process < 0 || a->process == b->process);
}

static bool contradicts(const struct experiment_action *a, const struct experiment_action *b)
{
    if (a->act == ACT_POLL && b->act == ACT_POLL)
        return a->poll != b->poll;
    return is_same_knob(a, b) && (a->initial != b->initial || (!a->initial && a->value != b->value));
}

/* Reports, at `entry`, that action `a` of trigger `i` contradicts one of trigger `j`, which has the same condition. */
static bool check_pair(struct reader *r, const struct tree *entry, const struct experiment *e,
                       const struct experiment_action *a, uint32_t j)
{
    const struct experiment_trigger *other = &e->triggers[j];
    for (uint32_t k = 0; k < other->action_count && &other->actions[k] != a; k++)
        if (contradicts(a, &other->actions[k])) {
            reader_wrong(r, entry,
                         "contradicts triggers[%u].do[%u] (line %u), which sets %s%s%s otherwise at the same "
                         "condition: remove one",
                         j, k, other->actions[k].at.line, a->knob ? "knob '" : "the polling period",
                         a->knob ? a->knob : "", a->knob ? "'" : "");
            return true;
        }
    return false;
}

static void check_contradictions(struct reader *r, const struct tree *list, const struct experiment *e, uint32_t i)
{
    const struct experiment_trigger *t = &e->triggers[i];
    const struct tree *entry = check_entries(list, t->action_count);
    for (uint32_t k = 0; entry; entry = entry->next, k++)
        for (uint32_t j = 0; j <= i; j++)
            if (e->triggers[j].when && strcmp(e->triggers[j].when, t->when) == 0 &&
                check_pair(r, entry, e, &t->actions[k], j))
                break;
}

static int file_mode(const struct experiment *e, const char *aspect)
{
    if (experiment_pattern_of(e->sensing.off, aspect))
        return MODE_OFF;
    return experiment_pattern_of(e->sensing.count, aspect) ? MODE_COUNT : MODE_ON;
}

/* Whether the file, or one of the triggers of `may_fire`, has `aspect` recorded as trigger `t` needs it. */
static bool is_turned_on(const struct experiment *e, const struct experiment_trigger *t, const char *aspect,
                         uint64_t may_fire)
{
    bool on = !aspect || suffices(t, file_mode(e, aspect));
    for (uint32_t i = 0; i < e->trigger_count && !on; i++)
        for (uint32_t k = 0; may_fire >> i & 1 && k < e->triggers[i].action_count; k++)
            on = on || suffices(t, mode_of(&e->triggers[i].actions[k], aspect));
    return on;
}

bool triggers_turn_on(const struct experiment *e, const char *aspect, bool counted)
{
    bool on = false;
    for (uint32_t i = 0; i < e->trigger_count; i++)
        for (uint32_t k = 0; k < e->triggers[i].action_count; k++) {
            int mode = mode_of(&e->triggers[i].actions[k], aspect);
            on = on || mode == MODE_ON || (counted && mode == MODE_COUNT);
        }
    return on;
}

/* The triggers that can fire, bit i for trigger i: their aspects are on, or turned on by others that can. */
static uint64_t find_firing(const struct experiment *e)
{
    uint64_t before, may = 0;
    do {
        before = may;
        for (uint32_t i = 0; i < e->trigger_count; i++) {
            const struct experiment_trigger *t = &e->triggers[i];
            if (is_turned_on(e, t, t->first.aspect, may) && is_turned_on(e, t, t->then.aspect, may))
                may |= UINT64_C(1) << i;
        }
    } while (may != before);
    return may;
}

static void check_cycles(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "triggers"), e->trigger_count);
    uint64_t may = find_firing(e);
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_trigger *of = &e->triggers[i];
        bool first = is_turned_on(e, of, of->first.aspect, may);
        const char *aspect = first ? of->then.aspect : of->first.aspect;
        if (may >> i & 1 || !tree_get(t, "when"))
            continue;
        reader_wrong(
            r, tree_get(t, "when"),
            is_turned_on(e, of, aspect, UINT64_MAX)
                ? "can never fire: aspect '%s' is off at the start, and only triggers that wait for this one turn it on"
                : "can never fire: sensing.aspects leaves no records of aspect '%s', and no trigger turns it on",
            aspect);
    }
}

/* ---- All --------------------------------------------------------------------------------------------------------- */

static bool add_short(struct reader *r, struct experiment *e, uint32_t limit)
{
    bool has_room = grow_to(&e->triggers, e->trigger_count + 1, sizeof *e->triggers);
    struct experiment_action *a = reader_alloc(r, 1, sizeof *a);
    char *when = NULL;
    if (asprintf(&when, "%s violated", e->limits[limit].text ? e->limits[limit].text : "?") < 0)
        when = NULL;
    if (!has_room || !a || !when) {
        free(a);
        free(when);
        r->out_of_memory = true;
        return false;
    }
    *a = action_default;
    a->act = ACT_SNAPSHOT;
    a->snapshot = e->limits[limit].snapshot;
    e->triggers[e->trigger_count++] = (struct experiment_trigger){.when = when,
                                                                  .condition = WHEN_VIOLATED,
                                                                  .limit = (int)limit,
                                                                  .once_in = CLOCK_MS,
                                                                  .is_short = true,
                                                                  .action_count = 1,
                                                                  .actions = a};
    return true;
}

/* Each on-violation of a limit is a trigger behind those of the file. */
static void add_shorts(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        if (e->limits[i].snapshot == 0)
            continue;
        if (e->trigger_count == EXPERIMENT_TRIGGERS_MAX) {
            reader_wrong(r, tree_get(t, "on-violation"),
                         "is one trigger too many; allowed: %d with those of 'triggers'", EXPERIMENT_TRIGGERS_MAX);
            return;
        }
        if (!add_short(r, e, i))
            return;
    }
}

void triggers_check(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "triggers"), e->trigger_count);
    size_t before = r->found->errors;
    for (uint32_t i = 0; t; t = t->next, i++) {
        struct experiment_trigger *of = &e->triggers[i];
        const struct tree *when = tree_get(t, "when"), *persistence = tree_get(t, "for");
        of->limit = -1;
        if (t->kind != TREE_MAP || t->refused)
            continue;
        if (of->when)
            read_condition(r, when, e, of);
        if (persistence && of->when && !lasts(of))
            reader_wrong_key(r, persistence,
                             "is for conditions that last, a violated limit or a silence; a record comes once");
        check_actions(r, t, e, of);
        if (!of->when)
            continue;
        check_blinds_itself(r, tree_get(t, "do"), of);
        check_contradictions(r, tree_get(t, "do"), e, i);
    }
    if (r->found->errors == before)
        check_cycles(r, root, e);
    add_shorts(r, root, e);
}

/* Whether no process is a flight recorder, or none is polled. */
static bool are_all(const struct experiment *e, enum experiment_when_full when_full)
{
    return e->sensing.when_full == when_full && !experiment_attaches(e);
}

void triggers_warn(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "triggers"), e->trigger_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_trigger *of = &e->triggers[i];
        bool sampled = of->first.aspect && experiment_sampler_of(of->first.aspect) != EXPERIMENT_SAMPLERS;
        const struct experiment_action *save = experiment_trigger_action(of, ACT_SNAPSHOT);
        if (save && are_all(e, WHEN_FULL_DISCARD))
            reader_warn(r, tree_get(t, "do"),
                        "saves nothing: no process is a flight recorder (sensing.ring.when-full: overwrite)");
        if (of->first.aspect && !sampled && of->condition != WHEN_SILENT && are_all(e, WHEN_FULL_OVERWRITE))
            reader_warn(r, tree_get(t, "when"),
                        "is not met until a snapshot or the process's end saves records: the rings of flight recorders "
                        "('when-full: overwrite') are not polled");
        else if (sampled && e->sensing.sampler[experiment_sampler_of(of->first.aspect)] == 0)
            reader_warn(r, tree_get(t, "when"), "is never met: the sampler that records %s is off", of->first.aspect);
    }
}

/* ---- Queries ----------------------------------------------------------------------------------------------------- */

bool experiment_trigger_reads(const struct experiment *e, const char *name)
{
    for (uint32_t i = 0; i < e->trigger_count; i++) {
        const struct experiment_trigger *t = &e->triggers[i];
        if ((t->first.aspect && strcmp(t->first.aspect, name) == 0) ||
            (t->then.aspect && strcmp(t->then.aspect, name) == 0))
            return true;
    }
    return false;
}

bool experiment_trigger_reads_samplers(const struct experiment *e)
{
    for (uint32_t i = 0; i < e->trigger_count; i++) {
        const char *names[] = {e->triggers[i].first.aspect, e->triggers[i].then.aspect};
        for (size_t k = 0; k < 2; k++)
            if (names[k] && experiment_sampler_of(names[k]) != EXPERIMENT_SAMPLERS)
                return true;
    }
    return false;
}

const struct experiment_action *experiment_trigger_action(const struct experiment_trigger *t, enum experiment_act act)
{
    for (uint32_t i = 0; i < t->action_count; i++)
        if (t->actions[i].act == act)
            return &t->actions[i];
    return NULL;
}

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

static void print_action(const struct experiment *e, const struct experiment_action *a, FILE *out)
{
    if (a->stop) {
        fputs("stop", out);
        return;
    }
    fputc('{', out);
    bool any = schema_print_map(action_fields, a, &action_default, false, out);
    if (a->modes) {
        fprintf(out, "%saspects: {", any ? ", " : "");
        for (const struct experiment_rule *m = a->modes; m->pattern; m++) {
            fputs(m > a->modes ? ", " : "", out);
            schema_print_text(m->pattern, out);
            fprintf(out, ": %s", schema_word(fields_aspect_modes, (int)m->value));
        }
        fputc('}', out);
    }
    if (a->knob && a->initial)
        fprintf(out, "knob: %s=initial", a->knob);
    else if (a->knob)
        fprintf(out, "knob: %s=%" PRId32, a->knob, a->value);
    if (a->process >= 0)
        fprintf(out, ", process: %s", e->processes[a->process].name);
    fputc('}', out);
}

void triggers_print(const struct experiment *e, FILE *out)
{
    for (uint32_t i = 0; i < e->trigger_count && !e->triggers[i].is_short; i++) {
        const struct experiment_trigger *t = &e->triggers[i];
        fputs(i == 0 ? "triggers:\n  - {" : "  - {", out);
        schema_print_map(triggers_fields, t, &triggers_default, false, out);
        fputs(", do: [", out);
        for (uint32_t k = 0; k < t->action_count; k++) {
            fputs(k > 0 ? ", " : "", out);
            print_action(e, &t->actions[k], out);
        }
        fputs("]}\n", out);
    }
}

void triggers_free(struct experiment *e)
{
    for (uint32_t i = 0; i < e->trigger_count; i++) {
        struct experiment_trigger *t = &e->triggers[i];
        for (uint32_t k = 0; k < t->action_count; k++) {
            fields_free_rules(t->actions[k].modes);
            fields_free_texts(t->actions[k].argv);
            free(t->actions[k].knob);
            free(t->actions[k].note);
            free(t->actions[k].mark);
        }
        free(t->actions);
        free(t->when);
        free(t->first.aspect);
        free(t->first.where);
        free(t->then.aspect);
        free(t->then.where);
    }
    free(e->triggers);
}
