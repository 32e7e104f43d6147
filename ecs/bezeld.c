// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* bezeld: the daemon of a node. Options, signals, lease; what it does is session.c's and node.c's. */
#include "base/clock.h"
#include "base/file.h"
#include "base/limit.h"
#include "base/log.h"
#include "base/serve.h"
#include "base/units.h"
#include "base/uuid.h"
#include "ecs/commands.h"
#include "ecs/desk.h"
#include "ecs/sessions.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BEZELD_FILES = 24 }; /* open at once, ZeroMQ's and a process's among them; each further process takes one */

#define PATIENCE (30 * CLOCK_S) /* how long a session bears not to hear from its `bezel run` */

static const char help[] =
    "Usage: bezeld --experiment FILE --node NAME --dir DIR --run UUID --collector ENDPOINT --control ENDPOINT\n"
    "              [--key FILE] [--collector-key FILE] [--keys DIR] [--ready FD] [--lease FD]\n"
    "       bezeld --stand DIR [--keys DIR] [--patience D] [--ready FD] [--lease FD]\n"
    "\n"
    "The daemon of a node: external sensor, forwarder and agent. `bezel run` starts one for each node of its "
    "experiment,\n"
    "or asks one that stands, which serves up to 16 nodes of any experiments at once.\n"
    "\n"
    "  --experiment FILE      the experiment\n"
    "  --node NAME            which of its nodes this is\n"
    "  --dir DIR              folder of the segments that it reads (BEZEL_DIR of the processes)\n"
    "  --run UUID             the run\n"
    "  --collector ENDPOINT   where packets go: tcp://HOST:PORT or ipc://PATH\n"
    "  --control ENDPOINT     where commands come from: ipc:///PATH in a folder of mode 0700, or, with --keys, tcp://\n"
    "  --key FILE             this node's secret key, of `bezel keygen`\n"
    "  --collector-key FILE   the collector's public key: packets go to its holder alone, encrypted (with --key)\n"
    "  --keys DIR             folder of public keys: who has role control may command over tcp:// (with --key);\n"
    "                         with --stand: of the keys that experiments name, NODE.key and COLLECTOR.pub\n"
    "  --ready FD             says `ready` there once it serves\n"
    "  --lease FD             ends when this pipe does\n"
    "  --stand DIR            stands at ipc://DIR/control; DIR, made where it is missing, is this user's alone\n"
    "  --patience D           how long a session bears not to hear from its `bezel run` (default: 30 s)\n"
    "      --help             this text\n"
    "      --version          the version\n"
    "\n"
    "SIGTERM: hand on what there is within two seconds and end; a second one ends at once.\n"
    "Exit codes: 0 ended as told, 1 failed, 2 misuse or wrong file.\n";

struct arguments {
    const char *experiment, *node, *dir, *run, *collector, *control, *key, *collector_key, *keys, *stand,
        *patience_text;
    int64_t patience; /* ns */
    int ready, lease;
};

static int misuse(const char *what)
{
    fprintf(stderr, "bezeld: %s; `bezeld --help` tells more\n", what);
    return EXIT_USAGE;
}

/* Where the text of option `c` goes, NULL where it takes none. */
static const char **text_of(struct arguments *a, int c)
{
    switch (c) {
    case 'e':
        return &a->experiment;
    case 'n':
        return &a->node;
    case 'd':
        return &a->dir;
    case 'r':
        return &a->run;
    case 'c':
        return &a->collector;
    case 'o':
        return &a->control;
    case 'k':
        return &a->key;
    case 'p':
        return &a->collector_key;
    case 's':
        return &a->keys;
    case 'S':
        return &a->stand;
    case 'P':
        return &a->patience_text;
    default:
        return NULL;
    }
}

static const char *check_keys(const struct arguments *a)
{
    if (!a->key && (a->collector_key || a->keys))
        return "--collector-key and --keys need --key, this node's own";
    if (a->key && !a->collector_key && !a->keys)
        return "--key needs --collector-key or --keys: whom is it for?";
    return endpoint_check_control(a->control, a->keys != NULL);
}

