// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The launch of a collector of a run on the machine of a node: of the root, or of an inner collector. Once the run is
 * over, of what its home needs there: bezel-serve, from which it is mirrored, at the endpoint where the collector took
 * commands; and then of what removes its directory.
 */
#ifndef BEZEL_BEZELD_LAUNCH_LAUNCH_COLLECTOR_H
#define BEZEL_BEZELD_LAUNCH_LAUNCH_COLLECTOR_H

#include "base/units.h"
#include "bezeld/launch/launch.h"
#include "config/experiment.h"

#include <limits.h>

/**
 * The names by which START asks for them, and of the root's session at the launcher. That of an inner collector is
 * "--NAME". No node has such a name.
 */
#define LAUNCH_COLLECTOR         "collector"
#define LAUNCH_COLLECTOR_SERVER  "server"
#define LAUNCH_COLLECTOR_DISCARD "discard"
#define LAUNCH_COLLECTOR_SESSION "-collector"

enum { LAUNCH_COLLECTOR_ARGS = 40, LAUNCH_COLLECTOR_ENDPOINT = 256 };

/** What they are started with beside the experiment. Texts are borrowed. */
struct launch_collector_options {
    const char *program, *server;         /* absolute paths of bezel-collector and bezel-serve */
    const char *keys;                     /* folder of keys on this machine */
    const char *listen;                   /* where the collector takes packets */
    const uint8_t *run;                   /* 16 bytes */
    int64_t silence;                      /* ns without a command, after which they end in good order; 0: for ever */
    const struct experiment_inner *inner; /* NULL: it is the root, else ... */
    const char (
        *parents)[LAUNCH_COLLECTOR_ENDPOINT]; /* ... its parents as EXPERIMENT_PARENTS_MAX endpoints, "": none */
    uint32_t connections;                     /* ... and how many nodes may be connected through it */
};

/** What an experiment says of its collectors, as the options of bezel-collector take it. */
struct launch_collector_texts {
    char connections[16], processes[16];
    struct units_text sync, packet, rate, clock, order, keep; /* "": the last three are left out */
};

struct launch_collector {
    struct launch launch; /* of the first incarnation; borrows from the others */
    char *argv[LAUNCH_COLLECTOR_ARGS + 1];
    char directory[PATH_MAX], key[PATH_MAX], public[PATH_MAX], id[37], buffer[40];
    struct launch_collector_texts texts;
};

void launch_collector_print(const struct experiment *e, struct launch_collector_texts *t);

/** Appends `option` with its value, which is borrowed, to `argv`, of LAUNCH_COLLECTOR_ARGS; none if that is "" or NULL.
 */
void launch_collector_argument(char **argv, const char *option, const char *value);

/** Appends what `e` says of the root to its arguments, wherever it runs. Borrows `e` and `t`, its texts. */
void launch_collector_append(const struct experiment *e, const struct launch_collector_texts *t, char **argv);

/** The run directory of `run` on the machine of the collector. Returns `path`. */
char *launch_collector_directory(const struct experiment *e, const uint8_t run[16], char path[PATH_MAX]);

/**
 * Describes the collector of `e` that the options say, or what `name` is in place of the root. Borrows all until the
 * last use. False: there is no program of this name.
 */
bool launch_collector_make(const struct experiment *e, const struct launch_collector_options *o, const char *name,
                           struct launch_collector *c);

#endif
