// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/collector_daemon.h"

#include "base/address.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/folder_lock.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/supervisor.h"
#include "base/ulimit.h"
#include "collector/clock_server.h"
#include "collector/evaluate/evaluate.h"
#include "collector/receive/receiver.h"
#include "collector/receive/recover.h"
#include "collector/serve_child.h"
#include "mdr/command/command_server.h"
#include "mdr/message.h"
#include "run/store/cover.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * One thread, beside that of clock_server.h. A round of the loop: wait; look at signals and parent pipe; take commands;
 * a turn of the receiver (receive and store, acknowledge, count); timers; save. Each step is bounded, so that none
 * starves the others.
 */
#define DRAIN_TIME (2 * CLOCK_S) /* the longest that it takes packets after it was requested to end */

enum { LINGER_MS = 500 };

/* In the order in which they end. */
static const struct serve_child_kind *const children[] = {&serve_child_metrics, &serve_child_engine,
                                                          &serve_child_serve};
enum { CHILDREN = sizeof children / sizeof *children };

struct collector_daemon {
    const struct collector_daemon_options *options;
    struct folder_lock lock;
    int signals;
    struct rundb *rundb;
    struct store *store;
    struct model *model;
    struct link_keys keys;
    struct link *data;
    struct command_server *control;
    struct clock_server *clock;
    struct receiver *receiver;
    struct keep keep;
    struct evaluate *evaluate;
    struct watermarks *watermarks;
    struct serve_child children[CHILDREN];
    int64_t save_at, tick_at;
    int64_t end_at; /* when to stop waiting for peers; 0: serving */
    bool finish;    /* take the frames that wait, and end */
    bool drained;   /* STOP was requested */
    bool paused;
    bool made; /* the run directory, where there was none */
};

/* ---- start ------------------------------------------------------------------------------------------------------- */

static int report(int err, const char *id, const char *what)
{
    log_error(id, "%s: %s", what, ulimit_reason(err));
    return err;
}

/* Whether the directory, which lies where others can write, is this user's alone. */
static bool is_own(int fd)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)))
        return true;
    errno = EPERM;
    return false;
}

/*
 * Locks the run directory, which is made where it is missing if the caller wants to hear so. A run directory has one
 * collector. Returns 0, or an error after a line on stderr.
 */
static int lock_directory(const struct collector_daemon_options *options, struct folder_lock *lock, bool *made)
{
    bool missing = options->id && made && access(options->run, F_OK) != 0 && errno == ENOENT;
    if (missing && file_make_dirs(options->run, 0700) != 0)
        return report(BEZEL_ESYS, "BEZEL-RUN-DIRECTORY", options->run);
    if (made)
        *made = missing;
    int fd = open(options->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (options->id ? O_NOFOLLOW : 0));
    bool own = fd >= 0 && (!options->id || is_own(fd));
    int err = own ? folder_lock(fd, lock) : BEZEL_ESYS;
    if (own && err == BEZEL_ESYS && (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP)) {
        log_warn("BEZEL-RUN-UNLOCKED",
                 "%s cannot be locked: %s; nothing keeps a second collector away from it, and readers may report that "
                 "the run has ended",
                 options->run, strerror(errno));
        err = 0;
    }
    if (err == BEZEL_EBUSY)
        log_error("BEZEL-RUN-SERVED",
                  "%s: another collector serves this run directory, here or on another machine: end it first, or use "
                  "another directory",
                  options->run);
    else if (err)
        (void)!report(err, "BEZEL-RUN-DIRECTORY", options->run);
    if (fd >= 0)
        close(fd);
    return err;
}

/* The id of a run whose directory this collector made is not there yet. */
static int read_id(struct collector_daemon *v, char run[MODEL_UUID_TEXT])
{
    int err = rundb_get(v->rundb, "run", run, MODEL_UUID_TEXT);
    if (err != BEZEL_ENOENT || !v->options->id)
        return err == BEZEL_ENOENT ? 0 : err;
    snprintf(run, MODEL_UUID_TEXT, "%s", v->options->id);
    return rundb_put(v->rundb, "run", run);
}

