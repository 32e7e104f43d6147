// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/message.h"

#include "mdr/dict.h"

#include <inttypes.h>
#include <rpc/types.h>
#include <rpc/xdr.h>
#include <stdio.h>
#include <string.h>

/*
 * The one user of libtirpc. Each message has one filter, in XDR's manner: the same function encodes and decodes, so
 * that the two cannot differ. A filter returns FALSE where the bytes end or a bound is broken; the latter is noted
 * through x_public, XDR's place for its user's data, because the encoder must tell the two apart.
 *
 * libtirpc's own filters for bool, enum, bytes, string and array are not used: they let through non-zero padding, NUL
 * in strings, any number as a bool or enum, or allocate. What is left of it are numbers and whole units of four bytes.
 */

enum { MESSAGE_MAGIC = 0x425A4C31 };

_Static_assert(sizeof(enum message_role) == 4 && sizeof(enum message_type) == 4, "filter_enum() copies four bytes");
_Static_assert((int)MESSAGE_NAME_MAX == (int)DICT_NAME_MAX && (int)MESSAGE_TEXT_MAX == (int)DICT_TEXT_MAX &&
                   (int)MESSAGE_DICT_MAX == (int)DICT_MAX_BYTES && (int)MESSAGE_BOOKS_MAX == (int)DICT_ASPECTS_MAX,
               "one bound, two names");

static bool_t filter_check(XDR *x, bool holds)
{
    if (!holds)
        *(bool *)(void *)x->x_public = true;
    return holds;
}

static bool_t filter_u32(XDR *x, uint32_t *v)
{
    return xdr_uint32_t(x, v);
}

static bool_t filter_u64(XDR *x, uint64_t *v)
{
    return xdr_uint64_t(x, v);
}

static bool_t filter_i64(XDR *x, int64_t *v)
{
    return xdr_int64_t(x, v);
}

static bool_t filter_i32(XDR *x, int32_t *v)
{
    uint32_t bits = (uint32_t)*v;
    if (!filter_u32(x, &bits))
        return FALSE;
    if (x->x_op == XDR_DECODE)
        *v = (int32_t)bits;
    return TRUE;
}

/* The bits are copied, so that a NaN stays the same NaN. */
static bool_t filter_double(XDR *x, double *v)
{
    uint64_t bits = 0;
    if (x->x_op == XDR_ENCODE)
        memcpy(&bits, v, sizeof bits);
    if (!filter_u64(x, &bits))
        return FALSE;
    if (x->x_op == XDR_DECODE)
        memcpy(v, &bits, sizeof bits);
    return TRUE;
}

static bool_t filter_count(XDR *x, uint32_t *count, uint32_t max)
{
    return xdr_uint32_t(x, count) && filter_check(x, *count <= max);
}

/* An enum whose values count from 0 to `last`. */
static bool_t filter_enum(XDR *x, void *e, uint32_t last)
{
    uint32_t v = 0;
    if (x->x_op == XDR_ENCODE)
        memcpy(&v, e, sizeof v);
    if (!filter_count(x, &v, last))
        return FALSE;
    if (x->x_op == XDR_DECODE)
        memcpy(e, &v, sizeof v);
    return TRUE;
}

static bool_t filter_bool(XDR *x, bool *b)
{
    uint32_t v = x->x_op == XDR_ENCODE && *b;
    if (!filter_count(x, &v, 1))
        return FALSE;
    if (x->x_op == XDR_DECODE)
        *b = v != 0;
    return TRUE;
}

/* `n` bytes and their padding, which must be zeros. */
static bool_t filter_bytes(XDR *x, void *data, uint32_t n)
{
    uint32_t rest = n % 4;
    uint8_t *tail = (uint8_t *)data + (n - rest), unit[4] = {0};
    if (!xdr_opaque(x, data, n - rest))
        return FALSE;
    if (rest == 0)
        return TRUE;
    if (x->x_op == XDR_ENCODE)
        memcpy(unit, tail, rest);
    if (!xdr_opaque(x, (char *)unit, sizeof unit))
        return FALSE;
    if (x->x_op == XDR_DECODE)
        memcpy(tail, unit, rest);
    return filter_check(x, memcmp(unit + rest, "\0\0\0", 4 - rest) == 0);
}

