// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/hash.h"
#include "base/log.h"
#include "base/saturate.h"
#include "base/ulimit.h"
#include "collector/receive/receiver_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char beyond[] =
    "further processes of this node are not stored: it has had its share of the processes that this run may have, and "
    "the rest is kept for the other nodes; raise the limit (`store: {limits: {processes: N}}`)";
static const char untaken[] = "further processes are not stored: this run has had as many as its limit allows; raise "
                              "the limit (`store: {limits: {processes: N}}`)";

static const char *check_hello(const struct receiver *in, const struct message_hello *hello)
{
    char run[MODEL_UUID_TEXT];
    model_uuid_text(hello->run, run);
    const struct model_node *node = model_find_node(in->model, hello->uuid);
    if (in->model->run[0] && strcmp(run, in->model->run) != 0)
        return "this collector serves another run: give bezeld this run's id";
    if (!model_name_ok(hello->node))
        return "the node's name may have letters, digits, '_', '-' and '.', and must not begin with '.'";
    if (node && (strcmp(node->name, hello->node) != 0 || memcmp(node->clock, hello->clock, sizeof node->clock) != 0))
        return "another node, or this node with another clock, uses this trace id: each needs its own";
    return NULL;
}

void receiver_rundb_failed(struct receiver *in, int err, const char *what)
{
    int sys = errno;
    log_error("BEZEL-DATABASE", "run.db: %s cannot be written: %s", what, ulimit_reason(err));
    if (err == BEZEL_ENOSPC)
        store_fail(in->store, sys, "run.db");
}

static struct model_node *node_for(struct receiver *in, const struct message_hello *hello)
{
    struct model_node *node = model_find_node(in->model, hello->uuid);
    if (node || !(node = model_add_node(in->model, hello)))
        return node;
    int err = 0;
    if (!in->model->run[0]) {
        model_uuid_text(hello->run, in->model->run);
        err = rundb_put(in->rundb, "run", in->model->run);
    }
    if (!err)
        err = rundb_add_node(in->rundb, node);
    if (err) {
        receiver_rundb_failed(in, err, node->name);
        model_drop_node(node);
        return NULL;
    }
    return node;
}

static void put_watermark(struct receiver *in, struct model_node *node, int64_t low)
{
    struct watermark mark = {.low = low, .at = clock_now()};
    memcpy(mark.uuid, node->uuid, sizeof mark.uuid);
    if (!node->watermark)
        node->watermark = watermarks_add(in->watermarks) + 1;
    watermarks_put(in->watermarks, node->watermark - 1, &mark);
}

/*
 * Whether a HELLO is late, from a connection that its node has given up: accepting it would drop the connection that
 * the node uses now. It gets no answer. If the sender does live, and its clock went back, the other connection falls
 * silent soon, and the next HELLO is accepted.
 */
static bool is_stale(const struct receiver *in, const struct message_hello *hello)
{
    const struct model_node *node = model_find_node(in->model, hello->uuid);
    const struct peer *now = node ? receiver_find_node(in, node) : NULL;
    return now && hello->attempt <= now->attempt;
}

void receiver_note_node(struct receiver *in, const struct model_node *node, const char *code, const char *text)
{
    int64_t at = saturate_add(clock_now() + clock_realtime_offset(), -saturate_ns(node->realtime_offset));
    struct message_note n = {.at = at > 0 ? (uint64_t)at : 0};
    snprintf(n.code, sizeof n.code, "%s", code);
    message_text(n.text, MESSAGE_TEXT_MAX, text);
    log_warn(code, "node %s: %s", node->name, n.text);
    int err = rundb_add_note(in->rundb, node, &n);
    if (err)
        receiver_rundb_failed(in, err, "a note");
    in->changed = true;
}

/* Two of one name are allowed, and stored apart: one may be the other's former self, which is still connected. */
static void tell_namesakes(struct receiver *in, const struct model_node *node)
{
    char text[MESSAGE_TEXT_MAX + 1];
    for (unsigned i = 0; i < in->peer_count; i++) {
        const struct model_node *other = in->peers[i].node;
        if (other == node || in->peers[i].bye || strcmp(other->name, node->name) != 0)
            continue;
        snprintf(text, sizeof text,
                 "another source of this name is connected too, and stored apart (%.64s, %.64s): give each node a name "
                 "of its own",
                 other->dir, node->dir);
        receiver_note_node(in, node, "BEZEL-NODE-TWICE", text);
        return;
    }
}

