// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Messages against the codec that rpcgen makes of mdr.x: the same fields, the same bytes, in both directions. */
#include "mdr/message.h"
#include "tests/lib/random_message.h"
#include "tests/lib/reference.h"
#include "tests/lib/samples.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

REFERENCE_CODEC(mdr_message)

enum { ROUNDS = 3000, MUTATIONS = 30000 };

static struct message m, back;
static uint8_t ours[MESSAGE_MAX_BYTES], theirs[MESSAGE_MAX_BYTES];

#define SAME(a, b) assert_true((a) == (b))

static void assert_same_positions(uint32_t count, const struct message_position *p, u_int n, const mdr_position *q)
{
    SAME(count, n);
    for (u_int i = 0; i < n; i++) {
        SAME(p[i].instance, q[i].instance);
        SAME(p[i].ring, q[i].ring);
        SAME(p[i].next_seq, q[i].next_seq);
        SAME(p[i].next_ordinal, q[i].next_ordinal);
        SAME(p[i].discarded, q[i].discarded);
    }
}

static void assert_same_process(const struct message_process *p, const mdr_process *q)
{
    SAME(p->instance, q->instance);
    SAME(p->stream_id, q->stream_id);
    SAME(p->pid, q->pid);
    SAME((int)p->role, (int)q->role);
    SAME(p->overwrites, q->overwrites);
    assert_string_equal(p->name, q->name);
    assert_string_equal(p->program, q->executable);
    SAME(p->started, q->started);
    SAME(p->dictionary_bytes, q->dictionary.dictionary_len);
    if (p->dictionary_bytes > 0)
        assert_memory_equal(p->dictionary, q->dictionary.dictionary_val, p->dictionary_bytes);
}

static void assert_same_books(const struct message_books *p, const mdr_books *q)
{
    SAME(p->instance, q->instance);
    SAME((int)p->state, (int)q->state);
    SAME(p->at, q->at);
    SAME(p->unfinished, q->unfinished);
    SAME(p->unobserved, q->unobserved);
    SAME(p->row_count, q->rows.rows_len);
    for (uint32_t i = 0; i < p->row_count; i++) {
        SAME(p->rows[i].aspect, q->rows.rows_val[i].aspect);
        SAME(p->rows[i].attempts, q->rows.rows_val[i].attempts);
        SAME(p->rows[i].full, q->rows.rows_val[i].full);
        SAME(p->rows[i].off, q->rows.rows_val[i].off);
        SAME(p->rows[i].no_ring, q->rows.rows_val[i].no_ring);
        SAME(p->rows[i].window, q->rows.rows_val[i].window);
        SAME(p->rows[i].spool, q->rows.rows_val[i].spool);
    }
}

static void assert_same_number(double a, double b)
{
    assert_memory_equal(&a, &b, sizeof a); /* NaNs too */
}

static void assert_same_node(const struct message_node_status *p, const mdr_node_status *q)
{
    SAME(p->records, q->records);
    SAME(p->lost_full, q->lost_full);
    SAME(p->lost_off, q->lost_off);
    SAME(p->lost_no_ring, q->lost_no_ring);
    SAME(p->lost_window, q->lost_window);
    SAME(p->lost_spool, q->lost_spool);
    SAME(p->lost_reducer, q->lost_reducer);
    SAME(p->window_bytes, q->window_bytes);
    SAME(p->spool_bytes, q->spool_bytes);
    SAME(p->processes, q->processes);
    SAME(p->processes_seen, q->processes_seen);
    SAME(p->period_ns, q->period);
    SAME(p->stop_wanted, q->stop_wanted);
    SAME(p->manager.held, q->manager.held);
    SAME(p->manager.epoch, q->manager.epoch);
    SAME(p->manager.applied, q->manager.applied);
    SAME(p->firing_count, q->firings.firings_len);
    for (uint32_t i = 0; i < p->firing_count; i++) {
        const struct message_firing *f = &p->firings[i];
        const mdr_firing *g = &q->firings.firings_val[i];
        SAME(f->trigger, g->trigger);
        SAME(f->count, g->count);
        SAME(f->at, g->at);
        SAME(f->age, g->age);
        assert_same_number(f->value, g->value);
        assert_string_equal(f->process, g->process);
    }
}

