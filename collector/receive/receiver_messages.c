// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/limit.h"
#include "base/log.h"
#include "collector/intake_own.h"
#include "collector/retire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char full[] =
    "this run has had as many processes as its collector may know: raise its limit (`store: {limits: {processes: N}}`)";
static const char untaken[] = "nothing of further processes is stored: this run has had as many as its collector may "
                              "know; raise its limit (`store: {limits: {processes: N}}`)";

static const char *check_hello(const struct intake *in, const struct message_hello *hello)
{
    char run[MODEL_UUID_TEXT];
    model_uuid_text(hello->run, run);
    const struct model_node *node = model_find_node(in->model, hello->uuid);
    if (in->model->run[0] && strcmp(run, in->model->run) != 0)
        return "this collector serves another run: give bezeld this run's id";
    if (!model_name_ok(hello->node))
        return "the node's name may hold letters, digits, '_', '-', '.', and must not open with '.'";
    if (node && (strcmp(node->name, hello->node) != 0 || memcmp(node->boot, hello->boot, sizeof node->boot) != 0))
        return "another node, or another boot of it, has this trace id: each needs its own";
    if (in->peer_count >= in->limits.connections && !(node && intake_find_node(in, node)))
        return "this collector serves no more connections: raise its limit (`store: {limits: {connections: N}}`)";
    if (!node && in->model->totals.nodes >= in->limits.processes)
        return full;
    return NULL;
}

void intake_facts_failed(struct intake *in, int err, const char *what)
{
    int sys = errno;
    log_error("BEZEL-DATABASE", "run.db: %s cannot be written: %s", what, limit_reason(err));
    if (err == BEZEL_ENOSPC)
        store_fail(in->store, sys, "run.db");
}

static struct model_node *node_for(struct intake *in, const struct message_hello *hello)
{
    struct model_node *node = model_find_node(in->model, hello->uuid);
    if (node || !(node = model_add_node(in->model, hello)))
        return node;
    int err = 0;
    if (!in->model->run[0]) {
        model_uuid_text(hello->run, in->model->run);
        err = facts_put(in->facts, "run", in->model->run);
    }
    if (!err)
        err = facts_add_node(in->facts, node);
    if (err) {
        intake_facts_failed(in, err, node->name);
        model_drop_node(node);
        return NULL;
    }
    return node;
}

/*
 * A greeting that was long under way, of a connection that its node gave up: to hear it would be not to hear the one
 * that the node has now. Its sender is told nothing; where it lives, and its clock went back, the other is silent soon.
 */
static bool is_stale(const struct intake *in, const struct message_hello *hello)
{
    const struct model_node *node = model_find_node(in->model, hello->uuid);
    const struct peer *now = node ? intake_find_node(in, node) : NULL;
    return now && hello->attempt <= now->attempt;
}

static void on_hello(struct intake *in, const struct link_frame *frame, const struct message_hello *hello)
{
    const struct link_peer *id = &frame->peer;
    struct peer *peer = intake_find(in, id);
    struct bucket owed = peer ? peer->node->bucket : (struct bucket){0};
    if (peer)
        intake_drop(in, peer);
    if (is_stale(in, hello)) {
        in->model->totals.refused++;
        in->changed = true;
        return;
    }
    const char *reason = check_hello(in, hello);
    if (reason) {
        intake_refuse(in, id, reason);
        return;
    }
    struct model_node *node = node_for(in, hello);
    if (!node)
        return;
    while ((peer = intake_find_node(in, node)))
        intake_drop(in, peer);
    if (owed.taken > node->bucket.taken) /* who greets by another name comes with what he owes */
        node->bucket = owed;
    in->changed = in->changed || node->left;
    node->dirty = node->dirty || node->left;
    node->left = false;
    peer = intake_add(in, id, node);
    if (!peer)
        return;
    peer->attempt = hello->attempt;
    peer->connection = link_connection(frame);
    intake_welcome(in, peer);
}

