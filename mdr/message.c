// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/message.h"

#include "base/utf8.h"
#include "mdr/dict.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <rpc/types.h>
#include <rpc/xdr.h>
#include <stdio.h>
#include <string.h>

/*
 * The one user of libtirpc. Each message has one filter, in XDR's manner: the same function encodes and decodes, so
 * that the two cannot differ. A filter returns FALSE where the bytes end or a bound is broken; the latter is noted
 * through x_public, XDR's place for its user's data, because the encoder must distinguish the two.
 *
 * libtirpc's own filters for bool, enum, bytes, string and array are not used: they let through non-zero padding, NUL
 * in strings, any number as a bool or enum, or allocate. Only its filters for numbers and whole units of four bytes are
 * used.
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

/* The bits are copied, so that a NaN stays the same NaN. */
static bool_t filter_double(XDR *x, double *v)
{
    uint64_t bits = 0;
    if (x->x_op == XDR_ENCODE)
        memcpy(&bits, v, sizeof bits);
    if (!xdr_uint64_t(x, &bits))
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
    return filter_check(x, utf8_fit(text, n) == n);
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
        if (!xdr_uint64_t(x, &p->instance) || !xdr_uint32_t(x, &p->ring) || !xdr_uint64_t(x, &p->next_seq) ||
            !xdr_uint64_t(x, &p->next_ordinal) || !xdr_uint64_t(x, &p->discarded))
            return FALSE;
    return TRUE;
}

static bool_t filter_hello(XDR *x, struct message_hello *m)
{
    return filter_uuid(x, m->run) && filter_uuid(x, m->clock) && filter_uuid(x, m->uuid) &&
           filter_text(x, m->node, MESSAGE_NAME_MAX) && xdr_int64_t(x, &m->realtime_offset) &&
           xdr_uint32_t(x, &m->pid) && xdr_uint64_t(x, &m->attempt);
}

static bool_t filter_welcome(XDR *x, struct message_welcome *m)
{
    return xdr_uint64_t(x, &m->credit_bytes) && filter_bool(x, &m->more) && filter_uuid(x, m->clock) &&
           xdr_uint32_t(x, &m->clock_port) && filter_positions(x, &m->stream_count, m->streams);
}

static bool_t filter_process(XDR *x, struct message_process *m)
{
    return xdr_uint64_t(x, &m->instance) && xdr_uint32_t(x, &m->stream_id) && xdr_uint32_t(x, &m->pid) &&
           filter_enum(x, &m->role, ROLE_DAEMON) && filter_bool(x, &m->overwrites) &&
           filter_text(x, m->name, MESSAGE_NAME_MAX) && filter_text(x, m->program, MESSAGE_TEXT_MAX) &&
           xdr_uint64_t(x, &m->started) && filter_count(x, &m->dictionary_bytes, MESSAGE_DICT_MAX) &&
           filter_bytes(x, m->dictionary, m->dictionary_bytes);
}

static bool_t filter_books(XDR *x, struct message_books *m)
{
    if (!xdr_uint64_t(x, &m->instance) || !filter_enum(x, &m->state, PROCESS_LEFT) || !xdr_uint64_t(x, &m->at) ||
        !xdr_uint64_t(x, &m->unfinished) || !xdr_uint64_t(x, &m->unobserved) ||
        !filter_count(x, &m->row_count, MESSAGE_BOOKS_MAX))
        return FALSE;
    for (struct message_books_row *r = m->rows; r < m->rows + m->row_count; r++)
        if (!xdr_uint32_t(x, &r->aspect) || !xdr_uint64_t(x, &r->attempts) || !xdr_uint64_t(x, &r->full) ||
            !xdr_uint64_t(x, &r->off) || !xdr_uint64_t(x, &r->no_ring) || !xdr_uint64_t(x, &r->window) ||
            !xdr_uint64_t(x, &r->spool))
            return FALSE;
    return TRUE;
}

static bool_t filter_note(XDR *x, struct message_note *m)
{
    return xdr_uint64_t(x, &m->instance) && xdr_uint32_t(x, &m->pid) && filter_text(x, m->name, MESSAGE_NAME_MAX) &&
           xdr_uint64_t(x, &m->at) && filter_text(x, m->code, MESSAGE_NAME_MAX) &&
           filter_text(x, m->text, MESSAGE_TEXT_MAX);
}