/* Makes the sender of a HELLO that is admitted the peer of its node. */
static void take_peer(struct receiver *in, const struct link_frame *frame, const struct message_hello *hello,
                      struct share *share, struct token_bucket owed)
{
    bool is_new = !model_find_node(in->model, hello->uuid);
    struct model_node *node = node_for(in, hello);
    if (!node)
        return;
    share->traces += is_new;
    if (is_new)
        tell_namesakes(in, node);
    struct peer *peer = receiver_find_node(in, node);
    if (peer)
        receiver_drop(in, peer);
    if (owed.taken > node->bucket.taken) /* another name does not reset the rate */
        node->bucket = owed;
    in->changed = in->changed || node->left;
    node->dirty = node->dirty || node->left;
    node->left = false;
    peer = receiver_add(in, &frame->peer, node, share);
    if (!peer)
        return;
    peer->attempt = hello->attempt;
    peer->connection = link_connection(frame);
    if (node->watermark) /* it may have left */
        put_watermark(in, node, node->low);
    receiver_welcome(in, peer);
}

static void on_hello(struct receiver *in, const struct link_frame *frame, const struct message_hello *hello)
{
    const struct link_peer *id = &frame->peer;
    const char *reason = check_hello(in, hello);
    struct share *share = reason ? NULL : shares_of(in->shares, hello->node);
    if (!reason && (!share || !receiver_hello_in_share(in, share))) /* without an answer it comes again, later */
        return;
    struct peer *peer = receiver_find(in, id);
    struct token_bucket owed = peer ? peer->node->bucket : (struct token_bucket){0};
    if (peer)
        receiver_drop(in, peer);
    if (is_stale(in, hello)) {
        in->model->totals.refused++;
        in->changed = true;
        return;
    }
    if (!reason)
        reason = receiver_check_share(in, model_find_node(in->model, hello->uuid), share);
    if (reason)
        receiver_refuse(in, id, reason);
    else
        take_peer(in, frame, hello, share, owed);
}

static void refuse_name(struct receiver *in, const struct link_frame *frame)
{
    char text[3 * KEY_NAME_MAX + 128];
    snprintf(text, sizeof text,
             "key %s does not speak for node %s: add the node to 'nodes:' in %s.pub, in the collector's folder of keys",
             frame->key, in->in.hello.node, frame->key);
    receiver_refuse(in, &frame->peer, text);
}

static void refuse_message(struct receiver *in, const struct peer *peer, const char *what, const char *reason)
{
    in->model->totals.refused++;
    in->changed = true;
    log_warn("BEZEL-MESSAGE-REFUSED", "node %s: %s: %s", peer->node->name, what, reason);
}

/* bezeld counts them up, so a new one is most often the highest. */
static bool stream_id_is_taken(const struct model_node *node, uint32_t stream_id)
{
    for (const struct model_process *p = stream_id <= node->highest_stream_id ? node->processes : NULL; p; p = p->next)
        if (p->stream_id == stream_id)
            return true;
    return false;
}

static void note(struct receiver *in, const struct model_node *node, struct message_note *n)
{
    snprintf(n->code, sizeof n->code, "%s", RUNDB_PROCESS_REFUSED);
    int err = rundb_add_note(in->rundb, node, n);
    if (err)
        receiver_rundb_failed(in, err, "a note");
    in->changed = true;
    log_warn("BEZEL-PROCESS-REFUSED", "node %s: %s (pid %u): %s", node->name, n->name, n->pid, n->text);
}

void receiver_refuse_process(struct receiver *in, struct model_process *p, const char *reason)
{
    struct message_note n = {.instance = p->instance, .pid = p->pid, .at = p->started};
    message_text(n.name, MESSAGE_NAME_MAX, p->name);
    snprintf(n.text, sizeof n.text, "the collector refuses it, and stores nothing of it from here on: %s", reason);
    p->refused = true;
    note(in, p->node, &n);
}

/* Node or run are full: unknown processes of it are refused from now on. Notes why, once. */
static void refuse_further(struct receiver *in, const struct peer *peer, bool *full, const char *why, uint64_t at)
{
    struct message_note n = {.at = at};
    snprintf(n.text, sizeof n.text, "%s", why);
    if (!*full)
        note(in, peer->node, &n);
    *full = true;
}

/* Refuses a PROCESS message of an unknown process; at the MODEL_REFUSALS-th time for good. */
static void leave_out(struct receiver *in, struct peer *peer, const struct message_process *said, const char *reason)
{
    struct model_node *node = peer->node;
    struct message_note n = {.instance = said->instance, .pid = said->pid, .at = said->started};
    uint32_t refusals = model_leave_out(node, said->instance);
    refuse_message(in, peer, said->name, reason);
    if (refusals == 0) {
        receiver_refuse(in, &peer->id,
                        "the collector refused so many processes of this node that it has no room to note another");
        receiver_drop(in, peer);
        return;
    }
    if (refusals < MODEL_REFUSALS)
        receiver_need(in, &peer->id, said->instance); /* it may have been damaged on its way */
    if (refusals != MODEL_REFUSALS)
        return;
    message_text(n.name, MESSAGE_NAME_MAX, said->name);
    snprintf(n.text, sizeof n.text, "the collector refuses it, and stores nothing of it: %s", reason);
    note(in, node, &n);
}