static void refuse_message(struct intake *in, const struct peer *peer, const char *what, const char *reason)
{
    in->model->totals.refused++;
    in->changed = true;
    log_warn("BEZEL-MESSAGE-REFUSED", "node %s: %s: %s", peer->node->name, what, reason);
}

static bool stream_id_is_taken(const struct model_node *node, uint32_t stream_id)
{
    for (const struct model_process *p = node->processes; p; p = p->next)
        if (p->stream_id == stream_id)
            return true;
    return false;
}

static void note(struct intake *in, const struct model_node *node, struct message_note *n)
{
    snprintf(n->code, sizeof n->code, "%s", FACTS_PROCESS_REFUSED);
    int err = facts_add_note(in->facts, node, n);
    if (err)
        intake_facts_failed(in, err, "a note");
    in->changed = true;
    log_warn("BEZEL-PROCESS-REFUSED", "node %s: %s (pid %u): %s", node->name, n->name, n->pid, n->text);
}

void intake_refuse_process(struct intake *in, struct model_process *p, const char *reason)
{
    struct message_note n = {.instance = p->instance, .pid = p->pid, .at = p->started};
    message_text(n.name, MESSAGE_NAME_MAX, p->name);
    snprintf(n.text, sizeof n.text, "from here on nothing of it is stored, the collector refuses it: %s", reason);
    p->refused = true;
    note(in, p->node, &n);
}

/* The run is full: all that is not known yet is refused, and told of once. */
static void be_full(struct intake *in, const struct peer *peer, const struct message_process *said)
{
    struct message_note n = {.at = said->started};
    bool was = in->model->full;
    in->model->full = true;
    snprintf(n.text, sizeof n.text, "%s", untaken);
    if (!was)
        note(in, peer->node, &n);
}

/* Refuses a process that is not known, as it says that it is; in the end for good. */
static void leave_out(struct intake *in, struct peer *peer, const struct message_process *said, const char *reason)
{
    struct model_node *node = peer->node;
    struct message_note n = {.instance = said->instance, .pid = said->pid, .at = said->started};
    uint32_t refusals = model_leave_out(node, said->instance);
    refuse_message(in, peer, said->name, reason);
    if (refusals == 0) {
        intake_refuse(in, &peer->id, "more of its processes are refused than the collector can remember");
        intake_drop(in, peer);
        return;
    }
    if (refusals < MODEL_REFUSALS)
        intake_need(in, &peer->id, said->instance); /* it may have been an accident */
    if (refusals != MODEL_REFUSALS)
        return;
    message_text(n.name, MESSAGE_NAME_MAX, said->name);
    snprintf(n.text, sizeof n.text, "nothing of it is stored, the collector refuses it: %s", reason);
    note(in, node, &n);
}

/* The row is lasting before the process is known, so that no packet is stored that cannot be explained. */
static void add_process(struct intake *in, struct peer *peer, const struct message_process *said, struct dict *dict)
{
    struct model_process *p = NULL;
    if (in->model->totals.processes >= in->limits.processes)
        be_full(in, peer, said);
    else if (stream_id_is_taken(peer->node, said->stream_id))
        leave_out(in, peer, said, "it has the stream class of another process");
    else
        p = model_add_process(peer->node, said);
    if (!p) {
        dict_free(dict);
        return;
    }
    model_set_dictionary(p, dict);
    int err = facts_add_process(in->facts, p, said->dictionary, said->dictionary_bytes);
    if (err) {
        intake_facts_failed(in, err, p->name);
        model_drop_process(p);
        return;
    }
    p->dirty = in->changed = true;
}

/* Refuses what a process that is known says of itself; in the end the process. */
static void distrust(struct intake *in, struct peer *peer, struct model_process *p, const char *reason)
{
    refuse_message(in, peer, p->name, reason);
    if (++p->refusals >= MODEL_REFUSALS)
        intake_refuse_process(in, p, reason);
    else
        intake_need(in, &peer->id, p->instance); /* it may have been an accident */
}

