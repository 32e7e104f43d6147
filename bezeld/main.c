// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* bezeld: the daemon of a node. Here are options, signals and the parent pipe; the work is in
 * bezeld/control_endpoint.c, bezeld/session.c and bezeld/node/node.c. */
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/inherited.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/options.h"
#include "base/supervisor.h"
#include "base/ulimit.h"
#include "bezeld/control_endpoint.h"
#include "bezeld/scheduler.h"
#include "mdr/link/endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BEZELD_FILES = 24 /* open at once, with those of ZeroMQ and of one process; each further process takes one */
};

#define IDLE_TIMEOUT (30 * CLOCK_S) /* the default idle time-out of sessions */

static const char about[] =
    "The daemon of a node: it reads records, sends them to the collector, and keeps limits. It serves up to 16 "
    "sessions, each one node of one experiment. `bezel run` requests a session from the bezeld at the address of the "
    "node, or starts a bezeld for the run if the node has no address.\n";
static const char footer[] =
    "On SIGTERM it sends what is left, for at most two seconds, and ends; a second SIGTERM ends it at once.\n"
    "Exit codes: 0 ended on request, 1 failed, 2 wrong arguments.\n";

struct arguments {
    struct control_endpoint_options endpoint;
    int ready, parent_pipe;
};

/* What is wrong with the options; NULL: nothing. */
static const char *check_arguments(struct arguments *a)
{
    const struct control_endpoint_options *e = &a->endpoint;
    if (!e->control)
        return "--control is missing";
    const char *path = endpoint_path(e->control);
    if (e->key && (!e->keys || path))
        return "--key needs --keys, and a tcp:// endpoint as --control";
    if (path ? *path != '/' : !e->key)
        return "--control takes ipc:///PATH, or with --keys and --key tcp://HOST:PORT";
    if (e->idle_timeout < 0)
        a->endpoint.idle_timeout = a->parent_pipe >= 0 ? 0 : IDLE_TIMEOUT;
    return NULL;
}

static int read_arguments(int argc, char **argv, struct arguments *a)
{
    struct options o = {.program = "bezeld", .usage = "--control ENDPOINT [OPTIONS]", .about = about, .footer = footer};
    const struct options_entry entries[] = {
        {"control", 0, "ENDPOINT",
         "where it takes requests for sessions, and commands to them: ipc:///DIR/NAME; DIR is made with mode 0700 if "
         "it is missing, and must be this user's alone. With --keys and --key also tcp://HOST:PORT, for peers with the "
         "role control; HOST is an address of IPv4, [IPv6], an interface, or * for all",
         .value = &a->endpoint.control},
        {"keys", 0, "DIR",
         "folder of the keys that experiments name, NODE.key and COLLECTOR.pub: without it an experiment with keys is "
         "refused. Over tcp:// also of the public keys with the role control, whose owners may send commands",
         .value = &a->endpoint.keys},
        {"key", 0, "FILE",
         "this bezeld's secret key, of `bezel keygen`, for commands over tcp://; the operator has its public part",
         .value = &a->endpoint.key},
        {"launcher", 0, "DIR",
         "has the bezel-launcher that serves in DIR start the programs of nodes that are reached over tcp://; without "
         "it a session with programs to start is refused",
         .value = &a->endpoint.launcher},
        {"idle-timeout", 0, "D",
         "a session whose `bezel run` has sent nothing for this long sends what it can within two seconds, and ends: 1 "
         "s to 1 h (default: 30 s; with --parent-pipe and without this option sessions do not time out, and bezeld "
         "ends with the last one)",
         .duration = &a->endpoint.idle_timeout, .least = CLOCK_S, .most = 3600 * CLOCK_S},
        LIFETIME_READY("`ready`", &a->ready),
        LIFETIME_PARENT_PIPE(&a->parent_pipe),
        {0},
    };
    *a = (struct arguments){.endpoint.idle_timeout = -1, .ready = -1, .parent_pipe = -1};
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    const char *why = check_arguments(a);
    return why ? options_misuse("%s", why) : OPTIONS_GO_ON;
}

