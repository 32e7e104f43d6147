// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* bezeld: the daemon of a node. Here are options, signals and the parent pipe; the work is in
 * bezeld/control_endpoint.c, bezeld/session.c and bezeld/node/node.c. */
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/inherited.h"
#include "base/log.h"
#include "base/serve.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "bezeld/control_endpoint.h"
#include "bezeld/scheduler.h"
#include "mdr/link/endpoint.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BEZELD_FILES = 24 /* open at once, with those of ZeroMQ and of one process; each further process takes one */
};

#define IDLE_TIMEOUT (30 * CLOCK_S) /* the default idle time-out of sessions */

static const char help[] =
    "usage: bezeld --control ENDPOINT [--keys DIR] [--key FILE] [--launcher DIR] [--idle-timeout D]\n"
    "              [--ready FD] [--parent-pipe FD]\n"
    "\n"
    "The daemon of a node: it reads records, sends them to the collector, and keeps limits. It serves up to 16\n"
    "sessions, each one node of one experiment. `bezel run` requests a session from the bezeld at the address of the\n"
    "node, or starts a bezeld for the run if the node has no address.\n"
    "\n"
    "  --control ENDPOINT  where it takes requests for sessions: ipc:///DIR/NAME; DIR is made if it is missing,\n"
    "                      and must be this user's alone. With --keys and --key also tcp://HOST:PORT\n"
    "  --keys DIR          folder of the keys that experiments name, NODE.key and COLLECTOR.pub; over tcp:// also\n"
    "                      of the public keys with the role control, whose owners may send commands\n"
    "  --key FILE          this bezeld's secret key, of `bezel keygen`, for commands over tcp://\n"
    "  --launcher DIR      has the bezel-launcher there start the programs of nodes that are reached over tcp://\n"
    "  --idle-timeout D    a session that receives no command for this long ends: 1 s to 1 h (default: 30 s; with\n"
    "                      --parent-pipe and without this option sessions do not time out, and bezeld ends with the\n"
    "                      last one)\n"
    "  --ready FD          writes `ready` there once it serves\n"
    "  --parent-pipe FD    ends when this pipe does\n"
    "      --help          this text\n"
    "      --version       the version\n"
    "\n"
    "On SIGTERM it sends what is left, for at most two seconds, and ends; a second SIGTERM ends it at once.\n"
    "Exit codes: 0 ended on request, 1 failed, 2 wrong arguments.\n";

struct arguments {
    const char *control, *key, *keys, *launcher, *idle_timeout_text;
    int64_t idle_timeout; /* ns */
    int ready, parent_pipe;
};

static int misuse(const char *what)
{
    return serve_misuse("bezeld", "%s", what);
}

/* Where the text of option `c` goes, NULL where it takes none. */
static const char **text_of(struct arguments *a, int c)
{
    switch (c) {
    case 'o':
        return &a->control;
    case 'k':
        return &a->key;
    case 's':
        return &a->keys;
    case 'a':
        return &a->launcher;
    case 'i':
        return &a->idle_timeout_text;
    default:
        return NULL;
    }
}

static bool read_idle_timeout(const char *text, int64_t *idle_timeout)
{
    const char *why;
    return units_read_duration(text, idle_timeout, &why) == 0 && *idle_timeout >= CLOCK_S &&
           *idle_timeout <= 3600 * CLOCK_S;
}

/* What is wrong with the options; NULL: nothing. */
static const char *check_arguments(struct arguments *a)
{
    if (!a->control)
        return "--control is missing";
    const char *path = endpoint_path(a->control);
    if (a->key && (!a->keys || path))
        return "--key needs --keys, and a tcp:// endpoint as --control";
    if (path ? *path != '/' : !a->key)
        return "--control takes ipc:///PATH, or with --keys and --key tcp://HOST:PORT";
    a->idle_timeout = a->parent_pipe >= 0 ? 0 : IDLE_TIMEOUT;
    if (a->idle_timeout_text && !read_idle_timeout(a->idle_timeout_text, &a->idle_timeout))
        return "--idle-timeout takes a duration from 1 s to 1 h";
    return NULL;
}