/* Commits the process's row before any packet of it is accepted, so that every stored packet can be explained. */
static void add_process(struct receiver *in, struct peer *peer, const struct message_process *said, struct dict *dict)
{
    struct model_process *p = NULL;
    if (in->model->totals.processes >= in->limits.processes)
        refuse_further(in, peer, &in->model->full, untaken, said->started);
    else if (!shares_may(in->shares, peer->share, SHARE_PROCESSES))
        refuse_further(in, peer, &peer->node->full, beyond, said->started);
    else if (stream_id_is_taken(peer->node, said->stream_id))
        leave_out(in, peer, said, "another process has its stream class");
    else
        p = model_add_process(peer->node, said);
    if (!p) {
        dict_free(dict);
        return;
    }
    model_set_dictionary(p, dict);
    int err = rundb_add_process(in->rundb, p, said->dictionary, said->dictionary_bytes);
    if (err) {
        receiver_rundb_failed(in, err, p->name);
        model_drop_process(p);
        return;
    }
    shares_take(in->shares, peer->share, SHARE_PROCESSES);
    p->dirty = in->changed = true;
}

/* Refuses a PROCESS message of a known process; at the MODEL_REFUSALS-th time the process. */
static void refuse_update(struct receiver *in, struct peer *peer, struct model_process *p, const char *reason)
{
    refuse_message(in, peer, p->name, reason);
    if (++p->refusals >= MODEL_REFUSALS)
        receiver_refuse_process(in, p, reason);
    else
        receiver_need(in, &peer->id, p->instance); /* it may have been damaged on its way */
}

static void extend_process(struct receiver *in, struct peer *peer, struct model_process *p,
                           const struct message_process *said, struct dict *dict)
{
    int err = 0;
    bool larger = dict_includes(dict, p->dict->hash) && !dict_includes(p->dict, dict->hash), needed = p->needed;
    p->needed = false;
    if (!larger && !dict_includes(p->dict, dict->hash))
        refuse_update(in, peer, p, "its new dictionary does not contain the one before");
    else if (!larger && needed)
        refuse_update(in, peer, p, "its packets use a dictionary that it does not send");
    else if (larger && (err = rundb_set_dictionary(in->rundb, p, said->dictionary, said->dictionary_bytes)) != 0)
        receiver_rundb_failed(in, err, p->name);
    else if (larger) {
        model_set_dictionary(p, dict);
        p->dirty = in->changed = true;
        return;
    }
    dict_free(dict);
}

static void on_process(struct receiver *in, struct peer *peer, const struct message_process *said)
{
    struct dict *dict;
    struct model_process *p = model_find_process(peer->node, said->instance);
    if (p && p->refused)
        return;
    if (p && !p->needed && !model_is_evicted(p) && said->stream_id == p->stream_id &&
        hash_fnv64(HASH_FNV64_START, said->dictionary, said->dictionary_bytes) == p->dict->hash)
        return; /* it is known, as on a new connection */
    int err = dict_parse(said->dictionary, said->dictionary_bytes, &dict);
    if (err == BEZEL_ENOMEM) /* its next packet has it sent again */
        return;
    if (err) {
        if (p)
            refuse_update(in, peer, p, "its dictionary is malformed");
        else
            leave_out(in, peer, said, "its dictionary is malformed");
        return;
    }
    if (!p)
        add_process(in, peer, said, dict);
    else if (said->stream_id != p->stream_id)
        refuse_update(in, peer, p, "another process uses its instance number");
    else if (!model_is_evicted(p)) {
        extend_process(in, peer, p, said, dict);
        return;
    }
    if (p)
        dict_free(dict);
}

/* Counts what a process that was left out has recorded, by its final books, and answers them. */
static void close_books(struct receiver *in, const struct peer *peer, const struct message_books *books)
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
    (void)!receiver_send(in, &peer->id); /* without the answer the node repeats its books */
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

/* The counters of a running process are read one after the other, so losses may exceed attempts; in final ones they
 * cannot. */
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

