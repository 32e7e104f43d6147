// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/message.h"

#include "mdr/dict.h"
#include "mdr/message_fields.h"

#include <arpa/inet.h>
#include <rpc/types.h>
#include <rpc/xdr.h>
#include <string.h>

/*
 * The one user of libtirpc, which codes the units of four bytes that mdr/message_fields.c walks over. Its own filters
 * for bool, enum, bytes, string and array are not used: they let through non-zero padding, NUL in strings, any number
 * as a bool or enum, or allocate.
 */

_Static_assert((int)MESSAGE_NAME_MAX == (int)DICT_NAME_MAX && (int)MESSAGE_TEXT_MAX == (int)DICT_TEXT_MAX &&
                   (int)MESSAGE_DICT_MAX == (int)DICT_MAX_BYTES && (int)MESSAGE_BOOKS_MAX == (int)DICT_ASPECTS_MAX,
               "one bound, two names");

/* ---- Data -------------------------------------------------------------------------------------------------------- */

TABLE(position, FIELDS(message_position, instance, ring, next_seq, next_ordinal, discarded));
TABLE(hello, FIELDS(message_hello, run, clock, uuid, node, realtime_offset, pid, attempt));

TABLE(welcome, FIELDS(message_welcome, credit_bytes, more, clock, clock_port),
      ROWS(message_welcome, stream_count, streams, position));

TABLE(refuse, FIELDS(message_refuse, reason));

TABLE(process, FIELDS(message_process, instance, stream_id, pid), ENUM(message_process, role, ROLE_DAEMON),
      FIELDS(message_process, overwrites, name, program, started), BLOB(message_process, dictionary_bytes, dictionary));

TABLE(need_process, FIELDS(message_need_process, instance));
TABLE(ack, ROWS(message_ack, stream_count, streams, position));
TABLE(books_row, FIELDS(message_books_row, aspect, attempts, full, off, no_ring, window, spool));

TABLE(books, FIELDS(message_books, instance), ENUM(message_books, state, PROCESS_LEFT),
      FIELDS(message_books, at, unfinished, unobserved), ROWS(message_books, row_count, rows, books_row));

TABLE(heartbeat, FIELDS(message_heartbeat, at));
TABLE(watermark, FIELDS(message_watermark, low));
TABLE(direct, FIELDS(message_direct, attempt, proof, agreed, text));
TABLE(note, FIELDS(message_note, instance, pid, name, at, code, text));
TABLE(clock, FIELDS(message_clock, number, identity, arrived, answered, ahead, error));

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

TABLE(envelope, FIELDS(message_envelope, source, run, node, life));
TABLE(leadership, FIELDS(message_leadership, epoch, holder));

/* A setting that is not given must be 0, so that each command has one encoding. */
static bool check_poll(struct fields_coder *c, void *p)
{
    const struct message_poll *m = p;
    return fields_check(c, m->given != 0 && (m->given & POLL_GIVES_PERIOD || m->period_ns == 0) &&
                               (m->given & POLL_GIVES_MODE || m->mode == 0) &&
                               (m->given & POLL_GIVES_FORWARD || m->forward == 0) &&
                               (m->given & POLL_GIVES_BATCH || m->batch == 0));
}

TABLE(poll, ENUM(message_poll, given, POLL_GIVES_ALL), FIELDS(message_poll, period_ns),
      ENUM(message_poll, mode, POLL_MODE_BUSY_WAIT), ENUM(message_poll, forward, POLL_FORWARD_COLLECT),
      FIELDS(message_poll, batch), CALL(check_poll));

static bool check_knob(struct fields_coder *c, void *p)
{
    const struct message_knob *m = p;
    return fields_check(c, m->name[0] != '\0' && (m->action == KNOB_SET || m->value == 0));
}

TABLE(knob, ENUM(message_knob, action, KNOB_RESET), FIELDS(message_knob, process, name, value), CALL(check_knob));

static bool check_save(struct fields_coder *c, void *p)
{
    const struct message_save *m = p;
    return fields_check(c, m->number != 0 && m->node[0] != '\0');
}