static void assert_same_collector(const struct message_collector_status *p, const mdr_collector_status *q)
{
    SAME(p->records, q->records);
    SAME(p->bytes, q->bytes);
    SAME(p->packets, q->packets);
    SAME(p->discarded, q->discarded);
    SAME(p->refused, q->refused);
    SAME(p->over_rate, q->over_rate);
    SAME(p->unidentified, q->unidentified);
    SAME(p->peers, q->peers);
    SAME(p->streams, q->streams);
    SAME(p->processes, q->processes);
    SAME(p->nodes, q->nodes);
    SAME(p->store_errno, q->store_errno);
    SAME(p->port, q->port);
    SAME(p->expired, q->expired[0]);
    SAME(p->expired_records, q->expired[1]);
    SAME(p->expired_bytes, q->expired[2]);
    SAME(p->own_records, q->own_records);
}

static void assert_same_polling(const struct message_polling *p, const mdr_polling *q)
{
    SAME(p->on, q->on);
    SAME(p->period_ns, q->period);
    SAME((int)p->mode, (int)q->mode);
    SAME((int)p->forward, (int)q->forward);
    SAME(p->batch, q->batch);
    SAME(p->effective_ns, q->effective);
    SAME(p->worst_ns, q->worst);
}

static void assert_same_knobs(const struct message_knob_list *p, const mdr_knob_list *q)
{
    SAME(p->next, q->next);
    SAME(p->count, q->knobs.knobs_len);
    for (uint32_t i = 0; i < p->count; i++) {
        const mdr_knob_state *k = &q->knobs.knobs_val[i];
        SAME(p->knobs[i].instance, k->instance);
        SAME(p->knobs[i].pid, k->pid);
        assert_string_equal(p->knobs[i].process, k->process);
        assert_string_equal(p->knobs[i].name, k->name);
        assert_string_equal(p->knobs[i].unit, k->unit);
        SAME(p->knobs[i].value, k->value);
        SAME(p->knobs[i].min, k->min);
        SAME(p->knobs[i].max, k->max);
        SAME(p->knobs[i].initial, k->initial);
    }
}

static void assert_same_sessions(const struct message_session_list *p, const mdr_answer *q)
{
    SAME(p->count, q->mdr_answer_u.list.list_len);
    for (uint32_t i = 0; i < p->count; i++) {
        const mdr_session *s = &q->mdr_answer_u.list.list_val[i];
        assert_memory_equal(p->sessions[i].run, s->run, sizeof p->sessions[i].run);
        assert_string_equal(p->sessions[i].experiment, s->experiment);
        assert_string_equal(p->sessions[i].node, s->node);
        SAME((int)p->sessions[i].state, (int)s->state);
        SAME(p->sessions[i].processes, s->processes);
        assert_string_equal(p->sessions[i].host, s->host);
        assert_string_equal(p->sessions[i].key, s->key);
    }
}

static void assert_same_segments(const struct message_segment_list *p, const mdr_segment_list *q)
{
    assert_string_equal(p->folder, q->folder);
    SAME(p->next, q->next);
    SAME(p->count, q->rows.rows_len);
    for (uint32_t i = 0; i < p->count; i++) {
        const mdr_segment *row = &q->rows.rows_val[i];
        SAME(p->rows[i].instance, row->instance);
        assert_memory_equal(p->rows[i].run, row->run, sizeof p->rows[i].run);
        SAME(p->rows[i].pid, row->pid);
        SAME(p->rows[i].age_ns, row->age);
        SAME(p->rows[i].records, row->records);
        assert_string_equal(p->rows[i].name, row->name);
    }
}

static void assert_same_start(const struct message_start *p, const mdr_start *q)
{
    assert_string_equal(p->process, q->process);
    SAME(p->incarnation, q->incarnation);
}

