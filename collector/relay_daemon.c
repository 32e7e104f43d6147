// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/relay_daemon.h"

#include "base/address.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/supervisor.h"
#include "base/ulimit.h"
#include "base/uuid.h"
#include "collector/clock_server.h"
#include "collector/proxy_server.h"
#include "mdr/command/command_server.h"
#include "mdr/message.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINGER_MS = 500, COMMANDS_A_TURN = 16 };

struct relay_daemon {
    const struct collector_daemon_options *options;
    struct link_keys keys;
    struct link *below;
    struct relay *relay;
    struct clock_server *clock;
    struct proxy_server *proxy;
    struct command_server *control;
    struct relay_clock asked; /* what the clock server has now */
    int signals;
    int64_t tick_at, end_at; /* end_at: 0: serving */
    bool drained, finish;
};

/* ---- start ------------------------------------------------------------------------------------------------------- */

static int open_relay(struct relay_daemon *v, const struct relay_options *inner)
{
    uint8_t run[16];
    struct relay_options options = *inner;
    options.keys = v->options->key ? &v->keys : NULL;
    options.children = v->options->limits.connections;
    if (v->options->id && uuid_read(v->options->id, run))
        options.run = run;
    v->relay = relay_new(v->below, &options);
    if (!v->relay)
        log_error("BEZEL-START", "relay: %s", ulimit_reason(BEZEL_ENOMEM));
    return v->relay ? 0 : BEZEL_ENOMEM;
}