static void extend_process(struct intake *in, struct peer *peer, struct model_process *p,
                           const struct message_process *said, struct dict *dict)
{
    int err = 0;
    bool larger = dict_includes(dict, p->dict->hash) && !dict_includes(p->dict, dict->hash), needed = p->needed;
    p->needed = false;
    if (!larger && !dict_includes(p->dict, dict->hash))
        distrust(in, peer, p, "its dictionary does not continue the one before");
    else if (!larger && needed)
        distrust(in, peer, p, "its packets name a dictionary that it does not tell");
    else if (larger && (err = facts_set_dictionary(in->facts, p, said->dictionary, said->dictionary_bytes)) != 0)
        intake_facts_failed(in, err, p->name);
    else if (larger) {
        model_set_dictionary(p, dict);
        p->dirty = in->changed = true;
        return;
    }
    dict_free(dict);
}

static void on_process(struct intake *in, struct peer *peer, const struct message_process *said)
{
    struct dict *dict;
    struct model_process *p = model_find_process(peer->node, said->instance);
    if (p && p->refused)
        return;
    int err = dict_parse(said->dictionary, said->dictionary_bytes, &dict);
    if (err == BEZEL_ENOMEM) /* its packets ask for it again */
        return;
    if (err) {
        if (p)
            distrust(in, peer, p, "its dictionary is malformed");
        else
            leave_out(in, peer, said, "its dictionary is malformed");
        return;
    }
    if (!p)
        add_process(in, peer, said, dict);
    else if (said->stream_id != p->stream_id)
        distrust(in, peer, p, "another process came with its instance");
    else if (!retire_is(p)) {
        extend_process(in, peer, p, said, dict);
        return;
    }
    if (p)
        dict_free(dict);
}

/* The last that is heard of a process that was left out: what it recorded is counted, and its sender may forget it. */
static void close_books(struct intake *in, const struct peer *peer, const struct message_books *books)
{
    struct model_totals *totals = &in->model->totals;
    if (books->state == PROCESS_RUNNING)
        return;
    totals->untaken++;
    for (uint32_t i = 0; i < books->row_count; i++)
        if (books->rows[i].attempts <= INT64_MAX - totals->untaken_records)
            totals->untaken_records += books->rows[i].attempts;
    in->changed = true;
    in->out.type = MESSAGE_BOOKS;
    in->out.books = (struct message_books){.instance = books->instance, .state = books->state, .at = books->at};
    (void)!intake_send(in, &peer->id); /* where it does not go, the books come again */
}

static void add_row(struct model_count *c, const struct message_books_row *row)
{
    c->attempts += row->attempts;
    c->full += row->full;
    c->off += row->off;
    c->no_ring += row->no_ring;
    c->window += row->window;
    c->spool += row->spool;
}

/* The counters are read while their process goes on: only of one that does not, losses are attempts for certain. */
static bool row_is_possible(const struct message_books_row *row, bool final)
{
    const uint64_t lost[] = {row->full, row->off, row->no_ring, row->window, row->spool};
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        if (lost[i] > MODEL_ATTEMPTS_MAX)
            return false;
        sum += lost[i];
    }
    return row->attempts <= MODEL_ATTEMPTS_MAX && (!final || sum <= row->attempts);
}

/* False: some of them cannot be, and stay as they were. */
static bool take_rows(struct intake *in, const struct peer *peer, struct model_process *p,
                      const struct message_books *books)
{
    struct model_count unexplained = p->counts[0];
    bool first = true, possible = true;
    for (uint32_t i = 0; i < books->row_count; i++) {
        const struct message_books_row *row = &books->rows[i];
        bool known = row->aspect <= p->dict->aspect_count;
        if (row->aspect == 0 || !row_is_possible(row, books->state != PROCESS_RUNNING)) {
            refuse_message(in, peer, p->name, "books that cannot be");
            possible = false;
            continue;
        }
        struct model_count *c = known ? &p->counts[row->aspect] : &unexplained;
        if (known || first)
            c->attempts = c->full = c->off = c->no_ring = c->window = c->spool = 0;
        first = first && known;
        add_row(c, row);
    }
    p->counts[0] = unexplained;
    return possible;
}