static void assert_same_launched(const struct message_launched_list *p, const mdr_launched_list *q)
{
    SAME(p->change, q->change);
    SAME(p->more, q->more);
    SAME(p->empty, q->empty);
    SAME(p->left, q->left);
    SAME(p->count, q->rows.rows_len);
    for (uint32_t i = 0; i < p->count; i++) {
        const struct message_launched *a = &p->rows[i];
        const mdr_launched *b = &q->rows.rows_val[i];
        assert_same_start(&a->of, &b->of);
        SAME((int)a->state, (int)b->state);
        SAME(a->ready, b->ready);
        SAME(a->pid, b->pid);
        SAME(a->status, b->status);
        SAME(a->error, b->error);
        assert_string_equal(a->stage, b->stage);
        SAME(a->started, b->started);
        SAME(a->ended, b->ended);
        SAME(a->user_ns, b->user);
        SAME(a->system_ns, b->system);
        SAME(a->memory, b->memory);
        SAME(a->output, b->output);
        SAME(a->dropped, b->dropped);
    }
}

static void assert_same_output(const struct message_output *p, const mdr_output_part *q)
{
    SAME(p->offset, q->offset);
    SAME(p->last, q->last);
    SAME(p->count, q->bytes.bytes_len);
    if (p->count > 0)
        assert_memory_equal(p->bytes, q->bytes.bytes_val, p->count);
}

static void assert_same_launch(const struct message_launch *p, const mdr_launch *q)
{
    SAME(p->id, q->id);
    assert_same_start(&p->of, &q->of);
    SAME(p->grace_ns, q->grace);
    SAME(p->silence_ns, q->silence);
    SAME(p->timeout_ns, q->timeout);
    SAME((int)p->output, (int)q->output);
    SAME(p->foreground, q->foreground);
    SAME(p->port, q->port);
    for (int i = 0; i < RLIMITS_OF; i++)
        SAME(p->limits[i], q->limits[i]);
    SAME(p->arguments, q->arguments);
    SAME(p->variables, q->variables);
    SAME(p->text_bytes, q->texts.texts_len);
    assert_memory_equal(p->texts, q->texts.texts_val, p->text_bytes);
}

static void assert_same_reply(const struct message_reply *p, const struct message *all, const mdr_reply *q)
{
    SAME(p->id, q->id);
    SAME(p->at, q->at);
    SAME((int)p->state, (int)q->state);
    assert_string_equal(p->text, q->text);
    SAME((int)p->answer, (int)q->answer.kind);
    switch (q->answer.kind) {
    case MDR_ANSWER_REFUSED:
    case MDR_ANSWER_STALE:
    case MDR_ANSWER_ABSENT:
    case MDR_ANSWER_TAKEN:
    case MDR_ANSWER_WAITING:
        break;
    case MDR_ANSWER_SESSION:
        SAME(p->begun, q->answer.mdr_answer_u.begun);
        break;
    case MDR_ANSWER_BEZELD:
        SAME(p->sessions, q->answer.mdr_answer_u.sessions);
        break;
    case MDR_ANSWER_NODE:
        assert_same_node(&p->node, &q->answer.mdr_answer_u.node);
        break;
    case MDR_ANSWER_COLLECTOR:
        assert_same_collector(&p->collector, &q->answer.mdr_answer_u.collector);
        break;
    case MDR_ANSWER_MANAGER:
        SAME(p->manager.epoch, q->answer.mdr_answer_u.manager.epoch);
        SAME(p->manager.observations, q->answer.mdr_answer_u.manager.observations);
        SAME(p->manager.decisions, q->answer.mdr_answer_u.manager.decisions);
        SAME(p->manager.setpoints, q->answer.mdr_answer_u.manager.setpoints);
        SAME(p->manager.reached, q->answer.mdr_answer_u.manager.reached);
        break;
    case MDR_ANSWER_SAVED:
        SAME(p->saved.records, q->answer.mdr_answer_u.saved.records);
        SAME(p->saved.processes, q->answer.mdr_answer_u.saved.processes);
        SAME(p->saved.behind, q->answer.mdr_answer_u.saved.behind);
        break;
    case MDR_ANSWER_ASPECTS:
        SAME(p->matched.aspects, q->answer.mdr_answer_u.matched.aspects);
        SAME(p->matched.processes, q->answer.mdr_answer_u.matched.processes);
        break;
    case MDR_ANSWER_POLL:
        assert_same_polling(&p->polling, &q->answer.mdr_answer_u.polling);
        break;
    case MDR_ANSWER_KNOBS:
        assert_same_knobs(&all->knobs, &q->answer.mdr_answer_u.knobs);
        break;
    case MDR_ANSWER_KNOB_SET:
        SAME(p->knob_set, q->answer.mdr_answer_u.processes);
        break;
    case MDR_ANSWER_SESSIONS:
        assert_same_sessions(&all->sessions, &q->answer);
        break;
    case MDR_ANSWER_PROCESSES:
        assert_same_launched(&all->launched, &q->answer.mdr_answer_u.launched);
        break;
    case MDR_ANSWER_OUTPUT:
        assert_same_output(&all->output, &q->answer.mdr_answer_u.output);
        break;
    case MDR_ANSWER_RECORDS:
        SAME(p->records, q->answer.mdr_answer_u.records);
        break;
    case MDR_ANSWER_SEGMENTS:
        assert_same_segments(&all->segments, &q->answer.mdr_answer_u.segments);
        break;
    }
}

