// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/exit_code.h"
#include "base/inherited.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/options.h"
#include "base/program.h"
#include "mediators/engine/publish.h"
#include "mediators/engine/restore.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENGINE_NICE = 10 };

static const char about[] =
    "Hands a run, finished or growing, on to NATS JetStream or Kafka, or makes a run directory out of what was handed "
    "on. A collector whose experiment has `store: {engine: URL}` starts it, and `bezel export URL/NAME`. It reads "
    "files alone, and slows nobody; what the engine lacks stays in the run directory, and is handed on once it is "
    "there again.\n";
static const char footer[] = "SIGTERM ends it: what is stored is handed on for up to 8 s.\n"
                             "Exit codes: 0 ended, 1 failed, or the engine lacks a part, 2 wrong arguments.\n";

struct arguments {
    const char *to, *from, *name, *credentials, *dir;
    int parent_pipe;
};

static int check(const struct arguments *a)
{
    const char *url = a->to ? a->to : a->from, *why;
    if (!a->to == !a->from)
        return options_misuse("either --to or --from is needed");
    why = engine_check(url);
    if (why)
        return options_misuse("%s: %s", url, why);
    why = engine_credentials(a->credentials);
    if (why)
        return options_misuse("--credentials %s: %s", a->credentials, why);
    if (a->from && !a->name)
        return options_misuse("--from needs --name, the run's name at the engine");
    if (a->name && (!*a->name || strlen(a->name) > ENGINE_NAME_MAX))
        return options_misuse("--name: 1 to %d bytes are allowed", ENGINE_NAME_MAX);
    return OPTIONS_GO_ON;
}

static int read_options(int argc, char **argv, struct arguments *a)
{
    struct options o = {.program = "bezel-engine",
                        .usage = "--to URL [OPTIONS] RUN\n--from URL --name NAME DIR",
                        .about = about,
                        .footer = footer,
                        .least = 1,
                        .most = 1};
    const struct options_entry entries[] = {
        {"to", 0, "URL",
         "hand run directory RUN on to nats://HOST:PORT or kafka://HOST:PORT; those of a cluster with commas",
         .value = &a->to},
        {"from", 0, "URL", "make the new run directory DIR out of what is there", .value = &a->from},
        {"name", 0, "NAME", "the run's name at the engine (default: the last part of RUN)", .value = &a->name},
        {"credentials", 0, "FILE",
         "what the servers ask for, one NAME = VALUE a line, in a file that others cannot read (default: the file that "
         "$BEZEL_ENGINE_CREDENTIALS names; none)",
         .value = &a->credentials},
        LIFETIME_PARENT_PIPE(&a->parent_pipe),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        a->dir = o.words[0];
    return code == OPTIONS_GO_ON ? check(a) : code;
}

static int publish(const struct arguments *a)
{
    char server[PATH_MAX], run[PATH_MAX];
    if (program_find_own("bezel-serve", server, sizeof server) != 0) {
        log_error("BEZEL-ENGINE", "there is no bezel-serve beside this program, nor in $PATH: install it");
        return EXIT_FAILED;
    }
    if (!realpath(a->dir, run)) {
        log_error("BEZEL-ENGINE", "%s: %s", a->dir, strerror(errno));
        return EXIT_FAILED;
    }
    errno = 0;
    if (nice(ENGINE_NICE) == -1 && errno) /* the collector, and programs, go first */
        log_warn("BEZEL-ENGINE", "cannot lower the priority: %s: it competes with the programs of the run for the CPU",
                 strerror(errno));
    lifetime_parent_pipe(a->parent_pipe);
    const struct publish_options o = {.run = run,
                                      .name = a->name ? a->name : strrchr(run, '/') + 1,
                                      .url = a->to,
                                      .server = server,
                                      .signals = lifetime_signals(LIFETIME_NO_OTHER),
                                      .parent_pipe = a->parent_pipe};
    return publish_run(&o);
}

int main(int argc, char **argv)
{
    struct arguments a = {.parent_pipe = -1, .credentials = getenv("BEZEL_ENGINE_CREDENTIALS")};
    inherited_take("bezel-engine");
    int code = read_options(argc, argv, &a);
    if (code != OPTIONS_GO_ON)
        return code;
    return a.from ? restore_run(a.from, a.name, a.dir) : publish(&a);
}
