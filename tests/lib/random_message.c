// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/random_message.h"

#include "tests/lib/samples.h"
#include "tests/lib/seed.h"
#include "tests/lib/text.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static uint32_t random_count(uint64_t *seed, uint32_t max)
{
    uint64_t r = seed_next(seed) % 16;
    return r == 0 ? max : (uint32_t)(seed_next(seed) % (r == 1 ? max + 1 : 4));
}

static void random_bytes(uint64_t *seed, void *to, size_t n)
{
    for (uint8_t *p = to; n-- > 0;)
        *p++ = (uint8_t)seed_next(seed);
}

static void random_positions(uint64_t *seed, uint32_t *count, struct message_position *p)
{
    *count = random_count(seed, MESSAGE_ROWS_MAX);
    random_bytes(seed, p, *count * sizeof *p);
}

static void random_poll(uint64_t *seed, struct message_poll *p)
{
    p->given = 1 + (uint32_t)(seed_next(seed) % 15);
    p->period_ns = p->given & POLL_GIVES_PERIOD ? seed_next(seed) : 0;
    p->mode = (enum message_poll_mode)(p->given & POLL_GIVES_MODE ? seed_next(seed) % 2 : 0);
    p->forward = (enum message_poll_forward)(p->given & POLL_GIVES_FORWARD ? seed_next(seed) % 2 : 0);
    p->batch = p->given & POLL_GIVES_BATCH ? (uint32_t)seed_next(seed) : 0;
}

static void random_knob(uint64_t *seed, struct message_knob *k)
{
    *k = (struct message_knob){.action = (enum message_knob_action)(seed_next(seed) % 2)};
    text_random(seed, k->process, MESSAGE_NAME_MAX);
    text_random(seed, k->name, MESSAGE_NAME_MAX);
    if (k->name[0] == '\0')
        k->name[0] = 'x';
    k->value = k->action == KNOB_SET ? (int32_t)seed_next(seed) : 0;
}

static void random_observation(uint64_t *seed, struct message_observation *o)
{
    random_bytes(seed, o, sizeof *o);
    o->on = seed_next(seed) & 1;
    o->settled = seed_next(seed) & 1;
    o->limit_count = random_count(seed, MESSAGE_LIMITS_MAX);
    for (uint32_t i = 0; i < o->limit_count; i++)
        o->limits[i].state = (enum message_limit_state)(seed_next(seed) % 3);
    o->knob_count = random_count(seed, MESSAGE_KNOBS_MAX);
}

static void random_steers(uint64_t *seed, struct message_setpoint *s)
{
    s->knob_count = random_count(seed, MESSAGE_KNOBS_MAX);
    for (uint32_t i = 0; i < MESSAGE_KNOBS_MAX; i++) {
        s->knobs[i].given = seed_next(seed) & 1;
        s->knobs[i].saturated = seed_next(seed) & 1;
    }
}

static void random_partials(uint64_t *seed, struct message_partials *p)
{
    random_bytes(seed, p, sizeof *p);
    p->count = random_count(seed, MESSAGE_LIMITS_MAX);
    p->histogram_bytes = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        struct message_partial *part = &p->list[i];
        part->state = (enum message_partial_state)(seed_next(seed) % (PARTIAL_WENT_ON + 1));
        part->buckets =
            (uint32_t)(seed_next(seed) % (MESSAGE_HISTOGRAMS_MAX / MESSAGE_LIMITS_MAX / MESSAGE_BUCKET_BYTES));
        if (part->state == PARTIAL_NONE || part->state == PARTIAL_WENT_ON)
            part->buckets = 0;
        else if (part->state != PARTIAL_KNOWN)
            *part = (struct message_partial){
                .limit = part->limit, .state = part->state, .value = part->value, .silent = part->silent};
        p->histogram_bytes += p->list[i].buckets * MESSAGE_BUCKET_BYTES;
    }
}

static void random_values(uint64_t *seed, struct message_values *v)
{
    random_bytes(seed, v, sizeof *v);
    v->count = random_count(seed, MESSAGE_LIMITS_MAX);
    for (uint32_t i = 0; i < v->count; i++) {
        v->list[i].state = (enum message_partial_state)(seed_next(seed) % 3);
        v->list[i].lack = (enum message_lack)(seed_next(seed) % (LACK_LOST + 1));
        if (v->list[i].state != PARTIAL_KNOWN)
            v->list[i] = (struct message_value){.limit = v->list[i].limit,
                                                .state = v->list[i].state,
                                                .lack = (enum message_lack)(seed_next(seed) % (LACK_LOST + 1))};
    }
}

