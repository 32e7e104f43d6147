// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/serve/serve_internal.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "base/units.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LINGER_MS = 500,
    FRAMES_A_TURN = 64,
    ENDING_LOOKS = 20, /* looks for the end of a reader, a millisecond apart */
};

#define SERVE_LOOK (100 * CLOCK_MS) /* at least, between two looks at who is gone */

/* ---- who is there ------------------------------------------------------------------------------------------------ */

/* Sends heartbeats. An error of the link shows which consumers are gone. */
static void beat(struct serve_server *v, int64_t now)
{
    struct read_message m = {.type = READ_HEARTBEAT, .heartbeat.at = (uint64_t)now};
    v->beat_at = now + SERVE_HEARTBEAT;
    for (unsigned i = v->count; i-- > 0;)
        if (serve_send(v, &v->consumers[i]->peer, &m) == BEZEL_EUNREACH)
            serve_consumer_end(v, v->consumers[i]);
}

/*
 * Whether there is a place for one more, by a look at who is gone, if there was none just before. The last reader of a
 * place may still be ending.
 */
static bool has_place(struct serve_server *v)
{
    int64_t now = clock_now();
    if (v->count == v->options->consumers && v->beat_at - now < SERVE_HEARTBEAT - SERVE_LOOK)
        beat(v, now);
    for (int i = 0; i < ENDING_LOOKS && v->count + v->ending >= v->options->consumers && v->ending > 0; i++) {
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = CLOCK_MS}, NULL);
        serve_reap(v);
    }
    return v->count + v->ending < v->options->consumers;
}

/* Whether a reader of this connection has not ended yet: a consumer that reads anew without pause has one at a time. */
static bool is_ending_for(struct serve_server *v, uint64_t connection)
{
    serve_reap(v);
    for (unsigned i = 0; i < v->ending; i++)
        if (connection && v->endings[i].connection == connection) /* 0: not known */
            return true;
    return false;
}

/* ---- what comes from consumers ----------------------------------------------------------------------------------- */

/* Who controls a run may mirror it: `bezel run`, whose collector is on a node. */
static bool may(const struct link_frame *frame, bool mirrors)
{
    return (mirrors && frame->roles & KEY_CONTROL) || link_may(frame, KEY_READ);
}

/* Why a new consumer cannot be served; NULL: it can. Fits into a REFUSE. */
static const char *why_not(struct serve_server *v, const struct link_frame *frame, const struct read_message *m)
{
    if (!may(frame, m->type == READ_MIRROR))
        return "your key does not have the role read here: add `read` to the roles in its .pub file in the server's "
               "folder of keys";
    if (v->end_at)
        return "the server ends: what is stored can be read from the run directory, or by `bezel serve RUN`";
    if ((m->type == READ_MIRROR ? m->mirror.credit : m->read.credit) < READ_CREDIT_MIN)
        return "the first credit is less than 67584 bytes, which one message may have: give at least so much";
    if (is_ending_for(v, link_connection(frame)))
        return "the reader that this server had for the consumer before has not ended yet: read again in a moment";
    if (!has_place(v))
        return "there are as many consumers as this server serves at a time: end one first";
    return NULL;
}

_Static_assert(READ_CREDIT_MIN == 67584, "why_not() says so");

static void begin(struct serve_server *v, const struct link_frame *frame, const struct read_message *m)
{
    const char *why = why_not(v, frame, m);
    int err = why ? 0 : serve_consumer_start(v, frame, m);
    if (err) {
        log_error("BEZEL-SERVE-READER", "a reader cannot be started: %s", ulimit_reason(err));
        why = "the server cannot start a process that reads for this consumer: its log says why";
    }
    if (why)
        serve_refuse(v, &frame->peer, why);
}

