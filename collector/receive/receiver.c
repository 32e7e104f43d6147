// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/receive/receiver_internal.h"

#include "base/log.h"
#include "base/saturate.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "collector/evaluate/evaluate.h"
#include "collector/receive/evict.h"
#include "collector/receive/recover.h"
#include "run/model/statistics.h"
#include "run/rundb/rundb_save.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Records are counted after the acknowledgement, so that counting cannot delay it: the frames of a batch are kept until
 * then. Counts that a kill takes away in between are rebuilt from the files.
 */

#define EVALUATION (250 * (uint64_t)CLOCK_MS) /* ns of each second */

struct receiver *receiver_new(struct model *m, struct rundb *f, struct store *s, struct link *link,
                              struct receiver_limits limits)
{
    struct receiver *in = calloc(1, sizeof *in);
    if (!in)
        return NULL;
    in->model = m, in->rundb = f, in->store = s, in->link = link, in->limits = limits;
    in->unidentified_peers = unidentified_peers_new(link_endpoint(link));
    if (in->unidentified_peers && receiver_peers_open(in) == 0 && receiver_shares_open(in) == 0)
        return in;
    receiver_free(in);
    return NULL;
}

void receiver_free(struct receiver *in)
{
    if (!in)
        return;
    receiver_peers_close(in);
    shares_free(in->shares);
    unidentified_peers_free(in->unidentified_peers);
    free(in);
}

void receiver_set_clock_port(struct receiver *in, uint32_t port)
{
    in->clock_port = port;
}

void receiver_set_watermarks(struct receiver *in, struct watermarks *w)
{
    in->watermarks = w;
}

void receiver_set_keep(struct receiver *in, struct keep *k)
{
    in->keep = k;
}

void receiver_set_evaluate(struct receiver *in, struct evaluate *e)
{
    in->evaluate = e;
}

bool receiver_changed(const struct receiver *in)
{
    return in->changed;
}

unsigned receiver_peers(const struct receiver *in)
{
    return in->peer_count;
}