/* A setting that is not given must be 0, so that each command has one encoding. */
static bool_t filter_poll(XDR *x, struct message_poll *m)
{
    return filter_count(x, &m->given, POLL_GIVES_ALL) && filter_check(x, m->given != 0) &&
           xdr_uint64_t(x, &m->period_ns) && filter_enum(x, &m->mode, POLL_MODE_BUSY_WAIT) &&
           filter_enum(x, &m->forward, POLL_FORWARD_COLLECT) && xdr_uint32_t(x, &m->batch) &&
           filter_check(x, (m->given & POLL_GIVES_PERIOD || m->period_ns == 0) &&
                               (m->given & POLL_GIVES_MODE || m->mode == 0) &&
                               (m->given & POLL_GIVES_FORWARD || m->forward == 0) &&
                               (m->given & POLL_GIVES_BATCH || m->batch == 0));
}

static bool_t filter_knob(XDR *x, struct message_knob *m)
{
    return filter_enum(x, &m->action, KNOB_RESET) && filter_text(x, m->process, MESSAGE_NAME_MAX) &&
           filter_text(x, m->name, MESSAGE_NAME_MAX) && xdr_int32_t(x, &m->value) &&
           filter_check(x, m->name[0] != '\0' && (m->action == KNOB_SET || m->value == 0));
}

static bool_t filter_save(XDR *x, struct message_save *m)
{
    return xdr_uint32_t(x, &m->number) && xdr_uint32_t(x, &m->limit) && filter_text(x, m->node, MESSAGE_NAME_MAX) &&
           xdr_uint64_t(x, &m->at) && xdr_uint64_t(x, &m->left) && filter_double(x, &m->value) &&
           filter_check(x, m->number != 0 && m->node[0] != '\0');
}

static bool_t filter_configure(XDR *x, struct message_configure *m)
{
    return filter_text(x, m->folder, MESSAGE_TEXT_MAX) && filter_text(x, m->collector, MESSAGE_TEXT_MAX) &&
           filter_text(x, m->experiment, MESSAGE_EXPERIMENT_MAX);
}

static bool_t filter_start(XDR *x, struct message_start *m, bool program)
{
    return filter_text(x, m->process, MESSAGE_NAME_MAX) && xdr_uint32_t(x, &m->incarnation) &&
           filter_check(x, (m->process[0] != '\0') == (m->incarnation != 0) && (!program || m->incarnation != 0));
}

static bool_t filter_query(XDR *x, struct message_command *m)
{
    if (!filter_enum(x, &m->subject, SUBJECT_FILE) || !filter_check(x, m->subject != SUBJECT_ASPECTS))
        return FALSE;
    switch (m->subject) {
    case SUBJECT_KNOBS:
    case SUBJECT_FILES:
        return xdr_uint32_t(x, &m->from);
    case SUBJECT_PROCESSES:
        return xdr_uint64_t(x, &m->since);
    case SUBJECT_OUTPUT:
        return filter_start(x, &m->start, true) && xdr_uint64_t(x, &m->offset);
    case SUBJECT_RECORDS:
        return filter_text(x, m->process, MESSAGE_NAME_MAX) && filter_text(x, m->aspect, MESSAGE_NAME_MAX);
    case SUBJECT_FILE:
        return xdr_uint32_t(x, &m->from) && xdr_uint64_t(x, &m->offset);
    case SUBJECT_SEGMENTS:
        return filter_text(x, m->folder, MESSAGE_TEXT_MAX) && xdr_uint64_t(x, &m->after);
    default:
        return TRUE;
    }
}

static bool_t filter_set(XDR *x, struct message_command *m)
{
    if (!filter_enum(x, &m->subject, SUBJECT_KNOBS))
        return FALSE;
    if (m->subject == SUBJECT_POLL)
        return filter_poll(x, &m->poll);
    if (m->subject == SUBJECT_KNOBS)
        return filter_knob(x, &m->knob);
    return filter_check(x, m->subject == SUBJECT_ASPECTS) && filter_enum(x, &m->mode, ASPECT_OFF) &&
           filter_text(x, m->patterns, MESSAGE_PATTERNS_MAX);
}

static bool_t filter_leadership(XDR *x, struct message_leadership *m)
{
    return xdr_uint64_t(x, &m->epoch) && xdr_uint64_t(x, &m->holder);
}

