// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/manager/manager_daemon.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/log.h"
#include "base/serve.h"
#include "mdr/link/link.h"
#include "mdr/message.h"
#include "resmgr/manager/manager.h"
#include "resmgr/manager/node_links.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/*
 * One turn: receive the nodes' messages, decide if a decision is due, send what is due; then wait for a link or for
 * time. There is one link to each node's control endpoint. Messages that wait in a link's queue while its node is away
 * are stale when they arrive, and the node discards them. The queue is short all the same.
 */

enum {
    A_TURN = 64,     /* messages of one node, at most, in a turn */
    DESCRIPTORS = 2, /* signals and parent pipe */
};

#define LOOK_EVERY (50 * CLOCK_MS) /* at links beyond LINK_WAIT_MAX */

struct manager_daemon {
    struct experiment *experiment;
    struct manager *manager;
    struct link *links[EXPERIMENT_NODES_MAX];
    int signals, parent_pipe;
    bool refusal_reported;
    uint64_t malformed, unsent;
    struct message message; /* scratch */
    uint8_t bytes[MESSAGE_MAX_BYTES];
};

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static int read_experiment(const char *path, struct experiment **e)
{
    char *text;
    size_t n;
    struct experiment_diagnostics found = {0};
    if (file_read(path, EXPERIMENT_FILE_MAX, &text, &n) != 0) {
        log_error("BEZEL-RESMGR-FILE", "cannot read %s: %s", path, strerror(errno));
        return BEZEL_EMALFORMED;
    }
    int err = experiment_read(text, n, e, &found);
    if (err)
        experiment_print_diagnostics(&found, path, stderr);
    experiment_diagnostics_free(&found);
    free(text);
    return err;
}

