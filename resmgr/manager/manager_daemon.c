// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/manager/manager_daemon.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "mdr/command/command_caller.h"
#include "mdr/command/command_server.h"
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
 * time. There is one link to each node's control endpoint, and one to the collector's if that evaluates metrics. The
 * collector has the experiment from the manager, and again when it was started anew. Messages that wait in a link's
 * queue while its node is away are stale when they arrive, and the node discards them. The queue is short all the same.
 */

enum {
    A_TURN = 64,     /* messages of one node, at most, in a turn */
    DESCRIPTORS = 2, /* signals and parent pipe */
    OTHERS = 2,      /* links beside those of nodes: its own control link, and the collector */
    CLOSE_LINGER_MS = 200,
};

#define LOOK_EVERY (50 * CLOCK_MS) /* at links beyond LINK_WAIT_MAX, and while paused */

struct manager_daemon {
    struct experiment *experiment;
    struct manager *manager;
    struct command_caller nodes[EXPERIMENT_NODES_MAX];
    struct command_caller collector; /* closed: it evaluates nothing */
    bool configured;                 /* the collector has the experiment */
    bool configure_refused;          /* it will not have it, which was logged */
    struct command_server *control;  /* NULL: it takes no commands */
    int signals, parent_pipe;
    uint64_t epoch;
    struct link_keys keys; /* of the control link, over tcp */
    bool refusal_reported;
    bool paused, shutdown;
    uint64_t malformed, unsent;
    struct message_judgement judgement; /* scratch, as */
    struct message message;
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

static int open_control(struct manager_daemon *s, const struct manager_daemon_options *o)
{
    int err = endpoint_path(o->control) ? 0 : link_keys_open(o->key, o->keys, NULL, &s->keys);
    if (err)
        return err; /* it has named the file */
    err = command_server_open(o->control, endpoint_path(o->control) ? NULL : &s->keys, &s->control);
    if (err)
        log_error("BEZEL-RESMGR-CONTROL", "cannot take commands at %s: %s", o->control, ulimit_reason(err));
    return err;
}

static int open_all(struct manager_daemon *s, const struct manager_daemon_options *o)
{
    struct message_leadership leadership = {.epoch = o->epoch};
    s->epoch = o->epoch;
    s->signals = lifetime_signals(LIFETIME_NO_OTHER);
    s->parent_pipe = o->parent_pipe;
    lifetime_parent_pipe(s->parent_pipe);
    if (s->signals < 0 || getrandom(&leadership.holder, sizeof leadership.holder, 0) != sizeof leadership.holder) {
        log_error("BEZEL-RESMGR", "cannot set up signals or draw a random identity: %s; the manager does not start",
                  strerror(errno));
        return BEZEL_ESYS;
    }
    int err = read_experiment(o->experiment, &s->experiment);
    if (!err)
        err = manager_new(s->experiment, leadership, clock_now(), &s->manager);
    if (!err)
        err = node_links_open(s->experiment, o, s->nodes);
    if (!err && manager_wants_values(s->manager))
        err = node_links_open_collector(s->experiment, o, &s->collector);
    return err || !o->control ? err : open_control(s, o);
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
    struct message *m = &s->message;
    int err;
    for (int i = 0; i < A_TURN && (err = command_caller_receive(&s->nodes[node], m)) != BEZEL_EAGAIN; i++) {
        if (!err && m->type == MESSAGE_OBSERVATION)
            manager_receive(s->manager, node, &m->observation, clock_now());
        else if (!err && m->type == MESSAGE_PARTIALS)
            manager_receive_partials(s->manager, node, &m->partials, clock_now());
        else if ((!err || err == BEZEL_EVERSION) && m->type == MESSAGE_REFUSE)
            report_refusal(s, node);
        else
            s->malformed++;
    }
}

/* ---- The collector ----------------------------------------------------------------------------------------------- */

static void refuse_configure(struct manager_daemon *s, const char *why)
{
    if (!s->configure_refused)
        log_error("BEZEL-RESMGR-COLLECTOR",
                  "the collector does not evaluate metrics of several nodes: %s; limits on them stay unknown", why);
    s->configure_refused = true;
}

/* Gives the collector the experiment, as a node has it: the first try only learns the collector's life. */
static void configure_collector(struct manager_daemon *s)
{
    char *text = NULL;
    size_t n = 0;
    struct message *m = &s->message;
    int err = experiment_part_text(s->experiment, 0, &text, &n);
    if (!err && n > MESSAGE_EXPERIMENT_MAX)
        err = BEZEL_EFULL;
    m->type = MESSAGE_COMMAND;
    m->command = (struct message_command){.verb = VERB_CONFIGURE};
    m->configure = (struct message_configure){.folder = ""};
    snprintf(m->configure.experiment, sizeof m->configure.experiment, "%s", err ? "" : text);
    free(text);
    if (err)
        refuse_configure(s, ulimit_reason(err));
    else if (command_caller_send(&s->collector, m) < 0)
        s->unsent++;
}

static void receive_collector(struct manager_daemon *s)
{
    struct message *m = &s->message;
    int err;
    for (int i = 0; i < A_TURN && (err = command_caller_receive(&s->collector, m)) != BEZEL_EAGAIN; i++) {
        if (!err && m->type == MESSAGE_VALUES) {
            s->configured = m->values.count > 0;
            manager_receive_values(s->manager, &m->values, clock_now());
        } else if ((!err || err == BEZEL_EVERSION) && m->type == MESSAGE_REFUSE)
            refuse_configure(s, m->refuse.reason);
        else if (!err && m->type == MESSAGE_REPLY && m->reply.answer == ANSWER_REFUSED)
            refuse_configure(s, m->reply.text);
        else if (err || m->type != MESSAGE_REPLY)
            s->malformed++;
    }
}

static void ask_collector(struct manager_daemon *s)
{
    if (!manager_asks_collector(s->manager, clock_now()))
        return;
    if (!s->configured && !s->configure_refused)
        configure_collector(s);
    s->message.type = MESSAGE_WATCH;
    if (command_caller_tell(&s->collector, &s->message) != 0)
        s->unsent++;
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/* A full queue belongs to a node that is away: when it is back, it gets the setpoint of that time. */
static void send_message(struct manager_daemon *s, uint32_t node)
{
    if (command_caller_tell(&s->nodes[node], &s->message) != 0)
        s->unsent++;
}

static void send_due(struct manager_daemon *s, uint32_t node)
{
    int64_t now = clock_now();
    if (manager_asks(s->manager, node, now)) {
        s->message.type = MESSAGE_WATCH;
        send_message(s, node);
    }
    struct message_setpoint setpoint;
    if (!manager_send(s->manager, node, now, &setpoint))
        return;
    s->message.type = MESSAGE_LOOP;
    if (manager_loop(s->manager, node, &setpoint, now, &s->message.loop))
        send_message(s, node);
    s->message.type = MESSAGE_SETPOINT;
    s->message.setpoint = setpoint;
    send_message(s, node);
}

static void fill(const struct manager_daemon *s, struct message_reply *r)
{
    const struct manager_counts *c = manager_counts(s->manager);
    r->state = s->shutdown ? DAEMON_DRAINING : s->paused ? DAEMON_PAUSED : DAEMON_ACTIVE;
    r->manager = (struct message_manager_status){.epoch = s->epoch,
                                                 .observations = c->observations,
                                                 .decisions = c->steps,
                                                 .setpoints = c->setpoints,
                                                 .reached = manager_reached(s->manager, clock_now())};
}

static void pause_decisions(struct manager_daemon *s, bool paused)
{
    if (s->paused != paused)
        log_info(paused ? "BEZEL-PAUSED" : "BEZEL-RESUMED", "%s",
                 paused ? "paused by an operator: nothing is decided, and nodes keep how they poll"
                        : "the pause is over");
    s->paused = paused;
}

/* Carries out a command. False: a manager has no such command. */
static bool carry_out(struct manager_daemon *s, const struct message_command *c)
{
    switch (c->verb) {
    case VERB_CONFIGURE: /* its options have configured it */
    case VERB_STOP:      /* it has nothing to drain */
        return true;
    case VERB_QUERY:
        return c->subject == SUBJECT_STATE;
    case VERB_START:
    case VERB_RESUME:
    case VERB_PAUSE:
        pause_decisions(s, c->verb == VERB_PAUSE);
        return true;
    case VERB_SHUTDOWN:
        s->shutdown = true;
        return true;
    default:
        return false;
    }
}

static void serve_control(struct manager_daemon *s)
{
    struct command_request from;
    for (int budget = A_TURN; s->control && command_server_receive(s->control, &budget, &from);) {
        const struct message *m = command_server_message(s->control);
        struct message_reply reply = {.answer = ANSWER_MANAGER};
        if (m->type != MESSAGE_COMMAND)
            continue;
        if (!carry_out(s, &m->command)) {
            command_server_refuse(s->control, &from, ANSWER_REFUSED,
                                  "a resource manager does not carry out this command");
            continue;
        }
        fill(s, &reply);
        command_server_reply(s->control, &from, NULL, &reply);
    }
}

static void judge(struct manager_daemon *s)
{
    uint32_t reporter;
    int64_t now = clock_now();
    if (!manager_judges(s->manager, now, &reporter, &s->judgement))
        return;
    s->message.type = MESSAGE_LOOP;
    if (manager_loop(s->manager, reporter, NULL, now, &s->message.loop))
        send_message(s, reporter);
    s->message.type = MESSAGE_JUDGEMENT;
    s->message.judgement = s->judgement;
    send_message(s, reporter);
}

/* While it is paused it decides nothing, and repeats its last decisions. */
static void turn(struct manager_daemon *s)
{
    uint32_t count = s->experiment->node_count;
    serve_control(s);
    for (uint32_t i = 0; i < count; i++)
        receive(s, i);
    if (s->collector.link)
        receive_collector(s);
    if (!s->paused)
        manager_step(s->manager, clock_now());
    for (uint32_t i = 0; i < count; i++)
        send_due(s, i);
    if (s->collector.link)
        ask_collector(s);
    judge(s);
}

/* The first SIGTERM ends the manager: there is nothing to drain. */
static bool is_to_end(const struct manager_daemon *s)
{
    bool deserted = lifetime_is_deserted(s->parent_pipe);
    if (deserted)
        log_warn("BEZEL-PARENT-PIPE",
                 "`bezel run` is gone (its parent pipe is closed): the manager ends, and nodes keep how they poll");
    return lifetime_terms(s->signals) > 0 || deserted || s->shutdown;
}

static void wait_for_something(struct manager_daemon *s)
{
    int64_t now = clock_now(), due = manager_due(s->manager, now);
    size_t count = s->experiment->node_count;
    int fds[DESCRIPTORS] = {s->signals, s->parent_pipe};
    struct link *links[LINK_WAIT_MAX] = {s->control ? command_server_link(s->control) : NULL, s->collector.link};
    bool all = count + OTHERS + DESCRIPTORS <= LINK_WAIT_MAX;
    count = all ? count : LINK_WAIT_MAX - DESCRIPTORS - OTHERS;
    for (size_t i = 0; i < count; i++)
        links[OTHERS + i] = s->nodes[i].link;
    if (!all || s->paused) /* a decision that is due waits for the end of the pause */
        due = (s->paused || due > now + LOOK_EVERY) ? now + LOOK_EVERY : due;
    link_wait(links, OTHERS + count, fds, DESCRIPTORS, due > now ? due - now : 0);
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
        lifetime_ready(&ready, "ready");
        serve(s);
        code = conclude(s);
    }
    for (uint32_t i = 0; i < EXPERIMENT_NODES_MAX; i++)
        command_caller_close(&s->nodes[i], 0);
    command_caller_close(&s->collector, 0);
    command_server_close(s->control, CLOSE_LINGER_MS);
    link_keys_close(&s->keys);
    manager_free(s->manager);
    experiment_free(s->experiment);
    free(s);
    return code;
}
