// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* bezeld: the daemon of a node. Options, signals, lease; what it does is node.c. */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "ecs/commands.h"
#include "ecs/node.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LAST_DRAIN (2 * CLOCK_S) /* how long a daemon that was told to go hands on what it has */

static const char help[] =
    "Usage: bezeld --experiment FILE --node NAME --dir DIR --run UUID --collector ENDPOINT --control ENDPOINT\n"
    "              [--ready FD] [--lease FD]\n"
    "\n"
    "The daemon of one node of an experiment: external sensor, forwarder and agent. `bezel run` starts it.\n"
    "\n"
    "  --experiment FILE      the experiment\n"
    "  --node NAME            which of its nodes this is\n"
    "  --dir DIR              folder of the segments that it reads (BEZEL_DIR of the processes)\n"
    "  --run UUID             the run\n"
    "  --collector ENDPOINT   where packets go: tcp://HOST:PORT or ipc://PATH\n"
    "  --control ENDPOINT     where commands come from: ipc://PATH in a folder that only this user may enter\n"
    "  --ready FD             says `ready` there once it serves\n"
    "  --lease FD             ends when this pipe does\n"
    "      --help             this text\n"
    "      --version          the version\n"
    "\n"
    "SIGTERM: hand on what there is within two seconds and end; a second one ends at once.\n"
    "Exit codes: 0 ended as told, 1 failed, 2 misuse or wrong file.\n";

struct arguments {
    const char *experiment, *node, *dir, *run, *collector, *control;
    int ready, lease;
};

static int misuse(const char *what)
{
    fprintf(stderr, "bezeld: %s; `bezeld --help` tells more\n", what);
    return EXIT_USAGE;
}

/* Returns 0 to go on, or the exit code plus one. */
static int read_arguments(int argc, char **argv, struct arguments *a)
{
    static const struct option options[] = {
        {"experiment", required_argument, NULL, 'e'},
        {"node", required_argument, NULL, 'n'},
        {"dir", required_argument, NULL, 'd'},
        {"run", required_argument, NULL, 'r'},
        {"collector", required_argument, NULL, 'c'},
        {"control", required_argument, NULL, 'o'},
        {"ready", required_argument, NULL, 'y'},
        {"lease", required_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    *a = (struct arguments){.ready = -1, .lease = -1};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 'e':
            a->experiment = optarg;
            break;
        case 'n':
            a->node = optarg;
            break;
        case 'd':
            a->dir = optarg;
            break;
        case 'r':
            a->run = optarg;
            break;
        case 'c':
            a->collector = optarg;
            break;
        case 'o':
            a->control = optarg;
            break;
        case 'y':
            a->ready = atoi(optarg);
            break;
        case 'l':
            a->lease = atoi(optarg);
            break;
        case 'h':
            return fputs(help, stdout) < 0 ? EXIT_FAILED + 1 : EXIT_HELD + 1;
        case 'v':
            return puts("bezeld " BEZEL_VERSION) < 0 ? EXIT_FAILED + 1 : EXIT_HELD + 1;
        default:
            return misuse("wrong option") + 1;
        }
    }
    if (optind != argc)
        return misuse("arguments that are no options") + 1;
    if (!a->experiment || !a->node || !a->dir || !a->run || !a->collector || !a->control)
        return misuse("an option is missing") + 1;
    return 0;
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

static int read_experiment(const char *file, struct experiment **e)
{
    char *text;
    size_t n;
    if (file_read(file, EXPERIMENT_FILE_MAX, &text, &n) != 0) {
        fprintf(stderr, "bezeld: cannot read %s: %s\n", file, strerror(errno));
        return EXIT_USAGE;
    }
    struct experiment_diagnostics found = {0};
    int err = experiment_read(text, n, e, &found);
    if (err)
        experiment_print_diagnostics(&found, file, stderr);
    experiment_diagnostics_free(&found);
    free(text);
    return err ? EXIT_USAGE : 0;
}

static int find_node(const struct experiment *e, const char *name, uint32_t *node)
{
    for (*node = 0; *node < e->node_count; ++*node)
        if (strcmp(e->nodes[*node].name, name) == 0)
            return 0;
    fprintf(stderr, "bezeld: the experiment has no node %s\n", name);
    return EXIT_USAGE;
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

static int serve(struct node *n, int signals, int lease, int ready)
{
    int64_t give_up = INT64_MAX, look = 0;
    int terms = 0;
    while (!node_stopped(n)) {
        node_turn(n);
        if (node_refused(n)) {
            log_error("BEZEL-REFUSED", "the collector refused this node: %s", node_refused(n));
            return EXIT_FAILED;
        }
        if (node_connected(n)) /* what starts now is acknowledged from its first packet on */
            say_ready(&ready);
        int64_t now = clock_now();
        if (now >= look) {
            look = now + 10 * CLOCK_MS;
            if (give_up == INT64_MAX && told_to_go(signals, &lease, &terms)) {
                give_up = now + LAST_DRAIN;
                node_drain(n);
            }
        }
        if (give_up != INT64_MAX && (node_drained(n) || now > give_up))
            break;
        node_wait(n, (int[]){signals, lease}, 2);
    }
    return EXIT_HELD;
}

int main(int argc, char **argv)
{
    struct arguments a;
    struct experiment *e;
    log_init("bezeld");
    int code = read_arguments(argc, argv, &a);
    if (code)
        return code - 1;
    struct node_options options = {.dir = a.dir, .collector = a.collector, .control = a.control};
    if (!read_uuid(a.run, options.run))
        return misuse("--run takes a UUID of 36 characters");
    if ((code = read_experiment(a.experiment, &e)) != 0)
        return code;
    options.experiment = e;
    code = find_node(e, a.node, &options.node);
    int signals = code ? -1 : open_signals();
    setenv("BEZEL_PROCESS", "bezeld", 1); /* the name of the segments that hold what it records of itself */
    file_raise_limit();                   /* each process that is read takes a descriptor */
    struct node *n = NULL;
    if (!code && node_open(&options, &n) != 0)
        code = EXIT_FAILED;
    if (!code) {
        open_lease(a.lease);
        code = serve(n, signals, a.lease, a.ready);
        node_close(n);
    }
    experiment_free(e);
    return code;
}