static bool_t filter_command(XDR *x, struct message_command *m, struct message_configure *configure)
{
    if (!xdr_uint32_t(x, &m->id) || !xdr_uint64_t(x, &m->deadline) || !filter_leadership(x, &m->owner) ||
        !filter_enum(x, &m->verb, VERB_DISCARD))
        return FALSE;
    switch (m->verb) {
    case VERB_CONFIGURE:
        return filter_configure(x, configure);
    case VERB_QUERY:
        return filter_query(x, m);
    case VERB_SET:
        return filter_set(x, m);
    case VERB_SAVE:
        return filter_save(x, &m->save);
    case VERB_START:
        return filter_start(x, &m->start, false);
    case VERB_ENDING:
        return filter_enum(x, &m->ending, END_KILL);
    default:
        return TRUE;
    }
}

static bool_t filter_violation(XDR *x, struct message_violation *m)
{
    static const struct message_violation none;
    if (!xdr_uint64_t(x, &m->count) || !xdr_uint32_t(x, &m->limit) || !xdr_int64_t(x, &m->at) ||
        !xdr_int64_t(x, &m->age) || !filter_double(x, &m->value))
        return FALSE;
    bool rest = m->limit || m->at || m->age || memcmp(&m->value, &none.value, sizeof m->value) != 0;
    return filter_check(x, m->age >= 0 && (m->count != 0 || !rest));
}

static bool_t filter_node_status(XDR *x, struct message_node_status *m)
{
    return xdr_uint64_t(x, &m->records) && xdr_uint64_t(x, &m->lost_full) && xdr_uint64_t(x, &m->lost_off) &&
           xdr_uint64_t(x, &m->lost_no_ring) && xdr_uint64_t(x, &m->lost_window) && xdr_uint64_t(x, &m->lost_spool) &&
           xdr_uint64_t(x, &m->window_bytes) && xdr_uint64_t(x, &m->spool_bytes) && xdr_uint32_t(x, &m->processes) &&
           xdr_uint64_t(x, &m->processes_seen) && xdr_uint64_t(x, &m->period_ns) && filter_bool(x, &m->stop_wanted) &&
           filter_bool(x, &m->manager.held) && xdr_uint64_t(x, &m->manager.epoch) &&
           xdr_uint64_t(x, &m->manager.applied) && filter_violation(x, &m->violation);
}

static bool_t filter_collector_status(XDR *x, struct message_collector_status *m)
{
    return xdr_uint64_t(x, &m->records) && xdr_uint64_t(x, &m->bytes) && xdr_uint64_t(x, &m->packets) &&
           xdr_uint64_t(x, &m->discarded) && xdr_uint64_t(x, &m->refused) && xdr_uint64_t(x, &m->over_rate) &&
           xdr_uint64_t(x, &m->unidentified) && xdr_uint32_t(x, &m->peers) && xdr_uint64_t(x, &m->streams) &&
           xdr_uint64_t(x, &m->processes) && xdr_uint64_t(x, &m->nodes) && xdr_int32_t(x, &m->store_errno) &&
           xdr_uint32_t(x, &m->port) && xdr_uint64_t(x, &m->expired) && xdr_uint64_t(x, &m->expired_records) &&
           xdr_uint64_t(x, &m->expired_bytes);
}

static bool_t filter_manager_status(XDR *x, struct message_manager_status *m)
{
    return xdr_uint64_t(x, &m->epoch) && xdr_uint64_t(x, &m->observations) && xdr_uint64_t(x, &m->decisions) &&
           xdr_uint64_t(x, &m->setpoints) && xdr_uint32_t(x, &m->reached);
}

static bool_t filter_polling(XDR *x, struct message_polling *m)
{
    return filter_bool(x, &m->on) && xdr_uint64_t(x, &m->period_ns) && filter_enum(x, &m->mode, POLL_MODE_BUSY_WAIT) &&
           filter_enum(x, &m->forward, POLL_FORWARD_COLLECT) && xdr_uint32_t(x, &m->batch) &&
           xdr_uint64_t(x, &m->effective_ns) && xdr_uint64_t(x, &m->worst_ns);
}