static bool read_patience(const char *text, int64_t *patience)
{
    const char *why;
    return units_read_duration(text, patience, &why) == 0 && *patience >= CLOCK_S && *patience <= 3600 * CLOCK_S;
}

/* What is wrong with the options of a bezeld that stands, NULL where nothing is. */
static const char *check_standing(struct arguments *a)
{
    if (a->experiment || a->node || a->dir || a->run || a->collector || a->control || a->key || a->collector_key)
        return "with --stand, experiments say what is served: leave the other options out";
    if (a->patience_text && !read_patience(a->patience_text, &a->patience))
        return "--patience takes a duration from 1 s to 1 h";
    return NULL;
}

/* The same of one that serves the node that it is started for. */
static const char *check_single(struct arguments *a)
{
    if (!a->experiment || !a->node || !a->dir || !a->run || !a->collector || !a->control)
        return "an option is missing";
    return a->patience_text ? "--patience is for --stand" : check_keys(a);
}

/* Returns 0 to go on, or the exit code plus one. */
static int read_arguments(int argc, char **argv, struct arguments *a)
{
    static const struct option options[] = {
        {"experiment", required_argument, NULL, 'e'}, {"node", required_argument, NULL, 'n'},
        {"dir", required_argument, NULL, 'd'},        {"run", required_argument, NULL, 'r'},
        {"collector", required_argument, NULL, 'c'},  {"control", required_argument, NULL, 'o'},
        {"key", required_argument, NULL, 'k'},        {"collector-key", required_argument, NULL, 'p'},
        {"keys", required_argument, NULL, 's'},       {"ready", required_argument, NULL, 'y'},
        {"lease", required_argument, NULL, 'l'},      {"stand", required_argument, NULL, 'S'},
        {"patience", required_argument, NULL, 'P'},   {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},          {NULL, 0, NULL, 0},
    };
    *a = (struct arguments){.ready = -1, .lease = -1, .patience = PATIENCE};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        const char **text = text_of(a, c);
        if (text)
            *text = optarg;
        else if (c == 'y' || c == 'l')
            *(c == 'y' ? &a->ready : &a->lease) = atoi(optarg);
        else if (c == 'h')
            return fputs(help, stdout) < 0 ? EXIT_FAILED + 1 : EXIT_HELD + 1;
        else if (c == 'v')
            return puts("bezeld " BEZEL_VERSION) < 0 ? EXIT_FAILED + 1 : EXIT_HELD + 1;
        else
            return misuse("wrong option") + 1;
    }
    if (optind != argc)
        return misuse("arguments that are no options") + 1;
    const char *why = a->stand ? check_standing(a) : check_single(a);
    return why ? misuse(why) + 1 : 0;
}

/* What came over the descriptors: how often SIGTERM was seen, and whether the lease ended. */
static bool told_to_go(int signals, int *lease, unsigned *terms, bool *deserted)
{
    *terms += serve_terms(signals);
    if (*terms > 1)
        _exit(EXIT_FAILED);
    if (serve_is_deserted(*lease)) {
        close(*lease);
        *lease = -1;
        log_warn("BEZEL-LEASE", "`bezel run` is gone: handing on what there is, then ending");
        return *deserted = true;
    }
    return *terms > 0;
}

struct host {
    struct sessions all;
    struct desk *desk; /* NULL: it serves the one session that it was started for */
    int signals, lease, ready;
    bool ending, failed;
    bool deserted; /* the lease ended */
};

/* Nobody is needed any longer: hands on what there is. */
static void end(struct host *h)
{
    h->ending = true;
    for (uint32_t i = 0; i < h->all.count && !h->desk; i++) /* the lease of one that stands is nobody's `bezel run` */
        h->all.list[i]->deserted |= h->deserted;
    sessions_end(&h->all);
    if (h->desk)
        desk_shut(h->desk);
}

