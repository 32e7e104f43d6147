// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/intake.h"

#include "base/log.h"
#include "collector/accept.h"
#include "collector/account.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A peer is one connection. It is unknown until its HELLO; what unknown ones send is dropped without an answer, so that a
 * sender whose collector was started again hears no heartbeat, and says HELLO. A node has at most one peer: the latest.
 */
struct peer {
    struct link_peer id;
    struct model_node *node;
    int64_t heard;
    bool bye; /* said BYE, which is answered when all before it is saved */
    struct peer *next;
};

struct intake {
    struct model *model;
    struct facts *facts;
    struct store *store;
    struct link *link;
    struct peer *peers;
    unsigned peer_count;
    bool changed;
    int64_t alive_at;
    struct message in, out;
    uint8_t bytes[MESSAGE_MAX_BYTES];
    size_t batch; /* frames that wait to be accounted for */
    struct link_frame frames[INTAKE_BATCH];
    struct accepted accepted[INTAKE_BATCH];
    int64_t received[INTAKE_BATCH];
};

struct intake *intake_new(struct model *m, struct facts *f, struct store *s, struct link *link)
{
    struct intake *in = calloc(1, sizeof *in);
    if (in)
        in->model = m, in->facts = f, in->store = s, in->link = link;
    return in;
}

void intake_free(struct intake *in)
{
    if (!in)
        return;
    while (in->peers) {
        struct peer *p = in->peers;
        in->peers = p->next;
        free(p);
    }
    free(in);
}

bool intake_changed(const struct intake *in)
{
    return in->changed;
}

unsigned intake_peers(const struct intake *in)
{
    return in->peer_count;
}

/* ---- peers --------------------------------------------------------------------------------------------------------- */

static struct peer *peer_find(struct intake *in, const struct link_peer *id)
{
    struct peer *p = in->peers;
    while (p && (p->id.size != id->size || memcmp(p->id.id, id->id, id->size) != 0))
        p = p->next;
    return p;
}

static struct peer *peer_of_node(struct intake *in, const struct model_node *node)
{
    struct peer *p = in->peers;
    while (p && p->node != node)
        p = p->next;
    return p;
}

static void peer_drop(struct intake *in, struct peer *peer)
{
    struct peer **at = &in->peers;
    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    in->peer_count--;
    free(peer);
}

static struct peer *peer_add(struct intake *in, const struct link_peer *id, struct model_node *node)
{
    struct peer *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    *p = (struct peer){.id = *id, .node = node, .heard = clock_now(), .next = in->peers};
    in->peers = p;
    in->peer_count++;
    return p;
}

/* Sends in->out. Returns 0, or an error where it did not go: heartbeats and HELLO mend what that breaks. */
static int send_out(struct intake *in, const struct link_peer *id)
{
    int n = message_encode(&in->out, in->bytes, sizeof in->bytes);
    return n < 0 ? n : link_send(in->link, id, in->bytes, (size_t)n);
}

static void refuse_peer(struct intake *in, const struct link_peer *id, const char *reason)
{
    in->model->totals.refused++;
    in->changed = true;
    log_warn("BEZEL-PEER-REFUSED", "%s", reason);
    in->out.type = MESSAGE_REFUSE;
    snprintf(in->out.refuse.reason, sizeof in->out.refuse.reason, "%s", reason);
    (void)!send_out(in, id);
}

/* ---- what peers hear ----------------------------------------------------------------------------------------------- */

static void welcome_flush(struct intake *in, const struct link_peer *id, bool more)
{
    in->out.welcome.more = more;
    (void)!send_out(in, id);
    in->out.welcome.stream_count = 0;
}

static void send_welcome(struct intake *in, const struct peer *peer)
{
    struct message_welcome *w = &in->out.welcome;
    in->out.type = MESSAGE_WELCOME;
    w->credit_bytes = 0;
    w->stream_count = 0;
    for (const struct model_process *p = peer->node->processes; p; p = p->next)
        for (size_t ring = 0; ring < PACKET_RINGS_MAX; ring++) {
            if (!p->streams[ring] || !p->streams[ring]->packets)
                continue;
            if (w->stream_count == MESSAGE_ROWS_MAX)
                welcome_flush(in, &peer->id, true);
            w->streams[w->stream_count++] = p->streams[ring]->at;
        }
    welcome_flush(in, &peer->id, false);
}

static void send_need(struct intake *in, const struct link_peer *id, uint64_t instance)
{
    in->out.type = MESSAGE_NEED;
    in->out.need.instance = instance;
    (void)!send_out(in, id);
}

