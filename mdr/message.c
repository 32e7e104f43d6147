// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/message.h"

#include "mdr/dict.h"

#include <rpc/types.h>
#include <rpc/xdr.h>
#include <string.h>

/*
 * The one user of libtirpc. Each message has one filter, in XDR's manner: the same function encodes and decodes, so
 * that the two cannot differ. A filter returns FALSE where the bytes end or a bound is broken; the latter is noted
 * through x_public, XDR's place for its user's data, because the encoder must tell the two apart.
 *
 * libtirpc's own filters for bool, enum, bytes, string and array are not used: they let through non-zero padding, NUL
 * in strings, any number as a bool or enum, or allocate. What is left of it are numbers and whole units of four bytes.
 */

enum { MESSAGE_MAGIC = 0x425A4C31, MESSAGE_VERSION = 1 };

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

static bool_t filter_need(XDR *x, struct message_need *m)
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

static bool_t filter_alive(XDR *x, struct message_alive *m)
{
    return filter_u64(x, &m->at);
}

static bool_t filter_note(XDR *x, struct message_note *m)
{
    return filter_u64(x, &m->instance) && filter_u32(x, &m->pid) && filter_text(x, m->name, MESSAGE_NAME_MAX) &&
           filter_u64(x, &m->at) && filter_text(x, m->code, MESSAGE_NAME_MAX) &&
           filter_text(x, m->text, MESSAGE_TEXT_MAX);
}

/* What is not given is 0: there is one encoding of everything. */
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
    uint32_t value = (uint32_t)m->value;
    if (!filter_enum(x, &m->order, KNOB_RESET) || !filter_u32(x, &m->from) ||
        !filter_text(x, m->process, MESSAGE_NAME_MAX) || !filter_text(x, m->name, MESSAGE_NAME_MAX) ||
        !filter_u32(x, &value))
        return FALSE;
    m->value = (int32_t)value;
    bool asks = m->order == KNOB_ASK;
    return filter_check(x, (asks || (m->from == 0 && m->name[0] != '\0')) &&
                               (!asks || (m->process[0] == '\0' && m->name[0] == '\0')) &&
                               (m->order == KNOB_SET || value == 0));
}