static void random_judgement(uint64_t *seed, struct message_judgement *j)
{
    random_bytes(seed, j, sizeof *j);
    j->count = random_count(seed, MESSAGE_LIMITS_MAX);
    for (uint32_t i = 0; i < j->count; i++)
        j->list[i].state = (enum message_limit_state)(seed_next(seed) % 4);
}

static void random_save(uint64_t *seed, struct message_save *s)
{
    random_bytes(seed, s, sizeof *s);
    s->number += s->number == 0;
    text_random(seed, s->node, MESSAGE_NAME_MAX);
    if (s->node[0] == '\0')
        snprintf(s->node, sizeof s->node, "x");
}

static void random_status(uint64_t *seed, struct message_node_status *s)
{
    random_bytes(seed, s, sizeof *s);
    s->manager.held = seed_next(seed) & 1;
    s->stop_wanted = seed_next(seed) & 1;
    s->firing_count = random_count(seed, MESSAGE_FIRINGS_MAX);
    for (uint32_t i = 0; i < s->firing_count; i++) {
        s->firings[i].age &= INT64_MAX;
        s->firings[i].count += s->firings[i].count == 0;
        text_random(seed, s->firings[i].process, MESSAGE_NAME_MAX);
    }
    s->way = (enum message_way)(seed_next(seed) % (MESSAGE_WAY_DIRECT + 1));
}

static void random_knobs(uint64_t *seed, struct message_knob_list *list)
{
    list->count = random_count(seed, MESSAGE_LISTED_MAX);
    list->next = (uint32_t)seed_next(seed);
    random_bytes(seed, list->knobs, list->count * sizeof *list->knobs);
    for (struct message_knob_state *k = list->knobs; k < list->knobs + list->count; k++) {
        text_random(seed, k->process, MESSAGE_NAME_MAX);
        text_random(seed, k->name, MESSAGE_NAME_MAX);
        text_random(seed, k->unit, MESSAGE_NAME_MAX);
    }
}

static void random_sessions(uint64_t *seed, struct message_session_list *list)
{
    list->count = random_count(seed, MESSAGE_SESSIONS_MAX);
    random_bytes(seed, list->sessions, list->count * sizeof *list->sessions);
    for (struct message_session *s = list->sessions; s < list->sessions + list->count; s++) {
        s->state = (enum message_daemon_state)(seed_next(seed) % (DAEMON_PAUSED + 1));
        text_random(seed, s->experiment, MESSAGE_NAME_MAX);
        text_random(seed, s->node, MESSAGE_NAME_MAX);
        text_random(seed, s->host, MESSAGE_NAME_MAX);
        text_random(seed, s->key, MESSAGE_NAME_MAX);
    }
}

static void random_start(uint64_t *seed, struct message_start *s)
{
    text_random(seed, s->process, MESSAGE_NAME_MAX);
    s->incarnation = s->process[0] ? (uint32_t)seed_next(seed) | 1 : 0;
}

static void random_program(uint64_t *seed, struct message_start *s)
{
    do
        random_start(seed, s);
    while (!s->process[0]);
}

static void random_launched(uint64_t *seed, struct message_launched_list *list)
{
    list->change = seed_next(seed);
    list->more = seed_next(seed) & 1;
    list->empty = seed_next(seed) & 1;
    list->left = (uint32_t)seed_next(seed);
    list->count = random_count(seed, MESSAGE_LAUNCHED_MAX);
    random_bytes(seed, list->rows, list->count * sizeof *list->rows);
    for (struct message_launched *row = list->rows; row < list->rows + list->count; row++) {
        random_program(seed, &row->of);
        row->state = (enum message_launched_state)(seed_next(seed) % (LAUNCHED_LOST + 1));
        row->ready = seed_next(seed) & 1;
        text_random(seed, row->stage, MESSAGE_STAGE_MAX);
    }
}

static void random_segments(uint64_t *seed, struct message_segment_list *list)
{
    text_random(seed, list->folder, MESSAGE_TEXT_MAX);
    list->next = seed_next(seed);
    list->count = random_count(seed, MESSAGE_SEGMENTS_MAX);
    random_bytes(seed, list->rows, list->count * sizeof *list->rows);
    for (struct message_segment *row = list->rows; row < list->rows + list->count; row++)
        text_random(seed, row->name, MESSAGE_NAME_MAX);
}