/* Readers of the run find in run.db the settings of its order that differ from the defaults. */
static int put_order(struct collector_daemon *v)
{
    const struct order_settings *order = &v->options->order, *ours = &order_settings_default;
    int err = 0;
    if (order->buffers != ours->buffers)
        err = rundb_put(v->rundb, RUNDB_ORDER_BUFFERS, order_buffers_word(order->buffers));
    if (!err && order->memory != ours->memory)
        err = rundb_put_int(v->rundb, RUNDB_ORDER_MEMORY, (int64_t)order->memory);
    if (!err && order->wait != ours->wait)
        err = rundb_put_int(v->rundb, RUNDB_ORDER_WAIT, order->wait);
    return err;
}

/* The clock of the first collector is the run's. All readers use the order settings with which it was started. */
static int begin_clock(struct collector_daemon *v)
{
    char text[MODEL_UUID_TEXT];
    uint8_t identity[16];
    int err = rundb_get(v->rundb, RUNDB_CLOCK, text, sizeof text);
    if (err != BEZEL_ENOENT)
        return err;
    clock_identity(identity);
    model_uuid_text(identity, text);
    err = put_order(v);
    if (!err)
        err = rundb_put_int(v->rundb, RUNDB_CLOCK_AHEAD, clock_realtime_offset());
    return err ? err : rundb_put(v->rundb, RUNDB_CLOCK, text);
}

/* A file system without holes cannot free the beginning of a file: a run there would outgrow its room unseen. */
static int begin_to_keep(struct collector_daemon *v)
{
    const struct store_keep *to = &v->options->keep;
    int sys = to->bytes || to->time ? cover_try(v->options->run) : 0;
    if (sys == EOPNOTSUPP || sys == ENOSYS) {
        log_error("BEZEL-STORE-KEEP",
                  "%s: its file system cannot free the beginning of a file, as store.keep needs: put the run on ext4, "
                  "XFS, Btrfs or tmpfs, or leave store.keep out",
                  v->options->run);
        return BEZEL_EINVAL;
    }
    int err = keep_init(&v->keep, to, v->rundb, v->store, v->model, clock_now());
    return err ? report(err, "BEZEL-DATABASE", "run.db") : 0;
}

static int open_run(struct collector_daemon *v)
{
    char run[MODEL_UUID_TEXT] = "";
    int err = rundb_open(v->options->run, &v->rundb);
    if (!err)
        err = rundb_serve(v->rundb, v->options->sync != STORE_SYNC_NEVER);
    if (err) {
        log_error("BEZEL-DATABASE", "run.db: %s%s", rundb_why(err), file_room(v->options->run, errno));
        return err;
    }
    err = read_id(v, run);
    if (!err)
        err = begin_clock(v);
    if (err)
        return report(err, "BEZEL-DATABASE", "run.db");
    v->model = model_new(run);
    if (!v->model)
        return report(BEZEL_ENOMEM, "BEZEL-START", "model");
    err = store_open(v->options->run, v->options->sync, &v->store);
    if (err)
        return report(err, "BEZEL-STORE", v->options->run);
    err = recover_run(v->rundb, v->store, v->model);
    if (err)
        return report(err, "BEZEL-RECOVER", v->options->run);
    return begin_to_keep(v);
}

int collector_daemon_endpoint(int err, const char *endpoint)
{
    if (err == BEZEL_EBUSY)
        log_error("BEZEL-ENDPOINT-BUSY", "%s: in use by another program: use another port, or tcp://127.0.0.1:*",
                  endpoint);
    else if (err)
        (void)!report(err, "BEZEL-ENDPOINT", endpoint);
    return err;
}

