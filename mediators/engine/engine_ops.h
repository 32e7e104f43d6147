// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What an engine gives engine.c: functions as of engine.h, and how its URLs begin. */
#ifndef BEZEL_MEDIATORS_ENGINE_ENGINE_OPS_H
#define BEZEL_MEDIATORS_ENGINE_ENGINE_OPS_H

#include "mediators/engine/engine.h"

enum { ENGINE_SERVER_MAX = 256, ENGINE_LIST_MAX = ENGINE_SERVERS * ENGINE_SERVER_MAX };

/** A list of servers, split. */
struct engine_servers {
    int count;
    const char *urls[ENGINE_SERVERS];
    char text[ENGINE_LIST_MAX];
};

/** What engine_credentials() has read; a NULL name ends it. */
struct engine_setting {
    const char *name, *value;
};
enum { ENGINE_SETTINGS = 32, ENGINE_CREDENTIALS_MAX = 64 << 10 };
extern struct engine_setting engine_settings[ENGINE_SETTINGS + 1];

struct engine_ops {
    const char *const *schemes; /* NULL-terminated */
    /* Allocates *e, larger than a struct engine, of which it is the begin. */
    int (*open)(const struct engine_servers *servers, const char *name, bool writes, struct engine **e);
    int (*put)(struct engine *e, const char *key, bool once, const void *bytes, size_t n);
    int (*flush)(struct engine *e);
    int (*last)(struct engine *e, const char *key, struct engine_message *m);
    int (*next)(struct engine *e, struct engine_message *m);
    int (*gone)(struct engine *e, uint64_t *n);
    void (*close)(struct engine *e);
};

/** Those that were built. */
extern const struct engine_ops engine_jetstream, engine_kafka;

/** What all engines have. */
struct engine {
    const struct engine_ops *ops;
    char why[ENGINE_WHY_MAX];
};

/** Says why. Returns `err`. */
int engine_fail(struct engine *e, int err, const char *format, ...) BEZEL_PRINTF(3, 4);

#endif