/* A random answer of a random kind. */
static void random_answer(uint64_t *seed, struct message *m)
{
    struct message_reply *r = &m->reply;
    r->answer = (enum message_answer)(seed_next(seed) % (ANSWER_SEGMENTS + 1));
    if (r->answer == ANSWER_NODE)
        random_status(seed, &r->node);
    else if (r->answer == ANSWER_KNOBS)
        random_knobs(seed, &m->knobs);
    else if (r->answer == ANSWER_SESSIONS)
        random_sessions(seed, &m->sessions);
    else if (r->answer == ANSWER_PROCESSES)
        random_launched(seed, &m->launched);
    else if (r->answer == ANSWER_SEGMENTS)
        random_segments(seed, &m->segments);
    else if (r->answer == ANSWER_OUTPUT) {
        m->output.offset = seed_next(seed);
        m->output.last = seed_next(seed) & 1;
        m->output.count = random_count(seed, MESSAGE_OUTPUT_MAX);
        random_bytes(seed, m->output.bytes, m->output.count);
    } else
        random_bytes(seed, &r->collector, sizeof r->collector); /* numbers alone, but for: */
    if (r->answer == ANSWER_SESSION)
        r->begun = seed_next(seed) & 1;
    if (r->answer == ANSWER_POLL) {
        r->polling.on = seed_next(seed) & 1;
        r->polling.mode = (enum message_poll_mode)(seed_next(seed) % 2);
        r->polling.forward = (enum message_poll_forward)(seed_next(seed) % 2);
    }
}

static void random_launch(uint64_t *seed, struct message_launch *l)
{
    random_bytes(seed, l, offsetof(struct message_launch, texts));
    random_program(seed, &l->of);
    l->output = (enum message_launch_output)(seed_next(seed) % (LAUNCH_OUTPUT_STDERR + 1));
    l->foreground = seed_next(seed) & 1;
    l->arguments = 1 + (uint32_t)(seed_next(seed) % 8);
    l->variables = (uint32_t)(seed_next(seed) % 8);
    l->text_bytes = 0;
    for (uint32_t i = 0; i < MESSAGE_LAUNCH_TEXTS + l->arguments + l->variables; i++) {
        uint32_t n = random_count(seed, MESSAGE_LAUNCH_MAX / 20);
        memset(l->texts + l->text_bytes, 'a' + (int)(i % 26), n);
        l->text_bytes += n;
        l->texts[l->text_bytes++] = '\0';
    }
}