static int start(struct relay_daemon *v, const struct relay_options *inner, const char *parent_key)
{
    const struct collector_daemon_options *o = v->options;
    int err = 0;
    lifetime_parent_pipe(o->parent_pipe);
    v->signals = lifetime_signals(LIFETIME_NO_OTHER);
    if (v->signals < 0) {
        log_error("BEZEL-START", "signalfd: %s", ulimit_reason(BEZEL_ESYS));
        return BEZEL_ESYS;
    }
    if (o->key)
        err = link_keys_open(o->key, o->keys, parent_key, &v->keys);
    if (!err)
        err = collector_daemon_endpoint(link_bind(o->listen, o->packet_max, o->key ? &v->keys : NULL, &v->below),
                                        o->listen);
    if (!err)
        err = collector_daemon_endpoint(
            command_server_open(o->control, endpoint_path(o->control) ? NULL : &v->keys, &v->control), o->control);
    if (!err)
        err = open_relay(v, inner);
    if (!err) {
        v->clock = clock_server_open(o->listen, o->key ? &v->keys : NULL, &o->clock, true);
        relay_set_clock_port(v->relay, clock_server_port(v->clock));
    }
    if (!err && o->proxy)
        err = collector_daemon_endpoint(proxy_server_open(o->proxy, o->forward, &v->proxy), o->proxy);
    return err;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static void reply(struct relay_daemon *v, const struct command_request *from)
{
    struct relay_status s = relay_status(v->relay);
    struct message_reply r = {.answer = ANSWER_COLLECTOR,
                              .state = v->finish || v->end_at ? DAEMON_DRAINING
                                       : v->drained           ? DAEMON_DRAINED
                                                              : DAEMON_ACTIVE,
                              .collector = {.bytes = s.bytes,
                                            .packets = s.frames,
                                            .refused = s.refused + s.dropped,
                                            .over_rate = s.forgotten,
                                            .unidentified = s.unidentified,
                                            .peers = s.children,
                                            .port = collector_daemon_port(v->below)}};
    if (s.circle)
        snprintf(r.text, sizeof r.text, "what is sent to the parent at %.150s comes back: the parents form a circle",
                 relay_parent(v->relay));
    else if (relay_trouble(v->relay))
        message_text(r.text, MESSAGE_TEXT_MAX, relay_trouble(v->relay));
    else if (!relay_takes(v->relay))
        snprintf(r.text, sizeof r.text, "the parent at %.150s takes nothing, and the buffer is full: the nodes keep it",
                 relay_parent(v->relay));
    command_server_reply(v->control, from, NULL, &r);
}

/* Carries out a command. False: an inner collector has no such command. */
static bool carry_out(struct relay_daemon *v, const struct message_command *c)
{
    switch (c->verb) {
    case VERB_CONFIGURE: /* its options have configured it */
    case VERB_START:
        return true;
    case VERB_QUERY:
        return c->subject == SUBJECT_STATE;
    case VERB_STOP:
        v->drained = true;
        return true;
    case VERB_SHUTDOWN:
        v->finish = true;
        return true;
    default:
        return false;
    }
}

static void serve_control(struct relay_daemon *v)
{
    struct command_request from;
    for (int budget = COMMANDS_A_TURN; command_server_receive(v->control, &budget, &from);) {
        const struct message *m = command_server_message(v->control);
        if (m->type != MESSAGE_COMMAND)
            continue;
        if (carry_out(v, &m->command))
            reply(v, &from);
        else
            command_server_refuse(v->control, &from, ANSWER_REFUSED,
                                  "an inner collector does not carry out this command: ask the root");
    }
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* Has questions for the time answered by whom the parent named. */
static void follow_clock(struct relay_daemon *v)
{
    const struct relay_clock *c = relay_clock(v->relay);
    char endpoint[ADDRESS_TEXT_MAX] = "";
    struct address address;
    const char *why;
    if (memcmp(c, &v->asked, sizeof *c) == 0)
        return;
    v->asked = *c;
    if (c->port > 0 && c->port <= UINT16_MAX && address_read(c->parent, &address, &why) == 0) {
        address.port = (uint16_t)c->port;
        address_print(&address, endpoint);
    }
    clock_server_pass(v->clock, c->identity, endpoint);
}

/* While the buffer is full, what goes out of it wakes nobody. */
static void wait_for_something(struct relay_daemon *v)
{
    bool takes = relay_takes(v->relay);
    struct link *links[] = {takes ? v->below : NULL, relay_above(v->relay), command_server_link(v->control)};
    int fds[2 + RELAY_WINDOWS] = {v->signals, v->end_at ? -1 : v->options->parent_pipe};
    size_t more;
    int64_t now = clock_now(), until = takes ? v->tick_at : now + CLOCK_MS;
    int64_t most = relay_sleep(v->relay, fds + 2, &more, until > now ? until - now : 0);
    (void)link_wait(links, 3, fds, 2 + more, most);
    relay_awake(v->relay);
}

static void serve(struct relay_daemon *v)
{
    while (!v->finish) {
        wait_for_something(v);
        v->finish |= lifetime_terms(v->signals) > 0;
        (void)collector_daemon_is_deserted(v->options, &v->end_at);
        serve_control(v);
        (void)relay_turn(v->relay, clock_now());
        int64_t now = clock_now();
        v->tick_at = relay_tick(v->relay, now);
        (void)supervisor_alive(now);
        follow_clock(v);
        if (v->end_at && (now >= v->end_at || relay_status(v->relay).children == 0))
            v->finish = true;
    }
}

int relay_daemon_run(const struct collector_daemon_options *options, const struct relay_options *inner,
                     const char *parent_key)
{
    struct relay_daemon v = {.options = options, .signals = -1};
    int ready = options->ready, err = start(&v, inner, parent_key);
    if (!err) {
        supervisor_ready();
        lifetime_ready(&ready, link_endpoint(v.below));
        serve(&v);
    }
    proxy_server_close(v.proxy);
    clock_server_close(v.clock);
    relay_free(v.relay);
    link_close(v.below, LINGER_MS);
    command_server_close(v.control, LINGER_MS);
    link_keys_close(&v.keys);
    if (v.signals >= 0)
        close(v.signals);
    return err ? EXIT_FAILED : EXIT_OK;
}
