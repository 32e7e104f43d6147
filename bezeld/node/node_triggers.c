// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/units.h"
#include "bezeld/node/node_internal.h"
#include "bezeld/node/own_trace.h"
#include "mdr/message.h"
#include "sensor/external/notes.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/*
 * Triggers of the node (resmgr/agent/trigger.h): what a firing does. What the node can do it does at once, in the order
 * of the file. A snapshot of all nodes, a command and the end of the run are asked of `bezel run` (firings.h). A record
 * of the own trace has each firing, with what was done.
 */

enum { DONE_MAX = 255 };

static const struct experiment_trigger *trigger_of(const struct node *n, uint32_t i)
{
    return &n->options.experiment->triggers[i];
}

/* ---- Actions ----------------------------------------------------------------------------------------------------- */

/* What was done, as a text: "note; knob bitrate=500: no process has it". */
struct done {
    char text[DONE_MAX + 1];
    size_t used;
};

static void say(struct done *d, const char *format, ...) BEZEL_PRINTF(2, 3);

static void say(struct done *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (d->used < sizeof d->text)
        d->used += (size_t)vsnprintf(d->text + d->used, sizeof d->text - d->used, format, args);
    va_end(args);
}

/* Rules that last for some time: those of all firings that are not undone, in the order of the file. */
static void apply_passing(struct node *n)
{
    static struct aspect_rules rules; /* one thread; too large for a stack */
    rules.count = 0;
    for (uint32_t i = 0; i < n->options.experiment->trigger_count; i++)
        for (uint32_t k = 0; k < trigger_of(n, i)->action_count; k++)
            for (const struct experiment_rule *m = trigger_of(n, i)->actions[k].modes;
                 m && m->pattern && n->triggers.undo_at[i][k]; m++)
                (void)!aspect_steering_add(&rules, m->pattern, (enum experiment_mode)m->value);
    aspect_steering_pass(&n->aspect_steering, n->external, &rules);
}

static const char *mode_word(int64_t mode)
{
    return mode == MODE_ON ? "on" : mode == MODE_OFF ? "off" : "count";
}

static void act_aspects(struct node *n, uint32_t trigger, uint32_t action, int64_t now, struct done *d)
{
    const struct experiment_action *a = &trigger_of(n, trigger)->actions[action];
    bool kept = true;
    n->triggers.undo_at[trigger][action] = a->lasts > 0 ? now + a->lasts : 0;
    if (a->lasts > 0)
        apply_passing(n);
    else
        kept = aspect_steering_keep(&n->aspect_steering, n->external, a->modes);
    for (const struct experiment_rule *m = a->modes; m->pattern; m++) {
        bool any = aspect_steering_matches(n->external, m->pattern) > 0;
        say(d, "%saspects %s %s%s", m > a->modes ? "; " : "", m->pattern, mode_word(m->value),
            !kept ? ": refused, there are too many rules"
            : any ? ""
                  : ": no process has one now");
    }
}

static void act_poll(struct node *n, const struct experiment_action *a, int64_t now, struct done *d)
{
    struct message_poll poll = {.given = POLL_GIVES_PERIOD, .period_ns = (uint64_t)a->poll};
    struct message_reply reply = {.answer = ANSWER_NODE};
    bool changed = node_poll_change(n, &poll, POLLING_BY_TRIGGER, now, &reply);
    if (changed)
        manager_client_override(n, now);
    say(d, "poll %s%s%s", units_exact_duration(a->poll).s, changed ? "" : ": ", changed ? "" : reply.text);
}

/* Sets the knob in the processes that the action names. Returns in how many, or -1 with the reason in the reply. */
static int set_knob(struct node *n, const struct experiment_action *a, struct message_reply *reply)
{
    const struct experiment *e = n->options.experiment;
    struct message_knob command = {.action = a->initial ? KNOB_RESET : KNOB_SET, .value = a->initial ? 0 : a->value};
    const struct experiment_process *p = a->process < 0 ? NULL : &e->processes[a->process];
    int set = 0;
    snprintf(command.name, sizeof command.name, "%s", a->knob);
    for (uint32_t i = 0; i < (p ? p->instances : 1); i++) {
        if (p)
            experiment_instance_name(p, i, command.process, sizeof command.process);
        node_knob_change(n, &command, SET_BY_TRIGGER, reply);
        if (reply->answer == ANSWER_REFUSED)
            return -1;
        set += (int)reply->knob_set;
    }
    return set;
}

static void act_knob(struct node *n, const struct experiment_action *a, struct done *d)
{
    struct message_reply reply = {.answer = ANSWER_NODE};
    int set = set_knob(n, a, &reply);
    say(d, a->initial ? "knob %s=initial" : "knob %s=%" PRId32, a->knob, a->value);
    if (set <= 0)
        say(d, ": %s", set < 0 ? reply.text : "no process has it");
}

static void act_note(struct node *n, uint32_t trigger, const struct experiment_action *a, int64_t now, struct done *d)
{
    bool is_new = notes_record(n->external, NULL, now, "BEZEL-TRIGGER", "trigger %" PRIu32 " (%.100s): %s", trigger + 1,
                               trigger_of(n, trigger)->when, a->note);
    say(d, is_new ? "note" : "note: it is there already");
}