/* A terminated text in an array of max + 1 bytes. */
static bool_t filter_text(XDR *x, char *text, uint32_t max)
{
    uint32_t n = x->x_op == XDR_ENCODE ? (uint32_t)strnlen(text, max + 1) : 0;
    if (!filter_count(x, &n, max) || !filter_bytes(x, text, n))
        return FALSE;
    if (x->x_op == XDR_DECODE)
        text[n] = '\0';
    return filter_check(x, dict_text_fit(text, n) == n);
}

static bool_t filter_uuid(XDR *x, uint8_t uuid[16])
{
    return filter_bytes(x, uuid, 16);
}

static bool_t filter_positions(XDR *x, uint32_t *count, struct message_position *positions)
{
    if (!filter_count(x, count, MESSAGE_ROWS_MAX))
        return FALSE;
    for (struct message_position *p = positions; p < positions + *count; p++)
        if (!filter_u64(x, &p->instance) || !filter_u32(x, &p->ring) || !filter_u64(x, &p->next_seq) ||
            !filter_u64(x, &p->next_ordinal) || !filter_u64(x, &p->discarded))
            return FALSE;
    return TRUE;
}

static bool_t filter_hello(XDR *x, struct message_hello *m)
{
    return filter_uuid(x, m->run) && filter_uuid(x, m->boot) && filter_uuid(x, m->uuid) &&
           filter_text(x, m->node, MESSAGE_NAME_MAX) && filter_i64(x, &m->realtime_offset) && filter_u32(x, &m->pid) &&
           filter_u64(x, &m->attempt);
}

static bool_t filter_welcome(XDR *x, struct message_welcome *m)
{
    return filter_u64(x, &m->credit_bytes) && filter_bool(x, &m->more) &&
           filter_positions(x, &m->stream_count, m->streams);
}

static bool_t filter_refuse(XDR *x, struct message_refuse *m)
{
    return filter_text(x, m->reason, MESSAGE_TEXT_MAX);
}

static bool_t filter_process(XDR *x, struct message_process *m)
{
    return filter_u64(x, &m->instance) && filter_u32(x, &m->stream_id) && filter_u32(x, &m->pid) &&
           filter_enum(x, &m->role, ROLE_DAEMON) && filter_bool(x, &m->overwrites) &&
           filter_text(x, m->name, MESSAGE_NAME_MAX) && filter_text(x, m->program, MESSAGE_TEXT_MAX) &&
           filter_u64(x, &m->started) && filter_count(x, &m->dictionary_bytes, MESSAGE_DICT_MAX) &&
           filter_bytes(x, m->dictionary, m->dictionary_bytes);
}

static bool_t filter_need_process(XDR *x, struct message_need_process *m)
{
    return filter_u64(x, &m->instance);
}

static bool_t filter_ack(XDR *x, struct message_ack *m)
{
    return filter_positions(x, &m->stream_count, m->streams);
}

static bool_t filter_books(XDR *x, struct message_books *m)
{
    if (!filter_u64(x, &m->instance) || !filter_enum(x, &m->state, PROCESS_DETACHED) || !filter_u64(x, &m->at) ||
        !filter_u64(x, &m->unfinished) || !filter_u64(x, &m->unobserved) ||
        !filter_count(x, &m->row_count, MESSAGE_BOOKS_MAX))
        return FALSE;
    for (struct message_books_row *r = m->rows; r < m->rows + m->row_count; r++)
        if (!filter_u32(x, &r->aspect) || !filter_u64(x, &r->attempts) || !filter_u64(x, &r->full) ||
            !filter_u64(x, &r->off) || !filter_u64(x, &r->no_ring) || !filter_u64(x, &r->window) ||
            !filter_u64(x, &r->spool))
            return FALSE;
    return TRUE;
}

static bool_t filter_heartbeat(XDR *x, struct message_heartbeat *m)
{
    return filter_u64(x, &m->at);
}

static bool_t filter_note(XDR *x, struct message_note *m)
{
    return filter_u64(x, &m->instance) && filter_u32(x, &m->pid) && filter_text(x, m->name, MESSAGE_NAME_MAX) &&
           filter_u64(x, &m->at) && filter_text(x, m->code, MESSAGE_NAME_MAX) &&
           filter_text(x, m->text, MESSAGE_TEXT_MAX);
}