TABLE(save, FIELDS(message_save, number, trigger, node, at, left, value), CALL(check_save));
TABLE(configure, FIELDS(message_configure, folder, collector, experiment));

static bool check_start(struct fields_coder *c, void *p)
{
    const struct message_start *m = p;
    return fields_check(c, (m->process[0] != '\0') == (m->incarnation != 0));
}

static bool check_program(struct fields_coder *c, void *p)
{
    return check_start(c, p) && fields_check(c, ((const struct message_start *)p)->incarnation != 0);
}

TABLE(start, FIELDS(message_start, process, incarnation), CALL(check_start));
TABLE(program, FIELDS(message_start, process, incarnation), CALL(check_program));
TABLE(query_from, FIELDS(message_command, from));
TABLE(query_since, FIELDS(message_command, since));
TABLE(query_output, STRUCT(message_command, start, program), FIELDS(message_command, offset));
TABLE(query_records, FIELDS(message_command, process, aspect));
TABLE(query_segments, FIELDS(message_command, folder, after));

CASES(queries, NOTHING(SUBJECT_STATE), NOTHING(SUBJECT_POLL), HERE(SUBJECT_KNOBS, query_from),
      NOTHING(SUBJECT_SESSIONS), HERE(SUBJECT_PROCESSES, query_since), HERE(SUBJECT_OUTPUT, query_output),
      HERE(SUBJECT_RECORDS, query_records), HERE(SUBJECT_SEGMENTS, query_segments));

TABLE(set_aspects, ENUM(message_command, mode, ASPECT_OFF), FIELDS(message_command, patterns));

CASES(settings, CASE(SUBJECT_POLL, message_command, poll, poll), CASE(SUBJECT_KNOBS, message_command, knob, knob),
      HERE(SUBJECT_ASPECTS, set_aspects));

TABLE(query, CHOICE(message_command, subject, queries));
TABLE(set, CHOICE(message_command, subject, settings));
TABLE(ending, ENUM(message_command, ending, END_KILL));

CASES(verbs, CASE(VERB_CONFIGURE, message, configure, configure), CASE(VERB_START, message, command.start, start),
      NOTHING(VERB_PAUSE), NOTHING(VERB_RESUME), NOTHING(VERB_STOP), CASE(VERB_QUERY, message, command, query),
      CASE(VERB_SET, message, command, set), NOTHING(VERB_SHUTDOWN), NOTHING(VERB_SNAPSHOT),
      CASE(VERB_SAVE, message, command.save, save), CASE(VERB_ENDING, message, command, ending), NOTHING(VERB_DISCARD));

/* Of the whole message, because a session's request is beside the command. */
TABLE(command, FIELDS(message, command.id, command.deadline), STRUCT(message, command.owner, leadership),
      CHOICE(message, command.verb, verbs));

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

static bool check_firing(struct fields_coder *c, void *p)
{
    const struct message_firing *m = p;
    return fields_check(c, m->age >= 0 && m->count != 0);
}

TABLE(firing, FIELDS(message_firing, trigger, count, at, age, value, process), CALL(check_firing));

TABLE(node_status,
      FIELDS(message_node_status, records, lost_full, lost_off, lost_no_ring, lost_window, lost_spool, lost_reducer),
      FIELDS(message_node_status, window_bytes, spool_bytes, processes, processes_seen, period_ns, stop_wanted),
      FIELDS(message_node_status, manager.held, manager.epoch, manager.applied),
      ROWS(message_node_status, firing_count, firings, firing), ENUM(message_node_status, way, MESSAGE_WAY_DIRECT));

TABLE(collector_status,
      FIELDS(message_collector_status, records, bytes, packets, discarded, refused, over_rate, unidentified, peers),
      FIELDS(message_collector_status, streams, processes, nodes, store_errno, port),
      FIELDS(message_collector_status, expired, expired_records, expired_bytes, own_records));

TABLE(manager_status, FIELDS(message_manager_status, epoch, observations, decisions, setpoints, reached));