/* Takes the streams of `node` that wait into in->out, as many as fit, leaving out what could not be made lasting. */
static void gather_ack(struct intake *in, struct model_node *node)
{
    struct message_ack *ack = &in->out.ack;
    struct model_stream *s;
    in->out.type = MESSAGE_ACK;
    ack->stream_count = 0;
    while (ack->stream_count < MESSAGE_ROWS_MAX && (s = model_next_touched(node)))
        if (store_sync(in->store, s) == 0)
            ack->streams[ack->stream_count++] = s->at;
}

/* Where the queue to a peer is full the streams wait for the next turn. */
static void acknowledge(struct intake *in, struct model_node *node)
{
    const struct message_ack *ack = &in->out.ack;
    struct peer *peer = peer_of_node(in, node);
    while (node->touched) {
        gather_ack(in, node);
        int err = peer && ack->stream_count ? send_out(in, &peer->id) : 0;
        if (err == BEZEL_EAGAIN) {
            for (uint32_t i = 0; i < ack->stream_count; i++)
                model_touch(model_find_process(node, ack->streams[i].instance)->streams[ack->streams[i].ring]);
            return;
        }
        if (err) {
            peer_drop(in, peer);
            peer = NULL;
        }
    }
}

/* ---- what peers say ------------------------------------------------------------------------------------------------ */

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
    if (in->peer_count >= INTAKE_PEERS_MAX)
        return "too many connections: this collector serves 256";
    return NULL;
}

/* A write of the database that failed: nothing is known by it, so the sender will say it again. */
static void facts_failed(struct intake *in, int err, const char *what)
{
    int sys = errno;
    log_error("BEZEL-DATABASE", "run.db: %s cannot be written: %s", what, sys ? strerror(sys) : err_text(err));
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
        facts_failed(in, err, node->name);
        model_drop_node(node);
        return NULL;
    }
    return node;
}

static void on_hello(struct intake *in, const struct link_peer *id, const struct message_hello *hello)
{
    struct peer *peer = peer_find(in, id);
    if (peer)
        peer_drop(in, peer);
    const char *reason = check_hello(in, hello);
    if (reason) {
        refuse_peer(in, id, reason);
        return;
    }
    struct model_node *node = node_for(in, hello);
    if (!node)
        return;
    while ((peer = peer_of_node(in, node)))
        peer_drop(in, peer);
    peer = peer_add(in, id, node);
    if (peer)
        send_welcome(in, peer);
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
    if (stream_id_is_taken(peer->node, said->stream_id))
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
        facts_failed(in, err, p->name);
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
        facts_failed(in, err, p->name);
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
    else
        extend_process(in, peer, p, said, dict);
}

static void on_books(struct intake *in, struct peer *peer, const struct message_books *books)
{
    struct model_process *p = model_find_process(peer->node, books->instance);
    if (!p) {
        send_need(in, &peer->id, books->instance);
        return;
    }
    p->state = books->state;
    p->unfinished = books->unfinished;
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
    }
    p->dirty = in->changed = true;
}

static void on_message(struct intake *in, const struct link_frame *frame, struct peer *peer)
{
    int err = message_decode(frame->data, frame->size, &in->in);
    if (err == BEZEL_EVERSION && !peer) {
        refuse_peer(in, &frame->peer,
                    "this collector speaks version 1 of the protocol: install the same Bezel on both sides");
        return;
    }
    if (err) {
        in->model->totals.refused++;
        in->changed = true;
        log_warn("BEZEL-MESSAGE-REFUSED", "%s: %s", peer ? peer->node->name : "unknown sender", err_text(err));
        return;
    }
    if (in->in.type == MESSAGE_HELLO)
        on_hello(in, &frame->peer, &in->in.hello);
    else if (!peer)
        return;
    else if (in->in.type == MESSAGE_PROCESS)
        on_process(in, peer, &in->in.process);
    else if (in->in.type == MESSAGE_BOOKS)
        on_books(in, peer, &in->in.books);
    else if (in->in.type == MESSAGE_BYE)
        peer->bye = in->changed = true;
    else if (in->in.type != MESSAGE_ALIVE)
        refuse_message(in, peer, "a message", "not one that a collector takes");
}

/* ---- packets ------------------------------------------------------------------------------------------------------- */

/* Asks once in a batch for each process. */
static void need_once(struct intake *in, const struct peer *peer, const struct accepted *a)
{
    for (size_t i = 0; i < in->batch; i++)
        if (in->accepted[i].what == ACCEPT_NEED && in->accepted[i].header.instance == a->header.instance &&
            memcmp(in->accepted[i].header.uuid, a->header.uuid, sizeof a->header.uuid) == 0)
            return;
    send_need(in, &peer->id, a->header.instance);
}