static int open_signals(struct collector_daemon *v)
{
    lifetime_parent_pipe(v->options->parent_pipe);
    v->signals = lifetime_signals(LIFETIME_NO_OTHER);
    return v->signals < 0 ? report(BEZEL_ESYS, "BEZEL-START", "signalfd") : 0;
}

/* Without them, who reads the run meanwhile holds records back for a fixed time. */
static void open_watermarks(struct collector_daemon *v)
{
    int err = v->options->listen ? watermarks_open(v->options->run, &v->watermarks) : 0;
    if (err)
        log_warn("BEZEL-WATERMARKS", "%s/watermarks: %s: readers of the run do not know how far it is complete",
                 v->options->run, ulimit_reason(err));
    receiver_set_watermarks(v->receiver, v->watermarks);
}

static int start(struct collector_daemon *v)
{
    int err = open_signals(v);
    if (!err)
        err = lock_directory(v->options, &v->lock, &v->made);
    if (!err)
        err = open_run(v);
    if (!err && v->options->key)
        err = link_keys_open(v->options->key, v->options->keys, NULL, &v->keys);
    const char *listen = v->options->listen ? v->options->listen : "tcp://127.0.0.1:*";
    if (!err)
        err = collector_daemon_endpoint(
            link_bind(listen, v->options->packet_max, v->options->key ? &v->keys : NULL, &v->data), listen);
    if (!err && v->options->control)
        err = collector_daemon_endpoint(
            command_server_open(v->options->control, endpoint_path(v->options->control) ? NULL : &v->keys, &v->control),
            v->options->control);
    if (err)
        return err;
    link_set_relay(v->data);
    v->receiver = receiver_new(v->model, v->rundb, v->store, v->data, v->options->limits);
    if (!v->receiver)
        return report(BEZEL_ENOMEM, "BEZEL-START", "receiver");
    receiver_set_keep(v->receiver, &v->keep);
    receiver_set_evaluate(v->receiver, v->evaluate = evaluate_new(v->model, v->rundb, clock_now()));
    if (!v->evaluate)
        return report(BEZEL_ENOMEM, "BEZEL-START", "evaluators");
    open_watermarks(v);
    if (v->options->listen) /* else no node will connect */
        v->clock = clock_server_open(v->options->listen, v->options->key ? &v->keys : NULL, &v->options->clock, false);
    receiver_set_clock_port(v->receiver, clock_server_port(v->clock));
    return 0;
}

/* ---- control ----------------------------------------------------------------------------------------------------- */

static void fill_state(struct collector_daemon *v, struct message_reply *reply)
{
    const char *path;
    int sys = store_failure(v->store, &path);
    reply->state = v->finish || v->end_at ? DAEMON_DRAINING
                   : v->drained           ? DAEMON_DRAINED
                   : v->paused            ? DAEMON_PAUSED
                                          : DAEMON_ACTIVE;
    reply->text[0] = '\0';
    if (sys) {
        reply->state = DAEMON_FAILED;
        errno = sys;
        snprintf(reply->text, sizeof reply->text, "%s: %s%s; the nodes keep unstored packets, and send them again",
                 path, ulimit_reason(err_from_errno(sys)), file_room(v->options->run, sys));
    }
}

/* While it is paused it stores nothing; the nodes keep their packets, and send them again afterwards. */
static void pause_store(struct collector_daemon *v, bool paused)
{
    if (v->paused != paused)
        log_info(paused ? "BEZEL-PAUSED" : "BEZEL-RESUMED", "%s",
                 paused ? "paused by an operator: nothing is stored, and the nodes keep their packets"
                        : "the pause is over");
    v->paused = paused;
    receiver_pause(v->receiver, paused);
}