TABLE(polling, FIELDS(message_polling, on, period_ns), ENUM(message_polling, mode, POLL_MODE_BUSY_WAIT),
      ENUM(message_polling, forward, POLL_FORWARD_COLLECT), FIELDS(message_polling, batch, effective_ns, worst_ns));

TABLE(knob_state, FIELDS(message_knob_state, instance, pid, process, name, unit, value, min, max),
      FIELDS(message_knob_state, initial));

TABLE(knob_list, FIELDS(message_knob_list, next), ROWS(message_knob_list, count, knobs, knob_state));

TABLE(session, FIELDS(message_session, run, experiment, node), ENUM(message_session, state, DAEMON_PAUSED),
      FIELDS(message_session, processes, host, key));

TABLE(session_list, ROWS(message_session_list, count, sessions, session));

TABLE(launched, STRUCT(message_launched, of, program), ENUM(message_launched, state, LAUNCHED_LOST),
      FIELDS(message_launched, ready, pid, status, error, stage, started, ended),
      FIELDS(message_launched, user_ns, system_ns, memory, output, dropped));

TABLE(launched_list, FIELDS(message_launched_list, change, more, empty, left),
      ROWS(message_launched_list, count, rows, launched));

TABLE(output, FIELDS(message_output, offset, last), BLOB(message_output, count, bytes));
TABLE(segment, FIELDS(message_segment, instance, run, pid, age_ns, records, name));
TABLE(segment_list, FIELDS(message_segment_list, folder, next), ROWS(message_segment_list, count, rows, segment));

TABLE(begun, FIELDS(message_reply, begun));
TABLE(sessions, FIELDS(message_reply, sessions));
TABLE(saved, FIELDS(message_saved, records, processes, behind));
TABLE(matched, FIELDS(message_matched, aspects, processes));
TABLE(knob_set, FIELDS(message_reply, knob_set));
TABLE(records, FIELDS(message_reply, records));

CASES(answers, NOTHING(ANSWER_REFUSED), NOTHING(ANSWER_STALE), NOTHING(ANSWER_ABSENT), NOTHING(ANSWER_WAITING),
      CASE(ANSWER_SESSION, message, reply, begun), CASE(ANSWER_BEZELD, message, reply, sessions),
      CASE(ANSWER_NODE, message, reply.node, node_status),
      CASE(ANSWER_COLLECTOR, message, reply.collector, collector_status),
      CASE(ANSWER_MANAGER, message, reply.manager, manager_status), CASE(ANSWER_SAVED, message, reply.saved, saved),
      CASE(ANSWER_ASPECTS, message, reply.matched, matched), CASE(ANSWER_POLL, message, reply.polling, polling),
      CASE(ANSWER_KNOBS, message, knobs, knob_list), CASE(ANSWER_KNOB_SET, message, reply, knob_set),
      CASE(ANSWER_SESSIONS, message, sessions, session_list), CASE(ANSWER_PROCESSES, message, launched, launched_list),
      CASE(ANSWER_OUTPUT, message, output, output), CASE(ANSWER_RECORDS, message, reply, records),
      NOTHING(ANSWER_TAKEN), CASE(ANSWER_SEGMENTS, message, segments, segment_list));

/* Of the whole message, because the lists are beside the reply. */
TABLE(reply, FIELDS(message, reply.id, reply.at), ENUM(message, reply.state, DAEMON_PAUSED),
      FIELDS(message, reply.text), CHOICE(message, reply.answer, answers));

/* ---- Nodes and managers ------------------------------------------------------------------------------------------ */

TABLE(steered, FIELDS(message_steered, knob, value, min, max, baseline, overrides));
TABLE(decided, FIELDS(message_steer, knob, given, value, cause, metric, saturated));

TABLE(observed, FIELDS(message_observed, limit), ENUM(message_observed, state, MESSAGE_LIMIT_VIOLATED),
      FIELDS(message_observed, value));