static void on_packet(struct intake *in, const struct link_frame *frame, struct peer *peer, struct accepted *a)
{
    bool failed = store_failure(in->store, NULL) != 0;
    accept_packet(peer->node, in->store, frame->data, frame->size, a);
    in->changed = true;
    if (a->what == ACCEPT_NEED) {
        need_once(in, peer, a);
    } else if (a->what == ACCEPT_REFUSED) {
        log_warn("BEZEL-PACKET-REFUSED", "node %s: %s", peer->node->name, a->reason);
    } else if (a->what == ACCEPT_FAILED && !failed) {
        const char *path;
        int sys = store_failure(in->store, &path);
        log_error("BEZEL-STORE-FAILS", "%s: %s: nothing is stored or acknowledged until there is room", path,
                  sys ? strerror(sys) : err_text(BEZEL_ENOMEM));
    }
}

static bool receive_one(struct intake *in)
{
    struct link_frame *frame = &in->frames[in->batch];
    struct accepted *a = &in->accepted[in->batch];
    if (link_receive(in->link, frame) != 0)
        return false;
    *a = (struct accepted){.what = ACCEPT_REFUSED};
    in->received[in->batch] = clock_now();
    struct peer *peer = peer_find(in, &frame->peer);
    if (peer)
        peer->heard = in->received[in->batch];
    if (!packet_is_packet(frame->data, frame->size))
        on_message(in, frame, peer);
    else if (peer)
        on_packet(in, frame, peer, a);
    in->batch++;
    return true;
}

static void account_batch(struct intake *in)
{
    for (size_t i = 0; i < in->batch; i++) {
        const struct accepted *a = &in->accepted[i];
        if (a->what == ACCEPT_STORED) {
            account_count(a->stream->process, &a->header, in->frames[i].data, in->received[i]);
            account_rows(in->facts, a->stream->process, &a->header, in->frames[i].data, a->lost);
        }
        link_frame_free(&in->frames[i]);
    }
    in->batch = 0;
}

int intake_turn(struct intake *in)
{
    while (in->batch < INTAKE_BATCH && receive_one(in))
        ;
    int taken = (int)in->batch;
    for (struct model_node *node = in->model->nodes; node; node = node->next)
        acknowledge(in, node);
    account_batch(in);
    return taken;
}

/* ---- time ---------------------------------------------------------------------------------------------------------- */

static void beat(struct intake *in, int64_t now, bool idle)
{
    for (struct peer *p = in->peers, *next; p; p = next) {
        next = p->next;
        if (idle && now - p->heard > INTAKE_SILENT) {
            log_warn("BEZEL-PEER-SILENT", "node %s was not heard for 2 s: taken for gone until it says HELLO",
                     p->node->name);
            peer_drop(in, p);
            continue;
        }
        in->out.type = MESSAGE_ALIVE;
        in->out.alive.at = (uint64_t)now;
        if (send_out(in, &p->id) == BEZEL_EUNREACH)
            peer_drop(in, p);
    }
}

/* Tells every sender of what was put off where we stand: they send from there. */
static void touch_behind(struct intake *in)
{
    for (struct model_node *node = in->model->nodes; node; node = node->next)
        for (struct model_process *p = node->processes; p; p = p->next)
            for (size_t ring = 0; ring < PACKET_RINGS_MAX; ring++)
                if (p->streams[ring] && p->streams[ring]->behind)
                    model_touch(p->streams[ring]);
}

int64_t intake_tick(struct intake *in, int64_t now, bool idle)
{
    if (now < in->alive_at)
        return in->alive_at;
    beat(in, now, idle);
    if (!store_failure(in->store, NULL) || store_retry(in->store, now))
        touch_behind(in);
    return in->alive_at = now + INTAKE_ALIVE;
}

int intake_save(struct intake *in)
{
    int err = account_save(in->facts, in->model);
    if (err) {
        facts_failed(in, err, "what was counted");
        return err;
    }
    in->changed = false;
    for (struct peer *p = in->peers, *next; p; p = next) {
        next = p->next;
        if (!p->bye)
            continue;
        in->out.type = MESSAGE_BYE;
        if (send_out(in, &p->id) == BEZEL_EAGAIN)
            in->changed = true; /* again with the next save */
        else
            peer_drop(in, p);
    }
    return 0;
}