static void act(struct node *n, uint32_t trigger, uint32_t action, int64_t now, struct done *d)
{
    const struct experiment_action *a = &trigger_of(n, trigger)->actions[action];
    if (action > 0)
        say(d, "; ");
    switch (a->act) {
    case ACT_ASPECTS:
        act_aspects(n, trigger, action, now, d);
        return;
    case ACT_POLL:
        act_poll(n, a, now, d);
        return;
    case ACT_KNOB:
        act_knob(n, a, d);
        return;
    case ACT_NOTE:
        act_note(n, trigger, a, now, d);
        return;
    case ACT_MARK:
        say(d, "mark");
        return;
    case ACT_SNAPSHOT:
    case ACT_COMMAND:
    case ACT_STOP:
        say(d, "%s asked of bezel run",
            a->act == ACT_SNAPSHOT  ? "snapshot"
            : a->act == ACT_COMMAND ? "command"
                                    : "stop");
        return;
    case ACT_NONE:
        return;
    }
}

/* ---- Firings ----------------------------------------------------------------------------------------------------- */

static bool asks_the_run(const struct experiment_trigger *t)
{
    return experiment_trigger_action(t, ACT_SNAPSHOT) || experiment_trigger_action(t, ACT_COMMAND) ||
           experiment_trigger_action(t, ACT_STOP);
}

static void fire(struct node *n, const struct trigger_firing *f, int64_t now)
{
    const struct experiment_trigger *t = trigger_of(n, f->trigger);
    const struct experiment_action *mark = experiment_trigger_action(t, ACT_MARK);
    const char *process = f->slot < 0 ? NULL : agent_process_name(n->agent, f->slot);
    struct done d = {.used = 0};
    for (uint32_t i = 0; i < t->action_count; i++)
        act(n, f->trigger, i, now, &d);
    if (asks_the_run(t)) {
        struct message_firing up = {.trigger = f->trigger, .at = f->at, .value = f->value};
        message_text(up.process, MESSAGE_NAME_MAX, process ? process : "");
        firings_add(&n->triggers.firings, &up);
    }
    own_trace_record_trigger(
        n->own_trace, &(struct builtin_trigger){.trigger = f->trigger,
                                                .event = TRIGGER_FIRED,
                                                .process = process,
                                                .moment = f->at,
                                                .value = f->value,
                                                .latency = clock_now() - f->at,
                                                .suppressed = (int64_t)f->suppressed,
                                                .looked = (int64_t)trigger_counts(n->triggers.set, f->trigger).looked,
                                                .done = d.text,
                                                .mark = mark ? mark->mark : NULL});
}

static void undo(struct node *n, uint32_t trigger, uint32_t action, int64_t now)
{
    int64_t due = n->triggers.undo_at[trigger][action];
    n->triggers.undo_at[trigger][action] = 0;
    apply_passing(n);
    own_trace_record_trigger(n->own_trace, &(struct builtin_trigger){.trigger = trigger,
                                                                     .event = TRIGGER_UNDONE,
                                                                     .moment = due,
                                                                     .value = (double)NAN,
                                                                     .latency = now - due,
                                                                     .done = "aspects as before"});
}

/* Undoes what is due. Returns when the next one is; INT64_MAX: nothing is. */
static int64_t undo_due(struct node *n, int64_t now)
{
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; i < n->options.experiment->trigger_count; i++)
        for (uint32_t k = 0; k < trigger_of(n, i)->action_count; k++) {
            int64_t at = n->triggers.undo_at[i][k];
            if (at && now >= at)
                undo(n, i, k, now);
            else if (at && at < next)
                next = at;
        }
    return next;
}

bool node_firing(const struct node *n, uint32_t trigger, struct message_firing *f)
{
    const struct message_firing *found = firings_find(&n->triggers.firings, trigger);
    if (!found)
        return false;
    *f = *found;
    f->at += n->realtime_offset;
    return true;
}

int node_triggers_open(struct node *n)
{
    n->triggers.undo_due = INT64_MAX;
    return n->options.experiment->trigger_count == 0 ? 0 : trigger_new(n->options.experiment, &n->triggers.set);
}

void node_triggers_turn(struct node *n, int64_t now)
{
    struct trigger_firing f;
    bool fired = false;
    if (n->triggers.set && trigger_asks_counters(n->triggers.set, now))
        node_count_for_triggers(n, now);
    while (n->triggers.set && trigger_next(n->triggers.set, now, &f)) {
        fire(n, &f, now);
        fired = true;
    }
    if (fired || now >= n->triggers.undo_due)
        n->triggers.undo_due = undo_due(n, now);
    if (fired)
        node_report_firings(n, now);
}

int64_t node_triggers_due(const struct node *n)
{
    int64_t due = n->triggers.set ? trigger_due(n->triggers.set) : INT64_MAX;
    return due < n->triggers.undo_due ? due : n->triggers.undo_due;
}

void node_triggers_judged(struct node *n, uint32_t i, const struct agent_limit *l, int64_t at)
{
    bool known = l->state != LIMIT_UNKNOWN;
    if (n->triggers.set)
        trigger_limit(n->triggers.set, i, known, l->state == LIMIT_VIOLATED, l->known ? l->value : (double)NAN, at);
}

void node_triggers_step(struct node *n, const struct agent_outcome *o, int64_t now)
{
    for (uint32_t i = 0; i < o->limit_count && n->triggers.set; i++)
        if (!n->options.experiment->limits[i].global)
            node_triggers_judged(n, i, &o->limits[i], now);
}

void node_triggers_end(struct node *n, int64_t now)
{
    node_triggers_turn(n, now);
    for (uint32_t i = 0; n->triggers.set && i < n->options.experiment->trigger_count; i++) {
        struct trigger_counts c = trigger_counts(n->triggers.set, i);
        own_trace_record_trigger(n->own_trace, &(struct builtin_trigger){.trigger = i,
                                                                         .event = TRIGGER_ENDS,
                                                                         .moment = now,
                                                                         .value = (double)NAN,
                                                                         .suppressed = (int64_t)c.suppressed,
                                                                         .looked = (int64_t)c.looked});
    }
}