static bool_t filter_knob_list(XDR *x, struct message_knob_list *m)
{
    if (!xdr_uint32_t(x, &m->next) || !filter_count(x, &m->count, MESSAGE_LISTED_MAX))
        return FALSE;
    for (struct message_knob_state *k = m->knobs; k < m->knobs + m->count; k++)
        if (!xdr_uint64_t(x, &k->instance) || !xdr_uint32_t(x, &k->pid) ||
            !filter_text(x, k->process, MESSAGE_NAME_MAX) || !filter_text(x, k->name, MESSAGE_NAME_MAX) ||
            !filter_text(x, k->unit, MESSAGE_NAME_MAX) || !xdr_int32_t(x, &k->value) || !xdr_int32_t(x, &k->min) ||
            !xdr_int32_t(x, &k->max) || !xdr_int32_t(x, &k->initial))
            return FALSE;
    return TRUE;
}

static bool_t filter_session_list(XDR *x, struct message_session_list *m)
{
    if (!filter_count(x, &m->count, MESSAGE_SESSIONS_MAX))
        return FALSE;
    for (struct message_session *s = m->sessions; s < m->sessions + m->count; s++)
        if (!filter_uuid(x, s->run) || !filter_text(x, s->experiment, MESSAGE_NAME_MAX) ||
            !filter_text(x, s->node, MESSAGE_NAME_MAX) || !filter_enum(x, &s->state, DAEMON_PAUSED) ||
            !xdr_uint32_t(x, &s->processes) || !filter_text(x, s->host, MESSAGE_NAME_MAX) ||
            !filter_text(x, s->key, MESSAGE_NAME_MAX))
            return FALSE;
    return TRUE;
}

static bool_t filter_launched(XDR *x, struct message_launched *m)
{
    return filter_start(x, &m->of, true) && filter_enum(x, &m->state, LAUNCHED_LOST) && filter_bool(x, &m->ready) &&
           xdr_uint32_t(x, &m->pid) && xdr_int32_t(x, &m->status) && xdr_int32_t(x, &m->error) &&
           filter_text(x, m->stage, MESSAGE_STAGE_MAX) && xdr_int64_t(x, &m->started) && xdr_int64_t(x, &m->ended) &&
           xdr_uint64_t(x, &m->user_ns) && xdr_uint64_t(x, &m->system_ns) && xdr_uint64_t(x, &m->memory) &&
           xdr_uint64_t(x, &m->output) && xdr_uint64_t(x, &m->dropped);
}

static bool_t filter_launched_list(XDR *x, struct message_launched_list *m)
{
    if (!xdr_uint64_t(x, &m->change) || !filter_bool(x, &m->more) || !filter_bool(x, &m->empty) ||
        !xdr_uint32_t(x, &m->left) || !filter_count(x, &m->count, MESSAGE_LAUNCHED_MAX))
        return FALSE;
    for (struct message_launched *row = m->rows; row < m->rows + m->count; row++)
        if (!filter_launched(x, row))
            return FALSE;
    return TRUE;
}

static bool_t filter_output(XDR *x, struct message_output *m)
{
    return xdr_uint64_t(x, &m->offset) && filter_bool(x, &m->last) && filter_count(x, &m->count, MESSAGE_OUTPUT_MAX) &&
           filter_bytes(x, m->bytes, m->count);
}

static bool_t filter_segment_list(XDR *x, struct message_segment_list *m)
{
    if (!filter_text(x, m->folder, MESSAGE_TEXT_MAX) || !xdr_uint64_t(x, &m->next) ||
        !filter_count(x, &m->count, MESSAGE_SEGMENTS_MAX))
        return FALSE;
    for (struct message_segment *row = m->rows; row < m->rows + m->count; row++)
        if (!xdr_uint64_t(x, &row->instance) || !filter_uuid(x, row->run) || !xdr_uint32_t(x, &row->pid) ||
            !xdr_uint64_t(x, &row->age_ns) || !xdr_uint64_t(x, &row->records) ||
            !filter_text(x, row->name, MESSAGE_NAME_MAX))
            return FALSE;
    return TRUE;
}

static bool_t filter_file_list(XDR *x, struct message_file_list *m)
{
    if (!xdr_uint32_t(x, &m->total) || !xdr_uint32_t(x, &m->first) || !filter_count(x, &m->count, MESSAGE_FILES_MAX))
        return FALSE;
    for (struct message_file *f = m->files; f < m->files + m->count; f++)
        if (!filter_text(x, f->name, MESSAGE_TEXT_MAX) || !xdr_uint64_t(x, &f->size) || !filter_bool(x, &f->summed) ||
            !xdr_uint64_t(x, &f->sum) || !filter_check(x, f->summed || f->sum == 0))
            return FALSE;
    return TRUE;
}