void receiver_status(const struct receiver *in, struct message_collector_status *s)
{
    const struct model_totals *t = &in->model->totals;
    *s = (struct message_collector_status){.records = t->records - t->own_records,
                                           .bytes = t->bytes,
                                           .packets = t->packets,
                                           .discarded = t->discarded,
                                           .refused = t->refused,
                                           .over_rate = in->over_rate,
                                           .unidentified = in->unidentified,
                                           .peers = in->peer_count,
                                           .streams = t->streams,
                                           .processes = t->processes,
                                           .nodes = t->nodes,
                                           .expired = t->expired,
                                           .expired_records = t->expired_records,
                                           .expired_bytes = t->expired_bytes,
                                           .own_records = t->own_records,
                                           .store_errno = store_failure(in->store, NULL)};
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

/* Sends NEED once in a batch for each process. */
static void need_once(struct receiver *in, const struct peer *peer, const struct received *a)
{
    for (size_t i = 0; i < in->batch; i++)
        if (in->results[i].what == RECEIVED_UNKNOWN && in->results[i].header.instance == a->header.instance &&
            memcmp(in->results[i].header.uuid, a->header.uuid, sizeof a->header.uuid) == 0)
            return;
    receiver_need(in, &peer->id, a->header.instance);
}

/*
 * No record comes before it is made. Of a node that says so, once for each process, it is noted; what readers take for
 * the newest time leaves it out.
 */
static void check_time(struct receiver *in, struct model_process *p, const struct packet_header *h)
{
    const struct model *m = in->model;
    int64_t now = saturate_add(clock_now(), m->ahead);
    if (p->ahead || memcmp(m->clock, m->run_clock, sizeof m->clock) != 0 ||
        !model_is_ahead(p->node, h->timestamp_end, saturate_add(now, MODEL_WALL_SLACK)))
        return;
    int64_t ahead = saturate_sub(run_clock_at(&p->node->run_clock, (int64_t)h->timestamp_end).ns, now);
    struct message_note n = {.instance = p->instance, .pid = p->pid, .at = p->started, .code = "BEZEL-TIME-AHEAD"};
    message_text(n.name, MESSAGE_NAME_MAX, p->name);
    snprintf(n.text, sizeof n.text,
             "a record has a time %s later than it came: the clock of its node is wrong, or jumped; views that follow "
             "the run leave its stream out",
             units_duration(ahead).s);
    p->ahead = true;
    log_warn("BEZEL-TIME-AHEAD", "node %s: %s (pid %u): %s", p->node->name, n.name, n.pid, n.text);
    int err = rundb_add_note(in->rundb, p->node, &n);
    if (err)
        receiver_rundb_failed(in, err, "a note");
}

/* Before it is acknowledged, as its records are stored nowhere. */
static void take_into_account(struct receiver *in, const uint8_t *packet, const struct received *a)
{
    evaluate_packet(in->evaluate, a->stream, &a->header, packet, &a->found, clock_now());
    evaluate_took(in->evaluate, a->stream, &a->header, packet, &a->found.all);
}

void receiver_on_packet(struct receiver *in, const struct link_frame *frame, struct peer *peer, struct received *a)
{
    bool failed = store_failure(in->store, NULL) != 0;
    receiver_take_packet(peer->node, in->store, in->evaluate, frame->data, frame->size, a);
    in->changed = true;
    if (a->what == RECEIVED_STORED && a->header.seq == 0)
        receiver_count_stream(in, peer);
    peer->gap |= a->what == RECEIVED_UNKNOWN || a->what == RECEIVED_FAILED || a->what == RECEIVED_AHEAD;
    if (a->what == RECEIVED_UNKNOWN) {
        need_once(in, peer, a);
    } else if (a->what == RECEIVED_STORED) {
        check_time(in, a->stream->process, &a->header);
        if (a->thinned.reduced)
            take_into_account(in, frame->data, a);
    } else if (a->what == RECEIVED_THROWN) {
        if (!a->stream)
            receiver_throw(in, peer, &a->header);
    } else if (a->what == RECEIVED_REFUSED) {
        log_warn("BEZEL-PACKET-REFUSED", "node %s: %s", peer->node->name, a->reason);
        if (a->stream && a->stream->process->refusals >= MODEL_REFUSALS)
            receiver_refuse_process(in, a->stream->process, a->reason);
    } else if (a->what == RECEIVED_FAILED && !failed && !in->paused) {
        const char *path;
        errno = store_failure(in->store, &path);
        log_error(
            "BEZEL-STORE-FAILS",
            "%s: %s: nothing is stored or acknowledged until this file can be written; the nodes keep their packets",
            path, ulimit_reason(errno ? err_from_errno(errno) : BEZEL_ENOMEM));
    }
}

/* The sender of `frame` if its key may send packets. A node that a connection has, and whose key may not, is noted. */
static struct peer *find_sender(struct receiver *in, const struct link_frame *frame)
{
    struct peer *peer = receiver_find(in, &frame->peer);
    if (peer)
        peer->silenced = !(frame->roles & KEY_OBSERVE);
    if (!peer || !peer->silenced)
        return peer;
    if (!peer->key_taken)
        receiver_note_node(in, peer->node, "BEZEL-KEY-TAKEN",
                           "its key was taken back, or has lost the role observe, at the collector: nothing that it "
                           "sends from now on is stored; it keeps its packets until the key is given back");
    peer->key_taken = true;
    return NULL;
}

static bool receive_one(struct receiver *in)
{
    struct link_frame *frame = &in->frames[in->batch];
    struct received *a = &in->results[in->batch];
    if (link_receive(in->link, frame) != 0)
        return false;
    *a = (struct received){.what = RECEIVED_REFUSED};
    in->direct[in->batch] = false;
    in->received[in->batch] = clock_now();
    struct peer *peer = find_sender(in, frame);
    if (peer)
        peer->received_at = in->received[in->batch];
    bool within_rate = peer && receiver_charge(in, peer, frame->size, peer->received_at);
    if (!packet_is_packet(frame->data, frame->size))
        receiver_take_message(in, frame, peer, within_rate);
    else if (within_rate)
        receiver_on_packet(in, frame, peer, a);
    else if (peer)
        in->model->totals.refused++;
    in->batch++;
    return true;
}

/* Fills in->out with touched streams of `node`, as many as fit, without those that could not be synced. */
static void gather_ack(struct receiver *in, struct model_node *node, struct peer *peer)
{
    struct message_ack *ack = &in->out.ack;
    struct model_stream *s;
    in->out.type = MESSAGE_ACK;
    ack->stream_count = 0;
    while (ack->stream_count < MESSAGE_ROWS_MAX && (s = model_next_touched(node)))
        if (store_sync(in->store, s) == 0) {
            struct message_position *at = &ack->streams[ack->stream_count];
            *at = model_position(s);
            if (s->thrown)
                at->next_seq = s->thrown;
            ack->stream_count += !peer || !receiver_direct_acknowledge(peer, s, at->next_seq);
        }
}

/* Acknowledges the touched streams of a node. If the queue to its peer is full they wait for the next turn. */
static void acknowledge(struct receiver *in, struct model_node *node)
{
    const struct message_ack *ack = &in->out.ack;
    struct peer *peer = receiver_find_node(in, node);
    if (peer && node->touched && receiver_holds_back(in, peer, clock_now()))
        return;
    while (node->touched) {
        gather_ack(in, node, peer);
        int err = peer && ack->stream_count ? receiver_send(in, &peer->id) : 0;
        if (err == BEZEL_EAGAIN) {
            for (uint32_t i = 0; i < ack->stream_count; i++)
                model_touch(model_find_process(node, ack->streams[i].instance)->streams[ack->streams[i].ring]);
            return;
        }
        if (err) {
            receiver_drop(in, peer);
            peer = NULL;
        }
    }
    if (peer)
        receiver_direct_acknowledged(peer);
}

/*
 * Whether there is time for the statistics of fields. Where no more packets wait there is; where more wait, the
 * statistics may take EVALUATION of each second.
 */
static bool has_time(const struct receiver *in)
{
    return in->batch < RECEIVER_BATCH || token_bucket_overdrawn(&in->evaluation, EVALUATION, clock_now()) == 0;
}

static void note_way(struct model_node *node, bool direct)
{
    uint32_t way = direct ? RUNDB_WAY_DIRECT : RUNDB_WAY_LINK;
    node->dirty = node->dirty || !(node->ways & way);
    node->ways |= way;
}

/* Packet `i` of the batch, as it was stored. */
static void count_stored(struct receiver *in, size_t i)
{
    static const struct packet_run mixed;
    struct received *a = &in->results[i];
    struct evaluate_thinned *t = &a->thinned;
    const uint8_t *packet = t->bytes ? t->bytes : in->frames[i].data;
    const struct packet_header *h = t->bytes ? &t->header : &a->header;
    note_way(a->stream->process->node, in->direct[i]);
    statistics_count(a->stream, h, packet, t->reduced ? &mixed : &a->found.all, in->received[i]);
    rundb_add_packet(in->rundb, a->stream->process, h, packet, a->found.lost);
    if (in->evaluate && !t->reduced) /* else it was at once */
        evaluate_packet(in->evaluate, a->stream, &a->header, in->frames[i].data, &a->found, in->received[i]);
    free(t->bytes);
    t->bytes = NULL;
}

static void count_batch(struct receiver *in)
{
    int64_t begun = clock_now();
    in->model->hurried = !has_time(in);
    for (size_t i = 0; i < in->batch; i++) {
        if (in->results[i].what == RECEIVED_STORED)
            count_stored(in, i);
        if (!in->direct[i])
            link_frame_free(&in->frames[i]);
    }
    if (!in->model->hurried)
        token_bucket_take(&in->evaluation, EVALUATION, (size_t)(clock_now() - begun), clock_now());
    in->batch = 0;
    receiver_free_left(in);
}

/*
 * A step saves the model, but answers nobody: receiver_save() is still to do so. It brings all to stable storage, which
 * is acknowledged at once: the store counts the time to its next sync from now on.
 */
static void keep_to_room(struct receiver *in, int64_t now)
{
    if (!in->keep || !keep_is_due(in->keep, now))
        return;
    (void)!keep_step(in->keep, now);
    if (store_sync_due(in->store, now))
        for (struct model_node *node = in->model->nodes; node; node = node->next)
            acknowledge(in, node);
}

int receiver_turn(struct receiver *in)
{
    in->turn++;
    receiver_take_direct(in, RECEIVER_BATCH / 2);
    while (in->batch < RECEIVER_BATCH && receive_one(in))
        ;
    receiver_take_direct(in, RECEIVER_BATCH);
    int taken = (int)in->batch;
    int64_t now = clock_now(), waited = store_sync_at(in->store);
    if (store_sync_due(in->store, now))
        for (struct model_node *node = in->model->nodes; node; node = node->next)
            acknowledge(in, node);
    count_batch(in);
    keep_to_room(in, now);
    if (waited != 0 && now >= waited && now >= in->saved_at + RECEIVER_SAVE)
        (void)!receiver_save(in); /* under load this is the only moment at which everything is in stable storage */
    return taken;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static void beat(struct receiver *in, int64_t now, bool idle)
{
    bool beats = now >= in->beat_at;
    if (beats)
        in->beat_at = now + RECEIVER_HEARTBEAT - RECEIVER_TICK / 2;
    for (unsigned i = in->peer_count; i-- > 0;) {
        struct peer *p = &in->peers[i];
        if (idle && now - p->received_at > RECEIVER_SILENT) {
            log_warn("BEZEL-PEER-SILENT",
                     "nothing received from node %s for 2 s: it counts as gone until it sends HELLO", p->node->name);
            receiver_drop(in, p);
            continue;
        }
        in->out.type = MESSAGE_HEARTBEAT;
        in->out.heartbeat.at = (uint64_t)now;
        if (beats && receiver_send(in, &p->id) == BEZEL_EUNREACH)
            receiver_drop(in, p);
    }
}

/* Has the position of each stream that is behind sent again: its sender continues from there. */
static void touch_behind(struct receiver *in)
{
    for (struct model_node *node = in->model->nodes; node; node = node->next)
        for (struct model_process *p = node->active; p; p = p->next_active)
            for (uint32_t ring = 0; ring < p->ring_count; ring++)
                if (p->streams[ring] && p->streams[ring]->behind)
                    model_touch(p->streams[ring]);
}

/* Ends connections that belong to no peer: without HELLO, or left behind by a node that has connected again. */
static void end_unidentified(struct receiver *in, int64_t now)
{
    size_t n = 0;
    uint64_t *known = calloc(in->peer_count + 1, sizeof *known);
    in->unidentified_at = now + UNIDENTIFIED_PEERS_EVERY;
    if (!known)
        return;
    for (; n < in->peer_count; n++)
        known[n] = in->peers[n].connection;
    unsigned ended = unidentified_peers_look(in->unidentified_peers, known, n, now);
    free(known);
    if (ended)
        log_warn("BEZEL-UNIDENTIFIED", "%u connections that belong to no node were ended", ended);
    in->unidentified += ended;
}

void receiver_pause(struct receiver *in, bool paused)
{
    in->paused = paused;
    store_pause(in->store, paused);
}

int64_t receiver_tick(struct receiver *in, int64_t now, bool idle)
{
    if (now < in->tick_at)
        return in->tick_at;
    beat(in, now, idle);
    if (now >= in->unidentified_at)
        end_unidentified(in, now);
    if (!in->paused && (!store_failure(in->store, NULL) || store_retry(in->store, now)))
        touch_behind(in);
    return in->tick_at = now + RECEIVER_TICK;
}

/* A peer that has sent BYE gets its acknowledgements at once, also beyond its rate. */
static void acknowledge_leaving(struct receiver *in)
{
    for (unsigned i = in->peer_count; i-- > 0;)
        if (in->peers[i].bye)
            acknowledge(in, in->peers[i].node);
}

/* Answers final books, which are saved: the node may drop them. Answers that cannot be sent wait for the next save. */
static bool answer(struct receiver *in, const struct peer *peer, struct message_books books)
{
    in->out.type = MESSAGE_BOOKS;
    in->out.books = books;
    if (receiver_send(in, &peer->id) == 0)
        return true;
    in->changed = true;
    return false;
}

static void answer_books(struct receiver *in, const struct peer *peer)
{
    struct model_node *node = peer->node;
    bool sent = true;
    if (node->books_answer)
        sent = answer(in, peer, (struct message_books){.state = PROCESS_ENDED, .at = node->books_at});
    node->books_answer = node->books_answer && !sent;
    for (struct model_process *p = node->active; p && sent; p = p->next_active) {
        if (!p->books_answer)
            continue;
        sent = answer(in, peer, (struct message_books){.instance = p->instance, .state = p->state, .at = p->books_at});
        p->books_answer = !sent;
    }
}

static int finish(struct receiver *in)
{
    int err = 0;
    store_tidy(in->store, in->model, true);
    for (const struct model_node *node = in->model->nodes; node; node = node->next)
        (void)!receiver_sync(in, node); /* streams that fail are not saved as stored */
    if (rundb_lacks(in->rundb))
        err = recover_rows(in->rundb, in->store, in->model);
    do
        err = err ? err : receiver_save(in);
    while (!err && in->model->unsaved);
    if (err)
        return err;
    store_tidy_last(in->store, in->model);
    err = store_settle(in->store);
    if (err)
        return err;
    err = rundb_finish(in->rundb, in->model);
    if (err)
        receiver_rundb_failed(in, err, "the end of the run");
    return err;
}

/* If the disk is found full only now, the first try has freed the reserve, which is kept for the second. */
int receiver_finish(struct receiver *in)
{
    bool failed = store_failure(in->store, NULL) != 0;
    int err = finish(in);
    return !failed && store_failure(in->store, NULL) ? finish(in) : err;
}

int receiver_save(struct receiver *in)
{
    acknowledge_leaving(in);
    int err = evaluate_save(in->evaluate);
    err = err ? err : rundb_save(in->rundb, in->model);
    if (err) {
        receiver_rundb_failed(in, err, "counts of records");
        return err;
    }
    evaluate_saved(in->evaluate);
    store_tidy(in->store, in->model, false);
    in->changed = in->model->unsaved;
    in->saved_at = clock_now();
    for (unsigned i = in->peer_count; i-- > 0;) {
        struct peer *p = &in->peers[i];
        answer_books(in, p);
        if (!p->bye)
            continue;
        in->out.type = MESSAGE_BYE;
        if (receiver_send(in, &p->id) == BEZEL_EAGAIN)
            in->changed = true; /* the next save retries */
        else
            receiver_drop(in, p);
    }
    evict_ended(in->model, in->keep);
    return 0;
}