/* A setting that is not given must be 0, so that each command has one encoding. */
static bool_t filter_poll(XDR *x, struct message_poll *m)
{
    return filter_count(x, &m->given, POLL_GIVES_ALL) && filter_u64(x, &m->period_ns) &&
           filter_enum(x, &m->mode, POLL_MODE_BUSY_WAIT) && filter_enum(x, &m->forward, POLL_FORWARD_COLLECT) &&
           filter_u32(x, &m->batch) &&
           filter_check(x, (m->given & POLL_GIVES_PERIOD || m->period_ns == 0) &&
                               (m->given & POLL_GIVES_MODE || m->mode == 0) &&
                               (m->given & POLL_GIVES_FORWARD || m->forward == 0) &&
                               (m->given & POLL_GIVES_BATCH || m->batch == 0));
}

static bool_t filter_knob(XDR *x, struct message_knob *m)
{
    if (!filter_enum(x, &m->action, KNOB_RESET) || !filter_u32(x, &m->from) ||
        !filter_text(x, m->process, MESSAGE_NAME_MAX) || !filter_text(x, m->name, MESSAGE_NAME_MAX) ||
        !filter_i32(x, &m->value))
        return FALSE;
    bool asks = m->action == KNOB_LIST;
    return filter_check(x, (asks || (m->from == 0 && m->name[0] != '\0')) &&
                               (!asks || (m->process[0] == '\0' && m->name[0] == '\0')) &&
                               (m->action == KNOB_SET || m->value == 0));
}

static bool_t filter_save(XDR *x, struct message_save *m)
{
    return filter_u32(x, &m->number) && filter_u32(x, &m->limit) && filter_text(x, m->node, MESSAGE_NAME_MAX) &&
           filter_u64(x, &m->at) && filter_u64(x, &m->left) && filter_double(x, &m->value) &&
           filter_check(x, m->number != 0 && m->node[0] != '\0');
}

static bool_t filter_begin(XDR *x, struct message_begin *m)
{
    return filter_uuid(x, m->run) && filter_text(x, m->node, MESSAGE_NAME_MAX) &&
           filter_text(x, m->folder, MESSAGE_TEXT_MAX) && filter_text(x, m->collector, MESSAGE_TEXT_MAX) &&
           filter_text(x, m->experiment, MESSAGE_EXPERIMENT_MAX);
}

static bool_t filter_command(XDR *x, struct message_command *m, struct message_begin *begin)
{
    if (!filter_u32(x, &m->id) || !filter_enum(x, &m->verb, VERB_ENDING))
        return FALSE;
    if (m->verb == VERB_POLL)
        return filter_poll(x, &m->poll);
    if (m->verb == VERB_KNOB)
        return filter_knob(x, &m->knob);
    if (m->verb == VERB_SAVE)
        return filter_save(x, &m->save);
    if (m->verb == VERB_BEGIN)
        return filter_begin(x, begin);
    return m->verb != VERB_ASPECTS ||
           (filter_enum(x, &m->mode, ASPECT_OFF) && filter_text(x, m->patterns, MESSAGE_PATTERNS_MAX));
}

static bool_t filter_violation(XDR *x, struct message_violation *m)
{
    static const struct message_violation none;
    if (!filter_u64(x, &m->count) || !filter_u32(x, &m->limit) || !filter_i64(x, &m->at) || !filter_i64(x, &m->age) ||
        !filter_double(x, &m->value))
        return FALSE;
    bool rest = m->limit || m->at || m->age || memcmp(&m->value, &none.value, sizeof m->value) != 0;
    return filter_check(x, m->age >= 0 && (m->count != 0 || !rest));
}

static bool_t filter_node_status(XDR *x, struct message_node_status *m)
{
    return filter_u64(x, &m->records) && filter_u64(x, &m->lost_full) && filter_u64(x, &m->lost_off) &&
           filter_u64(x, &m->lost_no_ring) && filter_u64(x, &m->lost_window) && filter_u64(x, &m->lost_spool) &&
           filter_u64(x, &m->window_bytes) && filter_u64(x, &m->spool_bytes) && filter_u32(x, &m->processes) &&
           filter_u64(x, &m->processes_seen) && filter_u64(x, &m->period_ns) && filter_bool(x, &m->manager.held) &&
           filter_u64(x, &m->manager.epoch) && filter_u64(x, &m->manager.applied) && filter_violation(x, &m->violation);
}