/* Returns 0 to go on, or the exit code plus one. */
static int read_arguments(int argc, char **argv, struct arguments *a)
{
    static const struct option options[] = {
        {"experiment", optional_argument, NULL, 'G'},
        {"node", optional_argument, NULL, 'G'}, /* given up */
        {"dir", optional_argument, NULL, 'G'},
        {"run", optional_argument, NULL, 'G'}, /* given up */
        {"collector", optional_argument, NULL, 'G'},
        {"collector-key", optional_argument, NULL, 'G'}, /* given up */
        {"lease", optional_argument, NULL, 'L'},         /* given up */
        {"patience", optional_argument, NULL, 'P'},      /* given up */
        {"stand", optional_argument, NULL, 'S'},         /* given up */
        {"control", required_argument, NULL, 'o'},
        {"key", required_argument, NULL, 'k'},
        {"keys", required_argument, NULL, 's'},
        {"launcher", required_argument, NULL, 'a'},
        {"ready", required_argument, NULL, 'y'},
        {"parent-pipe", required_argument, NULL, 'l'},
        {"idle-timeout", required_argument, NULL, 'i'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    *a = (struct arguments){.ready = -1, .parent_pipe = -1};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        const char **text = text_of(a, c);
        if (text)
            *text = optarg;
        else if (c == 'y' || c == 'l') {
            *(c == 'y' ? &a->ready : &a->parent_pipe) = serve_read_descriptor(optarg);
            if (serve_read_descriptor(optarg) < 0)
                return serve_misuse("bezeld", "%s: not the number of an open descriptor", optarg) + 1;
        } else if (c == 'G')
            return misuse("--experiment, --node, --dir, --run, --collector and --collector-key are not options any "
                          "more: the "
                          "command that begins a session has all that") +
                   1; /* given up */
        else if (c == 'L')
            return misuse("--lease is called --parent-pipe now") + 1; /* given up */
        else if (c == 'P')
            return misuse("--patience is called --idle-timeout now") + 1; /* given up */
        else if (c == 'S')
            return misuse("--stand DIR is --control ipc://DIR/control now") + 1; /* given up */
        else if (c == 'h')
            return serve_print(help) + 1;
        else if (c == 'v')
            return serve_print("bezeld " BEZEL_VERSION "\n") + 1;
        else
            return fputs("Try 'bezeld --help'.\n", stderr), EXIT_USAGE + 1;
    }
    if (optind != argc)
        return misuse("unexpected argument: bezeld takes options only") + 1;
    const char *why = check_arguments(a);
    return why ? misuse(why) + 1 : 0;
}

struct host {
    struct scheduler all;
    struct control_endpoint *control_endpoint;
    int64_t idle_timeout; /* 0: none, because all sessions are those of the parent with the parent pipe */
    int signals, parent_pipe, ready;
    unsigned terms;        /* how often SIGTERM came */
    bool served;           /* it has had a session */
    bool ending, deserted; /* deserted: the parent pipe ended */
};

/* Whether SIGTERM was received, or the parent pipe has closed. A second SIGTERM exits at once. */
static bool must_end(struct host *h)
{
    h->terms += serve_terms(h->signals);
    if (h->terms > 1)
        _exit(EXIT_FAILED);
    if (serve_is_deserted(h->parent_pipe)) {
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
    int64_t look = 0;
    while (is_needed(h)) {
        bool look_at_control = scheduler_turn(&h->all);
        if (look_at_control && control_endpoint_turn(h->control_endpoint, &h->all))
            end(h);
        h->served |= h->all.count > 0;
        serve_ready(&h->ready);
        int64_t now = clock_now();
        if (now >= look) {
            look = now + 10 * CLOCK_MS;
            if (must_end(h))
                end(h);
        }
        remove_ended(h);
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
    int code = read_arguments(argc, argv, &a);
    if (code)
        return code - 1;
    struct host h = {
        .signals = serve_signals(), .parent_pipe = a.parent_pipe, .ready = a.ready, .idle_timeout = a.idle_timeout};
    if (h.signals < 0) { /* SIGTERM is blocked by now, so only SIGKILL would end this process */
        log_error("BEZEL-START", "cannot receive SIGTERM: %s", strerror(errno));
        return EXIT_FAILURE;
    }
    serve_parent_pipe(a.parent_pipe);
    setenv("BEZEL_PROCESS", "bezeld", 1); /* the name of the segments of its own trace */
    file_raise_limit();                   /* each process that is read takes a descriptor */
    if (ulimit_check_files(BEZELD_FILES) != 0)
        return EXIT_FAILED;
    struct control_endpoint_options options = {
        .control = a.control, .key = a.key, .keys = a.keys, .launcher = a.launcher, .idle_timeout = a.idle_timeout};
    if (control_endpoint_open(&options, &h.control_endpoint) != 0)
        return EXIT_FAILED;
    scheduler_init(&h.all);
    h.all.control_endpoint = control_endpoint_link(h.control_endpoint);
    serve(&h);
    control_endpoint_close(h.control_endpoint);
    return EXIT_OK;
}
