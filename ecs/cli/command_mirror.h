// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A run that a server serves, for commands that read run directories: a child process mirrors it (collector/remote/),
 * and the command reads the mirror. Where the command names no directory for it, it lies in the user's cache, and is
 * removed when the command ends. One thread.
 */
#ifndef BEZEL_ECS_CLI_COMMAND_MIRROR_H
#define BEZEL_ECS_CLI_COMMAND_MIRROR_H

#include "collector/remote/remote_link.h"
#include "ecs/cli/command.h"

#include <stdbool.h>

/** Values of options. */
struct command_mirror {
    struct command_target target;
    struct remote_place place;
    const char *dir; /* NULL: one in the cache */
};

#define COMMAND_ENDPOINT                                                                                               \
    " In place of RUN, ENDPOINT is where `bezel serve` or a collector serves it on this machine or another, such as "  \
    "tcp://desk:7770: the run is then copied to this machine first."

/** Options of commands to which an ENDPOINT may be given. `p`: a remote_place. */
#define COMMAND_KEYS(p)                                                                                                \
    {"keys", 0, "DIR", "of an ENDPOINT beyond this machine: a folder with our secret key and the server's public one", \
     .value = &(p)->keys},                                                                                             \
        {"key", 0, "NAME", "our key there, NAME.key, which has the role read at the server (default: reader)",         \
         .value = &(p)->key},                                                                                          \
    {                                                                                                                  \
        "server-key", 0, "NAME", "the server's key there, NAME.pub (default: collector)", .value = &(p)->server        \
    }

/** The same, --runs and --mirror; `m`: a command_mirror. */
#define COMMAND_MIRROR(m)                                                                                              \
    COMMAND_RUNS(&(m)->target), COMMAND_KEYS(&(m)->place),                                                             \
    {                                                                                                                  \
        "mirror", 0, "DIR",                                                                                            \
            "of an ENDPOINT: where the copy lies, and stays; it is gone on with the next time (default: a folder in "  \
            "the user's cache, which is removed at the end)",                                                          \
            .value = &(m)->dir                                                                                         \
    }

/** What a command wants of the run. */
enum command_wants {
    COMMAND_NOW,   /* what is stored by now */
    COMMAND_GROWS, /* it reads on while the run grows */
};

/**
 * Finds the run like command_open_run(), or as one that grows like command_open_real(); or where `word` names a server,
 * or a run that goes on and lies with its collector on another machine, which serves it, has a child mirror it, and
 * waits until all that was stored there is here. Returns OPTIONS_GO_ON with `run`, or the exit code to end with, after
 * a message. The child ends with this process.
 */
int command_open_mirrored(const struct command_mirror *m, const char *word, enum command_wants wants,
                          char run[PATH_MAX]) BEZEL_MUST_CHECK;

/** Whether the run that was opened last lies in a mirror of command_open_mirrored() that is removed at the end. */
bool command_mirror_passes(const struct command_mirror *m);

/** Warns where run directory `run`, which was read, is a mirror that lacks something. */
void command_warn_mirror(const char *run);

/** The exit code of a command for the result of mirror_run(). */
int command_mirror_exit(int err);

#endif