static void assert_same_set(const struct message_command *p, const mdr_set *q)
{
    const mdr_aspects *aspects = &q->mdr_set_u.aspects;
    const mdr_poll *poll = &q->mdr_set_u.poll;
    const mdr_knob *knob = &q->mdr_set_u.knob;
    SAME((int)p->subject, (int)q->subject);
    if (q->subject == MDR_ASPECTS) {
        SAME((int)p->mode, (int)aspects->mode);
        assert_string_equal(p->patterns, aspects->patterns);
    } else if (q->subject == MDR_POLL) {
        SAME(p->poll.given, poll->given);
        SAME(p->poll.period_ns, poll->period);
        SAME((int)p->poll.mode, (int)poll->mode);
        SAME((int)p->poll.forward, (int)poll->forward);
        SAME(p->poll.batch, poll->batch);
    } else {
        SAME((int)p->knob.action, (int)knob->action);
        assert_string_equal(p->knob.process, knob->process);
        assert_string_equal(p->knob.name, knob->name);
        SAME(p->knob.value, knob->value);
    }
}

static void assert_same_command(const struct message_command *p, const struct message_configure *configure,
                                const mdr_command *q)
{
    SAME(p->id, q->id);
    SAME(p->deadline, q->deadline);
    SAME(p->owner.epoch, q->owner.epoch);
    SAME(p->owner.holder, q->owner.holder);
    SAME((int)p->verb, (int)q->body.verb);
    if (q->body.verb == MDR_QUERY) {
        const mdr_query *query = &q->body.mdr_command_body_u.query;
        SAME((int)p->subject, (int)query->subject);
        if (query->subject == MDR_KNOBS)
            SAME(p->from, query->mdr_query_u.from);
        if (query->subject == MDR_PROCESSES)
            SAME(p->since, query->mdr_query_u.since);
        if (query->subject == MDR_OUTPUT) {
            assert_same_start(&p->start, &query->mdr_query_u.output.of);
            SAME(p->offset, query->mdr_query_u.output.from);
        }
        if (query->subject == MDR_RECORDS) {
            assert_string_equal(p->process, query->mdr_query_u.records.process);
            assert_string_equal(p->aspect, query->mdr_query_u.records.aspect);
        }
        if (query->subject == MDR_SEGMENTS) {
            assert_string_equal(p->folder, query->mdr_query_u.segments.folder);
            SAME(p->after, query->mdr_query_u.segments.after);
        }
    } else if (q->body.verb == MDR_START) {
        assert_same_start(&p->start, &q->body.mdr_command_body_u.start);
    } else if (q->body.verb == MDR_ENDING) {
        SAME((int)p->ending, (int)q->body.mdr_command_body_u.ending);
    } else if (q->body.verb == MDR_SET) {
        assert_same_set(p, &q->body.mdr_command_body_u.set);
    } else if (q->body.verb == MDR_SAVE) {
        const mdr_save *save = &q->body.mdr_command_body_u.save;
        SAME(p->save.number, save->number);
        SAME(p->save.trigger, save->trigger);
        assert_string_equal(p->save.node, save->node);
        SAME(p->save.at, save->at);
        SAME(p->save.left, save->left);
        assert_memory_equal(&p->save.value, &save->value, sizeof save->value);
    } else if (q->body.verb == MDR_CONFIGURE) {
        const mdr_configure *r = &q->body.mdr_command_body_u.configure;
        assert_string_equal(configure->folder, r->folder);
        assert_string_equal(configure->collector, r->collector);
        assert_string_equal(configure->experiment, r->experiment);
    }
}

