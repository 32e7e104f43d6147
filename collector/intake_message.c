// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/limit.h"
#include "base/log.h"
#include "collector/intake_own.h"
#include "collector/retire.h"

#include <errno.h>
#include <string.h>

static const char full[] =
    "this run has had as many processes as its collector may know: raise its limit (`store: {limits: {processes: N}}`)";

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

/* The row is lasting before the process is known, so that no packet is stored that cannot be explained. */
static void add_process(struct intake *in, struct peer *peer, const struct message_process *said, struct dict *dict)
{
    struct model_process *p = NULL;
    if (in->model->totals.processes >= in->limits.processes) {
        intake_refuse(in, &peer->id, full);
        intake_drop(in, peer);
    } else if (stream_id_is_taken(peer->node, said->stream_id))
        refuse_message(in, peer, said->name, "the stream class of another process");
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

static void extend_process(struct intake *in, struct peer *peer, struct model_process *p,
                           const struct message_process *said, struct dict *dict)
{
    int err = 0;
    bool larger = dict_includes(dict, p->dict->hash) && !dict_includes(p->dict, dict->hash);
    if (said->stream_id != p->stream_id)
        refuse_message(in, peer, said->name, "another stream class than before");
    else if (!larger && !dict_includes(p->dict, dict->hash))
        refuse_message(in, peer, said->name, "a dictionary that does not continue the one before");
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
    if (dict_parse(said->dictionary, said->dictionary_bytes, &dict) != 0) {
        refuse_message(in, peer, said->name, "a malformed dictionary");
        return;
    }
    struct model_process *p = model_find_process(peer->node, said->instance);
    if (!p)
        add_process(in, peer, said, dict);
    else if (retire_is(p))
        dict_free(dict);
    else
        extend_process(in, peer, p, said, dict);
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
    if (!p) {
        intake_need(in, &peer->id, books->instance);
        return;
    }
    if (retire_is(p)) { /* its sender has not heard the answer */
        model_activate(p);
        p->books_at = books->at;
        p->books_answer = in->changed = true;
        return;
    }
    p->state = books->state;
    p->unfinished = books->unfinished;
    if (books->unobserved > p->unobserved)
        p->unobserved = books->unobserved;
    p->books_at = books->at;
    p->books_answer = books->state != PROCESS_RUNNING;
    for (uint32_t i = 0; i < books->row_count; i++) {
        const struct message_books_row *row = &books->rows[i];
        if (row->aspect == 0 || row->aspect > p->dict->aspect_count) {
            refuse_message(in, peer, p->name, "books of an aspect that the dictionary lacks");
            continue;
        }
        struct model_count *c = &p->counts[row->aspect];
        c->attempts = row->attempts;
        c->full = row->full;
        c->off = row->off;
        c->no_ring = row->no_ring;
        c->window = row->window;
        c->spool = row->spool;
    }
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