struct host {
    struct scheduler all;
    struct control_endpoint *control_endpoint;
    int64_t idle_timeout; /* 0: none, because all sessions are those of the parent with the parent pipe */
    int signals, parent_pipe, ready;
    struct lifetime_orders orders;
    unsigned terms;        /* how many orders to end came by signals */
    bool served;           /* it has had a session */
    bool ending, deserted; /* deserted: the parent pipe ended */
};

/* Whether SIGTERM was received, or the parent pipe has closed. A second SIGTERM exits at once. */
static bool must_end(struct host *h)
{
    h->terms += lifetime_is_order(&h->orders, lifetime_terms(h->signals) > 0, clock_now());
    if (h->terms > 1)
        _exit(EXIT_FAILED);
    if (lifetime_is_deserted(h->parent_pipe)) {
        close(h->parent_pipe);
        h->parent_pipe = -1;
        log_warn("BEZEL-PARENT-PIPE", "`bezel run` is gone: sending what is left, then ending");
        return h->deserted = true;
    }
    return h->terms > 0;
}

/* Ends all sessions: each sends what is left. */
static void end(struct host *h)
{
    h->ending = true;
    for (uint32_t i = 0; i < h->all.count && h->idle_timeout == 0; i++) /* other sessions' `bezel run` may ask again */
        h->all.list[i]->deserted |= h->deserted;
    scheduler_end(&h->all);
    control_endpoint_shut(h->control_endpoint);
}

static void remove_ended(struct host *h)
{
    for (uint32_t i = h->all.count; i-- > 0;) {
        const struct session *s = h->all.list[i];
        if (s->phase != SESSION_OVER)
            continue;
        control_endpoint_note_end(h->control_endpoint, s);
        log_info("BEZEL-SESSION", "%s: the session is over", s->label);
        scheduler_remove(&h->all, i);
    }
}

/* A bezeld whose sessions are all its parent's ends with the last of them. */
static bool is_needed(const struct host *h)
{
    return h->all.count > 0 || !(h->ending || (h->idle_timeout == 0 && h->served));
}

static void serve(struct host *h)
{
    while (is_needed(h)) {
        bool look = scheduler_turn(&h->all);
        if (look && control_endpoint_turn(h->control_endpoint, &h->all))
            end(h);
        h->served |= h->all.count > 0;
        supervisor_ready();
        lifetime_ready(&h->ready, "ready");
        if (look && must_end(h))
            end(h);
        remove_ended(h);
        if (look)
            h->all.alive_due = supervisor_alive(clock_now());
        int fds[2 + COLLECTOR_PLACES_MAX] = {h->signals, h->parent_pipe};
        size_t more = control_endpoint_fds(h->control_endpoint, fds + 2);
        if (is_needed(h)) /* otherwise the wait would never end */
            scheduler_wait(&h->all, fds, 2 + more);
    }
}

int main(int argc, char **argv)
{
    struct arguments a;
    inherited_take("bezeld");
    supervisor_take();
    int code = read_arguments(argc, argv, &a);
    if (code != OPTIONS_GO_ON)
        return code;
    struct host h = {.signals = lifetime_signals(LIFETIME_NO_OTHER),
                     .parent_pipe = a.parent_pipe,
                     .ready = a.ready,
                     .idle_timeout = a.endpoint.idle_timeout};
    if (h.signals < 0) { /* SIGTERM is blocked by now, so only SIGKILL would end this process */
        log_error("BEZEL-START", "cannot receive SIGTERM: %s", strerror(errno));
        return EXIT_FAILURE;
    }
    lifetime_parent_pipe(a.parent_pipe);
    setenv("BEZEL_PROCESS", "bezeld", 1); /* the name of the segments of its own trace */
    file_raise_limit();                   /* each process that is read takes a descriptor */
    if (ulimit_check_files(BEZELD_FILES) != 0)
        return EXIT_FAILED;
    if (control_endpoint_open(&a.endpoint, &h.control_endpoint) != 0)
        return EXIT_FAILED;
    scheduler_init(&h.all);
    h.all.alive_due = 0; /* the first turn says when the next one must be */
    h.all.control_endpoint = control_endpoint_link(h.control_endpoint);
    serve(&h);
    control_endpoint_close(h.control_endpoint);
    return EXIT_OK;
}