/* Takes the rows of BOOKS. Returns false where some are impossible; their counts stay as they were. */
static bool take_rows(struct receiver *in, const struct peer *peer, struct model_process *p,
                      const struct message_books *books)
{
    struct model_count unexplained = p->counts[0];
    bool first = true, possible = true;
    for (uint32_t i = 0; i < books->row_count; i++) {
        const struct message_books_row *row = &books->rows[i];
        bool known = row->aspect <= p->dict->aspect_count;
        if (row->aspect == 0 || !row_is_possible(row, books->state != PROCESS_RUNNING)) {
            refuse_message(in, peer, p->name, "books with impossible counts");
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

/* Whether final books, which come after all packets, count fewer attempts than records are stored: damage. */
static bool counts_too_few(const struct model_process *p, const struct message_books *books)
{
    bool too_few = false;
    for (uint32_t i = 1; i <= p->dict->aspect_count; i++)
        too_few = too_few || p->counts[i].attempts < p->counts[i].stored;
    return too_few && books->state != PROCESS_RUNNING && books->row_count > 0;
}

static void on_node_books(struct receiver *in, struct model_node *node, const struct message_books *books)
{
    if (books->unobserved > node->unobserved) {
        node->unobserved = books->unobserved;
        node->dirty = true;
    }
    node->books_at = books->at;
    node->books_answer = in->changed = true;
}

static void on_books(struct receiver *in, struct peer *peer, const struct message_books *books)
{
    if (books->instance == 0) {
        on_node_books(in, peer->node, books);
        return;
    }
    struct model_process *p = model_find_process(peer->node, books->instance);
    if (!p && model_is_untaken(peer->node, books->instance))
        close_books(in, peer, books);
    else if (!p)
        receiver_need(in, &peer->id, books->instance);
    if (!p)
        return;
    if (model_is_evicted(p)) { /* the answer to its final books was lost */
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
        receiver_refuse_process(in, p,
                                "its last counters are impossible: more records lost than produced, or more stored "
                                "than produced");
    p->dirty = in->changed = true;
}

static void on_note(struct receiver *in, const struct peer *peer, const struct message_note *note)
{
    int err = rundb_add_note(in->rundb, peer->node, note);
    if (err)
        receiver_rundb_failed(in, err, "a note");
    in->changed = true;
}

/* After a gap it holds again once the node has said HELLO, and what was missing has come. BYE is the last word. */
void receiver_take_low(struct receiver *in, const struct peer *peer, uint64_t low)
{
    if (low > INT64_MAX - 1 || peer->gap || peer->bye)
        return;
    if ((int64_t)low > peer->node->low)
        peer->node->low = (int64_t)low;
    put_watermark(in, peer->node, peer->node->low);
}

static void on_bye(struct receiver *in, struct peer *peer)
{
    peer->bye = peer->node->left = peer->node->dirty = in->changed = true;
    peer->share->left = true;
    if (!peer->gap)
        put_watermark(in, peer->node, WATERMARK_LEFT);
}

/* Whether a message costs memory or disk. Signs of life and BYE are accepted at any rate. */
static bool costs_memory(enum message_type type)
{
    return type != MESSAGE_HEARTBEAT && type != MESSAGE_WATERMARK && type != MESSAGE_BYE;
}

void receiver_take_message(struct receiver *in, const struct link_frame *frame, struct peer *peer, bool within_rate)
{
    if (peer && !receiver_message_in_share(in, peer, frame->size))
        return;
    int err = message_decode(frame->data, frame->size, &in->in);
    if (err == BEZEL_EVERSION && !peer) {
        receiver_refuse(in, &frame->peer, in->in.refuse.reason);
        return;
    }
    if (err) {
        in->model->totals.refused++;
        in->changed = true;
        log_warn("BEZEL-MESSAGE-REFUSED", "%s: %s", peer ? peer->node->name : "unknown sender", err_text(err));
        return;
    }
    if (in->in.type == MESSAGE_HELLO && !link_may(frame, KEY_OBSERVE))
        receiver_refuse(in, &frame->peer, "your key does not have the role observe at this collector");
    else if (in->in.type == MESSAGE_HELLO && !link_speaks_for(in->link, frame, in->in.hello.node))
        refuse_name(in, frame);
    else if (in->in.type == MESSAGE_HELLO)
        on_hello(in, frame, &in->in.hello);
    else if (!peer)
        return;
    else if (!within_rate && costs_memory(in->in.type))
        refuse_message(in, peer, "a message", "its node is too far beyond its rate");
    else if (in->in.type == MESSAGE_PROCESS)
        on_process(in, peer, &in->in.process);
    else if (in->in.type == MESSAGE_BOOKS)
        on_books(in, peer, &in->in.books);
    else if (in->in.type == MESSAGE_NOTE)
        on_note(in, peer, &in->in.note);
    else if (in->in.type == MESSAGE_WATERMARK)
        receiver_take_low(in, peer, in->in.watermark.low);
    else if (in->in.type == MESSAGE_DIRECT)
        receiver_on_direct(in, peer, &in->in.direct);
    else if (in->in.type == MESSAGE_BYE)
        on_bye(in, peer);
    else if (in->in.type != MESSAGE_HEARTBEAT)
        refuse_message(in, peer, "a message", "of a type that a collector does not accept");
}
