// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* bezeld: the daemon of a node. Options, signals, lease; what it does is session.c's and node.c's. */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "ecs/commands.h"
#include "ecs/sessions.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const char help[] =
    "Usage: bezeld --experiment FILE --node NAME --dir DIR --run UUID --collector ENDPOINT --control ENDPOINT\n"
    "              [--key FILE] [--collector-key FILE] [--keys DIR] [--ready FD] [--lease FD]\n"
    "\n"
    "The daemon of one node of an experiment: external sensor, forwarder and agent. `bezel run` starts it.\n"
    "\n"
    "  --experiment FILE      the experiment\n"
    "  --node NAME            which of its nodes this is\n"
    "  --dir DIR              folder of the segments that it reads (BEZEL_DIR of the processes)\n"
    "  --run UUID             the run\n"
    "  --collector ENDPOINT   where packets go: tcp://HOST:PORT or ipc://PATH\n"
    "  --control ENDPOINT     where commands come from: ipc:///PATH in a folder of mode 0700, or, with --keys, tcp://\n"
    "  --key FILE             this node's secret key, of `bezel keygen`\n"
    "  --collector-key FILE   the collector's public key: packets go to its holder alone, encrypted (with --key)\n"
    "  --keys DIR             folder of public keys: who has role control may command over tcp:// (with --key)\n"
    "  --ready FD             says `ready` there once it serves\n"
    "  --lease FD             ends when this pipe does\n"
    "      --help             this text\n"
    "      --version          the version\n"
    "\n"
    "SIGTERM: hand on what there is within two seconds and end; a second one ends at once.\n"
    "Exit codes: 0 ended as told, 1 failed, 2 misuse or wrong file.\n";

struct arguments {
    const char *experiment, *node, *dir, *run, *collector, *control, *key, *collector_key, *keys;
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

/* Returns 0 to go on, or the exit code plus one. */
static int read_arguments(int argc, char **argv, struct arguments *a)
{
    static const struct option options[] = {
        {"experiment", required_argument, NULL, 'e'}, {"node", required_argument, NULL, 'n'},
        {"dir", required_argument, NULL, 'd'},        {"run", required_argument, NULL, 'r'},
        {"collector", required_argument, NULL, 'c'},  {"control", required_argument, NULL, 'o'},
        {"key", required_argument, NULL, 'k'},        {"collector-key", required_argument, NULL, 'p'},
        {"keys", required_argument, NULL, 's'},       {"ready", required_argument, NULL, 'y'},
        {"lease", required_argument, NULL, 'l'},      {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},          {NULL, 0, NULL, 0},
    };
    *a = (struct arguments){.ready = -1, .lease = -1};
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
    if (!a->experiment || !a->node || !a->dir || !a->run || !a->collector || !a->control)
        return misuse("an option is missing") + 1;
    const char *why = check_keys(a);
    return why ? misuse(why) + 1 : 0;
}

static bool read_uuid(const char *text, uint8_t id[16])
{
    int n = 0;
    for (const char *p = text; *p && n < 32; p++) {
        if (*p == '-')
            continue;
        const char *digits = "0123456789abcdef", *d = strchr(digits, *p);
        if (!d)
            return false;
        id[n / 2] = (uint8_t)(n % 2 ? id[n / 2] | (d - digits) : (d - digits) << 4);
        n++;
    }
    return n == 32 && strlen(text) == 36;
}

/* Blocks the signals that we read, before any thread starts; SIGINT is the terminal's and not for us. */
static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Says that we serve, once: *fd is closed then. */
static void say_ready(int *fd)
{
    static const char line[] = "ready\n";
    if (*fd < 0)
        return;
    if (file_write_all(*fd, line, sizeof line - 1) != 0)
        log_warn("BEZEL-READY", "nobody hears that this daemon is ready: %s", strerror(errno));
    close(*fd);
    *fd = -1;
}

/* A read of a lease that lives must not block. */
static void open_lease(int lease)
{
    if (lease >= 0)
        fcntl(lease, F_SETFL, fcntl(lease, F_GETFL) | O_NONBLOCK);
}

/* What came over the descriptors: how often SIGTERM was seen, and whether the lease ended. */
static bool told_to_go(int signals, int *lease, int *terms)
{
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == sizeof info)
        if (++*terms > 1)
            _exit(EXIT_FAILED);
    char byte;
    if (*lease >= 0 && read(*lease, &byte, 1) == 0) {
        close(*lease);
        *lease = -1;
        log_warn("BEZEL-LEASE", "`bezel run` is gone: handing on what there is, then ending");
        return true;
    }
    return *terms > 0;
}

/* The only session's: what is over is not looked at again. */
static bool is_over(const struct sessions *all)
{
    return all->list[0]->phase == SESSION_OVER;
}

static int serve(struct sessions *all, int signals, int lease, int ready)
{
    struct session *s = all->list[0];
    int64_t look = 0;
    int terms = 0;
    for (sessions_turn(all); !is_over(all); sessions_turn(all)) {
        if (s->phase == SESSION_SERVES && node_connected(s->node))
            say_ready(&ready); /* what starts now is acknowledged from its first packet on */
        int64_t now = clock_now();
        if (now >= look) {
            look = now + 10 * CLOCK_MS;
            if (told_to_go(signals, &lease, &terms))
                sessions_end(all);
        }
        sessions_wait(all, (int[]){signals, lease}, 2);
    }
    return s->failed ? EXIT_FAILED : EXIT_HELD;
}

/* One session, as the arguments have it. */
static int serve_one(const struct arguments *a, int signals)
{
    struct sessions all;
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
    if (!read_uuid(a->run, wish.run))
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
    sessions_init(&all);
    if (sessions_add(&all, s) != 0)
        return EXIT_FAILED; /* cannot be: it is the first */
    open_lease(a->lease);
    int code = serve(&all, signals, a->lease, a->ready);
    sessions_free(&all);
    return code;
}

int main(int argc, char **argv)
{
    struct arguments a;
    log_init("bezeld");
    int code = read_arguments(argc, argv, &a);
    if (code)
        return code - 1;
    int signals = open_signals();
    setenv("BEZEL_PROCESS", "bezeld", 1); /* the name of the segments that hold what it records of itself */
    file_raise_limit();                   /* each process that is read takes a descriptor */
    return serve_one(&a, signals);
}
