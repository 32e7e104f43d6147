// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/whatif_internal.h"

#include "base/grow.h"
#include "base/saturate.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * From intervals and messages to steps: on a CPU a thread has steps of CPU time, cut where its innermost span changes
 * and where it sent or received. Off the CPU it waits for the message that explains the wait (path_off_before()), else
 * for as long as it did. While it was ready and a process of the run had the CPU, it competes in the simulation; with
 * others, or if nobody knows with whom, it is delayed for as long as it was. In WHATIF_TYPICAL what comes from outside
 * is as in other instances: how long messages and waits take, and how long others have the CPU while it works.
 */

#define NEAR INT64_C(1000) /* ns: a sending at this distance is the one that is meant */

/* CPUs of a node, a bit for each, modulo 64. */
struct home {
    int64_t node;
    uint64_t cpus;
};

struct build {
    struct whatif_run *run;
    const struct activity *a;           /* of it, as the next one */
    const struct whatif_change *change; /* NULL: as it was */
    struct rerun r;
    int64_t from, until;
    uint32_t *place;       /* of each thread in r.threads; ACTIVITY_NONE: it has no steps */
    size_t *event, *first; /* the next event of each thread, and the first one in the window ... */
    size_t *message;       /* ... whose number as a message this is */
    struct home *homes;    /* of each group */
    uint32_t *receiver;    /* of each message, if work moves with messages: its thread; ACTIVITY_NONE: none */
    double *carried;       /* of each thread: ns of work that goes with the next message, if its receiver does it */
    double *left_to;       /* of each message: ns of work that its receiver does */
    struct moved {         /* to where threads of node `from` move */
        bool known;
        int64_t from;
        struct home to;
        double others; /* for each ns that processes of the run work there, others have the CPU for so long; NaN:
                          unknown */
    } moved;
    bool process_moves; /* the change is that; else, if it is a move, work of a span moves with messages */
    double ahead;       /* of the thread that gets its steps, ns: see put_ahead() */
    bool failed;
    bool blind; /* it waits for a thread of which nobody knows when it was on a CPU */
};

/* ---- what is changed --------------------------------------------------------------------------------------------- */

static bool is_of_process(const struct activity_thread *t, const char *name)
{
    size_t n = strlen(t->node);
    return strcmp(t->process, name) == 0 ||
           (strncmp(t->node, name, n) == 0 && name[n] == '/' && strcmp(t->process, name + n + 1) == 0);
}

/* Whether the change is in the time of thread `t` around `at`, and whether it is in its waits for `is`. */
static bool is_scaled(const struct build *b, const struct activity_thread *t, int64_t at)
{
    const struct whatif_change *c = b->change;
    return c && c->kind == WHATIF_TIMES && c->name[0] &&
           (is_of_process(t, c->name) || activity_is_in_span(b->a, t, c->name, at));
}

static bool is_scaled_wait(const struct build *b, enum path_class is)
{
    return b->change && b->change->kind == WHATIF_TIMES && !b->change->name[0] && b->change->waits == is;
}

/* By what that time, and these waits, are multiplied. */
static double scale_by(struct build *b, bool scaled)
{
    b->run->applies |= scaled;
    return scaled ? b->change->factor : 1;
}

static double scale_work(struct build *b, const struct activity_thread *t, int64_t at)
{
    return scale_by(b, is_scaled(b, t, at));
}

static double scale_wait(struct build *b, enum path_class is)
{
    return scale_by(b, is_scaled_wait(b, is));
}

/* ---- what moves -------------------------------------------------------------------------------------------------- */

static bool is_moved(const struct build *b, const struct activity_thread *t)
{
    return b->process_moves && is_of_process(t, b->change->name);
}

/* Whether work of a span moves to thread `t`, of a process of that name. */
static bool takes_work(const struct build *b, const struct activity_thread *t)
{
    char name[2 * MESSAGE_NAME_MAX + 2];
    snprintf(name, sizeof name, "%s/%s", t->node, t->process);
    return fnmatch(b->change->to, t->process, 0) == 0 || fnmatch(b->change->to, name, 0) == 0;
}