TABLE(observation, FIELDS(message_observation, life, at, step), STRUCT(message_observation, leadership, leadership),
      FIELDS(message_observation, sequence, on, period_ns, desired_ns, overrides, levels, shed, settled),
      FIELDS(message_observation, cpu, polls, records, elapsed),
      ROWS(message_observation, limit_count, limits, observed), ROWS(message_observation, knob_count, knobs, steered));

static bool check_setpoint(struct fields_coder *c, void *p)
{
    static const uint8_t none[2 * sizeof(double)];
    const struct message_setpoint *m = p;
    double proof[] = {m->needed, m->budget};
    return fields_check(c, m->infeasible != MESSAGE_FEASIBLE || memcmp(proof, none, sizeof none) == 0);
}

TABLE(setpoint, STRUCT(message_setpoint, leadership, leadership),
      FIELDS(message_setpoint, sequence, life, answers, expiry, lasts, on, period_ns, cause),
      ENUM(message_setpoint, infeasible, MESSAGE_INFEASIBLE_GLOBAL),
      FIELDS(message_setpoint, needed, budget, not_the_monitors, starved, shed),
      ROWS(message_setpoint, knob_count, knobs, decided), CALL(check_setpoint));

/* Of what is not known there is what it is at least, and since when it is silent; of what has ended, no histogram. */
static bool check_partial(struct fields_coder *c, void *p)
{
    const struct message_partial *m = p;
    bool none = m->state == PARTIAL_NONE || m->state == PARTIAL_WENT_ON,
         alone = none || (m->over == 0 && m->unsure == 0);
    return fields_check(c, m->state == PARTIAL_KNOWN || (alone && m->buckets == 0));
}

TABLE(partial, FIELDS(message_partial, limit), ENUM(message_partial, state, PARTIAL_WENT_ON),
      FIELDS(message_partial, value, over, unsure, silent, buckets), CALL(check_partial));

static bool check_histograms(struct fields_coder *c, void *p)
{
    const struct message_partials *m = p;
    uint64_t buckets = 0;
    for (uint32_t i = 0; i < m->count; i++)
        buckets += m->list[i].buckets;
    return fields_check(c, buckets * MESSAGE_BUCKET_BYTES == m->histogram_bytes);
}

TABLE(partials, FIELDS(message_partials, life, at, step), ROWS(message_partials, count, list, partial),
      BLOB(message_partials, histogram_bytes, histograms), CALL(check_histograms));

TABLE(judged, FIELDS(message_judged, limit), ENUM(message_judged, state, MESSAGE_LIMIT_OPEN),
      FIELDS(message_judged, value, worst, settling, held, violated, unknown, ago, doubtful),
      FIELDS(message_judged, trusted_ago, trusted_worst));

TABLE(judgement, STRUCT(message_judgement, leadership, leadership), FIELDS(message_judgement, sequence, missing),
      ROWS(message_judgement, count, list, judged));

static bool check_value(struct fields_coder *c, void *p)
{
    static const uint8_t none[3 * sizeof(double)];
    const struct message_value *m = p;
    double numbers[] = {m->value, m->low, m->high};
    bool empty = memcmp(numbers, none, sizeof none) == 0 && m->age == 0 && m->collected == 0;
    return fields_check(c, m->state == PARTIAL_KNOWN || empty);
}

TABLE(value, FIELDS(message_value, limit), ENUM(message_value, state, PARTIAL_KNOWN),
      ENUM(message_value, lack, LACK_LOST), FIELDS(message_value, value, low, high, age, collected), CALL(check_value));

TABLE(values, FIELDS(message_values, life, at), ROWS(message_values, count, list, value));

TABLE(lacking, FIELDS(message_lacking, limit), ENUM(message_lacking, lack, LACK_LOST));

TABLE(loop, STRUCT(message_loop, leadership, leadership),
      FIELDS(message_loop, sequence, limit, collected, decided, sent, held),
      ROWS(message_loop, count, lacking, lacking));