static void assert_same_envelope(const struct message_envelope *p, const mdr_envelope *q)
{
    assert_memory_equal(p->source, q->source, 16);
    assert_memory_equal(p->run, q->run, 16);
    assert_string_equal(p->node, q->node);
    SAME(p->life, q->life);
}

static void assert_same_hello(const struct message_hello *p, const mdr_hello *q)
{
    assert_memory_equal(p->run, q->run, 16);
    assert_memory_equal(p->clock, q->clock, 16);
    assert_memory_equal(p->uuid, q->uuid, 16);
    assert_string_equal(p->node, q->node);
    SAME(p->realtime_offset, q->realtime_offset);
    SAME(p->pid, q->pid);
    SAME(p->attempt, q->attempt);
}

static void assert_same_clock(const struct message_clock *p, const mdr_clock *q)
{
    SAME(p->number, q->number);
    assert_memory_equal(p->identity, q->identity, 16);
    SAME(p->arrived, q->arrived);
    SAME(p->answered, q->answered);
    SAME(p->ahead, q->ahead);
    SAME(p->error, q->error);
}

static void assert_same_note(const struct message_note *p, const mdr_note *q)
{
    SAME(p->instance, q->instance);
    SAME(p->pid, q->pid);
    SAME(p->at, q->at);
    assert_string_equal(p->name, q->name);
    assert_string_equal(p->code, q->code);
    assert_string_equal(p->text, q->text);
}

static void assert_same_observation(const struct message_observation *p, const mdr_observation *q)
{
    SAME(p->life, q->life);
    SAME(p->at, q->at);
    SAME(p->step, q->step);
    SAME(p->leadership.epoch, q->leadership.epoch);
    SAME(p->leadership.holder, q->leadership.holder);
    SAME(p->sequence, q->sequence);
    SAME(p->on, q->on);
    SAME(p->period_ns, q->period);
    SAME(p->desired_ns, q->desired);
    SAME(p->overrides, q->overrides);
    SAME(p->levels, q->levels);
    SAME(p->shed, q->shed);
    SAME(p->settled, q->settled);
    assert_same_number(p->cpu, q->cpu);
    assert_same_number(p->polls, q->polls);
    assert_same_number(p->records, q->records);
    SAME(p->elapsed, q->elapsed);
    SAME(p->limit_count, q->limits.limits_len);
    for (uint32_t i = 0; i < p->limit_count; i++) {
        SAME(p->limits[i].limit, q->limits.limits_val[i].limit);
        SAME((int)p->limits[i].state, (int)q->limits.limits_val[i].state);
        assert_same_number(p->limits[i].value, q->limits.limits_val[i].value);
    }
    SAME(p->knob_count, q->knobs.knobs_len);
    for (uint32_t i = 0; i < p->knob_count; i++) {
        SAME(p->knobs[i].knob, q->knobs.knobs_val[i].knob);
        SAME(p->knobs[i].value, q->knobs.knobs_val[i].value);
        SAME(p->knobs[i].min, q->knobs.knobs_val[i].min);
        SAME(p->knobs[i].max, q->knobs.knobs_val[i].max);
        SAME(p->knobs[i].baseline, q->knobs.knobs_val[i].baseline);
        SAME(p->knobs[i].overrides, q->knobs.knobs_val[i].overrides);
    }
}