/* Whether `texts` are as many texts as there are to be, each ended. */
static bool has_texts(const struct message_launch *m)
{
    uint64_t wanted = MESSAGE_LAUNCH_TEXTS + (uint64_t)m->arguments + m->variables;
    uint32_t ends = 0;
    for (uint32_t i = 0; i < m->text_bytes; i++)
        ends += m->texts[i] == '\0';
    return m->arguments > 0 && ends == wanted && m->texts[m->text_bytes - 1] == '\0';
}

static bool_t filter_launch(XDR *x, struct message_launch *m)
{
    if (!xdr_uint32_t(x, &m->id) || !filter_start(x, &m->of, true) || !xdr_uint64_t(x, &m->grace_ns) ||
        !xdr_uint64_t(x, &m->silence_ns) || !filter_enum(x, &m->output, LAUNCH_OUTPUT_STDERR) ||
        !filter_bool(x, &m->foreground) || !xdr_uint32_t(x, &m->port))
        return FALSE;
    for (int i = 0; i < RLIMITS_OF; i++)
        if (!xdr_int64_t(x, &m->limits[i]))
            return FALSE;
    return xdr_uint32_t(x, &m->arguments) && xdr_uint32_t(x, &m->variables) &&
           filter_count(x, &m->text_bytes, MESSAGE_LAUNCH_MAX) && filter_bytes(x, m->texts, m->text_bytes) &&
           filter_check(x, has_texts(m));
}

/* The lists are beside the reply. */
static bool_t filter_answer(XDR *x, struct message *all)
{
    struct message_reply *m = &all->reply;
    switch (m->answer) {
    case ANSWER_REFUSED:
    case ANSWER_STALE:
    case ANSWER_ABSENT:
    case ANSWER_TAKEN:
    case ANSWER_WAITING:
        return TRUE;
    case ANSWER_SESSION:
        return filter_bool(x, &m->begun);
    case ANSWER_BEZELD:
        return xdr_uint32_t(x, &m->sessions);
    case ANSWER_NODE:
        return filter_node_status(x, &m->node);
    case ANSWER_COLLECTOR:
        return filter_collector_status(x, &m->collector);
    case ANSWER_MANAGER:
        return filter_manager_status(x, &m->manager);
    case ANSWER_SAVED:
        return xdr_uint32_t(x, &m->saved.records) && xdr_uint32_t(x, &m->saved.processes) &&
               xdr_uint32_t(x, &m->saved.behind);
    case ANSWER_ASPECTS:
        return xdr_uint32_t(x, &m->matched.aspects) && xdr_uint32_t(x, &m->matched.processes);
    case ANSWER_POLL:
        return filter_polling(x, &m->polling);
    case ANSWER_KNOBS:
        return filter_knob_list(x, &all->knobs);
    case ANSWER_KNOB_SET:
        return xdr_uint32_t(x, &m->knob_set);
    case ANSWER_SESSIONS:
        return filter_session_list(x, &all->sessions);
    case ANSWER_PROCESSES:
        return filter_launched_list(x, &all->launched);
    case ANSWER_OUTPUT:
        return filter_output(x, &all->output);
    case ANSWER_RECORDS:
        return xdr_uint64_t(x, &m->records);
    case ANSWER_SEGMENTS:
        return filter_segment_list(x, &all->segments);
    case ANSWER_FILES:
        return filter_file_list(x, &all->files);
    }
    return filter_check(x, false);
}

static bool_t filter_reply(XDR *x, struct message *all)
{
    struct message_reply *m = &all->reply;
    return xdr_uint32_t(x, &m->id) && xdr_uint64_t(x, &m->at) && filter_enum(x, &m->state, DAEMON_PAUSED) &&
           filter_text(x, m->text, MESSAGE_TEXT_MAX) && filter_enum(x, &m->answer, ANSWER_FILES) &&
           filter_answer(x, all);
}

static bool_t filter_steered(XDR *x, uint32_t *count, struct message_steered *knobs)
{
    if (!filter_count(x, count, MESSAGE_KNOBS_MAX))
        return FALSE;
    for (struct message_steered *k = knobs; k < knobs + *count; k++)
        if (!xdr_uint32_t(x, &k->knob) || !xdr_int32_t(x, &k->value) || !xdr_int32_t(x, &k->min) ||
            !xdr_int32_t(x, &k->max) || !xdr_int32_t(x, &k->baseline) || !xdr_uint32_t(x, &k->overrides))
            return FALSE;
    return TRUE;
}