/* Work of a span that moves, by thread `t` around `at`, to the process that receives its next message. */
static bool is_carried(const struct build *b, const struct activity_thread *t, int64_t at)
{
    return b->carried && !takes_work(b, t) && activity_is_in_span(b->a, t, b->change->name, at);
}

/* All CPUs of a node that threads were seen on. */
static uint64_t cpus_of(const struct build *b, int64_t node)
{
    uint64_t cpus = 0;
    for (size_t i = 0; i < b->a->thread_count; i++)
        cpus |= b->a->threads[i].node_row == node ? b->a->threads[i].cpus : 0;
    return cpus;
}

static double others_at(const struct build *b, struct home h)
{
    double ns = 0, per = 0;
    for (uint32_t cpu = 0; cpu < 64; cpu++)
        if (h.cpus >> cpu & 1)
            whatif_sum(b->run->times, (struct whatif_key){.of = WHATIF_ON_CPU, .row = h.node, .span = cpu},
                       WHATIF_HALVES, &ns, &per);
    return per > 0 ? ns / per : (double)NAN;
}

/* Where thread `t`, which moves, goes to; without CPUs: nothing ran there. */
static const struct moved *moved_to(struct build *b, const struct activity_thread *t)
{
    struct home to = {t->node_row, 0};
    if (b->moved.known && b->moved.from == t->node_row)
        return &b->moved;
    to.cpus = b->change->to[0] ? 0 : cpus_of(b, to.node);
    for (size_t i = 0; b->change->to[0] && i < b->a->thread_count && !to.cpus; i++)
        if (strcmp(b->a->threads[i].node, b->change->to) == 0)
            to = (struct home){b->a->threads[i].node_row, cpus_of(b, b->a->threads[i].node_row)};
    to.cpus &= b->change->cpu >= 0 ? UINT64_C(1) << b->change->cpu : UINT64_MAX;
    b->run->applies = true;
    b->moved = (struct moved){true, t->node_row, to, others_at(b, to)};
    return &b->moved;
}

/* Where thread `t` runs in the simulation. */
static struct home home_of(struct build *b, const struct activity_thread *t)
{
    return is_moved(b, t) ? moved_to(b, t)->to : (struct home){t->node_row, t->cpus};
}

/* A message between two nodes is under way for so long there; NaN: nobody knows. */
static double flight_between(const struct build *b, int64_t sender, int64_t receiver)
{
    struct whatif_key there = {.of = WHATIF_BETWEEN, .row = receiver, .sender = sender},
                      back = {.of = WHATIF_BETWEEN, .row = sender, .sender = receiver};
    double ns = whatif_typical(b->run->times, there, WHATIF_HALVES);
    return isnan(ns) ? whatif_typical(b->run->times, back, WHATIF_HALVES) : ns;
}