static void assert_same_partials(const struct message_partials *p, const mdr_partials *q)
{
    SAME(p->life, q->life);
    SAME(p->at, q->at);
    SAME(p->step, q->step);
    SAME(p->count, q->list.list_len);
    for (uint32_t i = 0; i < p->count; i++) {
        const mdr_partial *part = &q->list.list_val[i];
        SAME(p->list[i].limit, part->limit);
        SAME((int)p->list[i].state, (int)part->state);
        assert_same_number(p->list[i].value, part->value);
        assert_same_number(p->list[i].over, part->over);
        assert_same_number(p->list[i].unsure, part->unsure);
        SAME(p->list[i].silent, part->silent);
        SAME(p->list[i].buckets, part->buckets);
    }
    SAME(p->histogram_bytes, q->histograms.histograms_len);
    assert_memory_equal(p->histograms, q->histograms.histograms_val, p->histogram_bytes);
}

static void assert_same_judged(const struct message_judged *p, const mdr_judged *q)
{
    SAME(p->limit, q->limit);
    SAME((int)p->state, (int)q->state);
    assert_same_number(p->value, q->value);
    assert_same_number(p->worst, q->worst);
    SAME(p->settling, q->settling);
    SAME(p->held, q->held);
    SAME(p->violated, q->violated);
    SAME(p->unknown, q->unknown);
    SAME(p->ago, q->ago);
    SAME(p->doubtful, q->doubtful);
    SAME(p->trusted_ago, q->trusted_ago);
    assert_same_number(p->trusted_worst, q->trusted_worst);
}

static void assert_same_judgement(const struct message_judgement *p, const mdr_judgement *q)
{
    SAME(p->leadership.epoch, q->leadership.epoch);
    SAME(p->leadership.holder, q->leadership.holder);
    SAME(p->sequence, q->sequence);
    assert_memory_equal(p->missing, q->missing, sizeof p->missing);
    SAME(p->count, q->list.list_len);
    for (uint32_t i = 0; i < p->count; i++)
        assert_same_judged(&p->list[i], &q->list.list_val[i]);
}

static void assert_same_values(const struct message_values *p, const mdr_values *q)
{
    SAME(p->life, q->life);
    SAME(p->at, q->at);
    SAME(p->count, q->list.list_len);
    for (uint32_t i = 0; i < p->count; i++) {
        const mdr_value *value = &q->list.list_val[i];
        SAME(p->list[i].limit, value->limit);
        SAME((int)p->list[i].state, (int)value->state);
        SAME((int)p->list[i].lack, (int)value->lack);
        assert_same_number(p->list[i].value, value->value);
        assert_same_number(p->list[i].low, value->low);
        assert_same_number(p->list[i].high, value->high);
        SAME(p->list[i].age, value->age);
        SAME(p->list[i].collected, value->collected);
    }
}

static void assert_same_loop(const struct message_loop *p, const mdr_loop *q)
{
    SAME(p->leadership.epoch, q->leadership.epoch);
    SAME(p->leadership.holder, q->leadership.holder);
    SAME(p->sequence, q->sequence);
    SAME(p->limit, q->limit);
    SAME(p->collected, q->collected);
    SAME(p->decided, q->decided);
    SAME(p->sent, q->sent);
    SAME(p->held, q->held);
    SAME(p->count, q->lacking.lacking_len);
    for (uint32_t i = 0; i < p->count; i++) {
        SAME(p->lacking[i].limit, q->lacking.lacking_val[i].limit);
        SAME((int)p->lacking[i].lack, (int)q->lacking.lacking_val[i].lack);
    }
}

static void assert_same_setpoint(const struct message_setpoint *p, const mdr_setpoint *q)
{
    SAME(p->leadership.epoch, q->leadership.epoch);
    SAME(p->leadership.holder, q->leadership.holder);
    SAME(p->sequence, q->sequence);
    SAME(p->life, q->life);
    SAME(p->answers, q->answers);
    SAME(p->expiry, q->expiry);
    SAME(p->lasts, q->lasts);
    SAME(p->on, q->on);
    SAME(p->period_ns, q->period);
    SAME(p->cause, q->cause);
    SAME((int)p->infeasible, (int)q->infeasible);
    assert_same_number(p->needed, q->needed);
    assert_same_number(p->budget, q->budget);
    SAME(p->not_the_monitors, q->not_the_monitors);
    SAME(p->starved, q->starved);
    SAME(p->shed, q->shed);
    SAME(p->knob_count, q->knobs.knobs_len);
    for (uint32_t i = 0; i < p->knob_count; i++) {
        SAME(p->knobs[i].knob, q->knobs.knobs_val[i].knob);
        SAME(p->knobs[i].given, q->knobs.knobs_val[i].given);
        SAME(p->knobs[i].value, q->knobs.knobs_val[i].value);
        SAME(p->knobs[i].cause, q->knobs.knobs_val[i].cause);
        assert_same_number(p->knobs[i].metric, q->knobs.knobs_val[i].metric);
        SAME(p->knobs[i].saturated, q->knobs.knobs_val[i].saturated);
    }
}

