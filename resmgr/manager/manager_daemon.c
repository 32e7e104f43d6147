// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/server.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/serve.h"
#include "mdr/link.h"
#include "mdr/message.h"
#include "resmgr/links.h"
#include "resmgr/manager.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/*
 * One turn: take what nodes say, decide where that is due, tell what is to be told; then wait for links or time. A link
 * to each node, on which the manager is one of those that command it. What waits in a link's queue while its node is
 * away is stale when it arrives, and the node knows it: the queue is short all the same.
 */

enum {
    EXIT_ENDED = 0,
    EXIT_FAILED = 1,
    EXIT_WRONG = 2,
    A_TURN = 64,     /* messages of a node that are taken at once */
    DESCRIPTORS = 2, /* signals and lease */
};

#define LOOK_EVERY (50 * CLOCK_MS) /* at the links that one wait has no room for */

struct server {
    struct experiment *experiment;
    struct manager *manager;
    struct link *links[EXPERIMENT_NODES_MAX];
    int signals, lease;
    bool told_refused;
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

static int open_server(struct server *s, const struct server_options *o)
{
    struct message_lease lease = {.epoch = o->epoch};
    s->signals = serve_signals();
    s->lease = o->lease;
    serve_lease(s->lease);
    if (s->signals < 0 || getrandom(&lease.holder, sizeof lease.holder, 0) != sizeof lease.holder) {
        log_error("BEZEL-RESMGR", "cannot start: %s", strerror(errno));
        return BEZEL_ESYS;
    }
    int err = read_experiment(o->experiment, &s->experiment);
    if (!err)
        err = manager_new(s->experiment, lease, clock_now(), &s->manager);
    return err ? err : links_open(s->experiment, o, s->links);
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

static void told_refused(struct server *s, uint32_t node)
{
    if (!s->told_refused)
        log_error("BEZEL-RESMGR-REFUSED", "node %s does not listen: %s", s->experiment->nodes[node].name,
                  s->message.refuse.reason);
    s->told_refused = true;
}

static void hear(struct server *s, uint32_t node)
{
    struct link_frame frame;
    for (int i = 0; i < A_TURN && link_receive(s->links[node], &frame) == 0; i++) {
        int err = message_decode(frame.data, frame.size, &s->message);
        link_frame_free(&frame);
        if (!err && s->message.type == MESSAGE_OBSERVATION)
            manager_hear(s->manager, node, &s->message.observation, clock_now());
        else if (!err && s->message.type == MESSAGE_PARTS)
            manager_hear_parts(s->manager, node, &s->message.parts, clock_now());
        else if (!err && s->message.type == MESSAGE_REFUSE)
            told_refused(s, node);
        else
            s->malformed++;
    }
}

/* A queue that is full is that of a node that is away: it gets what is true when it is back. */
static void say(struct server *s, uint32_t node)
{
    int size = message_encode(&s->message, s->bytes, sizeof s->bytes);
    if (size < 0 || link_send(s->links[node], NULL, s->bytes, (size_t)size) != 0)
        s->unsent++;
}

static void speak(struct server *s, uint32_t node)
{
    int64_t now = clock_now();
    if (manager_asks(s->manager, node, now)) {
        s->message.type = MESSAGE_WATCH;
        say(s, node);
    }
    if (manager_tells(s->manager, node, now, &s->message.setting)) {
        s->message.type = MESSAGE_SETTING;
        say(s, node);
    }
}

static void turn(struct server *s)
{
    uint32_t count = s->experiment->node_count;
    for (uint32_t i = 0; i < count; i++)
        hear(s, i);
    manager_step(s->manager, clock_now());
    for (uint32_t i = 0; i < count; i++)
        speak(s, i);
    uint32_t scribe;
    if (manager_judges(s->manager, clock_now(), &scribe, &s->message.judgement)) {
        s->message.type = MESSAGE_JUDGEMENT;
        say(s, scribe);
    }
}

/* The end is at once: nothing waits for a second SIGTERM. */
static bool told_to_end(const struct server *s)
{
    bool deserted = serve_is_deserted(s->lease);
    if (deserted)
        log_warn("BEZEL-LEASE", "`bezel run` is gone: ending");
    return serve_terms(s->signals) > 0 || deserted;
}

static void wait_for_something(struct server *s)
{
    int64_t now = clock_now(), due = manager_due(s->manager, now);
    size_t count = s->experiment->node_count;
    int fds[DESCRIPTORS] = {s->signals, s->lease};
    if (count + DESCRIPTORS > LINK_WAIT_MAX) {
        count = LINK_WAIT_MAX - DESCRIPTORS;
        due = due < now + LOOK_EVERY ? due : now + LOOK_EVERY;
    }
    link_wait(s->links, count, fds, DESCRIPTORS, due > now ? due - now : 0);
}

static void serve(struct server *s)
{
    while (!told_to_end(s) && !manager_superseded(s->manager)) {
        turn(s);
        wait_for_something(s);
    }
}

static void tell_counts(const struct server *s)
{
    const struct manager_counts *c = manager_counts(s->manager);
    log_info("BEZEL-RESMGR-COUNTS",
             "%" PRIu64 " observations heard (%" PRIu64 " of no use), %" PRIu64 " decisions, %" PRIu64
             " changes, %" PRIu64 " turns of knobs, %" PRIu64 " settings told (%" PRIu64 " not sent), %" PRIu64
             " messages made no sense",
             c->observations, c->late, c->steps, c->changes, c->turns, c->settings, s->unsent, s->malformed);
}

/* Tells how it went. Returns the exit code. */
static int conclude(const struct server *s)
{
    const struct message_lease *other = manager_superseded(s->manager);
    tell_counts(s);
    if (!other)
        return EXIT_ENDED;
    log_error("BEZEL-RESMGR-SUPERSEDED", "nodes obey another resource manager, of epoch %" PRIu64 ": this one ends",
              other->epoch);
    return EXIT_FAILED;
}

int server_run(const struct server_options *options)
{
    struct server *s = calloc(1, sizeof *s);
    if (!s)
        return EXIT_FAILED;
    int ready = options->ready, err = open_server(s, options),
        code = err == BEZEL_EMALFORMED || err == BEZEL_EINVAL ? EXIT_WRONG : EXIT_FAILED;
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