static void cannot(struct build *b, enum whatif_lack lack)
{
    b->run->lack = lack;
    b->blind = true;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void put(struct build *b, uint32_t thread, enum rerun_kind kind, uint32_t message, double ns)
{
    struct rerun *r = &b->r;
    struct rerun_thread *t = &r->threads[b->place[thread]];
    if (ns <= 0 && (kind == RERUN_RUN || kind == RERUN_DELAY))
        return;
    if (r->step_count >= WHATIF_STEPS_MOST ||
        !grow_list(&r->steps, &r->step_capacity, r->step_count, sizeof *r->steps)) {
        b->failed = true;
        return;
    }
    r->steps[r->step_count++] = (struct rerun_step){.kind = kind, .message = message, .ns = ns};
    t->count++;
}

static uint32_t add_message(struct build *b, double arrives)
{
    struct rerun *r = &b->r;
    if (!grow_list(&r->messages, &r->message_capacity, r->message_count, sizeof *r->messages)) {
        b->failed = true;
        return 0;
    }
    r->messages[r->message_count] = (struct rerun_message){.arrives = arrives};
    return (uint32_t)r->message_count++;
}

/* The number of the message that `e` received, if it is sent in the simulation; ACTIVITY_NONE. */
static uint32_t message_of(const struct build *b, const struct activity_event *e)
{
    if (e->peer == ACTIVITY_NONE || e->from < b->from || b->place[e->peer] == ACTIVITY_NONE)
        return ACTIVITY_NONE;
    const struct activity_thread *t = &b->a->threads[e->peer];
    int64_t near = (e->bound > NEAR ? e->bound : NEAR) + 1;
    uint32_t found = ACTIVITY_NONE;
    for (size_t i = activity_event_at(t, saturate_sub(e->from, near));
         i < t->event_count && t->events[i].at < saturate_add(e->from, near) && t->events[i].at < b->until; i++) {
        int64_t apart = llabs(t->events[i].at - e->from);
        if (t->events[i].kind != ACTIVITY_SENT || t->events[i].at < b->from || apart >= near)
            continue;
        near = apart;
        found = (uint32_t)(b->message[e->peer] + i - b->first[e->peer]);
    }
    return found;
}

static void note(struct build *b, struct whatif_key key, double ns, double per)
{
    if (b->run->mode == WHATIF_NOTED && !whatif_note(b->run->times, key, b->run->half, ns, per))
        b->failed = true;
}

/* What the other instances say, if that counts; else what was measured. */
static double typical(const struct build *b, struct whatif_key key, double measured)
{
    double ns = b->run->mode == WHATIF_TYPICAL ? whatif_typical(b->run->times, key, b->run->half) : measured;
    return isnan(ns) ? 0 : ns;
}

/*
 * How long the message that `e` is the receiving of is under way. `awaited`: so long it was, while it was waited for;
 * NaN: it was not, so that it took as long as others, or less if it was received sooner.
 */
static double flight_of(struct build *b, uint32_t thread, const struct activity_event *e, double awaited)
{
    const struct activity_thread *t = &b->a->threads[thread], *sender = &b->a->threads[e->peer];
    struct whatif_key key = {.of = WHATIF_FLIGHT, .row = t->process_row, .sender = sender->process_row},
                      between = {.of = WHATIF_BETWEEN, .row = t->node_row, .sender = sender->node_row};
    double flight = awaited, most = (double)(e->at > e->from ? e->at - e->from : 0);
    if (is_moved(b, t) || is_moved(b, sender)) {
        int64_t to = home_of(b, t).node, from = home_of(b, sender).node;
        if (to != t->node_row || from != sender->node_row)
            flight = flight_between(b, from, to);
        if (isnan(flight) && (to != t->node_row || from != sender->node_row))
            cannot(b, WHATIF_LACKS_NETWORK);
        most = INFINITY;
    } else if (!isnan(awaited)) {
        note(b, key, awaited, 1);
        note(b, between, awaited, 1);
        flight = typical(b, key, awaited);
    }
    if (isnan(flight)) {
        int half = b->run->mode == WHATIF_TYPICAL ? b->run->half : WHATIF_HALVES;
        flight = b->run->mode == WHATIF_NOTED ? 0 : whatif_typical(b->run->times, key, half);
        flight = isnan(flight) ? 0 : flight < most ? flight : most;
    }
    return flight * scale_wait(b, PATH_MESSAGE);
}

/* Work that was to go with a message stays with its thread, if that message goes elsewhere. */
static void put_carried(struct build *b, uint32_t thread, uint32_t message)
{
    double ns = b->carried ? b->carried[thread] : 0;
    uint32_t to = message == ACTIVITY_NONE || ns <= 0 ? (uint32_t)ACTIVITY_NONE : b->receiver[message];
    if (ns <= 0)
        return;
    b->carried[thread] = 0;
    if (to == ACTIVITY_NONE || !takes_work(b, &b->a->threads[to])) {
        put(b, thread, RERUN_RUN, 0, ns);
        return;
    }
    b->left_to[message] += ns;
    b->run->applies = true;
}

/* Receives message `m`, and does what work went with it: that is known when all threads have their steps. */
static void put_received(struct build *b, uint32_t thread, uint32_t m, double flight)
{
    b->r.messages[m].flight = flight;
    put_carried(b, thread, ACTIVITY_NONE);
    put(b, thread, RERUN_RECEIVE, m, 0);
    if (b->carried && b->receiver[m] == thread && takes_work(b, &b->a->threads[thread]))
        put(b, thread, RERUN_RUN, m + 1, (double)NAN);
}

static void put_event(struct build *b, uint32_t thread, size_t i)
{
    const struct activity_event *e = &b->a->threads[thread].events[i];
    uint32_t m = e->kind == ACTIVITY_RECEIVED ? message_of(b, e) : (uint32_t)ACTIVITY_NONE;
    if (e->kind == ACTIVITY_SENT) {
        m = (uint32_t)(b->message[thread] + i - b->first[thread]);
        put_carried(b, thread, m);
        put(b, thread, RERUN_SEND, m, 0);
    } else if (m != ACTIVITY_NONE) {
        put_received(b, thread, m, flight_of(b, thread, e, (double)NAN));
    }
}

static void put_events(struct build *b, uint32_t thread, int64_t until)
{
    const struct activity_thread *t = &b->a->threads[thread];
    while (b->event[thread] < t->event_count && t->events[b->event[thread]].at < until)
        put_event(b, thread, b->event[thread]++);
}

/* So long as thread `t` works for `per`, others than the run's processes had the CPU for `ns`. */
static void note_others(struct build *b, const struct activity_thread *t, double ns, double per)
{
    note(b, (struct whatif_key){.of = WHATIF_OTHERS, .row = t->process_row}, ns, per);
    for (uint32_t cpu = 0; cpu < 64 && b->run->times->on_cpus; cpu++)
        if (t->cpus >> cpu & 1)
            note(b, (struct whatif_key){.of = WHATIF_ON_CPU, .row = t->node_row, .span = cpu}, ns, per);
}

static void put_others(struct build *b, uint32_t thread, int64_t ns)
{
    const struct activity_thread *t = &b->a->threads[thread];
    double share = typical(b, (struct whatif_key){.of = WHATIF_OTHERS, .row = t->process_row}, 0);
    note_others(b, t, 0, (double)ns);
    if (is_moved(b, t))
        share = moved_to(b, t)->others;
    if (isnan(share))
        cannot(b, WHATIF_LACKS_PLACE);
    else
        put(b, thread, RERUN_DELAY, 0, (double)ns * share);
}

/* ns as the change has them. */
static double scale(struct build *b, int64_t ns, bool scaled)
{
    double takes = (double)ns * scale_by(b, scaled),
           ahead = scaled && b->run->brief == WHATIF_AHEAD ? fmin(b->ahead, takes) : 0;
    b->ahead -= ahead;
    return takes - ahead;
}

/* On a CPU. */
static void put_run(struct build *b, uint32_t thread, int64_t from, int64_t until)
{
    const struct activity_thread *t = &b->a->threads[thread];
    for (int64_t at = from, next; at < until && !b->failed; at = next) {
        put_events(b, thread, saturate_add(at, 1));
        next = activity_inner_until(t, saturate_add(at, 1));
        next = next < until ? next : until;
        if (b->event[thread] < t->event_count && t->events[b->event[thread]].at < next)
            next = t->events[b->event[thread]].at;
        if (is_carried(b, t, at + (next - at) / 2))
            b->carried[thread] += (double)(next - at);
        else
            put(b, thread, RERUN_RUN, 0, scale(b, next - at, is_scaled(b, t, at + (next - at) / 2)));
    }
    put_others(b, thread, until - from);
    put_events(b, thread, until < b->until ? until : saturate_add(until, 1));
}

/* Whether the process or command of that name, on the node of thread `t`, is one of the run; `simulated`: and has
 * steps. */
static bool is_of_run(const struct build *b, const struct activity_thread *t, uint32_t name, bool simulated)
{
    for (size_t i = 0; name != ACTIVITY_NONE && i < b->a->thread_count; i++)
        if ((!simulated || b->place[i] != ACTIVITY_NONE) && b->a->threads[i].node_row == t->node_row &&
            strcmp(b->a->threads[i].process, b->a->names[name]) == 0)
            return true;
    return false;
}

/* Ready: what processes of the run had of it is left to the simulation. */
static void put_ready(struct build *b, uint32_t thread, int64_t from, int64_t until)
{
    const struct activity_thread *t = &b->a->threads[thread];
    int64_t others = until - from;
    for (size_t i = activity_rival_before(t, until); i > 0 && t->rivals[i - 1].end > from; i--) {
        const struct activity_rival *r = &t->rivals[i - 1];
        int64_t begin = r->begin > from ? r->begin : from, end = r->end < until ? r->end : until;
        others -= begin < end && !r->monitor && is_of_run(b, t, r->name, true) ? end - begin : 0;
    }
    note_others(b, t, (double)others, 0);
    if (b->run->mode != WHATIF_TYPICAL && !is_moved(b, t))
        put(b, thread, RERUN_DELAY, 0, (double)others * scale_work(b, t, from + (until - from) / 2));
}

/* The class of a wait that no message explains. */
static enum path_class class_of(const struct activity_thread *t, int64_t from, int64_t until)
{
    return path_wait_class(activity_wait_in(t, from, until), activity_reason_before(t, until));
}

/*
 * Whether a wait `x` for `is`, which no message explains, may last longer or shorter with the change: it ended with
 * what a thread of the run did, or may have. If the change is how long such waits last, that is said. Who released a
 * lock, or is at the other end of a pipe, is not known to a user without rights; work of the kernel (softirq) and
 * threads of others, which may be the kernel's, bring messages as well; interrupts are of timers and devices.
 */
static bool may_change(const struct build *b, const struct activity_thread *t, enum path_class is,
                       const struct activity_wait *x)
{
    enum { DISK = PATH_CLASSES };
    static const bool lasts[PATH_CLASSES + 1][ACTIVITY_NOT_YET + 1] = {
        /*                not known, thread of others, softirq, interrupt, not yet */
        [PATH_UNKNOWN] = {false, false, false, true, false}, [PATH_LOCK] = {false, true, false, true, false},
        [PATH_IO] = {false, false, false, true, false},      [PATH_STOPPED] = {false, true, true, true, false},
        [PATH_SLEEP] = {true, true, true, true, true},       [DISK] = {true, true, true, true, true},
    };
    if (!b->change || is_scaled_wait(b, is))
        return false;
    if (x && x->woken == ACTIVITY_BY_THREAD && (x->waker != ACTIVITY_NONE || is_of_run(b, t, x->name, false)))
        return true;
    return !lasts[x && x->state == ACTIVITY_DISK ? DISK : is][x ? x->woken : ACTIVITY_BY_UNKNOWN];
}

/* A wait that no message explains. */
static void put_wait(struct build *b, uint32_t thread, int64_t from, int64_t until)
{
    const struct activity_thread *t = &b->a->threads[thread];
    const struct activity_wait *x = activity_wait_in(t, from, until);
    int64_t since;
    struct whatif_key key = {.of = WHATIF_WAIT,
                             .row = t->process_row,
                             .span = activity_inner_before(t, until, &since),
                             .is = class_of(t, from, until)};
    bool open = may_change(b, t, key.is, x);
    note(b, key, (double)(until - from), 1);
    b->run->open |= open;
    b->ahead = is_scaled_wait(b, key.is) ? b->ahead : 0;
    if (!(open && b->run->brief))
        put(b, thread, RERUN_DELAY, 0,
            scale(b, (int64_t)typical(b, key, (double)(until - from)), is_scaled_wait(b, key.is)));
}

/* Waited for message `e`, until `woken`. */
static void put_receive(struct build *b, uint32_t thread, const struct activity_event *e, int64_t woken)
{
    uint32_t m = message_of(b, e);
    b->ahead = 0;
    if (m == ACTIVITY_NONE) {
        b->blind = b->blind || e->from >= b->from;
        put(b, thread, RERUN_RECEIVE, add_message(b, (double)(woken - b->from)), 0);
        return;
    }
    put_received(b, thread, m, flight_of(b, thread, e, woken > e->from ? (double)(woken - e->from) : 0));
    b->event[thread] += e == &b->a->threads[thread].events[b->event[thread]];
}

/* Nothing more in the window: what it waits for then is not in it. */
static void put_rest(struct build *b, uint32_t thread, int64_t from)
{
    if (b->run->mode != WHATIF_TYPICAL)
        put(b, thread, RERUN_DELAY, 0, (double)(b->until - from));
}

/* For how long before interval `next` the thread was ready: the middle of what is open; if the change is in its wait,
 * how far off that may be is part of the error. */
static int64_t ready_before(struct build *b, const struct activity_thread *t, const struct activity_interval *next,
                            const struct path_off *off)
{
    int64_t least = activity_is_woken(t, next) ? off->most : off->least, open = off->most - least;
    bool changes = open > 0 && scale_wait(b, class_of(t, saturate_sub(next->begin, next->off), next->begin)) != 1;
    b->run->open |= changes;
    return changes && b->run->brief ? least : least + open / 2;
}

/* Off the CPU, before interval `i`, from `from` to `until`, which the window cuts. */
static void put_off(struct build *b, uint32_t thread, size_t i, int64_t from, int64_t until)
{
    const struct activity_thread *t = &b->a->threads[thread];
    const struct activity_interval *next = &t->intervals[i];
    struct path_off off = path_off_before(b->a, thread, i);
    int64_t woken = next->begin - ready_before(b, t, next, &off);
    put_events(b, thread, from + (until - from) / 2);
    if (off.awaited && woken >= from && woken <= until)
        put_receive(b, thread, off.awaited, woken);
    else if (woken >= b->until)
        put_rest(b, thread, from);
    else if (woken > from)
        put_wait(b, thread, from, woken < until ? woken : until);
    if (woken < until)
        put_ready(b, thread, woken > from ? woken : from, until);
}

/* For how long thread `t` had not waited when the window began, but for what the change is in; INFINITY: that is not
 * kept. */
static double busy_before(const struct build *b, const struct activity_thread *t)
{
    for (size_t i = activity_interval_before(t, b->from); i > 0; i--) {
        const struct activity_interval *on = &t->intervals[i - 1], *next = i < t->interval_count ? on + 1 : NULL;
        int64_t woken = next ? next->begin - next->ready_most : b->from;
        bool waited = !next || (next->off > next->ready_most && !is_scaled_wait(b, class_of(t, on->end, next->begin)));
        if (on->end < b->from && waited)
            return woken < b->from ? (double)(b->from - woken) : 0;
    }
    return INFINITY;
}

/*
 * How far ahead of where it was the change would have a thread when the window begins. The thread may have been at work
 * on something from before, and the change holds for that work too. The thread that began the instance is where it was.
 */
static void put_ahead(struct build *b, uint32_t thread)
{
    const struct slow_instance *is = b->run->is;
    const struct activity_thread *t = &b->a->threads[thread];
    bool begins = !is->apart && t->process_row == is->process && t->id == is->thread;
    double less = b->change && b->change->kind == WHATIF_TIMES && !begins ? fabs(1 - b->change->factor) : 0;
    b->ahead = less > 0 ? less * busy_before(b, t) : 0;
    b->run->begun |= b->ahead > 0;
}

/* All that thread `thread` did in the window. */
static void put_thread(struct build *b, uint32_t thread)
{
    const struct activity_thread *t = &b->a->threads[thread];
    size_t i = activity_interval_before(t, b->from);
    int64_t at = b->from;
    b->r.threads[b->place[thread]].first = b->r.step_count;
    i -= i > 0 && t->intervals[i - 1].end > b->from;
    put_ahead(b, thread);
    for (; i < t->interval_count && at < b->until && !b->failed; i++) {
        int64_t begin = t->intervals[i].begin < b->until ? t->intervals[i].begin : b->until;
        int64_t end = t->intervals[i].end < b->until ? t->intervals[i].end : b->until;
        if (begin > at)
            put_off(b, thread, i, at, begin);
        at = begin > at ? begin : at;
        if (end > at)
            put_run(b, thread, at, end);
        at = end > at ? end : at;
    }
    put_events(b, thread, saturate_add(b->until, 1));
    put_carried(b, thread, ACTIVITY_NONE);
    if (at < b->until)
        put_rest(b, thread, at);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static bool is_seen(const struct activity_thread *t, int64_t from, int64_t until)
{
    size_t i = activity_interval_before(t, until);
    return i > 0 && t->intervals[i - 1].end > from;
}

/* A group has the CPUs of a node that its threads were seen on; those of two groups are not the same. */
static void add_home(struct build *b, struct home h)
{
    struct rerun *r = &b->r;
    for (size_t i = r->group_count; i > 0; i--)
        if (b->homes[i - 1].node == h.node && (b->homes[i - 1].cpus & h.cpus)) {
            h.cpus |= b->homes[i - 1].cpus;
            b->homes[i - 1] = b->homes[--r->group_count];
        }
    b->homes[r->group_count++] = h;
}

static uint32_t group_of(const struct build *b, struct home h)
{
    uint32_t i = 0;
    while (i + 1 < b->r.group_count && !(b->homes[i].node == h.node && (b->homes[i].cpus & h.cpus)))
        i++;
    return i;
}

static bool make_room(struct build *b)
{
    size_t n = b->a->thread_count + 1;
    b->place = malloc(n * sizeof *b->place);
    b->event = malloc(n * sizeof *b->event);
    b->first = malloc(n * sizeof *b->first);
    b->message = malloc(n * sizeof *b->message);
    b->homes = malloc(n * sizeof *b->homes);
    b->r.threads = calloc(n, sizeof *b->r.threads);
    b->r.cpus = calloc(n, sizeof *b->r.cpus);
    return b->place && b->event && b->first && b->message && b->homes && b->r.threads && b->r.cpus;
}

static void free_build(struct build *b)
{
    free(b->place);
    free(b->event);
    free(b->first);
    free(b->message);
    free(b->homes);
    free(b->receiver);
    free(b->carried);
    free(b->left_to);
    rerun_fini(&b->r);
}

/* Whether nobody knows for a part of the window whether a thread that sends or receives in it, or is `own`, had a CPU.
 */
static bool is_unseen(const struct build *b, uint32_t own)
{
    for (uint32_t i = 0; i < b->a->thread_count; i++) {
        const struct activity_thread *t = &b->a->threads[i];
        size_t k = activity_event_at(t, b->from), last = activity_interval_before(t, b->until);
        bool counts = i == own || (k < t->event_count && t->events[k].at <= b->until);
        for (size_t n = activity_interval_before(t, b->from); n < last && counts; n++)
            if (t->intervals[n].off < 0 && t->intervals[n].begin > b->from)
                return true;
    }
    return false;
}

/* Whether the change is in spans of thread `t` in the window, of which nobody knows when it had a CPU. */
static bool is_scaled_unseen(const struct build *b, const struct activity_thread *t)
{
    int64_t since;
    for (int64_t at = b->from; at < b->until; at = activity_inner_until(t, saturate_add(at, 1)))
        if (activity_inner_before(t, saturate_add(at, 1), &since) != ACTIVITY_NONE && is_scaled(b, t, at))
            return true;
    return false;
}

/* Which threads have steps, and the messages that threads send. */
static void place_threads(struct build *b)
{
    for (size_t i = 0; i < b->a->thread_count; i++) {
        const struct activity_thread *t = &b->a->threads[i];
        b->place[i] = is_seen(t, b->from, b->until) ? (uint32_t)b->r.thread_count++ : (uint32_t)ACTIVITY_NONE;
        if (b->place[i] == ACTIVITY_NONE && is_scaled_unseen(b, t))
            b->run->lack = WHATIF_LACKS_SWITCHES;
        b->event[i] = b->first[i] = activity_event_at(t, b->from);
        b->message[i] = b->r.message_count;
        for (size_t k = b->first[i]; k < t->event_count && t->events[k].at <= b->until && !b->failed; k++)
            (void)add_message(b, (double)NAN);
    }
}

static void place_groups(struct build *b)
{
    for (size_t i = 0; i < b->a->thread_count; i++)
        if (b->place[i] != ACTIVITY_NONE) {
            struct home h = home_of(b, &b->a->threads[i]);
            if (h.cpus == 0 && is_moved(b, &b->a->threads[i]))
                cannot(b, WHATIF_LACKS_PLACE);
            add_home(b, h);
        }
    for (size_t i = 0; i < b->r.group_count; i++)
        b->r.cpus[i] = (uint32_t)__builtin_popcountll(b->homes[i].cpus);
}

/* Who receives each message, if work moves with messages. */
static void find_receivers(struct build *b)
{
    size_t n = b->r.message_count + 1;
    b->receiver = malloc(n * sizeof *b->receiver);
    b->left_to = calloc(n, sizeof *b->left_to);
    b->carried = calloc(b->a->thread_count + 1, sizeof *b->carried);
    b->failed = !b->receiver || !b->left_to || !b->carried;
    for (size_t i = 0; i < n && !b->failed; i++)
        b->receiver[i] = ACTIVITY_NONE;
    for (size_t i = 0; i < b->a->thread_count && !b->failed; i++) {
        const struct activity_thread *t = &b->a->threads[i];
        for (size_t k = b->first[i]; b->place[i] != ACTIVITY_NONE && k < t->event_count && t->events[k].at <= b->until;
             k++) {
            uint32_t m =
                t->events[k].kind == ACTIVITY_RECEIVED ? message_of(b, &t->events[k]) : (uint32_t)ACTIVITY_NONE;
            if (m != ACTIVITY_NONE)
                b->receiver[m] = (uint32_t)i;
        }
    }
}

static void put_threads(struct build *b)
{
    if (b->change && b->change->kind == WHATIF_MOVE && !b->process_moves)
        find_receivers(b);
    place_groups(b);
    for (size_t i = 0; i < b->a->thread_count && !b->failed; i++)
        if (b->place[i] != ACTIVITY_NONE) {
            b->r.threads[b->place[i]].group = group_of(b, home_of(b, &b->a->threads[i]));
            put_thread(b, (uint32_t)i);
        }
    for (size_t i = 0; i < b->r.step_count && b->carried; i++)
        if (b->r.steps[i].kind == RERUN_RUN && b->r.steps[i].message > 0)
            b->r.steps[i].ns = b->left_to[b->r.steps[i].message - 1];
}

double whatif_run(struct whatif_run *run)
{
    struct build b = {.run = run, .a = run->a, .change = run->change, .from = run->is->from, .until = run->is->until};
    uint32_t thread = activity_find(run->a, run->is->process, run->is->thread);
    double took = (double)NAN;
    for (size_t i = 0; run->change && run->change->kind == WHATIF_MOVE && i < run->a->thread_count; i++)
        b.process_moves = b.process_moves || is_of_process(&run->a->threads[i], run->change->name);
    b.failed = thread == ACTIVITY_NONE || is_unseen(&b, thread) || !make_room(&b);
    if (!b.failed)
        place_threads(&b);
    if (!b.failed)
        put_threads(&b);
    if (!b.failed && !b.blind && b.place[thread] != ACTIVITY_NONE && run->mode != WHATIF_NOTED) {
        const struct rerun_thread *t = &b.r.threads[b.place[thread]];
        (void)rerun_simulate(&b.r);
        took = t->count ? b.r.steps[t->first + t->count - 1].ends : 0;
    }
    free_build(&b);
    return took;
}