/* A frame of a known consumer. Returns what is wrong with it; NULL: nothing. */
static const char *take(struct serve_consumer *c, const struct link_frame *frame, int err, const struct read_message *m)
{
    if (!may(frame, c->mirrors))
        return "your key does not have the role read here any more";
    if (!err && m->type == READ_HAVE && c->mirrors)
        return serve_consumer_answer(c, frame) ? NULL : "a mirror answers FILE, one HAVE each, and sends no more";
    if (err || (m->type != READ_CREDIT && m->type != READ_HEARTBEAT))
        return "a consumer sends one READ, then CREDIT, HEARTBEAT and END alone; a mirror MIRROR, and HAVE, too";
    if (m->type == READ_CREDIT)
        serve_consumer_credit(c, m->credit);
    return NULL;
}

static void receive(struct serve_server *v, const struct link_frame *frame)
{
    static const char unknown[] =
        "this server does not know the consumer: it was restarted, or the consumer was away: read again";
    struct read_message m;
    int err = read_message_decode(frame->data, frame->size, &m);
    struct serve_consumer *c = serve_find(v, &frame->peer);
    bool leaves = !err && m.type == READ_END;
    if (c && leaves)
        serve_consumer_end(v, c);
    else if (c) {
        const char *why = take(c, frame, err, &m);
        if (why) {
            serve_refuse(v, &frame->peer, why);
            serve_consumer_end(v, c);
        }
    } else if (err == BEZEL_EVERSION)
        serve_refuse(v, &frame->peer, m.refuse.reason);
    else if (err)
        serve_refuse(v, &frame->peer, "this is where consumers read a run: messages of other kinds are not understood");
    else if (m.type == READ_READ || m.type == READ_MIRROR)
        begin(v, frame, &m);
    else if (m.type == READ_CREDIT || m.type == READ_HAVE)
        serve_deny(v, &frame->peer, unknown); /* most often it had not taken its END yet */
    else if (m.type != READ_REFUSE && !leaves)
        serve_refuse(v, &frame->peer, unknown);
}