static bool_t filter_collector_status(XDR *x, struct message_collector_status *m)
{
    return filter_u64(x, &m->records) && filter_u64(x, &m->bytes) && filter_u64(x, &m->packets) &&
           filter_u64(x, &m->discarded) && filter_u64(x, &m->refused) && filter_u64(x, &m->over_rate) &&
           filter_u64(x, &m->unidentified) && filter_u32(x, &m->peers) && filter_u64(x, &m->streams) &&
           filter_u64(x, &m->processes) && filter_u64(x, &m->nodes) && filter_i32(x, &m->store_errno);
}

static bool_t filter_polling(XDR *x, struct message_polling *m)
{
    return filter_bool(x, &m->on) && filter_u64(x, &m->period_ns) && filter_enum(x, &m->mode, POLL_MODE_BUSY_WAIT) &&
           filter_enum(x, &m->forward, POLL_FORWARD_COLLECT) && filter_u32(x, &m->batch) &&
           filter_u64(x, &m->effective_ns) && filter_u64(x, &m->worst_ns);
}

static bool_t filter_knob_list(XDR *x, struct message_knob_list *m)
{
    if (!filter_u32(x, &m->next) || !filter_count(x, &m->count, MESSAGE_LISTED_MAX))
        return FALSE;
    for (struct message_knob_state *k = m->knobs; k < m->knobs + m->count; k++)
        if (!filter_u64(x, &k->instance) || !filter_u32(x, &k->pid) || !filter_text(x, k->process, MESSAGE_NAME_MAX) ||
            !filter_text(x, k->name, MESSAGE_NAME_MAX) || !filter_text(x, k->unit, MESSAGE_NAME_MAX) ||
            !filter_i32(x, &k->value) || !filter_i32(x, &k->min) || !filter_i32(x, &k->max) ||
            !filter_i32(x, &k->initial))
            return FALSE;
    return TRUE;
}

static bool_t filter_answer(XDR *x, struct message_reply *m, struct message_knob_list *knobs)
{
    switch (m->answer) {
    case ANSWER_REFUSED:
    case ANSWER_WAITING:
        return TRUE;
    case ANSWER_SESSION:
        return filter_text(x, m->session.endpoint, MESSAGE_TEXT_MAX) && filter_bool(x, &m->session.begun);
    case ANSWER_BEZELD:
        return filter_u32(x, &m->sessions);
    case ANSWER_NODE:
        return filter_node_status(x, &m->node);
    case ANSWER_COLLECTOR:
        return filter_collector_status(x, &m->collector);
    case ANSWER_SAVED:
        return filter_u32(x, &m->saved.records) && filter_u32(x, &m->saved.processes) &&
               filter_u32(x, &m->saved.behind);
    case ANSWER_ASPECTS:
        return filter_u32(x, &m->matched.aspects) && filter_u32(x, &m->matched.processes);
    case ANSWER_POLLING:
        return filter_polling(x, &m->polling);
    case ANSWER_KNOBS:
        return filter_knob_list(x, knobs);
    case ANSWER_KNOB_SET:
        return filter_u32(x, &m->knob_set);
    }
    return filter_check(x, false);
}

static bool_t filter_reply(XDR *x, struct message_reply *m, struct message_knob_list *knobs)
{
    return filter_u32(x, &m->id) && filter_enum(x, &m->state, DAEMON_FAILED) &&
           filter_text(x, m->text, MESSAGE_TEXT_MAX) && filter_enum(x, &m->answer, ANSWER_KNOB_SET) &&
           filter_answer(x, m, knobs);
}

static bool_t filter_leadership(XDR *x, struct message_leadership *m)
{
    return filter_u64(x, &m->epoch) && filter_u64(x, &m->holder);
}

static bool_t filter_steered(XDR *x, uint32_t *count, struct message_steered *knobs)
{
    if (!filter_count(x, count, MESSAGE_KNOBS_MAX))
        return FALSE;
    for (struct message_steered *k = knobs; k < knobs + *count; k++)
        if (!filter_u32(x, &k->knob) || !filter_i32(x, &k->value) || !filter_i32(x, &k->min) ||
            !filter_i32(x, &k->max) || !filter_i32(x, &k->baseline) || !filter_u32(x, &k->overrides))
            return FALSE;
    return TRUE;
}