/* Whether `texts` are as many texts as there are to be, each ended. */
static bool check_texts(struct fields_coder *c, void *p)
{
    const struct message_launch *m = p;
    uint64_t wanted = MESSAGE_LAUNCH_TEXTS + (uint64_t)m->arguments + m->variables;
    uint32_t ends = 0;
    for (uint32_t i = 0; i < m->text_bytes; i++)
        ends += m->texts[i] == '\0';
    return fields_check(c, m->arguments > 0 && ends == wanted && m->texts[m->text_bytes - 1] == '\0');
}

TABLE(launch, FIELDS(message_launch, id), STRUCT(message_launch, of, program),
      FIELDS(message_launch, grace_ns, silence_ns, timeout_ns), ENUM(message_launch, output, LAUNCH_OUTPUT_STDERR),
      FIELDS(message_launch, foreground, port, limits, arguments, variables), BLOB(message_launch, text_bytes, texts),
      CALL(check_texts));

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

CASES(types, CASE(MESSAGE_HELLO, message, hello, hello), CASE(MESSAGE_WELCOME, message, welcome, welcome),
      CASE(MESSAGE_REFUSE, message, refuse, refuse), CASE(MESSAGE_PROCESS, message, process, process),
      CASE(MESSAGE_NEED_PROCESS, message, need_process, need_process), CASE(MESSAGE_ACK, message, ack, ack),
      CASE(MESSAGE_BOOKS, message, books, books), CASE(MESSAGE_HEARTBEAT, message, heartbeat, heartbeat),
      NOTHING(MESSAGE_BYE), CASE(MESSAGE_NOTE, message, note, note), CASE(MESSAGE_CLOCK, message, clock, clock),
      CASE(MESSAGE_WATERMARK, message, watermark, watermark), CASE(MESSAGE_DIRECT, message, direct, direct),
      HERE(MESSAGE_COMMAND, command), HERE(MESSAGE_REPLY, reply), NOTHING(MESSAGE_WATCH),
      CASE(MESSAGE_OBSERVATION, message, observation, observation), CASE(MESSAGE_SETPOINT, message, setpoint, setpoint),
      CASE(MESSAGE_PARTIALS, message, partials, partials), CASE(MESSAGE_JUDGEMENT, message, judgement, judgement),
      CASE(MESSAGE_LAUNCH, message, launch, launch), CASE(MESSAGE_VALUES, message, values, values),
      CASE(MESSAGE_LOOP, message, loop, loop));

static bool code_body(struct fields_coder *c, void *p)
{
    struct message *m = p;
    return (m->type < MESSAGE_COMMAND || fields_walk(c, envelope, &m->envelope)) && fields_choose(c, types, m->type, m);
}

struct xdr_coder {
    struct fields_coder c;
    XDR x;
};

static bool code_word(struct fields_coder *c, uint32_t *word)
{
    return xdr_uint32_t(&((struct xdr_coder *)c)->x, word);
}

static bool code_units(struct fields_coder *c, void *bytes, uint32_t n)
{
    return xdr_opaque(&((struct xdr_coder *)c)->x, bytes, n);
}

int message_type_of(const void *in, size_t n)
{
    uint32_t head[3];
    if (n < sizeof head)
        return -1;
    memcpy(head, in, sizeof head);
    return ntohl(head[0]) == FIELDS_MAGIC && ntohl(head[2]) <= MESSAGE_LOOP ? (int)ntohl(head[2]) : -1;
}

static int code(struct message *m, void *bytes, size_t n, bool decode)
{
    struct xdr_coder coder = {.c = {.decode = decode, .word = code_word, .units = code_units}};
    xdrmem_create(&coder.x, bytes, (u_int)n, decode ? XDR_DECODE : XDR_ENCODE);
    return fields_message(&coder.c, code_body, m, m->refuse.reason, n);
}

int message_encode(const struct message *m, uint8_t *out, size_t capacity)
{
    /* while encoding, the message is only read */
    return code((struct message *)m, out, capacity < MESSAGE_MAX_BYTES ? capacity : MESSAGE_MAX_BYTES, false);
}

int message_decode(const void *in, size_t n, struct message *m)
{
    return n > MESSAGE_MAX_BYTES ? BEZEL_EMALFORMED : code(m, (void *)in, n, true); /* which is only read */
}