static void receive_frames(struct serve_server *v)
{
    struct link_frame frame;
    for (int budget = FRAMES_A_TURN; budget > 0; budget--) {
        int err = link_receive(v->link, &frame);
        if (err == BEZEL_EAGAIN)
            return;
        if (err)
            continue;
        receive(v, &frame);
        link_frame_free(&frame);
    }
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static void end_unidentified(struct serve_server *v, int64_t now)
{
    uint64_t known[SERVE_CONSUMERS_MAX];
    v->unidentified_at = now + UNIDENTIFIED_PEERS_EVERY;
    for (unsigned i = 0; i < v->count; i++)
        known[i] = v->consumers[i]->connection;
    unsigned ended = unidentified_peers_look(v->unidentified, known, v->count, now);
    if (ended)
        log_warn("BEZEL-UNIDENTIFIED", "%u connections that belong to no consumer were ended", ended);
}

static void tick(struct serve_server *v, int64_t now)
{
    if (now >= v->beat_at)
        beat(v, now);
    if (now >= v->unidentified_at && v->unidentified)
        end_unidentified(v, now);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* Has the readers send what is stored by now, and end. */
static void begin_end(struct serve_server *v)
{
    if (v->end_at)
        return;
    v->end_at = clock_now() + SERVE_GRACE;
    v->end_latest = clock_now() + SERVE_GRACE_MOST;
    v->beat_at = 0; /* which finds those that are gone */
    for (unsigned i = 0; i < v->count; i++)
        serve_consumer_finish(v->consumers[i]);
}

static void wait_for_something(struct serve_server *v)
{
    int fds[SERVE_CONSUMERS_MAX + 2] = {v->signals, v->end_at ? -1 : v->options->parent_pipe};
    bool stuck = false;
    size_t n = 2;
    for (unsigned i = 0; i < v->count; i++) {
        fds[n++] = serve_consumer_fd(v->consumers[i]);
        stuck = stuck || v->consumers[i]->held;
    }
    int64_t now = clock_now(), until = v->beat_at < v->unidentified_at ? v->beat_at : v->unidentified_at;
    if (v->end_at && v->end_at < until)
        until = v->end_at;
    if (stuck && now + SERVE_RETRY < until)
        until = now + SERVE_RETRY;
    (void)link_wait(&v->link, 1, fds, n, until > now ? until - now : 0);
}

/* Who still takes what is stored has more time. */
static void put_off_end(struct serve_server *v, int64_t now)
{
    int64_t later = now + SERVE_GRACE;
    v->end_at = later < v->end_latest ? later : v->end_latest;
}

static void serve(struct serve_server *v)
{
    while (!v->end_at || (v->count > 0 && clock_now() < v->end_at)) {
        wait_for_something(v);
        if (lifetime_terms(v->signals) > 0 || lifetime_is_deserted(v->options->parent_pipe))
            begin_end(v);
        receive_frames(v);
        uint64_t sent = v->sent;
        for (unsigned i = v->count; i-- > 0;)
            serve_consumer_turn(v, v->consumers[i]);
        if (v->end_at && v->sent != sent)
            put_off_end(v, clock_now());
        serve_reap(v);
        tick(v, clock_now());
    }
}

/* ---- start and end ----------------------------------------------------------------------------------------------- */

static void on_interrupt(int sig)
{
    (void)sig;
    kill(getpid(), SIGTERM); /* which the loop reads */
}

static int start(struct serve_server *v)
{
    const struct serve_server_options *o = v->options;
    lifetime_parent_pipe(o->parent_pipe);
    v->signals = lifetime_signals(LIFETIME_NO_OTHER);
    if (o->parent_pipe < 0)
        signal(SIGINT, on_interrupt);
    int ready = o->ready, err = v->signals < 0 ? BEZEL_ESYS : 0;
    int keys = !err && o->key ? link_keys_open(o->key, o->keys, NULL, &v->keys) : 0;
    if (keys)
        return keys; /* it has named the file */
    if (!err)
        err = link_bind(o->listen, READ_FRAME_MAX, o->key ? &v->keys : NULL, &v->link);
    if (err == BEZEL_EBUSY)
        log_error("BEZEL-ENDPOINT-BUSY", "%s: in use by another program: use another port, or *", o->listen);
    else if (err)
        log_error("BEZEL-ENDPOINT", "%s: %s", o->listen, ulimit_reason(err));
    if (err)
        return err;
    v->unidentified = unidentified_peers_new(link_endpoint(v->link)); /* NULL: connections are not looked at */
    log_info("BEZEL-SERVE", "consumers read %s at %s", o->run, link_endpoint(v->link));
    lifetime_ready(&ready, link_endpoint(v->link));
    return 0;
}

static double cpu_of(int who)
{
    struct rusage u = {0};
    getrusage(who, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void stop(struct serve_server *v)
{
    static const char late[] = "the server ended before this consumer had taken all: what is stored can be read from "
                               "the run directory, or by `bezel serve RUN`";
    while (v->count > 0)
        serve_consumer_stop(v, v->consumers[v->count - 1], late);
    while (v->ending > 0)
        if (waitpid(v->endings[v->ending - 1].pid, NULL, 0) >= 0 || errno != EINTR)
            v->ending--;
    link_close(v->link, LINGER_MS);
    link_keys_close(&v->keys);
    unidentified_peers_free(v->unidentified);
    log_info("BEZEL-SERVE-END", "%s consumers received %s in all; this took %.2f s of CPU time, their readers %.2f s",
             units_count(v->begun).s, units_bytes(v->sent).s, cpu_of(RUSAGE_SELF), cpu_of(RUSAGE_CHILDREN));
    if (v->signals >= 0)
        close(v->signals);
}

int serve_server_run(const struct serve_server_options *options)
{
    struct serve_server *v = calloc(1, sizeof *v);
    if (!v)
        return EXIT_FAILED;
    v->options = options;
    v->signals = -1;
    int err = start(v);
    if (!err)
        serve(v);
    if (v->link)
        stop(v);
    else
        link_keys_close(&v->keys);
    free(v);
    return err ? EXIT_FAILED : EXIT_OK;
}