static bool_t filter_steers(XDR *x, uint32_t *count, struct message_steer *knobs)
{
    if (!filter_count(x, count, MESSAGE_KNOBS_MAX))
        return FALSE;
    for (struct message_steer *k = knobs; k < knobs + *count; k++)
        if (!xdr_uint32_t(x, &k->knob) || !filter_bool(x, &k->given) || !xdr_int32_t(x, &k->value) ||
            !xdr_int32_t(x, &k->cause) || !filter_double(x, &k->metric) || !filter_bool(x, &k->saturated))
            return FALSE;
    return TRUE;
}

static bool_t filter_observation(XDR *x, struct message_observation *m)
{
    if (!xdr_uint64_t(x, &m->life) || !xdr_uint64_t(x, &m->at) || !xdr_uint64_t(x, &m->step) ||
        !filter_leadership(x, &m->leadership) || !xdr_uint64_t(x, &m->sequence) || !filter_bool(x, &m->on) ||
        !xdr_uint64_t(x, &m->period_ns) || !xdr_uint64_t(x, &m->desired_ns) || !xdr_uint32_t(x, &m->overrides) ||
        !xdr_uint32_t(x, &m->levels) || !xdr_uint32_t(x, &m->shed) || !filter_bool(x, &m->settled) ||
        !filter_double(x, &m->cpu) || !filter_double(x, &m->polls) || !filter_double(x, &m->records) ||
        !xdr_int64_t(x, &m->elapsed) || !filter_count(x, &m->limit_count, MESSAGE_LIMITS_MAX))
        return FALSE;
    for (struct message_observed *o = m->limits; o < m->limits + m->limit_count; o++)
        if (!xdr_uint32_t(x, &o->limit) || !filter_enum(x, &o->state, MESSAGE_LIMIT_VIOLATED) ||
            !filter_double(x, &o->value))
            return FALSE;
    return filter_steered(x, &m->knob_count, m->knobs);
}

static bool_t filter_setpoint(XDR *x, struct message_setpoint *m)
{
    static const uint8_t none[2 * sizeof(double)];
    if (!filter_leadership(x, &m->leadership) || !xdr_uint64_t(x, &m->sequence) || !xdr_uint64_t(x, &m->life) ||
        !xdr_uint64_t(x, &m->answers) || !xdr_uint64_t(x, &m->expiry) || !xdr_uint64_t(x, &m->lasts) ||
        !filter_bool(x, &m->on) || !xdr_uint64_t(x, &m->period_ns) || !xdr_int32_t(x, &m->cause) ||
        !filter_enum(x, &m->infeasible, MESSAGE_INFEASIBLE_GLOBAL) || !filter_double(x, &m->needed) ||
        !filter_double(x, &m->budget) || !filter_bool(x, &m->not_the_monitors) || !filter_bool(x, &m->starved) ||
        !xdr_uint32_t(x, &m->shed) || !filter_steers(x, &m->knob_count, m->knobs))
        return FALSE;
    double proof[] = {m->needed, m->budget};
    return filter_check(x, m->infeasible != MESSAGE_FEASIBLE || memcmp(proof, none, sizeof none) == 0);
}

static bool_t filter_partial(XDR *x, struct message_partial *m)
{
    static const uint8_t none[3 * sizeof(double)];
    if (!xdr_uint32_t(x, &m->limit) || !filter_enum(x, &m->state, PARTIAL_KNOWN) || !filter_double(x, &m->value) ||
        !filter_double(x, &m->over) || !filter_double(x, &m->unsure) || !xdr_int64_t(x, &m->silent))
        return FALSE;
    double numbers[] = {m->value, m->over, m->unsure};
    return filter_check(x, m->state == PARTIAL_KNOWN || (memcmp(numbers, none, sizeof none) == 0 && m->silent == 0));
}

static bool_t filter_partials(XDR *x, struct message_partials *m)
{
    if (!xdr_uint64_t(x, &m->life) || !xdr_uint64_t(x, &m->at) || !xdr_uint64_t(x, &m->step) ||
        !filter_count(x, &m->count, MESSAGE_LIMITS_MAX))
        return FALSE;
    for (struct message_partial *p = m->list; p < m->list + m->count; p++)
        if (!filter_partial(x, p))
            return FALSE;
    return TRUE;
}