/* Carries out a command. False: a collector has no such command. */
static bool carry_out(struct collector_daemon *v, const struct message_command *c)
{
    switch (c->verb) {
    case VERB_QUERY:
        return c->subject == SUBJECT_STATE;
    case VERB_START:
    case VERB_RESUME:
        pause_store(v, false);
        return true;
    case VERB_PAUSE:
        pause_store(v, true);
        return true;
    case VERB_STOP:
        pause_store(v, false);
        v->drained = true;
        store_hurry(v->store);
        return true;
    case VERB_SHUTDOWN:
        pause_store(v, false);
        v->finish = true;
        return true;
    default:
        return false;
    }
}

/* Its options have configured it; a manager gives it the experiment, whose metrics of several nodes it evaluates. */
static const char *configure(struct collector_daemon *v, const struct message *m)
{
    return m->configure.experiment[0] ? evaluate_configure(v->evaluate, m->configure.experiment, clock_now()) : NULL;
}

static void send_values(struct collector_daemon *v, const struct command_request *to)
{
    struct message *m = command_server_message(v->control);
    m->type = MESSAGE_VALUES;
    evaluate_values(v->evaluate, clock_now(), &m->values);
    (void)!command_server_send(v->control, to, NULL); /* a manager that gets none asks again */
}

uint32_t collector_daemon_port(const struct link *link)
{
    struct address address;
    const char *why;
    return address_read(link_endpoint(link), &address, &why) == 0 ? address.port : 0;
}