static bool_t filter_save(XDR *x, struct message_save *m)
{
    uint64_t bits;
    memcpy(&bits, &m->value, sizeof bits);
    if (!filter_u32(x, &m->number) || !filter_u32(x, &m->limit) || !filter_text(x, m->node, MESSAGE_NAME_MAX) ||
        !filter_u64(x, &m->at) || !filter_u64(x, &m->left) || !filter_u64(x, &bits))
        return FALSE;
    memcpy(&m->value, &bits, sizeof m->value);
    return filter_check(x, m->number != 0 && m->node[0] != '\0');
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

static bool_t filter_reply(XDR *x, struct message_reply *m)
{
    if (!filter_u32(x, &m->id) || !filter_enum(x, &m->state, DAEMON_FAILED) ||
        !filter_text(x, m->text, MESSAGE_TEXT_MAX) || !filter_count(x, &m->value_count, MESSAGE_VALUES_MAX))
        return FALSE;
    for (struct message_value *v = m->values; v < m->values + m->value_count; v++)
        if (!filter_text(x, v->name, MESSAGE_NAME_MAX) || !filter_i64(x, &v->value))
            return FALSE;
    return TRUE;
}

/* The bits are what counts: a NaN stays the one that it is. */
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

static bool_t filter_lease(XDR *x, struct message_lease *m)
{
    return filter_u64(x, &m->epoch) && filter_u64(x, &m->holder);
}

#include "mdr/message_knobs.h"

static bool_t filter_observation(XDR *x, struct message_observation *m)
{
    if (!filter_u64(x, &m->life) || !filter_u64(x, &m->at) || !filter_u64(x, &m->step) || !filter_lease(x, &m->lease) ||
        !filter_u64(x, &m->sequence) || !filter_bool(x, &m->on) || !filter_u64(x, &m->period_ns) ||
        !filter_u64(x, &m->desired_ns) || !filter_u32(x, &m->orders) || !filter_u32(x, &m->levels) ||
        !filter_u32(x, &m->shed) || !filter_bool(x, &m->settled) || !filter_double(x, &m->cpu) ||
        !filter_double(x, &m->polls) || !filter_double(x, &m->records) || !filter_i64(x, &m->elapsed) ||
        !filter_i64(x, &m->effective) || !filter_count(x, &m->limit_count, MESSAGE_LIMITS_MAX))
        return FALSE;
    for (struct message_observed *o = m->limits; o < m->limits + m->limit_count; o++)
        if (!filter_u32(x, &o->limit) || !filter_enum(x, &o->state, MESSAGE_LIMIT_VIOLATED) ||
            !filter_double(x, &o->value))
            return FALSE;
    return filter_steered(x, &m->knob_count, m->knobs);
}

static bool_t filter_setting(XDR *x, struct message_setting *m)
{
    static const uint8_t none[2 * sizeof(double)];
    uint32_t cause = (uint32_t)m->cause;
    if (!filter_lease(x, &m->lease) || !filter_u64(x, &m->sequence) || !filter_u64(x, &m->life) ||
        !filter_u64(x, &m->answers) || !filter_u64(x, &m->expiry) || !filter_u64(x, &m->lasts) ||
        !filter_bool(x, &m->on) || !filter_u64(x, &m->period_ns) || !filter_u32(x, &cause) ||
        !filter_enum(x, &m->infeasible, MESSAGE_INFEASIBLE_WHOLE) || !filter_double(x, &m->needed) ||
        !filter_double(x, &m->budget) || !filter_bool(x, &m->blameless) || !filter_bool(x, &m->starved) ||
        !filter_u32(x, &m->shed) || !filter_steers(x, &m->knob_count, m->knobs))
        return FALSE;
    m->cause = (int32_t)cause;
    double proof[] = {m->needed, m->budget};
    return filter_check(x, m->infeasible != MESSAGE_FEASIBLE || memcmp(proof, none, sizeof none) == 0);
}

#include "mdr/message_whole.h"

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
    case MESSAGE_NEED:
        return filter_need(x, &m->need);
    case MESSAGE_ACK:
        return filter_ack(x, &m->ack);
    case MESSAGE_BOOKS:
        return filter_books(x, &m->books);
    case MESSAGE_ALIVE:
        return filter_alive(x, &m->alive);
    case MESSAGE_BYE:
        return TRUE;
    case MESSAGE_NOTE:
        return filter_note(x, &m->note);
    case MESSAGE_COMMAND:
        return filter_command(x, &m->command, &m->begin);
    case MESSAGE_REPLY:
        return filter_reply(x, &m->reply);
    case MESSAGE_WATCH:
        return TRUE;
    case MESSAGE_OBSERVATION:
        return filter_observation(x, &m->observation);
    case MESSAGE_SETTING:
        return filter_setting(x, &m->setting);
    case MESSAGE_PARTS:
        return filter_parts(x, &m->parts);
    case MESSAGE_JUDGEMENT:
        return filter_judgement(x, &m->judgement);
    }
    return filter_check(x, false);
}

/* The whole message; *version is what the bytes say. A body is looked at only where this build speaks the version. */
static bool_t filter_message(XDR *x, struct message *m, uint32_t *version)
{
    uint32_t magic = MESSAGE_MAGIC;
    if (!filter_u32(x, &magic) || !filter_check(x, magic == MESSAGE_MAGIC) || !filter_u32(x, version) ||
        !filter_check(x, *version == MESSAGE_VERSION))
        return FALSE;
    return filter_enum(x, &m->type, MESSAGE_JUDGEMENT) && filter_body(x, m);
}

int message_encode(const struct message *m, uint8_t *out, size_t capacity)
{
    bool broken = false;
    uint32_t version = MESSAGE_VERSION;
    XDR x;
    xdrmem_create(&x, (char *)out, capacity < MESSAGE_MAX_BYTES ? (u_int)capacity : MESSAGE_MAX_BYTES, XDR_ENCODE);
    x.x_public = (char *)&broken;
    bool_t done = filter_message(&x, (struct message *)m, &version); /* a filter only reads what it encodes */
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
    bool_t done = filter_message(&x, m, &version);
    if (version != MESSAGE_VERSION)
        return BEZEL_EVERSION;
    return done && xdr_getpos(&x) == n ? 0 : BEZEL_EMALFORMED;
}