static int open_all(struct manager_daemon *s, const struct manager_daemon_options *o)
{
    struct message_leadership leadership = {.epoch = o->epoch};
    s->signals = serve_signals();
    s->parent_pipe = o->parent_pipe;
    serve_parent_pipe(s->parent_pipe);
    if (s->signals < 0 || getrandom(&leadership.holder, sizeof leadership.holder, 0) != sizeof leadership.holder) {
        log_error("BEZEL-RESMGR", "cannot set up signals or draw a random identity: %s; the manager does not start",
                  strerror(errno));
        return BEZEL_ESYS;
    }
    int err = read_experiment(o->experiment, &s->experiment);
    if (!err)
        err = manager_new(s->experiment, leadership, clock_now(), &s->manager);
    return err ? err : node_links_open(s->experiment, o, s->links);
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

static void report_refusal(struct manager_daemon *s, uint32_t node)
{
    if (!s->refusal_reported)
        log_error("BEZEL-RESMGR-REFUSED", "node %s refuses this manager: %s", s->experiment->nodes[node].name,
                  s->message.refuse.reason);
    s->refusal_reported = true;
}

static void receive(struct manager_daemon *s, uint32_t node)
{
    struct link_frame frame;
    for (int i = 0; i < A_TURN && link_receive(s->links[node], &frame) == 0; i++) {
        int err = message_decode(frame.data, frame.size, &s->message);
        link_frame_free(&frame);
        if (!err && s->message.type == MESSAGE_OBSERVATION)
            manager_receive(s->manager, node, &s->message.observation, clock_now());
        else if (!err && s->message.type == MESSAGE_PARTIALS)
            manager_receive_partials(s->manager, node, &s->message.partials, clock_now());
        else if ((!err || err == BEZEL_EVERSION) && s->message.type == MESSAGE_REFUSE)
            report_refusal(s, node);
        else
            s->malformed++;
    }
}

/* A full queue belongs to a node that is away: when it is back, it gets the setpoint of that time. */
static void send_message(struct manager_daemon *s, uint32_t node)
{
    int size = message_encode(&s->message, s->bytes, sizeof s->bytes);
    if (size < 0 || link_send(s->links[node], NULL, s->bytes, (size_t)size) != 0)
        s->unsent++;
}

static void send_due(struct manager_daemon *s, uint32_t node)
{
    int64_t now = clock_now();
    if (manager_asks(s->manager, node, now)) {
        s->message.type = MESSAGE_WATCH;
        send_message(s, node);
    }
    if (manager_send(s->manager, node, now, &s->message.setpoint)) {
        s->message.type = MESSAGE_SETPOINT;
        send_message(s, node);
    }
}

static void turn(struct manager_daemon *s)
{
    uint32_t count = s->experiment->node_count;
    for (uint32_t i = 0; i < count; i++)
        receive(s, i);
    manager_step(s->manager, clock_now());
    for (uint32_t i = 0; i < count; i++)
        send_due(s, i);
    uint32_t reporter;
    if (manager_judges(s->manager, clock_now(), &reporter, &s->message.judgement)) {
        s->message.type = MESSAGE_JUDGEMENT;
        send_message(s, reporter);
    }
}

/* The first SIGTERM ends the manager: there is nothing to drain. */
static bool is_to_end(const struct manager_daemon *s)
{
    bool deserted = serve_is_deserted(s->parent_pipe);
    if (deserted)
        log_warn("BEZEL-PARENT-PIPE",
                 "`bezel run` is gone (its parent pipe is closed): the manager ends, and nodes keep how they poll");
    return serve_terms(s->signals) > 0 || deserted;
}

static void wait_for_something(struct manager_daemon *s)
{
    int64_t now = clock_now(), due = manager_due(s->manager, now);
    size_t count = s->experiment->node_count;
    int fds[DESCRIPTORS] = {s->signals, s->parent_pipe};
    if (count + DESCRIPTORS > LINK_WAIT_MAX) {
        count = LINK_WAIT_MAX - DESCRIPTORS;
        due = due < now + LOOK_EVERY ? due : now + LOOK_EVERY;
    }
    link_wait(s->links, count, fds, DESCRIPTORS, due > now ? due - now : 0);
}

static void serve(struct manager_daemon *s)
{
    while (!is_to_end(s) && !manager_superseded(s->manager)) {
        turn(s);
        wait_for_something(s);
    }
}

static void log_counts(const struct manager_daemon *s)
{
    const struct manager_counts *c = manager_counts(s->manager);
    log_info("BEZEL-RESMGR-COUNTS",
             "%" PRIu64 " observations received (%" PRIu64 " discarded as old or invalid), %" PRIu64
             " decisions, %" PRIu64 " changes of how nodes poll, %" PRIu64 " moves of knobs, %" PRIu64
             " setpoints sent (%" PRIu64 " messages not sent), %" PRIu64 " malformed messages",
             c->observations, c->late, c->steps, c->changes, c->moves, c->setpoints, s->unsent, s->malformed);
}

/* Logs the counts, and why the manager ends. Returns the exit code. */
static int conclude(const struct manager_daemon *s)
{
    const struct message_leadership *other = manager_superseded(s->manager);
    log_counts(s);
    if (!other)
        return EXIT_OK;
    log_error("BEZEL-RESMGR-SUPERSEDED", "nodes follow another resource manager, of epoch %" PRIu64 ": this one ends",
              other->epoch);
    return EXIT_FAILED;
}

int manager_daemon_run(const struct manager_daemon_options *options)
{
    struct manager_daemon *s = calloc(1, sizeof *s);
    if (!s)
        return EXIT_FAILED;
    int ready = options->ready, err = open_all(s, options),
        code = err == BEZEL_EMALFORMED || err == BEZEL_EINVAL ? EXIT_USAGE : EXIT_FAILED;
    if (!err) {
        serve_ready(&ready);
        serve(s);
        code = conclude(s);
    }
    for (uint32_t i = 0; i < EXPERIMENT_NODES_MAX; i++)
        link_close(s->links[i], 0);
    manager_free(s->manager);
    experiment_free(s->experiment);
    free(s);
    return code;
}