static void serve_control(struct collector_daemon *v)
{
    struct command_request from;
    for (int budget = 16; command_server_receive(v->control, &budget, &from);) {
        const struct message *m = command_server_message(v->control);
        if (m->type == MESSAGE_WATCH)
            send_values(v, &from);
        if (m->type != MESSAGE_COMMAND)
            continue;
        const char *why = NULL;
        if (m->command.verb == VERB_CONFIGURE)
            why = configure(v, m);
        else if (!carry_out(v, &m->command))
            why = "a collector does not carry out this command";
        if (why) {
            command_server_refuse(v->control, &from, ANSWER_REFUSED, why);
            continue;
        }
        struct message_reply reply = {.answer = ANSWER_COLLECTOR};
        fill_state(v, &reply);
        receiver_status(v->receiver, &reply.collector);
        reply.collector.port = collector_daemon_port(v->data);
        command_server_reply(v->control, &from, NULL, &reply);
    }
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static void take_signal(struct collector_daemon *v)
{
    if (lifetime_terms(v->signals) == 0)
        return;
    v->finish = true;
    lifetime_end_on_next();
}

bool collector_daemon_is_deserted(const struct collector_daemon_options *options, int64_t *end_at)
{
    if (*end_at || !lifetime_is_deserted(options->parent_pipe))
        return false;
    log_warn("BEZEL-PARENT-PIPE",
             "the process that started this collector is gone: it ends with its last node, or in 2 s");
    *end_at = clock_now() + DRAIN_TIME;
    return true;
}

static void save_when_due(struct collector_daemon *v, int64_t now)
{
    if (now < v->save_at || !receiver_changed(v->receiver))
        return;
    (void)!receiver_save(v->receiver); /* it logs the error; the next save retries */
    v->save_at = now + RECEIVER_SAVE;
}

/* And takes what signals and parent pipe have to say. */
static void wait_for_something(struct collector_daemon *v)
{
    struct link *links[] = {v->data, command_server_link(v->control)};
    int fds[2 + RECEIVER_DIRECT_MAX] = {v->signals, v->end_at ? -1 : v->options->parent_pipe};
    size_t more;
    int64_t now = clock_now(), until = v->tick_at;
    if (receiver_changed(v->receiver) && v->save_at < until)
        until = v->save_at;
    if (store_sync_at(v->store) != 0 && store_sync_at(v->store) < until)
        until = store_sync_at(v->store);
    int64_t most = receiver_sleep(v->receiver, fds + 2, &more, until > now ? until - now : 0);
    (void)link_wait_which(links, 2, fds, 2 + more, most);
    receiver_awake(v->receiver);
    if (fds[0] >= 0)
        take_signal(v);
    if (fds[1] >= 0 && collector_daemon_is_deserted(v->options, &v->end_at))
        store_hurry(v->store);
}

static void serve(struct collector_daemon *v)
{
    while (!v->finish) {
        wait_for_something(v);
        serve_control(v);
        int taken = receiver_turn(v->receiver);
        int64_t now = clock_now();
        v->tick_at = receiver_tick(v->receiver, now, taken == 0);
        (void)supervisor_alive(now); /* the tick turns the loop often enough */
        save_when_due(v, now);
        for (size_t i = 0; i < CHILDREN; i++)
            serve_child_look(&v->children[i], now);
        if (v->end_at && (now >= v->end_at || receiver_peers(v->receiver) == 0))
            v->finish = true;
    }
}

/* ---- end --------------------------------------------------------------------------------------------------------- */

/* Takes the frames that wait in the socket; then brings the database up to date. release() makes it one file. */
static int finish(struct collector_daemon *v)
{
    int64_t deadline = clock_now() + DRAIN_TIME;
    store_hurry(v->store);
    while (receiver_turn(v->receiver) > 0 && clock_now() < deadline)
        ;
    int err = receiver_finish(v->receiver);
    const char *path;
    if (err && store_settle(v->store) != 0 && store_failure(v->store, &path))
        log_error(
            "BEZEL-STORE-LOST",
            "%s: its file system had taken packets that it cannot store: %s; start a collector on this run again, "
            "which counts those that are there; with store.sync no such packet is acknowledged",
            path, ulimit_reason(err));
    else if (err)
        (void)!report(err, "BEZEL-FINISH",
                      "run.db is not complete: start a collector on this run again, which completes it");
    return err;
}

static void release(struct collector_daemon *v)
{
    clock_server_close(v->clock);
    receiver_free(v->receiver);
    evaluate_free(v->evaluate);
    watermarks_close(v->watermarks);
    link_close(v->data, LINGER_MS);
    command_server_close(v->control, LINGER_MS);
    link_keys_close(&v->keys);
    int err = rundb_close(v->rundb);
    if (err)
        (void)!report(err, "BEZEL-FINISH", "run.db");
    store_close(v->store);
    model_free(v->model);
    if (v->signals >= 0)
        close(v->signals);
    folder_unlock(&v->lock);
    for (size_t i = 0; i < CHILDREN; i++)
        serve_child_close(&v->children[i]); /* to which the run is over now */
}

int collector_daemon_run(const struct collector_daemon_options *options)
{
    struct collector_daemon *v = calloc(1, sizeof *v);
    if (!v)
        return EXIT_FAILED;
    v->options = options;
    v->lock = (struct folder_lock){-1, -1};
    v->signals = -1;
    int ready = options->ready, err = start(v);
    if (!err) {
        supervisor_ready();
        lifetime_ready(&ready, v->data ? link_endpoint(v->data) : "");
        if (v->options->listen) { /* else only what is stored is read */
            for (size_t i = 0; i < CHILDREN; i++)
                serve_child_open(&v->children[i], children[i], v->options);
            serve(v);
        }
        err = finish(v);
    }
    bool useless = v->made && !v->receiver; /* it could not begin */
    release(v);
    if (useless && file_remove_tree(options->run) != 0)
        log_warn("BEZEL-RUN-DIRECTORY", "%s cannot be removed: %s", options->run, strerror(errno));
    free(v);
    return err ? EXIT_FAILED : EXIT_OK;
}

int collector_daemon_discard(const struct collector_daemon_options *options)
{
    struct folder_lock lock = {-1, -1};
    int err = lock_directory(options, &lock, NULL);
    if (err) {
        folder_unlock(&lock);
        return EXIT_FAILED;
    }
    err = file_remove_tree(options->run);
    if (err)
        log_error("BEZEL-RUN-DIRECTORY", "%s cannot be removed: %s", options->run, strerror(errno));
    folder_unlock(&lock);
    return err ? EXIT_FAILED : EXIT_OK;
}