static void assert_same(const struct message *p, const mdr_message *q)
{
    SAME(q->magic, (u_int)MDR_MESSAGE_MAGIC);
    SAME(q->format, (u_int)MDR_MESSAGE_VERSION);
    SAME((int)p->type, (int)q->body.type);
    switch (q->body.type) {
    case MDR_HELLO:
        assert_same_hello(&p->hello, &q->body.mdr_body_u.hello);
        break;
    case MDR_WELCOME:
        SAME(p->welcome.credit_bytes, q->body.mdr_body_u.welcome.credit_bytes);
        SAME(p->welcome.more, q->body.mdr_body_u.welcome.more);
        assert_memory_equal(p->welcome.clock, q->body.mdr_body_u.welcome.clock, 16);
        SAME(p->welcome.clock_port, q->body.mdr_body_u.welcome.clock_port);
        assert_same_positions(p->welcome.stream_count, p->welcome.streams,
                              q->body.mdr_body_u.welcome.streams.streams_len,
                              q->body.mdr_body_u.welcome.streams.streams_val);
        break;
    case MDR_REFUSE:
        assert_string_equal(p->refuse.reason, q->body.mdr_body_u.refuse.reason);
        break;
    case MDR_PROCESS:
        assert_same_process(&p->process, &q->body.mdr_body_u.process);
        break;
    case MDR_NEED_PROCESS:
        SAME(p->need_process.instance, q->body.mdr_body_u.need_process.instance);
        break;
    case MDR_ACK:
        assert_same_positions(p->ack.stream_count, p->ack.streams, q->body.mdr_body_u.ack.streams.streams_len,
                              q->body.mdr_body_u.ack.streams.streams_val);
        break;
    case MDR_BOOKS:
        assert_same_books(&p->books, &q->body.mdr_body_u.books);
        break;
    case MDR_HEARTBEAT:
        SAME(p->heartbeat.at, q->body.mdr_body_u.heartbeat.at);
        break;
    case MDR_WATERMARK:
        SAME(p->watermark.low, q->body.mdr_body_u.watermark.low);
        break;
    case MDR_DIRECT:
        SAME(p->direct.attempt, q->body.mdr_body_u.direct.attempt);
        SAME(p->direct.proof, q->body.mdr_body_u.direct.proof);
        SAME(p->direct.agreed, (bool)q->body.mdr_body_u.direct.agreed);
        assert_string_equal(p->direct.text, q->body.mdr_body_u.direct.text);
        break;
    case MDR_BYE:
        break;
    case MDR_CLOCK:
        assert_same_clock(&p->clock, &q->body.mdr_body_u.clock);
        break;
    case MDR_NOTE:
        assert_same_note(&p->note, &q->body.mdr_body_u.note);
        break;
    case MDR_COMMAND:
        assert_same_envelope(&p->envelope, &q->body.mdr_body_u.command.envelope);
        assert_same_command(&p->command, &p->configure, &q->body.mdr_body_u.command);
        break;
    case MDR_REPLY:
        assert_same_envelope(&p->envelope, &q->body.mdr_body_u.reply.envelope);
        assert_same_reply(&p->reply, p, &q->body.mdr_body_u.reply);
        break;
    case MDR_WATCH:
        assert_same_envelope(&p->envelope, &q->body.mdr_body_u.watch.envelope);
        break;
    case MDR_OBSERVATION:
        assert_same_envelope(&p->envelope, &q->body.mdr_body_u.observation.envelope);
        assert_same_observation(&p->observation, &q->body.mdr_body_u.observation);
        break;
    case MDR_SETPOINT:
        assert_same_envelope(&p->envelope, &q->body.mdr_body_u.setpoint.envelope);
        assert_same_setpoint(&p->setpoint, &q->body.mdr_body_u.setpoint);
        break;
    case MDR_PARTIALS:
        assert_same_envelope(&p->envelope, &q->body.mdr_body_u.partials.envelope);
        assert_same_partials(&p->partials, &q->body.mdr_body_u.partials);
        break;
    case MDR_JUDGEMENT:
        assert_same_envelope(&p->envelope, &q->body.mdr_body_u.judgement.envelope);
        assert_same_judgement(&p->judgement, &q->body.mdr_body_u.judgement);
        break;
    case MDR_VALUES:
        assert_same_envelope(&p->envelope, &q->body.mdr_body_u.values.envelope);
        assert_same_values(&p->values, &q->body.mdr_body_u.values);
        break;
    case MDR_LOOP:
        assert_same_envelope(&p->envelope, &q->body.mdr_body_u.loop.envelope);
        assert_same_loop(&p->loop, &q->body.mdr_body_u.loop);
        break;
    case MDR_LAUNCH:
        assert_same_envelope(&p->envelope, &q->body.mdr_body_u.launch.envelope);
        assert_same_launch(&p->launch, &q->body.mdr_body_u.launch);
        break;
    }
}