/* Of a process that has ended, when all that its node has of it is stored: fewer attempts than records are damage. */
static bool counts_too_few(const struct model_process *p, const struct message_books *books)
{
    bool too_few = false;
    for (uint32_t i = 1; i <= p->dict->aspect_count; i++)
        too_few = too_few || p->counts[i].attempts < p->counts[i].stored;
    return too_few && books->state != PROCESS_RUNNING && books->row_count > 0;
}

static void on_node_books(struct intake *in, struct model_node *node, const struct message_books *books)
{
    if (books->unobserved > node->unobserved) {
        node->unobserved = books->unobserved;
        node->dirty = true;
    }
    node->books_at = books->at;
    node->books_answer = in->changed = true;
}

static void on_books(struct intake *in, struct peer *peer, const struct message_books *books)
{
    if (books->instance == 0) {
        on_node_books(in, peer->node, books);
        return;
    }
    struct model_process *p = model_find_process(peer->node, books->instance);
    if (!p && model_is_untaken(peer->node, books->instance))
        close_books(in, peer, books);
    else if (!p)
        intake_need(in, &peer->id, books->instance);
    if (!p)
        return;
    if (retire_is(p)) { /* its sender has not heard the answer */
        model_activate(p);
        p->books_at = books->at;
        p->books_answer = in->changed = true;
        return;
    }
    p->state = books->state;
    p->unfinished = books->unfinished <= MODEL_ATTEMPTS_MAX ? books->unfinished : 0;
    if (books->unobserved > p->unobserved)
        p->unobserved = books->unobserved;
    p->books_at = books->at;
    p->books_answer = books->state != PROCESS_RUNNING;
    bool possible = take_rows(in, peer, p, books) || books->state == PROCESS_RUNNING;
    if (!p->refused && (!possible || counts_too_few(p, books)))
        intake_refuse_process(in, p,
                              "its last counters cannot be: they say that it lost more than it produced, or "
                              "produced less than is stored");
    p->dirty = in->changed = true;
}

static void on_note(struct intake *in, const struct peer *peer, const struct message_note *note)
{
    int err = facts_add_note(in->facts, peer->node, note);
    if (err)
        intake_facts_failed(in, err, "a note");
    in->changed = true;
}

/* What it takes to part, and to come again, is heard of everybody. */
static bool is_lasting(enum message_type type)
{
    return type != MESSAGE_ALIVE && type != MESSAGE_BYE;
}

void intake_take_message(struct intake *in, const struct link_frame *frame, struct peer *peer, bool heard)
{
    int err = message_decode(frame->data, frame->size, &in->in);
    if (err == BEZEL_EVERSION && !peer) {
        intake_refuse(in, &frame->peer,
                      "this collector speaks version 1 of the protocol: install the same Bezel on both sides");
        return;
    }
    if (err) {
        in->model->totals.refused++;
        in->changed = true;
        log_warn("BEZEL-MESSAGE-REFUSED", "%s: %s", peer ? peer->node->name : "unknown sender", err_text(err));
        return;
    }
    if (in->in.type == MESSAGE_HELLO && !link_may(frame, KEY_OBSERVE))
        intake_refuse(in, &frame->peer, "your key has not the role observe at this collector");
    else if (in->in.type == MESSAGE_HELLO)
        on_hello(in, frame, &in->in.hello);
    else if (!peer)
        return;
    else if (!heard && is_lasting(in->in.type))
        refuse_message(in, peer, "a message", "of a node that is too far beyond its rate");
    else if (in->in.type == MESSAGE_PROCESS)
        on_process(in, peer, &in->in.process);
    else if (in->in.type == MESSAGE_BOOKS)
        on_books(in, peer, &in->in.books);
    else if (in->in.type == MESSAGE_NOTE)
        on_note(in, peer, &in->in.note);
    else if (in->in.type == MESSAGE_BYE)
        peer->bye = peer->node->left = peer->node->dirty = in->changed = true;
    else if (in->in.type != MESSAGE_ALIVE)
        refuse_message(in, peer, "a message", "not one that a collector takes");
}
