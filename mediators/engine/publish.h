// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Hands a run on to an engine while it grows, or later: the messages that a mirror of the run would get (mdr/read.x),
 * by a reader of bezel-serve's. A file of a stream has a key of its own, under which its packets lie as they are in the
 * run directory, with their offsets. So the engine's last message of the key says what it has, and after any failure on
 * either side what it lacks is put again; the run directory is the spool. Rows of the database are sent anew by each
 * connection, since an engine cannot say which rows it has.
 */
#ifndef BEZEL_MEDIATORS_ENGINE_PUBLISH_H
#define BEZEL_MEDIATORS_ENGINE_PUBLISH_H

#include "mediators/engine/engine.h"

struct publish_options {
    const char *run, *name, *url; /* the run directory; its name at the engine; the engine */
    const char *server;           /* the program bezel-serve */
    int signals, parent_pipe;     /* base/lifetime.h: either ends it */
};

/**
 * Publishes until the run is over and the engine has acknowledged all of it, or it is to end: then what is stored, if
 * the engine takes it within some seconds. An engine that is away is tried again, in pauses that grow. Blocks. Returns
 * the exit code of the process, after a message on what the engine lacks.
 */
int publish_run(const struct publish_options *o);

#endif
