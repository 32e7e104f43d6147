// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/intake_own.h"

#include "base/limit.h"
#include "base/log.h"
#include "collector/account.h"
#include "collector/recover.h"
#include "collector/retire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Nothing that comes after the acknowledgement can hold it up: the frames of a batch are kept until then, and accounted
 * for from there. What a kill takes away in between is found again in the files.
 */

struct intake *intake_new(struct model *m, struct facts *f, struct store *s, struct link *link,
                          struct intake_limits limits)
{
    struct intake *in = calloc(1, sizeof *in);
    if (!in)
        return NULL;
    in->model = m, in->facts = f, in->store = s, in->link = link, in->limits = limits;
    in->guests = guests_new(link_endpoint(link));
    if (!in->guests) {
        free(in);
        return NULL;
    }
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
    guests_free(in->guests);
    free(in);
}

bool intake_changed(const struct intake *in)
{
    return in->changed;
}

uint64_t intake_over_rate(const struct intake *in)
{
    return in->over_rate;
}

uint64_t intake_strangers(const struct intake *in)
{
    return in->strangers;
}

unsigned intake_peers(const struct intake *in)
{
    return in->peer_count;
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

/* Asks once in a batch for each process. */
static void need_once(struct intake *in, const struct peer *peer, const struct accepted *a)
{
    for (size_t i = 0; i < in->batch; i++)
        if (in->accepted[i].what == ACCEPT_NEED && in->accepted[i].header.instance == a->header.instance &&
            memcmp(in->accepted[i].header.uuid, a->header.uuid, sizeof a->header.uuid) == 0)
            return;
    intake_need(in, &peer->id, a->header.instance);
}

static void on_packet(struct intake *in, const struct link_frame *frame, struct peer *peer, struct accepted *a)
{
    bool failed = store_failure(in->store, NULL) != 0;
    accept_packet(peer->node, in->store, frame->data, frame->size, a);
    in->changed = true;
    if (a->what == ACCEPT_NEED) {
        need_once(in, peer, a);
    } else if (a->what == ACCEPT_THROWN) {
        if (!a->stream)
            intake_throw(in, peer, &a->header);
    } else if (a->what == ACCEPT_REFUSED) {
        log_warn("BEZEL-PACKET-REFUSED", "node %s: %s", peer->node->name, a->reason);
        if (a->stream && a->stream->process->refusals >= MODEL_REFUSALS)
            intake_refuse_process(in, a->stream->process, a->reason);
    } else if (a->what == ACCEPT_FAILED && !failed) {
        const char *path;
        errno = store_failure(in->store, &path);
        log_error("BEZEL-STORE-FAILS", "%s: %s: nothing is stored or acknowledged until it can be written", path,
                  limit_reason(errno ? err_from_errno(errno) : BEZEL_ENOMEM));
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
    struct peer *peer = frame->roles & KEY_OBSERVE ? intake_find(in, &frame->peer) : NULL;
    if (peer)
        peer->heard = in->received[in->batch];
    bool heard = peer && intake_charge(in, peer, frame->size, peer->heard);
    if (!packet_is_packet(frame->data, frame->size))
        intake_take_message(in, frame, peer, heard);
    else if (heard)
        on_packet(in, frame, peer, a);
    else if (peer)
        in->model->totals.refused++;
    in->batch++;
    return true;
}

/* Takes the streams of `node` that wait into in->out, as many as fit, leaving out what could not be made lasting. */
static void gather_ack(struct intake *in, struct model_node *node)
{
    struct message_ack *ack = &in->out.ack;
    struct model_stream *s;
    in->out.type = MESSAGE_ACK;
    ack->stream_count = 0;
    while (ack->stream_count < MESSAGE_ROWS_MAX && (s = model_next_touched(node)))
        if (store_sync(in->store, s) == 0) {
            struct message_position *at = &ack->streams[ack->stream_count++];
            *at = s->at;
            if (s->thrown)
                at->next_seq = s->thrown;
        }
}

/* Where the queue to a peer is full the streams wait for the next turn. */
static void acknowledge(struct intake *in, struct model_node *node)
{
    const struct message_ack *ack = &in->out.ack;
    struct peer *peer = intake_find_node(in, node);
    if (peer && node->touched && intake_holds_back(in, peer, clock_now()))
        return;
    while (node->touched) {
        gather_ack(in, node);
        int err = peer && ack->stream_count ? intake_send(in, &peer->id) : 0;
        if (err == BEZEL_EAGAIN) {
            for (uint32_t i = 0; i < ack->stream_count; i++)
                model_touch(model_find_process(node, ack->streams[i].instance)->streams[ack->streams[i].ring]);
            return;
        }
        if (err) {
            intake_drop(in, peer);
            peer = NULL;
        }
    }
}

static void account_batch(struct intake *in)
{
    for (size_t i = 0; i < in->batch; i++) {
        const struct accepted *a = &in->accepted[i];
        if (a->what == ACCEPT_STORED) {
            account_count(a->stream->process, &a->header, in->frames[i].data, &a->found.all, in->received[i]);
            account_sum(a->stream, &a->header, in->frames[i].data);
            account_rows(in->facts, a->stream->process, &a->header, in->frames[i].data, a->found.lost);
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
    int64_t now = clock_now(), waited = store_sync_at(in->store);
    if (store_sync_due(in->store, now))
        for (struct model_node *node = in->model->nodes; node; node = node->next)
            acknowledge(in, node);
    account_batch(in);
    if (waited != 0 && now >= waited && now >= in->saved_at + INTAKE_SAVE)
        (void)!intake_save(in); /* under load there is no other moment at which all is in stable storage */
    return taken;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static void beat(struct intake *in, int64_t now, bool idle)
{
    for (struct peer *p = in->peers, *next; p; p = next) {
        next = p->next;
        if (idle && now - p->heard > INTAKE_SILENT) {
            log_warn("BEZEL-PEER-SILENT", "node %s was not heard for 2 s: taken for gone until it says HELLO",
                     p->node->name);
            intake_drop(in, p);
            continue;
        }
        in->out.type = MESSAGE_ALIVE;
        in->out.alive.at = (uint64_t)now;
        if (intake_send(in, &p->id) == BEZEL_EUNREACH)
            intake_drop(in, p);
    }
}

/* Tells every sender of what was put off where we stand: they send from there. */
static void touch_behind(struct intake *in)
{
    for (struct model_node *node = in->model->nodes; node; node = node->next)
        for (struct model_process *p = node->active; p; p = p->next_active)
            for (size_t ring = 0; ring < PACKET_RINGS_MAX; ring++)
                if (p->streams[ring] && p->streams[ring]->behind)
                    model_touch(p->streams[ring]);
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Ends connections that are nobody's: of strangers, and those that their node gave up without our hearing of it. */
static void look_at_guests(struct intake *in, int64_t now)
{
    size_t n = 0;
    uint64_t *known = calloc(in->peer_count + 1, sizeof *known);
    in->guests_at = now + GUESTS_EVERY;
    if (!known)
        return;
    for (const struct peer *p = in->peers; p; p = p->next)
        known[n++] = p->connection;
    qsort(known, n, sizeof *known, ascending);
    unsigned ended = guests_look(in->guests, known, n, now);
    free(known);
    if (ended)
        log_warn("BEZEL-STRANGERS", "%u connections on which no node says who it is were ended", ended);
    in->strangers += ended;
}

int64_t intake_tick(struct intake *in, int64_t now, bool idle)
{
    if (now < in->alive_at)
        return in->alive_at;
    beat(in, now, idle);
    if (now >= in->guests_at)
        look_at_guests(in, now);
    if (!store_failure(in->store, NULL) || store_retry(in->store, now))
        touch_behind(in);
    return in->alive_at = now + INTAKE_ALIVE;
}

/* Whoever said BYE wants to hear that all before it is stored. */
static void acknowledge_leaving(struct intake *in)
{
    for (struct peer *p = in->peers, *next; p; p = next) {
        next = p->next;
        if (p->bye)
            acknowledge(in, p->node);
    }
}

/* Final books are saved: whoever sent them may forget them. What finds no room waits for the next save. */
static void answer_books(struct intake *in, const struct peer *peer)
{
    if (peer->node->books_answer) {
        in->out.type = MESSAGE_BOOKS;
        in->out.books = (struct message_books){.state = PROCESS_ENDED, .at = peer->node->books_at};
        if (intake_send(in, &peer->id) != 0) {
            in->changed = true;
            return;
        }
        peer->node->books_answer = false;
    }
    for (struct model_process *p = peer->node->active; p; p = p->next_active) {
        if (!p->books_answer)
            continue;
        in->out.type = MESSAGE_BOOKS;
        in->out.books = (struct message_books){.instance = p->instance, .state = p->state, .at = p->books_at};
        if (intake_send(in, &peer->id) != 0) {
            in->changed = true;
            return;
        }
        p->books_answer = false;
    }
}

int intake_finish(struct intake *in)
{
    int err = 0;
    store_tidy(in->store, in->model, true);
    for (const struct model_node *node = in->model->nodes; node; node = node->next)
        (void)!intake_sync(in, node); /* what fails is not saved, and thus not said to be there */
    if (facts_lacks(in->facts))
        err = recover_rows(in->facts, in->store, in->model);
    if (!err)
        err = intake_save(in);
    return err ? err : account_finish(in->facts, in->model);
}

int intake_save(struct intake *in)
{
    acknowledge_leaving(in);
    int err = account_save(in->facts, in->model);
    if (err) {
        intake_facts_failed(in, err, "what was counted");
        return err;
    }
    store_tidy(in->store, in->model, false);
    in->changed = false;
    in->saved_at = clock_now();
    for (struct peer *p = in->peers, *next; p; p = next) {
        next = p->next;
        answer_books(in, p);
        if (!p->bye)
            continue;
        in->out.type = MESSAGE_BYE;
        if (intake_send(in, &p->id) == BEZEL_EAGAIN)
            in->changed = true; /* again with the next save */
        else
            intake_drop(in, p);
    }
    retire_ended(in->model);
    return 0;
}
