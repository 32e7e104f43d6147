// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/server.h"

#include "base/clock.h"
#include "base/limit.h"
#include "base/log.h"
#include "base/serve.h"
#include "collector/intake.h"
#include "collector/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * One thread. A round of the loop: wait; signals and lease; commands; a turn of the intake (receive and store,
 * acknowledge, account); what time brings; save. Each is bounded, so that none starves the others.
 */
#define SERVER_DRAIN (2 * CLOCK_S) /* at most, for what still waits when the end was asked for */

enum { SERVER_LINGER_MS = 500 };

struct server {
    const struct server_options *options;
    int lock, signals;
    struct facts *facts;
    struct store *store;
    struct model *model;
    struct link_keys keys;
    struct link *data, *control;
    struct intake *intake;
    int64_t save_at, tick_at;
    int64_t end_at; /* when to stop waiting for peers; 0: serving */
    bool finish;    /* take what waits, and end */
    bool drained;   /* DRAIN was asked for */
    struct message in, out;
    uint8_t bytes[MESSAGE_MAX_BYTES];
};

/* ---- start ------------------------------------------------------------------------------------------------------- */

static int say(int err, const char *id, const char *what)
{
    log_error(id, "%s: %s", what, limit_reason(err));
    return err;
}

/* One collector for a run directory: the lock is on the directory itself and ends with its holder. */
static int lock_run(struct server *v)
{
    v->lock = open(v->options->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (v->lock < 0)
        return say(BEZEL_ESYS, "BEZEL-RUN-DIRECTORY", v->options->run);
    if (flock(v->lock, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return say(BEZEL_ESYS, "BEZEL-RUN-DIRECTORY", v->options->run);
    log_error("BEZEL-RUN-SERVED", "%s: another collector serves this run directory: end it first, or take another one",
              v->options->run);
    return BEZEL_EBUSY;
}

static int open_run(struct server *v)
{
    char run[MODEL_UUID_TEXT] = "";
    int err = facts_open(v->options->run, &v->facts);
    if (!err)
        err = facts_serve(v->facts, v->options->sync != STORE_SYNC_NEVER);
    if (err) {
        log_error("BEZEL-DATABASE", "run.db: %s", facts_why(err));
        return err;
    }
    err = facts_get(v->facts, "run", run, sizeof run);
    if (err && err != BEZEL_ENOENT)
        return say(err, "BEZEL-DATABASE", "run.db");
    v->model = model_new(run);
    if (!v->model)
        return say(BEZEL_ENOMEM, "BEZEL-START", "model");
    err = store_open(v->options->run, v->options->sync, &v->store);
    if (err)
        return say(err, "BEZEL-STORE", v->options->run);
    err = recover_run(v->facts, v->store, v->model);
    return err ? say(err, "BEZEL-RECOVER", v->options->run) : 0;
}

static int bind_one(const char *endpoint, size_t max_frame, const struct link_keys *keys, struct link **link)
{
    int err = link_bind(endpoint, max_frame, keys, link);
    if (err == BEZEL_EBUSY)
        log_error("BEZEL-ENDPOINT-BUSY", "%s: in use by another program: take another port, or tcp://127.0.0.1:*",
                  endpoint);
    else if (err)
        (void)!say(err, "BEZEL-ENDPOINT", endpoint);
    return err;
}

static int open_signals(struct server *v)
{
    v->signals = serve_signals();
    return v->signals < 0 ? say(BEZEL_ESYS, "BEZEL-START", "signalfd") : 0;
}

static int server_start(struct server *v)
{
    int err = open_signals(v);
    if (!err)
        err = lock_run(v);
    if (!err)
        err = open_run(v);
    if (!err && v->options->key)
        err = link_keys_open(v->options->key, v->options->keys, NULL, &v->keys);
    if (!err)
        err = bind_one(v->options->listen, v->options->packet_max, v->options->key ? &v->keys : NULL, &v->data);
    if (!err)
        err = bind_one(v->options->control, MESSAGE_MAX_BYTES, endpoint_path(v->options->control) ? NULL : &v->keys,
                       &v->control);
    if (err)
        return err;
    v->intake = intake_new(v->model, v->facts, v->store, v->data, v->options->limits);
    return v->intake ? 0 : say(BEZEL_ENOMEM, "BEZEL-START", "intake");
}

static void tell_ready(const struct server *v)
{
    if (v->options->ready < 0)
        return;
    dprintf(v->options->ready, "%s\n", link_endpoint(v->data));
    close(v->options->ready);
}

/* ---- control ----------------------------------------------------------------------------------------------------- */

static void fill_state(struct server *v, struct message_reply *reply)
{
    const char *path;
    int sys = store_failure(v->store, &path);
    reply->state = v->finish || v->end_at ? DAEMON_DRAINING : v->drained ? DAEMON_DRAINED : DAEMON_ACTIVE;
    reply->text[0] = '\0';
    if (sys) {
        reply->state = DAEMON_FAILED;
        bool full = sys == ENOSPC || sys == EDQUOT;
        errno = sys;
        snprintf(reply->text, sizeof reply->text, "%s: %s%s; the senders keep what is not stored, and resend it", path,
                 limit_reason(err_from_errno(sys)), full ? ": make room there" : "");
    }
}

static void fill_values(const struct server *v, struct message_reply *reply)
{
    const struct model_totals *t = &v->model->totals;
    reply->value_count = 0;
    message_reply_add(reply, "records", (int64_t)t->records);
    message_reply_add(reply, "bytes", (int64_t)t->bytes);
    message_reply_add(reply, "packets", (int64_t)t->packets);
    message_reply_add(reply, "discarded", (int64_t)t->discarded);
    message_reply_add(reply, "refused", (int64_t)t->refused);
    message_reply_add(reply, "over_rate", (int64_t)intake_over_rate(v->intake));
    message_reply_add(reply, "strangers", (int64_t)intake_strangers(v->intake));
    message_reply_add(reply, "peers", (int64_t)intake_peers(v->intake));
    message_reply_add(reply, "streams", (int64_t)t->streams);
    message_reply_add(reply, "processes", (int64_t)t->processes);
    message_reply_add(reply, "nodes", (int64_t)t->nodes);
    message_reply_add(reply, "store_errno", store_failure(v->store, NULL));
}

static void reply(struct server *v, const struct link_peer *peer)
{
    int n = message_encode(&v->out, v->bytes, sizeof v->bytes);
    if (n < 0 || link_send(v->control, peer, v->bytes, (size_t)n) != 0)
        log_warn("BEZEL-REPLY-LOST", "who sent the command does not listen");
}

static void obey(struct server *v, const struct link_frame *frame)
{
    if (!link_may(frame, KEY_CONTROL)) {
        v->out.type = MESSAGE_REFUSE;
        v->out.refuse = (struct message_refuse){.reason = "your key has not the role control at this daemon"};
        reply(v, &frame->peer);
        return;
    }
    if (message_decode(frame->data, frame->size, &v->in) != 0 || v->in.type != MESSAGE_COMMAND) {
        log_warn("BEZEL-COMMAND-REFUSED", "not a command");
        return;
    }
    if (v->in.command.verb == VERB_DRAIN) {
        v->drained = true;
        store_hurry(v->store);
    }
    if (v->in.command.verb == VERB_STOP)
        v->finish = true;
    v->out.type = MESSAGE_REPLY;
    v->out.reply.id = v->in.command.id;
    fill_state(v, &v->out.reply);
    fill_values(v, &v->out.reply);
    reply(v, &frame->peer);
}

static void serve_control(struct server *v)
{
    struct link_frame frame;
    for (int i = 0; i < 16 && link_receive(v->control, &frame) == 0; i++) {
        obey(v, &frame);
        link_frame_free(&frame);
    }
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* From now on a second SIGTERM ends the process, whatever it waits for. */
static void take_signal(struct server *v)
{
    struct signalfd_siginfo info;
    sigset_t set;
    if (read(v->signals, &info, sizeof info) != sizeof info)
        return;
    v->finish = true;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    signal(SIGTERM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void watch_lease(struct server *v)
{
    char byte;
    struct pollfd lease = {.fd = v->options->lease, .events = POLLIN};
    if (v->end_at || lease.fd < 0 || poll(&lease, 1, 0) <= 0 || read(lease.fd, &byte, 1) > 0)
        return;
    log_warn("BEZEL-LEASE", "who started this collector is gone: it ends when its senders do, within 2 s");
    v->end_at = clock_now() + SERVER_DRAIN;
    store_hurry(v->store);
}

static void save_when_due(struct server *v, int64_t now)
{
    if (now < v->save_at || !intake_changed(v->intake))
        return;
    (void)!intake_save(v->intake); /* it said why; what was not saved is saved next time */
    v->save_at = now + INTAKE_SAVE;
}

static void server_wait(struct server *v)
{
    struct link *links[] = {v->data, v->control};
    int fds[] = {v->signals, v->end_at ? -1 : v->options->lease};
    int64_t now = clock_now(), until = v->tick_at;
    if (intake_changed(v->intake) && v->save_at < until)
        until = v->save_at;
    if (store_sync_at(v->store) != 0 && store_sync_at(v->store) < until)
        until = store_sync_at(v->store);
    (void)link_wait(links, 2, fds, 2, until > now ? until - now : 0);
}

static void server_loop(struct server *v)
{
    while (!v->finish) {
        server_wait(v);
        take_signal(v);
        watch_lease(v);
        serve_control(v);
        int taken = intake_turn(v->intake);
        int64_t now = clock_now();
        v->tick_at = intake_tick(v->intake, now, taken == 0);
        save_when_due(v, now);
        if (v->end_at && (now >= v->end_at || intake_peers(v->intake) == 0))
            v->finish = true;
    }
}

/* ---- end --------------------------------------------------------------------------------------------------------- */

/* What is in the socket is taken; then the database is brought up to date and becomes one file. */
static int server_finish(struct server *v)
{
    int64_t deadline = clock_now() + SERVER_DRAIN;
    store_hurry(v->store);
    while (intake_turn(v->intake) > 0 && clock_now() < deadline)
        ;
    int err = intake_finish(v->intake);
    return err ? say(err, "BEZEL-FINISH", "run.db is not complete; start the collector on this run again") : 0;
}

static void server_release(struct server *v)
{
    intake_free(v->intake);
    link_close(v->data, SERVER_LINGER_MS);
    link_close(v->control, SERVER_LINGER_MS);
    link_keys_close(&v->keys);
    int err = facts_close(v->facts);
    if (err)
        (void)!say(err, "BEZEL-FINISH", "run.db");
    store_close(v->store);
    model_free(v->model);
    if (v->signals >= 0)
        close(v->signals);
    if (v->lock >= 0)
        close(v->lock);
}

int server_run(const struct server_options *options)
{
    struct server *v = calloc(1, sizeof *v);
    if (!v)
        return 1;
    v->options = options;
    v->lock = v->signals = -1;
    int err = server_start(v);
    if (!err) {
        tell_ready(v);
        server_loop(v);
        err = server_finish(v);
    }
    server_release(v);
    free(v);
    return err ? 1 : 0;
}