void random_message(uint64_t *seed, enum message_type type, struct message *m)
{
    sample_message(type, m);
    if (type >= MESSAGE_COMMAND) {
        random_bytes(seed, &m->envelope, sizeof m->envelope);
        text_random(seed, m->envelope.node, MESSAGE_NAME_MAX);
    }
    switch (type) {
    case MESSAGE_HELLO:
        random_bytes(seed, &m->hello, sizeof m->hello);
        text_random(seed, m->hello.node, MESSAGE_NAME_MAX);
        break;
    case MESSAGE_WELCOME:
        m->welcome.credit_bytes = seed_next(seed);
        m->welcome.more = seed_next(seed) & 1;
        random_bytes(seed, m->welcome.clock, sizeof m->welcome.clock);
        m->welcome.clock_port = (uint32_t)seed_next(seed);
        random_positions(seed, &m->welcome.stream_count, m->welcome.streams);
        break;
    case MESSAGE_REFUSE:
        text_random(seed, m->refuse.reason, MESSAGE_TEXT_MAX);
        break;
    case MESSAGE_PROCESS:
        random_bytes(seed, &m->process, offsetof(struct message_process, dictionary));
        m->process.role = (enum message_role)(seed_next(seed) % 2);
        m->process.overwrites = seed_next(seed) & 1;
        text_random(seed, m->process.name, MESSAGE_NAME_MAX);
        text_random(seed, m->process.program, MESSAGE_TEXT_MAX);
        m->process.dictionary_bytes = random_count(seed, MESSAGE_DICT_MAX);
        random_bytes(seed, m->process.dictionary, m->process.dictionary_bytes);
        break;
    case MESSAGE_NEED_PROCESS:
        m->need_process.instance = seed_next(seed);
        break;
    case MESSAGE_ACK:
        random_positions(seed, &m->ack.stream_count, m->ack.streams);
        break;
    case MESSAGE_BOOKS:
        random_bytes(seed, &m->books, sizeof m->books);
        m->books.state = (enum message_process_state)(seed_next(seed) % 3);
        m->books.row_count = random_count(seed, MESSAGE_BOOKS_MAX);
        break;
    case MESSAGE_CLOCK:
        random_bytes(seed, &m->clock, sizeof m->clock);
        break;
    case MESSAGE_WATERMARK:
        m->watermark.low = seed_next(seed);
        break;
    case MESSAGE_DIRECT:
        m->direct.attempt = seed_next(seed);
        m->direct.proof = seed_next(seed);
        m->direct.agreed = seed_next(seed) & 1;
        text_random(seed, m->direct.text, MESSAGE_TEXT_MAX);
        break;
    case MESSAGE_HEARTBEAT:
        m->heartbeat.at = seed_next(seed);
        break;
    case MESSAGE_BYE:
        break;
    case MESSAGE_NOTE:
        random_bytes(seed, &m->note, sizeof m->note);
        text_random(seed, m->note.name, MESSAGE_NAME_MAX);
        text_random(seed, m->note.code, MESSAGE_NAME_MAX);
        text_random(seed, m->note.text, MESSAGE_TEXT_MAX);
        break;
    case MESSAGE_COMMAND:
        m->command.id = (uint32_t)seed_next(seed);
        m->command.deadline = seed_next(seed);
        m->command.owner = (struct message_leadership){.epoch = seed_next(seed), .holder = seed_next(seed)};
        m->command.verb = (enum message_verb)(seed_next(seed) % (VERB_DISCARD + 1));
        m->command.from = (uint32_t)seed_next(seed);
        do
            m->command.subject = (enum message_subject)(seed_next(seed) % (SUBJECT_SEGMENTS + 1));
        while (m->command.subject == (m->command.verb == VERB_SET ? SUBJECT_STATE : SUBJECT_ASPECTS) ||
               (m->command.verb == VERB_SET && m->command.subject >= SUBJECT_SESSIONS));
        random_poll(seed, &m->command.poll);
        random_knob(seed, &m->command.knob);
        random_save(seed, &m->command.save);
        if (m->command.verb == VERB_START)
            random_start(seed, &m->command.start);
        else
            random_program(seed, &m->command.start);
        m->command.ending = (enum message_ending)(seed_next(seed) % (END_KILL + 1));
        m->command.since = seed_next(seed);
        m->command.offset = seed_next(seed);
        text_random(seed, m->command.process, MESSAGE_NAME_MAX);
        text_random(seed, m->command.aspect, MESSAGE_NAME_MAX);
        text_random(seed, m->command.folder, MESSAGE_TEXT_MAX);
        m->command.after = seed_next(seed);
        m->command.mode = (enum message_aspect_mode)(seed_next(seed) % 3);
        text_random(seed, m->command.patterns, MESSAGE_PATTERNS_MAX);
        text_random(seed, m->configure.folder, MESSAGE_TEXT_MAX);
        text_random(seed, m->configure.collector, MESSAGE_TEXT_MAX);
        text_random(seed, m->configure.experiment, seed_next(seed) % 16 ? 4000 : MESSAGE_EXPERIMENT_MAX);
        break;
    case MESSAGE_WATCH:
        break;
    case MESSAGE_OBSERVATION:
        random_observation(seed, &m->observation);
        break;
    case MESSAGE_PARTIALS:
        random_partials(seed, &m->partials);
        break;
    case MESSAGE_JUDGEMENT:
        random_judgement(seed, &m->judgement);
        break;
    case MESSAGE_VALUES:
        random_values(seed, &m->values);
        break;
    case MESSAGE_LOOP:
        random_bytes(seed, &m->loop, sizeof m->loop);
        m->loop.count = random_count(seed, MESSAGE_LIMITS_MAX);
        for (uint32_t i = 0; i < m->loop.count; i++)
            m->loop.lacking[i].lack = (enum message_lack)(seed_next(seed) % (LACK_LOST + 1));
        break;
    case MESSAGE_SETPOINT:
        random_bytes(seed, &m->setpoint, sizeof m->setpoint);
        m->setpoint.on = seed_next(seed) & 1;
        m->setpoint.not_the_monitors = seed_next(seed) & 1;
        m->setpoint.starved = seed_next(seed) & 1;
        random_steers(seed, &m->setpoint);
        m->setpoint.infeasible = (enum message_infeasible)(seed_next(seed) % 3);
        if (m->setpoint.infeasible == MESSAGE_FEASIBLE)
            m->setpoint.needed = m->setpoint.budget = 0;
        break;
    case MESSAGE_REPLY:
        m->reply.id = (uint32_t)seed_next(seed);
        m->reply.state = (enum message_daemon_state)(seed_next(seed) % 5);
        text_random(seed, m->reply.text, MESSAGE_TEXT_MAX);
        random_answer(seed, m);
        break;
    case MESSAGE_LAUNCH:
        random_launch(seed, &m->launch);
        break;
    }
}