static bool_t filter_steers(XDR *x, uint32_t *count, struct message_steer *knobs)
{
    if (!filter_count(x, count, MESSAGE_KNOBS_MAX))
        return FALSE;
    for (struct message_steer *k = knobs; k < knobs + *count; k++)
        if (!filter_u32(x, &k->knob) || !filter_bool(x, &k->given) || !filter_i32(x, &k->value) ||
            !filter_i32(x, &k->cause) || !filter_double(x, &k->metric) || !filter_bool(x, &k->saturated))
            return FALSE;
    return TRUE;
}

static bool_t filter_observation(XDR *x, struct message_observation *m)
{
    if (!filter_u64(x, &m->life) || !filter_u64(x, &m->at) || !filter_u64(x, &m->step) ||
        !filter_leadership(x, &m->leadership) || !filter_u64(x, &m->sequence) || !filter_bool(x, &m->on) ||
        !filter_u64(x, &m->period_ns) || !filter_u64(x, &m->desired_ns) || !filter_u32(x, &m->overrides) ||
        !filter_u32(x, &m->levels) || !filter_u32(x, &m->shed) || !filter_bool(x, &m->settled) ||
        !filter_double(x, &m->cpu) || !filter_double(x, &m->polls) || !filter_double(x, &m->records) ||
        !filter_i64(x, &m->elapsed) || !filter_count(x, &m->limit_count, MESSAGE_LIMITS_MAX))
        return FALSE;
    for (struct message_observed *o = m->limits; o < m->limits + m->limit_count; o++)
        if (!filter_u32(x, &o->limit) || !filter_enum(x, &o->state, MESSAGE_LIMIT_VIOLATED) ||
            !filter_double(x, &o->value))
            return FALSE;
    return filter_steered(x, &m->knob_count, m->knobs);
}

static bool_t filter_setpoint(XDR *x, struct message_setpoint *m)
{
    static const uint8_t none[2 * sizeof(double)];
    if (!filter_leadership(x, &m->leadership) || !filter_u64(x, &m->sequence) || !filter_u64(x, &m->life) ||
        !filter_u64(x, &m->answers) || !filter_u64(x, &m->expiry) || !filter_u64(x, &m->lasts) ||
        !filter_bool(x, &m->on) || !filter_u64(x, &m->period_ns) || !filter_i32(x, &m->cause) ||
        !filter_enum(x, &m->infeasible, MESSAGE_INFEASIBLE_GLOBAL) || !filter_double(x, &m->needed) ||
        !filter_double(x, &m->budget) || !filter_bool(x, &m->not_monitor) || !filter_bool(x, &m->starved) ||
        !filter_u32(x, &m->shed) || !filter_steers(x, &m->knob_count, m->knobs))
        return FALSE;
    double proof[] = {m->needed, m->budget};
    return filter_check(x, m->infeasible != MESSAGE_FEASIBLE || memcmp(proof, none, sizeof none) == 0);
}

static bool_t filter_partial(XDR *x, struct message_partial *m)
{
    static const uint8_t none[3 * sizeof(double)];
    if (!filter_u32(x, &m->limit) || !filter_enum(x, &m->state, PARTIAL_KNOWN) || !filter_double(x, &m->value) ||
        !filter_double(x, &m->over) || !filter_double(x, &m->unsure) || !filter_i64(x, &m->silent))
        return FALSE;
    double numbers[] = {m->value, m->over, m->unsure};
    return filter_check(x, m->state == PARTIAL_KNOWN || (memcmp(numbers, none, sizeof none) == 0 && m->silent == 0));
}

static bool_t filter_partials(XDR *x, struct message_partials *m)
{
    if (!filter_u64(x, &m->life) || !filter_u64(x, &m->at) || !filter_u64(x, &m->step) ||
        !filter_count(x, &m->count, MESSAGE_LIMITS_MAX))
        return FALSE;
    for (struct message_partial *p = m->list; p < m->list + m->count; p++)
        if (!filter_partial(x, p))
            return FALSE;
    return TRUE;
}

static bool_t filter_judged(XDR *x, struct message_judged *m)
{
    return filter_u32(x, &m->limit) && filter_enum(x, &m->state, MESSAGE_LIMIT_VIOLATED) &&
           filter_double(x, &m->value) && filter_double(x, &m->worst) && filter_i64(x, &m->settling) &&
           filter_i64(x, &m->held) && filter_i64(x, &m->violated) && filter_i64(x, &m->unknown) &&
           filter_i64(x, &m->ago) && filter_i64(x, &m->doubtful) && filter_i64(x, &m->trusted_ago) &&
           filter_double(x, &m->trusted_worst);
}