static bool_t filter_judged(XDR *x, struct message_judged *m)
{
    return xdr_uint32_t(x, &m->limit) && filter_enum(x, &m->state, MESSAGE_LIMIT_VIOLATED) &&
           filter_double(x, &m->value) && filter_double(x, &m->worst) && xdr_int64_t(x, &m->settling) &&
           xdr_int64_t(x, &m->held) && xdr_int64_t(x, &m->violated) && xdr_int64_t(x, &m->unknown) &&
           xdr_int64_t(x, &m->ago) && xdr_int64_t(x, &m->doubtful) && xdr_int64_t(x, &m->trusted_ago) &&
           filter_double(x, &m->trusted_worst);
}

static bool_t filter_judgement(XDR *x, struct message_judgement *m)
{
    if (!filter_leadership(x, &m->leadership) || !xdr_uint64_t(x, &m->sequence))
        return FALSE;
    for (uint64_t *word = m->missing; word < m->missing + MESSAGE_MISSING_WORDS; word++)
        if (!xdr_uint64_t(x, word))
            return FALSE;
    if (!filter_count(x, &m->count, MESSAGE_LIMITS_MAX))
        return FALSE;
    for (struct message_judged *j = m->list; j < m->list + m->count; j++)
        if (!filter_judged(x, j))
            return FALSE;
    return TRUE;
}

static bool_t filter_clock(XDR *x, struct message_clock *m)
{
    return xdr_uint64_t(x, &m->number) && filter_uuid(x, m->identity) && xdr_uint64_t(x, &m->arrived) &&
           xdr_uint64_t(x, &m->answered) && xdr_int64_t(x, &m->ahead) && xdr_int64_t(x, &m->error);
}

static bool_t filter_envelope(XDR *x, struct message_envelope *m)
{
    return filter_uuid(x, m->source) && filter_uuid(x, m->run) && filter_text(x, m->node, MESSAGE_NAME_MAX) &&
           xdr_uint64_t(x, &m->life);
}

static bool_t filter_body(XDR *x, struct message *m)
{
    if (m->type >= MESSAGE_COMMAND && !filter_envelope(x, &m->envelope))
        return FALSE;
    switch (m->type) {
    case MESSAGE_HELLO:
        return filter_hello(x, &m->hello);
    case MESSAGE_WELCOME:
        return filter_welcome(x, &m->welcome);
    case MESSAGE_REFUSE:
        return filter_text(x, m->refuse.reason, MESSAGE_TEXT_MAX);
    case MESSAGE_PROCESS:
        return filter_process(x, &m->process);
    case MESSAGE_NEED_PROCESS:
        return xdr_uint64_t(x, &m->need_process.instance);
    case MESSAGE_ACK:
        return filter_positions(x, &m->ack.stream_count, m->ack.streams);
    case MESSAGE_BOOKS:
        return filter_books(x, &m->books);
    case MESSAGE_HEARTBEAT:
        return xdr_uint64_t(x, &m->heartbeat.at);
    case MESSAGE_WATERMARK:
        return xdr_uint64_t(x, &m->watermark.low);
    case MESSAGE_NOTE:
        return filter_note(x, &m->note);
    case MESSAGE_CLOCK:
        return filter_clock(x, &m->clock);
    case MESSAGE_COMMAND:
        return filter_command(x, &m->command, &m->configure);
    case MESSAGE_REPLY:
        return filter_reply(x, m);
    case MESSAGE_BYE:
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
    case MESSAGE_LAUNCH:
        return filter_launch(x, &m->launch);
    }
    return filter_check(x, false);
}

/* The complete message; *version becomes that of the bytes. If it is not this build's, only a REFUSE is decoded. */
static bool_t filter_message(XDR *x, struct message *m, uint32_t *version)
{
    uint32_t magic = MESSAGE_MAGIC;
    return xdr_uint32_t(x, &magic) && filter_check(x, magic == MESSAGE_MAGIC) && xdr_uint32_t(x, version) &&
           filter_enum(x, &m->type, MESSAGE_LAUNCH) &&
           filter_check(x, *version == MESSAGE_VERSION || m->type == MESSAGE_REFUSE) && filter_body(x, m);
}

int message_type_of(const void *in, size_t n)
{
    uint32_t head[3];
    if (n < sizeof head)
        return -1;
    memcpy(head, in, sizeof head);
    return ntohl(head[0]) == MESSAGE_MAGIC && ntohl(head[2]) <= MESSAGE_LAUNCH ? (int)ntohl(head[2]) : -1;
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