static void messages_have_the_bytes_and_fields_of_the_reference(void **state)
{
    uint64_t *seed = *state;
    for (int round = 0; round < ROUNDS; round++) {
        random_message(seed, sample_types[(size_t)round % sample_type_count], &m);
        int n = message_encode(&m, ours, sizeof ours);
        assert_true(n > 0);
        mdr_message reference = {0};
        assert_int_equal(decode_mdr_message(ours, (size_t)n, &reference), n);
        assert_same(&m, &reference);
        assert_int_equal(encode_mdr_message(&reference, theirs, sizeof theirs), n);
        assert_memory_equal(ours, theirs, (size_t)n);
        assert_int_equal(message_decode(theirs, (size_t)n, &back), 0);
        assert_same(&back, &reference);
        free_mdr_message(&reference);
    }
}

/* Spoilt bytes: what this decoder takes, the reference takes too, as the same message, and would have written so. */
static void (*const samples_of_commands[])(struct message *m) = {sample_aspects, sample_poll,      sample_knob,
                                                                 sample_save,    sample_configure, sample_query};

static void what_is_accepted_is_the_reference_s_own_form(void **state)
{
    uint64_t *seed = *state;
    unsigned accepted = 0;
    for (int round = 0; round < MUTATIONS; round++) {
        sample_message(sample_types[(size_t)round % sample_type_count], &m);
        if (m.type == MESSAGE_COMMAND && seed_next(seed) % 2)
            samples_of_commands[seed_next(seed) % 6](&m);
        if (m.type == MESSAGE_REPLY)
            sample_reply((enum message_answer)(seed_next(seed) % (ANSWER_SEGMENTS + 1)), &m);
        int n = message_encode(&m, ours, sizeof ours);
        assert_true(n > 0);
        for (uint64_t flips = 1 + seed_next(seed) % 3; flips > 0; flips--)
            ours[seed_next(seed) % (size_t)n] ^= (uint8_t)(1u << seed_next(seed) % 8);
        if (message_decode(ours, (size_t)n, &back) != 0)
            continue;
        accepted++;
        mdr_message reference = {0};
        assert_int_equal(decode_mdr_message(ours, (size_t)n, &reference), n);
        assert_same(&back, &reference);
        assert_int_equal(encode_mdr_message(&reference, theirs, sizeof theirs), n);
        assert_memory_equal(ours, theirs, (size_t)n);
        assert_int_equal(message_encode(&back, theirs, sizeof theirs), n);
        assert_memory_equal(ours, theirs, (size_t)n);
        free_mdr_message(&reference);
    }
    assert_in_range(accepted, MUTATIONS / 10, MUTATIONS - MUTATIONS / 10); /* both ways were walked */
}

int main(void)
{
    uint64_t seed = seed_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(messages_have_the_bytes_and_fields_of_the_reference, &seed),
        cmocka_unit_test_prestate(what_is_accepted_is_the_reference_s_own_form, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