static bool_t filter_judgement(XDR *x, struct message_judgement *m)
{
    if (!filter_leadership(x, &m->leadership) || !filter_u64(x, &m->sequence) || !filter_u64(x, &m->missing) ||
        !filter_count(x, &m->count, MESSAGE_LIMITS_MAX))
        return FALSE;
    for (struct message_judged *j = m->list; j < m->list + m->count; j++)
        if (!filter_judged(x, j))
            return FALSE;
    return TRUE;
}

static bool_t filter_body(XDR *x, struct message *m)
{
    switch (m->type) {
    case MESSAGE_HELLO:
        return filter_hello(x, &m->hello);
    case MESSAGE_WELCOME:
        return filter_welcome(x, &m->welcome);
    case MESSAGE_REFUSE:
        return filter_refuse(x, &m->refuse);
    case MESSAGE_PROCESS:
        return filter_process(x, &m->process);
    case MESSAGE_NEED_PROCESS:
        return filter_need_process(x, &m->need_process);
    case MESSAGE_ACK:
        return filter_ack(x, &m->ack);
    case MESSAGE_BOOKS:
        return filter_books(x, &m->books);
    case MESSAGE_HEARTBEAT:
        return filter_heartbeat(x, &m->heartbeat);
    case MESSAGE_BYE:
        return TRUE;
    case MESSAGE_NOTE:
        return filter_note(x, &m->note);
    case MESSAGE_COMMAND:
        return filter_command(x, &m->command, &m->begin);
    case MESSAGE_REPLY:
        return filter_reply(x, &m->reply, &m->knobs);
    case MESSAGE_WATCH:
        return TRUE;
    case MESSAGE_OBSERVATION:
        return filter_observation(x, &m->observation);
    case MESSAGE_SETPOINT:
        return filter_setpoint(x, &m->setpoint);
    case MESSAGE_PARTIALS:
        return filter_partials(x, &m->partials);
    case MESSAGE_JUDGEMENT:
        return filter_judgement(x, &m->judgement);
    }
    return filter_check(x, false);
}

/* The complete message; *version becomes that of the bytes. If it is not this build's, only a REFUSE is decoded. */
static bool_t filter_message(XDR *x, struct message *m, uint32_t *version)
{
    uint32_t magic = MESSAGE_MAGIC;
    return filter_u32(x, &magic) && filter_check(x, magic == MESSAGE_MAGIC) && filter_u32(x, version) &&
           filter_enum(x, &m->type, MESSAGE_JUDGEMENT) &&
           filter_check(x, *version == MESSAGE_VERSION || m->type == MESSAGE_REFUSE) && filter_body(x, m);
}

int message_encode(const struct message *m, uint8_t *out, size_t capacity)
{
    bool broken = false;
    uint32_t version = MESSAGE_VERSION;
    XDR x;
    xdrmem_create(&x, (char *)out, capacity < MESSAGE_MAX_BYTES ? (u_int)capacity : MESSAGE_MAX_BYTES, XDR_ENCODE);
    x.x_public = (char *)&broken;
    bool_t done = filter_message(&x, (struct message *)m, &version); /* while encoding, a filter only reads */
    return done ? (int)xdr_getpos(&x) : broken ? BEZEL_EINVAL : BEZEL_EFULL;
}

int message_decode(const void *in, size_t n, struct message *m)
{
    bool broken = false;
    uint32_t version = MESSAGE_VERSION;
    XDR x;
    if (n > MESSAGE_MAX_BYTES)
        return BEZEL_EMALFORMED;
    xdrmem_create(&x, (char *)in, (u_int)n, XDR_DECODE);
    x.x_public = (char *)&broken;
    bool_t done = filter_message(&x, m, &version) && xdr_getpos(&x) == n;
    if (version == MESSAGE_VERSION)
        return done ? 0 : BEZEL_EMALFORMED;
    if (!done) {
        m->type = MESSAGE_REFUSE;
        snprintf(m->refuse.reason, sizeof m->refuse.reason,
                 "messages of version %" PRIu32
                 " were sent to a part of Bezel that reads version %d: install the same version of Bezel on both sides",
                 version, MESSAGE_VERSION);
    }
    return BEZEL_EVERSION;
}