static void remove_ended(struct host *h)
{
    for (uint32_t i = h->all.count; i-- > 0;) {
        const struct session *s = h->all.list[i];
        if (s->phase != SESSION_OVER)
            continue;
        h->failed |= s->failed;
        if (h->desk) {
            desk_note_end(h->desk, s);
            log_info("BEZEL-SESSION", "%s: the session is over", s->label);
        }
        sessions_remove(&h->all, i);
    }
}

/* What starts when a session is ready is acknowledged from its first packet on. */
static bool is_ready(const struct host *h)
{
    const struct session *first = h->all.count ? h->all.list[0] : NULL;
    return h->desk || (first && first->phase == SESSION_SERVES && node_connected(first->node));
}

static bool is_needed(const struct host *h)
{
    return h->all.count > 0 || (h->desk && !h->ending);
}

static int serve(struct host *h)
{
    int64_t look = 0;
    unsigned terms = 0;
    while (is_needed(h)) {
        bool attended = sessions_turn(&h->all);
        if (attended && h->desk && desk_turn(h->desk, &h->all))
            end(h);
        if (is_ready(h))
            serve_ready(&h->ready);
        int64_t now = clock_now();
        if (now >= look) {
            look = now + 10 * CLOCK_MS;
            if (told_to_go(h->signals, &h->lease, &terms, &h->deserted))
                end(h);
        }
        remove_ended(h);
        if (is_needed(h)) /* else nothing would end the wait */
            sessions_wait(&h->all, (int[]){h->signals, h->lease}, 2);
    }
    return h->failed ? EXIT_FAILED : EXIT_HELD;
}

/* One session, as the arguments have it. */
static int serve_one(const struct arguments *a, struct host *h)
{
    struct session *s;
    char why[SESSION_WHY_MAX], *text;
    struct session_wish wish = {.node = a->node,
                                .dir = a->dir,
                                .collector = a->collector,
                                .control = a->control,
                                .file = a->experiment,
                                .key = a->key,
                                .collector_key = a->collector_key,
                                .keys = a->keys};
    if (!uuid_read(a->run, wish.run))
        return misuse("--run takes a UUID of 36 characters");
    if (file_read(a->experiment, EXPERIMENT_FILE_MAX, &text, &wish.text_bytes) != 0) {
        fprintf(stderr, "bezeld: cannot read %s: %s\n", a->experiment, strerror(errno));
        return EXIT_USAGE;
    }
    wish.text = text;
    int err = session_open(&wish, &s, why);
    free(text);
    if (err)
        return err == BEZEL_EMALFORMED ? EXIT_USAGE : EXIT_FAILED;
    sessions_init(&h->all);
    if (sessions_add(&h->all, s) != 0)
        return EXIT_FAILED; /* cannot be: it is the first */
    return serve(h);
}

/* Sessions as they are asked for. */
static int stand(const struct arguments *a, struct host *h)
{
    if (desk_open(a->stand, a->keys, a->patience, &h->desk) != 0)
        return EXIT_FAILED;
    sessions_init(&h->all);
    h->all.desk = desk_link(h->desk);
    log_info("BEZEL-STAND", "standing at %s", link_endpoint(h->all.desk));
    int code = serve(h);
    desk_close(h->desk);
    return code;
}

int main(int argc, char **argv)
{
    struct arguments a;
    file_hold_standard();
    log_init("bezeld");
    int code = read_arguments(argc, argv, &a);
    if (code)
        return code - 1;
    struct host h = {.signals = serve_signals(), .lease = a.lease, .ready = a.ready};
    if (h.signals < 0) { /* SIGTERM is blocked by now: nothing but SIGKILL would end us */
        log_error("BEZEL-START", "SIGTERM cannot be listened for: %s", strerror(errno));
        return EXIT_FAILURE;
    }
    serve_lease(a.lease);
    setenv("BEZEL_PROCESS", "bezeld", 1); /* the name of the segments that hold what it records of itself */
    file_raise_limit();                   /* each process that is read takes a descriptor */
    if (limit_check_files(BEZELD_FILES) != 0)
        return EXIT_FAILED;
    return a.stand ? stand(&a, &h) : serve_one(&a, &h);
}
